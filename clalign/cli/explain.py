"""``clalign explain``: why a sequence was found, or missed."""

from __future__ import annotations

import argparse
import json
import textwrap
from pathlib import Path
from typing import Any

from clalign.cli.options import add_device_option, add_progress_options, add_spec_options, progress_mode, spec_of
from clalign.cli.parser import CommandParser
from clalign.errors import InputError, OptionError
from clalign.evalues import digits_apart

EXAMPLES = (
    "clalign explain globins.hmm proteins.fasta HBB_HUMAN",
    "clalign explain --profile Pkinase --F3 1e-3 families.hmm proteins.fasta AKT1_HUMAN",
    "clalign explain --json globins.hmm proteins.fasta HBB_HUMAN",
)

WIDTH = 100


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "explain",
        examples=EXAMPLES,
        description="Send one sequence through every step of a search, also those it would not have come to, and show"
        " its score and what was needed in each. Takes the options of hmmsearch.",
    )
    parser.add_argument("profiles", metavar="HMMFILE", help="profiles (HMMER2 or HMMER3 text)")
    parser.add_argument("targets", metavar="SEQDB", help="sequences, also compressed")
    parser.add_argument("name", metavar="NAME", help="of the sequence: the first word of its header")
    group = parser.add_argument_group("Output")
    group.add_argument("--json", action="store_true", help="print the steps as JSON")
    group = parser.add_argument_group("Profile")
    group.add_argument("--profile", metavar="P", help="name, accession or number of the profile [the only one]")
    add_device_option(parser)
    add_spec_options(parser, "search")
    add_progress_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Explain, and show the steps."""
    from clalign.cli.progress import progress_display
    from clalign.cli.watch import watch_job

    if "-" in (arguments.profiles, arguments.targets):
        raise OptionError("Standard input (-) is not read here.", "Give both as files.")
    for path in (arguments.profiles, arguments.targets):
        if not Path(path).exists():
            raise InputError(path, "the file does not exist.", "Check the name.")
    spec = spec_of(arguments, str(Path(arguments.profiles).absolute()), str(Path(arguments.targets).absolute()))
    job = {
        "job": "explain",
        "spec": spec.to_dict(),
        "profile": profile_number(arguments.profiles, arguments.profile),
        "name": arguments.name,
    }
    value = watch_job(job, progress_display(progress_mode(arguments)), "Stopped.")
    print(json.dumps(value, indent=1) if arguments.json else "\n".join(explanation_lines(value)))
    return 0


def profile_number(path: str, wanted: str | None) -> int:
    """Return the place in its file of the profile that was asked for, from 0."""
    from clalign.formats.profiles import load_profiles

    profiles = load_profiles(path)
    if wanted is None and len(profiles) == 1:
        return 0
    if wanted is None:
        raise OptionError(f"{path} holds {len(profiles)} profiles.", "Choose one with --profile, by name or number.")
    for number, hmm in enumerate(profiles):
        if wanted in (hmm.name, hmm.accession):
            return number
    if wanted.isdecimal() and 1 <= int(wanted) <= len(profiles):
        return int(wanted) - 1
    raise OptionError(f"{path} holds no profile {wanted}.", f"Its profiles begin with {profiles[0].name}.")


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
