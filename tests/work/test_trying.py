"""One question to a server, in each of its kinds."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from paddock.errors import AppError
from paddock.work import trying
from paddock.work.trying import Question, embedded, generated, image_part, ranked

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


class Stream:
    def __init__(self, chunks: list[dict[str, Any]]) -> None:
        self.chunks = chunks

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...

    def __iter__(self) -> Any:
        return iter(self.chunks)

    def cancel(self) -> None: ...


class Reply:
    def __init__(self, data: Any, ok: bool = True, message: str = "") -> None:
        self.data, self.ok, self.message, self.code = data, ok, message, 200 if ok else 500


class Client:
    """Keeps what it was asked."""

    def __init__(self, *, reply: Any = None, chunks: Any = ()) -> None:
        self.reply, self.chunks = reply, list(chunks)
        self.asked: list[tuple[str, Any]] = []

    def raw(self, method: str, path: str, body: Any, *, timeout_s: float) -> Any:
        self.asked.append((path, body))
        return self.reply

    def stream_chat(self, messages: Any, **more: Any) -> Stream:
        self.asked.append(("chat", {"messages": messages, **more}))
        return Stream(self.chunks)

    def stream_completion(self, prompt: str, **more: Any) -> Stream:
        self.asked.append(("completion", {"prompt": prompt, **more}))
        return Stream(self.chunks)


def ask(client: Client, question: Question) -> trying.Answer:
    return generated(client, question, None, lambda: False)  # type: ignore[arg-type]


TIMINGS = {"prompt_n": 3, "cache_n": 1, "predicted_n": 2, "prompt_per_second": 9.0, "predicted_per_second": 8.0}


def test_a_chat_carries_system_prompt_picture_and_settings(tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(PNG)
    client = Client(chunks=[{"choices": [{"delta": {"role": "assistant", "content": None}}]},
                            {"choices": [{"delta": {"content": "a cat"}}]},
                            {"choices": [{"delta": {}, "finish_reason": "stop"}], "timings": TIMINGS}])
    answer = ask(client, Question("what?", system="be short", seed=3, max_tokens=7, image=tmp_path / "cat.png"))
    assert (answer.text, answer.finish, answer.generated_tokens) == ("a cat", "stop", 2)
    kind, sent = client.asked[0]
    assert (kind, sent["max_tokens"], sent["seed"]) == ("chat", 7, 3)
    assert sent["messages"][0] == {"role": "system", "content": "be short"}
    picture, words = sent["messages"][1]["content"]
    assert picture["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert words == {"type": "text", "text": "what?"}


def test_a_bare_completion_goes_without_a_template() -> None:
    client = Client(chunks=[{"content": " upon", "stop": False}, {"content": " a", "stop": True, "stop_type": "limit",
                                                                  "timings": TIMINGS}])
    answer = ask(client, Question("Once", raw=True, max_tokens=2))
    assert (answer.text, answer.finish, answer.prompt_tokens) == (" upon a", "length", 3)
    assert client.asked[0] == ("completion", {"prompt": "Once", "n_predict": 2, "temperature": 0.8, "seed": -1})


def test_a_vector_is_told_by_size_and_length() -> None:
    client = Client(reply=Reply({"data": [{"embedding": [0.6, 0.8, 0.0]}], "usage": {"prompt_tokens": 5}}))
    answer = embedded(client, "hello")  # type: ignore[arg-type]
    assert answer.text == "3 numbers, length 1.000: 0.6000, 0.8000, 0.0000 …"
    assert answer.prompt_tokens == 5
    assert client.asked == [("/v1/embeddings", {"input": "hello", "encoding_format": "float"})]


def test_documents_come_back_best_first() -> None:
    client = Client(reply=Reply({"results": [{"index": 0, "relevance_score": -2.5}, {"index": 1,
                                                                                     "relevance_score": 4.0}]}))
    answer = ranked(client, ["who?", "a stone", "", "a person"])  # type: ignore[arg-type]
    assert answer.text.splitlines() == ["4.000  a person", "−2.500  a stone"]
    assert client.asked == [("/v1/rerank", {"query": "who?", "documents": ["a stone", "a person"]})]


@pytest.mark.parametrize(("reply", "says"), [
    (Reply({"error": {"message": "too long"}}, ok=False), "too long"),
    (Reply(None, ok=False, message="timed out"), "timed out"),
    (Reply({"data": []}), "data"),
])
def test_what_went_wrong_is_said(reply: Reply, says: str) -> None:
    with pytest.raises(AppError) as caught:
        embedded(Client(reply=reply), "x")  # type: ignore[arg-type]
    assert says in str(caught.value.why)


def test_a_question_alone_ranks_nothing() -> None:
    with pytest.raises(AppError, match="nothing to rank") as caught:
        ranked(Client(), ["who?", "  "])  # type: ignore[arg-type]
    assert "line of its own" in str(caught.value.hint)


def test_only_pictures_that_are_small_enough_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(AppError, match="not a picture"):
        image_part(tmp_path / "a.txt")
    with pytest.raises(AppError, match="cannot be read"):
        image_part(tmp_path / "none.png")
    (tmp_path / "big.png").write_bytes(PNG)
    monkeypatch.setattr(trying, "IMAGE_LIMIT", 8)
    with pytest.raises(AppError, match="larger than"):
        image_part(tmp_path / "big.png")
