"""Programs that are built ahead, and rehearsals that tell which these are."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pyopencl as cl
import pytest

from clalign.compute.opencl import choice, contexts
from clalign.compute.opencl import programs as opencl_programs
from clalign.compute.opencl.builder_process import BuilderProcess
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.kernels import is_kept
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.rehearsal import Rehearsal, probe_batch
from clalign.compute.sessions import ProgramChoice, ReferenceSession, nothing_to_check
from clalign.databases.profile_library import load_library
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.pairwise.inputs import load_inputs
from clalign.engines.pairwise.rehearsing import rehearse as rehearse_comparison
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.profile_search import foresee
from clalign.engines.plan7.rehearsing import rehearse
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import KernelBuildError, OutOfDeviceMemory
from clalign.execution import host as host_module
from clalign.execution.host import Host
from clalign.execution.job import Task
from clalign.formats.matrices import load_matrix
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.devices import Device
from clalign.values.filters import FilterLimits
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring
from clalign.values.sequences import Sequence
from clalign.values.synthetic import random_batch, random_codes, random_local_hmm, random_local_profile
from tests.computing import compute_search

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"

TEXT = """
__kernel void first(__global int *out) { out[get_global_id(0)] = CHOICE; }
__kernel void second(__global int *out) { out[get_global_id(0)] = CHOICE + 1; }
"""

CARD = Device(
    "7:0", "NVIDIA Card", "gpu", vendor="NVIDIA Corporation", platform="NVIDIA CUDA", compute_capability=90,
    n_compute_units=132, memory_bytes=2**36, max_buffer_bytes=2**34, local_bytes=49152, max_work_group=1024,
)  # fmt: skip


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenCLSession]:
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: name)
    with OpenCLSession(pick_device("cpu")) as opened:
        yield opened


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, str]]:
    """The choices that were built, and the names of the threads that did."""
    found: list[tuple[object, str]] = []
    build = opencl_programs.build

    def noted(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        found.append((defines.get("CHOICE"), threading.current_thread().name))
        return build(context, device_name, source, defines)  # type: ignore[arg-type]

    monkeypatch.setattr(opencl_programs, "build", noted)
    return found


def computed(session: OpenCLSession, entry: str, choice: int) -> int:
    out = session.zeros(4)
    session.launch(TEXT, entry, {"CHOICE": choice}, 1, 1, out)
    return int(session.download(out, 1, np.int32)[0])


def test_all_kernels_of_a_file_are_of_one_program(session: OpenCLSession, built: list[tuple[object, str]]) -> None:
    assert [computed(session, entry, 5) for entry in ("first", "second", "first")] == [5, 6, 5]
    with session.second_queue() as other:
        assert computed(other, "second", 5) == 6
    assert [choice for choice, _ in built] == [5]
    assert computed(session, "first", 6) == 6
    assert len(built) == 2


def test_programs_are_built_ahead_in_order(session: OpenCLSession, built: list[tuple[object, str]]) -> None:
    session.build_ahead([ProgramChoice.of(TEXT, {"CHOICE": n}) for n in (3, 4)])
    session.build_ahead([ProgramChoice.of(TEXT, {"CHOICE": n}) for n in (4, 3, 7)])
    assert [computed(session, "first", n) for n in (3, 4, 7)] == [3, 4, 7]
    assert sorted(choice for choice, _ in built) == [3, 4, 7]  # type: ignore[type-var]
    assert session._programs.counts == (3, 3)


def test_a_device_is_left_to_the_next_session_of_a_process_that_goes_on(
    monkeypatch: pytest.MonkeyPatch, built: list[tuple[object, str]]
) -> None:
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: name)
    monkeypatch.setattr(choice, "is_keeping", True)
    cpu = pick_device("cpu")
    with OpenCLSession(cpu) as first, OpenCLSession(cpu) as beside:
        assert computed(first, "first", 11) == 11
        assert beside._context != first._context
    with OpenCLSession(cpu) as second:
        assert second._context in (first._context, beside._context)
    choice.rest()
    with OpenCLSession(cpu) as second:
        assert second._context == first._context, "what was left last"
        assert [computed(second, "first", 11), computed(second, "second", 11)] == [11, 12]
        assert second._programs.counts == (0, 0)
    assert len(built) == 1
    with suppress(OutOfDeviceMemory), OpenCLSession(cpu):
        raise OutOfDeviceMemory("There is too little.", "Close others.")
    with OpenCLSession(cpu) as third:
        assert third._context != first._context, "a device that failed is opened afresh"
    for is_there in (True, True, True, False):  # the job that used it, two others, and the third
        choice.rest()
        assert contexts.is_kept(cpu) == is_there


def test_one_thread_at_a_time_builds_and_what_is_needed_now_comes_first(
    session: OpenCLSession, built: list[tuple[object, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    is_begun, is_held, build, busy = threading.Event(), threading.Event(), opencl_programs.build, threading.Lock()

    def slow(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        assert busy.acquire(blocking=False), "drivers are asked by one thread at a time"
        try:
            if defines["CHOICE"] == 1:
                is_begun.set()
                assert is_held.wait(60)
            return build(context, device_name, source, defines)  # type: ignore[arg-type]
        finally:
            busy.release()

    monkeypatch.setattr(opencl_programs, "build", slow)
    choices = [ProgramChoice.of(TEXT, {"CHOICE": n}) for n in (1, 2, 3, 4, 5)]
    programs = session._programs
    session.build_ahead(choices[:1])
    assert is_begun.wait(60)
    session.build_ahead(choices[1:2], can_wait=True)
    session.build_ahead(choices[2:])
    needed = threading.Thread(target=programs.get, args=(choices[4],))
    needed.start()
    while not programs._n_needed:
        needed.join(0.01)
    is_held.set()
    needed.join(60)
    assert [computed(session, "first", n) for n in (4, 3, 1)] == [4, 3, 1]
    assert computed(session, "first", 2) == 2
    order = [choice for choice, _ in built]
    assert order[:2] == [1, 5]
    assert sorted(order) == [1, 2, 3, 4, 5]  # type: ignore[type-var]


def test_programs_that_can_wait_come_last(session: OpenCLSession, built: list[tuple[object, str]]) -> None:
    first, later, sooner = (ProgramChoice.of(TEXT, {"CHOICE": n, "RUN": os.getpid()}) for n in (20, 21, 22))
    with session._programs._alone(is_needed=False):
        session.build_ahead([first])  # the thread that builds has it in hand
        while session._programs._waiting or session._programs._new:
            time.sleep(0.01)
        session.build_ahead([later], can_wait=True)
        session.build_ahead([sooner])
    for future in list(session._programs._futures.values()):
        future.result(60)
    assert [choice for choice, _ in built] == [20, 22, 21]


def test_what_a_child_is_at_is_not_there_though_the_cache_has_it(session: OpenCLSession) -> None:
    choice = ProgramChoice.of(TEXT, {"CHOICE": 30, "RUN": os.getpid()})
    assert session.unbuilt([choice]) == [choice]
    session._programs.get(choice)
    assert session.unbuilt([choice]) == []
    with OpenCLSession(session.device) as other:
        assert other.unbuilt([choice]) == [], "it is in the cache"
        with other._programs._alone(is_needed=False):
            other.build_ahead([choice])
            assert other.unbuilt([choice]) == [choice]
        other._programs.get(choice)
        assert other.unbuilt([choice]) == []


def card_like(cpu: Device) -> Device:
    return replace(cpu, kind="gpu", vendor="nobody")


def test_children_build_what_a_card_needs(monkeypatch: pytest.MonkeyPatch, built: list[tuple[object, str]]) -> None:
    asked: list[ProgramChoice] = []
    by_child = BuilderProcess.build

    def noted(child: BuilderProcess, choice: ProgramChoice) -> None:
        by_child(child, choice)
        assert is_kept(context, choice.source, choice.defines), "it is to be taken from the cache"
        asked.append(choice)

    monkeypatch.setattr(BuilderProcess, "build", noted)
    monkeypatch.setattr(opencl_programs, "FEW_NEW", 0)
    fresh = [ProgramChoice.of("filters_item", {"FRESH": n, "RUN": os.getpid()}) for n in range(4)]
    with OpenCLSession(card_like(pick_device("cpu"))) as session:
        context = session._context
        session.build_ahead(fresh)
        for choice in reversed(fresh):
            session._programs.get(choice)
        assert session._programs.counts == (4, 4)
    assert len(built) == 4
    assert set(asked) <= set(fresh)


class MadeUpChild(BuilderProcess):
    """One that is no process."""

    def __init__(self) -> None:
        self._process, self._is_ready = None, True

    def build(self, choice: ProgramChoice) -> None:
        """Leave it to the other side."""


def test_children_without_work_end_and_others_begin_when_there_is_some(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opencl_programs, "FEW_NEW", 0)
    monkeypatch.setattr(opencl_programs, "IDLE_SECONDS", 0.05)
    programs = opencl_programs.Programs(session._context, "card", MadeUpChild)
    for at in (60, 70):
        before = len(programs._children)
        choices = [ProgramChoice.of(TEXT, {"CHOICE": n, "RUN": os.getpid()}) for n in range(at, at + 4)]
        programs.build_ahead(choices)
        for wanted in choices:
            programs.get(wanted)
        while programs._n_children or programs._n_ready:
            time.sleep(0.01)
        assert len(programs._children) > before
    assert programs.counts == (8, 8)
    programs.close()


def test_children_do_not_wait_for_a_long_compilation_here(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One held up all that children had made, so that a first use took three times as long."""
    build, are_made = opencl_programs.build, threading.Event()
    choices = [ProgramChoice.of(TEXT, {"CHOICE": n, "RUN": os.getpid()}) for n in range(40, 46)]
    were_made: dict[object, bool] = {}

    class Child(MadeUpChild):
        def build(self, choice: ProgramChoice) -> None:
            build(session._context, "child", choice.source, choice.defines)
            if sum(is_kept(session._context, one.source, one.defines) for one in choices) == len(choices) - 1:
                are_made.set()

    def noted(context: cl.Context, device_name: str, source: str, defines: dict[str, object]) -> cl.Program:
        were_made[defines["CHOICE"]] = is_kept(context, source, defines)
        if defines["CHOICE"] == 40:
            assert are_made.wait(60), "children go on meanwhile"
        return build(context, device_name, source, defines)

    monkeypatch.setattr(opencl_programs, "build", noted)
    monkeypatch.setattr(opencl_programs, "FEW_NEW", 1)
    programs = opencl_programs.Programs(session._context, "card", Child)
    programs.build_ahead(choices[:1])
    while programs._new:  # this process has it in hand
        time.sleep(0.01)
    programs.build_ahead(choices[1:])
    for future in list(programs._futures.values()):
        future.result(60)
    programs.close()
    assert were_made == {40: False, **dict.fromkeys(range(41, 46), True)}


def test_a_child_answers_and_ends() -> None:
    device = pick_device("cpu")
    choice = ProgramChoice.of("filters_item", {"FRESH": 77, "RUN": os.getpid()})
    with OpenCLSession(device) as session, BuilderProcess(device) as child:
        assert child.is_ready()
        assert not is_kept(session._context, choice.source, choice.defines)
        for _ in range(2):
            child.build(choice)
            assert child.is_ready()
        assert is_kept(session._context, choice.source, choice.defines)
        child.build(ProgramChoice.of("filters_item", {"uint": "no type"}))
        assert child.is_ready(), "what cannot be built is told where it is needed"
        process = child._process
    assert process is not None
    assert process.poll() is not None


@pytest.mark.parametrize("command", [["false"], ["/nowhere/at/all"]])
def test_without_children_programs_are_built_here(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clalign.compute.opencl.builder_process.own_command", lambda *words: command)
    monkeypatch.setattr(opencl_programs, "FEW_NEW", 0)
    fresh = [ProgramChoice.of("filters_item", {"FRESH": n, "RUN": f"{os.getpid()}{len(command[0])}"}) for n in range(2)]
    with OpenCLSession(card_like(pick_device("cpu"))) as session:
        session.build_ahead(fresh)
        for choice in fresh:
            session._programs.get(choice)
        assert session._programs.counts == (2, 2)


def test_an_error_is_told_when_the_program_is_needed(session: OpenCLSession) -> None:
    session.build_ahead([ProgramChoice.of("__kernel void none( {", {})])
    assert computed(session, "first", 1) == 1
    for _ in range(2):
        with pytest.raises(KernelBuildError):
            session.launch("__kernel void none( {", "none", {}, 1, 1)


def test_what_memory_was_short_for_is_built_again(session: OpenCLSession, monkeypatch: pytest.MonkeyPatch) -> None:
    build, n_builds = opencl_programs.build, [0]

    def short(context: object, device_name: str, source: str, defines: dict[str, object]) -> object:
        n_builds[0] += 1
        if n_builds[0] == 1:
            raise cl.MemoryError("clBuildProgram", cl.status_code.OUT_OF_HOST_MEMORY)
        return build(context, device_name, source, defines)  # type: ignore[arg-type]

    monkeypatch.setattr(opencl_programs, "build", short)
    session.build_ahead([ProgramChoice.of(TEXT, {"CHOICE": 8})])
    with suppress(OutOfDeviceMemory):  # if it comes so soon that it waits for what fails
        computed(session, "first", 8)
    assert computed(session, "first", 8) == 8


def test_nothing_is_built_ahead_for_a_session_that_is_closed(built: list[tuple[object, str]]) -> None:
    with OpenCLSession(pick_device("cpu")) as session:
        pass
    session.build_ahead([ProgramChoice.of("ssv_vector", {})])
    assert not built


def test_a_rehearsal_tells_what_filters_need() -> None:
    rng = np.random.default_rng(3)
    device = pick_device("cpu")
    lengths = (20, 130, 300)
    profiles = [random_local_profile(rng, n) for n in lengths]
    noted: list[ProgramChoice] = []
    rehearsal = Rehearsal(device, noted.append)
    for profile in profiles:
        FILTERS.start(rehearsal, probe_batch(4, longest=200), FilterModel(profile, FilterLimits()))
    assert noted == list(rehearsal.programs)
    with OpenCLSession(device) as session:
        session.build_ahead(noted)
        for profile in profiles:
            session.run(FILTERS, random_batch(rng, profile, 6, 40), FilterModel(profile, FilterLimits()))
        assert {choice for choice, _ in session._kernels} == set(noted)
        assert {(choice, entry) for choice in noted for entry in rehearsal.programs[choice]} == set(session._kernels)


def test_lengths_of_profiles_share_programs_on_cards() -> None:
    """Fifty models as long as families of proteins need few programs, fifty others hardly more."""
    rng = np.random.default_rng(8)
    needed = Rehearsal(CARD)
    counts = []
    for _ in range(2):
        for length in np.clip(rng.lognormal(4.9, 0.6, 50), 30, 640).astype(int).tolist():
            profile = random_local_profile(rng, length)
            FILTERS.start(needed, probe_batch(2), FilterModel(profile, FilterLimits()))
        counts.append(len(needed.programs))
    assert counts[0] <= 50
    assert counts[1] - counts[0] <= 10


def test_queries_share_programs_on_cards() -> None:
    rng = np.random.default_rng(9)
    needed, batch = Rehearsal(CARD), probe_batch(2**12, 300, 5000)
    scoring = Scoring(load_matrix("BLOSUM62"), GapCosts(11, 1))
    for length in (144, 189, 222, 375, 464, 657, 850, 1000):
        query = Sequence("query", "", rng.integers(0, 20, length).astype(np.uint8))
        SMITH_WATERMAN.start(needed, batch, PairwiseQuery(query, scoring))
    assert len(needed.programs) <= 14


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> tuple[set[ProgramChoice], set[ProgramChoice]]:
    """The programs that are launched on devices, and those that are built ahead."""
    launched, ahead = set[ProgramChoice](), set[ProgramChoice]()
    launch, build_ahead = OpenCLSession.launch, OpenCLSession.build_ahead

    def noted(
        session: OpenCLSession, source: str, entry: str, defines: dict[str, object], *more: Any, **at: int
    ) -> None:
        launched.add(ProgramChoice.of(source, defines))
        launch(session, source, entry, defines, *more, **at)

    def noted_ahead(session: OpenCLSession, choices: Any, can_wait: bool = False) -> None:
        chosen = list(choices)
        ahead.update(chosen)
        build_ahead(session, chosen, can_wait)

    monkeypatch.setattr(OpenCLSession, "launch", noted)
    monkeypatch.setattr(OpenCLSession, "build_ahead", noted_ahead)
    return launched, ahead


def test_an_alignment_is_rehearsed_to_its_end(
    tmp_path: Path, watched: tuple[set[ProgramChoice], set[ProgramChoice]]
) -> None:
    launched, ahead = watched
    spec = AlignmentSpec((str(EXAMPLES / "three_proteins.fasta"),), device="cpu")
    with create_run(tmp_path / "run.clalign", engine="msa", spec=spec.to_dict(), state="new") as run:
        compute_search(run, spec, pick_device, QuietContext())
    assert {choice.source for choice in launched} == {"pair_hmm_vector", "annealing_item", "refinement_item"}
    assert launched <= ahead


def test_the_processor_beside_a_card_gets_all_that_domains_need(
    tmp_path: Path, watched: tuple[set[ProgramChoice], set[ProgramChoice]], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched, _ = watched
    profiles, targets = (str(EXAMPLES / name) for name in ("rrm_1_hmmer3.hmm", "swissprot_sample.fasta.gz"))
    spec = SearchSpec(profiles, targets, device="cpu")
    with create_run(tmp_path / "run.clalign", spec=spec.to_dict(), state="new") as run:
        compute_search(run, spec, pick_device, QuietContext())
    needed = {choice for choice in launched if choice.source.endswith("_simd4")}
    assert needed

    asked, of_card, is_known = list[ProgramChoice](), list[ProgramChoice](), threading.Event()
    helps: list[Any] = []
    task = Task(cast(Any, None), spec, pick_device, QuietContext(), foresee_help=helps.append)
    models, _ = load_library(profiles)
    foresee(task, models)

    def note(session: OpenCLSession, choices: Any, can_wait: bool = False) -> None:
        asked.extend(choices)
        if len(asked) == 9:
            is_known.set()

    monkeypatch.setattr(OpenCLSession, "build_ahead", note)
    monkeypatch.setattr(OpenCLSession, "unbuilt", lambda session, choices: list(choices))
    card = ReferenceSession(CARD)
    monkeypatch.setattr(card, "build_ahead", lambda choices, can_wait: of_card.extend(choices))
    monkeypatch.setattr(host_module, "SMALL_JOB_SECONDS", 0.0)
    with Host(card, pick_device, nothing_to_check, helps=helps):
        assert is_known.wait(600)
    assert needed <= set(asked)
    assert len(set(asked)) == 9, "three stages in three widths"
    assert {choice.source for choice in of_card} == {choice.source for choice in asked}, "it does the same until then"
    older, _ = load_library(str(EXAMPLES / "rrm_1.hmm"))
    helps.clear()
    foresee(task, older)
    assert not helps, "HMMER2 profiles have no such domains"


def test_a_library_is_rehearsed_whatever_it_holds() -> None:
    models, _ = load_library(str(EXAMPLES / "rrm_1_hmmer3.hmm"))
    older, _ = load_library(str(EXAMPLES / "rrm_1.hmm"))
    settings = msgspec.structs.replace(models[0].settings, msv=None)  # type: ignore[type-var]
    without = msgspec.structs.replace(models[0], settings=settings)
    sources = []
    for given in (models, older, [without], []):
        rehearsal = Rehearsal(CARD)
        rehearse(given, SearchSpec("a", "b"), rehearsal)
        sources.append({choice.source for choice in rehearsal.programs})
    assert {"ssv_item", "forward_lanes"} <= sources[0]
    assert {"viterbi_item", "viterbi_lanes"} <= sources[1]
    assert sources[2:] == [set(), set()]


@pytest.mark.parametrize(
    "foreseen", [CARD, replace(CARD, kind="cpu", vendor="Intel", platform="Portable", n_compute_units=2)]
)
def test_lengths_that_are_left_out_need_the_programs_of_others(foreseen: Device) -> None:
    lengths = (15, 16, 17, 47, 48, 49, 50, 63, 64, 65, 97, 98, 127, 128, 129, 500, 512, 513, 514)
    spec, rng = SearchSpec("a", "b"), np.random.default_rng(3)
    models = [random_local_hmm(rng, n_nodes) for n_nodes in lengths]
    together, alone = Rehearsal(foreseen), Rehearsal(foreseen)
    rehearse(models, spec, together)
    for model in models:
        rehearse([model], spec, alone)
    assert together.programs.keys() == alone.programs.keys()


def test_a_comparison_is_rehearsed(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text("".join(f">{n}\n{'MKVLAAGIVL' * (n + 1)}\n" for n in range(30)))
    inputs = load_inputs(None, PairwiseSpec(str(targets), str(targets)), QuietContext())
    rehearsal = Rehearsal(CARD)
    rehearse_comparison(inputs, rehearsal)
    entries = {(choice.source, entry) for choice, entries in rehearsal.programs.items() for entry in entries}
    assert {
        ("smith_waterman_item", "lay_out"), ("smith_waterman_item", "smith_waterman"),
        ("smith_waterman_lanes", "smith_waterman"), ("smith_waterman_trace_lanes", "traceback"),
    } <= entries  # fmt: skip
    traced = [choice for choice in rehearsal.programs if choice.source == "smith_waterman_trace_lanes"]
    assert list(rehearsal.programs)[-len(traced) :] == traced, "scores are needed first"
    lengths = np.diff(inputs.queries.offsets)[inputs.query_rows]
    batch = PairBatch.in_step(inputs.queries.select(inputs.query_rows), inputs.targets.select(np.arange(len(lengths))))
    long = PairBatch.of_query(random_codes(np.random.default_rng(5), 2000), inputs.targets)
    together = Rehearsal(CARD)
    for pairs in (batch, long):
        SMITH_WATERMAN_TRACE.start(together, pairs, inputs.stranded(0)[0].scoring)
    assert together.programs.keys() <= set(traced), "what is found with several queries is traced together"
