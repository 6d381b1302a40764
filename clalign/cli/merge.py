"""``clalign merge``: merge the runs of all parts of a search into one."""

from __future__ import annotations

import argparse

from clalign.cli.engine_command import check_run
from clalign.cli.options import add_device_option, add_locate_option, add_progress_options, device_of, progress_mode
from clalign.cli.parser import CommandParser

DESCRIPTION = (
    "Merge the runs of all parts of a search (--shard 1/3, --shard 2/3, ...) into one: the results of"
    " one search of all sequences, with the same E-values. Give each part once. The inputs are read again, for what"
    " a search computes at its end."
)

EXAMPLES = (
    "clalign merge parts/*.clalign -o whole.clalign",
    "clalign export whole.clalign --tblout hits.tbl",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the run files (.clalign) of all parts, in any order")
    parser.add_argument_group("Output").add_argument(
        "-o", dest="output", metavar="F", required=True, help="the new run file (.clalign)"
    )
    add_locate_option(parser)
    add_device_option(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Have a worker merge the runs."""
    from clalign.cli.outputs import Outputs
    from clalign.cli.run_places import run_place
    from clalign.cli.watch import watch

    check_run(arguments.output)
    job = {
        "job": "merge", "runs": arguments.runs, "run": arguments.output, "device": device_of(arguments),
        "locate": arguments.locate,
    }  # fmt: skip
    return watch(job, run_place(arguments.output), Outputs(()), progress_mode(arguments))
