"""How an executor gets at planner and writer: the planner is called directly, the writer in the thread of the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from clalign.compute.sessions import Session
from clalign.execution.units import Cutter, Finished, Plan, Storing, Unit
from clalign.execution.writer import Writer
from clalign.runs.columns import SqlRow
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device

Post = Callable[[Callable[[], object]], object]
"""Has a function called in the thread of the writer, in the order of the calls."""


class RunAccess:
    """The `Access` of an executor in the process that writes the run, with what it does besides.

    Parameters
    ----------
    writer : Writer
    run : RunFile
        Read in the thread of the executor.
    device : Device
    post : callable

    Attributes
    ----------
    has_stored : bool
        Whether there are results of the executor.
    """

    def __init__(self, writer: Writer, run: RunFile, device: Device, post: Post) -> None:
        self.plan: Plan = writer.planner.plan
        self.cutter: Cutter = self.plan.cutter_for(device)
        self._writer, self._planner, self._post = writer, writer.planner, post
        self._run, self._device = run, device
        self.has_stored = False

    @property
    def has_units(self) -> bool:
        """Whether the executor computes units."""
        return self._planner.has_units(self.cutter)

    def take(self, prepares: bool = True) -> Unit | None:
        """Return the next unit, by default with its query prepared; None if there is none now."""
        return self._planner.take(self._run, self.cutter, prepares)

    def wait(self) -> bool:
        """Wait for units; return False if none will come."""
        return self._planner.wait()

    def give_back(self, units: Sequence[Unit]) -> None:
        """Give back units that were not computed."""
        self._planner.give_back(units, self.cutter)
        self._post(partial(self._writer.forget, units))

    def measure(self, cells: float, seconds: float) -> None:
        """Use a measured time for the size of later units."""
        self.cutter.measure(cells, seconds)

    def shrink(self, unit: Unit) -> bool:
        """Make later units smaller than this one; return False if that cannot be."""
        return self.cutter.shrink(unit.first, unit.last)

    def store(self, found: Sequence[Finished]) -> None:
        """Store the results of units."""
        self.has_stored = True
        self._planner.delivered([(one.unit, one.result.cells) for one in found], self.cutter)
        self._post(partial(self._writer.store, found, self._device))

    def warn(self, text: str, is_kept: bool) -> None:
        """Warn the user; keep the warning with the run if it matters later on."""
        self._post(partial(self._writer.warn, text, is_kept))

    def lend(self, n: int) -> None:
        """Count more, or fewer, tasks that the processor computes for this executor."""
        self._planner.lend(n, self.cutter)

    def concluded(self, unit: Unit, session: Session) -> Storing:
        """Compute the end of a query; return what stores it."""
        return self.plan.concluded(self._run, unit.query.number, unit.query.search, session)

    def conclude(self, unit: Unit, storing: Storing) -> None:
        """Store the end of a query."""
        self._planner.delivered([(unit, 0.0)], self.cutter)
        self._post(partial(self._writer.conclude, unit, storing))

    def progress(self, unit: Unit, cells: float, seconds: float) -> None:
        """Report how many cells of a unit are computed, and the time that they took (s)."""
        self._post(partial(self._writer.progress, unit, cells, seconds))

    def keep(self, unit: Unit, cells: float, table: str, rows: Sequence[SqlRow]) -> None:
        """Keep what is needed to continue a unit after this number of its cells."""
        self._post(partial(self._writer.keep, unit, cells, table, rows))

    def kept(self, unit: Unit, table: str) -> list[SqlRow]:
        """Return what an earlier worker kept of a unit."""
        return self._run.unfinished.kept(table, unit.query.number, unit.first)
