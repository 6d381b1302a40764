"""``--profile-run`` and ``-v``: a trace of a run from both of its processes, and one line that says where time went."""

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
"""What the processes are called in a trace."""


class ProfileWish(Struct, frozen=True):
    """What the user wants to know of the time of a run.

    Attributes
    ----------
    path : str or None
        Where the trace goes.
    is_verbose : bool
        Whether a line says where the time went.
    """

    path: str | None = None
    is_verbose: bool = False


NO_PROFILE = ProfileWish()


def add_profile_options(parser: CommandParser) -> None:
    """Add ``--profile-run`` and ``-v``."""
    group = parser.add_argument_group("Timing")
    group.add_argument(
        "--profile-run",
        metavar="F",
        help="write a trace of the run to F (JSON), for ui.perfetto.dev or chrome://tracing: threads, queues and"
        " kernels on one time line",
    )
    group.add_argument("-v", dest="verbose", action="store_true", help="say in the end where the time went")


def profile_wish(arguments: argparse.Namespace) -> ProfileWish:
    """Return what the flags ask for."""
    return ProfileWish(arguments.profile_run, arguments.verbose)


@contextmanager
def profiled(job: JobRequest, wish: ProfileWish, say: Callable[[str], None]) -> Iterator[None]:
    """Record this process and the worker of a job, as far as that is wished for; tell of it when the block ends.

    Parameters
    ----------
    job : dict
        What the worker is given; it gets the place of the worker's own trace.
    wish : ProfileWish
    say : callable
        Told the line, and what keeps the trace from being written.
    """
    if wish == NO_PROFILE:
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
            _tell(recording, part, wish, say)


def _tell(recording: tracing.Recording, part: Path, wish: ProfileWish, say: Callable[[str], None]) -> None:
    from clalign.formats.writers import whole_file
    from clalign.tracing.files import read_trace, spans_of, trace_of, write_trace
    from clalign.tracing.shares import sentence, shares

    try:
        document: Document = trace_of(recording, read_trace(part) if part.exists() else None)
        if wish.path is not None:
            with whole_file(wish.path) as stream:
                write_trace(document, stream)
    except ClalignError as error:
        say(f"The trace was not written. {error.message} {error.hint}")
        return
    left_out = document["otherData"]["spans_left_out"]
    if left_out:
        say(f"The run was so long that the trace holds its begin alone: {left_out:,} more spans were not recorded.")
    if wish.is_verbose:
        say(f"Time: {sentence(shares(spans_of(document)))}")


@contextmanager
def new_file(path: str) -> Iterator[TextIO]:
    """Open a file for writing where nothing may be, not even a link.

    Raises
    ------
    OutputError
        If something is there, or it cannot be written; no part of it is left behind then.
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
"""What a worker records before it has a job."""


def record_start() -> None:
    """Record what a worker does until it has its first job, which may ask for it."""
    global _start
    _start = tracing.begin(WORKER)


@contextmanager
def worker_profiled(request: JobRequest, job: Job, came: int | None = None) -> Iterator[None]:
    """Record a worker if its job asks for it (``trace``), and write that when the block ends.

    The entry has the ``path`` of the file, where none may be yet, and where the parent records, too, ``since`` when
    (nanoseconds). A worker that was there before tells when the job `came`.
    """
    global _start
    recording, _start = _start, None
    wish = request.get("trace")
    if wish is None:
        if recording is not None:
            tracing.end()
        yield
        return
    began = tracing.process_began() if came is None else came
    since = wish.get("since", began)
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
            with new_file(wish["path"]) as stream:
                write_trace(trace_of(recording), stream)
            job.partial(trace=wish["path"])
        except ClalignError as error:
            job.warn(f"The trace was not written. {error.message} {error.hint}")
