"""Parts of the matrix of a long pair: filled from their edges, and followed back."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from clalign.common.plain_data import Json
from clalign.compute.group_barriers import (
    LAUNCHES_BETWEEN_CHECKS,
    BarrierKernel,
    GroupBarrier,
    Rounds,
    max_concurrent_groups,
)
from clalign.compute.sessions import Buffer, KernelSession
from clalign.errors import GroupsNotConcurrent
from clalign.stages.pairwise.long_pair_rows import rows_of_lane
from clalign.stages.pairwise.long_pair_sequences import VECTORS, Codes, Sequences
from clalign.stages.pairwise.long_pair_state import (
    Keeper,
    NothingKept,
    Part,
    State,
    known_of_edges,
    n_done,
    packed,
    unpacked,
)
from clalign.values.devices import Device
from clalign.values.scoring import Scoring

TRACED_ROWS, TRACED_COLUMNS = 4, 128
"""Rows of a lane of a GPU and columns of a tile where each cell is kept for the traceback."""

VECTOR_COLUMNS, VECTOR_ACROSS = 128, 16
"""Columns of a tile on a processor where each cell is kept, and least number of tiles across a region that is wider."""

FILLED_ROWS, MIN_COLUMNS, MAX_COLUMNS = 16, 128, 4096
"""Rows of a lane and limits of the columns of a tile where only edges are kept."""

TILES_ACROSS = 7800
"""Tiles across a region at most, unless they are of `MAX_COLUMNS`: 128 columns each up to a million residues."""

AHEAD = 8
"""Columns at a time, at most: kept edges are further apart than the lanes and these."""

BLOCK = 32
"""Columns after which a strip signals its progress to the one below it, a multiple of `AHEAD`."""

PROGRESS_BYTES = 32
"""Bytes of the progress of a strip, so that each has its own part of a cache line."""

EDGE_BYTES = 8
"""Bytes of an edge cell: a score and a gap."""

KEPT_BYTES, KEPT_SHARE = 2**30, 8
"""Edges of tiles that are kept at a time, and of which part of the device's memory they are at most."""

MAX_ON_CPU = 2**25
"""Bytes of edges that are kept on a processor, for which a pair takes long: what a run keeps of a pair that is stopped
is to be written within a second."""

EDGES_EACH_WAY = 12
"""Kept edges each way of a region that is not filled to be followed at once."""

CPU_CELLS, GPU_CELLS = 200_000_000, 2_000_000_000
"""Cells that a device is given before a job is asked whether to go on: of a card for the first time, and at least."""

LAUNCH_SECONDS = 0.15
"""Intended time of a launch on a GPU, once its speed is known."""

MIN_CELLS_PER_CYCLE = 1
"""Least cells for each cycle of a compute unit of an NVIDIA GPU: an H200 computes 2 to 6. Others are not known."""

METHOD = "lbs"
"""How work-groups are found that run at once; they do not meet, but each strip follows the one above it. With `launch`
each anti-diagonal of tiles is a launch."""

METHOD_ON_CPU = "launch"
"""A launch is over sooner than threads have waited for each other, above all where others keep the processor busy."""

Cells = npt.NDArray[np.int32]
ReportCells = Callable[[int], None]


class Edge(Struct, frozen=True):
    """A part of the edges of a buffer: the first one is that before the first column or row."""

    buffer: Buffer
    at: int = 0


class Region(Struct, frozen=True):
    """A part of the matrix, with the edges above and to the left of it.

    Attributes
    ----------
    row, column : int
        Rows and columns of the matrix before it.
    m, n : int
        Its own.
    is_part : bool
        Whether edges of what it is a part of take memory beside its own.
    """

    pair: Sequences
    row: int
    column: int
    m: int
    n: int
    top: Edge
    left: Edge
    is_part: bool = False

    @classmethod
    def whole(
        cls, session: KernelSession, query: Codes, target: Codes, scoring: Scoring, given: Mapping[str, int]
    ) -> Region:
        """Return all of the matrix of a pair."""
        pair = Sequences.of(session, query, target, scoring, given)
        top, left = (Edge(session.upload(pair.border(len(codes)))) for codes in (target, query))
        return cls(pair, 0, 0, len(query), len(target), top, left)

    @property
    def traced_tile(self) -> tuple[int, int]:
        """Rows of a lane, and columns of a tile, where each cell is held on the way back."""
        return (VECTORS, VECTOR_COLUMNS) if self.pair.is_vector else (TRACED_ROWS, TRACED_COLUMNS)

    @property
    def filled_tile(self) -> tuple[int, int]:
        """Rows of a lane, and columns of a tile, where edges are all that is held."""
        if self.pair.is_vector:
            return VECTORS, min(max(VECTOR_COLUMNS, self.n // VECTOR_ACROSS // 64 * 64), 4 * VECTOR_COLUMNS)
        rows = rows_of_lane(self.m, self.n, self.pair, TRACED_ROWS, FILLED_ROWS)
        return rows, min(max(MIN_COLUMNS, self.n // TILES_ACROSS // 64 * 64), MAX_COLUMNS)

    @property
    def kept_every(self) -> tuple[int, int]:
        """Rows and columns from one kept edge to the next where some are kept; of whole tiles."""
        rows, columns = self.filled_tile
        strip, least = rows * self.pair.n_lanes, max(self.n // EDGES_EACH_WAY, self.pair.n_lanes + AHEAD)
        return -(-self.m // (strip * EDGES_EACH_WAY)) * strip, -(-least // columns) * columns

    @property
    def is_small(self) -> bool:
        """Whether the edges of all tiles are kept whose cells are held on the way back: if they fit, or if it would
        have no smaller parts otherwise.
        """
        if self.m <= self.kept_every[0] and self.n <= self.kept_every[1]:
            return True
        rows, columns = self.traced_tile
        n_edges = (self.m - 1) // (rows * self.pair.n_lanes) * (self.n + 1) + (self.n - 1) // columns * (self.m + 1)
        device, most = self.pair.session.device, KEPT_BYTES // 2 if self.is_part else KEPT_BYTES
        most = min(most, MAX_ON_CPU) if self.pair.is_vector else most
        return EDGE_BYTES * n_edges <= min(most, device.memory_bytes // KEPT_SHARE, device.max_buffer_bytes or most)


class Filled(Struct, frozen=True):
    """A region that is filled, or is being filled.

    Attributes
    ----------
    numbers : int32[]
        The plan, as the kernel takes it.
    rows_every, columns_every : int
        Rows and columns between kept edges.
    kept_rows, kept_columns : Buffer
        Edges, ``n + 1`` and ``m + 1`` of them in each row and column.
    top, left, corners : Buffer
        Edges of the tiles that were filled last.
    n_strips, n_tiles, strip, columns : int
        Tiles from top to bottom and from left to right, and the rows and columns of each.
    method : str
        How groups meet: where they did not all run at once, none is to wait again on the way back.
    """

    region: Region
    numbers: Cells
    plan: Buffer
    rows_every: int
    columns_every: int
    kept_rows: Buffer
    kept_columns: Buffer
    best: Buffer
    last_row: Buffer
    top: Buffer
    left: Buffer
    corners: Buffer
    progress: Buffer
    n_strips: int
    n_tiles: int
    strip: int
    columns: int
    method: str = METHOD

    @classmethod
    def begun(cls, region: Region) -> Filled:
        """Return a region of which nothing is filled: edges of all tiles are kept if it is small, of some otherwise."""
        pair, m, n = region.pair, region.m, region.n
        session = pair.session
        if region.is_small:
            rows, columns = region.traced_tile
            every = rows * pair.n_lanes, columns
        else:
            (rows, columns), every = region.filled_tile, region.kept_every
        strip = rows * pair.n_lanes
        strips_between, tiles_between = every[0] // strip, every[1] // columns
        n_strips, n_tiles = -(-m // strip), -(-n // columns)
        numbers = np.array(
            [
                m, n, columns, strips_between, tiles_between, n + 1, m + 1, region.top.at, region.left.at, region.row,
                region.column, *pair.gaps, pair.n_letters, BLOCK,
            ], np.int32,
        )  # fmt: skip
        n_rows, n_columns = (n_strips - 1) // strips_between, (n_tiles - 1) // tiles_between
        return cls(
            region, numbers, session.upload(numbers), *every,
            session.allocate(EDGE_BYTES * max(1, n_rows * (n + 1))),
            session.allocate(EDGE_BYTES * max(1, n_columns * (m + 1))),
            session.zeros(12 * pair.n_best(n_strips, n_tiles)), session.allocate(4 * n),
            session.allocate(EDGE_BYTES * n), session.allocate(EDGE_BYTES * m), session.allocate(4 * n_strips),
            session.zeros(PROGRESS_BYTES * n_strips), n_strips, n_tiles, strip, columns,
        )  # fmt: skip

    @property
    def n_diagonals(self) -> int:
        """Anti-diagonals of tiles."""
        return self.n_strips + self.n_tiles - 1

    def n_tiles_on(self, diagonal: int) -> int:
        """Return how many tiles an anti-diagonal has."""
        return min(diagonal, self.n_strips - 1) - max(0, diagonal - self.n_tiles + 1) + 1

    def parts(self, n_diagonals: int) -> list[Part]:
        """Return the parts of the state that are known after this many diagonals."""
        m, n, of_all = self.region.m, self.region.n, n_diagonals
        strips, tiles = n_done(of_all, 0, self.n_strips), n_done(of_all, 0, self.n_tiles)
        is_local, edges = self.region.pair.scoring.is_local, (self.n_strips - 1, self.n_tiles - 1)
        rows_between, columns_between = self.rows_every // self.strip, self.columns_every // self.columns
        of_rows = known_of_edges(edges[0] // rows_between, rows_between, of_all, self.n_tiles, n, self.columns)
        of_columns = known_of_edges(edges[1] // columns_between, columns_between, of_all, self.n_strips, m, self.strip)
        below = min(n, self.columns * n_done(of_all, self.n_strips - 1, self.n_tiles))
        n_best = 3 * self.region.pair.n_best(self.n_strips, self.n_tiles)
        return [
            Part("kept_rows", self.kept_rows, n + 1, of_rows),
            Part("kept_columns", self.kept_columns, m + 1, of_columns),
            Part("top", self.top, n, [min(n, self.columns * tiles)]),
            Part("left", self.left, m, [min(m, self.strip * strips)]),
            Part("corners", self.corners, self.n_strips, [strips], is_edge=False),
            Part("best", self.best, n_best, [n_best], is_edge=False),
            Part("last_row", self.last_row, n, [0 if is_local else below], is_edge=False),
        ]

    def state(self, n_diagonals: int) -> State:
        """Return what is to be kept after this many diagonals."""
        session, place = self.region.pair.session, np.array([*self.numbers, self.strip, n_diagonals], np.int32)
        parts = (part.read(session) for part in self.parts(n_diagonals))
        return {"place": packed(place), **dict(itertools.chain.from_iterable(parts))}

    def with_state(self, state: State) -> tuple[Filled, int]:
        """Return it with what was kept, and how many diagonals are filled.

        Raises
        ------
        ValueError, KeyError
            If this cannot be the state of such a region.
        """
        *numbers, strip, n_diagonals = unpacked(state["place"], (len(self.numbers) + 2,)).tolist()
        if numbers != self.numbers.tolist() or strip != self.strip or not 0 <= n_diagonals <= self.n_diagonals:
            raise ValueError("it is of another pair, or of another kind of device")
        session = self.region.pair.session
        buffers: Json = {part.name: part.written(session, state) for part in self.parts(n_diagonals)}
        return replace(self, **buffers), n_diagonals

    def end(self) -> tuple[int, int, int]:
        """Return the best score, and the cell from 1 where it ends."""
        region, pair = self.region, self.region.pair
        session, m, n = pair.session, region.m, region.n
        if pair.scoring.is_local:
            shape = 3, pair.n_best(self.n_strips, self.n_tiles)
            score, total, row = session.download(self.best, shape, np.int32)
            best = np.flatnonzero(score == score.max())
            first = best[np.lexsort((row[best], total[best]))[0]]
            return int(score[first]), int(row[first]), int(total[first] - row[first])
        below = session.download(self.last_row, n, np.int32)
        if pair.scoring.mode == "global":
            return int(below[-1]), m, n
        beside = session.download(self.left, (m, 2), np.int32)[:, 0]
        i = np.concatenate([np.full(n, m), np.arange(1, m + 1)])
        j = np.concatenate([np.arange(1, n + 1), np.full(m, n)])
        scores = np.concatenate([below, beside])
        best = np.flatnonzero(scores == scores.max())
        first = best[np.lexsort((i[best], (i + j)[best]))[0]]
        return int(scores[first]), int(i[first]), int(j[first])

    def part(self, i: int, j: int) -> Region:
        """Return what is between kept edges up to a cell, counted from 1."""
        region = self.region
        a, b = (i - 1) // self.rows_every, (j - 1) // self.columns_every
        row, column = a * self.rows_every, b * self.columns_every
        top = (
            Edge(self.kept_rows, (a - 1) * (region.n + 1) + column)
            if a
            else replace(region.top, at=region.top.at + column)
        )
        left = (
            Edge(self.kept_columns, (b - 1) * (region.m + 1) + row)
            if b
            else replace(region.left, at=region.left.at + row)
        )
        return Region(
            region.pair, region.row + row, region.column + column, i - row, j - column, top, left, is_part=True
        )


class Path(Struct):
    """A path on the way back: the cell where it is, from 1, the gap it is in, and its letters until now."""

    i: int
    j: int
    gap: int = 0
    ends: bool = False
    letters: list[bytes] = field(default_factory=list)


class Watch:
    """Looks after the first pass through a matrix: what is to be kept of it is kept, now and then and when it stops.

    Parameters
    ----------
    keeper : Keeper
    """

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._at: tuple[Filled, int] | None = None

    def begin(self, filled: Filled) -> tuple[Filled, int]:
        """Return a region with what was kept of it, and how many of its diagonals are filled."""
        state = self._keeper.kept()
        if state is None:
            return filled, 0
        try:
            return filled.with_state(state)
        except (ValueError, KeyError) as error:
            self._keeper.refuse(str(error))
            return filled, 0

    def launched(self) -> None:
        """Take note that the device is at work, so that what it has is not to be kept."""
        self._at = None

    def paused(self, filled: Filled, n_diagonals: int) -> None:
        """Take note of what is filled, now that the device has finished; keep it if it is time."""
        self._at = filled, n_diagonals
        self._keep(self._keeper.is_due)

    def stop(self) -> None:
        """Keep what is filled, if there is time."""
        self._keep(self._keeper.is_due_in_the_end)

    def _keep(self, is_due: Callable[[int], bool]) -> None:
        if self._at is not None:
            filled, n_diagonals = self._at
            if is_due(sum(part.n_bytes for part in filled.parts(n_diagonals))):
                self._keeper.keep(filled.state(n_diagonals))


def fill(region: Region, report: ReportCells, watch: Watch | None = None, method: str | None = None) -> Filled:
    """Fill a region, and keep edges; each cell is reported once, also if groups did not come and it is filled again."""
    n_reported = 0

    def advance(done: int) -> None:
        nonlocal n_reported
        report(max(0, done - n_reported))
        n_reported = max(n_reported, done)

    watch = watch or Watch(NothingKept())
    usual = METHOD_ON_CPU if region.pair.is_vector else METHOD
    filled, is_whole = _filled(region, watch, advance, method or usual)
    if not is_whole:
        del filled  # its edges take as much memory as those of the next one
        filled = _filled(region, watch, advance, "launch")[0]
    return filled


def _filled(region: Region, watch: Watch, advance: ReportCells, method: str) -> tuple[Filled, bool]:
    """Fill a region; return it, and whether all groups came: of those that did not some have gone on, and some not."""
    pair, (filled, begin) = region.pair, watch.begin(replace(Filled.begun(region), method=method))
    session, tile_cells = pair.session, filled.strip * filled.columns
    done = sum(filled.n_tiles_on(diagonal) for diagonal in range(begin)) * tile_cells
    advance(done)
    kernel = filling(filled, follows=method != "launch")
    how = GroupBarrier(
        filled.n_strips if method != "launch" else min(filled.n_strips, filled.n_tiles), pair.group, method
    )
    if how.method != "launch":
        how = replace(how, n_groups=max(1, min(how.n_groups, max_concurrent_groups(session, how, kernel))))
    pace = Pace(session.device)
    # Between launches a job could be stopped with nothing to keep: a portion has no more of them than go at once.
    most = LAUNCHES_BETWEEN_CHECKS if how.method == "launch" else filled.n_diagonals
    for first, last, n_cells in _portions(filled, begin, tile_cells, pace, most):
        rounds = Rounds(session, how, kernel, last - first, first)
        watch.launched()
        began = time.perf_counter()
        rounds.start()
        try:
            rounds.finish()
        except GroupsNotConcurrent:
            return filled, False
        pace.took(n_cells, time.perf_counter() - began)
        watch.paused(filled, last)
        session.check()
        done += n_cells
        advance(done)
    return filled, True


def filling(filled: Filled, follows: bool = False) -> BarrierKernel:
    """Return the kernel that fills a region, an anti-diagonal each round, or all of them if a strip follows another."""
    region, pair = filled.region, filled.region.pair
    of_lanes = {} if pair.is_vector else {"FOLLOWING": int(follows)}
    return BarrierKernel(
        pair.source, "fill",
        (
            pair.query, pair.target, pair.scores, filled.plan, region.top.buffer, region.left.buffer,
            filled.kept_rows, filled.kept_columns, filled.top, filled.left, filled.corners, filled.best,
            filled.last_row, filled.progress,
        ),
        pair.macros(filled.strip // pair.n_lanes, False) | of_lanes,
    )  # fmt: skip


class Pace:
    """How many cells a device is given at a time.

    Parameters
    ----------
    device : Device

    Attributes
    ----------
    cells : int
        About this many.
    """

    def __init__(self, device: Device) -> None:
        self._is_known = device.kind == "cpu"
        self.cells = CPU_CELLS if device.kind == "cpu" else GPU_CELLS
        if device.kind == "gpu" and device.maker == "nvidia":
            rate = MIN_CELLS_PER_CYCLE * device.n_compute_units * device.clock_mhz * 1e6
            self.cells = max(GPU_CELLS, int(rate * LAUNCH_SECONDS))

    def took(self, cells: int, seconds: float) -> None:
        """Learn from how long it has taken; a kernel may have been built in that time, so it is no slower for that."""
        if not self._is_known:
            self.cells = max(GPU_CELLS, int(cells / max(seconds, 1e-6) * LAUNCH_SECONDS))


def _portions(
    filled: Filled, begin: int, tile_cells: int, pace: Pace, most: int = LAUNCHES_BETWEEN_CHECKS
) -> Iterator[tuple[int, int, int]]:
    """Yield the up to `most` anti-diagonals that go to a device at a time, the first and the end, and their cells."""
    diagonals = np.arange(begin, filled.n_diagonals)
    n_tiles = np.minimum(diagonals, filled.n_strips - 1) - np.maximum(0, diagonals - filled.n_tiles + 1) + 1
    up_to = np.cumsum(n_tiles) * tile_cells
    first = before = 0
    while first < len(up_to):
        last = min(int(np.searchsorted(up_to, before + pace.cells)) + 1, first + most, len(up_to))
        yield begin + first, begin + last, int(up_to[last - 1]) - before
        first, before = last, int(up_to[last - 1])


def follow(filled: Filled, path: Path, report: ReportCells) -> Path:
    """Follow a path back through a filled region, until it leaves it or begins."""
    if filled.region.is_small:
        return _trace(filled, path)
    while path.i and path.j and not path.ends:
        part = filled.part(path.i, path.j)
        inner = follow(fill(part, report, method=filled.method), Path(part.m, part.n, path.gap), report)
        row, column = path.i - part.m, path.j - part.n
        path = Path(row + inner.i, column + inner.j, inner.gap, inner.ends, inner.letters + path.letters)
    return path


def _trace(filled: Filled, path: Path) -> Path:
    """Follow a path through a region of which all edges are kept."""
    region, pair = filled.region, filled.region.pair
    session = pair.session
    rows, columns = region.traced_tile
    macros = pair.macros(rows, True) | {"TRACED_COLUMNS": columns}
    state, letters = session.results(4 * 5), session.allocate(region.m + region.n)
    session.launch(
        pair.source, "trace", macros, pair.group, pair.group, pair.query, pair.target, pair.scores, filled.plan,
        region.top.buffer, region.left.buffer, filled.kept_rows, filled.kept_columns, np.int32(path.i),
        np.int32(path.j), np.int32(path.gap), state, letters,
    )  # fmt: skip
    i, j, gap, ends, n_letters = session.download(state, 5, np.int32).tolist()
    found = session.download(letters, region.m + region.n, np.uint8)
    session.demand(0 <= n_letters <= path.i + path.j, "an alignment longer than its sequences")
    return Path(i, j, gap, bool(ends), [found[len(found) - n_letters :].tobytes(), *path.letters])
