"""``clalign hmmsearch``: search profiles against sequences."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Literal

from clalign.cli.inputs import in_file, name_as_given, there
from clalign.cli.options import (
    add_cpu_option,
    add_device_option,
    add_output_options,
    add_progress_options,
    add_spec_options,
    check_pairs,
    outputs_of,
    progress_mode,
    spec_of,
    tell_of_cpu,
)
from clalign.cli.parser import CommandParser
from clalign.errors import OptionError, OutputError

COMMAND = "clalign hmmsearch"

EXAMPLES = (
    "clalign hmmsearch globins.hmm proteins.fasta",
    "clalign hmmsearch --tsv hits.tsv --run globins.clalign globins.hmm proteins.fasta.gz",
    "clalign hmmsearch -E 1e-5 --device gpu -o hits.txt --noali globins.hmm proteins.fasta",
    "zcat *.fa.gz | clalign hmmsearch --cut_ga families.hmm -",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "hmmsearch",
        examples=EXAMPLES,
        description="Search profile HMMs against sequences. Names and meanings of the options are those of HMMER.",
    )
    parser.add_argument(
        "profiles", metavar="HMMFILE", help="profiles (HMMER2 or HMMER3 text, or .h3m); - is standard input"
    )
    parser.add_argument("targets", metavar="SEQDB", help="sequences, also compressed; - is standard input")
    add_search_options(parser, "search")
    parser.set_defaults(run=run)


def add_search_options(parser: CommandParser, direction: Literal["search", "scan"]) -> None:
    """Add what searches and scans have in common."""
    add_output_options(parser)
    parser.add_argument_group("Run").add_argument(
        "--run",
        dest="run_file",
        metavar="F",
        help="keep the run in F (.clalign), which the window opens and `clalign resume` continues; standard input is"
        " kept beside it",
    )
    add_cpu_option(add_device_option(parser))
    add_spec_options(parser, direction)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search and write the outputs."""
    return submit(arguments, COMMAND, "search")


def submit(arguments: argparse.Namespace, command: str, direction: Literal["search", "scan"]) -> int:
    """Let a worker search or scan, and write the outputs; return the exit code."""
    from clalign.cli.watch import run_place, watch

    outputs = outputs_of(arguments, command)
    spec_of(arguments, arguments.profiles, arguments.targets, direction)
    inputs = there(arguments.profiles), there(arguments.targets)
    check_run(arguments.run_file)
    outputs.check(inputs, arguments.run_file)
    tell_of_cpu(arguments, command)
    place = run_place(arguments.run_file)
    try:
        profiles, targets = (in_file(path, place) for path in inputs)
        check_pairs(arguments, command, profiles)
        spec = spec_of(arguments, profiles, targets, direction)
    except BaseException as error:
        name_as_given(error, place)
        place.discard()
        raise
    temporary = place.scratch is not None
    job = {"job": "search", "run": str(place.path), "spec": spec.to_dict(), "temporary": temporary}
    return watch(job, place, outputs, progress_mode(arguments))


def check_run(path: str | None) -> None:
    """Refuse a run file that exists or could not be written."""
    from clalign.formats.writers import check_writable

    if path is None:
        return
    if path == "-":
        raise OptionError("A run cannot go to standard output.", "Give --run the name of a file.")
    if Path(path).exists():
        raise OutputError(f"{path} exists already.", f"Choose another name, or continue it with: clalign resume {path}")
    check_writable(path)
