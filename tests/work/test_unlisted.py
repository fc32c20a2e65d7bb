"""A device list that crashed makes no verdict of the processor's figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretend_engine import listing, make_server
from tinymodel import write

from paddock.fit import Verdict
from paddock.launch.parsing import parse_argv
from paddock.work import Workspace


@pytest.mark.parametrize(("flags", "how", "verdict"), [
    ("", "kill -SEGV $$", Verdict.CANT_TELL), ("-dev none", "kill -SEGV $$", Verdict.FITS),
    ("-ngl 0", "kill -SEGV $$", Verdict.FITS), ("", listing("BLAS: x (0 MiB, 0 MiB free)"), Verdict.FITS)])
def test_the_verdict_waits_for_the_devices(tmp_path: Path, flags: str, how: str, verdict: Verdict) -> None:
    engine = make_server(tmp_path / "bin", __list_devices=how)
    model = write(tmp_path / "tiny.gguf")
    workspace = Workspace(tmp_path / "data", str(engine))
    plan = parse_argv(["-m", str(model), "-c", "512", *flags.split()])
    found, shown = workspace.estimate(plan), workspace.preview(plan).estimate
    workspace.close()
    assert shown is not None
    assert (found.verdict, shown.verdict) == (verdict, verdict)
    if verdict is Verdict.CANT_TELL:
        assert "SIGSEGV" in str(found.reason)
