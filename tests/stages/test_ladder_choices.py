"""What the ladders cannot do is refused before anything runs: choices, inputs, and what a device has no room for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.errors import OptionError
from clalign.stages.pairhmm.pair_hmm_ladder import PairHmmLadderChoices, PairHmmLadderStage
from clalign.stages.pairhmm.pair_hmm_ladder import SequentialStage as SequentialPairHmm
from clalign.stages.pairwise.smith_waterman_ladder import PairLadderChoices, PairLadderStage, SequentialLadderStage
from clalign.stages.plan7.viterbi_ladder import LadderChoices, ViterbiLadderStage
from clalign.values.alphabets import AMINO
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, PairHmm, PairHmms, fixed_emissions
from clalign.values.scoring import GapCosts, Scoring, SubstitutionMatrix
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_profile

SCORING = Scoring(SubstitutionMatrix.match_mismatch(1, -1), GapCosts(2, 2))
PROFILE = random_profile(np.random.default_rng(6), 3)
MODEL = PairHmm(SEED_GAPS[False, 1], fixed_emissions(AMINO))


def pair(text: str) -> PairBatch:
    return PairBatch.in_step(SequenceBatch.from_texts([text]), SequenceBatch.from_texts([text]))


@pytest.mark.parametrize(
    ("choices", "given"),
    [
        (LadderChoices, {"rows": "texture"}), (LadderChoices, {"group": 0}),
        (PairLadderChoices, {"scores": "texture"}), (PairLadderChoices, {"group": 0}),
        (PairLadderChoices, {"scores": "local"}), (PairLadderChoices, {"path": "device"}),
        (PairHmmLadderChoices, {"cell": "texture"}), (PairHmmLadderChoices, {"item": "row"}),
        (PairHmmLadderChoices, {"group": 2}),
    ],
)  # fmt: skip
def test_unknown_choices(choices: Callable[..., object], given: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        choices(**given)


@pytest.mark.parametrize(
    ("stage", "batch", "model"),
    [
        (SequentialLadderStage(), pair("ACG"), msgspec.structs.replace(SCORING, mode="global")),
        (SequentialLadderStage(), pair("ACG"), msgspec.structs.replace(SCORING, gaps=GapCosts(3, 1))),
        (SequentialLadderStage(), pair("ACN"), SCORING),
        (SequentialPairHmm(), pair("MKV"), PairHmms.same(PairHmm(SEED_GAPS[False, 2], MODEL.emissions), 1)),
    ],
    ids=["global", "affine", "letters", "five states"],
)
def test_inputs_of_another_kind(stage: Any, batch: PairBatch, model: Any) -> None:
    with pytest.raises(OptionError):
        stage.start(None, batch, model)


def test_work_groups_that_are_too_large(session: Session) -> None:
    group = 2 * session.device.max_work_group
    sequences = random_batch(np.random.default_rng(6), PROFILE, 3, 5)
    for stage, batch, model in (
        (ViterbiLadderStage(LadderChoices(group=group)), sequences, PROFILE),
        (PairLadderStage(PairLadderChoices(group=group)), pair("ACGT"), SCORING),
        (PairHmmLadderStage(PairHmmLadderChoices(group=group)), pair("MKVL"), PairHmms.same(MODEL, 1)),
    ):
        with pytest.raises(OptionError):
            session.run(stage, batch, model)


def test_what_a_device_has_no_room_for(session: Session) -> None:
    device = replace(session.device, local_bytes=49152, max_work_group=256, kind="cpu")
    refused: tuple[dict[str, Any], ...] = (
        {"group": 300}, {"rows": "private", "granularity": "fine"}, {"rows": "private", "group": 256},
        {"transitions": "constant"}, {"emissions": "local"},
    )  # fmt: skip
    reasons = [ViterbiLadderStage(LadderChoices(**given)).obstacle(device, 2000, 20) for given in refused]
    assert all(reasons)
    assert len(set(reasons)) == len(refused)
    assert ViterbiLadderStage(LadderChoices(emissions="local")).obstacle(device, 270, 20) is None
    device = replace(device, local_bytes=4096)
    assert PairLadderStage(PairLadderChoices(group=512)).obstacle(device, 10)
    local = PairLadderStage(PairLadderChoices("local", "device", group=256))
    assert local.obstacle(device, 513)
    assert local.obstacle(device, 129) is None
    assert PairHmmLadderStage(PairHmmLadderChoices()).obstacle(device)
    small = PairHmmLadderStage(PairHmmLadderChoices("local", group=96))
    assert small.obstacle(device)
    assert small.obstacle(replace(device, local_bytes=8192)) is None
    assert PairHmmLadderChoices("local", "state", group=512).within(device).group == 256
    assert PairHmmLadderStage(PairHmmLadderChoices("local", "state", group=256)).macros(device)["GROUP"] == 255
