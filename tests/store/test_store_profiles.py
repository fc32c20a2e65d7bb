from __future__ import annotations

import sys
import tempfile
import types
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.errors import AppError
from paddock.launch.model import Plan, Setting
from paddock.store import Profile, Profiles, Secrets, resolve_secret
from paddock.store.profiles import file_name
from paddock.store.secret import drop_literals, masked_argv, masked_environment, variable_for

TEXTS = st.text(max_size=20)
OPTIONS = st.sampled_from(["ctx-size", "override-tensor", "mlock", "temp", "--unknown", "", "a.b c"]) | TEXTS
SETTINGS = st.builds(
    Setting, option=OPTIONS,
    values=st.lists(st.sampled_from(["0", "", "-1", "off", "false", "8192"]) | TEXTS, max_size=3).map(tuple),
    on=st.booleans())
PLANS = st.builds(
    Plan, settings=st.lists(SETTINGS, max_size=6).map(tuple),
    environment=st.lists(st.tuples(TEXTS, TEXTS), max_size=4).map(tuple),
    prefix=st.lists(TEXTS, max_size=3).map(tuple), engine=st.none() | TEXTS,
    extra=st.lists(TEXTS, max_size=2).map(tuple))


@settings(max_examples=150, deadline=None)
@given(PLANS, TEXTS, st.lists(TEXTS, max_size=3), st.booleans(), st.integers(0, 9))
def test_a_profile_comes_back_exactly(plan: Plan, notes: str, tags: list[str], keep: bool, restarts: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        profiles = Profiles(Path(folder))
        saved = profiles.save(Profile("p", plan, notes, tuple(tags), keep, restarts))
        assert profiles.load("p") == saved
        assert saved.plan == plan
        again = profiles.import_text(profiles.export("p"), "q")
        assert again.plan == plan


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=200).filter(str.strip))
def test_any_name_makes_a_safe_file_and_comes_back(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        profiles = Profiles(Path(folder) / "profiles")
        profiles.save(Profile(name, Plan()))
        assert profiles.names() == [name]
        assert [p.parent.name for p in Path(folder).rglob("*.toml")] == ["profiles"]


@pytest.mark.parametrize("name", ["../../etc/passwd", "..", "/etc/passwd", "a/b", "C:\\x", "CON", "con.x", ".hidden"])
def test_a_file_name_stays_in_its_folder(name: str) -> None:
    made = file_name(name)
    assert not set('/\\:*?"<>|') & set(made)
    assert not made.startswith(".")
    assert made.split(".")[0].lower() != "con"


@pytest.mark.parametrize("setting", [
    Setting("ctx-size", ("0",)), Setting("alias", ("",)), Setting("mmap", (), False), Setting("mlock", (), True),
    Setting("n-predict", ("-1",)), Setting("override-tensor", ("a=CPU", "b=CPU")), Setting("x", ("false",), False)])
def test_falsy_values_are_not_replaced_by_defaults(tmp_path: Path, setting: Setting) -> None:
    profiles = Profiles(tmp_path)
    profiles.save(Profile("p", Plan((setting,))))
    assert profiles.load("p").plan.settings == (setting,)


def test_the_usual_profile_reads_well(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path)
    plan = Plan((Setting("ctx-size", ("8192",)), Setting("mlock"), Setting("lora", ("a", "b"))), (("A", "1"),))
    profiles.save(Profile("Chat", plan))
    text = (tmp_path / "Chat.toml").read_text()
    assert '[settings]\nctx-size = "8192"\nmlock = true\n' in text
    assert '[environment]\nA = "1"\n' in text


def test_numbers_written_by_hand_are_taken_as_text(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("[settings]\nctx-size = 4096\ntemp = 0.5\n")
    assert Profiles(tmp_path).load("mine").plan == Plan((Setting("ctx-size", ("4096",)), Setting("temp", ("0.5",))))


def test_unknown_keys_survive_a_save(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('name = "p"\ncolour = "red"\n[settings]\nctx-size = "1"\n[later]\nx = 1\n')
    profiles = Profiles(tmp_path)
    profiles.save(replace(profiles.load("p"), notes="n"))
    text = (tmp_path / "p.toml").read_text()
    assert 'colour = "red"' in text
    assert "[later]" in text
    assert profiles.load("p").plan.get("ctx-size") == "1"


def test_damaged_foreign_newer_and_missing_files_have_different_sentences(tmp_path: Path) -> None:
    for name, content in (("cut", b'name = "cut"\n[sett'), ("html", b"<html>"), ("nul", b"\0\0\0"), ("empty", b""),
                          ("new", b'schema_version = 99\nname = "new"\n'), ("other", b"[tool.ruff]\nx = 1\n")):
        (tmp_path / f"{name}.toml").write_bytes(content)
    profiles = Profiles(tmp_path)
    sentences = set()
    for name in ("cut", "html", "nul", "empty", "new", "other", "missing"):
        with pytest.raises(AppError) as caught:
            profiles.load(name)
        sentences.add(str(caught.value).replace(name, "…"))
    assert len(sentences) == 7
    assert profiles.names() == []
    assert len(profiles.problems) == 6


def test_bom_and_dos_line_ends_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b'\xef\xbb\xbfname = "p"\r\n[settings]\r\nctx-size = "1"\r\n')
    assert Profiles(tmp_path).load("p").plan.get("ctx-size") == "1"


def test_rename_delete_and_names_in_use(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path)
    profiles.save(Profile("b", Plan((Setting("x", ("1",)),))))
    profiles.save(Profile("A", Plan()))
    assert profiles.names() == ["A", "b"]
    with pytest.raises(AppError, match="already"):
        profiles.rename("b", "A")
    assert profiles.rename("b", "c").plan.get("x") == "1"
    assert profiles.names() == ["A", "c"]
    profiles.delete("c")
    with pytest.raises(AppError, match="no profile"):
        profiles.delete("c")
    assert profiles.import_text(profiles.export("A")).name == "A (2)"


def test_two_names_with_one_file_name_do_not_overwrite_each_other(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text('name = "y"\n')
    profiles = Profiles(tmp_path)
    profiles.save(Profile("x", Plan()))
    assert profiles.names() == ["x", "y"]


SECRETS = [Plan((Setting("api-key", ("s3cret-value",)),)), Plan((Setting("hf-token", ("s3cret-value",)),)),
           Plan(environment=(("LLAMA_API_KEY", "s3cret-value"),)), Plan(prefix=("env", "HF_TOKEN=s3cret-value")),
           Plan(extra=("--api-key=s3cret-value",))]


@pytest.mark.parametrize("plan", SECRETS)
def test_a_literal_key_is_never_written(tmp_path: Path, plan: Plan) -> None:
    profiles = Profiles(tmp_path)
    with pytest.raises(AppError) as caught:
        profiles.save(Profile("p", plan))
    assert "s3cret-value" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    profiles.save_working("m", plan)
    assert all(b"s3cret-value" not in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


@pytest.mark.parametrize("word", ["OTHER_TOKEN=t0psecret", "--env=OTHER_TOKEN=t0psecret", "-eOTHER_TOKEN=t0psecret"])
def test_keys_of_other_programs_are_guarded_by_their_names(tmp_path: Path, word: str) -> None:
    variable = Plan(environment=(("OTHER_TOKEN", "t0psecret"), ("CUDA_VISIBLE_DEVICES", "0")))
    prefix = Plan(prefix=("docker", "run", "-e", word, "image"))
    for plan in (variable, prefix):
        with pytest.raises(AppError, match="OTHER_TOKEN"):
            Profiles(tmp_path).save(Profile("p", plan))
        assert "t0psecret" not in str(drop_literals(plan))
    saved = Profiles(tmp_path).save(Profile("p", variable), secret_saver=variable_for)
    assert saved.plan.environment == (("OTHER_TOKEN", "env:OTHER_TOKEN"), ("CUDA_VISIBLE_DEVICES", "0"))
    assert "t0psecret" not in str((masked_argv((word,)), masked_environment(dict(variable.environment))))
    assert masked_environment({"OTHER_TOKEN": "file:/k", "CUDA_VISIBLE_DEVICES": "0"}) == {
        "OTHER_TOKEN": "file:/k", "CUDA_VISIBLE_DEVICES": "0"}


def test_a_secret_saver_turns_a_key_into_a_reference(tmp_path: Path) -> None:
    kept: dict[str, str] = {}

    def saver(what: str, value: str) -> str:
        kept[what] = value
        return f"keyring:{what}"

    profiles = Profiles(tmp_path)
    saved = profiles.save(Profile("p", SECRETS[0]), secret_saver=saver)
    assert saved.plan.get("api-key") == "keyring:p/api-key"
    assert kept == {"p/api-key": "s3cret-value"}
    assert "s3cret-value" not in (tmp_path / "p.toml").read_text()
    assert profiles.save(saved).plan == saved.plan


def test_references_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-file\n")
    assert resolve_secret("env:KEY", {"KEY": "from-env"}) == "from-env"
    assert resolve_secret("env:NONE", {}) is None
    assert resolve_secret(f"file:{tmp_path / 'key'}", {}) == "from-file"
    assert resolve_secret(f"file:{tmp_path / 'none'}", {}) is None
    assert resolve_secret("plain", {}) == "plain"


class NoKeyringError(RuntimeError):
    pass


def _keyring(store: dict[tuple[str, str], str] | None) -> types.ModuleType:
    module = types.ModuleType("keyring")
    errors = types.ModuleType("keyring.errors")

    def set_password(service: str, name: str, value: str) -> None:
        if store is None:
            raise NoKeyringError
        store[service, name] = value

    def get_password(service: str, name: str) -> str | None:
        if store is None:
            raise NoKeyringError
        return store.get((service, name))

    vars(module).update(set_password=set_password, get_password=get_password, errors=errors)
    vars(errors).update(KeyringError=NoKeyringError)
    return module


def test_without_a_keyring_a_key_lives_in_memory_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _keyring(None)
    monkeypatch.setitem(sys.modules, "keyring", module)
    monkeypatch.setitem(sys.modules, "keyring.errors", vars(module)["errors"])
    secrets = Secrets()
    reference = secrets.save("p/api-key", "k")
    assert secrets.notice is not None
    assert secrets.resolve(reference, {}) == "k"
    assert Secrets().resolve(reference, {}) is None


def test_with_a_keyring_a_key_outlives_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    module = _keyring({})
    monkeypatch.setitem(sys.modules, "keyring", module)
    monkeypatch.setitem(sys.modules, "keyring.errors", vars(module)["errors"])
    secrets = Secrets()
    reference = secrets.save("p/api-key", "k")
    assert secrets.notice is None
    assert Secrets().resolve(reference, {}) == "k"


def test_the_working_plan_is_kept_per_model_and_the_successful_one_apart(tmp_path: Path) -> None:
    profiles = Profiles(tmp_path / "profiles")
    good, tried = Plan((Setting("ctx-size", ("4096",)),)), Plan((Setting("ctx-size", ("999999",)),))
    profiles.save_working("model-a", good, successful=True)
    profiles.save_working("model-a", tried)
    profiles.save_working(None, Plan())
    assert profiles.load_working("model-a") == tried
    assert profiles.load_working("model-a", successful=True) == good
    assert profiles.load_working("model-b") is None
    assert profiles.load_working(None) == Plan()
    assert profiles.names() == []
