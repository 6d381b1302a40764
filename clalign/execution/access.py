"""Where an executor gets its units, and where their results go."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from clalign.compute.sessions import Session
from clalign.execution.units import Finished, Storing, Unit
from clalign.runs.tables import SqlRow


class Access(ABC):
    """Base of what an executor takes its units from and hands their results to.

    In a process that does not write the run, unfinished units are not kept, and ends of queries do not come.
    """

    @abstractmethod
    def take(self) -> Unit | None:
        """Return the next unit; None if there is none now."""

    @abstractmethod
    def wait(self) -> bool:
        """Wait for units; return False if none will come."""

    @abstractmethod
    def give_back(self, units: Sequence[Unit]) -> None:
        """Take back units that the executor has not computed."""

    @abstractmethod
    def measure(self, cells: float, seconds: float) -> None:
        """Use a measured time for the size of later units."""

    @abstractmethod
    def shrink(self, unit: Unit) -> bool:
        """Make later units smaller than this one, for which memory was short; return False if that cannot be."""

    @abstractmethod
    def store(self, found: Sequence[Finished]) -> None:
        """Store the results of units."""

    @abstractmethod
    def warn(self, text: str, is_kept: bool) -> None:
        """Warn the user; a warning that matters later on is kept with the run."""

    def compute_end(self, unit: Unit, session: Session) -> Storing:
        """Compute the end of a query; return a callable that stores it."""
        raise NotImplementedError

    def store_end(self, unit: Unit, storing: Storing) -> None:
        """Have the end of a query stored."""
        raise NotImplementedError

    def lend(self, n: int) -> None:  # noqa: B027
        """Count more, or fewer, tasks that the processor computes for this executor."""

    def progress(self, unit: Unit, cells: float, seconds: float) -> None:  # noqa: B027
        """Report how many cells of a unit are computed, and the time that they took (s)."""

    def keep(self, unit: Unit, cells: float, table: str, rows: Sequence[SqlRow]) -> None:  # noqa: B027
        """Keep what is needed to continue a unit after this number of its cells."""

    def kept(self, unit: Unit, table: str) -> list[SqlRow]:
        """Return the rows that an earlier job kept of a unit."""
        return []
