"""What writers of exports share: lines, tables, and sequences in FASTA."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TextIO

from clalign.engines.columns import Column, table_lines
from clalign.engines.export_source import ExportSource
from clalign.formats.tables import PARTIAL
from clalign.formats.writers import fasta_record
from clalign.values.documents import Card
from clalign.values.hits import Hit
from clalign.values.sequences import SequenceDatabase

LINES_AT_ONCE = 256
"""Lines that are written together."""


def write_lines(stream: TextIO, rows: Iterable[str]) -> int:
    """Write lines and return how many they were."""
    rows, count = iter(rows), 0
    while some := list(islice(rows, LINES_AT_ONCE)):
        stream.write("\n".join([*some, ""]))
        count += len(some)
    return count


def write_table(stream: TextIO, table: Iterable[Column], rows: Iterable[object], partial: bool) -> int:
    """Write a tab-separated table, marked if the search is not complete, and return how many rows it has."""
    count = write_lines(stream, table_lines(table, rows)) - 1  # without the header
    write_lines(stream, [PARTIAL] if partial else [])
    return count


def add_flanks(database: SequenceDatabase, hit: Hit, span: tuple[int, int], flank: int) -> tuple[int, int, str]:
    """Return first place (0-based), end and residues of a part of a target with this many more on either side."""
    start, end = max(0, span[0] - flank), min(hit.length, span[1] + flank)
    return start, end, database[hit.row].text[start:end]


def describe(source: ExportSource, hit: Hit, card: Card) -> str:
    """Return the description of a part of a target, perhaps with what it was matched by."""
    return f"{hit.description} [matched_by={card['name']}]".lstrip() if source.choice.matched_by else hit.description


def write_fasta(source: ExportSource, stream: TextIO) -> int:
    """Write each target that was found once, whole."""
    database, seen = source.database(), set[int]()
    for hit in source.found():
        if hit.row not in seen:
            seen.add(hit.row)
            stream.write(fasta_record(hit.name, hit.description, database[hit.row].text))
    return len(seen)
