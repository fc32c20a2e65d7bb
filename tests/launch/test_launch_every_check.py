"""Every kind of issue that the code can tell, made to appear once, with its severity; and that none is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from launch_support import GIB, model_file, option
from scripts_here import load_script

from paddock.engine import Engine
from paddock.engine.model import EngineOption
from paddock.gguf.model import Facts, Kind, ModelFile, Problem, Tensor
from paddock.hardware.model import Gpu, Machine
from paddock.launch import Conditions, Issue, Plan, check, parse
from paddock.launch.model import Card
from paddock.launch.secret_reference import MASK
from paddock.text import Text

ROOT = Path(__file__).resolve().parents[2]
MACHINE = Machine(system="Linux", cpu_name=None, physical_cores=4, logical_cores=8, ram_total_bytes=64 * GIB,
                  ram_available_bytes=60 * GIB, numa_nodes=1, load_1min=None, devices=())
BANKS = replace(MACHINE, numa_nodes=2)
CARD = Gpu(0, None, None, "RTX 4090", 24 * GIB)
DENSE = model_file(layers=32, trained_context=8192, vocabulary=32000, key_length=128, value_length=128)
RELATIVE = model_file(vocabulary=32001)
STRANGER = model_file(vocabulary=50000)
CUDA = ("CUDA0",)
TWO = ("CUDA0", "CUDA1")


def _as_read(plan: Plan) -> Plan:
    return plan


@dataclass(frozen=True)
class Case:
    """A plan as text, and the world in which the issue is told."""

    text: str
    devices: tuple[str, ...] = ()
    options: tuple[EngineOption, ...] | None = None
    engine: dict[str, Any] = field(default_factory=dict)
    model: ModelFile | None = None
    machine: Machine | None = None
    world: dict[str, Any] = field(default_factory=dict)
    plan: Callable[[Plan], Plan] = _as_read


def _sized(byte_count: int, **facts: Any) -> ModelFile:
    """A model whose one tensor has this many bytes."""
    return replace(model_file(**facts), tensors=(Tensor("x", (32,), 0, "f32", 0, byte_count, 1),))


def _tokens(kind: str, cut: str) -> ModelFile:
    return model_file(metadata={"tokenizer.ggml.model": kind, "tokenizer.ggml.pre": cut})


def _projector(width: int) -> ModelFile:
    return model_file(kind=Kind.PROJECTOR, metadata={"clip.vision.projection_dim": width})


def _kind(kind: Kind) -> ModelFile:
    return model_file(kind=kind)


M = "-m a.gguf "
CASES: dict[tuple[str, str], Case] = {
    ("no-model", "error"): Case("-c 1"),
    ("url-without-path", "error"): Case("-mu http://x/a.gguf"),
    ("missing-file", "error"): Case(M, world={"model_exists": False}),
    ("engine-unusable", "error"): Case(M, engine={"error": Text("It did not answer.")}),
    ("other-engine", "warning"): Case("/other/llama-server -m a.gguf",
                                      plan=lambda plan: replace(plan, engine="another")),
    ("projector-as-model", "error"): Case(M, model=_kind(Kind.PROJECTOR)),
    ("adapter-as-model", "error"): Case(M, model=_kind(Kind.ADAPTER)),
    ("not-a-model", "error"): Case(M, model=_kind(Kind.IMATRIX)),
    ("draft-as-model", "warning"): Case(M, model=_kind(Kind.DRAFT)),
    ("embedding-as-chat", "warning"): Case(M, model=_kind(Kind.EMBEDDING)),
    ("reranker-as-chat", "warning"): Case(M, model=_kind(Kind.RERANKER)),
    ("file-…", "as the file's problem says"): Case(M, model=model_file(problems=(
        Problem("odd", "warning", Text("Odd.")),))),
    ("incomplete-model", "error"): Case(M, model=model_file(complete=False)),
    ("later-part", "error"): Case("-m /m/a-00002-of-00002.gguf",
                                  model=model_file("/m/a-00001-of-00002.gguf", parts=2)),
    ("model-as-projector", "error"): Case(M + "-mm a.gguf"),
    ("ignored-with-projector", "warning"): Case(M + "-mm p.gguf --context-shift"),
    ("not-a-projector", "warning"): Case(M + "-mm p.gguf", world={"projector": DENSE}),
    ("projector-width", "warning"): Case(M + "-mm p.gguf", model=model_file(embedding=2560),
                                         world={"projector": _projector(4096)}),
    ("windows-path", "warning"): Case("-m 'D:/Модели/a.gguf'", engine={"build": 7539},
                                      machine=replace(MACHINE, system="Windows")),
    ("prefix-missing", "error"): Case("numactl -N 0 llama-server -m a", world={"prefix_found": False}),
    ("unknown-flag", "error"): Case(M + "--zzz 1"),
    ("unknown-flag", "warning"): Case(M + "--zzz 1", engine={"flags_verified": False}),
    ("removed-flag", "error"): Case(M + "--mlock"),
    ("flag-too-new", "error"): Case(M + "--log-jsonl", options=(option("-m", "--model"),)),
    ("no-negation", "error"): Case(M + "--no-slots", options=(option("-m"), option("--slots", count=0))),
    ("flag-never-existed", "error"): Case(M + "--mtp"),
    ("flag-of-llama-cli", "error"): Case(M + "-p 'Hello there'"),
    ("flag-with-equals", "error"): Case(M + "--ctx-size=4096"),
    ("ends-at-once", "error"): Case(M + "--version"),
    ("flag-left-out", "hint"): Case(M + "-fa off", options=(option("-m"), option("-fa", count=0))),
    ("repeated-flag", "hint"): Case(M + "-c 1024 -c 2048"),
    ("left-out", "warning"): Case(M, plan=lambda plan: replace(plan, extra=("word",))),
    ("without-effect", "hint"): Case(M + "-dt 0.1"),
    ("value-missing", "error"): Case(M, plan=lambda plan: plan.with_("ctx-size")),
    ("too-many-values", "error"): Case(M, plan=lambda plan: plan.with_("ctx-size", "1", "2")),
    ("not-a-number", "error"): Case(M + "-c many"),
    ("not-a-choice", "error"): Case(M + "-ctk q9"),
    ("rope-factor", "error"): Case(M + "--rope-scaling factor=4"),
    ("not-json", "error"): Case(M + "--chat-template-kwargs {"),
    ("out-of-range", "error"): Case(M + "--port 70000"),
    ("out-of-range", "warning"): Case(M + "--temp -1"),
    ("one-device", "error"): Case(M + "-mm p -mmdev CUDA0,CUDA1", devices=TWO),
    ("bad-override", "error"): Case(M + "--override-kv a=1"),
    ("too-many-parts", "error"): Case(M + "-ts " + ",".join("1" * 16)),
    ("bad-placement", "error"): Case(M + "-ot blk"),
    ("bad-pattern", "error"): Case(M + "-ot '(=CPU'"),
    ("endless-pattern", "error"): Case(M + "-ot '(a+)+=CPU'"),
    ("bad-form", "error"): Case(M + "--lora-scaled C:/a.gguf:0.5"),
    ("engine-without-gpu", "warning"): Case(M, machine=replace(MACHINE, gpus=(CARD,))),
    ("one-layer-short", "warning"): Case(M + "-ngl 32", devices=CUDA, model=DENSE),
    ("no-layers-offloaded", "hint"): Case(M + "-ngl 0", devices=CUDA, model=DENSE),
    ("layers-left", "hint"): Case(M + "-ngl 20", devices=CUDA, model=DENSE),
    ("none-with-devices", "error"): Case(M + "-dev none,CUDA0", devices=CUDA),
    ("unknown-device", "error"): Case(M + "-dev CUDA7", devices=CUDA),
    ("device-twice", "warning"): Case(M + "-dev CUDA0,CUDA0", devices=CUDA),
    ("devices-unlisted", "warning"): Case(M, engine={"devices_error": Text("It crashed.")}),
    ("rpc-too-late", "error"): Case(M + "-dev RPC0 --rpc 127.0.0.1:1"),
    ("buffer-not-in-use", "error"): Case(M + "-dev CUDA0 -ot x=CUDA1", devices=TWO),
    ("unknown-buffer", "error"): Case(M + "-ot x=NPU0", devices=CUDA),
    ("no-device", "warning"): Case(M + "-ngl 99"),
    ("pattern-matches-nothing", "warning"): Case(M + "-ot nothing=CPU", model=model_file(tensors=("blk.0.x",))),
    ("pattern-too-late", "warning"): Case(M + "-ot 'blk=CPU,blk.0=CPU'", model=model_file(tensors=("blk.0.x",))),
    ("no-chat-template", "hint"): Case(M, model=model_file(has_template=False)),
    ("no-experts", "hint"): Case(M + "-cmoe", model=DENSE),
    ("first-device-only", "hint"): Case(M + "-ncmoe 4", devices=TWO, model=model_file(experts=8)),
    ("fit-pinned", "warning"): Case(M + "-fit on -ngl 20"),
    ("fit-pinned", "hint"): Case(M + "-ngl 20"),
    ("tensor-split-needs-fa", "error"): Case(M + "-sm tensor -fa off", devices=TWO),
    ("tensor-split-cache-type", "warning"): Case(M + "-sm tensor -ctk q4_1 -ctv q4_1", devices=TWO),
    ("tensor-split-without-device", "error"): Case(M + "-sm tensor"),
    ("row-split-unsupported", "error"): Case(M + "-sm row", devices=("Vulkan0", "Vulkan1")),
    ("row-split-gone", "error"): Case(M + "-sm row", options=(
        option("-m"), option("-sm", choices=("none", "layer", "tensor")))),
    ("row-split-old", "warning"): Case(M + "-sm row", devices=TWO),
    ("tensor-split-family", "error"): Case(M + "-sm tensor", devices=TWO, model=model_file(architecture="olmo2")),
    ("no-device-sampling", "hint"): Case(M + "-sm tensor -bs", devices=TWO),
    ("no-such-main-device", "error"): Case(M + "-sm none -mg 3", devices=TWO),
    ("split-beyond-devices", "warning"): Case(M + "-ts 1,1,1", devices=TWO),
    ("nccl-missing", "warning"): Case(M + "-sm tensor", devices=TWO, world={"nccl": False}),
    ("p2p-with-iommu", "warning"): Case("GGML_CUDA_P2P=1 llama-server -m a", world={"iommu": True}),
    ("v-cache-needs-fa", "error"): Case(M + "-ctv q8_0 -fa off"),
    ("cache-types-differ", "error"): Case(M + "-ctk q8_0", model=model_file(architecture="deepseek4")),
    ("cache-types-slow", "warning"): Case(M + "-ctk q8_0", devices=CUDA),
    ("head-size", "error"): Case(M + "-ctk q8_0", model=model_file(key_length=80)),
    ("graph-too-large", "error"): Case(M + "-ctk q8_0 -ctv q8_0 -np 2 --no-kv-unified",
                                       model=model_file(architecture="phi3", tensors=("blk.0.attn_qkv.weight",))),
    ("v-cache-with-auto-fa", "hint"): Case(M + "-ctk q8_0 -ctv q8_0"),
    ("no-sliding-window", "hint"): Case(M + "--swa-full", model=DENSE),
    ("draft-without-type", "error"): Case(M + "-md d.gguf"),
    ("type-without-draft", "error"): Case(M + "--spec-type draft-simple"),
    ("no-mtp-layers", "error"): Case(M + "--spec-type draft-mtp", model=DENSE),
    ("vocabularies-differ", "error"): Case(M + "-md d --spec-type draft-simple", model=DENSE,
                                           world={"draft": STRANGER}),
    ("tokenizers-differ", "warning"): Case(M + "-md d --spec-type draft-simple", model=_tokens("gpt2", "qwen2"),
                                           world={"draft": _tokens("gpt2", "llama-bpe")}),
    ("draft-too-large", "warning"): Case(M + "-md d --spec-type draft-simple", model=_sized(1000),
                                         world={"draft": _sized(600)}),
    ("target-on-cpu", "hint"): Case(M + "-md d --spec-type draft-simple", model=DENSE, world={"draft": RELATIVE}),
    ("draft-lengths", "warning"): Case(M + "--spec-type ngram-mod --spec-draft-n-min 9"),
    ("synthetic-twice", "error"): Case(M + "--spec-synth-len 2 --spec-synth-rates 0.9,0.8,0.7"),
    ("synthetic-length", "error"): Case(M + "--spec-synth-len 9"),
    ("synthetic-rates", "error"): Case(M + "--spec-synth-rates 0.5,0.9,0.1"),
    ("synthetic", "warning"): Case(M + "--spec-synth-len 2"),
    ("twin-ignored", "warning"): Case(M + "--prio-batch 1"),
    ("draft-options-alone", "hint"): Case(M + "--spec-draft-n-max 8"),
    ("no-slots", "error"): Case(M + "-np 0"),
    ("no-sleep-time", "error"): Case(M + "--sleep-idle-seconds 0"),
    ("no-batch", "error"): Case(M + "-b 0 -ub 0"),
    ("batch-below-slots", "error"): Case(M + "-b 2 -np 8"),
    ("micro-batch-above-batch", "hint"): Case(M + "-b 512 -ub 1024"),
    ("slots-abort", "error"): Case(M + "-np 2 --no-kv-unified", model=model_file(architecture="t5")),
    ("above-trained", "warning"): Case(M + "-c 100000", model=DENSE),
    ("whole-context", "warning"): Case(M + "-c 0", model=model_file(trained_context=131072)),
    ("whole-context", "hint"): Case(M + "-fit off", model=model_file(trained_context=131072)),
    ("sharing-overruled", "warning"): Case(M + "--no-kv-unified"),
    ("context-divided", "hint"): Case(M + "-c 8192 -np 4"),
    ("limit-without-sharing", "hint"): Case(M + "-np 4 --kv-unified-per-slot 4096"),
    ("limit-above-context", "hint"): Case(M + "-c 4096 -kvu -np 4 --kv-unified-per-slot 8192"),
    ("embedding-batch", "hint"): Case(M + "--embedding -b 2048"),
    ("idle-slots-need-cache", "hint"): Case(M + "--cache-idle-slots -cram 0"),
    ("fa-overruled", "warning"): Case(M + "-fa on", model=model_file(architecture="grok")),
    ("port-zero", "error"): Case(M + "--port 0 --host 127.0.0.1,::1"),
    ("port-zero", "warning"): Case(M + "--port 0"),
    ("port-taken", "error"): Case(M + "--port 8080", world={"port_free": False, "free_port": 9000}),
    ("half-tls", "error"): Case(M + "--ssl-key-file k"),
    ("bad-prefix", "error"): Case(M + "--api-prefix v1/"),
    ("open-tools", "error"): Case(M + "--host 0.0.0.0 --tools all"),
    ("open-without-key", "warning"): Case(M + "--host 0.0.0.0"),
    ("tools-on", "warning"): Case(M + "--tools all"),
    ("cors-open", "warning"): Case(M + "--cors-origins '*'"),
    ("rpc-unprotected", "warning"): Case("--rpc 192.168.1.9:50052 " + M),
    ("rpc-silent", "error"): Case("--rpc h:1,g:2 " + M, world={"rpc_hosts": (("g:2", "silent"),)}),
    ("rpc-foreign", "error"): Case("--rpc h:1 " + M, world={"rpc_hosts": (("h:1", "foreign"),)}),
    ("rpc-busy", "warning"): Case("--rpc h:1 " + M, world={"rpc_hosts": (("h:1", "busy"),)}),
    ("container-port", "error"): Case(M + "--port 8080", plan=lambda plan: replace(
        plan, prefix=("docker", "run", "--rm", "-p", "9000:9001", "image"))),
    ("masked-key", "error"): Case(M + f"--api-key {MASK}"),
    ("literal-key", "warning"): Case(M + "--api-key secret"),
    ("no-slot-states", "hint"): Case(M + "--no-slots"),
    ("no-log", "warning"): Case(M + "--log-disable"),
    ("shared-port", "hint"): Case(M + "--reuse-port"),
    ("config-file", "warning"): Case(M, world={"config_ini": {"temp": "0.1"}}),
    ("bad-variable", "error"): Case(M, plan=lambda plan: replace(plan, environment=(("$(reboot)", "1"),))),
    ("empty-variable", "warning"): Case("LLAMA_ARG_CTX_SIZE= llama-server -m a"),
    ("not-expanded", "warning"): Case("-m '$HOME/a.gguf'"),
    ("threads-above-cores", "warning"): Case(M + "-t 16", machine=MACHINE),
    ("threads-above-physical", "hint"): Case(M + "-t 8", machine=MACHINE),
    ("no-such-cpu", "warning"): Case(M + "-Cr 0-12", machine=MACHINE),
    ("threads-above-mask", "warning"): Case(M + "-t 4 -C 3", machine=MACHINE),
    ("priority-needs-rights", "hint"): Case(M + "--prio 2", machine=MACHINE),
    ("threads-above-free", "warning"): Case(M + "-t 4", machine=MACHINE, world={"load_1min": 6.2}),
    ("busy-machine", "hint"): Case(M, machine=MACHINE, world={"load_1min": 7.0}),
    ("cpu-governor", "warning"): Case(M, world={"governors": (("acpi-cpufreq", "powersave"),)}),
    ("power-limit", "hint"): Case(M, devices=CUDA, world={"cards": (Card("RTX 4090", 300.0, 450.0),)}),
    ("persistence-off", "hint"): Case(M, devices=CUDA, machine=MACHINE,
                                      world={"cards": (Card("RTX 4090", persistence=False),)}),
    ("one-numa-node", "hint"): Case(M + "--numa distribute", machine=MACHINE),
    ("numactl-without-prefix", "warning"): Case(M + "--numa numactl", machine=BANKS),
    ("numactl-without-option", "hint"): Case("numactl --interleave=all llama-server -m a", machine=BANKS),
    ("page-cache-before-numa", "hint"): Case(M + "--numa distribute", machine=BANKS, world={"cached_fraction": 0.8}),
    ("numa-balancing", "warning"): Case(M + "--numa distribute", machine=BANKS, world={"numa_balancing": True}),
    ("sudo", "warning"): Case("sudo llama-server -m a"),
    ("inherited-options", "warning"): Case(M, world={"environment": {"LLAMA_ARG_CTX_SIZE": "1"},
                                                    "keeps_environment": True}),
    ("inherited-options", "hint"): Case(M, world={"environment": {"LLAMA_ARG_CTX_SIZE": "1"}}),
    ("mapped-over-network", "warning"): Case(M, world={"remote_file_system": True, "file_system": "nfs4"}),
    ("memlock-limit", "warning"): Case(M + "-lm mlock", model=DENSE, world={"memlock_bytes": 65536}),
    ("prompt-cache-size", "hint"): Case(M, machine=replace(MACHINE, ram_available_bytes=4 * GIB)),
}
QUIET = {
    "projector-width": Case(M + "-mm p.gguf", model=model_file(embedding=2048), world={"projector": _projector(8192)}),
    "not-a-projector": Case(M + "-mm p.gguf", model=model_file(embedding=2048), world={"projector": _projector(2048)}),
    "one-layer-short": Case(M + "-ngl 33", devices=CUDA, model=DENSE),
    "layers-left": Case(M + "-ngl all", devices=CUDA, model=DENSE),
    "engine-without-gpu": Case(M + "-ngl 0", machine=replace(MACHINE, gpus=(CARD,))),
    "vocabularies-differ": Case(M + "-md d --spec-type draft-simple", model=DENSE, world={"draft": RELATIVE}),
    "draft-too-large": Case(M + "-md d --spec-type draft-simple", model=_sized(1000), world={"draft": _sized(100)}),
    "target-on-cpu": Case(M + "-md d --spec-type draft-simple", devices=CUDA, model=DENSE),
    "cache-types-slow": Case(M + "-ctk q8_0 -ctv q8_0", devices=CUDA),
    "cpu-governor": Case(M, world={"governors": (("intel_pstate", "powersave"), ("acpi-cpufreq", "schedutil"))}),
    "power-limit": Case(M, devices=CUDA, world={"cards": (Card("RTX 4090", 450.0, 450.0),)}),
    "persistence-off": Case(M, devices=CUDA, machine=MACHINE, world={"cards": (Card("RTX 4090"),)}),
    "p2p-with-iommu": Case("GGML_CUDA_P2P=1 llama-server -m a", world={"iommu": False}),
    "nccl-missing": Case(M + "-sm tensor", devices=TWO),
    "threads-above-free": Case(M + "-t 4", machine=MACHINE, world={"load_1min": 0.5}),
    "tools-on": Case(M + "--host 0.0.0.0 --tools all"),
    "cors-open": Case(M + "--cors-origins '*' --api-key env:K"),
    "rpc-unprotected": Case("--rpc 127.0.0.1:50052 " + M),
    "rpc-silent": Case("--rpc h:1 " + M, world={"rpc_hosts": (("g:2", "silent"),)}),
    "windows-path": Case("-m 'D:/Модели/a.gguf'", engine={"build": 11434},
                         machine=replace(MACHINE, system="Windows")),
    "numactl-without-prefix": Case("numactl -N 0 llama-server -m a --numa numactl", machine=BANKS),
    "page-cache-before-numa": Case(M + "--numa distribute", machine=BANKS, world={"cached_fraction": 0.01}),
    "prefix-missing": Case("numactl -N 0 llama-server -m a", world={"prefix_found": True}),
}


def told(case: Case, make_engine: Callable[..., Engine]) -> list[Issue]:
    engine = make_engine(case.options, case.devices, **case.engine)
    plan = case.plan(parse(case.text))
    return check(plan, case.model, engine, case.machine, Conditions(**case.world))


def _matches(issue: Issue, name: str, severity: str) -> bool:
    if name.endswith("…"):
        return issue.id.startswith(name[:-1])
    return issue.id == name and issue.severity == severity


@pytest.mark.parametrize(("name", "severity"), CASES)
def test_it_is_told_with_its_severity_a_reason_and_a_way_out(name: str, severity: str,
                                                            make_engine: Callable[..., Engine]) -> None:
    case = CASES[name, severity]
    issues = told(case, make_engine)
    found = [issue for issue in issues if _matches(issue, name, severity)]
    assert found, f"told instead: {[(i.id, i.severity.value) for i in issues]}"
    assert "{" not in str(found[0].text).replace("{\"key", "")
    if found[0].edits:
        plan = case.plan(parse(case.text))
        assert found[0].apply(plan) != plan


@pytest.mark.parametrize("name", QUIET)
def test_it_is_not_told_where_nothing_is_wrong(name: str, make_engine: Callable[..., Engine]) -> None:
    assert name not in {issue.id for issue in told(QUIET[name], make_engine)}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load_script("list_checks")


def test_every_kind_of_issue_in_the_code_has_its_case(script: ModuleType) -> None:
    assert {(row.id, row.severity) for row in script.rows()} == set(CASES)


def test_the_table_says_each_kind_once_with_what_it_means(script: ModuleType) -> None:
    lines = script.table().splitlines()[2:]
    assert len(lines) == len(CASES)
    assert all(line.count("|") >= 6 and "``" not in line for line in lines)
    assert [row.id for row in script.rows() if not row.fix] == ["file-…"]
    assert all(row.about.endswith(".") for row in script.rows())


@pytest.mark.parametrize(("text", "expected"), [
    ("--mtp", "-m a --spec-type draft-mtp"), ("--mtp-n 3", "-m a --spec-type draft-mtp --spec-draft-n-max 3"),
    ("--mtp-max 5", "-m a --spec-type draft-mtp --spec-draft-n-max 5"), ("--chunk-size 256", "-m a -ub 256"),
    ("--cache-clear", "-m a --no-cache-prompt"), ("--stream", "-m a"), ("--temp-limit 80", "-m a"),
    ("--rope-scaling factor=4", "-m a --rope-scaling yarn --rope-scale 4"),
    ("--draft d.gguf", "-m a -md d.gguf --spec-type draft-simple"), ("--max-tokens 5", "-m a -n 5"),
    ("--ctx-shift", "-m a --context-shift"), ("--gpus all", "-m a"), ("--public", "-m a --host 0.0.0.0"),
])
def test_flags_of_guides_that_never_were_become_what_does_the_job(text: str, expected: str,
                                                                  make_engine: Callable[..., Engine]) -> None:
    plan = parse(f"-m a {text}")
    issue = next(i for i in check(plan, None, make_engine(), None)
                 if i.id in ("flag-never-existed", "rope-factor"))
    assert issue.fix is not None
    assert issue.apply(plan) == parse(expected)


def test_numactl_is_put_before_the_engine_by_the_fix(make_engine: Callable[..., Engine]) -> None:
    plan = parse("nice llama-server -m a --numa numactl")
    issue = next(i for i in check(plan, None, make_engine(), BANKS) if i.id == "numactl-without-prefix")
    assert issue.apply(plan).prefix == ("numactl", "--interleave=all", "nice")


def test_a_variable_is_taken_out_by_the_fix(make_engine: Callable[..., Engine]) -> None:
    plan = parse("A=1 GGML_CUDA_P2P=1 llama-server -m a")
    issue = next(i for i in check(plan, None, make_engine(), None, Conditions(iommu=True))
                 if i.id == "p2p-with-iommu")
    assert issue.apply(plan).environment == (("A", "1"),)


@pytest.mark.parametrize(("target", "draft", "differ"), [
    ({"tokenizer.ggml.model": "gpt2"}, {"tokenizer.ggml.model": "llama"}, True),
    ({"tokenizer.ggml.add_bos_token": True}, {"tokenizer.ggml.add_bos_token": False}, True),
    ({"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 1},
     {"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.bos_token_id": 2}, True),
    ({"tokenizer.ggml.add_eos_token": False, "tokenizer.ggml.eos_token_id": 1},
     {"tokenizer.ggml.add_eos_token": False, "tokenizer.ggml.eos_token_id": 2}, False),
    ({}, {"tokenizer.ggml.model": "gpt2"}, False),
])
def test_vocabularies_are_compared_as_the_server_does(target: dict[str, object], draft: dict[str, object],
                                                      differ: bool) -> None:
    issues = check(parse("-m a -md d --spec-type draft-simple"), model_file(metadata=target), None, None,
                   Conditions(draft=model_file(metadata=draft)))
    assert ("vocabularies-differ" in {i.id for i in issues}) is differ


def test_of_experts_only_those_in_use_count_for_a_draft() -> None:
    target = replace(_sized(1000), facts=Facts(experts=10, experts_used=1, layer_bytes=({"experts": 900},)))
    issues = check(parse("-m a -md d --spec-type draft-simple"), target, None, None,
                   Conditions(draft=_sized(120)))
    assert "draft-too-large" in {i.id for i in issues}
