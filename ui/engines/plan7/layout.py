"""Alignments of domains to their profile, wrapped to a width, with two rulers, and what is said above them."""

from __future__ import annotations

from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit

from ... import formatting
from ...models.alignment.alignment_layout import (
    MIN_COLUMNS,
    Layout,
    Line,
    fasta_record,
    letter_numbers,
    ruler,
    title_lines,
)
from ...models.results.hits_model import NO_DOMAIN


class ProfileLayout(Layout):
    """Alignments to a profile."""

    has_nodes = True

    def lines(self, hit: Hit, card: Card, n_columns: int, posterior: bool, titled: bool) -> list[Line]:
        """Return the lines of all domains, always with titles."""
        return lay_out(hit, str(card["name"]), n_columns, posterior)

    def fasta(self, hit: Hit, card: Card) -> str:
        return as_fasta(hit)


def domain_title(hit: Hit, domain: Domain) -> list[str]:
    """Return the title of an alignment, in parts that may each have a line."""
    n_domains = max(hit.n_domains, len(hit.domains))
    head = f"Domain {domain.number} of {n_domains} · {formatting.score(domain.score)} bits"
    model = f"model {formatting.span(domain.query_range[0] + 1, domain.query_range[1])}"
    places = f"{model} · sequence {formatting.span(domain.target_range[0] + 1, domain.target_range[1])}"
    if domain.conditional_evalue is None:
        return [f"{head} · E {formatting.evalue(domain.evalue)}", places]
    evalues = f"c-E {formatting.evalue(domain.conditional_evalue)} · i-E {formatting.evalue(domain.evalue)}"
    envelope = f"envelope {formatting.span(domain.envelope[0] + 1, domain.envelope[1])}"
    if domain.accuracy is not None:
        envelope += f" · accuracy {domain.accuracy:.2f}"
    below = [] if domain.is_reported else ["below the limit for domains"]
    return [head, evalues, *below, places, envelope]


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
        parts.append(NO_DOMAIN)
    return " · ".join(parts)


def lay_out(hit: Hit, profile: str, n_columns: int, with_posterior: bool = True) -> list[Line]:
    """Return the lines of all domains of a hit, wrapped to a number of columns."""
    lines: list[Line] = []
    for place, domain in enumerate(hit.domains):
        lines += title_lines(domain_title(hit, domain), place, n_columns)
        lines += _domain_lines(domain, place, profile, hit.name, max(MIN_COLUMNS, n_columns), with_posterior)
    return lines


def _domain_lines(domain: Domain, place: int, profile: str, name: str, width: int, with_posterior: bool) -> list[Line]:
    text = domain.text
    first_node, first_residue = _starts(domain)
    nodes = letter_numbers(text.model, ".", first_node)
    residues = letter_numbers(text.target, "-", first_residue)
    lines = []
    for begin in range(0, len(text.model), width):
        end = min(begin + width, len(text.model))

        def cut(row: str, begin: int = begin, end: int = end) -> str:
            return row[begin:end]

        lines.append(Line("ruler", ruler(cut(text.model), nodes[begin:], "."), domain=place))
        lines.append(Line("model", cut(text.model), profile, *_ends(nodes, begin, end), place))
        lines.append(Line("match", cut(text.match), domain=place))
        lines.append(Line("target", cut(text.target), name, *_ends(residues, begin, end), place))
        if text.posterior and with_posterior:
            lines.append(Line("posterior", cut(text.posterior), "confidence", domain=place))
        lines.append(Line("space", domain=place))
    return lines


def _starts(domain: Domain) -> tuple[int, int]:
    """Return node and residue of the first column; leading inserts are before the first match."""
    leading = len(domain.states) - len(domain.states.lstrip("ID"))
    inserts = domain.states[:leading].count("I")
    return domain.query_range[0], domain.target_range[0] - inserts


def _ends(numbers: list[int], begin: int, end: int) -> tuple[int | None, int | None]:
    if numbers[begin] == numbers[end]:
        return None, None
    return numbers[begin] + 1, numbers[end]


def as_fasta(hit: Hit) -> str:
    """Return the aligned part of each reported domain as FASTA, gaps left out."""
    records = []
    for domain in hit.domains:
        if not domain.is_reported:
            continue
        letters = domain.text.target.replace("-", "").upper()
        start, end = domain.target_range
        records.append(fasta_record(hit, start + 1, end, letters))
    return "".join(records)
