"""``clalign explain``: show why a sequence was found or missed."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from clalign.cli.inputs import in_files, input_path, is_run
from clalign.cli.options import (
    add_device_option,
    add_fields,
    add_locate_option,
    add_progress_options,
    locate_inputs,
    progress_mode,
    spec_of,
)
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import show
from clalign.engines.engine import Engine, engine_of, engine_of_command
from clalign.errors import InputError, OptionError, several_named
from clalign.values.documents import JobRequest

COMMAND = "clalign explain"

DESCRIPTION = (
    "Send one sequence through every step of a search, also those it would not have reached, and show"
    " its score and the threshold of each. Takes the files and options of hmmsearch; or a run, and the name of a"
    " sequence. For a run of sw it shows what each column adds to the score, and how bits and E-value follow."
)

EXAMPLES = (
    "clalign explain globins.hmm proteins.fasta HBB_HUMAN",
    "clalign explain --profile Pkinase --F3 1e-3 families.hmm proteins.fasta AKT1_HUMAN",
    "clalign explain --json globins.hmm proteins.fasta HBB_HUMAN",
    "clalign explain --query MYG_HUMAN search.clalign HBB_HUMAN   # a run, also one of sw",
)

NAMES_SHOWN = 5

SEARCH = "hmmsearch"
"""The command whose files and options it takes."""

ENGINE = engine_of_command(SEARCH)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "profiles", metavar="HMMFILE|RUN", help="profiles (HMMER2 or HMMER3 text, or .h3m), or a run file"
    )
    parser.add_argument("targets", metavar="SEQDB", nargs="?", help="sequences, also compressed; not with a run")
    parser.add_argument("name", metavar="NAME", help="name of the sequence: the first word of its header")
    group = parser.add_argument_group("Output")
    group.add_argument("--json", action="store_true", help="print the steps as JSON")
    group = parser.add_argument_group("Profile")
    group.add_argument(
        "--profile", "--query", metavar="P", help="name, accession or number of the profile, or query [the only one]"
    )
    add_locate_option(parser)
    add_device_option(parser)
    add_fields(parser, ENGINE.spec, ENGINE.command(SEARCH))
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Explain, and show the steps."""
    from clalign.cli.watch import watch_job

    mode, engine = progress_mode(arguments), ENGINE
    if arguments.targets is None:
        if not is_run(input_path(arguments.profiles)):
            hint = "Give profiles, sequences and the name of a sequence; or a run and a name."
            raise InputError(arguments.profiles, "this is not a run file, and a name is missing.", hint)
        job, engine = _job_of_run(arguments)
        value = watch_job(job, mode, "Stopped.")
    else:
        if arguments.locate:
            raise UsageError(COMMAND, "--locate is only for runs")
        spec_of(arguments, ENGINE, ENGINE.command(SEARCH))  # of which one may be standard input
        with in_files(input_path(arguments.profiles), input_path(arguments.targets)) as (profiles, targets):
            value = watch_job(_job_of_files(arguments, profiles, targets), mode, "Stopped.")
    show(json.dumps(value, indent=1) if arguments.json else "\n".join(engine.explanation_lines(value)))
    return 0


def _job_of_files(arguments: argparse.Namespace, profiles: str, targets: str) -> JobRequest:
    from clalign.formats.profiles import load_profiles

    arguments.profiles, arguments.targets, shown = profiles, targets, arguments.profiles
    spec = spec_of(arguments, ENGINE, ENGINE.command(SEARCH))
    names = [(hmm.name, hmm.accession) for hmm in load_profiles(profiles)]
    number = number_of(shown, names, arguments.profile, ENGINE.query)
    return {"job": "explain", "of": ENGINE.job, "spec": spec.to_dict(), "profile": number, "name": arguments.name}


def _job_of_run(arguments: argparse.Namespace) -> tuple[JobRequest, Engine]:
    from clalign.runs.run_file import open_run

    options = [field.name for field in dataclasses.fields(ENGINE.spec) if "flag" in field.metadata]
    if any(name in vars(arguments) for name in options):
        raise UsageError(COMMAND, "a run has the options of its search: leave out others, or give files")
    path = Path(arguments.profiles)
    locate_inputs(str(path), arguments.locate)
    with open_run(path) as found:
        engine = engine_of(found)
        names = engine.choices(found)
    number = number_of(arguments.profiles, names, arguments.profile, engine.query)
    job = {"job": "explain", "run": str(path), "profile": number, "name": arguments.name, "device": arguments.device}
    return job, engine


def number_of(path: str, names: list[tuple[str, str]], wanted: str | None, what: str) -> int:
    """Return the number, from 0, of the profile or query with a name, accession or number counted from 1.

    A part of a name such as ``sp|P0A6A8|ACP_ECOLI`` is enough.

    Raises
    ------
    OptionError
        If there is none, or if there are several and none is named.
    """
    if wanted is None and len(names) == 1:
        return 0
    if wanted is None:
        plural = "queries" if what == "query" else f"{what}s"
        some = ", ".join(name for name, _ in names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
        hint = f"Choose one with --{what}, by name or number: {some}."
        raise OptionError(f"{path} has {len(names)} {plural}.", hint)
    known: list[int] = []
    for column in (0, 1):  # a name is meant before an accession
        known = known or [number for number, both in enumerate(names) if both[column] == wanted]
    short = known or [number for number, (name, _) in enumerate(names) if wanted in name.split("|")]
    if len(short) == 1:
        return short[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    if known:
        raise several_named(path, what, wanted, known)
    hint = f"The first one is {names[0][0]}." if names else "It has no results."
    raise OptionError(f"{path} has no {what} {wanted}.", hint)
