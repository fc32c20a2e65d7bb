"""Which exchange of the recording proxy each request came with.

The log knows tasks and slots, the proxy knows clients and connections; llama-server tells neither the other's number.
They are joined by what both tell: the time, the slot, the tokens and the speeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from paddock.session.model import Request
from paddock.session.proxy import Exchange

SETTLE_S = 0.5
"""A pair that only the time speaks for waits so long: the right partner may be told a moment later."""
FORGET_S = 30.0
_BEFORE_S, _AFTER_S, _AFTER_CANCEL_S = 0.3, 1.5, 15.0
_ENDS = {("done", "done"), ("done", "cancelled"), ("cancelled", "cancelled"), ("failed", "failed"),
         ("cancelled", "failed")}
"""How a request and its exchange can end together: a client may leave at the last token, a server break off."""
_SAME_SPEED = 0.006
"""The log prints two digits after the point."""


class Joiner:
    """Fed both sides as they end, in any order; `settle(now)` from time to time. Not thread-safe.

    `joined(request)` is called once a request's `exchange` is known. A batch of inputs, and several answers to one
    prompt, are several requests of one exchange.
    """

    def __init__(self, joined: Callable[[Request], None]) -> None:
        self._joined = joined
        self._requests: list[Request] = []
        self._exchanges: list[Exchange] = []
        self._taken: list[tuple[Exchange, Request]] = []
        """Exchanges that have their request, for further ones of the same."""

    def exchange(self, exchange: Exchange) -> None:
        """One that is over (`t_start` and `total_s` are set)."""
        self._exchanges.append(exchange)
        self._join_told()

    def request(self, request: Request) -> None:
        """One that is over; told again when more of it is known."""
        self._requests = [*(r for r in self._requests if r.number != request.number), request]
        self._join_told()

    def _join_told(self) -> None:
        """What tokens and slot agree on."""
        self._join(((r, e) for r in self._requests if not r.is_child for e in self._exchanges
                    if _possible(r, e) and _told(r, e)), again=False)

    def settle(self, now: float) -> list[Exchange]:
        """Join what only the time speaks for, once it is `SETTLE_S` old; returns the exchanges that will find nobody:
        they were refused, or left, before a slot took them.
        """
        self._join(((r, e) for r in self._requests if not r.is_child for e in self._exchanges
                    if _possible(r, e) and max(r.t_end or 0.0, _end(e)) < now - _wait_s(r, e)), again=False)
        self._join(((r, e) for r in self._requests if (r.t_end or 0.0) < now - SETTLE_S
                    for e, first in self._taken if _possible(r, e) and _several(r, e, first)), again=True)
        self._requests = [r for r in self._requests if (r.t_end or 0.0) > now - FORGET_S]
        self._taken = [(e, r) for e, r in self._taken if _end(e) > now - FORGET_S]
        lonely = [e for e in self._exchanges if _end(e) + _patience_s(e) < now]
        self._exchanges = [e for e in self._exchanges if e not in lonely]
        return lonely

    def _join(self, pairs: Iterable[tuple[Request, Exchange]], *, again: bool) -> None:
        """The best pairs first, each request once; each exchange once, unless `again`."""
        ranked = sorted(pairs, key=lambda pair: _distance(*pair))
        requests: set[int] = set()
        exchanges: set[int] = set()
        for request, exchange in ranked:
            if request.number in requests or (exchange.id in exchanges and not again):
                continue
            requests.add(request.number)
            exchanges.add(exchange.id)
            request.exchange = exchange.id
            if not again:
                self._taken.append((exchange, request))
            self._joined(request)
        self._requests = [r for r in self._requests if r.number not in requests]
        if not again:
            self._exchanges = [e for e in self._exchanges if e.id not in exchanges]


def _end(exchange: Exchange) -> float:
    return (exchange.t_start or 0.0) + (exchange.total_s or 0.0)


def _patience_s(exchange: Exchange) -> float:
    """A server ends what a client left when its batch is over, and says so then."""
    return _AFTER_CANCEL_S if exchange.outcome == "cancelled" else _AFTER_S


def _wait_s(request: Request, exchange: Exchange) -> float:
    """A pair that did not end alike lets those go first that did."""
    return SETTLE_S if request.status == exchange.outcome else _AFTER_S - SETTLE_S


def _possible(request: Request, exchange: Exchange) -> bool:
    """Nothing that both tell speaks against it."""
    if request.t_end is None or exchange.t_start is None:
        return False
    if request.t_start < exchange.t_start - _BEFORE_S or request.t_end > _end(exchange) + _patience_s(exchange):
        return False
    if (request.status, exchange.outcome) not in _ENDS:
        return False
    if None not in (request.slot, exchange.slot) and exchange.slot >= 0 and request.slot != exchange.slot:  # type: ignore[operator]
        return False
    if request.is_child or exchange.outcome == "cancelled":
        return True
    return all(a is None or b is None or a == b for a, b in _counts(request, exchange))


def _several(request: Request, exchange: Exchange, first: Request) -> bool:
    """A further answer to the same prompt as `first`, or another of many inputs; the latter tell no figures."""
    if request.status != exchange.outcome:
        return False
    if request.is_child:
        asked = exchange.settings.get("n", exchange.settings.get("n_cmpl", 2))
        return asked != 1 and request.prompt_tokens == first.prompt_tokens
    return not exchange.generates or (exchange.outcome == "done" and exchange.evaluated_tokens is None)


def _counts(request: Request, exchange: Exchange) -> tuple[tuple[int | None, int | None], ...]:
    return ((request.generated_tokens, exchange.generated_tokens),
            (request.evaluated_tokens, exchange.evaluated_tokens))


def _told(request: Request, exchange: Exchange) -> bool:
    """Both tell all of their tokens, and tell the same."""
    return (exchange.outcome != "cancelled" and not _speeds_off(request, exchange)
            and all(a is not None and a == b for a, b in _counts(request, exchange)))


def _distance(request: Request, exchange: Exchange) -> tuple[int, int, float]:
    """Those that ended alike go first, then speeds that agree, then the ends that lie closest."""
    return (int(request.status != exchange.outcome), _speeds_off(request, exchange),
            abs((request.t_end or 0.0) - _end(exchange)))


def _speeds_off(request: Request, exchange: Exchange) -> int:
    pairs = ((request.generation_per_s, exchange.generation_per_s), (request.prompt_per_s, exchange.prompt_per_s))
    return sum(1 for a, b in pairs if a and b and not math.isclose(a, b, rel_tol=_SAME_SPEED, abs_tol=0.02))
