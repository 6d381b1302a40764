"""Computing parts of a run again for a verification: in this process, or on all cores in several."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from msgspec import Struct

from clalign.compute.opening import open_session
from clalign.compute.sessions import Session, no_check
from clalign.engines.verification import CELLS_PER_SECOND, Findings, ProgressReporter
from clalign.errors import WorkerLost
from clalign.execution.failures import Failure
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import RunFile, open_run
from clalign.system.bounds import n_cores
from clalign.system.processes import ProcessNotStarted
from clalign.values.devices import REFERENCE

SECONDS_PER_PROCESS = 2.0
"""A process is started for each so many seconds of work at most: to start one takes about a second."""

POLL_SECONDS = 0.1
"""Interval at which it is looked whether the user stops while processes compute (s)."""

Count = Callable[[float], None]
"""Counts work that was done, for the progress."""

Check = Callable[[Any, Session, Findings, Count], None]
"""Computes one piece again on a session, adds what it finds, and counts the work that is done."""


class Pieces(Struct, frozen=True):
    """What a verification computes again.

    Attributes
    ----------
    pieces : sequence
        Plain data, each of which `check` understands; how they are divided changes no result.
    work : sequence of float
        What each counts for the progress.
    cells : float
        Of all of them.
    check : callable
        Checks one in this process.
    prepare : callable
        Returns the same in another process, which has opened the run; a function of a module, or a partial of one.
    """

    pieces: Sequence[object]
    work: Sequence[float]
    cells: float
    check: Check
    prepare: Callable[[RunFile, JobContext], Check]


def recompute(
    run: RunFile, engine: str, job: Pieces, session: Session, context: JobContext, unit: str, found: Findings
) -> None:
    """Check all pieces, and add what is found in their order; the reference uses all cores where that saves time.

    Parameters
    ----------
    run : RunFile
        All that it holds is committed.
    engine : str
        A key of `CELLS_PER_SECOND`.
    job : Pieces
    session : Session
    context : JobContext
        Receives progress, first the seconds that are expected; stops the work.
    unit : str
        What `Pieces.work` counts.
    found : Findings
        Holds what was checked in time if the user stops it.

    Raises
    ------
    WorkerLost
        If a process ended unexpectedly.
    ProcessNotStarted
    """
    seconds, n = job.cells / CELLS_PER_SECOND[engine], 1
    total = float(sum(job.work))
    if session.device.kind == "reference":
        n = max(1, min(n_cores(), len(job.pieces), int(seconds / SECONDS_PER_PROCESS)))
        context.progress("verify", 0, total, unit, seconds=seconds / n)
    count = ProgressReporter(total, context, unit)
    if n == 1:
        for piece in job.pieces:
            context.check()
            job.check(piece, session, found, count)
        return
    with ExitStack() as stack:
        processes = [stack.enter_context(closing(_Process(run.path, job))) for _ in range(n)]
        for one, work in zip(_in_order(processes, job.pieces, context), job.work, strict=True):
            found.add(one)
            count(work)


class _Process:
    """A process that checks one piece after the other; killed when it is closed."""

    def __init__(self, path: Path, job: Pieces) -> None:
        spawning = get_context("spawn")
        self.answers, given = spawning.Pipe()
        with given:
            self._process = spawning.Process(target=_serve, args=(given, path, job.prepare), daemon=True)
            try:
                self._process.start()
            except OSError as error:
                self.answers.close()
                raise ProcessNotStarted("a process that checks results", error) from error

    def ask(self, piece: object) -> None:
        """Give it a piece; one that has ended is noticed at `answer`."""
        with suppress(OSError):
            self.answers.send(piece)

    def answer(self) -> Findings:
        """Return its result of the oldest piece that was not answered."""
        try:
            found: Findings | Failure = self.answers.recv()
        except (EOFError, OSError):
            raise WorkerLost("A process that checked results stopped unexpectedly.", "Try again.") from None
        if isinstance(found, Failure):
            raise found.error("In a process that checks results")
        return found

    def close(self) -> None:
        """End it, whatever it does: it only reads."""
        self._process.kill()
        self._process.join()
        self.answers.close()


def _in_order(processes: list[_Process], pieces: Sequence[object], context: JobContext) -> Iterator[Findings]:
    """Yield the result of each piece, in their order, while each process computes the next that nobody has."""
    waiting, done, given = deque(enumerate(pieces)), dict[int, Findings](), dict[Any, tuple[int, _Process]]()

    def give(process: _Process) -> None:
        if waiting:
            number, piece = waiting.popleft()
            given[process.answers] = number, process
            process.ask(piece)

    for process in processes:
        give(process)
    for number in range(len(pieces)):
        while number not in done:
            context.check()
            for ready in wait(list(given), POLL_SECONDS):
                finished, process = given.pop(ready)
                done[finished] = process.answer()
                give(process)
        yield done.pop(number)


def _serve(given: Connection, path: Path, prepare: Callable[[RunFile, JobContext], Check]) -> None:
    """Check pieces until whoever gives them has gone."""
    with given, suppress(BrokenPipeError):  # nobody listens any more
        try:
            with open_run(path) as run, open_session(REFERENCE, no_check) as session:
                check = prepare(run, QuietContext())
                for piece in _received(given):
                    found = Findings()
                    check(piece, session, found, _count_nothing)
                    given.send(found)
        except Exception as error:
            given.send(Failure.of(error))


def _received(given: Connection) -> Iterator[object]:
    with suppress(EOFError, ConnectionError):
        while True:
            yield given.recv()


def _count_nothing(work: float) -> None:
    """Count nothing: whoever has given a piece counts it."""
