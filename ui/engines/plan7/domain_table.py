"""The domains of a hit as a table."""

from __future__ import annotations

from clalign.values.hits import Domain, Hit

from ... import formatting
from ...models.widgets.text_table import Row, TextColumn


def _evalue(row: Row, name: str) -> str:
    value = getattr(row["domain"], name)
    return "—" if value is None else formatting.evalue(value)


def _places(row: Row, name: str) -> str:
    first, last = getattr(row["domain"], name)
    return formatting.span(first + 1, last)


def verdict(domain: Domain) -> str:
    """Return the word for the threshold that a domain passes."""
    return "significant" if domain.is_significant else "reported" if domain.is_reported else "below the limit"


_NUMBER = TextColumn("#", "Place among the domains of the sequence", lambda r: str(r["domain"].number), True, 32)
_SCORE = TextColumn("Bits", "Corrected score of the domain", lambda r: formatting.score(r["domain"].score), True, 52)
_BIAS = TextColumn("Bias", "Correction for biased composition, in bits",
                   lambda r: formatting.score(r["domain"].bias), True, 48)  # fmt: skip
_MODEL = TextColumn("Model", "First and last node", lambda r: _places(r, "query_range"), True, 62)
_TARGET = TextColumn("Sequence", "First and last aligned residue", lambda r: _places(r, "target_range"), True, 82)

_EVALUE = TextColumn("E-value", "Of the domain alone", lambda r: _evalue(r, "evalue"), True, 84)

HMMER2_COLUMNS = (_NUMBER, _SCORE, _BIAS, _EVALUE, _MODEL, _TARGET)

HMMER3_COLUMNS = (
    _NUMBER,
    _SCORE,
    TextColumn("i-Evalue", "Independent: as if it were the only domain of the sequence",
               lambda r: _evalue(r, "evalue"), True, 74),
    TextColumn("c-Evalue", "Conditional: expected number of false domains this good in the sequences that are reported",
               lambda r: _evalue(r, "conditional_evalue"), True, 74),
    _MODEL,
    _TARGET,
    TextColumn("Envelope", "Most probable extent of the domain", lambda r: _places(r, "envelope"), True, 82),
    TextColumn("Accuracy", "Expected share of correctly aligned residues",
               lambda r: f"{r['domain'].accuracy or 0:.2f}", True, 68),
    _BIAS,
    TextColumn("Status", "Significant, only reported, or below the limit for domains",
               lambda r: verdict(r["domain"]), False, 100),
)  # fmt: skip
"""What is most asked for comes first: in narrow panes the rest is in tips."""


def domain_rows(hit: Hit) -> list[Row]:
    """Return a row for each domain."""
    columns = HMMER2_COLUMNS if hit.estimates is None else HMMER3_COLUMNS
    rows: list[Row] = [{"place": place, "domain": domain} for place, domain in enumerate(hit.domains)]
    return [row | {"tip": "\n".join(f"{one.title} {one.text(row)}" for one in columns)} for row in rows]


def is_below(row: Row) -> bool:
    """Return whether a domain fails the thresholds for domains."""
    return not row["domain"].is_reported


def estimates_line(hit: Hit) -> str:
    """Return HMMER3's estimates of the domains of a hit and its filter scores; empty for HMMER2."""
    if hit.estimates is None:
        return ""
    estimates = hit.estimates
    parts = [f"{estimates.expected:.1f} domains expected", formatting.plural(estimates.n_regions, "region"),
             formatting.plural(estimates.n_envelopes, "envelope")]  # fmt: skip
    if estimates.n_clustered:
        parts.append(f"{estimates.n_clustered} resolved by sampling")
    if estimates.n_overlaps:
        parts.append(f"{estimates.n_overlaps} overlapping")
    if not any(domain.is_reported for domain in hit.domains):
        parts.append("no single domain passes")
    return " · ".join(parts)
