"""Running a stage for the sake of its times: its scores first, what the compiler made of it, then medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.devices import Device
from clalign.jobs import JobContext
from clalign.labs.occupancy import occupancy
from clalign.profiles import IntegerProfile
from clalign.sequences import SequenceBatch
from clalign.sessions import open_session
from clalign.stages.viterbi_ladder import ENTRY

STAGE_SECONDS = 10.0
"""A stage is not run again once its runs took this long together."""

UNKNOWN: dict[str, Any] = dict.fromkeys(("registers", "spill_bytes", "local_bytes", "private_bytes", "occupancy"))
"""What a driver may tell of a kernel."""

Values = npt.NDArray[np.int32]


class Witness:
    """A session that remembers the scoring kernels it launched, and counts those of the sessions beside it.

    Parameters
    ----------
    session : Session

    Attributes
    ----------
    launched : dict
        For each file of kernels, the entry, macros and work-group of the last scoring kernel.
    """

    def __init__(self, session: Any) -> None:
        self._session = session
        self._beside: list[Any] = []
        self.launched: dict[str, tuple[str, dict[str, object], int]] = {}

    def launch(
        self, source: str, entry: str, defines: Mapping[str, object], n_items: int, group: int | None, *more: Any,
        **options: Any,
    ) -> None:  # fmt: skip
        """Enqueue a kernel and remember it."""
        if entry.startswith(ENTRY):
            self.launched[source] = (entry, dict(defines), group or 1)
        self._session.launch(source, entry, defines, n_items, group, *more, **options)

    def run(self, stage: Any, batch: SequenceBatch, model: IntegerProfile) -> Values:
        """Return the scores that a stage computes."""
        values: Values = stage.start(self, batch, model)().values
        self._session.finish()
        return values

    def beside(self) -> Any:
        """Return a session beside this one."""
        self._beside.append(self._session.beside())
        return self._beside[-1]

    @property
    def kernel_seconds(self) -> float:
        """Time of the kernels, of those on sessions beside this one, too."""
        return float(sum(session.kernel_seconds for session in (self._session, *self._beside)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds: of the kernels, of the copies, and from start to end; medians of several runs."""

    kernel: float
    copies: float
    total: float
    runs: int


class Bench:
    """A device to measure on, opened again after a driver's error.

    Parameters
    ----------
    device : Device
    context : JobContext
    runs : int
        How often a stage is timed.
    reports : bool
        Whether to ask the driver what its compiler made of the kernels.
    """

    def __init__(self, device: Device, context: JobContext, runs: int, reports: bool = True) -> None:
        self.device = device
        self.context = context
        self.runs = runs
        self.reports = reports
        self.session = Witness(open_session(device, context.check))

    def reopen(self) -> None:
        """Leave a session that a driver's error may have spoiled."""
        self.close()
        self.session = Witness(open_session(self.device, self.context.check))

    def close(self) -> None:
        """Close the session."""
        self.session.__exit__(None, None, None)

    def first_run(
        self, stage: Any, source: str, batch: SequenceBatch, model: IntegerProfile
    ) -> tuple[Values, dict[str, Any], float]:
        """Return the scores of a stage, what is known of its kernel (see `UNKNOWN`), and the time of its copies."""
        copies = self.session.copy_seconds
        values = self.session.run(stage, batch, model)
        copies = self.session.copy_seconds - copies
        if source not in self.session.launched or not self.reports:
            return values, UNKNOWN, copies
        entry, defines, group = self.session.launched[source]
        told = self.session.build_report(source, entry, defines)
        local = told["local_bytes"]
        known = {
            "registers": told["registers"],
            "spill_bytes": told["spill_bytes"],
            "local_bytes": local,
            # CPU drivers tell a number that has nothing to do with the kernel.
            "private_bytes": told["private_bytes"] if self.device.kind != "cpu" else None,
            "occupancy": occupancy(self.device.compute_capability, group, told["registers"], local or 0),
        }
        return values, known, copies

    def times(self, stage: Any, batch: SequenceBatch, model: IntegerProfile, runs: int | None = None) -> Times:
        """Time a stage that has run before on this batch."""
        session = self.session
        found: list[tuple[float, float, float]] = []
        began = time.perf_counter()
        while len(found) < (runs or self.runs) and (not found or time.perf_counter() - began < STAGE_SECONDS):
            self.context.check()
            kernel, copies, start = session.kernel_seconds, session.copy_seconds, time.perf_counter()
            session.run(stage, batch, model)
            total = time.perf_counter() - start
            found.append((session.kernel_seconds - kernel, session.copy_seconds - copies, total))
        kernel, copies, total = (float(statistics.median(column)) for column in zip(*found, strict=True))
        return Times(kernel, copies, total, len(found))
