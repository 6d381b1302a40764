"""Batches in which there is nothing to compute: each stage returns what its reference does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clalign.compute.group_barriers import GroupBarrier
from clalign.compute.sessions import Session
from clalign.stages.hmmer3.bias_filter import BIAS_FILTER
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.stages.hmmer3.forward import FORWARD
from clalign.stages.hmmer3.msv import MSV
from clalign.stages.hmmer3.sampling import SAMPLING, SamplingModel
from clalign.stages.hmmer3.ssv import SSV
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER
from clalign.stages.pairhmm.annealing import ANNEALING, AnnealingChoice
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.stages.pairhmm.refinement import REFINEMENT, RefinementChoice
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.stages.peak import PEAK, peak_load
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE
from clalign.stages.sync.bitonic_sort import BITONIC_SORT
from clalign.stages.sync.relay import RelayStage
from clalign.values.alphabets import DNA
from clalign.values.envelopes import Parts, RowProfiles
from clalign.values.local_scores import FilterLimits
from clalign.values.multiple_alignments import MultipleAlignment, offsets_of
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, PairHmm, PairHmms, fixed_emissions
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_local_profile, random_profile
from tests.posterior_cases import random_posteriors

Case = tuple[Any, Any, Any]

PROFILE = random_profile(np.random.default_rng(1), 21)
LOCAL_PROFILE = random_local_profile(np.random.default_rng(1), 21)
SCORING = Scoring(SubstitutionMatrix.match_mismatch(2, -3), GapCosts(5, 2))
LIMITS = FilterModel(LOCAL_PROFILE, FilterLimits(0.5, 0.3, 0.2))


def sequences(n: int) -> SequenceBatch:
    """Return sequences without residues."""
    return SequenceBatch.from_texts([""] * n)


def parts(n: int) -> Parts:
    return Parts(sequences(n), *(np.zeros(0, np.int32) for _ in range(3)))


def pairs(n: int) -> PairBatch:
    return PairBatch.in_step(sequences(n), sequences(n))


def pair_hmms(n: int) -> PairHmms:
    return PairHmms.same(PairHmm(SEED_GAPS[True, 1], fixed_emissions(DNA)), n)


def refinement(n: int) -> RefinementChoice:
    return RefinementChoice(MultipleAlignment(offsets_of([0] * n), np.zeros(0, np.int32), 0))


CASES: dict[str, Callable[[int], Case]] = {
    "viterbi": lambda n: (VITERBI, sequences(n), PROFILE),
    "viterbi_trace": lambda n: (VITERBI_TRACE, sequences(n), PROFILE),
    "msv": lambda n: (MSV, sequences(n), LOCAL_PROFILE),
    "ssv": lambda n: (SSV, sequences(n), LOCAL_PROFILE),
    "bias_filter": lambda n: (BIAS_FILTER, sequences(n), LOCAL_PROFILE),
    "viterbi_filter": lambda n: (VITERBI_FILTER, sequences(n), LOCAL_PROFILE),
    "forward": lambda n: (FORWARD, sequences(n), LOCAL_PROFILE),
    "filters": lambda n: (FILTERS, sequences(n), [LIMITS]),
    "filters_of_many": lambda n: (FILTERS, sequences(n), [LIMITS, LIMITS]),
    "decoding": lambda n: (DECODING, sequences(n), RowProfiles.alone(LOCAL_PROFILE, n)),
    "envelope": lambda n: (ENVELOPE, parts(n), RowProfiles.alone(LOCAL_PROFILE, n)),
    "sampling": lambda n: (SAMPLING, parts(n), SamplingModel(RowProfiles.alone(LOCAL_PROFILE, n), 7)),
    "smith_waterman": lambda n: (
        SMITH_WATERMAN, sequences(n), PairwiseQuery(Sequence("a", "", np.zeros(0, np.uint8)), SCORING)
    ),
    "smith_waterman_trace": lambda n: (SMITH_WATERMAN_TRACE, pairs(n), SCORING),
    "long_pair": lambda n: (LONG_PAIR, pairs(1), LongPairChoice(SCORING)),
    "posteriors": lambda n: (POSTERIORS, pairs(n), pair_hmms(n)),
    "expected_counts": lambda n: (EXPECTED_COUNTS, pairs(n), pair_hmms(n)),
    "annealing": lambda n: (ANNEALING, random_posteriors(1, [0] * n), AnnealingChoice()),
    "refinement": lambda n: (REFINEMENT, random_posteriors(1, [0] * n), refinement(n)),
    "bitonic_sort": lambda n: (BITONIC_SORT, np.zeros(0, np.uint32), None),
    "relay": lambda n: (RelayStage(GroupBarrier(1, 1)), np.zeros((1, 1), np.uint32), 0),
    "peak": lambda n: (PEAK, peak_load(0, 1, 3), None),
}  # fmt: skip


def plain(value: Any) -> Any:
    """Return what a stage found as lists and numbers, without the functions that check it."""
    if callable(value):
        return None
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    names = getattr(value, "__struct_fields__", None) or getattr(value, "__dataclass_fields__", None)
    if names is None and hasattr(type(value), "__slots__"):
        names = type(value).__slots__
    return repr(value) if names is None else {name: plain(getattr(value, name)) for name in names}


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("name", CASES)
def test_nothing_to_compute(session: Session, name: str, n: int) -> None:
    stage, batch, model = CASES[name](n)
    found, expected = session.run(stage, batch, model), stage.reference(batch, model)
    if stage is SSV:  # 0 for what it leaves to MSV
        expected = np.zeros_like(expected)
    assert repr(plain(found)) == repr(plain(expected))


def test_a_launch_without_items_does_nothing(session: Any) -> None:
    both = session.loaded(np.arange(8, dtype=np.uint32))
    defines = {"BARRIER_METHOD": 0, "LANE_BACKEND": 0}
    for group in (None, 4):
        session.launch("relay_item", "copy_numbers", defines, 0, group, session.upload(np.zeros(4, np.uint32)), both)
    assert session.download(both, 8, np.uint32).tolist() == list(range(8))
