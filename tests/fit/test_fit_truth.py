"""Every recorded dry run of llama.cpp against the estimate, term by term."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.fit.answers import answer
from paddock.launch import parse_argv

MIB = 1 << 20
KINDS = ["real", "spec", "toy", "shape", "hand", "defs", "more", "wide", "drafts", "mtp", "three"]
"""The sets of rows: of models, and of what was tried with them (wide: every lever; three: three devices)."""


def answered(truth: Any, row: dict[str, Any]) -> dict[str, Any]:
    args = row["args"]
    draft = truth.model(args[args.index("-md") + 1]) if "-md" in args else None
    names = [f"RPC{i}" for i in range(row.get("devices", 2))]
    devices = [{"name": name, "kind": "rpc", "total": 24105 * MIB, "free": 24105 * MIB} for name in names]
    return answer({"id": 1, "devices": devices}, truth.model(row["model"]), parse_argv(["--no-repack", *args]), draft)


def differences(row: dict[str, Any], found: dict[str, Any], terms: tuple[str, ...]) -> list[str]:
    out = []
    for part in ("main", "draft"):
        rows = {d["name"]: d for d in found.get(part) or []}
        for wanted in row.get(part, []):
            got = rows.get(wanted["name"], {"model": 0, "context": 0, "compute": 0})
            for term in terms:
                shared = part == "draft" and term == "model" and "-md" not in row["args"]
                if got[term] != wanted[term] and not shared:
                    out.append(
                        f"{row['model']} {' '.join(row['args'])}: {part} {wanted['name']} {term} "
                        f"{got[term]} for {wanted[term]}"
                    )
    return out


def test_every_row_belongs_to_a_set_that_is_tried(truth: Any) -> None:
    assert {row["set"] for row in truth.rows} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_and_caches_are_those_of_the_dry_run_to_the_byte(truth: Any, kind: str) -> None:
    wrong: list[str] = []
    for row in truth.rows:
        if row["set"] != kind:
            continue
        found = answered(truth, row)
        if ("rejected" in row) != ("rejected" in found):
            wrong.append(f"{row['model']} {row['args']}: {found.get('rejected', 'taken')}")
        elif "rejected" not in row:
            wrong += differences(row, found, ("model", "context", "compute"))
    assert not wrong, "\n".join(wrong[:20])


def _on_cuda(truth: Any, *args: str) -> dict[str, Any]:
    devices = [{"name": "CUDA0", "kind": "cuda", "total": 24105 * MIB, "free": 24105 * MIB}]
    model = truth.model("llama-3.1-8b-q4km.gguf")
    return answer({"id": 1, "devices": devices}, model, parse_argv(["-c", "32768", "-np", "1", *args]), None)


def test_cuda_copies_a_quantised_cache_to_f16_for_flash_attention(truth: Any) -> None:
    plain = _on_cuda(truth, "-fa", "on")["main"][0]["compute"]
    quantised = _on_cuda(truth, "-fa", "on", "-ctk", "q8_0", "-ctv", "q8_0")["main"][0]["compute"]
    copies = 2 * 2 * 8 * 128 * 32768
    assert quantised >= copies + 32 * MIB
    assert quantised > plain + 48 * MIB


def test_cuda_has_no_flash_attention_over_an_iq4_nl_cache(truth: Any) -> None:
    flash = _on_cuda(truth, "-ctk", "iq4_nl", "-fa", "on")["main"][0]["compute"]
    given_up = _on_cuda(truth, "-ctk", "iq4_nl")["main"][0]["compute"]
    assert given_up > flash + 1024 * MIB
