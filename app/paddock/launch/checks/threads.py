"""Threads and the CPUs that they may use."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.launch.catalogue import CATALOGUE
from paddock.launch.checks.question import Question, hint, warning
from paddock.launch.model import Issue
from paddock.text import Text

_MOST_CPUS = 512
_PLACES = (("threads", "cpu-mask", "cpu-range"), ("threads-batch", "cpu-mask-batch", "cpu-range-batch"),
           ("spec-draft-threads", "spec-draft-cpu-mask", "spec-draft-cpu-range"),
           ("spec-draft-threads-batch", "spec-draft-cpu-mask-batch", None))
"""(thread count, mask, range); the draft's prompts have no range."""


def threads(q: Question) -> Iterator[Issue]:
    """More threads than cores take turns and wait for one another."""
    if q.machine is None:
        return
    logical, physical = q.machine.logical_cores, q.machine.physical_cores
    for option in ("threads", "threads-batch", "spec-draft-threads", "spec-draft-threads-batch"):
        count = q.number(option)
        if count is None or count < 1:
            continue
        flag = CATALOGUE[option].names[0]
        best = physical or logical
        if count > logical:
            yield warning("threads-above-cores", option,
                          Text("{flag} {count} is more than the {cores} cores of this machine: they take turns.",
                               flag=flag, count=count, cores=logical),
                          Text("Use {best}.", best=best), ((option, (str(best),)),))
        elif physical is not None and count > physical and option == "threads":
            yield hint("threads-above-physical", option,
                       Text("{flag} {count} is more than the {cores} physical cores; generation rarely gains by it.",
                            flag=flag, count=count, cores=physical),
                       Text("Use {best}.", best=physical), ((option, (str(physical),)),))


def mask_cpus(mask: str) -> frozenset[int] | None:
    """CPUs of a hexadecimal mask, the lowest bit first; None where it is none."""
    try:
        bits = int(mask.removeprefix("0x").removeprefix("0X"), 16)
    except ValueError:
        return None
    return frozenset(n for n in range(bits.bit_length()) if bits >> n & 1)


def range_cpus(text: str, logical: int) -> frozenset[int] | None:
    """CPUs of "2-5", "-5" or "2-"; None where it is none."""
    low, dash, high = text.partition("-")
    try:
        first, last = int(low) if low else 0, int(high) if high else logical - 1
    except ValueError:
        return None
    return frozenset(range(first, last + 1)) if dash and first <= last < _MOST_CPUS * 2 else None


def places(q: Question) -> Iterator[Issue]:
    """Masks and ranges against the machine and against the threads (llama.cpp only logs a warning)."""
    logical = q.machine.logical_cores if q.machine is not None else None
    for option, mask, span in _PLACES:
        spans = range_cpus(q.text(span) or "", logical or _MOST_CPUS) if span else None
        found = [(name, cpus) for name, cpus in ((mask, mask_cpus(q.text(mask) or "")), (span, spans)) if name and cpus]
        if not found:
            continue
        name, flag = found[0][0], CATALOGUE[found[0][0]].names[0]
        cpus = frozenset().union(*(part for _, part in found))
        outside = sorted(n for n in cpus if n >= (logical or _MOST_CPUS))
        count = q.number(option)
        if outside:
            yield warning("no-such-cpu", name, Text("{flag} names CPU {number}, and there are {count}, counted from 0.",
                                                    flag=flag, number=outside[0], count=logical or _MOST_CPUS),
                          Text("Name CPUs that exist."))
        elif count is not None and count > len(cpus):
            yield warning("threads-above-mask", name,
                          Text("{threads} threads share the {cpus} CPUs of {flag}: they take turns.", threads=count,
                               cpus=len(cpus), flag=flag),
                          Text("Use as many threads as CPUs."), ((option, (str(len(cpus)),)),))


def priority(q: Question) -> Iterator[Issue]:
    """A higher priority is for the administrator to give on most systems (common.cpp: a warning in the log)."""
    for option in ("prio", "prio-batch", "spec-draft-prio", "spec-draft-prio-batch"):
        level = q.number(option)
        if level is not None and level > 0 and q.machine is not None and q.machine.system == "Linux":
            yield hint("priority-needs-rights", option,
                       Text("{flag} {level} needs rights that a program usually lacks: without them it is left as it "
                            "is.", flag=CATALOGUE[option].names[0], level=level),
                       Text("Take it out, or give the engine the right (CAP_SYS_NICE)."), ((option, None),))
