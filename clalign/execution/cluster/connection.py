"""The connection to a cluster: its scheduler, its workers, and whether they have what a job needs."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import clalign
from clalign.compute.opening import CHECK_SECONDS
from clalign.compute.sessions import Check, no_check
from clalign.errors import Cancelled, DeviceError, DeviceNotFound, OptionError
from clalign.execution.cluster import local_cluster
from clalign.formats.scratch import Scratch
from clalign.formats.small_files import read_small_json
from clalign.system.bounds import n_cores

if TYPE_CHECKING:
    from distributed import Client, LocalCluster
    from distributed import Future as _Future

    Task = _Future[Any]
    """The future of a task of Dask."""


CONNECT_SECONDS = 15
"""Timeout for connecting to a scheduler (s)."""

SILENT_SECONDS = 10.0
"""Time without an answer of the scheduler after which the user is warned (s); a worker from which the scheduler has got
no message for this time hangs, and gets nothing until there is one again."""

STUCK_SECONDS = 1.0
"""Time without an answer after which a job that is stopped asks nothing more (s)."""

LOOKING_SECONDS = 120.0
"""Timeout for a worker to find its devices (s)."""

MAX_LOCAL = 256
"""Workers on this machine at most."""

ALIKE = {"clalign": 4, "python": 2, "numpy": 2, "dask": 4, "distributed": 4, "cloudpickle": 1}
"""Packages whose versions must be the same here and at a worker, and how many parts of the version number count."""

ALSO = ("cloudpickle", "pyopencl")

INSTALL = "pip install 'clalign[cluster]'"

CORES = "POCL_MAX_PTHREAD_COUNT"
"""The variable by which each worker on this machine has its part of the cores."""

Versions = Mapping[str, Mapping[str, str | None]]

Answer = TypeVar("Answer")


class WorkersGone(Exception):
    """Workers that are waited for have gone, or hang."""


class Heartbeats:
    """How long each worker of a scheduler has been silent.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._looked = clock, clock()
        self._last_seen: dict[str, tuple[float, float]] = {}

    def hanging(self, seen: Mapping[str, float]) -> set[str]:
        """Return the workers that hang, given the time of the last message of each by the clock of the scheduler."""
        now, most = self._clock(), SILENT_SECONDS / 4
        passed, self._looked = (
            min(now - self._looked, most),
            now,
        )  # a scheduler that did not answer got no messages either
        before, self._last_seen = self._last_seen, {}
        for address, last in seen.items():
            known, silent = before.get(address, (last, -passed))
            self._last_seen[address] = last, silent + passed if last == known else 0.0
        return {address for address, (_, silent) in self._last_seen.items() if silent > SILENT_SECONDS}


def loaded() -> ModuleType:
    """Return the library of Dask.

    Raises
    ------
    OptionError
        If it is not installed.
    """
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise OptionError(
            f"A cluster needs Dask, which is not installed here ({error}).", f"Install it with: {INSTALL}"
        ) from None


class Connection(ExitStack):
    """A context manager that connects to a cluster, and starts workers on this machine if the address asks for them.

    Parameters
    ----------
    address : str
        See `clalign.values.devices.cluster_of`.
    check : callable
        Called during waits, in any thread; it may raise `Cancelled`.
    warn : callable
        Called when the cluster does not answer, and when it does again.

    Attributes
    ----------
    client : distributed.Client
    is_silent : bool
        Whether the scheduler has not answered the last request.
    hanging : set of str
        The workers that hung when the scheduler was last asked for its workers.

    Raises
    ------
    OptionError
        If Dask is not installed, or the address makes no sense.
    DeviceNotFound
        If no scheduler answers.
    """

    def __init__(self, address: str, check: Check = no_check, warn: Callable[[str], None] = lambda text: None) -> None:
        super().__init__()
        self.address, self._check, self._warn = address, check, warn
        self.is_silent = False
        self.hanging: set[str] = set()
        self._heartbeats = Heartbeats()

    def __enter__(self) -> Connection:
        pool = ThreadPoolExecutor(1, "connects to a cluster")
        connecting = pool.submit(self._connect)
        pool.shutdown(wait=False)
        try:
            while not wait([connecting], CHECK_SECONDS).done:
                self._check()
            self.client = connecting.result()
        except BaseException:
            wait([connecting])
            self.close()
            raise
        return self

    def _connect(self) -> Client:
        loaded()
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # jobs warn of what matters themselves
        return self.enter_context(_client(self.address, self, self._check))

    @property
    def is_alive(self) -> bool:
        """Whether the scheduler can be reached."""
        return str(self.client.status) == "running"

    def workers(self) -> dict[str, str]:
        """Return the names of the workers that do not hang, by their addresses.

        Raises
        ------
        DeviceError
            If the scheduler cannot be reached.
        """
        found = self._call_scheduler("identity", n_workers=-1)["workers"]
        now = time.monotonic()
        self.hanging = self._heartbeats.hanging({one: facts.get("last_seen", now) for one, facts in found.items()})
        return {str(one): str(facts.get("name", one)) for one, facts in found.items() if one not in self.hanging}

    def _look(self) -> None:
        """Raise if the job has ended, or if the scheduler has gone."""
        self._check()
        if not self.is_alive:
            raise self.lost()

    def awaited(self, begin: Callable[[], Awaitable[Answer]]) -> Answer:
        """Await a coroutine in the loop of Dask and return its result.

        The library itself would wait without end for a scheduler that hangs.

        Raises
        ------
        DeviceError
            If the scheduler cannot be reached while it is waited for; else what the call raises.
        """

        since, is_reported = time.monotonic(), False
        with self._begin(begin) as answering:
            while not wait([answering], CHECK_SECONDS).done:
                waited = time.monotonic() - since
                self.is_silent = waited > STUCK_SECONDS
                self._look()
                if waited > SILENT_SECONDS and not is_reported:
                    is_reported = True
                    self._warn(
                        f"The cluster ({self.address}) does not answer: its scheduler may hang. It is waited for."
                    )
        self.is_silent = False
        if is_reported:
            self._warn(f"The cluster ({self.address}) answers again.")
        return answering.result()

    def awaited_of(self, workers: Iterable[str], begin: Callable[[], Awaitable[Answer]]) -> Answer:
        """Do the same as `awaited` for a coroutine that needs an answer of some workers.

        Raises
        ------
        WorkersGone
            If one of these goes, or hangs: the scheduler would wait for it without end.
        DeviceError
            If the scheduler cannot be reached while it is waited for; else what the call raises.
        """
        asked, looked = set(workers), time.monotonic()
        with self._begin(begin) as answering:
            while not wait([answering], CHECK_SECONDS).done:
                self._look()
                if time.monotonic() - looked > STUCK_SECONDS:
                    if asked - self.workers().keys():
                        raise WorkersGone
                    looked = time.monotonic()
        return answering.result()

    @contextmanager
    def _begin(self, begin: Callable[[], Awaitable[Answer]]) -> Iterator[Future[Answer]]:
        async def called() -> Answer:
            return await begin()

        answering = asyncio.run_coroutine_threadsafe(called(), self.client.loop.asyncio_loop)  # type: ignore[union-attr]
        try:
            yield answering
        finally:
            answering.cancel()

    def _call_scheduler(self, what: str, **given: object) -> Any:
        """Return the answer of the scheduler; raise `DeviceError` if it cannot be reached."""
        with self._reaching():
            return self.awaited(lambda: getattr(self._scheduler, what)(**given))

    def _call_workers(self, asked: Iterable[str], what: str, /, **given: object) -> Any:
        """Return the answer of the scheduler, which asks some workers; raise also `WorkersGone`."""
        with self._reaching():
            return self.awaited_of(asked, lambda: getattr(self._scheduler, what)(**given))

    @property
    def _scheduler(self) -> Any:
        if self.client.scheduler is None:  # the client has been closed
            raise self.lost()
        return self.client.scheduler

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Raise one error for the many by which Dask says that the scheduler does not answer."""
        try:
            yield
        except (OSError, RuntimeError, TimeoutError, KeyError, CancelledError) as error:
            raise self.lost() from error

    def asked(self, function: Callable[..., Answer], *given: object, workers: Iterable[str]) -> dict[str, Answer]:
        """Call a function on some workers at the same time; return the results by the addresses of the workers.

        Raises
        ------
        DeviceError
            If the scheduler cannot be reached.
        """
        with self._reaching():
            futures = {
                address: self.client.submit(function, *given, workers=[address], allow_other_workers=False, pure=False)
                for address in workers
            }
        until = time.monotonic() + LOOKING_SECONDS
        while any(future.status == "pending" for future in futures.values()) and time.monotonic() < until:
            self._look()
            time.sleep(CHECK_SECONDS)
        found = self.gathered({future: one for one, future in futures.items() if future.status == "finished"})
        return {address: found[future] for address, future in futures.items() if future in found}

    def gathered(self, futures: Mapping[Task, str]) -> dict[Task, Any]:
        """Return the results of finished futures, except of workers that have gone, or hang.

        The library itself would wait until another worker computes them again, which none may.

        Parameters
        ----------
        futures : dict of Future to str
            Each with the address of the worker that has computed it.

        Raises
        ------
        DeviceError
            If the scheduler cannot be reached.
        """
        left = {future.key: future for future in futures}
        while left:
            try:
                answer = self._call_workers(map(futures.__getitem__, left.values()), "gather", keys=list(left))
            except WorkersGone:
                workers = self.workers()
                left = {key: future for key, future in left.items() if futures[future] in workers}
                continue
            if answer["status"] == "OK":
                return {left[key]: value for key, value in answer["data"].items()}
            there = {key: future for key, future in left.items() if key not in answer["keys"]}
            left = (
                there if len(there) < len(left) else {}
            )  # an answer that names no lost keys would be asked for forever
        return {}

    def lost(self) -> DeviceError:
        """Return the error for a scheduler that cannot be reached any more."""
        return DeviceError(
            f"The scheduler of the cluster ({self.address}) cannot be reached any more.",
            "What is finished is kept: continue when it runs again, or on another device.",
        )

    def check_versions(self) -> None:
        """Refuse workers that have other versions than this process.

        Raises
        ------
        DeviceNotFound
            If there are any; both versions are named.
        """
        workers = self.workers()
        for worker, (text, hint) in self.unlike(list(workers)).items():
            raise DeviceNotFound(f"The worker {workers[worker]} ({worker}) cannot take part: {text}.", hint)

    def unlike(self, workers: Sequence[str]) -> dict[str, tuple[str, str]]:
        """Return the differences in the installed packages of workers, and what to do, by their addresses."""
        packages, asked = ["clalign", *ALSO], list(workers)
        given = {"op": "versions", "packages": packages}
        versions: Mapping[str, Versions] | None = None
        while versions is None:
            try:
                versions = self._call_workers(asked, "broadcast", msg=given, workers=asked, on_error="ignore")
            except WorkersGone:
                there = self.workers()
                asked = [worker for worker in asked if worker in there]
        here = _named(_versions_here(packages)) | {"clalign": clalign.__version__}
        return {
            worker: difference
            for worker in asked
            if (difference := _difference(here, _named(versions.get(worker) or {}))) is not None
        }


def _versions_here(packages: Sequence[str]) -> Versions:
    found: Versions = importlib.import_module("distributed.versions").get_versions(packages=packages)
    return found


def _named(versions: Versions) -> dict[str, str | None]:
    return dict(versions.get("packages") or {})


def _difference(here: Mapping[str, str | None], there: Mapping[str, str | None]) -> tuple[str, str] | None:
    """Return the differences in words, and what to do about them."""
    if not there:
        return "it does not say what it has", "Restart it."
    lacking = [name for name in ("clalign", *ALSO) if there.get(name) is None and here.get(name) is not None]
    if lacking:
        return (
            f"it lacks {' and '.join(lacking)}",
            f"Install there: pip install 'clalign[cluster]=={here.get('clalign')}'",
        )
    for name, n in ALIKE.items():
        mine, other = here.get(name) or "", there.get(name) or ""
        if mine.split(".")[:n] != other.split(".")[:n]:
            hint = f'Install the same version on both sides, such as: pip install "{name}=={_short(mine)}"'
            if name == "python":
                hint = "Start workers with the same version of Python as here."
            return f"it has {name} {_short(other)}, and here is {_short(mine)}", hint
    return None


def _short(version: str) -> str:
    return version.removesuffix(".final.0") or "nothing"


def n_local(address: str) -> int | None:
    """Return the number of workers on this machine that an address asks for; None for the address of a scheduler.

    Raises
    ------
    OptionError
        If the number is 0 or too large.
    """
    if not address.startswith("local:"):
        return None
    n = int(address.removeprefix("local:"))
    if not 1 <= n <= MAX_LOCAL:
        raise OptionError(f"{address} asks for {n} workers.", f"Give a number from 1 to {MAX_LOCAL}.")
    return n


def _client(address: str, stack: ExitStack, check: Check) -> AbstractContextManager[Client]:
    import distributed

    n = n_local(address)
    if n is not None:
        return distributed.Client(stack.enter_context(_local(n, stack)), set_as_default=False)
    found = _address_in(address) if address.endswith(".json") else address
    try:
        asyncio.run(_greeted(found, check))
        return distributed.Client(found, timeout=CONNECT_SECONDS, set_as_default=False)
    except Cancelled:
        raise
    except Exception as error:  # a server that is no scheduler may answer anything
        raise DeviceNotFound(
            f"No scheduler of Dask answers at {address} ({_first_line(error)}).",
            "Start one with: dask scheduler; or take workers on this machine: local:4.",
        ) from None


def _address_in(path: str) -> str:
    """Return the address that a scheduler has written into a file."""
    try:
        return str(read_small_json(Path(path))["address"])
    except FileNotFoundError:
        raise DeviceNotFound(f"There is no file {path}.", "Give the one that the scheduler of Dask writes.") from None
    except OSError as error:
        raise DeviceNotFound(f"{path} cannot be read ({_first_line(error)}).", "See who may read it.") from None
    except (ValueError, LookupError, TypeError):
        raise DeviceNotFound(
            f"{path} names no address of a scheduler.",
            "Give the file that is written by: dask scheduler --scheduler-file scheduler.json",
        ) from None


async def _greeted(address: str, check: Check) -> None:
    """Connect, and check that Dask answers, for which the library would wait without end."""
    from distributed import Security
    from distributed.comm.core import connect

    security = Security().get_connection_args("client")
    connecting = asyncio.ensure_future(connect(address, timeout=CONNECT_SECONDS, **security))
    until = time.monotonic() + 2 * CONNECT_SECONDS
    try:
        while not connecting.done():
            check()
            if time.monotonic() > until:
                raise TimeoutError
            await asyncio.wait([connecting], timeout=CHECK_SECONDS)
        connecting.result().abort()
    except MemoryError:  # the first bytes are taken for a number of more
        raise ConnectionError("what answers there speaks another language") from None
    except TimeoutError as error:
        raise TimeoutError(_first_line(error) if str(error) else "it takes the connection and says nothing") from None
    finally:
        connecting.cancel()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def _local(n: int, stack: ExitStack) -> AbstractContextManager[LocalCluster]:
    """Start workers on this machine, which share its cores; other users cannot reach them, or their folder."""
    import distributed

    folder = stack.enter_context(Scratch())
    settings = {**local_cluster.SETTINGS, **local_cluster.starting(), "temporary-directory": str(folder)}
    stack.enter_context(importlib.import_module("dask.config").set(settings))
    cores = os.environ.get(CORES) or str(max(1, n_cores() // n))
    return distributed.LocalCluster(
        n_workers=n, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False}, security=local_cluster.keys_in(folder),
        memory_limit=0, local_directory=str(folder), silence_logs=logging.CRITICAL,
        env={**os.environ, CORES: cores, "TMPDIR": str(folder)},  # as it is now: what they are forked off may be older
    )  # fmt: skip
