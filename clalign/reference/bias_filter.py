"""HMMER3's bias filter: a null model that may emit the model's composition instead of the background.

Forward of two states, the first with odds of 1 for every letter, the second with those of the composition::

    f0(i) = ( f0(i-1) t00 + f1(i-1) t10 )
    f1(i) = ( f0(i-1) t01 + f1(i-1) t11 ) ratio(x_i)

The score is log( f0(L) + f1(L) ) added to the null model's.

References
----------
Eddy, PLoS Comput. Biol. 7, e1002195 (2011): the filters of HMMER3.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.values.local_profiles import LocalProfile, composition_odds
from clalign.values.local_scores import composition_steps, length_terms

START = (np.float32(0.999), np.float32(0.001))
"""Probability of each state at the beginning."""

ROWS_BETWEEN_CHECKS = 10_000


def bias_filter_score(
    codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Callable[[], None] = lambda: None
) -> float:
    """Return the bias filter's score of a sequence in nats, which takes the place of the null model's.

    Parameters
    ----------
    codes : uint8[L]
        Letter codes.
    profile : LocalProfile
    check : callable
        Called now and then; it may end a long computation.

    Returns
    -------
    float
        Not a number without residues.
    """
    if len(codes) == 0:
        return math.nan
    terms = length_terms(np.array([len(codes)]))
    loop, steps = terms.null_loop[0], composition_steps(profile.length)
    stay, move = float(loop), float(np.float32(1) - loop)
    leave, remain = float(steps.leave), float(steps.stay)
    ratios = composition_odds(profile).astype(np.float64)[codes]
    plain, composed, total = float(START[0]), float(START[1]) * ratios[0], 0.0
    for row, ratio in enumerate(ratios[1:]):
        if row % ROWS_BETWEEN_CHECKS == 0:
            check()
        plain, composed = plain * stay + composed * leave, (plain * move + composed * remain) * ratio
        largest = max(plain, composed)
        plain, composed, total = plain / largest, composed / largest, total + math.log(largest)
    return float(total + math.log(plain + composed) + terms.null[0])
