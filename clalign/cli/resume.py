"""``clalign resume``: continue a search that stopped early."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from clalign.cli.dry_run import add_dry_run_option, print_dry_run
from clalign.cli.engine_command import refuse_several
from clalign.cli.options import (
    add_cluster_option,
    add_device_option,
    add_locate_option,
    add_progress_options,
    device_of,
    locate_inputs,
    progress_mode,
)
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.profiling import add_profile_options, profile_options
from clalign.cli.run_outputs import add_run_outputs, outputs_of_its_engine, outputs_of_run
from clalign.errors import InputError

COMMAND = "clalign resume"

if TYPE_CHECKING:
    from clalign.values.documents import JobRequest
    from clalign.values.specs import Spec

DESCRIPTION = (
    "Continue a search from its run file. The results are those of a search that never stopped. If no"
    " output is named, the text goes to standard output."
)

EXAMPLES = (
    "clalign resume search.clalign",
    "clalign resume --device cpu --tsv hits.tsv search.clalign   # on another device",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    rounds = parser.add_argument_group("Rounds")
    words = "search one more round than -N (jackhmmer); of a search that was stopped, those that are left of -N"
    rounds.add_argument("--one-more", action="store_true", help=words)
    for flag, what in (("--take", "with the hits of T"), ("--drop", "without the hits of T")):
        words = f"make its profile {what}, a name or accession, whatever their E-values are; may be repeated"
        rounds.add_argument(flag, metavar="T", action="append", default=[], help=words)
    add_locate_option(parser)
    add_run_outputs(parser)
    add_dry_run_option(parser.add_argument_group("Run"))
    add_cluster_option(add_device_option(parser))
    add_profile_options(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Search what is left, and write the outputs."""
    from clalign.cli.run_places import RunPlace
    from clalign.cli.watch import watch
    from clalign.engines.engine import engine_of, spec_to_continue
    from clalign.formats.scratch import adopt
    from clalign.runs.run_file import open_run

    outputs = outputs_of_run(arguments, COMMAND)
    if arguments.dry_run and arguments.locate:
        raise UsageError(COMMAND, "--locate changes the run, and --dry-run writes nothing: leave one of them out")
    if not arguments.one_more and (arguments.take or arguments.drop):
        raise UsageError(COMMAND, "--take and --drop choose hits for one more round: add --one-more")
    if arguments.dry_run and arguments.one_more:
        raise UsageError(COMMAND, "--one-more changes the run, and --dry-run writes nothing: leave one of them out")
    path = Path(arguments.run_file)
    with open_run(path) as found:
        engine, spec = engine_of(found), spec_to_continue(found, arguments.cluster or arguments.device)
        is_done = found.state == "done"
    outputs = outputs_of_its_engine(str(path), outputs, COMMAND)
    locate_inputs(str(path), arguments.locate)
    if not is_done or arguments.one_more:
        with contextlib.suppress(InputError):  # the worker reports moved files
            refuse_several(COMMAND, engine, spec, outputs, str(path))
    outputs.check(trace=arguments.profile_run, of=str(path))
    device = _device_of(arguments, spec)
    job: JobRequest = {"job": "resume", "run": str(path), "device": device}
    more = list[str]()
    if arguments.one_more:
        job["one_more"] = {"take": arguments.take, "drop": arguments.drop}
        taken = (f"--take={name}" for name in arguments.take)
        more = ["--one-more", *taken, *(f"--drop={name}" for name in arguments.drop)]
    place = RunPlace(path, device=device or "", one_more=more)
    if arguments.dry_run:
        return print_dry_run(job, place, outputs, arguments)
    adopt(path.parent)  # that of a command that has died
    return watch(job, place, outputs, progress_mode(arguments), profile_options(arguments))


def _device_of(arguments: argparse.Namespace, spec: Spec) -> str | None:
    """Return the words for the device, None for those of the run; --cluster alone keeps these for its workers."""
    if arguments.cluster is None:
        return None if arguments.device is None else str(arguments.device)
    if arguments.device is None:
        arguments.device = str(spec.to_dict()["device"])
    return device_of(arguments)
