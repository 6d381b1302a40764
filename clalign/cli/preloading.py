"""What a worker loads before it knows its job, and how long it waits for the next one."""

from __future__ import annotations

import importlib
import re
import threading
import time
from pathlib import Path

from clalign import tracing
from clalign.cli.environment import leave_threads_out
from clalign.compute.opencl.choice import Devices
from clalign.values.devices import needs_drivers

IDLE_SECONDS = 300.0
"""How long a worker waits for its next job (s)."""

MIN_SHARE_FREE = 0.1
"""Share of the machine's memory that must be free for a worker to stay."""

MAX_SHARE_KEPT = 0.1
"""Share of the machine's memory that an idle worker may hold."""


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
            return True  # the system has no such limit
        return free > MIN_SHARE_FREE * whole and held < MAX_SHARE_KEPT * whole


def _kibibytes(path: str, name: str) -> int:
    """Return an entry of a file of Linux's; 0 if there is none."""
    try:
        found = re.search(rf"^{name}:\s*(\d+)\s", Path(path).read_text("utf-8"), re.MULTILINE)
    except (OSError, ValueError):
        return 0
    return int(found[1]) if found else 0


class Preloading:
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
