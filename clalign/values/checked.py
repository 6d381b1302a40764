"""Types of what is stored in files or sent between processes, and the one function that checks it against a type.

A type is a Struct, a dataclass, a TypedDict for what stays a dictionary, or one of the types below. Where any number
may stand, whole numbers stay whole.
"""

from __future__ import annotations

import json
import threading
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, ValidationError

__all__ = ["ValidationError", "check_as", "parsed_as"]

MAX_COUNT = 2**53
"""Whole numbers up to this one are exact as float64, too."""

MAX_TIME = 1e11
"""Seconds since 1970 that a clock may show, however wrong: some thousand years."""

Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Whole = Annotated[int, Meta(ge=-MAX_COUNT, le=MAX_COUNT)]
Place = Annotated[int, Meta(ge=0, lt=2**31)]
"""A length or a position, which fits 32 bits."""

Number = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | float
"""A number that may be infinite, but not NaN."""

Size = Annotated[int, Meta(ge=0, le=2**63 - 1)] | Annotated[float, Meta(ge=0)]
"""A `Number` of at least 0."""

Finite = Annotated[int, Meta(ge=-MAX_COUNT, le=MAX_COUNT)] | Annotated[float, Meta(ge=-1e300, le=1e300)]
NotNegative = Annotated[int, Meta(ge=0, le=MAX_COUNT)] | Annotated[float, Meta(ge=0, le=1e300)]
Positive = Annotated[int, Meta(gt=0, le=MAX_COUNT)] | Annotated[float, Meta(gt=0, le=1e300)]
Bits = Annotated[int, Meta(ge=-(10**12), le=10**12)] | Annotated[float, Meta(ge=-1e12, le=1e12)]
"""A score that any sequence can have, with room; sums of squares of many fit float32."""

Probability = Annotated[float, Meta(ge=0, le=1)]
Moment = Annotated[int, Meta(ge=0, lt=int(MAX_TIME))] | Annotated[float, Meta(ge=0, lt=MAX_TIME)]
"""Seconds since 1970."""

Line = Annotated[str, Meta(pattern=r"\A[^\n\r\0]*\Z")]
Word = Annotated[str, Meta(pattern=r"\A[^\0]*\Z")]
"""A text that a command line can hold, such as a path; names of files may have line ends."""

Kind = TypeVar("Kind")

_LOCK = threading.RLock()
"""msgspec crashes where two threads are the first to convert to one type."""


def check_as(kind: type[Kind], data: object) -> Kind:
    """Return plain data as an instance of a type.

    Raises
    ------
    msgspec.ValidationError
        If a field is missing, or of another type or size.
    """
    try:
        with _LOCK:
            return msgspec.convert(data, kind)
    except UnicodeEncodeError as error:  # half of a surrogate pair, which JSON may hold
        raise ValidationError(f"a text is not valid Unicode: {error}") from None


def parsed_as(kind: type[Kind], text: Any) -> Kind:
    """Return a JSON text, which may hold infinite numbers, as an instance of a type.

    Raises
    ------
    msgspec.ValidationError
        If it is no JSON, holds NaN, or does not fit the type.
    """
    try:
        data = json.loads(text, parse_constant=_constant)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValidationError(f"it is not valid JSON: {error}") from None
    return check_as(kind, data)


def _constant(word: str) -> float:
    if word == "NaN":
        raise ValueError("a value is not a number")
    return float(word)


def plain(value: Any) -> Any:
    """Return a Struct or a dataclass, with all that it holds, as plain data."""
    return msgspec.to_builtins(value)
