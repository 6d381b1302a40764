"""Annealing by the reference: answers by hand, and what must be so of every alignment."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.reference.annealing import anneal, candidates
from clalign.values.sparse_posteriors import PosteriorMatrix, SparsePosteriors
from tests.posterior_cases import is_alignment, random_posteriors

KEPT = {
    (0, 0): 0.526987, (1, 1): 0.0894905, (3, 0): 0.460826, (4, 1): 0.899618, (5, 2): 0.988628, (6, 3): 0.987943,
    (7, 4): 0.988948, (8, 5): 0.990669, (9, 6): 0.996556,
}  # fmt: skip
"""Posteriors of HEAGAWGHEE and PAWHEAE by FSA, with one set of gap states and no training."""


def known_pair() -> SparsePosteriors:
    rows, columns = np.array(list(KEPT), np.int32).T
    pair = PosteriorMatrix.from_entries((10, 7), rows, columns, np.array(list(KEPT.values()), np.float32))
    return SparsePosteriors.joined([10, 7], [(0, 1, pair)])


def test_merges_and_weights_of_a_known_pair() -> None:
    merges = anneal(known_pair())
    steps = [f"{one}->{other}" for one, other in zip(merges.survivors, merges.victims, strict=True)]
    assert steps == ["16->13", "15->11", "14->9", "10->5", "12->7", "8->3", "1->0"]
    assert merges.weights == pytest.approx([289.35, 106.17, 89.482, 86.936, 81.938, 16.169, 2.1722], rel=1e-4)
    rows = merges.alignment_after().rows([b"HEAGAWGHEE", b"PAWHEAE"])
    assert [row.decode() for row in rows] == ["HEAGAWGHEE", "P---AWHEAE"]


def test_candidates_are_worth_the_gap_factor() -> None:
    assert len(list(candidates(known_pair(), 0.0))) == 9
    assert len(list(candidates(known_pair(), 1.0))) == 8
    assert [weight > 80 for weight, _, _ in candidates(known_pair(), 85.0)] == [True] * 4


@pytest.mark.parametrize("gap_factor", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_every_step_is_an_alignment(seed: int, gap_factor: float) -> None:
    posteriors = random_posteriors(seed, [9, 12, 0, 11, 8, 10], 0.8, is_coarse=seed % 2 == 0)
    merges = anneal(posteriors, gap_factor)
    assert len(merges) > 10
    for n in range(len(merges) + 1):
        alignment = merges.alignment_after(n)
        assert is_alignment(alignment)
        assert alignment.n_columns == posteriors.lengths.sum() - n


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_worth_of_the_columns(seed: int) -> None:
    """Each weight is computed anew from the columns that were merged, in double precision."""
    posteriors = random_posteriors(seed, [8, 9, 10, 7])
    merges = anneal(posteriors)
    pairs = {(x, y): pair for x, y, pair in posteriors.each()}
    for n, weight in enumerate(merges.weights.tolist()):
        before, after = (merges.alignment_after(k).positions() for k in (n, n + 1))
        old = {tuple(column) for column in before.T.tolist()}
        (merged,) = (column for column in after.T.tolist() if tuple(column) not in old)
        parts = [column for column in before.T if all(a in (-1, b) for a, b in zip(column, merged, strict=True))]
        assert len(parts) == 2
        matched = gapped = 0.0
        for (x, y), pair in pairs.items():
            for one, other in (parts, parts[::-1]):
                if one[x] >= 0 and other[y] >= 0:
                    matched += float(pair.at(one[x : x + 1], other[y : y + 1])[0])
                    gapped += float(pair.x_gaps[one[x]]) + float(pair.y_gaps[other[y]])
        assert weight == pytest.approx(2 * matched / gapped, rel=1e-5)


def test_merges_that_cross_are_not_made() -> None:
    """The second merge would need residues of both sequences before and after each other."""
    rows, columns = np.array([[0, 1], [1, 0]], np.int32)
    pair = PosteriorMatrix.from_entries((2, 2), rows, columns, np.array([0.9, 0.8], np.float32))
    merges = anneal(SparsePosteriors.joined([2, 2], [(0, 1, pair)]))
    assert len(merges) == 1
    assert merges.weights[0] == pytest.approx(1.8 / 0.2)
