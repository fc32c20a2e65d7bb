"""From bytes to lines: nothing that a program prints can stop it or get lost."""

from __future__ import annotations

import json
import random

import pytest

from paddock.server.lines import LINE_LIMIT, LineSplitter, clean, from_jsonl, level_of


def split(*reads: bytes) -> list[str]:
    splitter = LineSplitter()
    lines = [line for data in reads for line in splitter.feed(data)]
    return lines + splitter.feed(b"", final=True)


def test_lines_are_whole_over_reads_and_the_unfinished_last_one_is_kept() -> None:
    assert split(b"on", b"e\ntw", b"o\n\nthree") == ["one", "two", "", "three"]


def test_a_character_split_between_reads_is_put_together() -> None:
    assert split(b"caf\xc3", b"\xa9\n") == ["café"]


@pytest.mark.parametrize("data", [b"\x9d\xff\n", b"\xc3\n", b"\xed\xa0\x80\n", b"\xf0\x9f\x99"])
def test_broken_utf8_becomes_replacement_characters(data: bytes) -> None:
    (line,) = split(data)
    assert set(line) == {"\ufffd"}


@pytest.mark.parametrize(("reads", "lines"), [
    ((b"a\r\nb\r\n",), ["a", "b"]),
    ((b"a\r", b"\nb\n"), ["a", "b"]),
    ((b"10%\r20%\rdone\n",), ["10%", "20%", "done"]),
    ((b"10%\r", b"20%\n"), ["10%", "20%"]),
    ((b"a\r",), ["a"]),
])
def test_carriage_returns_end_lines_wherever_the_read_ends(reads: tuple[bytes, ...], lines: list[str]) -> None:
    assert [line for line in split(*reads) if line] == lines


def test_colours_nul_and_control_characters_go_but_tabs_stay() -> None:
    assert clean("\x1b[34m0.00\x1b[0m \x1b[1;32mI\x1b[0m a\x00b\tc\x07\x1b]0;title\x07d\x1b") == "0.00 I ab\tcd"


def test_unicode_line_ends_do_not_split() -> None:
    assert split("a\u2028b\x85c\x0bd\n".encode()) == ["a\u2028b\x85cd"]


def test_an_endless_line_is_cut_and_nothing_of_it_lost() -> None:
    count = 3 * LINE_LIMIT + 17
    lines = split(*[b"x" * 1000] * (count // 1000), b"x" * (count % 1000), b"\nend\n")
    assert lines[-1] == "end"
    assert all(len(line) <= LINE_LIMIT for line in lines)
    assert sum(map(len, lines[:-1])) == count


def test_an_endless_line_is_not_kept_in_memory() -> None:
    splitter = LineSplitter()
    for _ in range(100):
        splitter.feed(b"y" * LINE_LIMIT)
    assert splitter._held <= 2 * LINE_LIMIT


def test_how_bytes_are_cut_into_reads_changes_nothing() -> None:
    rng = random.Random(7)
    data = "eins\nzwei ü\r\nd\x1b[31mrei\rvier €\n\n{\"type\":1}\nsechs".encode()
    whole = split(data)
    for _ in range(300):
        cuts = sorted(rng.sample(range(len(data)), 6))
        parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert split(*parts) == whole


@pytest.mark.parametrize(("text", "level"), [
    ("0.01.020.440 I srv  llama_server: listening", "I"), ("12.59.999.001 E load: no", "E"), ("W load", "W"),
    ("Information", None), ("", None), ("0.01.020.440 X what", None)])
def test_levels_are_read_from_the_prefix(text: str, level: str | None) -> None:
    assert level_of(text) == level


def test_json_records_become_plain_lines() -> None:
    record = json.dumps({"type": "log", "time": 61_020_440, "level": "error", "msg": "load: 'a\\b' failed\nmore\n"})
    assert split(record.encode() + b"\n") == ["1.01.020.440 E load: 'a\\b' failed", "more"]


def test_other_json_records_stay_as_they_are() -> None:
    text = '{"type":"fit_memory_breakdown","data":{"unit":"MiB","rows":[]}}'
    assert from_jsonl(text) == [text]


@pytest.mark.parametrize("text", ['{"type":"log"', '{"type":"log"}', '{"type":"log","msg":1,"level":[],"time":"x"}',
                                  '{"type":[]}', '{"type":"log","msg":"a","level":"info","time":null}'])
def test_broken_json_records_stay_as_they_are(text: str) -> None:
    assert from_jsonl(text) == [text]
