"""Where a server will be found and what it will offer."""

from __future__ import annotations

import pytest

from paddock.launch import Conditions, command, effective, parse


@pytest.mark.parametrize(("text", "url"), [
    ("llama-server", "http://127.0.0.1:8080"),
    ("--port 9000 --host 0.0.0.0", "http://127.0.0.1:9000"),
    ("--host ::", "http://[::1]:8080"),
    ("--host 192.168.1.5,127.0.0.1", "http://127.0.0.1:8080"),
    ("--host 192.168.1.5", "http://192.168.1.5:8080"),
    ("--host fe80::1", "http://[fe80::1]:8080"),
    ("--host /run/l.sock,0.0.0.0", "http://127.0.0.1:8080"),
    ("--host 127.0.0.1 --host 0.0.0.0 --port 1 --port 2", "http://127.0.0.1:2"),
    ("--ssl-key-file k --ssl-cert-file c --api-prefix /p/", "https://127.0.0.1:8080/p"),
    ("--ssl-key-file k", "http://127.0.0.1:8080"),
    ("LLAMA_ARG_PORT=7000 LLAMA_ARG_API_PREFIX=/x llama-server", "http://127.0.0.1:7000/x"),
    ("LLAMA_ARG_PORT=7000 llama-server --port 7001", "http://127.0.0.1:7001"),
    ("LLAMA_ARG_PORT= llama-server", "http://127.0.0.1:8080"),
])
def test_the_address_to_poll(text: str, url: str) -> None:
    assert effective(parse(text)).url == url


def test_sockets_and_nonsense_have_no_url() -> None:
    assert effective(parse("--host /run/x.sock")).url is None
    assert effective(parse("--host /run/x.sock")).socket_path == "/run/x.sock"
    assert effective(parse("--port abc")).url is None


@pytest.mark.parametrize(("text", "slots", "unified", "context", "per_slot"), [
    ("-c 8192", 4, True, 8192, 8192),
    ("-c 8192 -np -1 --no-kv-unified", 4, True, 8192, 8192),
    ("-c 8192 -np 2", 2, False, 8192, 4096),
    ("-c 1000 -np 3", 3, False, 1000, 512),
    ("-c 8192 -np 2 -kvu", 2, True, 8192, 8192),
    ("-c 0", 4, True, None, None),
    ("LLAMA_ARG_N_PARALLEL=2 LLAMA_ARG_CTX_SIZE=512 llama-server", 2, False, 512, 256),
    ("LLAMA_ARG_KV_UNIFIED=1 llama-server -np 2 -c 512", 2, True, 512, 512),
    ("LLAMA_ARG_NO_KV_UNIFIED=1 llama-server -np 2 -c 512", 2, False, 512, 256),
])
def test_slots_and_their_context(text: str, slots: int, unified: bool, context: int | None,
                                 per_slot: int | None) -> None:
    found = effective(parse(text))
    assert (found.slots, found.unified, found.context, found.context_per_slot) == (slots, unified, context, per_slot)


@pytest.mark.parametrize(("text", "key"), [
    ("llama-server", None), ("--api-key env:K", "env:K"), ("--api-key abc", "literal"),
    ("--api-key-file /k", "file:/k"), ("LLAMA_API_KEY=abc llama-server", "literal"),
    ("LLAMA_API_KEY=keyring:x llama-server", "keyring:x"),
])
def test_where_the_key_comes_from(text: str, key: str | None) -> None:
    plan = parse(text)
    assert effective(plan).key == key
    made = command(plan, None, secrets={"env:K": "1", "keyring:x": "2"})
    assert effective(made).key == key


def test_endpoints_and_sleep() -> None:
    bare = effective(parse("-m a --no-slots --sleep-idle-seconds 60"))
    assert (bare.slots_endpoint, bare.metrics_endpoint, bare.sleep_idle_s) == (False, False, 60)
    full = effective(parse("-m a --metrics --sleep-idle-seconds -1"))
    assert (full.slots_endpoint, full.metrics_endpoint, full.sleep_idle_s) == (True, True, None)
    assert effective(parse("LLAMA_ARG_ENDPOINT_SLOTS=0 llama-server")).slots_endpoint is False


@pytest.mark.parametrize(("text", "router"), [
    ("-m a", False), ("-hf a/b", False), ("-dr x", False), ("LLAMA_ARG_MODEL=a llama-server", False),
    ("--fim-qwen-7b-default", False), ("-mu http://x", True), ("--models-dir /m", True), ("llama-server", True),
])
def test_router_mode(text: str, router: bool) -> None:
    assert effective(parse(text)).router is router


def test_a_command_is_read_with_its_additions_and_without_what_it_removes() -> None:
    inherited = {"LLAMA_ARG_HOST": "0.0.0.0", "LLAMA_ARG_PORT": "1"}
    made = command(parse("-m a"), None, conditions=Conditions(free_port=4444, environment=inherited))
    found = effective(made, inherited)
    assert (found.url, found.metrics_endpoint, found.open_to_network) == ("http://127.0.0.1:4444", True, False)
    kept = command(parse("-m a"), None, conditions=Conditions(environment=inherited),
                   additions=("clean-environment", "host", "port"))
    assert effective(kept, inherited).open_to_network


def test_config_files_come_last() -> None:
    assert effective(parse("-m a"), {}, {"port": "5", "LLAMA_ARG_HOST": "::"}).url == "http://[::1]:5"
    assert effective(parse("-m a --port 6"), {"LLAMA_ARG_HOST": "10.0.0.1"}, {"host": "::", "port": "5"}).url == (
        "http://10.0.0.1:6")
