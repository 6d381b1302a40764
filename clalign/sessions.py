"""An opened device, and the protocol by which stages run on it.

A *stage* is one algorithm with two ways to run it: its kernel on an OpenCL session, and its plain
numpy reference. The reference session runs the latter, so the reference can be picked like any
other device and every result can be computed again on it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar

from clalign.devices import Device

Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")


Check = Callable[[], None]


def nothing_to_check() -> None:
    """Let a computation that nobody may stop go on."""


class Stage(Protocol[Result_co]):
    """One algorithm on a batch."""

    @property
    def name(self) -> str:
        """The name of the algorithm, of its kernel file and of its reference."""

    def launch(self, session: Any, batch: Any, model: Any) -> Result_co:
        """Run the kernel on an OpenCL session."""

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

    def run(self, stage: Stage[Result], batch: Any, model: Any) -> Result:
        """Run a stage on a batch."""

    def __enter__(self) -> Session: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class ReferenceSession:
    """A session that computes everything with the plain reference. Slow: for checking."""

    def __init__(self, device: Device, check: Check = nothing_to_check) -> None:
        self.device = device
        self.check = check

    def run(self, stage: Stage[Result], batch: Any, model: Any) -> Result:
        """Run the reference of a stage."""
        return stage.reference(batch, model, self.check)

    def __enter__(self) -> ReferenceSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def open_session(device: Device, check: Check = nothing_to_check) -> Session:
    """Open a device; pyopencl is only loaded if it is an OpenCL one.

    Parameters
    ----------
    device : Device
    check : callable
        Called by long computations; it may raise `Cancelled`.

    Raises
    ------
    DeviceError
        If the driver refuses.
    """
    if device.kind == "reference":
        return ReferenceSession(device, check)
    from clalign.opencl.session import OpenCLSession

    return OpenCLSession(device, check)
