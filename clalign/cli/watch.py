"""Run a search in a worker, show its progress, obey Ctrl-C, and write the outputs from the run file."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from clalign import tracing
from clalign.cli.early_outputs import EarlyOutputs
from clalign.cli.environment import end_loading
from clalign.cli.interruptions import Interruptions
from clalign.cli.options import ProgressMode
from clalign.cli.outputs import Outputs
from clalign.cli.parser import ShownError
from clalign.cli.processes import LAST_KINDS, ReportedError, WorkerProcess
from clalign.cli.profiling import NO_PROFILE, ProfileOptions, profiled
from clalign.cli.progress import PlainLines, Progress, duration, progress_display
from clalign.cli.run_places import RunPlace, add_advice, continuation, has_results, is_complete
from clalign.cli.streams import enough_read
from clalign.common.amounts import rate_text
from clalign.engines.engine import engine_for
from clalign.errors import ClalignError, ExitCode, command_for
from clalign.jobs import Event, WarningContext
from clalign.values.documents import JobRequest, JobResult

if TYPE_CHECKING:
    from clalign.cli.starting import WorkerAhead
    from clalign.engines.engine import Engine


class _Watched(Struct, frozen=True):
    job: JobRequest
    place: RunPlace
    outputs: Outputs
    mode: ProgressMode
    display: Progress
    interruptions: Interruptions
    early_outputs: EarlyOutputs
    worker_ahead: WorkerAhead | None


def watch(
    job: JobRequest,
    place: RunPlace,
    outputs: Outputs,
    mode: ProgressMode,
    profile: ProfileOptions = NO_PROFILE,
    worker_ahead: WorkerAhead | None = None,
) -> int:
    """Run a search or go on with one, and write its outputs; in a worker that was started ahead, if there is one.

    Returns
    -------
    int
        The exit code.
    """
    try:
        with (
            profiled(job, profile, progress_display(mode).message),
            closing(EarlyOutputs(place.path, outputs)) as early_outputs,
        ):
            display, interruptions = progress_display(mode), Interruptions()
            return _watch_and_finish(
                _Watched(job, place, outputs, mode, display, interruptions, early_outputs, worker_ahead)
            )
    finally:
        place.leave()


def _watch_and_finish(watched: _Watched) -> int:
    place, outputs, display = watched.place, watched.outputs, watched.display
    with watched.interruptions.counted():
        try:
            last = _follow(watched)
        except ClalignError as error:
            if isinstance(error, ReportedError) and error.run_exists:
                place.remove_copies()
            else:
                add_advice(error, place, outputs)
            if watched.mode != "json":
                raise
            value = {"message": error.message, "hint": error.hint, "exit_code": int(error.exit_code)}
            display.show(Event("failed", {**value, "traceback": getattr(error, "traceback", None)}))
            raise ShownError(error.exit_code) from error
        except BaseException:
            if has_results(place.path):
                display.message(continuation(place, outputs))
            else:
                place.discard()
            raise
        finally:
            display.close()
        if last is None:
            advice = continuation(place, outputs)
            display.message(f"Stopped at once. {advice}".strip())
            if not advice:
                place.discard()
            return watched.interruptions.exit_code
    return _finish(last, watched)


def _finish(last: Event, watched: _Watched) -> ExitCode:
    """Write the outputs of a search that has ended well, or was stopped."""
    place, outputs, display, early_outputs = watched.place, watched.outputs, watched.display, watched.early_outputs
    stopped = watched.interruptions.exit_code
    is_partial = last.kind == "cancelled"
    if is_partial and not has_results(place.path):
        display.message("Stopped before anything was searched.")
        place.discard()
        return stopped
    engine = engine_at(place.path)
    if is_partial and (is_complete(place.path) or not engine.writes_partial_results):
        display.message(f"Stopped. {continuation(place, outputs)}")
        return stopped
    try:
        with tracing.span("write the outputs", "writing"):
            early_outputs.end()
            write_outputs(place.path, outputs, is_partial, display, early_outputs)
    except BaseException:
        display.message(f"The results are safe in {place.path}. Write them with: {command_for('export', place.path)}")
        raise
    early_outputs.close()
    if early_outputs.has_looked and place.scratch is None:
        seal(place.path)
    if is_partial:
        display.message(f"Stopped. The results so far are marked as partial. {continuation(place, outputs)}")
        return stopped
    if watched.mode != "quiet":
        show_remarks(place.path, display)
    if isinstance(display, PlainLines):
        display.message(summary(last.value, engine.past_verb))
    place.clear()
    return ExitCode.DONE


def _follow(watched: _Watched) -> Event | None:
    """Show a worker's events and pass on the user's wish to stop; one that has finished is left to its end.

    Returns
    -------
    Event or None
        The last event; None if the user wanted to stop at once.
    """
    job, display, early_outputs = watched.job, watched.display, watched.early_outputs
    last, worker = None, WorkerProcess(job, watched.worker_ahead)
    try:
        with tracing.span("the worker"):
            _load_ahead(job, watched.outputs)
            for found in watched.interruptions.events_of(
                worker, lambda more: display.message(f"Stopping after this batch. {more}")
            ):
                if found is not None:
                    last = with_inputs_named(found, job["run"])
                    if last.kind == "failed":
                        raise ReportedError(last.value)
                    display.show(last)
                    if last.kind == "partial":
                        early_outputs.begin()
    finally:
        if last is not None and last.kind == "finished":
            worker.leave()
        else:
            try:
                early_outputs.close()
            finally:
                worker.end()
    return last if last is not None and last.kind in LAST_KINDS else None


def _load_ahead(job: JobRequest, outputs: Outputs) -> None:
    """Load what is needed in the end, while the worker is at it."""
    with tracing.span("load modules", "start"):
        importlib.import_module("clalign.engines.export")
        engine = engine_for(job["job"])
        if engine is not None:
            parts = engine.parts
            for part in filter(None, (parts.source, parts.tables, parts.remarks)):
                part.get()
        for one, _ in outputs.files:
            one.write.get()
    end_loading()


def with_inputs_named(event: Event, run: str) -> Event:
    """Return a warning or an error that names inputs as the user did, not the copies of them beside the run."""
    from clalign.engines.run_sources import with_given_names

    if event.kind not in ("warning", "failed"):
        return event
    words = {name: with_given_names(Path(run), text) for name, text in event.value.items() if isinstance(text, str)}
    return Event(event.kind, {**event.value, **words})


def watch_job(
    job: JobRequest,
    mode: ProgressMode,
    stopped: str,
    take: Callable[[Event], None] | None = None,
    interruptions: Interruptions | None = None,
    worker_ahead: WorkerAhead | None = None,
) -> JobResult:
    """Run a job that makes no run file; show its progress, obey Ctrl-C, and return its result.

    Parameters
    ----------
    job : dict
    mode : str
        How to show progress.
    stopped : str
        What to say if the user stops it.
    take : callable
        Given each of its ``partial`` events; it may write to the terminal.
    interruptions : Interruptions, optional
        Counts the user's wishes to stop, for one who needs to know of them.
    worker_ahead : WorkerAhead, optional
        A worker that was started already.

    Raises
    ------
    ClalignError
        If it failed.
    ShownError
        If the user stopped it.
    """
    display, interruptions, last = progress_display(mode), interruptions or Interruptions(), None
    with interruptions.counted(), WorkerProcess(job, worker_ahead) as worker:
        try:
            for event in interruptions.events_of(worker, lambda more: display.message(f"Stopping. {more}")):
                if event is not None:
                    last = event = with_inputs_named(event, job["run"]) if "run" in job else event
                    display.show(event)
                if take is not None and event is not None and event.kind == "partial":
                    display.close()
                    take(event)
        finally:
            display.close()
    if last is not None and last.kind == "failed":
        raise ReportedError(last.value)
    if last is None or last.kind != "finished":
        display.message(stopped)
        raise ShownError(interruptions.exit_code)
    return last.value


def write_outputs(
    run_path: Path, outputs: Outputs, is_partial: bool, display: Progress, early_outputs: EarlyOutputs
) -> None:
    """Write every output from the run file, but for what was written early."""
    from clalign.engines.export import export
    from clalign.engines.export_source import KeptHits

    kept = KeptHits()
    context = WarningContext(lambda text: display.show(Event("warning", {"text": text})))  # -q shows none
    for one, path in outputs.files:
        if is_partial and not one.has_remarks:
            named = "Nothing was written to standard output" if path == "-" else f"{path} was not written"
            display.message(f"{named}, because the search is not complete and this format cannot be marked as partial.")
            continue
        with enough_read():  # the other outputs are wanted all the same
            how = {**outputs.how, "significant": bool(one.aligns)}
            export(run_path, one.name, path, context=context, begun=early_outputs.begun(one.name), kept=kept, **how)


def seal(path: Path) -> None:
    """Bring everything of a run into its one file: who has looked at it may have hindered the worker."""
    from clalign.runs.run_file import open_run

    with suppress(ClalignError), open_run(path, writable=True) as run:
        run.seal()


def engine_at(path: Path) -> Engine:
    """Return the engine of a run file."""
    from clalign.engines.engine import engine_of
    from clalign.runs.run_file import open_run

    with open_run(path) as run:
        return engine_of(run)


def show_remarks(path: Path, display: Progress) -> None:
    """Say what tables have no place for, such as that some lists are not whole."""
    from clalign.runs.run_file import open_run

    with open_run(path) as run:
        text = engine_at(path).remarks(run)
    if text:
        display.message(text)


def summary(value: JobResult, past_verb: str = "Searched") -> str:
    """Return the sentence that a finished run ends with."""
    if value.get("was_complete"):
        return "The run was complete already: nothing was searched, its results were written again."
    if n_parts := value.get("n_parts"):
        return f"Merged {n_parts:,} parts: {value['n_sequences']:,} sequences searched, {value['n_hits']:,} hits."
    n = f"{value['n_sequences']:,}"
    what = "sequence" if value["n_sequences"] == 1 else "sequences"
    text = f"{past_verb} {n} {what} in {duration(value['seconds'])} on {value['device']} ({rate_text(value['gcups'])})."
    for n_bits in (16, 32):
        if count := value.get(f"n_in_{n_bits}_bits"):
            text += f" Recomputed in {n_bits} bits: {count:,}."
    return text
