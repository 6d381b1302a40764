"""Hits as rows of a run file: many are written, and read, with few questions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from clalign.errors import DamagedRun, RunBusy
from clalign.runs.connection import RunConnection
from clalign.runs.limits import DomainLimits
from clalign.runs.plain_data import parsed_card
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, DomainEstimates, FilterScores, Hit, PairFacts

HITS_AT_ONCE = 256
"""Hits that are read together, so that no more are in memory at a time."""

_HIT_COLUMNS = (
    "id, profile, row, input_index, name, accession, description, length, score, bias, evalue, raw, n_domains,"
    " log_pvalue, included, expected, n_regions, n_clustered, n_overlaps, n_envelopes, msv, bias_filter, viterbi,"
    " forward"
)

_DOMAIN_COLUMNS = (
    "hit, number, score, bias, evalue, hmm_start, hmm_end, ali_start, ali_end, env_start, env_end, raw, states, model,"
    " match, target, posterior, log_pvalue, accuracy, strand, identical, positive, gaps, gap_residues"
)


class _Judge(NamedTuple):
    """What is needed of a card to read its hits."""

    limits: DomainLimits | None
    include_score: float
    origin: str | None
    is_of_pairs: bool
    name: str


class HitRows:
    """The hits of a run file.

    Parameters
    ----------
    connection : RunConnection
    """

    def __init__(self, connection: RunConnection) -> None:
        self._connection = connection
        self._judges: dict[int, _Judge] = {}
        self._stamp: tuple[int, int] | None = None
        self._is_scan = False
        self._counts: dict[int, int] = {}

    def card(self, profile: int) -> dict[str, Any]:
        """Return the card of a profile; empty if there is none."""
        found = self._connection.execute("SELECT card FROM profiles WHERE id = ?", (profile,)).fetchone()
        return parsed_card(found[0], self._connection.path) if found else {}

    def forget_limits(self) -> None:
        """Take the limits from the cards of the profiles again when they are next needed."""
        self._judges.clear()

    def _judge_of(self, profile: int) -> _Judge:
        if profile not in self._judges:
            card = self.card(profile)
            # What makes a hit of a file of version 1 significant, its hits do not say themselves.
            least = card.get("include_score") or -math.inf
            self._judges[profile] = _Judge(
                DomainLimits.from_card(card), least, card.get("origin"), "strands" in card, card.get("name", "")
            )
        return self._judges[profile]

    def add(self, profile: int, hits: Sequence[Hit]) -> None:
        """Write the hits of a profile; the caller has opened a transaction."""
        limits, by_bits = self._judge_of(profile).limits, bool(self.card(profile).get("is_adjusted"))
        last = self._connection.execute("SELECT coalesce(max(id), 0) FROM hits").fetchone()[0]
        numbered = list(enumerate(hits, last + 1))
        self._connection.executemany(
            f"INSERT INTO hits ({_HIT_COLUMNS}, best_score, best_evalue, sort_key, tie) VALUES ({_marks(28)})",
            (_row_of(number, profile, hit, limits, by_bits) for number, hit in numbered),
        )
        self._connection.executemany(
            f"INSERT INTO domains ({_DOMAIN_COLUMNS}) VALUES ({_marks(24)})",
            (
                (number, d.number, d.score, d.bias, d.evalue, *d.profile_range, *d.target_range, *d.envelope, d.raw,
                 d.states, d.text.model, d.text.match, d.text.target, d.text.posterior, d.log_pvalue, d.accuracy,
                 *_of_pair(d.pair))
                for number, hit in numbered for d in hit.domains
            ),
        )  # fmt: skip

    def keep_best(self, profile: int, n: int) -> None:
        """Drop all but the n first hits of a query; the caller has opened a transaction."""
        dropped = "SELECT id FROM hits WHERE profile = ? ORDER BY sort_key DESC, tie, input_index LIMIT -1 OFFSET ?"
        self._connection.execute(f"DELETE FROM domains WHERE hit IN ({dropped})", (profile, n))
        self._connection.execute(f"DELETE FROM hits WHERE id IN ({dropped})", (profile, n))

    def read(self, ids: Sequence[int]) -> Iterator[Hit]:
        """Yield the hits with these ids, domains included, in this order."""
        for start in range(0, len(ids), HITS_AT_ONCE):
            yield from self._read_together(ids[start : start + HITS_AT_ONCE])

    def _read_together(self, ids: Sequence[int]) -> list[Hit]:
        chosen = f"IN ({_marks(len(ids))})"
        domains: dict[int, list[tuple[Any, ...]]] = {number: [] for number in ids}
        for row in self._connection.execute(
            f"SELECT {_DOMAIN_COLUMNS} FROM domains WHERE hit {chosen} ORDER BY hit, number", ids
        ):
            domains[row[0]].append(row)
        found = self._connection.execute(f"SELECT {_HIT_COLUMNS} FROM hits WHERE id {chosen}", ids).fetchall()
        self._check_counts()
        hits = {row[0]: self._hit(row, domains[row[0]]) for row in found}
        if len(hits) < len(set(ids)):
            raise RunBusy("The search has replaced hits while they were read.", "Try again when it is done.")
        return [hits[number] for number in ids]

    def _hit(self, row: tuple[Any, ...], domains: list[tuple[Any, ...]]) -> Hit:
        profile, score, included, said, filters = row[1], row[8], row[14], row[15:20], row[20:24]
        if included is None:  # written by version 1
            included = score >= self._judge_of(profile).include_score
        limits, n_reported = self._judge_of(profile).limits, 0
        if limits is not None and limits.n_targets is None:
            n_reported = self._counted(profile, row[2])
        values: tuple[Any, ...] = (
            *row[2:10], _number(row[10]), row[11],
            tuple(_domain(values, limits, n_reported, bool(included)) for values in domains), *row[12:14],
            bool(included), DomainEstimates(*said) if said[0] is not None else None,
            FilterScores(*filters) if filters[0] is not None else None, self._judge_of(profile).name,
        )  # fmt: skip
        hit = Hit(*values)
        wrong = unsound(hit, self._judge_of(profile))
        if wrong is not None:
            raise DamagedRun(self._connection.path, f"the hit {hit.name} has {wrong}")
        return hit

    def n_reported(self, profile: int, row: int) -> int:
        """Return what HMMER3's conditional E-values count; see `RunFile.n_reported`."""
        self._check_counts()
        return self._counted(profile, row)

    def _check_counts(self) -> None:
        """Forget what was counted if the file has changed since."""
        stamp = self._connection.execute("PRAGMA data_version").fetchone()[0], self._connection.total_changes
        if self._stamp != stamp:
            direction = self._connection.execute("SELECT value FROM facts WHERE name = 'direction'").fetchone()
            self._is_scan = direction is not None and direction[0] == '"scan"'
            self._stamp, self._counts = stamp, {}

    def _counted(self, profile: int, row: int) -> int:
        column, key = ("row", row) if self._is_scan else ("profile", profile)
        if key not in self._counts:
            question = f"SELECT count(*) FROM hits WHERE {column} = ?"
            self._counts[key] = int(self._connection.execute(question, (key,)).fetchone()[0])
        return self._counts[key]


def unsound(hit: Hit, query: _Judge) -> str | None:
    """Return in words what a hit of this kind of query cannot have or lack; None if there is nothing.

    Whoever shows a hit relies on it: no part of an alignment is outside of it, and nothing that is written is missing.
    """
    origin, is_of_pairs = query.origin, query.is_of_pairs
    if origin is None:
        return "no query"
    if origin == "hmmer3" and (hit.log_pvalue is None or hit.estimates is None):
        return "no P-value, or no estimates of its domains"
    if is_of_pairs and not hit.domains:
        return "no alignment"
    if is_of_pairs and any(math.isnan(hit.evalue) != math.isnan(domain.evalue) for domain in hit.domains):
        return "E-values of some of its alignments only"
    if hit.estimates is not None and None in (hit.estimates.n_regions, hit.estimates.n_clustered,
                                              hit.estimates.n_overlaps, hit.estimates.n_envelopes):  # fmt: skip
        return "half of the estimates of its domains"
    for domain in hit.domains:
        if any(start > end for start, end in (domain.profile_range, domain.target_range, domain.envelope)):
            return "a domain that ends before it begins"
        rows = [row for row in (domain.text.model, domain.text.match, domain.text.target) if row]
        if len({len(row) for row in (*rows, *([domain.text.posterior] if domain.text.posterior else []))}) > 1:
            return "an alignment of unequal rows"
        if origin == "hmmer3" and (domain.log_pvalue is None or domain.accuracy is None):
            return "a domain without a P-value"
        pair = domain.pair
        if pair is None and is_of_pairs:
            return "an alignment of a profile"
        if pair is not None and None in (pair.n_identical, pair.n_positive, pair.n_gaps, pair.n_gap_residues):
            return "an alignment of which not all is known"
    return None


def _marks(n: int) -> str:
    return ",".join("?" * n)


def _row_of(number: int, profile: int, hit: Hit, limits: DomainLimits | None, by_bits: bool) -> tuple[Any, ...]:
    best, said, filters = hit.best_domain, hit.estimates, hit.filters
    by_score = limits is None or limits.sorts_by_score or hit.log_pvalue is None
    # Pairs are in the order of raw scores, unless these count for more in one pair than in another.
    score = hit.score if by_bits or best is None or best.pair is None else float(hit.raw)
    estimates = (said.expected, said.n_regions, said.n_clustered, said.n_overlaps, said.n_envelopes) if said else None
    scores = (filters.msv, filters.bias, filters.viterbi, filters.forward) if filters else None
    return (
        number, profile, hit.row, hit.input_index, hit.name, hit.accession, hit.description, hit.length, hit.score,
        hit.bias, hit.evalue, hit.raw, hit.n_domains, hit.log_pvalue, hit.is_included, *(estimates or (None,) * 5),
        *(scores or (None,) * 4), best and best.score, best and best.evalue,
        score if by_score else -(hit.log_pvalue or 0.0), limits and _tie(hit),
    )  # fmt: skip


def _tie(hit: Hit) -> str:
    """Return what HMMER3 puts equal hits in order by: the name, then where the first domain begins.

    A domain of a single residue comes last, as HMMER takes it for one of the other strand. No name holds a tabulator.
    """
    if not hit.domains:
        return hit.name
    start, end = hit.domains[0].target_range
    return f"{hit.name}\t{int(end - start < 2)}{start:010d}"


def _domain(row: tuple[Any, ...], limits: DomainLimits | None, n_reported: int, is_included: bool) -> Domain:
    _, number, score, bias, evalue, *places, raw, states, model, match, target, posterior, log_pvalue, accuracy = row[
        :19
    ]
    judgment: tuple[float | None, bool, bool] = (None, True, True)
    if limits is not None:
        judgment = limits.judgment(score, log_pvalue, n_reported, is_included)
    ends = (places[0], places[1]), (places[2], places[3]), (places[4], places[5])
    text = AlignmentText(model, match, target, posterior)
    pair = PairFacts(*row[19:]) if row[19] is not None else None
    return Domain(
        number, score, bias, _number(evalue), *ends, raw, states, text, log_pvalue, accuracy, *judgment, pair
    )  # fmt: skip


def _number(value: float | None) -> float:
    """Return what SQLite keeps as NULL: not a number."""
    return math.nan if value is None else value


def _of_pair(pair: PairFacts | None) -> tuple[int | None, ...]:
    if pair is None:
        return (None,) * 5
    return pair.strand, pair.n_identical, pair.n_positive, pair.n_gaps, pair.n_gap_residues
