"""Long targets of Smith-Waterman in overlapping pieces, which a device scores at once.

A local alignment pays for every residue of the target that stands beside a gap, so that it cannot go further than
its query's scores pay for. Pieces that overlap by as much hold every alignment whole: the best score of a target is
the best of its pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.scoring import PairwiseQuery
from clalign.sequences import SequenceBatch

LEAST_PIECE = 4
"""A piece is at least so many times as long as what it may share with the next one."""

Rows = npt.NDArray[np.int32]
Scores = npt.NDArray[np.int32]


def longest_reach(model: PairwiseQuery) -> int | None:
    """Return from how many residues of a target a score above 0 may come at most; None if there is no limit.

    What the query's residues gain at best has to pay for the gap, or gaps, with the other residues of the target.
    """
    scoring = model.scoring
    if scoring.mode == "ungapped":
        return model.length
    if not scoring.is_floored:
        return None
    to_spend = int(np.maximum(model.profile.max(axis=1), 0).sum(dtype=np.int64)) - 1
    if to_spend < scoring.gaps.first:
        return model.length
    if scoring.gaps.next == 0:
        return None
    return model.length + (to_spend - scoring.gaps.first) // scoring.gaps.next + 1


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Pieces:
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
    firsts: npt.NDArray[np.int64]
    most: int

    def best(self, scores: Scores) -> Scores:
        """Return the score of each target (int32[n]), given those of all pieces."""
        best: Scores = np.maximum.reduceat(scores, self.firsts)
        return best


def cut(batch: SequenceBatch, rows: Rows, most: int, reach: int) -> Pieces:
    """Cut chosen targets of a batch, at least one, into pieces of up to `most` residues, which is above `reach`."""
    step = most - reach + 1
    lengths = batch.lengths[rows].astype(np.int64)
    counts = np.maximum(1, -(-(lengths - reach + 1) // step))
    firsts = np.cumsum(counts) - counts
    row_of = np.repeat(rows, counts)
    begins = (np.arange(len(row_of)) - np.repeat(firsts, counts)) * step
    sizes = np.minimum(np.repeat(lengths, counts) - begins, most)
    starts = batch.offsets[row_of] + begins
    codes = [batch.codes[start:end] for start, end in zip(starts.tolist(), (starts + sizes).tolist(), strict=True)]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return Pieces(SequenceBatch(np.concatenate(codes), offsets, row_of.astype(np.int64)), firsts, most)


def pieces_of(session: Any, batch: SequenceBatch, rows: Rows, model: PairwiseQuery, wanted: float) -> Pieces | None:
    """Return chosen targets in pieces of some `wanted` residues, kept on a session for queries that reach alike.

    None if they need not be cut, or cannot.
    """
    reach = longest_reach(model)
    if reach is None or not len(rows):
        return None
    shared = 1 << (reach - 1).bit_length()
    most = max(LEAST_PIECE * shared, int(wanted))
    if int(batch.lengths[rows].max()) <= most:
        return None
    pieces: Pieces = session.resident(
        f"pieces of {most} sharing {shared}", batch, lambda: cut(batch, rows, most, shared)
    )
    return pieces
