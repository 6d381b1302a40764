"""The scores that HMMER3's filters and Forward compute with, their P-values, and terms for the length of a target.

`LocalProfile` in `clalign.values.local_profiles` holds a model's scores in natural logarithms. `ByteScores` (SSV, MSV),
`WordScores` (Viterbi filter) and `Odds` (Forward, Backward) are the forms that a stage computes with, rounded as HMMER
3.3.2 rounds, so that integers are the same as there. What depends on the length of a target is in `LengthTerms`.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.alphabets import N_CODES, STOP_CODE, Alphabet, code_of
from clalign.values.evalues import MIN_NORMAL, exponential_survival, gumbel_survival
from clalign.values.profiles import Calibration

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.int16]

LN_2 = math.log(2.0)

BYTE_SCALE = np.float32(3.0 / LN_2)
"""Units to the nat of the 8-bit scores: thirds of a bit."""

BYTE_BASE = 190
"""Offset of the 8-bit scores; N starts here."""

WORD_SCALE = np.float32(500.0 / LN_2)
"""Units to the nat of the 16-bit scores: 1/500 bit."""

WORD_BASE = 12000
"""Offset of the 16-bit scores."""

WORD_E_MOVE = -500
"""16-bit score of the steps from E to C and to J: one bit."""

BYTE_E_MOVE = 3
"""8-bit cost of the steps from E to C and to J."""

LOOP_COST = np.float32(3.0)
"""Cost in nats that the filters pay at once for the loops of N, J and C, which they take as free."""

NEVER_WORD, MAX_WORD = -32768, 32767
"""Minus infinity of the 16-bit scores, and the highest of them."""

NEVER_BYTE = 255
"""8-bit cost of what is impossible."""

MAX_COST = 127
"""Limit of the costs in HMMER's 8-bit form of SSV."""

AMINO_BACKGROUND = np.array(
    [
        0.0787945, 0.0151600, 0.0535222, 0.0668298, 0.0397062, 0.0695071, 0.0229198, 0.0590092, 0.0594422, 0.0963728,
        0.0237718, 0.0414386, 0.0482904, 0.0395639, 0.0540978, 0.0683364, 0.0540687, 0.0673417, 0.0114135, 0.0304133,
    ],
    np.float32,
)  # fmt: skip
"""How often each amino acid occurs, in the order of `alphabets.AMINO`."""


def background(alphabet: Alphabet) -> Floats:
    """Return the residue frequencies of HMMER3's null model (float32[K])."""
    return np.full(4, 0.25, np.float32) if alphabet.is_nucleic else AMINO_BACKGROUND


def members_of(alphabet: Alphabet) -> tuple[list[int], ...]:
    """Return for each letter code the canonical residues it may stand for; none if it cannot be matched.

    Inosine (I) counts as A in nucleic sequences.
    """
    if alphabet.name not in _MEMBERS:
        _MEMBERS[alphabet.name] = _members_of(alphabet)
    return _MEMBERS[alphabet.name]


_MEMBERS: dict[str, tuple[list[int], ...]] = {}
"""Results of `members_of` by the name of the alphabet; every table of a model needs them."""


def _members_of(alphabet: Alphabet) -> tuple[list[int], ...]:
    members: list[list[int]] = [[] for _ in range(N_CODES)]
    meanings = {letter: letter for letter in alphabet.canonical} | alphabet.degenerate
    if alphabet.is_nucleic:
        meanings = {"I": "A"} | meanings
    for letter, stands_for in meanings.items():
        members[code_of(letter)] = sorted(alphabet.canonical.index(x) for x in stands_for)
    assert not members[STOP_CODE]
    return tuple(members)


def letter_scores(odds: Floats, null: Floats, alphabet: Alphabet) -> Floats:
    """Return the scores of all letter codes from those of the residues.

    Parameters
    ----------
    odds : float32[M + 1, K]
    null : float32[K]
    alphabet : Alphabet

    Returns
    -------
    float32[N_CODES, M + 1]
        An ambiguous letter has its expected score under the null model; what cannot be matched has
        minus infinity.
    """
    scores = np.full((N_CODES, len(odds)), -np.inf, np.float32)
    for code, chosen in enumerate(members_of(alphabet)):
        if len(chosen) == 1:
            scores[code] = odds[:, chosen[0]]
        elif chosen:
            expected = np.zeros(len(odds), np.float32)
            weight = np.float32(0)
            for x in chosen:
                expected += odds[:, x] * null[x]
                weight += null[x]
            scores[code] = expected / weight
    scores[:, 0] = -np.inf
    return scores


def rounded(values: Floats, scale: np.float32) -> npt.NDArray[np.float64]:
    """Return scaled scores rounded half away from zero."""
    with np.errstate(over="ignore"):
        scaled = (values * scale).astype(np.float64)
    rounded: npt.NDArray[np.float64] = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
    return rounded


class ByteScores(Struct, frozen=True):
    """The 8-bit form of MSV and SSV: costs from 0 to 255.

    Attributes
    ----------
    costs : uint8[N_CODES, M + 1]
        Emission costs with the bias added; 255 where impossible and in column 0.
    bias : int
        Added to every cost so that none is negative.
    begin : int
        Cost of B to any node.
    """

    costs: Bytes
    bias: int
    begin: int


class WordScores(Struct, frozen=True):
    """The 16-bit form of the Viterbi filter; `NEVER_WORD` is minus infinity.

    Attributes
    ----------
    match : int16[N_CODES, M + 1]
    transitions : int16[7, M + 1]
        From node k; never in columns 0 and M.
    begin : int16[M + 1]
    """

    match: Words
    transitions: Words
    begin: Words


def words_of(values: Floats) -> Words:
    """Return scores in nats in the 16-bit form."""
    words: Words = np.clip(rounded(values, WORD_SCALE), NEVER_WORD, MAX_WORD).astype(np.int16)
    return words


class Odds(Struct, frozen=True):
    """The form of Forward and Backward: odds ratios and probabilities, 0 where impossible.

    Attributes
    ----------
    match : float32[N_CODES, M + 1]
    transitions : float32[7, M + 1]
    begin : float32[M + 1]
    """

    match: Floats
    transitions: Floats
    begin: Floats


def letter_ratios(ratios: Floats, alphabet: Alphabet) -> Floats:
    """Return the ratios of all letters from those of the residues.

    Parameters
    ----------
    ratios : float32[..., K]
    alphabet : Alphabet

    Returns
    -------
    float32[..., N_CODES]
        An ambiguous letter has the mean of what it may stand for, one that cannot be matched has 1.
    """
    letters = np.ones((*ratios.shape[:-1], N_CODES), np.float32)
    for code, members in enumerate(members_of(alphabet)):
        if members:
            summed = ratios[..., members[0]]
            for member in members[1:]:
                summed = summed + ratios[..., member]
            letters[..., code] = summed if len(members) == 1 else summed / np.float32(len(members))
    return letters


class CompositionSteps(Struct, frozen=True):
    """Transitions out of the state that emits the composition: to the background, and on."""

    leave: np.float32
    stay: np.float32


def composition_steps(model_length: int) -> CompositionSteps:
    """Return the transitions of a model: its stretches are an eighth of it long on average."""
    one, length = np.float32(1), np.float32(model_length) / np.float32(8)
    return CompositionSteps(one / (length + one), length / (length + one))


class LengthTerms(Struct, frozen=True):
    """What depends on the length of a target alone, for an array of lengths.

    Attributes
    ----------
    null_loop : float32[n]
        p1 of the null model, L / (L + 1).
    null : float32[n]
        Score of the null model in nats.
    byte_move : uint8[n]
        N, C and J on to the next state as an 8-bit cost (tjb).
    word_move : int16[n]
        The same as a 16-bit score.
    move : float32[n]
        The same as a probability, with J in use (multi-hit).
    """

    null_loop: Floats
    null: Floats
    byte_move: Bytes
    word_move: Words
    move: Floats


def length_terms(lengths: npt.NDArray[np.integer]) -> LengthTerms:
    """Return the terms of the length model for targets of these lengths; lengths of 0 get those of 1."""
    n = np.maximum(lengths, 1).astype(np.float32)
    one, three = np.float32(1), np.float32(3)
    loop = n / (n + one)
    wide = loop.astype(np.float64)
    null = (n.astype(np.float64) * np.log(wide) + np.log(1.0 - wide)).astype(np.float32)
    move = three / (n + three)
    costs = -rounded(np.log(move), BYTE_SCALE)
    return LengthTerms(
        null_loop=loop,
        null=null,
        byte_move=np.minimum(costs, 255).astype(np.uint8),
        word_move=words_of(np.log(move)),
        move=move,
    )


def nats_of(level: int, byte_move: int) -> np.float32:
    """Return the MSV score of the state J's 8-bit score in nats."""
    return np.float32(np.float32(np.float32(level - byte_move) - np.float32(BYTE_BASE)) / BYTE_SCALE) - LOOP_COST


class FilterLimits(Struct, frozen=True):
    """The P-values that let a target pass the filters, and whether the bias filter is used."""

    f1: float = 0.02
    f2: float = 1e-3
    f3: float = 1e-5
    bias: bool = True


class Passage(Struct, frozen=True):
    """The scores of a target in the filters, in nats; NaN where a filter was not run.

    `reached` counts the filters passed: MSV, bias, Viterbi (or left out), Forward.
    """

    msv: float
    bias: float
    viterbi: float
    forward: float
    reached: int


def pvalue(difference: np.float32, calibration: Calibration) -> float:
    """Return the P-value of a score above its null score, both in nats."""
    if math.isinf(difference):
        return 0.0 if difference > 0 else 1.0
    survival = gumbel_survival if calibration.kind == "gumbel" else exponential_survival
    return survival(float(np.float32(float(difference) / LN_2)), calibration.location, calibration.slope)


def least_difference(calibration: Calibration, limit: float) -> np.float32:
    """Return the least score above the null score, in nats, whose P-value does not exceed a limit.

    P-values fall with the score, so one comparison of floats stands for that of P-values.
    """
    if limit >= 1.0:
        return np.float32(-np.inf)
    if limit < MIN_NORMAL:  # where P-values are taken for 0
        depth = -math.log(MIN_NORMAL)
    else:
        depth = -math.log(-math.log1p(-limit)) if calibration.kind == "gumbel" else -math.log(limit)
    least = np.float32((calibration.location + depth / calibration.slope) * LN_2)
    while pvalue(least, calibration) > limit:
        least = np.nextafter(least, np.float32(np.inf))
    while pvalue(below := np.nextafter(least, np.float32(-np.inf)), calibration) <= limit:
        least = below
    return least
