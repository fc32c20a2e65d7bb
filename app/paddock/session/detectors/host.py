"""The host under the server: other programs on its cores, memory that comes from the disk."""

from __future__ import annotations

import math

from paddock.session.detectors.model import Finding, View
from paddock.text import Text
from paddock.units import MIB, bytes_text, number_text

_SPAN_S = 15.0
_STEAL_PCT = 5.0
_QUEUE = 1.5
"""Runnable threads per core."""
_FULL_PCT, _OTHERS_PCT = 90.0, 25.0
_READ_BYTES_PER_S, _FAULTS_PER_S = 8 * MIB, 50.0
_SETTLE_S = 10.0
"""So long after it is ready a mapped model still comes in from the disk; that is its load, not a symptom."""
_SWAPPED_BYTES, _SWAP_GROWTH_BYTES, _SWAP_SPAN_S = 64 * MIB, 256 * MIB, 60.0


def threads_fighting(view: View) -> Finding | None:
    """The server's threads share their cores with others: time stolen by a hypervisor, a long run queue, other load."""
    if not view.working(_SPAN_S):
        return None
    proof = _stolen(view) or _queued(view) or _crowded(view)
    if proof is None:
        return None
    cores = view.plan.physical_cores
    fewer = cores is not None and view.plan.threads is not None and view.plan.threads > cores
    if fewer:
        remedy = Text("The plan asks for {threads} threads on {cores} cores: -t {cores} is often faster.",
                      threads=view.plan.threads, cores=cores)
    elif view.plan.threads == 1:
        remedy = Text("End the other work on this computer: the server asks for one core and does not have it.")
    else:
        remedy = Text("End the other work, or give the server fewer threads (-t) so that each has a core of its own.")
    return Finding("threads", Text("You are degraded: the server's threads wait for processor cores."), proof, remedy,
                   edits=(("threads", (str(cores),)),) if fewer else ())


def _stolen(view: View) -> Text | None:
    stolen = view.mean("steal_pct", _SPAN_S)
    if math.isnan(stolen) or stolen < _STEAL_PCT:
        return None
    return Text("{percent} % of the processor's time goes to other virtual machines (steal).",
                percent=number_text(stolen, 0))


def _queued(view: View) -> Text | None:
    waiting, cores = view.mean("run_queue", _SPAN_S), view.plan.logical_cores
    if math.isnan(waiting) or not cores or waiting < _QUEUE * cores:
        return None
    return Text("{threads} threads want to run at once on {cores} cores.", threads=number_text(waiting, 0), cores=cores)


def _crowded(view: View) -> Text | None:
    """The processor is full, and a good part of it with other programs."""
    load, own, cores = view.mean("cpu_pct", _SPAN_S), view.mean("process_cpu_pct", _SPAN_S), view.plan.logical_cores
    if math.isnan(load) or math.isnan(own) or not cores or load < _FULL_PCT:
        return None
    others = load - own / cores
    if others < _OTHERS_PCT or own < 50:
        return None
    return Text("The processor is {load} % busy, and {others} % of it is other programs.", load=number_text(load, 0),
                others=number_text(others, 0))


def paging(view: View) -> Finding | None:
    """The model, or memory that was swapped out, is read from the disk while requests run."""
    if not view.working(_SPAN_S) or view.now - view.ready_t < _SETTLE_S + _SPAN_S:
        return None
    read = view.mean("process_read_bytes_per_s", _SPAN_S)
    faults = view.mean("process_faults_per_s", _SPAN_S)
    swapped = view.last("process_swap_bytes", _SPAN_S)
    swap = view.last("swap_used_bytes", _SWAP_SPAN_S)
    grown = float(swap[-1] - swap[0]) if len(swap) else 0.0
    # A few megabytes that swap took long ago hurt nobody while nothing is read back.
    if faults >= _FAULTS_PER_S and len(swapped) and float(swapped[-1]) >= _SWAPPED_BYTES:
        return _swapping(Text("{size} of the server's memory are in swap, and {faults} times a second a page is read "
                              "back.", size=bytes_text(float(swapped[-1])), faults=number_text(faults, 0)))
    if read >= _READ_BYTES_PER_S:
        return Finding("paging", Text("You are degraded: the model is read from the disk while it runs."),
                       Text("The server reads {rate} a second from the disk; {free} of RAM are available.",
                            rate=bytes_text(read), free=_available(view)),
                       Text("The weights do not stay in RAM: free memory, use a smaller model or quantisation, or put "
                            "more of it on a card. With enough RAM, --load-mode mlock keeps it there."))
    if grown >= _SWAP_GROWTH_BYTES:
        return _swapping(Text("Swap grew by {size} within a minute; {free} of RAM are available.",
                              size=bytes_text(grown), free=_available(view)))
    return None


def _swapping(proof: Text) -> Finding:
    return Finding("swap", Text("You are degraded: the computer swaps."), proof,
                   Text("Close other programs, or ask for less: a smaller context, fewer slots, --cache-ram lower."))


def _available(view: View) -> str:
    known = view.last("ram_available_bytes", _SPAN_S)
    return bytes_text(float(known[-1]) if len(known) else None)
