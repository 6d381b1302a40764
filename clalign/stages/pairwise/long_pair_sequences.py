"""The two sequences of a long pair, their letters numbered, on a device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession
from clalign.values.scoring import Scoring

NEVER_OPENS = 1 << 28
"""Cost of a gap that is never opened."""

VECTOR_LANES, VECTORS = 16, 16
"""Numbers in a vector and vectors of a strip in the shape for processors."""

REACH = 768
"""Rows and columns of a tile in the shape for processors together, at most."""

MAX_16_BIT_SPREAD = 29_000
"""Scores of a tile that are no further apart than this are computed in 16 bits there: what is worth less than a gap
that never comes, -30,000, must not be beyond them."""

MAX_STEP_COST = 20
"""Limit of the cost of each further residue of a gap with 16 bits: it is subtracted from the least score 128 times."""

BEYOND = -1
"""Score of a row after the end of the query with every letter."""

Codes = npt.NDArray[np.uint8]


class Sequences(Struct, frozen=True):
    """A pair on a device, and all that is the same for every part of its matrix.

    Attributes
    ----------
    query, target, scores : Buffer
        Numbers of letters from 0, and what they score: letters of the query, or each row of it in the shape for
        processors.
    n_letters : int
        That a target may have.
    given : mapping of str to int
        Macros; among them `LANES` where these are work-items.
    """

    session: KernelSession
    scoring: Scoring
    query: Buffer
    target: Buffer
    scores: Buffer
    n_letters: int
    given: Mapping[str, int]

    @classmethod
    def of(
        cls, session: KernelSession, query: Codes, target: Codes, scoring: Scoring, given: Mapping[str, int]
    ) -> Sequences:
        """Number the letters of a pair, and bring it to a device."""
        # Letters that score alike are one.
        of_query, of_target = (np.flatnonzero(np.bincount(codes)) for codes in (query, target))
        table, columns = np.unique(scoring.matrix.scores[of_query][:, of_target], axis=1, return_inverse=True)
        table, rows = np.unique(table, axis=0, return_inverse=True)
        ours, theirs = _numbered(query, of_query, 1 + rows), _numbered(target, of_target, columns)
        n_letters = table.shape[1]
        # Number 0 of the query stands behind its end.
        scores = np.vstack([np.full((1, n_letters), BEYOND), table]).astype(np.int8)
        if "LANES" not in given:
            scores = _striped(scores, ours)
        return cls(
            session, scoring, session.upload(ours), session.upload(theirs), session.upload(scores.reshape(-1)),
            n_letters, given,
        )  # fmt: skip

    @property
    def gaps(self) -> tuple[int, int]:
        """What the first and each further residue of a gap cost."""
        return (
            (NEVER_OPENS, 0) if self.scoring.mode == "ungapped" else (self.scoring.gaps.first, self.scoring.gaps.next)
        )

    def border(self, length: int) -> npt.NDArray[np.int32]:
        """Return the edge before the first row or column of the matrix (int32[length + 1, 2])."""
        edge, (first, next_one) = np.zeros((length + 1, 2), np.int32), self.gaps
        if self.scoring.mode == "global":
            edge[1:, 0] = -first - next_one * np.arange(length)
        edge[:, 1] = edge[:, 0] - first
        return edge

    @property
    def is_vector(self) -> bool:
        """Whether it is the shape for processors."""
        return "LANES" not in self.given

    @property
    def source(self) -> str:
        """The file of its kernels."""
        return "long_pair_vector" if self.is_vector else "long_pair_lanes"

    @property
    def width(self) -> int:
        """Bits of the scores of a tile, less that of its corner, in the shape for processors.

        A score differs from that of a cell this many rows and columns away by no more than as many of the highest
        scores of two letters, and what two gaps of that length cost; without gaps, there is no such limit.
        """
        greatest, (first, next_one) = max(0, self.scoring.matrix.greatest), self.gaps
        farthest = REACH * (greatest + next_one) + 4 * first + greatest
        return 16 if farthest <= MAX_16_BIT_SPREAD and next_one <= MAX_STEP_COST else 32

    def macros(self, rows: int, is_traced: bool) -> dict[str, int]:
        """Return the choices of the kernel."""
        if self.is_vector:
            of_shape = {"VECTORS": rows, "WIDTH": self.width}
        else:
            of_shape = {"ROWS": rows, "LETTERS": self.n_letters}
        return {**of_shape, "LOCAL": int(self.scoring.is_local), "TRACED": int(is_traced), **self.given}

    @property
    def n_lanes(self) -> int:
        """Lanes that work together."""
        return self.given.get("LANES", VECTOR_LANES)

    def n_best(self, n_strips: int, n_tiles: int) -> int:
        """Return of how many parts of this many strips and columns of tiles the best cell is known."""
        return n_strips + n_tiles if self.is_vector else n_strips * self.n_lanes

    @property
    def group(self) -> int:
        """Work-items of a group: its lanes, or one with vectors of them."""
        return self.given.get("LANES", 1)


def _numbered(codes: Codes, present: npt.NDArray[np.intp], numbers: npt.NDArray[np.intp]) -> Codes:
    """Return a sequence with numbers in place of its letter codes, of which those that are present are given."""
    table = np.zeros(int(present[-1]) + 1, np.uint8)
    table[present] = numbers.reshape(-1)
    return table[codes]


def _striped(scores: npt.NDArray[np.int8], query: Codes) -> npt.NDArray[np.int8]:
    """Return the score of each row with every letter (int8[strips, letters, VECTORS, VECTOR_LANES])."""
    rows = np.zeros(-(-len(query) // (VECTORS * VECTOR_LANES)) * VECTORS * VECTOR_LANES, np.uint8)
    rows[: len(query)] = query
    striped = rows.reshape(-1, VECTOR_LANES, VECTORS).transpose(0, 2, 1)
    return np.ascontiguousarray(scores.T[:, striped].swapaxes(0, 1))
