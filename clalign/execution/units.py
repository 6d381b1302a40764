"""Units of work, each some rows of the targets with one query, and what an engine provides to compute them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.sessions import Session, Steps
from clalign.runs.batches import BIN, BatchResult, Kept
from clalign.runs.run_file import RunFile
from clalign.runs.tables import SqlRow
from clalign.values.devices import Device
from clalign.values.documents import TargetFacts
from clalign.values.hits import Hit, Scores

PLENTY = 512
"""Queries of a run for each device, finished ones included, from which on several devices take many units together."""

ALL = -1
"""Number that stands for all queries where the rows are pairs, each with a query of its own."""


class Rows(Protocol):
    """Rows of the targets, as a search takes them."""

    def __len__(self) -> int: ...

    def n_cells(self, model_length: int) -> int:
        """Return the number of cells with a query of this length."""


Batch_contra = TypeVar("Batch_contra", bound=Rows, contravariant=True)
Details = TypeVar("Details")
Details_co = TypeVar("Details_co", covariant=True)


class Scored(Struct, Generic[Details_co], frozen=True):
    """The scores of a batch, and what is needed to trace its hits.

    Attributes
    ----------
    found : Scores or callable
        Of every sequence; `IMPOSSIBLE` for those that are not searched. Or what returns them, if that takes the host
        long: it is called beside other threads, may be called again, and raises what keeps the unit from being stored.
    details : object
        What the search itself needs later.
    bin_width : int
        Of the histogram, in the unit of the scores.
    suits_cpu : bool
        Whether a processor computes some of what finds the hits faster than a graphics card.
    hits_of : sequence of (int, Hit)
        Hits that are known already, with the numbers of their queries.
    kept : callable
        Returns what the engine's own tables keep of the batch, see `BatchResult`; called beside other threads.
    candidate_cells : float or None
        Cells of what may be a hit, where the plan traces that of many units at a time; None where a unit's is traced
        alone.
    """

    found: Scores | Callable[[], Scores]
    details: Details_co
    bin_width: int = BIN
    suits_cpu: bool = False
    hits_of: Sequence[tuple[int, Hit]] = ()
    kept: Callable[[], Kept] = dict
    candidate_cells: float | None = None

    @property
    def scores(self) -> Scores:
        """The scores of every sequence."""
        return self.found() if callable(self.found) else self.found


class Search(Protocol[Batch_contra, Details]):
    """One query against the targets; several threads may use it at a time."""

    @property
    def length(self) -> int:
        """Cells for each residue of the targets: number of nodes of a profile."""

    def start_scoring(self, session: Session, batch: Batch_contra) -> Callable[[], Scored[Details]]:
        """Start scoring a batch; return a callable that blocks until the result is there."""

    def start_hits(self, session: Session, scored: Scored[Details]) -> Callable[[], Collection[Hit]]:
        """Start tracing candidates; return a callable that blocks until the hits are there, in the order of rows."""

    def described(self, raw: int, row: int) -> TargetFacts:
        """Return name, score and E-value of a target, which need not be a hit, from its integer score."""


AnySearch = Search[Any, Any]
"""A search of any engine: which batches it takes, and what it needs later, is between it and its plan."""


class Cutter(Protocol):
    """Cuts rows into units of a size that suits a device."""

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a unit ends that begins at row `first`: at row `last` or before.

        `share` is relative to the size that suits the device.
        """

    def batch(self, first: int, last: int) -> Rows:
        """Return the rows of a unit."""

    def measure(self, cells: float, seconds: float) -> None:
        """Use the time that a unit took for the size of later ones."""

    def shrink(self, first: int, last: int) -> bool:
        """Cut smaller units than these rows, for which memory was short; return False if that cannot be."""


class Choosing(ABC):
    """Base of cutters for devices that have some rows at hand, and others not."""

    @abstractmethod
    def has_all(self) -> bool:
        """Return whether there is nothing to choose."""

    @abstractmethod
    def choose(self, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return the rows that suit the device best, within one of some ranges."""

    @abstractmethod
    def has_some_of(self, query: Query) -> bool:
        """Return whether the device has some of the rows at hand that no executor has of a query."""


class Phase(Struct, frozen=True):
    """The progress of a query that depends on the results of the queries before it.

    Attributes
    ----------
    stage : str
        Name of the stage in events.
    n_cells : float
        Cells of all its rows.
    facts : mapping
        Further facts of the events.
    is_likely : bool
        Whether it is to be expected that the query is needed.
    """

    stage: str
    n_cells: float
    facts: Mapping[str, object] = field(default_factory=dict)
    is_likely: bool = True


Storing = Callable[[RunFile], None]
"""Stores in a run what was computed at the end of a query."""


class UnitProgress(Protocol):
    """Where a long unit reports its progress, and keeps what is needed to continue it."""

    def begin(self, seconds: float) -> None:
        """Begin to measure the time; earlier jobs have spent this time already (s)."""

    @property
    def seconds(self) -> float:
        """Time that the device has spent, earlier jobs included (s)."""

    def report(self, cells: float) -> None:
        """Report the number of computed cells."""

    def warn(self, text: str) -> None:
        """Warn the user, and keep the warning with the run."""

    def keep(self, table: str, rows: Sequence[SqlRow]) -> None:
        """Keep what is needed to continue, in place of what is kept, in a table of unfinished units."""

    def kept(self, table: str) -> list[SqlRow]:
        """Return the rows that an earlier job kept."""


def trace_alone(
    session: Session, units: Sequence[tuple[AnySearch, Scored[object]]]
) -> Steps[Sequence[Collection[Hit]]]:
    """Trace the candidates of one unit after the other, which may take long."""
    waits = [search.start_hits(session, scored) for search, scored in units]
    yield lambda: False
    return [wait() for wait in waits]


def compute_no_end(run: RunFile, number: int, search: AnySearch, session: Session) -> Storing:
    """Return a callable that stores nothing."""
    return lambda run: None


class Plan(Struct, frozen=True):
    """What is to be computed: each query with all rows.

    Callables that get a run only read it, in any thread.

    Attributes
    ----------
    queries : sequence of int
        Numbers of the queries, in the order in which they are searched.
    n_rows : int
        Row at which the targets end.
    n_cells : float
        Cells of all queries with all rows.
    search_of : callable
        Returns the search of a query by its number.
    cutter_for : callable
        Returns the cutter for a device.
    compute_end : callable
        Computes the end of a query, when all its rows are stored; returns a callable that stores it.
    may_suit_cpu : bool
        Whether there may be something that suits a processor beside a graphics card.
    phases : mapping of int to Phase, optional
        Of each query, where one begins when those before it are concluded. What is left at the end of one is done by a
        processor then.
    is_needed : callable
        Returns whether a query, given by its number, is to be computed at all; called when those before it are done.
    is_known : callable
        Returns whether a query has a card, without which it cannot be begun; it may come with the end of another one.
    first_row : int
        Row at which the targets begin: rows before it belong to another run.
    start : callable, optional
        Starts scoring a batch with a search, in place of its `start_scoring`; for long units, which report to
        `UnitProgress`.
    start_many : callable, optional
        Starts scoring a batch with several searches, where a device is not busy with one; returns a callable that
        blocks until the scores of all are there.
    trace : callable
        Traces the candidates of several units, given by searches and scores; ends with the hits of each.
    groups : sequence of int
        Places among the queries where groups begin that share what a device prepares, such as tables of models.
    card_cells : callable
        Returns how many cells of candidates a device is to be given at once, if that is more than usual.
    described : callable, optional
        Describes a target as the search of a query does, given the number of the query, the raw score and the row, but
        without that search, which takes longer to prepare.
    """

    queries: Sequence[int]
    n_rows: int
    n_cells: float
    search_of: Callable[[RunFile, int], AnySearch]
    cutter_for: Callable[[Device], Cutter]
    compute_end: Callable[[RunFile, int, Any, Session], Storing] = compute_no_end
    may_suit_cpu: bool = False
    phases: Mapping[int, Phase] | None = None
    is_needed: Callable[[RunFile, int], bool] = lambda run, number: True
    is_known: Callable[[RunFile, int], bool] = lambda run, number: True
    first_row: int = 0
    start: Callable[[Any, Session, Any, UnitProgress], Callable[[], Scored[object]]] | None = None
    start_many: Callable[[Sequence[Any], Session, Any], Callable[[], Sequence[Scored[object]]]] | None = None
    trace: Callable[[Session, Sequence[tuple[Any, Scored[Any]]]], Steps[Sequence[Collection[Hit]]]] = trace_alone
    groups: Sequence[int] = (0,)
    card_cells: Callable[[Device], float] = lambda device: 0.0
    described: Callable[[int, int, int], TargetFacts] | None = None

    @property
    def has_ends(self) -> bool:
        """Whether something is computed when all rows of a query are stored."""
        return self.compute_end is not compute_no_end or self.phases is not None

    def among(self, n_devices: int) -> Plan:
        """Return the plan for one of several devices.

        Units are started one by one unless there are plenty: other devices cannot help with units started together.
        """
        if n_devices == 1 or len(self.queries) >= PLENTY * n_devices:
            return self
        return replace(self, start_many=None)


@dataclass(eq=False, slots=True)
class Query:
    """A query that is being computed.

    Attributes
    ----------
    number : int
    ranges : list of (int, int)
        Rows that no executor has; set by the planner.
    owner : Cutter or None
        Cutter of the executor that computes its units.
    n_left : int
        Rows that are not stored; set by the writer, as the following.
    n_hits : int
    best : (int, int) or None
        Highest score so far and its row; None if scores of an earlier job have to be searched.
    search : Search
        Made before the first unit of the query is handed out.
    lacks_search : bool
        Whether it is to be made, or made again because rows came back whose scores it may have used.
    n_back : int
        Number of times that rows came back.
    making : Lock
        Held while the search is made.
    """

    number: int
    ranges: list[tuple[int, int]]
    owner: Cutter | None
    n_left: int
    n_hits: int
    best: tuple[int, int] | None
    search: AnySearch = field(init=False)
    lacks_search: bool = True
    n_back: int = 0
    making: Lock = field(default_factory=Lock)

    @classmethod
    def prepared(cls, number: int, search: AnySearch, n_back: int = 0) -> Query:
        """Return a query for an executor in another process, which gets its rows from the planner of this one."""
        query = cls(number, [], None, 0, 0, None, n_back=n_back)
        query.search, query.lacks_search = search, False
        return query


class Unit(Struct, frozen=True):
    """A unit of work: rows `first` to `last` with a query, or no rows for what is left at the end of the query."""

    query: Query
    first: int = 0
    last: int = 0

    @property
    def is_end(self) -> bool:
        """Whether all rows are stored, and the end of the query is to be computed."""
        return self.first == self.last

    @property
    def key(self) -> tuple[int, int, int]:
        """Number of the query, first and last row: what identifies a unit in another process."""
        return self.query.number, self.first, self.last


class Finished(Struct, frozen=True):
    """The result of a unit; `hits_of` are hits of other queries, with their numbers."""

    unit: Unit
    result: BatchResult
    hits_of: Sequence[tuple[int, Hit]] = ()

    @property
    def number(self) -> int:
        """Number of the query that results are reported of: where rows are pairs, that of the last hit."""
        return self.hits_of[-1][0] if self.hits_of else self.unit.query.number

    def packed_result(self) -> BatchResult:
        """Return the result without the arrays of scores, for another process: the packed scores say the same."""
        return replace(self.result, scores=Scores(np.empty(0, np.int64), np.empty(0, np.int32)))
