import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import QProcess
from PySide6.QtWidgets import QPushButton, QWidget

from clalign.engines.plan7.spec import SearchSpec
from clalign.runs.run_file import open_run
from clalign.ui import formatting, theme, worker_process
from clalign.ui.models.jobs import JobItem, JobQueue, JobState
from clalign.ui.shell.job_strip import JobRow
from clalign.ui.views.widgets.parts import stacked
from clalign.ui.worker_process import Standby, WorkerProcess, default_worker


@pytest.fixture
def queue(qtbot: Any, worker: list[str]) -> Any:
    made = JobQueue(worker)
    yield made
    made.leave()


def search_job(folder: Path, name: str = "run") -> dict[str, Any]:
    spec = SearchSpec(str(folder / "made.hmm"), str(folder / "made.fasta"))
    return {"job": "search", "run": str(folder / f"{name}.clalign"), "spec": spec.to_dict()}


def hits_of(path: str) -> list[tuple[Any, ...]]:
    with open_run(Path(path)) as run:
        return run.connection.execute("SELECT row, score, evalue, n_parts FROM hits ORDER BY row").fetchall()


def test_a_job_ends_with_what_it_found(qtbot: Any, queue: JobQueue, tmp_path: Path) -> None:
    warnings: list[str] = []
    queue.warning_received.connect(lambda _, text: warnings.append(text))
    item = queue.submit("Search", search_job(tmp_path))
    qtbot.waitUntil(lambda: item.state == "done")
    assert item.result["n_hits"] == 200
    assert item.course.fraction == 1
    assert warnings == ["A made-up warning: \u201cSkip bad records\u201d."]


def test_jobs_wait_for_each_other(qtbot: Any, queue: JobQueue, tmp_path: Path) -> None:
    first = queue.submit("First", search_job(tmp_path, "first"))
    second = queue.submit("Second", search_job(tmp_path, "second"))
    third = queue.submit("Third", search_job(tmp_path, "third"))
    assert (first.state, second.state) == ("running", "waiting")
    queue.stop(third)
    assert third not in queue.items
    qtbot.waitUntil(lambda: second.state == "done")
    assert first.state == "done"


def check_continued(qtbot: Any, queue: JobQueue, item: JobItem, tmp_path: Path) -> None:
    """Continue a run; it must come to the hits of a whole one."""
    again = queue.submit("Continue", {"job": "resume", "run": item.run})
    whole = queue.submit("Whole", search_job(tmp_path, "whole"))
    qtbot.waitUntil(lambda: whole.state == "done")
    assert again.state == "done"
    assert hits_of(item.run) == hits_of(whole.run)


def test_stop_keeps_what_was_found_and_resume_ends_the_same(
    qtbot: Any, queue: JobQueue, tmp_path: Path, manners: Callable[..., None]
) -> None:
    manners(pause=0.4)  # so that a busy machine stops it before it ends
    item = queue.submit("Search", search_job(tmp_path))
    qtbot.waitUntil(lambda: item.course.fraction > 0.2)
    queue.stop(item)
    assert item.state == "stopping"
    qtbot.waitUntil(lambda: item.state == "stopped")
    assert "%" not in item.line(), "the page says how much is done, from the file"
    assert 0 < len(hits_of(item.run)) < 200
    assert ("resume", "Continue") in item.offers()
    manners(pause=0)
    check_continued(qtbot, queue, item, tmp_path)


def test_a_job_of_the_host_does_not_wait_for_the_device(
    qtbot: Any, queue: JobQueue, tmp_path: Path, manners: Callable[..., None]
) -> None:
    first = queue.submit("First", search_job(tmp_path, "first"))
    qtbot.waitUntil(lambda: first.state == "done")
    manners(pause=0.4)
    search = queue.submit("Search", search_job(tmp_path))
    qtbot.waitUntil(lambda: search.course.fraction > 0)
    queue.toggle_pause(search)  # however long the others take on a busy machine
    checked = [
        queue.submit("Verify", {"job": "verify", "run": first.run, "hits": None, "device": "reference"})
        for _ in range(2)
    ]
    assert [item.state for item in checked] == ["running", "waiting"]
    assert queue.current is search
    qtbot.waitUntil(lambda: checked[1].state == "done")
    assert search.state == "paused"
    queue.stop(search)
    qtbot.waitUntil(lambda: search.state == "stopped")
    assert queue.current is None


@pytest.mark.thorough
def test_pause_waits_and_continues(qtbot: Any, queue: JobQueue, tmp_path: Path, manners: Callable[..., None]) -> None:
    manners(pause=0.1, batches=60)
    item = queue.submit("Search", search_job(tmp_path))
    qtbot.waitUntil(lambda: item.course.done > 0)
    queue.toggle_pause(item)
    assert item.state == item.state_words == "paused"
    assert queue.current.state == "paused"

    def stands() -> bool:
        done = item.course.done
        qtbot.wait(300)
        return item.course.done == done

    qtbot.waitUntil(stands)
    assert item.course.done < item.course.total
    manners(pause=0)
    queue.toggle_pause(item)
    qtbot.waitUntil(lambda: item.state == "done")


def test_a_lost_worker_is_survived(qtbot: Any, queue: JobQueue, tmp_path: Path, manners: Callable[..., None]) -> None:
    manners(pause=0.05, die_after=4)
    item = queue.submit("Search", search_job(tmp_path))
    qtbot.waitUntil(lambda: item.state == "lost")
    assert [name for name, _ in item.offers()][:2] == ["resume", "resume_elsewhere"]
    manners(pause=0)
    check_continued(qtbot, queue, item, tmp_path)


def pids_of(queue: JobQueue) -> list[int]:
    """Return the processes that are there."""
    return [process.processId() for process in queue.findChildren(QProcess) if process.processId()]


def done(qtbot: Any, queue: JobQueue, title: str, job: dict[str, Any]) -> int:
    """Do a job to its end and return the process that did it."""
    item = queue.submit(title, job)
    qtbot.waitUntil(lambda: item.course.fraction > 0 or not item.is_active)
    (pid,) = pids_of(queue)
    qtbot.waitUntil(lambda: item.state == "done")
    return pid


def test_a_worker_that_waits_gets_the_next_run(qtbot: Any, queue: JobQueue, tmp_path: Path) -> None:
    queue.prepare("plan7", "auto")
    (waiting,) = queue.findChildren(QProcess)
    assert waiting.waitForStarted()
    queue.prepare("pairwise", "reference")
    assert queue.findChildren(QProcess) == [waiting], "one is enough"
    listing = queue.submit("Devices", {"job": "devices"})
    item = queue.submit("Search", search_job(tmp_path))
    qtbot.waitUntil(lambda: listing.state == "done")
    assert queue.worker.pid == waiting.processId()
    qtbot.waitUntil(lambda: item.state == "done")
    assert item.result["n_hits"] == 200


def test_a_worker_that_has_finished_gets_the_next_job(qtbot: Any, queue: JobQueue, tmp_path: Path) -> None:
    first = done(qtbot, queue, "First", search_job(tmp_path, "first"))
    assert pids_of(queue) == [first], "it waits"
    queue.prepare("plan7")
    assert done(qtbot, queue, "Second", search_job(tmp_path, "second")) == first
    run = {"run": str(tmp_path / "second.clalign"), "hits": None, "device": "reference"}
    assert done(qtbot, queue, "Verify", {"job": "verify", **run}) == first
    assert hits_of(str(tmp_path / "first.clalign")) == hits_of(str(tmp_path / "second.clalign"))
    queue.leave()
    assert not psutil.pid_exists(first)
    assert not pids_of(queue)


@pytest.mark.thorough(how=["stop"])
@pytest.mark.parametrize("how", ["stop", "fail", "lose"])
def test_a_worker_that_has_not_finished_gets_no_other_job(
    qtbot: Any, queue: JobQueue, tmp_path: Path, manners: Callable[..., None], how: str
) -> None:
    first = done(qtbot, queue, "First", search_job(tmp_path, "first"))
    manners(
        pause=0.05, fail="The device did not answer." if how == "fail" else "", die_after=4 if how == "lose" else None
    )
    item = queue.submit("Search", search_job(tmp_path, how))
    if how == "stop":
        qtbot.waitUntil(lambda: item.course.fraction > 0.2)
        queue.stop(item)
    qtbot.waitUntil(lambda: not item.is_active)
    assert item.state == {"stop": "stopped", "fail": "failed", "lose": "lost"}[how]
    manners(pause=0)
    assert done(qtbot, queue, "Again", search_job(tmp_path, "again")) != first
    assert not psutil.pid_exists(first)


@pytest.mark.thorough
def test_a_worker_that_is_stopped_too_late_gets_no_other_job(qtbot: Any, queue: JobQueue, tmp_path: Path) -> None:
    item = queue.submit("Search", search_job(tmp_path))
    queue.results_added.connect(lambda item: queue.stop(item) if item.course.fraction == 1 else None)
    first = []
    queue.job_changed.connect(lambda _: first.extend(pids_of(queue)) if not first else None)
    qtbot.waitUntil(lambda: not item.is_active)
    assert not pids_of(queue) or item.state == "stopped"
    assert done(qtbot, queue, "Again", search_job(tmp_path, "again")) not in first


@pytest.mark.thorough
@pytest.mark.parametrize("how", ["end", "hang"])
def test_a_worker_that_waits_no_more_is_replaced(
    qtbot: Any, queue: JobQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    first = done(qtbot, queue, "First", search_job(tmp_path, "first"))
    monkeypatch.setattr(worker_process, "ANSWER_MS", 200)
    waiting = psutil.Process(first)
    waiting.kill() if how == "end" else waiting.suspend()  # the window has not heard of it when it gives it a job
    item = queue.submit("Second", search_job(tmp_path, "second"))
    qtbot.waitUntil(lambda: item.state == "done")
    assert first not in pids_of(queue)
    assert hits_of(str(tmp_path / "first.clalign")) == hits_of(item.run)
    (second,) = queue.findChildren(QProcess)
    with qtbot.waitSignal(second.finished):
        second.kill()
    qtbot.waitUntil(lambda: not pids_of(queue))
    queue.prepare("plan7")
    assert len(pids_of(queue)) == 1, "it is known that the last one has gone"


def test_a_worker_that_cannot_start_is_an_error(qtbot: Any, tmp_path: Path) -> None:
    worker = WorkerProcess([str(tmp_path / "nothing-here")], {"job": "devices"})
    with qtbot.waitSignal(worker.ended) as messages:
        worker.start()
    assert messages.args[0] == "failed"
    assert "could not be started" in messages.args[1]["message"]
    worker.leave()


def test_the_worker_runs_nothing_of_the_current_folder(
    qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (tmp_path / "numpy.py", tmp_path / "json.py", tmp_path / "clalign" / "__init__.py"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit(99)\n")
    (tmp_path / "seqs.fa").write_text(">a\nMKVLAW\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    worker = WorkerProcess(default_worker(), {"job": "inspect", "path": "seqs.fa", "alphabet": "amino"})
    with qtbot.waitSignal(worker.ended) as messages:
        worker.start()
    assert messages.args[1]["report"]["n_sequences"] == 1
    worker.leave()


def test_what_a_driver_prints_is_no_event(qtbot: Any) -> None:
    worker = WorkerProcess(["sh", "-c", 'echo \'driver: hello\'; echo \'{"kind":"finished","value":{"n":1}}\''], {})
    with qtbot.waitSignal(worker.ended) as messages:
        worker.start()
    assert messages.args == ["finished", {"n": 1}]
    worker.leave()


def cells(done: float, stage: str = "search") -> dict[str, Any]:
    return {"stage": stage, "done": done, "total": 2e11, "unit": "cells"}


def test_the_line_tells_rate_and_time_left_of_kernels_at_work() -> None:
    item = JobItem("Search", {"job": "search"}, "running")
    assert item.line().startswith("Starting")
    for second in range(20):
        item.take_progress({"stage": "build", "done": float(second), "total": 30.0, "unit": "programs"}, float(second))
        assert item.line().endswith(f"({second}\N{NO-BREAK SPACE}of\N{NO-BREAK SPACE}30)")
    for second in range(200):
        item.take_progress(cells(1e9 * second), 20.0 + second)
    assert formatting.rate(1.0) in item.line()
    assert f"{formatting.about(item.course.seconds_left)} left" in item.line()
    assert formatting.percent(item.course.fraction) in item.line()


def test_a_stage_without_words_of_its_own_is_reported_as_it_is_called() -> None:
    item = JobItem("Align", {"job": "align"}, "running")
    item.take_progress({"stage": "training round 2 of at most 3", "done": 1.0, "total": 4.0}, 0.0)
    assert item.line().startswith("Training round 2 of at most 3")


def test_the_focus_stays_in_a_row_whose_buttons_change(qtbot: Any) -> None:
    item = JobItem("Search", {"job": "search", "run": "made.clalign"})
    line, other = JobRow(item), QPushButton("Elsewhere")
    holder = QWidget()
    holder.setLayout(stacked(other, line))
    qtbot.addWidget(holder)
    holder.show()
    for state in ("running", "stopping", "stopped"):
        item.state = state
        line.show_item(item)
        if state == "running":
            qtbot.wait(1)
            line.findChildren(QPushButton)[-1].setFocus()
        focused = holder.focusWidget()
        assert focused is not None
        assert focused is line or line.isAncestorOf(focused), state


def test_a_row_keeps_its_height_whatever_it_offers(qtbot: Any) -> None:
    theme.apply("light")  # by which buttons are higher than texts
    item = JobItem("Search", {"job": "search", "run": "x"})
    row, heights = JobRow(item), set[int]()
    qtbot.addWidget(row)
    row.show()
    states: tuple[JobState, ...] = ("waiting", "running", "paused", "stopping", "stopped", "done")
    for item.state in states:
        row.show_item(item)
        qtbot.wait(1)
        heights.add(row.sizeHint().height())
    assert len(heights) == 1


@pytest.mark.parametrize("state", ["waiting", "running", "paused", "stopping", "stopped", "failed", "lost", "done"])
def test_every_state_has_words(state: Any) -> None:
    item = JobItem("Search", {"job": "search", "run": "x"}, state, message="It ended.")
    assert item.line()
    avoided = ("abort", "kill", "fatal", "invalid", "illegal", "failed to", "exception", "oops", "please wait")
    assert not any(word in item.line().lower() for word in avoided)


@pytest.mark.thorough
def test_a_worker_that_has_gone_to_a_job_takes_no_other_along_when_it_ends(qtbot: Any) -> None:
    standby = Standby([sys.executable, "-c", "input()"])
    processes = []
    for _ in range(2):
        standby.prepare("plan7", "")
        processes.append(standby._process)
        if len(processes) == 1:
            standby.take()
    taken, kept = processes
    assert taken is not None
    assert kept is not None
    assert taken is not kept
    with qtbot.waitSignal(taken.finished):
        taken.write(b"\n")
    assert standby.take()[0] is kept
    kept.kill()
    kept.waitForFinished()
