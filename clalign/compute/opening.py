"""Opening a device while the host reads the input, and once more if it fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Generic, TypeVar

from clalign import tracing
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import (
    Building,
    Check,
    ProgramChoice,
    ReferenceSession,
    Session,
    nobody_told,
    nothing_to_check,
)
from clalign.errors import DeviceError, DeviceNotFound, OutOfDeviceMemory
from clalign.jobs import JobContext, building
from clalign.values.devices import Device

PATIENCE_SECONDS = 5.0
"""So long a job that has ended for another reason waits for a driver before it leaves it alone."""

LISTEN_SECONDS = 0.1
"""While it waits for a driver a job asks this often whether it was told to stop."""

log = logging.getLogger(__name__)

Rehearse = Callable[[Rehearsal], None]

Done = TypeVar("Done")
Opened = TypeVar("Opened", bound=AbstractContextManager[Any])

OpenSession = Callable[[Device, Check, Building], Session]
"""Opens a device, as `open_session` does."""


class Opening(Generic[Opened]):
    """A device being opened in a thread; a context manager.

    Parameters
    ----------
    open_it : callable
        Picks the device and opens it; what it raises is raised by `result`.
    """

    def __init__(self, open_it: Callable[[], Opened]) -> None:
        self._open_it = open_it
        self._session: Opened | None = None
        self._opened: Opened | None = None
        self._error: BaseException | None = None
        # A driver that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="opens a device", daemon=True)

    def _run(self) -> None:
        try:
            with tracing.span("open a device", "start"):
                self._session = self._opened = self._open_it()
        except BaseException as error:
            self._error = error

    def result(self, check: Check) -> Opened:
        """Wait for the open session and return it; it belongs to the caller from now on."""
        with tracing.span("wait for the device to be opened", "start"):
            while self._thread.is_alive():
                check()
                self._thread.join(LISTEN_SECONDS)
        if self._error is not None:
            raise self._error
        assert self._session is not None
        session, self._session = self._session, None
        return session

    def opened(self) -> Opened | None:
        """Wait for the open session and return it, though it does not belong to the caller; None if there is none."""
        self._thread.join()
        return self._opened

    def foresee(self: Opening[Session], rehearse: Rehearse, but_for: Container[str] = ()) -> None:
        """Have the programs built that stages will need, as soon as the device is open; meanwhile the host goes on.

        Parameters
        ----------
        rehearse : callable
            Starts on a `Rehearsal` what will be started, in this order. That it fails is of no consequence.
        but_for : container of str
            Kinds of devices for which nothing is built ahead.
        """

        def run() -> None:
            session = self.opened()
            if session is None or session.device.kind == "reference" or session.device.kind in but_for:
                return

            def note(choice: ProgramChoice) -> None:
                session.build_ahead([choice])

            try:
                with tracing.span("see what programs are needed", "preparing"):
                    rehearse(Rehearsal(session.device, note, counts=False))
            except Exception:
                log.debug("what programs are needed could not be foreseen", exc_info=True)

        threading.Thread(target=run, name="foresees programs", daemon=True).start()

    def work(self, do: Callable[[Opened], Done], check: Check, tell: Callable[[str], None]) -> Done:
        """Do work with the open session; if the device fails, do it with a fresh one, and tell of that.

        Parameters
        ----------
        do : callable
            Goes on from what was finished before when it is called again.
        check : callable
            Called while it waits for the device; it may raise `Cancelled`.
        tell : callable
            Told what happened.

        Raises
        ------
        DeviceError
            If the device fails twice, cannot be found, or has too little memory.
        """
        try:
            with self.result(check) as session:
                return do(session)
        except (DeviceNotFound, OutOfDeviceMemory):
            raise
        except DeviceError as error:
            tell(f"{error.message} What was not finished is tried once more on this device.")
        try:
            with self._open_it() as session:
                return do(session)
        except (DeviceNotFound, OutOfDeviceMemory):
            raise
        except DeviceError as error:
            error.hint = f"It failed twice; choose another device (clalign devices lists them). {error.hint}"
            raise

    def start(self) -> None:
        """Begin, if that was not done yet."""
        if self._thread.ident is None:
            self._thread.start()

    def __enter__(self) -> Opening[Opened]:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.join(PATIENCE_SECONDS)
        if self._session is not None:
            self._session.__exit__(None, None, None)


def opening_of(
    pick: Callable[[], Device], context: JobContext, check: Check | None = None, open_it: OpenSession | None = None
) -> Opening[Session]:
    """Return the opening of a device for a job, which is told when a compiler takes long, and asked whether to stop."""
    return Opening(lambda: (open_it or open_session)(pick(), check or context.check, partial(building, context)))


def open_session(device: Device, check: Check = nothing_to_check, building: Building = nobody_told) -> Session:
    """Open a device; pyopencl is only loaded if it is an OpenCL one.

    Parameters
    ----------
    device : Device
    check : callable
        Called by long computations; it may raise `Cancelled`.
    building : callable
        Told again and again while a kernel is being compiled for long, and once when that is over.

    Raises
    ------
    DeviceError
        If the driver refuses.
    """
    if device.kind == "reference":
        return ReferenceSession(device, check)
    with tracing.span("load the drivers", "start"):
        from clalign.compute.opencl.session import OpenCLSession

    return OpenCLSession(device, check, building)
