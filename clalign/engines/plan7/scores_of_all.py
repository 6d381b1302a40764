"""What the scores of all targets of a profile, hits or not, look like beside what chance would give."""

from __future__ import annotations

import numpy as np

from clalign.engines.plan7.hmmer3.funnel import calibration_of
from clalign.runs.run_file import RunFile
from clalign.values.evalues import gumbel_survival, hmmer2_pvalue
from clalign.values.profiles import Calibration
from clalign.values.scores_of_all import ScoresOfAll


def scores_of_all(run: RunFile, number: int) -> ScoresOfAll | None:
    """Return HMMER2's scores of all sequences, or HMMER3's in its first filter; None without a calibration."""
    card = run.card(number)
    total = float(run.histogram(number)[1].sum())
    edges, counts = run.drawn_bins(number)
    if card["origin"] == "hmmer3":
        fit = calibration_of(card, "msv")
        chances = [gumbel_survival(score, fit.location, fit.slope) for score in edges.tolist()]
        words = "the MSV scores of all targets, of which the first filter lets the best pass"
    else:
        entry = card.get("calibration")
        if not entry:
            return None
        fit = Calibration("gumbel", entry["mu"], entry["lambda"])
        chances = [hmmer2_pvalue(np.float32(score), fit) for score in edges.tolist()]
        words = "the scores of all targets"
    return ScoresOfAll.from_bins(words, edges, np.array(chances, np.float64) * total, counts)
