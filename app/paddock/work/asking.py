"""`fit --batch`: one request answered, the header read once for all requests of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paddock.errors import AppError
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
    plan = parse_argv(args)
    model = workspace.read_model(path)
    draft_path = plan.get("spec-draft-model")
    draft = workspace.read_model(draft_path) if draft_path else None
    taught = workspace.corrections(model, workspace.engine(), True) if corrections else ()
    return fit_answer(request, model, plan, draft, taught)
