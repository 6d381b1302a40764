"""Few sequences with their letters as the file has them: case, gaps and all, for what is written with them again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.databases.reports import NUMBERED
from clalign.errors import InputError, quoted
from clalign.formats.a3m import a3m_lines, alignment_form, refined
from clalign.formats.balibase import core_columns
from clalign.formats.blocks import DROPPED, NOT_IN_ROWS, NOT_RESIDUES, Block, Reading, text_of
from clalign.formats.fasta import fasta_lines, text_before
from clalign.formats.readers import GATHERED, gather_rows, read_blocks
from clalign.formats.recognize import identify
from clalign.formats.row_alignments import check_only
from clalign.formats.sources import TAKE_AGAIN, TextReader, opened
from clalign.formats.tally import DIGITS, GAPS
from clalign.jobs import JobContext, QuietContext
from clalign.values.alphabets import decode


class SequenceRow(Struct, frozen=True):
    """A sequence, or the row of an alignment.

    Attributes
    ----------
    name, description : str
    text : bytes
        Its letters; gap characters where it is a row.
    """

    name: str
    description: str
    text: bytes

    @property
    def residues(self) -> bytes:
        """Its letters without gap characters."""
        return self.text.translate(None, GAPS)


def read_sequences(path: str, context: JobContext | None = None) -> list[SequenceRow]:
    """Read the sequences of a file of any format; of FASTA and most alignments the case of letters is kept.

    Digits in FASTA, which number residues, are left out with a warning.

    Raises
    ------
    InputError
        If it cannot be read, or a character stands for no residue.
    """
    context = context or QuietContext()
    with opened(path, None, context) as source:
        form = refined(identify(source).sequence_format(), source, context)
        refused = NOT_RESIDUES if form in ("fasta", *NUMBERED) else NOT_IN_ROWS
        reading = Reading(TextReader(source, context), refused=refused)
        rows = list(_fasta_rows(reading, a3m_lines(reading))) if form == "a3m" else _rows(reading, form)
        reading.warn()
        return rows


def read_alignment(path: str, context: JobContext | None = None) -> list[SequenceRow]:
    """Read an alignment of any format.

    Raises
    ------
    InputError
        If the rows differ in length, two have the same name, there is more than one alignment, or a character stands
        for no residue.
    """
    context = context or QuietContext()
    check_only(path, context)
    with opened(path, None, context) as source:
        form = alignment_form(source, context)
        reading = Reading(TextReader(source, context), refused=NOT_IN_ROWS)
        rows = _rows(reading, form)
        reading.warn()
    if not rows:
        raise InputError(path, "there is no alignment in this file.", "Choose another file.")
    check_names(path, rows)
    for row in rows:
        if len(row.text) != len(rows[0].text):
            raise InputError(
                path,
                f"the rows of the alignment differ in length: {quoted(row.name)} has {len(row.text):,} columns, "
                f"but {quoted(rows[0].name)} has {len(rows[0].text):,}.",
                TAKE_AGAIN,
            )
    return rows


def core_blocks(path: str, rows: list[SequenceRow]) -> npt.NDArray[np.bool_]:
    """Return which columns of a reference alignment can be relied on (bool[n_columns]).

    They are those that a file of BAliBASE marks; of other formats those whose residues are in upper case.

    Parameters
    ----------
    path : str
    rows : list of SequenceRow
        What was read of it.

    Raises
    ------
    InputError
        If there are none.
    """
    with opened(path) as source:
        marks = core_columns(Reading(TextReader(source))) if identify(source).format == "balibase" else None
    core = np.array(marks or (), bool)
    if marks is None:
        letters = np.array([np.frombuffer(row.text, np.uint8) for row in rows])
        is_upper, is_gap = (letters >= ord("A")) & (letters <= ord("Z")), np.isin(letters, list(GAPS))
        core = np.asarray(np.all(is_upper | is_gap, axis=0) & ~np.all(is_gap, axis=0))
    if len(core) != len(rows[0].text) or not core.any():
        hint = "Compare all columns, or give a reference whose core blocks are in upper case."
        raise InputError(path, "it marks no core blocks.", hint)
    return core


def check_names(path: str, rows: list[SequenceRow]) -> None:
    """Refuse two sequences of the same name.

    Raises
    ------
    InputError
        With the name.
    """
    known: set[str] = set()
    for row in rows:
        if row.name in known:
            raise InputError(path, f"two sequences are named {quoted(row.name)}.", "Give each a name of its own.")
        known.add(row.name)


def _rows(reading: Reading, form: str) -> list[SequenceRow]:
    if form == "fasta":
        return list(_fasta_rows(reading, fasta_lines(reading)))
    if form in GATHERED:
        rows = gather_rows(form, reading).checked()
        return [SequenceRow(row.name, " ".join(row.descriptions), row.text) for row in rows]
    return _decoded_rows(read_blocks(form, reading))


def _fasta_rows(reading: Reading, lines: Iterator[tuple[int, bytes]]) -> Iterator[SequenceRow]:
    row: SequenceRow | None = None
    parts: list[bytes] = []
    for number, line in lines:
        if line.startswith(b">"):
            if row is not None:
                yield replace(row, text=b"".join(parts))
            row, parts = _named_row(line[1:]), []
        elif not line.startswith(b";"):
            if row is None and line.strip():
                raise text_before(reading.text, number)
            reading.check(row.name if row else "", number, line)
            parts.append(line.translate(None, DROPPED))
            if len(line.translate(None, DIGITS)) < len(line):
                reading.findings.add("digits", number)
    if row is not None:
        yield replace(row, text=b"".join(parts))


def _named_row(head: bytes) -> SequenceRow:
    words = [text_of(word) for word in head.strip().split(None, 1)]
    return SequenceRow(words[0] if words else "unnamed", " ".join(words[1:]), b"")


def _decoded_rows(blocks: Iterator[Block]) -> list[SequenceRow]:
    """Return the records of blocks; their letters are upper case."""
    heads: list[list[str]] = []
    letters: list[list[bytes]] = []
    for block in blocks:
        text, edges = decode(np.frombuffer(block.codes, np.uint8)).encode(), [*block.breaks.tolist(), len(block.codes)]
        if letters:
            letters[-1].append(text[: edges[0]])
        for head, start, end in zip(block.texts, edges, edges[1:], strict=False):
            heads.append(head.decode("utf-8", "replace").split("\t", 2))
            letters.append([text[start:end]])
    return [SequenceRow(name, what, b"".join(parts)) for (name, _, what), parts in zip(heads, letters, strict=True)]
