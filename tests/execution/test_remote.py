"""Devices that compute in processes of their own: what a run of one device in this process gives, whatever fails."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clalign import tracing
from clalign.compute import opening
from clalign.compute.opening import CHECK_SECONDS
from clalign.engines.engine import engine_named
from clalign.errors import Cancelled, DeviceError, InputError
from clalign.execution import job, local_executors
from clalign.execution.failures import Failure
from clalign.execution.job import Task
from clalign.execution.remote import client, processes, server
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import create_run, open_run
from clalign.values.devices import Device

sys.path.insert(0, str(Path(__file__).parent))
from device_runs import WAIT, Counting, Devices, Expected, content, exports, small_units, spec_of

ENGINES = ("hmmer2", "hmmer3")

LAST_MOMENT = 24
"""Words of a process after which it may be killed: it is still at its first units, or has stored some."""


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> None:
    small_units(monkeypatch)
    monkeypatch.setattr(job, "IN_PROCESSES", ("cpu", "gpu", "accelerator"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[client.DeviceProcess]:
    """All that are started."""
    found: list[client.DeviceProcess] = []
    begin = client.DeviceProcess.__init__

    def init(self: client.DeviceProcess, *given: Any) -> None:
        found.append(self)
        begin(self, *given)

    monkeypatch.setattr(client.DeviceProcess, "__init__", init)
    return found


def computed_apart(
    engine: str, folder: Path, path: Path, devices: Devices, words: tuple[str, ...], context: JobContext | None = None
) -> dict[str, Any]:
    """Compute a run, or go on with it, by a process for each of some words."""
    spec = replace(spec_of(engine, folder), device=",".join(words))  # type: ignore[type-var]

    def pick(word: str) -> Device:
        return devices.real if word == "real" else devices.pick(word)

    picked = [pick(word) for word in words]
    facts = {"engine": "plan7", "spec": spec.to_dict(), "state": "new"}
    with open_run(path, writable=True) if path.exists() else create_run(path, **facts) as run:
        task = Task(run, spec, pick, context or QuietContext(), pick_devices=lambda words: (picked, list[str]()))
        found: dict[str, Any] = engine_named("plan7").compute(task)
        return found


def messages(path: Path, folder: Path) -> dict[str, str]:
    """Return the exports of a run without the words for its devices."""
    return {name: text.replace("--device real,real ", "") for name, text in exports(path, folder).items()}


class Thread:
    """What stands for a process, so that a test can have its device fail: it computes in a thread."""

    def __init__(self, command: list[str], stdin: int, stdout: int) -> None:
        assert command[-3:-1] == ["executor", "plan7"]
        self.pid = os.getpid()
        (given, to), (answers, out) = os.pipe(), os.pipe()
        self.stdin, self.stdout = os.fdopen(to, "wb"), os.fdopen(answers, "rb")
        self._thread = threading.Thread(target=self._run, args=(os.fdopen(given, "rb"), os.fdopen(out, "wb")))
        self._thread.daemon = True
        self._thread.start()

    def _run(self, given: Any, answers: Any) -> None:
        pipe = server.Pipe(given, answers, lambda: None)
        order: client.Order = pipe.receive()
        engine, path = engine_named("plan7"), Path(order.run)
        device = server.Device.from_dict(order.device)
        load, spec = engine.parts.load.get(), engine.spec.from_dict(order.spec)
        server.serve(pipe, device, order.n_devices, path, spec, load, pick_nothing)
        answers.close()

    def kill(self) -> None:
        self.stdin.close()

    returncode = -int(signal.SIGKILL)

    def wait(self, seconds: float | None = None) -> int:
        return -int(signal.SIGKILL)


def pick_nothing(words: str) -> Any:
    raise AssertionError("a processor has no other one beside it")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Devices:
    """Devices that may fail, each computed with by a thread in the place of a process."""
    devices = Devices(monkeypatch, has_odd=True)
    monkeypatch.setattr(processes.subprocess, "Popen", Thread)
    monkeypatch.setattr(server, "open_session", lambda *given: opening.open_session(*given))
    return devices


@pytest.mark.thorough(engine=["hmmer3"])
@pytest.mark.parametrize("engine", ENGINES)
def test_two_processes_give_what_one_gives(
    engine: str, expected: Expected, folder: Path, started: list[client.DeviceProcess], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "run.clalign"
    done = computed_apart(engine, folder, path, Devices(monkeypatch), ("real", "real"))
    assert len(started) == 2
    assert content(path) == expected(engine)[0]
    assert messages(path, tmp_path / "exports") == expected(engine)[1]
    assert done["kernel_seconds"], "they are told of by the processes"
    assert all(one._process.wait(WAIT) is not None for one in started)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_card_with_much_work_of_the_host_is_served_by_several_processes(
    engine: str, expected: Expected, folder: Path, started: list[client.DeviceProcess], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path = tmp_path / "run.clalign"
    monkeypatch.setattr(job, "n_processes", lambda n_queries, n_cells: 2)
    done = computed_apart(engine, folder, path, Devices(monkeypatch), ("real",))
    assert len(started) == 1
    assert content(path) == expected(engine)[0]
    assert "devices" not in done, "there is one"


@pytest.mark.parametrize(
    ("cores", "n_queries", "n_cells", "expected_processes"),
    [
        (16, 50, 1e9, 1),
        (16, 5_000, 1e12, 4),
        (16, 100, 2e12, 1),
        (16, 100, 5e12, 3),
        (8, 5_000, 1e12, 2),
        (2, 20_000, 1e13, 1),
    ],
)
def test_processes_of_a_card_follow_from_the_work_of_the_host_and_its_cores(
    cores: int, n_queries: int, n_cells: float, expected_processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "n_cores", lambda: cores)
    assert processes.n_processes(n_queries, n_cells) == expected_processes


def test_what_processes_do_is_in_the_trace(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording, began = tracing.begin("home"), tracing.now()
    try:
        computed_apart("hmmer3", folder, tmp_path / "run.clalign", Devices(monkeypatch), ("real", "real"))
    finally:
        tracing.end()
    tracks = recording.tracks()
    there = [span for track, spans in tracks.items() if track.owner.startswith("clalign executor") for span in spans]
    assert {"prepare a query", "make hits"} <= {span.name for span in there}
    assert all(began < span.begin <= span.end < tracing.now() for span in there), "by the clock of home"
    assert any(span.category == "kernels" for track, spans in tracks.items() if track.kind == "cpu" for span in spans)


def test_times_of_a_process_that_ends_late_are_counted(
    folder: Path, tmp_path: Path, threads: Devices, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, send, end = list[object](), server.Pipe.send, job.RunningJob.end

    def send_late(self: server.Pipe, word: str, *given: Any) -> None:
        if word == "done" and not ended:
            ended.append(self)
            time.sleep(4 * local_executors.DONE_SECONDS + CHECK_SECONDS)
        send(self, word, *given)

    reports = list[Any]()
    monkeypatch.setattr(server.Pipe, "send", send_late)
    monkeypatch.setattr(job.RunningJob, "end", lambda *given: (reports.append(given), end(*given)))
    threads.has_begun.set()
    computed_apart("hmmer3", folder, tmp_path / "run.clalign", threads, ("one", "two"))
    assert len(reports) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
def test_a_process_that_is_killed_is_begun_once_more_and_then_left_out(
    engine: str, expected: Expected, folder: Path, started: list[client.DeviceProcess], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    path, is_reported = tmp_path / "run.clalign", threading.Event()
    take = client.DeviceProcess._next_unit

    def given(self: client.DeviceProcess, *what: Any) -> Any:
        if self in (started[0], *started[2:]):  # the first one, and all that come after two
            self._process.kill()
        else:
            assert is_reported.wait(WAIT)  # the other one has its share only then
        return take(self, *what)

    monkeypatch.setattr(client.DeviceProcess, "_next_unit", given)
    context = Counting(go_on=is_reported.set)
    computed_apart(engine, folder, path, Devices(monkeypatch), ("real", "real"), context)
    assert [("once more" in text, "SIGKILL" in text) for text in context.texts] == [(True, True), (False, True)]
    assert content(path) == expected(engine)[0]
    assert messages(path, tmp_path / "exports") == expected(engine)[1]


@pytest.mark.thorough
@pytest.mark.exhaustive(seed=range(2))
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("seed", range(20))
def test_a_process_that_is_killed_at_any_moment_changes_nothing(
    seed: int, expected: Expected, folder: Path, started: list[client.DeviceProcess], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """The other one gets units only after that, so that the one that is killed has its share."""
    chance = random.Random(seed)
    engine, moment = ENGINES[seed % len(ENGINES)], chance.randint(1, LAST_MOMENT)
    path, is_hit, heard, units = tmp_path / "run.clalign", threading.Event(), list[str](), list[int]()
    take, hear = client.DeviceProcess._next_unit, client.DeviceProcess._receive

    def given(self: client.DeviceProcess, *what: Any) -> Any:
        assert self is started[0] or is_hit.wait(WAIT)
        return take(self, *what)

    def hear_and_kill(self: client.DeviceProcess) -> Any:
        message = hear(self)
        if self is started[0] and not is_hit.is_set():
            heard.append(message[0])
            if self._units and len(heard) >= moment:
                assert self._process.poll() is None
                units.extend(self._units)
                self._process.kill()
                is_hit.set()
        return message

    monkeypatch.setattr(client.DeviceProcess, "_next_unit", given)
    monkeypatch.setattr(client.DeviceProcess, "_receive", hear_and_kill)
    context = Counting()
    computed_apart(engine, folder, path, Devices(monkeypatch), ("real", "real"), context)
    assert is_hit.is_set()
    assert units, "it had something to compute"
    assert [("once more" in text, "SIGKILL" in text) for text in context.texts] == [(True, True)]
    assert content(path) == expected(engine)[0]
    assert messages(path, tmp_path / "exports") == expected(engine)[1]
    assert len(started) == 3, "another one has taken its place"
    assert all(one._process.wait(WAIT) is not None for one in started)
    assert {file.name for file in tmp_path.iterdir()} == {"run.clalign", "exports"}


@pytest.mark.thorough
def test_if_all_processes_end_the_job_fails_and_can_go_on(
    expected: Expected,
    folder: Path,
    started: list[client.DeviceProcess],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, devices = tmp_path / "run.clalign", Devices(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(client.DeviceProcess, "_store", lambda self, *found: self._process.kill())
        with pytest.raises(DeviceError, match=r"stopped unexpectedly.*failed twice"):
            computed_apart("hmmer3", folder, path, devices, ("real", "real"))
    with open_run(path) as run:
        assert run.state == "failed"
    computed_apart("hmmer3", folder, path, devices, ("real", "real"))
    assert content(path) == expected("hmmer3")[0]


@pytest.mark.thorough
def test_a_job_that_is_stopped_leaves_no_process(
    folder: Path, started: list[client.DeviceProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, is_stopped = tmp_path / "run.clalign", threading.Event()

    class Stopping(Counting):
        def check(self) -> None:
            if is_stopped.is_set():
                raise Cancelled

    with pytest.raises(Cancelled):
        computed_apart("hmmer3", folder, path, Devices(monkeypatch), ("real", "real"), Stopping(2, is_stopped.set))
    assert [one._process.wait(WAIT) for one in started] == [-signal.SIGKILL] * 2
    with open_run(path) as run:
        assert run.state == "stopped"
    computed_apart("hmmer3", folder, path, Devices(monkeypatch), ("real", "real"))
    with open_run(path) as run:
        assert run.state == "done"


@pytest.mark.thorough(engine=["hmmer2"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("words", "shown"),
    [(("failing", "two"), "go on with what it had"), (("one", "tight"), "smaller batches")],
    ids=["failing", "tight"],
)
def test_what_fails_there_is_reported_here(
    engine: str, words: tuple[str, ...], shown: str, expected: Expected, folder: Path, tmp_path: Path, threads: Devices
) -> None:
    context, path = Counting(go_on=threads.has_begun.set), tmp_path / "run.clalign"
    computed_apart(engine, folder, path, threads, words, context)
    assert any(shown in text for text in context.texts), context.texts
    assert content(path) == expected(engine)[0]


def test_input_in_memory_is_searched_here(
    folder: Path, started: list[client.DeviceProcess], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = Devices(monkeypatch)
    with monkeypatch.context() as patched:
        patched.setattr(job, "_has_files", lambda task: False)
        computed_apart("hmmer3", folder, tmp_path / "run.clalign", devices, ("one", "two"))
    assert not started


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_read_by_this_process_alone(folder: Path, tmp_path: Path) -> None:
    pipe, spec = tmp_path / "pipe", spec_of("hmmer3", folder)
    os.mkfifo(pipe)
    with create_run(tmp_path / "run.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
        tasks = [Task(run, replace(spec, targets=str(path)), pick_nothing, QuietContext())  # type: ignore[type-var]
                 for path in (pipe, tmp_path / "moved.fa", folder / "hmmer3.hmm", "-")]  # fmt: skip
        assert list(map(job._has_files, tasks)) == [False, True, True, False]


def test_failures_come_home_as_what_they_were() -> None:
    error = Failure.of(InputError("a.fa", "is empty.", "Fill it.")).error("there")
    assert (str(error), type(error).__name__) == (str(InputError("a.fa", "is empty.", "Fill it.")), "ClalignError")
    assert error.exit_code == InputError.exit_code  # type: ignore[attr-defined]
    assert isinstance(Failure.of(DeviceError("It broke.")).error("there"), DeviceError)
    try:
        raise KeyError("fault")
    except KeyError as caught:
        fault = Failure.of(caught).error("there")
    assert isinstance(fault, RuntimeError)
    assert "KeyError: 'fault'" in str(fault)
