"""The multiple alignment of domains that hmmsearch 3.3.2 writes, letter by letter.

Inserts stand in the middle between their neighbors: half of each to the left, half to the right. Each
row has its posterior probabilities, each consensus column their mean. Where a name occurs again, all
rows are numbered.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice

import numpy as np
import numpy.typing as npt
from msgspec import Struct, msgpack

from clalign.formats.profile_stockholm import AlignedRow, annotation_text
from clalign.formats.writers import line_name
from clalign.values.documents import Card
from clalign.values.row_alignments import UPPER, Bytes, is_residue

Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_MATCH, _INSERT, _DELETE = (np.uint8(ord(state)) for state in "MID")
_GAP, _PAD = np.uint8(ord("-")), np.uint8(ord("."))

BLOCK = 200
"""Columns of a block."""


ROWS_AT_ONCE = 512
"""Rows that are laid out together."""


class _Row(Struct, frozen=True, array_like=True):
    """What is written of an `AlignedRow`."""

    name: str
    accession: str
    remark: str
    first_node: int
    states: str
    text: str
    posterior: str


class PackedRows:
    """Rows of an alignment to a profile, which are gone through several times: packed, a million have room in memory.

    Parameters
    ----------
    rows : iterable of AlignedRow
    """

    def __init__(self, rows: Iterable[AlignedRow]) -> None:
        self._n, self._parts, rows = 0, list[bytes](), iter(rows)
        while some := [
            _Row(line_name(row.place), row.accession, row.remark, row.first_node, row.states, row.text, row.posterior)
            for row in islice(rows, ROWS_AT_ONCE)
        ]:
            self._n += len(some)
            self._parts.append(zlib.compress(msgpack.encode(some), 1))

    def __len__(self) -> int:
        return self._n

    def parts(self) -> Iterator[list[_Row]]:
        """Yield some of the rows after the other."""
        return (msgpack.decode(zlib.decompress(part), type=list[_Row]) for part in self._parts)


class RowColumns:
    """Rows of an alignment to a profile, their columns side by side.

    Parameters
    ----------
    rows : sequence of AlignedRow

    Attributes
    ----------
    states, text, posterior : uint8[s]
        Columns of all rows, one row after the other; a pad for what has no posterior probability.
    of : int64[s]
        The row of each.
    nodes : int64[s]
        How many nodes lie before each.
    inserts : int64[k]
        Where among them stretches of inserts of a row begin, all of them.
    insert_lengths : int64[k]
    """

    def __init__(self, rows: Sequence[AlignedRow] | Sequence[_Row]) -> None:
        self.states, self.text, self.posterior = (
            np.frombuffer("".join(texts).encode("latin-1", "replace"), np.uint8)
            for texts in (
                [row.states for row in rows], [row.text for row in rows],
                [row.posterior or "." * len(row.states) for row in rows],
            )
        )  # fmt: skip
        lengths = np.array([len(row.states) for row in rows], np.int64)
        self.of, begins = np.repeat(np.arange(len(rows)), lengths), np.cumsum(lengths) - lengths
        self.is_insert = self.states == _INSERT
        passed = np.concatenate([[0], np.cumsum(~self.is_insert)])
        self.nodes = passed[:-1] + np.repeat(np.array([row.first_node for row in rows]) - passed[begins], lengths)
        begun = self.is_insert.copy()
        begun[1:] &= ~self.is_insert[:-1] | (self.of[1:] != self.of[:-1])
        self.inserts = np.flatnonzero(begun)
        self.insert_lengths = np.diff(np.flatnonzero(begun[self.is_insert]), append=int(self.is_insert.sum()))

    def widen(self, inserts: Integers) -> None:
        """Widen the inserts after the nodes 0..length (0: before the first) to those of the rows."""
        np.maximum.at(inserts, self.nodes[self.inserts], self.insert_lengths)


class _Means:
    """Mean posterior probability of each node over the rows that have a residue there."""

    def __init__(self, length: int) -> None:
        self.totals = np.zeros(length, np.float64)
        self.counts = np.zeros(length, np.int64)

    def add(self, rows: RowColumns) -> None:
        chosen = (rows.states == _MATCH) & (rows.posterior != _PAD)
        nodes = rows.nodes[chosen]
        np.add.at(self.totals, nodes, _PROBABILITIES[rows.posterior[chosen]])  # one after the other: rounding shows
        np.add.at(self.counts, nodes, 1)

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
    card: Card, rows: PackedRows, author: str, comments: Iterable[str] = (), block: int = BLOCK, has_case: bool = True
) -> Iterator[str]:
    """Yield the lines of an alignment of domains to their profile.

    Parameters
    ----------
    card : dict
        The profile's.
    rows : PackedRows
        At least one.
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
    inserts, means, n_accessions, n_remarks = np.zeros(length + 1, np.int64), _Means(length), 0, 0
    names = set[str]()
    for some in rows.parts():
        columns = RowColumns(some)
        columns.widen(inserts)
        means.add(columns)
        names.update(row.name for row in some)
        n_accessions += sum(bool(row.accession) for row in some)
        n_remarks += sum(bool(row.remark) for row in some)
    n_digits = len(str(len(rows))) if len(names) < len(rows) else 0
    width = max(map(len, names)) + (n_digits and n_digits + 1)
    del names

    def named() -> Iterator[tuple[list[str], list[_Row]]]:
        numbers = count()
        for some in rows.parts():
            prefixes = [f"{next(numbers):0{n_digits}d}|" if n_digits else "" for _ in some]
            yield [f"{prefix}{row.name}" for prefix, row in zip(prefixes, some, strict=True)], some

    def annotated(tag: str, field: str) -> Iterator[str]:
        for names, some in named():
            for name, row in zip(names, some, strict=True):
                if text := getattr(row, field):
                    yield f"#=GS {name:<{width}s} {tag} {text}"
        yield ""

    yield "# STOCKHOLM 1.0"
    if n_digits:
        yield '# WARNING: seq names have been made unique by adding a prefix of "<seq#>|"'
    for tag, text in (("ID", card["name"]), ("AC", card["accession"]), ("DE", card["description"]), ("AU", author)):
        if text:
            yield f"#=GF {tag} {text}"
    yield from (f"#=GF CC {comment}" for comment in comments)
    yield ""
    if n_accessions:
        yield from annotated("AC", "accession")
    if n_remarks:
        yield from annotated("DE", "remark")
    yield from _blocks(named, inserts.tolist(), means, width, block, has_case)
    yield "//"


def _blocks(
    named: Callable[[], Iterable[tuple[list[str], list[_Row]]]], inserts: list[int], means: _Means, width: int,
    block: int, has_case: bool,
) -> Iterator[str]:  # fmt: skip
    has_posteriors, length = bool(means.counts.any()), len(means.counts)
    label = max(width + len("#=GR  PP"), len("#=GC PP_cons")) if has_posteriors else max(width, len("#=GC RF"))
    n, columns = length + sum(inserts), CenteredColumns(inserts)
    for start in range(0, n, block or n):
        part = slice(start, start + (block or n))
        if start:
            yield ""
        for names, some in named():
            letters, doubts = (_lines(cells[:, part]) for cells in columns.cells(RowColumns(some), len(some)))
            for name, row, shown, doubt in zip(names, some, letters, doubts, strict=True):
                yield f"{name:<{label}s} {shown if has_case else in_capitals(shown)}"
                if row.posterior:
                    yield f"{f'#=GR {name:<{width}s} PP':<{label}s} {doubt}"
        if has_posteriors:
            yield f"{'#=GC PP_cons':<{label}s} {annotation_text(means.text(), inserts)[part]}"
        yield f"{'#=GC RF':<{label}s} {annotation_text('x' * length, inserts)[part]}"


def _lines(cells: Bytes) -> list[str]:
    """Return each row of some cells as text."""
    text, n = cells.tobytes().decode("latin-1"), cells.shape[1]
    return [text[start : start + n] for start in range(0, len(text), n)]


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

    def cells(self, rows: RowColumns, n: int) -> tuple[Bytes, Bytes]:
        """Return the letters of `n` rows and their posterior probabilities (uint8[n, n_columns], both)."""
        is_letter = is_residue(rows.text)
        columns = np.empty(len(rows.states), np.int64)
        columns[~rows.is_insert] = self._matches[rows.nodes[~rows.is_insert]]
        columns[rows.is_insert] = self._insert_columns(rows, is_letter)
        letters, doubts = np.tile(self._line, (n, 1)), np.full((n, len(self._line)), _PAD)
        as_shown = np.where(is_letter, np.where(rows.is_insert, rows.text | ~UPPER, rows.text & UPPER), rows.text)
        held = rows.states != _DELETE
        places = rows.of[held], columns[held]
        letters[places], doubts[places] = as_shown[held], rows.posterior[held]
        return letters, doubts

    def _insert_columns(self, rows: RowColumns, is_letter: Bools) -> Integers:
        """Return the columns of inserted residues."""
        lengths, nodes = rows.insert_lengths, rows.nodes[rows.is_insert]
        firsts = np.cumsum(lengths) - lengths
        # HMMER halves the number of letters, which a stop is not.
        letters = np.concatenate([[0], np.cumsum(is_letter[rows.is_insert])])
        left = np.repeat((letters[firsts + lengths] - letters[firsts]) // 2, lengths)
        place = np.arange(len(nodes)) - np.repeat(firsts, lengths)
        right = self._rooms[nodes] - np.repeat(lengths, lengths) + place
        found: Integers = self._begins[nodes] + np.where(place < left, place, right)
        return found
