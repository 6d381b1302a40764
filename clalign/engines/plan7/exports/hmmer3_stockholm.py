"""The multiple alignment of domains that hmmsearch 3.3.2 writes, letter by letter.

Inserts stand in the middle between their neighbors: half of each to the left, half to the right. Each
row has its posterior probabilities, each consensus column their mean. Where a name occurs again, all
rows are numbered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from clalign.formats.profile_stockholm import AlignedRow, annotation_text, widen_inserts
from clalign.formats.writers import line_name
from clalign.values.documents import Card
from clalign.values.row_alignments import UPPER, Bytes, is_residue

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_INSERT, _DELETE = np.uint8(ord("I")), np.uint8(ord("D"))
_GAP, _PAD = np.uint8(ord("-")), np.uint8(ord("."))

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
    n, columns = length + sum(inserts), CenteredColumns(inserts)
    for start in range(0, n, block or n):
        part = slice(start, start + (block or n))
        if start:
            yield ""
        for name, row in named():
            letters, doubts = (cells[part].tobytes().decode("latin-1") for cells in columns.cells(row))
            yield f"{name:<{label}s} {letters if has_case else in_capitals(letters)}"
            if row.posterior:
                yield f"{f'#=GR {name:<{width}s} PP':<{label}s} {doubts}"
        if has_posteriors:
            yield f"{'#=GC PP_cons':<{label}s} {annotation_text(means.text(), inserts)[part]}"
        yield f"{'#=GC RF':<{label}s} {annotation_text('x' * length, inserts)[part]}"


def in_capitals(text: str) -> str:
    """Return a row without the marks of inserts: in capitals, and gaps as dashes."""
    return text.upper().replace(".", "-")


class CenteredColumns:
    """The columns of an alignment in which inserts stand in the middle between their neighbors.

    Parameters
    ----------
    inserts : sequence of int
        Columns of inserts after the nodes 0..length (0: before the first).
    """

    def __init__(self, inserts: Sequence[int]) -> None:
        self._rooms = np.array(inserts, np.int64)
        self._begins = np.cumsum(self._rooms) - self._rooms + np.arange(len(self._rooms))
        self._matches = self._begins[1:] - 1
        self._line = np.full(int(self._begins[-1] + self._rooms[-1]), _PAD, np.uint8)
        self._line[self._matches] = _GAP

    def cells(self, row: AlignedRow) -> tuple[Bytes, Bytes]:
        """Return the letters of a row and their posterior probabilities in all columns (uint8[n_columns], both)."""
        states = np.frombuffer(row.states.encode("latin-1", "replace"), np.uint8)
        text = np.frombuffer(row.text.encode("latin-1", "replace"), np.uint8)
        is_letter = is_residue(text)
        is_insert = states == _INSERT
        passed = row.first_node + np.cumsum(~is_insert) - ~is_insert
        columns = np.empty(len(states), np.int64)
        columns[~is_insert] = self._matches[passed[~is_insert]]
        if is_insert.any():
            columns[is_insert] = self._insert_columns(passed[is_insert], is_letter[is_insert])
        held = states != _DELETE
        letters, doubts = self._line.copy(), np.full(len(self._line), _PAD, np.uint8)
        as_shown = np.where(is_letter, np.where(is_insert, text | ~UPPER, text & UPPER), text)
        letters[columns[held]] = as_shown[held]
        if row.posterior:
            doubts[columns[held]] = np.frombuffer(row.posterior.encode("latin-1", "replace"), np.uint8)[held]
        return letters, doubts

    def _insert_columns(self, nodes: Integers, is_letter: Bools) -> Integers:
        """Return the columns of inserted residues, given how many nodes lie before each."""
        firsts = np.flatnonzero(np.append(True, nodes[1:] != nodes[:-1]))
        lengths = np.diff(firsts, append=len(nodes))
        # HMMER halves the number of letters, which a stop is not.
        left = np.repeat(np.add.reduceat(is_letter.astype(np.int64), firsts) // 2, lengths)
        place = np.arange(len(nodes)) - np.repeat(firsts, lengths)
        right = self._rooms[nodes] - np.repeat(lengths, lengths) + place
        found: Integers = self._begins[nodes] + np.where(place < left, place, right)
        return found
