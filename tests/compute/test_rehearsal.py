"""Rehearsals, which tell what programs will be needed."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.rehearsal import Rehearsal, probe_batch
from clalign.compute.sessions import ProgramChoice, ReferenceSession, no_check
from clalign.databases.profile_library import load_library
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.pairwise.inputs import load_inputs
from clalign.engines.pairwise.rehearsal import rehearse as rehearse_comparison
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.profile_search import build_ahead, rehearse
from clalign.engines.plan7.spec import SearchSpec
from clalign.execution import executor as module
from clalign.execution.executor import CpuHelper
from clalign.execution.job import Task
from clalign.formats.matrices import load_matrix
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.system.bounds import n_cores
from clalign.values.devices import Device
from clalign.values.local_scores import FilterLimits
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring
from clalign.values.sequences import Sequence
from clalign.values.synthetic import random_batch, random_codes, random_local_hmm, random_local_profile
from tests.computing import compute_search

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"

CARD = Device(
    "7:0", "NVIDIA Card", "gpu", vendor="NVIDIA Corporation", platform="NVIDIA CUDA", compute_capability=90,
    n_compute_units=132, memory_bytes=2**36, max_buffer_bytes=2**34, local_bytes=49152, max_work_group=1024,
)  # fmt: skip


def test_a_rehearsal_tells_what_filters_need() -> None:
    rng = np.random.default_rng(3)
    device = pick_device("cpu")
    lengths = (20, 130, 300)
    profiles = [random_local_profile(rng, n) for n in lengths]
    noted: list[ProgramChoice] = []
    rehearsal = Rehearsal(device, noted.append)
    for profile in profiles:
        FILTERS.start(rehearsal, probe_batch(4, longest=200), [FilterModel(profile, FilterLimits())])
    assert noted == list(rehearsal.programs)
    with OpenCLSession(device) as session:
        session.build_ahead(noted)
        for profile in profiles:
            session.run(FILTERS, random_batch(rng, profile, 6, 40), [FilterModel(profile, FilterLimits())])
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
            FILTERS.start(needed, probe_batch(2), [FilterModel(profile, FilterLimits())])
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


@pytest.mark.parametrize(("units_for_each_core", "n_programs"), [(1, 7), (8, 1)])
def test_the_processor_beside_a_card_gets_all_that_domains_need(
    tmp_path: Path, watched: tuple[set[ProgramChoice], set[ProgramChoice]], monkeypatch: pytest.MonkeyPatch,
    units_for_each_core: int, n_programs: int,
) -> None:  # fmt: skip
    """A card of many units leaves the random paths to it alone."""
    launched, _ = watched
    profiles, targets = (str(EXAMPLES / name) for name in ("rrm_1_hmmer3.hmm", "swissprot_sample.fasta.gz"))
    spec = SearchSpec(profiles, targets, device="cpu")
    with create_run(tmp_path / "run.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
        compute_search(run, spec, pick_device, QuietContext())
    needed = {choice for choice in launched if choice.source.endswith("_simd4")}
    assert needed

    asked, of_card, is_known = list[ProgramChoice](), list[ProgramChoice](), threading.Event()
    rehearsals: list[Any] = []
    task = Task(cast(Any, None), spec, pick_device, QuietContext(), build_ahead_for_helper=rehearsals.append)
    models, _ = load_library(profiles)
    build_ahead(task, models)

    def note(session: OpenCLSession, choices: Any, can_wait: bool = False) -> None:
        asked.extend(choices)
        if len(asked) == n_programs:
            is_known.set()

    monkeypatch.setattr(OpenCLSession, "build_ahead", note)
    monkeypatch.setattr(OpenCLSession, "unbuilt", lambda session, choices: list(choices))
    card = ReferenceSession(replace(CARD, n_compute_units=units_for_each_core * n_cores()))
    monkeypatch.setattr(card, "build_ahead", lambda choices, can_wait: of_card.extend(choices))
    monkeypatch.setattr(module, "SMALL_JOB_SECONDS", 0.0)
    with CpuHelper(card, pick_device, no_check, rehearsals=rehearsals):
        assert is_known.wait(600)
    sources = {choice.source for choice in asked}
    assert {choice for choice in needed if choice.source in sources} <= set(asked)
    assert len(set(asked)) == n_programs, "of three widths, but sampling of one"
    assert "sampling_simd4" in sources
    assert len({choice.source for choice in of_card}) == 3, "it does everything until then"
    older, _ = load_library(str(EXAMPLES / "rrm_1.hmm"))
    rehearsals.clear()
    build_ahead(task, older)
    assert not rehearsals, "HMMER2 profiles have no such domains"


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
    long = PairBatch.of_query(random_codes(np.random.default_rng(5), 2000), batch.targets)
    together = Rehearsal(CARD)
    for pairs in (batch, long):
        SMITH_WATERMAN_TRACE.start(together, pairs, inputs.stranded(0)[0].scoring)
    assert together.programs.keys() <= set(traced), "what is found with several queries is traced together"
