"""Two hundred requests of mixed kinds by real clients through the recording proxy of a real server."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
import tinymodel
from real_engine import Launched, paddock

from paddock.engine import Engine

COUNT = 200
KINDS = ("chat", "stream", "completion", "cancelled", "refused", "curl", "cached", "several")


@dataclass
class Told:
    """What a client saw: `seed` is its own number."""

    seed: int
    kind: str
    status: str
    generated: int | None = None
    prompt: int | None = None
    timings: dict[str, Any] | None = None


class Clients:
    """Each asks in its own way, with its number as the seed."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.openai = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=120)

    def ask(self, seed: int) -> Told:
        kind = KINDS[seed % len(KINDS)]
        return getattr(self, f"_{kind}")(seed)  # type: ignore[no-any-return]

    def _messages(self, seed: int) -> list[Any]:
        return [{"role": "user", "content": f"number {seed} " + "word " * (seed % 23)}]

    def _done(self, seed: int, kind: str, answer: Any) -> Told:
        timings = answer.model_extra["timings"]
        return Told(seed, kind, "done", answer.usage.completion_tokens, answer.usage.prompt_tokens, timings)

    def _chat(self, seed: int) -> Told:
        return self._done(seed, "chat", self.openai.chat.completions.create(
            model="tiny", messages=self._messages(seed), max_tokens=3 + seed % 30, seed=seed))

    def _stream(self, seed: int) -> Told:
        last: Any = None
        for chunk in self.openai.chat.completions.create(
                model="tiny", messages=self._messages(seed), max_tokens=3 + seed % 30, seed=seed, stream=True,
                stream_options={"include_usage": True}):
            last = chunk
        return self._done(seed, "stream", last)

    def _completion(self, seed: int) -> Told:
        return self._done(seed, "completion", self.openai.completions.create(
            model="tiny", prompt=f"say {seed}", max_tokens=2 + seed % 9, seed=seed))

    def _cancelled(self, seed: int) -> Told:
        stream = self.openai.chat.completions.create(model="tiny", messages=self._messages(seed), max_tokens=4000,
                                                     seed=seed, stream=True, extra_body={"ignore_eos": True})
        for _, _chunk in zip(range(4), stream, strict=False):
            pass
        stream.close()
        return Told(seed, "cancelled", "cancelled")

    def _refused(self, seed: int) -> Told:
        with pytest.raises(openai.BadRequestError):
            self.openai.chat.completions.create(
                model="tiny", messages=[{"role": "user", "content": "too long " * 2000}], max_tokens=3, seed=seed)
        return Told(seed, "refused", "failed")

    def _curl(self, seed: int) -> Told:
        body = json.dumps({"prompt": f"curl {seed}", "n_predict": 5, "seed": seed})
        done = subprocess.run(["curl", "-s", "-H", "Content-Type: application/json", "-d", body,
                               f"{self.url}/completion"], capture_output=True, timeout=120, check=True)
        timings = json.loads(done.stdout)["timings"]
        return Told(seed, "curl", "done", timings["predicted_n"], timings["prompt_n"] + timings["cache_n"], timings)

    def _cached(self, seed: int) -> Told:
        return self._done(seed, "cached", self.openai.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "the same again " * 12}], max_tokens=4, seed=seed))

    def _several(self, seed: int) -> Told:
        answer = self.openai.chat.completions.create(model="tiny", messages=self._messages(seed), max_tokens=4, n=2,
                                                     seed=seed)
        return Told(seed, "several", "done", answer.usage.completion_tokens if answer.usage else None)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    return tinymodel.write(tmp_path / "tiny.gguf", context=8192)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
def test_each_request_is_recorded_once_with_the_servers_own_figures(
        engine: Engine, tiny: Path, tmp_path: Path, port: int, launched: Callable[..., Launched]) -> None:
    data = tmp_path / "data"
    run = launched("--data-dir", data, "--proxy", 0, tiny, "--", "-t", 1, "-c", 8192, "-np", 4, "--port", port)
    clients = Clients(run.state("proxy")["url"])
    with ThreadPoolExecutor(6) as pool:
        told = {t.seed: t for t in pool.map(clients.ask, range(COUNT))}
    clients.openai.close()
    ended: set[int] = set()

    def all_ended(event: dict[str, Any]) -> bool:
        if event.get("event") == "request":
            ended.add(event["number"])
        return len(ended) >= COUNT + COUNT // len(KINDS)  # one kind makes two requests of each

    run.wait_for(all_ended)
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130, "".join(run.errors)[-2000:]

    rows = paddock("--data-dir", data, "sql", "SELECT * FROM requests WHERE NOT is_child")
    seen: dict[int, dict[str, Any]] = {}
    for row in rows:
        assert row["settings"] is not None, row
        seed = json.loads(row["settings"])["seed"]
        assert seed not in seen, (row, seen[seed])
        seen[seed] = row
    assert sorted(seen) == list(range(COUNT))
    for seed, truth in told.items():
        row = seen[seed]
        assert row["status"] == truth.status, (truth, row)
        if truth.timings is not None:
            assert row["generated_tokens"] == truth.generated == truth.timings["predicted_n"], (truth, row)
            assert row["prompt_tokens"] == truth.prompt, (truth, row)
            assert row["cached_tokens"] == truth.timings["cache_n"], (truth, row)
        assert row["client"] == "127.0.0.1"
        assert (row["http_status"] == 400) == (truth.kind == "refused")
    children = paddock("--data-dir", data, "sql", "SELECT exchange, generated_tokens FROM requests WHERE is_child")
    assert len(children) == sum(t.kind == "several" for t in told.values())
    assert {c["exchange"] for c in children} == {seen[t.seed]["exchange"] for t in told.values()
                                                 if t.kind == "several"}
    assert {c["generated_tokens"] for c in children} == {4}
    total = sum(row["generated_tokens"] or 0 for row in rows if row["status"] == "done")
    assert total == sum(t.generated or 0 for t in told.values())  # of several answers the server counts the first only
