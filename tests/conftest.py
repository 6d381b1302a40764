"""What every test shares: the devices of this machine, the folder of real data, and a home of its own.

The session writes into a temporary home, so a test never meets (nor harms) the settings, caches and
runs of the person who started it. The only thing kept between sessions is the driver's own cache of
compiled kernels.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from clalign.compute.sessions import Session
    from clalign.values.devices import Device

SIMULATOR_DRIVER = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
"""A simulated device that looks for data races (Debian package oclgrind)."""

AMD_COMPILER = "clang-16"
"""The compiler whose AMD target checks every kernel where no AMD card is at hand."""

LEFT_OUT = pytest.StashKey[Counter[str]]()
"""How many tests were left out, by what would bring them in."""

HOME_OF_ALL = "CLALIGN_TESTS_HOME"
"""Variable that names the home of the process which started the others of this run."""

OF_LABORATORY = frozenset({"BY_STATE", "LOCAL_SCORES", "EMISSIONS", "LOCAL_ROW"})
"""Macros of kernels that no search and no alignment launches: one of each ladder, and of the orders of memory."""

LEVELS = ("thorough", "exhaustive")
"""Marks of tests that are left out unless an option of this name, or of a later one, is given."""

REQUIREMENTS = ("gpu", "cpu", "amd-compiler", "simulator", "hmmer2", "hmmer3", "fsa", "data")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("clalign")
    group.addoption(
        "--device",
        action="append",
        default=[],
        metavar="ID",
        help="Test only on this device: an id as `clalign devices` shows it, or gpu, cpu, reference. Repeatable.",
    )
    group.addoption(
        "--thorough",
        action="store_true",
        help="Run also the tests marked `thorough`: sweeps and long runs. A test named with :: runs anyway.",
    )
    group.addoption(
        "--exhaustive",
        action="store_true",
        help="Run all tests: also those marked `exhaustive`, which repeat others with more seeds and cases, for hours.",
    )
    group.addoption(
        "--guards",
        action="store_true",
        help="Put bytes around each buffer of a card's pool that nothing may write, and spoil it when it goes back.",
    )
    group.addoption(
        "--renew",
        action="store_true",
        help="Write what is said of mistakes into tests/golden/messages.txt, instead of comparing with it. With -n 0.",
    )
    group.addoption(
        "--require",
        action="append",
        default=[],
        choices=REQUIREMENTS,
        help="Stop with an error, instead of skipping, where this is missing. Repeatable.",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = Counter()
    # Else the processes that tests start compile the program anew, each of them.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    home = Path(tempfile.mkdtemp(prefix="clalign-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(home, ignore_errors=True))
    keep_driver_cache(home)
    if not hasattr(config, "workerinput"):  # else a process of pytest-xdist, which inherits it
        os.environ[HOME_OF_ALL] = str(home)
    for name in ("CACHE", "CONFIG", "DATA", "STATE"):
        os.environ[f"XDG_{name}_HOME"] = str(home / name.lower())
    os.environ["CLALIGN_CACHE_DIR"] = str(home / "cache" / "clalign")
    os.environ["CLALIGN_CONFIG"] = str(home / "config" / "clalign")
    for name in ("CLALIGN_DEVICE", "CLALIGN_LOG", "CLALIGN_CACHE_LIMIT"):
        os.environ.pop(name, None)
    if is_asked(config, "exhaustive"):
        os.environ["CLALIGN_EVERY_SEQUENCE"] = "1"
    leave_desktop()
    leave_threads_out()


def leave_desktop() -> None:
    """Let nothing of the desktop here reach the tests: no fonts, scale, style, input method, or language."""
    for name in list(os.environ):
        if name.startswith(("QT_", "LC_")) or name in ("LANG", "LANGUAGE", "XDG_CURRENT_DESKTOP", "DESKTOP_SESSION"):
            del os.environ[name]
    fonts = Path(__file__).parent / "ui" / "fonts" / "fonts.conf"
    os.environ.update(QT_QPA_PLATFORM="offscreen", FONTCONFIG_FILE=str(fonts), LC_ALL="C.UTF-8")


def leave_threads_out() -> None:
    """Let numpy start no threads for algebra, here and in the processes that tests start: as commands do."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def keep_driver_cache(home: Path) -> None:
    """Let PoCL keep compiled kernels where it always does; without any folder it shows no device."""
    usual = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pocl" / "kcache"
    try:
        usual.mkdir(parents=True, exist_ok=True)
        usable = os.access(usual, os.W_OK)
    except OSError:
        usable = False
    os.environ.setdefault("POCL_CACHE_DIR", str(usual if usable else home / "pocl"))


def pytest_sessionstart(session: pytest.Session) -> None:
    present = {
        "gpu": lambda: any(device.kind == "gpu" for device in usable_devices()),
        "cpu": lambda: any(device.kind == "cpu" for device in usable_devices()),
        "amd-compiler": lambda: shutil.which(AMD_COMPILER) is not None,
        "simulator": SIMULATOR_DRIVER.exists,
        "hmmer3": lambda: shutil.which("hmmsearch") is not None,
        "hmmer2": lambda: shutil.which("hmm2search") is not None,
        "fsa": lambda: shutil.which("fsa") is not None,
        "data": lambda: bool(os.environ.get("CLALIGN_DATA")),
    }
    missing = [name for name in session.config.getoption("--require") if not present[name]()]
    if missing:
        raise pytest.UsageError(f"--require: not found on this machine: {', '.join(missing)}")


def pytest_report_header() -> str:
    return f"data: {os.environ.get('CLALIGN_DATA') or 'none (CLALIGN_DATA is not set)'}"


def pytest_report_collectionfinish() -> list[str]:
    if not usable_devices.cache_info().currsize:
        return []
    return [f"device {device.id}: {device.name} ({device.kind})" for device in usable_devices()]


@cache
def usable_devices() -> list[Device]:
    """Return every device that passed its self-test, and the reference.

    The first process of a run to ask tests the devices, which takes a processor some seconds; the others wait for its
    verdicts.
    """
    from clalign.compute.opencl.discover import discover_devices, verdicts_path
    from clalign.databases.cache_root import make_folder
    from clalign.values.devices import REFERENCE

    home = Path(os.environ[HOME_OF_ALL])
    known, own = home / "verdicts.json", verdicts_path()
    with contextlib.closing(sqlite3.connect(home / "devices.lock", timeout=300)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        make_folder(own.parent)
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(known, own)
        found = [device for device in discover_devices() if device.is_usable and device.kind != "reference"]
        with contextlib.suppress(FileNotFoundError):  # where there is no device
            shutil.copyfile(own, known)
    return [*found, REFERENCE]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of `device` on every device, those of `opencl_device` on all but the reference.

    Those of `fast_device` run on one that is not slow, where there is one.
    """
    names = ("device", "opencl_device", "fast_device")
    name = next((name for name in names if name in metafunc.fixturenames), None)
    if name is None:
        return
    wanted = metafunc.config.getoption("--device")
    devices = [device for device in usable_devices() if not wanted or device.id in wanted or device.kind in wanted]
    if not devices:
        raise pytest.UsageError(f"--device: no usable device answers to {', '.join(wanted)}")
    if name == "fast_device":  # the reference is the last one
        devices = devices[:1]
    if name == "opencl_device":
        devices = [device for device in devices if device.kind != "reference"] or devices
    metafunc.parametrize(name, devices, ids=lambda device: f"{device.kind}-{device.id}", scope="session")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was not asked for or cannot be here; one line at the end tells how much of each."""
    kept, dropped = [], []
    for item in items:
        reason = reason_to_leave_out(item)
        (dropped if reason else kept).append(item)
        if reason:
            config.stash[LEFT_OUT][reason] += 1
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector of garbage not look at the thousands of tests: while they are found, nor later, as windows have
    it run after each of theirs.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def reason_to_leave_out(item: pytest.Item) -> str:
    """Return what would bring a test in; empty for one that runs."""
    fixtures = getattr(item, "fixturenames", ())
    if "data_folder" in fixtures and not os.environ.get("CLALIGN_DATA"):
        return "acceptance tests left out: set CLALIGN_DATA to the folder of their data"
    named = any("::" in word for word in item.config.args)
    values = item.callspec.params if hasattr(item, "callspec") else {}
    kind, shape = getattr(values.get("opencl_device"), "kind", ""), values.get("shape")
    if kind == "reference":
        return "tests of kernels left out for the reference, which has none"
    if ("shaped_session" in fixtures and (shape, kind) == ("vector", "gpu")) or (
        "team_session" in fixtures and (shape, kind) == ("lanes", "cpu")
    ):
        return "tests of kernels left out for devices that are not given their shape"
    marks = {level: list(item.iter_markers(level)) for level in LEVELS}
    if "shaped_session" in fixtures and kind == "cpu" and shape in ("item", "lanes"):
        marks["thorough"] = [pytest.mark.thorough.mark]  # shapes for GPUs, which a CPU's driver compiles for long
    for level, given in () if named else marks.items():
        if not given or is_asked(item.config, level):
            continue
        keeps = (  # of the nearest mark that says anything of this case
            bool(mark.kwargs)
            for mark in given
            if all(getattr(values.get(name), "kind", values.get(name)) in short for name, short in mark.kwargs.items())
        )
        if not next(keeps, False):
            return f"{level} tests left out: run.py test --{level}"
    return ""


def is_asked(config: pytest.Config, level: str) -> bool:
    """Return whether the tests of a level, or of one above it, are to run."""
    return any(config.getoption(f"--{one}") for one in LEVELS[LEVELS.index(level) :])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a process of pytest-xdist: each collects the same tests
        session.config.workeroutput["left_out"] = dict(session.config.stash[LEFT_OUT])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] |= Counter(
        getattr(node, "workeroutput", {}).get("left_out", {})
    )  # none of one that has crashed


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for reason, number in config.stash[LEFT_OUT].items():
        terminalreporter.write_line(f"{number} {reason}")


@pytest.fixture(scope="session", autouse=True)
def _kernels_of_tests_are_built_soon(pytestconfig: pytest.Config) -> Iterator[None]:
    """Have kernels that no search needs, built without optimizing: PoCL takes a third of the time then.

    Those with a planted fault; those that only the laboratory measures, which holds each against the reference; and
    those that exchange values by barriers, which processors are given in tests alone, and cards whose maker is not
    known in searches, too. None of the latter is kept, so no other process builds or takes one. Of all but the first,
    thorough tests have the first one with the same macros built as users do, exhaustive tests all.
    """
    from clalign.compute.opencl import kernels

    usual, first = kernels.options, dict[frozenset[str], object]()
    is_thorough, is_exhaustive = (is_asked(pytestconfig, level) for level in LEVELS)

    def is_as_for_users(defines: Mapping[str, object]) -> bool:
        return is_exhaustive or (is_thorough and first.setdefault(frozenset(defines), dict(defines)) == defines)

    def soon(defines: Mapping[str, object]) -> list[str]:
        is_of_few = defines.get("LANE_BACKEND") == 0 or bool(OF_LABORATORY & defines.keys())
        is_soon = bool(defines.get("SABOTAGE")) or (is_of_few and not is_as_for_users(defines))
        return [*usual(defines), *(["-cl-opt-disable"] if is_soon else [])]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernels, "options", soon)
        yield


@pytest.fixture(scope="session")
def cpu_device() -> Device:
    """A CPU with an OpenCL driver."""
    found = next((device for device in usable_devices() if device.kind == "cpu"), None)
    if found is None:
        pytest.skip("no CPU with an OpenCL driver can be used here")
    return found


@pytest.fixture(scope="module")
def session(device: Device) -> Iterator[Session]:
    """An open session on each device."""
    from clalign.compute.opening import open_session

    with open_session(device) as opened:
        yield opened


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real files that acceptance tests read; it is not part of the repository."""
    folder = os.environ.get("CLALIGN_DATA")
    if not folder:
        pytest.skip("CLALIGN_DATA does not name a folder with the acceptance data")
    return Path(folder)


@pytest.fixture(scope="session")
def simulator() -> None:
    """Look for the simulated device."""
    if not SIMULATOR_DRIVER.exists():
        pytest.skip("Oclgrind is not installed (Debian package oclgrind)")


@pytest.fixture(scope="session")
def second_user() -> list[str]:
    """What runs a command as another user of this machine."""
    words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if sys.platform != "linux" or os.getuid() or shutil.which("setpriv") is None:
        pytest.skip("only root can run commands as another user, with setpriv (Debian package util-linux)")
    if subprocess.run([*words, sys.executable, "-c", "import distributed"], cwd="/", capture_output=True).returncode:
        pytest.skip("another user cannot run this Python")
    return words


def program(name: str, origin: str) -> str:
    """Return the path of a program; the test is skipped where it is not installed."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed ({origin})")
    return found


@pytest.fixture(scope="session")
def hmm2search() -> str:
    """HMMER 2.3.2's search program."""
    return program("hmm2search", "Debian package hmmer2")


@pytest.fixture(scope="session")
def fsa() -> str:
    """FSA, which aligns many sequences."""
    return program("fsa", "Debian package fsa")


@pytest.fixture(scope="session")
def amd_compiler() -> str:
    """A clang that compiles OpenCL C for AMD cards, together with AMD's device libraries."""
    return program(AMD_COMPILER, f"Debian package {AMD_COMPILER}")


@pytest.fixture
def loose_device(monkeypatch: pytest.MonkeyPatch) -> list[Session]:
    """The sessions that are opened, the first of which computes nothing: its device has just failed."""
    from clalign.compute import opening
    from clalign.compute.opening import open_session
    from clalign.compute.sessions import ReferenceSession
    from clalign.errors import DeviceError

    opened: list[Session] = []

    class Loose(ReferenceSession):
        def start(self, *given: Any) -> Any:
            raise DeviceError("The cable is loose.", "Fasten it.")

    def open_loose(device: Device, *watchers: Any) -> Session:
        opened.append(open_session(device, *watchers) if opened else Loose(device, *watchers[:1]))
        return opened[-1]

    monkeypatch.setattr(opening, "open_session", open_loose)
    return opened


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands run their jobs in this process, which saves starting another: for tests of what they compute."""
    from clalign.cli import processes, starting, watch
    from clalign.cli.worker import perform
    from clalign.jobs import Event, Job

    class WorkerHere:
        def __init__(self, job: dict[str, Any], ahead: object = None) -> None:
            self.job = json.dumps(job)

        def __enter__(self) -> WorkerHere:
            return self

        def __exit__(self, *error: object) -> None:
            """Nothing is left of it."""

        end = leave = __exit__

        def events(self) -> list[Event]:
            messages: list[str] = []
            perform(json.loads(self.job), Job(lambda event: messages.append(event.to_json())))
            return [Event.from_json(line) for line in messages]

        def warnings(self) -> list[str]:
            return []

    monkeypatch.setattr(starting, "WorkerAhead", lambda *words: contextlib.nullcontext())
    monkeypatch.setattr(processes, "WorkerProcess", WorkerHere)
    monkeypatch.setattr(watch, "WorkerProcess", WorkerHere)
