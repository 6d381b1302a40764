"""Random tracebacks through a region that may hold several domains: the plain form that the kernel must equal.

Paths are drawn from the Forward matrix of the region with the multi-hit profile, whose length model stays
that of the whole target. From the end back, each state but N draws one random number u and takes the first of
its predecessors, in the order below, whose cumulative share exceeds u::

    C, J    the same of the residue before * LOOP, E * (E to it) * divisor of the row
    B       N * MOVE, J * MOVE
    M       B, M, I, D of the residue and node before
    I       M, I of the residue before
    D       M, D of the node before
    E       M and D of every node: vector after vector of the striped layout, its M, then its D

Each passage through the model is a segment, and has a composition: the mean of the match emissions of the
nodes of its M and I, summed in the striped order. Over all samples it gives the null2 score of each residue;
the first residue of a segment counts as one outside.

References
----------
HMMER 3.3.2 user's guide: the domain definition by stochastic tracebacks, biased composition.
Knuth, The Art of Computer Programming, volume 2 (1997), 3.2.1: linear congruential generators.
Jenkins, Dr. Dobb's Journal, September 1997: the mix of three words that spreads the seed.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.reference.clustering import domains_of
from clalign.reference.local_rows import ONE, Ends, Floats, Row, forward_rows, multi_hit, times, total
from clalign.values.alphabets import code_of
from clalign.values.envelopes import N_SAMPLES, WORD, Resolved
from clalign.values.local_profiles import LocalProfile, StripedOdds, stripe
from clalign.values.local_scores import letter_ratios
from clalign.values.null2 import null2_scores


class Samples(Struct, frozen=True):
    """All passages through the model of all samples of a region.

    Attributes
    ----------
    segments : int32[n, 5]
        Sample, first residue and one past the last, first node and one past the last of the matches;
        residues are those of the target, everything is counted from 0.
    null2 : float32[Lr]
        Score of each residue of the region in nats.
    """

    segments: npt.NDArray[np.int32]
    null2: Floats


class _Choice:
    """The generator, and the choices that are made with it."""

    def __init__(self, state: int) -> None:
        self.state = state

    def number(self) -> float:
        self.state = (self.state * 69069 + 1) % WORD
        return self.state / WORD

    def among(self, *weights: np.float32) -> int:
        """Return the number of the chosen weight."""
        total = _compensated_sum(weights)
        shares = [float(weight / total) if total != 0 else 1.0 / len(weights) for weight in weights]
        whole = 0.0
        for share in shares:
            whole += share
        number, cumulative = self.number(), 0.0
        for n, share in enumerate(shares):
            cumulative += share
            if number < cumulative / whole:
                return n
        return len(shares) - 1

    def cell(self, row: Row) -> tuple[str, int]:
        """Return the state and node (from 1) by which a row leaves the model."""
        by = ONE / row.e
        weights = np.stack([row.m * by, row.d * by], axis=1).astype(np.float64)
        n_vectors, _, n_lanes = weights.shape
        cumulative = np.add.accumulate(weights.ravel())
        number = self.number()
        while number >= cumulative[-1]:  # rounding left the sum short of one: go round again
            cumulative = np.add.accumulate(np.concatenate([cumulative[-1:], weights.ravel()]))[1:]
        q, place = divmod(int(np.searchsorted(cumulative, number, side="right")), 2 * n_lanes)
        is_delete, lane = divmod(place, n_lanes)
        return "D" if is_delete else "M", lane * n_vectors + q + 1


def _compensated_sum(weights: tuple[np.float32, ...]) -> np.float32:
    """Return a sum with the rounding errors added in again (Kahan's)."""
    total = lost = np.float32(0)
    for weight in weights:
        corrected = weight - lost
        after = total + corrected
        lost = (after - total) - corrected
        total = after
    return total


class _Passage(Struct):
    """A segment while it is walked back: its matches, and how often each node emitted."""

    last: int
    node_last: int
    first: int
    node_first: int
    visits: list[int]


class _Region(Struct, frozen=True):
    """What tracebacks need: the rows of Forward and the probabilities."""

    rows: list[Row]
    odds: StripedOdds
    ends: Ends
    choice: _Choice

    def passages(self) -> list[_Passage]:
        """Draw one path; return its passages from the last to the first."""
        x, state, found = len(self.rows) - 1, "C", []
        while True:
            row, loop = self.rows[x], self.ends.loop
            leaving, before = (
                (self.ends.e_to_c, self.rows[x - 1].c) if state == "C" else (self.ends.e_to_j, self.rows[x - 1].j)
            )
            if self.choice.among(times(before, loop), times(row.e, leaving) * row.scale) == 0:
                x -= 1
                continue
            passage, x = self._through(x)
            found.append(passage)
            if self.choice.among(times(self.rows[x].n, self.ends.move), times(self.rows[x].j, self.ends.move)) == 0:
                return found
            state = "J"

    def _through(self, x: int) -> tuple[_Passage, int]:
        """Walk back from E of a row to B; return the passage and the row of that B."""
        choice, odds, n_vectors = self.choice, self.odds, len(self.odds.begin)
        state, k = choice.cell(self.rows[x])
        passage = _Passage(0, 0, 0, 0, [])
        while True:
            lane, q = divmod(k - 1, n_vectors)
            if state == "D":
                at, row = divmod(k - 2, n_vectors)[::-1], self.rows[x]
                state = "MD"[choice.among(times(row.m[at], odds.md[at]), times(row.d[at], odds.dd[at]))]
                k -= 1
                continue
            row, here = self.rows[x - 1], (q, lane)
            passage.visits.append(k)
            x -= 1
            if state == "I":
                state = "MI"[choice.among(times(row.m[here], odds.mi[here]), times(row.i[here], odds.ii[here]))]
                continue
            if not passage.last:
                passage.last, passage.node_last = x + 1, k
            passage.first, passage.node_first = x, k - 1
            m, i, d = _entering(row, k, n_vectors)
            state = "BMID"[
                choice.among(
                    times(row.b, odds.begin[here]),
                    times(m, odds.mm[here]),
                    times(i, odds.im[here]),
                    times(d, odds.dm[here]),
                )
            ]
            if state == "B":
                return passage, x
            k -= 1


def _entering(row: Row, k: int, n_vectors: int) -> tuple[np.float32, np.float32, np.float32]:
    """Return M, I and D of the node before k."""
    if k == 1:
        return np.float32(0), np.float32(0), np.float32(0)
    at = divmod(k - 2, n_vectors)[::-1]
    return row.m[at], row.i[at], row.d[at]


def composition(visits: list[int], profile: LocalProfile, odds: StripedOdds) -> Floats:
    """Return how much likelier each letter is at the nodes that emitted than in the background (float32[N_CODES])."""
    n_visits = np.bincount(visits, minlength=profile.length + 1)[1:].astype(np.float32)
    used = stripe(n_visits * (ONE / np.float32(len(visits))))
    codes = [code_of(letter) for letter in profile.hmm.alphabet.canonical]
    return letter_ratios(np.array([total(used * odds.emissions[code]) for code in codes]), profile.hmm.alphabet)


def sample(
    codes: npt.NDArray[np.uint8],
    start: int,
    length: int,
    profile: LocalProfile,
    odds: StripedOdds,
    state: int,
    check: Callable[[], None] = lambda: None,
) -> Samples:
    """Draw `N_SAMPLES` paths through a region.

    Parameters
    ----------
    codes : uint8[Lr]
        Letter codes of the region.
    start : int
        Its first residue in the target, counted from 0.
    length : int
        Residues of the whole target.
    profile, odds
        The profile, and `striped_odds` of it.
    state : int
        The generator's first state (`generator_start`).
    check : callable
        May end a long computation.
    """
    ends = multi_hit(length)
    region = _Region(list(forward_rows(codes, odds, ends, check)), odds, ends, _Choice(state))
    sums = np.zeros(len(codes), np.float32)
    segments = []
    for number in range(N_SAMPLES):
        check()
        factors = np.ones(len(codes), np.float32)
        for passage in region.passages():
            ratios = composition(passage.visits, profile, odds)
            inside = slice(passage.first + 1, passage.last)
            factors[inside] = ratios[codes[inside]]
            place = (passage.first + start, passage.last + start, passage.node_first, passage.node_last)
            segments.append((number, *place))
        sums += factors
    table = np.array(segments, np.int32).reshape(-1, 5)
    return Samples(table, null2_scores(sums / np.float32(N_SAMPLES)))


def resolve(samples: Samples) -> Resolved:
    """Return the envelopes that samples show."""
    return Resolved(tuple(domains_of(samples.segments, N_SAMPLES)), samples.null2)
