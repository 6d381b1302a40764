"""Run a search in a worker, show its progress, obey Ctrl-C, and write the outputs from the run file."""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from clalign.cli.options import Outputs, ProgressMode
from clalign.cli.processes import ReportedError, WorkerProcess
from clalign.cli.progress import Progress, duration, progress_display
from clalign.errors import ClalignError, ExitCode, WorkerLost
from clalign.jobs import Event

SEQUENCES_ONLY = ("fasta",)
"""Outputs that have no place for a remark, so they are not written of a part of a search."""


class Interruptions:
    """Ctrl-C and termination, counted instead of raised.

    Attributes
    ----------
    n : int
        How often the user asked to stop.
    exit_code : ExitCode
        What the program ends with because of it.
    """

    def __init__(self) -> None:
        self.n = 0
        self.exit_code = ExitCode.INTERRUPTED

    def _count(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.n += 1
        if number == signal.SIGTERM:
            self.exit_code = ExitCode.TERMINATED

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count signals while the block runs. Only a main thread can."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._count) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where the run file lies.

    Attributes
    ----------
    path : Path
    scratch : Path or None
        The temporary folder that holds it; None if the user named the file.
    """

    path: Path
    scratch: Path | None

    def clear(self) -> None:
        """Remove a temporary run."""
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)


def run_place(path: str | None) -> RunPlace:
    """Return the place of a run: the user's, or one in a new temporary folder."""
    if path is not None:
        return RunPlace(Path(path), None)
    scratch = Path(tempfile.mkdtemp(prefix="clalign-"))
    return RunPlace(scratch / "search.clalign", scratch)


def watch(job: dict[str, Any], place: RunPlace, outputs: Outputs, mode: ProgressMode) -> int:
    """Run a search or go on with one, and write its outputs.

    Returns
    -------
    int
        The exit code.
    """
    display = progress_display(mode)
    interruptions = Interruptions()
    with interruptions.counted():
        try:
            last = _follow(job, display, interruptions)
        except ClalignError as error:
            raise _told(error, place, display, mode) from error
        finally:
            display.close()
        if last is None:
            print(f"clalign: Stopped at once. {continuation(place.path)}", file=sys.stderr)
            return interruptions.exit_code
    partial = last.kind == "cancelled"
    if partial and not has_results(place.path):
        print("clalign: Stopped before anything was searched.", file=sys.stderr)
        place.clear()
        return interruptions.exit_code
    write_outputs(place, outputs, partial)
    if partial:
        print(
            f"clalign: Stopped. The results so far are marked as partial. {continuation(place.path)}", file=sys.stderr
        )
        return interruptions.exit_code
    if mode != "none" and mode != "json":
        print(summary(last.value), file=sys.stderr)
    place.clear()
    return ExitCode.DONE


def _follow(job: dict[str, Any], display: Progress, interruptions: Interruptions) -> Event | None:
    """Show a worker's events and pass on the user's wish to stop.

    Returns
    -------
    Event or None
        The last event; None if the user wanted to stop at once.
    """
    asked = 0
    with WorkerProcess(job) as worker:
        for event in worker.events():
            if interruptions.n >= 2:
                worker.stop()
                return None
            if interruptions.n > asked:
                asked = interruptions.n
                worker.send("cancel")
                display.close()
                print("clalign: Stopping after this batch. Press Ctrl-C again to stop at once.", file=sys.stderr)
            if event is None:
                continue
            display.show(event)
            if event.kind == "failed":
                raise ReportedError(event.value)
            last = event
    return last


def _told(error: ClalignError, place: RunPlace, display: Progress, mode: ProgressMode) -> ClalignError:
    """Return an error with what became of the results, and how to go on."""
    if has_results(place.path):
        error.hint = f"{error.hint} {continuation(place.path)}".strip()
    elif isinstance(error, WorkerLost):
        error.hint = "Nothing had been stored yet. Try again, or choose another --device."
        place.clear()
    else:
        place.clear()
    if mode == "json" and isinstance(error, WorkerLost):
        value = {"message": error.message, "hint": error.hint, "exit_code": int(error.exit_code), "traceback": None}
        display.show(Event("failed", value))
    return error


def has_results(path: Path) -> bool:
    """Tell whether a run file holds anything that is worth keeping."""
    from clalign.runs import open_run

    try:
        with open_run(path) as run:
            return run.work_done()[0] > 0
    except ClalignError:
        return False


def continuation(path: Path) -> str:
    """Return a sentence that says where the results are and how to go on."""
    from clalign.runs import open_run

    with contextlib.suppress(ClalignError), open_run(path) as run:
        report = run.fact("database", {})
        total = report.get("n_residues", 0) * sum(card["length"] for card in run.profiles())
        done = f" up to {int(100 * run.work_done()[0] / total)} %" if total else ""
        return f"The results{done} are safe in {path}. Continue with: clalign resume {path}"
    return ""


def write_outputs(place: RunPlace, outputs: Outputs, partial: bool) -> None:
    """Write every output from the run file."""
    from clalign.search.export import export

    for what, path in outputs.files:
        if partial and what in SEQUENCES_ONLY:
            print(f"clalign: {path} was not written, because the search is not complete.", file=sys.stderr)
            continue
        export(
            place.path, what, path, significant=what == "stockholm", alignments=outputs.alignments
        )  # fmt: skip


def summary(value: dict[str, Any]) -> str:
    """Return the sentence that a finished search ends with."""
    n = f"{value['n_sequences']:,}".replace(",", " ")
    return (
        f"clalign: Searched {n} sequences in {duration(value['seconds'])} on {value['device']}"
        f" ({value['gcups']:.3g} GCUPS)."
    )
