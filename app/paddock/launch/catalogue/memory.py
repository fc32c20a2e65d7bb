"""Where the weights lie and how they get there."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "repack", ("--repack",), Kind.PAIR, Group.MEMORY,
        Text("Repack weights"), Text("Rearranges weights in RAM for faster kernels of this CPU."),
        negations=("-nr", "--no-repack"), default="on", env="LLAMA_ARG_REPACK",
    ),
    Option(
        "no-host", ("--no-host",), Kind.FLAG, Group.MEMORY,
        Text("Bypass host buffers"), Text("Skips pinned host memory so that repacked buffers can be used instead."),
        default="off", env="LLAMA_ARG_NO_HOST",
    ),
    Option(
        "load-mode", ("-lm", "--load-mode"), Kind.ENUM, Group.MEMORY,
        Text("Load mode"), Text("How the file is read: mapped into memory, locked there, read directly, or plainly."),
        choices=("auto", "none", "mmap", "mlock", "mmap+mlock", "dio"), default="auto", env="LLAMA_ARG_LOAD_MODE",
    ),
    Option(
        "lazy-mode", ("-lzm", "--lazy-mode"), Kind.ENUM, Group.MEMORY,
        Text("Lazy tensors"),
        Text("Reads rows of very large tensors from disk when they are needed. auto does it above 4 GiB."),
        choices=("on", "auto", "off"), default="auto", env="LLAMA_ARG_LAZY_MODE",
    ),
    Option(
        "override-tensor", ("-ot", "--override-tensor"), Kind.LIST, Group.MEMORY,
        Text("Tensor placement"), Text("Patterns of tensor names and the buffer each goes to, such as exps=CPU."),
        env="LLAMA_ARG_OVERRIDE_TENSOR", appends=True,
    ),
    Option(
        "cpu-moe", ("-cmoe", "--cpu-moe"), Kind.FLAG, Group.MEMORY,
        Text("All experts on the CPU"), Text("Keeps the experts of every layer in RAM."),
        default="off", env="LLAMA_ARG_CPU_MOE",
    ),
    Option(
        "n-cpu-moe", ("-ncmoe", "--n-cpu-moe"), Kind.INT, Group.MEMORY,
        Text("Experts on the CPU"), Text("Keeps the experts of the first layers in RAM."),
        low=0, unit=Text("layers"), env="LLAMA_ARG_N_CPU_MOE", strict=True,
    ),
    Option(
        "n-cpu-ffn", ("-ncffn", "--n-cpu-ffn"), Kind.INT, Group.MEMORY,
        Text("FFN on the CPU"),
        Text("Keeps the feed-forward weights of the first layers in RAM. For models without experts."),
        low=0, unit=Text("layers"), env="LLAMA_ARG_N_CPU_FFN", strict=True,
    ),
    Option(
        "gpu-layers", ("-ngl", "--gpu-layers", "--n-gpu-layers"), Kind.INT, Group.MEMORY,
        Text("Layers on the GPU"),
        Text("Layers whose weights go to the GPU, counted from the last. auto fills what is free."),
        choices=("auto", "all"), default="auto", unit=Text("layers"), env="LLAMA_ARG_N_GPU_LAYERS",
    ),
    Option(
        "fit", ("-fit", "--fit"), Kind.ENUM, Group.MEMORY,
        Text("Fit to memory"), Text("Lets the engine change what is not set so that the model fits."),
        choices=("on", "off"), default="on", env="LLAMA_ARG_FIT",
    ),
    Option(
        "fit-target", ("-fitt", "--fit-target"), Kind.LIST, Group.MEMORY,
        Text("Margin per device"), Text("Memory that stays free on each device."),
        default="1024", unit=Text("MiB"), env="LLAMA_ARG_FIT_TARGET",
    ),
    Option(
        "fit-ctx", ("-fitc", "--fit-ctx"), Kind.INT, Group.MEMORY,
        Text("Smallest fitted context"), Text("The context is never fitted below this."),
        low=0, default="4096", unit=Text("tokens"), env="LLAMA_ARG_FIT_CTX",
    ),
    Option(
        "op-offload", ("--op-offload",), Kind.PAIR, Group.MEMORY,
        Text("Offload operations"), Text("Computes large batches on the GPU even where the weights are in RAM."),
        negations=("--no-op-offload",), default="on",
    ),
    Option(
        "check-tensors", ("--check-tensors",), Kind.FLAG, Group.MEMORY,
        Text("Check tensors"), Text("Looks for invalid numbers in the weights while loading."),
        default="off",
    ),
)
