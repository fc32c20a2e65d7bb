"""Devices, splits and placements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import ON, Question, error, hint, warning
from paddock.launch.expressions import endless
from paddock.launch.model import Issue
from paddock.text import Text

_NAMING = ("device", "spec-draft-device", "mmproj-device")
_PINS = ("gpu-layers", "tensor-split", "override-tensor", "cpu-moe", "n-cpu-moe", "n-cpu-ffn")
_EXPERTS_ON_CPU = ("cpu-moe", "n-cpu-moe")


def unknown_devices(q: Question) -> Iterator[Issue]:
    """Names that this engine's --list-devices does not have."""
    if q.engine is None or q.engine.error is not None or q.engine.devices_error is not None:
        return
    names = {device.name for device in q.engine.devices}
    remote = bool(q.text("rpc"))
    for option in _NAMING:
        items = [part.strip() for part in (q.plan.get(option) or "").split(",") if part.strip()]
        if len(items) > 1 and "none" in items:
            yield error("none-with-devices", option, Text("“none” cannot stand beside other devices."),
                        Text("Keep the devices or “none”."))
        for item in items:
            if item in names or item == "none" or (remote and re.fullmatch(r"RPC\d+", item)):
                continue
            have = ", ".join(d.name for d in q.engine.devices)
            fix = (Text("It has {names}.", names=have) if have
                   else Text("It sees no devices; “none” stands for the CPU alone."))
            yield error("unknown-device", option,
                        Text("This engine has no device {name} ({flag}).", name=item,
                             flag=CATALOGUE[option].names[0]), fix, ((option, None),))


def twice(q: Question) -> Iterator[Issue]:
    """A device named twice takes two shares of the layers and about twice the compute buffers (tried on build 11434
    over RPC: 36.8 MiB instead of 18.0)."""
    for option in _NAMING:
        items = [part.strip() for part in (q.plan.get(option) or "").split(",") if part.strip()]
        once = list(dict.fromkeys(items))
        for item in once:
            if items.count(item) > 1:
                yield warning("device-twice", option,
                              Text("{name} is named twice ({flag}): it then reserves more memory than the estimate, "
                                   "which counts it once.", name=item, flag=CATALOGUE[option].names[0]),
                              Text("Name it once."), ((option, (",".join(once),)),))


def listing_failed(q: Question) -> Iterator[Issue]:
    """The engine could not say what it sees: a name cannot be checked, and figures count the processor alone."""
    if q.engine is None or q.engine.error is not None or q.engine.devices_error is None:
        return
    if q.text("device") == "none" or q.text("gpu-layers") == "0":
        return
    yield warning("devices-unlisted", "device",
                  Text("This engine could not list its devices: {why}", why=q.engine.devices_error),
                  Text("The estimate counts the processor alone. Mend the driver or choose another engine; -dev none "
                       "runs on the processor."))


def remote_first(q: Question) -> Iterator[Issue]:
    """Options are carried out in order: names of RPC devices exist only after --rpc."""
    order = [setting.option for setting in q.plan]
    if "rpc" not in order:
        return
    place = order.index("rpc")
    for option in ("device", "override-tensor", "mmproj-device", "spec-draft-device"):
        setting = q.plan.find(option)
        if setting is None or order.index(option) > place:
            continue
        if "RPC" in (setting.value or ""):
            servers = q.plan.get("rpc") or ""
            yield error("rpc-too-late", option,
                        Text("--rpc must stand before {flag}: until then its devices do not exist.",
                             flag=CATALOGUE[option].names[0]),
                        Text("Move --rpc to the front."),
                        (("rpc", None), (option, None), ("rpc", (servers,)), (option, setting.values)))


def no_device(q: Question) -> Iterator[Issue]:
    """Offload without anything to offload to."""
    if q.devices is None or q.devices or q.plan.find("gpu-layers") is None or q.plan.get("device") == "none":
        return
    if q.plan.get("gpu-layers") not in ("0", "auto"):
        yield warning("no-device", "gpu-layers", Text("This engine sees no GPU: -ngl does nothing."),
                      Text("Choose an engine that was built for your GPU."))


def pinned_fit(q: Question) -> Iterator[Issue]:
    """--fit gives up as soon as something that it would change is set by hand."""
    if (q.text("fit") or "on") not in ON:
        return
    pins = [name for name in _PINS if q.plan.find(name) is not None and q.plan.get(name) != "auto"
            and not (name == "tensor-split" and q.devices is not None and len(q.devices) < 2)]
    if q.text("split-mode") in ("row", "tensor"):
        pins.append("split-mode")
    if not pins:
        return
    asked = q.plan.find("fit") is not None
    flags = ", ".join(CATALOGUE[name].names[0] for name in pins)
    make = warning if asked else hint
    yield make("fit-pinned", "fit",
               Text("--fit cannot help if memory runs short, because this is set by hand: {flags}.", flags=flags),
               Text("Leave them to --fit, or keep them and watch the estimate."))


def patterns(q: Question) -> Iterator[Issue]:
    """Placements that match no tensor, or only tensors that an earlier one took: the first match wins."""
    if q.model is None or not q.model.tensors:
        return
    names = [tensor.name for tensor in q.model.tensors]
    free = set(names)
    for setting in q.plan.all("override-tensor"):
        for item in (setting.value or "").split(","):
            pattern = item.partition("=")[0]
            if endless(pattern):
                continue
            try:
                found = {name for name in names if re.search(pattern, name)}
            except re.error:
                continue
            if not found:
                yield warning("pattern-matches-nothing", "override-tensor",
                              Text("“{pattern}” matches no tensor of this model.", pattern=pattern),
                              Text("It still turns off pipelining over several devices."))
            elif not found & free:
                yield warning("pattern-too-late", "override-tensor",
                              Text("“{pattern}” comes too late: earlier patterns took all that it matches.",
                                   pattern=pattern), Text("Put it first."))
            free -= found


def buffers(q: Question) -> Iterator[Issue]:
    """Placements to a device that this engine has not."""
    if q.engine is None or q.engine.error is not None or q.engine.devices_error is not None or q.text("rpc"):
        return
    names = {device.name for device in q.engine.devices} | {"CPU"}
    active = {device.name for device in q.devices or ()} | {"CPU"}
    for option in ("override-tensor", "spec-draft-override-tensor"):
        for setting in q.plan.all(option):
            for item in (setting.value or "").split(","):
                buffer = item.partition("=")[2]
                if not buffer:
                    continue
                if option == "override-tensor" and buffer in names - active:
                    yield error("buffer-not-in-use", option,
                                Text("{name} is not among the devices of -dev: the program would abort.", name=buffer),
                                Text("Add it to -dev, or choose another buffer."))
                elif not any(buffer == name or buffer.startswith(f"{name}_") for name in names):
                    yield error("unknown-buffer", option, Text("This engine has no buffer {name}.", name=buffer),
                                Text("It has {names}.", names=", ".join(sorted(names))))


def experts(q: Question) -> Iterator[Issue]:
    """Expert options on models without experts, and what they do not relieve."""
    for option in _EXPERTS_ON_CPU:
        setting = q.plan.find(option)
        if setting is None:
            continue
        flag = CATALOGUE[option].names[0]
        if q.model is not None and not q.model.facts.experts:
            yield hint("no-experts", option, Text("This model has no experts: {flag} does nothing.", flag=flag),
                       Text("Take it out."), ((option, None),))
        elif option == "n-cpu-moe" and q.devices is not None and len(q.devices) > 1 \
                and (q.text("split-mode") or "layer") == "layer" and q.plan.find("tensor-split") is None:
            yield hint("first-device-only", option,
                       Text("{flag} empties the first layers, which lie on the first device; the others keep theirs.",
                            flag=flag), Text("Shift layers with -ts."))
