"""The bundled examples, and the results of HMMER 2.3.2 for them."""

from __future__ import annotations

import atexit
import csv
import json
from contextlib import ExitStack
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, convert

from clalign.common.plain_data import Json

Kind = TypeVar("Kind")

FILES = ("profiles", "queries", "targets")
"""Fields of an example that are files."""

_extracted = ExitStack()
atexit.register(_extracted.close)


class ExpectedHit(Struct, frozen=True):
    """A hit as HMMER 2.3.2 prints it: one decimal of the score, two digits of the E-value."""

    target: str
    score: str
    evalue: str
    n_domains: int


class ExpectedDomain(Struct, frozen=True, rename={"number": "domain"}):
    """A domain as HMMER 2.3.2 prints it; coordinates from 1, both ends included."""

    target: str
    number: int
    ali_from: int
    ali_to: int
    hmm_from: int
    hmm_to: int
    score: str
    evalue: str


class Example(Struct, frozen=True):
    """A bundled example.

    Attributes
    ----------
    id, title, text : str
        Its name for the program, its name for people, and what it shows.
    profiles : Path
        The profile file.
    targets : Path or None
        The sequence file; None if the profile is only to be looked at.
    hits, domains : tuple
        All results at the default thresholds, best first; empty without targets.
    seconds : float
        About how long it takes on a CPU.
    """

    id: str
    title: str
    text: str
    profiles: Path
    targets: Path | None
    hits: tuple[ExpectedHit, ...]
    domains: tuple[ExpectedDomain, ...]
    seconds: float


class PairExample(Struct, frozen=True):
    """A bundled example that compares sequences.

    Attributes
    ----------
    id, title, text : str
        Its name for the program, its name for people, and what it shows.
    queries, targets : Path
        Sequence files.
    seconds : float
        About how long it takes on a CPU.
    """

    id: str
    title: str
    text: str
    queries: Path
    targets: Path
    seconds: float


@cache
def load_pair_examples() -> tuple[PairExample, ...]:
    """Return the bundled examples that compare sequences; see `load_examples`."""
    return tuple(PairExample(**entry) for entry in _listed("pair_examples.json"))


@cache
def load_examples() -> tuple[Example, ...]:
    """Return the bundled examples; their files are real files until the program ends."""
    examples = []
    for entry in _listed("examples.json"):
        expected = entry.pop("expected")
        hits, domains = _rows(expected, "hits", ExpectedHit), _rows(expected, "domains", ExpectedDomain)
        examples.append(Example(**entry, hits=hits, domains=domains))
    return tuple(examples)


def example_file(name: str) -> str:
    """Return the path of a bundled file, which is a real file until the program ends."""
    return str(_path(name))


def _path(name: str) -> Path:
    return _extracted.enter_context(as_file(files("clalign.resources") / "examples" / name))


def _listed(name: str) -> list[Json]:
    """Return what a list says of each example, with the paths of its files."""
    return [
        {field: _path(value) if value and field in FILES else value for field, value in entry.items()}
        for entry in json.loads(_path(name).read_text(encoding="utf-8"))
    ]


def _rows(name: str | None, what: str, kind: type[Kind]) -> tuple[Kind, ...]:
    """Return the results in a table of an example; none without a name."""
    if name is None:
        return ()
    with _path(f"{name}.{what}.tsv").open(encoding="ascii", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(convert(rows, list[kind], strict=False))  # type: ignore[valid-type]
