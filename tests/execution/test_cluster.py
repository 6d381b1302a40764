"""Runs on the workers of a cluster: what one device finds, whoever comes, goes, or is of another kind."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clalign
from clalign.compute.opencl import choice
from clalign.engines.engine import engine_named
from clalign.errors import DeviceError, DeviceNotFound, OptionError
from clalign.execution.cluster import connection as connections
from clalign.execution.cluster import finalizers, job, shards, worker_clients
from clalign.execution.job import Task
from clalign.runs.run_file import create_run
from clalign.values.alphabets import AMINO
from clalign.values.sequences import Sequence
from tests.computing import database_of

sys.path.insert(0, str(Path(__file__).parents[2]))  # workers import what the jobs of tests hold
sys.path.insert(0, str(Path(__file__).parent))
from device_runs import (
    EVERY_ENGINE,
    WAIT,
    Counting,
    Devices,
    Expected,
    computed,
    content,
    exports,
    small_units,
    spec_of,
)

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import dask  # takes long to load

    with connections.Connection("local:2") as connection:  # two workers, which are started again when they end
        keys = connection.client.security
        files = {"ca-file": keys.tls_ca_file, "client.cert": keys.tls_client_cert, "client.key": keys.tls_client_key}
        with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in files.items()}):
            yield connection


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_units(monkeypatch)
    monkeypatch.setattr(shards, "SHARD_RESIDUES", 1000)
    monkeypatch.setattr(worker_clients, "LARGE_BYTES", 2**15)


def test_workers_on_this_machine_have_the_environment_of_now(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they are forked off is as old as the first ones, and had another part of the cores."""
    monkeypatch.setattr(connections, "n_cores", lambda: 6)
    monkeypatch.setenv("CLALIGN_CACHE_LIMIT", "123 MB")
    monkeypatch.delenv(connections.CORES, raising=False)
    with connections.Connection("local:2") as connection:
        workers = connection.workers()
        for name, value in ("CLALIGN_CACHE_LIMIT", "123 MB"), (connections.CORES, "3"):
            assert connection.asked(os.getenv, name, workers=workers) == dict.fromkeys(workers, value)
    assert connections.CORES not in os.environ


def run_on(
    address: str, engine: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: Any = None
) -> Path:
    """Return a run that the workers of a cluster have computed, or gone on with; its inputs are in the folder."""
    path = tmp_path / "run.clalign"
    devices = Devices(monkeypatch)
    words = "cpu" if devices.real.kind == "cpu" else "auto"
    spec = spec_of(engine, folder).on(f"{words}@{address}")
    computed(spec, path, devices, (spec.to_dict()["device"],), context)
    return path


def without_devices(written: dict[str, str]) -> dict[str, str]:
    """Return exports without the options that name devices."""
    return {name: re.sub(r" --(device|cluster) \S+", "", text) for name, text in written.items()}


def same_as_one_device(engine: str, found: Path, expected: Expected, tmp_path: Path) -> None:
    assert content(found) == expected(engine)[0]
    assert without_devices(exports(found, tmp_path / "exports")) == without_devices(expected(engine)[1])


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_workers_find_what_one_device_finds(
    engine: str, cluster: Any, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run_on(address_of(cluster), engine, folder, tmp_path, monkeypatch)
    same_as_one_device(engine, found, expected, tmp_path)


def address_of(cluster: Any) -> str:
    return str(cluster.client.scheduler.address)


@pytest.mark.parametrize("engine", ["hmmer2", "fitted"])
def test_what_a_killed_worker_had_goes_to_others_and_the_one_in_its_place_takes_part(
    engine: str, cluster: Any, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit, take = job.ClusterJob._submit, worker_clients.RemoteDevice.take
    until, before, at_work = time.monotonic() + WAIT, set(cluster.workers()), set[str]()

    def kill() -> None:
        os.kill(next(iter(cluster.client.run(os.getpid).values())), signal.SIGKILL)

    def submit_when_it_is_there(self: job.ClusterJob) -> bool:
        """Give nothing from the death of the worker until the one in its place has come."""
        there = {remote.worker.address for remote in self._devices}
        if context.left > 0 or (len(there) == 2 and there != before) or time.monotonic() > until:
            return submit(self)
        return False

    def note_and_take(self: worker_clients.RemoteDevice, future: Any) -> Any:
        at_work.add(self.worker.address)
        return take(self, future)

    monkeypatch.setattr(job.ClusterJob, "_submit", submit_when_it_is_there)
    monkeypatch.setattr(worker_clients.RemoteDevice, "take", note_and_take)
    monkeypatch.setattr(job, "MAX_TOGETHER", 1)  # or the one that is left could have all the rest in one task
    context = Counting(3, kill)
    found = run_on(address_of(cluster), engine, folder, tmp_path, monkeypatch, context)
    same_as_one_device(engine, found, expected, tmp_path)
    assert [text for text in context.texts if "has gone" in text]
    assert at_work - before, "the one in its place has computed as well"


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
@pytest.mark.parametrize("engine", ["hmmer2", "fitted"])
def test_a_worker_that_hangs_holds_nobody_up(
    engine: str, cluster: Any, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that is stopped may have shards that the other waits for, and results that were not fetched."""
    stopped = list[int]()

    def stop() -> None:
        stopped.append(next(iter(cluster.client.run(os.getpid).values())))
        os.kill(stopped[0], signal.SIGSTOP)

    monkeypatch.setattr(connections, "SILENT_SECONDS", 3.0)
    monkeypatch.setattr(job, "MAX_TOGETHER", 1)
    try:
        found = run_on(address_of(cluster), engine, folder, tmp_path, monkeypatch, Counting(3, stop))
    finally:
        for process in stopped:
            os.kill(process, signal.SIGCONT)
    assert stopped
    same_as_one_device(engine, found, expected, tmp_path)


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Devices]]:
    """The address of a worker in this process, and its devices."""
    import distributed

    devices = Devices(monkeypatch)
    monkeypatch.setattr(choice, "pick_devices", lambda words: ([devices.pick(words)], []))
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster, set_as_default=False):
        yield cluster.scheduler_address, devices


def run_at_hand(
    engine: str, words: str, at_hand: tuple[str, Devices], folder: Path, tmp_path: Path, context: Counting
) -> Path:
    path = tmp_path / "run.clalign"
    spec = spec_of(engine, folder).on(f"{words}@{at_hand[0]}")
    computed(spec, path, at_hand[1], (words,), context)
    return path


@pytest.mark.thorough(engine=["pairs"])
@pytest.mark.parametrize("engine", ["hmmer2", "pairs"])
def test_units_for_a_worker_with_little_memory_are_cut_smaller(
    engine: str, at_hand: tuple[str, Devices], expected: Expected, folder: Path, tmp_path: Path
) -> None:
    context = Counting()
    found = run_at_hand(engine, "tight", at_hand, folder, tmp_path, context)
    same_as_one_device(engine, found, expected, tmp_path)
    assert any("memory" in text for text in context.texts)


def test_a_device_that_fails_twice_ends_the_job_where_it_is_the_only_one(
    at_hand: tuple[str, Devices], folder: Path, tmp_path: Path
) -> None:
    context = Counting()
    with pytest.raises(DeviceError, match="cable is loose"):
        run_at_hand("sw", "breaking at 1", at_hand, folder, tmp_path, context)
    assert [text for text in context.texts if "tried once more" in text]


def test_a_dry_run_asks_workers_for_their_devices(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = Devices(monkeypatch)
    spec = spec_of("sw", tmp_path).on(f"reference@{address_of(cluster)}")
    with create_run(tmp_path / "run.clalign", engine="pairwise", spec=spec.to_dict(), state="new") as run:
        found = engine_named("pairwise").dry_run(Task(run, spec, devices.pick, Counting()))
    assert {device["id"] for device in found["devices"]} == {f"{name}/reference" for name in cluster.workers().values()}
    assert devices.opened == [], "here"
    assert found["are_workers"]
    assert found["seconds"] > 0
    assert all(device["memory_bytes"] > 1e7 for device in found["devices"])


def test_a_scheduler_lost_in_a_dry_run_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import dask
    import distributed

    gathered = connections.Connection.gathered

    def lose(self: connections.Connection, futures: Any) -> Any:
        workers.close()
        return gathered(self, futures)

    monkeypatch.setattr(connections.Connection, "gathered", lose)
    devices = Devices(monkeypatch)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s", "distributed.comm.retry.count": 0}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as workers,
    ):
        spec = spec_of("sw", tmp_path).on(f"reference@{workers.scheduler_address}")
        with (
            create_run(tmp_path / "run.clalign", engine="pairwise", spec=spec.to_dict(), state="new") as run,
            pytest.raises(DeviceError, match="scheduler"),
        ):
            engine_named("pairwise").dry_run(Task(run, spec, devices.pick, Counting()))


@pytest.mark.parametrize("engine", ["fitted", "align"])
def test_the_last_ends_need_no_worker(
    engine: str,
    at_hand: tuple[str, Devices],
    expected: Expected,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The only one goes while they are computed at home."""
    compute, see, begun = finalizers.Finalizers._compute, job.ClusterJob._see_whether_any_is_left, list[int]()
    is_lost, is_seen = threading.Event(), threading.Event()

    def compute_alone(self: finalizers.Finalizers, query: Any) -> Any:
        begun.append(query.number)
        queries, phases = self._plan.queries, self._plan.phases
        if query.number == queries[-1] if phases is not None else len(begun) == len(queries):
            is_lost.set()
            assert is_seen.wait(WAIT)
        return compute(self, query)

    def see_them_gone(self: job.ClusterJob) -> None:
        if is_lost.is_set():
            monkeypatch.setattr(job, "WAIT_SECONDS", -1.0)
        try:
            see(self)
        finally:
            if not self._devices and is_lost.is_set():
                is_seen.set()

    def workers(self: connections.Connection) -> dict[str, str]:
        return {} if is_lost.is_set() else there(self)

    there = connections.Connection.workers
    monkeypatch.setattr(connections.Connection, "workers", workers)
    monkeypatch.setattr(finalizers.Finalizers, "_compute", compute_alone)
    monkeypatch.setattr(job.ClusterJob, "_see_whether_any_is_left", see_them_gone)
    found = run_at_hand(engine, "one", at_hand, folder, tmp_path, Counting())
    assert is_seen.is_set()
    same_as_one_device(engine, found, expected, tmp_path)


def test_workers_with_another_version_are_refused_and_both_are_named(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = clalign.__version__
    monkeypatch.setattr(clalign, "__version__", "0.0.1")
    with pytest.raises(DeviceNotFound, match=f"has clalign {re.escape(here)}, and here is 0.0.1") as caught:
        run_on(address_of(cluster), "sw", tmp_path, tmp_path, monkeypatch)
    assert "pip install" in caught.value.hint


def test_a_late_worker_with_another_version_is_left_out(
    cluster: Any, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, first = connections.Connection.unlike, next(iter(cluster.workers()))

    def unlike(self: connections.Connection, workers: Any) -> Any:
        return {worker: ("it has clalign 9", "") for worker in workers if worker == first} | real(self, [])

    monkeypatch.setattr(connections.Connection, "unlike", unlike)
    monkeypatch.setattr(connections.Connection, "check_versions", lambda self: None)
    context = Counting()
    found = run_on(address_of(cluster), "sw", folder, tmp_path, monkeypatch, context)
    same_as_one_device("sw", found, expected, tmp_path)
    assert [text for text in context.texts if "it has clalign 9" in text]


def test_without_dask_the_message_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OptionError, match="Dask") as caught:
        run_on("local:2", "sw", tmp_path, tmp_path, monkeypatch)
    assert "pip install 'clalign[cluster]'" in caught.value.hint


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "none.json"])
def test_a_scheduler_that_is_not_there_is_reported(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 0.5)
    with pytest.raises(DeviceNotFound, match=address):
        run_on(address, "sw", tmp_path, tmp_path, monkeypatch)


def test_a_database_in_shards_reads_like_a_whole_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_RESIDUES", 200)
    chance = np.random.default_rng(5)
    given = [Sequence.from_text(f"s{n}", "ACDEF" * int(chance.integers(0, 20)), f"what {n} is") for n in range(40)]
    whole = database_of(given, AMINO)
    outline = shards.Outline.of(whole)
    assert outline.n_shards > 5
    held = shards.Shards(3, outline)
    digests = [shards.digest_of_shard(whole, outline, number) for number in range(outline.n_shards)]
    for number, digest in enumerate(digests):
        shards.keep_shard(digest, shards.packed_shard(whole, outline, number))
    held.held[2] = shards.opened_shard(digests[2]) or {}
    first, last = outline.rows[2:4].tolist()
    assert held.database.batch(first, last).codes.tolist() == whole.batch(first, last).codes.tolist()
    assert (len(held.database), held.database.n_residues) == (len(whole), whole.n_residues)
    with pytest.raises(shards.MissingShards) as missing:
        held.database.batch(first, last + 1)
    assert missing.value.shards == [3]
    held.held.update({number: shards.opened_shard(digest) or {} for number, digest in enumerate(digests)})
    for name in shards.FILES:
        assert np.array_equal(getattr(held.database, name), getattr(whole, name)[:]), name
    for name in shards.FILES:
        places = np.random.default_rng(6).integers(-5, len(getattr(whole, name)), (4, 25))
        assert np.array_equal(getattr(held.database, name)[places], getattr(whole, name)[:][places]), name
    with pytest.raises(IndexError):
        held.database.order[np.array([0, 40])]
    some = np.array([0, 7, 39])
    assert held.database.select(some).codes.tolist() == whole.select(some).codes.tolist()
    assert [held.database.header(row) for row in range(40)] == [whole.header(row) for row in range(40)]
    (shards.shard_folder() / digests[0]).write_bytes(b"{}")
    assert shards.opened_shard(digests[0]) is None, "damaged, so it is removed and sent again"
    assert not (shards.shard_folder() / digests[0]).exists()
