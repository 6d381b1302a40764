"""Which pairs of sequences are compared: all of them, or some that tell enough."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.engines.msa.draws import Draws
from clalign.errors import OptionError

Similarities = npt.NDArray[np.float64]
Residues = npt.NDArray[np.uint8]
Pairs = npt.NDArray[np.int32]

FAST_FACTOR = 5
"""Times the pairs at which a random graph of the sequences hangs together, that `PairChoice.is_fast` takes."""

WORDS = 1 << 12
"""Different words that are counted at a time."""

_TAKEN = np.iinfo(np.int64).max


class PairChoice(Struct, frozen=True):
    """How pairs are chosen.

    Attributes
    ----------
    is_fast : bool
        Whether only so many are taken as grow little faster than the number of sequences.
    to_first : bool
        Whether only pairs with the first sequence are taken.
    number : int or None
        How many are wanted, in place of a `fraction`.
    fraction : float
        Of all pairs.
    nearest_trees, farthest_trees : int
        Spanning trees of the most, and of the least, similar pairs.
    stars : int
        Sequences that are compared with all others: the ones that are most similar to them.
    degree : int
        How many of the most similar ones later in the input each sequence is compared with.
    seed : int
        Of the pairs that are drawn.
    """

    is_fast: bool = False
    to_first: bool = False
    number: int | None = None
    fraction: float = 1.0
    nearest_trees: int = 3
    farthest_trees: int = 0
    stars: int = 0
    degree: int = 0
    seed: int = 1

    def wanted(self, n: int) -> int:
        """Return how many pairs among n sequences are wanted; more may be taken for trees."""
        total = n * (n - 1) // 2
        fraction = FAST_FACTOR * 1.1 * math.log(n) / n if self.is_fast else self.fraction
        number = math.floor(total * fraction) if self.number is None else self.number
        return n - 1 if self.to_first else max(n - 1, min(number, total))


def word_length(lengths: Sequence[int], n_letters: int) -> int:
    """Return the length of the words that similarities are counted by, for sequences of these lengths."""
    median = sorted(lengths)[len(lengths) // 2]
    return 1 + int(math.log(max(1, median)) / math.log(n_letters))


def similarities(sequences: Sequence[Residues], n_letters: int, length: int | None = None) -> Similarities:
    """Return the share of words that each two sequences have in common (float64[N, N], 0 on the diagonal).

    Parameters
    ----------
    sequences : list of uint8[length]
        Residues, smaller than `n_letters`.
    n_letters : int
    length : int, optional
        Of a word; by default what suits the sequences.

    Raises
    ------
    OptionError
        If words are longer than 64 bits can number.
    """
    n, lengths = len(sequences), [len(sequence) for sequence in sequences]
    length = length or word_length(lengths, n_letters)
    if n_letters**length > _TAKEN:
        longest = int(math.log(_TAKEN, n_letters))
        raise OptionError(f"Words of {length} letters are too long.", f"Compare words of at most {longest} letters.")
    owners, words = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, sequence in enumerate(sequences):
        windows = np.lib.stride_tricks.sliding_window_view(sequence, length) if len(sequence) >= length else None
        if windows is not None:
            words.append(windows.astype(np.int64) @ n_letters ** np.arange(length, dtype=np.int64))
            owners.append(np.full(len(windows), number))
    different, places = np.unique(np.concatenate(words), return_inverse=True)
    owner, common = np.concatenate(owners), np.zeros((n, n))
    for first in range(0, len(different), WORDS):
        inside = (places >= first) & (places < first + WORDS)
        counts = np.zeros((n, min(WORDS, len(different) - first)), np.int32)
        np.add.at(counts, (owner[inside], places[inside] - first), 1)
        for i in range(n - 1):
            has = np.flatnonzero(counts[i])
            common[i, i + 1 :] += np.minimum(counts[i, has], counts[i + 1 :, has]).sum(axis=1)
    shorter = np.minimum.outer(lengths, lengths)
    divisors = np.maximum(1, np.where(shorter < length, shorter, shorter - length + 1))
    found: Similarities = (common + common.T) / divisors
    return found


def chosen_pairs(similar: Similarities, choice: PairChoice, n_drawn: int = 0) -> Pairs:
    """Return the pairs that are to be compared, in rising order (int32[P, 2]).

    Of equally similar pairs trees take the first, and of its neighbors a sequence takes the last one.

    Parameters
    ----------
    similar : float64[N, N]
        As `similarities` returns them.
    choice : PairChoice
    n_drawn : int
        Random numbers of this seed that were drawn before, for residues.

    Raises
    ------
    OptionError
        If the choice contradicts itself.
    """
    n = len(similar)
    if choice.to_first and choice.is_fast:
        raise OptionError("Pairs with the first sequence alone cannot be thinned out.", "Leave out one of the two.")
    taken = np.zeros((n, n), bool)
    wanted = choice.wanted(n)
    if choice.to_first:
        taken[0, 1:] = True
    elif wanted == n * (n - 1) // 2:
        taken[np.triu_indices(n, 1)] = True
    else:
        _take_trees(taken, _ranks(1 - similar), choice.nearest_trees)
        _take_trees(taken, _ranks(similar), choice.farthest_trees)
        _take_stars(taken, similar, choice.stars)
        _take_nearest(taken, similar, choice.degree)
        _take_random(taken, wanted, Draws(choice.seed, n_drawn))
    return np.argwhere(taken).astype(np.int32)


def _ranks(weights: Similarities) -> npt.NDArray[np.int64]:
    """Return the place of each pair in the order of single-precision weights, then of numbers (int64[N, N])."""
    n = len(weights)
    x, y = np.triu_indices(n, 1)
    order = np.argsort(weights[x, y].astype(np.float32), kind="stable")
    ranks = np.full((n, n), _TAKEN)
    ranks[x[order], y[order]] = ranks[y[order], x[order]] = np.arange(len(order))
    return ranks


def _take_trees(taken: npt.NDArray[np.bool_], ranks: npt.NDArray[np.int64], number: int) -> None:
    """Take the edges of smallest spanning trees (by Prim's algorithm) that share none, as many as there are."""
    for _ in range(number):
        left = np.where(taken | taken.T, _TAKEN, ranks)
        best, nearest = left[0].copy(), np.zeros(len(left), np.int64)
        outside = np.ones(len(left), bool)
        outside[0] = False
        edges = []
        while outside.any():
            new = int(np.argmin(np.where(outside, best, _TAKEN)))
            if not outside[new] or best[new] == _TAKEN:
                return
            edges.append(sorted((new, int(nearest[new]))))
            outside[new] = False
            nearest = np.where(left[new] < best, new, nearest)
            best = np.minimum(best, left[new])
        taken[tuple(np.array(edges, np.int64).reshape(-1, 2).T)] = True


def _take_stars(taken: npt.NDArray[np.bool_], similar: Similarities, number: int) -> None:
    for center in np.argsort(-similar.sum(axis=1), kind="stable")[:number].tolist():
        taken[:center, center] = True
        taken[center, center + 1 :] = True


def _take_nearest(taken: npt.NDArray[np.bool_], similar: Similarities, degree: int) -> None:
    for i in range(len(taken) if degree else 0):
        for j in len(taken) - 1 - np.argsort(-similar[i, :i:-1], kind="stable"):
            if taken[i].sum() + taken[:, i].sum() >= degree:
                break
            taken[i, j] = True


def _take_random(taken: npt.NDArray[np.bool_], wanted: int, draws: Draws) -> None:
    n, missing = len(taken), wanted - int(taken.sum())
    while missing > 0:
        i, j = draws.below(n), draws.below(n)
        x, y = min(i, j), max(i, j)
        if x < y and not taken[x, y]:
            taken[x, y] = True
            missing -= 1
