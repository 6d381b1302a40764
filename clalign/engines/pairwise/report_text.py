"""The text that people read of a pairwise search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import StoredScoring
from clalign.formats.pairwise_rows import PairRow, percent
from clalign.formats.tables import Provenance, plain
from clalign.values.documents import Card, Explanation, TargetFacts
from clalign.values.hits import Hit

NAME_WIDTH = 30

HITS_LATER = "Hits are found when all parts are merged."
"""Text of a part whose hits need the scores of the other parts."""

MIN_EVALUE = 1e-300
"""Smaller E-values are shown as less than this; in tables they are numbers still."""

MODES = {
    "local": "local alignments",
    "global": "global alignments, all of both sequences",
    "semiglobal": "semiglobal alignments, overhanging ends cost nothing",
    "ungapped": "local alignments without gaps",
}


def opening(origin: Provenance, scoring: StoredScoring, strands: Sequence[str]) -> Iterator[str]:
    """Yield the head of the whole text."""
    yield f"clalign sw {origin.version}: Smith-Waterman search on {origin.device}"
    for label, path in (("Queries", origin.query), ("Targets", origin.target)):
        yield f"{label}:  {'standard input' if path == '-' else path}"
    if origin.part:
        yield f"Searched: {origin.part} of the targets"
    yield f"Command:  {origin.command}"
    yield f"Date:     {origin.date}"
    yield from origin.checksum_lines("SHA-256:  ")
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
    words = f", strand{'s' if len(strands) > 1 else ''} {' and '.join(strands)}" if strands != ["plus"] else ""
    yield f"Mode:     {MODES[scoring['mode']]}{words}"
    yield ""


def query_lines(card: Card) -> Iterator[str]:
    """Yield the lines about a query."""
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
    words = ("Target", "Score", "Bits", "E-value", "Ident", "Cover", "Description")
    for line in (words, tuple("-" * len(word) for word in words)):
        target, score, bits, evalue, identity, cover, description = line
        yield f"{target:<{NAME_WIDTH}s} {score:>6s} {bits:>8s} {evalue:>9s} {identity:>6s} {cover:>6s}  {description}"


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
    if math.isnan(evalue):
        return "-"
    return f"{evalue:.2g}" if evalue >= MIN_EVALUE else f"<{MIN_EVALUE:g}"


def no_hits(spec: PairwiseSpec, card: Card, n_searched: int, best: TargetFacts | None) -> Iterator[str]:
    """Yield the lines where nothing was found; `best` is the target that came closest."""
    limits = limit_words(spec, card)
    yield f"No hits{' at ' + limits if limits else ''}."
    total = f"{n_searched:,} sequence{'' if n_searched == 1 else 's'}"
    if best is None:
        yield f"{total} were searched so far."
    elif (evalue := best.get("evalue")) is None:
        yield f"The best of {total} was {best['name']} with a score of {best['raw']}."
    else:
        yield (
            f"The best of {total} was {best['name']} with E = {evalue_words(evalue)} (score {best['raw']},"
            f" {best['score']:.1f} bits)."
        )


def limit_words(spec: PairwiseSpec, card: Card) -> str:
    """Return the condition for a target to be reported, as in ``E <= 10 and score >= 50``; empty if nothing."""
    limits = [f"E <= {spec.evalue:g}"] if card.get("statistics") else []
    limits += [f"score >= {spec.score:g}"] if spec.score is not None else []
    return " and ".join(limits)


def cut_list(spec: PairwiseSpec, card: Card, n_kept: int, n_passing: int) -> Iterator[str]:
    """Yield the line below a list that ``--top`` has cut, and nothing below others."""
    if spec.top <= n_kept < n_passing:
        yield f"The list was cut by --top: the best {_kept_words(spec, card, n_kept, n_passing)} were kept."


def cut_lists(spec: PairwiseSpec, cut: Sequence[tuple[Card, int, int]]) -> str:
    """Return a sentence about the queries whose lists ``--top`` has cut, each with what was kept and of how many."""
    if not cut:
        return ""
    card, n_kept, n_passing = cut[0]
    others = f" (lists cut in all: {len(cut):,})" if len(cut) > 1 else ""
    words = _kept_words(spec, card, n_kept, n_passing)
    return f"{words} were kept for {plain(card['name'])}{others}; --top N keeps more."


def _kept_words(spec: PairwiseSpec, card: Card, n_kept: int, n_passing: int) -> str:
    most = "at most " if spec.composition == "scale" else ""  # counted as if nothing were adjusted
    return f"{n_kept:,} of {most}{n_passing:,} targets with {limit_words(spec, card) or 'an alignment'}"


def hit_heading(card: Card, hit: Hit, names_query: bool) -> Iterator[str]:
    """Yield the lines above the alignments of a hit; for given pairs the query, too."""
    query = f"{_title(card['name'], card['length'], card['description'])} and " if names_query else ""
    yield f"> {query}{_title(hit.name, hit.length, hit.description)}"


def _title(name: str, length: int, description: str) -> str:
    return f"{name} ({length:,} residues) {plain(description)}".rstrip()


def alignment_lines(row: PairRow, width: int) -> Iterator[str]:
    """Yield an alignment with its numbers, in blocks of `width` columns; the numbers alone if that is 0."""
    pair, n = row.pair, row.n_columns
    head = f"  Score {row.domain.raw}"
    if row.has_statistics:
        head += f" ({row.domain.score:.1f} bits), E-value {evalue_words(row.domain.evalue)}"
    yield head + (f", strand {row.strand}" if row.card["alphabet"] != "amino" else "")
    if not n:
        yield "  No residues are aligned."
        yield ""
        return
    # As in BLAST: bases that score above 0 are equal, as a rule.
    positives = f", positives {_share(pair.n_positive, n)}" if row.card["alphabet"] == "amino" else ""
    yield (
        f"  Identities {_share(pair.n_identical, n)}{positives},"
        f" gaps {_share(pair.n_gap_residues, n)}; {row.query_coverage:.0f} % of the query,"
        f" {row.target_coverage:.0f} % of the target"
    )
    yield ""
    if width:
        yield from _blocks(row, width)


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} ({percent(part, whole):.0f} %)"


def _blocks(row: PairRow, width: int) -> Iterator[str]:
    query, middle, target = row.rows
    (query_at, _), (target_at, _) = row.query_ends, row.target_ends
    digits = len(str(max(*row.query_ends, *row.target_ends)))
    for start in range(0, len(query), width):
        upper, query_at = _numbered(query[start : start + width], query_at, 1, digits)
        lower, target_at = _numbered(target[start : start + width], target_at, row.pair.strand, digits)
        yield f"  Query  {upper}"
        yield f"         {'':>{digits}s} {middle[start : start + width]}".rstrip()
        yield f"  Target {lower}"
        yield ""


def _numbered(residues: str, first: int, step: int, digits: int) -> tuple[str, int]:
    """Return a line between the numbers of its ends, which a line of gaps has not, and the number after it."""
    after = first + step * (len(residues) - residues.count("-"))
    if after == first:
        return f"{'':>{digits}s} {residues}", first
    return f"{first:>{digits}d} {residues} {after - step}", after


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


STRETCH_WIDTHS = (17, 9, 9, 9, 8, 8, 9)
"""Widths of the columns of the table of stretches (characters)."""


def explanation_lines(value: Explanation) -> Iterator[str]:
    """Yield how the score of two sequences comes about; see `clalign.engines.pairwise.explain.explain_pair`."""
    strand = "" if value["strand"] == "plus" else ", on the minus strand: its reverse complement is aligned"
    yield f"Query:    {value['query']} ({value['query_length']:,} residues){strand}"
    yield f"Target:   {value['target']} ({value['length']:,} residues)"
    gaps = f", gaps {value['gap_first']} for the first residue, {value['gap_next']} for each further one"
    yield f"Scoring:  {value['matrix']}{gaps if value['mode'] != 'ungapped' else ''}; {MODES[value['mode']]}"
    yield ""
    yield from _stretch_lines(value) if value["stretches"] else _column_lines(value)
    yield ""
    yield f"Score:    {value['score']} = {_parts(value)}"
    yield from _arithmetic(value) if value["statistics"] else ()
    yield value["statistics_words"]
    yield ""
    yield value["verdict"]


def _place(at: int | None, letter: str) -> str:
    return f"{'' if at is None else at} {letter}"


def _column_lines(value: Explanation) -> Iterator[str]:
    yield f"{'Column':>7s} {'Query':>10s} {'Target':>10s} {'Score':>6s} {'Sum':>7s}"
    for number, column in enumerate(value["columns"], 1):
        query, target = (_place(column[f"{whose}_at"], column[whose]) for whose in ("query", "target"))
        yield f"{number:>7d} {query:>10s} {target:>10s} {column['score']:>6d} {column['sum']:>7d}"


def _stretch_lines(value: Explanation) -> Iterator[str]:
    """Yield lines of columns taken together."""
    stretches = value["stretches"]
    n = stretches[0]["last"]
    yield f"Of {value['n_columns']:,} columns, too many to be shown one by one, {n:,} are taken together each time;"
    yield "query and target are where the last one of them is."
    heads = ("Columns", "Query", "Target", "Identical", "In gaps", "Score", "Sum")
    yield " ".join(f"{head:>{width}s}" for head, width in zip(heads, STRETCH_WIDTHS, strict=True))
    for row in stretches:
        n = row["last"] - row["first"] + 1
        cells = (
            f"{row['first']}-{row['last']}", row["query_at"], row["target_at"], f"{row['n_identical'] / n:.1%}",
            n - row["n_pairs"], row["score"], row["sum"],
        )  # fmt: skip
        yield " ".join(f"{cell:>{width}}" for cell, width in zip(cells, STRETCH_WIDTHS, strict=True))


def _parts(value: Explanation) -> str:
    """Return the score of the pairs of residues of an alignment, and the cost of its gaps."""
    in_gaps = value["n_columns"] - value["n_pairs"]
    text = f"{value['pairs_score']} for {value['n_pairs']} pairs of residues"
    more = f" - {value['gaps_cost']} for {in_gaps} residue{'' if in_gaps == 1 else 's'} in gaps"
    return text + more if in_gaps else text


def _arithmetic(value: Explanation) -> Iterator[str]:
    """Yield how bits and E-value follow from a score."""
    known, raw = value["statistics"], value["score"]
    lambda_, k = f"{known['lambda']:.4g}", f"{known['k']:.3g}"
    if value["factor"] is not None:
        usual = f"{known['lambda'] / value['factor']:.4g}"
        yield f"Lambda:   {usual} x {value['factor']:.4g} = {lambda_}, for the composition of query and target"
    yield f"Bits:     (lambda S - ln K) / ln 2 = ({lambda_} x {raw} - ln {k}) / ln 2 = {value['bits']:.1f}"
    counted = raw // known["step"] * known["step"]
    short, n_sequences = known["length_adjustment"], value["n_sequences"]
    query, targets = known["query_length"] - short, value["n_residues"] - n_sequences * short
    if short:
        yield (
            f"Lengths:  query {known['query_length']:,} - {short} = {query:,}; targets {value['n_residues']:,}"
            f" - {n_sequences:,} x {short} = {targets:,} (no alignment begins in the last {short} residues)"
        )
    if counted != raw:
        yield f"          The table holds for multiples of {known['step']}, so for the E-value S counts as {counted}."
    yield (
        f"E-value:  K m n exp(-lambda S) = {k} x {query:,} x {targets:,} x exp(-{lambda_} x {counted})"
        f" = {evalue_words(value['evalue'])}"
    )
