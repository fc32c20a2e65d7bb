"""What is said about a plan before it is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from launch_support import GIB, model_file, option

from paddock.engine import Engine
from paddock.gguf.model import Kind, ModelFile, Problem
from paddock.hardware.model import Machine
from paddock.launch import Conditions, Issue, Plan, Severity, check, command, parse
from paddock.launch.secret_reference import MASK
from paddock.text import Text

MACHINE = Machine(system="Linux", cpu_name=None, physical_cores=8, logical_cores=16, ram_total_bytes=64 * GIB,
                  ram_available_bytes=48 * GIB, numa_nodes=1, load_1min=0.1, devices=())


def issues(text: str, engine: Engine | None = None, model: ModelFile | None = None, machine: Machine | None = None,
           **world: Any) -> dict[str, Issue]:
    """The issues of a line by id; `-m a.gguf` is put in where no model is named."""
    plan = parse(text)
    if not any(s.option in ("model", "hf-repo", "models-dir", "model-url") for s in plan):
        plan = plan.with_("model", "/m/a.gguf")
    return {issue.id: issue for issue in check(plan, model, engine, machine, Conditions(**world))}


def test_a_sound_plan_has_nothing_to_be_said(make_engine: Callable[..., Engine]) -> None:
    model = model_file(trained_context=131072, key_length=128, value_length=128, layers=32,
                       tensors=("blk.0.attn_q.weight",))
    plan = parse("-m /m/a.gguf -c 32768 -ngl auto -fa on -ctk q8_0 -ctv q8_0 -np 1 -t 8 --port 8081 "
                 "--temp 0.7 --seed -1 -n -1 --host 127.0.0.1 --reasoning-format auto --log-colors 0")
    world = Conditions(model_exists=True, port_free=True, remote_file_system=False)
    assert check(plan, model, make_engine(devices=("CUDA0",)), MACHINE, world) == []


ERRORS = [
    ("-c 4k", "not-a-number", "ctx-size"),
    ("-ot (a+)+x=CPU", "endless-pattern", "override-tensor"),
    ("-c ４０９６", "not-a-number", "ctx-size"),
    ("-c ٤٠٩٦", "not-a-number", "ctx-size"),
    ("--temp ０.5", "not-a-number", "temp"),
    ("--temp 1_0", "not-a-number", "temp"),
    ("-c", "value-missing", "ctx-size"),
    ("-c -ngl 99", "value-missing", "ctx-size"),
    ("-ngl most", "not-a-number", "gpu-layers"),
    ("-ngl 9.5", "not-a-number", "gpu-layers"),
    ("-c -5", "out-of-range", "ctx-size"),
    ("--port 99999", "out-of-range", "port"),
    ("--port -1", "out-of-range", "port"),
    ("-np 257", "out-of-range", "parallel"),
    ("-np 0", "no-slots", "parallel"),
    ("-b 0 -ub 0", "no-batch", "batch-size"),
    ("-b 2 -np 4", "batch-below-slots", "batch-size"),
    ("-ub 2 -np 4 --embedding", "batch-below-slots", "ubatch-size"),
    ("-ctk q8_1", "not-a-choice", "cache-type-k"),
    ("-sm rows", "not-a-choice", "split-mode"),
    ("-fa maybe", "not-a-choice", "flash-attn"),
    ("--spec-type ngram-mod,magic", "not-a-choice", "spec-type"),
    ("--rope-scale 0", "out-of-range", "rope-scale"),
    ("--slot-prompt-similarity nan", "not-a-number", "slot-prompt-similarity"),
    ("--chat-template-kwargs '[1]'", "not-json", "chat-template-kwargs"),
    ("--ui-config '{'", "not-json", "ui-config"),
    ("-ts 3,x", "not-a-number", "tensor-split"),
    (f"-ts {','.join('1' * 17)}", "too-many-parts", "tensor-split"),
    ("-ot exps", "bad-placement", "override-tensor"),
    ("-ot 'blk.(1=CPU'", "bad-pattern", "override-tensor"),
    ("-ot a=CUDA7", "unknown-buffer", "override-tensor"),
    ("--override-kv a=1", "bad-override", "override-kv"),
    ("-dev CUDA7", "unknown-device", "device"),
    ("-dev none,CUDA0", "none-with-devices", "device"),
    ("-mmdev Vulkan3", "unknown-device", "mmproj-device"),
    ("-ctv q8_0 -fa off", "v-cache-needs-fa", "cache-type-v"),
    ("-md d.gguf --spec-type draft-simple -ctvd q4_0 -fa off", "v-cache-needs-fa", "spec-draft-type-v"),
    ("-md d.gguf", "draft-without-type", "spec-type"),
    ("-hfd a/b", "draft-without-type", "spec-type"),
    ("--spec-type draft-eagle3", "type-without-draft", "spec-draft-model"),
    ("--spec-synth-len 2 --spec-synth-rates 0.5", "synthetic-twice", "spec-synth-rates"),
    ("--ssl-key-file k.pem", "half-tls", "ssl-cert-file"),
    ("--ssl-cert-file c.pem", "half-tls", "ssl-key-file"),
    ("--host 0.0.0.0 --tools all", "open-tools", "host"),
    ("--host :: -ag", "open-tools", "host"),
    ("--api-prefix llama/", "bad-prefix", "api-prefix"),
    ("-sm tensor -fa off", "tensor-split-needs-fa", "split-mode"),
    ("-mm /m/a.gguf", "model-as-projector", "mmproj"),
    ("--host 127.0.0.1,::1 --port 0", "port-zero", "port"),
    ("--list-devices", "ends-at-once", "list-devices"),
    ("--ctx-size=4096", "flag-with-equals", "--ctx-size=4096"),
    ("--zzz 1", "unknown-flag", "--zzz"),
    ("-dev RPC0 --rpc h:1", "rpc-too-late", "device"),
    (f"--api-key {MASK}", "masked-key", "api-key"),
    ("-mu http://x/y.gguf", "url-without-path", "model-url"),
]


@pytest.mark.parametrize(("text", "name", "on"), ERRORS)
def test_what_llama_cpp_refuses_is_an_error(make_engine: Callable[..., Engine], text: str, name: str, on: str) -> None:
    found = issues(text, make_engine(devices=("CUDA0", "CUDA1")))
    assert found[name].severity is Severity.ERROR
    assert found[name].option == on
    assert str(found[name].text)


@pytest.mark.parametrize(("text", "name", "severity"), [
    ("--host 0.0.0.0", "open-without-key", Severity.WARNING),
    ("--host 192.168.1.5", "open-without-key", Severity.WARNING),
    ("LLAMA_ARG_HOST=0.0.0.0 llama-server", "open-without-key", Severity.WARNING),
    ("--temp -1", "out-of-range", Severity.WARNING),
    ("-ctk q8_0", "cache-types-slow", Severity.WARNING),
    ("-ctk q8_0 -ctv q8_0", "v-cache-with-auto-fa", Severity.HINT),
    ("--prio-batch 2", "twin-ignored", Severity.WARNING),
    ("-Cd ff", "twin-ignored", Severity.WARNING),
    ("-t 32", "threads-above-cores", Severity.WARNING),
    ("-t 12", "threads-above-physical", Severity.HINT),
    ("-np 2 -c 8192", "context-divided", Severity.HINT),
    ("--no-kv-unified", "sharing-overruled", Severity.WARNING),
    ("-ngl 20", "fit-pinned", Severity.HINT),
    ("-ngl 20 -fit on", "fit-pinned", Severity.WARNING),
    ("-sm tensor -ctk q5_1 -ctv q5_1", "tensor-split-cache-type", Severity.WARNING),
    ("-c 1 -c 2", "repeated-flag", Severity.HINT),
    ("llama-server a.gguf", "left-out", Severity.WARNING),
    ("--api-key abc", "literal-key", Severity.WARNING),
    ("HF_TOKEN=abc llama-server", "literal-key", Severity.WARNING),
    ("--no-slots", "no-slot-states", Severity.HINT),
    ("--log-disable", "no-log", Severity.WARNING),
    ("--port 0", "port-zero", Severity.WARNING),
    ("-mm p.gguf --context-shift", "ignored-with-projector", Severity.WARNING),
    ("-ub 4096", "micro-batch-above-batch", Severity.HINT),
    ("--spec-draft-n-max 8", "draft-options-alone", Severity.HINT),
    ("--spec-type ngram-mod --spec-ngram-mod-n-min 80", "draft-lengths", Severity.WARNING),
    ("--spec-synth-len 2 --spec-type ngram-mod", "synthetic", Severity.WARNING),
    ("-m '$HOME/a.gguf'", "not-expanded", Severity.WARNING),
    ("LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH llama-server", "not-expanded", Severity.WARNING),
    ("LLAMA_ARG_CTX_SIZE= llama-server", "empty-variable", Severity.WARNING),
    ("sudo llama-server", "sudo", Severity.WARNING),
    ("--cache-ram -1", "prompt-cache-size", Severity.HINT),
    ("--reuse-port", "shared-port", Severity.HINT),
    ("-ncmoe 4 --fit off", "first-device-only", Severity.HINT),
])
def test_what_runs_but_is_worse_is_said(
    make_engine: Callable[..., Engine], text: str, name: str, severity: Severity
) -> None:
    found = issues(text, make_engine(devices=("CUDA0", "CUDA1")), machine=MACHINE)
    assert found[name].severity is severity


@pytest.mark.parametrize("text", [
    "--host 0.0.0.0 --api-key env:K --tools all", "--host 0.0.0.0 --api-key-file /k",
    "LLAMA_API_KEY=env:K llama-server --host 0.0.0.0", "--host /run/x.sock --tools all", "--host localhost --tools all",
    "--host 127.0.0.5,::1 -ag",
])
def test_a_key_or_a_local_address_is_enough(text: str) -> None:
    assert not {"open-tools", "open-without-key"} & set(issues(text))


def test_the_last_host_counts() -> None:
    assert "open-without-key" in issues("--host 127.0.0.1 --host 0.0.0.0")
    assert "open-without-key" not in issues("--host 0.0.0.0 --host 127.0.0.1")


# Flags of other builds and other programs


@pytest.mark.parametrize(("text", "name", "fixed"), [
    ("--draft-max 16", "removed-flag", "--spec-draft-n-max 16"),
    ("--draft 16", "removed-flag", "--spec-draft-n-max 16"),
    ("--draft-min 2", "removed-flag", "--spec-draft-n-min 2"),
    ("--no-mmap", "removed-flag", "-lm none"),
    ("--mlock", "removed-flag", "-lm mlock"),
    ("-dio", "removed-flag", "-lm dio"),
    ("-ndio", "removed-flag", ""),
    ("-cpent 512", "removed-flag", "-cms 512"),
    ("--ctx-size-draft 512", "removed-flag", ""),
    ("--draft-model d.gguf", "flag-never-existed", "-md d.gguf"),
    ("--draft-n-max 4", "flag-never-existed", "--spec-draft-n-max 4"),
    ("--kv-cache-type q8_0", "flag-never-existed", "-ctk q8_0 -ctv q8_0"),
    ("--gpu-memory-utilization 0.9", "flag-never-existed", ""),
    ("--ngl 99", "unknown-flag", "-ngl 99"),
    ("-ctx-size 512", "unknown-flag", "-c 512"),
    ("--ctx-sise 512", "unknown-flag", "-c 512"),
    ("--no-kv-ofload", "unknown-flag", "-nkvo"),
    ("--zzz 512", "unknown-flag", ""),
    ("--temp=0.5", "flag-with-equals", "--temp 0.5"),
])
def test_a_foreign_flag_stops_the_launch_and_its_button_puts_it_right(
    engine: Engine, text: str, name: str, fixed: str
) -> None:
    plan = parse(text)
    found = {issue.id: issue for issue in check(plan, None, engine, None)}
    assert found[name].severity is Severity.ERROR
    assert str(found[name].fix)
    mended = found[name].apply(plan)
    assert " ".join(command(mended, engine, additions={}).own_argv) == fixed
    assert name not in {issue.id for issue in check(mended, None, engine, None)}


@pytest.mark.parametrize(("text", "fixed"), [("-lm none", "--no-mmap"), ("-lm mlock", "--mlock")])
def test_a_new_flag_finds_its_older_name(ancient_engine: Engine, text: str, fixed: str) -> None:
    plan = parse(text)
    found = {issue.id: issue for issue in check(plan, None, ancient_engine, None)}["flag-too-new"]
    assert command(found.apply(plan), ancient_engine, additions={}).own_argv == (fixed,)


def test_a_new_flag_without_an_older_name_is_an_error(older_engine: Engine) -> None:
    assert issues("--n-cpu-ffn 3", older_engine)["flag-too-new"].severity is Severity.ERROR
    assert "removed-flag" not in issues("--mlock", older_engine)


def test_a_bare_fa_says_what_it_leaves_out(ancient_engine: Engine) -> None:
    assert "flag-left-out" in issues("-fa off", ancient_engine)
    assert "flag-left-out" not in issues("-fa", ancient_engine)


def test_values_are_judged_by_the_engines_own_choices(ancient_engine: Engine) -> None:
    assert issues("-ctk iq4_nl", ancient_engine)["not-a-choice"].option == "cache-type-k"


def test_an_engine_whose_help_was_not_understood_is_not_second_guessed(make_engine: Callable[..., Engine]) -> None:
    odd = make_engine([], flags_verified=False)
    assert issues("--zzz 1", odd)["unknown-flag"].severity is Severity.WARNING
    assert not {"flag-too-new", "removed-flag"} & set(issues("--mlock -c 1", odd))


def test_a_flag_that_only_the_engine_knows_is_fine(make_engine: Callable[..., Engine]) -> None:
    forked = make_engine([option("-m", "--model"), option("--fork-only")])
    assert "unknown-flag" not in issues("-m a --fork_only 1", forked)


def test_moving_rpc_to_the_front(engine: Engine) -> None:
    plan = parse("-dev RPC0 -c 1 --rpc h:1")
    fixed = {i.id: i for i in check(plan, None, engine, None)}["rpc-too-late"].apply(plan)
    order = [s.option for s in fixed]
    assert order.index("rpc") < order.index("device")
    assert "unknown-device" not in issues("--rpc h:1 -dev RPC0,RPC1", engine)


# The model file


def test_no_model_and_a_missing_one() -> None:
    assert "no-model" in {i.id for i in check(Plan(), None, None, None)}
    assert "no-model" not in {i.id for i in check(parse("--models-dir /m"), None, None, None)}
    assert "no-model" not in {i.id for i in check(parse("--gpt-oss-20b-default"), None, None, None)}
    assert issues("-m /m/x.gguf", model_exists=False)["missing-file"].option == "model"
    found = check(parse("-m a -mm /p"), None, None, None, Conditions(model_exists=True, missing_paths=("/p",)))
    assert [(i.id, i.option) for i in found if i.id == "missing-file"] == [("missing-file", "mmproj")]


def test_a_missing_model_is_said_once() -> None:
    found = check(parse("-m /x"), None, None, None, Conditions(model_exists=False, missing_paths=("/x",)))
    assert [i.id for i in found].count("missing-file") == 1


@pytest.mark.parametrize(("kind", "name", "severity"), [
    (Kind.PROJECTOR, "projector-as-model", Severity.ERROR), (Kind.ADAPTER, "adapter-as-model", Severity.ERROR),
    (Kind.IMATRIX, "not-a-model", Severity.ERROR), (Kind.VOCAB, "not-a-model", Severity.ERROR),
    (Kind.DRAFT, "draft-as-model", Severity.WARNING), (Kind.EMBEDDING, "embedding-as-chat", Severity.WARNING),
    (Kind.RERANKER, "reranker-as-chat", Severity.WARNING),
])
def test_files_of_another_kind(kind: Kind, name: str, severity: Severity) -> None:
    assert issues("-c 1", model=model_file(kind=kind))[name].severity is severity


def test_embeddings_are_turned_on_by_the_button() -> None:
    plan = parse("-m /m/a.gguf")
    model = model_file(kind=Kind.EMBEDDING)
    issue = next(i for i in check(plan, model, None, None) if i.id == "embedding-as-chat")
    fixed = issue.apply(plan)
    assert fixed.is_on("embedding")
    assert check(fixed, model, None, None) == []


def test_incomplete_and_later_parts() -> None:
    assert "incomplete-model" in issues("-c 1", model=model_file(complete=False))
    problem = Problem("truncated", "error", Text("It is cut off."))
    found = issues("-c 1", model=model_file(complete=False, problems=(problem,)))
    assert found["file-truncated"].severity is Severity.ERROR
    assert "incomplete-model" not in found
    split = model_file("/m/a-00001-of-00003.gguf", parts=3)
    later = issues("-m /m/a-00002-of-00003.gguf", model=split)["later-part"]
    assert later.edits == (("model", (str(split.path),)),)
    assert "later-part" not in issues("-m /m/a-00001-of-00003.gguf", model=split)


@pytest.mark.parametrize(("text", "facts", "metadata", "name"), [
    ("-ctk q8_0", {"key_length": 80}, {}, "head-size"),
    ("-ctk q8_0 -ctv q8_0", {"key_length": 128, "value_length": 72}, {}, "head-size"),
    ("-ctk q8_0", {"key_length": 128}, {"llama.attention.key_length_swa": 40}, "head-size"),
    ("-ctk q8_0", {}, {"llama.attention.key_length_mla": 192, "llama.attention.value_length_mla": 128},
     "cache-types-differ"),
    ("-c 262144", {"trained_context": 131072}, {}, "above-trained"),
    ("-c 262144 -np 2 -nocb --no-kv-unified -np 1", {"trained_context": 131072}, {}, "above-trained"),
    ("-c 0", {"trained_context": 131072}, {}, "whole-context"),
    ("-fit off", {"trained_context": 131072}, {}, "whole-context"),
    ("--swa-full", {}, {}, "no-sliding-window"),
    ("-cmoe", {}, {}, "no-experts"),
    ("--spec-type draft-mtp", {}, {}, "no-mtp-layers"),
])
def test_the_models_own_facts(text: str, facts: dict[str, Any], metadata: dict[str, Any], name: str) -> None:
    assert name in issues(text, model=model_file(metadata=metadata, **facts))


@pytest.mark.parametrize(("text", "facts", "name"), [
    ("-ctk q8_0 -fa off", {"key_length": 80}, "head-size"),
    ("-c 262144 -np 2 --no-kv-unified", {"trained_context": 131072}, "above-trained"),
    ("-c 262144 --rope-scaling yarn", {"trained_context": 131072}, "above-trained"),
    ("-c 40960", {"trained_context": 40960}, "above-trained"),
    ("-c 4096", {"trained_context": 131072}, "whole-context"),
    ("--spec-type draft-mtp", {"nextn_layers": 1}, "no-mtp-layers"),
    ("--swa-full", {"sliding_window": 512}, "no-sliding-window"),
])
def test_no_alarm_where_the_model_allows_it(text: str, facts: dict[str, Any], name: str) -> None:
    assert name not in issues(text, model=model_file(**facts))


def test_families_that_abort() -> None:
    assert "slots-abort" in issues("-np 3", model=model_file(architecture="minimax-01"))
    assert "slots-abort" not in issues("-np 4", model=model_file(architecture="minimax-01"))
    assert "slots-abort" in issues("-np 2", model=model_file(architecture="t5"))
    assert "slots-abort" not in issues("-np 2 -kvu", model=model_file(architecture="t5"))
    assert "v-cache-needs-fa" in issues("-ctv q8_0", model=model_file(architecture="grok"))


def test_placements_that_match_nothing_or_come_too_late() -> None:
    model = model_file(tensors=("blk.0.ffn_up_exps.weight", "blk.1.ffn_up_exps.weight", "output.weight"))
    assert "pattern-matches-nothing" in issues("-ot blk.7=CPU", model=model)
    assert "pattern-too-late" in issues("-ot exps=CPU -ot blk.1=CPU", model=model)
    assert not {"pattern-matches-nothing", "pattern-too-late"} & set(issues("-ot blk.1=CPU,exps=CPU", model=model))


# Devices


def test_row_and_tensor_splits_need_devices_that_can(make_engine: Callable[..., Engine]) -> None:
    assert "row-split-unsupported" in issues("-sm row", make_engine(devices=("Vulkan0",)))
    assert "row-split-unsupported" not in issues("-sm row", make_engine(devices=("CUDA0",)))
    assert "tensor-split-without-device" in issues("-sm tensor", make_engine())
    assert "tensor-split-without-device" in issues("-sm tensor -dev none", make_engine(devices=("CUDA0",)))


def test_the_main_device_must_exist(make_engine: Callable[..., Engine]) -> None:
    two = make_engine(devices=("CUDA0", "CUDA1"))
    assert "no-such-main-device" in issues("-sm none -mg 2", two)
    assert "no-such-main-device" in issues("-sm none -mg 1 -dev CUDA1", two)
    assert "no-such-main-device" not in issues("-sm none -mg 1", two)
    assert "no-such-main-device" not in issues("-mg 5", two)


def test_layers_for_a_gpu_that_is_not_there(engine: Engine) -> None:
    assert "no-device" in issues("-ngl 99", engine)
    assert not {"no-device"} & (set(issues("-ngl 0", engine)) | set(issues("-c 1", engine)))


def test_devices_that_could_not_be_listed_are_not_judged(make_engine: Callable[..., Engine]) -> None:
    blind = make_engine(devices_error=Text("crashed"))
    found = set(issues("-dev CUDA0 -ngl 9 -sm row", blind))
    assert not {"unknown-device", "no-device", "row-split-unsupported"} & found


def test_an_engine_that_cannot_be_used(make_engine: Callable[..., Engine]) -> None:
    assert issues("-c 1", make_engine(error=Text("no")))["engine-unusable"].severity is Severity.ERROR


# The world


def test_a_taken_port_offers_a_free_one() -> None:
    found = issues("--port 8080", port_free=False, port_holder="open-webui", free_port=8099)["port-taken"]
    assert found.severity is Severity.ERROR
    assert "open-webui" in str(found.text)
    assert found.apply(parse("--port 8080")).get("port") == "8099"


def test_network_files_and_locked_memory() -> None:
    assert "mapped-over-network" in issues("-c 1", remote_file_system=True, file_system="nfs4")
    assert "mapped-over-network" not in issues("-lm none", remote_file_system=True, file_system="nfs4")
    assert "memlock-limit" in issues("-lm mlock", model=model_file(), memlock_bytes=65536)
    assert "memlock-limit" not in issues("-lm mlock", model=model_file(), memlock_bytes=2 * GIB)


def test_what_is_inherited_is_shown() -> None:
    found = issues("-c 1", environment={"LLAMA_ARG_HOST": "0.0.0.0", "HF_TOKEN": "x", "PATH": "/bin"})
    assert "LLAMA_ARG_HOST" in str(found["inherited-options"].text)
    assert "HF_TOKEN" not in str(found["inherited-options"].text)
    assert "open-without-key" not in found, "it is removed for the launch"


def test_config_files_are_shown_unless_overruled() -> None:
    assert "ctx-size" in str(issues("-ngl 9", config_ini={"ctx-size": "9"})["config-file"].text)
    assert "config-file" not in issues("-c 9", config_ini={"ctx-size": "9"})
    assert "open-without-key" in issues("-c 9", config_ini={"host": "0.0.0.0"})


def test_a_busy_machine() -> None:
    assert "busy-machine" in issues("-c 1", machine=MACHINE, load_1min=15.0)
    assert "busy-machine" not in issues("-c 1", machine=MACHINE, load_1min=1.0)


def test_the_worst_comes_first(engine: Engine) -> None:
    order = [i.severity for i in check(parse("-ngl 9 --host 0.0.0.0 --zzz -np 2 -c 8192"), None, engine, MACHINE)]
    assert order == sorted(order, key=["error", "warning", "hint"].index)


@pytest.mark.parametrize("text", [text for text, _, _ in ERRORS])
def test_every_button_solves_its_problem(make_engine: Callable[..., Engine], text: str) -> None:
    engine = make_engine(devices=("CUDA0", "CUDA1"))
    plan = parse(text)
    plan = plan if plan.find("model-url") else plan.with_("model", "/m/a.gguf") if not plan.find("model") else plan
    for issue in check(plan, None, engine, None):
        if issue.edits:
            again = {(i.id, i.option, str(i.text)) for i in check(issue.apply(plan), None, engine, None)}
            assert (issue.id, issue.option, str(issue.text)) not in again


def test_a_silent_host_is_taken_out_and_the_others_stay(engine: Engine) -> None:
    world = Conditions(rpc_hosts=(("g:2", "silent"),))
    for line, left in (("--rpc h:1,g:2 -m a", "h:1"), ("--rpc g:2 -m a", None)):
        plan = parse(line)
        found = {i.id: i for i in check(plan, None, engine, None, world)}["rpc-silent"]
        assert found.apply(plan).get("rpc") == left
