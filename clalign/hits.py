"""What a search finds: scores of all targets, hits, and their domains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.alignments import AlignmentText


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the sequences of a batch.

    Attributes
    ----------
    targets : int64[n]
        Row of each in the database.
    values : int32[n]
        Integer scores, 1000 units to the bit.
    """

    targets: npt.NDArray[np.int64]
    values: npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Domain:
    """One domain of a hit.

    Attributes
    ----------
    number : int
        Its place among the hit's counting domains, from 1.
    score, bias : float
        Corrected score and null2 correction, in bits.
    evalue : float
        E-value of the score alone.
    profile_range, target_range, envelope : tuple of int
        0-based, half open.
    raw : int
        Uncorrected integer score of the path.
    states : str
        The path: ``M``, ``I``, ``D`` for each step.
    text : AlignmentText
        The alignment as rows.
    """

    number: int
    score: float
    bias: float
    evalue: float
    profile_range: tuple[int, int]
    target_range: tuple[int, int]
    envelope: tuple[int, int]
    raw: int
    states: str
    text: AlignmentText


@dataclass(frozen=True, slots=True)
class Hit:
    """A sequence that a profile found.

    Attributes
    ----------
    row : int
        Its row in the database.
    input_index : int
        Its place in the input, counted from 0; ties of score are listed in this order.
    name, accession, description : str
    length : int
        Residues.
    score, bias : float
        Bits; `score` is the corrected per-sequence score.
    evalue : float
    raw : int
        Integer Viterbi score of the whole sequence.
    domains : tuple of Domain
        Those that are reported.
    n_domains : int
        Those that count for the score; the reported ones may be fewer.
    """

    row: int
    input_index: int
    name: str
    accession: str
    description: str
    length: int
    score: float
    bias: float
    evalue: float
    raw: int
    domains: tuple[Domain, ...]
    n_domains: int

    @property
    def best_domain(self) -> Domain | None:
        """The reported domain with the highest score."""
        return max(self.domains, key=lambda domain: domain.score, default=None)
