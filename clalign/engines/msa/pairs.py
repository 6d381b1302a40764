"""Which pairs of sequences are compared: all of them, or some that suffice."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, no_check
from clalign.engines.msa.draws import Draws
from clalign.engines.msa.spanning_trees import disjoint_trees
from clalign.engines.msa.word_similarities import Shares
from clalign.errors import OptionError

Pairs = npt.NDArray[np.int32]

FAST_FACTOR = 5
"""Times the pairs at which a random graph of the sequences hangs together, that `PairChoice.is_fast` takes."""

DRAWS_A_CHECK = 1 << 14


class Similarities(Protocol):
    """How similar each two of some sequences are: float64[N, N], 0 on the diagonal, or what has such rows."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: tuple[int, slice], /) -> Shares: ...


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


def chosen_pairs(similar: Similarities, choice: PairChoice, n_drawn: int = 0, check: Check = no_check) -> Pairs:
    """Return the pairs that are to be compared, in rising order (int32[P, 2]).

    Of equally similar pairs trees take the first, and of its neighbors a sequence takes the last one. The memory that
    is needed grows with the pairs that are chosen.

    Parameters
    ----------
    similar : Similarities
    choice : PairChoice
    n_drawn : int
        Random numbers of this seed that were drawn before, for residues.
    check : callable, optional
        Called at least some times a second.

    Raises
    ------
    OptionError
        If the choice contradicts itself.
    """
    n = len(similar)
    if choice.to_first and choice.is_fast:
        raise OptionError("Pairs with the first sequence alone cannot be thinned out.", "Leave out one of the two.")
    wanted = choice.wanted(n)
    if choice.to_first or wanted == n * (n - 1) // 2:
        return _stars_of(n, 1 if choice.to_first else n, check)
    near = disjoint_trees(n, choice.nearest_trees, lambda i: 1 - similar[i, i + 1 :], np.empty(0, np.int64), check)
    far = disjoint_trees(n, choice.farthest_trees, lambda i: similar[i, i + 1 :], np.sort(near), check)
    taken = {*near.tolist(), *far.tolist()}
    _take_stars(taken, similar, choice.stars, check)
    _take_nearest(taken, similar, choice.degree, check)
    _take_random(taken, n, wanted, Draws(choice.seed, n_drawn), check)
    numbers = np.sort(np.fromiter(taken, np.int64, len(taken)))
    check()
    return np.stack(np.divmod(numbers, n), axis=1).astype(np.int32)


def _stars_of(n: int, n_centers: int, check: Check) -> Pairs:
    """Return the pairs of each of the first sequences with all later ones."""
    ends = np.cumsum(np.arange(n - 1, -1, -1))[:n_centers].tolist()
    pairs, begin = np.empty((ends[-1], 2), np.int32), 0
    for i, end in enumerate(ends):
        check()
        pairs[begin:end, 0], pairs[begin:end, 1] = i, np.arange(i + 1, n)
        begin = end
    return pairs


def _take_stars(taken: set[int], similar: Similarities, number: int, check: Check) -> None:
    if not number:
        return
    n, sums = len(similar), []
    for i in range(n):
        check()
        sums.append(similar[i, :].sum())
    for center in np.argsort(-np.array(sums), kind="stable")[:number].tolist():
        taken.update(min(i, center) * n + max(i, center) for i in range(n) if i != center)


def _take_nearest(taken: set[int], similar: Similarities, degree: int, check: Check) -> None:
    if not degree:
        return
    n = len(similar)
    degrees = np.bincount(np.array([divmod(number, n) for number in taken], np.int64).ravel(), minlength=n).tolist()
    for i in range(n):
        check()
        for j in (n - 1 - np.argsort(-similar[i, i + 1 :][::-1], kind="stable")).tolist():
            if degrees[i] >= degree:
                break
            if i * n + j not in taken:
                taken.add(i * n + j)
                degrees[i] += 1
                degrees[j] += 1


def _take_random(taken: set[int], n: int, wanted: int, draws: Draws, check: Check) -> None:
    n_draws = 0
    while len(taken) < wanted:
        if n_draws % DRAWS_A_CHECK == 0:
            check()
        n_draws += 1
        i, j = draws.below(n), draws.below(n)
        if i != j:
            taken.add(min(i, j) * n + max(i, j))
