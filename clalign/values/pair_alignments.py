"""Alignments of two sequences: their path, what it is worth, and its picture in text."""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.alignments import AlignmentText
from clalign.values.alphabets import DECODE, code_of
from clalign.values.scoring import Scoring

URACIL, THYMINE = code_of("U"), code_of("T")

_RUN = re.compile(r"(\d+)([MID])")


class PairAlignment(NamedTuple):
    """The best alignment of a query and a target; a tuple, since there may be millions.

    Attributes
    ----------
    score : int
    query_range, target_range : tuple of int
        What is aligned, 0-based, half open. In ``semiglobal`` mode the overhangs are not part of it.
    path : str
        One letter a column: ``M`` two residues, ``I`` a residue of the query alone, ``D`` one of the target
        alone (SAM's letters, the target being the reference).
    """

    score: int
    query_range: tuple[int, int]
    target_range: tuple[int, int]
    path: str

    @property
    def cigar(self) -> str:
        """The path in runs, as in ``12M1D30M``; ``*`` without columns."""
        return "".join(f"{len(list(run))}{letter}" for letter, run in groupby(self.path)) or "*"

    @property
    def n_gap_residues(self) -> int:
        """Columns with a residue of one sequence only."""
        return len(self.path) - self.path.count("M")

    @property
    def n_gaps(self) -> int:
        """Gaps, of whatever length."""
        return sum(letter != "M" for letter, _ in groupby(self.path))


def path_of(cigar: str) -> str:
    """Return the path of a CIGAR of ``M``, ``I`` and ``D``."""
    return "".join(letter * int(count) for count, letter in _RUN.findall(cigar))


class AlignedColumns(Struct, frozen=True):
    """The letters of an alignment, column by column.

    Attributes
    ----------
    query, target : uint8[n_columns]
        Letter codes; of no meaning where the path has no residue of that sequence.
    kinds : uint8[n_columns]
        ASCII code of ``M``, ``I`` or ``D``.
    """

    query: npt.NDArray[np.uint8]
    target: npt.NDArray[np.uint8]
    kinds: npt.NDArray[np.uint8]

    @property
    def pairs(self) -> npt.NDArray[np.bool_]:
        """Which columns hold two residues (bool[n_columns])."""
        pairs: npt.NDArray[np.bool_] = self.kinds == ord("M")
        return pairs

    def identical(self, scoring: Scoring) -> npt.NDArray[np.bool_]:
        """Return which columns hold two equal residues (bool[n_columns]); of nucleic acids U and T are equal."""
        query, target = self.query, self.target
        if scoring.matrix.is_nucleic:
            query, target = (np.where(row == URACIL, THYMINE, row) for row in (query, target))
        identical: npt.NDArray[np.bool_] = self.pairs & (query == target)
        return identical

    def positive(self, scoring: Scoring) -> npt.NDArray[np.bool_]:
        """Return which columns hold two residues that score above 0 (bool[n_columns])."""
        positive: npt.NDArray[np.bool_] = self.pairs & (scoring.matrix.scores[self.query, self.target] > 0)
        return positive


def aligned_columns(
    alignment: PairAlignment, query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8]
) -> AlignedColumns:
    """Return the letters of an alignment.

    Parameters
    ----------
    alignment : PairAlignment
    query, target : uint8[length]
        Letter codes of the whole sequences.
    """
    kinds = np.frombuffer(alignment.path.encode("ascii"), np.uint8)
    in_query, in_target = kinds != ord("D"), kinds != ord("I")
    places = alignment.query_range[0] - 1 + np.cumsum(in_query)
    others = alignment.target_range[0] - 1 + np.cumsum(in_target)
    return AlignedColumns(
        query[np.maximum(places, 0)] if len(query) else np.zeros(len(kinds), np.uint8),
        target[np.maximum(others, 0)] if len(target) else np.zeros(len(kinds), np.uint8),
        kinds,
    )


def path_score(
    alignment: PairAlignment, query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], scoring: Scoring
) -> int:
    """Return the score of the path of an alignment, computed from it alone: a check of the dynamic programming."""
    columns = aligned_columns(alignment, query, target)
    score = int(scoring.matrix.scores[columns.query, columns.target][columns.pairs].sum(dtype=np.int64))
    gaps = (len(list(run)) for letter, run in groupby(alignment.path) if letter != "M")
    return score - sum(scoring.gaps.of(length) for length in gaps)


def pair_text(
    alignment: PairAlignment, query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], scoring: Scoring
) -> AlignmentText:
    """Return the rows of an alignment: query, ``|`` for equal residues, ``+`` for positive scores, target."""
    columns = aligned_columns(alignment, query, target)
    dash, space = np.uint8(ord("-")), np.uint8(ord(" "))
    top = np.where(columns.kinds == ord("D"), dash, DECODE[columns.query])
    bottom = np.where(columns.kinds == ord("I"), dash, DECODE[columns.target])
    other = np.where(columns.positive(scoring), np.uint8(ord("+")), space)
    middle = np.where(columns.identical(scoring), np.uint8(ord("|")), other)
    return AlignmentText(*(str(row.astype(np.uint8).tobytes(), "ascii") for row in (top, middle, bottom)))
