"""Runs a kernel whose work-items meet on Oclgrind, a simulator of devices that looks for data races.

``python tests/stages/on_simulator.py CASE ...`` writes how many results of each case differ from the reference's; on
standard error the simulator reports races, each case after a line with its name. Its work-items run in no step, so what
holds only where lanes go together fails here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyopencl as cl

from clalign.compute.group_barriers import METHODS, GroupBarrier
from clalign.compute.opencl import discover
from clalign.compute.opencl.session import OpenCLSession
from clalign.stages.hmmer3 import filters, viterbi_filter
from clalign.stages.hmmer3.bias_filter import BiasFilterStage
from clalign.stages.hmmer3.decoding import DecodingStage
from clalign.stages.hmmer3.envelope import EnvelopeStage
from clalign.stages.hmmer3.filters import FILTERS, Filtered, FilterModel
from clalign.stages.hmmer3.forward import FORWARD, ForwardStage
from clalign.stages.hmmer3.msv import MSV, MsvStage
from clalign.stages.hmmer3.sampling import SamplingModel, SamplingStage
from clalign.stages.hmmer3.ssv import SSV
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER, ViterbiFilterStage
from clalign.stages.pairhmm.expected_counts import ExpectedCountsStage
from clalign.stages.pairhmm.pair_hmm_ladder import BothWays, PairHmmLadderChoices, PairHmmLadderStage
from clalign.stages.pairhmm.posteriors import PosteriorsStage
from clalign.stages.pairwise import long_pair_regions
from clalign.stages.pairwise.long_pair import LongPairChoice, LongPairStage
from clalign.stages.pairwise.smith_waterman import SmithWatermanStage
from clalign.stages.pairwise.smith_waterman_ladder import PairLadderChoices, PairLadderStage
from clalign.stages.pairwise.smith_waterman_trace import SmithWatermanTraceStage
from clalign.stages.plan7.viterbi import ViterbiStage
from clalign.stages.plan7.viterbi_trace import ViterbiTraceStage
from clalign.stages.sync.bitonic_sort import BitonicSortStage
from clalign.stages.sync.relay import RelayStage
from clalign.values.alphabets import DNA, encode
from clalign.values.envelopes import Parts, Resolved, RowProfiles
from clalign.values.local_profiles import LocalProfile, shelf_of
from clalign.values.local_scores import FilterLimits
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import (
    SEED_GAPS,
    ExpectedCounts,
    GapParameters,
    PairHmm,
    PairHmms,
    PosteriorBatch,
    fixed_emissions,
)
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_batch, random_local_hmm, random_local_profile, random_profile

SIMULATOR = "Oclgrind"

LANES: dict[str, Any] = {"LANE_BACKEND": 0, "LANES": 8}

PLANTED = "planted"
"""The case whose kernel has a race."""

RACING = """__kernel void racing(__global int *out) { out[0] += (int)get_local_id(0); }"""

RNG = np.random.default_rng(7)
PROFILE, LOCAL_PROFILE = random_profile(RNG, 21), random_local_profile(RNG, 21)
DOMAINS = LOCAL_PROFILE.hmm.consensus
MATRIX = SubstitutionMatrix.match_mismatch(2, -3)


def profile_batch() -> SequenceBatch:
    """Return targets, among them some with two domains, a short one and one without residues."""
    repeated = [DOMAINS[:15] + "GG" + DOMAINS[3:], DOMAINS * 2, "", "M"]
    return SequenceBatch.from_texts([*(random_batch(RNG, PROFILE, 3, 40).residues(row) for row in range(3)), *repeated])


def regions() -> Parts:
    """Return a part of each target that has residues."""
    batch = profile_batch()
    rows = np.flatnonzero(batch.lengths > 0).astype(np.int32)
    return Parts(batch, rows, np.zeros(len(rows), np.int32), batch.lengths[rows].astype(np.int32))


def short_regions() -> tuple[Parts, SamplingModel]:
    """Return regions shorter than their profile, whose last vector is not full, more than there are teams for them."""
    n = 10  # the simulator has eight teams; each region more costs it a second
    batch = SequenceBatch.from_texts([DOMAINS[k % 5 : k % 5 + 15] for k in range(n)])
    parts = Parts(batch, np.arange(n, dtype=np.int32), np.zeros(n, np.int32), batch.lengths.astype(np.int32))
    return parts, SamplingModel(RowProfiles.alone(LOCAL_PROFILE, n), 7)


def row_profiles() -> RowProfiles:
    """Return the profiles of the targets, two in turns."""
    profiles = LOCAL_PROFILE, random_local_profile(np.random.default_rng(8), 9)
    return RowProfiles(profiles, np.arange(len(profile_batch()), dtype=np.int32) % 2)


def bases(n: int, longest: int) -> SequenceBatch:
    """Return random nucleic sequences."""
    return SequenceBatch.from_texts(["".join(RNG.choice(list("ACGT"), RNG.integers(1, longest))) for _ in range(n)])


def pairs() -> PairBatch:
    """Return pairs, one of them of equal sequences."""
    queries, targets = bases(4, 30), bases(3, 30)
    return PairBatch.in_step(
        queries, SequenceBatch.from_texts([*(targets.residues(n) for n in range(3)), queries.residues(3)])
    )


def pairwise_query() -> PairwiseQuery:
    """Return a query of Smith-Waterman."""
    return PairwiseQuery(Sequence("query", "", bases(1, 60).residues(0)), Scoring(MATRIX, GapCosts(5, 2)))


def overflowing() -> tuple[SequenceBatch, PairwiseQuery]:
    """Return targets and a query whose scores are beyond 16 bits."""
    query = encode("ACGT")[RNG.integers(0, 4, 262)]
    scoring = Scoring(SubstitutionMatrix.match_mismatch(127, -127), GapCosts(127, 127))
    return SequenceBatch.from_texts([query, query[::-1], query]), PairwiseQuery(Sequence("query", "", query), scoring)


def related_pairs() -> PairBatch:
    """Return pairs: with equal parts, of more than one strip; short; and with a gap as rare as no single number is."""
    texts = [bases(1, 130).residues(0)[:n] for n in (40, 3, 130)]
    others = [np.concatenate([texts[0][5:30], texts[0][:9]]), texts[0][:1], texts[0][:1]]
    return PairBatch.in_step(SequenceBatch.from_texts(texts), SequenceBatch.from_texts(others))


def long_pair(method: str = "launch") -> PairBatch:
    """Return a pair of several tiles each way; a launch each anti-diagonal, unless strips follow each other."""
    long_pair_regions.METHOD = method
    text = np.tile(bases(1, 60).residues(0), 9)[:250]
    return PairBatch.in_step(SequenceBatch.from_texts([text[:80]]), SequenceBatch.from_texts([text[20:]]))


def far_pair() -> tuple[PairBatch, PairHmms]:
    """Return a pair, one sequence far longer than the other, and a model in which gaps hardly ever go on."""
    batch = PairBatch.in_step(SequenceBatch.from_texts(["A" * 50]), SequenceBatch.from_texts(["A" * 160]))
    return batch, PairHmms.same(PairHmm(GapParameters.of([0.001], [0.01]), fixed_emissions(DNA)), 1)


def pair_hmms(n_sets: int) -> PairHmms:
    """Return the models of three pairs."""
    return PairHmms.same(PairHmm(SEED_GAPS[True, n_sets], fixed_emissions(DNA)), 3)


def ladder(**choices: str) -> PairHmmLadderStage:
    """Return a rung of the pair HMM's ladder in small work-groups."""
    return PairHmmLadderStage(PairHmmLadderChoices(**choices, group=12), SUM_GROUP=16)


def relay(n: int, size: int, method: str, **more: bool) -> tuple[Any, Any, Any]:
    """Return five rounds of groups that pass numbers on."""
    return RelayStage(GroupBarrier(n, size, method, **more)), RNG.integers(0, 2**32, (n, size), dtype=np.uint32), 5


def sorting(bits: int) -> tuple[Any, Any, Any]:
    """Return a sort of keys that takes rounds of all kinds."""
    return BitonicSortStage("item", TILE_LOG=4), RNG.integers(0, 99, 200).astype(f"u{bits // 8}"), GroupBarrier(3, 8)


def shelved() -> LocalProfile:
    """Return a profile whose tables are made with those of others."""
    return shelf_of([random_local_hmm(RNG, n_nodes) for n_nodes in (130, 21, 3)]).profile(1)


def filters_of_several(is_cut: bool = False) -> tuple[Any, Any, Any]:
    """Return all filters in the shapes for GPUs and models that share launches, on a shelf and on none.

    Or with sequences that are cut, enough of them for all filters to be started at once, a model of several strips, and
    one that is too long for two sequences at a time.
    """
    for stage in (MSV, VITERBI_FILTER, FORWARD):
        stage.shape, stage.defines = "lanes", LANES
    SSV.shape = "item"
    if is_cut:
        viterbi_filter.MIN_PIECE, viterbi_filter.PIECE_SHARE, viterbi_filter.MAX_PAIR_NODES = 24, 1.2, 4
        filters.FEW_SEQUENCES = 2
    shelf = shelf_of([random_local_hmm(RNG, n_nodes) for n_nodes in (21, 3, 19, 90 if is_cut else 20)])
    profiles = [*map(shelf.profile, (3, 1, 0, 2)), LOCAL_PROFILE]
    limits = FilterLimits(0.5, 0.3, 0.2)
    return FILTERS, profile_batch(), [FilterModel(profile, limits) for profile in profiles]


CASES: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    "viterbi_lanes": lambda: (ViterbiStage("lanes", **LANES, GROUP=8), profile_batch(), PROFILE),
    "viterbi_lanes_plain": lambda: (ViterbiStage("lanes", **LANES, GROUP=8, PLAIN=1), profile_batch(), PROFILE),
    "viterbi_trace_lanes": lambda: (ViterbiTraceStage("lanes", **LANES), profile_batch(), PROFILE),
    "viterbi_filter_lanes": lambda: (ViterbiFilterStage("lanes", **LANES), profile_batch(), LOCAL_PROFILE),
    "viterbi_filter_lanes_plain": lambda: (
        ViterbiFilterStage("lanes", **LANES, PLAIN=1), profile_batch(), LOCAL_PROFILE
    ),
    "viterbi_filter_lanes_of_a_shelf": lambda: (ViterbiFilterStage("lanes"), profile_batch(), shelved()),
    "msv_lanes": lambda: (MsvStage("lanes", **LANES), profile_batch(), LOCAL_PROFILE),
    "bias_filter": lambda: (BiasFilterStage(), profile_batch(), LOCAL_PROFILE),
    "forward_lanes": lambda: (ForwardStage("lanes", **LANES), profile_batch(), LOCAL_PROFILE),
    "filters_of_several": filters_of_several,
    "filters_cut": partial(filters_of_several, is_cut=True),
    "decoding": lambda: (DecodingStage("lanes", **LANES), profile_batch(), row_profiles()),
    "envelope": lambda: (EnvelopeStage("lanes", **LANES), regions(), row_profiles()),
    "envelope_in_global": lambda: (
        EnvelopeStage("lanes", **LANES, ROWS_IN_GLOBAL=1), regions(), row_profiles()
    ),
    "sampling": lambda: (SamplingStage("lanes", **LANES), regions(), SamplingModel(row_profiles(), 7)),
    "sampling_short_regions": lambda: (SamplingStage("lanes", **LANES), *short_regions()),
    "smith_waterman_lanes": lambda: (SmithWatermanStage("lanes", LANES=8, ROWS=4), bases(5, 40), pairwise_query()),
    "smith_waterman_item": lambda: (SmithWatermanStage("item"), bases(5, 40), pairwise_query()),
    "smith_waterman_item_again": lambda: (SmithWatermanStage("item"), *overflowing()),
    "smith_waterman_trace_lanes": lambda: (
        SmithWatermanTraceStage("lanes", **LANES, ROWS=2, COLUMNS=16), pairs(), Scoring(MATRIX, GapCosts(5, 2))
    ),
    "smith_waterman_ladder_lanes": lambda: (
        PairLadderStage(PairLadderChoices(scores="local", maximum="device", path="device", group=8)), pairs(),
        Scoring(SubstitutionMatrix.match_mismatch(1, -1), GapCosts(2, 2)),
    ),
    "long_pair": lambda: (
        LongPairStage("lanes", **LANES), long_pair(), LongPairChoice(Scoring(MATRIX, GapCosts(5, 2)))
    ),
    "pair_hmm_posteriors": lambda: (PosteriorsStage("lanes", **LANES, ROWS=2), related_pairs(), pair_hmms(2)),
    **{f"relay_{method}": partial(relay, 1, 8, method) for method in METHODS},
    "relay_of_three": partial(relay, 3, 8, "launch"),
    **{f"bitonic_sort_{bits}": partial(sorting, bits) for bits in (32, 64)},
    "pair_hmm_counts": lambda: (ExpectedCountsStage("lanes", **LANES, ROWS=2), related_pairs(), pair_hmms(1)),
    "pair_hmm_counts_far": lambda: (ExpectedCountsStage("lanes", **LANES, ROWS=2), *far_pair()),
    "pair_hmm_ladder_cells": lambda: (ladder(cell="global", item="cell"), related_pairs(), pair_hmms(1)),
    "pair_hmm_ladder_states": lambda: (ladder(cell="local", item="state"), related_pairs(), pair_hmms(1)),
}  # fmt: skip

TOGETHER: dict[str, Callable[[], tuple[Any, Any, Any]]] = {
    f"{method}_{n}_{size}{'_discovered' * discovered}": partial(relay, n, size, method, discovered=discovered)
    for method in METHODS
    for n, size in ((7, 2), (5, 8))
    for discovered in (False, True)
    if method != "launch" and (method, size) != ("lfs", 2)
} | {
    "long_pair_in_strips": lambda: (
        LongPairStage("lanes", **LANES),
        long_pair("lbs"),
        LongPairChoice(Scoring(MATRIX, GapCosts(5, 2))),
    )
}
"""Groups that wait for each other, on a simulator with a thread for each; it cannot know that they do so."""


def each(result: Any) -> list[Any]:
    """Return what a stage found, one by one."""
    if isinstance(result, BothWays):
        return [*each(result.posteriors), *each(result.counts)]
    if isinstance(result, ExpectedCounts | PosteriorBatch):
        return [np.float64(number) for name in type(result).__slots__ for number in np.ravel(getattr(result, name))]
    if isinstance(result, list) and isinstance(result[0], Filtered):
        columns = "msv", "rows", "bias", "viterbi", "forward", "reached"
        return [number for filtered in result for name in columns for number in getattr(filtered, name)]
    values = getattr(result, "scores", getattr(result, "values", result))
    return list(getattr(values, "values", values))


def is_same(a: Any, b: Any) -> bool:
    """Return whether two results are equal; sums of floats are as far as their stage promises."""
    if isinstance(a, Resolved):
        return a.envelopes == b.envelopes and np.allclose(a.null2, b.null2, rtol=0, atol=1e-5)
    if isinstance(a, np.floating):
        return bool(np.isclose(a, b, rtol=0, atol=1e-4, equal_nan=True))
    return repr(a) == repr(b)  # no number equals no number


def main(cases: list[str]) -> None:
    """Run cases, and print how many results of each differ."""
    discover._HIDDEN_PLATFORMS = ()  # offered to nobody else
    device = next(device for device in discover.described_devices() if device.platform == SIMULATOR)
    for case in cases:
        sys.stderr.write(f"case {case}\n")
        sys.stderr.flush()
        with OpenCLSession(device) as session:
            if case == PLANTED:
                program = cl.Program(session._context, RACING).build()
                out = session.zeros(4)
                program.racing(session._queue.handle, (8,), (8,), out)
                session.finish()
                continue
            stage, batch, model = (CASES | TOGETHER)[case]()
            found, expected = each(session.run(stage, batch, model)), each(stage.reference(batch, model))
            assert len(found) == len(expected) > 0
            n_differing = sum(not is_same(a, b) for a, b in zip(found, expected, strict=True))
            sys.stdout.write(f"{case} {n_differing}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
