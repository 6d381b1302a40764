"""The score of an envelope, its optimal accuracy alignment and its composition: the plain form of the kernels.

An envelope is a part of a target that holds one domain. It is scored with the single-hit profile, whose
length model stays that of the whole target. With Forward and Backward values divided by the same terms s,
and c = 1 / N(0) of Backward, the posterior probability of match state k at residue i is
Mf(i,k) Bb(i,k) s(i) c, that of I likewise, and that of N (of C likewise) Nf(i-1) Nb(i) LOOP c.

The alignment maximizes the sum of the posterior probabilities of its states (steps that are impossible
stay so); ties go to M before I before D before B, to M before I or D, and to leaving the model before
staying in C. The model is left from the node that comes last in the striped order.

The composition of the envelope (null2) is the mean of the emissions of all states, each by its expected use.

References
----------
Holmes and Durbin, J. Comput. Biol. 5, 493-504 (1998): optimal accuracy alignment.
HMMER 3.3.2 user's guide: envelopes, posterior probabilities, biased composition.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.reference.local_rows import (
    MIN_NORMAL,
    ONE,
    Floats,
    backward_rows,
    before,
    forward_rows,
    forward_score,
    single_hit,
    total,
)
from clalign.reference.logarithms import aligned_by_logarithms
from clalign.values.alignments import DomainPath
from clalign.values.alphabets import code_of
from clalign.values.envelopes import Rescored
from clalign.values.local_profiles import LANES, LocalProfile, StripedOdds
from clalign.values.local_scores import letter_ratios


class Posterior(Struct, frozen=True):
    """Posterior probabilities of M and I (float32[L + 1, Q, 4]) and of N and C (float32[L + 1]); row 0 is 0."""

    m: Floats
    i: Floats
    n: Floats
    c: Floats


def rescore(
    codes: npt.NDArray[np.uint8],
    start: int,
    length: int,
    profile: LocalProfile,
    odds: StripedOdds,
    check: Callable[[], None] = lambda: None,
    is_whole: bool = False,
) -> Rescored | None:
    """Return what the residues of an envelope (uint8[Ld]) say, or None where single precision does not hold it.

    Parameters
    ----------
    codes : uint8[Ld]
        Letter codes of the envelope.
    start : int
        Its first residue in the target, counted from 0.
    length : int
        Residues of the whole target.
    profile, odds
        The profile, and `striped_odds` of it.
    check : callable
        May end a long computation.
    is_whole : bool
        Whether it is aligned as hmmalign does: numbers below the normal ones count, what single precision does not hold
        is computed with logarithms (`clalign.reference.logarithms`), and the certainty of each residue is asked for.
    """
    least = np.float32(0) if is_whole else MIN_NORMAL
    score, posterior = posterior_of(codes, length, odds, check, least)
    if posterior is None:
        return aligned_by_logarithms(codes, start, length, profile, check) if is_whole else None
    correct, path, posteriors = align(posterior, odds)
    digits, certainty = "" if is_whole else posterior_text(path.states, posteriors), None
    if is_whole:
        first, certainty = path.residue_start, posterior.n[1:].copy()
        aligned = np.array([value for state, value in zip(path.states, posteriors, strict=True) if state != "D"])
        end = first + len(aligned)
        certainty[first:end], certainty[end:] = aligned, posterior.c[end + 1 :]
    path = DomainPath(path.states, path.node_start, path.residue_start + start)
    return Rescored(score, composition(posterior, profile, odds), correct, path, digits, certainty)


def posterior_of(
    codes: npt.NDArray[np.uint8], length: int, odds: StripedOdds, check: Callable[[], None] = lambda: None,
    least: np.float32 = MIN_NORMAL,
) -> tuple[float, Posterior | None]:  # fmt: skip
    """Return the Forward score of an envelope and its posterior probabilities, None where they overflow."""
    ends = single_hit(length, least)
    rows = list(forward_rows(codes, odds, ends, check))
    scales = np.array([row.scale for row in rows], np.float32)
    score = forward_score(rows[-1].c, scales, ends)
    mirrored = list(backward_rows(codes, scales, odds, ends, check))[::-1]
    n_rows = len(codes) + 1
    m, i = np.zeros((2, n_rows, *odds.begin.shape), np.float32)
    n, c = np.zeros((2, n_rows), np.float32)
    with np.errstate(all="ignore"):
        factor = ONE / mirrored[0].n
        for x in range(1, n_rows):
            forward, backward = rows[x], mirrored[x]
            by = factor * forward.scale
            m[x] = ends.times(ends.times(forward.m, backward.m), by)
            i[x] = ends.times(ends.times(forward.i, backward.i), by)
            n[x] = ends.times(ends.times(ends.times(rows[x - 1].n, backward.n), ends.loop), factor)
            c[x] = ends.times(ends.times(ends.times(rows[x - 1].c, backward.c), ends.loop), factor)
            factor = factor * (forward.scale / backward.scale)
    return score, Posterior(m, i, n, c) if np.isfinite(factor) else None


class _Sums(Struct, frozen=True):
    """Best sums of posterior probabilities: M, I, D (float32[L + 1, Q, 4]), E and C (float32[L + 1]), B like N."""

    m: Floats
    i: Floats
    d: Floats
    e: Floats
    b: Floats
    c: Floats


def _shifted(vectors: Floats) -> Floats:
    shifted = before(vectors)
    shifted[0, 0] = -np.inf
    return shifted


def _possible(transitions: Floats, values: Floats) -> Floats:
    return np.where(transitions > 0, values, np.float32(0))


def _fill(posterior: Posterior, odds: StripedOdds) -> _Sums:
    n_rows = len(posterior.n)
    m, i, d = np.full((3, *posterior.m.shape), -np.inf, np.float32)
    e, c = np.full((2, n_rows), -np.inf, np.float32)
    b = np.zeros(n_rows, np.float32)
    for x in range(1, n_rows):
        ways = (
            _possible(odds.begin, np.full_like(odds.begin, b[x - 1])), _possible(odds.mm, _shifted(m[x - 1])),
            _possible(odds.im, _shifted(i[x - 1])), _possible(odds.dm, _shifted(d[x - 1])),
        )  # fmt: skip
        m[x] = np.max(ways, axis=0) + posterior.m[x]
        i[x] = np.maximum(_possible(odds.mi, m[x - 1]), _possible(odds.ii, i[x - 1])) + posterior.i[x]
        d[x] = _deletes(m[x], odds)
        e[x] = max(m[x].max(), d[x].max())
        b[x] = b[x - 1] + posterior.n[x]
        c[x] = max(c[x - 1] + posterior.c[x], e[x])
    return _Sums(m, i, d, e, b, c)


def _deletes(m: Floats, odds: StripedOdds) -> Floats:
    d, goes_on = _shifted(_possible(odds.md, m)), odds.dd > 0
    for _ in range(LANES):
        for q in range(len(d) - 1):
            d[q + 1] = np.maximum(d[q + 1], np.where(goes_on[q], d[q], np.float32(0)))
        leaving = np.where(goes_on[-1], d[-1], np.float32(0))
        d[0, 1:] = np.maximum(d[0, 1:], leaving[:-1])
    return d


def _exit(row: Floats) -> int:
    """Return the last node in striped order, counted from 1, that has the largest value of a row of M."""
    q, lane = divmod(int(np.flatnonzero(row == row.max())[-1]), LANES)
    return lane * len(row) + q + 1


def align(posterior: Posterior, odds: StripedOdds) -> tuple[float, DomainPath, list[np.float32]]:
    """Return the best sum, the path from first to last match state, and the probability of each of its steps."""
    sums = _fill(posterior, odds)
    n_vectors = len(odds.begin)
    x, k = len(posterior.n) - 1, 0
    while sums.c[x - 1] + posterior.c[x] > sums.e[x]:
        x -= 1
    k, state = _exit(sums.m[x]), "M"
    steps: list[tuple[str, np.float32]] = []
    while state != "B":
        lane, q = divmod(k - 1, n_vectors)
        if state == "D":
            steps.append(("D", np.float32(0)))
            state, k = _from_delete(sums, odds, x, k), k - 1
        elif state == "I":
            steps.append(("I", posterior.i[x, q, lane]))
            state, x = _from_insert(sums, odds, x, q, lane), x - 1
        else:
            steps.append(("M", posterior.m[x, q, lane]))
            state, x, k = _from_match(sums, odds, x, k), x - 1, k - 1
    steps.reverse()
    path = DomainPath("".join(name for name, _ in steps), k, x)
    return float(sums.c[-1]), path, [value for _, value in steps]


def _from_match(sums: _Sums, odds: StripedOdds, x: int, k: int) -> str:
    n_vectors = len(odds.begin)
    lane, q = divmod(k - 1, n_vectors)
    best, came = -np.inf, "M"
    ways: list[tuple[str, np.float32, np.float32]] = []
    if k > 1:
        at = (x - 1, (k - 2) % n_vectors, (k - 2) // n_vectors)
        ways = [
            ("M", odds.mm[q, lane], sums.m[at]),
            ("I", odds.im[q, lane], sums.i[at]),
            ("D", odds.dm[q, lane], sums.d[at]),
        ]
    for name, transition, value in [*ways, ("B", odds.begin[q, lane], sums.b[x - 1])]:
        if transition > 0 and value > best:
            best, came = value, name
    return came


def _from_insert(sums: _Sums, odds: StripedOdds, x: int, q: int, lane: int) -> str:
    matched = sums.m[x - 1, q, lane] if odds.mi[q, lane] > 0 else -np.inf
    inserted = sums.i[x - 1, q, lane] if odds.ii[q, lane] > 0 else -np.inf
    return "M" if matched >= inserted else "I"


def _from_delete(sums: _Sums, odds: StripedOdds, x: int, k: int) -> str:
    n_vectors = len(odds.begin)
    lane, q = divmod(k - 2, n_vectors)
    matched = sums.m[x, q, lane] if odds.md[q, lane] > 0 else -np.inf
    deleted = sums.d[x, q, lane] if odds.dd[q, lane] > 0 else -np.inf
    return "M" if matched >= deleted else "D"


def composition(posterior: Posterior, profile: LocalProfile, odds: StripedOdds) -> Floats:
    """Return how much likelier each letter is in the composition of an envelope (float32[N_CODES])."""
    by = ONE / np.float32(len(posterior.n) - 1)
    m, i = (np.add.accumulate(each[1:], axis=0, dtype=np.float32)[-1] * by for each in (posterior.m, posterior.i))
    n, c = (np.add.accumulate(each[1:], dtype=np.float32)[-1] * by for each in (posterior.n, posterior.c))
    canonical = [code_of(letter) for letter in profile.hmm.alphabet.canonical]
    ratios = []
    for code in canonical:
        used = np.stack([m * odds.emissions[code], i], axis=1).reshape(-1, LANES)
        ratios.append(total(used) + (n + c))
    return letter_ratios(np.array(ratios, np.float32), profile.hmm.alphabet)


def posterior_text(states: str, posteriors: list[np.float32]) -> str:
    """Return a digit for the posterior probability of each step."""
    digits = []
    for state, value in zip(states, posteriors, strict=True):
        rounded = float(value) + 0.05
        digits.append("." if state == "D" else "*" if rounded >= 1 else str(int(rounded * 10)))
    return "".join(digits)
