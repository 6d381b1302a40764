"""A device that another process computes with, seen from the one that gives units and stores what comes of them."""

from __future__ import annotations

import itertools
import pickle
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any

from msgspec import Struct

from clalign import tracing
from clalign.children import ProcessNotStarted
from clalign.compute.opening import LISTEN_SECONDS
from clalign.compute.sessions import Check
from clalign.errors import DeviceError
from clalign.execution.apart import starting
from clalign.execution.executor import Told
from clalign.execution.failures import Failure
from clalign.execution.units import Cutter, Finished, Unit
from clalign.execution.writer import Writer
from clalign.jobs import building
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device

Message = tuple[Any, ...]
"""A word, and what belongs to it; see `DeviceApart.compute` and `clalign.execution.apart.there`."""


class Order(Struct, frozen=True):
    """What the other process has to know before it begins.

    Attributes
    ----------
    run : str
        Its path; its engine reads the input as the one at home does.
    spec : dict
    device : dict
    n_devices : int
        Of the job.
    is_traced : bool
        Whether its spans are recorded with those of the process at home.
    """

    run: str
    spec: dict[str, Any]
    device: dict[str, Any]
    n_devices: int
    is_traced: bool


class DeviceApart:
    """A device that a process of its own computes with; a context manager that ends the process.

    Parameters
    ----------
    engine : str
        By its name.
    device : Device
    run : Path
    spec : dict
        What is asked of the run.
    n_devices : int
        Of the job.
    check : callable
        Called while it waits; raises `Cancelled` if the job was asked to stop.

    Raises
    ------
    DeviceError
        If the process cannot be started, or the device cannot be opened there.
    """

    def __init__(
        self, engine: str, device: Device, run: Path, spec: dict[str, Any], n_devices: int, check: Check
    ) -> None:
        self.device, self._check = device, check
        self._heard: SimpleQueue[Message | None] = SimpleQueue()
        self._units: dict[int, Unit[Any]] = {}
        self._numbers = itertools.count()
        try:
            self._process = starting.taken(engine, device.id)
        except OSError as error:
            failure = ProcessNotStarted(f"a process for {device.name}", error)
            raise DeviceError(failure.message, failure.hint) from error
        threading.Thread(target=self._read, name=f"hears {device.id}", daemon=True).start()
        with ExitStack() as stack:
            stack.callback(starting.end, self._process)
            self._say(Order(str(run), spec, device.to_dict(), n_devices, tracing.is_on()))
            self._hear()  # that the device is open
            stack.pop_all()

    def __enter__(self) -> DeviceApart:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            starting.let_go(self._process)
        else:
            starting.end(self._process)

    def _read(self) -> None:
        """Take what it says, until it ends."""
        assert self._process.stdout is not None
        with suppress(Exception), self._process.stdout as stream:  # a word that is cut off is none
            while True:
                self._heard.put(pickle.load(stream))
        self._heard.put(None)

    def _say(self, thing: Any) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # that it has ended is found where it is heard
            pickle.dump(thing, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _hear(self) -> Message:
        """Wait for its next word; raise what it has failed with, or `Cancelled` while it is silent."""
        while True:
            try:
                message = self._heard.get(timeout=LISTEN_SECONDS)
                break
            except Empty:  # what it has said is heard, though all may be stored by now
                self._check()
        if message is None:
            raise self._lost()
        if message[0] == "failed":
            failure: Failure = message[1]
            raise failure.error(f"the process of {self.device.name}")
        return message

    def _lost(self) -> DeviceError:
        try:
            code = self._process.wait(starting.END_SECONDS)
        except subprocess.TimeoutExpired:  # it hangs while it ends, or has only said what cannot be understood
            starting.end(self._process)
            code = -9  # SIGKILL, which Windows has no name for
        reason = f"with exit code {code}"
        with suppress(ValueError):
            reason = f"on signal {signal.Signals(-code).name}" if code < 0 else reason
        return DeviceError(
            f"The process that computed on {self.device.name} stopped unexpectedly {reason}.",
            "See: clalign doctor, which tests drivers.",
        )

    def compute(self, run: RunFile, writer: Writer[Any], tell: Told) -> tuple[str | None, dict[str, float]]:
        """Let it compute until everything is stored.

        Parameters
        ----------
        run : RunFile
            To be read in this thread.
        writer : Writer
            Called by way of `tell` only.
        tell : callable

        Returns
        -------
        (str or None, dict)
            The name of a processor that helped it, and seconds by kernel.
        """
        planner = writer.planner
        cutter = planner.plan.cutter_for(self.device)
        planner.join(cutter, gives_way=False)
        self._say(("begin",))
        try:
            while True:
                word, *given = self._hear()
                if word == "take":
                    self._check()
                    self._say(self._given(run, writer, cutter, tell))
                elif word == "wait":
                    self._say(planner.wait())
                elif word == "store":
                    self._store(given[0], writer, cutter, tell)
                elif word == "give back":
                    self._give_back(given[0], writer, cutter, tell)
                elif word == "measure":
                    cutter.measure(*given)
                elif word == "shrink":
                    self._say(cutter.shrink(cutter.batch(*given)))
                elif word == "building":
                    building(writer.context, *given)
                elif word == "caution":
                    tell(partial(writer.caution, *given))
                elif word == "warn":
                    tell(partial(writer.warn, *given))
                elif word == "done":
                    host, seconds, spans = given
                    tracing.add_all(spans)
                    return host, seconds
        finally:
            self._give_back(list(self._units), writer, cutter, tell)

    def _given(
        self, run: RunFile, writer: Writer[Any], cutter: Cutter[Any], tell: Told
    ) -> tuple[int, int, int, int, int] | None:
        """Return the next unit by its number, that of its query, its rows, and how often rows came back."""
        planner = writer.planner
        while (unit := planner.take(run, cutter, prepares=False)) is not None:
            if not unit.is_end:
                number = next(self._numbers)
                self._units[number] = unit
                return number, unit.query.number, unit.first, unit.last, unit.query.n_back
            planner.delivered(unit, cutter, 0.0)
            tell(partial(writer.conclude, unit, _nothing))
        return None

    def _store(
        self, found: Sequence[tuple[int, Any, Any]], writer: Writer[Any], cutter: Cutter[Any], tell: Told
    ) -> None:
        finished = [Finished(self._units.pop(number), result, hits_of) for number, result, hits_of in found]
        for one in finished:
            writer.planner.delivered(one.unit, cutter, one.result.cells)
        tell(partial(writer.store, finished, self.device))

    def _give_back(self, numbers: Sequence[int], writer: Writer[Any], cutter: Cutter[Any], tell: Told) -> None:
        units = [self._units.pop(number) for number in numbers]
        writer.planner.give_back(units, cutter)
        tell(partial(writer.forget, units))


def _nothing(run: RunFile) -> None:
    """Store nothing: queries of such engines are not concluded."""
