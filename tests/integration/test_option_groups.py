"""Each group of options at a real engine: it starts and answers with them, or ends, and Paddock said why before."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import tinymodel

from paddock.engine import Engine
from paddock.launch import Plan, Severity, command, effective, parse
from paddock.launch.catalogue import Group
from paddock.work import Workspace

SMALL = "-t 1 --no-warmup"
STARTS: dict[str, tuple[Group, str]] = {
    "model": (Group.MODEL, "-a tiny,small --tags test --override-kv tokenizer.ggml.add_bos_token=bool:true"),
    "embeddings": (Group.MODEL, "--embedding --pooling mean --embd-normalize 2 -c 512"),
    "context": (Group.CONTEXT, "-c 512 -b 128 -ub 64 -np 2 --no-kv-unified -fa on --keep 4 --context-shift -n 16 "
                               "--perf"),
    "stretched context": (Group.CONTEXT, "-c 512 --rope-scaling yarn --rope-scale 2 --yarn-orig-ctx 4096"),
    "memory": (Group.MEMORY, r"-c 512 -lm none -ngl 0 -fit off --no-repack -ot 'blk\.(0|1)\.ffn_.*=CPU' "
                             "--check-tensors --no-op-offload"),
    "fit": (Group.MEMORY, "-c 512 -fit on -fitt 256 -fitc 512 -lm mmap -lzm auto"),
    "kv": (Group.KV, "-c 512 -ctk bf16 -ctv bf16 -kvu -np 2 --no-kv-offload"),
    "prompt cache": (Group.PROMPT_CACHE, "-c 512 -cram 16 --cache-reuse 8 -ctxcp 2 -cms 0 -sps 0.5 "
                                         "--no-cache-idle-slots --slot-save-path {folder}"),
    "devices": (Group.MULTI_GPU, "-c 512 -dev none -sm layer -mg 0"),
    "threads": (Group.CPU, "-c 512 -tb 2 -C 1 --cpu-strict 0 --poll 10 --prio 0 --poll-batch 0 --numa distribute"),
    "n-grams": (Group.SPECULATIVE, "-c 512 --spec-type ngram-simple,ngram-mod --spec-ngram-simple-size-n 4 "
                                   "--spec-draft-n-max 4"),
    "draft": (Group.SPECULATIVE, "-c 512 -np 1 -md {model} --spec-type draft-simple --spec-draft-n-max 2 -ngld 0 "
                                 "--spec-draft-p-min 0.2"),
    "sampling": (Group.SAMPLING, "-c 512 --temp 0.5 --top-k 20 --top-p 0.9 --min-p 0.1 --samplers 'top_k;temperature' "
                                 "-s 7 --dry-multiplier 0.8 --repeat-penalty 1.1 -l 5+1 --grammar 'root ::= [a-z]+'"),
    "template": (Group.TEMPLATE, "-c 512 --chat-template chatml --reasoning-format none --reasoning-budget 0 "
                                 "--chat-template-kwargs '{{\"a\": 1}}' --no-prefill-assistant -r stop"),
    "server": (Group.SERVER, "-c 512 --metrics --no-slots --api-prefix /v --api-key abc --no-ui -to 5 "
                             "--cors-origins localhost --sse-ping-interval 5 --sleep-idle-seconds 60"),
    "multimodal": (Group.MULTIMODAL, "-c 512 --image-min-tokens 8 --image-max-tokens 16 --no-mmproj-offload "
                                     "--media-path {folder}"),
    "adapters": (Group.LORA, "-c 512 --lora-init-without-apply"),
    "logging": (Group.LOGGING, "-c 512 -lv 4 --log-file {folder}/log.txt --log-colors off --no-log-timestamps"),
}
REFUSED: dict[str, tuple[Group, str, str]] = {
    "a metadata value without a type": (Group.MODEL, "--override-kv a=1", "bad-override"),
    "no slots": (Group.CONTEXT, "-np 0", "no-slots"),
    "a pattern without a buffer": (Group.MEMORY, "-ot blk", "bad-placement"),
    "heads that blocks do not divide": (Group.KV, "-ctk q8_0 -fa on", "head-size"),
    "a folder that is not there": (Group.PROMPT_CACHE, "--slot-save-path {folder}/none", "missing-file"),
    "a split by tensors without devices": (Group.MULTI_GPU, "-sm tensor -dev none", "tensor-split-without-device"),
    "a device of another engine": (Group.MULTI_GPU, "-dev CUDA7", "unknown-device"),
    "a priority out of range": (Group.CPU, "--prio 9", "out-of-range"),
    "prediction layers that are not there": (Group.SPECULATIVE, "--spec-type draft-mtp", "no-mtp-layers"),
    "a penalty of nothing": (Group.SAMPLING, "--repeat-penalty 0", "out-of-range"),
    "a budget below none": (Group.TEMPLATE, "--reasoning-budget -2", "out-of-range"),
    "values that are no JSON": (Group.TEMPLATE, "--chat-template-kwargs '[1'", "not-json"),
    "no time to sleep": (Group.SERVER, "--sleep-idle-seconds 0", "no-sleep-time"),
    "a model as its own projector": (Group.MULTIMODAL, "-mm {model}", "model-as-projector"),
    "an adapter that is not there": (Group.LORA, "--lora {folder}/none.gguf", "missing-file"),
    "a level that is a word": (Group.LOGGING, "-lv many", "not-a-number"),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinymodel.write(tmp_path_factory.mktemp("options") / "tiny.gguf")


class Server:
    """llama-server with a plan's words; reads its output until it listens or ends."""

    def __init__(self, plan: Plan, engine: Engine, folder: Path) -> None:
        made = command(plan, engine)
        self.effective = effective(made)
        self.lines: list[str] = []
        self.listens = threading.Event()
        self.process = subprocess.Popen(made.argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        cwd=folder, env={**os.environ, **made.env})
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if "listening on" in line:
                self.listens.set()
        self.listens.set()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start(engine: Engine, tmp_path: Path) -> Iterator[Callable[[Plan], Server]]:
    made: list[Server] = []

    def make(plan: Plan) -> Server:
        made.append(Server(plan, engine, tmp_path))
        return made[-1]

    yield make
    for server in made:
        server.close()


def plan_of(flags: str, model: Path, folder: Path, port: int) -> Plan:
    text = flags.format(model=shlex.quote(str(model)), folder=shlex.quote(str(folder)))
    return parse(f"-m {shlex.quote(str(model))} --port {port} {SMALL} {text}")


def errors(workspace: Workspace, plan: Plan, engine: Engine) -> list[str]:
    return [i.id for i in workspace.preview(plan, engine=engine).issues if i.severity is Severity.ERROR]


@pytest.mark.parametrize("name", STARTS)
def test_a_group_starts_and_answers(name: str, engine: Engine, model: Path, tmp_path: Path, port: int,
                                    start: Callable[[Plan], Server]) -> None:
    plan = plan_of(STARTS[name][1], model, tmp_path, port)
    assert errors(Workspace(tmp_path / "data"), plan, engine) == []
    server = start(plan)
    assert server.listens.wait(60)
    assert server.process.poll() is None, "".join(server.lines[-15:])
    request = urllib.request.Request(f"{server.effective.url}/v1/models", headers={"Authorization": "Bearer abc"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.load(answer)["data"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_engine_refuses_was_said_before(name: str, engine: Engine, model: Path, tmp_path: Path, port: int,
                                                 start: Callable[[Plan], Server]) -> None:
    _, flags, reason = REFUSED[name]
    plan = plan_of(flags, model, tmp_path, port)
    assert reason in errors(Workspace(tmp_path / "data"), plan, engine)
    server = start(plan)
    assert server.listens.wait(60)
    assert server.process.wait(30) != 0, "".join(server.lines[-15:])


def test_no_group_is_left_out() -> None:
    wanted = set(Group) - {Group.PROGRAM}
    assert {group for group, _ in STARTS.values()} == wanted
    assert {group for group, _, _ in REFUSED.values()} == wanted


def test_a_key_is_asked_for(engine: Engine, model: Path, tmp_path: Path, port: int,
                            start: Callable[[Plan], Server]) -> None:
    server = start(plan_of("-c 512 --api-key abc", model, tmp_path, port))
    assert server.listens.wait(60)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.effective.url}/v1/models", timeout=30)
    assert refused.value.code == 401
    refused.value.close()


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (200, False)])
def test_a_draft_of_another_vocabulary_is_told_and_would_not_be_used(
        spare: int, fits: bool, engine: Engine, model: Path, tmp_path: Path, port: int,
        start: Callable[[Plan], Server]) -> None:
    draft = tinymodel.write(tmp_path / "draft.gguf", spare=spare)
    flags = f"-c 512 -np 1 -md {shlex.quote(str(draft))} --spec-type draft-simple -ngld 0"
    plan = plan_of(flags, model, tmp_path, port)
    found = errors(Workspace(tmp_path / "data"), plan, engine)
    assert found == ([] if fits else ["vocabularies-differ"])
    server = start(plan)
    assert server.listens.wait(60)
    assert server.process.poll() is None, "".join(server.lines[-15:])
    with urllib.request.urlopen(f"{server.effective.url}/slots", timeout=30) as answer:
        assert [slot["speculative"] for slot in json.load(answer)] == [fits]
