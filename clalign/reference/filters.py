"""HMMER3's filters in their order, one target at a time."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from clalign.reference.bias_filter import bias_filter_score
from clalign.reference.forward import forward_score
from clalign.reference.msv import OVERFLOW, msv_level
from clalign.reference.ssv import ssv_extreme
from clalign.reference.viterbi_filter import viterbi_filter_score
from clalign.values.local_profiles import LocalProfile, byte_scores
from clalign.values.local_scores import (
    BYTE_BASE,
    BYTE_E_MOVE,
    ByteScores,
    FilterLimits,
    Passage,
    length_terms,
    nats_of,
    pvalue,
)
from clalign.values.profiles import Calibration

SIGNED_RANGE = 127
"""SSV's bytes hold no longer ways into the model and out of it than this."""

Codes = npt.NDArray[np.uint8]


def ssv_is_safe(scores: ByteScores, byte_move: int) -> bool:
    """Return whether SSV's bytes hold the ways into the model and out of it."""
    return byte_move + scores.begin + BYTE_E_MOVE + scores.bias < SIGNED_RANGE


def level_by_ssv(extreme: int, scores: ByteScores, byte_move: int) -> int | None:
    """Return the 8-bit score of J that the best cell of SSV means; None if only MSV knows it."""
    top = 255 - scores.bias
    enter = BYTE_BASE - byte_move - scores.begin
    if extreme >= top:
        return None if enter < 128 else OVERFLOW
    extreme += enter - 128
    if extreme >= top:
        return OVERFLOW
    level = extreme - BYTE_E_MOVE
    return None if level > BYTE_BASE else level


def msv_score(codes: Codes, scores: ByteScores, byte_move: int) -> float:
    """Return the MSV score of a target in nats, by SSV where that decides it; infinite on overflow."""
    level = None
    if ssv_is_safe(scores, byte_move):
        level = level_by_ssv(ssv_extreme(codes, scores), scores, byte_move)
    if level is None:
        level = msv_level(codes, scores, byte_move)
    return math.inf if level == OVERFLOW else float(nats_of(level, byte_move))


def passage(codes: Codes, profile: LocalProfile, limits: FilterLimits, *, to_the_end: bool = False) -> Passage:
    """Return how far a target comes through the filters.

    Parameters
    ----------
    codes : uint8[length]
        Letter codes, at least one.
    profile : LocalProfile
        Calibrated.
    limits : FilterLimits
    to_the_end : bool
        Run every filter, also those that the target does not get to.

    References
    ----------
    Eddy, PLoS Comput. Biol. 7, e1002195 (2011), "The HMMER3 acceleration pipeline".
    """
    settings, terms = profile.settings, length_terms(np.array([len(codes)]))
    assert settings.msv is not None, "the profile is not calibrated"
    assert settings.viterbi is not None
    assert settings.forward is not None
    null = terms.null[0]
    reached, is_in = 0, True

    def judge(score: float, against: float, calibration: Calibration, limit: float) -> bool:
        nonlocal reached, is_in
        is_in = is_in and pvalue(np.float32(score) - np.float32(against), calibration) <= limit
        reached += is_in
        return is_in or to_the_end

    msv = msv_score(codes, byte_scores(profile), int(terms.byte_move[0]))
    bias = viterbi = forward = math.nan
    if not judge(msv, null, settings.msv, limits.f1):
        return Passage(msv, bias, viterbi, forward, reached)
    bias = bias_filter_score(codes, profile) if limits.bias else float(null)
    if not judge(msv, bias, settings.msv, limits.f1):
        return Passage(msv, bias, viterbi, forward, reached)
    is_sure = pvalue(np.float32(msv) - np.float32(bias), settings.msv) <= limits.f2
    if not is_sure or to_the_end:
        viterbi = viterbi_filter_score(codes, profile)
    if not judge(math.inf if is_sure else viterbi, bias, settings.viterbi, limits.f2):
        return Passage(msv, bias, viterbi, forward, reached)
    forward = forward_score(codes, profile)
    judge(forward, bias, settings.forward, limits.f3)
    return Passage(msv, bias, viterbi, forward, reached)
