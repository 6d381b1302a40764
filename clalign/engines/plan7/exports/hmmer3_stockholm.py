"""The multiple alignment of domains that hmmsearch 3.3.2 writes, letter by letter.

Inserts stand in the middle between their neighbors: half of each to the left, half to the right. Each
row has its posterior probabilities, each consensus column their mean. Where a name occurs again, all
rows are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from clalign.formats.profile_stockholm import (
    AlignedRow,
    annotation_text,
    consensus_text,
    inserts_of,
    widen_inserts,
    woven,
)
from clalign.formats.writers import line_name
from clalign.values.documents import Card

BLOCK = 200
"""Columns of a block."""


class _Means:
    """Mean posterior probability of each node over the rows that have a residue there."""

    def __init__(self, length: int) -> None:
        self.totals = np.zeros(length, np.float64)
        self.counts = np.zeros(length, np.int64)

    def add(self, row: AlignedRow) -> None:
        if not row.posterior:
            return
        states, symbols = (np.frombuffer(text.encode("ascii"), np.uint8) for text in (row.states, row.posterior))
        matches = states == ord("M")
        nodes = row.first_node - 1 + np.cumsum(states != ord("I"))[matches]
        self.totals[nodes] += _PROBABILITIES[symbols[matches]]
        self.counts[nodes] += 1

    def text(self) -> str:
        return "".join(
            _symbol(total / count) if count else "." for total, count in zip(self.totals, self.counts, strict=True)
        )


_PROBABILITIES = np.full(256, np.nan)
"""What a symbol stands for, in single precision as HMMER has it."""
_PROBABILITIES[list(b"123456789")] = np.arange(1, 10, dtype=np.float32) / np.float32(10.0)
_PROBABILITIES[list(b"0*")] = 0.01, 1.0


def _symbol(mean: float) -> str:
    """Return the symbol of a probability, rounded to single precision as HMMER does."""
    probability = float(np.float32(mean))
    return "*" if probability + 0.05 >= 1.0 else str(int((probability + 0.05) * 10.0))


def hmmer3_stockholm_lines(
    card: Card, rows: Callable[[], Iterable[AlignedRow]], author: str, comments: Iterable[str] = (), block: int = BLOCK,
    has_case: bool = True,
) -> Iterator[str]:  # fmt: skip
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
    has_case : bool
        Whether inserts are in lower case and their gaps dots; else all letters are capitals, and gaps dashes.
    """
    length: int = card["length"]
    inserts, means, n_rows, n_accessions, n_remarks = [0] * (length + 1), _Means(length), 0, 0, 0
    places = set[str]()
    for row in rows():
        widen_inserts(row, inserts)
        means.add(row)
        places.add(line_name(row.place))
        n_rows += 1
        n_accessions += bool(row.accession)
        n_remarks += bool(row.remark)
    n_digits = len(str(n_rows)) if len(places) < n_rows else 0
    width = max(map(len, places)) + (n_digits and n_digits + 1)

    def named() -> Iterator[tuple[str, AlignedRow]]:
        for number, row in enumerate(rows()):
            name = line_name(row.place)
            yield f"{number:0{n_digits}d}|{name}" if n_digits else name, row

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
    if n_remarks:
        yield from (f"#=GS {name:<{width}s} DE {row.remark}" for name, row in named() if row.remark)
        yield ""
    yield from _blocks(named, inserts, means, width, block, has_case)
    yield "//"


def _blocks(
    named: Callable[[], Iterable[tuple[str, AlignedRow]]], inserts: list[int], means: _Means, width: int, block: int,
    has_case: bool,
) -> Iterator[str]:  # fmt: skip
    has_posteriors, length = bool(means.counts.any()), len(means.counts)
    label = max(width + len("#=GR  PP"), len("#=GC PP_cons")) if has_posteriors else max(width, len("#=GC RF"))
    n, rooms = length + sum(inserts), [(node, room) for node, room in enumerate(inserts) if room]
    for start in range(0, n, block or n):
        part = slice(start, start + (block or n))
        if start:
            yield ""
        for name, row in named():
            text, posterior = centered_text(row, length, rooms)
            yield f"{name:<{label}s} {(text if has_case else in_capitals(text))[part]}"
            if row.posterior:
                yield f"{f'#=GR {name:<{width}s} PP':<{label}s} {posterior[part]}"
        if has_posteriors:
            yield f"{'#=GC PP_cons':<{label}s} {annotation_text(means.text(), inserts)[part]}"
        yield f"{'#=GC RF':<{label}s} {annotation_text('x' * length, inserts)[part]}"


def in_capitals(text: str) -> str:
    """Return a row without the marks of inserts: in capitals, and gaps as dashes."""
    return text.upper().replace(".", "-")


def centered_text(row: AlignedRow, length: int, rooms: Sequence[tuple[int, int]]) -> tuple[str, str]:
    """Return a row of the alignment and of its posterior probabilities; `rooms` as `woven` takes them."""
    letters, doubts = list[tuple[int, str, int]](), list[tuple[int, str, int]]()
    for node, start, end in inserts_of(row):
        text = row.text[start:end].lower()
        left = sum(map(str.isalpha, text)) // 2  # HMMER halves the number of letters, which a stop is not
        letters.append((node, text, left))
        doubts.append((node, row.posterior[start:end], left))
    return (
        woven(consensus_text(row, row.text.upper(), length, "-"), letters, rooms),
        woven(consensus_text(row, row.posterior, length, "."), doubts, rooms),
    )
