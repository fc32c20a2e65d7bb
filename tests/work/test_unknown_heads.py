"""A file that does not say how large its KV cache is gets no verdict that counts it as nothing."""

from __future__ import annotations

from pathlib import Path

import ggufmake as make

from paddock.fit import estimate
from paddock.fit.model import Verdict
from paddock.launch import Plan
from paddock.work import Workspace


def test_a_model_without_heads_is_not_said_to_fit(tmp_path: Path) -> None:
    metadata, tensors = make.llama()
    without = {k: v for k, v in metadata.items() if "head_count" not in k}
    workspace = Workspace(tmp_path / "data")
    for keys, verdict in ((metadata, Verdict.FITS), (without, Verdict.CANT_TELL)):
        path = make.write(tmp_path / f"{len(keys)}.gguf", keys, tensors)
        model = workspace.read_model(path)
        found = estimate(model, Plan().with_("model", str(path)).with_("ctx-size", 512), (), host_total=1 << 36,
                         host_free=1 << 35)
        assert found.verdict is verdict
    assert "attention heads" in str(found.reason)
