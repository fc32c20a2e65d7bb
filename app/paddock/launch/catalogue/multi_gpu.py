"""Several devices and other machines."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "rpc", ("--rpc",), Kind.LIST, Group.MULTI_GPU,
        Text("RPC servers"),
        Text("Addresses of other machines whose devices are used. One that cannot be reached aborts the program."),
        env="LLAMA_ARG_RPC",
    ),
    Option(
        "device", ("-dev", "--device"), Kind.LIST, Group.MULTI_GPU,
        Text("Devices"), Text("Devices to use, by the engine's names. none keeps everything on the CPU."),
        env="LLAMA_ARG_DEVICE",
    ),
    Option(
        "split-mode", ("-sm", "--split-mode"), Kind.ENUM, Group.MULTI_GPU,
        Text("Split mode"), Text("How the model is divided over several devices."),
        choices=("none", "layer", "row", "tensor"), default="layer", env="LLAMA_ARG_SPLIT_MODE",
    ),
    Option(
        "tensor-split", ("-ts", "--tensor-split"), Kind.LIST, Group.MULTI_GPU,
        Text("Split"), Text("Share of each device, in the engine's order, such as 3,1."),
        env="LLAMA_ARG_TENSOR_SPLIT",
    ),
    Option(
        "main-gpu", ("-mg", "--main-gpu"), Kind.INT, Group.MULTI_GPU,
        Text("Main device"), Text("Index of the device that is used alone, or that holds what is not split."),
        default="0", env="LLAMA_ARG_MAIN_GPU",
    ),
)
