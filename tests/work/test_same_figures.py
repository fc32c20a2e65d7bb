"""The window's preview, the text form and a placement ask one function: their figures are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tinymodel import write

import gguf
from paddock.launch import parse_argv
from paddock.work import Workspace
from paddock.work.placing import fixes_for, place
from paddock.work.previewing import case_of, given_of


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    path = tmp_path / "adapter.gguf"
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    for part, shape in (("a", (4, 64)), ("b", (64, 4))):
        writer.add_tensor(f"blk.0.attn_q.weight.lora_{part}", np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def three(found: Any) -> list[tuple[str, int, int, int, int]]:
    return [(d.name, d.model, d.context, d.compute, d.overhead) for d in found.devices]


@pytest.mark.parametrize("flags", ["-c 2048", "-np 2", "-c 2048 --lora {adapter}", "-c 2048 -ctk q8_0 -ub 128"])
def test_preview_text_form_and_placement_agree(flags: str, tmp_path: Path, adapter: Path) -> None:
    workspace = Workspace(tmp_path / "data")
    model = write(tmp_path / "tiny.gguf")
    plan = parse_argv(["-m", str(model), *flags.format(adapter=adapter).split()])
    try:
        preview, told = workspace.preview(plan), workspace.estimate(plan)
        assert preview.estimate is not None
        assert three(preview.estimate) == three(told)
        assert told.verdict is preview.estimate.verdict
        assert three(place(workspace, plan, pinned=["ctx-size"]).estimate) == three(told)
        assert fixes_for(workspace, plan, told) == ()
        case = case_of(workspace, plan)
        assert {k: v for k, v in case.given.items() if k != "host_free"} == {
            k: v for k, v in given_of(workspace, preview).items() if k != "host_free"}
        assert ("adapters" in case.given) is ("--lora" in flags)
    finally:
        workspace.close()
