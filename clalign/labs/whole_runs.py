"""Whole searches and alignments of the engines, as users run them, for the sake of their times and results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import OpenSession
from clalign.engines.engine import engine_of_command
from clalign.execution.job import Task
from clalign.formats.scratch import Scratch
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile, create_run
from clalign.values.documents import JobResult


@contextmanager
def whole_run(
    command: str, context: JobContext, open_it: OpenSession | None = None, **options: object
) -> Iterator[tuple[RunFile, JobResult]]:
    """Do what a sub-command does, and yield the run and its summary; both are gone afterwards.

    Parameters
    ----------
    command : str
    context : JobContext
    open_it : callable, optional
        Opens a device in place of `clalign.compute.opening.open_session`.
    **options
        Fields of the spec of its engine.
    """
    engine = engine_of_command(command)
    spec = engine.spec_of({**engine.command(command).preset, **options})
    with Scratch() as folder:
        run = create_run(folder / "run.clalign", engine=engine.name, is_shared=True, spec=spec.to_dict(), state="new")
        try:
            yield run, engine.compute(Task(run, spec, pick_device, context, open_session=open_it))
        finally:
            run.close()
