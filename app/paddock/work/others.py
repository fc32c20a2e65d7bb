"""Other people's memory: who holds what on which device, and what closing one of them would buy for a plan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddock.fit import Budget, Estimate, Verdict
from paddock.fit.closing import MOST, Closing, Holder, closings, untold_text
from paddock.fit.judging import ORDER
from paddock.gguf.model import ModelFile
from paddock.hardware import Machine
from paddock.hardware.ram_holders import ram_holders
from paddock.launch import Plan
from paddock.text import Text
from paddock.work.previewing import case_of

if TYPE_CHECKING:
    from paddock.work.workspace import Workspace


@dataclass(frozen=True)
class Others:
    """`holders`: the largest first. `untold`: devices whose driver names nobody, with the bytes held there."""

    holders: tuple[Holder, ...] = ()
    closings: tuple[Closing, ...] = ()
    untold: tuple[tuple[str, int], ...] = ()

    @property
    def untold_text(self) -> Text | None:
        return untold_text(self.untold)

    @property
    def best(self) -> Closing | None:
        """The one that helps most, the fewest and smallest first; None where none helps."""
        helping = [c for c in self.closings if c.helps]
        return min(helping, key=lambda c: (-ORDER.index(c.after), len(c.holders), sum(h.bytes for h in c.holders)),
                   default=None)

    def lines(self) -> list[Text]:
        """What there is to say, for people."""
        judged = {c.holders[0].name for c in self.closings if len(c.holders) == 1}
        fits = all(c.before is Verdict.FITS for c in self.closings)
        out = [] if fits else [c.text for c in self.closings]
        out += [Text("{name} holds {held}.", name=h.name, held=h.words) for h in self.holders[:MOST]
                if fits or h.name not in judged]
        more = len(self.holders) - MOST
        if more > 0:
            out.append(Text("{count} other program holds device memory.",
                            plural="{count} other programs hold device memory.", count=more))
        return out if self.untold_text is None else [*out, self.untold_text]

    def as_list(self) -> list[dict[str, Any]]:
        """For JSON: each program with its bytes by device, and the verdict if it were closed (None: not judged)."""
        judged = {c.holders[0].name: c for c in self.closings if len(c.holders) == 1}
        return [{"name": h.name, "pids": list(h.pids), "held": dict(h.held),
                 "verdict": judged[h.name].after.value if h.name in judged else None,
                 "reason": str(judged[h.name].reason) if h.name in judged else None} for h in self.holders]


def holders_of(machine: Machine) -> tuple[Holder, ...]:
    """The programs that the drivers name, processes of one name together, the largest first."""
    sizes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    pids: dict[str, set[int]] = defaultdict(set)
    for device in machine.devices:
        for process in device.processes or ():
            if process.used_bytes:
                name = process.name or str(Text("process {pid}", pid=process.pid))
                sizes[name][device.name] += process.used_bytes
                pids[name].add(process.pid)
    found = [Holder(name, tuple(sorted(held.items(), key=lambda item: -item[1])), tuple(sorted(pids[name])))
             for name, held in sizes.items()]
    return tuple(sorted(found, key=lambda h: -h.bytes))


def untold_of(machine: Machine) -> tuple[tuple[str, int], ...]:
    """Devices where memory is held and the driver tells nobody's share of it: (name, bytes)."""
    return tuple((d.name, d.total_bytes - d.free_bytes) for d in machine.devices
                 if d.total_bytes is not None and d.free_bytes is not None and d.total_bytes > d.free_bytes
                 and not any(p.used_bytes for p in d.processes or ())
                 and (d.processes is None or d.processes))


def others_of(machine: Machine, model: ModelFile, plan: Plan, budgets: Sequence[Budget], before: Estimate,
              given: dict[str, Any]) -> Others:
    """Who holds memory of this machine (of its RAM where that is short), and what closing each would buy.

    Some estimates, and a look at all processes: off the GUI thread.
    """
    holders = holders_of(machine)
    host = before.device("Host")
    if host is not None and host.verdict in (Verdict.TIGHT, Verdict.WONT_FIT):
        holders = (*holders, *(Holder(name, (("Host", size),), pids) for name, pids, size in ram_holders()))
    return Others(holders, closings(model, plan, budgets, before, holders, **given), untold_of(machine))


def others_for(workspace: Workspace, plan: Plan, before: Estimate) -> Others:
    """The same for a plan and its estimate, as memory was when that was made. AppError: the model cannot be read."""
    case = case_of(workspace, plan, again=False)
    return others_of(case.machine, case.model, case.plan, case.budgets, before, case.given)
