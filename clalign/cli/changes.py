"""What the commands that change alignments have in common: ``clalign add`` and ``clalign realign``."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os

from clalign.cli.inputs import in_alignments, in_files, input_path, is_run, written_to
from clalign.cli.options import add_device_option, add_fields, add_progress_options, device_of, progress_mode
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.engines.engine import engine_of_command
from clalign.errors import OptionError
from clalign.formats.row_forms import FORMS, form_of
from clalign.values.documents import JobRequest

ENGINE = engine_of_command("align")
"""The engine that changes finished alignments."""

ALIGNMENT_HELP = "the alignment in any format, also compressed, or a run of one; - is standard input"


def add_change_options(parser: CommandParser) -> None:
    """Add the flags that both commands have."""
    group = parser.add_argument_group("Output")
    group.add_argument(
        "-o",
        dest="output",
        metavar="OUT",
        default="-",
        help="write the alignment to OUT, which may be ALIGNMENT itself [standard output]",
    )
    group.add_argument(
        "--format",
        choices=tuple(FORMS),
        metavar="|".join(FORMS),
        help="format to write [by the ending of OUT, else fasta]",
    )
    add_fields(parser, ENGINE.changes.choice.get())
    add_device_option(parser)
    add_progress_options(parser)


def run_change(arguments: argparse.Namespace, job: JobRequest, files: dict[str, str]) -> int:
    """Let a worker change an alignment, and say what it has become.

    Parameters
    ----------
    arguments : argparse.Namespace
    job : dict
        Name and parameters of the job.
    files : dict
        Paths of its inputs, by their names in the job.
    """
    from clalign.cli.watch import watch_job

    form = arguments.format or form_of(arguments.output) or "fasta"
    made = ENGINE.changes.choice.get()
    names = [field.name for field in dataclasses.fields(made)]
    choice = made(**{name: value for name, value in vars(arguments).items() if name in names})
    if list(files.values()).count("-") > 1:
        raise OptionError("Only one of the two files can be standard input (-).", "Give the other as a file.")
    paths, output = [input_path(path) for path in files.values()], arguments.output
    check_places((output,), paths[1:])
    if paths[0] != "-" and os.path.isfile(output) and os.path.samefile(output, paths[0]) and is_run(output):
        raise OptionError(f"{output} is a run.", "Choose another file for the alignment.")
    with contextlib.ExitStack() as stack:
        given = stack.enter_context(in_files(*paths[1:]))
        given = [*stack.enter_context(in_alignments(paths[0])), *given]
        written = stack.enter_context(written_to(output))
        request = {**job, **dict(zip(files, given, strict=True)), **dataclasses.asdict(choice)}
        request |= {"of": ENGINE.job, "output": str(written), "form": form, "device": device_of(arguments)}
        value = watch_job(request, progress_mode(arguments), "Stopped. Nothing was written.")
    if output != "-":
        before = f"before: {value['n_rows']:,} in {value['width']:,}"
        show(f"Wrote {value['n_sequences']:,} sequences in {value['n_columns']:,} columns to {output} ({before}).")
    return 0
