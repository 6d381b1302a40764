"""``clalign accuracy``: how much alignments have in common with reference alignments."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from clalign.cli.inputs import in_alignments, input_path
from clalign.cli.parser import CommandParser
from clalign.cli.streams import show, write_stderr
from clalign.errors import InputError, OptionError

if TYPE_CHECKING:
    from clalign.tools.alignment_accuracy import AlignmentAccuracy

DESCRIPTION = (
    "Compare alignments with a reference alignment of the same sequences, matched by name: AMA (share"
    " of residues with the same partner, or none), SP (share of the residue pairs of the reference that are found:"
    " sum of pairs, sensitivity), PPV (share of the pairs found that are in the reference) and TC (share of the"
    " columns of the reference that are reproduced entirely)."
)

EXAMPLES = (
    "clalign accuracy family.afa reference.msf",
    "clalign accuracy --core family.afa BB11002.xml.gz   # only what the reference is sure of",
    "clalign accuracy ours.afa theirs.aln reference.sto",
    "clalign accuracy aligned/ references/               # files of the same name, and their means",
)

MEASURES = {"ama": "AMA", "sensitivity": "SP", "ppv": "PPV", "total_column": "TC"}
"""Properties of an accuracy, and what they are called in a table."""

PREFERRED = (".xml", ".msf")
"""Endings by which one of several references of the same name is chosen: those of BAliBASE."""

_COMPRESSED = re.compile(r"\.(gz|bz2|xz|zst)$")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "tests",
        metavar="TEST",
        nargs="+",
        help="alignments of any format, or folders of them; extra sequences are fine",
    )
    parser.add_argument(
        "reference", metavar="REFERENCE", help="the reference alignment, or a folder with references of the same names"
    )
    parser.add_argument(
        "--core",
        action="store_true",
        help="count only core blocks: columns marked in a BAliBASE reference (XML), or with upper-case residues in the"
        " reference",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object with all counts")


def run(arguments: argparse.Namespace) -> int:
    """Compare and print the measures."""
    from clalign.tools.alignment_accuracy import compare_files

    found = []
    for test, pairs in [(test, paired(test, arguments.reference)) for test in arguments.tests]:
        accuracies = []
        for one, reference in pairs:
            with in_alignments(input_path(one), input_path(reference)) as (first, second):
                accuracies.append(compare_files(first, second, arguments.core))
        found.append((test, pairs, accuracies))
    if arguments.json:
        columns = "core" if arguments.core else "all"
        show(json.dumps({"schema": 1, "columns": columns, **document(found)}, indent=1))
    else:
        show("\n".join(table(found)))
    return 0


Found = tuple[str, list[tuple[str, str]], "list[AlignmentAccuracy]"]


def paired(test: str, reference: str) -> list[tuple[str, str]]:
    """Return the alignments that a path names, each with its reference.

    Raises
    ------
    InputError
        If one has no reference, or several.
    OptionError
        If one of the two is a folder and the other is a file.
    """
    folders = [Path(path).is_dir() for path in (test, reference)]
    if not any(folders):
        if test == reference == "-":
            raise OptionError("Only one of the two files can be standard input (-).", "Give the other as a file.")
        return [(test, reference)]
    if not all(folders):
        hint = "Give two files, or two folders with files of the same names."
        raise OptionError(f"{test if folders[0] else reference} is a folder, but the other is a file.", hint)
    tests: dict[str, list[Path]] = {}
    references: dict[str, list[Path]] = {}
    for folder, known in ((test, tests), (reference, references)):
        for path in sorted(Path(folder).iterdir()):
            if path.is_file() and not path.name.startswith("."):
                known.setdefault(_stem(path), []).append(path)
    pairs = [
        (str(one), _only(references.get(name, []), one, reference)) for name, each in tests.items() for one in each
    ]
    if not pairs:
        raise InputError(test, "the folder is empty.", "Choose a folder with alignments.")
    missing = len(references.keys() - tests.keys())
    if missing:
        write_stderr(
            f"clalign: {missing:,} of {len(references):,} references in {reference} have no alignment in {test}."
        )
    return pairs


def _stem(path: Path) -> str:
    return Path(_COMPRESSED.sub("", path.name)).stem


def _only(references: Sequence[Path], test: Path, folder: str) -> str:
    for ending in PREFERRED:
        chosen = [path for path in references if Path(_COMPRESSED.sub("", path.name)).suffix.lower() == ending]
        references = chosen or references
    if len(references) != 1:
        what = f"has {len(references)} references" if references else "has no reference"
        hint = "Each alignment needs one reference of the same name; the ending does not matter."
        raise InputError(test, f"it {what} in {folder}.", hint)
    return os.fspath(references[0])


def document(found: Sequence[Found]) -> dict[str, object]:
    """Return accuracies as plain data."""
    every = [
        {"test": test, "reference": reference, **_measures([one]), **asdict(one)}
        for _, pairs, accuracies in found
        for (test, reference), one in zip(pairs, accuracies, strict=True)
    ]
    means = [
        {"test": test, "n": len(accuracies), **_measures(accuracies)}
        for test, _, accuracies in found
        if Path(test).is_dir()
    ]
    return {"alignments": every, **({"means": means} if means else {})}


def table(found: Sequence[Found]) -> list[str]:
    """Return accuracies as the lines of a table."""
    lines = ["    ".join(f"{word:>6s}" for word in MEASURES.values()) + "    Alignment"]
    for test, pairs, accuracies in found:
        lines += [f"{_cells([one])}    {name}" for (name, _), one in zip(pairs, accuracies, strict=True)]
        if Path(test).is_dir():
            lines.append(f"{_cells(accuracies)}    mean of {len(accuracies):,} in {test}")
    return lines


def _measures(accuracies: Sequence[AlignmentAccuracy]) -> dict[str, float | None]:
    """Return the mean of each measure over alignments for which it is defined, None if it is for none."""
    means: dict[str, float | None] = {}
    for name, word in MEASURES.items():
        values = [value for one in accuracies if not math.isnan(value := getattr(one, name))]
        means[word.lower()] = math.fsum(values) / len(values) if values else None
    return means


def _cells(accuracies: Sequence[AlignmentAccuracy]) -> str:
    values = _measures(accuracies).values()
    return "    ".join(f"{'-':>6s}" if value is None else f"{value:6.4f}" for value in values)
