"""The steps of a search with a profile, as a target goes through them."""

from __future__ import annotations

import math
from typing import TypedDict

from clalign.engines.plan7.hmmer3.thresholds import UNREACHABLE_BITS
from clalign.values.evalues import distinguishing_decimals


class Step(TypedDict):
    """What becomes of a target in a step of a search; what does not apply is None.

    Attributes
    ----------
    stage, label : str
        Name, and how it is called.
    score, threshold : float or None
        Of the target, and what is needed (bits).
    pvalue, limit : float or None
        Of the target, and the highest that passes.
    passed : bool or None
    ran : bool
        Whether the search itself comes to it.
    text : str
    significant : bool or None
        Of the last step of what is reported.
    """

    stage: str
    label: str
    score: float | None
    threshold: float | None
    pvalue: float | None
    limit: float | None
    passed: bool | None
    ran: bool
    text: str
    significant: bool | None


def step(
    stage: str,
    label: str,
    text: str,
    *,
    score: float | None = None,
    threshold: float | None = None,
    pvalue: float | None = None,
    limit: float | None = None,
    passed: bool | None = None,
    ran: bool = True,
    significant: bool | None = None,
) -> Step:
    """Return a step; thresholds that no score can have are left out."""
    return {
        "stage": stage,
        "label": label,
        "score": score,
        "threshold": possible(threshold),
        "pvalue": pvalue,
        "limit": limit,
        "passed": passed,
        "ran": ran,
        "text": text,
        "significant": significant,
    }


def possible(threshold: float | None) -> float | None:
    """Return a threshold that some score may have, else None."""
    return float(threshold) if threshold is not None and abs(threshold) < UNREACHABLE_BITS else None


def in_words(score: float, threshold: float) -> str:
    """Return a score and what is needed, in words."""
    needed = possible(threshold)
    if not math.isfinite(score):
        shown = "more than can be counted" if score > 0 else "nothing"
        return shown if needed is None else f"{shown}; {needed:.1f} bits are needed"
    digits = distinguishing_decimals(score, needed)
    return f"{score:.{digits}f} bits" + ("" if needed is None else f"; {needed:.{digits}f} are needed")


def significance_words(score: float, least: float, is_significant: bool) -> str:
    """Return whether what is reported is significant, in words."""
    needed = possible(least)
    if is_significant or needed is None:
        return f" It is {'' if is_significant else 'not '}significant."
    return f" It is not significant: {needed:.{distinguishing_decimals(score, needed)}f} bits are needed for that."


def counted(n: int, thing: str) -> str:
    """Return a number of things, in words."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


LEFT_OUT = "Not run in the search"
"""Beginning of the text of a step that the search skips."""

NOT_REACHED = "The search does not reach this step. "
"""Beginning of the text of a step that the search does not reach."""


def unless_reached(came: bool) -> str:
    """Return in words that the search does not reach a step; nothing if it does."""
    return "" if came else NOT_REACHED
