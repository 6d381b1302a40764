"""The window's worker between its jobs: what it takes, how long it waits, and what it was told too late."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import preloading, worker, worker_commands
from clalign.cli.worker import JOBS
from clalign.databases.examples import load_examples
from clalign.engines.plan7 import self_test as selftest
from clalign.errors import ExitCode
from clalign.jobs import Job
from clalign.runs.run_file import open_run
from clalign.system.processes import own_command
from clalign.values.devices import REFERENCE

JOB = {"job": "search"}

ROOMY = {"MemTotal": 1000, "MemAvailable": 500, "RssAnon": 10}
"""What a machine tells that has memory enough (KiB)."""


@pytest.fixture(autouse=True)
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], int]:
    """Let no test hang on how much memory this machine has free; return what reads the true figures."""
    measured = preloading._kibibytes
    monkeypatch.setattr(preloading, "_kibibytes", lambda path, name: ROOMY[name])
    return measured


class Desk:
    """A standard input of which each line is read when the one before was dealt with, and what is done for it."""

    def __init__(self, lines: list[Any], codes: list[int]) -> None:
        self.lines, self.codes = [json.dumps(line) + "\n" for line in lines], codes
        self.done: list[tuple[str, bool, bool]] = []

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def perform(self, request: dict[str, Any], job: Any, came: int | None, devices: object) -> int:
        self.done.append((request["job"], job.is_cancelled, came is not None))
        job.send("finished")
        return self.codes[len(self.done) - 1]


def served(monkeypatch: pytest.MonkeyPatch, lines: list[Any], codes: list[int], stays: bool = True) -> Desk:
    desk = Desk(lines, codes)
    monkeypatch.setattr(sys, "stdin", desk)
    monkeypatch.setattr(worker_commands, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(worker_commands.os, "_exit", lambda code: None)
    monkeypatch.setattr(worker, "perform", desk.perform)
    given = worker_commands.Orders(lambda event: None)
    desk.codes.append(worker.serve(given, preloading.Preloading(), stays))  # type: ignore[arg-type]
    given._listener.join()  # its last act is to end the process, which it may do only as long as that is replaced
    return desk


def test_one_job_is_done_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    wish = {"prepare": "plan7", "device": REFERENCE.id}
    desk = served(monkeypatch, [wish, JOB, {"command": "continue"}, wish, {"job": "verify"}], [0, 0])
    assert [(name, is_later) for name, _, is_later in desk.done] == [("search", False), ("verify", True)]
    assert desk.codes[-1] == ExitCode.DONE


def test_what_ends_badly_is_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = served(monkeypatch, [JOB, JOB, JOB], [0, int(ExitCode.ENGINE)])
    assert len(desk.done) == 2
    assert desk.codes[-1] == ExitCode.ENGINE


def test_a_worker_that_does_not_stay_does_one_job(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = served(monkeypatch, [JOB, JOB], [0], stays=False)
    assert len(desk.done) == 1


@pytest.mark.parametrize("line", [{"command": "cancel"}, {}, None, [], "job"])
def test_what_is_no_job_is_none(monkeypatch: pytest.MonkeyPatch, line: Any) -> None:
    assert served(monkeypatch, [line, JOB], []).codes == [None]


def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    assert preloading.Idle().may_last()
    monkeypatch.setattr(preloading, "IDLE_SECONDS", -1.0)
    assert not preloading.Idle().may_last()


@pytest.mark.parametrize("entry", ["MIN_SHARE_FREE", "MAX_SHARE_KEPT"])
def test_nobody_waits_where_memory_is_short(monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setattr(preloading, entry, 1.0 if entry == "MIN_SHARE_FREE" else 0.0)
    assert not preloading.Idle().may_last()
    desk = served(monkeypatch, [{"prepare": "plan7", "device": REFERENCE.id}, JOB], [0])
    assert desk.done, "a job that is there is done"
    assert desk.codes[-1] == ExitCode.DONE


def test_what_is_there_is_taken_by_who_may_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_commands, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(worker_commands.os, "_exit", lambda code: None)
    monkeypatch.setattr(sys, "stdin", Desk([JOB, JOB], []))
    given = worker_commands.Orders(lambda event: None)
    given._listener.join()
    taken = [given.next(lambda: False) for _ in range(2)]
    assert [order and order.request for order in taken] == [JOB, JOB]
    assert given.next(lambda: False) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_linux_tells(measured: Callable[[str, str], int]) -> None:
    assert measured("/proc/meminfo", "MemTotal") > measured("/proc/meminfo", "MemAvailable") > 0
    assert measured("/proc/self/status", "RssAnon") > 0


def test_a_system_that_does_not_tell_lets_them_wait(
    monkeypatch: pytest.MonkeyPatch, measured: Callable[[str, str], int]
) -> None:
    monkeypatch.setattr(preloading, "_kibibytes", lambda path, name: 0)
    assert preloading.Idle().may_last()
    assert measured("/no/such/file", "MemTotal") == 0


def answer(process: subprocess.Popen[str], request: dict[str, Any]) -> dict[str, Any]:
    """Give a worker a job and return the value of its last event."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(request) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        event = json.loads(line)
        if event["kind"] == "finished":
            value: dict[str, Any] = event["value"]
            return value
        assert event["kind"] not in ("failed", "cancelled"), event
    raise AssertionError("the worker has ended")


def hits_of(run: Path) -> list[tuple[Any, ...]]:
    with open_run(run) as opened:
        return opened.connection.execute("SELECT row, score FROM hits ORDER BY score").fetchall()


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    example = next(example for example in load_examples() if example.id == "motif")
    profiles, targets = tmp_path / "motif.hmm", tmp_path / "motif.fasta"
    profiles.write_bytes(example.profiles.read_bytes())
    records = example.targets.read_text().split("\n>")
    found = []
    with subprocess.Popen(
        own_command("worker", "plan7", "--device", "cpu", "--stay"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True,
    ) as process:  # fmt: skip
        for number, kept in enumerate((records, records[: len(records) // 2], records)):
            targets.write_text("\n>".join(kept))
            spec = {"profiles": str(profiles), "targets": str(targets), "device": "cpu"}
            run = tmp_path / f"{number}.clalign"
            value = answer(process, {"job": "search", "spec": spec, "run": str(run)})
            assert value["n_sequences"] == len(kept)
            found.append(hits_of(run))
        process.communicate()
        assert process.returncode == ExitCode.DONE
    assert found[0] == found[2]
    assert found[1] != found[0]


def test_the_self_test_of_the_reference_looks_for_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(worker, "all_devices", lambda *_, **more: asked.append("drivers"))
    monkeypatch.setattr(selftest, "self_test", lambda device, job: {"device": device.id})
    assert JOBS["selftest"]({"of": "search", "device": "reference"}, Job(lambda event: None)) == {"device": "reference"}
    assert not asked
