"""Sequences with the letters of the file, with case and gaps, for outputs that show them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.databases.reports import NUMBERED
from clalign.errors import InputError, quoted
from clalign.formats.a3m import a3m_sequences, alignment_form, refined
from clalign.formats.balibase import CORE_TAG
from clalign.formats.blocks import NOT_IN_ROWS, NOT_RESIDUES, Block, Reading
from clalign.formats.readers import ALIGNMENTS, read_alignments, read_blocks
from clalign.formats.recognize import identify
from clalign.formats.row_alignments import check_only, read_rows
from clalign.formats.sources import TextReader, opened
from clalign.formats.tally import GAPS
from clalign.jobs import JobContext, QuietContext
from clalign.values.alphabets import decode


class SequenceRow(Struct, frozen=True):
    """A sequence, or the row of an alignment.

    Attributes
    ----------
    name, description : str
    text : bytes
        Its letters, with gap characters if it is a row.
    """

    name: str
    description: str
    text: bytes

    @property
    def residues(self) -> bytes:
        """Its letters without gap characters."""
        return self.text.translate(None, GAPS)


def read_sequences(path: str, context: JobContext | None = None) -> list[SequenceRow]:
    """Read the sequences of a file of any format; FASTA and alignments keep the case of letters.

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
        rows = _sequences(reading, form)
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
        reading = Reading(TextReader(source, context), refused=NOT_IN_ROWS)
        rows = _rows(reading, alignment_form(source, context), is_aligned=True)
        reading.warn()
    if not rows:
        raise InputError(path, "there is no alignment in this file.", "Choose another file.")
    check_names(path, rows)
    return rows


def core_blocks(path: str, rows: list[SequenceRow]) -> npt.NDArray[np.bool_]:
    """Return which columns of a reference alignment can be relied on (bool[n_columns]).

    They are those that a file of BAliBASE marks; of other formats those whose residues are in upper case.

    Parameters
    ----------
    path : str
    rows : list of SequenceRow
        The rows of the file.

    Raises
    ------
    InputError
        If there are none.
    """
    with opened(path) as source:
        is_marked = identify(source).format == "balibase"
    core: npt.NDArray[np.bool_]
    if is_marked:
        core = np.frombuffer(read_rows(path).notes.columns.get(CORE_TAG, b""), np.uint8) == ord("*")
    else:
        letters = np.array([np.frombuffer(row.text, np.uint8) for row in rows])
        is_upper, is_gap = (letters >= ord("A")) & (letters <= ord("Z")), np.isin(letters, list(GAPS))
        core = np.asarray(np.all(is_upper | is_gap, axis=0) & ~np.all(is_gap, axis=0))
    if not core.any():
        hint = "Compare all columns, or give a reference whose core blocks are in upper case."
        raise InputError(path, "no core blocks are marked in this file.", hint)
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
            raise InputError(path, f"two sequences are named {quoted(row.name)}.", "Rename one of them.")
        known.add(row.name)


def _sequences(reading: Reading, form: str) -> list[SequenceRow]:
    if form == "a3m":
        given = enumerate(a3m_sequences(reading), 1)
        return [SequenceRow(name or f"unnamed_{n}", description, text) for n, (_, name, description, text) in given]
    if form in ("fasta", *ALIGNMENTS):
        return _rows(reading, form, is_aligned=form != "fasta")
    return _decoded_rows(read_blocks(form, reading))


def _rows(reading: Reading, form: str, is_aligned: bool) -> list[SequenceRow]:
    with ExitStack() as files:
        alignments = read_alignments(form, reading, files)
        return [SequenceRow(*row) for rows in alignments for row in rows.sequences(is_aligned)]


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
