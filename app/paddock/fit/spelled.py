"""The values of a plan's settings, asked for by the one name that this room has for each.

llama.cpp's names and defaults (common/arg.cpp, common/common.h, tools/server/server.cpp, b11434).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.fit.overrides import DENSE, EXPERTS, Override, compiled, strip_endpoint
from paddock.fit.quants import BLOCKS
from paddock.launch.expressions import endless
from paddock.launch.model import Plan, Setting
from paddock.text import Text

_ALIASES = """
ctx-size c
gpu-layers ngl n-gpu-layers
device dev
split-mode sm
main-gpu mg
tensor-split ts
override-tensor ot
cpu-moe cmoe
n-cpu-moe ncmoe
n-cpu-ffn ncffn
batch-size b
ubatch-size ub
parallel np
kv-unified kvu
no-kv-unified no-kvu
kv-unified-per-slot
flash-attn fa
cache-type-k ctk
cache-type-v ctv
kv-offload kvo
no-kv-offload nkvo
no-repack nr
load-mode lm
embeddings embedding
reranking rerank
spec-draft-model md model-draft
spec-draft-ngl ngld gpu-layers-draft n-gpu-layers-draft
spec-draft-device devd device-draft
spec-draft-type-k ctkd cache-type-k-draft
spec-draft-type-v ctvd cache-type-v-draft
spec-draft-override-tensor otd override-tensor-draft
spec-draft-cpu-moe cmoed cpu-moe-draft
spec-draft-n-cpu-moe ncmoed n-cpu-moe-draft spec-draft-ncmoe
cache-ram cram
ctx-checkpoints ctxcp swa-checkpoints
fit-target fitt
fit-ctx fitc
mmproj mm
mmproj-device mmdev
mmproj-url mmu
backend-sampling bs
"""
_CANON = {alias: line.split()[0] for line in _ALIASES.strip().splitlines() for alias in line.split()}
_NEGATIVE = {
    "no-kv-unified": "kv-unified",
    "no-kv-offload": "kv-offload",
    "no-repack": "repack",
    "no-mmproj": "mmproj-auto",
    "no-op-offload": "op-offload",
    "no-mmproj-offload": "mmproj-offload",
    "no-mmproj-auto": "mmproj-auto",
}


def canonical(setting: Setting) -> tuple[str, bool]:
    """The room's own name of a setting and whether it is on, whatever spelling the catalogue chose."""
    name = setting.option.lstrip("-")
    name = _CANON.get(name, name)
    if name in _NEGATIVE and name != "no-host":
        return _NEGATIVE[name], not setting.on
    return name, setting.on


class Spelled:
    """The values of a plan, whatever spelling it chose; the last of a setting holds, as in llama.cpp.

    `problem`: what llama.cpp would refuse first, None while nothing is.
    """

    def __init__(self, plan: Plan) -> None:
        self.problem: Text | None = None
        self.found: dict[str, tuple[str, ...] | bool] = {}
        self.main: list[Override] = []
        self.small: list[Override] = []
        self.keys: list[tuple[str, int | float | bool | str]] = []
        for setting in plan.settings:
            name, on = canonical(setting)
            self.found[name] = setting.values or on
            self.overriding(name, on, setting)
            if name == "override-kv":
                for text in setting.values:
                    self.keys.extend(found for part in text.split(",") if (found := self.key(part)) is not None)

    def key(self, text: str) -> tuple[str, int | float | bool | str] | None:
        """KEY=TYPE:VALUE of --override-kv."""
        name, _, rest = text.partition("=")
        kind, colon, value = rest.partition(":")
        try:
            if kind in ("int", "float") and colon:
                return name, int(value) if kind == "int" else float(value)
            if kind == "bool" and value in ("true", "false"):
                return name, value == "true"
        except ValueError:
            kind = ""
        if kind == "str" and colon:
            return name, value
        self.refuse(Text("“{value}” is not KEY=TYPE:VALUE for --override-kv.", value=text))
        return None

    def refuse(self, problem: Text) -> None:
        self.problem = self.problem or problem

    def overriding(self, name: str, on: bool, setting: Setting) -> None:
        short = name.removeprefix("spec-draft-")
        target = self.small if short != name else self.main
        if short == "override-tensor":
            for text in setting.values:
                target.extend(self.patterns(text))
        elif short == "cpu-moe" and on:
            target.append(Override(EXPERTS, "CPU"))
        elif short in ("n-cpu-moe", "n-cpu-ffn"):
            count = self.whole(name, setting.value)
            if count is not None and count < 0:
                self.refuse(Text("{option} {value} is not a number of layers.", option=name, value=count))
            body = EXPERTS if short == "n-cpu-moe" else DENSE
            target.extend(Override(rf"blk\.{i}{body}", "CPU") for i in range(min(count or 0, 4096)))

    def patterns(self, text: str) -> Iterator[Override]:
        for part in text.split(","):
            pattern, equals, target = part.partition("=")
            if not equals:
                self.refuse(Text("“{part}” in --override-tensor has no “=”.", part=part))
            elif endless(pattern):
                self.refuse(Text("“{part}” in --override-tensor repeats a repetition: llama.cpp may never finish with "
                                 "it.", part=pattern))
            elif compiled(pattern) is None:
                self.refuse(Text("“{part}” in --override-tensor is not a valid expression.", part=pattern))
            else:
                yield Override(pattern, strip_endpoint(target))

    def text(self, name: str) -> str | None:
        value = self.found.get(name)
        return value[0] if isinstance(value, tuple) and value else None

    def switch(self, name: str, default: bool) -> bool:
        value = self.found.get(name)
        if isinstance(value, tuple):
            return value[0].lower() not in ("off", "0", "false", "disabled") if value else default
        return default if value is None else value

    def whole(self, name: str, text: str | None) -> int | None:
        if text is None:
            return None
        match = re.match(r"\s*[+-]?[0-9]+", text)
        if match is None:
            self.refuse(Text("“{value}” is not a whole number for --{option}.", value=text, option=name))
            return None
        return int(match[0])

    def integer(self, name: str, default: int) -> int:
        found = self.whole(name, self.text(name))
        return default if found is None else found

    def layers(self, name: str) -> int:
        text = self.text(name)
        if text is None or text == "auto":
            return -1
        return -2 if text == "all" else self.integer(name, -1)

    def cache_type(self, name: str) -> str:
        text = self.text(name) or "f16"
        if text not in BLOCKS:
            self.refuse(Text("Unsupported cache type: {type}.", type=text))
            return "f16"
        return text

    def names(self, name: str) -> tuple[str, ...] | None:
        text = self.text(name)
        if text is None:
            return None
        listed = tuple(strip_endpoint(part) for part in text.split(","))
        if "none" in listed:
            if len(listed) > 1:
                self.refuse(Text("“none” cannot stand beside other devices in --device."))
            return ()
        return listed

    def split(self) -> tuple[float, ...]:
        text = self.text("tensor-split")
        if text is None:
            return ()
        parts = re.split(r"[,/]+", text)
        if len(parts) > 16:
            self.refuse(Text("--tensor-split takes at most 16 shares."))
            return ()
        shares = []
        for part in parts:
            match = re.match(r"\s*[+-]?(\d+\.?\d*|\.\d+)", part)
            if match is None:
                self.refuse(Text("“{part}” in --tensor-split is not a number.", part=part))
                return ()
            shares.append(float(match[0]))
        return tuple(shares)

    def drafted(self, types: tuple[str, ...], draft_max: int) -> int:
        sizes = {
            "ngram-simple": self.integer("spec-ngram-simple-size-m", 48),
            "ngram-map-k": self.integer("spec-ngram-map-k-size-m", 48),
            "ngram-map-k4v": self.integer("spec-ngram-map-k4v-size-m", 48),
            "ngram-mod": max(0, self.integer("spec-ngram-mod-n-max", 64)),
            "ngram-cache": 8,
            "none": 0,
        }
        return max((sizes.get(t, max(0, draft_max)) for t in types), default=0)

    def flash(self) -> str:
        if "flash-attn" not in self.found:
            return "auto"
        value = (self.text("flash-attn") or "on").lower()
        if value in ("on", "1", "true", "enabled"):
            return "on"
        if value in ("off", "0", "false", "disabled"):
            return "off"
        if value not in ("auto", "-1"):
            self.refuse(Text("“{value}” is not a value of --flash-attn (on, off, auto).", value=value))
        return "auto"

    def targets(self) -> tuple[int, ...]:
        text = self.text("fit-target")
        parts = [self.whole("fit-target", p) for p in re.split(r"[,/]+", text)] if text else []
        return tuple(p for p in parts if p is not None) or (1024,)

    def load_mode(self) -> str:
        if not self.switch("mmap", True):
            return "none"
        return self.text("load-mode") or "auto"
