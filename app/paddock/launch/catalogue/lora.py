"""Adapters and control vectors."""

from paddock.launch.catalogue.option import Group, Kind, Option
from paddock.text import Text

OPTIONS = (
    Option(
        "lora", ("--lora",), Kind.LIST, Group.LORA,
        Text("LoRA adapters"), Text("Adapter files that are applied to the model."),
        appends=True,
    ),
    Option(
        "lora-scaled", ("--lora-scaled",), Kind.LIST, Group.LORA,
        Text("LoRA adapters, scaled"), Text("Adapter files, each with its strength: FILE:SCALE."),
        appends=True,
    ),
    Option(
        "lora-init-without-apply", ("--lora-init-without-apply",), Kind.FLAG, Group.LORA,
        Text("Load adapters unapplied"),
        Text("Loads the adapters but leaves them off until a request turns them on."),
        default="off",
    ),
    Option(
        "control-vector", ("--control-vector",), Kind.LIST, Group.LORA,
        Text("Control vectors"), Text("Files of vectors that steer the model."),
        appends=True,
    ),
    Option(
        "control-vector-scaled", ("--control-vector-scaled",), Kind.LIST, Group.LORA,
        Text("Control vectors, scaled"), Text("Control vector files, each with its strength: FILE:SCALE."),
        appends=True,
    ),
    Option(
        "control-vector-layer-range", ("--control-vector-layer-range",), Kind.RANGE, Group.LORA,
        Text("Control vector layers"), Text("First and last layer to which control vectors apply."),
        low=0, unit=Text("layers"),
    ),
)
