"""The tables of a run file: those that every run has, beside those that its engine declares."""

from __future__ import annotations

import sqlite3

from clalign.runs.declarations import Declaration
from clalign.runs.kinds import sql_of

SCHEMA_VERSION = 1
"""The version of the tables that are written here, and the only one that is read."""

NEEDED_SQLITE = (3, 31)
"""The first version of SQLite that has generated columns."""

APPLICATION_ID = 0x636C616C  # "clal"

TABLES = {
    "facts": ("name text, value text", "name"),
    "queries": ("id place, name line, accession line, description line, length place, card text, best text", "id"),
    "targets": ("row row, name line, accession line, description line, length place", "row"),
    "hits": (
        "id count, query place, row row, input_index count, score finite, bias finite, evalue positive?, raw whole,"
        " n_parts place, best_score finite?, best_evalue positive?, verified verdict, sort_key number?, tie line?,"
        " log_pvalue log?, included truth",
        "id",
    ),
    "parts": (
        "hit count, number place, score finite, bias finite, evalue positive?, query_start place, query_end place,"
        " target_start place, target_end place, raw whole, states path, query_text text, match text, target_text text,"
        " log_pvalue log?",
        "hit, number",
    ),
    "batches": (
        "query place, first count, last count, cells positive, seconds moment, device text, scores blob",
        "query, first",
    ),
    "histogram": ("query place, bin whole, count count", "query, bin"),
    "messages": ("id count, seconds moment, kind text, text text", "id"),
    "verifications": ("id count, seconds moment, device text, checked count, differing count, details text", "id"),
    "notes": ("query place, row row, text text", "query, row"),
    "alignments": ("id count, name line, facts text", "id"),
    "alignment_rows": ("alignment count, number place, name line, start place, stop place, text text",
                       "alignment, number"),
}  # fmt: skip
"""Columns and primary key of each. ``input_index`` of a hit is the place in what was read of the targets, or of the
pairs, in the order of which equal hits stand; ``sort_key`` and ``tie`` are what the engine orders hits by."""

_NAME = "rtrim(name, '| ')"

SHORT_NAME = f"replace({_NAME}, rtrim({_NAME}, replace({_NAME}, '|', '')), '')"
"""SQL of the part of a name behind the last bar, which tables show: HBA_HUMAN of sp|P69905|HBA_HUMAN."""

SORT_NAME = f"sort_name TEXT GENERATED ALWAYS AS (lower({SHORT_NAME})) STORED"
"""The column of targets that names are sorted by: to work it out takes longer than to sort."""

INDEXES = (
    "CREATE INDEX hits_by_rank ON hits (query, sort_key DESC, tie, input_index, score)",
    "CREATE INDEX hits_by_row ON hits (row)",
    "CREATE UNIQUE INDEX hits_of_query ON hits (query, row)",
)

ORDER = "sort_key DESC, tie, input_index"
"""How the hits of a query stand, best first."""


def general_statements() -> dict[str, str]:
    """Return the statement that makes each table that every run has, by its name."""
    made = {name: sql_of(name, *table) for name, table in TABLES.items()}
    made["targets"] = f"{made['targets'].removesuffix(')')}, {SORT_NAME})"
    return made


def statements(declared: Declaration) -> dict[str, str]:
    """Return the statement that makes each table, by its name."""
    own = {table.name: table.sql for table in declared.tables if table.of != "unfinished"}
    return general_statements() | own


def make_tables(connection: sqlite3.Connection, declared: Declaration) -> None:
    """Make the tables of a new run file, within a transaction if one is open."""
    for statement in (*statements(declared).values(), *INDEXES):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
