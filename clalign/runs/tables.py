"""The tables of a run file: types of their columns, those that every run has, and what an engine declares of its runs.

The package knows no engine; `clalign.runs.find_declaration` is set by one that does.

A value of a type with ``| None`` may be missing.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Protocol, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, ValidationError, defstruct, field

from clalign import runs
from clalign.errors import OptionError
from clalign.runs.facts import BegunRun, Best, SpecFacts
from clalign.values.checked import Bits, Count, Line, Moment, NotNegative, Place, Whole, check_as
from clalign.values.documents import Card, SpecFields
from clalign.values.hits import Hit

Columns = Mapping[str, Any]
"""Types of columns by their names."""

SqlRow = tuple[Any, ...]
"""Values of a row, of the types that the columns of its table declare."""

Truth = Literal[0, 1]
Sign = Literal[-1, 1]
Share = Annotated[float, Meta(ge=0, le=1.01)]
LogValue = Annotated[float, Meta(le=300.0)]
States = Annotated[str, Meta(pattern=r"\A[MID]*\Z")]
"""The states of an alignment."""

Verdict = Literal["", "equal", "differs"]

_SQL = {int: "INTEGER", float: "REAL", str: "TEXT", bytes: "BLOB"}

_PATTERNS = {
    kind: (expected, re.compile(pattern))
    for whole, pattern in ((Line, r"[\n\r\0]"), (States, "[^MID]"))
    for kind, expected in ((whole, list[str]), (whole | None, list[str | None]))
}
"""Type of a column without the pattern of its texts, and a pattern that no text may have: texts of a column are joined
and searched at once, which is faster."""


def sql_of(name: str, columns: Columns, key: str) -> str:
    """Return the statement that makes a table.

    Parameters
    ----------
    name : str
    columns : mapping of str to type
    key : str
        Its primary key: names of columns.
    """
    listed = [
        f"{column} {_sql_type(kind)}{' PRIMARY KEY' if column == key else ''}" for column, kind in columns.items()
    ]
    if key not in columns:  # otherwise it is a number, for which SQLite keeps no index
        listed.append(f"PRIMARY KEY ({key})")
    return f"CREATE TABLE {name} ({', '.join(listed)})"


@cache
def _sql_type(kind: object) -> str:
    """Return the type in SQL for a type, or for a union of types."""
    if get_origin(kind) is Annotated:
        return _sql_type(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return _SQL[type(get_args(kind)[0])]
    if kind in _SQL:
        return _SQL[kind]
    return max(_sql_type(one) for one in get_args(kind) if one is not type(None))  # for numbers this is REAL


@cache
def row_type(kinds: SqlRow) -> type[Struct]:
    """Return the type of rows, given the types of the columns."""
    made = defstruct("Row", [(f"column_{place}", kind) for place, kind in enumerate(kinds)], array_like=True)
    with contextlib.suppress(ValidationError):
        check_as(made, ())  # prepares the type before other threads use it
    return made


def all_fit(kind: Any, values: Sequence[Any]) -> bool:
    """Return whether all values of a column have a type."""
    expected, pattern = _PATTERNS.get(kind, (list[kind], None))
    try:
        msgspec.convert(values, expected)
    except ValidationError:
        return False
    return pattern is None or pattern.search("".join(filter(None, values))) is None


KEYS: dict[str, Columns] = {
    "hits": {"hit": Count},
    "parts": {"hit": Count, "number": Place},
    "batches": {"query": Place, "first": Count},
    "pieces": {"query": Place, "number": Place},
    "unfinished": {"query": Place, "first": Count, "number": Place},
    "": {"number": Count},
}
"""What a row of an engine's table is of, and the columns of the key that the row has."""


Fields = dict[str, Iterable[Any]]
"""Values of the fields of many things, by the names of the fields."""


class EngineTable(Struct, frozen=True, kw_only=True):
    """A table of an engine beside the others: for each hit, part or batch it has one row, or none.

    Of pieces of batches, which the engine numbers, it has as many as `BatchResult.kept` has.

    Of batches that are not finished it may have any number of rows, from which an engine goes on; they go when the
    batch is stored. Such a table is only there while it is needed.

    Attributes
    ----------
    name : str
        Begins with the name of the engine.
    of : str
        What its rows are of: ``hits``, ``parts``, ``batches``, ``pieces``, ``unfinished`` batches; empty where they are
        only numbered.
    columns : mapping of str to type
        Types of those besides its key, see `clalign.runs.tables`; those of hits and parts may be missing.
    row : callable
        Returns the values that are written of a `Hit` or `Domain`; None for no row. Those of a batch come with it.
    read : callable
        Takes the fields of all the `Hit` or `Domain` that are read, as columns by their names, and its own columns, in
        which all values of one that it has no row of are None; sets what they say.
    """

    name: str
    columns: Columns
    of: Literal["hits", "parts", "batches", "pieces", "unfinished", ""] = ""
    row: Callable[[Any], SqlRow | None] = lambda written: None
    read: Callable[[Fields, Sequence[SqlRow]], None] = lambda fields, columns: None

    @property
    def names(self) -> list[str]:
        """The names of its columns besides its key."""
        return list(self.columns)

    @property
    def all_columns(self) -> Columns:
        """The types of its columns by their names, the key first."""
        return {**KEYS[self.of], **self.columns}

    @property
    def sql(self) -> str:
        """The statement that makes it."""
        return sql_of(self.name, self.all_columns, ", ".join(KEYS[self.of]))


class PartVerdict(NamedTuple):
    """What is said of a part of a hit, such as a domain."""

    conditional_evalue: float | None
    is_reported: bool
    is_significant: bool


UNJUDGED = PartVerdict(None, is_reported=True, is_significant=True)
"""The verdict on the parts of hits of which all are significant."""


class Judge(Protocol):
    """What lets a part of a hit be reported, and be called significant."""

    @property
    def n_targets(self) -> float | None:
        """What conditional E-values count; None for the targets that are reported."""

    def judge(
        self, score: float, evalue: float, log_pvalue: float | None, n_reported: int, is_hit_significant: bool
    ) -> PartVerdict:
        """Return the verdict on a part.

        The last arguments are how many targets are reported, and whether the hit is significant.
        """


def by_score(_: Card, hit: Hit) -> tuple[float, str | None]:
    """Put hits in the order of their scores."""
    return hit.score, None


class Declaration(Struct, frozen=True, kw_only=True):
    """What an engine declares of its runs.

    Attributes
    ----------
    engine : str
        Its name.
    is_installed : bool
        Whether it is at hand; of one that is not only the name is known, and its runs say what every run does.
    tables : tuple of EngineTable
    cards : mapping of str to type
        Types of its cards by their ``origin``: subclasses of `clalign.runs.facts.QueryCard`.
    best : type of Best
        What is said of the best target of a query.
    begun : type of BegunRun
        The facts that its runs have once they have begun.
    asked : type of Asked
        What is read of its specs without the engine.
    order : callable
        Returns of a card and a hit what hits stand in falling order of, and what equal ones stand in rising order of.
    judge : callable
        Returns of a card and the spec of the run, as plain data, the `Judge` of the parts of its hits; None where all
        of them are significant.
    unsound : callable
        Returns in words what a hit cannot have or lack, given the card of its query; None if there is nothing.
    values : mapping of str to str
        SQL of what its hits can be sorted and filtered by, over its own tables and the others.
    identical : str
        SQL of how many columns of a part have two equal residues; empty where that is not known.
    placed : mapping of str to str
        SQL of where a part lies on its target, for what differs from `clalign.runs.placed_parts.PLACES`.
    choosing : tuple of str
        Fields of its specs which, where one is set, let not every query be compared with every target.
    best_part_only : bool
        Whether coverage and identity of a hit are those of its first part, not of all that are reported.
    """

    engine: str
    is_installed: bool = True
    tables: tuple[EngineTable, ...] = ()
    cards: Mapping[str, type] = field(default_factory=dict)
    best: type[Best] = Best
    begun: type[BegunRun] = BegunRun
    asked: type[SpecFacts] = SpecFacts
    order: Callable[[Card, Hit], tuple[float, str | None]] = by_score
    judge: Callable[[Card, SpecFields], Judge | None] = lambda card, spec: None
    unsound: Callable[[Card, Hit], str | None] = lambda card, hit: None
    values: Mapping[str, str] = field(default_factory=dict)
    identical: str = ""
    placed: Mapping[str, str] = field(default_factory=dict)
    choosing: tuple[str, ...] = ()
    best_part_only: bool = False

    def of(self, thing: str) -> list[EngineTable]:
        """Return the tables whose rows are of hits, parts, batches, pieces or unfinished batches."""
        return [table for table in self.tables if table.of == thing]

    def needed(self) -> Declaration:
        """Return this, if the engine is at hand.

        Raises
        ------
        OptionError
            If it is not.
        """
        if not self.is_installed:
            raise OptionError(
                f"The run was made by the engine {self.engine}, which is not installed.",
                "Install the package that has it.",
            )
        return self


def declaration_of(engine: str) -> Declaration:
    """Return the declaration of the engine of a run."""
    try:
        found: Declaration = runs.find_declaration(engine)
    except LookupError:
        return Declaration(engine=engine, is_installed=False)
    return found


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


@cache
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
