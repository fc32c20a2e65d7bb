"""Addresses, keys and what is open to whom."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.launch import containers
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question, error, hint, warning
from paddock.launch.effective import DEFAULT_PORT, is_local
from paddock.launch.model import PREFIX, VARIABLE, Issue
from paddock.launch.secret_reference import MASK, is_key, is_reference, shown_word
from paddock.text import Text

_TOOLS = ("tools", "agent", "ui-mcp-proxy", "mcp-servers-config", "mcp-servers-json")
_LOCAL = (("host", ("127.0.0.1",)),)
_OPTIONS = {"LLAMA_API_KEY": "api-key", "HF_TOKEN": "hf-token"}


def port(q: Question) -> Iterator[Issue]:
    """A port that is taken, or that Paddock cannot know beforehand. Its range is checked with all values."""
    number = q.number("port")
    if number == 0:
        if len(q.effective.hosts) > 1:
            yield error("port-zero", "port", Text("Port 0 works with one address only."), Text("Name a port."))
        else:
            yield warning("port-zero", "port", Text("Port 0 lets the system choose: the address is another one each "
                                                    "time."), Text("Name a port."))
    elif q.conditions.port_free is False:
        holder = q.conditions.port_holder
        text = (Text("Port {port} is in use by {holder}.", port=q.effective.port, holder=holder) if holder
                else Text("Port {port} is in use by another program.", port=q.effective.port))
        free = q.conditions.free_port
        yield error("port-taken", "port", text,
                    Text("Use port {port}, which is free.", port=free) if free else Text("Use another port."),
                    (("port", (str(free),)),) if free else ())


def _tools(q: Question) -> list[str]:
    return [name for name in _TOOLS if q.text(name) not in (None, "", "off", "0", "false", "disabled")]


def open_address(q: Question) -> Iterator[Issue]:
    """An address that other machines can reach, without a key."""
    fact = q.effective
    if not fact.open_to_network or fact.key is not None:
        return
    tools = _tools(q)
    if tools:
        flags = ", ".join(CATALOGUE[name].long_name for name in tools)
        yield error("open-tools", "host",
                    Text("Anyone who reaches {host} could use {flags} on this computer: there is no key.",
                         host=fact.host, flags=flags),
                    Text("Set a key, or listen on this computer only."), _LOCAL)
    else:
        yield warning("open-without-key", "host",
                      Text("Anyone who reaches {host} can use this server: there is no key.", host=fact.host),
                      Text("Set a key, or listen on this computer only."), _LOCAL)


def half_tls(q: Question) -> Iterator[Issue]:
    """With half a pair llama.cpp serves plain HTTP and says nothing."""
    key, certificate = q.text("ssl-key-file"), q.text("ssl-cert-file")
    if bool(key) == bool(certificate):
        return
    missing = "ssl-cert-file" if key else "ssl-key-file"
    given = "ssl-key-file" if key else "ssl-cert-file"
    yield error("half-tls", missing, Text("TLS needs a key and a certificate: with one of them the server is plain "
                                          "HTTP."), Text("Add the other one, or take both out."), ((given, None),))


def prefix(q: Question) -> Iterator[Issue]:
    """The prefix is compared as it is."""
    text = q.text("api-prefix") or ""
    if text and (text.endswith("/") or not text.startswith("/")):
        good = "/" + text.strip("/")
        yield error("bad-prefix", "api-prefix", Text("A path prefix starts with a slash and does not end with one."),
                    Text("Use {good}.", good=good), (("api-prefix", (good,)),))


def keys(q: Question) -> Iterator[Issue]:
    """A key that stands in the plan itself."""
    found = [(s.option, value) for s in q.plan for value in s.values
             if s.option in CATALOGUE and CATALOGUE[s.option].secret]
    found += [(_OPTIONS.get(name, f"{VARIABLE}{name}"), value) for name, value in q.plan.environment if is_key(name)]
    found += [(PREFIX, word) for word in q.plan.prefix if shown_word(word) != word]
    for option, value in found:
        if value == MASK:
            yield error("masked-key", option, Text("The key was masked when this line was copied."),
                        Text("Type it again, or choose where it is kept."), ((option, None),))
        elif value and not is_reference(value):
            yield warning("literal-key", option,
                          Text("The key stands in the plan in plain text and would be saved with it."),
                          Text("Keep it in the keyring, in a file (file:PATH) or in a variable (env:NAME)."))


def live_figures(q: Question) -> Iterator[Issue]:
    """What Paddock needs to show a server at work."""
    if not q.on("slots"):
        yield hint("no-slot-states", "slots", Text("Without /slots there is no live speed, only that of finished "
                                                   "requests."), Text("Turn slot states on."), (("slots", ("on",)),))
    if q.on("log-disable"):
        yield warning("no-log", "log-disable",
                      Text("Without a log Paddock cannot follow the load or explain a failure."),
                      Text("Take --log-disable out."), (("log-disable", None),))


def shared_port(q: Question) -> Iterator[Issue]:
    """Two servers on one port share its requests."""
    if q.on("reuse-port"):
        yield hint("shared-port", "reuse-port",
                   Text("Another server on the same port may answer instead of this one."),
                   Text("Take it out, or choose another port."), (("reuse-port", None),))


def tools_on(q: Question) -> Iterator[Issue]:
    """Tools act on this computer for whoever may send requests. Open to the network without a key is an error."""
    tools = _tools(q)
    fact = q.effective
    if not tools or (fact.open_to_network and fact.key is None):
        return
    flags = ", ".join(CATALOGUE[name].long_name for name in tools)
    who = (Text("whoever has the key") if fact.key is not None else Text("every program and account of this computer"))
    yield warning("tools-on", tools[0],
                  Text("With {flags} the server reads files and runs commands for {who}, and for what a web page or a "
                       "document talks the model into.", flags=flags, who=who),
                  Text("Name only the tools that you need, or take it out."))


def open_origins(q: Question) -> Iterator[Issue]:
    """Every web page that is open in a browser here may send requests where CORS allows all origins."""
    origins = q.text("cors-origins")
    said = q.plan.find("cors-origins") is not None
    if origins == "*" and said and q.effective.key is None:
        yield warning("cors-open", "cors-origins",
                      Text("--cors-origins * lets every web page that is open in a browser use this server: there is "
                           "no key."),
                      Text("Allow pages of this computer only."), (("cors-origins", ("localhost",)),))


def remote_devices(q: Question) -> Iterator[Issue]:
    """RPC has neither keys nor encryption (llama.cpp: tools/rpc, the server's own warning)."""
    hosts = [part.strip() for part in (q.text("rpc") or "").split(",") if part.strip()]
    far = [host for host in hosts if not is_local(host.rpartition(":")[0] or host)]
    if far:
        yield warning("rpc-unprotected", "rpc",
                      Text("What goes to {hosts} is neither encrypted nor protected by a key: whoever shares the "
                           "network can read it, and use that machine.", hosts=", ".join(far)),
                      Text("Use it in a network that you trust, or through a tunnel (ssh -L)."))


def silent_hosts(q: Question) -> Iterator[Issue]:
    """llama.cpp ends at once where it cannot connect, and waits behind another client (tools/rpc serves one)."""
    named = [part.strip() for part in (q.text("rpc") or "").split(",") if part.strip()]
    states = dict(q.conditions.rpc_hosts)
    silent, foreign, busy = ([host for host in named if states.get(host) == state]
                             for state in ("silent", "foreign", "busy"))
    for host in silent:
        rest = ",".join(other for other in named if other != host)
        yield error("rpc-silent", "rpc", Text("Nobody answers at {host}: llama.cpp ends where an RPC host cannot be "
                                              "reached.", host=host),
                    Text("Start ggml-rpc-server there, or take {host} out.", host=host),
                    (("rpc", (rest,) if rest else None),))
    for host in foreign:
        yield error("rpc-foreign", "rpc", Text("What listens at {host} is no RPC server of llama.cpp.", host=host),
                    Text("Check the port: ggml-rpc-server takes 50052 unless it is told another."))
    for host in busy:
        yield warning("rpc-busy", "rpc", Text("{host} serves another program now, and one at a time: this server would "
                                              "wait until that is done.", host=host),
                      Text("End what uses it, or name another host."))


def container_port(q: Question) -> Iterator[Issue]:
    """What listens inside a container is reached only through a port that it publishes."""
    container = containers.around(q.plan.prefix)
    if container is None or container.host_network:
        return
    inside = q.number("port") if q.text("port") else int(container.ports[0][1]) if container.ports else DEFAULT_PORT
    if containers.reached(container, inside) is None:
        yield error("container-port", "port",
                    Text("The container publishes no port {port}: nobody could reach the server in it.", port=inside),
                    Text("Put -p 127.0.0.1:{port}:{port} before the image.", port=inside))
