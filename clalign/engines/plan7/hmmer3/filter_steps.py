"""How a target fares in HMMER3's filters and in the report, in words and numbers."""

from __future__ import annotations

import math

import numpy as np

from clalign.engines.plan7.hmmer3.funnel import STAGES
from clalign.engines.plan7.hmmer3.thresholds import Hmmer3Thresholds
from clalign.engines.plan7.steps import LEFT_OUT, Step, in_words, significance_words, step, unless_reached
from clalign.stages.hmmer3.filters import FilterModel
from clalign.values.evalues import hmmer3_evalue, hmmer3_gumbel_score, hmmer3_tail_score
from clalign.values.hits import Hit
from clalign.values.local_scores import LN_2, Passage, pvalue
from clalign.values.profiles import Calibration


def filter_steps(model: FilterModel, found: Passage, null: float) -> list[Step]:
    """Return a step for each filter.

    Parameters
    ----------
    model : FilterModel
    found : Passage
        The scores of the target.
    null : float
        Its score in the null model (nats).
    """
    settings, limits = model.profile.settings, model.limits
    assert settings.msv is not None
    assert settings.viterbi is not None
    assert settings.forward is not None
    judged = (
        ("msv", found.msv, null, settings.msv, limits.f1),
        ("bias", found.msv, found.bias, settings.msv, limits.f1),
        ("viterbi", found.viterbi, found.bias, settings.viterbi, limits.f2),
        ("forward", found.forward, found.bias, settings.forward, limits.f3),
    )
    steps: list[Step] = []
    came, is_sure = True, False
    for stage, score, against, calibration, limit in judged:
        used = (stage != "bias" or limits.bias) and not (stage == "viterbi" and is_sure)
        value = pvalue(np.float32(score) - np.float32(against), calibration)
        one = _filter_step(stage, float(np.float32(score) - np.float32(against)) / LN_2, value, calibration, limit)
        one["ran"] = came and used
        if not used:
            why = "its P-value so far is low enough already" if limits.f2 < 1.0 and stage == "viterbi" else "left out"
            one["text"] = f"{LEFT_OUT} ({why}). {one['text']}"
        elif not came:
            one["text"] = unless_reached(came) + one["text"]
        steps.append(one)
        came = came and (value <= limit or not used)
        is_sure = stage == "bias" and value <= limits.f2
    return steps


def _filter_step(stage: str, score: float, value: float, calibration: Calibration, limit: float) -> Step:
    inverse = hmmer3_gumbel_score if calibration.kind == "gumbel" else hmmer3_tail_score
    threshold = inverse(limit, calibration)
    known = "" if score == math.inf else f"P-value {f'{value:.2g}' if value else 'below 1e-300'}, "
    text = f"It scores {in_words(score, threshold)} ({known}limit {limit:g})."  # a full counter has no P-value
    return step(
        stage, STAGES[stage], text, score=score if math.isfinite(score) else None, threshold=threshold, pvalue=value,
        limit=limit, passed=value <= limit,
    )  # fmt: skip


def report_step(limits: Hmmer3Thresholds, hit: Hit, came: bool) -> Step:
    """Return the last step: whether a target is reported."""
    log_pvalue = hit.log_pvalue or 0.0
    text = f"After {hit.bias:.1f} bits for biased composition its score is {in_words(hit.score, limits.report_score)}"
    text += f" (E-value {hit.evalue:.2g})."
    limit, evalue = limits.pvalue(limits.evalue), hmmer3_evalue(log_pvalue, limits.n_targets)
    is_reported, is_significant = limits.reports(hit.score, evalue), limits.calls_significant(hit.score, evalue)
    if is_reported:
        text += significance_words(hit.score, limits.least_significant_score, is_significant)
    return step(
        "reported", STAGES["reported"], unless_reached(came) + text, score=hit.score, threshold=limits.report_score,
        pvalue=hmmer3_evalue(log_pvalue, 1.0), limit=limit if limits.score is None and math.isfinite(limit) else None,
        passed=is_reported, ran=came, significant=is_significant if is_reported else None,
    )  # fmt: skip
