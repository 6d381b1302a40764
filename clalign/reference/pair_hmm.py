"""Forward and Backward of the pair hidden Markov model, in logarithms of double precision: what kernels must come near.

For i residues of x and j of y, with the probabilities of the steps (`Transitions`), M, I and D hold those of all paths
that end in a state after it has emitted. Start counts as M at (0, 0), but for its step to M::

    M(i,j) = p(x_i,y_j) ( MM M(i-1,j-1) + sum_k close_k ( I_k(i-1,j-1) + D_k(i-1,j-1) ) )
    I_k(i,j) = q(x_i) ( open_k M(i-1,j) + extend_k I_k(i-1,j) )
    D_k(i,j) = q(y_j) ( open_k M(i,j-1) + extend_k D_k(i,j-1) )

and backwards, where v_k, w_k and m are what the next residue of x, of y and both lead to::

    v_k = q(x_i+1) I'_k(i+1,j)    w_k = q(y_j+1) D'_k(i,j+1)    m = p(x_i+1,y_j+1) M'(i+1,j+1)
    M'(i,j) = MM m + sum_k open_k (v_k + w_k)
    I'_k(i,j) = extend_k v_k + close_k m
    D'_k(i,j) = extend_k w_k + close_k m

References
----------
Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis (1998), chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.pair_hmm import (
    MIN_POSTERIOR,
    TO_END,
    ExpectedCounts,
    Numbers,
    PairHmm,
    PosteriorBatch,
    gap_posteriors,
    transitions_of,
)

Codes = npt.NDArray[np.uint8]
Check = Callable[[], None]

ROWS_BETWEEN_CHECKS = 100


def _log(numbers: npt.ArrayLike) -> Numbers:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(numbers), np.float64)


def _chain(entering: Numbers, factors: Numbers) -> Numbers:
    """Return t(j) = entering(j) + factor(j) t(j-1) along a row; all in logarithms."""
    reach = np.cumsum(factors)
    return np.asarray(np.logaddexp.accumulate(entering - reach) + reach)


class Matrices(Struct, frozen=True, eq=False):
    """Logarithms of a table for each state.

    Attributes
    ----------
    match : float64[m + 1, n + 1]
    inserts, deletes : float64[n_sets, m + 1, n + 1]
    total : float
        Of all paths.
    """

    match: Numbers
    inserts: Numbers
    deletes: Numbers
    total: float


class _Terms(Struct, frozen=True, eq=False):
    """Logarithms of what a pair of sequences is computed from."""

    x: Numbers
    y: Numbers
    pairs: Numbers
    start: float
    match: float
    opens: Numbers
    extends: Numbers
    closes: Numbers


def _terms(x: Codes, y: Codes, model: PairHmm) -> _Terms:
    """Return the logarithms for sequences of letter codes."""
    places, emissions, steps = model.emissions.indices, model.emissions, transitions_of(model.gaps)
    rows, columns = places[x], places[y]
    return _Terms(
        _log(emissions.singles[rows]), _log(emissions.singles[columns]), _log(emissions.pairs[np.ix_(rows, columns)]),
        float(_log(steps.start_match)), float(_log(steps.match_match)), _log(steps.opens), _log(steps.extends),
        _log(steps.closes),
    )  # fmt: skip


def _sum(*logarithms: npt.ArrayLike) -> Numbers:
    return np.asarray(np.logaddexp.reduce(np.stack(np.broadcast_arrays(*logarithms)), axis=0))


def forward(x: Codes, y: Codes, model: PairHmm, check: Check = lambda: None) -> Matrices:
    """Return the probabilities of all paths to each state; Start is not in them."""
    t = _terms(x, y, model)
    m, n, n_sets = len(x), len(y), model.gaps.n_sets
    match = np.full((m + 1, n + 1), -np.inf)
    inserts, deletes = np.full((2, n_sets, m + 1, n + 1), -np.inf)
    start = np.full(n + 1, -np.inf)
    start[0] = 0.0
    for i in range(m + 1):
        if i % ROWS_BETWEEN_CHECKS == 0:
            check()
        opening = start if i == 0 else match[i]
        if i:
            above = start if i == 1 else match[i - 1]
            step = t.start if i == 1 else t.match
            gaps = [t.closes[k] + _sum(inserts[k, i - 1], deletes[k, i - 1]) for k in range(n_sets)]
            match[i, 1:] = t.pairs[i - 1] + _sum(step + above, *gaps)[:-1]
        for k in range(n_sets):
            if i:
                inserts[k, i] = t.x[i - 1] + _sum(t.opens[k] + above, t.extends[k] + inserts[k, i - 1])
            deletes[k, i, 1:] = _chain(t.y + t.opens[k] + opening[:-1], t.y + t.extends[k])
    total = np.log(TO_END) + _sum(match[m, n], *inserts[:, m, n], *deletes[:, m, n])
    return Matrices(match, inserts, deletes, float(total))


def backward(x: Codes, y: Codes, model: PairHmm, check: Check = lambda: None) -> Matrices:
    """Return the probabilities of all paths from each state to the end; (0, 0) of `match` is that of Start."""
    t = _terms(x, y, model)
    m, n, n_sets = len(x), len(y), model.gaps.n_sets
    match = np.full((m + 1, n + 1), -np.inf)
    inserts, deletes = np.full((2, n_sets, m + 1, n + 1), -np.inf)
    end = np.full(n + 1, -np.inf)
    end[n] = np.log(TO_END)
    nothing = np.full(n + 1, -np.inf)
    for i in range(m, -1, -1):
        if i % ROWS_BETWEEN_CHECKS == 0:
            check()
        last = end if i == m else nothing
        both = nothing.copy()
        if i < m:
            both[:-1] = t.pairs[i] + match[i + 1, 1:]
        v = [t.x[i] + inserts[k, i + 1] if i < m else nothing for k in range(n_sets)]
        w = []
        for k in range(n_sets):
            inserts[k, i] = _sum(t.extends[k] + v[k], t.closes[k] + both, last)
            entering = _sum(t.closes[k] + both, last)[::-1]
            factors = np.concatenate([[0.0], (t.extends[k] + t.y)[::-1]])
            deletes[k, i] = _chain(entering, factors)[::-1]
            w.append(np.append(t.y + deletes[k, i, 1:], -np.inf))
        gaps = [t.opens[k] + _sum(v[k], w[k]) for k in range(n_sets)]
        match[i] = _sum(t.match + both, *gaps, last)
        if i == 0:
            match[0, 0] = _sum(t.start + both[0], *[gap[0] for gap in gaps])
    return Matrices(match, inserts, deletes, float(match[0, 0]))


def _shares(logarithms: Numbers, total: float) -> Numbers:
    """Return numbers as shares of the total; of a pair that is impossible there are none."""
    return np.exp(logarithms - total) if total > -np.inf else np.zeros(logarithms.shape)


def match_posteriors(x: Codes, y: Codes, model: PairHmm, check: Check = lambda: None) -> tuple[Numbers, float]:
    """Return the probability that each two residues match (float64[m, n]), and the logarithm of that of the pair."""
    f, b = forward(x, y, model, check), backward(x, y, model, check)
    return _shares(f.match[1:, 1:] + b.match[1:, 1:], f.total), f.total


def sparse_posteriors(
    x: Codes, y: Codes, model: PairHmm, check: Check = lambda: None, least: float = MIN_POSTERIOR
) -> PosteriorBatch:
    """Return the posteriors of one pair that are kept, and those of gaps."""
    whole, total = match_posteriors(x, y, model, check)
    rows, columns = (places.astype(np.int32) for places in np.nonzero(whole >= least))
    values = np.minimum(whole[rows, columns], 1.0).astype(np.float32)
    return PosteriorBatch(
        np.array([0, len(values)]), rows, columns, values, np.array([0, len(x)]), np.array([0, len(y)]),
        gap_posteriors(rows, values, len(x)), gap_posteriors(columns, values, len(y)), np.array([total]),
    )  # fmt: skip


def expected_counts(x: Codes, y: Codes, model: PairHmm, check: Check = lambda: None) -> ExpectedCounts:
    """Return the expected counts of one pair."""
    t, f, b = _terms(x, y, model), forward(x, y, model, check), backward(x, y, model, check)
    m, n, n_sets, n_letters = len(x), len(y), model.gaps.n_sets, len(model.emissions.letters)
    both = np.full((m + 1, n + 1), -np.inf)
    both[:-1, :-1] = t.pairs + b.match[1:, 1:]
    v, w = np.full((2, n_sets, m + 1, n + 1), -np.inf)
    v[:, :-1] = t.x[:, None] + b.inserts[:, 1:]
    w[:, :, :-1] = t.y + b.deletes[:, :, 1:]

    def total(*logarithms: Numbers) -> float:
        return float(sum(_shares(numbers, f.total).sum() for numbers in logarithms))

    opens, extends, closes = np.zeros((3, 1, n_sets))
    for k in range(n_sets):
        opens[0, k] = total(f.match + t.opens[k] + v[k], f.match + t.opens[k] + w[k])
        extends[0, k] = total(f.inserts[k] + t.extends[k] + v[k], f.deletes[k] + t.extends[k] + w[k])
        closes[0, k] = total(f.inserts[k] + t.closes[k] + both, f.deletes[k] + t.closes[k] + both)
    places = model.emissions.indices
    posteriors = _shares(f.match[1:, 1:] + b.match[1:, 1:], f.total)
    of_x, of_y = np.eye(n_letters)[places[x]], np.eye(n_letters)[places[y]]
    inserts = _shares(f.inserts + b.inserts, f.total).sum(axis=(0, 2))[1:]
    deletes = _shares(f.deletes + b.deletes, f.total).sum(axis=(0, 1))[1:]
    return ExpectedCounts(
        np.array([total(f.match + t.match + both)]), opens, extends, closes,
        (of_x.T @ posteriors @ of_y)[None], (inserts @ of_x)[None], (deletes @ of_y)[None], np.array([f.total]),
    )  # fmt: skip
