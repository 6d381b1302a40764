"""Many profiles in one run: one database on the device, two batches in flight, and the results of single runs."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from clalign.compute import opening
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import ReferenceSession, Session
from clalign.databases.examples import load_examples
from clalign.engines.plan7 import profile_search
from clalign.engines.plan7.profile_search import hits_in_steps, start_many
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import Cancelled, OutOfDeviceMemory
from clalign.execution import executor as executor_module
from clalign.execution import speed, units
from clalign.execution.job import versions
from clalign.jobs import Event, Job, QuietContext
from clalign.runs.run_file import create_run, open_run
from clalign.values.devices import REFERENCE
from tests.computing import compute_search
from tests.execution.device_runs import Devices, computed


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list[Path]]:
    """Four proteins' profiles in one file, the sequences, and each profile in a file of its own."""
    folder = tmp_path_factory.mktemp("executor")
    examples = {example.id: example for example in load_examples()}
    single = []
    for number, name in enumerate(("rrm_1", "thioesterase", "rrm_1", "thioesterase")):
        path = folder / f"{number}.hmm"
        path.write_text(examples[name].profiles.read_text().replace("NAME  ", f"NAME  copy{number}_", 1))
        single.append(path)
    together = folder / "together.hmm"
    together.write_text("".join(path.read_text() for path in single))
    return together, Path(str(examples["rrm_1"].targets)), single


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "residue_limit", lambda device: 40_000)
    monkeypatch.setattr(speed, "BATCH_SECONDS", 1000.0)  # the limit alone counts, not this machine's speed
    monkeypatch.setattr(executor_module, "MAX_IN_FLIGHT", executor_module.MIN_IN_FLIGHT)


def found(path: Path, profile: int) -> dict[str, Any]:
    with open_run(path) as run:
        return {
            "hits": list(run.hits(profile)),
            "scores": [int(v) for _, _, values in run.scores(profile) for v in values],
            "histogram": [list(part) for part in run.histogram(profile)],
            "best": run.best(profile),
        }


@pytest.mark.thorough
def test_many_profiles_give_what_each_gives_alone(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, targets, single = inputs
    small_batches(monkeypatch)
    events: list[Event] = []
    with create_run(tmp_path / "all.clalign", engine="plan7") as run:
        done = compute_search(run, SearchSpec(str(together), str(targets)), pick_device, Job(events.append))
        assert len(run.finished(0)) > 3
        assert done["n_hits"] == run.n_hits() > 0
    partial = [event.value for event in events if event.kind == "partial"]
    assert [value["query"] for value in partial] == sorted(value["query"] for value in partial)
    for number, path in enumerate(single):
        with create_run(tmp_path / f"{number}.clalign", engine="plan7") as run:
            compute_search(run, SearchSpec(str(path), str(targets)), pick_device, QuietContext())
        assert found(tmp_path / "all.clalign", number) == found(tmp_path / f"{number}.clalign", 0)
        last = [value for value in partial if value["query"] == number][-1]
        assert last["n_hits"] == len(found(tmp_path / "all.clalign", number)["hits"])


def newer_library(folder: Path) -> list[Path]:
    """Write HMMER3 profiles, each in a file of its own, and return the files: two of many hits, each three times."""
    examples = {example.id: example for example in load_examples()}
    texts = [Path(str(examples[name].profiles)).read_text() for name in ("rrm_1_hmmer3", "globins4")] * 3
    paths = [folder / f"newer{number}.hmm" for number in range(len(texts))]
    for number, path in enumerate(paths):
        path.write_text(texts[number].replace("NAME  ", f"NAME  copy{number}_", 1))
    return paths


def sizes_started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets how many profiles were started together, each time that several were."""
    sizes: list[int] = []

    def noted(searches: Any, session: Any, batch: Any) -> Any:
        sizes.append(len(searches))
        return start_many(searches, session, batch)

    monkeypatch.setattr(profile_search, "start_many", noted)
    return sizes


@pytest.mark.thorough
def test_of_few_sequences_many_profiles_are_started_together(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, targets, single = inputs
    paths = newer_library(tmp_path)
    files = [*paths[:4], single[0], *paths[4:]]  # one of HMMER2 among them, which is started alone
    together = tmp_path / "newer.hmm"
    together.write_text("".join(path.read_text() for path in files))
    sizes = sizes_started(monkeypatch)
    results = []
    for most in (128, 1):
        monkeypatch.setattr(executor_module, "MAX_TOGETHER", most)
        path = tmp_path / f"{most}.clalign"
        with create_run(path, engine="plan7") as run:
            compute_search(run, SearchSpec(str(together), str(targets)), pick_device, QuietContext())
        results.append([found(path, number) for number in range(len(files))])
    assert results[0] == results[1]
    assert any(one["hits"] for one in results[0])
    assert sizes, "all of them in the first run"
    assert max(sizes) > 1


@pytest.mark.thorough
def test_of_plenty_each_of_several_devices_starts_many_together(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, targets, _ = inputs
    paths = newer_library(tmp_path)
    together = tmp_path / "newer.hmm"
    together.write_text("".join(path.read_text() for path in paths))
    sizes = sizes_started(monkeypatch)
    monkeypatch.setattr(executor_module, "MAX_TOGETHER", 2)
    for limit in ("SECONDS_IN_FLIGHT", "FIRST_CELLS"):
        monkeypatch.setattr(executor_module, limit, 1e12)  # however slow a busy machine is
    monkeypatch.setattr(speed, "BATCH_SECONDS", 1e6)
    devices, results, most = Devices(monkeypatch), [], {}
    for words, plenty in ((("one",), 512), (("one", "two"), 512), (("one", "two"), 3)):
        sizes.clear()
        monkeypatch.setattr(units, "PLENTY", plenty)
        path = tmp_path / f"{len(words)}_{plenty}.clalign"
        computed(SearchSpec(str(together), str(targets)), path, devices, words)
        results.append([found(path, number) for number in range(len(paths))])
        most[len(words), plenty] = max(sizes, default=1)
    assert results[0] == results[1] == results[2]
    assert most == {(1, 512): 2, (2, 512): 1, (2, 3): 2}


@pytest.mark.thorough
@pytest.mark.parametrize("most_cells", [executor_module.MAX_GATHERED_CELLS, 1e6, 1.0])
def test_candidates_of_many_profiles_are_traced_together(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_cells: float
) -> None:
    _, targets, _ = inputs
    paths = newer_library(tmp_path)
    together = tmp_path / "newer.hmm"
    together.write_text("".join(path.read_text() for path in paths))
    alone = []
    for path in paths[:2]:
        with create_run(tmp_path / f"{path.stem}.clalign", engine="plan7") as run:
            compute_search(run, SearchSpec(str(path), str(targets)), pick_device, QuietContext())
        alone.append(found(tmp_path / f"{path.stem}.clalign", 0))
    assert all(one["hits"] for one in alone[:1])
    groups: list[int] = []

    def noted(session: Any, units: Any) -> Any:
        groups.append(sum(scored.candidate_cells > 0 for _, scored in units))
        return hits_in_steps(session, units)

    small_batches(monkeypatch)
    monkeypatch.setattr(profile_search, "hits_in_steps", noted)
    monkeypatch.setattr(executor_module, "MAX_GATHERED_CELLS", most_cells)
    monkeypatch.setattr(executor_module, "GATHER_SECONDS", 1000.0)  # what there is alone counts
    with create_run(tmp_path / "all.clalign", engine="plan7") as run:
        compute_search(run, SearchSpec(str(together), str(targets)), pick_device, QuietContext())
    for number in range(len(paths)):
        assert found(tmp_path / "all.clalign", number) == alone[number % 2]
    assert (max(groups) > 3) == (most_cells > 1)


@pytest.mark.thorough
def test_too_little_memory_for_many_candidates(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer units are traced together then, and their batches stay as they are."""
    _, targets, _ = inputs
    together = tmp_path / "newer.hmm"
    together.write_text("".join(path.read_text() for path in newer_library(tmp_path)))
    spec, groups = SearchSpec(str(together), str(targets)), list[int]()

    def tight(session: Any, units: Any) -> Any:
        groups.append(sum(scored.candidate_cells > 0 for _, scored in units))
        if groups[-1] > 2:
            raise OutOfDeviceMemory("This device is full.", "Close other programs.")
        return hits_in_steps(session, units)

    small_batches(monkeypatch)
    with create_run(tmp_path / "plain.clalign", engine="plan7") as run:
        compute_search(run, spec, pick_device, QuietContext())
    monkeypatch.setattr(profile_search, "hits_in_steps", tight)
    with create_run(tmp_path / "tight.clalign", engine="plan7") as run:
        compute_search(run, spec, pick_device, QuietContext())
        n_batches = len(run.finished(0))
    assert max(groups) > 2 >= groups[-1]
    with open_run(tmp_path / "plain.clalign") as run:
        assert len(run.finished(0)) == n_batches
    for number in range(6):
        assert found(tmp_path / "tight.clalign", number) == found(tmp_path / "plain.clalign", number)


class Stopping(QuietContext):
    """Stops a job after some stored batches."""

    def __init__(self, after: int) -> None:
        self.left = after

    def partial(self, **facts: Any) -> None:
        self.left -= 1

    def check(self) -> None:
        if self.left <= 0:
            raise Cancelled


@pytest.mark.thorough
def test_stopped_between_profiles_and_continued(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, targets, _ = inputs
    small_batches(monkeypatch)
    monkeypatch.setattr(executor_module, "MAX_GATHERED_ROWS", 1)  # each unit is stored before many more are computed
    spec = SearchSpec(str(together), str(targets))
    with create_run(tmp_path / "whole.clalign", engine="plan7") as run:
        compute_search(run, spec, pick_device, QuietContext())
        n_batches = len(run.finished(0))
    halted = tmp_path / "halted.clalign"
    with create_run(halted, engine="plan7") as run:
        for after in (1, n_batches - 1, n_batches + 2):
            with pytest.raises(Cancelled):
                compute_search(run, spec, pick_device, Stopping(after))
            assert run.state == "stopped"
        monkeypatch.setattr(speed, "residue_limit", lambda device: 23_000)
        compute_search(run, spec, pick_device, QuietContext())
        assert run.state == "done"
    for number in range(4):
        assert found(halted, number) == found(tmp_path / "whole.clalign", number)


class Watching(ReferenceSession):
    """Notes what is started and collected on the device below."""

    def __init__(self, inner: Session, notes: list[tuple[str, int]]) -> None:
        super().__init__(inner.device, inner.check)
        self.inner, self.notes, self.batches = inner, notes, []

    def start(self, stage: Any, batch: Any, model: Any) -> Any:
        self.batches.append(batch)
        number = len(self.batches)
        self.notes.append(("started", number))
        wait = self.inner.start(stage, batch, model)

        def collect() -> Any:
            self.notes.append(("collected", number))
            return wait()

        return collect

    def second_queue(self) -> Session:
        return self.inner.second_queue()


def test_the_next_batch_is_started_before_one_is_collected(
    inputs: tuple[Path, Path, list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together, targets, _ = inputs
    small_batches(monkeypatch)
    monkeypatch.setattr(executor_module, "MAX_GATHERED_ROWS", 1)  # else all that the planner gives may wait for more
    notes: list[tuple[str, int]] = []
    sessions: list[Watching] = []

    def watching(device: Any, *watchers: Any) -> Session:
        sessions.append(Watching(open_session(device, *watchers), notes))
        return sessions[0]

    monkeypatch.setattr(opening, "open_session", watching)
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        compute_search(run, SearchSpec(str(together), str(targets)), pick_device, QuietContext())
        n_batches = len(run.finished(0))
    total = len(sessions[0].batches)
    assert total == 4 * n_batches
    for number in range(1, total):
        assert notes.index(("started", number + 1)) < notes.index(("collected", number))
        if number + 2 <= total:
            assert notes.index(("collected", number)) < notes.index(("started", number + 2))
    distinct = {id(batch) for batch in sessions[0].batches}
    assert len(distinct) == n_batches, "every profile meets the same batches, which stay on the device"


def test_the_reference_is_a_device_like_others(inputs: tuple[Path, Path, list[Path]], tmp_path: Path) -> None:
    example = next(example for example in load_examples() if example.id == "motif")
    spec = SearchSpec(str(example.profiles), str(example.targets), device="reference")
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        done = compute_search(run, spec, lambda wish: REFERENCE, QuietContext())
    assert done["device_seconds"] > 0


def test_the_version_of_a_package_that_is_being_loaded_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyopencl", ModuleType("pyopencl"))
    assert "pyopencl" not in versions()
    assert versions()["numpy"] == np.__version__
