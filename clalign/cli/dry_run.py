"""``--dry-run`` of the commands of engines: a worker checks everything, and what it would do is shown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clalign.cli.options import progress_mode
from clalign.cli.outputs import Outputs
from clalign.cli.streams import show
from clalign.errors import ExitCode
from clalign.values.documents import JobRequest, JobResult

if TYPE_CHECKING:
    from clalign.cli.run_places import RunPlace

MAX_SHOWN = 16
"""Devices of a cluster that are listed at most."""


def add_dry_run_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--dry-run``."""
    group.add_argument(
        "--dry-run",
        action="store_true",
        help="read and check everything as a run would, then print what would be computed, on which device, how long it"
        " may take, and which memory and files it needs; compute nothing and write no file",
    )


def print_dry_run(job: JobRequest, place: RunPlace, outputs: Outputs, arguments: argparse.Namespace) -> int:
    """Have a worker check a run, and print what it would do; return the exit code."""
    from clalign.cli.inputs import name_as_given
    from clalign.cli.watch import watch_job

    asked, mode = {**job, "dry_run": True}, progress_mode(arguments)
    try:
        found = watch_job(asked, mode, "Stopped. Nothing was written.", worker_ahead=arguments.worker_ahead)
    except BaseException as error:
        name_as_given(error, place)
        raise
    finally:
        place.discard()
    files = [(one.name, "standard output" if path == "-" else path) for one, path in outputs.files]
    more = (("run", arguments.run_file), ("profile", arguments.profile_run))
    files += [(what, path) for what, path in more if path]
    if found.get("was_complete"):
        show("Nothing is left to compute: the run is complete. Without --dry-run its results are written again.")
        return ExitCode.DONE
    show("\n".join(lines_of(found, files)))
    return ExitCode.DONE


def lines_of(found: JobResult, files: list[tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a text about what would be done.

    Parameters
    ----------
    found : dict
        The result of `clalign.execution.dry_run.dry_run`.
    files : list of (str, str)
        Kinds and paths of the files that would be written.
    """
    from clalign.common.amounts import rate_text, size_text

    yield "Nothing was computed (--dry-run). A run would compute:"
    yield f"queries:   {found['queries']}"
    yield f"targets:   {found['n_sequences']:,} sequences of {found['n_residues']:,} residues"
    yield f"cells:     {found['cells']:.3g}"
    if found["done"]:
        yield f"done:      {100 * found['done']:.3g} % of all cells, which are not counted here"
    shown, n_more = found["devices"][:MAX_SHOWN], len(found["devices"]) - MAX_SHOWN
    for device in shown:
        speed = f", {rate_text(device['gcups'])} in its self-test" if device["gcups"] else ""
        yield f"device:    {device['name']} ({device['id']}){speed}"
    if n_more > 0:
        yield f"           and {n_more:,} more"
    yield f"time:      {_time(found)}"
    if found["memory_bytes"]:
        yield f"memory:    about {size_text(found['memory_bytes'])}"
    for device in shown:
        if device["kind"] in ("gpu", "accelerator") or found["are_workers"]:
            yield f"           about {size_text(device['memory_bytes'])} of {device['name']} ({device['id']})"
    if found["disk_bytes"]:
        yield f"disk:      at most about {size_text(found['disk_bytes'])}"
    for number, (what, path) in enumerate(files):
        yield f"{'' if number else 'output:':<11s}{what} to {path}"


def _time(found: JobResult) -> str:
    from clalign.cli.progress import duration

    seconds, building = found["seconds"], found["build_seconds"]
    if seconds is None:
        which = "this device was" if len(found["devices"]) == 1 else "one of these devices was"
        text = f"unknown: {which} never measured (run: clalign selftest)"
    else:
        text = f"about {duration(seconds)}"
    devices = found["devices"]
    n_new, n = sum(device["new"] for device in devices), sum(device["programs"] for device in devices)
    if n_new:
        return f"{text}, and about {duration(building)} to compile {n_new} of {n} programs, once"
    return f"{text}; the programs are compiled" if n else text
