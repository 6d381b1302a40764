"""The filters one after the other: on a device as one target at a time through the plain ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.filters import FEW_SEQUENCES, FILTERS, PASSED_FORWARD, Filtered, FilterModel
from clalign.values.local_profiles import shelf_of, to_local_profile
from clalign.values.local_scores import FilterLimits, least_difference, pvalue
from clalign.values.profiles import Hmmer3Settings
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_hmm, random_local_profile

MAX = FilterLimits(1.0, 1.0, 1.0, bias=False)


def assert_same(found: Filtered, expected: Filtered) -> None:
    """Integers stand behind the MSV and Viterbi scores; the others are sums of floats."""
    assert np.array_equal(found.msv, expected.msv, equal_nan=True)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.reached.tolist() == expected.reached.tolist()
    assert np.array_equal(found.viterbi, expected.viterbi, equal_nan=True)
    assert np.allclose(found.bias, expected.bias, atol=2e-4, rtol=0)
    assert np.allclose(found.forward, expected.forward, atol=5e-4, rtol=0, equal_nan=True)


@pytest.mark.parametrize("n_nodes", [1, 20, 70])
@pytest.mark.parametrize("limits", [FilterLimits(), FilterLimits(bias=False), FilterLimits(0.5, 0.3, 0.1), MAX])
def test_as_the_plain_filters(session: Session, n_nodes: int, limits: FilterLimits) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    batch = random_batch(rng, profile, 24, 90)
    model = FilterModel(profile, limits)
    expected = FILTERS.reference_of(batch, model)
    if n_nodes > 1:
        assert PASSED_FORWARD in expected.reached
    assert_same(session.run(FILTERS, batch, [model])[0], expected)


@pytest.mark.thorough(n_copies=[1])
@pytest.mark.parametrize("n_copies", [1, 5], ids=["later filters for some", "all for all"])
@pytest.mark.parametrize("limits", [FilterLimits(), FilterLimits(0.5, 0.3, 0.1, bias=False)])
def test_many_models_at_once_as_each_alone(session: Session, limits: FilterLimits, n_copies: int) -> None:
    """Of programs and tables of their own, on a shelf and on none; of some nothing passes, and some rows are empty."""
    rng = np.random.default_rng(11)
    hmms = [random_local_hmm(rng, n_nodes) for n_nodes in (3, 20, 70, 20, 270, 9)]
    shelf = shelf_of(hmms[:5])
    profiles = [*map(shelf.profile, (4, 0, 1, 2, 3)), to_local_profile(hmms[5])]
    related = [random_batch(rng, profile, 5, 90) for profile in profiles[:3]]
    batch = SequenceBatch.from_texts(["", *(one.residues(k) for one in related for k in range(5)), ""] * n_copies)
    assert (len(batch) > FEW_SEQUENCES) == (n_copies > 1)
    models = [FilterModel(profile, limits) for profile in profiles]
    together = session.run(FILTERS, batch, models)
    assert {len(found.rows) > 0 for found in together} == {True, False} or not limits.bias
    for found, model in zip(together, models, strict=True):
        found.check()
        alone = session.run(FILTERS, batch, [model])[0]
        for name in ("msv", "rows", "bias", "viterbi", "forward", "reached"):
            assert np.array_equal(getattr(found, name), getattr(alone, name), equal_nan=name not in ("rows", "reached"))
        assert_same(found, FILTERS.reference_of(batch, model))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_cases(session: Session, seed: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, int(rng.integers(2, 60)))
    limits = FilterLimits(*np.sort(rng.random(3))[::-1].tolist(), bias=bool(rng.integers(2)))
    batch = random_batch(rng, profile, 12, 80)
    model = FilterModel(profile, limits)
    assert_same(session.run(FILTERS, batch, [model])[0], FILTERS.reference_of(batch, model))


def test_everything_may_pass(any_session: Session) -> None:
    """Lists are never cut short, whatever share of the targets passes."""
    rng = np.random.default_rng(5)
    profile = random_local_profile(rng, 25)
    batch = SequenceBatch.from_texts([profile.hmm.consensus * 2] * 300)
    found = any_session.run(FILTERS, batch, [FilterModel(profile, FilterLimits())])[0]
    assert found.rows.tolist() == list(range(300))
    assert (found.reached == PASSED_FORWARD).all()


def test_nothing_passes(any_session: Session) -> None:
    rng = np.random.default_rng(6)
    profile = random_local_profile(rng, 25)
    for batch in (SequenceBatch.from_texts([]), SequenceBatch.from_texts(["", "", "*", "GGG"])):
        model = FilterModel(profile, FilterLimits(1e-30, 1e-30, 1e-30))
        for found in (*any_session.run(FILTERS, batch, [model]), *any_session.run(FILTERS, batch, [model] * 3)):
            assert len(found.rows) == 0
            assert np.isnan(found.msv).tolist() == (batch.lengths == 0).tolist()


def test_long_targets_of_long_models_take_msv(session: Session) -> None:
    """Where the bytes of SSV are too narrow, MSV decides; rare letters too are for MSV on GPUs."""
    rng = np.random.default_rng(7)
    profile = to_local_profile(random_local_hmm(rng, 900))
    batch = SequenceBatch.from_texts([random_codes(rng, 12_000), random_codes(rng, 300), "B" * 200, "ZJ" * 90])
    model = FilterModel(profile, FilterLimits())
    assert_same(session.run(FILTERS, batch, [model])[0], FILTERS.reference_of(batch, model))


def test_least_difference_is_the_boundary() -> None:
    """One float less does not pass any more."""
    settings_ = random_local_hmm(np.random.default_rng(8), 3).settings
    assert isinstance(settings_, Hmmer3Settings)
    for calibration in (settings_.msv, settings_.viterbi, settings_.forward):
        assert calibration is not None
        for limit in (0.02, 1e-3, 1e-5, 0.5, 1e-12, 1e-300, 0.0):
            least = least_difference(calibration, limit)
            assert pvalue(least, calibration) <= limit
            assert pvalue(np.nextafter(least, np.float32(-np.inf)), calibration) > limit
        assert least_difference(calibration, 1.0) == -np.inf
