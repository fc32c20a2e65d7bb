"""Environment variables that llama.cpp and its backends read, as data like the options.

Names and meanings of GGML_* and LLAMA_* are those of build 11434's source and its docs/build.md; those that drivers and
run times read themselves (CUDA_*, HIP_*, ROCR_*, HSA_*, ONEAPI_*, ZES_*, UR_*, OMP_*, KMP_*) are from general
knowledge. A variable that a backend reads matters only to an engine
with that backend; `backends` are the kinds of `EngineDevice.kind`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from paddock.text import Text

ANY_VALUE = ("1",)
"""It is on as soon as the variable is there: even 0 turns it on."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable. `danger` says what can go wrong; `choices` are usual values, others are taken too."""

    name: str
    label: Text
    help: Text
    backends: tuple[str, ...] = ()
    """Kinds of devices that it concerns; () is every engine."""
    danger: Text | None = None
    choices: tuple[str, ...] = ()
    default: str | None = None
    presence: bool = False
    """Any value turns it on, 0 as well: to turn it off it must not be there."""
    secret: bool = False


_SLOWER = Text("Slower than without it: use it to look for a fault.")
_LOUD = Text("Much more output.")

_CUDA = (
    Variable("CUDA_VISIBLE_DEVICES", Text("Cards that CUDA sees"),
             Text("Numbers or UUIDs of the cards to use, in this order; -1 hides all of them."),
             ("cuda",), Text("The names CUDA0, CUDA1 are counted anew among those that are left.")),
    Variable("CUDA_DEVICE_ORDER", Text("How CUDA numbers cards"),
             Text("PCI_BUS_ID numbers cards as the driver does, FASTEST_FIRST puts the fastest first."), ("cuda",),
             Text("With FASTEST_FIRST, readings can no longer be matched to devices."),
             ("PCI_BUS_ID", "FASTEST_FIRST"), "FASTEST_FIRST"),
    Variable("GGML_CUDA_ENABLE_UNIFIED_MEMORY", Text("Spill into RAM"),
             Text("Memory that a card has not is taken from RAM instead of stopping (Linux; ROCm too)."),
             ("cuda", "rocm"), Text("Far slower as soon as it spills; the estimate no longer says what happens."),
             ANY_VALUE, presence=True),
    Variable("GGML_CUDA_P2P", Text("Direct copies between cards"),
             Text("Cards exchange data without going through RAM. The driver must allow it."), ("cuda", "rocm"),
             Text("On some boards (IOMMU) it crashes or gives wrong results."), ANY_VALUE, presence=True),
    Variable("CUDA_SCALE_LAUNCH_QUEUES", Text("Size of CUDA’s queues"),
             Text("A larger queue lets the processor run ahead: it helps prompts on several cards."), ("cuda",),
             Text("Takes some memory of each card."), ("0.25x", "0.5x", "2x", "4x")),
    Variable("GGML_CUDA_CUBLAS_COMPUTE_TYPE", Text("Precision of cuBLAS"),
             Text("Number format in which cuBLAS multiplies, instead of the fastest one."), ("cuda", "rocm"),
             Text("f16 can overflow in some models; f32 is slower."), ("auto", "f16", "bf16", "f32"), "auto"),
    Variable("GGML_CUDA_DISABLE_GRAPHS", Text("No CUDA graphs"),
             Text("Launches each operation by itself."), ("cuda", "rocm"), _SLOWER, ANY_VALUE, presence=True),
    Variable("GGML_CUDA_NO_PINNED", Text("No pinned memory"),
             Text("Buffers in RAM are not locked for the card."), ("cuda", "rocm"),
             Text("Copies between RAM and card become slower."), ANY_VALUE, presence=True),
    Variable("GGML_CUDA_REGISTER_HOST", Text("Pin weights in RAM"),
             Text("Locks weights that stay in RAM, so that they are copied faster."), ("cuda", "rocm"),
             Text("That memory can no longer be swapped out."), ANY_VALUE, presence=True),
    Variable("GGML_CUDA_ALLREDUCE", Text("How cards add up results"),
             Text("With -sm tensor: nccl takes NVIDIA’s library, internal llama.cpp’s own copies, none the slow way."),
             ("cuda", "rocm"), Text("A way that the engine was not built with falls back to a slower one."),
             ("nccl", "internal", "none")),
    Variable("GGML_CUDA_GRAPH_OPT", Text("Several streams at once"),
             Text("1 lets independent operations of one token run side by side."), ("cuda", "rocm"),
             Text("Young code: compare answers before you keep it."), ("0", "1"), "0"),
    Variable("GGML_CUDA_DISABLE_FUSION", Text("No fused operations (CUDA)"),
             Text("1 runs each operation by itself."), ("cuda", "rocm"), _SLOWER, ("0", "1"), "0"),
)

_ROCM = (
    Variable("HIP_VISIBLE_DEVICES", Text("Cards that HIP sees"),
             Text("Numbers of the AMD cards to use, in this order."), ("rocm",),
             Text("The names ROCm0, ROCm1 are counted anew among those that are left.")),
    Variable("ROCR_VISIBLE_DEVICES", Text("Cards that ROCm sees"),
             Text("Numbers or UUIDs of the AMD cards that the run time below HIP may use (Linux)."), ("rocm",),
             Text("HIP_VISIBLE_DEVICES then counts among those that are left.")),
    Variable("HSA_OVERRIDE_GFX_VERSION", Text("Pretend to be another chip"),
             Text("Version of a similar chip that ROCm supports, such as 10.3.0 for RDNA 2, 11.0.0 for RDNA 3."),
             ("rocm",), Text("A wrong version crashes or gives wrong results."), ("10.3.0", "11.0.0")),
    Variable("HSA_ENABLE_SDMA", Text("Copy engines of the card"),
             Text("0 copies with the shaders instead of the copy engines."), ("rocm",), _SLOWER, ("0", "1")),
    Variable("ROCBLAS_USE_HIPBLASLT", Text("hipBLASLt for products"),
             Text("1 lets rocBLAS use hipBLASLt where it can: prompts may become faster."), ("rocm",), None,
             ("0", "1")),
)

_VULKAN = (
    Variable("GGML_VK_VISIBLE_DEVICES", Text("Devices that Vulkan uses"),
             Text("Numbers of the Vulkan devices to use, in this order."), ("vulkan",),
             Text("Software devices can be chosen too: they are very slow.")),
    Variable("GGML_VK_PREFER_HOST_MEMORY", Text("Buffers in RAM"),
             Text("Puts buffers into RAM instead of the card’s memory."), ("vulkan",), Text("Much slower."),
             ANY_VALUE, presence=True),
    Variable("GGML_VK_ALLOW_SYSMEM_FALLBACK", Text("Spill into RAM (Vulkan)"),
             Text("Takes RAM for buffers that do not fit the card."), ("vulkan",),
             Text("Far slower as soon as it spills; the estimate no longer says what happens."), ANY_VALUE,
             presence=True),
    Variable("GGML_VK_DISABLE_COOPMAT", Text("No matrix units"),
             Text("Does without cooperative matrices: drivers that hang or give wrong results."), ("vulkan",),
             _SLOWER, ANY_VALUE, presence=True),
    Variable("GGML_VK_DISABLE_COOPMAT2", Text("No matrix units, second form"),
             Text("Does without NVIDIA’s second form of cooperative matrices."), ("vulkan",), _SLOWER, ANY_VALUE,
             presence=True),
    Variable("GGML_VK_DISABLE_INTEGER_DOT_PRODUCT", Text("No integer products"),
             Text("Does without the chip’s products of small integers."), ("vulkan",), _SLOWER, ANY_VALUE,
             presence=True),
    Variable("GGML_VK_DISABLE_BFLOAT16", Text("No bfloat16"), Text("Does without the chip’s bfloat16 format."),
             ("vulkan",), _SLOWER, ANY_VALUE, presence=True),
    Variable("GGML_VK_DISABLE_FUSION", Text("No fused operations (Vulkan)"), Text("Runs each operation by itself."),
             ("vulkan",), _SLOWER, ANY_VALUE, presence=True),
    Variable("GGML_VK_DISABLE_ASYNC", Text("No asynchronous copies"), Text("Waits for each copy to end."),
             ("vulkan",), _SLOWER, ANY_VALUE, presence=True),
    Variable("GGML_VK_FORCE_MAX_BUFFER_SIZE", Text("Largest buffer of Vulkan"),
             Text("Bytes: for drivers that promise larger buffers than they can make."), ("vulkan",),
             Text("Too small, and large tensors cannot be loaded.")),
    Variable("GGML_VK_ENABLE_MEMORY_PRIORITY", Text("Ask for priority in memory"),
             Text("Asks the driver to move other programs’ memory out first."), ("vulkan",),
             Text("A desktop on the same card can stutter."), ANY_VALUE, presence=True),
    Variable("GGML_VK_PERF_LOGGER", Text("Times of Vulkan’s operations"),
             Text("Logs how long each kind of operation takes."), ("vulkan",), _LOUD, ANY_VALUE, presence=True),
    Variable("GGML_VK_DISABLE_F16", Text("No half precision"), Text("Computes in 32 bits."), ("vulkan",), _SLOWER,
             ANY_VALUE, presence=True),
)

_OTHERS = (
    Variable("ONEAPI_DEVICE_SELECTOR", Text("Devices that SYCL sees"),
             Text("Which devices SYCL may use, such as level_zero:0."), ("sycl",),
             Text("The names SYCL0, SYCL1 are counted anew among those that are left.")),
    Variable("ZES_ENABLE_SYSMAN", Text("Free memory of Intel cards"),
             Text("1 lets the driver tell how much memory is free."), ("sycl",), None, ("0", "1")),
    Variable("UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS", Text("Large buffers on Intel cards"),
             Text("1 allows single buffers of more than 4 GiB."), ("sycl",), None, ("0", "1")),
    Variable("GGML_METAL_NO_RESIDENCY", Text("No residency sets"),
             Text("Metal does not keep the weights resident."), ("metal",),
             Text("After a pause the first answer takes longer."), ANY_VALUE, presence=True),
    Variable("GGML_METAL_RESIDENCY_KEEP_ALIVE_S", Text("How long Metal keeps the weights"),
             Text("Seconds without work after which the system may take the weights out of fast memory."), ("metal",),
             Text("Longer keeps that memory from other programs."), (), "180"),
    Variable("GGML_SYCL_NO_PINNED", Text("No pinned memory (SYCL)"),
             Text("Buffers in RAM are not locked for the card."), ("sycl",),
             Text("Copies between RAM and card become slower."), ANY_VALUE, presence=True),
    Variable("GGML_RDMA_DEV", Text("Network card for RDMA"), Text("Name of the card that RPC uses for RDMA.")),
    Variable("GGML_RDMA_GID", Text("Address index for RDMA"), Text("Number of that card’s address to use.")),
    Variable("GGML_RPC_DEBUG", Text("Log of RPC"), Text("Logs each call between this machine and the others."), (),
             _LOUD, ANY_VALUE, presence=True),
    Variable("GGML_RPC_NO_RDMA", Text("RPC without RDMA"), Text("Uses plain TCP between machines."), (),
             Text("Slower where both sides have RDMA."), ANY_VALUE, presence=True),
)

_GENERAL = (
    Variable("LLAMA_CACHE", Text("Folder for downloads"),
             Text("Where models that llama.cpp downloads are kept."), (),
             Text("Models that were downloaded before are not found there.")),
    Variable("HF_TOKEN", Text("Hugging Face token"), Text("For repositories that are not public."), (), None,
             secret=True),
    Variable("HF_ENDPOINT", Text("Another Hugging Face"), Text("Address of a mirror of huggingface.co."), (),
             Text("The mirror sees what is downloaded, and the token."), default="https://huggingface.co"),
    Variable("HF_HUB_CACHE", Text("Hugging Face cache"), Text("Folder that Hugging Face’s tools share for downloads.")),
    Variable("GGML_BACKEND_PATH", Text("Additional backend"),
             Text("Library with a backend that is loaded besides the engine’s own."), (),
             Text("Runs code from that file.")),
    Variable("OMP_NUM_THREADS", Text("Threads of OpenMP"),
             Text("Most threads that OpenMP may use, in engines that were built with it."), (),
             Text("Fewer than -t slows generation down.")),
    Variable("KMP_BLOCKTIME", Text("How long OpenMP threads spin"),
             Text("Milliseconds that a thread of Intel’s OpenMP spins before it sleeps."), (),
             Text("0 costs speed, much more keeps the cores busy between requests."), (), "200"),
    Variable("GGML_OP_OFFLOAD_MIN_BATCH", Text("Least batch for the GPU"),
             Text("Tokens from which on weights in RAM are copied to the GPU for computing."), (),
             Text("Too small, and copying takes longer than computing."), (), "32"),
    Variable("GGML_DISABLE_VULKAN", Text("Leave Vulkan out"),
             Text("The Vulkan backend is not loaded: for drivers that crash while devices are listed."), (), None,
             ANY_VALUE, presence=True),
    Variable("LLAMA_ATTN_ROT_DISABLE", Text("No rotation of the KV cache"),
             Text("1 leaves out the rotation that makes quantised caches more exact."), (),
             Text("Quantised caches lose accuracy."), ("0", "1"), "0"),
    Variable("LLAMA_TRACE", Text("Trace of loading and drafts"),
             Text("1 logs each tensor while loading and what happens to each draft."), (), _LOUD, ("0", "1"), "0"),
    Variable("LLAMA_SERVER_SLOTS_DEBUG", Text("Texts in the slot states"),
             Text("1 puts prompts and answers into /slots."), (),
             Text("Whoever may ask for slot states can read what others write."), ("0", "1"), "0"),
    Variable("GGML_NO_BACKTRACE", Text("No backtrace"),
             Text("After a crash the program ends at once instead of starting a debugger."), (), None, ANY_VALUE,
             presence=True),
    Variable("GGML_SCHED_DEBUG", Text("Log of the scheduler"),
             Text("1 or 2 logs which operation runs on which device."), (), _LOUD, ("1", "2")),
    Variable("LLAMA_GRAPH_REUSE_DISABLE", Text("Build each graph anew"),
             Text("Does not use the graph of the token before again."), (), _SLOWER, ANY_VALUE, presence=True),
)

VARIABLES: tuple[Variable, ...] = (*_CUDA, *_ROCM, *_VULKAN, *_OTHERS, *_GENERAL)
"""In the order in which the page shows them."""

BY_NAME: Mapping[str, Variable] = {variable.name: variable for variable in VARIABLES}

_BACKEND_NAMES = {"cuda": "CUDA", "rocm": "ROCm", "vulkan": "Vulkan", "sycl": "SYCL", "metal": "Metal"}
_PREFIXES = ("LLAMA_", "GGML_", "CUDA_", "HIP_", "HSA_", "ROCR_", "ROCBLAS_", "ONEAPI_", "ZES_", "UR_L0_", "HF_",
             "OMP_", "KMP_", "MTMD_")


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_name(text: str) -> bool:
    """Whether a shell takes it as the name of a variable; anything else could be read as a command."""
    return _NAME.fullmatch(text) is not None


def inherited(environ: Mapping[str, str]) -> dict[str, str]:
    """Those of the inherited variables that llama.cpp or a backend may read."""
    return {name: environ[name] for name in sorted(environ) if name.startswith(_PREFIXES)}


def without_use(variable: Variable, kinds: Collection[str] | None) -> Text | None:
    """Why it does nothing in an engine with devices of these kinds; None where it may do something.

    `kinds` is None where the engine's devices are not known.
    """
    if kinds is None or not variable.backends or any(kind in kinds for kind in variable.backends):
        return None
    return Text("this engine lists no device of {backend}",
                backend=" / ".join(_BACKEND_NAMES[kind] for kind in variable.backends))


def is_secret(name: str) -> bool:
    """Whether the value must not be shown."""
    known = BY_NAME.get(name)
    return (known is not None and known.secret) or name.endswith(("_KEY", "_TOKEN", "_PASSWORD", "_SECRET"))
