"""Options that have no effect say why."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from launch_support import model_file

from paddock.engine import Engine
from paddock.launch import Plan, parse
from paddock.launch.catalogue import CATALOGUE
from paddock.launch.locking import locked


@pytest.mark.parametrize(("text", "option", "freed_by"), [
    ("-c 1", "kv-unified", "-np 2"),
    ("-c 1", "spec-draft-ngl", "-md d.gguf"),
    ("-c 1", "spec-draft-n-max", "--spec-type draft-mtp"),
    ("-c 1", "spec-ngram-mod-n-max", "--spec-type ngram-mod"),
    ("-c 1", "spec-ngram-map-k-size-n", "--spec-type ngram-map-k"),
    ("-c 1", "prio-batch", "-tb 4"),
    ("-c 1", "mmproj-offload", "-mm p.gguf"),
    ("-c 1", "hf-file", "-hf a/b"),
    ("-m a", "models-max", "--models-dir /m"),
    ("-c 1", "pooling", "--embedding"),
    ("-fit off", "fit-target", "-fit on"),
    ("-cram 0", "cache-idle-slots", "-cram 1"),
    ("-c 1", "dry-base", "--dry-multiplier 0.8"),
    ("-c 1", "mirostat-lr", "--mirostat 2"),
    ("-mm p", "cache-reuse", "-c 1"),
])
def test_an_option_is_locked_until_what_it_needs_is_there(text: str, option: str, freed_by: str) -> None:
    found = locked(parse(text), None, None, None)
    assert str(found[option])
    assert option not in locked(parse(freed_by), None, None, None)


def test_what_is_set_is_never_locked() -> None:
    assert "spec-draft-ngl" not in locked(parse("-ngld 5"), None, None, None)


def test_the_model_and_the_devices_lock_too(make_engine: Callable[..., Engine]) -> None:
    found = locked(Plan(), model_file(), make_engine(devices=("CUDA0",)), None)
    assert {"swa-full", "n-cpu-moe", "tensor-split"} <= set(found)
    more = locked(Plan(), model_file(sliding_window=512, experts=8), make_engine(devices=("CUDA0", "CUDA1")), None)
    assert not {"swa-full", "n-cpu-moe", "tensor-split"} & set(more)


def test_what_an_engine_does_not_have_is_locked(older_engine: Engine, engine: Engine) -> None:
    assert "n-cpu-ffn" in locked(Plan(), None, older_engine, None)
    assert "n-cpu-ffn" not in locked(Plan(), None, engine, None)


def test_locks_name_options_that_exist(engine: Engine) -> None:
    assert all(CATALOGUE[name].id == name for name in locked(Plan(), model_file(), engine, None))
