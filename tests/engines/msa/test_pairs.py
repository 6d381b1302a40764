"""Which pairs are compared: known numbers, trees by brute force, and draws that can be repeated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clalign.engines.msa.pairs import PairChoice, chosen_pairs
from clalign.engines.msa.word_similarities import WordSimilarities, word_length
from clalign.errors import OptionError

FAST = {10: 45, 14: 91, 15: 104, 20: 156, 30: 271, 50: 527, 73: 849, 100: 1253, 200: 2899, 500: 8527, 1000: 18977}
"""Pairs that FSA takes among so many sequences with --fast."""


def random_similarities(seed: int, n: int) -> np.ndarray:
    given = np.triu(np.random.default_rng(seed).random((n, n)).round(1), 1)
    return given + given.T


@pytest.mark.parametrize(("n", "pairs"), FAST.items())
def test_so_many_pairs_are_wanted(n: int, pairs: int) -> None:
    assert PairChoice(is_fast=True).wanted(n) == pairs


@pytest.mark.parametrize(
    ("choice", "pairs"),
    [
        (PairChoice(), 190), (PairChoice(fraction=0.5), 95), (PairChoice(number=100), 100), (PairChoice(number=5), 19),
        (PairChoice(number=999), 190), (PairChoice(to_first=True), 19), (PairChoice(fraction=0.0), 19),
    ],
)  # fmt: skip
def test_wanted_pairs_are_no_fewer_than_hang_together(choice: PairChoice, pairs: int) -> None:
    assert choice.wanted(20) == pairs


def test_fraction_and_trees() -> None:
    similar = random_similarities(1, 30)
    pairs = chosen_pairs(similar, PairChoice(is_fast=True)).tolist()
    assert len(pairs) == FAST[30]
    assert pairs == sorted(pairs)
    assert all(x < y for x, y in pairs)
    assert len({tuple(pair) for pair in pairs}) == len(pairs)
    assert chosen_pairs(similar, PairChoice(is_fast=True)).tolist() == pairs
    others = chosen_pairs(similar, PairChoice(is_fast=True, seed=2)).tolist()
    assert others != pairs
    trees = chosen_pairs(similar, PairChoice(number=0)).tolist()
    assert len(trees) == 3 * 29
    assert all(pair in pairs and pair in others for pair in trees)


def test_random_pairs_are_those_of_fsa() -> None:
    """As it takes them of 17 sequences with --mst-min 0 --alignment-number 30."""
    expected = (
        "0-6 0-9 0-10 0-15 0-16 1-2 1-8 2-3 2-5 2-6 2-11 2-14 3-4 3-9 3-10 3-13 3-14 3-15 4-8 4-9 4-14 5-10 5-12 5-14"
        " 6-14 6-16 9-10 10-15 11-13 11-14"
    )
    choice = PairChoice(number=30, nearest_trees=0)
    assert " ".join(f"{x}-{y}" for x, y in chosen_pairs(np.zeros((17, 17)), choice).tolist()) == expected
    others = chosen_pairs(np.zeros((17, 17)), choice, 1)
    assert " ".join(f"{x}-{y}" for x, y in others.tolist()) != expected


def test_all_pairs_and_a_star() -> None:
    similar = random_similarities(1, 6)
    assert chosen_pairs(similar, PairChoice()).tolist() == [list(p) for p in itertools.combinations(range(6), 2)]
    assert chosen_pairs(similar, PairChoice(to_first=True)).tolist() == [[0, j] for j in range(1, 6)]
    with pytest.raises(OptionError):
        chosen_pairs(similar, PairChoice(to_first=True, is_fast=True))


def kruskal(weights: np.ndarray, taken: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the smallest spanning tree without taken pairs; fewer pairs than that where there is none."""
    groups, tree = list(range(len(weights))), set()
    edges = (pair for pair in itertools.combinations(range(len(weights)), 2) if pair not in taken)
    for x, y in sorted(edges, key=lambda pair: (np.float32(weights[pair]), pair)):
        if groups[x] != groups[y]:
            tree.add((x, y))
            groups = [groups[x] if group == groups[y] else group for group in groups]
    return tree


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("is_far", [False, True])
def test_trees_are_the_smallest(seed: int, is_far: bool) -> None:
    n, similar, taken = 9, random_similarities(seed, 9), set()
    for number in range(1, 7):
        tree = kruskal(similar if is_far else 1 - similar, taken)
        if len(tree) < n - 1:
            tree = set()
        taken |= tree
        counts = {"farthest_trees": number, "nearest_trees": 0} if is_far else {"nearest_trees": number}
        pairs = chosen_pairs(similar, PairChoice(number=0, **counts)).tolist()
        assert taken <= {tuple(pair) for pair in pairs}
        assert len(pairs) == len(taken)


def test_stars_and_degrees() -> None:
    similar = random_similarities(3, 8)
    center = int(similar.sum(axis=1).argmax())
    star = chosen_pairs(similar, PairChoice(number=0, nearest_trees=0, stars=1)).tolist()
    assert all(center in pair for pair in star)
    assert len(star) == 7
    near = chosen_pairs(similar, PairChoice(number=0, nearest_trees=0, degree=3)).tolist()
    assert all(sum(i in pair for pair in near) >= 3 for i in range(5))


def test_long_words_are_refused() -> None:
    codes = [np.arange(20, dtype=np.uint8)] * 2
    assert WordSimilarities(codes, 20, 14)[0, :].tolist() == [0, 1.0]
    with pytest.raises(OptionError, match=r"\b14\b"):
        WordSimilarities(codes, 20, 15)


def test_words_in_common() -> None:
    """Of AABAA and AAB, of words of two letters: AA and AB once each, of two words that the shorter one has."""
    codes = [np.array(list(text), np.uint8) for text in ([0, 0, 1, 0, 0], [0, 0, 1], [1], [])]
    found = [WordSimilarities(codes, 20, 2)[i, :].tolist() for i in range(4)]
    assert found == [[0, 1.0, 0, 0], [1.0, 0, 0, 0], [0] * 4, [0] * 4]
    ones = WordSimilarities(codes, 20, 1)
    assert [ones[i, :].tolist() for i in range(2)] == [[0, 1.0, 1.0, 0], [1.0, 0, 1.0, 0]]


@pytest.mark.parametrize(
    ("lengths", "k"), [([0, 0], 1), ([19, 19], 1), ([20, 3], 2), ([400] * 3, 3), ([1417, 1460], 3)]
)
def test_length_of_words(lengths: list[int], k: int) -> None:
    assert word_length(lengths, 20) == k
