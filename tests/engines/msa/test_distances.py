"""Distances between the rows of an alignment: by hand, and letter by letter."""

from __future__ import annotations

import math

import numpy as np
import pytest

from clalign.tools import distances as module
from clalign.tools.distances import (
    MAX_DISTANCE,
    difference_distances,
    kimura_distances,
    posterior_distances,
    shares_of_differences,
)
from clalign.values.alphabets import AMINO
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.sparse_posteriors import SparsePosteriors
from tests.posterior_cases import random_alignment, random_posteriors
from tests.reference.test_annealing import known_pair

PROTEINS = [b"ACDEFGHIKL", b"ACDEYGHIkV", b"-CDEFXHI..", b"----------", b"MCDEFWWW--"]


def test_shares_of_proteins() -> None:
    """Of the third row six columns count: its X is no residue."""
    found = shares_of_differences(PROTEINS)
    assert found[0, :3] == pytest.approx([0, 2 / 10, 0 / 6])
    assert found[1, 2] == pytest.approx(1 / 6)
    assert found[2, 4] == pytest.approx(2 / 6)
    assert np.isnan(found[3, [0, 1, 2, 4]]).all()
    assert difference_distances(PROTEINS)[3].tolist() == [1, 1, 1, 0, 1]


def test_kimura_of_proteins() -> None:
    found = kimura_distances(PROTEINS)
    assert found[0, 1] == pytest.approx(-math.log(1 - 0.2 - 0.2**2 / 5))
    assert found[3].tolist() == [MAX_DISTANCE] * 3 + [0, MAX_DISTANCE]
    assert kimura_distances([b"WWWWWWWWWW", b"ACDEFGHIKL"])[0, 1] == MAX_DISTANCE


@pytest.mark.parametrize("letters", ["ACGT", "ACGU", "acgu"])
def test_kimura_of_nucleic_acids(letters: str) -> None:
    """Of 20 columns two transitions (A to G, C to T) and one transversion."""
    one = "ACGT" * 5 + "-N"
    other = "GTGTCCGT" + "ACGT" * 3 + "AA"
    rows = [text.translate(str.maketrans("ACGT", letters)).encode() for text in (one, other)]
    p, q = 2 / 20, 1 / 20
    expected = -math.log(1 - 2 * p - q) / 2 - math.log(1 - 2 * q) / 4
    assert kimura_distances(rows)[0, 1] == pytest.approx(expected)
    assert difference_distances(rows)[0, 1] == pytest.approx(3 / 20)


def test_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 50)
    rng = np.random.default_rng(1)
    letters = [*AMINO.canonical.encode(), *b"-.x"]
    rows = [bytes(rng.choice(letters, 33).tolist()) for _ in range(7)]
    found = shares_of_differences(rows)
    for i, one in enumerate(rows):
        for j, other in enumerate(rows):
            pairs = [(a, b) for a, b in zip(one, other, strict=True) if not {a, b} & set(b"-.x")]
            assert found[i, j] == pytest.approx(sum(a != b for a, b in pairs) / len(pairs))
    assert np.array_equal(found, found.T)


def test_posteriors_of_a_known_pair() -> None:
    """All seven residues of the shorter sequence are aligned."""
    found = posterior_distances(known_pair(), MultipleAlignment.from_rows([b"HEAGAWGHEE", b"P---AWHEAE"]))
    matched = 0.526987 + 0.899618 + 0.988628 + 0.987943 + 0.988948 + 0.990669 + 0.996556
    assert found[0, 1] == pytest.approx(1 - matched / 7, abs=1e-6)
    assert found[0, 0] == 0


def test_posteriors_pair_by_pair() -> None:
    lengths = [7, 9, 0, 8]
    posteriors, alignment = random_posteriors(1, lengths), random_alignment(2, lengths)
    found, positions = posterior_distances(posteriors, alignment), alignment.positions()
    for x, y, pair in posteriors.each():
        sum_ = sum(
            float(pair.at(np.array([a]), np.array([b]))[0])
            for a, b in zip(positions[x], positions[y], strict=True)
            if a >= 0 and b >= 0
        )
        assert found[x, y] == found[y, x] == pytest.approx(1 - sum_ / min(lengths[x], lengths[y]))
    assert found[2].tolist() == [1, 1, 0, 1]


def test_pairs_that_were_not_compared_have_no_distance() -> None:
    posteriors = random_posteriors(1, [5, 6, 7])
    one = SparsePosteriors.joined([5, 6, 7], list(posteriors.each())[:1])
    found = posterior_distances(one, random_alignment(1, [5, 6, 7]))
    assert np.isnan(found[2, :2]).all()
    assert not np.isnan(found[0, 1])
