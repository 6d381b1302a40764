"""Several devices compute one run: the same whatever each does of it, in whatever order, and whoever fails."""

from __future__ import annotations

import random
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import Cancelled, DeviceError, DeviceNotFound
from clalign.execution import executor, local_executors, planner
from clalign.execution.local_executors import LocalExecutors
from clalign.execution.writer import Writer
from clalign.runs.run_file import create_run, open_run
from clalign.stages.pairwise import long_pair_regions

sys.path.insert(0, str(Path(__file__).parent))
from device_runs import ENGINES, WAIT, Counting, Devices, Expected, computed, content, exports, small_units, spec_of


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> None:
    small_units(monkeypatch)


@pytest.mark.thorough(engine=["sw"])
@pytest.mark.exhaustive(engine=["sw", "hmmer3"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (("one", "two"), ""),
        (("one", "two", "reference"), ""),
        (("one", "slow"), ""),
        (("failing", "two"), "The others go on"),
        (("one", "tight", "reference"), "smaller batches"),
    ],
    ids=lambda words: words[-2] if isinstance(words, tuple) else "",
)
def test_several_give_what_one_gives(
    words: tuple[str, ...],
    messages: str,
    engine: str,
    expected: Expected,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if engine == "hmmer3":  # the last digits of Forward scores are not the same on the reference
        words = tuple("third" if word == "reference" else word for word in words)
    devices = Devices(monkeypatch, has_odd=not {"slow", "failing", "tight"}.isdisjoint(words))
    context = Counting(4, devices.is_released.set, devices.has_begun.set)
    path = tmp_path / "run.clalign"
    computed(spec_of(engine, folder), path, devices, words, context)
    assert any(messages in text for text in context.texts) or not messages
    assert devices.opened.count("failing") == 2 * ("failing" in words), "it is tried once more"
    assert content(path) == expected(engine)[0]
    assert exports(path, tmp_path / "exports") == expected(engine)[1]


@pytest.mark.thorough(engine=["sw"])
@pytest.mark.parametrize("engine", ENGINES)
def test_any_order_of_results_gives_the_same(
    engine: str, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that can be computed is, before any of it is stored; then it comes in any order."""
    chance, order = random.Random(engine), list[Any]()

    class Shuffled:
        def __init__(self) -> None:
            self.coming: SimpleQueue[Any] = SimpleQueue()
            self.there: list[Any] = []
            self.put = self.coming.put

        def get(self, timeout: float) -> Any:
            try:
                while True:
                    self.there.append(self.coming.get(timeout=timeout))
            except Empty:
                if not self.there:
                    raise
            is_result = [getattr(call, "func", None) in stores for call in self.there]
            n = is_result.index(False) if False in is_result else len(self.there)
            call = self.there.pop(chance.randrange(n) if n else 0)
            if n:
                given = call.args[0]
                units = [one.unit for one in given] if isinstance(given, list) else [given]
                order.extend((unit.query.number, unit.first) for unit in units)
            return call

    stores: list[Any] = []
    monkeypatch.setattr(local_executors, "SimpleQueue", Shuffled)
    monkeypatch.setattr(planner, "MAX_OUT", 1000)

    class Noted(Writer):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            stores.extend([self.store, self.store_end])

    monkeypatch.setattr("clalign.execution.job.Writer", Noted)
    path = tmp_path / "run.clalign"
    computed(spec_of(engine, folder), path, Devices(monkeypatch), ("one", "two"))
    assert len(order) > 10
    assert order != sorted(order)
    assert content(path) == expected(engine)[0]
    assert exports(path, tmp_path / "exports") == expected(engine)[1]


@pytest.mark.thorough(engine=["sw"])
@pytest.mark.parametrize("engine", ["hmmer2", "sw", "pairs"])
@pytest.mark.parametrize("odd", ["hanging", "stuck"])
def test_a_stop_is_noticed_while_a_device_hangs(
    odd: str, engine: str, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices, asked = Devices(monkeypatch, has_odd=True), list[float]()

    class Stopping(Counting):
        def check(self) -> None:
            if self.left <= 0 and devices.is_hanging.is_set():
                asked.append(time.monotonic())
                raise Cancelled

    path, spec = tmp_path / "run.clalign", spec_of(engine, folder)
    before = set(threading.enumerate())
    with pytest.raises(Cancelled):
        computed(spec, path, devices, ("one", odd), Stopping(3))
    assert time.monotonic() - asked[0] < 1.0
    devices.is_released.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(WAIT)
    with open_run(path) as run:
        assert run.state == "stopped"
        assert run.work_done()[0] > 0
    computed(spec, path, devices, ("one", "two"))
    assert content(path) == expected(engine)[0]


@pytest.mark.parametrize("words", [("one",), ("one", "two"), ("one", "slow")], ids="-".join)
def test_how_far_a_long_pair_is_stays_when_several_are_stopped(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor gives the pair back before the writer hears what is to be kept of it."""
    small = {"CPU_CELLS": 20_000, "GPU_CELLS": 20_000, "LAUNCH_SECONDS": 0.0, "VECTOR_COLUMNS": 16}
    for name, value in small.items():
        monkeypatch.setattr(long_pair_regions, name, value)
    # Long enough that it is far from its end when the stop is heard.
    text = "".join(random.Random(5).choices("ACGT", k=2500))
    for name, letters in (("query", text), ("target", text[40:300] + text[330:])):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    spec = PairwiseSpec(str(tmp_path / "query.fa"), str(tmp_path / "target.fa"), long=True)
    shares = list[float]()

    class Stopping(Counting):
        stops_at = 0.2

        def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: Any) -> None:
            if stage == "search":
                shares.append(done / (total or 1.0))

        def check(self) -> None:
            if shares and max(shares) >= self.stops_at:
                raise Cancelled

    devices, whole, halted = Devices(monkeypatch), tmp_path / "whole.clalign", tmp_path / "run.clalign"
    computed(spec, whole, devices, ("one",))
    with pytest.raises(Cancelled):
        computed(spec, halted, devices, words, Stopping())
    with open_run(halted) as run:
        assert run.unfinished.has_any
    before, shares[:] = max(shares), []
    Stopping.stops_at = 2.0
    computed(spec, halted, devices, words, Stopping())
    assert shares[0] >= before
    assert content(halted) == content(whole)
    with open_run(halted) as run:
        assert not run.unfinished.has_any


@pytest.mark.thorough(engine=["sw"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_error_of_the_last_one_comes_out_and_what_is_stored_stays(
    engine: str, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "MAX_GATHERED_ROWS", 1)  # each unit is stored before many more are computed
    devices, context = Devices(monkeypatch), Counting()
    path, spec = tmp_path / "run.clalign", spec_of(engine, folder)
    with pytest.raises(DeviceError, match="cable is loose") as caught:
        computed(spec, path, devices, ("failing", "failing too"), context)
    assert "failed twice" in caught.value.hint
    assert len([text for text in context.texts if "once more" in text]) == 2
    assert len([text for text in context.texts if "The others" in text]) == 1
    with open_run(path) as run:
        assert run.state == "failed"
        cells = run.work_done()[0]
    assert 0 < cells < expected(engine)[0]["cells"]
    stored = Counting()
    computed(spec, path, devices, ("one", "two"), stored)
    assert content(path) == expected(engine)[0]


def test_a_fault_of_the_program_ends_all(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: Any) -> Any:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr("clalign.execution.executor.pack_many", broken)
    with pytest.raises(ZeroDivisionError, match="a fault"):
        computed(spec_of("hmmer2", folder), tmp_path / "run.clalign", Devices(monkeypatch), ("one", "two"))
    with open_run(tmp_path / "run.clalign") as run:
        assert run.state == "stopped"


def test_a_device_that_cannot_be_opened_matters_no_more_when_all_is_stored(tmp_path: Path) -> None:
    context, first = Counting(), list[threading.Thread]()

    class Done:
        def work(self, *given: Any) -> None:
            first.append(threading.current_thread())

    class Absent:
        def work(self, *given: Any) -> None:
            while not first:
                time.sleep(0.01)
            first[0].join(WAIT)
            raise DeviceNotFound("There is no such device.", "Plug it in.")

    openings: Any = [Done(), Absent()]
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        LocalExecutors(run, context, context.warn).work([(opening, lambda *given: None) for opening in openings])
    assert context.texts == ["There is no such device. The others have done without it."]
