"""Opening of a device while the host reads the input, and once more if it fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from clalign import tracing
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import (
    Building,
    Check,
    ProgramChoice,
    ReferenceSession,
    Session,
    no_build_report,
    no_check,
)
from clalign.errors import DeviceError, DeviceNotFound, OutOfDeviceMemory
from clalign.jobs import BuildReports, JobContext
from clalign.values.devices import Device

MAX_WAIT_SECONDS = 5.0
"""Limit of the time that a job, which has ended for another reason, waits for a driver."""

CHECK_SECONDS = 0.1
"""Time between two checks for cancelling while a job waits."""

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
        Picks the device and opens it; its errors are raised by `result`.
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
        self.opened(check)
        if self._error is not None:
            raise self._error
        assert self._session is not None
        session, self._session = self._session, None
        return session

    def opened(self, check: Check = no_check) -> Opened | None:
        """Wait for the open session and return it, though it does not belong to the caller; None if there is none."""
        with tracing.span("wait for the device to be opened", "start"):
            while self._thread.is_alive():
                check()
                self._thread.join(CHECK_SECONDS)
        return self._opened

    def build_ahead(self: Opening[Session], rehearse: Rehearse, except_kinds: Container[str] = ()) -> None:
        """Build the programs that stages will need as soon as the device is open, in the background.

        Parameters
        ----------
        rehearse : callable
            Starts the stages on a `Rehearsal`, in order; its errors are ignored.
        except_kinds : container of str
            Kinds of devices for which nothing is built ahead.
        """

        def run() -> None:
            session = self.opened()
            if session is None or session.device.kind == "reference" or session.device.kind in except_kinds:
                return

            def note(choice: ProgramChoice) -> None:
                session.build_ahead([choice])

            try:
                with tracing.span("see what programs are needed", "preparing"):
                    rehearse(Rehearsal(session.device, note, counts=False))
            except Exception:
                log.debug("the rehearsal failed", exc_info=True)

        threading.Thread(target=run, name="builds programs ahead", daemon=True).start()

    def work(self, do: Callable[[Opened], Done], check: Check, warn: Callable[[str], None]) -> Done:
        """Do work with the open session; if the device fails, repeat it with a new one, with a warning.

        Parameters
        ----------
        do : callable
            Continues with what is unfinished when it is called a second time.
        check : callable
            Called while it waits for the device and before a second try; it may raise `Cancelled`.
        warn : callable
            Called with a warning.

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
            check()  # the end of a job ends the process of a device, which then looks like a failure
            warn(f"{error.message} The rest is tried once more on this device.")
        try:
            with self._open_it() as session:
                return do(session)
        except (DeviceNotFound, OutOfDeviceMemory):
            raise
        except DeviceError as error:
            error.hint = f"It failed twice; choose another device (clalign devices lists them). {error.hint}"
            raise

    def start(self) -> None:
        """Begin to open the device, unless that was done."""
        if self._thread.ident is None:
            self._thread.start()

    def __enter__(self) -> Opening[Opened]:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(MAX_WAIT_SECONDS)
        if self._session is not None:
            self._session.__exit__(None, None, None)


def opening_of(
    pick: Callable[[], Device], context: JobContext, check: Check | None = None, open_it: OpenSession | None = None,
    builds: BuildReports | None = None,
) -> Opening[Session]:  # fmt: skip
    """Return the opening of a device for a job, which is notified when a compiler takes long, and can stop it.

    `builds` counts the programs of all devices of the job, if there are several.
    """
    report = (builds or BuildReports(context)).of_device()
    return Opening(lambda: (open_it or open_session)(pick(), check or context.check, report))


def open_session(device: Device, check: Check = no_check, building: Building = no_build_report) -> Session:
    """Open a device; pyopencl is only loaded if it is an OpenCL one.

    Parameters
    ----------
    device : Device
    check : callable
        Called by long computations; it may raise `Cancelled`.
    building : callable
        Called repeatedly while a kernel is being compiled for long, and once when that is finished.

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
