"""Runs on the workers of a cluster: what one device finds, whoever comes, goes, or is of another kind."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clalign.execution.cluster import connecting, shards

sys.path.insert(0, str(Path(__file__).parent))
from crews import EVERY_ENGINE, Devices, computed, content, exports, small_units, spec_of


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers, which are started again when they end."""
    with connecting.Connection("local:2") as connection:
        yield connection


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_units(monkeypatch)
    monkeypatch.setattr(shards, "SHARD_RESIDUES", 1000)


def test_what_has_gone_with_its_worker_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else may compute it again, so that it would never come."""
    monkeypatch.setattr(connecting, "GATHER_SECONDS", 0.5)
    library, found = connecting.loaded(), list[object]()
    with library.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as workers:
        connection = connecting.Connection(workers.scheduler_address)
        with connection:
            gone, stays = workers.workers.values()
            lost, kept = (
                connection.client.submit(abs, -number, workers=[one.address], allow_other_workers=False, pure=False)
                for number, one in enumerate((gone, stays))
            )
            assert [lost.result(timeout=60), kept.result(timeout=60)] == [0, 1]
            workers.sync(gone.close, nanny=False)
            getting = threading.Thread(target=lambda: found.append(connection.gathered([lost, kept])), daemon=True)
            getting.start()
            getting.join(60)
            assert found == [{kept: 1}]


def run_on(address: str, engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch, context: Any = None) -> Path:
    """Return a run that the workers of a cluster have computed; its inputs are in the folder."""
    path = folder / "cluster" / "run.clalign"
    path.parent.mkdir(exist_ok=True)
    devices = Devices(monkeypatch)
    words = "cpu" if devices.real.kind == "cpu" else "auto"
    spec = spec_of(engine, folder).on(f"{words}@{address}")
    computed(spec, path, devices, (spec.to_dict()["device"],), context)
    return path


def run_here(engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = folder / "one" / "run.clalign"
    path.parent.mkdir()
    computed(spec_of(engine, folder), path, Devices(monkeypatch), ("one",))
    return path


def written(path: Path, folder: Path) -> dict[str, str]:
    """Return the exports of a run without the options that name devices."""
    return {name: re.sub(r" --(device|cluster) \S+", "", text) for name, text in exports(path, folder).items()}


@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_workers_find_what_one_device_finds(
    engine: str, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.client.scheduler.address
    found = run_on(address, engine, tmp_path, monkeypatch)
    one = run_here(engine, tmp_path, monkeypatch)
    assert content(found) == content(one)
    assert written(found, tmp_path / "of the cluster") == written(one, tmp_path / "of one")
