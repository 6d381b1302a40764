"""Running a stage for the sake of its times: its result first, what the compiler made of it, then medians."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.compute.opening import open_session
from clalign.compute.sessions import Argument, Batch, KernelSession, Model, Result, Session, Stage
from clalign.errors import ClalignError, DeviceError, KernelBuildError, OptionError, OutOfDeviceMemory
from clalign.jobs import BUILD, JobContext, QuietContext
from clalign.labs.laboratory import INEXACT
from clalign.labs.occupancy import occupancy
from clalign.values.devices import Device

STAGE_SECONDS = 10.0
"""A stage is not run again once its runs took this long together."""

NOT_REACHED = "The time that was given was over before."

UNKNOWN: Json = dict.fromkeys(("registers", "spill_bytes", "local_bytes", "private_bytes", "occupancy"))
"""What a driver may report of a kernel."""

NOT_MEASURED: Json = {
    **dict.fromkeys(("kernel_seconds", "copy_seconds", "total_seconds", "spread", "gcups", "speedup")), **UNKNOWN
}  # fmt: skip

Row = Json
Entry = str | tuple[str, ...]
Thing = TypeVar("Thing")


class OtherScores(DeviceError):
    """A device computes other scores than the reference."""


def not_run(reason: str) -> Row:
    """Return what a document holds of something that could not be measured."""
    return {"status": "not run", "reason": reason, "equal": False, "runs": 0, **NOT_MEASURED}


def differs(reason: str) -> Row:
    """Return what a document holds of something that was not measured, because its results are wrong."""
    return {**not_run(reason), "status": "done"}


def inexact(reason: str) -> Row:
    """Return what a document holds of something whose results the compiler's option that is tried makes wrong."""
    return {**not_run(reason), "status": INEXACT}


class Witness:
    """A session that remembers the kernels of interest it launched, and counts those of its other queues, too.

    Parameters
    ----------
    session : Session
    entry : str or tuple of str
        How the names of the kernels of interest begin.

    Attributes
    ----------
    launched : dict
        For each file of kernels, the entry, macros and work-group of the last kernel of interest.
    """

    def __init__(self, session: Session, entry: Entry) -> None:
        self._session = cast("KernelSession", session)
        self._entry = entry
        self._queues: list[KernelSession] = []
        self.launched: dict[str, tuple[str, dict[str, object], int]] = {}

    def launch(
        self, source: str, entry: str, defines: Mapping[str, object], n_items: int, group: int | None, *more: Argument,
        **options: int,
    ) -> None:  # fmt: skip
        """Enqueue a kernel and remember it."""
        if entry.startswith(self._entry):
            self.launched[source] = (entry, dict(defines), group or 1)
        self._session.launch(source, entry, defines, n_items, group, *more, **options)

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        result = stage.start(cast("KernelSession", self), batch, model)()
        self._session.finish()
        return result

    def second_queue(self) -> KernelSession:
        self._queues.append(self._session.second_queue())
        return self._queues[-1]

    @property
    def kernel_seconds(self) -> float:
        """Time of the kernels, of those in its other queues, too."""
        return float(sum(session.kernel_seconds for session in (self._session, *self._queues)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


class PartOf(QuietContext):
    """The context of a laboratory whose rows are not those of the job.

    Parameters
    ----------
    context : JobContext
        Of the job.
    now : str
        What the part is, in words.
    before, share, total : float
        How much of the job is done before, how much this part is, and how much there is in all.
    """

    def __init__(
        self, context: JobContext, now: str = "", before: float = 0, share: float = 1, total: float = 1
    ) -> None:
        self._context, self._now, self._before, self._share, self._total = context, now, before, share, total

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: Any) -> None:
        """Report the progress of the laboratory as that of the job; that of runs within it is left out."""
        if stage == "lab" and total:
            now = ": ".join(filter(None, (self._now, facts.get("now"))))
            done = self._before + self._share * done / total
            self._context.progress("lab", done, self._total, "parts", now=now)
        elif stage == BUILD:
            self._context.progress(stage, done, total, unit, **facts)

    def warn(self, text: str) -> None:
        """Report what the user must know."""
        self._context.warn(text)

    def check(self) -> None:
        """Raise `Cancelled` if the job was asked to stop."""
        self._context.check()


class Times(Struct, frozen=True):
    """Seconds: of the kernels, of the copies, and from start to end; medians of several runs.

    The spread is the largest time of the kernels less the smallest, over the median; None of a single run.
    """

    kernel: float
    copies: float
    total: float
    runs: int
    spread: float | None


class Bench:
    """A device to measure on, opened again after a driver's error.

    Parameters
    ----------
    device : Device
    context : JobContext
    entry : str or tuple of str
        How the names of the kernels begin that the driver is asked about.
    runs : int
        How often a stage is timed.
    reports : bool
        Whether to ask the driver what its compiler made of the kernels.
    ends : float
        On the clock `time.monotonic`: nothing is begun later.

    Attributes
    ----------
    part : JobContext
        What is timed next is reported to it as a whole.
    """

    def __init__(
        self, device: Device, context: JobContext, entry: Entry, runs: int, reports: bool = True,
        ends: float = math.inf,
    ) -> None:  # fmt: skip
        self.device = device
        self.context = context
        self.entry = entry
        self.runs = runs
        self.reports = reports
        self.ends = ends
        self.part: JobContext = QuietContext()
        self.session = self._opened()

    def _opened(self) -> Witness:
        return Witness(open_session(self.device, self.context.check), self.entry)

    def reopen(self) -> None:
        """Leave a session that a driver's error may have spoiled."""
        self.close()
        self.session = self._opened()

    def close(self) -> None:
        """Close the session."""
        self.session.__exit__(None, None, None)

    def parts(self, things: Sequence[Thing]) -> Iterator[Thing]:
        """Yield things that are timed one after the other, each as an equal part of the whole."""
        whole = self.part
        for place, thing in enumerate(things):
            self.part = PartOf(whole, before=place, total=len(things))
            yield thing
        self.part = whole

    def attempt(self, measure: Callable[[], Row]) -> Row:
        """Return the row that `measure` makes, or one that says why that is not possible."""
        if time.monotonic() > self.ends:
            return not_run(NOT_REACHED)
        try:
            return measure()
        except OptionError as error:
            return not_run(error.message.removeprefix("These choices cannot run: "))
        except OutOfDeviceMemory as error:
            self.reopen()
            return not_run(error.message)
        except DeviceError as error:
            self.reopen()
            return not_run(_first_line(error))

    def first_run(
        self, stage: Stage[Batch, Model, Result], source: str | None, batch: Batch, model: Model
    ) -> tuple[Result, Row, float]:
        """Return the result of a stage, what is known of its kernel (see `UNKNOWN`), and the time of its copies.

        Without a source it is the last kernel of interest.
        """
        copies = self.session.copy_seconds
        result = self.session.run(stage, batch, model)
        copies = self.session.copy_seconds - copies
        source = source or next(reversed(self.session.launched), "")
        if source not in self.session.launched or not self.reports:
            return result, UNKNOWN, copies
        entry, defines, group = self.session.launched[source]
        report = self.session.build_report(source, entry, defines)
        local = report["local_bytes"]
        known = {
            "registers": report["registers"],
            "spill_bytes": report["spill_bytes"],
            "local_bytes": local,
            # CPU drivers report a number that has nothing to do with the kernel.
            "private_bytes": report["private_bytes"] if self.device.kind != "cpu" else None,
            "occupancy": occupancy(self.device.compute_capability, group, report["registers"], local or 0),
        }
        return result, known, copies

    def times(self, stage: Stage[Batch, Model, object], batch: Batch, model: Model, runs: int | None = None) -> Times:
        """Time a stage that has run before on this batch."""
        session = self.session
        found: list[tuple[float, float, float]] = []

        def run() -> None:
            kernel, copies, start = session.kernel_seconds, session.copy_seconds, time.perf_counter()
            session.run(stage, batch, model)
            total = time.perf_counter() - start
            found.append((session.kernel_seconds - kernel, session.copy_seconds - copies, total))

        n = self.repeat(run, runs)
        kernel, copies, total = (float(statistics.median(column)) for column in zip(*found, strict=True))
        kernels = [of_kernel for of_kernel, _, _ in found]
        return Times(kernel, copies, total, n, (max(kernels) - min(kernels)) / kernel if n > 1 and kernel else None)

    def repeat(self, run: Callable[[], object], runs: int | None = None) -> int:
        """Do something as often as a stage is timed; return how often that was."""
        n, most, began = 0, runs or self.runs, time.perf_counter()
        while n < most and (not n or time.perf_counter() - began < STAGE_SECONDS):
            self.context.check()
            self.part.progress("lab", n + 1, most + 1, "runs")  # the first run was before
            run()
            n += 1
        return n


def _first_line(error: ClalignError) -> str:
    lines = error.log.strip().splitlines() if isinstance(error, KernelBuildError) else []
    return f"{error.message} {lines[0][:200] if lines else ''}".strip()
