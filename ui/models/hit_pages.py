"""Hits in a chosen order, paged from the run file."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clalign.runs import pages
from clalign.runs.pages import ListedHit
from clalign.values.hits import Domain, PairFacts

PAGE = 64
"""Rows read at once, while the table is painted: more than it shows, few enough to be there in a few milliseconds."""

ALL_PROFILES = pages.ALL_QUERIES
"""In place of the number of a profile: the hits of all of them, one sequence after the other."""


@dataclass(frozen=True, slots=True)
class Span:
    """A domain of a line of the hits table; places are 0-based and half open.

    Attributes
    ----------
    start, end : int
        Aligned part of the sequence.
    hmm_start, hmm_end : int
        Aligned part of the profile.
    env_start, env_end : int
        Envelope; HMMER2's is the aligned part.
    accuracy : float or None
    is_reported, is_included : bool
        Whether it passes the thresholds for domains, and whether it is significant.
    pair : PairFacts or None
        Of the alignment of two sequences, where `hmm_start` and `hmm_end` are in the query.
    states : str
        The path of such an alignment, along the target.
    """

    start: int
    end: int
    hmm_start: int
    hmm_end: int
    score: float
    env_start: int
    env_end: int
    accuracy: float | None = None
    is_reported: bool = True
    is_included: bool = True
    pair: PairFacts | None = None
    states: str = ""


@dataclass(frozen=True, slots=True)
class HitRow:
    """A line of the hits table; what HMMER2 does not know is None.

    Attributes
    ----------
    expected, n_regions, n_clustered, n_overlaps, n_envelopes
        What posterior probabilities say of the domains.
    msv, bias_filter, viterbi, forward : float or None
        Scores in the filters, in bits.
    raw : int
        The score before any correction; of two sequences in units of the matrix.
    spans : tuple of Span
        Each stored domain.
    row : int
        Of the sequence; with `profile` it stays the same when the search writes a hit anew.
    note : str
        What the user has written beside it.
    """

    id: int
    name: str
    accession: str
    description: str
    length: int
    score: float
    bias: float
    evalue: float
    n_domains: int
    best_score: float | None
    best_evalue: float | None
    verified: str
    profile: int
    expected: float | None = None
    n_regions: int | None = None
    n_clustered: int | None = None
    n_overlaps: int | None = None
    n_envelopes: int | None = None
    msv: float | None = None
    bias_filter: float | None = None
    viterbi: float | None = None
    forward: float | None = None
    raw: int = 0
    spans: tuple[Span, ...] = ()
    row: int = -1
    note: str = ""

    @property
    def has_estimates(self) -> bool:
        """Whether posterior probabilities say how many domains to expect."""
        return self.expected is not None

    @property
    def reported(self) -> tuple[Span, ...]:
        """The domains that pass the thresholds for domains."""
        return tuple(span for span in self.spans if span.is_reported)

    @property
    def has_no_domain(self) -> bool:
        """Whether the sequence passes, but none of its domains."""
        return self.has_estimates and not self.reported

    @property
    def accuracy(self) -> float | None:
        """Accuracy of the best domain that is reported."""
        best = max(self.reported, key=lambda span: span.score, default=None)
        return best.accuracy if best is not None else None

    def coverage(self, profile_length: int) -> float:
        """Return the share of the profile's nodes that the reported domains touch."""
        covered, reach = 0, 0
        for start, end in sorted((span.hmm_start, span.hmm_end) for span in self.reported):
            covered += max(0, end - max(start, reach))
            reach = max(reach, end)
        return covered / max(1, profile_length)


def _span(domain: Domain) -> Span:
    """Return a domain, or alignment, as a line of the table shows it."""
    return Span(
        *domain.target_range, *domain.profile_range, domain.score, *domain.envelope, domain.accuracy,
        domain.is_reported, domain.is_included, domain.pair, domain.states if domain.pair is not None else "",
    )  # fmt: skip


def _row(listed: ListedHit) -> HitRow:
    hit, best = listed.hit, listed.hit.best_domain
    said, filters = hit.estimates, hit.filters
    of_best = (best.score, None if math.isnan(best.evalue) else best.evalue) if best is not None else (None, None)
    return HitRow(
        listed.id, hit.name, hit.accession, hit.description, hit.length, hit.score, hit.bias, hit.evalue,
        hit.n_domains, *of_best, listed.verified, listed.query,
        *((said.expected, said.n_regions, said.n_clustered, said.n_overlaps, said.n_envelopes) if said else [None] * 5),
        *((filters.msv, filters.bias, filters.viterbi, filters.forward) if filters else [None] * 4),
        raw=hit.raw, spans=tuple(_span(domain) for domain in hit.domains), row=hit.row, note=listed.note,
    )  # fmt: skip


class HitPages(pages.HitPages):
    """Made in the reader's thread and then used by the window's, never by both at once."""

    def rows(self, first: int, n_rows: int) -> list[HitRow]:
        """Return some lines of the table, domains included."""
        return [_row(listed) for listed in self.listed(first, n_rows)]
