"""Words for people of what is stored by its name: severities, states of servers and models, kinds of events."""

from __future__ import annotations

from paddock.text import Text

_WORDS = {word.template: word for word in (
    Text("error"), Text("warning"), Text("hint"),
    Text("starting"), Text("loading"), Text("ready"), Text("stopping"), Text("stopped"), Text("failed"),
    Text("crashed"), Text("interrupted"), Text("detached"),
    Text("loaded"), Text("unloaded"), Text("sleeping"), Text("downloading"), Text("downloaded"),
    Text("state"), Text("memory"), Text("mark"), Text("log"), Text("issue"), Text("recovered"))}


def in_words(name: str | None) -> str:
    """The word of a stored name; a new one stays as it is, none is empty."""
    return "" if name is None else str(_WORDS.get(name, name))
