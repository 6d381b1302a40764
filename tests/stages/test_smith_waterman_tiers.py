"""Work-items, few lanes, many lanes and pieces, all in one batch; where they meet, scores stay the reference's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opening import open_session
from clalign.formats.matrices import load_matrix
from clalign.stages.pairwise import smith_waterman_gpu
from clalign.stages.pairwise.smith_waterman import SmithWatermanStage
from clalign.stages.pairwise.smith_waterman_gpu import group_with_room
from clalign.values.devices import Device
from clalign.values.scoring import GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

CHOICES = {"groups": 1, "group": 64, "rows": 8, "lane_rows": 8, "least_long": 1, "longest_percent": 75}


@pytest.fixture
def tiny() -> Device:
    """A CPU on which 8, 16 and 32 lanes can be chosen, and tiers are those of a small GPU."""
    found = pick_device("cpu")
    return replace(found, n_compute_units=1, tuning={f"pair.{name}": value for name, value in CHOICES.items()})


@pytest.fixture
def lanes_launched(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """How many lanes took targets in 16 bits."""
    monkeypatch.setattr(smith_waterman_gpu, "NARROW_BACKENDS", (0, 1, 3))
    seen: set[int] = set()
    launch = OpenCLSession.launch

    def noting(self: OpenCLSession, source: str, entry: str, defines: Any, *more: Any, **options: Any) -> None:
        if source == "smith_waterman_lanes" and not defines["WIDE"]:
            seen.add(defines["LANES"])
        launch(self, source, entry, defines, *more, **options)

    monkeypatch.setattr(OpenCLSession, "launch", noting)
    return seen


def residues(rng: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return rng.integers(0, 20, n).astype(np.uint8)


def database(rng: np.random.Generator, query: np.ndarray[Any, Any], longest: int) -> SequenceBatch:
    """Return many short targets, some long ones and two longest, with parts of the query here and there."""
    lengths = [*rng.integers(0, 12, 400), *rng.integers(30, 60, 30), longest // 2, longest]
    texts = [residues(rng, int(n)) for n in rng.permutation(lengths)]
    for text in texts:
        if len(text) > len(query):
            place = int(rng.integers(0, len(text) - len(query) + 1))
            text[place : place + len(query)] = np.where(rng.random(len(query)) < 0.9, query, 0)
    return SequenceBatch.from_texts(texts)


@pytest.mark.thorough(length=[25])
@pytest.mark.parametrize(
    ("length", "mode", "gaps", "expected"),
    [
        (25, "local", (11, 1), {8, 32}),  # reaches far: many lanes
        (20, "local", (40, 30), {8}),  # pieces short enough for few lanes
        (30, "ungapped", (11, 1), {8}),
        (100, "local", (11, 1), {16, 32}),
    ],
)
def test_every_tier_scores_as_the_reference(
    length: int, mode: Mode, gaps: tuple[int, int], expected: set[int], tiny: Device, lanes_launched: set[int]
) -> None:
    rng = np.random.default_rng(length)
    codes = residues(rng, length)
    batch = database(rng, codes, 400)
    query = PairwiseQuery(Sequence("q", "", codes), Scoring(load_matrix("BLOSUM62"), GapCosts(*gaps), mode))
    stage = SmithWatermanStage("item")
    with open_session(tiny) as session:
        found = session.run(stage, batch, query)
        # What a session keeps of a batch serves the next query as well.
        other = session.run(
            stage, batch, msgspec.structs.replace(query, sequence=Sequence("r", "", codes[::-1].copy()))
        )
    assert found.scores.values.tolist() == stage.reference(batch, query).scores.values.tolist()
    assert other.scores.values.max() > 0
    assert lanes_launched == expected


@pytest.mark.thorough(shape=["vector"])
@pytest.mark.parametrize("shape", ["item", "vector"])
def test_targets_that_needed_more_bits_are_counted_not_their_pieces(shape: str, tiny: Device) -> None:
    query = PairwiseQuery(
        Sequence("q", "", np.full(300, 2, np.uint8)),
        Scoring(SubstitutionMatrix.match_mismatch(120, -120), GapCosts(1000, 1000)),
    )
    rng = np.random.default_rng(1)
    hit = np.concatenate([np.concatenate([np.full(300, 2, np.uint8), np.zeros(900, np.uint8)]) for _ in range(4)])
    batch = SequenceBatch.from_texts([hit, *(residues(rng, 20) % 2 for _ in range(50))])
    stage = SmithWatermanStage(shape)
    with open_session(tiny) as session:
        found = session.run(stage, batch, query)
    assert found.scores.values[0] == 36_000
    assert found.n_in_32_bits == 1


def test_groups_shrink_to_fit_their_memory() -> None:
    assert group_with_room(128, 32, 0, 100) == 128
    assert group_with_room(128, 32, 10, 1280) == 128
    assert group_with_room(128, 32, 10, 1279) == 64
    assert group_with_room(128, 32, 10, 10) == 32, "a crew at least"
    assert group_with_room(96, 64, 10, 10) == 96
