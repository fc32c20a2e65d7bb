"""Defaults for all models and for architectures, on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.errors import AppError
from paddock.launch.model import Plan, Setting
from paddock.store.defaults import Defaults


@pytest.fixture
def defaults(tmp_path: Path) -> Defaults:
    return Defaults(tmp_path / "defaults")


def test_defaults_come_back_exactly_for_all_and_for_an_architecture(defaults: Defaults) -> None:
    everything = Plan((Setting("flash-attn", ("on",)), Setting("jinja", (), False)), (("CUDA_X", ""),), ("nice",), "e")
    defaults.save(everything)
    defaults.save(Plan().with_("temp", "0"), "qwen3moe")
    assert defaults.load() == everything
    assert defaults.load("qwen3moe") == Plan().with_("temp", "0")
    assert defaults.load("llama") == Plan()
    assert defaults.architectures() == ["qwen3moe"]
    layers, notices = defaults.layers("qwen3moe")
    assert [layer.architecture for layer in layers] == [None, "qwen3moe"]
    assert notices == ()
    assert [layer.architecture for layer in defaults.layers(None)[0]] == [None]


def test_an_empty_plan_takes_them_away(defaults: Defaults) -> None:
    defaults.save(Plan().with_("temp", 1))
    defaults.save(Plan())
    assert defaults.layers("llama") == ((), ())


@pytest.mark.parametrize("option", ["model", "hf-repo", "models-dir"])
def test_what_names_a_model_cannot_be_a_default(defaults: Defaults, option: str) -> None:
    with pytest.raises(AppError, match=option):
        defaults.save(Plan().with_(option, "x"))
    assert defaults.load() == Plan()


def test_a_key_is_never_written(defaults: Defaults) -> None:
    with pytest.raises(AppError) as caught:
        defaults.save(Plan().with_("api-key", "s3cret"))
    assert "s3cret" not in str(caught.value)


def test_a_damaged_file_gives_the_copy_before_or_a_sentence(defaults: Defaults) -> None:
    defaults.save(Plan().with_("temp", 1))
    file = defaults.folder / "all.toml"
    file.write_bytes(b"\0\0")
    layers, notices = defaults.layers(None)
    assert layers == ()
    assert "left out" in str(notices[0])
    defaults.save(Plan().with_("temp", 2))
    defaults.save(Plan().with_("temp", 3))
    file.write_bytes(b"")
    assert defaults.load() == Plan().with_("temp", 2)


def test_a_newer_form_is_told(defaults: Defaults) -> None:
    defaults.folder.mkdir(parents=True)
    (defaults.folder / "all.toml").write_text('schema_version = 99\n[settings]\ntemp = "1"\n')
    assert "newer Paddock" in str(defaults.layers(None)[1][0])


def test_every_state_of_the_defaults_can_come_back(defaults: Defaults) -> None:
    for temp in ("1", "0", "2"):
        defaults.save(Plan().with_("temp", temp))
    defaults.save(Plan().with_("temp", "9"), "../qwen3")
    assert [(number, plan.get("temp")) for number, _, plan in defaults.history()] == [(3, "2"), (2, "0"), (1, "1")]
    defaults.restore(2)
    assert defaults.load().get("temp") == "0"
    assert defaults.load("../qwen3").get("temp") == "9"
    assert len(defaults.history("../qwen3")) == 1
    defaults.save(Plan())
    defaults.restore(4)
    assert defaults.load().get("temp") == "0"
    with pytest.raises(AppError, match="no saved state 99"):
        defaults.restore(99)
    assert sorted(path.name for path in defaults.folder.parent.iterdir()) == ["defaults"]
