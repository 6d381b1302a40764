"""Long targets of Smith-Waterman in overlapping pieces, which a device scores at once.

A local alignment pays for every residue of the target that stands beside a gap, so that it cannot go further than
its query's scores pay for. Pieces that overlap by as much hold every alignment whole: the best score of a target is
the best of its pieces.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import KernelSession
from clalign.stages.pairwise.smith_waterman_trace_plan import Pairs, Traces
from clalign.values.scoring import PairwiseQuery, Scoring
from clalign.values.sequences import SequenceBatch

MIN_PIECE = 1.5
"""A piece is at least this many times as long as what it may share with the next one: all of them hold up to three
times the residues of the targets.
"""

MIN_TRACED = 4
"""Least length of traced pieces in units of their overlap."""

UNLIMITED = 2**40
"""More residues than any target has."""

Codes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]
Places = npt.NDArray[np.int64]
Scores = npt.NDArray[np.int32]


def longest_reach(query: Codes, scoring: Scoring) -> int | None:
    """Return from how many residues of a target a score above 0 may come at most; None if there is no limit.

    What the query's residues gain at best has to pay for the gap, or gaps, with the other residues of the target.

    Parameters
    ----------
    query : uint8[length]
        Letter codes.
    scoring : Scoring
    """
    length, gaps = len(query), scoring.gaps
    if scoring.mode == "ungapped":
        return length
    if not scoring.is_local:
        return None
    to_spend = int(np.maximum(scoring.matrix.scores.max(axis=1), 0)[query].sum(dtype=np.int64)) - 1
    if to_spend < gaps.first:
        return length
    if gaps.next == 0:
        return None
    return length + (to_spend - gaps.first) // gaps.next + 1


class Pieces(Struct, frozen=True, eq=False, weakref=True):
    """Targets in pieces.

    Attributes
    ----------
    batch : SequenceBatch
        The pieces, those of a target one after the other; `targets` are the rows they come from.
    firsts : int64[n]
        The first piece of each target.
    most : int
        Residues of the longest piece at most.
    """

    batch: SequenceBatch
    firsts: Places
    most: int

    def best(self, scores: Scores) -> Scores:
        """Return the score of each target (int32[n]), given those of all pieces."""
        best: Scores = np.maximum.reduceat(scores, self.firsts)
        return best


def pieces_at(lengths: Places, most: Places, reach: Places) -> tuple[Places, Places, Places]:
    """Return the pieces of targets, those of a target in their order.

    Parameters
    ----------
    lengths, most, reach : int64[n]
        Residues of each target, of its longest piece and of what its alignments span.

    Returns
    -------
    of_target, begins, sizes : int64[n_pieces]
        The target, and where in it the piece begins and how long it is.
    """
    step = most - reach + 1
    counts = np.maximum(1, -(-(lengths - reach + 1) // step))
    of_target = np.repeat(np.arange(len(lengths)), counts)
    begins = (np.arange(len(of_target)) - np.repeat(np.cumsum(counts) - counts, counts)) * step[of_target]
    return of_target, begins, np.minimum(lengths[of_target] - begins, most[of_target])


def cut(batch: SequenceBatch, rows: Rows, most: int, reach: int) -> Pieces:
    """Cut chosen targets of a batch, at least one, into pieces of up to `most` residues, which is above `reach`."""
    lengths = batch.lengths[rows].astype(np.int64)
    of_target, begins, sizes = pieces_at(lengths, np.full(len(rows), most), np.full(len(rows), reach))
    row_of = rows[of_target]
    starts = batch.offsets[row_of] + begins
    codes = [batch.codes[start:end] for start, end in zip(starts.tolist(), (starts + sizes).tolist(), strict=True)]
    firsts = np.flatnonzero(begins == 0)
    return Pieces(SequenceBatch.of_lengths(np.concatenate(codes), sizes, row_of.astype(np.int64)), firsts, most)


def pieces_of(
    session: KernelSession, batch: SequenceBatch, rows: Rows, model: PairwiseQuery, wanted: float
) -> Pieces | None:
    """Return chosen targets in pieces; None if they need not be cut, or cannot.

    Of a piece `wanted` residues are its own, the others it shares: longer ones would keep a device waiting for the
    last of them, shorter ones would all share more. A session keeps the pieces with the array of rows, for queries
    that reach alike.
    """
    reach = longest_reach(model.sequence.codes, model.scoring)
    if reach is None or not len(rows):
        return None
    longest = session.cached("longest of rows", rows, lambda: int(batch.lengths[rows].max()))
    shared = 1 << (reach - 1).bit_length()
    most = shared + max(int(wanted), int((MIN_PIECE - 1) * shared), 1)
    if longest <= most:
        return None
    return session.cached(f"pieces of {most} sharing {shared}", rows, lambda: cut(batch, rows, most, shared))


class PiecesOfPairs(Struct, frozen=True):
    """Pairs whose targets are in pieces.

    Attributes
    ----------
    pairs : Pairs
        A pair for each piece, those of a target one after the other.
    of_pair, begins : int64[n_pieces]
        The whole pair, and where in its target the piece begins.
    """

    pairs: Pairs
    of_pair: Places
    begins: Places

    def best(self, traces: Traces) -> Traces:
        """Return the alignment of each whole pair: of the best ones that which ends nearest to the top left."""
        score, _, to_i, _, to_j, _ = traces.results.T.astype(np.int64)
        order = np.lexsort((to_i, to_i + to_j + self.begins, -score, self.of_pair))
        chosen = order[np.flatnonzero(np.diff(self.of_pair[order], prepend=-1))]
        results = traces.results[chosen]
        results[:, [3, 4]] += self.begins[chosen, None].astype(np.int32)
        return Traces(results, traces.ends[chosen], traces.paths)


def cut_pairs(pairs: Pairs, scoring: Scoring) -> PiecesOfPairs | None:
    """Return pairs with the targets that are much longer than their alignments in pieces; None if there are none."""
    m, n = pairs.lengths
    long = np.flatnonzero(n > MIN_TRACED * m)
    # A batch may hold many targets of one query, which is known by where it begins.
    _, first_rows, of_query = np.unique(pairs.spans[long, 0], return_index=True, return_inverse=True)
    codes = pairs.batch.queries.codes
    spans_of_queries = pairs.spans[long[first_rows], :2].tolist()
    reaches = [longest_reach(codes[first : first + length], scoring) for first, length in spans_of_queries]
    reach = np.full_like(n, UNLIMITED)
    reach[long] = np.array([limit or UNLIMITED for limit in reaches], np.int64)[of_query]
    is_cut = n > MIN_TRACED * reach
    if not is_cut.any():
        return None
    reach = np.where(is_cut, reach, 1)
    most = np.where(is_cut, MIN_TRACED * reach, n)
    of_pair, begins, sizes = pieces_at(n, most, reach)
    spans = pairs.spans[of_pair]
    spans[:, 2] += begins.astype(np.int32)
    spans[:, 3] = sizes
    return PiecesOfPairs(Pairs(pairs.batch, spans), of_pair, begins)
