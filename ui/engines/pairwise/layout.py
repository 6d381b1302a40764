"""The alignments of two sequences, cut into lines that fit a width, as the query runs."""

from __future__ import annotations

from clalign.formats.pairwise_rows import PairRow
from clalign.formats.tables import Card
from clalign.values.hits import Hit

from ... import formatting
from ...models.alignment_layout import MIN_COLUMNS, Layout, Line, fasta_record, letter_numbers, ruler, title_lines


def pair_title(row: PairRow) -> list[str]:
    """Return what stands above an alignment, in parts that may each have a line of their own."""
    pair, n = row.pair, row.n_columns
    head = f"Score {formatting.count(row.domain.raw)}"
    if row.has_statistics:
        bits, raw = formatting.score(row.domain.score), formatting.count(row.domain.raw)
        head = f"{bits} bits ({raw}) · E {formatting.evalue(row.domain.evalue)}"
    if not n:
        return [head, "no residues are aligned"]
    shares = [f"identities {pair.n_identical}/{n} ({formatting.share(row.identity)}{formatting.THIN}%)"]
    if row.card["alphabet"] == "amino":  # of nucleic acids they are the identities
        shares.append(f"positives {pair.n_positive}/{n} ({formatting.share(row.positives)}{formatting.THIN}%)")
    gaps = "no gaps"
    if pair.n_gaps:
        gaps = f"{formatting.plural(pair.n_gaps, 'gap')} ({formatting.plural(pair.n_gap_residues, 'column')})"
    return [head, *shares, gaps, *pair_places(row)]


def pair_places(row: PairRow) -> list[str]:
    """Return what of both sequences is aligned; of nucleic acids with the strand of the query."""
    (query_from, query_to), (target_from, target_to) = row.query_ends, row.target_ends
    strand = "" if row.card["alphabet"] == "amino" else f" · {row.strand} strand"
    return [
        f"query {query_from}–{query_to} ({formatting.share(row.query_coverage)}{formatting.THIN}%)",
        f"target {target_from}–{target_to} ({formatting.share(row.target_coverage)}{formatting.THIN}%){strand}",
    ]


def pair_line(card: Card, hit: Hit) -> str:
    """Return what is said of a hit in one sentence; where there are two alignments, each has its own title."""
    title, length = pair_title(PairRow(card, hit, hit.domains[0])), formatting.length(hit.length, card["alphabet"])
    if len(hit.domains) > 1:
        return " · ".join([title[0], length, "aligned on both strands"])
    return " · ".join([*title, length])


class PairLayout(Layout):
    """Alignments of two sequences."""

    def lines(
        self, hit: Hit, card: Card, n_columns: int, narrow: bool, with_posterior: bool, titled: bool
    ) -> list[Line]:
        """Return the lines of all alignments."""
        return lay_out_pair(hit, card, n_columns, narrow, titled)

    def fasta(self, hit: Hit, card: Card) -> str:
        """Return the aligned part of the target of each alignment."""
        return pair_fasta(card, hit)


def lay_out_pair(hit: Hit, card: Card, n_columns: int, narrow: bool = False, with_titles: bool = True) -> list[Line]:
    """Return the lines of all alignments of a target, wrapped to a number of columns."""
    lines: list[Line] = []
    for place, domain in enumerate(hit.domains):
        row = PairRow(card, hit, domain)
        lines += title_lines(pair_title(row), place, n_columns, narrow) if with_titles else []
        lines += _blocks(row, place, max(MIN_COLUMNS, n_columns))
    return lines


def _blocks(row: PairRow, place: int, width: int) -> list[Line]:
    query, middle, target = row.rows
    in_query, in_target = letter_numbers(query, "-", 0), letter_numbers(target, "-", 0)
    first = row.query_ends[0]
    numbers = [first - 1 + count for count in in_query]
    lines = []
    for begin in range(0, len(query), width):
        end = min(begin + width, len(query))
        upper, lower = (
            _ends(in_query, begin, end, first, 1), _ends(in_target, begin, end, row.target_ends[0], row.pair.strand)
        )  # fmt: skip
        lines += [
            Line("ruler", ruler(query[begin:end], numbers[begin : end + 1], "-"), domain=place, begin=begin),
            Line("model", query[begin:end], row.card["name"], *upper, place, begin),
            Line("match", middle[begin:end], domain=place, begin=begin),
            Line("target", target[begin:end], row.hit.name, *lower, place, begin),
            Line("space", domain=place, begin=begin),
        ]
    return lines


def _ends(counts: list[int], begin: int, end: int, first: int, step: int) -> tuple[int | None, int | None]:
    """Return the numbers of the first and the last residue in some columns; None where there is none."""
    if counts[begin] == counts[end]:
        return None, None
    return first + step * counts[begin], first + step * (counts[end] - 1)


def pair_fasta(card: Card, hit: Hit) -> str:
    """Return the aligned part of the target as FASTA; on the minus strand its complement, ends exchanged."""
    records = []
    for domain in hit.domains:
        row = PairRow(card, hit, domain)
        letters = row.rows[2].replace("-", "")
        first, last = row.target_ends
        if letters:
            records.append(fasta_record(hit, first, last, letters))
    return "".join(records)
