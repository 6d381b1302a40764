"""The references of Forward, Backward, MSV and pairs of sequences against every path, walked one by one."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from clalign.reference.forward import forward_score
from clalign.reference.local_rows import Ends, Row, backward_rows, forward_rows, multi_hit, single_hit
from clalign.reference.local_rows import forward_score as striped_score
from clalign.reference.msv import OVERFLOW, msv_level
from clalign.reference.smith_waterman import pair_score
from clalign.reference.smith_waterman_trace import pair_alignment
from clalign.values.alphabets import N_CODES, encode
from clalign.values.local_profiles import LocalProfile, odds, striped_odds
from clalign.values.local_scores import BYTE_BASE, BYTE_E_MOVE, ByteScores
from clalign.values.pair_alignments import path_score
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM
from clalign.values.scoring import MODES, GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence
from clalign.values.synthetic import random_codes, random_local_profile

Codes = npt.NDArray[np.uint8]
Place = tuple[str, int, int]
"""State, node (0 outside of the model) and how many residues were emitted."""


class Walk:
    """Every path of a sequence through a local model: no matrix, no row, only one arrow after another.

    Attributes
    ----------
    before, after : dict
        Of each place, the sums over all ways to it, and over all ways from it to the end.
    """

    def __init__(self, codes: Codes, profile: LocalProfile, ends: Ends) -> None:
        self.codes, self.length, self.odds, self.ends = codes, profile.length, odds(profile), ends
        self.before: dict[Place, float] = defaultdict(float)
        self.after: dict[Place, float] = {}
        self.total = self.walk(("N", 0, 0), 1.0)

    def walk(self, place: Place, product: float) -> float:
        self.before[place] += product
        total = sum(float(p) * self.walk(following, product * float(p)) for p, following in self.arrows(*place) if p)
        if place[0] == "C" and place[2] == len(self.codes):
            total += float(self.ends.move)
        self.after[place] = total
        return total

    def arrows(self, state: str, k: int, i: int) -> Iterator[tuple[float, Place]]:
        t, ends = self.odds.transitions, self.ends
        has_more, has_node = i < len(self.codes), k < self.length
        match = self.odds.match[self.codes[i]] if has_more else np.zeros(self.length + 1)
        if state in "NJC" and has_more:
            yield ends.loop, (state, 0, i + 1)
        if state in "NJ":
            yield ends.move, ("B", 0, i)
        elif state == "B" and has_more:
            yield from ((self.odds.begin[k] * match[k], ("M", k, i + 1)) for k in range(1, self.length + 1))
        elif state == "E":
            yield from ((ends.e_to_c, ("C", 0, i)), (ends.e_to_j, ("J", 0, i)))
        elif state in "MID":
            to_match, to_insert, to_delete = {"M": (MM, MI, MD), "I": (IM, II, None), "D": (DM, None, DD)}[state]
            if has_node and has_more:
                yield t[to_match, k] * match[k + 1], ("M", k + 1, i + 1)
            if to_insert is not None and has_more:
                yield t[to_insert, k], ("I", k, i + 1)
            if to_delete is not None and has_node:
                yield t[to_delete, k], ("D", k + 1, i)
            if state in "MD":
                yield 1.0, ("E", 0, i)


def cells(row: Row, n_nodes: int) -> dict[tuple[str, int], float]:
    """Return what a row holds, by state and node."""
    n_vectors = len(row.m)
    striped = {(state, k): float(getattr(row, state.lower())[(k - 1) % n_vectors, (k - 1) // n_vectors])
               for state in "MID" for k in range(1, n_nodes + 1)}  # fmt: skip
    return {**striped, **{(state, 0): float(getattr(row, state.lower())) for state in "NEJBC"}}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n_nodes", "length"), [(1, 1), (1, 4), (2, 2), (2, 4), (3, 3), (5, 3), (4, 4)])
def test_forward_and_backward_are_sums_over_every_path(n_nodes: int, length: int, seed: int) -> None:
    profile = random_local_profile(np.random.default_rng(seed), n_nodes)
    codes = random_codes(np.random.default_rng((seed, length)), length)
    striped = striped_odds(profile)
    for ends in (multi_hit(length), single_hit(length)):
        walk = Walk(codes, profile, ends)
        forward = list(forward_rows(codes, striped, ends))
        scales = np.array([row.scale for row in forward], np.float32)
        assert (scales == 1).all(), "so that the numbers can be compared as they are"
        backward = list(backward_rows(codes, scales, striped, ends))[::-1]
        for i, (row, other) in enumerate(zip(forward, backward, strict=True)):
            for (state, k), value in cells(row, n_nodes).items():
                assert value == pytest.approx(walk.before.get((state, k, i), 0.0), rel=2e-6), (state, k, i)
            if i:  # of row 0 only N and B are computed
                for (state, k), value in cells(other, n_nodes).items():
                    if (state, k, i) in walk.after:
                        assert value == pytest.approx(walk.after[state, k, i], rel=2e-6), (state, k, i)
        assert float(backward[0].n) == pytest.approx(walk.total, rel=2e-6)
        assert striped_score(forward[-1].c, scales, ends) == pytest.approx(math.log(walk.total), abs=2e-6)
        if ends == multi_hit(length):
            assert forward_score(codes, profile) == pytest.approx(math.log(walk.total), abs=2e-6)


def msv_ends(
    codes: Codes, scores: ByteScores, byte_move: int, start: int = 0, level: int = 0, n: int = 1
) -> Iterator[tuple[int, int]]:
    """Yield the level of the last residue and the number of segments of every list of ungapped segments."""
    gains = scores.bias - scores.costs.astype(int)
    for first, node in itertools.product(range(start, len(codes)), range(1, gains.shape[1])):
        reached = max(BYTE_BASE, level) - byte_move - scores.begin
        for length in range(min(len(codes) - first, gains.shape[1] - node)):
            reached += int(gains[codes[first + length], node + length])
            yield reached, n
            yield from msv_ends(codes, scores, byte_move, first + length + 1, reached - BYTE_E_MOVE, n + 1)


@pytest.mark.parametrize(("bias", "overflows"), [(12, False), (30, True)])
def test_msv_is_the_best_list_of_segments(bias: int, overflows: bool) -> None:
    """Where the level gets too high for a byte, that is told."""
    n_several = n_over = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs = rng.integers(0, 2 * bias, (N_CODES, 4)).astype(np.uint8)
        scores, codes = ByteScores(costs, bias, int(rng.integers(0, 6))), random_codes(rng, 5)
        byte_move = int(rng.integers(0, 4))
        best, n_segments = max(msv_ends(codes, scores, byte_move))
        is_over = best + bias >= 255
        assert msv_level(codes, scores, byte_move) == (OVERFLOW if is_over else best - BYTE_E_MOVE)
        n_over += is_over
        n_several += n_segments > 1
    assert (n_over > 2) == overflows
    assert n_several > 2


def every_alignment(m: int, n: int) -> list[str]:
    """Return every path through so many residues of query and target."""
    if m == n == 0:
        return [""]
    steps = (("M", m - 1, n - 1), ("D", m, n - 1), ("I", m - 1, n))
    return [letter + rest for letter, a, b in steps if min(a, b) >= 0 for rest in every_alignment(a, b)]


PATHS = {(m, n): every_alignment(m, n) for m, n in itertools.product(range(6), repeat=2)}


def is_allowed(path: str, begin: tuple[int, int], end: tuple[int, int], shape: tuple[int, int], mode: Mode) -> bool:
    """Tell whether a mode lets a path lie there; what is empty is looked at elsewhere."""
    if mode == "global":
        return begin == (0, 0) and end == shape
    if mode == "semiglobal":
        return min(begin) == 0 and (end[0] == shape[0] or end[1] == shape[1]) and min(end) > 0
    return mode == "local" or set(path) <= {"M"}


def every_end(query: Codes, target: Codes, scoring: Scoring) -> dict[tuple[int, int], int]:
    """Return the best score of all paths that end in a cell, by cell; those without any column score 0."""
    scores, (m, n) = scoring.matrix.scores.astype(int), (len(query), len(target))
    best: dict[tuple[int, int], int] = {}
    for a, b in itertools.product(range(m + 1), range(n + 1)):
        for i, j in itertools.product(range(a, m + 1), range(b, n + 1)):
            for path in PATHS[i - a, j - b]:
                if not is_allowed(path, (a, b), (i, j), (m, n), scoring.mode):
                    continue
                x, y, score = a, b, 0
                for letter, run in itertools.groupby(path):
                    length = len(list(run))
                    if letter == "M":
                        score += sum(scores[query[x + s], target[y + s]] for s in range(length))
                    else:
                        score -= scoring.gaps.first + (length - 1) * scoring.gaps.next
                    x, y = x + length * (letter != "D"), y + length * (letter != "I")
                best[i, j] = max(best.get((i, j), score), score)
    return best


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("gaps", [GapCosts(2, 1), GapCosts(1, 1), GapCosts(5, 0), GapCosts(0, 0)])
def test_pairs_have_the_best_of_every_alignment(mode: Mode, gaps: GapCosts) -> None:
    rng = np.random.default_rng(3)
    kinds: Counter[str] = Counter()
    for m, n in [(1, 1), (1, 5), (5, 1), (3, 3), (2, 4), (4, 3), (4, 4), (5, 4)]:
        matrix = SubstitutionMatrix.from_table("random", "ACD", rng.integers(-4, 6, (3, 3)), is_nucleic=False)
        query, target = (encode("".join(rng.choice(list("ACD"), length))) for length in (m, n))
        pair = PairwiseQuery(Sequence("", "", query), Scoring(matrix, gaps, mode))
        ends = every_end(query, target, pair.scoring)
        best = max(ends.values())
        found = pair_alignment(pair, target)
        assert found.score == pair_score(pair, target) == (max(best, 0) if pair.scoring.is_local else best)
        kinds.update(set(found.path))
        if found.path:
            assert path_score(found, query, target, pair.scoring) == best
            first = min((cell for cell, score in ends.items() if score == best), key=lambda cell: (sum(cell), cell[0]))
            assert (found.query_range[1], found.target_range[1]) == first
    assert set(kinds) >= ({"M", "D", "I"} if mode == "global" else {"M"})
