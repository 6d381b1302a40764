"""A job on a cluster: workers get units, results are stored, workers that go are replaced by those that come."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from queue import Empty
from typing import TYPE_CHECKING, cast

from clalign.compute.opening import CHECK_SECONDS
from clalign.errors import DeviceError, DeviceNotFound
from clalign.execution.cluster import worker as tasks
from clalign.execution.cluster.connection import LOOKING_SECONDS, Connection
from clalign.execution.cluster.finalizers import Finalizers
from clalign.execution.cluster.shard_placement import UNIT_PATIENCE, ShardPlacement, WorkersCutter
from clalign.execution.cluster.worker_clients import MAX_TOGETHER, TASK_SECONDS, Payloads, RemoteDevice, Worker, named
from clalign.execution.failures import Failure
from clalign.execution.speed import Pace
from clalign.execution.units import Cutter, Finished, Unit
from clalign.execution.writer import Writer
from clalign.jobs import JobContext
from clalign.values.devices import Device

if TYPE_CHECKING:
    from clalign.execution.cluster.connection import Task

LOOK_SECONDS = 1.0
"""Interval at which the scheduler is asked for its workers (s)."""

WAIT_SECONDS = 60.0
"""Timeout for a first worker, where there is none (s)."""

END_SECONDS = 5.0
"""Timeout for workers to end a job of which everything is stored (s)."""

LATE_SECONDS = 1.0
"""Timeout for workers that were still computing to end such a job (s)."""

MAX_RETRIES = 100
"""Tasks of a device that may be sent again, one after the other, before the device counts as failing."""

RETRIED = ("shards", "again", "forgotten")
"""Kinds of failures that are not due to the device."""


class ClusterJob:
    """Computes with the workers of a cluster until everything is stored.

    Parameters
    ----------
    connection : Connection
    words : str
        Words for the devices of each worker.
    context : JobContext
    warn : callable
        Called with warnings of workers that fail, or cannot be used.
    pick_device : callable
        Returns a device of this machine, which computes the ends of queries.
    """

    def __init__(
        self, connection: Connection, words: str, context: JobContext, warn: Callable[[str], None],
        pick_device: Callable[[str], Device],
    ) -> None:  # fmt: skip
        self._connection, self._words, self._context, self._warn = connection, words, context, warn
        self._pick_device = pick_device
        self._devices: list[RemoteDevice] = []
        self._no_cutter = cast("Cutter", object())  # stands for the cutter of this process, which computes no rows
        self._asked: dict[str, tuple[str, Task]] = {}
        self._known: set[str] = set()
        self._placement: ShardPlacement | None = None
        self._looked = 0.0
        self._waiting_since = time.monotonic()
        self._refused: dict[str, None] = {}
        self._stack = ExitStack()

    def work(self, begin: Callable[[Device], Writer]) -> None:
        """Compute.

        Parameters
        ----------
        begin : callable
            Called with each device that takes part; returns the writer.

        Raises
        ------
        DeviceError
            If no worker is left, or if the scheduler cannot be reached.
        """
        self._begin = begin
        self._payloads: Payloads | None = None
        with self._stack:
            try:
                self._work()
            except (OSError, RuntimeError) as error:  # what Dask says of it has many names
                if self._connection.is_alive:
                    raise
                raise self._connection.lost() from error

    def _work(self) -> None:
        while True:
            self._context.check()
            self._look_around()
            self._receive()
            if self._submit() and self._writer.planner.is_over:
                return

    def end(self) -> tuple[list[str], dict[str, float]]:
        """End the job at the workers; return the names of processors that helped cards, and seconds by kernel."""
        hosts: dict[str, None] = {}
        seconds: dict[str, float] = {}
        if self._payloads is None or not self._connection.is_alive or self._connection.is_silent:
            return [], {}
        late = {device.worker for device in self._devices if device.out}
        for device in self._devices:
            device.withdraw()
        with suppress(Exception):  # everything is stored
            workers = list(self._payloads.workers.values())
            futures = [worker.submit("end", tasks.end, self._payloads.job) for worker in workers]
            asked, began = list(zip(futures, workers, strict=True)), time.monotonic()

            def is_awaited(
                future: Task, worker: Worker
            ) -> bool:  # a worker that has just gone, or hangs, never answers
                seconds = LATE_SECONDS if worker in late else END_SECONDS
                return future.status == "pending" and time.monotonic() < began + seconds

            while any(is_awaited(*one) for one in asked):
                time.sleep(CHECK_SECONDS)
            done = {future: worker.address for future, worker in asked if future.status == "finished"}
            for names, kernels in self._connection.gathered(done).values():
                hosts.update(dict.fromkeys(names))
                for name, value in kernels.items():
                    seconds[name] = seconds.get(name, 0.0) + value
        return list(hosts), seconds

    def _look_around(self) -> None:
        """Query new workers, and take back the units of workers that have gone."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        if not self._connection.is_alive:
            raise self._connection.lost()
        workers = self._connection.workers()
        self._looked = time.monotonic()
        for address in [address for address in self._known if address not in workers]:
            self._lose(address)
        new = {address: name for address, name in workers.items() if address not in self._known}
        unlike = self._connection.unlike(list(new)) if new else {}
        for address, name in new.items():
            self._known.add(address)
            if address in unlike:
                self._refuse(name, f"{unlike[address][0]}.")
                continue
            self._asked[address] = name, self._connection.client.submit(
                tasks.look, self._words, workers=[address], allow_other_workers=False, pure=False
            )  # fmt: skip
        for address, (name, future) in list(self._asked.items()):
            if future.done():
                del self._asked[address]
                self._take_in(address, name, future)
        self._see_whether_any_is_left()

    def _refuse(self, name: str, why: str) -> None:
        text = f"The worker {name} does not take part: {why}"
        if text not in self._refused:
            self._refused[text] = None
            self._warn(text)

    def _see_whether_any_is_left(self) -> None:
        now = time.monotonic()
        patience = LOOKING_SECONDS if self._asked else WAIT_SECONDS
        if self._devices or (
            self._payloads is not None and self._finalizers
        ):  # ends of queries are computed without workers
            self._waiting_since = now
        elif self._refused and not self._asked and len(self._refused) >= len(self._known):
            raise DeviceNotFound(
                f"No worker of the cluster can be used. {next(iter(self._refused))}", "See: clalign devices, there."
            )
        elif now - self._waiting_since > patience:
            raise DeviceError(
                f"The cluster ({self._connection.address}) has no worker any more."
                if self._payloads else f"The cluster ({self._connection.address}) has no worker.",
                "Start some, with: dask worker ADDRESS. What is finished is kept.",
            )  # fmt: skip

    def _take_in(self, address: str, name: str, future: Task) -> None:
        """Add the devices of a worker."""
        look: tasks.Look | None = self._connection.gathered({future: address}).get(future)
        if look is None:
            failure = _failure_of(future)
            if failure.message:
                self._refuse(name, failure.message)
            else:
                self._known.discard(address)  # gone, or asked once more
            return
        for text in look.texts:
            self._context.warn(f"{name}: {text}")
        if look.problem is not None:
            self._refuse(name, " ".join(look.problem))
            return
        devices = [Device.from_dict(facts) for facts in look.devices]
        for device in devices:
            self._writer = self._begin(named(device, name))
        plan = self._writer.planner.plan
        if self._payloads is None:
            self._payloads = Payloads(self._connection, plan)
            self._finalizers = self._stack.enter_context(
                Finalizers(plan, self._writer.run.path, self._pick, self._context)
            )
        worker = self._payloads.workers[address] = Worker(address, name, look, self._payloads)
        for device in devices:
            remote = RemoteDevice(worker, device, self._cutter(device, address), self._placement)
            self._devices.append(remote)
        self._writer.planner.n_executors = max(1, len(self._devices))

    def _cutter(self, device: Device, address: str) -> WorkersCutter:
        cutter = self._writer.planner.plan.cutter_for(device)
        assert self._payloads is not None
        if isinstance(cutter, Pace):
            cutter.patience *= UNIT_PATIENCE
            if self._placement is None:
                reference = self._payloads.register.reference_of(cutter.database)
                assert reference is not None
                self._placement = ShardPlacement(reference[1], self._payloads.outline(reference[1]))
        return WorkersCutter(cutter, address, self._placement)

    def _lose(self, address: str) -> None:
        """Take back the units of a worker that has gone."""
        self._known.discard(address)
        self._asked.pop(address, None)
        worker = self._payloads.workers.pop(address, None) if self._payloads is not None else None
        if worker is None:
            return
        for remote in [remote for remote in self._devices if remote.worker is worker]:
            self._drop(remote)
        if self._placement is not None:
            self._placement.forget(address)
        assert self._payloads is not None
        self._payloads.forget_worker(address)
        for other in self._payloads.workers.values():
            # Their tasks may wait for a shard from the worker that has gone.
            if other.forget(("pending", "cancelled", "lost", "error")):
                for remote in [remote for remote in self._devices if remote.worker is other]:
                    self._take_back(remote)
        if address in self._connection.hanging:
            self._context.warn(
                f"The worker {worker.name} hangs: it does not answer. What it had goes to others until it answers."
            )
        else:
            self._context.warn(f"The worker {worker.name} has gone; what it had goes to others.")

    def _drop(self, remote: RemoteDevice) -> None:
        self._take_back(remote)
        self._devices.remove(remote)
        self._writer.planner.n_executors = max(1, len(self._devices))

    def _take_back(self, remote: RemoteDevice) -> None:
        units = remote.withdraw()
        self._writer.planner.give_back(units, remote.cutter)
        self._writer.forget(units)

    def _submit(self) -> bool:
        """Send units to all devices that want some; return whether there were none."""
        is_given, is_busy = False, True
        while is_busy:
            is_busy = False
            for remote in self._devices:
                if not remote.wants_more:
                    continue
                units = self._writer.planner.take_several(self._writer.run, remote.cutter, TASK_SECONDS, MAX_TOGETHER)
                for unit in units:
                    if unit.is_end:
                        self._finalizers.begin(unit, remote.cutter)
                if not self._send(remote, [unit for unit in units if not unit.is_end]):
                    return False  # it would get the same units again, until its worker is known to be gone
                is_given, is_busy = is_given or bool(units), is_busy or bool(units)
            self._context.check()
        if self._payloads is not None and not self._devices:
            is_given = self._conclude_alone() or is_given
        return (
            not is_given and self._payloads is not None
        )  # a slow device may still compute what others have done sooner

    def _conclude_alone(self) -> bool:
        """Begin with the end of a query, which needs no worker; return whether there was one."""
        unit = self._writer.planner.take_end(self._writer.run, self._no_cutter)
        if unit is not None:
            self._finalizers.begin(unit, self._no_cutter)
        return unit is not None

    def _send(self, remote: RemoteDevice, units: Sequence[Unit], after: Sequence[Task] = ()) -> bool:
        """Send units; take them back and return False if that fails."""
        if not units:
            return True
        try:
            remote.send(units, after)
        except OSError:
            if not self._connection.is_alive:
                raise
            self._writer.planner.give_back(units, remote.cutter)
            self._looked = 0.0  # its worker has gone
            return False
        return True

    def _pick(self) -> Device:
        with suppress(DeviceNotFound):  # the words are for the workers
            return self._pick_device(self._words)
        return self._pick_device("auto")

    def _receive(self) -> None:
        """Store the results of finished tasks."""
        if self._payloads is None:
            time.sleep(CHECK_SECONDS)
            return
        answers = []
        with suppress(Empty):
            answers.append(self._payloads.answers.get(timeout=CHECK_SECONDS))
            while True:
                answers.append(self._payloads.answers.get_nowait())
        answers = [(remote, future) for remote, future in answers if future in remote.out]
        done = {future: remote.worker.address for remote, future in answers if future.status == "finished"}
        values = self._connection.gathered(done)
        for remote, future in answers:
            units = remote.take(future)  # none if they were taken back because of an earlier answer
            value = values.get(future)
            self._take_answers(
                remote, units, [_failure_of(future)] * len(units) if value is None or not units else pickle.loads(value)
            )
        for unit, cutters, storing in self._finalizers.done():
            for cutter in cutters:
                self._writer.planner.delivered([(unit, 0.0)], cutter)
            self._writer.store_end(unit, storing)

    def _take_answers(
        self, remote: RemoteDevice, units: Sequence[Unit], values: Sequence[tasks.Found | Failure]
    ) -> None:
        """Store the results of a task; send units again that were not computed, or handle the failure of the device."""
        answers = list(zip(units, values, strict=True))
        found = [(unit, value) for unit, value in answers if isinstance(value, tasks.Found)]
        failed = [(unit, value) for unit, value in answers if isinstance(value, Failure)]
        if found:
            self._store(remote, found)
        if not failed:
            return
        units = [unit for unit, _ in failed]
        unit, worst = next((one for one in failed if one[1].kind not in RETRIED), failed[0])
        if worst.kind in RETRIED and remote.n_retries > MAX_RETRIES:
            worst = Failure("device", "It does not keep what it is sent.")
        if worst.kind in RETRIED:
            self._send_again(remote, failed)
            return
        self._writer.planner.give_back([one for one in units if one is not unit], remote.cutter)
        self._fail(remote, unit, worst)

    def _send_again(self, remote: RemoteDevice, failed: Sequence[tuple[Unit, Failure]]) -> None:
        remote.n_retries += 1
        self._looked = 0.0  # its worker may have gone
        if any(failure.kind == "forgotten" for _, failure in failed):
            remote.worker.forget_all()
        remote.worker.forget(("cancelled", "lost", "error"))
        missing = dict.fromkeys((failure.shards[0], one) for _, failure in failed for one in failure.shards[1])
        anew = [one for number, shard in missing for one in remote.worker.send_shards(number, [shard], is_anew=True)]
        self._send(remote, [unit for unit, _ in failed], anew)

    def _store(self, remote: RemoteDevice, found: Sequence[tuple[Unit, tasks.Found]]) -> None:
        writer, device = self._writer, named(remote.device, remote.worker.name)
        remote.n_retries = 0
        remote.measure(sum(one.result.seconds for _, one in found))
        writer.planner.delivered([(unit, one.result.cells) for unit, one in found], remote.cutter)
        finished = []
        for unit, one in found:
            result = one.result
            for text in one.warnings:
                self._warn(text)
            remote.cutter.measure(result.cells, result.seconds)
            finished.append(Finished(unit, result, one.hits_of))
        writer.store(finished, device)
        for unit, _ in found:
            if self._payloads is not None and not unit.query.n_left:
                self._payloads.done_with(unit.query.number)

    def _fail(self, remote: RemoteDevice, unit: Unit, failure: Failure) -> None:
        """Continue without a device that fails, or with smaller units; raise errors that no device causes."""
        if failure.kind in ("error", "fault"):
            self._writer.planner.give_back([unit], remote.cutter)
            raise failure.error(f"worker {remote.worker.name}")
        is_smaller = failure.kind == "memory" and remote.cutter.shrink(unit.first, unit.last)
        self._writer.planner.give_back([unit], remote.cutter)
        self._take_back(remote)
        name = f"{remote.device.name} of the worker {remote.worker.name}"
        if is_smaller:
            self._context.warn(f"{name} has too little free memory; going on with smaller batches.")
            return
        remote.n_failures += 1
        if remote.n_failures < 2:
            self._warn(f"{failure.message} What was not finished is tried once more ({name}).")
            return
        self._drop(remote)
        if not self._devices:
            raise DeviceError(failure.message, f"It failed twice; the cluster has no other device. {failure.hint}")
        self._warn(f"{failure.message} The others go on without {name}.")


def _failure_of(future: Task) -> Failure:
    """Return why a task failed; if nothing is known, its worker has gone, which will be found out."""
    error = future.exception(timeout=END_SECONDS) if future.status == "error" else None
    if error is None or type(error).__module__.startswith("distributed"):
        return Failure("again")
    return Failure("device", f"{type(error).__name__}: {error}")
