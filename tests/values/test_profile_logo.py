"""The values of a logo: equal to those of hmmlogo 3.3.2 in print, and what they mean."""

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.databases.examples import load_examples
from clalign.formats.profiles import load_profiles
from clalign.values.profile_logo import HEIGHT_MODES, ProfileLogo, logo_of_rows, profile_logo
from clalign.values.profiles import Hmm


def example(name: str) -> Hmm:
    path = next(e.profiles for e in load_examples() if e.profiles.name == f"{name}.hmm")
    return load_profiles(str(path))[0]


@pytest.fixture(scope="module")
def globins() -> ProfileLogo:
    return profile_logo(example("globins4"))


# Node 3 of globins4 as hmmlogo 3.3.2 prints it, with --height_relent_abovebg, _all and --height_score.
PRINTED = {
    "information": (
        "0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.124 0.000 0.850 "
        "0.060 0.000 0.000 0.000 0.000 0.000 0.000 0.110 0.000 0.000"
    ),
    "probability": (
        "0.034 0.009 0.011 0.015 0.043 0.015 0.009 0.093 0.019 0.641 "
        "0.045 0.012 0.010 0.014 0.017 0.021 0.026 0.083 0.006 0.020"
    ),
    "score": (
        "-1.395 -1.008 -2.510 -2.328 -0.074 -2.440 -1.597 0.465 -1.820 2.540 "
        "0.741 -1.995 -2.478 -1.659 -1.862 -1.870 -1.262 0.112 -1.127 -0.793"
    ),
}


@pytest.mark.parametrize("mode", HEIGHT_MODES)
def test_heights_are_those_of_hmmlogo(globins: ProfileLogo, mode: str) -> None:
    printed = np.array([float(x) for x in PRINTED[mode].split()])
    assert np.abs(globins.heights(mode)[2] - printed).max() < 0.0006
    assert f"{globins.information[2]:.3f}" == "1.144"


def test_insertions_and_occupancy_are_those_of_hmmlogo(globins: ProfileLogo) -> None:
    rows = np.stack([globins.insert_probability, globins.insert_length, globins.occupancy], axis=1)
    printed = [[0.021, 1.858, 0.731], [0.015, 1.858, 0.914], [0.015, 1.858, 0.960]]
    assert np.abs(rows[:3] - printed).max() < 0.0006
    assert rows[-1, :2].tolist() == [0, 0], "nothing is inserted behind the last node"


@pytest.mark.parametrize("name", ["globins4", "rrm_1", "made1"])
def test_both_kinds_of_profiles_mean_the_same(name: str) -> None:
    hmm = example(name)
    logo = profile_logo(hmm)
    assert logo.length == hmm.length
    assert logo.probabilities.sum(axis=1) == pytest.approx(np.ones(hmm.length))
    assert logo.background.sum() == pytest.approx(1)
    for mode in ("information", "probability"):
        assert logo.heights(mode).sum(axis=1) == pytest.approx(logo.information)
    assert ((logo.heights("score") > 0) == (logo.heights("information") > 0)).all()
    assert (logo.information <= -np.log2(logo.background.min())).all()
    for share in (logo.occupancy, logo.insert_probability):
        assert ((share >= 0) & (share <= 1)).all()
    assert (logo.insert_length[:-1] >= 1).all()
    best = logo.probabilities.argmax(axis=1)
    assert "".join(logo.letters[x] for x in best) == hmm.consensus.upper()


def test_a_residue_that_cannot_occur_has_no_height() -> None:
    hmm = example("globins4")
    match = hmm.match.copy()
    match[4] = 0
    match[4, 1] = 1
    logo = profile_logo(replace(hmm, match=match))
    assert np.isneginf(logo.scores[3, 0])
    assert logo.information[3] == pytest.approx(-np.log2(logo.background[1]))
    for mode in HEIGHT_MODES:
        heights = logo.heights(mode)
        assert heights[3].tolist() == [0, pytest.approx(logo.information[3]), *[0] * 18]
        assert np.isfinite(heights).all()


def test_aligned_sequences_have_a_logo_of_the_nodes_of_their_profile(globins: ProfileLogo) -> None:
    rows = ["W-..A", "W.a.C".replace(".", "-", 1), "WCkl-", "--..A"]
    cells = np.frombuffer("".join(rows).encode(), np.uint8).reshape(4, 5)
    made = logo_of_rows(cells, globins)
    w, a, c = (globins.letters.index(letter) for letter in "WAC")
    assert made.length == 3
    assert made.occupancy.tolist() == [0.75, 0.25, 0.75]
    assert made.probabilities[0, w] == pytest.approx((3 + globins.background[w]) / 4)
    assert made.probabilities[1, c] == pytest.approx((1 + globins.background[c]) / 2)
    assert made.probabilities[2, a] == pytest.approx((2 + globins.background[a]) / 4)
    assert made.probabilities.sum(axis=1) == pytest.approx(1.0)
    terms = made.probabilities * np.log2(made.probabilities / globins.background)
    assert made.information == pytest.approx(terms.sum(axis=1))
    assert made.heights("probability").sum(axis=1) == pytest.approx(made.information)
    assert logo_of_rows(cells[:0], globins).length == 0
