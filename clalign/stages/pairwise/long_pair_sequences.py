"""The two sequences of a long pair, their letters numbered, on a device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.pairwise.smith_waterman_trace_plan import kinds_of
from clalign.values.scoring import Scoring

NEVER_OPENS = 1 << 28
"""What a gap costs that is never opened."""

VECTOR_LANES = 16

Codes = npt.NDArray[np.uint8]


class Sequences(Struct, frozen=True):
    """A pair on a device, and all that is the same for every part of its matrix.

    Attributes
    ----------
    query, target, scores : Buffer
        Numbers of letters from 0, and what they score.
    n_letters : int
        That a target may have.
    equal : tuple of int or None
        Scores of equal numbers and of all others, if that is all there is to it.
    given : mapping of str to int
        Macros; among them `VECTOR` where lanes are those of a vector.
    """

    session: KernelSession
    scoring: Scoring
    query: Buffer
    target: Buffer
    scores: Buffer
    n_letters: int
    equal: tuple[int, int] | None
    given: Mapping[str, int]

    @classmethod
    def of(
        cls, session: KernelSession, query: Codes, target: Codes, scoring: Scoring, given: Mapping[str, int]
    ) -> Sequences:
        """Number the letters of a pair, and bring it to a device."""
        kinds = kinds_of(scoring.matrix)  # number 0 of the query stands behind its end
        if kinds.equal and "VECTOR" in given:
            ours, theirs = 1 + kinds.codes[0][query], 1 + kinds.codes[1][target]
            scores, n_letters = np.zeros(1, np.int8), 1
        else:
            # Letters that score alike are one.
            of_query, of_target = (np.flatnonzero(np.bincount(codes)) for codes in (query, target))
            table, columns = np.unique(scoring.matrix.scores[of_query][:, of_target], axis=1, return_inverse=True)
            table, rows = np.unique(table, axis=0, return_inverse=True)
            ours, theirs = _numbered(query, of_query, 1 + rows), _numbered(target, of_target, columns)
            n_letters = table.shape[1]
            scores = np.vstack([np.full((1, n_letters), -1), table]).astype(np.int8)
        return cls(
            session, scoring, session.upload(ours.astype(np.uint8, copy=False)),
            session.upload(theirs.astype(np.uint8, copy=False)), session.upload(scores.reshape(-1)),
            n_letters, kinds.equal, given,
        )  # fmt: skip

    @property
    def gaps(self) -> tuple[int, int]:
        """What the first and each further residue of a gap cost."""
        return (
            (NEVER_OPENS, 0) if self.scoring.mode == "ungapped" else (self.scoring.gaps.first, self.scoring.gaps.next)
        )

    def macros(self, rows: int, is_traced: bool) -> dict[str, int]:
        """Return the choices of the kernel."""
        return {
            "ROWS": rows, "LETTERS": self.n_letters, "LOCAL": int(self.scoring.is_local), "TRACED": int(is_traced),
            "EQUAL": int(self.equal is not None and "VECTOR" in self.given), **self.given,
        }  # fmt: skip

    @property
    def n_lanes(self) -> int:
        """Lanes that work together."""
        return self.given.get("LANES", VECTOR_LANES)

    @property
    def group(self) -> int:
        """Work-items of a group: its lanes, or one with a vector of them."""
        return self.given.get("LANES", 1)


def _numbered(codes: Codes, present: npt.NDArray[np.intp], numbers: npt.NDArray[np.intp]) -> Codes:
    """Return a sequence with numbers in place of its letter codes, of which those that are present are given."""
    table = np.zeros(int(present[-1]) + 1, np.uint8)
    table[present] = numbers.reshape(-1)
    return table[codes]
