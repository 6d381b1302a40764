"""How two sequences are scored against each other: matrix, gap costs, and what an alignment may leave out."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.errors import OptionError
from clalign.values.alphabets import N_CODES, code_of
from clalign.values.sequences import Sequence

Mode = Literal["local", "global", "semiglobal", "ungapped"]
"""``local``: the best parts of both. ``global``: all of both. ``semiglobal``: all of both but for what
overhangs at either end. ``ungapped``: the best parts of both, without gaps."""

MODES: tuple[Mode, ...] = ("local", "global", "semiglobal", "ungapped")

MAX_SCORE = 127
"""Entries of a matrix lie between this and its negative, so that a byte holds them."""

MAX_GAP_COST = 1000

UNKNOWN = "*"
"""The letter whose scores stand for those of letters that a matrix does not have."""


class SubstitutionMatrix(Struct, frozen=True, eq=False, weakref=True):
    """Scores of pairs of letters.

    Attributes
    ----------
    name : str
        As its publication, its file or its two numbers call it.
    letters : str
        The letters it has scores for, upper case, in its own order.
    scores : int8[N_CODES, N_CODES]
        By the letter codes of query and target. Letters that it does not have count as ``*``; if it has no
        such letter, they get its least score.
    is_nucleic : bool
        Whether it is for DNA and RNA.
    """

    name: str
    letters: str
    scores: npt.NDArray[np.int8]
    is_nucleic: bool

    @property
    def greatest(self) -> int:
        """The highest score of two letters."""
        return int(self.scores.max())

    @property
    def least(self) -> int:
        """The lowest score of two letters."""
        return int(self.scores.min())

    @classmethod
    def from_table(cls, name: str, letters: str, table: npt.ArrayLike, is_nucleic: bool) -> SubstitutionMatrix:
        """Return the matrix of a table of its letters.

        Parameters
        ----------
        name, letters : str
        table : int[len(letters), len(letters)]
            Scores, query by target.
        is_nucleic : bool
            Then U and T are the same letter if only one of them is there.

        Raises
        ------
        OptionError
            If a score does not fit a byte, or none is above 0.
        """
        values = np.asarray(table, np.int64)
        if abs(values).max(initial=0) > MAX_SCORE:
            raise OptionError(
                f"The matrix {name} has a score of {values.flat[np.abs(values).argmax()]}.",
                f"Scores must lie between -{MAX_SCORE} and {MAX_SCORE}; scale them.",
            )
        if values.max(initial=0) <= 0:
            raise OptionError(
                f"The matrix {name} has no score above 0.", "Give a matrix in which likely pairs score above 0."
            )
        codes = np.array([code_of(letter) for letter in letters])
        scores = np.full((N_CODES, N_CODES), values.min(), np.int64)
        if UNKNOWN in letters:
            star = letters.index(UNKNOWN)
            scores[:] = values[star, star]
            scores[codes, :], scores[:, codes] = values[:, [star]], values[star]
        scores[np.ix_(codes, codes)] = values
        if is_nucleic:
            for one, other in ("UT", "TU"):
                if one in letters and other not in letters:
                    scores[code_of(other)] = scores[code_of(one)]
                    scores[:, code_of(other)] = scores[:, code_of(one)]
        frozen = scores.astype(np.int8)
        frozen.flags.writeable = False
        return cls(name, letters, frozen, is_nucleic)

    @classmethod
    def match_mismatch(cls, match: int, mismatch: int) -> SubstitutionMatrix:
        """Return the matrix of nucleic acids with one score for equal bases and one for all else."""
        table = np.full((4, 4), mismatch)
        np.fill_diagonal(table, match)
        if match <= mismatch:
            raise OptionError(
                f"A match scores {match} and a mismatch {mismatch}.", "A match must score more than a mismatch."
            )
        return cls.from_table(f"{match:+d}/{mismatch:+d}", "ACGT", table, is_nucleic=True)


class GapCosts(Struct, frozen=True):
    """Costs of gaps, which are subtracted from the score.

    Attributes
    ----------
    first, next : int
        Cost of the first residue of a gap and of each further one. Equal numbers make a linear gap.
    """

    first: int
    next: int

    def __post_init__(self) -> None:
        if not 0 <= self.next <= self.first <= MAX_GAP_COST:
            raise OptionError(
                f"The first residue of a gap costs {self.first}, each further one {self.next}.",
                f"Give costs from 0 to {MAX_GAP_COST:,}, the first one not below the others.",
            )

    def of(self, length: int) -> int:
        """Return the cost of a gap of `length` residues."""
        return self.first + (length - 1) * self.next if length > 0 else 0

    @classmethod
    def from_blast(cls, opening: int, extension: int) -> GapCosts:
        """Return costs given as BLAST has them, where k residues cost opening + k * extension."""
        return cls(opening + extension, extension)

    @property
    def blast(self) -> tuple[int, int]:
        """The costs as BLAST has them: opening, extension."""
        return self.first - self.next, self.next


class Scoring(Struct, frozen=True):
    """The scoring of alignments of two sequences.

    Attributes
    ----------
    matrix : SubstitutionMatrix
    gaps : GapCosts
        Not used by ``ungapped``.
    mode : str
        One of `MODES`.
    """

    matrix: SubstitutionMatrix
    gaps: GapCosts
    mode: Mode = "local"

    @property
    def is_local(self) -> bool:
        """Whether an alignment may begin and end anywhere, so that no score is below 0."""
        return self.mode in ("local", "ungapped")

    def unpaired(self, n_residues: int) -> int:
        """Return the score of two sequences, one of them empty and the other of this many residues."""
        return -self.gaps.of(n_residues) if self.mode == "global" else 0


class PairwiseQuery(Struct, frozen=True, eq=False, weakref=True):
    """A query with its scoring, as stages take it.

    Attributes
    ----------
    sequence : Sequence
    scoring : Scoring
    """

    sequence: Sequence
    scoring: Scoring

    @property
    def length(self) -> int:
        """Residues of the query."""
        return len(self.sequence)

    @property
    def profile(self) -> npt.NDArray[np.int8]:
        """What each letter of a target scores against each residue (int8[length, N_CODES])."""
        scores: npt.NDArray[np.int8] = self.scoring.matrix.scores[self.sequence.codes]
        return scores
