"""The text that people read of a pairwise search."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from clalign.formats.pairwise_rows import PairRow, percent
from clalign.formats.tables import Card, Provenance, plain
from clalign.hits import Hit
from clalign.pairwise_specs import PairwiseSpec

NAME_WIDTH = 30
BLOCK = 60

MODES = {
    "local": "local alignments",
    "global": "global alignments, all of both sequences",
    "semiglobal": "semiglobal alignments, overhanging ends cost nothing",
    "ungapped": "local alignments without gaps",
}


def opening(origin: Provenance, scoring: dict[str, Any], strands: list[str]) -> Iterator[str]:
    """Yield the head of the whole text."""
    yield f"clalign sw {origin.version}: Smith-Waterman search on {origin.device}"
    yield f"Queries:  {origin.query}"
    yield f"Targets:  {origin.target}"
    yield (
        f"Matrix:   {scoring['matrix']} ({scoring['source']})"
        if scoring["source"] != scoring["matrix"]
        else (f"Matrix:   {scoring['matrix']}")
    )
    if scoring["mode"] != "ungapped":
        first, following = scoring["gap_first"], scoring["gap_next"]
        yield (
            f"Gaps:     {first} for the first residue, {following} for each further one (BLAST's {first - following}/"
            f"{following}; {scoring['gaps_source']})"
        )
    yield f"Mode:     {MODES[scoring['mode']]}" + (f", strands {' and '.join(strands)}" if strands != ["plus"] else "")
    yield ""


def query_lines(card: Card) -> Iterator[str]:
    """Yield what is said of a query."""
    yield f"Query: {card['name']} ({card['length']:,} residues) {plain(card['description'])}".rstrip()
    yield card["statistics_words"]
    fitted, shown = card.get("fitted"), card.get("statistics")
    if fitted and shown and shown["kind"] != "fitted":
        yield (
            f"For comparison, fitted to {fitted['n_fitted']:,} scores of this run: lambda {fitted['lambda']:.4g},"
            f" K {fitted['k']:.3g}."
        )
    yield ""


def hit_header() -> Iterator[str]:
    """Yield the head of the table of hits."""
    words = ("Target", "Score", "Bits", "E-value", "Ident", "Query", "Description")
    for line in (words, tuple("-" * len(word) for word in words)):
        target, score, bits, evalue, identity, query, description = line
        yield f"{target:<{NAME_WIDTH}s} {score:>6s} {bits:>8s} {evalue:>9s} {identity:>6s} {query:>6s}  {description}"


def hit_line(row: PairRow) -> str:
    """Return the line of a hit: its best alignment."""
    bits = f"{row.domain.score:.1f}" if row.has_statistics else "-"
    name, description = plain(row.hit.name), plain(row.hit.description)[:40]
    line = (
        f"{name:<{NAME_WIDTH}s} {row.domain.raw:6d} {bits:>8s} {evalue_words(row.domain.evalue):>9s}"
        f" {row.identity:5.0f}% {row.query_coverage:5.0f}%  {description}"
    )
    return line.rstrip()


def evalue_words(evalue: float) -> str:
    """Return an E-value with two digits; a dash if it is not known."""
    return "-" if math.isnan(evalue) else f"{evalue:.2g}"


def no_hits(spec: PairwiseSpec, card: Card, n_searched: int, best: dict[str, Any] | None) -> Iterator[str]:
    """Yield what to say where nothing was found; `best` is the target that came closest."""
    limits = [f"E <= {spec.evalue:g}"] if card.get("statistics") else []
    limits += [f"score >= {spec.score:g}"] if spec.score is not None else []
    yield f"No hits{' at ' + ' and '.join(limits) if limits else ''}."
    total = f"{n_searched:,} sequence{'' if n_searched == 1 else 's'}"
    if best is None:
        yield f"{total} were searched so far."
    elif best.get("evalue") is None:
        yield f"The best of {total} was {best['name']} with a score of {best['raw']}."
    else:
        yield (
            f"The best of {total} was {best['name']} with E = {evalue_words(best['evalue'])} (score {best['raw']},"
            f" {best['score']:.1f} bits)."
        )


def hit_heading(card: Card, hit: Hit, names_query: bool) -> Iterator[str]:
    """Yield what stands above the alignments of a hit; for given pairs the name of the query, too."""
    if names_query:
        yield f"> {card['name']} ({card['length']:,} residues) and {hit.name} ({hit.length:,} residues)"
    else:
        yield f"> {hit.name} ({hit.length:,} residues) {plain(hit.description)}".rstrip()


def alignment_lines(row: PairRow, width: int = BLOCK) -> Iterator[str]:
    """Yield an alignment with its numbers, in blocks of `width` columns."""
    pair, n = row.pair, row.n_columns
    head = f"  Score {row.domain.raw}"
    if row.has_statistics:
        head += f" ({row.domain.score:.1f} bits), E-value {evalue_words(row.domain.evalue)}"
    yield head + (f", strand {row.strand}" if row.card["alphabet"] != "amino" else "")
    if not n:
        yield "  No residues are aligned."
        yield ""
        return
    yield (
        f"  Identities {_share(pair.n_identical, n)}, positives {_share(pair.n_positive, n)},"
        f" gaps {_share(pair.n_gap_residues, n)}; {row.query_coverage:.0f} % of the query,"
        f" {row.target_coverage:.0f} % of the target"
    )
    yield ""
    yield from _blocks(row, width)


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({percent(part, whole):.0f} %)"


def _blocks(row: PairRow, width: int) -> Iterator[str]:
    query, middle, target = row.rows
    (query_at, _), (target_at, _) = row.query_ends, row.target_ends
    step = row.pair.strand
    digits = len(str(max(*row.query_ends, *row.target_ends)))
    for start in range(0, len(query), width):
        upper, lower = query[start : start + width], target[start : start + width]
        n_upper, n_lower = len(upper) - upper.count("-"), len(lower) - lower.count("-")
        # An end without residues in this block repeats the one before.
        upper_end = query_at + max(n_upper - 1, 0)
        lower_end = target_at + step * max(n_lower - 1, 0)
        yield f"  Query  {query_at:>{digits}d} {upper} {upper_end}"
        yield f"         {'':>{digits}s} {middle[start : start + width]}".rstrip()
        yield f"  Target {target_at:>{digits}d} {lower} {lower_end}"
        yield ""
        query_at, target_at = query_at + n_upper, target_at + step * n_lower


def totals(
    n_searched: int, n_targets: int, n_hits: int, wider: tuple[int, int], partial: bool, top: int
) -> Iterator[str]:
    """Yield the counts that end the whole text."""
    if partial:
        yield f"The search is not complete: {n_searched:,} of {n_targets:,} scores are known."
    else:
        yield f"Scores computed: {n_searched:,}; targets reported: {n_hits:,} (at most {top:,} for each query)."
    for count, n_bits in zip(wider, (16, 32), strict=True):
        if count:
            yield f"Computed again in {n_bits} bits, because narrower numbers overflowed: {count:,}."
