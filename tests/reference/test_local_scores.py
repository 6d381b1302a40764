"""The plain forms of HMMER3's scores give the numbers that HMMER does."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.formats.profiles import load_profiles
from clalign.reference.bias_filter import bias_filter_score
from clalign.reference.forward import forward_score
from clalign.reference.viterbi_filter import viterbi_filter_score
from clalign.values.alphabets import encode
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.local_scores import length_terms
from clalign.values.synthetic import random_codes

ROOT = Path(__file__).resolve().parents[2]

# Sequence, Viterbi filter, Forward, bias filter; in nats.
KATDNA = [
    ("ACGTTGACGT", 0.4935, 4.1960, -3.3181),
    ("ACGTTGACGTCCCCACGTTGACGT", 3.2619, 7.4391, -4.2244),
    ("TTACGTGACGATT", -4.0855, -0.2410, -3.5774),
    ("GGACGTTCCGACGTGG", -5.6506, -0.8040, -3.7869),
    ("TTGACGT", -2.3997, 1.2822, -2.9878),
    ("acgtNgacgt", -1.6290, 2.1143, -3.3249),
    ("CCCCCCCC", -9.0207, -4.8621, -3.3446),
    ("A", -6.9121, -2.9515, -1.3863),
]

HBB_HUMAN = (
    "VHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENFRLLGNVLVC"
    "VLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH"
)

TWO_DOMAINS = (
    "GEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKAHGKKVADALTTAVSHVDDMPSALSALSDLHAHKLRVDPVNFKLLSHCLLVTLFMKEKQEALVNSSYEAFKAN"
    "VPQYSVVFYTSILEKAPAAKDLFPFLANGVDPTNPKLIGHAEKLFGLVHDSAAQLRAKGAVVADAALGSLHAQKGVTDPQFVVVKEALLKTVKEAVGDKWSDELLGD"
)


@pytest.fixture(scope="module")
def katdna() -> LocalProfile:
    return to_local_profile(load_profiles(str(ROOT / "tests/golden/hmmer3/profiles/katdna.hmm"))[0])


@pytest.fixture(scope="module")
def globins() -> LocalProfile:
    return to_local_profile(load_profiles(str(ROOT / "resources/examples/globins4.hmm"))[0])


@pytest.mark.parametrize(("text", "viterbi", "forward", "bias"), KATDNA)
def test_nucleic_model(katdna: LocalProfile, text: str, viterbi: float, forward: float, bias: float) -> None:
    codes = encode(text)
    assert round(viterbi_filter_score(codes, katdna), 4) == viterbi
    assert round(forward_score(codes, katdna), 4) == forward
    assert round(bias_filter_score(codes, katdna), 4) == bias


def test_protein_model(globins: LocalProfile) -> None:
    codes = encode(HBB_HUMAN)
    assert viterbi_filter_score(codes, globins) == math.inf
    assert forward_score(codes, globins) == pytest.approx(144.2326, abs=1e-4)
    assert bias_filter_score(codes, globins) == pytest.approx(-5.4034, abs=1e-4)
    codes = encode(TWO_DOMAINS)
    assert forward_score(codes, globins) == pytest.approx(85.2487, abs=1e-4)
    assert bias_filter_score(codes, globins) == pytest.approx(-4.7210, abs=1e-4)


def test_nothing_to_score(globins: LocalProfile) -> None:
    empty, stop = encode(""), encode("*")
    for score in (viterbi_filter_score, forward_score, bias_filter_score):
        assert math.isnan(score(empty, globins))
    assert forward_score(stop, globins) == -math.inf
    assert bias_filter_score(stop, globins) == pytest.approx(math.log(0.25), abs=1e-6)  # the null model's score


# Residues of targets, and what hmmsearch's bias filter has above the null model for them, in nats; found by looking for
# the least --F3 that lets each pass, with and without --nobias.
WITHOUT_COMPOSITION = [(462, -0.99776), (592, -0.99847), (908, -0.99936)]


@pytest.mark.parametrize(("length", "score"), WITHOUT_COMPOSITION)
def test_a_profile_without_composition(globins: LocalProfile, length: int, score: float) -> None:
    hmm = replace(globins.hmm, settings=replace(globins.settings, composition=None))
    codes = random_codes(np.random.default_rng(length), length)
    null = length_terms(np.array([length])).null[0]
    assert bias_filter_score(codes, to_local_profile(hmm)) - null == pytest.approx(score, abs=2e-5)
    computed = to_local_profile(hmm, compute_composition=True)
    assert computed.composition == pytest.approx(globins.composition, abs=2e-3)
