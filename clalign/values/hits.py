"""Results of a search: scores of all targets, hits, and their domains."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import starmap
from operator import attrgetter
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct, msgpack

from clalign.values.alignments import AlignmentText

Made = TypeVar("Made", bound=Struct)

PACKED_TOGETHER = 512
"""Hits that are packed together."""


class Scores(Struct, frozen=True):
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


class PairScores(Struct, frozen=True):
    """The exact scores of a query and every sequence of a batch.

    Attributes
    ----------
    scores : Scores
        In units of the matrix.
    n_in_16_bits, n_in_32_bits : int
        Sequences that were computed once more with wider numbers, since narrower ones overflowed.
    """

    scores: Scores
    n_in_16_bits: int = 0
    n_in_32_bits: int = 0


class PairFacts(Struct, frozen=True, array_like=True, gc=False):
    """Counts of the columns of an alignment of two sequences.

    Attributes
    ----------
    strand : int
        1, or -1 where the reverse complement of a nucleic query was aligned.
    n_identical, n_positive : int
        Columns of two equal residues, and of two residues that score above 0.
    n_gaps, n_gap_residues : int
        Gaps of whatever length, and columns in gaps.
    """

    strand: int
    n_identical: int
    n_positive: int
    n_gaps: int
    n_gap_residues: int


_SAM = str.maketrans("ID", "DI")
_RUNS = re.compile("M+|I+|D+")


class Domain(Struct, frozen=True, array_like=True, gc=False):
    """One domain of a hit, or one alignment of a pairwise search, where the query stands for the profile.

    Attributes
    ----------
    number : int
        Its place among the domains of the hit that count, from 1.
    score, bias : float
        Corrected score and null2 correction, in bits.
    evalue : float
        E-value of the score alone.
    query_range, target_range, envelope : tuple of int
        0-based, half open.
    raw : int
        Uncorrected integer score of the path.
    states : str
        The path: ``M``, ``I``, ``D`` for each step.
    text : AlignmentText
        The alignment as rows.
    log_pvalue : float or None
        Natural logarithm of the P-value; HMMER3 only, like what follows.
    accuracy : float or None
        Expected share of the residues that are aligned correctly.
    conditional_evalue : float or None
        E-value among the targets that are reported. What depends on their number, this and the next
        two, is worked out when a run is read.
    is_reported, is_significant : bool
        Whether it passes the thresholds for domains, and whether it is significant.
    pair : PairFacts or None
        For the alignment of two sequences. Its path and text run along the target; `query_range` is in the
        query's own coordinates on either strand.
    """

    number: int
    score: float
    bias: float
    evalue: float
    query_range: tuple[int, int]
    target_range: tuple[int, int]
    envelope: tuple[int, int]
    raw: int
    states: str
    text: AlignmentText
    log_pvalue: float | None = None
    accuracy: float | None = None
    conditional_evalue: float | None = None
    is_reported: bool = True
    is_significant: bool = True
    pair: PairFacts | None = None

    @property
    def n_identical(self) -> int:
        """Columns of two equal residues; a profile's are those of its consensus."""
        if self.pair is not None:
            return self.pair.n_identical
        match = self.text.match
        return len(match) - match.count(" ") - match.count("+")

    @property
    def cigar(self) -> str:
        """The path in SAM's letters, the target being the reference, as in ``12M1D30M``; ``*`` if there is none."""
        runs = _RUNS.findall(self.states.translate(_SAM))
        return "".join([f"{len(run)}{run[0]}" for run in runs]) or "*"


def from_columns(kind: type[Made], **columns: Iterable[object]) -> Iterator[Made]:
    """Return an iterator over structs, of whose first fields a column each is given; the columns are of one length."""
    names = kind.__struct_fields__[: len(columns)]
    return starmap(kind, zip(*(columns[name] for name in names), strict=True))


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """Return how many places are covered by at least one span (0-based, half open)."""
    n, reached = 0, 0
    for start, end in sorted(spans):
        n += max(0, end - max(start, reached))
        reached = max(reached, end)
    return n


def matched_places(states: str, first: int, last: int) -> tuple[int, int] | None:
    """Return which places of the profile some places of the target are matched with; None if they all are inserts.

    Both are counted from where the path begins (0-based, half open).
    """
    target = profile = 0
    ends = list[int]()
    for run in _RUNS.findall(states):
        low, high = max(first, target), min(last, target + len(run))
        if run[0] == "M" and low < high:
            ends += profile + low - target, profile + high - target
        target += len(run) * (run[0] != "D")
        profile += len(run) * (run[0] != "I")
    return (ends[0], ends[-1]) if ends else None


class DomainEstimates(Struct, frozen=True, array_like=True, gc=False):
    """Numbers of domains and regions of a target by HMMER3's posterior probabilities.

    Attributes
    ----------
    expected : float
        Expected number of domains.
    n_regions, n_clustered, n_overlaps, n_envelopes : int
        Regions that hold anything, those resolved by sampling, envelopes that overlap the one
        before, and envelopes.
    """

    expected: float
    n_regions: int
    n_clustered: int
    n_overlaps: int
    n_envelopes: int


class FilterScores(Struct, frozen=True, array_like=True, gc=False):
    """Scores of a target in HMMER3's filters, in bits; None where a filter was not run.

    Attributes
    ----------
    msv : float
        Above the null model; infinite if its bytes overflow.
    bias, viterbi, forward : float or None
        Scores of MSV, Viterbi filter and Forward above the bias filter's null model, or above the
        plain one if that filter is left out.
    """

    msv: float
    bias: float | None
    viterbi: float | None
    forward: float | None


class Hit(Struct, frozen=True, array_like=True, gc=False):
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
        Not a number where there are no statistics.
    raw : int
        Integer Viterbi score of the whole sequence, or score of a pair in units of the matrix.
    domains : tuple of Domain
        HMMER2: those that are reported. HMMER3: those of all envelopes, except such as repeat
        another one's alignment. Pairwise: one, or one of each strand, the better one first.
    n_domains : int
        HMMER2: those that count for the score; the reported ones may be fewer. HMMER3: those of all
        envelopes.
    log_pvalue : float or None
        Natural logarithm of the P-value; HMMER3 only, like `estimates` and `filters`.
    is_significant : bool
        Whether it is significant.
    estimates : DomainEstimates or None
    filters : FilterScores or None
    query : str
        Name of the query, where the hit was read from a run.
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
    log_pvalue: float | None = None
    is_significant: bool = True
    estimates: DomainEstimates | None = None
    filters: FilterScores | None = None
    query: str = ""

    def __eq__(self, other: object) -> bool:
        """Compare everything but the name of the query, which not every source of hits knows."""
        names = self.__struct_fields__
        return type(other) is type(self) and all(getattr(self, n) == getattr(other, n) for n in names if n != "query")

    def __hash__(self) -> int:
        return hash((self.row, self.raw, self.score))

    @property
    def reported_domains(self) -> tuple[Domain, ...]:
        """The domains that pass the thresholds for domains."""
        return tuple([domain for domain in self.domains if domain.is_reported])

    @property
    def best_domain(self) -> Domain | None:
        """The domain with the highest score, the first one of equal ones."""
        return max(self.domains, key=attrgetter("score"), default=None)


class PackedHits(Collection[Hit]):
    """Many hits: packed they take a third of the memory, and come back in a tenth of the time that reading them takes.

    Attributes
    ----------
    n_bytes : int
        Bytes of those that are packed; the last few are when `pack` is called.
    """

    def __init__(self) -> None:
        self._parts, self._rest, self._n_packed, self.n_bytes = list[bytes](), list[Hit](), 0, 0

    def __len__(self) -> int:
        return self._n_packed + len(self._rest)

    def __iter__(self) -> Iterator[Hit]:
        for part in self._parts:
            yield from msgpack.decode(part, type=list[Hit])
        yield from self._rest

    def __contains__(self, hit: object) -> bool:
        return any(one == hit for one in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and tuple(self) == tuple(other)

    def add(self, hits: Iterable[Hit]) -> None:
        """Add hits at the end."""
        for hit in hits:
            self._rest.append(hit)
            if len(self._rest) >= PACKED_TOGETHER:
                self.pack()

    def pack(self) -> None:
        """Pack those that are not yet."""
        if self._rest:
            self._parts.append(msgpack.encode(self._rest))
            self._n_packed += len(self._rest)
            self.n_bytes += len(self._parts[-1])
            self._rest = []
