"""Optimal accuracy alignment of a whole sequence where single precision does not hold its odds: with logarithms.

HMMER3's hmmalign aligns one domain in each sequence, but those of some users hold several; where odds ratios overflow,
it goes on with logarithms, whose sums it takes from a table of steps of 0.001 nats. To equal it, every sum is
taken here in its order. What depends on the row before is computed along the diagonals, all cells of one at a time.

References
----------
Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis (1998), 3.6: sums of logarithms by a table.
Holmes and Durbin, J. Comput. Biol. 5, 493-504 (1998): optimal accuracy alignment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.exponentials import exponential
from clalign.values.alignments import DomainPath
from clalign.values.alphabets import N_CODES
from clalign.values.envelopes import Rescored
from clalign.values.local_profiles import LocalProfile
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

SCALE, LARGEST = np.float32(1000), np.float32(15.7)
"""Steps of the table in a nat; what is smaller by `LARGEST` nats adds nothing."""

_TABLE = np.log(1.0 + np.exp(-np.arange(16000) / 1000.0)).astype(np.float32)

NEVER = np.float32(-np.inf)

TINY = float(np.finfo(np.float32).tiny)
"""What the sum of probabilities of a path is multiplied by at an impossible step."""

DIAGONALS_BETWEEN_CHECKS = 200


def log_sum(a: Floats, b: Floats) -> Floats:
    """Return the logarithm of the sum of what `a` and `b` are logarithms of, as the table has it."""
    high, low = np.maximum(a, b), np.minimum(a, b)
    with np.errstate(invalid="ignore"):
        difference = high - low
        counts = (low > NEVER) & (difference < LARGEST)
        steps = np.where(counts, difference * SCALE, np.float32(0)).astype(np.int64)
    summed: Floats = high + np.where(counts, _TABLE[steps], np.float32(0))
    return summed


class _Matrix(Struct, frozen=True):
    """M, I, D (float32[L + 2, M + 2]; the last row and column are outside), and N, B, E, C (float32[L + 1])."""

    m: Floats
    i: Floats
    d: Floats
    n: Floats
    b: Floats
    e: Floats
    c: Floats

    @classmethod
    def empty(cls, length: int, nodes: int) -> _Matrix:
        return cls(*np.full((3, length + 2, nodes + 2), NEVER), *np.full((4, length + 1), NEVER))


class _Problem:
    """A sequence and a profile; scores of the steps into and within the model by node (float32[M + 2])."""

    def __init__(self, codes: npt.NDArray[np.uint8], length: int, profile: LocalProfile) -> None:
        self.length, self.nodes = len(codes), profile.length
        outside = np.full((len(profile.transitions), 1), NEVER)
        self.steps = np.concatenate([profile.transitions, outside], axis=1)
        self.begin = np.concatenate([profile.begin, [NEVER]]).astype(np.float32)
        match = np.concatenate([profile.match, np.full((N_CODES, 1), NEVER)], axis=1)
        end_row = np.full((1, self.nodes + 2), NEVER)
        self.match = np.concatenate([end_row, match[codes], end_row])  # by residue, from 1
        is_residue = np.concatenate([[False], (profile.match[codes] > NEVER).any(axis=1), [False]])
        self.insert = np.where(is_residue, np.float32(0), NEVER).astype(np.float32)
        move = np.float32(2) / (np.float32(length) + np.float32(2))
        self.move, self.loop = (np.float32(math.log(each)) for each in (move, np.float32(1) - move))


def _diagonals(p: _Problem, check: Callable[[], None]) -> Iterator[tuple[Places, Places]]:
    """Yield the residues and the nodes, both from 1, of each diagonal."""
    for diagonal in range(2, p.length + p.nodes + 1):
        if diagonal % DIAGONALS_BETWEEN_CHECKS == 0:
            check()
        x = np.arange(max(1, diagonal - p.nodes), min(p.length, diagonal - 1) + 1)
        yield x, diagonal - x


def aligned_by_logarithms(
    codes: npt.NDArray[np.uint8], start: int, length: int, profile: LocalProfile,
    check: Callable[[], None] = lambda: None,
) -> Rescored | None:  # fmt: skip
    """Return score and alignment of residues (uint8[Ld]), whose composition is unknown.

    Parameters are those of `clalign.reference.envelope.rescore`. None if no residue can be in the model.
    """
    problem = _Problem(codes, length, profile)
    forward = _forward(problem, check)
    score = forward.c[-1] + problem.move
    if score == NEVER:
        return None
    posterior = _posterior(forward, _backward(problem, check), score, problem)
    sums = _accuracies(posterior, problem, check)
    path, certainty = _trace(sums, posterior, problem)
    path = DomainPath(path.states, path.node_start, path.residue_start + start)
    return Rescored(float(score), np.ones(N_CODES, np.float32), float(sums.c[-1]), path, "", certainty)


def _running(first: np.float32, step: np.float32, n: int) -> Floats:
    """Return `first`, then each number plus the step (float32[n])."""
    found: Floats = np.add.accumulate(np.array([first, *[step] * (n - 1)], np.float32), dtype=np.float32)
    return found


def _forward(p: _Problem, check: Callable[[], None]) -> _Matrix:
    f = _Matrix.empty(p.length, p.nodes)
    f.n[:] = _running(np.float32(0), p.loop, p.length + 1)
    f.b[:] = f.n + p.move
    for x, k in _diagonals(p, check):
        into = p.steps[:, k - 1]
        come = log_sum(
            log_sum(f.m[x - 1, k - 1] + into[MM], f.i[x - 1, k - 1] + into[IM]),
            log_sum(f.b[x - 1] + p.begin[k], f.d[x - 1, k - 1] + into[DM]),
        )
        f.m[x, k] = come + p.match[x, k]
        f.i[x, k] = log_sum(f.m[x - 1, k] + p.steps[MI, k], f.i[x - 1, k] + p.steps[II, k]) + p.insert[x]
        f.d[x, k] = log_sum(f.m[x, k - 1] + into[MD], f.d[x, k - 1] + into[DD])
    for node in range(1, p.nodes + 1):
        f.e[1:] = log_sum(log_sum(f.m[1:-1, node], f.d[1:-1, node]), f.e[1:])
    for row in range(1, p.length + 1):
        f.c[row] = log_sum(f.c[row - 1] + p.loop, f.e[row])
    return f


def _backward(p: _Problem, check: Callable[[], None]) -> _Matrix:
    b = _Matrix.empty(p.length, p.nodes)
    b.c[:] = _running(p.move, p.loop, p.length + 1)[::-1]
    b.e[:] = b.c
    for x, k in reversed(list(_diagonals(p, check))):
        t, matched, next_m = p.steps[:, k], p.match[x + 1, k + 1], b.m[x + 1, k + 1]
        next_i, next_d, leave = b.i[x + 1, k], b.d[x, k + 1], b.e[x]
        inserted = p.insert[x + 1]
        found = log_sum(
            log_sum((next_m + t[MM]) + matched, (next_i + t[MI]) + inserted), log_sum(leave, next_d + t[MD])
        )
        b.m[x, k] = found
        b.i[x, k] = log_sum((next_m + t[IM]) + matched, (next_i + t[II]) + inserted)
        b.d[x, k] = log_sum((next_m + t[DM]) + matched, log_sum(next_d + t[DD], leave))
    for node in range(1, p.nodes + 1):
        b.b[:-1] = log_sum(b.b[:-1], (b.m[1:-1, node] + p.begin[node]) + p.match[1:-1, node])
    for row in range(p.length - 1, -1, -1):
        b.n[row] = log_sum(b.n[row + 1] + p.loop, b.b[row] + p.move)
    return b


def _posterior(f: _Matrix, b: _Matrix, score: np.float32, p: _Problem) -> _Matrix:
    """Return posterior probabilities; each row is divided by its sum, which the table makes a little off."""
    found = _Matrix.empty(p.length, p.nodes)
    rows = slice(1, p.length + 1)
    for at in (found.m, found.i, found.d, found.n, found.b, found.e, found.c):
        at[:] = 0
    for to, one, other in ((found.m, f.m, b.m), (found.i, f.i, b.i)):
        to[rows] = exponential(((one[rows] + other[rows]) - score).astype(np.float64))
    found.i[:, p.nodes] = 0
    for line, one, other in ((found.n, f.n, b.n), (found.c, f.c, b.c)):
        line[1:] = exponential((((one[:-1] + other[1:]) + p.loop) - score).astype(np.float64))
    inside = np.stack([found.m[rows, 1 : p.nodes + 1], found.i[rows, 1 : p.nodes + 1]], axis=2)
    totals = np.add.accumulate(inside.reshape(p.length, -1), axis=1, dtype=np.float32)[:, -1]
    by = np.float32(1) / (totals + (found.n[1:] + found.c[1:]))
    found.m[rows] *= by[:, None]
    found.i[rows] *= by[:, None]
    found.n[1:] *= by
    found.c[1:] *= by
    return found


def _weights(p: _Problem) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the factors of a sum at each step within and into the model."""
    return np.where(p.steps > NEVER, 1.0, TINY), np.where(p.begin > NEVER, 1.0, TINY)


def _accuracies(posterior: _Matrix, p: _Problem, check: Callable[[], None]) -> _Matrix:
    """Return the best sums of posterior probabilities."""
    s = _Matrix.empty(p.length, p.nodes)
    steps, begin = _weights(p)
    s.n[:] = np.add.accumulate(posterior.n, dtype=np.float32)
    s.b[:] = s.n
    for x, k in _diagonals(p, check):
        into, here, m, i = steps[:, k - 1], steps[:, k], posterior.m[x, k], posterior.i[x, k]
        s.m[x, k] = np.maximum(
            np.maximum(into[MM] * (s.m[x - 1, k - 1] + m), into[IM] * (s.i[x - 1, k - 1] + m)),
            np.maximum(into[DM] * (s.d[x - 1, k - 1] + m), begin[k] * (s.b[x - 1] + m)),
        )
        s.i[x, k] = np.maximum(here[MI] * (s.m[x - 1, k] + i), here[II] * (s.i[x - 1, k] + i))
        s.d[x, k] = np.maximum(into[MD] * s.m[x, k - 1], into[DD] * s.d[x, k - 1])
        s.i[x[k == p.nodes], p.nodes] = NEVER
    s.e[1:] = np.maximum(s.m[1:-1].max(axis=1), s.d[1:-1, p.nodes])
    for row in range(1, p.length + 1):
        s.c[row] = max(s.c[row - 1] + posterior.c[row], s.e[row])
    return s


def _trace(s: _Matrix, posterior: _Matrix, p: _Problem) -> tuple[DomainPath, Floats]:
    """Return the path from first to last match state, and the certainty of each residue (float32[L])."""
    weights, begin = _weights(p)
    steps = weights.astype(np.float32)
    certainty = np.zeros(p.length + 1, np.float32)
    x = p.length
    while s.c[x - 1] + posterior.c[x] > s.e[x]:
        certainty[x] = posterior.c[x]
        x -= 1
    row = s.m[x, : p.nodes + 1]
    k, state, states = int(np.flatnonzero(row == row[1:].max())[-1]), "M", []
    while state != "B":
        states.append(state)
        if state == "D":
            k -= 1
            state = "M" if steps[MD, k] * s.m[x, k] >= steps[DD, k] * s.d[x, k] else "D"
        elif state == "I":
            certainty[x] = posterior.i[x, k]
            x -= 1
            state = "M" if steps[MI, k] * s.m[x, k] >= steps[II, k] * s.i[x, k] else "I"
        else:
            certainty[x] = posterior.m[x, k]
            x, k = x - 1, k - 1
            ways = (
                steps[MM, k] * s.m[x, k], steps[IM, k] * s.i[x, k], steps[DM, k] * s.d[x, k],
                np.float32(begin[k + 1]) * s.b[x],
            )  # fmt: skip
            state = "MIDB"[int(np.argmax(ways))]
    certainty[1 : x + 1] = posterior.n[1 : x + 1]
    return DomainPath("".join(reversed(states)), k, x), certainty[1:]
