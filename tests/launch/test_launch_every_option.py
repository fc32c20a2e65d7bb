"""Every option of the catalogue with a value that it should take, asked of a real llama.cpp, one by one.

`--version` at the end makes the program leave once it has read everything before it: 0 for "taken", 1 for "refused".
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paddock.engine import Engine, default_engine, find, probe
from paddock.launch import Plan, Severity, check, command
from paddock.launch.catalogue import CATALOGUE, Group, Kind, Option

EXAMPLES: dict[str, tuple[str, ...]] = {
    "override-kv": ("tokenizer.ggml.add_bos_token=bool:false",), "fit-target": ("512",),
    "override-tensor": (r"blk\.(1|2)\.ffn_.*=CPU",), "spec-draft-override-tensor": (r"blk\.1\.=CPU",),
    "device": ("none",), "spec-draft-device": ("none",), "tensor-split": ("1",), "cpu-mask": ("3",),
    "cpu-range": ("0-1",), "cpu-mask-batch": ("3",), "cpu-range-batch": ("0-1",), "spec-draft-cpu-mask": ("3",),
    "spec-draft-cpu-range": ("0-1",), "spec-draft-cpu-mask-batch": ("3",), "spec-synth-rates": ("0.9,0.5",),
    "spec-draft-cpu-range-batch": ("0-1",), "spec-type": ("ngram-mod,ngram-cache",), "logit-bias": ("15043+1",),
    "samplers": ("top_k;temperature",), "sampler-seq": ("kt",), "grammar": ('root ::= "a"',),
    "json-schema": ("{}",), "chat-template": ("chatml",), "chat-template-kwargs": ('{"a": 1}',),
    "ui-config": ("{}",), "mcp-servers-json": ('{"mcpServers": {}}',), "host": ("127.0.0.1",),
    "control-vector-layer-range": ("1", "2"), "hf-repo": ("a/b:Q4_K_M",), "spec-draft-hf": ("a/b",),
    "model-url": ("http://127.0.0.1:9/a.gguf",), "mmproj-url": ("http://127.0.0.1:9/a.gguf",),
    "api-prefix": ("/v1x",), "api-key": ("env:PADDOCK_TEST_KEY",), "hf-token": ("env:PADDOCK_TEST_KEY",),
    "lora-scaled": ("/m/a.gguf:0.5",), "control-vector-scaled": ("/m/a.gguf:0.5",), "reasoning-effort": ("low",),
    "tools": ("all",), "mmproj-device": ("none",),
}
FILES = {
    "grammar-file": 'root ::= "a"', "json-schema-file": "{}", "chat-template-file": "{{ messages[0].content }}",
    "api-key-file": "k\n", "ui-config-file": "{}", "mcp-servers-config": '{"mcpServers": {}}', "models-preset": "",
}
UNREACHABLE = "rpc"
"""It connects while it is read: an address at which nobody listens ends the program."""


@pytest.fixture(scope="module")
def real_engine() -> Engine:
    found = default_engine(find(), lambda candidate: probe(candidate.path, source=candidate.source))
    if found is None:
        pytest.skip("no llama.cpp here: install the engine extra")
    return found


def example(option: Option, folder: Path) -> tuple[str, ...]:
    """Values that this option should take."""
    if option.id in EXAMPLES:
        return EXAMPLES[option.id]
    if option.id in FILES:
        path = folder / option.id
        path.write_text(FILES[option.id], encoding="utf-8")
        return (str(path),)
    if option.kind is Kind.PATH:
        return (str(folder / "file"),)
    if option.kind is Kind.FOLDER:
        return (str(folder),)
    if option.kind is Kind.ENUM:
        return (option.choices[-1],)
    if option.default is not None:
        return (option.default,)
    if option.kind in (Kind.INT, Kind.FLOAT):
        return (str(int(max(1, option.low or 1))),)
    return ("a",)


def plans(option: Option, folder: Path) -> list[Plan]:
    if option.is_switch:
        return [Plan().with_(option.id, on=on) for on in ((True, False) if option.negations else (True,))]
    return [Plan().with_(option.id, *example(option, folder))]


@pytest.mark.parametrize("group", [g for g in Group if g is not Group.PROGRAM])
def test_the_real_engine_takes_every_option_of_the_group(real_engine: Engine, group: Group, tmp_path: Path) -> None:
    refused = []
    asked = 0
    for option in CATALOGUE:
        if option.group is not group or option.id == UNREACHABLE or not _knows(option, real_engine):
            continue
        for plan in plans(option, tmp_path):
            made = command(plan, real_engine, secrets={"env:PADDOCK_TEST_KEY": "k"})
            words = [*real_engine.serve, *made.own_argv, "--version"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=30, cwd=tmp_path,
                                  env={**os.environ, **real_engine.environment, **made.env})
            asked += 1
            if done.returncode or "invalid argument" in done.stderr:
                refused.append((made.own_argv, done.stderr.strip().splitlines()[:1]))
    assert refused == []
    assert asked >= 4


def test_an_example_is_no_error_for_the_checks_either(engine: Engine, tmp_path: Path) -> None:
    for option in CATALOGUE:
        if option.group is Group.PROGRAM:
            continue
        for plan in plans(option, tmp_path):
            found = [i for i in check(plan, None, engine, None) if i.option == option.id and i.id in (
                "unknown-flag", "flag-too-new", "removed-flag", "not-a-number", "out-of-range", "not-a-choice",
                "value-missing", "too-many-values", "bad-json")]
            assert found == [], option.id


def test_what_another_engine_has_not_is_refused_with_the_reason(older_engine: Engine, tmp_path: Path) -> None:
    newer = [option for option in CATALOGUE if (option.since or 0) > 10434]
    assert len(newer) >= 10
    for option in newer:
        for plan in plans(option, tmp_path):
            issues = [i for i in check(plan, None, older_engine, None) if i.option == option.id]
            assert any(i.severity is Severity.ERROR and "does not know" in str(i.text) for i in issues), option.id


def _knows(option: Option, engine: Engine) -> bool:
    return any(name in engine.by_flag for name in option.names)
