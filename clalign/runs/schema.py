"""The tables of a run file: those that every run has, beside those that its engine declares."""

from __future__ import annotations

import sqlite3

from clalign.runs.columns import Columns, LogValue, States, Truth, Verdict, sql_of
from clalign.runs.declarations import Declaration
from clalign.values.checked import Bits, Count, Line, Moment, NotNegative, Place, Whole

SCHEMA_VERSION = 1
"""The version of the tables that are written here, and the only one that is read."""

MIN_SQLITE = (3, 31)
"""The first version of SQLite that has generated columns."""

APPLICATION_ID = 0x636C616C  # "clal"

TABLES: dict[str, tuple[Columns, str]] = {
    "facts": ({"name": str, "value": str}, "name"),
    "queries": (
        {"id": Place, "name": Line, "accession": Line, "description": Line, "length": Place, "card": str, "best": str},
        "id",
    ),
    "targets": ({"row": Count, "name": Line, "accession": Line, "description": Line, "length": Place}, "row"),
    "hits": (
        {"id": Count, "query": Place, "row": Count, "input_index": Count, "score": Bits, "bias": Bits,
         "evalue": NotNegative | None, "raw": Whole, "n_parts": Place, "best_score": Bits | None,
         "best_evalue": NotNegative | None, "verified": Verdict, "sort_key": float | None, "tie": Line | None,
         "log_pvalue": LogValue | None, "included": Truth},
        "id",
    ),
    "parts": (
        {"hit": Count, "number": Place, "score": Bits, "bias": Bits, "evalue": NotNegative | None,
         "query_start": Place, "query_end": Place, "target_start": Place, "target_end": Place, "raw": Whole,
         "states": States, "query_text": str, "match": str, "target_text": str, "log_pvalue": LogValue | None},
        "hit, number",
    ),
    "batches": (
        {"query": Place, "first": Count, "last": Count, "cells": NotNegative, "seconds": Moment, "device": str,
         "scores": bytes, "bins": bytes},
        "query, first",
    ),
    "messages": ({"id": Count, "seconds": Moment, "kind": str, "text": str}, "id"),
    "verifications": (
        {"id": Count, "seconds": Moment, "device": str, "checked": Count, "differing": Count, "details": str}, "id",
    ),
    "notes": ({"query": Place, "row": Count, "text": str}, "query, row"),
    "alignments": ({"id": Count, "name": Line, "facts": str}, "id"),
    "alignment_rows": (
        {"alignment": Count, "number": Place, "name": Line, "start": Place, "stop": Place, "text": str},
        "alignment, number",
    ),
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
