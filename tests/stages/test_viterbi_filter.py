"""HMMER3's Viterbi filter on a device equals the reference: every shape, odd models, odd input."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.viterbi_filter import MIN_PIECE, VITERBI_FILTER, ViterbiFilterStage
from clalign.stages.hmmer3.viterbi_filter_pairs import MAX_ABOVE, MAX_RESIDUES, PairSteps, pair_steps
from clalign.stages.hmmer3.viterbi_filter_tables import mergeable
from clalign.values.alphabets import AMINO
from clalign.values.local_profiles import LocalProfile, to_local_profile, word_scores
from clalign.values.local_scores import LOOP_COST, WORD_E_MOVE, WORD_SCALE, length_terms
from clalign.values.profiles import DD, DM, MD, MI, MM
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_hmm, random_local_profile

LANES = {"LANE_BACKEND": 0}
SHAPES = [
    ("vector", {}),
    ("vector", {"PLAIN": 1}),
    ("vector", {"SEQUENCES": 3, "LANES": 32, "FIXED": 0}),
    ("lanes", {**LANES, "LANES": 32, "BLOCK": 1}),
    ("lanes", {**LANES, "LANES": 8, "BLOCK": 4}),
    ("lanes", {**LANES, "LANES": 16, "BLOCK": 2, "LOCAL_TABLE": 0}),
    ("lanes", {**LANES, "LANES": 16, "PLAIN": 1}),
]
FEW_SHAPES = [SHAPES[0], SHAPES[1], SHAPES[3], SHAPES[4], SHAPES[6]]
UNLIMITED = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


Expected = npt.NDArray[np.float32]


def n_differing(
    stage: ViterbiFilterStage,
    session: Session,
    batch: SequenceBatch,
    profile: LocalProfile,
    expected: Expected | None = None,
) -> int:
    found = session.run(stage, batch, profile)
    if expected is None:
        expected = VITERBI_FILTER.reference(batch, profile)
    assert found.dtype == np.float32
    return int((~((found == expected) | (np.isnan(found) & np.isnan(expected)))).sum())


@pytest.mark.parametrize("n_nodes", [1, 2, 15, 16, 17, 33, 64, 65, 100, 700])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    assert n_differing(VITERBI_FILTER, session, random_batch(rng, profile, 9, 60), profile) == 0


@pytest.mark.thorough(defines=[{}, SHAPES[3][1]])
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 45]))
@UNLIMITED
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    stage = ViterbiFilterStage(shape, **defines)
    assert n_differing(stage, shaped_session, random_batch(rng, profile, 7, 50), profile) == 0


def odd_profile(rng: np.random.Generator, n_nodes: int) -> LocalProfile:
    """Return a model with impossible or likely steps of every kind, and residues that cannot be matched."""
    hmm = random_local_hmm(rng, n_nodes)
    inner = hmm.transitions[1:n_nodes]
    kind = rng.integers(0, 4)
    if kind < 2:
        inner[rng.random(inner.shape) < 0.2] = 0
    if kind == 1:
        hmm.match[1:][rng.random((n_nodes, 20)) < 0.2] = 0
    if kind == 2:  # long deletes are cheap, also from lane to lane
        inner[:, [MM, MI, MD]] = [0.4, 0.01, 0.59]
        inner[:, [DM, DD]] = [0.02, 0.98]
    if kind == 3:  # steps that differ much from node to node
        inner[:] = np.exp(-30 * rng.random(inner.shape)) / 3  # no three of them are more than 1 together
    return to_local_profile(hmm)


def can_merge_steps(profile: LocalProfile) -> bool:
    """Return whether the form that merges steps suits a model."""
    return bool(mergeable(word_scores(profile), np.array([0, profile.length + 1]))[0])


def pairs_of(profile: LocalProfile) -> PairSteps | None:
    """Return the scores of a model for the form that packs two in a word."""
    return pair_steps(word_scores(profile), np.array([0, profile.length + 1]))[0]


@pytest.mark.thorough(defines=[{}, SHAPES[3][1]])
@pytest.mark.parametrize(("shape", "defines"), FEW_SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([2, 3, 40, 45]))
@UNLIMITED
def test_odd_models(shaped_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = odd_profile(rng, n_nodes)
    batch = random_batch(rng, profile, 8, 40)
    if defines.get("PLAIN") or shape == "lanes" or can_merge_steps(profile):
        assert n_differing(ViterbiFilterStage(shape, **defines), shaped_session, batch, profile) == 0
    assert n_differing(VITERBI_FILTER, shaped_session, batch, profile) == 0


def test_odd_models_are_distinguished() -> None:
    """Of the odd models some, but not all, suit the forms that merge steps or pack two scores in a word."""
    rng = np.random.default_rng(4)
    profiles = [odd_profile(rng, 20) for _ in range(40)]
    assert 5 < sum(can_merge_steps(profile) for profile in profiles) < 35
    assert 5 < sum(pairs_of(profile) is not None for profile in profiles) < 35
    assert all(can_merge_steps(random_local_profile(rng, n)) for n in (1, 2, 3, 50))
    assert all(pairs_of(random_local_profile(rng, n)) is not None for n in (1, 2, 3, 50))


def highest_deletes(pairs: PairSteps) -> npt.NDArray[np.int64]:
    """Return the most that D of each node, without the step into it, and D taken on from it can be (int64[M, 2]).

    That is for rows without an M too high to count, node by node as ``common/pairs_of_words.h`` goes.
    """
    d, highest = pairs.least, []
    for on in pairs.steps[5]:
        highest.append((d, d + int(on)))
        d = max(d + int(on), MAX_ABOVE)
    return np.array(highest)


@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(1, 60))
@example(seed=1873, n_nodes=13)
@settings(max_examples=60, deadline=None)
def test_no_sum_of_two_packed_scores_wraps_around(seed: int, n_nodes: int) -> None:
    pairs = pairs_of(odd_profile(np.random.default_rng(seed), n_nodes))
    if pairs is None:
        return
    to_match, from_insert, from_delete, begin, stay, on = pairs.steps
    for step in (to_match, from_insert, from_delete, stay, on, pairs.match):
        assert pairs.least + step.min() >= -32768
    assert (begin >= pairs.least).all()
    assert max(0, pairs.match.max()) + MAX_ABOVE <= 32767
    assert all(step.max() <= 0 for step in (to_match, from_insert, from_delete, begin, stay))
    assert highest_deletes(pairs).max() <= 32767


def deleting_profile() -> LocalProfile:
    """Return a model whose D, without the step into it, gets about as high as in any that the packed form takes.

    From node 4 it goes on to D of 5, and that to D of 6, almost for sure, but never from M of 5 to D of 6.
    """
    hmm = random_local_hmm(np.random.default_rng(11), 8)
    hmm.transitions[0, [MM, MI, MD]] = [0.98, 0.01, 0.01]
    inner, rare = hmm.transitions[1:8], np.exp(-13)
    inner[:] = [0.98, 0.01, 0.01, 0.5, 0.5, 0.5, 0.5]
    inner[3, [MM, MI, MD, DM, DD]] = [rare / 2, rare / 2, 1 - rare, rare, 1 - rare]
    inner[4, [MM, MI, MD, DM, DD]] = [0.99, 0.01, 0, 0, 1]
    inner[5, [DM, DD]] = [0.9, 0.1]
    hmm.match[1:] = 0.02
    hmm.match[1:5, "ACDEFGHIKLMNPQRSTVWY".index("W")] = 0.209
    hmm.match[7, "ACDEFGHIKLMNPQRSTVWY".index("Y")] = 0.06
    return to_local_profile(hmm)


@pytest.mark.thorough
def test_the_highest_deletes_do_not_wrap_around(session: Session) -> None:
    """An M that only just counts is followed by a delete over a node into whose D no M goes, and that by the best M."""
    profile = deleting_profile()
    pairs = pairs_of(profile)
    assert pairs is not None
    assert 27_500 < highest_deletes(pairs).max() <= 32_767
    batch = SequenceBatch.from_texts([text + "A" * 10_000 for text in ("WWWW", "WWWWY")])
    scores, move = VITERBI_FILTER.reference(batch, profile), int(length_terms(batch.lengths).word_move[0])
    above = np.round((scores + LOOP_COST) * WORD_SCALE) - WORD_E_MOVE - 2 * move  # how much more than B the best M is
    most = -WORD_E_MOVE - move
    assert most - 500 < above[0] < above[1] <= most
    shape, defines = SHAPES[4] if session.device.kind == "cpu" else (None, {})
    assert n_differing(ViterbiFilterStage(shape, **defines), session, batch, profile) == 0


def profile_that_wraps_around() -> LocalProfile:
    """Return a model whose first nodes make M too high for 16 bits, while the best alignment goes on by a delete."""
    hmm, word = random_local_hmm(np.random.default_rng(11), 72), "WCHMWCW"
    n, least = len(word), 1e-7
    steps = hmm.transitions
    steps[0, [MM, MI, MD]] = [1 - 2 * least, least, least]
    steps[1:72] = [1 - 2 * least, least, least, 0.5, 0.5, 0.5, 0.5]
    steps[n - 1, [MM, MI, MD]] = [0.997 - least, least, 0.003]
    steps[n, [MM, MI, MD, DM, DD]] = [0, 0, 1, 0.99, 0.01]
    steps[n + 1, [MM, MI, MD, DM, DD]] = [1, 0, 0, 0, 1]
    steps[n + 2, [MM, MI, MD, DM, DD]] = [1 - 2 * least, least, least, 0.5, 0.5]
    hmm.match[1:] = 2e-5
    for node, letter in [*enumerate(word, 1), (n + 3, "Y")]:
        hmm.match[node, AMINO.canonical.index(letter)] = 0.99
    return to_local_profile(hmm)


@pytest.mark.thorough
@pytest.mark.parametrize(("shape", "defines"), [SHAPES[0], *(shape for shape in SHAPES if shape[0] == "lanes")])
def test_scores_beyond_those_that_wrap_around(shaped_session: Session, shape: str, defines: dict[str, int]) -> None:
    """Wherever in a block of rows M becomes too high, what comes after it counts."""
    profile = profile_that_wraps_around()
    pairs = pairs_of(profile)
    assert pairs is not None
    assert pairs.trusted < 32767
    texts = ["A" * before + "WCHMWCWY" + "A" * 100 for before in range(60, 96)]
    assert (
        n_differing(ViterbiFilterStage(shape, **defines), shaped_session, SequenceBatch.from_texts(texts), profile) == 0
    )


@pytest.mark.thorough(defines=[{}])
@pytest.mark.parametrize(("shape", "defines"), [(None, {}), *SHAPES])
def test_j_and_overflow(shaped_session: Session, shape: str | None, defines: dict[str, int]) -> None:
    """Several domains lead through J; many of them, or a good one, overflow the words."""
    rng = np.random.default_rng(5)
    profile = random_local_profile(rng, 12)
    domain = profile.hmm.consensus
    parts = [(domain[:k] + "GGGG") * 3 for k in range(2, 12)]
    batch = SequenceBatch.from_texts([*parts, domain * 60, "", random_codes(rng, 3000), domain[:7]])
    expected = VITERBI_FILTER.reference(batch, profile)
    assert np.isinf(expected).any()
    once = VITERBI_FILTER.reference(SequenceBatch.from_texts([domain[:6] + "GGGG"]), profile)
    assert once[0] + 3 < expected[4] < np.inf
    assert n_differing(ViterbiFilterStage(shape, **defines), shaped_session, batch, profile, expected) == 0


def test_nasty_sequences(session: Session) -> None:
    rng = np.random.default_rng(6)
    profile = random_local_profile(rng, 20)
    nasty = ["", "A", "X" * 50, "*", "-" * 9, "J", "UOBZ", "~._", "Q" * 300, "*A*", profile.hmm.consensus * 3]
    assert n_differing(VITERBI_FILTER, session, SequenceBatch.from_texts(nasty), profile) == 0
    assert len(session.run(VITERBI_FILTER, SequenceBatch.from_texts([]), profile)) == 0


@pytest.mark.thorough
def test_longer_sequences_than_the_packed_form_takes(session: Session) -> None:
    assert int(length_terms(np.array([MAX_RESIDUES])).word_move[0]) == 12500 - 12000 - MAX_ABOVE
    rng = np.random.default_rng(7)
    profile = random_local_profile(rng, 20)
    stage = ViterbiFilterStage("lanes", LONGEST=30)
    assert n_differing(stage, session, random_batch(rng, profile, 9, 60), profile) == 0


@pytest.mark.parametrize(("shape", "defines"), [("vector", {}), ("lanes", {}), ("lanes", {"PLAIN": 1})])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str, defines: dict[str, int]) -> None:
    rng = np.random.default_rng(9)
    profile = random_local_profile(rng, 30)
    stage = ViterbiFilterStage(shape, SABOTAGE=1, **defines)
    assert n_differing(stage, shaped_session, random_batch(rng, profile, 8, 40), profile) > 0


CUTTING_SHAPES: list[tuple[str | None, dict[str, int]]] = [(None, {}), ("lanes", {**LANES, "LANES": 8})]


@pytest.mark.thorough
def test_long_sequences_are_cut_where_nothing_is_lost(session: Session) -> None:
    """Weak domains lie across every place where a piece may end; only one of them decides the score."""
    rng = np.random.default_rng(8)
    profile = random_local_profile(rng, 10)
    pairs = pairs_of(profile)
    assert pairs is not None
    assert pairs.longest_alignment is not None
    assert pairs.longest_alignment < MIN_PIECE
    domain = np.array([ord(letter.upper()) - ord("A") for letter in profile.hmm.consensus[:6]], np.uint8)
    texts = []
    for place in range(690, 790, 6):
        codes = random_codes(rng, 4000)
        codes[place : place + 3] = domain[:3]
        codes[place + 5 : place + 8] = domain[3:]
        texts.append(codes)
    batch = SequenceBatch.from_texts(texts)
    expected = VITERBI_FILTER.reference(batch, profile)
    for shape, defines in CUTTING_SHAPES:
        assert n_differing(ViterbiFilterStage(shape, **defines), session, batch, profile, expected) == 0, shape


def test_bound_of_alignments_holds() -> None:
    """Insertions cost something in every usual model, so there is a bound, and it grows with the model."""
    rng = np.random.default_rng(9)
    bounds = []
    for n_nodes in (1, 10, 100):
        pairs = pairs_of(random_local_profile(rng, n_nodes))
        assert pairs is not None
        assert pairs.longest_alignment is not None
        bounds.append(pairs.longest_alignment)
    assert bounds == sorted(bounds)
    assert bounds[0] >= 1


@pytest.mark.thorough
def test_j_across_pieces(session: Session) -> None:
    """Domains in one piece, in neighbors, in pieces far from each other, and twice where two pieces overlap."""
    rng = np.random.default_rng(10)
    profile = random_local_profile(rng, 10)
    domain = np.array([ord(letter.upper()) - ord("A") for letter in profile.hmm.consensus], np.uint8)
    texts = []
    for places in ([], [700], [100, 900], [750, 740], [700, 765], [10, 5900], [1500, 2900, 4400], [3000, 3020, 20]):
        codes = random_codes(rng, 6000)
        for place in places:
            codes[place : place + 10] = domain
        texts.append(codes)
    batch = SequenceBatch.from_texts(texts)
    expected = VITERBI_FILTER.reference(batch, profile)
    for shape, defines in CUTTING_SHAPES:
        assert n_differing(ViterbiFilterStage(shape, **defines), session, batch, profile, expected) == 0, shape
