"""paddock router: the models of a router that runs already, and having it load or unload one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from paddock.cli.arguments import Globals, Seconds
from paddock.cli.output import document, line
from paddock.text import Text
from paddock.units import bytes_text, count_text

if TYPE_CHECKING:
    from paddock.server.router import RouterModel
    from paddock.work.routing import Router

_PATIENCE_S = 600.0


@click.group()
def router() -> None:
    """Models of a router (a server started without a model): what it offers, and load or unload one.

    URL is as for `paddock watch`: http://HOST:PORT, or a port of this computer.
    """


def _addressed(command: Callable[..., Any]) -> Callable[..., Any]:
    key = click.option("--key", default=None,
                       help="The server's API key, or a reference: env:NAME, file:PATH, keyring:NAME.")
    insecure = click.option("--insecure", is_flag=True, help="Take any TLS certificate.")
    return key(insecure(command))


def _router(url: str, key: str | None, insecure: bool) -> Router:
    from paddock.store import resolve_secret
    from paddock.work.routing import Router

    return Router(url, resolve_secret(key, os.environ) if key else None, insecure=insecure)


@router.command("list")
@click.argument("url")
@_addressed
@click.pass_obj
def list_models(options: Globals, url: str, key: str | None, insecure: bool) -> int:
    """What it offers, loaded or not."""
    _say(options, _router(url, key, insecure).models())
    return 0


@router.command()
@click.argument("url")
@click.argument("model")
@click.option("--for", "seconds", type=Seconds(), default=_PATIENCE_S, metavar="SECONDS",
              help="Wait at most so long until it is loaded.")
@_addressed
@click.pass_obj
def load(options: Globals, url: str, model: str, seconds: float, key: str | None, insecure: bool) -> int:
    """Have it load a model, and wait for that."""
    _say(options, [_router(url, key, insecure).load(model, seconds, lambda _: None)])
    return 0


@router.command()
@click.argument("url")
@click.argument("model")
@click.option("--for", "seconds", type=Seconds(), default=60.0, metavar="SECONDS",
              help="Wait at most so long until its server has ended.")
@_addressed
@click.pass_obj
def unload(options: Globals, url: str, model: str, seconds: float, key: str | None, insecure: bool) -> int:
    """Have it end a model's server, and wait for that."""
    _say(options, [_router(url, key, insecure).unload(model, seconds, lambda _: None)])
    return 0


def _say(options: Globals, models: Any) -> None:
    if options.json:
        document([asdict(model) for model in models])
        return
    for model in models:
        line(f"{model.id}  {_words(model)}")


def _words(model: RouterModel) -> str:
    words = [model.state]
    if model.failed:
        words.append(str(Text("failed, code {code}", code=model.exit_code)) if model.exit_code is not None
                     else str(Text("failed")))
    if model.size_bytes is not None:
        words.append(bytes_text(model.size_bytes))
    if model.context is not None:
        words.append(str(Text("{tokens} tokens of context", tokens=count_text(model.context))))
    return ", ".join(words)
