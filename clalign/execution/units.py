"""What is computed in one go, some rows of the targets with one query, and what an engine must offer for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import Any, Generic, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from clalign.compute.sessions import Session, Steps
from clalign.runs.batches import BIN, BatchResult, Kept
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device
from clalign.values.hits import Hit, Scores

PLENTY = 512
"""Queries of a run, finished ones included, for each of several devices of which every one may take many at a time."""

ALL = -1
"""Stands for all queries where the rows are pairs, each of which has its own."""


class Rows(Protocol):
    """Rows of the targets, as a search takes them."""

    def __len__(self) -> int: ...

    def n_cells(self, model_length: int) -> int:
        """Return the cells that they make with a query of this length."""


Batch = TypeVar("Batch", bound=Rows)
Batch_contra = TypeVar("Batch_contra", bound=Rows, contravariant=True)
Details = TypeVar("Details")


class Scored(Struct, Generic[Details], frozen=True):
    """What a device found in a batch.

    Attributes
    ----------
    found : Scores or callable
        Of every sequence; `IMPOSSIBLE` for those that are not searched. Or what returns them, if that takes the host
        long: it is called beside other threads, may be called again, and raises what keeps the unit from being stored.
    details : object
        What the search itself wants to know of it later.
    bin_width : int
        Of the histogram, in the unit of the scores.
    suits_host : bool
        Whether a processor finds the hits among them sooner than a graphics card.
    hits_of : sequence of (int, Hit)
        Hits that are known already, with the numbers of their queries.
    kept : callable
        Returns what the engine's own tables keep of the batch, see `BatchResult`; called beside other threads.
    candidate_cells : float or None
        Cells of what may be a hit, where the plan traces that of many units at a time; None where a unit's is traced
        alone.
    """

    found: Scores | Callable[[], Scores]
    details: Details
    bin_width: int = BIN
    suits_host: bool = False
    hits_of: Sequence[tuple[int, Hit]] = ()
    kept: Callable[[], Kept] = dict
    candidate_cells: float | None = None

    @property
    def scores(self) -> Scores:
        """The scores of every sequence."""
        return self.found() if callable(self.found) else self.found


class Search(Protocol[Batch_contra, Details]):
    """One query against the targets. Several threads may use it at a time."""

    @property
    def length(self) -> int:
        """Cells for each residue of the targets: number of nodes of a profile."""

    def start_scoring(self, session: Session, batch: Batch_contra) -> Callable[[], Scored[Details]]:
        """Start scoring a batch; return what waits for the result and returns it."""

    def start_hits(self, session: Session, scored: Scored[Details]) -> Callable[[], tuple[Hit, ...]]:
        """Start looking at what may be a hit; return what waits for the reported ones, in the order of rows."""

    def described(self, raw: int, row: int) -> dict[str, Any]:
        """Return name, score and E-value of a target, known by its integer score, that need not be a hit."""


class Cutter(Protocol[Batch]):
    """Cuts the rows for one device, as many as suit it."""

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a unit ends that begins at row `first`: at row `last` or before.

        It has a share of what suits the device.
        """

    def batch(self, first: int, last: int) -> Batch:
        """Return the rows of a unit."""

    def measure(self, cells: float, seconds: float) -> None:
        """Take note of the time that a unit took."""

    def shrink(self, batch: Batch) -> bool:
        """Cut less than this batch from now on, for which memory was too short; return False if that cannot be."""


@runtime_checkable
class Choosing(Protocol):
    """A cutter for a device that has some of the rows at hand, and others not, or can have all."""

    def has_all(self) -> bool:
        """Whether there is nothing to choose."""

    def choose(self, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return rows that suit it best, within one of some ranges."""

    def has_some_of(self, query: Query[Any]) -> bool:
        """Return whether it has rows at hand of those that nobody has of a query."""


def chooses(cutter: Cutter[Any]) -> TypeGuard[Choosing]:
    """Return whether a cutter is a `Choosing` one; asked for each unit, so it is looked up once for each class."""
    return _chooses(type(cutter))


@cache
def _chooses(kind: type) -> bool:
    return issubclass(kind, Choosing)


class Phase(Struct, frozen=True):
    """What the progress tells of a query that needs what was found with those before it.

    Attributes
    ----------
    stage : str
        What it is called in events.
    n_cells : float
        Of all its rows.
    facts : mapping
        What else the events tell.
    """

    stage: str
    n_cells: float
    facts: Mapping[str, Any] = field(default_factory=dict)


Storing = Callable[[RunFile], None]
"""Stores in a run what was computed."""


class Midway(Protocol):
    """What a unit that takes long says before it is done."""

    def begin(self, seconds: float) -> None:
        """Begin to count the time; an earlier worker has spent some already."""

    @property
    def seconds(self) -> float:
        """Time that the device has spent, that of earlier workers included."""

    def tell(self, cells: float) -> None:
        """Tell how many of its cells are computed."""

    def warn(self, text: str) -> None:
        """Tell something the user must know, and keep it with the run."""

    def keep(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Keep what is needed to go on from here, in place of what is kept, in a table of unfinished batches."""

    def kept(self, table: str) -> list[tuple[Any, ...]]:
        """Return what an earlier worker kept."""


def start_in_silence(
    search: Search[Batch, Details], session: Session, batch: Batch, midway: Midway
) -> Callable[[], Scored[Details]]:
    """Start scoring a batch of which nothing is said before it is done."""
    del midway
    return search.start_scoring(session, batch)


def trace_alone(
    session: Session, units: Sequence[tuple[Search[Any, Any], Scored[Any]]]
) -> Steps[list[tuple[Hit, ...]]]:
    """Look at what may be a hit in one unit after the other; nobody knows how long that takes."""
    waits = [search.start_hits(session, scored) for search, scored in units]
    yield lambda: False
    return [wait() for wait in waits]


def nothing_concluded(run: RunFile, number: int, search: Search[Any, Any], session: Session) -> Storing:
    """Return what stores nothing."""
    return lambda run: None


class Plan(Struct, Generic[Batch], frozen=True):
    """What an engine wants to have computed: each query with all rows.

    What is called with a run reads it only, perhaps in another thread than that of the writer.

    Attributes
    ----------
    queries : sequence of int
        Their numbers, in the order in which they are searched.
    n_rows : int
        Of the targets; what is computed ends there.
    n_cells : float
        Of all queries with all rows.
    search_of : callable
        Returns the search of a query by its number.
    cutter_for : callable
        Returns what cuts for a device.
    concluded : callable
        Computes what is left when all rows of a query are stored; returns what stores it.
    has_host : bool
        Whether there may be something that suits a processor beside a graphics card.
    phases : mapping of int to Phase, optional
        Of each query, where one begins when those before it are concluded. What is left at the end of one is done by a
        processor then.
    is_needed : callable
        Tells of a query by its number, when those before it are concluded, whether it is to be computed at all.
    first_row : int
        Rows before it are another run's.
    start : callable
        Starts scoring a batch with a search, as its `start_scoring` does; of what takes long `Midway` is told.
    start_many : callable, optional
        Starts scoring a batch with several searches, where the device has more to do at once then; returns what waits
        for the scores of all.
    trace : callable
        Looks at what may be a hit in several units, of which it gets searches and scores; ends with the reported hits
        of each.
    groups : sequence of int
        Places among the queries where groups begin for which a device makes much at a time, such as tables of models.
    """

    queries: Sequence[int]
    n_rows: int
    n_cells: float
    search_of: Callable[[RunFile, int], Search[Batch, Any]]
    cutter_for: Callable[[Device], Cutter[Batch]]
    concluded: Callable[[RunFile, int, Any, Session], Storing] = nothing_concluded
    has_host: bool = False
    phases: Mapping[int, Phase] | None = None
    is_needed: Callable[[RunFile, int], bool] = lambda run, number: True
    first_row: int = 0
    start: Callable[[Any, Session, Batch, Midway], Callable[[], Scored[Any]]] = start_in_silence
    start_many: Callable[[Sequence[Any], Session, Batch], Callable[[], Sequence[Scored[Any]]]] | None = None
    trace: Callable[[Session, Sequence[tuple[Any, Scored[Any]]]], Steps[list[tuple[Hit, ...]]]] = trace_alone
    groups: Sequence[int] = (0,)

    def among(self, n_devices: int) -> Plan[Batch]:
        """Return the plan for one of several devices.

        With what one takes for itself others cannot help: units are started one by one unless there are plenty.
        """
        if n_devices == 1 or len(self.queries) >= PLENTY * n_devices:
            return self
        return replace(self, start_many=None)


@dataclass(eq=False, slots=True)
class Query(Generic[Batch]):
    """A query that is being computed.

    Attributes
    ----------
    number : int
    ranges : list of (int, int)
        Rows that are in nobody's hands; the planner's.
    owner : Cutter or None
        Of the executor that goes on with it.
    n_left : int
        Rows that are not stored; the writer's, as the following.
    n_hits : int
    best : (int, int) or None
        The highest score so far and its row; None if scores of an earlier worker have to be looked through.
    search : Search
        Made before the first unit of the query is handed out.
    lacks_search : bool
        Whether it is to be made, or made anew since rows came back of which it may have taken note.
    n_back : int
        How often rows came back.
    making : Lock
        Of who makes it.
    """

    number: int
    ranges: list[tuple[int, int]]
    owner: Cutter[Batch] | None
    n_left: int
    n_hits: int
    best: tuple[int, int] | None
    search: Search[Batch, Any] = field(init=False)
    lacks_search: bool = True
    n_back: int = 0
    making: Lock = field(default_factory=Lock)

    @classmethod
    def prepared(cls, number: int, search: Search[Batch, Any], n_back: int = 0) -> Query[Batch]:
        """Return a query for an executor in another process, which gets its rows from the planner of this one."""
        query = cls(number, [], None, 0, 0, None, n_back=n_back)
        query.search, query.lacks_search = search, False
        return query


class Unit(Struct, Generic[Batch], frozen=True):
    """What an executor computes in one go: rows `first` to `last` with a query, or no rows: what is left at its end."""

    query: Query[Batch]
    first: int = 0
    last: int = 0

    @property
    def is_end(self) -> bool:
        """Whether all rows are stored, and the query is to be concluded."""
        return self.first == self.last

    @property
    def key(self) -> tuple[int, int, int]:
        """Number of the query, first and last row: what identifies a unit in another process."""
        return self.query.number, self.first, self.last


class Finished(Struct, Generic[Batch], frozen=True):
    """What was found in a unit; `hits_of` are hits of other queries, with the numbers of these."""

    unit: Unit[Batch]
    result: BatchResult
    hits_of: Sequence[tuple[int, Hit]] = ()

    def packed_result(self) -> BatchResult:
        """Return the result without the arrays of scores, for another process: the packed scores say the same."""
        return replace(self.result, scores=Scores(np.empty(0, np.int64), np.empty(0, np.int32)))
