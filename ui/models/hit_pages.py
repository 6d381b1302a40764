"""Hits in a chosen order, paged from the run file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clalign.runs.limits import DomainLimits
from clalign.runs.notes import OF_HIT, show_notes
from clalign.runs.plain_data import parsed_card
from clalign.runs.run_file import open_connection, open_run
from clalign.runs.schema import SCHEMA_VERSION
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, PairFacts

from .hit_filter import HitFilter
from .pair_values import PAIR_COLUMNS, PAIR_VALUES

PAGE = 64
"""Rows read at once, while the table is painted: more than it shows, few enough to be there in a few milliseconds."""

ALL_PROFILES = -1
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
    def is_hmmer3(self) -> bool:
        """Whether a HMMER3 profile found it."""
        return self.expected is not None

    @property
    def reported(self) -> tuple[Span, ...]:
        """The domains that pass the thresholds for domains."""
        return tuple(span for span in self.spans if span.is_reported)

    @property
    def has_no_domain(self) -> bool:
        """Whether the sequence passes, but none of its domains."""
        return self.is_hmmer3 and not self.reported

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


SORTS = {
    "evalue": "evalue",
    "score": "score",
    "bias": "bias",
    "name": "name COLLATE NOCASE",
    "accession": "accession COLLATE NOCASE",
    "description": "description COLLATE NOCASE",
    "length": "length",
    "n_domains": "n_domains",
    "best_score": "best_score",
    "best_evalue": "best_evalue",
    "verified": "verified",
    "profile": "(SELECT name FROM profiles WHERE profiles.id = hits.profile) COLLATE NOCASE",
    "env_start": "(SELECT min(env_start) FROM domains WHERE hit = hits.id)",
    "accuracy": "(SELECT accuracy FROM domains WHERE hit = hits.id ORDER BY score DESC LIMIT 1)",
    "expected": "expected",
    "n_regions": "n_regions",
    "n_clustered": "n_clustered",
    "n_overlaps": "n_overlaps",
    "n_envelopes": "n_envelopes",
    "msv": "msv",
    "bias_filter": "bias_filter",
    "viterbi": "viterbi",
    "forward": "forward",
    "start": "(SELECT min(ali_start) FROM domains WHERE hit = hits.id)",
    "model_start": "(SELECT min(hmm_start) FROM domains WHERE hit = hits.id)",
    "coverage": "(SELECT sum(hmm_end - hmm_start) FROM domains WHERE hit = hits.id)",
    "raw": "raw",
    "note": f"{OF_HIT} IS NULL, {OF_HIT} COLLATE NOCASE",
    **PAIR_VALUES,
}
"""SQL of each order; hits without a note stand last in both directions."""


NEARLY_UNIQUE = ("name", "accession")
"""Orders with so few ties that what decides them does not matter."""

_COLUMNS = (
    "id, name, accession, description, length, score, bias, evalue, n_domains, best_score, best_evalue, verified, "
    "profile, expected, n_regions, n_clustered, n_overlaps, n_envelopes, msv, bias_filter, viterbi, forward, raw"
)

_NO_TEXT = AlignmentText("", "", "")

STRAND = 10
"""Place of the strand in what is read of a domain; only alignments of two sequences have one."""


def _known(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a row of ``hits`` with an E-value; where there are no statistics it is not a number."""
    return (*row[:7], math.nan if row[7] is None else row[7], *row[8:])


def _span(*values: Any) -> Span:
    *places, _log_pvalue, states, strand, identical, positive, gaps, gap_residues = values
    if strand is None:
        return Span(*places)
    return Span(*places, pair=PairFacts(strand, identical, positive, gaps, gap_residues), states=states)


@dataclass(frozen=True, slots=True)
class HitQuery:
    """What the table shall show.

    Attributes
    ----------
    least_score : float or None
        Show hits with at least this score.
    sort : str or None
        Key of `SORTS`; None is the original order, see `RunFile.hits`.
    score : str
        The column that thresholds are for.
    by_query : bool
        Whether in the original order of all profiles the hits of each stand together, not those of each sequence.
    """

    path: Path
    profile: int
    filter: HitFilter = HitFilter()
    least_score: float | None = None
    sort: str | None = None
    descending: bool = False
    score: str = "score"
    by_query: bool = False

    def condition(self) -> tuple[str, tuple[float | str, ...]]:
        """Return the SQL condition and its values."""
        parts: list[str] = ["profile = ?"]
        values: list[float | str] = [self.profile]
        if self.profile == ALL_PROFILES:
            parts, values = ["1"], []
        if self.least_score is not None:
            parts.append(f"{self.score} >= ?")
            values.append(self.least_score)
        if self.filter.where:
            parts.append(f"({self.filter.where})")
            values += self.filter.values
        return " AND ".join(parts), tuple(values)


class HitPages:
    """The answer to a `HitQuery`: an ordered list of hit ids in a temporary table of its own connection.

    Only the ids are kept, by SQLite; rows are read a page at a time. It is made in the reader's
    thread and then used by the window's, never by both at once.
    """

    def __init__(self, query: HitQuery, keep: int | None = None) -> None:
        self.query = query
        self._connection, version = open_connection(query.path)
        self._is_old = version < SCHEMA_VERSION
        show_notes(self._connection)
        self._limits: dict[int, DomainLimits | None] = {}
        self._counts: dict[tuple[str, int], int] = {}
        where, values = query.condition()
        order = self._order()
        if query.sort is not None:
            ties = "id" if query.sort in NEARLY_UNIQUE else order
            order = f"{SORTS[query.sort]} {'DESC' if query.descending else 'ASC'}, {ties}"
        # The index has only score and place; for anything else it would fetch a million rows out of their order.
        simple = query.sort is None and not query.filter.where and query.profile != ALL_PROFILES
        indexed = "" if simple or self._is_old else "NOT INDEXED"
        self._connection.execute("CREATE TEMP TABLE shown (place INTEGER PRIMARY KEY, id INTEGER)")
        self._connection.execute(
            f"INSERT INTO shown (id) SELECT id FROM hits {indexed} WHERE {where} ORDER BY {order}", values
        )
        self._connection.commit()
        self.n_rows = int(self._connection.execute("SELECT count(*) FROM shown").fetchone()[0])
        where, values = HitQuery(query.path, query.profile).condition()
        self.n_all = int(self._connection.execute(f"SELECT count(*) FROM hits WHERE {where}", values).fetchone()[0])
        self.keep = keep
        self.kept = self.place_of(keep) if keep is not None else None

    def _one(self, question: str, *values: object) -> Any:
        found = self._connection.execute(question, values).fetchone()
        return found[0] if found else None

    def _order(self) -> str:
        """Return the SQL of the original order; HMMER2's is that of the index, which saves sorting a million hits."""
        if self.query.profile == ALL_PROFILES and self.query.by_query:
            return "profile, sort_key DESC, tie, input_index"
        if self.query.profile == ALL_PROFILES:
            return "input_index, sort_key DESC, profile"
        if self._one("SELECT tie FROM hits WHERE profile = ? LIMIT 1", self.query.profile) is None:
            return "score DESC, input_index"
        return "sort_key DESC, tie, input_index"

    def place_of(self, hit: int) -> int | None:
        """Return the row of a hit, from 0, or None if it is not shown."""
        found = self._connection.execute("SELECT place FROM shown WHERE id = ?", (hit,)).fetchone()
        return int(found[0]) - 1 if found else None

    def ids(self) -> list[int]:
        """Return the ids of all rows shown, in order."""
        return [row[0] for row in self._connection.execute("SELECT id FROM shown ORDER BY place")]

    def rows(self, first: int, n_rows: int) -> list[HitRow]:
        """Return some rows, domains included."""
        show_notes(self._connection)
        columns = ", ".join(f"hits.{column.strip()}" for column in _COLUMNS.split(","))
        found = self._connection.execute(
            f"SELECT {columns}, hits.row, hits.included, {OF_HIT} AS note"
            " FROM shown JOIN hits ON hits.id = shown.id WHERE place > ? AND place <= ? ORDER BY place",
            (first, first + n_rows),
        ).fetchall()
        domains: dict[int, list[tuple[Any, ...]]] = {}
        for hit, *values in self._connection.execute(
            "SELECT hit, ali_start, ali_end, hmm_start, hmm_end, domains.score, env_start, env_end, accuracy,"
            f" log_pvalue, {PAIR_COLUMNS} FROM shown JOIN domains ON hit = shown.id WHERE place > ? AND place <= ?"
            " ORDER BY place, number",
            (first, first + n_rows),
        ):
            domains.setdefault(hit, []).append(tuple(values))
        return [
            HitRow(
                *_known(values), self._spans(domains.get(values[0], []), row, included, profile=values[12]), row,
                note or "",
            )
            for *values, row, included, note in found
        ]  # fmt: skip

    def _spans(
        self, domains: list[tuple[Any, ...]], row: int, included: int | None, *, profile: int
    ) -> tuple[Span, ...]:
        is_pair = bool(domains) and domains[0][STRAND] is not None
        limits = None if is_pair else self._limits_of(profile)
        if limits is None:
            return tuple(_span(*values) for values in domains)
        n_reported = self._n_reported(profile, row) if limits.n_targets is None else 0
        spans = []
        for values in domains:
            places = (values[2], values[3]), (values[0], values[1]), (values[5], values[6])
            plain = Domain(0, values[4], 0.0, 0.0, *places, 0, "", _NO_TEXT, values[8])
            judged = limits.judged(plain, n_reported, bool(included))
            spans.append(Span(*values[:8], judged.is_reported, judged.is_included))
        return tuple(spans)

    def _limits_of(self, profile: int) -> DomainLimits | None:
        if profile not in self._limits:
            card = self._one("SELECT card FROM profiles WHERE id = ?", profile)
            self._limits[profile] = DomainLimits.from_card(parsed_card(card, self.query.path)) if card else None
        return self._limits[profile]

    def _n_reported(self, profile: int, row: int) -> int:
        """Return what conditional E-values count; see `RunFile.n_reported`."""
        is_scan = self._one("SELECT value FROM facts WHERE name = 'direction'") == '"scan"'
        key = ("row", row) if is_scan else ("profile", profile)
        if key not in self._counts:
            self._counts[key] = int(self._one(f"SELECT count(*) FROM hits WHERE {key[0]} = ?", key[1]))
        return self._counts[key]

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()


def count_hits(path: Path, limits: list[list[tuple[int, float]]], score: str = "score") -> list[int]:
    """Return for each list of profiles and least scores how many hits there are; `score` is the column compared."""
    question = f"SELECT count(*) FROM hits WHERE profile = ? AND {score} >= ?"
    with open_run(path) as run:
        return [
            sum(run.connection.execute(question, (profile, score)).fetchone()[0] for profile, score in wanted)
            for wanted in limits
        ]
