"""The seeds of the pair HMM are those of fsa 1.15.9 (option --write-params)."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.values.alphabets import AMINO, DNA, RNA, encode
from clalign.values.pair_hmm import (
    NUCLEIC_LETTERS,
    SEED_GAPS,
    TO_END,
    PairHmms,
    fixed_emissions,
    indices_of,
    seed_emissions,
    tamura_nei,
    transitions_of,
)

TEXTS = "ACGTACGTTAGACCAGTAAACGCGCGGGGAC" + "ACGACGTTAGCCAGTAACGCGTCGGGCAC"
SINGLES = [0.266666, 0.283331, 0.316662, 0.133341]
PAIRS = [
    [0.162849, 0.0249089, 0.0671852, 0.0117226], [0.0249089, 0.191744, 0.029579, 0.0370994],
    [0.0671852, 0.029579, 0.205978, 0.0139204], [0.0117226, 0.0370994, 0.0139204, 0.0705987],
]  # fmt: skip


def test_nucleic_seed() -> None:
    counts = np.bincount(indices_of(NUCLEIC_LETTERS)[encode(TEXTS)], minlength=4)
    for alphabet in (DNA, RNA):
        found = seed_emissions(alphabet, counts)
        assert found.singles == pytest.approx(SINGLES, abs=1e-6)
        assert np.abs(found.pairs - PAIRS).max() < 6e-7
    assert np.abs(tamura_nei(np.roll(found.singles, 1)).pairs - PAIRS).max() > 1e-3


@pytest.mark.parametrize("alphabet", [AMINO, DNA])
def test_fixed_emissions(alphabet: object) -> None:
    found = fixed_emissions(alphabet)
    most = 1e-5 if alphabet is AMINO else 1e-3  # the nucleic ones are not closer
    assert found.singles.sum() == pytest.approx(1, abs=most)
    assert found.pairs.sum() == pytest.approx(1, abs=most)
    assert (found.pairs == found.pairs.T).all()
    assert np.abs(found.pairs.sum(axis=1) - found.singles).max() < (1e-7 if alphabet is AMINO else 4e-3)


def test_protein_seed_of_the_background_is_fixed() -> None:
    fixed = fixed_emissions(AMINO)
    found = seed_emissions(AMINO, np.round(fixed.singles * 1e10).astype(np.int64))
    assert np.abs(found.pairs - fixed.pairs).max() < 1e-8
    only = seed_emissions(AMINO, np.eye(20, dtype=np.int64)[3])
    assert only.singles[3] == pytest.approx(1.001 / 1.02)
    assert only.pairs[3, 3] > 0.9


def test_steps_leave_every_state_with_certainty() -> None:
    for gaps in SEED_GAPS.values():
        steps = transitions_of(gaps)
        assert steps.start_match + 2 * steps.opens.sum() == pytest.approx(1)
        assert steps.match_match + 2 * steps.opens.sum() + TO_END == pytest.approx(1)
        assert (steps.closes + steps.extends + TO_END) == pytest.approx(np.ones(gaps.n_sets))


def test_letters_and_models() -> None:
    indices = fixed_emissions(DNA).indices
    assert indices[encode("ACGTUacgtuN")].tolist() == [0, 1, 2, 3, 3, 0, 1, 2, 3, 3, 0]
    emissions = fixed_emissions(AMINO)
    models = PairHmms.each([SEED_GAPS[False, 1], SEED_GAPS[True, 1]], emissions)
    assert len(models) == 2
    assert models[1].gaps.opens.tolist() == SEED_GAPS[True, 1].opens.tolist()
    assert models.select(np.array([1, 0]))[0].gaps.extends.tolist() == SEED_GAPS[True, 1].extends.tolist()
    assert models[1].emissions is emissions
    other = PairHmms(models.gaps, (emissions, tamura_nei(np.full(4, 0.25))), np.array([0, 1], np.int32))
    assert len(other.select(np.array([1])).emissions) == len(other.select(np.array([], int)).emissions) == 1
    assert other.select(np.array([1]))[0].emissions is other.emissions[1]
    with pytest.raises(ValueError, match="read-only"):
        emissions.pairs[0, 0] = 1
