"""Facts and cards of a run file: JSON of a known shape.

A shape is a type or a test of one value, a tuple of shapes of which one has to fit, a list with the shape of every
entry, a dictionary of shapes by key (``key?`` may be missing or null, others of the value are not looked at), or None.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from clalign.errors import ClalignError, DamagedRun
from clalign.values.devices import at_home

LATEST = 1e11
"""Seconds since 1970 that a clock may show, however wrong: some thousand years."""

DEEPEST = 32
"""Lists within lists at most."""

_LARGEST = 2**53

Shape = Any
Kind = TypeVar("Kind")


def text(value: Any) -> bool:
    """Tell whether a value is a text."""
    return type(value) is str


def line(value: Any) -> bool:
    """Tell whether a value is a text of one line."""
    return type(value) is str and not any(end in value for end in "\n\r\0")


def path_or_word(value: Any) -> bool:
    """Tell whether a value is a text that a command line can hold; names of files may have line ends."""
    return type(value) is str and "\0" not in value


def truth(value: Any) -> bool:
    """Tell whether a value is true or false."""
    return type(value) is bool


def any_number(value: Any) -> bool:
    """Tell whether a value is a number that an option may have, however large."""
    return value == value if type(value) is float else type(value) is int and abs(value) < 2**1023


def number(value: Any) -> bool:
    """Tell whether a value is a number, which may be infinite."""
    return any_number(value) and (math.isinf(value) or abs(value) < 1e300)


def finite(value: Any) -> bool:
    """Tell whether a value is a number of any use."""
    return number(value) and not math.isinf(value)


def size(value: Any) -> bool:
    """Tell whether a value is a number of at least 0, as of an option."""
    return any_number(value) and value >= 0


def not_negative(value: Any) -> bool:
    """Tell whether a value is a number of at least 0, such as a size that may be nothing."""
    return finite(value) and value >= 0


def positive(value: Any) -> bool:
    """Tell whether a value is a number above 0."""
    return finite(value) and value > 0


def width(value: Any) -> bool:
    """Tell whether a value is a width of bins."""
    return positive(value) and 1 <= value < 2**31


def count(value: Any) -> bool:
    """Tell whether a value counts something."""
    return type(value) is int and 0 <= value <= _LARGEST


def place(value: Any) -> bool:
    """Tell whether a value is a length or place that fits 32 bits."""
    return type(value) is int and 0 <= value < 2**31


def moment(value: Any) -> bool:
    """Tell whether a value is a time in seconds since 1970."""
    return finite(value) and 0 <= value < LATEST


def one_of(*words: str) -> Callable[[Any], bool]:
    """Return what tells whether a value is one of some words."""
    return lambda value: type(value) is str and value in words


class each:  # noqa: N801 - a shape, like the others
    """The shape of every value of a dictionary."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape


_REPORT = {
    "path?": text, "digest": text, "n_sequences": count, "n_residues": count, "n_empty": count, "format?": text,
    "compression?": text, "line_ends?": text, "alphabet?": text, "alphabet_reason?": text, "shortest?": place,
    "longest?": place, "mean?": finite, "length_histogram?": [[count]], "is_doubtful?": truth,
    "issues?": [{"kind": text, "severity": text, "text": text, "count": count, "lines": [count]}],
}  # fmt: skip

FACTS: dict[str, Shape] = {
    "spec": {
        "direction?": text, "profiles?": path_or_word, "queries?": path_or_word, "targets?": path_or_word,
        "matrix?": path_or_word, "pair_list?": path_or_word, "alphabet?": text, "sequence_format?": text,
        "shard?": text,
    },
    "direction": (None, text),
    "engine": text,
    "state": one_of("new", "running", "stopped", "failed", "done"),
    "database": (None, _REPORT),
    "queries": (None, _REPORT),
    "device": (None, {"name?": text, "id?": text}),
    "versions": each(text),
    "n_targets": size,
    "finished": (None, {
        "n_hits": count, "n_sequences": count, "cells?": not_negative, "new_cells?": not_negative,
        "seconds": not_negative, "gcups": number, "device": text, "n_parts?": count,
    }),
    "seen_digest": (None, text),
    "profiles_digest": text,
    "created": moment,
    "name": (None, text),
    "packing": count,
    "command": (None, text),
    "error": (None, {"message": text, "hint": text}),
    "relocated": each(path_or_word),
    "shard": (None, {"number": count, "of": count, "first": count, "last": count, "n_residues": count}),
    "merged": (None, [{"path": path_or_word, "device": text, "created": moment, "seconds": finite}]),
}  # fmt: skip
"""Shapes of the facts of a run."""

ALPHABET = one_of("amino", "dna", "rna")

ANY_CARD = {
    "name": line, "accession": line, "description": line, "length": place, "alphabet": ALPHABET,
    "origin": line, "report_score?": any_number, "include_score?": any_number,
    "n_targets?": size, "histogram_report_score?": any_number, "histogram_pass_score?": any_number,
    "histogram_bin?": width, "histogram_unit?": positive, "cells_per_residue?": finite,
}  # fmt: skip
"""What the card of every query has; others have more, by their origin."""

_ANNOTATIONS = ("consensus", "reference", "structure")

BEST: Shape = (None, {"name": line, "score": number, "evalue": (None, number)})
DETAILS: Shape = [text]


def parsed(value: Any, what: str, path: Path, shape: Shape = object) -> Any:
    """Return what a JSON text of a run file says.

    Raises
    ------
    DamagedRun
        If it is no JSON, or is of another shape.
    """
    try:
        data = json.loads(value)
        if value.count("[") + value.count("{") > DEEPEST:
            _check_depth(data)
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedRun(path, f"{what} is not readable: {error}") from None
    if not _test_of(shape)(data):
        raise DamagedRun(path, f"{misfit(data, shape, what)} is not what it should be")
    return data


def _check_depth(data: Any) -> None:
    level = [data]
    for _ in range(DEEPEST):
        inner = [one for value in level for one in (value.values() if isinstance(value, dict) else value)]
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return
    raise ValueError(f"there are more than {DEEPEST} lists within lists")


def parsed_card(value: Any, path: Path, shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """Return the card of a query; `shapes` are those that its engine declares.

    Raises
    ------
    DamagedRun
        If it is none.
    """
    data: dict[str, Any] = parsed(value, "a card", path, ANY_CARD)
    is_known = not shapes or data["origin"] in shapes
    shape = shapes.get(data["origin"], ANY_CARD)
    wrong = _odd_length(data) if _test_of(shape)(data) else misfit(data, shape, "a card")
    wrong = wrong if is_known else "origin of a card"
    if wrong is not None:
        raise DamagedRun(path, f"{wrong} is not what it should be")
    return data


def _odd_length(card: dict[str, Any]) -> str | None:
    """Return the name of an annotation that has not one character for each node."""
    odd = (name for name in _ANNOTATIONS if card.get(name) and len(card[name]) != card["length"])
    return next((f"{name} of a card" for name in odd), None)


def misfit(value: Any, shape: Shape, what: str) -> str | None:
    """Return the name of what does not fit a shape, None if all does."""
    if shape is None:
        return None if value is None else what
    if isinstance(shape, each):
        if not isinstance(value, dict):
            return what
        return next((wrong for key in value if (wrong := misfit(value[key], shape.shape, f"{key} of {what}"))), None)
    if isinstance(shape, tuple):
        found = [misfit(value, one, what) for one in shape]
        return None if None in found else found[-1]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return what
        return next((wrong for one in value if (wrong := misfit(one, shape[0], what))), None)
    if isinstance(shape, dict):
        return _misfit_of_keys(value, shape, what)
    fits = isinstance(value, shape) if isinstance(shape, type) else shape(value)
    return None if fits else what


def _misfit_of_keys(value: Any, shape: dict[str, Shape], what: str) -> str | None:
    if not isinstance(value, dict):
        return what
    for key, inner in shape.items():
        name, may_miss = key.removesuffix("?"), key.endswith("?")
        if may_miss and value.get(name) is None:
            continue
        if name not in value:
            return f"{name} of {what}"
        if (wrong := misfit(value[name], inner, f"{name} of {what}")) is not None:
            return wrong
    return None


Test = Callable[[Any], bool]

_TESTS: dict[int, tuple[Shape, Test]] = {}
"""By the identity of a shape, which is kept with it: shapes are constants, and cards of large libraries are many."""


def _test_of(shape: Shape) -> Test:
    """Return what tells, a few times as fast as `misfit`, whether a value fits a shape that is a constant."""
    found = _TESTS.get(id(shape))
    if found is None:
        found = _TESTS[id(shape)] = shape, _made_test(shape)
    return found[1]


def _made_test(shape: Shape) -> Test:
    if shape is None:
        return lambda value: value is None
    if isinstance(shape, each):
        inner = _made_test(shape.shape)
        return lambda value: isinstance(value, dict) and all(map(inner, value.values()))
    if isinstance(shape, tuple):
        tests = [_made_test(one) for one in shape]
        return lambda value: any(test(value) for test in tests)
    if isinstance(shape, list):
        of_entry = _made_test(shape[0])
        return lambda value: isinstance(value, list) and all(map(of_entry, value))
    if isinstance(shape, dict):
        return _test_of_keys([(key, _made_test(inner)) for key, inner in shape.items()])
    if isinstance(shape, type):
        return lambda value: isinstance(value, shape)
    test: Test = shape
    return test


def _test_of_keys(tests: list[tuple[str, Test]]) -> Test:
    needed = [(key, test) for key, test in tests if not key.endswith("?")]
    others = [(key.removesuffix("?"), test) for key, test in tests if key.endswith("?")]

    def fits(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        for key, test in needed:
            if key not in value or not test(value[key]):
                return False
        for key, test in others:
            found = value.get(key)
            if found is not None and not test(found):
                return False
        return True

    return fits


_OF_TYPE: dict[Any, Shape] = {float: any_number, int: lambda value: count(abs(value)) if type(value) is int else False,
                              bool: truth, str: path_or_word, type(None): None}  # fmt: skip


def _shape_of(annotation: Any) -> Shape:
    """Return the shape of a field of a spec."""
    if get_origin(annotation) is Literal:
        return one_of(*get_args(annotation))
    if get_origin(annotation) is tuple:
        return [_shape_of(get_args(annotation)[0])]
    if get_origin(annotation) in (UnionType, Union):
        return tuple(_shape_of(one) for one in get_args(annotation))
    return _OF_TYPE.get(annotation, object)


def made_from(kind: type[Kind], data: Any, path: Path) -> Kind:
    """Return a spec from what a run file says of it.

    Its device is one of this machine: a file never decides which cluster the program connects to.

    Raises
    ------
    DamagedRun
        If a field is missing, unknown, or of another type.
    """
    if not isinstance(data, dict):
        raise DamagedRun(path, "it does not say what was asked for")
    for name, annotation in get_type_hints(kind).items():
        wrong = misfit(data[name], _shape_of(annotation), name) if name in data else None
        if wrong is not None:
            raise DamagedRun(path, f"the {wrong} that was asked for is not what it should be")
    try:
        here = {"device": at_home(data["device"])} if "device" in data else {}
        made: Kind = kind.from_dict(data | here)  # type: ignore[attr-defined]
        return made
    except TypeError as error:
        raise DamagedRun(path, f"what was asked for is not known: {error}") from None
    except ClalignError as error:
        raise DamagedRun(path, error.message) from None
