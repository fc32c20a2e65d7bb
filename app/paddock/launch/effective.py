"""What a server will really do, read from its final words: the last one wins, and the environment counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paddock.launch import containers
from paddock.launch.catalogue import CATALOGUE, Kind, Option
from paddock.launch.model import Command, Plan, whole_number
from paddock.launch.parsing import read_settings

DEFAULT_PORT = 8080
AUTO_SLOTS = 4
"""What `-np auto` means in builds that have it: four slots that share one context."""
_ON = frozenset(("on", "enabled", "true", "1"))
_LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
_PRESETS = frozenset(option.id for option in CATALOGUE
                     if option.id.startswith(("embd-gemma", "fim-qwen", "gpt-oss-", "vision-gemma")))


@dataclass(frozen=True)
class Effective:
    """The server as it will answer. None: not said, so the server's own choice or not known."""

    host: str
    """As given: may be a comma-separated list."""
    port: int | None
    """None where it is not a number."""
    scheme: str
    api_prefix: str
    key: str | None
    """Where the key comes from: a reference (keyring:…, env:NAME, file:PATH), "literal", or None for no key."""
    slots: int
    unified: bool
    context: int | None
    """As asked, over all slots; None for unset or 0 (what the model was trained with)."""
    sleep_idle_s: int | None
    slots_endpoint: bool
    metrics_endpoint: bool
    router: bool
    """No model is named: the server loads models on demand and Paddock's figures come from its children."""
    embedding: bool
    alias: str | None

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(part.strip() for part in self.host.split(",") if part.strip())

    @property
    def socket_path(self) -> str | None:
        """The first UNIX socket among the addresses."""
        return next((host for host in self.hosts if host.endswith(".sock")), None)

    @property
    def poll_host(self) -> str | None:
        """The address to reach it from this machine: a loopback one where there is one; None for sockets only."""
        reachable = [_reach(host) for host in self.hosts if not host.endswith(".sock")]
        return next((host for host in reachable if is_local(host)), reachable[0] if reachable else None)

    @property
    def url(self) -> str | None:
        """The base for requests, without a slash at its end: "http://[::1]:8080/prefix"."""
        host = self.poll_host
        if host is None or self.port is None:
            return None
        name = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{name}:{self.port}{self.api_prefix}"

    @property
    def open_to_network(self) -> bool:
        """Whether any address can be reached from other machines."""
        return any(not is_local(host) and not host.endswith(".sock") for host in self.hosts)

    @property
    def context_per_slot(self) -> int | None:
        """Tokens that one slot may use: all of a shared context, else its part, rounded up to 256."""
        if self.context is None or self.slots < 1:
            return None
        part = self.context if self.unified else -(-self.context // self.slots)
        return -(-part // 256) * 256


def _reach(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1", "[::]": "::1", "*": "127.0.0.1"}.get(host, host.strip("[]"))


def is_local(host: str) -> bool:
    """Whether an address is this machine's own."""
    return host.strip("[]") in _LOCAL_NAMES or host.startswith("127.")


class Resolved:
    """Looks an option up as the server does: command line (the last wins), environment, config files."""

    def __init__(self, plan: Plan, environment: Mapping[str, str], config: Mapping[str, str] | None = None) -> None:
        self.plan = plan
        self.environment = environment
        self.config = {key.lstrip("-"): value for key, value in (config or {}).items()}

    def text(self, name: str) -> str | None:
        """The value in force; None where nothing sets it."""
        option = CATALOGUE[name]
        setting = self.plan.find(option.id)
        if setting is not None and (setting.values or option.is_switch):
            return setting.value if setting.values else ("on" if setting.on else "off")
        # An empty variable is removed for the child, so it sets nothing.
        if option.env and (value := self.environment.get(option.env)):
            return value
        if option.env and option.kind is Kind.PAIR:
            off = option.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_", 1)
            if off in self.environment:
                return "off"
        return self._from_config(option)

    def _from_config(self, option: Option) -> str | None:
        if not self.config:
            return None
        keys = [name.lstrip("-") for name in option.names] + ([option.env] if option.env else [])
        return next((self.config[key] for key in keys if key in self.config), None)

    def number(self, name: str) -> int | None:
        return whole_number(self.text(name))

    def on(self, name: str) -> bool:
        """For switches and on/off values, with the catalogue's default."""
        text = self.text(name)
        return (text if text is not None else CATALOGUE[name].default or "off") in _ON


def is_router(resolved: Resolved) -> bool:
    """No model path, no repository: the server serves a folder of models. A URL alone does not change that."""
    named = any(resolved.text(name) for name in ("model", "hf-repo", "docker-repo"))
    return not named and not any(setting.option in _PRESETS for setting in resolved.plan)


def effective(
    what: Plan | Command, environment: Mapping[str, str] | None = None, config: Mapping[str, str] | None = None
) -> Effective:
    """What a plan, or better the finished command, comes to.

    `environment`: what the child inherits. A command's own variables are added to it and those that it removes are
    taken away; for a plan its own are added. `config`: values of llama.cpp's config.ini, which come last.
    """
    inherited = dict(environment or {})
    if isinstance(what, Command):
        settings, _ = read_settings((*what.own_argv, *(word for a in what.additions for word in a.argv)))
        plan = Plan(settings, prefix=what.prefix)
        variables = {name: value for name, value in inherited.items() if name not in what.unset}
        variables.update(what.env)
        references = dict(what.secrets)
    else:
        plan = what
        variables = {**inherited, **dict(what.environment)}
        references = {}
    return _effective(plan, Resolved(plan, variables, config), references)


def _effective(plan: Plan, resolved: Resolved, references: Mapping[str, str]) -> Effective:
    asked = resolved.number("parallel")
    auto = asked is None or asked < 0
    context = resolved.number("ctx-size")
    sleep = resolved.number("sleep-idle-seconds")
    said = resolved.text("port")
    host, port = resolved.text("host") or "127.0.0.1", DEFAULT_PORT if said is None else resolved.number("port")
    container = containers.around(plan.prefix)
    if container is not None and not container.host_network:
        host, port = containers.reached(container, port) or (host, port)
    secure = bool(resolved.text("ssl-key-file")) and bool(resolved.text("ssl-cert-file"))
    return Effective(
        host=host,
        port=port,
        scheme="https" if secure else "http",
        api_prefix=(resolved.text("api-prefix") or "").rstrip("/"),
        key=_key_source(resolved, references),
        slots=AUTO_SLOTS if auto or asked is None else asked,
        unified=auto or resolved.on("kv-unified"),
        context=context if context is not None and context > 0 else None,
        sleep_idle_s=sleep if sleep is not None and sleep > 0 else None,
        slots_endpoint=resolved.on("slots"),
        metrics_endpoint=resolved.on("metrics"),
        router=is_router(resolved),
        embedding=resolved.on("embedding") or resolved.on("rerank"),
        alias=resolved.text("alias"),
    )


def _key_source(resolved: Resolved, references: Mapping[str, str]) -> str | None:
    reference = references.get("LLAMA_API_KEY") or resolved.text("api-key")
    if reference:
        return reference if reference.startswith(("keyring:", "env:", "file:")) else "literal"
    path = resolved.text("api-key-file")
    return f"file:{path}" if path else None
