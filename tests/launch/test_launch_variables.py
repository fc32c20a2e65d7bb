"""The environment variables as data."""

from __future__ import annotations

from dataclasses import replace

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.locking import locked_choices
from paddock.launch.model import Conditions, Plan
from paddock.launch.variables import BY_NAME, VARIABLES, inherited, is_secret, without_use


def test_every_variable_has_a_label_and_says_what_it_does() -> None:
    assert len(BY_NAME) == len(VARIABLES) >= 30
    for variable in VARIABLES:
        assert str(variable.label)
        assert str(variable.help).endswith("."), variable.name
        assert variable.danger is None or str(variable.danger).endswith("."), variable.name
        assert variable.default is None or variable.default in (*variable.choices, variable.default)


def test_those_of_the_backends_are_there() -> None:
    wanted = {"CUDA_VISIBLE_DEVICES", "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "GGML_CUDA_P2P", "CUDA_SCALE_LAUNCH_QUEUES",
              "GGML_CUDA_CUBLAS_COMPUTE_TYPE", "GGML_VK_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "LLAMA_CACHE",
              "GGML_RPC_DEBUG", "GGML_RPC_NO_RDMA"}
    assert wanted <= set(BY_NAME)


def test_no_variable_is_an_option_as_well_except_the_token() -> None:
    twice = [name for name in BY_NAME if CATALOGUE.of_env(name) is not None]
    assert twice == ["HF_TOKEN"]


def test_a_variable_of_a_backend_that_lists_no_device_says_so() -> None:
    cuda, everyone = BY_NAME["CUDA_VISIBLE_DEVICES"], BY_NAME["LLAMA_CACHE"]
    assert str(without_use(cuda, {"vulkan"})) == "this engine lists no device of CUDA"
    assert str(without_use(BY_NAME["GGML_CUDA_P2P"], set())) == "this engine lists no device of CUDA / ROCm"
    assert without_use(cuda, {"cuda"}) is None
    assert without_use(cuda, None) is None
    assert without_use(everyone, set()) is None


def test_what_is_inherited_is_what_llama_cpp_may_read() -> None:
    environ = {"PATH": "/bin", "LLAMA_ARG_THREADS": "3", "CUDA_VISIBLE_DEVICES": "", "HOME": "/h", "HF_TOKEN": "x"}
    assert inherited(environ) == {"CUDA_VISIBLE_DEVICES": "", "HF_TOKEN": "x", "LLAMA_ARG_THREADS": "3"}
    assert is_secret("HF_TOKEN")
    assert is_secret("LLAMA_API_KEY")
    assert not is_secret("LLAMA_CACHE")


def test_quantised_v_cache_waits_for_flash_attention() -> None:
    assert locked_choices(Plan()) == {}
    found = locked_choices(Plan().with_("flash-attn", "off"))
    assert set(found["cache-type-v"]) == {"q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}
    assert str(found["split-mode"]["tensor"]) == "needs flash attention: -fa is off"
    assert locked_choices(Plan(environment=(("LLAMA_ARG_FLASH_ATTN", "off"),)))
    inherited_off = Conditions(environment={"LLAMA_ARG_FLASH_ATTN": "off"})
    assert locked_choices(Plan(), inherited_off) == {}
    assert locked_choices(Plan(), replace(inherited_off, keeps_environment=True))
