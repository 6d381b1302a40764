"""Reweighted scores give every path the cost that it had."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from clalign.reference.viterbi import viterbi_score
from clalign.stages.plan7.reweighting import MAX_INSERTS, MAX_SCORE, NEVER, UNLIMITED, ReweightedScores, reweighted
from clalign.values.alphabets import AMINO, code_of
from clalign.values.profiles import II, IMPOSSIBLE, MI, MM, Hmmer2Settings, IntegerProfile, to_integer_profile
from clalign.values.synthetic import random_batch, random_hmm, random_profile


def best_way_out(codes: npt.NDArray[np.uint8], s: ReweightedScores) -> int:
    """Return the best way out of the model with B constant: the plain recurrence, cell after cell."""
    m = len(s.begin)
    x, w = [2 * NEVER] * m, [2 * NEVER] * m
    best = 2 * NEVER
    for code in codes:
        entering, chain = 2 * NEVER, 2 * NEVER
        for k in range(m):
            match = max(entering, s.begin[k] + s.start) + s.match[code, k]
            insert = w[k] + s.insert[code, k]
            best = max(best, match)
            entering = x[k]
            x[k] = max(match + s.match_to_match[k], insert + s.insert_to_match[k], chain + s.delete_to_match[k])
            w[k] = max(insert + s.insert_to_insert[k], match)
            chain = max(match + s.match_to_delete[k], chain)
    return int(best)


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("n_nodes", [1, 2, 7, 30])
def test_scores_of_single_copies_are_exact(n_nodes: int, local: bool) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_profile(rng, n_nodes, local)
    scores = reweighted(profile)
    assert scores is not None
    batch = random_batch(rng, profile, 12, 40)
    n_exact = 0
    for first, last in zip(batch.offsets[:-1], batch.offsets[1:], strict=True):
        codes = batch.codes[first:last]
        best = best_way_out(codes, scores)
        if len(codes) and best <= scores.single:
            assert best + scores.leave == viterbi_score(codes, profile)
            n_exact += 1
    assert n_exact >= 3


def changed(profile: IntegerProfile, **special: int) -> IntegerProfile:
    return replace(profile, special=replace(profile.special, **special))


def test_models_with_costly_loops_are_left_alone() -> None:
    profile = random_profile(np.random.default_rng(1), 5)
    assert reweighted(changed(profile, n_loop=-1)) is None
    assert reweighted(changed(profile, c_loop=1)) is None
    assert reweighted(changed(profile, j_loop=-1)) is None
    assert reweighted(changed(profile, j_loop=1, e_loop=IMPOSSIBLE)) is not None


def test_models_that_cannot_begin_or_emit_everywhere_are_left_alone() -> None:
    rng = np.random.default_rng(2)
    hmm = random_hmm(rng, 6, local=False)
    hmm.match[3, 4] = 0
    assert reweighted(to_integer_profile(hmm)) is None
    hmm = random_hmm(rng, 6)
    assert hmm.settings is not None
    hmm.settings.begin[2:] = 0
    hmm.transitions[1:, 6] = 0
    assert reweighted(to_integer_profile(hmm)) is None


def test_long_models_fit_their_bounds() -> None:
    scores = reweighted(random_profile(np.random.default_rng(3), 5000, local=False))
    assert scores is not None
    assert np.abs(scores.begin).max() < MAX_SCORE * 4
    assert scores.fits_16_bits


def cut_in_two(n_nodes: int) -> IntegerProfile:
    """Return a model whose second half cannot be reached from the first; only its inserts gain anything, and much."""
    hmm = random_hmm(np.random.default_rng(4), n_nodes, local=False)
    assert isinstance(hmm.settings, Hmmer2Settings)
    hmm.settings.null[:] = hmm.match[:] = 0.05
    hmm.insert[:] = 0.01 / 19
    hmm.insert[:, AMINO.canonical.index("W")] = 0.99
    hmm.transitions[:] = [0.5, 0.5, 0, 1, 1e-5, 0, 0]
    hmm.transitions[n_nodes // 2, [MM, MI]] = 0
    hmm.settings.begin[1:] = 1 / n_nodes
    hmm.settings.end[n_nodes // 2] = 1
    hmm.settings.special[1] = [1, 0]
    return to_integer_profile(hmm)


@pytest.mark.thorough
def test_no_gain_of_inserts_outweighs_a_step_that_cannot_be_taken() -> None:
    profile = cut_in_two(700)
    scores = reweighted(profile)
    assert scores is not None
    codes = np.tile(np.array([code_of("A"), code_of("W")], np.uint8), profile.length)[:-1]
    assert best_way_out(codes, scores) + scores.leave == viterbi_score(codes, profile)


def test_only_inserts_that_gain_limit_the_length() -> None:
    profile = random_profile(np.random.default_rng(5), 6)
    insert = profile.insert.copy()
    for score, longest in ((-1, UNLIMITED), (0, UNLIMITED), (1, MAX_INSERTS)):
        insert[:, 1:6] = score - profile.transitions[II, 1:6]
        scores = reweighted(replace(profile, insert=insert))
        assert scores is not None
        assert scores.longest == longest
