"""Runs of several devices: a small search of each engine, and devices that are slow or fail."""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clalign.compute import opening
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import ReferenceSession, Session
from clalign.databases.examples import load_examples
from clalign.engines.engine import engine_named
from clalign.engines.export import export
from clalign.engines.msa import phases, training
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.pairwise import lists
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.hmmer3.funnel import funnel_of, survivors_at
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import DeviceError, DeviceNotFound, OptionError, OutOfDeviceMemory
from clalign.execution import executor, job, speed
from clalign.execution.job import Task
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import create_run, open_run
from clalign.values.devices import REFERENCE, Device
from clalign.values.specs import Spec
from tests.engines.test_training import KIN

GOLDEN = Path(__file__).parents[1] / "golden"
BUILT = GOLDEN / "sequences" / "built.fa"
PROFILES = {example.id: Path(str(example.profiles)) for example in load_examples()}
LIBRARIES = {
    "hmmer2": [GOLDEN / "profiles" / "globins_ls.hmm", GOLDEN / "profiles" / "rrm_ls.hmm"],
    "hmmer3": [PROFILES["globins4"], PROFILES["rrm_1_hmmer3"]],
}
ENGINES = ("hmmer2", "hmmer3", "sw", "fitted", "pairs")
EVERY_ENGINE = (*ENGINES, "align")
Expected = Callable[[str], tuple[dict[str, Any], dict[str, str]]]
"""Returns of an engine what a run holds, and its exports, if one device computes it."""

WAIT = 60.0
VARYING = (
    r"[Dd]ate: .*|# Time: .*|# Mc/sec: .*|Computed again in 16 bits.*\n|[Dd]evice: .*|(?<=: )[\w-]* ?search on .*"
    r"|# Device .*|<p class=\"muted\">clalign .*|(?<=\(command ).*? on .*?(?=\. [A-Z])"
    r"|<tr><td>(device|date|work)</td>.*|<p class=\"note\">.*\n"
)
"""What an export says of the hour, the speed, the devices, and their arithmetic."""


def spec_of(engine: str, folder: Path) -> Spec:
    """Return a search of an engine with some hits, its files in a folder."""
    if engine in LIBRARIES:
        path = folder / f"{engine}.hmm"
        path.write_text("".join(file.read_text() for file in LIBRARIES[engine]))
        return SearchSpec(str(path), str(BUILT), evalue=1000.0, f1=0.2)
    if engine == "pairs":
        path = folder / "pairs.fa"
        path.write_text(BUILT.read_text() + BUILT.read_text().replace(">", ">other_"))
        return PairwiseSpec(str(path), str(path), in_step=True)
    if engine == "align":
        path = folder / "kin.fa"
        path.write_text("".join(f">k{number}\n{text}\n" for number, text in enumerate(KIN)))
        return AlignmentSpec((str(path),))
    path = folder / "queries.fa"
    path.write_text("".join(f">{record}" for record in BUILT.read_text().split(">")[1:4]))
    statistics: Any = "fitted" if engine == "fitted" else "auto"
    return PairwiseSpec(str(path), str(BUILT), evalue=1e4, top=9, statistics=statistics)


def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each query have a dozen units or more, and no device many of them at once, whatever its speed."""
    monkeypatch.setattr(executor, "MAX_IN_FLIGHT", executor.MIN_IN_FLIGHT)
    monkeypatch.setattr(speed, "residue_limit", lambda device: 500)
    monkeypatch.setattr(speed, "BATCH_SECONDS", 1000.0)
    monkeypatch.setattr(job, "HELP_SECONDS", 0.2)
    monkeypatch.setattr(lists, "PORTION", 2)
    monkeypatch.setattr(training, "BLOCK_PAIRS", 5)
    monkeypatch.setattr(phases, "CPU_CELLS", 1)


class Odd(ReferenceSession):
    """A device of which a test says what happens when a unit is started, and when it is collected."""

    def __init__(self, inner: Session, starting: Callable[[int], None], collecting: Callable[[int], None]) -> None:
        super().__init__(inner.device, inner.check)
        self.inner, self.starting, self.collecting, self.n_started = inner, starting, collecting, 0

    def start(self, stage: Any, batch: Any, model: Any) -> Any:
        self.n_started += 1
        number = self.n_started
        self.starting(len(batch))
        wait = self.inner.start(stage, batch, model)

        def collect() -> Any:
            self.collecting(number)
            return wait()

        return collect

    def second_queue(self) -> Session:
        return self.inner.second_queue()

    def __exit__(self, *what: Any) -> None:
        self.inner.__exit__(*what)


class Devices:
    """The devices of a run by their words; the others wait for an odd one, so that it has its share."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, has_odd: bool = False) -> None:
        self.has_begun = threading.Event()
        self.is_released = threading.Event()
        self.is_hanging = threading.Event()
        self.first = ""
        self.opened: list[str] = []
        self.n_faults = 0
        if not has_odd:
            self.has_begun.set()
        try:
            self.real = pick_device("cpu")
        except DeviceNotFound:  # cards differ from the reference in the last digits of Forward scores
            self.real = pick_device("auto")
        monkeypatch.setattr(opening, "open_session", self.open)

    def pick(self, words: str) -> Device:
        """Return a device that is known by the words."""
        words = self.first if words == "auto" else words
        device = REFERENCE if words.startswith("reference") else self.real
        return replace(device, id=words, name="A device", driver=words)

    def open(self, device: Device, check: Callable[[], None], building: Any) -> Session:
        words = device.driver
        self.opened.append(words)
        if words.startswith("lost") and self.opened.count(words) > 1:
            raise DeviceError("The card has fallen off the bus.", "Start the machine again.")
        inner = open_session(device if device.kind == "reference" else self.real, check, building)
        inner.device = device
        kind, _, moment = words.partition(" at ")
        acts: dict[str, Callable[[int, Callable[[], None]], None]]
        acts = {
            "breaking": self.at(moment, self.broken),
            "freezing": self.at(moment, self.freeze),
            "lost": self.at(moment, self.broken),
            "failing": self.fail,
            "hanging": self.hang,
            "stuck": self.stick,
            "slow": self.be_slow,
        }
        act = acts.get(kind.split()[0])

        def starting(n_rows: int) -> None:
            if act is None and words != "tight":
                self.wait(self.has_begun, check)
            elif act != self.fail:
                self.has_begun.set()
            if words == "tight" and n_rows > 1:
                raise OutOfDeviceMemory("This device is full.", "Close other programs.")

        return Odd(inner, starting, lambda number: act(number, check) if act else None)

    @staticmethod
    def wait(event: threading.Event, check: Callable[[], None]) -> None:
        for _ in range(int(WAIT / 0.01)):
            check()
            if event.wait(0.01):
                return
        raise AssertionError("what a test waits for does not come")

    def at(self, moment: str, act: Callable[[], None]) -> Callable[[int, Callable[[], None]], None]:
        """Return what does something from a certain unit on."""
        return lambda number, check: act() if number >= int(moment or 0) else None

    def broken(self) -> None:
        self.n_faults += 1
        raise DeviceError("The cable is loose.", "Fasten it.")

    def freeze(self) -> None:
        self.n_faults += 1
        assert self.is_released.wait(WAIT)

    def fail(self, number: int, check: Callable[[], None]) -> None:
        if number > 4:
            raise DeviceError("The cable is loose.", "Fasten it.")

    def hang(self, number: int, check: Callable[[], None]) -> None:
        self.is_hanging.set()
        self.wait(self.is_released, check)

    def stick(self, number: int, check: Callable[[], None]) -> None:
        self.is_hanging.set()
        assert self.is_released.wait(WAIT)

    def be_slow(self, number: int, check: Callable[[], None]) -> None:
        self.wait(self.is_released, check)  # until others have done much of the work


class Counting(QuietContext):
    """Calls something after so many stored units, or when the others go on without a device; keeps the warnings."""

    def __init__(
        self, after: int = 0, then: Callable[[], None] = lambda: None, go_on: Callable[[], None] = lambda: None
    ) -> None:
        self.left, self.then, self.go_on, self.texts = after, then, go_on, list[str]()

    def partial(self, **facts: Any) -> None:
        self.left -= 1
        if not self.left:
            self.then()

    def warn(self, text: str) -> None:
        self.texts.append(text)
        if "The others go on" in text:
            self.go_on()


def computed(
    spec: Spec, path: Path, devices: Devices, words: tuple[str, ...], context: JobContext | None = None
) -> dict[str, Any]:
    """Compute a run, or go on with it, with the devices of these words; return its summary."""
    name = {SearchSpec: "plan7", PairwiseSpec: "pairwise", AlignmentSpec: "msa"}[type(spec)]
    devices.first = words[0]
    facts = {"engine": name, "spec": spec.to_dict(), "state": "new"}
    with open_run(path, writable=True) if path.exists() else create_run(path, **facts) as run:
        task = Task(run, spec, devices.pick, context or QuietContext(), beside=words[1:])
        summary: dict[str, Any] = engine_named(name).compute(task)
        return summary


def exports(path: Path, folder: Path) -> dict[str, str]:
    """Return what every writer makes of a run."""
    folder.mkdir()
    with open_run(path) as run:
        name = run.facts.engine
    for one in engine_named(name).exports:
        try:
            export(path, one.name, folder / one.name)
        except OptionError as error:
            assert one.aligns == "one query" or one.by_round
            (folder / one.name).write_text(error.message)
    return {file.name: re.sub(VARYING, "", text_of(file)) for file in folder.iterdir()}


def text_of(file: Path) -> str:
    """Return the text of an export, or the rows of a Parquet file."""
    if not file.name.endswith("parquet"):
        return file.read_text()
    return repr(importlib.import_module("pyarrow.parquet").read_table(file).to_pylist())


def content(path: Path) -> dict[str, Any]:
    """Return what a run holds, apart from the ids of hits, the pieces and the times of its units."""
    with open_run(path) as run:
        numbers = range(run.n_queries())
        of_filters = {}
        if run.facts.engine == "plan7":
            of_filters["funnel"] = [funnel_of(run, number) for number in numbers]
            of_filters["survivors"] = [survivors_at(run, number, "msv") for number in numbers]
        return of_filters | {
            "cards": run.cards(),
            "rows": [run.alignment_rows(found.id) for found in run.alignments()],
            "best": [run.best(number) for number in numbers],
            "hits": [repr(list(run.hits(number))) for number in numbers],
            "scores": [
                [v for _, _, values in run.scores(number) for v in values.tolist()] for number in (-1, *numbers)
            ],
            "histogram": [[part.tolist() for part in run.histogram(number)] for number in numbers],
            "cells": run.work_done()[0],
            "state": run.state,
        }
