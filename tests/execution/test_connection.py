"""Addresses of clusters that make no sense, or where no scheduler answers, are told of before anything is started."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clalign.cli.options import device_of
from clalign.errors import Cancelled, DeviceNotFound, OptionError
from clalign.execution.cluster import connection as connections
from clalign.values.devices import cluster_of


@pytest.mark.parametrize("text", ["", "[1]", "[" * 100_000, '{"workers": {}}', '{"address": "tcp://127.0.0.1:9"'])
def test_a_file_that_no_scheduler_wrote_is_reported(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(DeviceNotFound, match=path.name), connections.Connection(str(path)):
        pass


@pytest.mark.parametrize(
    ("shown", "seconds", "words"),
    [
        (b"", 0.5, "says nothing"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", 15.0, "another language"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 15.0, "another language"),
    ],
)
def test_what_is_no_scheduler_is_not_waited_for(
    shown: bytes, seconds: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was stopped, or another program behind that port."""
    monkeypatch.setattr(connections, "CONNECT_SECONDS", seconds)
    taken = list[socket.socket]()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                taken.append(server.accept()[0])
                taken[-1].sendall(shown)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(DeviceNotFound, match=words), connections.Connection(address):
            pass
        for one in taken:
            one.close()


@pytest.mark.parametrize("address", ["local:0", "local:257", "local:99999999999"])
def test_no_workers_and_too_many_are_refused_before_any_is_started(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_local", lambda *_: pytest.fail("they were started"))
    with pytest.raises(OptionError, match="workers") as caught, connections.Connection(address):
        pass
    assert "from 1 to 256" in caught.value.hint
    assert connections.n_local("local:256") == 256
    assert connections.n_local("tcp://local:1") is None


@pytest.mark.parametrize("address", ["", "local", "local:x", "local:-1", "local:1.5", "host:8786", "http://host:8786"])
def test_what_is_no_address_is_refused(address: str) -> None:
    """An empty variable of a script as well: the search would run here."""
    with pytest.raises(OptionError, match="address"):
        device_of(SimpleNamespace(device=None, cluster=address))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of one that has no workers."""
    library = connections.loaded()
    with library.LocalCluster(n_workers=0, processes=False, dashboard_address="127.0.0.1:0") as cluster:
        yield cluster.scheduler_address


class Hanging:
    """A scheduler that answers when it may."""

    def __init__(self) -> None:
        self.may_answer = False

    async def identity(self, **_: object) -> dict[str, Any]:
        while not self.may_answer:
            await asyncio.sleep(0.01)
        return {"workers": {"tcp://host:1": {"name": "one"}}}


def test_a_job_can_be_stopped_while_the_scheduler_hangs(scheduler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STUCK_SECONDS", 0.1)

    def check() -> None:
        if connection.is_silent:
            raise Cancelled

    connection = connections.Connection(scheduler, check)
    with connection, monkeypatch.context() as patch:
        patch.setattr(connection.client, "scheduler", Hanging())
        with pytest.raises(Cancelled):
            connection.workers()
        assert connection.is_silent, "its workers are told nothing"


def test_a_job_can_be_stopped_while_nobody_says_that_it_is_a_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 3600.0)  # it would wait so long
    began = time.monotonic()

    def check() -> None:
        if time.monotonic() - began > 3 * connections.CHECK_SECONDS:
            raise Cancelled

    with (
        socket.create_server(("127.0.0.1", 0)) as server,  # whose queue takes the connection
        pytest.raises(Cancelled),
        connections.Connection(f"tcp://127.0.0.1:{server.getsockname()[1]}", check),
    ):
        pass


def test_what_has_gone_with_its_worker_is_not_waited_for() -> None:
    """Nobody else may compute it again, so that it would never come."""
    library, found = connections.loaded(), list[object]()
    with library.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as workers:
        connection = connections.Connection(workers.scheduler_address)
        with connection:
            gone, stays = workers.workers.values()
            lost, kept = (
                connection.client.submit(abs, -number, workers=[one.address], allow_other_workers=False, pure=False)
                for number, one in enumerate((gone, stays))
            )
            assert [lost.result(timeout=60), kept.result(timeout=60)] == [0, 1]
            workers.sync(gone.close, nanny=False)
            asked = {lost: gone.address, kept: stays.address}
            getting = threading.Thread(target=lambda: found.append(connection.gathered(asked)), daemon=True)
            getting.start()
            getting.join(60)
            assert found == [{kept: 1}]


def test_words_for_a_cluster() -> None:
    assert cluster_of("tcp://host:8786") == ("auto", "tcp://host:8786")
    assert cluster_of("gpus@tls://host:8786") == ("gpus", "tls://host:8786")
    assert cluster_of("Xeon(R) @ 2.4@local:4") == ("Xeon(R) @ 2.4", "local:4")
    assert cluster_of("/common disk/scheduler.json") == ("auto", "/common disk/scheduler.json")
    assert not any(map(cluster_of, ("gpus", "0:1", "local", "Xeon(R) CPU @ 2.40GHz", "0:0,0:1", "local:x")))
