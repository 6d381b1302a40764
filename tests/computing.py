"""Computing a run in the process of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clalign.engines.engine import engine_with
from clalign.execution.job import Task
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device
from clalign.values.specs import Spec


def compute_search(
    run: RunFile, spec: Spec, pick_device: Callable[[str], Device], context: JobContext
) -> dict[str, Any]:
    """Search, or go on with a search, whatever the engine; return its summary."""
    engine = engine_with(spec.command)
    assert engine is not None
    return engine.compute(Task(run, spec, pick_device, context))
