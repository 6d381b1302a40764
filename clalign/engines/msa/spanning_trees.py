"""Smallest spanning trees of all pairs of sequences, without a list of all pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, no_check

Keys = npt.NDArray[np.uint64]
Integers = npt.NDArray[np.int64]

NUMBER_BITS = 34
"""Bits of the number of a pair in a key, i * N + j; above them are the 30 of a weight from 0 to 1."""

MAX_SEQUENCES = 1 << NUMBER_BITS // 2

UNCONNECTED = np.iinfo(np.uint64).max

MIN_PENDING = 1 << 16
"""Pairs that are worth sorting."""

EDGES_A_CHECK = 1 << 14


class Forest(Struct, frozen=True, eq=False):
    """The smallest pairs of some that connect sequences without a circle.

    Attributes
    ----------
    edges : uint64[n_edges]
        Their keys, in rising order.
    places : int64[N]
        A place for each sequence, those that are connected by small edges being near each other.
    heights : uint64[N - 1]
        Of each two neighboring places: the largest edge on the way between their sequences, or `UNCONNECTED`. Of any
        two it is the largest of all between their places.
    """

    edges: Keys
    places: Integers
    heights: Keys

    def largest_edges(self, i: int) -> Keys:
        """Return the largest edge on the way from sequence `i` to each later one (uint64[N - 1 - i])."""
        place, found = int(self.places[i]), np.zeros(len(self.places), np.uint64)
        found[place + 1 :] = np.maximum.accumulate(self.heights[place:])
        found[:place] = np.maximum.accumulate(self.heights[:place][::-1])[::-1]
        return found[self.places[i + 1 :]]


def disjoint_trees(
    n: int, number: int, weights: Callable[[int], npt.NDArray[np.float64]], without: Integers, check: Check = no_check
) -> Integers:
    """Return the pairs of smallest spanning trees that share none, as many as there are (int64, i * n + j each).

    Of pairs with the same weight in single precision the first ones are taken. Pairs are gone through once: one that
    is larger than the way which the forests of those before already have is in no tree, and is forgotten. What is
    kept is a small multiple of n.

    Parameters
    ----------
    n : int
        Sequences, at most `MAX_SEQUENCES`.
    number : int
        Trees that are wanted, each of pairs that the ones before have not taken.
    weights : callable
        Returns the weights, from 0 to 1, of the pairs of a sequence with all later ones (float64[n - 1 - i]).
    without : int64[k]
        Pairs that are left out, in rising order.
    check : callable, optional
        Called at least some times a second.
    """
    forests: list[Forest] = []
    pending: list[Keys] = []
    n_pending = 0
    for i in range(n - 1 if number else 0):
        check()
        numbers = np.arange(i * n + i + 1, (i + 1) * n, dtype=np.uint64)
        bits = weights(i).astype(np.float32).view(np.uint32).astype(np.uint64)
        keys = bits << np.uint64(NUMBER_BITS) | numbers
        is_free = np.ones(len(keys), bool)
        first, last = np.searchsorted(without, [i * n, (i + 1) * n])
        is_free[without[first:last] - (i * n + i + 1)] = False
        if forests:
            is_free &= keys < forests[-1].largest_edges(i)
        pending.append(keys[is_free])
        n_pending += len(pending[-1])
        if n_pending > max(MIN_PENDING, 4 * n) or i == n - 2:
            known = [forest.edges for forest in forests]
            forests, pending, n_pending = _forests(np.sort(np.concatenate([*known, *pending])), n, number, check), [], 0
    trees = [np.empty(0, np.int64)]
    for forest in forests:
        if len(forest.edges) < n - 1:
            break
        trees.append((forest.edges & np.uint64((1 << NUMBER_BITS) - 1)).astype(np.int64))
    return np.concatenate(trees)


def _forests(edges: Keys, n: int, number: int, check: Check) -> list[Forest]:
    """Return the smallest forest of edges in rising order, then that of those that are left, and so on."""
    forests = []
    for _ in range(number):
        forest, is_taken = _forest(edges, n, check)
        forests.append(forest)
        edges = edges[~is_taken]
    return forests


def _forest(edges: Keys, n: int, check: Check) -> tuple[Forest, npt.NDArray[np.bool_]]:
    """Return the smallest forest (by Kruskal's algorithm), and which edges are in it."""
    x, y = (part.tolist() for part in np.divmod(edges & np.uint64((1 << NUMBER_BITS) - 1), np.uint64(n)))
    parents, lasts, following, before = list(range(n)), list(range(n)), [-1] * n, [-1] * n
    is_taken, is_first = np.zeros(len(edges), bool), [True] * n
    n_taken = 0
    for edge in range(len(edges)):
        if edge % EDGES_A_CHECK == 0:
            check()
        one, other = x[edge], y[edge]
        while parents[one] != one:
            parents[one] = one = parents[parents[one]]
        while parents[other] != other:
            parents[other] = other = parents[parents[other]]
        if one == other:
            continue
        is_taken[edge] = True
        # Each tree is a chain that begins with its root: the other one is appended.
        following[lasts[one]], before[other], is_first[other] = other, edge, False
        lasts[one], parents[other] = lasts[other], one
        n_taken += 1
        if n_taken == n - 1:
            break
    order, heights = [], []
    for root in range(n):
        node = root if is_first[root] else -1
        while node >= 0:
            order.append(node)
            heights.append(int(edges[before[node]]) if before[node] >= 0 else UNCONNECTED)
            node = following[node]
    places = np.empty(n, np.int64)
    places[order] = np.arange(n)
    return Forest(edges[is_taken], places, np.array(heights[1:], np.uint64)), is_taken
