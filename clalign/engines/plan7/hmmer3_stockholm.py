"""The multiple alignment of domains that hmmsearch 3.3.2 writes, letter by letter.

Inserts stand in the middle between their neighbors: half of each to the left, half to the right. Each
row has its posterior probabilities, each consensus column their mean. Where a name occurs again, all
rows are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from clalign.formats.tables import Card
from clalign.formats.writers import AlignedRow, annotation_text, insert_lengths

BLOCK = 200
"""Columns of a block."""


class _Means:
    """Mean posterior probability of each node over the rows that have a residue there."""

    def __init__(self, length: int) -> None:
        self.totals = np.zeros(length, np.float64)
        self.counts = np.zeros(length, np.int64)

    def add(self, row: AlignedRow) -> None:
        node = row.first_node
        for state, symbol in zip(row.states, row.posterior, strict=True):
            if state == "M":
                self.totals[node] += _probability(symbol)
                self.counts[node] += 1
            node += state != "I"

    def text(self) -> str:
        return "".join(
            _symbol(total / count) if count else "." for total, count in zip(self.totals, self.counts, strict=True)
        )


def _probability(symbol: str) -> float:
    """Return what a symbol stands for, in single precision as HMMER has it."""
    if symbol == "*":
        return 1.0
    return 0.01 if symbol == "0" else float(np.float32(int(symbol) / 10.0))


def _symbol(mean: float) -> str:
    """Return the symbol of a probability, rounded to single precision as HMMER does."""
    probability = float(np.float32(mean))
    return "*" if probability + 0.05 >= 1.0 else str(int((probability + 0.05) * 10.0))


def hmmer3_stockholm_lines(
    card: Card, rows: Callable[[], Iterable[AlignedRow]], author: str, comments: Iterable[str] = (), block: int = BLOCK
) -> Iterator[str]:
    """Yield the lines of an alignment of domains to their profile.

    Parameters
    ----------
    card : dict
        The profile's.
    rows : callable
        Returns the rows, at least one; called again for each block, so that they need not be kept in memory.
    author : str
        The program, for the head.
    comments : iterable of str
        More lines for the head.
    block : int
        Columns of a block; 0 for one block.
    """
    length: int = card["length"]
    longest, means, n_rows, n_accessions = np.zeros(length + 1, np.int64), _Means(length), 0, 0
    places = set[str]()
    for row in rows():
        np.maximum(longest, insert_lengths(row, length), out=longest)
        means.add(row)
        places.add(row.place)
        n_rows += 1
        n_accessions += bool(row.accession)
    inserts = [int(n) for n in longest]
    n_digits = len(str(n_rows)) if len(places) < n_rows else 0
    width = max(map(len, places)) + (n_digits and n_digits + 1)

    def named() -> Iterator[tuple[str, AlignedRow]]:
        for number, row in enumerate(rows()):
            yield f"{number:0{n_digits}d}|{row.place}" if n_digits else row.place, row

    yield "# STOCKHOLM 1.0"
    if n_digits:
        yield '# WARNING: seq names have been made unique by adding a prefix of "<seq#>|"'
    for tag, text in (("ID", card["name"]), ("AC", card["accession"]), ("DE", card["description"]), ("AU", author)):
        if text:
            yield f"#=GF {tag} {text}"
    yield from (f"#=GF CC {comment}" for comment in comments)
    yield ""
    if n_accessions:
        yield from (f"#=GS {name:<{width}s} AC {row.accession}" for name, row in named() if row.accession)
        yield ""
    yield from (f"#=GS {name:<{width}s} DE [subseq from] {row.description or row.name}" for name, row in named())
    yield ""
    yield from _blocks(named, inserts, means.text(), width, block)
    yield "//"


def _blocks(
    named: Callable[[], Iterable[tuple[str, AlignedRow]]], inserts: list[int], means: str, width: int, block: int
) -> Iterator[str]:
    label = max(width + len("#=GR  PP"), len("#=GC PP_cons"))
    n = len(means) + sum(inserts)
    for start in range(0, n, block or n):
        part = slice(start, start + (block or n))
        if start:
            yield ""
        for name, row in named():
            text, posterior = centered_text(row, inserts)
            yield f"{name:<{label}s} {text[part]}"
            yield f"{f'#=GR {name:<{width}s} PP':<{label}s} {posterior[part]}"
        yield f"{'#=GC PP_cons':<{label}s} {annotation_text(means, inserts)[part]}"
        yield f"{'#=GC RF':<{label}s} {annotation_text('x' * len(means), inserts)[part]}"


def centered_text(row: AlignedRow, inserts: list[int]) -> tuple[str, str]:
    """Return a row of the alignment and of its posterior probabilities."""
    length = len(inserts) - 1
    matches, certainties = ["-"] * length, ["."] * length
    inserted, doubts = [""] * (length + 1), [""] * (length + 1)
    node = row.first_node
    for state, letter, symbol in zip(row.states, row.text, row.posterior, strict=True):
        if state == "I":
            inserted[node] += letter.lower()
            doubts[node] += symbol
            continue
        if state == "M":
            matches[node], certainties[node] = letter.upper(), symbol
        node += 1
    # HMMER halves the number of letters, which a stop is not.
    halves = [sum(map(str.isalpha, text)) // 2 for text in inserted]
    return _woven(matches, inserted, inserts, halves), _woven(certainties, doubts, inserts, halves)


def _woven(matches: list[str], inserted: list[str], inserts: list[int], halves: list[int]) -> str:
    """Return consensus columns and inserts in order; of each insert so many stand left as `halves` says."""
    columns = []
    for match, text, n, left in zip(["", *matches], inserted, inserts, halves, strict=True):
        columns.append(f"{match}{text[:left]}{'.' * (n - len(text))}{text[left:]}")
    return "".join(columns)
