"""What a run will take: a stage counts as far as filters let targets come to it, by the measured speed of devices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clalign.engines.msa.estimate import MERGING_SECONDS, SPEED
from clalign.engines.msa.estimate import estimate as of_alignment
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.pairwise import estimate as pairwise
from clalign.engines.plan7 import estimate as plan7
from clalign.engines.plan7.spec import SearchSpec
from clalign.execution.speed import START_SECONDS, rate_of
from clalign.values.devices import REFERENCE, Device

CPU = Device("0:0", "a processor", "cpu", gcups=10.0)
GPU = replace(CPU, id="1:0", name="a card", kind="gpu", gcups=1000.0)
NEW, OLD = replace(CPU, gcups=0.0), ("hmmer2", 200)
MODELS = [("hmmer3", 100), ("hmmer3", 300)]
CELLS = 1e12


def seconds(*devices: Device, models: Any = MODELS, n_cells: float = CELLS, **options: Any) -> float:
    """Return what a search is told to take, but for what does not depend on cells."""
    found = plan7.estimate(models, n_cells, SearchSpec("a", "b", **options), devices).seconds
    assert found is not None
    return found - START_SECONDS - plan7.MODEL_SECONDS * len(models)


def test_a_search_is_reported_in_words() -> None:
    found = plan7.estimate([*MODELS, OLD], CELLS, SearchSpec("a", "b"), [CPU])
    assert found.queries == "3 profiles of 600 nodes"


def test_every_filter_counts_for_what_comes_to_it() -> None:
    h = plan7.HOMOLOGS
    assert plan7.shares_of(plan7.filter_limits(SearchSpec("a", "b"))) == (0.02 + h, 1e-3 + h, 1e-5 + h)
    by_hand = (
        1 / plan7.SSV["cpu"] + (0.02 + h) / plan7.PASSED["cpu"] + (1e-3 + h) / plan7.FORWARD["cpu"]
        + (1e-5 + h) / plan7.DOMAINS["cpu"]
    )  # fmt: skip
    assert seconds(CPU) == pytest.approx(by_hand * CELLS / 1e10)


def test_without_filters_everything_comes_to_every_stage() -> None:
    whole = plan7.filter_limits(SearchSpec("a", "b", without_filters=True))
    assert plan7.shares_of(whole) == (1.0, 1.0, 1.0)
    speeds = (plan7.SSV, plan7.PASSED, plan7.FORWARD, plan7.DOMAINS)
    by_hand = sum(1 / one["cpu"] for one in speeds)
    assert seconds(CPU, without_filters=True) == pytest.approx(by_hand * CELLS / 1e10)


@pytest.mark.parametrize("name", ["f1", "f2", "f3"])
def test_what_lets_more_pass_takes_longer(name: str) -> None:
    wide = {"f1": 0.5, "f2": 0.4, "f3": 0.3}
    values = [seconds(CPU, **{**wide, name: share}) for share in (0.01, 0.1, 0.25)]
    assert values == sorted(values)
    assert values[0] < values[-1]
    assert seconds(CPU, f1=0.01, f2=1.0, f3=1.0) < seconds(CPU, f1=0.1, f2=1.0, f3=1.0), "no later one gets more"


def test_older_profiles_are_compared_with_everything() -> None:
    assert seconds(CPU, models=[OLD]) == pytest.approx(CELLS / 1e10)
    assert seconds(CPU, models=[OLD], without_filters=True) == seconds(CPU, models=[OLD])
    assert seconds(CPU) < 0.5 * seconds(CPU, models=[OLD])
    both = [("hmmer3", 200), OLD]
    assert seconds(CPU, models=both) == pytest.approx((seconds(CPU) + seconds(CPU, models=[OLD])) / 2)


def test_a_processor_defines_the_domains_that_a_card_finds() -> None:
    by_hand = (plan7.HOMOLOGS + 1e-5) * CELLS / plan7.HOST_RATE
    assert seconds(GPU) > by_hand
    assert seconds(replace(GPU, gcups=1e9)) == pytest.approx(by_hand, rel=1e-3)
    assert seconds(GPU, CPU) < seconds(GPU) < seconds(CPU)


def test_what_was_never_measured_is_not_guessed() -> None:
    for devices in ([NEW], [CPU, NEW]):
        assert plan7.estimate(MODELS, CELLS, SearchSpec("a", "b"), devices).seconds is None
        assert pairwise.estimate(1, 100, CELLS, devices).seconds is None
    assert seconds(REFERENCE) > 100 * seconds(CPU)


@pytest.mark.parametrize("on", [CPU, GPU])
def test_pairs_count_by_their_own_recurrence_and_queries_besides(on: Device) -> None:
    one, ten = (pairwise.estimate(n, 350 * n, CELLS * n, [on]).seconds or 0 for n in (1, 10))
    cells = CELLS / (pairwise.SPEED[on.kind] * on.gcups * 1e9)
    assert one == pytest.approx(START_SECONDS + pairwise.QUERY_SECONDS + cells)
    assert ten - START_SECONDS == pytest.approx(10 * (one - START_SECONDS))


def test_an_alignment_counts_what_is_left_of_its_comparisons_and_all_merging() -> None:
    lengths, spec = np.full(200, 150), AlignmentSpec(("x",))
    whole, half, none = (of_alignment(lengths, spec, [CPU], left=left).seconds or 0 for left in (1.0, 0.5, 0.0))
    assert whole - half == pytest.approx(half - none)
    assert whole - none == pytest.approx(of_alignment(lengths, spec).n_cells / rate_of([CPU], SPEED[2]))
    assert none - START_SECONDS == pytest.approx(MERGING_SECONDS * 200 * 150 * 199 * 200 / 2)


def test_a_caution_counts_more_memory_than_is_expected() -> None:
    lengths, spec = np.full(500, 300), AlignmentSpec(("x",))
    expected, most = (of_alignment(lengths, spec, is_most=is_most).memory_bytes for is_most in (False, True))
    assert 1.5 * expected < most < 4 * expected
