"""``--profile-run`` and ``-v``: a trace of a run from both of its processes, and a line about where the time went."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct

from clalign import tracing
from clalign.cli.parser import CommandParser
from clalign.errors import ClalignError, OutputError
from clalign.values.documents import JobRequest

if TYPE_CHECKING:
    from clalign.jobs import Job
    from clalign.tracing.files import Document

FRONT, WORKER = "clalign", "clalign worker"
"""Names of the processes in a trace."""


class ProfileOptions(Struct, frozen=True):
    """The options about the time of a run.

    Attributes
    ----------
    path : str or None
        Path of the trace.
    is_verbose : bool
        Whether to show where the time went.
    """

    path: str | None = None
    is_verbose: bool = False


NO_PROFILE = ProfileOptions()


def add_profile_options(parser: CommandParser) -> None:
    """Add ``--profile-run`` and ``-v``."""
    group = parser.add_argument_group("Timing")
    group.add_argument(
        "--profile-run",
        metavar="F",
        help="write a trace of the run to F (JSON), for ui.perfetto.dev or chrome://tracing: threads, queues and"
        " kernels on one time line",
    )
    group.add_argument("-v", dest="verbose", action="store_true", help="show at the end where the time went")


def profile_options(arguments: argparse.Namespace) -> ProfileOptions:
    """Return the options that the flags describe."""
    return ProfileOptions(arguments.profile_run, arguments.verbose)


@contextmanager
def profiled(job: JobRequest, options: ProfileOptions, notify: Callable[[str], None]) -> Iterator[None]:
    """Record this process and the worker of a job if the options ask for it; report when the block ends.

    Parameters
    ----------
    job : dict
        The worker's job; it gets the path of the worker's own trace.
    options : ProfileOptions
    notify : callable
        Called with the line about the time, and with why the trace could not be written.
    """
    if options == NO_PROFILE:
        yield
        return
    from clalign.formats.scratch import Scratch

    recording = tracing.begin(FRONT, tracing.process_began())
    tracing.add("start the command", "start", recording.since, tracing.now())
    with Scratch() as folder:
        part = folder / "worker.json"
        job["trace"] = {"path": str(part), "since": recording.since}
        try:
            yield
        finally:
            tracing.add(FRONT, "", recording.since, tracing.now())
            tracing.end()
            _report(recording, part, options, notify)


def _report(recording: tracing.Recording, part: Path, options: ProfileOptions, notify: Callable[[str], None]) -> None:
    from clalign.formats.writers import whole_file
    from clalign.tracing.files import read_trace, spans_of, trace_of, write_trace
    from clalign.tracing.shares import sentence, shares

    try:
        document: Document = trace_of(recording, read_trace(part) if part.exists() else None)
        if options.path is not None:
            with whole_file(options.path) as stream:
                write_trace(document, stream)
    except ClalignError as error:
        notify(f"The trace was not written. {error.message} {error.hint}")
        return
    left_out = document["otherData"]["spans_left_out"]
    if left_out:
        notify(f"The trace holds only the beginning of this long run: {left_out:,} more spans were not recorded.")
    if options.is_verbose:
        notify(f"Time: {sentence(shares(spans_of(document)))}")


@contextmanager
def new_file(path: str) -> Iterator[TextIO]:
    """Open a new file for writing; not even a link may be in its place.

    Raises
    ------
    OutputError
        If the path exists, or the file cannot be written; no part of it is left behind then.
    """
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as stream:
            try:
                yield stream
                stream.flush()
            except BaseException:
                os.unlink(path)
                raise
    except OSError as error:
        raise OutputError(f"{path} could not be written ({error.strerror}).", "Choose another place.") from error


_start: tracing.Recording | None = None
"""The recording of a worker that has no job yet."""


def record_start() -> None:
    """Record this worker until it has its first job, which may ask for a trace."""
    global _start
    _start = tracing.begin(WORKER)


@contextmanager
def worker_profiled(request: JobRequest, job: Job, came: int | None = None) -> Iterator[None]:
    """Record a worker if its job asks for it (``trace``), and write that when the block ends.

    Parameters
    ----------
    request : dict
        Its ``trace`` has the ``path`` of the new file and, if the parent records as well, ``since`` when (ns).
    job : Job
    came : int, optional
        When the job came to a worker that was already running (ns).
    """
    global _start
    recording, _start = _start, None
    trace = request.get("trace")
    if trace is None:
        if recording is not None:
            tracing.end()
        yield
        return
    began = tracing.process_began() if came is None else came
    since = trace.get("since", began)
    if recording is None:
        recording = tracing.begin(WORKER, since)
    recording.since = since
    tracing.add("start the worker", "start", began, tracing.now())
    try:
        yield
    finally:
        tracing.end()
        from clalign.tracing.files import trace_of, write_trace

        try:
            with new_file(trace["path"]) as stream:
                write_trace(trace_of(recording), stream)
            job.partial(trace=trace["path"])
        except ClalignError as error:
            job.warn(f"The trace was not written. {error.message} {error.hint}")
