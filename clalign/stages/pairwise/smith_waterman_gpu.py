"""Launches of the shapes of Smith-Waterman for GPUs on a batch.

Most targets go two at a time to a work-item (`item`). Those that are long for this batch would keep a few
work-items busy after all others are done; lanes share them (`lanes`). What 16 bits may not hold, and letters
that the table of pairs has no place for, are left to lanes that compute in 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import LOCAL_SHARE, lane_backend, lanes_group, one_each
from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.pairwise.smith_waterman_pieces import Pieces, pieces_of
from clalign.stages.pairwise.smith_waterman_tuning import PairTuning
from clalign.stages.pairwise.smith_waterman_vector import possible_scores
from clalign.values.alphabets import AMINO, DNA, N_CODES, code_of
from clalign.values.devices import Device
from clalign.values.hits import PairScores, Scores
from clalign.values.scoring import MODES, PairwiseQuery, SubstitutionMatrix
from clalign.values.sequences import SequenceBatch, longest_first

Choices = Mapping[str, int]
Rows = npt.NDArray[np.int32]

UNSCORED_LETTER = 255

MAX_WORD = 32767

MAX_FACTOR_GAIN, MIN_FACTOR_GAIN = 31, -32
"""Limits of a factor that fits a byte four times."""

STRIP_OVERHEAD = 4.0
"""Overhead of a strip in units of the time of a row."""

FEW_LANES, MANY_LANES = (8, 16), (32,)
"""Numbers of lanes that may share long targets, and the longest ones; the query decides."""

NARROW_BACKENDS = (1, 3)
"""Backends of ``common/lanes.h`` with groups of fewer lanes."""

LOCKSTEP_ITEMS = {1: 32, 3: 64}
"""Work-items that run in lockstep, by backend: the least size of a work-group."""


def letter_classes(matrix: SubstitutionMatrix) -> npt.NDArray[np.uint8]:
    """Return the class of each letter code of a target (uint8[N_CODES]).

    Letters of a class score alike. The residues, and the letter for any of them, have classes, and so have
    letters that score as one of these does; others have none, since few sequences hold them.
    """
    alphabet = DNA if matrix.is_nucleic else AMINO
    classes = np.full(N_CODES, UNSCORED_LETTER, np.uint8)
    number = 0
    for code in map(code_of, alphabet.canonical + ("N" if matrix.is_nucleic else "X")):
        if classes[code] == UNSCORED_LETTER:
            classes[(matrix.scores == matrix.scores[:, [code]]).all(axis=0)] = number
            number += 1
    return classes


def _n_classes(classes: npt.NDArray[np.uint8]) -> int:
    return int(classes[classes != UNSCORED_LETTER].max()) + 1


class _Layout(Struct, frozen=True):
    """The targets of a batch that go to work-items, laid out two by two on a device, and the others.

    Attributes
    ----------
    n, longest : int
        Of those that go to work-items.
    rows, bases, words : buffer
        See ``smith_waterman_item.cl``.
    rare, n_rare : buffer
        Rows with letters that have no class.
    long, longest_ones : int32[]
        Rows for few and for many lanes, falling by length.
    by_few : float
        Up to what length they go to few.
    """

    n: int
    longest: int
    rows: Buffer
    bases: Buffer
    words: Buffer
    rare: Buffer
    n_rare: Buffer
    long: Rows
    longest_ones: Rows
    by_few: float


def start_gpu(
    session: KernelSession, batch: SequenceBatch, model: PairwiseQuery, shape: str, choices: Choices
) -> Callable[[], PairScores]:
    """Start scoring a batch; return a callable that waits for the scores and returns them.

    Parameters
    ----------
    shape : str
        ``item``, or ``lanes`` for all targets.
    choices : dict
        Compile-time choices that replace the default ones; ``WIDE`` asks for 32 bits throughout.
    """
    query = _Query(session, model)
    if not model.scoring.is_local or choices.get("WIDE"):
        outcome = _Outcome(session, batch)
        rows = np.flatnonzero(batch.lengths > 0).astype(np.int32)
        _launch_lanes(query, _listed(session, batch, rows), outcome, {**choices, "WIDE": 1})
        return _collected(query, [outcome])
    layout = _layout_of(session, batch, model.scoring.matrix, shape)
    by_items = _Outcome(session, batch)
    outcomes, longest_of = [by_items], [layout.longest]
    # Queues beside each other, since a few long targets keep only a few of the device's units busy.
    pieces = pieces_of(session, batch, layout.longest_ones, model, layout.by_few)
    lanes_of_pieces = FEW_LANES if pieces and pieces.most <= 2 * layout.by_few else MANY_LANES
    for name, rows, in_pieces, among in (
        ("longest", layout.longest_ones, pieces, lanes_of_pieces),
        ("long", layout.long, None, FEW_LANES),
    ):
        if len(rows):
            queue = session.cached(f"queue of the {name}", session, session.second_queue)
            outcomes.append(_Outcome(queue, batch, rows, in_pieces, None if in_pieces else by_items.scores))
            longest_of.append(_launch_long(query, outcomes[-1], rows, choices, among))
    if layout.n:
        _launch_item(query, layout, by_items, choices)
        rare = _Listed(layout.rare, layout.n_rare, layout.n, layout.longest)
        _launch_lanes(query, rare, by_items, {**choices, "WIDE": 1})
    for outcome, longest in zip(outcomes, longest_of, strict=True):
        n = layout.n if outcome.rows is None else len(outcome.batch if outcome.pieces else outcome.rows)
        if n:
            _launch_lanes(query, _Listed(outcome.again, outcome.n_again, n, longest), outcome, {**choices, "WIDE": 1})
    return _collected(query, outcomes)


def _launch_long(query: _Query, outcome: _Outcome, rows: Rows, choices: Choices, among: tuple[int, ...]) -> int:
    """Enqueue lanes for long targets, or for their pieces; return the length of the longest."""
    pieces, session = outcome.pieces, outcome.session

    def make() -> _Listed:
        if pieces is None:
            return _listed(session, outcome.batch, rows)
        return _listed(session, pieces.batch, longest_first(pieces.batch.lengths).astype(np.int32))

    listed = session.cached("listed", rows if pieces is None else pieces, make)
    _launch_lanes(query, listed, outcome, {**choices, "WIDE": 0}, among)
    return int(listed.longest)


class _Outcome:
    """What one queue of a device finds: scores, and the rows that 16 bits may not have held.

    `rows` are those that it scores; None if it is all that no other queue does. If they are in pieces, it is these
    that are scored; otherwise queues may share `scores`.
    """

    def __init__(
        self,
        session: KernelSession,
        batch: SequenceBatch,
        rows: Rows | None = None,
        pieces: Pieces | None = None,
        scores: Buffer | None = None,
    ) -> None:
        self.session, self.rows, self.pieces = session, rows, pieces
        self.batch = pieces.batch if pieces else batch
        n = len(self.batch)
        self.scores = session.results(4 * n) if scores is None else scores
        self.again, self.n_again = session.allocate(4 * n), session.zeros(4)


class _Listed(Struct, frozen=True):
    """Rows on a device that lanes are to score, and how many; at most so many they are, and so long."""

    rows: Buffer
    count: Buffer
    most: int
    longest: int


def _listed(session: KernelSession, batch: SequenceBatch, rows: Rows) -> _Listed:
    """Return rows that the host knows."""
    n, longest = len(rows), int(batch.lengths[rows].max(initial=1))
    return _Listed(session.upload(rows), session.upload(np.array([n], np.uint32)), max(1, n), longest)


def _collected(query: _Query, outcomes: list[_Outcome]) -> Callable[[], PairScores]:
    """Return a callable that waits for all queues and puts their results together."""
    by_items, *others = outcomes
    batch, session, model = by_items.batch, by_items.session, query.model
    counts = [outcome.session.fetch(outcome.n_again, 1, np.uint32) for outcome in outcomes]
    of_all = session.fetch(by_items.scores, len(batch), np.int32)
    of_pieces = [
        (place, outcome.rows, outcome.pieces, outcome.session.fetch(outcome.scores, len(outcome.batch), np.int32))
        for place, outcome in enumerate(outcomes)
        if outcome.pieces
    ]
    without_residues = session.cached("rows without residues", batch, lambda: np.flatnonzero(batch.lengths == 0))
    empty = model.scoring.unpaired(model.length)

    def collect() -> PairScores:
        n_again = [int(count()[0]) for count in counts]  # then all queues are done
        values = of_all()
        for place, rows, pieces, scores in of_pieces:
            values[rows] = pieces.best(scores())
            n_again[place] = int((values[rows] >= query.most).sum())  # targets, not pieces
        for outcome in others:
            session.join(outcome.session)
        values[without_residues] = empty
        possible_scores(session, batch, model, values)
        session.demand(max(n_again) <= len(batch), "more targets to be scored again than there are")
        return PairScores(Scores(batch.targets, values), n_in_32_bits=sum(n_again))

    return collect


class _Query:
    """A query and what its kernels take of its scoring."""

    def __init__(self, session: KernelSession, model: PairwiseQuery) -> None:
        scoring = model.scoring
        matrix = scoring.matrix
        self.model = model
        self.bias = max(0, -matrix.least)
        self.gaps = scoring.gaps
        self.mode = MODES.index(scoring.mode)
        self.most = MAX_WORD - self.bias - scoring.gaps.first - matrix.greatest
        fits = matrix.least >= MIN_FACTOR_GAIN and matrix.greatest <= MAX_FACTOR_GAIN
        self.products = int(fits and session.device.compute_capability >= 90)

    @property
    def arguments(self) -> tuple[np.int32, ...]:
        return np.int32(self.bias), np.int32(self.gaps.first), np.int32(self.gaps.next), np.int32(self.most)


def _limits(lengths: Rows, device: Device, shape: str) -> tuple[float, float]:
    """Return up to what length targets go to work-items, and to few lanes; longer ones go to many.

    Whatever takes two of them must not take longer than a share of the time of all; items and few lanes have their
    own shares.
    """
    tuning = PairTuning.of(device)
    n_items = device.n_compute_units * tuning.groups * min(tuning.group, device.max_work_group)
    even = float(lengths.sum(dtype=np.int64)) / 2 / n_items
    by_items = 0.0 if shape == "lanes" else max(tuning.long_percent / 100 * even, tuning.least_long)
    return by_items, max(tuning.longest_percent / 100 * even * min(FEW_LANES), by_items)


def _layout_of(session: KernelSession, batch: SequenceBatch, matrix: SubstitutionMatrix, shape: str) -> _Layout:
    """Return the layout of a batch for the classes of a matrix, made once a batch."""
    classes, device = letter_classes(matrix), session.device
    n_classes = _n_classes(classes)

    def make() -> _Layout:
        lengths = batch.lengths
        by_items, by_few = _limits(lengths, device, shape)
        falling = longest_first(lengths).astype(np.int32)
        ordered = lengths[falling]
        rows = falling[(ordered <= by_items) & (ordered > 0)]
        n_words = -(-lengths[rows[::64]].astype(np.int64) // 4) * 32
        words = session.allocate(8 * int(n_words.sum()))
        bases = session.upload((np.cumsum(n_words) - n_words).astype(np.uint32))
        rare, n_rare, chosen = session.allocate(4 * len(batch)), session.zeros(4), session.upload(rows)
        if len(rows):
            session.launch(
                "smith_waterman_item", "lay_out", {"CLASSES": n_classes}, *one_each(device, -(-len(rows) // 2)),
                session.residues(batch)[0], session.upload(classes), session.residues(batch)[1], chosen,
                np.uint32(len(rows)), bases, words, rare, n_rare,
            )  # fmt: skip
        longest = int(lengths[rows].max(initial=0))
        long, longest_ones = falling[(ordered > by_items) & (ordered <= by_few)], falling[ordered > by_few]
        return _Layout(len(rows), longest, chosen, bases, words, rare, n_rare, long, longest_ones, by_few)

    return session.cached(f"pairs of {classes.tobytes().hex()} {shape}", batch, make)


def _strips(length: int, most: int, step: int, overhead: float) -> tuple[int, int]:
    """Return how many strips a query is cut into, and the rows of each, a multiple of `step`.

    Of all heights up to `most` the one that computes least: the rows, and what a strip takes besides, in rows.
    """
    heights = np.arange(step, most + 1, step)
    counts = -(-length // heights)
    best = int((counts * (heights + overhead)).argmin())
    return int(counts[best]), int(heights[best])


def _launch_item(query: _Query, layout: _Layout, outcome: _Outcome, choices: Choices) -> None:
    session = outcome.session
    device, tuning = session.device, PairTuning.of(session.device)
    classes = letter_classes(query.model.scoring.matrix)
    n_strips, rows = _strips(query.model.length, choices.get("ROWS", tuning.rows), 8, STRIP_OVERHEAD)
    defines = {
        "COMPUTE_CAPABILITY": device.compute_capability, "PRODUCTS": query.products,
        "MODE": MODES.index(query.model.scoring.mode),
        "GROUP": min(tuning.group, device.max_work_group), **choices,
        "ROWS": rows, "CLASSES": _n_classes(classes), "ONE_STRIP": int(n_strips == 1),
    }  # fmt: skip
    defines.pop("LANES", None)
    group = defines["GROUP"]
    n_groups = min(device.n_compute_units * tuning.groups, -(-layout.n // (2 * group)))
    depth = -(-layout.longest // 4) * 4
    session.launch(
        "smith_waterman_item", "smith_waterman", defines, n_groups * group, group,
        layout.words, layout.bases, session.residues(outcome.batch)[1], layout.rows, np.uint32(layout.n),
        _pair_table(session, query, classes, defines, n_strips), np.uint32(n_strips), *query.arguments,
        session.scratch("edges", 8 * n_groups * depth * group if n_strips > 1 else 8), np.uint32(depth),
        session.zeros(4), outcome.scores, outcome.again, outcome.n_again,
    )  # fmt: skip


def _pair_table(
    session: KernelSession, query: _Query, classes: npt.NDArray[np.uint8], defines: Choices, n_strips: int
) -> Buffer:
    """Return the biased scores of all pairs of letters on a device, made there once a query and height of a strip."""
    rows, n_classes = defines["ROWS"], defines["CLASSES"]

    def make() -> Buffer:
        profile = query.model.profile
        biased_scores = np.full((n_strips * rows, n_classes + 1), -query.bias, np.int8)
        for number in range(n_classes):
            biased_scores[: len(profile), number] = profile[:, np.flatnonzero(classes == number)[0]]
        n_words = n_strips * (n_classes * (n_classes + 1) + 1) * rows // 2
        table = session.allocate(4 * n_words)
        session.launch(
            "smith_waterman_item", "pair_table", defines, *one_each(session.device, n_words),
            session.upload(biased_scores), np.uint32(n_words), table,
        )  # fmt: skip
        return table

    return session.cached(f"pair table {rows} {n_classes}", query.model, make)


def lanes_that_fit(local_bytes: int, lanes: int, rows: int, at_once: int) -> tuple[int, int]:
    """Return how many of the lanes that are wanted, and how many rows of each, have room for their table.

    Parameters
    ----------
    local_bytes : int
        Local memory of a work-group.
    lanes, rows : int
        What is wanted.
    at_once : int
        Targets that a lane takes together; each has a table of its own.
    """
    fours = int(LOCAL_SHARE * local_bytes) // (16 * N_CODES * at_once)  # 16 bytes are the scores of 16 rows
    while lanes > fours and lanes > 1:
        lanes //= 2
    return lanes, min(rows, 16 * max(1, fours // lanes))


def group_with_room(group: int, least: int, bytes_an_item: int, room: int) -> int:
    """Return a work-group of `group` work-items, or of so many fewer, down to `least`, that its memory fits `room`."""
    while group * bytes_an_item > room and group % (2 * least) == 0:
        group //= 2
    return group


def lanes_for(length: int, among: tuple[int, ...], local_bytes: int, rows: int, at_once: int) -> int:
    """Return how many lanes compute least for a query of some length; the most of them where several do."""

    def work(wanted: int) -> tuple[float, int]:
        lanes, most = lanes_that_fit(local_bytes, wanted, rows, at_once)
        n_strips, height = _strips(length, most * lanes, 4 * lanes, STRIP_OVERHEAD * lanes)
        return n_strips * (height + STRIP_OVERHEAD * lanes), -lanes

    return min(among, key=work)


def _launch_lanes(
    query: _Query, listed: _Listed, outcome: _Outcome, choices: Choices, among: tuple[int, ...] = MANY_LANES
) -> None:
    """Enqueue lanes for listed rows; how many these are only the device may know."""
    session, wide = outcome.session, choices["WIDE"]
    device, tuning = session.device, PairTuning.of(session.device)
    defines = {**lane_backend(device), "MODE": query.mode, "PRODUCTS": 0 if wide else query.products}
    at_once = 1 if wide else 2
    rows = choices.get("ROWS", tuning.wide_rows if wide else tuning.lane_rows)
    if defines["LANE_BACKEND"] in NARROW_BACKENDS:
        defines["LANES"] = lanes_for(query.model.length, among, device.local_bytes, rows, at_once)
    defines |= choices
    lanes, rows = lanes_that_fit(device.local_bytes, defines["LANES"], rows, at_once)
    step = (rows if wide else 4) * lanes  # few targets need 32 bits, so that one program does for all queries
    n_strips, height = _strips(query.model.length, rows * lanes, step, STRIP_OVERHEAD * lanes)
    group = lanes_group(device, {**defines, "LANES": lanes}, tuning.group)
    defines = {"GROUP": group, **defines, "LANES": lanes, "ROWS": height // lanes}
    per_lanes = 8 * listed.longest if n_strips > 1 else 0
    room = min(tuning.most_scratch, device.max_buffer_bytes or tuning.most_scratch)
    least = max(lanes, LOCKSTEP_ITEMS.get(defines["LANE_BACKEND"], lanes))
    group = defines["GROUP"] = group_with_room(defines["GROUP"], least, per_lanes // lanes, room)
    per_group = group // lanes
    n_groups = min(-(-listed.most // (per_group * at_once)), device.n_compute_units * tuning.lane_groups)
    if per_lanes:
        n_groups = max(1, min(n_groups, room // (per_lanes * per_group)))
    session.launch(
        "smith_waterman_lanes", "smith_waterman", defines, n_groups * group, group,
        *session.residues(outcome.batch), listed.rows, listed.count, session.zeros(4),
        _lane_table(session, query, lanes, height // lanes, n_strips, wide, defines["PRODUCTS"]),
        np.int32(n_strips), np.int32(query.model.length), *query.arguments,
        session.scratch("edges", n_groups * per_group * per_lanes + 8), np.uint32(listed.longest),
        outcome.scores, outcome.again, outcome.n_again,
    )  # fmt: skip


def _lane_table(
    session: KernelSession, query: _Query, lanes: int, rows: int, n_strips: int, wide: int, products: int
) -> Buffer:
    """Return the biased scores of a query on a device in the layout of ``smith_waterman_lanes.cl``, made once."""

    def make() -> Buffer:
        profile, fours = query.model.profile.astype(np.int64), -(-rows // 16)
        biased_scores = np.full((n_strips * lanes * rows, N_CODES), -query.bias, np.int64)
        biased_scores[: len(profile)] = profile
        biased_scores[:, N_CODES - 1] = -query.bias
        padded = np.zeros((n_strips, lanes, 16 * fours, N_CODES), np.int64)
        padded[:, :, :rows] = biased_scores.reshape(n_strips, lanes, rows, N_CODES)
        table = padded.reshape(n_strips, lanes, fours, 16, N_CODES).transpose(0, 4, 2, 1, 3)
        factors = (1,) if wide else (1, 4 if products else 1)
        return session.upload(np.stack([table * factor for factor in factors], axis=1).astype(np.int8))

    return session.cached(f"lane table {lanes} {rows} {wide} {products}", query.model, make)
