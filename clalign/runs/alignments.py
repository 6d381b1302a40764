"""Alignments of many rows in a run file."""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.errors import DamagedRun
from clalign.runs.connection import RunConnection
from clalign.runs.facts import parsed
from clalign.values.checked import Number


class StoredRow(Struct, frozen=True):
    """A row of an alignment.

    Attributes
    ----------
    name : str
        Name of the sequence.
    start, stop : int
        The part of the sequence that is aligned, 0-based and half open.
    text : str
        Residues and gaps.
    """

    name: str
    start: int
    stop: int
    text: str


StoredAlignmentFacts = Json
"""What an engine says of an alignment that it stores."""


class StoredAlignment(Struct, frozen=True):
    """An alignment of many rows; `facts` are plain data that the engine keeps with it."""

    id: int
    name: str
    facts: StoredAlignmentFacts


def write_alignment(
    connection: RunConnection, name: str, facts: StoredAlignmentFacts, rows: Iterable[StoredRow]
) -> int:
    """Write an alignment, and return its id; the caller has opened a transaction."""
    found = connection.execute("INSERT INTO alignments (name, facts) VALUES (?, ?)", (name, json.dumps(facts)))
    number = int(found.lastrowid or 0)
    connection.executemany(
        "INSERT INTO alignment_rows VALUES (?, ?, ?, ?, ?, ?)",
        ((number, place, row.name, row.start, row.stop, row.text) for place, row in enumerate(rows)),
    )
    return number


def read_alignments(connection: RunConnection) -> list[StoredAlignment]:
    """Return all alignments, without their rows."""
    found = connection.execute("SELECT id, name, facts FROM alignments ORDER BY id")
    return [
        StoredAlignment(n, name, parsed(dict[str, Number | str], facts, "an alignment", connection.path))
        for n, name, facts in found
    ]


def read_rows(connection: RunConnection, alignment: int) -> list[StoredRow]:
    """Return the rows of an alignment, in their order.

    Raises
    ------
    DamagedRun
        If one is missing, ends before it begins, or has another length than the first.
    """
    rows = []
    for place, (number, *values) in enumerate(
        connection.execute(
            "SELECT number, name, start, stop, text FROM alignment_rows WHERE alignment = ? ORDER BY number",
            (alignment,),
        )
    ):
        rows.append(row := StoredRow(*values))
        if number != place or row.start > row.stop or len(row.text) != len(rows[0].text):
            raise DamagedRun(connection.path, f"row {place + 1} of its alignment {alignment} is incomplete")
    return rows
