"""What Paddock adds to a plan's own flags so that it can watch the server: each with its reason, each can be off."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from paddock.engine.model import Engine
from paddock.launch import containers
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.effective import AUTO_SLOTS, DEFAULT_PORT, Resolved, is_router
from paddock.launch.model import Addition, Conditions, Plan
from paddock.launch.spelling import engine_option, known_to, spelling, takes_no_value
from paddock.text import Text


class _Wish:
    """A plan with its engine and the world, and what an addition asks of them."""

    def __init__(self, plan: Plan, engine: Engine | None, world: Conditions) -> None:
        self.plan = plan
        self.engine = engine
        self.world = world
        self.resolved = Resolved(plan, dict(plan.environment))

    def sets(self, *names: str) -> bool:
        return any(self.resolved.text(name) is not None for name in names)

    def words(self, name: str, *values: str) -> tuple[str, ...]:
        """The words for an option, or nothing where this engine does not know it."""
        option = CATALOGUE[name]
        if self.engine is not None and not known_to(option, self.engine):
            return ()
        return (spelling(option, self.engine) or option.names[0], *values)


def _metrics(wish: _Wish) -> Addition | None:
    if wish.sets("metrics"):
        return None
    return Addition("metrics", wish.words("metrics"),
                    reason=Text("Paddock reads finished requests, the queue and draft acceptance from /metrics."))


def _verbosity(wish: _Wish) -> Addition | None:
    if wish.sets("verbosity", "verbose", "log-disable"):
        return None
    return Addition("verbosity", wish.words("verbosity", "4"),
                    reason=Text("At level 4 the log says which buffer lies on which device."))


def _jsonl(wish: _Wish) -> Addition | None:
    if wish.sets("log-jsonl"):
        return None
    return Addition("log-jsonl", wish.words("log-jsonl"),
                    reason=Text("The memory breakdown comes as JSON. The log then is for programs, not for people."))


def _colors(wish: _Wish) -> Addition | None:
    if wish.sets("log-colors") or takes_no_value(CATALOGUE["log-colors"], wish.engine):
        return None
    return Addition("log-colors", wish.words("log-colors", "off"),
                    reason=Text("Colour codes do not belong in a log that is read by a program."))


def _host(wish: _Wish) -> Addition | None:
    if wish.sets("host"):
        return None
    container = containers.around(wish.plan.prefix)
    if container is not None and not container.host_network:
        return Addition("host", wish.words("host", "0.0.0.0"),
                        reason=Text("Inside a container it must listen on all addresses; who can reach it is said by "
                                    "the port that the container publishes."))
    return Addition("host", wish.words("host", "127.0.0.1"), reason=Text("Only this computer can connect."))


def _port(wish: _Wish) -> Addition | None:
    if wish.sets("port"):
        return None
    port = wish.world.free_port or DEFAULT_PORT
    container = containers.around(wish.plan.prefix)
    if container is not None and container.ports:
        port = int(container.ports[0][1])
    return Addition("port", wish.words("port", str(port)),
                    reason=Text("The port is named, because llama.cpp's own default changes between builds."))


def _slots(wish: _Wish) -> Addition | None:
    """Says aloud what `-np auto` means; where sharing is turned off, auto would overrule it: a check says so."""
    shared = wish.resolved.text("kv-unified")
    if wish.sets("parallel") or is_router(wish.resolved) or shared in ("off", "0", "false", "disabled"):
        return None
    known = engine_option(CATALOGUE["parallel"], wish.engine)
    if known is not None and known.default is not None and not known.default.startswith("-1"):
        return None
    words = wish.words("parallel", str(AUTO_SLOTS))
    if shared is None:
        words += wish.words("kv-unified")
    return Addition("slots", words, reason=Text("The estimate counts on {count} slots that share one context: what "
                                                "the engine chooses by itself today.", count=AUTO_SLOTS))


def _device_order(wish: _Wish) -> Addition | None:
    name = "CUDA_DEVICE_ORDER"
    if wish.plan.variable(name) is not None or name in wish.world.environment:
        return None
    return Addition("device-order", (), ((name, "PCI_BUS_ID"),),
                    Text("CUDA then numbers the cards as the driver does, so that readings match devices."))


def _no_backtrace(wish: _Wish) -> Addition | None:
    name = "GGML_NO_BACKTRACE"
    if wish.plan.variable(name) is not None or name in wish.world.environment:
        return None
    return Addition("no-backtrace", (), ((name, "1"),),
                    Text("After a crash the program ends at once instead of starting a debugger."))


def _clean_environment(wish: _Wish) -> Addition | None:
    return Addition("clean-environment", (), (),
                    Text("Inherited LLAMA_ARG_ variables are removed, so that what is shown is what runs."))


_ALL: tuple[tuple[str, bool, Callable[[_Wish], Addition | None]], ...] = (
    ("host", True, _host),
    ("port", True, _port),
    ("slots", True, _slots),
    ("metrics", True, _metrics),
    ("verbosity", True, _verbosity),
    ("log-colors", True, _colors),
    ("log-jsonl", False, _jsonl),
    ("device-order", True, _device_order),
    ("no-backtrace", True, _no_backtrace),
    ("clean-environment", True, _clean_environment),
)

ADDITIONS = tuple(name for name, _, _ in _ALL)
"""Every id, in the order in which they are added."""


def chosen_additions(
    plan: Plan, engine: Engine | None, world: Conditions, choice: Mapping[str, bool] | Collection[str] | None
) -> tuple[Addition, ...]:
    """Those that apply to this plan and that this engine knows."""
    if isinstance(choice, Mapping):
        switches = dict(choice)
    else:
        switches = dict.fromkeys(choice or (), False)
    wish = _Wish(plan, engine, world)
    out = []
    for name, usual, make in _ALL:
        addition = make(wish) if switches.get(name, usual) else None
        if addition is not None and (addition.argv or addition.environment or name == "clean-environment"):
            out.append(addition)
    return tuple(out)
