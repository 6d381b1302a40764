"""A device with which another process computes, seen from the process that writes the run."""

from __future__ import annotations

import pickle
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from msgspec import Struct

from clalign import tracing
from clalign.compute.opening import CHECK_SECONDS
from clalign.compute.sessions import Building, Check
from clalign.errors import DeviceError
from clalign.execution.failures import Failure
from clalign.execution.remote.processes import END_SECONDS, Processes
from clalign.execution.units import Finished, Unit
from clalign.execution.writer import RunAccess
from clalign.runs.batches import BatchResult
from clalign.runs.run_file import RunFile
from clalign.system.processes import ProcessNotStarted
from clalign.values.devices import Device
from clalign.values.documents import DeviceFields, SpecFields
from clalign.values.hits import Hit

Message = tuple[Any, ...]
"""A word and what belongs to it; see `DeviceProcess.compute` and `clalign.execution.remote.server`."""

UnitKey = tuple[int, int, int]
"""A unit in a message: number of its query, first and last row."""

FoundUnit = tuple[UnitKey, BatchResult, Sequence[tuple[int, Hit]]]
"""The result of a unit in a message, and hits of other queries with their numbers."""


class Order(Struct, frozen=True):
    """What the other process must know before it begins.

    Attributes
    ----------
    run : str
        Path of the run; the engine reads the input in the same way as in the process that writes the run.
    spec : dict
    device : dict
    n_devices : int
        Number of devices of the job.
    is_traced : bool
        Whether to record spans.
    """

    run: str
    spec: SpecFields
    device: DeviceFields
    n_devices: int
    is_traced: bool


class DeviceProcess:
    """A process that computes with a device; a context manager that ends the process.

    Parameters
    ----------
    processes : Processes
        Starts the process.
    engine : str
        Name of the engine.
    device : Device
    run : Path
    spec : dict
        Spec of the run.
    n_devices : int
        Number of devices of the job.
    check : callable
        Called during waits; raises `Cancelled` if the job is to stop.

    Raises
    ------
    DeviceError
        If the process cannot be started, or cannot open the device.
    """

    def __init__(
        self,
        processes: Processes,
        engine: str,
        device: Device,
        run: Path,
        spec: SpecFields,
        n_devices: int,
        check: Check,
    ) -> None:
        self.device, self._check, self._processes = device, check, processes
        self._received: SimpleQueue[Message | None] = SimpleQueue()
        self._units: dict[UnitKey, Unit] = {}
        try:
            self._process = processes.start(engine, device.id)
        except OSError as error:
            failure = ProcessNotStarted(f"a process for {device.name}", error)
            raise DeviceError(failure.message, failure.hint) from error
        threading.Thread(target=self._read, name=f"reads messages of {device.id}", daemon=True).start()
        with ExitStack() as stack:
            stack.callback(processes.end, self._process)
            self._send(Order(str(run), spec, device.to_dict(), n_devices, tracing.is_on()))
            self._receive()  # that the device is open
            stack.pop_all()

    def __enter__(self) -> DeviceProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._processes.let_go(self._process)
        else:
            self._processes.end(self._process)

    def _read(self) -> None:
        """Read messages until the process ends."""
        assert self._process.stdout is not None
        with suppress(Exception), self._process.stdout as stream:  # a message that is cut off is none
            while True:
                self._received.put(pickle.load(stream))
        self._received.put(None)

    def _send(self, thing: object) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # if it has ended, `_receive` finds that
            pickle.dump(thing, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _receive(self) -> Message:
        """Wait for the next message; raise what the process failed with, or `Cancelled`."""
        while True:
            try:
                message = self._received.get(timeout=CHECK_SECONDS)
                break
            except Empty:  # messages come first, even when everything is stored by now
                self._check()
        if message is None:
            raise self._lost()
        if message[0] == "failed":
            failure: Failure = message[1]
            raise failure.error(f"the process of {self.device.name}")
        return message

    def _lost(self) -> DeviceError:
        try:
            code = self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:  # it hangs at its end, or its last message is damaged
            self._processes.end(self._process)
            code = -9  # SIGKILL, which Windows has no name for
        reason = f"with exit code {code}"
        with suppress(ValueError):
            reason = f"on signal {signal.Signals(-code).name}" if code < 0 else reason
        return DeviceError(
            f"The process that computed on {self.device.name} stopped unexpectedly {reason}.",
            "See: clalign doctor, which tests drivers.",
        )

    def compute(self, access: RunAccess, building: Building) -> tuple[str | None, dict[str, float]]:
        """Let the process compute until everything is stored.

        Returns
        -------
        (str or None, dict)
            Name of a processor that helped the device, and seconds by kernel.
        """
        self._send(("begin",))
        try:
            while True:
                word, *given = self._receive()
                if word == "take":
                    self._check()
                    self._send(self._next_unit(access))
                elif word == "wait":
                    self._send(access.wait())
                elif word == "store":
                    self._store(given[0], access)
                elif word == "give back":
                    self._give_back(given[0], access)
                elif word == "measure":
                    access.measure(*given)
                elif word == "shrink":
                    unit = self._units.get(given[0])
                    self._send(unit is not None and access.shrink(unit))
                elif word == "warn":
                    access.warn(*given)
                elif word == "building":
                    building(*given)
                elif word == "done":
                    helper, seconds, spans = given
                    tracing.add_all(spans)
                    return helper, seconds
        finally:
            self._give_back(list(self._units), access)

    def _next_unit(self, access: RunAccess) -> tuple[UnitKey, int] | None:
        """Return the next unit, and how often rows of its query came back; None if there is none now."""
        while (unit := access.take(prepares=False)) is not None:
            if not unit.is_end:
                self._units[unit.key] = unit
                return unit.key, unit.query.n_back
            access.store_end(unit, _nothing)
        return None

    def _store(self, found: Sequence[FoundUnit], access: RunAccess) -> None:
        access.store([Finished(self._units.pop(key), result, hits_of) for key, result, hits_of in found])

    def _give_back(self, keys: Sequence[UnitKey], access: RunAccess) -> None:
        access.give_back([self._units.pop(key) for key in keys])


def _nothing(run: RunFile) -> None:
    """Store nothing: engines whose queries have ends do not compute in processes."""
