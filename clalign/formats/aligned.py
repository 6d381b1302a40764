"""Rows of an alignment, gathered over the blocks of a file: a table of letters, or sequences without their gaps."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from clalign.errors import OutputError, quoted
from clalign.formats.blocks import Block, BlockBuilder, Reading
from clalign.formats.sources import LINE_BYTES, NEW_COPY_HINT, TextReader
from clalign.formats.tally import BLANKS
from clalign.values.row_alignments import Bytes, RowAlignment, RowNotes, RowTexts

Integers = npt.NDArray[np.int64]

MAX_BYTES_IN_MEMORY = 64 << 20
"""Limit of the letters in memory; more are kept in a temporary file, which is removed with its last user."""

PART_BYTES = 24
"""Bytes of memory that a part of a row takes beside its letters."""

ROW_BYTES = 3 * LINE_BYTES
"""Bytes of memory that a row takes if it is found by its name."""

STORE_BYTES = 1024
"""Bytes of memory that a `CellStore` takes."""

CHECK_INTERVAL = 4096
"""Parts that are written between two checks for cancelling."""


class RowNames:
    """The names of the rows in one block of an alignment, of which no two are the same.

    Parameters
    ----------
    text : TextReader
        What is read.
    """

    def __init__(self, text: TextReader) -> None:
        self._text = text
        self._names: set[str] = set()

    def add(self, name: str, line: int) -> None:
        """Take the name of the row in a line.

        Raises
        ------
        InputError
            If the block has a row with this name.
        """
        if name in self._names:
            raise self._text.error(
                f"two rows are named {quoted(name)} (duplicate seq name).",
                "Rename one of them; if rows continue in another block, put a blank line between the blocks.",
                line,
            )
        self._names.add(name)

    def clear(self) -> None:
        """Begin another block."""
        self._names.clear()


class CellStore:
    """The letters of rows, part by part in the order in which they are read, with the line of each part.

    Parameters
    ----------
    text : TextReader
        Counts the memory.
    files : ExitStack
        Closes the temporary files; what is mapped of them stays.
    """

    def __init__(self, text: TextReader, files: ExitStack) -> None:
        self._text, self._files = text, files
        self._letters = bytearray()
        self._file: BinaryIO | None = None
        self._rows, self._sizes, self._lines = array("i"), array("q"), array("q")

    def add(self, row: int, letters: bytes, line: int) -> None:
        """Add a part of a row."""
        self._text.keep(PART_BYTES, line)
        self._rows.append(row)
        self._sizes.append(len(letters))
        self._lines.append(line)
        self._letters += letters
        if len(self._letters) > MAX_BYTES_IN_MEMORY:
            self._flush()

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = _temporary_file(self._files)
            self._file.write(self._letters)
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from None
        self._letters = bytearray()

    @cached_property
    def parts(self) -> tuple[Bytes, Integers, Integers, Integers]:
        """All letters row by row, and row, size and line of each part in this order; no part may be added later."""
        rows = np.frombuffer(self._rows, np.int32).astype(np.int64)
        sizes, lines = np.frombuffer(self._sizes, np.int64), np.frombuffer(self._lines, np.int64)
        letters = np.frombuffer(self._letters, np.uint8)
        if self._file is not None:
            self._flush()
            letters = np.memmap(self._file, np.uint8, "r")
            self._file.close()
        if (np.diff(rows) >= 0).all():
            return letters, rows, sizes, lines
        order = np.argsort(rows, kind="stable")
        return self._ordered(letters, sizes, order), rows[order], sizes[order], lines[order]

    def _ordered(self, letters: Bytes, sizes: Integers, order: Integers) -> Bytes:
        ordered = _table(letters.size, self._files)
        edges, done = np.concatenate([[0], np.cumsum(sizes)]).data, 0
        context = self._text.context
        for number, part in enumerate(order.data):
            if number % CHECK_INTERVAL == 0:
                context.progress("rows", done, letters.size, "bytes")
                context.check()
            begin, end = edges[part], edges[part + 1]
            ordered[done : done + end - begin] = letters[begin:end]
            done += end - begin
        return ordered

    def table(self, names: list[str]) -> tuple[Integers, Bytes]:
        """Return the rows that have parts, rising, and their letters (uint8[k, n_columns]).

        Raises
        ------
        InputError
            If the rows differ in length, with the line of the last part of one.
        """
        letters, rows, sizes, lines = self.parts
        begins = np.flatnonzero(np.diff(rows, prepend=-1))
        found = rows[begins]
        if not len(found):
            return found, letters.reshape(0, 0)
        lengths = np.add.reduceat(sizes, begins)
        wrong = np.flatnonzero(lengths != lengths[0])
        if len(wrong):
            row, length = int(found[wrong[0]]), int(lengths[wrong[0]])
            raise self._text.error(
                f"the rows of the alignment differ in length: {quoted(names[row])} has {length:,} columns, but "
                f"{quoted(names[int(found[0])])} has {int(lengths[0]):,}.",
                f"Part of the alignment may be missing. {NEW_COPY_HINT}",
                int(lines[rows == row][-1]),
            )
        return found, letters.reshape(len(found), int(lengths[0]))


def _temporary_file(files: ExitStack) -> BinaryIO:
    return files.enter_context(tempfile.TemporaryFile(prefix="clalign-"))


def _table(size: int, files: ExitStack) -> Bytes:
    if size <= MAX_BYTES_IN_MEMORY:
        return np.empty(size, np.uint8)
    try:
        with _temporary_file(files) as file:
            return np.memmap(file, np.uint8, "w+", shape=(size,))
    except OSError as error:
        raise _no_room(error) from None


def _no_room(error: OSError) -> OutputError:
    hint = "Free some space there, or set TMPDIR to a folder with more."
    return OutputError(f"The alignment could not be kept in {tempfile.gettempdir()}: {error.strerror}.", hint)


class AlignedRows:
    """The rows of one alignment in the order of their first letters, with their annotation.

    Parameters
    ----------
    reading : Reading
    files : ExitStack
        Closes the temporary files.

    Attributes
    ----------
    names, descriptions : list of str
    accessions : dict
        Accessions by the names of rows.
    columns : dict
        Texts of the whole alignment by their tags; those of another width are left out.
    column_lines : dict
        Number of the last line of each.
    notes : RowNotes
    """

    def __init__(self, reading: Reading, files: ExitStack) -> None:
        self.names: list[str] = []
        self.descriptions: list[str] = []
        self.accessions: dict[str, str] = {}
        self.columns: dict[str, bytearray] = {}
        self.column_lines: dict[str, int] = {}
        self.notes = RowNotes()
        self._reading, self._files = reading, files
        self._letters = CellStore(reading.text, files)
        self._residues: dict[str, CellStore] = {}
        self._numbers: dict[str, int] = {}
        self._mentioned: dict[str, int] = {}
        self._block = RowNames(reading.text)

    def __contains__(self, name: str) -> bool:
        return name in self._mentioned

    def mention(self, name: str, line: int) -> None:
        """Note that a line mentions a row, which may follow."""
        if name not in self._mentioned:
            self._reading.text.keep(len(name) + ROW_BYTES, line)
            self._mentioned[name] = line

    def number_of(self, name: str, line: int) -> int:
        """Return the number of the row with a name; that of a new one if there is none."""
        number = self._numbers.get(name)
        if number is None:
            self.mention(name, line)
            number = self._numbers[name] = len(self.names)
            self.begin(name, "", line)
        return number

    def begin(self, name: str, description: str, line: int) -> None:
        """Begin a row, whatever the names of others are."""
        self._reading.text.keep(len(name) + len(description) + LINE_BYTES, line)
        self.names.append(name)
        self.descriptions.append(description)

    def extend(self, line: int, letters: bytes) -> None:
        """Add letters without blanks to the row that began last."""
        self._letters.add(len(self.names) - 1, letters, line)

    def end_block(self) -> None:
        """End a block, in which each row has one part: rows may continue in later lines."""
        self._block.clear()

    def add(self, name: str, line: int, text: bytes) -> None:
        """Add the part of a row that is in a line; refuse a second one in a block."""
        self._block.add(name, line)
        self._reading.check(name, line, text)
        self._letters.add(self.number_of(name, line), text.translate(None, BLANKS), line)

    def annotate(self, tag: str, name: str, line: int, text: bytes) -> None:
        """Add a part of the annotation of a row, which has a character for each column."""
        if tag not in self._residues:
            self._reading.text.keep(STORE_BYTES, line)
            self._residues[tag] = CellStore(self._reading.text, self._files)
        self._residues[tag].add(self.number_of(name, line), text.translate(None, BLANKS), line)

    def unused(self, name: str, place: int) -> str:
        """Return a name that no row has, for a format in which names may be missing or occur again."""
        unique, name = name, name or "unnamed"
        while not unique or unique in self._numbers:
            unique, name = f"{name}_{place}", f"{name}_"
        return unique

    def sequences(self, is_aligned: bool = True) -> Iterator[tuple[str, str, bytes]]:
        """Yield name, description and letters of the rows, in the order in which the file first mentions them.

        Raises
        ------
        InputError
            If they differ in length and should not.
        """
        if is_aligned:
            self._letters.table(self.names)
        letters, _, sizes, _ = self._letters.parts
        edges = np.concatenate([[0], np.cumsum(sizes)])
        for row, first, last in self._in_order():
            yield self.names[row], self.descriptions[row], letters[edges[first] : edges[last]].tobytes()

    def _in_order(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number of each row that has letters, and its range of parts."""
        edges = np.searchsorted(self._letters.parts[1], np.arange(len(self.names) + 1)).tolist()
        order = [self._numbers[name] for name in self._mentioned if name in self._numbers]
        for row in order or range(len(self.names)):
            if edges[row] < edges[row + 1]:
                yield row, edges[row], edges[row + 1]

    def alignment(self, is_strict: bool = False) -> RowAlignment:
        """Return all that was read.

        Parameters
        ----------
        is_strict : bool
            Refuse annotation that fits no row or not all columns, which is left out otherwise; and return the rows in
            the order in which the file first mentions them, as HMMER numbers them, and not in that of their letters.

        Raises
        ------
        InputError
            If the rows differ in length, or one with annotation has no letters.
        """
        found, cells = self._letters.table(self.names)
        if is_strict:
            self._refuse_odd(cells.shape[1])
        missing = next((row for row, place in enumerate(found.tolist()) if row != place), len(found))
        if missing < len(self.names):
            name = self.names[missing]
            reason = f"the row {quoted(name)} has annotation, but no residues."
            raise self._reading.text.error(reason, line=self._mentioned[name])
        n_columns, notes = cells.shape[1], self.notes
        notes.columns.update({tag: bytes(text) for tag, text in self.columns.items() if len(text) == n_columns})
        for tag, store in self._residues.items():
            rows, texts = store.table(self.names)
            if texts.shape[1] == n_columns:
                notes.residues[tag] = RowTexts(rows, texts)
        made = RowAlignment(cells, self.names, self.descriptions, notes)
        order = [self._numbers[name] for name in self._mentioned if name in self._numbers]
        return made.reordered(order) if is_strict and order != sorted(order) else made

    def _refuse_odd(self, n_columns: int) -> None:
        """Refuse annotation that fits no row or not all columns."""
        known = set(self.names)
        for name, line in self._mentioned.items():
            if name not in known:
                reason = f"the annotation is of the row {quoted(name)}, which does not exist."
                raise self._reading.text.error(reason, "Correct the name, or remove the line.", line)
        for tag, text in self.columns.items():
            if len(text) != n_columns:
                reason = f"the annotation {quoted(tag)} is of {len(text):,} of the {n_columns:,} columns."
                raise self._reading.text.error(reason, "Correct it, or remove it.", self.column_lines.get(tag))

    def add_to(self, builder: BlockBuilder) -> Iterator[Block]:
        """Yield the rows to a builder, in the order in which the file first mentions them.

        Raises
        ------
        InputError
            If they differ in length.
        """
        found, _ = self._letters.table(self.names)
        if len(found) < len(self._mentioned):
            known = {self.names[row] for row in found.tolist()}
            for name, line in self._mentioned.items():
                if name not in known:
                    self._reading.findings.add("no_row", line, name)
        self._reading.text.kept_bytes = 0
        letters, _, sizes, lines = self._letters.parts
        text, numbers, edges = letters.data, lines.data, np.concatenate([[0], np.cumsum(sizes)]).data
        for row, first, last in self._in_order():
            name = self.names[row]
            builder.start(name, self.accessions.get(name, ""), self.descriptions[row], numbers[first])
            for part in range(first, last):
                builder.residues(numbers[part], text[edges[part] : edges[part + 1]].tobytes())
            yield from builder.full()
