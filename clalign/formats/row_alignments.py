"""Readers of whole alignments with their annotation."""

from __future__ import annotations

from contextlib import ExitStack

from clalign.errors import InputError
from clalign.formats.a3m import alignment_form
from clalign.formats.blocks import NOT_IN_ROWS, Reading, text_of
from clalign.formats.readers import read_alignments
from clalign.formats.recognize import identify
from clalign.formats.sources import TextReader, opened
from clalign.formats.stockholm import MAGIC
from clalign.jobs import JobContext, QuietContext
from clalign.values.row_alignments import RowAlignment


def read_rows(path: str, number: int = 0, context: JobContext | None = None) -> RowAlignment:
    """Read an alignment of any format; names need not differ.

    Parameters
    ----------
    path : str
    number : int
        Number of the alignment in a Stockholm file, from 0.
    context : JobContext, optional
        Receives the progress; may cancel.

    Raises
    ------
    InputError
        If there is none, or its rows differ in length.
    """
    context = context or QuietContext()
    with opened(path, None, context) as source, ExitStack() as files:
        reading = Reading(TextReader(source, context), refused=NOT_IN_ROWS)
        rows = next(read_alignments(alignment_form(source, context), reading, files, number), None)
        made = rows.alignment() if rows else None
        reading.warn()
    if made is None or not made.n_rows or not made.n_columns:
        raise InputError(path, "there is no alignment in this file.", "Choose another file.")
    return made


def list_alignments(path: str, context: JobContext | None = None) -> list[str]:
    """Return the names of the alignments in a file; only Stockholm files may hold several."""
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
    """Refuse a file of several alignments.

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
            path,
            f"it holds {len(titles):,} alignments ({some}{more}) instead of one.",
            "Put the one to be used into a file of its own.",
        )
