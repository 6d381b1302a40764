"""Workers on this machine: nobody else who uses it reaches them, and they leave nothing behind."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from clalign.errors import ExitCode, OptionError
from clalign.execution.cluster import connection as connections
from clalign.execution.cluster import local_cluster
from clalign.formats import scratch
from clalign.system.processes import own_command

PATIENCE = 300.0
"""Seconds that anything may take on a busy machine before it counts as hanging."""

VISITOR = """
import asyncio, concurrent.futures, http.client, itertools, json, os, ssl, sys, urllib.request
import distributed

PAGES = ("info/main/workers.html", "json/counts.json", "metrics", "health")
SECONDS = 5

async def met(scheme, port):
    unproven = ssl.create_default_context()
    unproven.check_hostname, unproven.verify_mode = False, ssl.CERT_NONE
    how = {"ssl_context": unproven} if scheme == "tls" else {}
    comm = await distributed.comm.connect(f"{scheme}://127.0.0.1:{port}", timeout=SECONDS, **how)
    await comm.write({"op": "identity", "reply": True})
    return (await comm.read())["type"]

async def connected(scheme, port):
    try:
        return [[scheme, port, await asyncio.wait_for(met(scheme, port), 2 * SECONDS)]]
    except Exception:
        return []

async def all_connected(ports):
    return sum(await asyncio.gather(*itertools.starmap(connected, itertools.product(("tcp", "tls"), ports))), [])

def shown(asked):
    try:
        with urllib.request.urlopen("http://127.0.0.1:%s/%s" % asked, timeout=SECONDS) as page:
            return [[*asked, page.status]]
    except (OSError, http.client.HTTPException):
        return []

def is_readable(path):
    try:
        os.listdir(path) if os.path.isdir(path) else open(path).close()
    except OSError:
        return False
    return True

ports, paths = json.loads(sys.argv[1])
with concurrent.futures.ThreadPoolExecutor(32) as pool:
    pages = sum(pool.map(shown, itertools.product(ports, PAGES)), [])
told = {"connected": asyncio.run(all_connected(ports)), "pages": pages, "readable": list(filter(is_readable, paths))}
print(json.dumps(told), flush=True)
os._exit(0)
"""
"""Tries to connect to every port as a client of Dask would that has no key, to read pages, and to read files."""


def listening() -> set[int]:
    """Return the ports on which this process and all that it has started wait for others."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return {one.laddr.port for process in family for one in process.net_connections("tcp") if one.status == "LISTEN"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[tuple[Any, set[int]]]:
    """A worker on this machine, and the ports of its scheduler, nanny and worker."""
    before = listening()
    with connections.Connection("local:1") as connection:
        while not connection.workers():
            time.sleep(0.05)
        yield connection, listening() - before


def visit(cluster: tuple[Any, set[int]], command: list[str], paths: list[str]) -> dict[str, Any]:
    """Return what somebody reaches who runs a command without the keys, of a scheduler as well that asks for none."""
    library = connections.loaded()
    with library.LocalCluster(n_workers=0, processes=False, protocol="tcp", dashboard_address="127.0.0.1:0") as unsafe:
        port = int(unsafe.scheduler_address.rpartition(":")[2])
        asked = json.dumps([[*sorted(cluster[1]), port], paths])
        done = subprocess.run(
            [*command, sys.executable, "-c", VISITOR, asked], cwd="/", stdout=subprocess.PIPE, text=True, check=True,
            timeout=PATIENCE,
        )  # fmt: skip
        messages: dict[str, Any] = json.loads(done.stdout)
        assert ["tcp", port, "Scheduler"] in messages["connected"], "the visitor knows how to connect"
    messages["connected"].remove(["tcp", port, "Scheduler"])
    return messages


@pytest.mark.thorough
def test_nobody_without_the_keys_is_let_in(cluster: tuple[Any, set[int]]) -> None:
    connection, ports = cluster
    schemes = {address.partition("://")[0] for address in connection.workers()}
    assert schemes | {connection.client.scheduler.address.partition("://")[0]} == {"tls"}
    assert len(ports) >= 5, "scheduler, nanny and worker each have one; scheduler and worker one for pages, too"
    assert visit(cluster, [], []) == {"connected": [], "pages": [], "readable": []}
    keys = connection.client.security
    for path in (keys.tls_client_key, keys.tls_worker_key, keys.tls_scheduler_key):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(Path(path).parent).st_mode) == 0o700


@pytest.mark.thorough
def test_another_user_gets_nothing(cluster: tuple[Any, set[int]], second_user: list[str]) -> None:
    key = Path(cluster[0].client.security.tls_client_key)
    shared = str(key.parent.parent)
    messages = visit(cluster, second_user, [str(key), str(key.parent), shared])
    assert messages == {"connected": [], "pages": [], "readable": [shared]}


def test_without_the_package_that_makes_keys_the_message_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(OptionError) as caught:
        local_cluster.keys_in(tmp_path)
    assert "cryptography" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for temporary files with a short name, as usual."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.thorough(how=["done"])
@pytest.mark.parametrize("how", ["done", "deep", "SIGINT", "SIGTERM", "SIGKILL"])
def test_nothing_is_left_of_workers_on_this_machine(how: str, tmp_path: Path, folder: Path) -> None:
    """However the command ends: where it is killed, its worker ends after it."""
    if how == "deep":
        folder = folder / ("deep" * 20)
        folder.mkdir()
    queries = tmp_path / "queries.fa"
    queries.write_text(">q\nMKVLATGHEAGAWGHEE\n")
    words = ["sw", "-q", "--cluster", "local:1", "--device", "reference", "--run", str(tmp_path / "x.clalign")]
    command = own_command(*words, "-o", str(tmp_path / "out"), str(queries), str(queries))
    with subprocess.Popen(command, env={**os.environ, "TMPDIR": str(folder)}) as process:
        if how.startswith("SIG"):
            wait_until(lambda: bool(list(folder.glob("*/key"))))
            process.send_signal(getattr(signal, how))
        process.wait(PATIENCE)
    wait_until(lambda: not list(folder.iterdir()))
    codes = {
        "done": ExitCode.DONE,
        "deep": ExitCode.DONE,
        "SIGINT": ExitCode.INTERRUPTED,
        "SIGTERM": ExitCode.TERMINATED,
        "SIGKILL": -9,
    }
    assert process.returncode == codes[how]
    if process.returncode == ExitCode.DONE:
        assert "MKVLATGHEAGAWGHEE" in (tmp_path / "out").read_text()


def wait_until(is_so: Any) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.05)


@pytest.mark.thorough
def test_what_a_killed_worker_leaves_is_removed_by_a_later_start(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the folder of the process that workers are forked off."""
    words = "from clalign.execution.cluster import connection as c; import time\nif __name__ == '__main__':\n"
    code = tmp_path / "code.py"
    code.write_text(
        f"{words}    with c.Connection('local:1'):\n        print(1, flush=True)\n        time.sleep(600)\n"
    )
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen([sys.executable, str(code)], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        family = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    assert psutil.wait_procs(family, PATIENCE)[1] == []
    assert list(folder.iterdir())
    monkeypatch.setattr(scratch, "MIN_ORPHAN_SECONDS", 0.0)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    scratch.remove_orphans()
    assert list(folder.iterdir()) == []
