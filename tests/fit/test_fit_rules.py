"""Each rule of placement, weights, caches and refusals by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fitmodels import LLAMA_KEYS, llama_tensors, make_model

from paddock.fit import Budget, Estimate, estimate
from paddock.fit.levers import Levers
from paddock.fit.memory import Sizes, parts
from paddock.fit.placement import Device, available, chosen, place
from paddock.fit.shape import Shape
from paddock.gguf import ModelFile
from paddock.launch import Plan, parse_argv

GIB = 1 << 30
MakeModel = Callable[..., ModelFile]
TWO = (Budget("RPC0", "rpc", 24 * GIB, 24 * GIB), Budget("RPC1", "rpc", 24 * GIB, 24 * GIB))


def plan(text: str = "") -> Plan:
    return parse_argv(["--no-repack", *text.split()])


def run(
    model: ModelFile, text: str = "", budgets: tuple[Budget, ...] = TWO[:1], draft: ModelFile | None = None
) -> Estimate:
    return estimate(model, plan(text), budgets, draft=draft, host_total=64 * GIB, host_free=64 * GIB, pins=False)


def row(found: Estimate, name: str) -> tuple[int, int, int]:
    device = found.device(name)
    assert device is not None
    return device.model, device.context, device.compute


def test_embeddings_stay_on_the_host_and_a_separate_head_goes_to_the_device(llama: MakeModel) -> None:
    model = llama()
    embedding = model.by_name["token_embd.weight"].nbytes
    assert row(run(model, "-c 4096"), "Host")[0] == embedding
    assert row(run(model, "-c 4096"), "RPC0")[0] == model.tensor_bytes - embedding


def test_tied_embeddings_count_twice_when_the_head_is_offloaded_and_once_when_not(llama: MakeModel) -> None:
    model = llama(tied=True)
    embedding = model.by_name["token_embd.weight"].nbytes or 0
    offloaded = run(model, "-c 4096")
    assert row(offloaded, "Host")[0] == embedding
    assert row(offloaded, "RPC0")[0] == model.tensor_bytes
    assert row(run(model, "-c 4096 -ngl 0"), "Host")[0] == model.tensor_bytes


def test_tied_embeddings_on_the_cpu_count_twice_when_the_head_is_rearranged(llama: MakeModel) -> None:
    model = make_model("llama", LLAMA_KEYS, llama_tensors(8, 1024, 2048, 8, 2, 128, 4096, tied=True, kind="q4_0"))
    embedding = model.by_name["token_embd.weight"].nbytes or 0
    found = estimate(model, parse_argv(["-dev", "none", "-c", "4096"]), TWO, host_total=GIB, host_free=GIB)
    assert row(found, "Host")[0] == model.tensor_bytes + embedding


def test_every_tensor_is_padded_by_itself(llama: MakeModel) -> None:
    small = llama(more=[("blk.0.attn_q.bias", (3,), "f32"), ("blk.1.attn_q.bias", (5,), "f32")])
    assert row(run(small, "-c 4096"), "RPC0")[0] - row(run(llama(), "-c 4096"), "RPC0")[0] == 64


def test_cuda_pads_quantised_rows_to_512_elements(llama: MakeModel) -> None:
    cuda = (Budget("CUDA0", "cuda", 24 * GIB, 24 * GIB),)
    odd = [("blk.0.ffn_gate.extra", (544, 3), "q8_0")]
    grown = row(run(llama(more=odd), "-c 4096", cuda), "CUDA0")[0] - row(run(llama(), "-c 4096", cuda), "CUDA0")[0]
    assert grown == -(-(3 * 17 * 34 + 15 * 34) // 128) * 128


def test_layers_are_counted_from_the_end_and_the_output_first(llama: MakeModel) -> None:
    model = llama()
    head = sum(model.by_name[n].nbytes or 0 for n in ("output.weight", "output_norm.weight"))
    assert row(run(model, "-c 4096 -ngl 1"), "RPC0")[:2] == (head, 0)
    last = sum(t.nbytes or 0 for t in model.tensors if t.name.startswith("blk.7."))
    assert row(run(model, "-c 4096 -ngl 2"), "RPC0")[0] == head + last


def test_a_tie_in_the_split_goes_to_the_next_device() -> None:
    devices = (Device("A", "rpc", 0, GIB, False), Device("B", "rpc", 1, GIB, False))
    assert place(Levers(), devices, 3).layer_device == (0, 0, 1, 1)
    assert place(Levers(tensor_split=(0.0, 1.0)), devices, 3).layer_device == (1, 1, 1, 1)
    assert place(Levers(tensor_split=(1.0,)), devices, 3).layer_device == (0, 0, 0, 0)


def test_layers_are_shared_by_free_memory_unless_a_split_is_given() -> None:
    devices = (Device("A", "rpc", 0, 3 * GIB, False), Device("B", "rpc", 1, GIB, False))
    assert place(Levers(), devices, 7).layer_device == (0,) * 6 + (1, 1)
    assert place(Levers(tensor_split=(1.0, 1.0)), devices, 7).layer_device == (0,) * 4 + (1,) * 4


def test_devices_come_in_the_order_asked_for_and_endpoints_are_ignored() -> None:
    both = available(TWO)
    assert [d.name for d in chosen(Levers.of(plan("-dev RPC1[127.0.0.1:5000],RPC0")), both)] == ["RPC1", "RPC0"]
    assert chosen(Levers.of(plan("-dev none")), both) == ()
    assert [d.name for d in chosen(Levers.of(plan("-sm none -mg 1")), both)] == ["RPC1"]


def test_an_integrated_gpu_is_used_only_where_there_is_no_other() -> None:
    own = Budget("CUDA0", "cuda", GIB, GIB)
    shared = Budget("Vulkan0", "vulkan", GIB, GIB, integrated=True)
    assert [d.name for d in chosen(Levers(), available((shared, own)))] == ["CUDA0"]
    assert [d.name for d in chosen(Levers(), available((shared,)))] == ["Vulkan0"]


def test_kv_cache_takes_keys_and_values_of_every_layer(llama: MakeModel) -> None:
    assert row(run(llama(), "-c 4096"), "RPC0")[1] == 8 * 2 * (2 * 128 * 2) * 4096
    assert row(run(llama(), "-c 4096 -ctk q8_0 -ctv q8_0"), "RPC0")[1] == 8 * 2 * (2 * 128 // 32 * 34) * 4096


def test_context_is_rounded_and_shared_between_slots_only_when_not_unified(llama: MakeModel) -> None:
    auto = run(llama(), "-c 4000")
    assert (auto.context_length, auto.slots, auto.unified, auto.context_per_slot) == (4096, 4, True, 4096)
    apart = run(llama(), "-c 4000 -np 3")
    assert (apart.context_length, apart.slots, apart.unified) == (4608, 3, False)
    assert run(llama(), "-np 2 -kvu -c 4000").context_length == 4096
    assert run(llama(), "--kv-unified-per-slot 1024").context_length == 4096
    assert run(llama()).context_length == 32768


def test_sliding_layers_keep_the_window_of_every_slot(llama: MakeModel) -> None:
    keys = {"attention.sliding_window": 512, "attention.sliding_window_pattern": 2}
    model = llama("gemma3", tied=True, keys=keys)
    per_cell = 2 * (2 * 128 * 2)

    def cells(text: str) -> int:
        return row(run(model, "-c 16384 " + text), "RPC0")[1] // per_cell

    assert cells("") == 4 * 16384 + 4 * (4 * 512 + 512)
    assert cells("-np 1") == 4 * 16384 + 4 * 1024
    assert cells("-np 4") == 4 * 16384 + 4 * 4 * 1024
    assert cells("-np 1 -ub 2048") == 4 * 16384 + 4 * 2560
    assert cells("--swa-full") == 8 * 16384


def test_no_kv_offload_moves_the_cache_to_the_host(llama: MakeModel) -> None:
    found = run(llama(), "-c 4096 -nkvo")
    assert row(found, "RPC0")[1] == 0
    assert row(found, "Host")[1] == 8 * 2 * 512 * 4096


def test_mla_keeps_one_compressed_key_per_token() -> None:
    keys = {
        "block_count": 3,
        "embedding_length": 256,
        "attention.head_count": 4,
        "attention.head_count_kv": 1,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "context_length": 4096,
    }
    shape = Shape.of(make_model("deepseek2", keys, []))
    found = parts(shape, Sizes.of(shape, Levers.of(plan("-c 4096"))))
    assert [(p.layer, p.kind, p.nbytes) for p in found] == [(i, "k", 576 * 2 * 4096) for i in range(3)]


def test_recurrent_state_grows_with_slots_and_rollback_but_not_with_context() -> None:
    keys = {
        "block_count": 4,
        "embedding_length": 256,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "context_length": 65536,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 512,
        "ssm.state_size": 64,
        "ssm.group_count": 2,
        "nextn_predict_layers": 0,
    }
    shape = Shape.of(make_model("qwen35", keys, []))

    def state(text: str) -> int:
        return sum(p.nbytes for p in parts(shape, Sizes.of(shape, Levers.of(plan(text)))) if p.kind == "state")

    one = 3 * 4 * (3 * (512 + 2 * 2 * 64) + 64 * 512)
    assert state("-c 4096 -np 1") == one
    assert state("-c 32768 -np 1") == one
    assert state("-c 4096 -np 3") == 3 * one
    assert state("-c 4096 -np 1 --spec-type draft-mtp") == 4 * one
    attention = [p.layer for p in parts(shape, Sizes.of(shape, Levers.of(plan("-c 4096")))) if p.kind == "k"]
    assert attention == [3]


MOE = [
    (f"blk.{i}.{n}_exps.weight", (1024, 512, 4), "q8_0") for i in range(8) for n in ("ffn_gate", "ffn_up", "ffn_down")
]
EACH = 1024 * 512 * 4 // 32 * 34


def test_experts_of_the_first_layers_stay_on_the_host(llama: MakeModel) -> None:
    model = llama(more=MOE, keys={"expert_count": 4, "expert_used_count": 2})
    base = row(run(model, "-c 4096"), "Host")[0]
    assert row(run(model, "-c 4096 -ncmoe 3"), "Host")[0] == base + 3 * 3 * EACH
    assert row(run(model, "-c 4096 -cmoe"), "Host")[0] == base + 8 * 3 * EACH
    assert row(run(model, "-c 4096 -ncmoe 99"), "Host")[0] == base + 8 * 3 * EACH


def test_the_first_override_that_matches_wins(llama: MakeModel) -> None:
    model = llama(more=MOE, keys={"expert_count": 4, "expert_used_count": 2})
    found = run(model, r"-c 4096 -ot blk\.0\.ffn_up_exps=RPC1,ffn_up_exps=CPU -cmoe", TWO)
    plain = run(model, "-c 4096 -cmoe", TWO)
    assert row(found, "RPC1")[0] == row(plain, "RPC1")[0] + EACH
    assert row(found, "Host")[0] == row(plain, "Host")[0] - EACH


def test_an_override_of_the_embedding_moves_a_tied_head_too(llama: MakeModel) -> None:
    model = llama(tied=True)
    found = run(model, "-c 4096 -ot token_embd=RPC0")
    assert row(found, "Host")[0] == 0
    assert row(found, "RPC0")[0] == model.tensor_bytes


def test_expressions_search_anywhere_and_may_use_posix_classes(llama: MakeModel) -> None:
    model = llama()
    up = sum(t.nbytes or 0 for t in model.tensors if ".ffn_up." in t.name)
    base = row(run(model, "-c 4096"), "Host")[0]
    assert row(run(model, r"-c 4096 -ot [[:digit:]]\.ffn_up=CPU"), "Host")[0] == base + up


def test_mtp_blocks_are_left_out_unless_they_draft() -> None:
    more = [("eh_proj", (2048, 1024), "q8_0"), ("enorm", (1024,), "f32"), ("hnorm", (1024,), "f32")]
    tensors = [
        *llama_tensors(8, 1024, 2048, 8, 2, 128, 4096),
        *((f"blk.7.nextn.{name}.weight", shape, kind) for name, shape, kind in more),
    ]
    model = make_model("glm4moe", {**LLAMA_KEYS, "nextn_predict_layers": 1}, tensors)
    block = sum(t.nbytes or 0 for t in model.tensors if t.name.startswith("blk.7."))
    plain = run(model, "-c 4096")
    drafting = run(model, "-c 4096 --spec-type draft-mtp")
    assert row(drafting, "RPC0")[0] == row(plain, "RPC0")[0] + block
    assert row(plain, "RPC0")[1] == 7 * 2 * 512 * 4096
    device = drafting.device("RPC0")
    assert device is not None
    assert device.draft[:2] == (0, 2 * 512 * 4096)


def test_an_mtp_block_without_its_norms_cannot_draft() -> None:
    tensors = [*llama_tensors(8, 1024, 2048, 8, 2, 128, 4096), ("blk.7.nextn.eh_proj.weight", (2048, 1024), "q8_0")]
    model = make_model("glm4moe", {**LLAMA_KEYS, "nextn_predict_layers": 1}, tensors)
    rejected = run(model, "-c 4096 --spec-type draft-mtp").rejected
    assert rejected is not None
    assert "nextn.enorm" in str(rejected)
    assert run(model, "-c 4096").rejected is None


def test_a_draft_model_has_placement_and_cache_types_of_its_own(llama: MakeModel) -> None:
    small = llama(keys={"block_count": 2})
    text = "-c 4096 -md small.gguf --spec-type draft-simple "
    here = run(llama(), text + "-devd RPC1 -ctkd q8_0 -ctvd q8_0", TWO, draft=small).device("RPC1")
    assert here is not None
    assert here.draft[1] == 2 * 2 * (256 // 32 * 34) * 4096
    away = run(llama(), text + "-ngld 0", TWO[:1], draft=small).device("RPC0")
    assert away is not None
    assert away.draft[:2] == (0, 0)


@pytest.mark.parametrize(
    "flags",
    [
        "-ctv q8_0 -fa off",
        "-sm row",
        "-sm tensor -fa off",
        "-dev none -sm tensor",
        "-mg 1 -sm none",
        "-dev RPC7",
        "-dev none,RPC0",
        "-ctk q9_9",
        "-np 0",
        "-np 300",
        "-b 0 -ub 0",
        "-ot x",
        "-ot (=CPU",
        "-ts 1,x",
        "-ngl some",
        "-c -5",
        "-b 2",
        "--spec-type draft-mtp",
        "-ot ffn=RPC1 -dev RPC0",
    ],
)
def test_what_llama_cpp_refuses_is_refused_with_a_reason(llama: MakeModel, flags: str) -> None:
    found = run(llama(), "-c 4096 " + flags)
    assert found.rejected is not None
    assert str(found.rejected)


@pytest.mark.parametrize(
    "flags",
    [
        "-ctk q8_0 -fa off",
        "-ts 1,2/3",
        "-ngl all",
        "-ngl auto",
        "-ngl -5",
        "-ot nothing=RPC9",
        "-cmoe",
        "-ncmoe 400",
        "-np -1",
        "--spec-type ngram-simple",
    ],
)
def test_what_llama_cpp_takes_is_not_refused(llama: MakeModel, flags: str) -> None:
    assert run(llama(), "-c 4096 " + flags).rejected is None


def test_head_sizes_that_no_quantised_block_divides_are_refused(llama: MakeModel) -> None:
    keys = {"attention.key_length": 100, "attention.value_length": 100, "rope.dimension_count": 100}
    assert run(llama(keys=keys), "-c 4096 -ctk q8_0 -ctv q8_0").rejected is not None
    assert run(llama(keys=keys), "-c 4096 -ctk q8_0 -fa off").rejected is None


def test_files_that_the_loader_refuses_are_refused(llama: MakeModel) -> None:
    assert run(llama("gemma", tied=False), "-c 4096").rejected is not None
    assert run(llama("olmo2", tied=True), "-c 4096").rejected is not None
    assert run(llama(keys={"rope.dimension_count": 64}), "-c 4096").rejected is not None
    assert run(llama("mimo2", keys={"attention.sliding_window": 128}), "-c 4096").rejected is not None


def test_an_unknown_plain_architecture_is_inferred_and_an_unknown_state_is_not(llama: MakeModel) -> None:
    plain = run(llama("newcomer"), "-c 4096")
    assert row(plain, "RPC0")[1] == 8 * 2 * 512 * 4096
    assert plain.verdict.value == "fits"
    assert run(llama("newcomer", keys={"ssm.state_size": 16}), "-c 4096").verdict.value == "cant_tell"


def test_overridden_keys_count_as_llama_cpp_reads_them(llama: MakeModel) -> None:
    longer = run(llama(), "--override-kv llama.context_length=int:8192")
    assert row(longer, "RPC0")[1] == row(run(llama(), "-c 8192"), "RPC0")[1]
    assert run(llama(), "-c 4096 --override-kv llama.context_length=whole:1").rejected is not None
