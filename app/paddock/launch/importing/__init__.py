"""Plans out of other programs' files and scripts.

Pure: text in, named plans out. Read are KoboldCpp's settings, llama.cpp's presets, llama-swap, docker compose,
systemd units, text-generation-webui, LM Studio, Ollama's Modelfile, llama-server-launcher, and command lines or scripts
of any shell.
What has no equal in llama.cpp is kept in `Plan.extra`, word by word, and shown.
"""

from __future__ import annotations

import re
from dataclasses import replace

from paddock.errors import AppError
from paddock.launch.importing.compose import COMPOSE
from paddock.launch.importing.imported import Form, Imported, shell_words, with_extra
from paddock.launch.importing.kobold import KOBOLD, KOBOLD_LINE
from paddock.launch.importing.launcher import LAUNCHER
from paddock.launch.importing.llama_swap import LLAMA_SWAP
from paddock.launch.importing.lm_studio import LM_STUDIO
from paddock.launch.importing.ollama import MODELFILE
from paddock.launch.importing.presets import PRESET
from paddock.launch.importing.systemd import SYSTEMD
from paddock.launch.importing.webui import WEBUI_FLAGS, WEBUI_MODELS
from paddock.launch.model import Plan
from paddock.launch.parsing import parse, read_settings
from paddock.launch.variables import is_name
from paddock.text import Text

__all__ = ["Imported", "import_plans", "read_choices", "read_line"]

_FORMS: tuple[Form, ...] = (LM_STUDIO, LAUNCHER, KOBOLD, LLAMA_SWAP, COMPOSE, WEBUI_MODELS, SYSTEMD, MODELFILE,
                            WEBUI_FLAGS, PRESET, KOBOLD_LINE)
_FILE = re.compile(r"\s*(?:\[|\{|#|;|FROM\b|[\w.$\\ -]+:[ \t]*$)", re.MULTILINE)
"""How files begin and command lines do not."""


def import_plans(text: str, hint: str = "") -> list[Imported]:
    """All plans in a text. `hint`: the file's name, which decides only where the content does not.

    AppError where nothing that is read here is in it, or the file is damaged (with the line).
    """
    text = text.removeprefix("\ufeff")
    for form in _FORMS:
        if form.recognise(text, hint.lower()):
            found = [replace(one, plan=_named(one.plan)) for one in form.read(text)]
            if not found:
                raise AppError(Text("No model is configured in it."))
            return found
    return [_command_line(text)]


def read_line(text: str) -> Plan:
    """What a person pasted where a command line is asked for: that line, or the first plan of any of these files.

    AppError where a quotation mark is never closed or a file is damaged.
    """
    return read_choices(text)[0].plan


def read_choices(text: str) -> list[Imported]:
    """The same with all plans of a file, at least one. AppError as `read_line`."""
    text = text.removeprefix("\ufeff")
    file = _FILE.match(text) is not None
    form = next((form for form in _FORMS if (file or form is KOBOLD_LINE) and form.recognise(text, "")), None)
    found = list(form.read(text)) if form is not None else []
    return [replace(one, plan=_named(one.plan)) for one in found] or [Imported(parse(text), None, "command")]


def _named(plan: Plan) -> Plan:
    """Variables whose name no shell would take are kept as words: written into a line they could be commands."""
    odd = [f"{name}={value}" for name, value in plan.environment if not is_name(name)]
    good = tuple(pair for pair in plan.environment if is_name(pair[0]))
    return with_extra(replace(plan, environment=good), odd) if odd else plan


def _command_line(text: str) -> Imported:
    plan = parse(text)
    if not plan.settings and text.lstrip().startswith("-"):
        settings, stray = read_settings(shell_words(text))
        plan = Plan(settings, extra=stray)
    if not plan.settings:
        raise AppError(Text("Neither a profile nor a llama-server command line was found in it."),
                       hint=Text("A command line starts with llama-server or llama serve and holds flags such as -m."))
    return Imported(plan, None, "command")
