"""``clalign verify``: recompute results of a run and compare."""

from __future__ import annotations

import argparse

from clalign.cli.options import add_locate_option, add_progress_options, locate_inputs, progress_mode
from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.common.amounts import counted
from clalign.errors import ExitCode
from clalign.values.typed_numbers import count

DESCRIPTION = (
    "Recompute hits of a run, and as many sequences that are not hits, on the reference, from the"
    " sequence file to the reported line, and compare all numbers and the counts of the run. The exit code is 8 if"
    " any differs, or if there was nothing to check. Ctrl-C ends it, and shows what was checked so far."
)

EXAMPLES = (
    "clalign verify search.clalign",
    "clalign verify --sample 500 --device cpu search.clalign",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    add_locate_option(parser)
    group = parser.add_argument_group("Checking")
    group.add_argument(
        "--sample",
        type=count,
        metavar="N",
        help="number of hits, and of other sequences, to check, however long it takes"
        " [50, or fewer for long profiles and sequences]",
    )
    group.add_argument("--device", metavar="D", default="reference", help="device to compute them on [reference]")
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Verify, and show the result."""
    from pathlib import Path

    from clalign.cli.interruptions import Interruptions
    from clalign.cli.watch import watch_job
    from clalign.runs.run_file import open_run

    with open_run(Path(arguments.run_file)):
        pass  # refuses a wrong file before a worker starts
    locate_inputs(arguments.run_file, arguments.locate)
    run = {"run": arguments.run_file, "hits": None, "sample": arguments.sample, "device": arguments.device}
    job = {"job": "verify", **run}
    interruptions = Interruptions()
    value = watch_job(job, progress_mode(arguments), "Stopped. Nothing was kept.", interruptions=interruptions)
    for detail in value["details"]:
        show(detail)
    checked, differing = value["checked"], value["differing"]
    so_far = "" if value["complete"] else " The others were not checked because you stopped it."
    what = f"{counted(value['hits'], 'hit')} and {counted(value['others'], 'other sequence')}"
    if value["things"]:
        what = f"{value['others']:,} {value['things'][value['others'] != 1]}"
    if differing:
        show(f"Checked {what}: {counted(differing, 'difference')}. Please report this.{so_far}")
        return ExitCode.DIFFERENT
    if not checked:
        show("Nothing was checked, so nothing is verified: the run has no results.")
        return ExitCode.DIFFERENT
    show(f"Checked {what}: all equal.{so_far}")
    return ExitCode.DONE if value["complete"] else interruptions.exit_code
