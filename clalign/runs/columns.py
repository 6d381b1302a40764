"""Types of the columns of a run file, and the SQL of tables with such columns.

A value of a type with ``| None`` may be missing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, ValidationError, defstruct

from clalign.values.checked import Line, check_as

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
