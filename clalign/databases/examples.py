"""The bundled examples, and the results of HMMER 2.3.2 for them."""

from __future__ import annotations

import atexit
import csv
import json
from contextlib import ExitStack
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path

from msgspec import Struct

_extracted = ExitStack()
atexit.register(_extracted.close)


class ExpectedHit(Struct, frozen=True):
    """A hit as HMMER 2.3.2 prints it: one decimal of the score, two digits of the E-value."""

    target: str
    score: str
    evalue: str
    n_domains: int


class ExpectedDomain(Struct, frozen=True):
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
    listed = json.loads(_path("pair_examples.json").read_text(encoding="utf-8"))
    return tuple(
        PairExample(**{**entry, "queries": _path(entry["queries"]), "targets": _path(entry["targets"])})
        for entry in listed
    )


@cache
def load_examples() -> tuple[Example, ...]:
    """Return the bundled examples; their files are real files until the program ends."""
    listed = json.loads(_path("examples.json").read_text(encoding="utf-8"))
    return tuple(
        Example(
            id=entry["id"],
            title=entry["title"],
            text=entry["text"],
            profiles=_path(entry["profiles"]),
            targets=_path(entry["targets"]) if entry["targets"] else None,
            hits=_expected_hits(entry["expected"]),
            domains=_expected_domains(entry["expected"]),
            seconds=entry["seconds"],
        )
        for entry in listed
    )


def example_file(name: str) -> str:
    """Return the path of a bundled file, which is a real file until the program ends."""
    return str(_path(name))


def _path(name: str) -> Path:
    return _extracted.enter_context(as_file(files("clalign.resources") / "examples" / name))


def _rows(name: str) -> list[dict[str, str]]:
    with _path(name).open(encoding="ascii", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def _expected_hits(name: str | None) -> tuple[ExpectedHit, ...]:
    if name is None:
        return ()
    return tuple(
        ExpectedHit(row["target"], row["score"], row["evalue"], int(row["n_domains"]))
        for row in _rows(f"{name}.hits.tsv")
    )


def _expected_domains(name: str | None) -> tuple[ExpectedDomain, ...]:
    if name is None:
        return ()
    return tuple(
        ExpectedDomain(
            target=row["target"],
            number=int(row["domain"]),
            ali_from=int(row["ali_from"]),
            ali_to=int(row["ali_to"]),
            hmm_from=int(row["hmm_from"]),
            hmm_to=int(row["hmm_to"]),
            score=row["score"],
            evalue=row["evalue"],
        )
        for row in _rows(f"{name}.domains.tsv")
    )
