"""``clalign anneal``: another gap factor for the sequences of a finished run."""

from __future__ import annotations

import argparse
from pathlib import Path

from clalign.cli.options import add_device_option, add_progress_options, progress_mode
from clalign.cli.parser import CommandParser
from clalign.cli.run_outputs import add_run_outputs, outputs_of_its_engine, outputs_of_run
from clalign.engines.engine import engines

COMMAND = "clalign anneal"

CHANGED = [engine for engine in engines() if engine.parts.begin_again is not None]
"""The engines whose finished runs can be aligned again with another gap factor."""

DESCRIPTION = (
    "Align the sequences of a finished run with another gap factor, from the probabilities stored in"
    " it: no pair is compared again. The result is a new run, the same as if it had been aligned this way from the"
    " start. If no output is named, the alignment goes to standard output."
)

EXAMPLES = (
    "clalign anneal --gapfactor 0.5 --run wider.clalign family.clalign > wider.afa",
    "clalign anneal --maxsn --run widest.clalign --stockholm widest.sto family.clalign",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("run_file", metavar="RUN", help="the run of an alignment (.clalign)")
    group = parser.add_argument_group("Alignment")
    worth = group.add_mutually_exclusive_group(required=True)
    worth.add_argument(
        "--gapfactor",
        type=float,
        metavar="X",
        help="how certain aligned residues must be: lower for more sensitivity, higher for more specificity",
    )
    worth.add_argument("--maxsn", action="store_true", help="align all that may be homologous (as --gapfactor 0)")
    group.add_argument("--run", dest="new_run", metavar="FILE", required=True, help="the new run (.clalign)")
    add_run_outputs(parser, CHANGED)
    add_device_option(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Merge columns again, and write the outputs."""
    from clalign.cli.run_places import RunPlace
    from clalign.cli.watch import watch
    from clalign.engines.engine import engine_of
    from clalign.runs.run_file import open_run

    outputs, path, new = outputs_of_run(arguments, COMMAND, CHANGED), Path(arguments.run_file), Path(arguments.new_run)
    with open_run(path) as found:
        engine = engine_of(found)
    outputs = outputs_of_its_engine(str(path), outputs, COMMAND)
    outputs.check(run=str(new), of=str(path))
    engine.begin_again(path, new, 0.0 if arguments.maxsn else arguments.gapfactor)
    job = {"job": "resume", "run": str(new), "device": arguments.device}
    return watch(job, RunPlace(new), outputs, progress_mode(arguments))
