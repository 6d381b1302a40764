"""What the scores of all targets of a query, hits or not, look like beside what chance would give."""

from __future__ import annotations

import numpy as np

from clalign.runs.run_file import RunFile
from clalign.values.scores_of_all import ScoresOfAll


def scores_of_all(run: RunFile, number: int) -> ScoresOfAll | None:
    """Return the scores of all targets of a query; None where there are no statistics."""
    curve = run.card(number).get("curve")
    scores, counts = run.histogram(number)
    if not curve or not len(scores):
        return None
    by_score = np.array(curve["counts"], np.float64)
    reached = np.concatenate([np.cumsum(by_score[::-1])[::-1], [0.0]])
    places = np.clip(scores.astype(np.int64) - int(curve["first"]), 0, len(by_score))
    known = places < len(by_score)
    seen = np.cumsum(counts[::-1])[::-1].astype(np.float64)
    return ScoresOfAll("the scores of all targets", scores[known], reached[places][known], seen[known])
