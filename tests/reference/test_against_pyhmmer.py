"""The filters' scores lie where HMMER's own decisions put them: a limit just above a P-value lets a target pass,
one just below does not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from clalign.formats.profiles import load_profiles
from clalign.reference.filters import passage
from clalign.values.alphabets import decode
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.local_scores import FilterLimits, Passage, pvalue
from clalign.values.profiles import Calibration
from clalign.values.synthetic import random_codes

pyhmmer = pytest.importorskip("pyhmmer")

MODEL = Path(__file__).resolve().parents[2] / "resources/examples/globins4.hmm"
N_SEQUENCES = 100


@pytest.fixture(scope="module")
def profile() -> LocalProfile:
    return to_local_profile(load_profiles(str(MODEL))[0])


@pytest.fixture(scope="module")
def passages(profile: LocalProfile) -> dict[str, Passage]:
    """Distant relatives of the family, from hardly to easily found, by their residues."""
    rng = np.random.default_rng(1)
    found = {}
    for number in range(N_SEQUENCES):
        text = np.array(list(profile.hmm.consensus.upper()))
        changed = rng.random(len(text)) < 0.45 + 0.4 * number / N_SEQUENCES
        text[changed] = list(decode(random_codes(rng, int(changed.sum()))))
        # With gaps, which MSV cannot take.
        parts = ["".join(text[a:b]) for a, b in ((0, 45), (48 - number % 4, 80), (82, 115), (116 + number % 3, 149))]
        whole = decode(random_codes(rng, 40)) + decode(random_codes(rng, number % 4)).join(parts)
        codes = np.frombuffer(whole.encode(), np.uint8) - ord("A")
        found[whole] = passage(codes, profile, FilterLimits(), to_the_end=True)
    return found


def is_found(text: str, f1: float, f2: float, f3: float) -> bool:
    """Return whether HMMER finds a sequence with these limits of its filters, whatever its score."""
    with pyhmmer.plan7.HMMFile(str(MODEL)) as opened:
        hmm = next(opened)
    sequence = pyhmmer.easel.TextSequence(name=b"target", sequence=text).digitize(hmm.alphabet)
    block = pyhmmer.easel.DigitalSequenceBlock(hmm.alphabet, [sequence])
    pipeline = pyhmmer.plan7.Pipeline(hmm.alphabet, F1=f1, F2=f2, F3=f3, E=1e12, domE=1e12)
    return len(pipeline.search_hmm(hmm, block)) > 0


def p_of(score: float, found: Passage, calibration: Calibration | None) -> float:
    assert calibration is not None
    return pvalue(np.float32(score) - np.float32(found.bias), calibration)


@pytest.mark.thorough
def test_msv_and_bias_filter(profile: LocalProfile, passages: dict[str, Passage]) -> None:
    """The P-value of MSV above the bias filter's score, where that is the higher of the two."""
    n_tested = 0
    for text, found in passages.items():
        p = p_of(found.msv, found, profile.settings.msv)
        null = np.float32(len(text) * math.log(len(text) / (len(text) + 1)) - math.log(len(text) + 1))
        if found.bias < null + 0.01 or not 1e-12 < p < 0.5 or not is_found(text, p * 1.00001, 1, 1):
            continue
        assert not is_found(text, p * 0.99999, 1, 1)
        n_tested += 1
    assert n_tested > 10


def test_viterbi_filter(profile: LocalProfile, passages: dict[str, Passage]) -> None:
    n_tested = 0
    for text, found in passages.items():
        p = p_of(found.viterbi, found, profile.settings.viterbi)
        is_run = p < 0.9 * p_of(found.msv, found, profile.settings.msv)
        if not is_run or not 1e-12 < p < 0.5 or not is_found(text, 1, 1, 1):
            continue
        assert is_found(text, 1, p * 1.00001, 1)
        assert not is_found(text, 1, p * 0.99999, 1)
        n_tested += 1
    assert n_tested > 10


def test_forward(profile: LocalProfile, passages: dict[str, Passage]) -> None:
    n_tested = 0
    for text, found in passages.items():
        p = p_of(found.forward, found, profile.settings.forward)
        if not 0 < p < 0.5 or not is_found(text, 1, 1, 1):
            continue
        assert is_found(text, 1, 1, p * 1.0003)
        assert not is_found(text, 1, 1, p * 0.9997)
        n_tested += 1
    assert n_tested > 10
