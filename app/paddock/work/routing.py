"""A router somewhere: what it offers, and having it load or unload a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

from paddock.errors import AppError
from paddock.server import Client
from paddock.server.router import RUNNING, RouterModel, load, read_models, unload
from paddock.text import Text
from paddock.work.watching import is_trusted, normal_url

_LOOK_S = 0.25


class Router:
    """One router by its URL. Every call blocks for a moment; AppError where it does not answer, or is no router."""

    def __init__(self, url: str, key: str | None = None, *, insecure: bool = False) -> None:
        self.url = normal_url(url)
        self._key = key
        self._trust_any = is_trusted(self.url, insecure)

    def models(self) -> tuple[RouterModel, ...]:
        """All models that it offers, loaded or not."""
        with self._client() as client:
            answer = client.raw("GET", "/models")
        if not answer.ok:
            raise AppError(Text("{url} does not tell its models.", url=self.url), why=answer.message or None,
                           hint=Text("Is a server running there, and is the key right?"))
        found = read_models(answer.data)
        if found is None:
            raise AppError(Text("{url} is no router.", url=self.url),
                           why=Text("It serves one model, which it was started with."),
                           hint=Text("A router is started without a model: paddock launch -- --models-dir FOLDER"))
        return found

    def model(self, name: str) -> RouterModel:
        """One of them."""
        offered = self.models()
        for model in offered:
            if model.id == name:
                return model
        raise AppError(Text("The router offers no model “{model}”.", model=name),
                       why=Text("It offers: {names}.", names=", ".join(m.id for m in offered[:12]) or "–"))

    def load(self, name: str, patience_s: float) -> RouterModel:
        """Returns the model once it is loaded; AppError where that fails or takes longer."""
        return self._brought(name, load, RUNNING, patience_s)

    def unload(self, name: str, patience_s: float) -> RouterModel:
        """Returns the model once its server has ended."""
        return self._brought(name, unload, ("unloaded",), patience_s)

    def _brought(self, name: str, ask: Callable[[Client, str], None], states: Collection[str],
                 patience_s: float) -> RouterModel:
        """The model in one of these states: as it is, or asked for and waited for."""
        model = self.model(name)
        if model.state in states:
            return model
        with self._client() as client:
            ask(client, name)
        end = time.monotonic() + patience_s
        while (model := self.model(name)).state not in states:
            if model.failed:
                raise AppError(Text("The router could not load “{model}”.", model=name),
                               why=Text("Its server ended with code {code}.", code=model.exit_code)
                               if model.exit_code is not None else None,
                               hint=Text("The router's own output says why."))
            if time.monotonic() >= end:
                raise AppError(Text("“{model}” is still {state}.", model=name, state=model.state),
                               hint=Text("Give it more time with --for SECONDS; the router goes on by itself."))
            time.sleep(_LOOK_S)
        return model

    def _client(self) -> Client:
        return Client(self.url, self._key, 5.0, trust_any=self._trust_any)
