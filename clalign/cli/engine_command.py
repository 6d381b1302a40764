"""The sub-commands of engines: a worker computes, and the outputs are written from its run."""

from __future__ import annotations

import argparse
import itertools
from dataclasses import replace
from pathlib import Path

import msgspec

from clalign.cli.dry_run import add_dry_run_option, print_dry_run
from clalign.cli.inputs import in_file, input_path, name_as_given
from clalign.cli.options import (
    add_cluster_option,
    add_device_option,
    add_fields,
    add_progress_options,
    device_of,
    progress_mode,
    spec_of,
)
from clalign.cli.outputs import Outputs, add_outputs, outputs_of
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.profiling import add_profile_options, profile_options
from clalign.engines.engine import Engine
from clalign.errors import OptionError, command_for
from clalign.values.specs import Spec, paths_in, with_each


def add_arguments(parser: CommandParser, engine: Engine, name: str) -> None:
    """Add the arguments of a sub-command of an engine."""
    command = engine.command(name)
    for one in command.inputs:
        several = "+" if engine.spec.takes_many(one.field) else None
        parser.add_argument(one.field, metavar=one.metavar, help=one.help, nargs=several)
    output = parser.add_argument_group("Output")
    add_outputs(output, command.outputs, command.min_width)
    keeping = parser.add_argument_group("Run")
    keeping.add_argument(
        "--run",
        dest="run_file",
        metavar="F",
        help="keep the run in F (.clalign), which the window opens and `clalign resume` continues; a copy of standard"
        " input is kept beside it",
    )
    add_dry_run_option(keeping)
    device = add_device_option(parser)
    add_cluster_option(device)
    command.add_options(add_fields(parser, engine.spec, command))
    add_profile_options(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace, engine: Engine, name: str) -> int:
    """Have a worker compute, and write the outputs; return the exit code.

    The worker was started before by `main` (`WorkerAhead` in `cli/starting.py`), which goes to `watch` in `arguments`.
    """
    from clalign.cli.run_places import run_place
    from clalign.cli.watch import watch

    command, words = engine.command(name), f"clalign {name}"
    outputs = outputs_of(arguments, words, command.outputs)
    outputs.check_shape(words, command.outputs)
    spec = spec_of(arguments, engine, command)
    outputs = msgspec.structs.replace(outputs, files=command.written(outputs.files, arguments, spec.paths))
    inputs = {one.field: with_each(getattr(spec, one.field), input_path) for one in command.inputs}
    more = {field: input_path(path) for field, path in command.files(vars(arguments)).items()}
    check_run(arguments.run_file)
    read = (*itertools.chain(*map(paths_in, inputs.values())), *more.values())
    outputs.check(read, arguments.run_file, arguments.profile_run, profiles_of(spec))
    place = run_place(None if arguments.dry_run else arguments.run_file, device_of(arguments))
    try:
        for files in (more, inputs):  # each a field with one path or several
            kept = {field: with_each(path, lambda path: in_file(path, place)) for field, path in files.items()}
            spec = replace(spec, **kept)
            if files is more:
                command.check(spec)  # before anything is copied
        if (conflict := command.conflict(vars(arguments), spec)) is not None:
            raise UsageError(words, conflict)
        refuse_several(words, engine, spec, outputs)
    except BaseException as error:
        name_as_given(error, place)
        place.discard()
        raise
    job = {"job": engine.job, "run": str(place.path), "spec": spec.to_dict(), "temporary": place.scratch is not None}
    if command.keeps_words or not arguments.command.startswith("clalign "):
        job["command"] = arguments.command
    if arguments.dry_run:
        return print_dry_run(job, place, outputs, arguments)
    profile = profile_options(arguments)
    return watch(job, place, outputs, progress_mode(arguments), profile, arguments.worker_ahead)


def profiles_of(spec: Spec) -> str:
    """Return the path of the profiles of a search, beside which clans may lie; an empty text if there is none."""
    path = str(spec.to_dict().get("profiles", ""))
    return "" if path == "-" else path


def refuse_several(words: str, engine: Engine, spec: Spec, outputs: Outputs, run: str | None = None) -> None:
    """Refuse an output of the hits of one query where there are several queries, before anything is searched.

    Parameters
    ----------
    words : str
        The command.
    engine : Engine
    spec : Spec
    outputs : Outputs
    run : str, optional
        Path of the run that is continued; None for a new one, which may not be kept.

    Raises
    ------
    UsageError
        If there is such an output.
    """
    command = engine.command(spec.command)
    alone = next((one.flag for one, _ in outputs.files if one.aligns == "one query"), None)
    if alone is None or not command.has_several(spec):
        return
    later = command_for("export", "RUN" if run is None else run, spec.choosing_flag, "NAME", alone, "F")
    way = f"keep the run (--run) and choose one afterwards with `{later}`"
    if run is not None:
        way = f"leave it out, and choose one with `{later}` when the run is complete"
    others = " ".join(f"{one.flag} holds those of all." for one in command.outputs if one.aligns == "all queries")
    what = f"{alone} writes the hits of one {engine.query}, but {command.inputs[0].metavar} holds several"
    raise UsageError(words, f"{what}: {way}. {others}")


def check_run(path: str | None) -> None:
    """Refuse a run file that exists or could not be written."""
    from clalign.formats.writers import check_writable
    from clalign.runs.side_files import check_free

    if path is None:
        return
    if path == "-":
        raise OptionError("A run cannot go to standard output.", "Give --run a file name.")
    if path:
        check_free(Path(path))
    check_writable(path)
