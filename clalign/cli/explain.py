"""``clalign explain``: why a sequence was found, or missed."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clalign.cli.inputs import in_files, there
from clalign.cli.options import (
    add_device_option,
    add_locate_option,
    add_progress_options,
    add_spec_options,
    locate_inputs,
    progress_mode,
    spec_of,
)
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import show
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import OptionError
from clalign.values.evalues import digits_apart

COMMAND = "clalign explain"

EXAMPLES = (
    "clalign explain globins.hmm proteins.fasta HBB_HUMAN",
    "clalign explain --profile Pkinase --F3 1e-3 families.hmm proteins.fasta AKT1_HUMAN",
    "clalign explain --json globins.hmm proteins.fasta HBB_HUMAN",
    "clalign explain --query MYG_HUMAN search.clalign HBB_HUMAN   # a run, also one of sw",
)

WIDTH = 100

NAMES_SHOWN = 5


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "explain",
        examples=EXAMPLES,
        description="Send one sequence through every step of a search, also those it would not have come to, and show"
        " its score and what was needed in each. Takes the options of hmmsearch; or a run, and the name of a sequence."
        " For a run of sw it shows what each column adds to the score, and how bits and E-value follow.",
    )
    parser.add_argument(
        "profiles", metavar="HMMFILE|RUN", help="profiles (HMMER2 or HMMER3 text, or .h3m), or a run file"
    )
    parser.add_argument("targets", metavar="SEQDB", nargs="?", help="sequences, also compressed; not with a run")
    parser.add_argument("name", metavar="NAME", help="of the sequence: the first word of its header")
    group = parser.add_argument_group("Output")
    group.add_argument("--json", action="store_true", help="print the steps as JSON")
    group = parser.add_argument_group("Profile")
    group.add_argument(
        "--profile", "--query", metavar="P", help="name, accession or number of the profile, or query [the only one]"
    )
    add_locate_option(parser)
    add_device_option(parser)
    add_spec_options(parser, "search")
    add_progress_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Explain, and show the steps."""
    from clalign.cli.progress import progress_display
    from clalign.cli.watch import watch_job

    display = progress_display(progress_mode(arguments))
    if arguments.targets is None:
        value = watch_job(_job_of_run(arguments), display, "Stopped.")
    else:
        if arguments.locate:
            raise UsageError(COMMAND, "--locate is for runs; files are named where they lie")
        spec_of(arguments, arguments.profiles, arguments.targets)  # of which one may be standard input
        with in_files(there(arguments.profiles), there(arguments.targets)) as (profiles, targets):
            value = watch_job(_job_of_files(arguments, profiles, targets), display, "Stopped.")
    show(json.dumps(value, indent=1) if arguments.json else "\n".join(_lines(value)))
    return 0


def _job_of_files(arguments: argparse.Namespace, profiles: str, targets: str) -> dict[str, Any]:
    from clalign.formats.profiles import load_profiles

    spec = spec_of(arguments, profiles, targets)
    names = [(hmm.name, hmm.accession) for hmm in load_profiles(profiles)]
    number = number_of(arguments.profiles, names, arguments.profile, "profile")
    return {"job": "explain", "spec": spec.to_dict(), "profile": number, "name": arguments.name}


def _job_of_run(arguments: argparse.Namespace) -> dict[str, Any]:
    from clalign.runs.run_file import open_run

    options = [field.name for field in dataclasses.fields(SearchSpec) if "flag" in field.metadata]
    if any(name in vars(arguments) for name in options):
        raise UsageError(COMMAND, "a run keeps the options of its search; only files can be given others")
    path = Path(arguments.profiles)
    locate_inputs(str(path), arguments.locate)
    with open_run(path) as found:
        what = "query" if found.fact("direction") == "pairwise" else "profile"
        names = [(card["name"], card["accession"]) for card in found.profiles()]
    number = number_of(arguments.profiles, names, arguments.profile, what)
    return {
        "job": "explain", "run": str(path), "profile": number, "name": arguments.name, "device": arguments.device
    }  # fmt: skip


def number_of(path: str, names: list[tuple[str, str]], wanted: str | None, what: str) -> int:
    """Return the place of the profile or query that was asked for, from 0; a part of ``sp|P0A6A8|ACP_ECOLI`` will do.

    Raises
    ------
    OptionError
        If there is none, or it is not said which.
    """
    if wanted is None and len(names) == 1:
        return 0
    if wanted is None:
        plural = "queries" if what == "query" else "profiles"
        some = ", ".join(name for name, _ in names[:NAMES_SHOWN]) + (", ..." if len(names) > NAMES_SHOWN else "")
        hint = f"Choose one with --{what}, by name or number: {some}."
        raise OptionError(f"{path} holds {len(names)} {plural}.", hint)
    for number, known in enumerate(names):
        if wanted in known:
            return number
    short = [number for number, (name, _) in enumerate(names) if wanted in name.split("|")]
    if len(short) == 1:
        return short[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    begins = f"The first one is {names[0][0]}." if names else "It has no results."
    raise OptionError(f"{path} holds no {what} {wanted}.", begins)


def _lines(value: dict[str, Any]) -> Iterable[str]:
    from clalign.engines.pairwise import report_text as pairwise_text

    return pairwise_text.explanation_lines(value) if "columns" in value else explanation_lines(value)


def explanation_lines(value: dict[str, Any]) -> list[str]:
    """Return the steps as a table, what is to be said of each, and the verdict."""
    length = "" if value["length"] is None else f" ({value['length']} residues)"
    lines = [f"Profile:  {value['profile']}", f"Sequence: {value['target']}{length}", ""]
    lines.append(f"{'Step':<18s} {'Score':>9s} {'Needed':>9s} {'P-value':>9s} {'Limit':>9s}  Result")
    lines += (_step_line(step) for step in value["steps"])
    lines.append("")
    for step in value["steps"]:
        lines += textwrap.wrap(
            step["text"], WIDTH, initial_indent=f"{step['label'] + ':':<19s}", subsequent_indent=" " * 19
        )
    return [*lines, "", *textwrap.wrap(value["verdict"], WIDTH)]


def _step_line(step: dict[str, Any]) -> str:
    results = {True: "passed", False: "not passed", None: ""}
    result = results[step["passed"]] + ("" if step["ran"] else " (not part of the search)")
    score, needed, value = step["score"], step["threshold"], step["pvalue"]
    form = ".1f" if score is None else f".{digits_apart(score, needed)}f"
    overflow = "inf" if step["passed"] else "-inf"
    numbers = (
        overflow if score is None and value is not None else _shown(score, form), _shown(needed, form),
        "<1e-300" if value == 0.0 else _shown(value, ".2g"), _shown(step["limit"], ".2g"),
    )  # fmt: skip
    return f"{step['label']:<18s} {' '.join(f'{number:>9s}' for number in numbers)}  {result}".rstrip()


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
