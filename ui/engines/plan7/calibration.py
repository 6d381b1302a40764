"""Fits of a calibration as charts and text."""

from __future__ import annotations

import numpy as np

from clalign.common.plain_data import Json
from clalign.values.charts import FitChart, Point
from clalign.values.documents import JobResult
from clalign.values.evalues import gumbel_density

from ... import formatting

AXIS = "score (bits)"


def _bars(histogram: Json) -> tuple[float, float, tuple[int, ...]]:
    return float(histogram["low"]), float(histogram["width"]), tuple(int(n) for n in histogram["counts"])


def fit_chart(fit: Json) -> FitChart:
    """Return the scores of random sequences with the fitted curve."""
    low, width, counts = _bars(fit["histogram"])
    scores = np.linspace(low, low + width * len(counts), 400)
    n_fitted = fit.get("n_fitted", 0) + fit.get("n_censored", 0) or sum(counts)
    expected = gumbel_density(scores, fit["mu"], fit["lambda"]) * n_fitted * width
    curve = tuple(zip(scores.tolist(), expected.tolist(), strict=True))
    edge = fit.get("edge")
    reach = "" if edge is None else f", fitted from {formatting.signed(f'{edge:g}')} bits on"
    bars = "bars", formatting.plural(sum(counts), "random sequence")
    legend = bars, ("calibration", f"extreme value distribution{reach}")
    begin = low if edge is None else float(edge)
    center = formatting.signed(f"mu {fit['mu']:.2f}")
    return FitChart(fit["name"], AXIS, low, width, counts, curve, fit["mu"], center, legend, begin)


def sample_chart(value: JobResult) -> FitChart:
    """Return the scores so far of a running calibration."""
    low, width, counts = _bars(value["histogram"])
    curve: tuple[Point, ...] = ()
    bars = f"{formatting.count(value['done'])} of {formatting.plural(value['n'], 'random sequence')}"
    return FitChart(value["profile"], AXIS, low, width, counts, curve, None, "", (("bars", bars),))


def fit_words(fit: Json) -> str:
    """Return a description of a fit."""
    seed = f", seed {fit['seed']}" if fit.get("seed") is not None else ""
    curve = formatting.signed(f"mu {fit['mu']:.3f}, lambda {fit['lambda']:.4f}")
    numbers = f"{fit['name']}: {curve} from {formatting.count(fit['n'])} scores{seed}."
    verdict = fit.get("words")
    return f"{numbers} {formatting.with_minus(verdict)}." if verdict else numbers
