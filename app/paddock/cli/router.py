"""paddock router: the models of a router that runs already, and having it load or unload one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from paddock.cli.arguments import Globals, Seconds, reached, secret
from paddock.cli.output import document, line
from paddock.text import Text
from paddock.units import bytes_text, count_text

if TYPE_CHECKING:
    from paddock.server.router import RouterModel
    from paddock.work.routing import Router


@click.group()
def router() -> None:
    """Models of a router (a server started without a model): what it offers, and load or unload one.

    URL is as for `paddock watch`: http://HOST:PORT, or a port of this computer.
    """


def _router(url: str, key: str | None, insecure: bool) -> Router:
    from paddock.work.routing import Router

    return Router(url, secret(key), insecure=insecure)


@router.command("list")
@click.argument("url")
@reached
@click.pass_obj
def list_models(options: Globals, url: str, key: str | None, insecure: bool) -> int:
    """What it offers, loaded or not."""
    return _say(options, _router(url, key, insecure).models())


@router.command()
@click.argument("url")
@click.argument("model")
@click.option("--for", "seconds", type=Seconds(), default=600.0, metavar="SECONDS",
              help="Wait at most so long until it is loaded.")
@reached
@click.pass_obj
def load(options: Globals, url: str, model: str, seconds: float, key: str | None, insecure: bool) -> int:
    """Have it load a model, and wait for that."""
    return _say(options, [_router(url, key, insecure).load(model, seconds)])


@router.command()
@click.argument("url")
@click.argument("model")
@click.option("--for", "seconds", type=Seconds(), default=60.0, metavar="SECONDS",
              help="Wait at most so long until its server has ended.")
@reached
@click.pass_obj
def unload(options: Globals, url: str, model: str, seconds: float, key: str | None, insecure: bool) -> int:
    """Have it end a model's server, and wait for that."""
    return _say(options, [_router(url, key, insecure).unload(model, seconds)])


def _say(options: Globals, models: Sequence[RouterModel]) -> int:
    if options.json:
        document([asdict(model) for model in models])
    for model in () if options.json else models:
        line(f"{model.id}  {_words(model)}")
    return 0


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
