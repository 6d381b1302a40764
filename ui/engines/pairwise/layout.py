"""Alignments of two sequences, wrapped to a width, in the direction of the query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from clalign.formats.pairwise_rows import PairRow
from clalign.values.documents import Card
from clalign.values.hits import Hit

from ... import formatting
from ...models.alignment.alignment_layout import MIN_COLUMNS, Layout, Line, fasta_record, ruler, title_lines


def pair_title(row: PairRow) -> list[str]:
    """Return the title of an alignment, in parts that may each have a line."""
    pair, n = row.pair, row.n_columns
    head = f"Score {formatting.count(row.domain.raw)}"
    if row.has_statistics:
        bits, raw = formatting.score(row.domain.score), formatting.count(row.domain.raw)
        head = f"{bits} bits ({raw}) · E {formatting.evalue(row.domain.evalue)}"
    if not n:
        return [head, "no residues are aligned"]
    of = formatting.count
    shares = [f"identities {of(pair.n_identical)}/{of(n)} ({formatting.share(row.identity)}{formatting.THIN}%)"]
    if row.card["alphabet"] == "amino":  # of nucleic acids they are the identities
        shares.append(f"positives {of(pair.n_positive)}/{of(n)} ({formatting.share(row.positives)}{formatting.THIN}%)")
    gaps = "no gaps"
    if pair.n_gaps:
        gaps = f"{formatting.plural(pair.n_gaps, 'gap')} ({formatting.plural(pair.n_gap_residues, 'column')})"
    return [head, *shares, gaps, *pair_places(row)]


def pair_places(row: PairRow) -> list[str]:
    """Return the aligned ranges of both sequences, with the strand of a nucleic query."""
    query, target = formatting.span(*row.query_ends), formatting.span(*row.target_ends)
    strand = "" if row.card["alphabet"] == "amino" else f" · {row.strand} strand"
    return [
        f"query {query} ({formatting.share(row.query_coverage)}{formatting.THIN}%)",
        f"target {target} ({formatting.share(row.target_coverage)}{formatting.THIN}%){strand}",
    ]


def pair_line(card: Card, hit: Hit) -> str:
    """Return a sentence about a hit; each of several alignments has its own title."""
    title, length = pair_title(PairRow(card, hit, hit.domains[0])), formatting.length(hit.length, card["alphabet"])
    if len(hit.domains) > 1:
        return " · ".join([title[0], length, "aligned on both strands"])
    return " · ".join([*title, length])


class PairLayout(Layout):
    """Alignments of two sequences."""

    def lines(self, hit: Hit, card: Card, n_columns: int, with_posterior: bool, titled: bool) -> PairLines:
        return PairLines(hit, card, n_columns, titled)

    def row_of_column(self, lines: Sequence[Line], alignment: int, column: int) -> int | None:
        assert isinstance(lines, PairLines)
        return lines.row_of_column(alignment, column)

    def fasta(self, hit: Hit, card: Card) -> str:
        return pair_fasta(card, hit)


class PairLines(Sequence[Line]):
    """The lines of all alignments of a target, created on access: there may be a million columns.

    Parameters
    ----------
    hit : Hit
    card : dict
        The query's.
    n_columns : int
        To which they are wrapped.
    with_titles : bool
        As ``titled`` of `Layout.lines`.
    """

    def __init__(self, hit: Hit, card: Card, n_columns: int, with_titles: bool = True) -> None:
        rows = [PairRow(card, hit, domain) for domain in hit.domains]
        width = max(MIN_COLUMNS, n_columns)
        self._titles = [
            title_lines(pair_title(row), place, n_columns) if with_titles else [] for place, row in enumerate(rows)
        ]
        self._blocks = [_Blocks(row, place, width) for place, row in enumerate(rows)]
        n_lines = [n for i, blocks in enumerate(self._blocks) for n in (len(self._titles[i]), len(blocks))]
        self._ends = np.cumsum(n_lines, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, at: int) -> Line: ...

    @overload
    def __getitem__(self, at: slice) -> list[Line]: ...

    def __getitem__(self, at: int | slice) -> Line | list[Line]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(len(self)))]
        place = range(len(self))[at]
        part = int(np.searchsorted(self._ends, place, "right"))
        place -= int(self._ends[part - 1]) if part else 0
        return self._blocks[part // 2].line(place) if part % 2 else self._titles[part // 2][place]

    def row_of_column(self, alignment: int, column: int) -> int | None:
        """Return the row of the query line with a column of an alignment."""
        if not 0 <= alignment < len(self._blocks) or not 0 <= column < self._blocks[alignment].n_columns:
            return None
        return int(self._ends[2 * alignment]) + self._blocks[alignment].row_of_column(column)


class _Blocks:
    """The lines of one alignment."""

    KINDS = ("ruler", "model", "match", "target", "space")

    def __init__(self, row: PairRow, place: int, width: int) -> None:
        self._row, self._place, self._width = row, place, width
        self._texts = row.rows
        self._counts = [_letter_counts(self._texts[which]) for which in (0, 2)]
        self.n_columns = len(self._texts[0])

    def __len__(self) -> int:
        return len(self.KINDS) * -(-self.n_columns // self._width)

    def row_of_column(self, column: int) -> int:
        return column // self._width * len(self.KINDS) + self.KINDS.index("model")

    def line(self, number: int) -> Line:
        row, place, kind = self._row, self._place, self.KINDS[number % len(self.KINDS)]
        begin = number // len(self.KINDS) * self._width
        end = min(begin + self._width, self.n_columns)
        query, middle, target = (text[begin:end] for text in self._texts)
        first = row.query_ends[0]
        if kind == "ruler":
            numbers = (first - 1 + self._counts[0][begin : end + 1]).tolist()
            return Line(kind, ruler(query, numbers, "-"), domain=place, begin=begin)
        if kind == "model":
            return Line(kind, query, row.card["name"], *_ends(self._counts[0], begin, end, first, 1), place, begin)
        if kind == "target":
            ends = _ends(self._counts[1], begin, end, row.target_ends[0], row.pair.strand)
            return Line(kind, target, row.hit.name, *ends, place, begin)
        return Line(kind, middle if kind == "match" else "", domain=place, begin=begin)


def _letter_counts(text: str) -> npt.NDArray[np.int64]:
    """Return the number of letters before each column, and in total."""
    are_letters = np.frombuffer(text.encode("ascii"), np.uint8) != ord("-")
    return np.concatenate([[0], np.cumsum(are_letters)]).astype(np.int64)


def _ends(counts: npt.NDArray[np.int64], begin: int, end: int, first: int, step: int) -> tuple[int | None, int | None]:
    """Return the numbers of the first and the last residue in some columns; None if there is none."""
    if counts[begin] == counts[end]:
        return None, None
    return first + step * int(counts[begin]), first + step * int(counts[end] - 1)


def pair_fasta(card: Card, hit: Hit) -> str:
    """Return the aligned part of the target as FASTA; on the minus strand its reverse complement."""
    records = []
    for domain in hit.domains:
        row = PairRow(card, hit, domain)
        letters = row.rows[2].replace("-", "")
        first, last = row.target_ends
        if letters:
            records.append(fasta_record(hit, first, last, letters))
    return "".join(records)
