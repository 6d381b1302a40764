"""Rows of a database read from the original file rather than from its prepared form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.databases.reports import InputReport
from clalign.formats.blocks import Reading
from clalign.formats.readers import ALIGNMENTS, read_blocks
from clalign.formats.sources import TextReader, opened
from clalign.jobs import JobContext
from clalign.values.sequences import SequenceDatabase

Rows = npt.NDArray[np.int64]

NO_ROWS: Rows = np.empty(0, np.int64)

ALIGNED = "aligned fasta"


class Reread(Struct, frozen=True):
    """Rows of a database as the file has them.

    Attributes
    ----------
    database : SequenceDatabase
        Rows as before, of which only the chosen ones have residues, and these and the `named` ones headers.
    lengths : int64[n]
        Residues of each record, in the order of the file.
    """

    database: SequenceDatabase
    lengths: Rows


def with_headers(database: SequenceDatabase, reread: Reread) -> SequenceDatabase:
    """Return a database with the headers of its file."""
    fresh = reread.database
    return replace(database, text=fresh.text, text_offsets=fresh.text_offsets)


def reread_rows(
    path: str, database: SequenceDatabase, report: InputReport, rows: Rows, context: JobContext, named: Rows = NO_ROWS
) -> Reread:
    """Read a whole file and return chosen rows of its database.

    Parameters
    ----------
    path : str
    database : SequenceDatabase
        Its `order` gives the place of each row in the file.
    report : InputReport
        Its `format` is that of the file.
    rows : int64[m]
        Rows to read with residues.
    context : JobContext
        Receives the progress; may cancel.
    named : int64[k]
        Other rows, of which only the headers are read.
    """
    name = "fasta" if report.format == ALIGNED else report.format
    drop_gaps = report.format == ALIGNED or name in ALIGNMENTS
    rows, headed = np.unique(rows), np.union1d(rows, named)
    places, headers = (database.order[some].tolist() for some in (rows, headed))
    with opened(path, None, context) as source:
        residues, texts, lengths = _records(
            Reading(TextReader(source, context), drop_gaps), name, set(places), set(headers)
        )
    n = len(database)
    codes, offsets = _joined([residues.get(place, b"") for place in places], rows, n)
    text, text_offsets = _joined([texts.get(place, b"\t\t") for place in headers], headed, n)
    filled = replace(database, codes=codes, offsets=offsets, text=text, text_offsets=text_offsets, release=_nothing)
    return Reread(filled, lengths)


def _records(
    reading: Reading, name: str, wanted: set[int], headed: set[int]
) -> tuple[dict[int, bytes], dict[int, bytes], Rows]:
    """Return letter codes of the wanted records, headers of these and others, and the lengths of all."""
    pieces: dict[int, list[bytes]] = {}
    texts: dict[int, bytes] = {}
    lengths: list[Rows] = [np.zeros(1, np.int64)]
    n = 0
    for block in read_blocks(name, reading):
        edges = np.concatenate([[0], block.breaks, [len(block.codes)]]).astype(np.int64)
        sizes = np.diff(edges)
        lengths[-1][-1] += sizes[0]  # the rest of the record before
        lengths.append(sizes[1:].copy() if len(sizes) > 1 else np.zeros(0, np.int64))
        if not len(lengths[-1]):
            lengths.pop()
        for record in headed.intersection(range(n - 1, n + len(block.breaks))):
            if record in wanted:
                start, end = edges[record - n + 1 : record - n + 3].tolist()
                pieces.setdefault(record, []).append(block.codes[start:end])
            if record >= n:
                texts[record] = block.texts[record - n]
        n += len(block.breaks)
    return {record: b"".join(parts) for record, parts in pieces.items()}, texts, np.concatenate(lengths)[1:]


def _joined(parts: list[bytes], rows: Rows, n: int) -> tuple[npt.NDArray[np.uint8], Rows]:
    """Return the parts of some rows one after the other, and where each of n rows begins; the others are empty."""
    lengths = np.zeros(n, np.int64)
    lengths[rows] = [len(part) for part in parts]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.frombuffer(b"".join(parts), np.uint8), offsets


def _nothing() -> None:
    """Give nothing back."""
