"""Alignments read row by row into one table of bytes, which is kept in a temporary file where it is large."""

from __future__ import annotations

import tempfile
from array import array
from contextlib import ExitStack
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from clalign.errors import InputError, OutputError, quoted
from clalign.formats.a3m import alignment_form
from clalign.formats.aligned import RowNames
from clalign.formats.balibase import core_columns
from clalign.formats.blocks import DROPPED, NOT_IN_ROWS, Reading, text_of
from clalign.formats.fasta import fasta_pieces, text_before
from clalign.formats.readers import gather_rows
from clalign.formats.recognize import identify
from clalign.formats.sources import LINE_BYTES, TextReader, opened
from clalign.formats.stockholm import MAGIC
from clalign.jobs import JobContext, QuietContext
from clalign.values.row_alignments import Bytes, RowAlignment, RowNotes, RowTexts

IN_MEMORY = 64 << 20
"""Bytes of letters that are kept in memory; more are kept in a temporary file, which goes with its last user."""

PART_BYTES = 24
"""Bytes of memory that a part of a row takes beside its letters, which go to a file."""

STORE_BYTES = 1024
"""Bytes of memory that a `CellStore` takes."""

CORE_TAG = "core"
"""Of the annotation that marks the core blocks of BAliBASE's references."""

MANY = 4096
"""So many parts are written between two looks at whether anybody waits."""


class CellStore:
    """Parts of rows in the order in which they are read; rows of one length in the end.

    Parameters
    ----------
    text : TextReader
    files : ExitStack
        Closes the temporary files; what is mapped of them stays.
    """

    def __init__(self, text: TextReader, files: ExitStack) -> None:
        self._text, self._files = text, files
        self._parts: list[bytes] = []
        self._kept = 0
        self._file: BinaryIO | None = None
        self._rows, self._sizes, self._lines = array("i"), array("q"), array("q")

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: int, letters: bytes, line: int) -> None:
        """Add a part of a row; parts of one row that follow each other are one."""
        self._text.keep(PART_BYTES, line)
        if self._rows and self._rows[-1] == row:
            self._sizes[-1] += len(letters)
        else:
            self._rows.append(row)
            self._sizes.append(len(letters))
            self._lines.append(line)
        self._parts.append(letters)
        self._kept += len(letters)
        if self._kept > IN_MEMORY:
            self._flush()

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = _opened(self._files)
            self._file.writelines(self._parts)
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from None
        self._parts, self._kept = [], 0

    def _all(self) -> Bytes:
        if self._file is None:
            return np.frombuffer(b"".join(self._parts), np.uint8)
        self._flush()
        return np.memmap(self._file, np.uint8, "r")

    def finish(self, names: list[str], only_some: bool = False) -> tuple[npt.NDArray[np.int64], Bytes]:
        """Return the rows that have letters, rising, and their table (uint8[k, n_columns]).

        Parameters
        ----------
        only_some : bool
            Whether rows without letters may be.

        Raises
        ------
        InputError
            If the rows differ in length, with the line in which the last part of one stands.
        """
        owners = np.frombuffer(self._rows, np.int32).astype(np.int64)
        sizes = np.frombuffer(self._sizes, np.int64)
        found = np.unique(owners) if only_some else np.arange(len(names))
        lengths = np.bincount(owners, sizes, minlength=len(names)).astype(np.int64)[found]
        wrong = np.flatnonzero(lengths != lengths[0]) if len(lengths) else lengths
        if len(wrong):
            row = int(found[wrong[0]])
            last = np.flatnonzero(owners == row)
            raise self._text.error(
                f"the rows of the alignment differ in length: {quoted(names[row])} has {int(lengths[wrong[0]]):,} "
                f"columns, but {quoted(names[int(found[0])])} has {int(lengths[0]):,}.",
                "Part of the alignment may be missing; take the file from its source again.",
                self._lines[int(last[-1])] if len(last) else None,
            )
        n_columns = int(lengths[0]) if len(lengths) else 0
        cells = self._all()
        if len(owners) != len(found) or (owners != found).any():
            cells = self._in_rows(cells, owners, sizes, np.searchsorted(found, owners), (len(found), n_columns))
        return found, cells.reshape(len(found), n_columns)

    def _in_rows(
        self,
        cells: Bytes,
        owners: npt.NDArray[np.int64],
        sizes: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        shape: tuple[int, int],
    ) -> Bytes:
        """Return the letters row by row, where the file has them in blocks."""
        table = _table(shape, self._files)
        flat = table.reshape(-1)
        begins = np.cumsum(sizes) - sizes
        order = np.argsort(owners, kind="stable")
        done = np.cumsum(sizes[order]) - sizes[order]
        context = self._text.context
        for number, (part, at) in enumerate(zip(order.tolist(), done.tolist(), strict=True)):
            if number % MANY == 0:
                context.progress("rows", at, int(flat.size), "bytes")
                context.check()
            begin, size = begins[part], sizes[part]
            flat[at : at + size] = cells[begin : begin + size]
        return table


def _opened(files: ExitStack) -> BinaryIO:
    return files.enter_context(tempfile.TemporaryFile(prefix="clalign-"))


def _table(shape: tuple[int, int], files: ExitStack) -> Bytes:
    if shape[0] * shape[1] <= IN_MEMORY:
        return np.empty(shape, np.uint8)
    try:
        return np.memmap(_opened(files), np.uint8, "w+", shape=shape)
    except OSError as error:
        raise _no_room(error) from None


def _no_room(error: OSError) -> OutputError:
    hint = "Free some space there, or set TMPDIR to a folder with more."
    return OutputError(f"The alignment could not be kept in {tempfile.gettempdir()}: {error.strerror}.", hint)


def read_rows(path: str, number: int = 0, context: JobContext | None = None) -> RowAlignment:
    """Read an alignment of any format; names need not differ.

    Parameters
    ----------
    path : str
    number : int
        Which one of the alignments in a Stockholm file, from 0.
    context : JobContext, optional
        Told of the progress, asked whether to go on.

    Raises
    ------
    InputError
        If there is none, or its rows differ in length.
    """
    context = context or QuietContext()
    with opened(path, None, context) as source, ExitStack() as files:
        form = alignment_form(source, context)
        text = TextReader(source, context)
        if form == "stockholm":
            made = _StockholmRows(text, files, number).read()
        elif form == "fasta":
            made = _fasta_rows(text, files)
        else:
            made = _gathered_rows(text, files, form)
            if form == "balibase" and (core := core_columns(Reading(TextReader(source, context)))):
                made.notes.columns[CORE_TAG] = b"".join(b"*" if is_core else b"." for is_core in core)
    if not made.n_rows or not made.n_columns:
        raise InputError(path, "there is no alignment in this file.", "Choose another file.")
    return made


def _gathered_rows(text: TextReader, files: ExitStack, form: str) -> RowAlignment:
    rows = gather_rows(form, Reading(text, refused=NOT_IN_ROWS)).checked()
    store = CellStore(text, files)
    for place, row in enumerate(rows):
        store.add(place, row.text, row.parts[-1][0])
        row.parts.clear()
    names = [row.name for row in rows]
    return RowAlignment(store.finish(names)[1], names, [" ".join(row.descriptions) for row in rows])


def _fasta_rows(text: TextReader, files: ExitStack) -> RowAlignment:
    store, names, descriptions = CellStore(text, files), list[str](), list[str]()
    reading = Reading(text, refused=NOT_IN_ROWS)
    for data, first, goes_on in fasta_pieces(reading):
        begins = data.startswith(b">") and not goes_on
        line = first - begins  # of the end of the line before a header
        for place, part in enumerate((b"\n" * begins + data).split(b"\n>")):
            head, _, letters = part.partition(b"\n") if place else (b"", b"", part)
            if place:
                text.keep(len(head) + LINE_BYTES, line + 1)
                words = [text_of(word) for word in head.split(None, 1)]
                names.append(words[0] if words else f"unnamed_{len(names) + 1}")
                descriptions.append(words[1].rstrip() if len(words) > 1 else "")
            begun, line = line + 2 * bool(place), line + bool(place) + part.count(b"\n")
            if b"\n;" in letters or letters.startswith(b";"):
                letters = b"\n".join(b"" if row.startswith(b";") else row for row in letters.split(b"\n"))
            if not names and letters.strip():
                raise text_before(text, line)
            reading.check(names[-1] if names else "", begun, letters)
            if letters or place:
                store.add(len(names) - 1, letters.translate(None, DROPPED), line - letters.endswith(b"\n"))
    reading.warn()
    return RowAlignment(store.finish(names)[1], names, descriptions)


class _StockholmRows:
    """Reads one alignment of a Stockholm file."""

    def __init__(self, text: TextReader, files: ExitStack, number: int) -> None:
        self._text, self._files, self._left = text, files, number
        self._store = CellStore(text, files)
        self._numbers: dict[str, int] = {}
        self._block = RowNames(text)
        self._reading = Reading(text, refused=NOT_IN_ROWS)
        self._names: list[str] = []
        self._notes = RowNotes()
        self._residues: dict[str, CellStore] = {}
        self._columns: dict[str, list[bytes]] = {}

    def read(self) -> RowAlignment:
        begun = False
        for line, content in self._text.lines():
            if content.startswith(MAGIC):
                begun = True
            elif content.startswith(b"//"):
                if begun and self._left == 0:
                    break
                self._left -= 1
                begun = False
            elif not content.strip():
                self._block.clear()
            else:
                if not begun:
                    found = text_of(content)[:40]
                    raise self._text.error(f'"# STOCKHOLM 1.0" is expected before this line: "{found}".', line=line)
                if self._left == 0:
                    self._take(line, content)
        return self._made()

    def _take(self, line: int, content: bytes) -> None:
        if not content.startswith(b"#"):
            words = content.split(None, 1)
            if len(words) < 2:
                raise self._text.error(f'the row "{text_of(content)[:40]}" has a name but no residues.', line=line)
            name = text_of(words[0])
            self._block.add(name, line)
            self._reading.check(name, line, words[1])
            self._store.add(self._row(name), b"".join(words[1].split()), line)
            return
        self._text.keep(len(content) + LINE_BYTES, line)
        words = content.split(None, 1)
        kind, rest = words[0], words[1] if len(words) > 1 else b""
        if kind == b"#=GF" and (parts := rest.split(None, 1)):
            self._notes.file.append((text_of(parts[0]), text_of(parts[1]) if parts[1:] else ""))
        elif kind == b"#=GS" and len(parts := rest.split(None, 2)) > 1:
            self._notes.rows.append((text_of(parts[0]), text_of(parts[1]), text_of(parts[2]) if parts[2:] else ""))
        elif kind == b"#=GC" and len(parts := rest.split(None, 1)) == 2:
            self._columns.setdefault(text_of(parts[0]), []).append(b"".join(parts[1].split()))
        elif kind == b"#=GR" and len(parts := rest.split(None, 2)) == 3:
            tag = text_of(parts[1])
            if tag not in self._residues:
                self._text.keep(STORE_BYTES, line)
                self._residues[tag] = CellStore(self._text, self._files)
            self._residues[tag].add(self._row(text_of(parts[0])), b"".join(parts[2].split()), line)

    def _row(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self._names))
        if number == len(self._names):
            self._text.keep(len(name) + LINE_BYTES)
            self._names.append(name)
        return number

    def _made(self) -> RowAlignment:
        _, cells = self._store.finish(self._names)
        n_columns = cells.shape[1]
        for tag, parts in self._columns.items():
            text = b"".join(parts)
            if len(text) == n_columns:
                self._notes.columns[tag] = text
        for tag, store in self._residues.items():
            rows, texts = store.finish(self._names, only_some=True)
            if texts.shape[1] == n_columns:
                self._notes.residues[tag] = RowTexts(rows, texts)
        descriptions = [""] * len(self._names)
        for name, tag, said in self._notes.rows:
            if tag == "DE" and name in self._numbers:
                descriptions[self._numbers[name]] = said
        return RowAlignment(cells, self._names, descriptions, self._notes)


def list_alignments(path: str, context: JobContext | None = None) -> list[str]:
    """Return what the alignments of a file are called; only Stockholm files may hold several."""
    context = context or QuietContext()
    with opened(path, None, context) as source:
        if identify(source).alignment_format() != "stockholm":
            return [""]
        titles: list[str] = []
        for _, line in TextReader(source, context).lines():
            if line.startswith(MAGIC):
                titles.append("")
            elif titles and not titles[-1] and line.startswith((b"#=GF ID", b"#=GF AC")):
                titles[-1] = text_of(line[7:].strip())
        return titles


def check_only(path: str, context: JobContext | None = None) -> None:
    """Refuse a file of several alignments where one is wanted.

    Raises
    ------
    InputError
        With their names.
    """
    titles = list_alignments(path, context)
    if len(titles) > 1:
        some = ", ".join(title or f"number {place}" for place, title in enumerate(titles[:3], 1))
        more = ", ..." if len(titles) > 3 else ""
        raise InputError(
            path, f"it holds {len(titles):,} alignments ({some}{more}), and one is wanted.",
            "Give the one that is meant a file of its own.",
        )  # fmt: skip
