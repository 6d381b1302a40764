"""`clalign tune` keeps what is fast and right, for its device and driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from clalign.compute.opencl.choice import all_devices
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opencl.tunings import keep_tuning, read_tunings, tunings_path
from clalign.errors import DeviceError, OptionError, OutputError
from clalign.jobs import QuietContext
from clalign.stages.hmmer3.ssv import SsvStage
from clalign.stages.hmmer3.ssv_tuning import SsvTuning
from clalign.stages.pairwise.smith_waterman import SmithWatermanStage
from clalign.stages.pairwise.smith_waterman_tuning import PairTuning
from clalign.stages.plan7.viterbi import ViterbiStage
from clalign.stages.plan7.viterbi_tuning import ViterbiTuning
from clalign.tools import tuners
from clalign.tools.tuners import PairTuner, SsvTuner, Tuner, ViterbiTuner
from clalign.tools.tuning import WORDS, choices_of, forget, tune
from clalign.values.devices import REFERENCE, Device
from clalign.values.hits import Scores

pytestmark = pytest.mark.thorough


@pytest.fixture
def cpu(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Device:
    """The CPU device, with a job so small that every trial is over at once."""
    monkeypatch.setattr(tuners, "MIN_SEQUENCES", 4)
    monkeypatch.setattr(tuners, "TRIAL_SECONDS", 1e-5)
    monkeypatch.setattr(tuners, "RUNS", 1)
    device = next(device for device in all_devices() if device.kind == "cpu")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path_factory.mktemp("tunings")))
    return device


def test_found_choices_are_kept_and_used(cpu: Device) -> None:
    finished = tune(cpu, QuietContext())
    tried = {(row["choice"], row["value"]) for row in finished["rows"]}
    assert {("vector_sequences", 1), ("vector_sequences", 2), ("vector_sequences", 3)} <= tried
    assert {("ssv.sequences", 1), ("ssv.sequences", 2), ("ssv.sequences", 3)} <= tried
    assert {("pair.vector_bits", 256), ("pair.vector_bits", 1024), ("pair.columns", 1), ("pair.columns", 4)} <= tried
    assert all(row["gcups"] > 0 and not row["problem"] for row in finished["rows"])
    kept = read_tunings()
    assert len(kept) == 1
    device = replace(cpu, tuning=next(iter(kept.values())))
    assert choices_of(device) == finished["tuning"]
    forget(device)
    assert read_tunings() == {}


def test_devices_carry_what_was_found(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    from clalign.compute.opencl import discover

    keep_tuning(discover.device_key(cpu), {ViterbiTuning.prefix + "vector_sequences": 3})
    (device,) = discover._tuned([cpu])
    assert ViterbiTuning.of(device).vector_sequences == 3
    keep_tuning(discover.device_key(cpu), {"ssv.sequences": 3, "ssv.unknown": 4, "sequences": 5})
    (device,) = discover._tuned([cpu])
    assert SsvTuning.of(device) == replace(SsvTuning.of(cpu), sequences=3)
    assert ViterbiTuning.of(device) == ViterbiTuning.of(cpu)
    keep_tuning(discover.device_key(cpu), {"pair.columns": 4})
    (device,) = discover._tuned([cpu])
    assert PairTuning.of(device) == replace(PairTuning.of(cpu), columns=4)


def test_vendors_of_gpus_have_choices_of_their_own(cpu: Device) -> None:
    cpu = replace(cpu, opencl_version="OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-znver3")
    of_cpu = PairTuning.of(cpu)
    assert PairTuning.of(replace(cpu, vendor="NVIDIA Corporation")) == of_cpu
    gpu = replace(cpu, kind="gpu", vendor="NVIDIA Corporation")
    assert PairTuning.of(gpu) != of_cpu
    assert PairTuning.of(replace(gpu, tuning={"pair.rows": 8})) == replace(PairTuning.of(gpu), rows=8)
    assert PairTuning.of(replace(gpu, vendor="nobody")) == of_cpu


@pytest.mark.parametrize(("named", "family"), [("sapphirerapids", "avx512"), ("rocketlake", "avx512"), ("znver4", ""),
                                               ("haswell", ""), ("", "")])  # fmt: skip
def test_processors_with_long_vectors_have_choices_of_their_own(cpu: Device, named: str, family: str) -> None:
    device = replace(cpu, opencl_version=f"OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-{named}", tuning={})
    assert device.family == family
    assert (PairTuning.of(device) != PairTuning.of(replace(device, opencl_version="OpenCL 3.0"))) is bool(family)


def test_every_choice_has_words_of_its_own(cpu: Device) -> None:
    assert set(WORDS) == set(choices_of(cpu))
    assert len(set(WORDS.values())) == len(WORDS)


def raised(found: Any, by: int) -> Any:
    """Return what a stage found, with higher scores."""
    if isinstance(found, np.ndarray):
        return found + by
    if isinstance(found, Scores):
        return Scores(found.targets, found.values + by)
    return msgspec.structs.replace(found, scores=raised(found.scores, by))


def spoil(monkeypatch: pytest.MonkeyPatch, stage: Any, is_wrong: Callable[[Any, Device], bool]) -> None:
    """Have a stage compute other scores where a function of it and its device says so."""
    start = stage.start

    def spoiled(self: Any, session: Any, batch: Any, model: Any) -> Callable[[], Any]:
        collect = start(self, session, batch, model)
        return lambda: raised(collect(), int(is_wrong(self, session.device)))

    monkeypatch.setattr(stage, "start", spoiled)


@pytest.mark.parametrize(
    ("kind", "stage", "tuning", "name", "first", "wrong"),
    [
        (ViterbiTuner, ViterbiStage, ViterbiTuning, "vector_sequences", 3, 1),
        (SsvTuner, SsvStage, SsvTuning, "sequences", 1, 3),
        (PairTuner, SmithWatermanStage, PairTuning, "columns", 1, 4),
    ],
    ids=["viterbi", "ssv", "pairs"],
)
def test_a_choice_that_changes_scores_is_never_taken(
    cpu: Device, monkeypatch: pytest.MonkeyPatch, kind: Any, stage: Any, tuning: Any, name: str, first: int, wrong: int
) -> None:
    """The fastest choice is wrong, so that the second one is taken."""

    def chosen(device: Device) -> int:
        return int(getattr(tuning.of(device), name))

    spoil(monkeypatch, stage, lambda self, device: chosen(device) == wrong and not self.defines)
    monkeypatch.setattr(Tuner, "_rate", lambda self, session, *_: 9.0 / (1 + abs(chosen(session.device) - wrong)))
    usual = replace(cpu, opencl_version="OpenCL 3.0")  # whose built-in choice is not the wrong one
    tuner = kind(usual, QuietContext())
    tuner.tuning = replace(tuner.tuning, **{name: first})
    assert getattr(tuner.find(), name) == 2
    problems = {row["value"]: row["problem"] for row in tuner.rows if row["choice"].rpartition(".")[2] == name}
    assert {value for value, problem in problems.items() if problem} == {wrong}


@pytest.mark.parametrize(
    ("kind", "stage"), [(SsvTuner, SsvStage), (PairTuner, SmithWatermanStage)], ids=["ssv", "pairs"]
)
def test_built_in_scores_are_compared_with_the_reference(
    cpu: Device, monkeypatch: pytest.MonkeyPatch, kind: Any, stage: Any
) -> None:
    """A kernel that is wrong in every size must not pass because it is always wrong alike."""
    spoil(monkeypatch, stage, lambda self, device: True)
    tuner = kind(cpu, QuietContext())
    before = tuner.tuning
    assert tuner.find() == before
    assert all(row["problem"] for row in tuner.rows)


def test_strips_of_ssv_are_tuned_where_a_gpu_is(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials of a GPU, run on the CPU as if it were one; small shares keep it short."""
    monkeypatch.setattr(Tuner, "lengths", (5, 9))
    monkeypatch.setattr(Tuner, "most_sequences", 8)
    candidates = (("nodes", "item", (4, 8)), ("group", "item", (32,)))
    monkeypatch.setattr(Tuner, "_candidates", lambda self: candidates)
    monkeypatch.setattr(Tuner, "_confirm", lambda self, before: None)
    tuner = SsvTuner(replace(cpu, kind="gpu", vendor="nobody"), QuietContext())
    tuner.find()
    assert [(row["choice"], row["value"]) for row in tuner.rows[:3]] == [("ssv.nodes", n) for n in (4, 8, 24)]
    assert not any(row["problem"] for row in tuner.rows)


def test_choices_of_pairs_reach_the_kernel(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bits of a vector and residues a pass are what was tried; scores that a byte does not hold are among those."""
    launched: list[tuple[int, int, int]] = []
    launch = OpenCLSession.launch

    def watching(self, file, kernel, defines, *rest, **more):
        if file == "smith_waterman_vector":
            launched.append((defines["WIDTH"], defines["WIDTH"] * defines["LANES"], defines["COLUMNS"]))
        return launch(self, file, kernel, defines, *rest, **more)

    monkeypatch.setattr(OpenCLSession, "launch", watching)
    tuner = PairTuner(cpu, QuietContext())
    assert [model.length for model in tuner.models] == [150, 500]
    tuner.truth = tuner._right_scores()
    assert all((scores > 127).any() for scores in tuner.truth)
    launched.clear()
    assert tuner._trial("vector_bits", 1024, "vector") > 0
    assert {found[1:] for found in launched} == {(1024, PairTuning.of(cpu).columns)}
    assert {found[0] for found in launched} == {8, 16}
    assert tuner._trial("columns", 1, "vector") > 0
    assert launched[-1][1:] == (512, 1)


def test_strips_of_pairs_are_tuned_where_a_gpu_is(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials of a GPU, run on the CPU as if it were one; what does not fit is told, and not taken."""
    monkeypatch.setattr(PairTuner, "lengths", (9, 20))
    monkeypatch.setattr(PairTuner, "most_sequences", 8)
    candidates = (("rows", "item", (8, 16)), ("lane_rows", "lanes", (4,)), ("long_percent", "item", (50,)))
    monkeypatch.setattr(Tuner, "_candidates", lambda self: candidates)
    monkeypatch.setattr(Tuner, "_confirm", lambda self, before: None)
    launch = OpenCLSession.launch

    def without_room(self, file, kernel, defines, *rest, **more):
        if file == "smith_waterman_item" and PairTuning.of(self.device).rows == 8:
            raise DeviceError("The kernel does not fit the device.", "Take another.")
        return launch(self, file, kernel, defines, *rest, **more)

    monkeypatch.setattr(OpenCLSession, "launch", without_room)
    tuner = PairTuner(replace(cpu, kind="gpu", vendor="nobody"), QuietContext())
    tuner.tuning = replace(tuner.tuning, least_long=10**6)  # lanes would take all of so few targets
    assert tuner.find().rows != 8
    tried = [(row["choice"], row["value"], row["problem"]) for row in tuner.rows]
    assert tried[0] == ("pair.rows", 8, "The kernel does not fit the device.")
    assert {choice for choice, _, _ in tried} == {"pair.rows", "pair.lane_rows", "pair.long_percent"}
    assert not any(problem for _, _, problem in tried[1:])


def test_progress_runs_through_all_kernels(cpu: Device) -> None:
    seen: list[tuple[float, float | None]] = []

    class Watching(QuietContext):
        def progress(self, stage: str, done: float, total: float | None, unit: str) -> None:
            seen.append((done, total))

    tune(cpu, Watching())
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert len({total for _, total in seen}) == 1
    assert seen[-1][0] == seen[-1][1]


def test_strips_are_tuned_where_a_gpu_is(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The trials of a GPU, run on the CPU as if it were one; small shares keep it short."""
    monkeypatch.setattr(Tuner, "lengths", (5, 9))
    monkeypatch.setattr(Tuner, "_candidates", lambda self: (("strip_nodes", "item", (4, 8)),))
    monkeypatch.setattr(tuners, "CROSSOVER", (2,))
    monkeypatch.setattr(Tuner, "most_sequences", 8)
    monkeypatch.setattr(Tuner, "_confirm", lambda self, before: None)
    tuner = ViterbiTuner(replace(cpu, kind="gpu", vendor="nobody"), QuietContext())
    found = tuner.find()
    assert found.strip_nodes in (4, 8, 12)
    assert found.strip_least in (2, 4)
    assert not any(row["problem"] for row in tuner.rows)


def test_a_damaged_file_counts_for_nothing(cpu: Device) -> None:
    tunings_path().parent.mkdir(parents=True, exist_ok=True)
    for text in ("", "[]", '{"a": 1}', '{"a": {"b": "c"}}'):
        tunings_path().write_text(text)
        assert read_tunings() == {}


def test_the_reference_has_nothing_to_tune() -> None:
    with pytest.raises(OptionError):
        tune(REFERENCE, QuietContext())


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(OutputError, match=re.escape(str(tmp_path / "file" / "cache"))):
        keep_tuning("a device", {ViterbiTuning.prefix + "vector_sequences": 3})


def test_choices_that_are_no_faster_in_turns_are_given_up(cpu: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a trial found may have been chance."""
    tuner = ViterbiTuner(cpu, QuietContext())
    before = tuner.tuning
    monkeypatch.setattr(Tuner, "_rate", lambda self, session, *_: float(ViterbiTuning.of(session.device).vector_lanes))
    tuner.tuning = replace(before, vector_lanes=4 * before.vector_lanes // 8, vector_sequences=1)
    slower = tuner.tuning
    monkeypatch.setattr(ViterbiStage, "start", lambda self, session, batch, model: lambda: None)
    tuner._confirm(before)
    assert tuner.tuning == before
    tuner._confirm(slower)
    assert tuner.tuning == before
