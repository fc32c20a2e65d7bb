"""Addresses of servers to watch, as people write them."""

from __future__ import annotations

import pytest

from paddock.errors import AppError
from paddock.work.watching import normal_url


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    for text in ("http://ada:s3cret@127.0.0.1:8080", "ada:s3cret@host:80", "https://s3cret@host/v1"):
        with pytest.raises(AppError) as caught:
            normal_url(text)
        assert "s3cret" not in f"{caught.value} {caught.value.why} {caught.value.hint}"
    assert normal_url("http://host:80/a@b/") == "http://host:80/a@b"
