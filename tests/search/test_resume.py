"""A worker that is killed at any moment costs nothing but its last batch."""

from __future__ import annotations

import hashlib
import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.cli.processes import WorkerProcess
from clalign.compute import opening
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import ReferenceSession
from clalign.databases.examples import load_examples
from clalign.databases.loading import load_database
from clalign.engines.plan7 import profile_search
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import Cancelled, ExitCode, InputError, OutOfDeviceMemory, WorkerLost
from clalign.jobs import Event, Job, QuietContext
from clalign.runs.run_file import create_run, open_run
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE
from clalign.values.alphabets import AMINO
from clalign.values.devices import REFERENCE
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_profile
from tests.computing import compute_search


@pytest.fixture(scope="module")
def spec(tmp_path_factory: pytest.TempPathFactory) -> SearchSpec:
    """A search that takes some seconds: the bundled proteins, with copies under other names."""
    folder = tmp_path_factory.mktemp("resume")
    example = next(example for example in load_examples() if example.id == "thioesterase")
    rng = np.random.default_rng(1)
    letters = np.array(list(AMINO.canonical))
    path = folder / "random.fasta"
    with path.open("w") as file:
        ends = np.cumsum(rng.integers(20, 500, 40_000))
        text = "".join(letters[rng.integers(0, 20, ends[-1])])
        file.writelines(f">random{n}\n{text[a:b]}\n" for n, (a, b) in enumerate(itertools.pairwise([0, *ends])))
    from xopen import xopen

    with xopen(str(example.targets)) as source, path.open("a") as file:
        file.write(source.read())
    return SearchSpec(profiles=str(example.profiles), targets=str(path), evalue=1e9, score=-112.0)


def content(path: Path) -> dict[str, Any]:
    """Return everything that a run found."""
    with open_run(path) as run:
        values = np.concatenate([np.empty(0, np.int32), *[scores for _, _, scores in run.scores(0)]])
        edges, counts = run.histogram(0)
        return {
            "hits": list(run.hits(0)),
            "n_hits": run.n_hits(0),
            "scores": values.tolist(),
            "histogram": list(zip(edges.tolist(), counts.tolist(), strict=True)),
            "state": run.state,
            "best": run.best(0),
        }


@pytest.fixture(scope="module")
def undisturbed(spec: SearchSpec, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("undisturbed") / "run.clalign"
    assert last_event(WorkerProcess({"job": "search", "run": str(path), "spec": spec.to_dict()})).kind == "finished"
    found = content(path)
    assert found["n_hits"] >= 20
    return found


def last_event(worker: WorkerProcess) -> Event:
    with worker:
        return [event for event in worker.events() if event is not None][-1]


def run_until_killed(job: dict[str, Any], chance: random.Random) -> bool:
    """Run a job and kill its worker at a random moment; return False if it was done before that.

    Half of the moments are drawn from the clock, the others fall after a stored batch, however slow the
    machine is.
    """
    by_clock = chance.random() < 0.5
    deadline = time.monotonic() + (chance.uniform(0.05, 2.0) if by_clock else float("inf"))
    with WorkerProcess(job) as worker:
        try:
            for event in worker.events():
                stored = event is not None and event.kind == "partial"
                if time.monotonic() > deadline or (stored and chance.random() < 0.4):
                    worker.stop()
                if event is not None and event.kind in ("finished", "failed", "cancelled"):
                    assert event.kind == "finished", event
                    return False
        except WorkerLost:
            return True
    raise AssertionError("events end with a last one")


@pytest.mark.thorough
@pytest.mark.exhaustive(n_kills=[4])
@pytest.mark.parametrize("n_kills", [4, 30])
def test_killed_at_random_moments(spec: SearchSpec, undisturbed: dict[str, Any], tmp_path: Path, n_kills: int) -> None:
    """However often they are killed, runs end with the very result of an undisturbed one."""
    chance = random.Random(7)
    killed = killed_halfway = n_runs = 0
    path, job = tmp_path / "0.clalign", {}
    while killed < n_kills or job:
        begun = path.exists() and begins_well(path)
        job = {"job": "resume", "run": str(path)}
        if not begun:
            path.unlink(missing_ok=True)
            job = {"job": "search", "run": str(path), "spec": spec.to_dict()}
        if killed < n_kills and run_until_killed(job, chance):
            killed += 1
            killed_halfway += bool(path.exists() and begins_well(path) and finished_ranges(path))
            continue
        if killed >= n_kills:
            assert last_event(WorkerProcess(job)).kind == "finished"
        assert content(path) == undisturbed
        n_runs += 1
        path, job = tmp_path / f"{n_runs}.clalign", {}
    assert killed_halfway >= n_kills // 4, "most kills must strike between the first batch and the last"


def begins_well(path: Path) -> bool:
    """Whether a worker came as far as writing down what it was to do."""
    try:
        with open_run(path) as run:
            return run.facts.spec is not None
    except InputError:
        return False


def finished_ranges(path: Path) -> list[tuple[int, int]]:
    with open_run(path) as run:
        return run.finished(0)


def cancelled_after_first_batch(worker: WorkerProcess) -> Iterator[Event]:
    asked = False
    for event in worker.events():
        if event is not None:
            yield event
            if event.kind == "partial" and not asked:
                worker.send("cancel")
                asked = True


@pytest.mark.thorough
def test_cancelled_at_the_next_batch_and_resumed(spec: SearchSpec, undisturbed: dict[str, Any], tmp_path: Path) -> None:
    path, profiles = tmp_path / "run.clalign", tmp_path / "four.hmm"
    profiles.write_text(4 * Path(spec.profiles).read_text())  # so that much is left when the first results are stored
    four = replace(spec, profiles=str(profiles))
    with WorkerProcess({"job": "search", "run": str(path), "spec": four.to_dict()}) as worker:
        kinds = [event.kind for event in cancelled_after_first_batch(worker)]
    assert kinds[-1] == "cancelled"
    with open_run(path) as run:
        assert run.state == "stopped"
        assert len(run.finished(0)) > 0
        assert run.best(3) is None
    assert last_event(WorkerProcess({"job": "resume", "run": str(path)})).kind == "finished"
    assert content(path) == undisturbed


def test_resumed_on_another_device(tmp_path: Path) -> None:
    """The second half of a small run, computed by the reference, is what the device would have given."""
    example = next(example for example in load_examples() if example.id == "made1")
    small = SearchSpec(profiles=str(example.profiles), targets=str(example.targets))
    whole, halved = tmp_path / "whole.clalign", tmp_path / "halved.clalign"
    with create_run(whole, engine="plan7") as run:
        compute_search(run, small, pick_device, QuietContext())
    with create_run(halved, engine="plan7") as run:
        with pytest.raises(OSError, match="plug pulled"):
            compute_search(run, small, pick_device, FailingContext(after=1))
        assert run.finished(0)[-1][1] > 0
    with open_run(halved, writable=True) as run:
        compute_search(run, small, lambda _: pick_device("reference"), QuietContext())
    assert content(halved) == content(whole)


class FailingContext(QuietContext):
    """Fails after some batches, as a crash would."""

    def __init__(self, after: int) -> None:
        self.left = after

    def partial(self, **facts: Any) -> None:
        self.left -= 1
        if self.left == 0:
            raise OSError("plug pulled")


@pytest.mark.parametrize("when", ["starting", "collecting"])
def test_little_device_memory_makes_smaller_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    example = next(example for example in load_examples() if example.id == "made1")
    small = SearchSpec(profiles=str(example.profiles), targets=str(example.targets))
    whole, tight = tmp_path / "whole.clalign", tmp_path / "tight.clalign"
    with create_run(whole, engine="plan7") as run:
        compute_search(run, small, pick_device, QuietContext())

    class Tight(ReferenceSession):
        """Refuses more than a few sequences at once."""

        def start(self, stage: Any, batch: Any, model: Any) -> Any:
            def refuse() -> None:
                raise OutOfDeviceMemory("This device is full.", "Close other programs.")

            if len(batch) > 20:
                return refuse() if when == "starting" else refuse
            return self.inner.start(stage, batch, model)

    def open_tight(device: Any, check: Any, building: Any) -> Tight:
        session = Tight(device, check)
        session.inner = open_session(device, check, building)
        return session

    monkeypatch.setattr(opening, "open_session", open_tight)
    warnings: list[str] = []
    context = Job(lambda event: warnings.append(event.value["text"]) if event.kind == "warning" else None)
    with create_run(tight, engine="plan7") as run:
        compute_search(run, small, pick_device, context)
        assert len(run.finished(0)) > 1
    assert any("batches" in text for text in warnings)
    assert content(tight) == content(whole)


def test_changed_input_is_refused(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fasta"
    targets.write_text(">a\nACGTACGTTGACGT\n>b\nACGTTGACGT\n")
    example = next(example for example in load_examples() if example.id == "motif")
    spec = SearchSpec(profiles=str(example.profiles), targets=str(targets))
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        with pytest.raises(OSError, match="plug pulled"):
            compute_search(run, spec, pick_device, FailingContext(after=1))
        targets.write_text(">a\nACGTACGTTGACGT\n>b\nACGTTGACGA\n")
        with pytest.raises(InputError, match=targets.name):
            compute_search(run, spec, pick_device, QuietContext())
        assert run.state == "failed"
        assert run.facts.error["hint"]


def test_sequences_that_changed_since_they_were_opened_are_reported(tmp_path: Path) -> None:
    example = next(example for example in load_examples() if example.id == "motif")
    spec = SearchSpec(profiles=str(example.profiles), targets=str(example.targets))
    texts: dict[str, list[str]] = {}
    for seen in ("0" * 64, load_database(spec.targets)[1].digest):
        path = tmp_path / f"{seen[:5]}.clalign"
        job = {"job": "search", "run": str(path), "spec": spec.to_dict(), "seen_digest": seen}
        with WorkerProcess(job) as worker:
            texts[seen] = [event.value["text"] for event in worker.events() if event and event.kind == "warning"]
    changed, same = texts.values()
    assert len([text for text in changed if "changed" in text]) == 1
    assert not [text for text in same if "changed" in text]


@pytest.mark.thorough
def test_two_workers_do_not_write_one_run(spec: SearchSpec, tmp_path: Path) -> None:
    """The second is refused, and the first one's run ends well."""
    path = tmp_path / "run.clalign"
    with WorkerProcess({"job": "search", "run": str(path), "spec": spec.to_dict()}) as first:
        events = first.events()
        next(event for event in events if event and event.kind == "warning")  # of the profile, before it is scored
        first.send("pause")  # it would be done before the second has begun
        refused = last_event(WorkerProcess({"job": "resume", "run": str(path)}))
        assert refused.kind == "failed"
        assert refused.value["exit_code"] == ExitCode.CANNOT_WRITE
        with open_run(path) as run:
            assert run.state == "running"
        first.send("continue")
        assert [event for event in events if event][-1].kind == "finished"
    with open_run(path) as run:
        assert run.state == "done"


def test_a_fault_leaves_a_run_that_can_be_continued(tmp_path: Path) -> None:
    example = next(example for example in load_examples() if example.id == "motif")
    spec = SearchSpec(profiles=str(example.profiles), targets=str(example.targets))
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        with pytest.raises(OSError, match="plug pulled"):
            compute_search(run, spec, pick_device, FailingContext(after=1))
        assert run.state == "stopped"


def test_a_long_trace_on_the_reference_can_be_stopped() -> None:
    """Rows of one sequence are many; the stop must be heard between them."""
    rng = np.random.default_rng(3)
    profile = random_profile(rng, 5)
    batch = SequenceBatch.from_texts(["ACDEFGHIKL" * 2000])
    rows_before = 0

    def stop_soon() -> None:
        nonlocal rows_before
        rows_before += 1
        if rows_before > 3:
            raise Cancelled

    for stage in (VITERBI, VITERBI_TRACE):
        rows_before = 0
        with open_session(REFERENCE, stop_soon) as session, pytest.raises(Cancelled):
            session.run(stage, batch, profile)
        assert rows_before == 4


def test_profiles_replaced_during_the_search_are_not_taken_for_those_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run keeps the checksum of what was read, so going on with the other profile is refused."""
    example = next(example for example in load_examples() if example.id == "thioesterase")
    (tmp_path / "a.fasta").write_text(">a\nMKVLWAAAGHW\n")
    profile, old = tmp_path / "p.hmm", Path(example.profiles).read_bytes()
    profile.write_bytes(old)

    def replacing(*arguments: Any, **options: Any) -> Any:
        profile.write_bytes(old.replace(b"NAME  ", b"NAME  other", 1))
        return load_database(*arguments, **options)

    spec = SearchSpec(profiles=str(profile), targets=str(tmp_path / "a.fasta"), device="reference")
    with create_run(tmp_path / "run.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
        with monkeypatch.context() as patched:
            patched.setattr(profile_search, "load_database", replacing)
            compute_search(run, spec, lambda words: REFERENCE, QuietContext())
        assert run.facts.profiles_digest == hashlib.sha256(old).hexdigest()
        with pytest.raises(InputError, match=profile.name):
            compute_search(run, spec, lambda words: REFERENCE, QuietContext())
