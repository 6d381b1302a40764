"""Fits of a calibration as charts and words."""

from __future__ import annotations

from typing import Any

import numpy as np

from clalign.evalues import gumbel_density

from .. import words
from .figures import FitChart


def fit_chart(fit: dict[str, Any]) -> FitChart:
    """Return the scores of random sequences with the fitted curve."""
    histogram = fit["histogram"]
    low, width, counts = float(histogram["low"]), float(histogram["width"]), [int(n) for n in histogram["counts"]]
    scores = np.linspace(low, low + width * len(counts), 400)
    expected = gumbel_density(scores, fit["mu"], fit["lambda"]) * sum(counts) * width
    curve = tuple(zip(scores.tolist(), expected.tolist(), strict=True))
    legend = f"Bars: {words.plural(sum(counts), 'random sequence')} · line: fitted extreme value distribution"
    return FitChart(
        fit["name"], "score (bits)", low, width, tuple(counts), curve, fit["mu"], f"mu {fit['mu']:.2f}", legend
    )


def fit_words(fit: dict[str, Any]) -> str:
    """Return a fit in a sentence."""
    seed = f", seed {fit['seed']}" if fit.get("seed") is not None else ""
    return f"{fit['name']}: mu {fit['mu']:.3f}, lambda {fit['lambda']:.4f} from {words.count(fit['n'])} scores{seed}"
