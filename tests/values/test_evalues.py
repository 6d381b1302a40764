"""P-values as HMMER2 computes them, integer thresholds, and the fit of the histogram's curve."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.values.evalues import (
    bits,
    fit_gumbel,
    fit_right_side,
    gumbel_density,
    gumbel_tail,
    hmmer2_least_score,
    hmmer2_pvalue,
    hmmer3_evalue,
    hmmer3_evalues,
)
from clalign.values.profiles import Calibration

RRM = Calibration("gumbel", -15.0, 0.3)


def test_bound_without_calibration() -> None:
    # HMMER 2.3.2 prints these E-values for 12,071 sequences and an uncalibrated model.
    assert f"{hmmer2_pvalue(np.float32(168.680), None) * 12071:.2g}" == "2e-47"
    assert f"{hmmer2_pvalue(np.float32(122.268), None) * 12071:.2g}" == "1.9e-33"
    assert hmmer2_pvalue(np.float32(2000), None) == 0.0
    assert hmmer2_pvalue(np.float32(-2000), None) == 1.0
    assert hmmer2_pvalue(np.float32(0), None) == 0.5


@given(st.integers(-100_000, 100_000), st.integers(0, 5000), st.booleans())
def test_pvalues_fall_with_the_score(raw: int, more: int, calibrated: bool) -> None:
    calibration = RRM if calibrated else None
    assert hmmer2_pvalue(bits(raw + more), calibration) <= hmmer2_pvalue(bits(raw), calibration)


@given(
    evalue=st.floats(1e-60, 1e5), n_targets=st.integers(1, 10**7), mu=st.floats(-200, 20), slope=st.floats(0.05, 1.5)
)
@settings(max_examples=200)
def test_least_score_is_the_boundary(evalue: float, n_targets: int, mu: float, slope: float) -> None:
    calibration = Calibration("gumbel", mu, slope)
    least = hmmer2_least_score(evalue, n_targets, calibration)
    if least > -(2**30):
        assert hmmer2_pvalue(bits(least - 1), calibration) * n_targets > evalue
    if least <= 2**30:
        assert hmmer2_pvalue(bits(least), calibration) * n_targets <= evalue


@pytest.mark.parametrize(("mu", "slope"), [(-50.0, 0.2), (3.0, 0.7)])
def test_fit_recovers_the_distribution(mu: float, slope: float) -> None:
    rng = np.random.default_rng(1)
    sample = rng.gumbel(mu, 1 / slope, 20_000)
    width = 0.25
    bins, counts = np.unique(np.floor(sample / width), return_counts=True)
    fit = fit_gumbel((bins + 0.5) * width, counts)
    assert fit is not None
    # Three standard errors of the estimates (Lawless 1982): 1.05 / (slope sqrt n) and 0.78 slope / sqrt n.
    assert abs(fit.mu - mu) < 3 * 1.05 / slope / np.sqrt(20_000)
    assert abs(fit.slope - slope) < 3 * 0.78 * slope / np.sqrt(20_000)
    assert fit.words == "Fit is good"


def test_fit_is_not_led_astray_by_a_family() -> None:
    rng = np.random.default_rng(2)
    sample = np.concatenate([rng.gumbel(-30, 4, 5000), rng.normal(200, 30, 400)])
    bins, counts = np.unique(np.floor(sample), return_counts=True)
    fit = fit_gumbel(bins + 0.5, counts)
    assert fit is not None
    assert abs(fit.mu + 30) < 1
    assert "large family" in fit.words


@pytest.mark.parametrize("shape", ["light", "heavy"])
def test_a_fit_with_a_wrong_tail_is_not_good(shape: str) -> None:
    # A normal distribution has fewer high scores than the Gumbel curve through its middle.
    rng = np.random.default_rng(3)
    more = np.concatenate([rng.gumbel(-50, 4, 19_700), rng.uniform(-25, -15, 300)])
    sample = rng.normal(-50, 6, 20_000) if shape == "light" else more
    bins, counts = np.unique(np.floor(sample), return_counts=True)
    fit = fit_gumbel(bins + 0.5, counts)
    assert fit is not None
    found = re.fullmatch(
        r"Fit is poor in the tail: ([\d,]+) scores expected above (-\d+) bits, ([\d,]+) found", fit.words
    )
    assert found, fit.words
    expected, edge, above = (int(text.replace(",", "")) for text in found.groups())
    assert expected == pytest.approx(20_000 * gumbel_tail(edge, fit.mu, fit.slope), abs=0.5)
    assert (2 * above < expected) == (shape == "light")
    if shape == "light":
        assert above == (sample >= edge).sum()


def test_fit_of_little() -> None:
    few = fit_gumbel(np.array([1.0, 2.0, 3.0]), np.array([5, 3, 1]))
    assert few is not None
    assert "fewer than" in few.words
    assert fit_gumbel(np.array([1.0, 2.0]), np.array([5, 3])) is None
    assert fit_gumbel(np.empty(0), np.empty(0, np.int64)) is None


def test_a_narrow_histogram_is_not_fitted() -> None:
    # hmmcalibrate of HMMER 2.3.2 says "fit failed" of all with fewer than five bins from the fullest on.
    assert fit_right_side(0, np.array([70, 3, 189, 36, 0, 2])) is None
    fit = fit_right_side(-13, np.array([5, 46, 52, 49, 21, 12, 9, 3, 3]))
    assert fit is not None
    assert (f"{fit.mu:.4f}", f"{fit.slope:.4f}") == ("-10.5589", "0.7623")


def test_density_and_tail_agree() -> None:
    x = np.linspace(-60, 200, 200_001)
    density = gumbel_density(x, -10.0, 0.3)
    step = x[1] - x[0]
    assert abs(density.sum() * step - 1) < 1e-6
    assert abs(density[x >= 5].sum() * step - gumbel_tail(5, -10.0, 0.3)) < 1e-4


def test_numbers_below_the_normal_ones_are_zero_in_hmmer3() -> None:
    # hmmsearch prints 0 for them, however many targets they count with.
    assert 2.2e-308 < hmmer3_evalue(-708.39, 1.0) < 2.3e-308
    assert hmmer3_evalue(-708.4, 1.0) == hmmer3_evalue(-708.4, 1e9) == hmmer3_evalue(-744.0, 1e9) == 0.0
    assert hmmer3_evalue(-708.39, 0.5) == 0.0
    assert hmmer3_evalue(0.0, 5.0) == 5.0
    logs = [-744.0, -708.4, -708.39, -3.5, 0.0]
    for n in (0.5, 1, 1e9):
        assert hmmer3_evalues(logs, n) == [hmmer3_evalue(log, n) for log in logs]
