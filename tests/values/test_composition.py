"""Adjustment of statistics to the composition of a pair of proteins."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from clalign.formats.matrices import load_matrix
from clalign.values.alphabets import AMINO, encode
from clalign.values.composition import MIN_FACTOR, lambda_factors, letter_counts
from clalign.values.karlin_altschul import ROBINSON, known_statistics, ungapped_parameters
from clalign.values.scoring import GapCosts, Scoring
from clalign.values.sequences import SequenceBatch

BLOSUM62 = load_matrix("BLOSUM62")


def usual() -> str:
    """Ten thousand letters of the composition that BLAST takes for usual."""
    return "".join(letter * round(share * 10_000) for letter, share in ROBINSON.items())


def factors(query: str, *targets: str) -> npt.NDArray[np.float64]:
    return lambda_factors(BLOSUM62, encode(query), SequenceBatch.from_texts([encode(text) for text in targets]))


def by_formula(query: str, target: str) -> float:
    """The root of sum q_a p_b exp(lambda s_ab) = 1 by plain halving of an interval, over all pairs of letters."""
    pairs = [
        (query.count(a) / len(query) * target.count(b) / len(target), int(BLOSUM62.scores[encode(a)[0], encode(b)[0]]))
        for a in AMINO.canonical
        for b in AMINO.canonical
    ]
    known = ungapped_parameters(BLOSUM62)
    assert known is not None
    low, high = 1e-9, known.lambda_
    if sum(share * math.exp(high * score) for share, score in pairs) <= 1.0:
        return 1.0
    for _ in range(100):
        middle = (low + high) / 2
        above = sum(share * math.exp(middle * score) for share, score in pairs) > 1.0
        low, high = (low, middle) if above else (middle, high)
    return max(MIN_FACTOR, low / known.lambda_)


def test_the_usual_composition_changes_nothing() -> None:
    assert factors(usual(), usual())[0] == pytest.approx(1.0, abs=1e-4)


def test_factors_follow_the_formula() -> None:
    rng = np.random.default_rng(5)
    letters = np.array(list(AMINO.canonical))
    some = ["".join(rng.choice(letters, 300, p=rng.dirichlet(np.full(20, spread)))) for spread in (0.3, 0.5, 1, 2, 5)]
    for query in some:
        expected = [by_formula(query, target) for target in some]
        assert factors(query, *some) == pytest.approx(expected, abs=1e-9)
        assert min(expected) < 0.95


def test_factors_lie_between_a_half_and_one() -> None:
    assert factors("A" * 50, "A" * 30)[0] == MIN_FACTOR  # chance has a positive mean score
    assert factors("W" * 50, "AG" * 30)[0] == 1.0  # all scores are negative
    assert factors("XXXX", "ACD", "").tolist() == [1.0, 1.0]
    assert factors("ACDEF", "XXBZ", "", "A" * 9)[:2].tolist() == [1.0, 1.0]


def test_rare_letters_count_as_what_they_stand_in_for() -> None:
    counts = letter_counts(SequenceBatch.from_texts([encode("CUUKOXBZJ"), encode("")]))
    assert counts.sum(axis=1).tolist() == [5.0, 0.0]
    assert counts[0, AMINO.canonical.index("C")] == 3
    assert counts[0, AMINO.canonical.index("K")] == 2


def test_a_factor_of_lambda_is_one_of_the_score() -> None:
    known = known_statistics(Scoring(BLOSUM62, GapCosts.from_blast(11, 1)), 300, 10**7, 30_000)
    assert known is not None
    own = known.scaled(0.8)
    assert own.evalue(100) == pytest.approx(known.evalue(80.0))
    assert own.bits(100) == pytest.approx(known.bits(80.0))
    assert own.evalue(100) > known.evalue(100)
    assert known.scaled(1.0) == known
    assert known.evalue(80.4) < known.evalue(80.0)
