"""Calibration: the drawn sequences, HMMER2's fits, the values of hmmcalibrate, and a search with them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.errors import Cancelled, ClalignError, InputError, OptionError
from clalign.formats.profiles import load_profiles
from clalign.jobs import Event, Job, QuietContext
from clalign.tools.calibrate import (
    NULL_SCORES,
    calibrate,
    null_frequencies,
    random_database,
    random_lengths,
    score_histogram,
    spec_of,
)
from clalign.tools.specs import CalibrateSpec
from clalign.values.alphabets import AMINO, DNA, code_of
from clalign.values.devices import REFERENCE, Device
from clalign.values.evalues import fit_right_side
from clalign.values.profiles import Hmm

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILES = GOLDEN / "profiles"
KNOWN: dict[str, Any] = json.loads((GOLDEN / "calibrations.json").read_text())
SMALL = CalibrateSpec(n=300, mean=40, sd=10)


def fits(profile: str, device: Device, folder: Path, spec: CalibrateSpec) -> list[dict[str, Any]]:
    output = folder / f"{profile}.{spec.seed}.hmm"
    found: list[dict[str, Any]] = calibrate(
        str(PROFILES / f"{profile}.hmm"), str(output), spec, device, QuietContext()
    )["fits"]
    return found


@pytest.mark.parametrize("known", KNOWN["fits"], ids=lambda known: f"{known['profile']}-{known['seed']}")
def test_fits_a_histogram_as_hmmcalibrate_does(known: dict[str, Any]) -> None:
    fit = fit_right_side(known["low"], np.array(known["counts"]))
    assert fit is not None
    assert (f"{fit.mu:.6f}", f"{fit.slope:.6f}") == (f"{known['mu']:.6f}", f"{known['lambda']:.6f}")  # as it prints


def test_stored_fits_are_of_every_kind() -> None:
    found = [fit_right_side(known["low"], np.array(known["counts"])) for known in KNOWN["fits"]]
    outliers = [fit for fit in found if fit and fit.n_outliers]
    below = [int(np.array(k["counts"])[: int(np.argmax(k["counts"]))].sum()) for k in KNOWN["fits"]]
    assert len(found) >= 30
    assert any(fit.edge < 0 for fit in outliers)  # the score that is expected once is cut towards zero
    assert any(fit and fit.n_censored == n for fit, n in zip(found, below, strict=True))
    assert any(fit and fit.n_censored < n for fit, n in zip(found, below, strict=True))


def test_another_fit_is_distinguished_from_hmmcalibrates() -> None:
    """Bins shifted by half a bit, as a wrong middle would do, are not within the tolerance."""
    known = KNOWN["fits"][0]
    fit = fit_right_side(known["low"] + 1, np.array(known["counts"]))
    assert fit is not None
    assert abs(fit.mu - known["mu"]) > 0.4


def test_too_few_scores_have_no_fit() -> None:
    assert fit_right_side(0, np.zeros(0, np.int64)) is None
    assert fit_right_side(0, np.zeros(5, np.int64)) is None
    assert fit_right_side(-3, np.array([1, 50, 9])) is None


def test_fit_recovers_a_distribution() -> None:
    rng = np.random.default_rng(4)
    histogram = score_histogram((1000 * rng.gumbel(-40, 1 / 0.25, 100_000)).astype(np.int32))
    fit = fit_right_side(histogram.low, histogram.counts)
    assert fit is not None
    assert fit.mu == pytest.approx(-40, abs=0.1)
    assert fit.slope == pytest.approx(0.25, rel=0.02)


@pytest.mark.thorough
@pytest.mark.parametrize("profile", KNOWN["repeats"])
def test_means_agree_with_hmmcalibrate(profile: str, opencl_device: Device, tmp_path: Path) -> None:
    """Five seeds of ours against ten of hmmcalibrate: the means differ by less than three standard errors."""
    theirs = KNOWN["repeats"][profile]
    ours = [fits(profile, opencl_device, tmp_path, CalibrateSpec(seed=seed))[0] for seed in range(5)]
    for name in ("mu", "lambda"):
        a, b = np.array([fit[name] for fit in ours]), np.array(theirs[name])
        error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
        assert abs(a.mean() - b.mean()) < 3 * error, name


def test_every_device_has_the_same_values(opencl_device: Device, tmp_path: Path) -> None:
    for profile in ("katdna_ls", "xyppx_fs"):
        (expected,) = fits(profile, REFERENCE, tmp_path, SMALL)
        (found,) = fits(profile, opencl_device, tmp_path, SMALL)
        assert found == expected


@pytest.mark.thorough
def test_a_device_that_fails_is_tried_once_more(tmp_path: Path, loose_device: list[Session]) -> None:
    (found,) = fits("katdna_ls", REFERENCE, tmp_path, SMALL)
    assert len(loose_device) == 2
    (expected,) = fits("katdna_ls", REFERENCE, tmp_path, SMALL)
    assert found == expected


def test_seeds_matter() -> None:
    same, other = (random_database(AMINO, CalibrateSpec(n=50, seed=seed)) for seed in (1, 2))
    again = random_database(AMINO, CalibrateSpec(n=50, seed=1))
    assert np.array_equal(same.codes, again.codes)
    assert not np.array_equal(same.codes[:100], other.codes[:100])


def test_lengths() -> None:
    rng = np.random.default_rng(3)
    lengths = random_lengths(rng, CalibrateSpec(n=100_000))
    assert lengths.min() >= 1
    # Mean and deviation of a normal distribution cut off at 1 (less half a residue for the whole numbers).
    assert lengths.mean() == pytest.approx(346.1, abs=2)
    assert lengths.std() == pytest.approx(178.7, abs=2)
    assert set(random_lengths(rng, CalibrateSpec(n=9, fixed=70))) == {70}
    assert set(random_lengths(rng, CalibrateSpec(n=9, mean=70, sd=0))) == {70}


def test_residues_follow_the_null_model() -> None:
    database = random_database(AMINO, CalibrateSpec(n=3000))
    expected = null_frequencies(AMINO)
    assert expected.sum() == pytest.approx(1)
    assert expected[0] == pytest.approx(0.0755, abs=1e-4)
    shares = np.bincount(database.codes, minlength=32)[[code_of(x) for x in AMINO.canonical]] / database.n_residues
    assert np.abs(shares - expected).max() < 5 * np.sqrt(0.1 / database.n_residues)
    bases = random_database(DNA, CalibrateSpec(n=500))
    assert set(np.unique(bases.codes)) == {code_of(x) for x in "ACGT"}
    assert null_frequencies(DNA).tolist() == [0.25] * 4


def test_null_model_is_the_one_in_files() -> None:
    (line,) = (row for row in (PROFILES / "globins_ls.hmm").read_text().splitlines() if row.startswith("NULE"))
    assert [int(word) for word in line.split()[1:]] == [NULL_SCORES[letter] for letter in AMINO.canonical]


def test_events_and_result(fast_device: Device, tmp_path: Path) -> None:
    both = tmp_path / "both.hmm"
    both.write_bytes(b"".join((PROFILES / f"{name}.hmm").read_bytes() for name in ("katdna_ls", "katdna_g")))
    events: list[Event] = []
    value = calibrate(str(both), str(tmp_path / "out.hmm"), SMALL, fast_device, Job(events.append))
    json.dumps(value)
    partial = [event.value for event in events if event.kind == "partial"]
    assert [(p["profile"], p["done"]) for p in partial if p["done"] == p["n"]] == [
        ("katdna_ls", 300),
        ("katdna_g", 300),
    ]
    last = [event.value for event in events if event.kind == "progress"][-1]
    assert last["done"] == last["total"] == value["cells"]
    for fit, hmm in zip(value["fits"], load_profiles(value["output"]), strict=True):
        assert (fit["name"], fit["length"], fit["n"], fit["seed"]) == (hmm.name, 10, 300, 42)
        assert sum(fit["histogram"]["counts"]) == 300
        assert hmm.calibration is not None
        assert hmm.calibration.location == np.float32(fit["mu"])
        assert hmm.calibration.slope == np.float32(fit["lambda"])


@pytest.mark.thorough
def test_a_stop_leaves_nothing(tmp_path: Path) -> None:
    profiles = tmp_path / "a.hmm"
    profiles.write_bytes((PROFILES / "katdna_ls.hmm").read_bytes())
    before = profiles.read_bytes()
    job = Job(lambda event: job.cancel() if event.kind == "partial" else None)
    with pytest.raises(Cancelled):
        calibrate(str(profiles), str(profiles), CalibrateSpec(n=2000, mean=200), REFERENCE, job)
    assert profiles.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.hmm"]


def test_a_profile_without_a_distribution_is_refused(fast_device: Device, tmp_path: Path) -> None:
    with pytest.raises(ClalignError, match="ecori_fs"):
        fits("ecori_fs", fast_device, tmp_path, SMALL)
    assert list(tmp_path.iterdir()) == []


def test_specs_of_jobs() -> None:
    assert spec_of({"job": "calibrate"}) == CalibrateSpec()
    assert spec_of({"n": 700, "seed": 3, "mean": None}) == CalibrateSpec(n=700, seed=3)
    assert len({spec_of({"seed": None}).seed for _ in range(3)}) > 1


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"seed": -1}, {"mean": 0.5}, {"sd": -1}, {"sd": 1e9}, {"fixed": 0}, {"n": 10**9}]
)
def test_impossible_specs(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        CalibrateSpec(**wrong)


def test_more_residues_than_memory() -> None:
    with pytest.raises(OptionError):
        random_database(AMINO, CalibrateSpec(n=100_000, fixed=100_000))


def test_a_file_that_is_replaced_on_the_way_does_not_get_the_values_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "p.hmm"
    old = (PROFILES / "katdna_ls.hmm").read_bytes()
    profile.write_bytes(old)

    def fit(hmm: Hmm, *_: object) -> dict[str, Any]:
        (tmp_path / "other.hmm").write_bytes(old.replace(b"DESC", b"DASC") + b"\n")  # with models of the same names
        os.replace(tmp_path / "other.hmm", profile)
        return {"name": hmm.name, "mu": -3.0, "lambda": 0.7}

    monkeypatch.setattr("clalign.tools.calibrate.fit_profile", fit)
    with pytest.raises(InputError, match=profile.name):
        calibrate(str(profile), str(tmp_path / "out.hmm"), SMALL, REFERENCE, QuietContext())
    assert not (tmp_path / "out.hmm").exists()
