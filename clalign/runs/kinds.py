"""What may stand in a column of a run file: its type in SQL, and what tells whether a value is such.

A column is declared as ``name kind``, several with commas between; a kind with a ``?`` may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from clalign.runs.plain_data import LATEST

LARGEST = 2**53
LARGEST_PLACE = 2**31 - 1
LARGEST_LOG = 300.0

FEW = 16
"""Where only some whole numbers of those between two may stand, they are fewer."""

Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return type(value) in (float, int)


def _is_positive(value: Any) -> bool:
    return type(value) in (float, int) and 0 <= value < math.inf


def _is_text(value: Any) -> bool:
    return type(value) is str


KINDS: dict[str, tuple[str, Check]] = {
    "count": ("INTEGER", lambda value: type(value) is int and 0 <= value <= LARGEST),
    "row": ("INTEGER", lambda value: type(value) is int and 0 <= value <= LARGEST),
    "whole": ("INTEGER", lambda value: type(value) is int and -LARGEST <= value <= LARGEST),
    "place": ("INTEGER", lambda value: type(value) is int and 0 <= value <= LARGEST_PLACE),
    "truth": ("INTEGER", lambda value: type(value) is int and value in (0, 1)),
    "sign": ("INTEGER", lambda value: type(value) is int and value in (-1, 1)),
    "finite": ("REAL", lambda value: type(value) in (float, int) and -math.inf < value < math.inf),
    "number": ("REAL", _is_number),
    "positive": ("REAL", _is_positive),
    "moment": ("REAL", lambda value: _is_positive(value) and value < LATEST),
    "share": ("REAL", lambda value: type(value) in (float, int) and 0 <= value <= 1.01),
    "log": ("REAL", lambda value: type(value) in (float, int) and value <= LARGEST_LOG),
    "text": ("TEXT", _is_text),
    "line": ("TEXT", lambda value: type(value) is str and not ("\n" in value or "\r" in value or "\0" in value)),
    "path": ("TEXT", lambda value: type(value) is str and not value.strip("MID")),
    "verdict": ("TEXT", lambda value: value in ("", "equal", "differs")),
    "blob": ("BLOB", lambda value: type(value) is bytes),
}
"""Type and test of each kind: ``place`` is a number that fits 32 bits, ``path`` the states of an alignment."""


@cache
def columns_of(declared: str) -> Mapping[str, str]:
    """Return names and kinds of declared columns."""
    return {name: kind for name, _, kind in (column.strip().partition(" ") for column in declared.split(","))}


def sql_of(name: str, declared: str, key: str) -> str:
    """Return the statement that makes a table.

    Parameters
    ----------
    name, declared : str
        Its name and columns.
    key : str
        Its primary key: the names of columns.
    """
    columns = [f"{column} {KINDS[kind.rstrip('?')][0]}" for column, kind in columns_of(declared).items()]
    if key in columns_of(declared):  # a number that SQLite keeps no index for
        columns = [f"{column} PRIMARY KEY" if column.split()[0] == key else column for column in columns]
    else:
        columns.append(f"PRIMARY KEY ({key})")
    return f"CREATE TABLE {name} ({', '.join(columns)})"


def checks_of(declared: str) -> dict[str, Check]:
    """Return what tells, by the name of a column, whether a value may stand there."""
    return {name: _check(kind) for name, kind in columns_of(declared).items()}


def all_fit(check: Check, values: Sequence[Any]) -> bool:
    """Return whether all values of a column may stand there, several times as fast as one by one.

    What lies between two numbers that may, may, too; but for some kinds of whole numbers, see `FEW`.
    """
    kinds = set(map(type, values))
    if type(None) in kinds:
        kinds.remove(type(None))
        values = [value for value in values if value is not None]
        if not check(None):
            return False
    if kinds == {int}:
        values = list(set(values))
    if kinds == {float} or (kinds == {int} and len(values) > FEW):
        return check(min(values)) and check(max(values))
    return all(map(check, values))


def _check(kind: str) -> Check:
    check = KINDS[kind.rstrip("?")][1]
    return (lambda value: value is None or check(value)) if kind.endswith("?") else check
