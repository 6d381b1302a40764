"""Smith-Waterman on CPUs: sequences in the lanes of vectors, with as few bits as their scores need."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.pairwise.long_pair import LONG_PAIR
from clalign.stages.pairwise.smith_waterman_pieces import pieces_of
from clalign.stages.pairwise.smith_waterman_tuning import PairTuning
from clalign.values.alphabets import N_CODES
from clalign.values.hits import PairScores, Scores
from clalign.values.scoring import MAX_GAP_COST, MAX_SCORE, MODES, PairwiseQuery
from clalign.values.sequences import SequenceBatch, longest_first

Choices = Mapping[str, int]
Rows = npt.NDArray[np.int32]

MAX_BYTE_SCORE = 20
"""Limit of the score of two letters for computation in bytes; with more, many sequences do not fit."""

PIECE_SHARE = 0.25
"""Length of a piece without its overlap, as a share of the work of a lane, so that lanes need not wait for long
pieces."""


MIN_CELLS_ALONE = 2e7
"""Least number of cells of a pair that may occupy the whole device."""

MAX_TARGETS_ALONE = 64
"""Limit of the targets of a batch that are considered for being computed one at a time."""

LANE_SHARE = 8
"""A lane takes this many times as long for a target as a core that has it alone; all lanes of a core together do this
many times as much."""


def limit_of(width: int, model: PairwiseQuery) -> int:
    """Return the highest score that this many bits hold for sure; only where no score is below 0 can one be higher."""
    highest = (1 << (width - 1)) - 1
    return highest - model.scoring.matrix.greatest if model.scoring.is_local else highest


def widths_of(model: PairwiseQuery, longest: int) -> tuple[int, ...]:
    """Return the numbers of bits that a batch may need, the least first.

    Each serves the sequences that the one before has not been enough for. Alignments of whole sequences get
    at once what holds every score on their way.

    Parameters
    ----------
    model : PairwiseQuery
    longest : int
        Residues of the longest sequence.
    """
    scoring = model.scoring
    reach = min(model.length, longest) * scoring.matrix.greatest
    if not scoring.is_local:
        gaps = scoring.gaps
        # A gap down to a cell and one across to it always lead there.
        depth = gaps.of(model.length) + (gaps.of(longest) if scoring.mode == "global" else 0) + 2 * gaps.first
        return (16,) if max(reach, depth) < limit_of(16, model) - MAX_SCORE else (32,)
    widths = (8, 16, 32) if scoring.matrix.greatest <= MAX_BYTE_SCORE else (16, 32)
    n_needed = 1 + sum(limit_of(width, model) < reach for width in widths[:-1])
    return widths[:n_needed]


class _Tables(Struct, frozen=True):
    """A query on a device: the number of each of its letters, and what letter codes score against them."""

    letters: Buffer
    scores: Buffer
    n_letters: int


def _tables(session: KernelSession, model: PairwiseQuery) -> _Tables:
    def make() -> _Tables:
        codes, letters = np.unique(model.sequence.codes, return_inverse=True)
        scores = model.scoring.matrix.scores[codes]
        assert scores.shape[1] == N_CODES == 32  # the kernel's tables have this many
        return _Tables(session.upload(letters.astype(np.uint8)), session.upload(scores), len(codes))

    return session.cached("smith-waterman letters", model, make)


class _Order(Struct, frozen=True):
    """The rows of a batch that are not empty, the longest first.

    Attributes
    ----------
    first : int32[]
        Up to `MAX_TARGETS_ALONE` of them, and one more.
    n_residues : int
        Of all.
    listed, count : Buffer
        All but those that are computed alone, and how many they are, on a device.
    """

    first: Rows
    n_residues: int
    listed: Buffer
    count: Buffer


def _order(session: KernelSession, batch: SequenceBatch, n_alone: int = 0) -> _Order:
    """Return the rows that are not empty, the longest first, without the first of them on the device."""

    def make() -> _Order:
        order = longest_first(batch.lengths).astype(np.int32)
        order = order[: np.count_nonzero(batch.lengths)]
        left = order[n_alone:]
        listed = session.upload(left if len(left) else order)
        count = session.upload(np.array([len(left)], np.uint32))
        return _Order(order[: MAX_TARGETS_ALONE + 1].copy(), int(batch.n_cells(1)), listed, count)

    return session.cached(f"longest first but {n_alone}", batch, make)


def alone(lengths: npt.NDArray[np.int64], longest_other: int, n_residues: int, n_cores: int) -> int:
    """Return how many of the longest targets had better have all cores, one after the other.

    In lanes a target takes one lane as long as all others take together if these are few.

    Parameters
    ----------
    lengths : int64[n]
        Of the longest targets, the longest first.
    longest_other : int
        Length of the longest of the others; 0 if there are none.
    n_residues : int
        Of all targets.
    n_cores : int
    """
    before = np.concatenate([[0], np.cumsum(lengths)])
    left = np.maximum(LANE_SHARE * np.append(lengths, longest_other), (n_residues - before) / (LANE_SHARE * n_cores))
    return int(np.argmin(before / n_cores + left))


def start_vector(
    session: KernelSession, batch: SequenceBatch, model: PairwiseQuery, choices: Choices
) -> Callable[[], PairScores]:
    """Enqueue the kernels on a batch with a residue or more; return a callable that waits for the scores."""
    n_lanes = max(1, session.device.n_compute_units) * PairTuning.of(session.device).vector_bits // 8
    everything = session.cached("every row", batch, lambda: np.arange(len(batch), dtype=np.int32))
    pieces = pieces_of(session, batch, everything, model, PIECE_SHARE * batch.n_cells(1) / n_lanes)
    if pieces is None:
        return _start_whole(session, batch, model, choices)
    fetch = _start_whole(session, pieces.batch, model, choices)

    def result() -> PairScores:
        found = fetch()
        best = pieces.best(found.scores.values)
        return PairScores(
            Scores(batch.targets, best),
            # What was computed again is known of pieces, and is to be reported of targets.
            int((best > limit_of(8, model)).sum()) if found.n_in_16_bits else 0,
            int((best > limit_of(16, model)).sum()) if found.n_in_32_bits else 0,
        )

    return result


def _start_whole(
    session: KernelSession, batch: SequenceBatch, model: PairwiseQuery, choices: Choices
) -> Callable[[], PairScores]:
    """Enqueue the kernels on targets as they are; those that are long beside the others follow one by one."""
    lengths, order = batch.lengths, _order(session, batch)
    longest = lengths[order.first].astype(np.int64)
    may_be = int((longest[:MAX_TARGETS_ALONE] * model.length >= MIN_CELLS_ALONE).sum())
    longest_other = int(longest[may_be]) if may_be < len(longest) else 0
    n_cores = max(1, session.device.n_compute_units)
    n_alone = alone(longest[:may_be], longest_other, order.n_residues, n_cores)
    rows_alone, n_left = order.first[:n_alone], np.count_nonzero(lengths) - n_alone
    order = _order(session, batch, n_alone)
    listed, count = order.listed, order.count
    scores = session.zeros(4 * len(batch))
    counts: dict[int, Callable[[], npt.NDArray[np.generic]]] = {}
    widths = widths_of(model, int(longest[n_alone])) if n_left else ()
    for width in widths:
        if width != widths[0]:
            counts[width] = session.fetch(count, 1, np.uint32)
        again, n_again = session.allocate(4 * len(batch)), session.zeros(4)
        _launch(session, batch, model, {"WIDTH": width, **choices}, listed, count, scores, again, n_again)
        listed, count = again, n_again
    values = session.fetch(scores, len(batch), np.int32)

    def result() -> PairScores:
        of_nothing = np.int32(model.scoring.unpaired(model.length))
        found = np.where(lengths == 0, of_nothing, values())
        for row in rows_alone.tolist():
            found[row] = LONG_PAIR.best_score(session, model.sequence.codes, batch.residues(row), model.scoring)
        found = possible_scores(session, batch, model, found)
        n_again = {width: int(n()[0]) for width, n in counts.items()}
        session.demand(max(n_again.values(), default=0) <= len(batch), "more targets to be scored again than there are")
        return PairScores(Scores(batch.targets, found), n_again.get(16, 0), n_again.get(32, 0))

    return result


def possible_scores(session: KernelSession, batch: SequenceBatch, model: PairwiseQuery, scores: Rows) -> Rows:
    """Return scores that a device may have computed for a batch."""
    greatest = np.minimum(batch.lengths, model.length) * max(model.scoring.matrix.greatest, 0)
    lowest = 0 if model.scoring.is_local else -(2**30)
    session.demand(((scores >= lowest) & (scores <= greatest)).all(), "a score that no alignment of two sequences has")
    return scores


def _launch(
    session: KernelSession, batch: SequenceBatch, model: PairwiseQuery, choices: Choices, *rows: Buffer
) -> None:
    """Enqueue the kernel; `rows` are the buffers of rows, their count, scores, rows to be scored again, their count."""
    listed, count, scores, again, n_again = rows
    scoring, tables, tuning = model.scoring, _tables(session, model), PairTuning.of(session.device)
    width = choices["WIDTH"]
    # A cost that is above all scores is as good as any such.
    most = MAX_SCORE if width == 8 else MAX_GAP_COST
    first, next_one = min(scoring.gaps.first, most), min(scoring.gaps.next, most)
    built_in = {"LANES": tuning.vector_bits // width, "COLUMNS": tuning.columns, "MASKS": tuning.masks}
    defines = {"MODE": MODES.index(scoring.mode), **built_in, **choices}
    n_items = max(1, session.device.n_compute_units)
    memory = session.scratch("columns", n_items * 2 * model.length * defines["LANES"] * defines["WIDTH"] // 8)
    session.launch(
        "smith_waterman_vector", "pair_score", defines, n_items, 1, *session.residues(batch), listed, count,
        tables.letters, np.int32(model.length), tables.scores, np.int32(tables.n_letters),
        np.int32(first), np.int32(next_one), np.int32(limit_of(width, model)), memory, session.zeros(4),
        scores, again, n_again,
    )  # fmt: skip
