"""The measures of an alignment: known answers, and their definitions character by character."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clalign.engines.msa.reliability import MEASURES, expected_accuracy, reliability
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.sparse_posteriors import SparsePosteriors
from tests.posterior_cases import random_alignment, random_posteriors
from tests.reference.test_annealing import known_pair

LENGTHS = [8, 11, 0, 9]


def test_known_answers() -> None:
    """Of FSA's viewer for HEAGAWGHEE and PAWHEAE."""
    found = reliability(known_pair(), MultipleAlignment.from_rows([b"HEAGAWGHEE", b"P---AWHEAE"]))
    whole = [found.whole(measure) for measure in MEASURES]
    assert whole == pytest.approx([0.894611, 0.919922, 0.911336, 1.0, 1.0], abs=2e-6)
    characters = {measure: found.characters(measure) for measure in MEASURES}
    assert characters["accuracy"][:, 0] == pytest.approx([0.5270, 0.5270], abs=5e-5)
    assert characters["sensitivity"][:, 0] == pytest.approx([1.0, 0.5335], abs=5e-5)
    assert characters["specificity"][0, 0] == pytest.approx(0.5270, abs=5e-5)
    certain = [math.log(ratio) / math.log(5) for ratio in (1.1141, 1.1436)]
    assert characters["certainty"][:, 0] == pytest.approx(certain, abs=1e-4)
    assert characters["consistency"][:, 0] == pytest.approx([1.0, 1.0])
    assert characters["accuracy"][:, 3] == pytest.approx([0.5392, 0.5392], abs=5e-5)
    assert np.isnan([characters[measure][:, 3] for measure in ("sensitivity", "specificity")]).all()
    assert characters["certainty"][:, 3] == pytest.approx([math.log(1.170) / math.log(5)] * 2, abs=5e-4)


def by_definition(posteriors: SparsePosteriors, alignment: MultipleAlignment, i: int, c: int) -> dict[str, list[float]]:
    """Return numerator and denominator of each measure of a character."""
    positions = alignment.positions()
    sums = {measure: [0.0, 0.0] for measure in MEASURES}
    for first, second, pair in posteriors.each():
        if i not in (first, second):
            continue
        j = second if i == first else first
        x, y = int(positions[i, c]), int(positions[j, c])
        if x < 0 and y < 0:
            continue
        dense = np.zeros((len(pair.x_gaps), len(pair.y_gaps)))
        dense[pair.rows, pair.columns] = pair.probabilities
        dense, gaps = (dense, (pair.x_gaps, pair.y_gaps)) if i == first else (dense.T, (pair.y_gaps, pair.x_gaps))
        matches = dense[x] if x >= 0 else dense[:, y]
        gap = float(gaps[0][x] if x >= 0 else gaps[1][y])
        p, m = (float(dense[x, y]), 2) if x >= 0 and y >= 0 else (gap, 1)
        values = sorted([*matches[matches > 0].tolist(), gap], reverse=True)
        alternative = (values[1] if len(values) > 1 else 0.01) if abs(p - values[0]) <= 1e-4 else values[0]
        terms = {"accuracy": (m * p, m), "certainty": (m * p, m * alternative), "consistency": (m * p, m * values[0])}
        if x >= 0:
            terms["sensitivity"] = ((m - 1) * p, matches.sum() or 0.01)
        if x >= 0 and y >= 0:
            terms["specificity"] = (m * p, m)
        for measure, (over, under) in terms.items():
            sums[measure][0] += over
            sums[measure][1] += under
    return sums


@pytest.mark.parametrize("seed", range(4))
def test_every_character_by_definition(seed: int) -> None:
    posteriors, alignment = random_posteriors(seed, LENGTHS, 0.8), random_alignment(seed, LENGTHS)
    found, positions = reliability(posteriors, alignment), alignment.positions()
    for measure in MEASURES:
        values, number = found.characters(measure), MEASURES.index(measure)
        for i, c in np.ndindex(positions.shape):
            over, under = by_definition(posteriors, alignment, i, c)[measure]
            assert found.over[number, i, c] == pytest.approx(over, abs=1e-6)
            assert found.under[number, i, c] == pytest.approx(under, abs=1e-6)
            is_alone = positions[i, c] < 0 or (positions[:, c] >= 0).sum() == 1
            if under <= 1e-4 or (is_alone and measure in ("sensitivity", "specificity")):
                assert np.isnan(values[i, c])
            elif measure == "certainty":
                assert values[i, c] == pytest.approx(math.log(min(5, max(1, over / under))) / math.log(5), abs=1e-6)
            else:
                assert values[i, c] == pytest.approx(over / under, abs=1e-6)


def test_columns_and_whole_are_ratios_of_sums() -> None:
    posteriors, alignment = random_posteriors(1, LENGTHS), random_alignment(1, LENGTHS)
    found = reliability(posteriors, alignment)
    for number, measure in enumerate(MEASURES):
        counted = found.is_residue if measure == "certainty" else np.ones_like(found.is_residue)
        over, under = found.over[number] * counted, found.under[number] * counted
        assert np.isnan(found.columns(measure)[under.sum(axis=0) == 0]).all()
        over, under = over[:, under.sum(axis=0) > 0], under[:, under.sum(axis=0) > 0]
        ratios = [over.sum(axis=0) / under.sum(axis=0), over.sum() / under.sum()]
        if measure == "certainty":
            ratios = [np.log(np.clip(ratio, 1, 5)) / np.log(5) for ratio in ratios]
        assert found.columns(measure)[~np.isnan(found.columns(measure))] == pytest.approx(ratios[0])
        assert found.whole(measure) == pytest.approx(float(ratios[1]))


@pytest.mark.parametrize("seed", range(4))
def test_expected_accuracy_is_the_measure(seed: int) -> None:
    posteriors, alignment = random_posteriors(seed, LENGTHS, 0.8), random_alignment(seed, LENGTHS)
    columns, whole = expected_accuracy(posteriors, alignment)
    found = reliability(posteriors, alignment)
    assert columns == pytest.approx(np.nan_to_num(found.columns("accuracy")), abs=1e-6)
    assert whole == pytest.approx(found.whole("accuracy"), abs=1e-6)


def test_without_posteriors_nothing_is_known() -> None:
    posteriors, alignment = random_posteriors(1, [3, 4], 0.0), random_alignment(1, [3, 4])
    assert np.isnan(reliability(posteriors, alignment).whole("accuracy"))
    columns, whole = expected_accuracy(posteriors, alignment)
    assert (columns.tolist(), whole) == ([0.0] * alignment.n_columns, 0.0)
