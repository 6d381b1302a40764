"""An opened device, and the protocol by which stages run on it.

A *stage* is one algorithm with two ways to run it: its kernel on an OpenCL session, and its plain
numpy reference. The reference session runs the latter, so the reference can be picked like any
other device and every result can be computed again on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from clalign.values.devices import Device

Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")


Check = Callable[[], None]

Building = Callable[[float, bool], None]
"""Told, in a thread of its own, for how many seconds a compiler is at work, and in the end that this is over."""


def nothing_to_check() -> None:
    """Let a computation that nobody may stop go on."""


def nobody_told(seconds: float, is_over: bool) -> None:
    """Let a compiler work in silence."""


class Stage(Protocol[Result_co]):
    """One algorithm on a batch."""

    @property
    def name(self) -> str:
        """The name of the algorithm, of its kernel file and of its reference."""

    def start(self, session: Any, batch: Any, model: Any) -> Callable[[], Result_co]:
        """Enqueue the kernel on an OpenCL session; return what waits for the result and returns it."""

    def reference(self, batch: Any, model: Any, check: Check = nothing_to_check) -> Result_co:
        """Compute the same with numpy; `check` is called often and may raise `Cancelled`."""


class Session(Protocol):
    """An opened device. Owned by one thread, used as a context manager."""

    @property
    def device(self) -> Device:
        """The device."""

    @property
    def check(self) -> Check:
        """What long computations call now and then; it may raise `Cancelled`."""

    @property
    def kernel_seconds(self) -> float:
        """Time in which kernels of the collected results ran on the device, since the session was opened."""

    @property
    def seconds_by_kernel(self) -> dict[str, float]:
        """Time that they took by the name of the kernel, or of the reference's stage; several may run at a time."""

    @property
    def copy_seconds(self) -> float:
        """Time that copies between host and device took, since the session was opened."""

    def run(self, stage: Stage[Result], batch: Any, model: Any) -> Result:
        """Run a stage on a batch."""

    def start(self, stage: Stage[Result], batch: Any, model: Any) -> Callable[[], Result]:
        """Begin a stage on a batch; the device works while the host does something else.

        Returns
        -------
        callable
            Waits for the result and returns it. Call it once, in the thread that owns the session.
        """

    def beside(self) -> Session:
        """Return a session on the same device whose work does not wait for what was started on this one."""

    def join(self, other: Any) -> None:
        """Count the time of what a session beside this one has done."""

    def __enter__(self) -> Session: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ReferenceSession:
    """A session that computes everything with the plain reference. Slow: for checking."""

    def __init__(self, device: Device, check: Check = nothing_to_check) -> None:
        self.device = device
        self.check = check
        self.seconds_by_kernel: dict[str, float] = {}
        self.copy_seconds = 0.0

    @property
    def kernel_seconds(self) -> float:
        """Time that all results took."""
        return sum(self.seconds_by_kernel.values())

    def run(self, stage: Stage[Result], batch: Any, model: Any) -> Result:
        """Run the reference of a stage."""
        return self.start(stage, batch, model)()

    def start(self, stage: Stage[Result], batch: Any, model: Any) -> Callable[[], Result]:
        """Return what computes the reference of a stage when it is asked for the result."""

        def result() -> Result:
            began = time.perf_counter()
            try:
                return stage.reference(batch, model, self.check)
            finally:
                spent = self.seconds_by_kernel.get(stage.name, 0.0) + time.perf_counter() - began
                self.seconds_by_kernel[stage.name] = spent

        return result

    def beside(self) -> ReferenceSession:
        """Return this session: nothing of it runs before it is asked for."""
        return self

    def join(self, other: Any) -> None:
        """Do nothing: all that is computed is counted here."""

    def __enter__(self) -> ReferenceSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


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
    from clalign.compute.opencl.session import OpenCLSession

    return OpenCLSession(device, check, building)
