"""`fit --batch`: one request answered, the header read once for all requests of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paddock.engine.model import EngineDevice
from paddock.errors import AppError
from paddock.fit.adapters import adapter_paths
from paddock.fit.answers import answer as fit_answer
from paddock.fit.answers import as_answer
from paddock.launch.parsing import parse_argv
from paddock.text import Text

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace

__all__ = ["answer", "as_answer"]


def answer(workspace: Workspace, request: Mapping[str, Any], corrections: bool = False) -> dict[str, Any]:
    """See Workspace.answer. Raises AppError for a request that cannot be answered.

    Only with `corrections` does the answer depend on what is installed and was launched here.
    """
    path = request.get("model")
    if not isinstance(path, str) or not path:
        raise AppError(Text("The request names no model."), hint=Text("Give \"model\": the path of a GGUF file."))
    args = request.get("args", [])
    if not isinstance(args, list) or not all(isinstance(a, str) for a in args):
        raise AppError(Text("\"args\" must be a list of texts."))
    devices = [_device(d) for d in _listed(request)]
    names = [d["name"] for d in devices]
    for name in names:
        if names.count(name) > 1:
            raise AppError(Text("The request names the device {name} more than once.", name=name))
    request = {**request, "devices": devices}
    plan = parse_argv(args)
    model = workspace.read_model(path)
    draft_path = plan.get("spec-draft-model")
    draft = workspace.read_model(draft_path) if draft_path else None
    projector_path = plan.get("mmproj")
    projector = workspace.read_model(projector_path) if projector_path else None
    taught = workspace.corrections(model, workspace.engine(), True) if corrections else ()
    adapters = tuple(workspace.read_model(path) for path in adapter_paths(plan))
    return fit_answer(request, model, plan, draft, taught, adapters, projector)


def _listed(request: Mapping[str, Any]) -> list[Any]:
    devices = request.get("devices", [])
    if not isinstance(devices, list):
        raise AppError(Text("\"devices\" must be a list."))
    return devices


def _device(given: Any) -> dict[str, Any]:
    """One device of a request, complete: the backend follows from the engine's name where it is not said."""
    if not isinstance(given, dict) or not isinstance(given.get("name"), str) or not given["name"]:
        raise AppError(Text("A device in the request has no name."),
                       hint=Text("Give {example}.", example='{"name": "CUDA0", "total": 25769803776}'))
    name, kind = given["name"], given.get("kind")
    if not isinstance(kind, str) or not kind:
        kind = "host" if name == "Host" else EngineDevice(name, "", None, None).kind
    sizes: dict[str, int | None] = {}
    for key in ("total", "free"):
        size = given.get(key)
        whole = isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 53
        if size is not None and not whole:
            raise AppError(Text("“{value}” is no size in bytes for {key} of {device}.", value=size, key=key,
                                device=name))
        sizes[key] = size
    return {**given, "name": name, "kind": kind, **sizes}
