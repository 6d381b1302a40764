"""Opened devices, and the stages that run on them.

A *stage* is one algorithm with two ways to run it: its kernel on an OpenCL session, and its plain
numpy reference. The reference session runs the latter, so the reference can be picked like any
other device and every result can be recomputed on it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.devices import Device
from clalign.values.sequences import SequenceBatch


class ProgramChoice(Struct, frozen=True):
    """A program: a file of kernels and the compile-time choices that it is built with, sorted by name."""

    source: str
    macros: tuple[tuple[str, object], ...]

    @classmethod
    def of(cls, source: str, defines: Mapping[str, object]) -> ProgramChoice:
        """Return the program of a launch."""
        return cls(source, tuple(sorted(defines.items())))

    @property
    def defines(self) -> dict[str, object]:
        """The macros by name."""
        return dict(self.macros)


Batch = TypeVar("Batch")
Model = TypeVar("Model")
Result = TypeVar("Result")
Batch_contra = TypeVar("Batch_contra", contravariant=True)
Model_contra = TypeVar("Model_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
Number = TypeVar("Number", bound=np.generic)
Kept = TypeVar("Kept")

Check = Callable[[], None]

Building = Callable[[int, int, bool], None]
"""Called repeatedly, in a thread of its own, while the host waits for a compiler, and once when that is over: with the
number of new programs that are built, that of all that are foreseen, and whether the host waits now.
"""

MAX_COMPILERS, MAX_BUILDERS = 4, 8
"""Limits of the child processes that compile at a time: for a processor, where each takes much memory; for a card."""

MIN_NEW_PROGRAMS = 3
"""Programs that are not worth the start of a child process, or of a further one; more are."""

Shape = int | tuple[int, ...]

Tables = Sequence[npt.NDArray[np.generic]]
"""Tables of a model in the form that kernels read; none of them is empty."""

MakeTables = Callable[[], Sequence[Tables]]
"""A function that makes the tables of one model or of several."""

Steps = Generator[Callable[[], bool], None, Result]
"""Work on a device, step by step.

Before each step it yields a callable that returns whether the step can be taken without waiting for the device.
"""


def at_once(steps: Steps[Result]) -> Result:
    """Take all steps, waiting for the device before each, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            value: Result = end.value
            return value


def no_check() -> None:
    """Do nothing: for computations that cannot be cancelled."""


def no_build_report(done: int, total: int, is_now: bool) -> None:
    """Do nothing: for compilers whose progress is not reported."""


class Buffer(Protocol):
    """Memory of a device, used only with the session that it comes from."""

    @property
    def size(self) -> int:
        """Size in bytes."""


class LocalMemory(Struct, frozen=True):
    """Local memory of each work-group, of this number of bytes."""

    n_bytes: int


Argument = Buffer | LocalMemory | np.generic
"""An argument of a kernel."""


class AllTables(Struct, frozen=True):
    """The tables of some models in one buffer, which kernels only read.

    Attributes
    ----------
    whole : buffer
    starts : uint32[n_models, n_tables]
        Offset of each table of each model in bytes.
    """

    whole: Buffer
    starts: npt.NDArray[np.uint32]


class Stage(ABC, Generic[Batch_contra, Model_contra, Result_co]):
    """One algorithm on a batch.

    Parameters
    ----------
    shape : str, optional
        Shape of the kernel: ``vector``, ``lanes`` or ``item``; by default the one that suits the device.
    defines : dict, optional
        Compile-time choices that replace the default ones.
    """

    name: ClassVar[str]
    """The name of the algorithm, of its kernel file and of its reference."""

    gpu_shape: ClassVar[str] = "lanes"
    """The kernel's shape for all devices but CPUs, which take ``vector``."""

    def __init__(self, shape: str | None = None, **defines: int) -> None:
        self.shape = shape
        self.defines = defines

    def shape_on(self, device: Device) -> str:
        """Return the chosen shape, or the one that suits a device."""
        return self.shape or ("vector" if device.kind == "cpu" else self.gpu_shape)

    def suits(self, card: Device) -> bool:
        """Return whether a card computes it as fast as the processor beside it."""
        return True

    @abstractmethod
    def start(self, session: KernelSession, batch: Batch_contra, model: Model_contra) -> Callable[[], Result_co]:
        """Enqueue the kernels and return a callable that waits for the result and returns it."""

    @abstractmethod
    def reference(self, batch: Batch_contra, model: Model_contra, check: Check = no_check) -> Result_co:
        """Compute the same with numpy; `check` is called often and may raise `Cancelled`."""


AnyStage = Stage[Any, Any, Any]


class Session(Protocol):
    """An opened device. Owned by one thread, used as a context manager."""

    @property
    def device(self) -> Device:
        """The device."""

    @property
    def check(self) -> Check:
        """A function that long computations call; it may raise `Cancelled`."""

    @property
    def kernel_seconds(self) -> float:
        """Seconds in which kernels of the collected results ran on the device, since the session was opened."""

    @property
    def seconds_by_kernel(self) -> dict[str, float]:
        """Seconds by the name of the kernel, or of the reference's stage; several may run at a time."""

    @property
    def copy_seconds(self) -> float:
        """Seconds of the copies between host and device, since the session was opened."""

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        """Run a stage on a batch."""

    def start(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Callable[[], Result]:
        """Begin a stage on a batch, and compute it in the background.

        Returns
        -------
        callable
            Waits for the result and returns it. Call it once, in the thread that owns the session.
        """

    def build_ahead(self, choices: Iterable[ProgramChoice], can_wait: bool = False) -> None:
        """Begin to build programs that will be needed, in this order; may be called by any thread.

        Those that can wait come after all others, even later ones.
        """

    def foresee(self, choices: Iterable[ProgramChoice]) -> None:
        """Count programs as needed that may be built only later; may be called by any thread."""

    def unbuilt(self, choices: Iterable[ProgramChoice]) -> list[ProgramChoice]:
        """Return the programs that are not compiled yet."""

    def reached(self) -> Callable[[], bool]:
        """Return a function that returns, without waiting, whether everything started so far is finished."""

    def second_queue(self) -> Self:
        """Open a second command queue on the same device."""

    def helped_by(self, processor: Session) -> Self:
        """Return this session, with that of a processor for the stages that do not suit this card."""

    def join(self, other: Self) -> None:
        """Count the time of the finished kernels of a second queue."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class KernelSession(Session, Protocol):
    """An opened OpenCL device, as stages see it (`clalign.compute.opencl.session`)."""

    def upload(self, array: npt.NDArray[np.generic]) -> Buffer:
        """Return a buffer with a copy of an array, which must not be changed after this."""

    def loaded(self, array: npt.NDArray[np.generic]) -> Buffer:
        """Return a buffer with a copy of an array, which kernels may write."""

    def share(self, array: npt.NDArray[np.generic]) -> Buffer:
        """Return a read-only buffer with the content of an array that never changes."""

    def tables(self, name: str, key: object, make: MakeTables) -> AllTables:
        """Return the tables from `make` in one buffer, kept as by `cached`."""

    def residues(self, batch: SequenceBatch) -> tuple[Buffer, Buffer]:
        """Return letter codes (uint8) and offsets (int32[n + 1]) of a batch, kept as by `cached`."""

    def allocate(self, n_bytes: int) -> Buffer:
        """Return a buffer with undefined content."""

    def results(self, n_bytes: int) -> Buffer:
        """Return a buffer for results of a kernel, which `fetch` returns."""

    def scratch(self, name: str, n_bytes: int) -> Buffer:
        """Return a buffer of at least `n_bytes` bytes that a launch uses while it runs."""

    def zeros(self, n_bytes: int) -> Buffer:
        """Return a buffer of zeros, which the kernels launched after this may write."""

    def download(self, buffer: Buffer, shape: Shape, dtype: type[Number]) -> npt.NDArray[Number]:
        """Return the content of a buffer, after everything launched before."""

    def fetch(
        self, buffer: Buffer, shape: Shape | Callable[[], Shape], dtype: type[Number]
    ) -> Callable[[], npt.NDArray[Number]]:
        """Return a callable that waits for all previous launches and returns the content of a buffer."""

    def launch(
        self, source: str, entry: str, defines: Mapping[str, object], n_items: int, group: int | None,
        *arguments: Argument, offset: int = 0,
    ) -> None:  # fmt: skip
        """Enqueue a kernel.

        Parameters
        ----------
        source : str
            Name of the file without ``.cl``.
        entry : str
            Name of the kernel in it.
        defines : dict
            Compile-time choices.
        n_items, group : int
            Work-items, a multiple of the work-group's size; nothing is done where there are none.
        *arguments
            Buffers, local memory and numpy scalars, in the kernel's order.
        offset : int
            Number of the first work-item.
        """

    def cached(self, name: str, key: object, make: Callable[[], Kept]) -> Kept:
        """Return the result of `make` for this key object, made again only if it was dropped."""

    def measured(self, name: str, measure: Callable[[], int]) -> int:
        """Return a number that is measured once for this device, its driver and the kernels, by its name."""

    def demand(self, is_so: bool | np.bool_, what: str) -> None:
        """Raise `DeviceError` unless a condition holds that every result must meet."""

    def finish(self) -> None:
        """Wait for everything launched."""


class ReferenceSession:
    """A session that computes everything with the reference: slow, for checking."""

    def __init__(self, device: Device, check: Check = no_check) -> None:
        self.device = device
        self.check = check
        self.seconds_by_kernel: dict[str, float] = {}
        self.copy_seconds = 0.0

    @property
    def kernel_seconds(self) -> float:
        return sum(self.seconds_by_kernel.values())

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        return self.start(stage, batch, model)()

    def start(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Callable[[], Result]:
        def result() -> Result:
            began = time.perf_counter()
            try:
                return stage.reference(batch, model, self.check)
            finally:
                spent = self.seconds_by_kernel.get(stage.name, 0.0) + time.perf_counter() - began
                self.seconds_by_kernel[stage.name] = spent

        return result

    def build_ahead(self, choices: Iterable[ProgramChoice], can_wait: bool = False) -> None:
        """Do nothing: the reference has no programs."""

    def foresee(self, choices: Iterable[ProgramChoice]) -> None:
        """Do nothing, either."""

    def unbuilt(self, choices: Iterable[ProgramChoice]) -> list[ProgramChoice]:
        return []

    def reached(self) -> Callable[[], bool]:
        return lambda: True

    def second_queue(self) -> Self:
        """Return this session: nothing of it runs before it is asked for."""
        return self

    def helped_by(self, processor: Session) -> Self:
        """Return this session: it is no card."""
        return self

    def join(self, other: Self) -> None:
        """Do nothing: all that is computed is counted here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass
