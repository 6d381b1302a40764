"""A worker between two jobs: what it loads before it knows the next one, what it keeps, and how long it stays.

The window's worker stays after a job that was finished, with its modules, its drivers, the contexts of the devices
that the job computed on and the programs that were built in them, so that the next run begins at once. It ends when a
job was not finished, since whatever has failed may have harmed it; when it was idle for long or memory is short; and
with the window.
"""

from __future__ import annotations

import gc
import importlib
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

from clalign import tracing
from clalign.cli.environment import end_loading, leave_threads_out
from clalign.cli.worker_commands import Orders
from clalign.compute.opencl.choice import Devices
from clalign.errors import ExitCode
from clalign.jobs import Job
from clalign.values.devices import needs_drivers
from clalign.values.documents import JobRequest

IDLE_SECONDS = 300.0
"""How long a worker waits for its next job (s)."""

MIN_SHARE_FREE = 0.1
"""Share of the machine's memory that must be free for a worker to stay."""

MAX_SHARE_KEPT = 0.1
"""Share of the machine's memory that an idle worker may hold."""

Perform = Callable[[JobRequest, Job, int | None], int]


def serve(orders: Orders, ahead: Ahead, perform: Perform, stays: bool) -> int | None:
    """Do one job, or all that come as long as they are finished; return the exit code, None if no job came.

    Parameters
    ----------
    orders : Orders
    ahead : Ahead
    perform : callable
        Does a job, and tells of its end; is told when it came unless that was with the process (see `tracing.now`).
    stays : bool
        Whether it waits for another job after the first.
    """
    code, idle = None, Idle()
    if stays:
        leave_threads_out()
    while (order := orders.next(idle.may_last if code is not None else lambda: True)) is not None:
        request, job = order
        if job is None:
            ahead.load(request["prepare"], request.get("device", ""))
            idle = Idle()
            continue
        came = None if code is None else tracing.now()
        ahead.join()  # modules that load each other must not be loaded by two threads
        end_loading()
        code = perform(request, job, came)
        ahead.devices.end_builders()
        if not stays or code != ExitCode.DONE or job.is_cancelled:
            break
        del request, job, order
        ahead.devices.rest()
        gc.collect()
        idle = Idle()
    return code


class Idle:
    """A worker's waiting, from now on."""

    def __init__(self) -> None:
        self._since = time.monotonic()

    def may_last(self) -> bool:
        """Return whether the worker may go on waiting."""
        if time.monotonic() - self._since > IDLE_SECONDS:
            return False
        whole, free = (_kibibytes("/proc/meminfo", name) for name in ("MemTotal", "MemAvailable"))
        held = _kibibytes("/proc/self/status", "RssAnon")
        if not whole:
            return True  # the system does not tell
        return free > MIN_SHARE_FREE * whole and held < MAX_SHARE_KEPT * whole


def _kibibytes(path: str, name: str) -> int:
    """Return an entry of a file of Linux's; 0 if there is none."""
    try:
        found = re.search(rf"^{name}:\s*(\d+)\s", Path(path).read_text("utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return 0
    return int(found[1]) if found else 0


class Ahead:
    """What is loaded before it is known what it will be needed for.

    Attributes
    ----------
    devices : Devices
        Sessions leave their devices open here, since a driver takes long to close one.
    """

    def __init__(self) -> None:
        self.devices = Devices()
        self._loading: threading.Thread | None = None

    def load(self, engine: str, device: str) -> None:
        """Look for devices and load what a run of an engine needs, in the background.

        Parameters
        ----------
        engine : str
        device : str
            The user's words for the device, of which a context is made; the reference leaves all drivers alone.
        """
        self.join()
        if self._loading is None:
            leave_threads_out()

        def load() -> None:
            from clalign.engines.engine import engine_named

            with tracing.span("load numpy", "start"):  # the one of all these whose modules import each other in circles
                importlib.import_module("numpy")
            if needs_drivers(device):
                self.devices.look_ahead(device)
            with tracing.span("load modules", "start"):
                importlib.import_module("clalign.execution.job")
                engine_named(engine).parts.load.get()

        self._loading = threading.Thread(target=load, name="loads modules", daemon=True)
        self._loading.start()

    def join(self) -> None:
        """Wait until everything is loaded."""
        if self._loading is not None:
            self._loading.join()

    def let_drivers_settle(self) -> None:
        """Wait until no driver is at work: some crash in the end of a process."""
        if self._loading is not None:
            self._loading.join()
            self.devices.settle()
