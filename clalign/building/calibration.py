"""Statistics of a profile's scores, fitted to the scores of random sequences, which are always the same."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.building.effective_number import relative_entropy
from clalign.compute.sessions import Session
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER
from clalign.values.alphabets import Alphabet, code_of
from clalign.values.envelopes import WORD, RowProfiles, generator_start
from clalign.values.local_profiles import to_local_profile
from clalign.values.local_scores import (
    BYTE_BASE,
    BYTE_SCALE,
    LN_2,
    WORD_BASE,
    WORD_SCALE,
    FilterLimits,
    background,
    length_terms,
)
from clalign.values.profiles import Calibration, Hmm, Hmmer3Settings
from clalign.values.sequences import SequenceBatch

Doubles = npt.NDArray[np.float64]

MULTIPLIER, INCREMENT = 69069, 1
"""Constants of the generator of random numbers."""

EDGE_CORRECTION = 1.44
"""Correction of lambda in models with few nodes (bits)."""

MAX_STEPS, TOLERANCE, MAX_SLOPE = 100, 1e-5, 1000.0
"""The fit of a Gumbel distribution: most steps, derivative of the likelihood at which it is done, and largest slope."""

UNKNOWN = Calibration("gumbel", 0.0, 1.0)
"""Stands for the statistics while they are computed: the stages of the filters ask for some."""

NO_TARGET_PASSES = FilterLimits(f1=0.0)


class Trials(Struct, frozen=True):
    """How many random sequences of which length are scored.

    Attributes
    ----------
    msv, viterbi, forward : tuple of int
        Number and length.
    tail : float
        Share of the Forward scores that the exponential tail is fitted to.
    seed : int
    """

    msv: tuple[int, int]
    viterbi: tuple[int, int]
    forward: tuple[int, int]
    tail: float
    seed: int


class RandomSequences(Struct, frozen=True):
    """The random sequences of each filter; they are the same for all profiles of an alphabet.

    Attributes
    ----------
    msv, viterbi, forward : SequenceBatch
    """

    msv: SequenceBatch
    viterbi: SequenceBatch
    forward: SequenceBatch

    @classmethod
    def of(cls, alphabet: Alphabet, trials: Trials) -> RandomSequences:
        """Draw them from the background: HMMER's numbers for this seed, in its order."""
        shapes = (trials.msv, trials.viterbi, trials.forward)
        shares = np.add.accumulate(background(alphabet).astype(np.float64))
        letters = np.array([code_of(letter) for letter in alphabet.canonical], np.uint8)
        rolls = random_numbers(trials.seed, sum(n * length for n, length in shapes))
        codes = letters[np.searchsorted(shares / shares[-1], rolls, side="right")]
        batches, first = list[SequenceBatch](), 0
        for n, length in shapes:
            batches.append(SequenceBatch.of_lengths(codes[first : first + n * length], np.full(n, length)))
            first += n * length
        return cls(*batches)


def random_numbers(seed: int, n: int) -> Doubles:
    """Return random numbers from 0 on and below 1 (float64[n]).

    References
    ----------
    Knuth, The Art of Computer Programming, volume 2 (1997), 3.2.1: linear congruential generators.
    """
    first = (generator_start(seed) * MULTIPLIER + INCREMENT) % WORD
    states, factor, term = np.array([first], np.uint32), MULTIPLIER, INCREMENT
    while len(states) < n:  # as many again, each so many steps later
        states = np.concatenate([states, states * np.uint32(factor) + np.uint32(term)])
        factor, term = factor * factor % WORD, term * (factor + 1) % WORD
    return states[:n] / WORD


def calibrated(hmm: Hmm, session: Session, sequences: RandomSequences, tail: float) -> Hmm:
    """Return a profile with the statistics of its MSV, Viterbi and Forward scores.

    Parameters
    ----------
    hmm : Hmm
        Of HMMER3; without its composition, as it is not used.
    session : Session
        Computes the scores.
    sequences : RandomSequences
        Of the alphabet of the profile.
    tail : float
        Share of the Forward scores that the exponential tail is fitted to.

    Raises
    ------
    ArithmeticError
        If the scores have no such distribution, as those of a profile that prefers no residue.

    References
    ----------
    Eddy, PLoS Comput. Biol. 4, e1000069 (2008): distributions of local scores.
    """
    assert isinstance(hmm.settings, Hmmer3Settings)
    settings = replace(hmm.settings, msv=UNKNOWN, viterbi=UNKNOWN, forward=UNKNOWN)
    profile = to_local_profile(replace(hmm, settings=settings))
    (filtered,) = session.run(FILTERS, sequences.msv, [FilterModel(profile, NO_TARGET_PASSES)])
    msv = np.where(np.isposinf(filtered.msv), np.float32(255 - BYTE_BASE) / BYTE_SCALE, filtered.msv)
    words = session.run(VITERBI_FILTER, sequences.viterbi, profile)
    viterbi = np.where(np.isposinf(words), np.float32(32767 - WORD_BASE) / WORD_SCALE, words)
    decoded = session.run(DECODING, sequences.forward, RowProfiles.alone(profile, len(sequences.forward)))
    forward = np.array([one.forward for one in decoded], np.float32)
    slope = LN_2 + EDGE_CORRECTION / (hmm.length * relative_entropy(hmm.match[1:], background(hmm.alphabet)))
    locations = [
        fitted_location(_bits(msv, sequences.msv), slope),
        fitted_location(_bits(viterbi, sequences.viterbi), slope),
        fitted_tail(_bits(forward, sequences.forward), slope, tail),
    ]
    at_msv, at_viterbi, at_forward, rounded = (float(np.float32(value)) for value in (*locations, slope))
    settings = replace(
        hmm.settings,
        msv=Calibration("gumbel", at_msv, rounded),
        viterbi=Calibration("gumbel", at_viterbi, rounded),
        forward=Calibration("exponential", at_forward, rounded),
    )
    return replace(hmm, settings=settings)


def _bits(scores: npt.NDArray[np.float32], batch: SequenceBatch) -> list[float]:
    """Return scores in nats as bits above the null model."""
    above = scores.astype(np.float32) - length_terms(batch.lengths).null
    bits: list[float] = (above.astype(np.float64) / LN_2).tolist()
    return bits


def fitted_location(scores: list[float], slope: float) -> float:
    """Return the location of the Gumbel distribution of a slope that fits scores best."""
    total = 0.0
    for score in scores:
        total += math.exp(-slope * score)
    return -math.log(total / len(scores)) / slope


def fitted_tail(scores: list[float], slope: float, tail: float) -> float:
    """Return the location of the exponential distribution of a slope that meets the scores where their tail begins.

    The place where a share `tail` of the scores is higher is taken from a Gumbel distribution that fits all of them.
    """
    own = _fitted_slope(scores)
    begin = fitted_location(scores, own) - math.log(-1.0 * math.log(1.0 - tail)) / own
    return begin + math.log(tail) / slope


def _fitted_slope(scores: list[float]) -> float:
    """Return the slope of the Gumbel distribution that fits scores best.

    References
    ----------
    Lawless, Statistical Models and Methods for Lifetime Data (1982), 4.1.6: by Newton's method, or by bisection.
    """
    n, total, squares = len(scores), 0.0, 0.0
    for score in scores:
        total += score
        squares += score * score
    first = math.pi / math.sqrt(6.0 * ((squares - total * total / n) / (n - 1)))
    slope = first
    for _ in range(MAX_STEPS):
        value, derivative = _likelihood_slope(scores, slope)
        if abs(value) < TOLERANCE:
            return slope
        slope -= value / derivative
        if slope <= 0.0:
            slope = 0.001
    low, high = 0.0, first
    while _likelihood_slope(scores, high)[0] > 0.0 and high <= MAX_SLOPE:
        high *= 2.0
    for _ in range(MAX_STEPS):
        slope = (low + high) / 2.0
        value, _ = _likelihood_slope(scores, slope)
        if abs(value) < TOLERANCE:
            break
        low, high = (slope, high) if value > 0.0 else (low, slope)
    return slope


def _likelihood_slope(scores: list[float], slope: float) -> tuple[float, float]:
    """Return the derivative of the logarithm of the likelihood by the slope, and the derivative of that."""
    total = weights = first = second = 0.0
    for score in scores:
        weight = math.exp(-1.0 * slope * score)
        total += score
        first += score * weight
        second += score * score * weight
        weights += weight
    mean = first / weights
    return 1.0 / slope - total / len(scores) + mean, mean * mean - second / weights - 1.0 / (slope * slope)
