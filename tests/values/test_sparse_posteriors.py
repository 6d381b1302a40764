"""Posteriors in arrays: what is left for gaps, what is found again, and pairs that are put together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.values.multiple_alignments import offsets_of
from clalign.values.pair_hmm import PosteriorBatch
from clalign.values.sparse_posteriors import ExcessPosterior, PosteriorMatrix, SparsePosteriors
from tests.posterior_cases import random_pair, random_posteriors


def entries(*given: tuple[int, int, float]) -> tuple[np.ndarray, ...]:
    rows, columns, p = zip(*given, strict=True)
    return np.array(rows, np.int32), np.array(columns, np.int32), np.array(p, np.float32)


def test_gap_posteriors_are_what_is_left() -> None:
    pair = PosteriorMatrix.from_entries((4, 3), *entries((0, 0, 0.25), (0, 2, 0.5), (2, 1, 1.0), (3, 0, 0.5)))
    assert pair.x_gaps.tolist() == [0.25, 1.0, np.float32(1e-4), 0.5]
    assert pair.y_gaps.tolist() == [0.25, np.float32(1e-4), 0.5]
    assert pair.starts.tolist() == [0, 2, 2, 3, 4]
    assert pair.rows.tolist() == [0, 0, 2, 3]


def test_gap_posteriors_are_subtracted_one_after_the_other_as_single_numbers() -> None:
    rng = np.random.default_rng(1)
    pair = random_pair(rng, 30, 25)
    for length, gaps, places in ((30, pair.x_gaps, pair.rows), (25, pair.y_gaps, pair.columns)):
        left = [np.float32(1)] * length
        for place, p in zip(places.tolist(), pair.probabilities, strict=True):
            left[place] = max(left[place] - p, np.float32(1e-4))
        assert gaps.tolist() == [float(value) for value in left]


@pytest.mark.parametrize("over", [(0, 1, 0.6), (1, 0, 0.6)])
def test_posteriors_that_add_up_to_more_than_1_are_refused(over: tuple[int, int, float]) -> None:
    with pytest.raises(ExcessPosterior):
        PosteriorMatrix.from_entries((2, 2), *entries((0, 0, 0.5), over))
    PosteriorMatrix.from_entries((2, 2), *entries((0, 0, 0.5), (*over[:2], 0.5005)))


def test_entries_are_found() -> None:
    pair = random_pair(np.random.default_rng(2), 12, 9)
    dense = np.zeros((12, 9), np.float32)
    dense[pair.rows, pair.columns] = pair.probabilities
    x, y = (part.ravel() for part in np.indices(dense.shape))
    assert np.array_equal(pair.at(x, y), dense.ravel())
    empty = PosteriorMatrix.from_entries((2, 2), *np.empty((2, 0), np.int32), np.empty(0, np.float32))
    assert empty.at(np.array([1]), np.array([0])).tolist() == [0.0]


def test_pairs_are_the_same_together_and_apart() -> None:
    posteriors = random_posteriors(3, [5, 0, 7, 6, 4], 0.7)
    parts = list(posteriors.each())
    again = SparsePosteriors.joined([5, 0, 7, 6, 4], parts)
    for name in ("pairs", "starts", "columns", "probabilities", "x_gaps", "y_gaps"):
        assert np.array_equal(getattr(again, name), getattr(posteriors, name))
    numbers = posteriors.pair_numbers()
    assert [numbers[x, y] for x, y, _ in parts] == list(range(len(posteriors))) == [numbers[y, x] for x, y, _ in parts]
    assert (numbers >= 0).sum() == 2 * len(posteriors)
    for x, y, part in parts:
        for alone in (posteriors.of(x, y), posteriors.of(y, x)):
            assert alone is not None
            for name in ("starts", "columns", "probabilities", "x_gaps", "y_gaps"):
                assert np.array_equal(getattr(alone, name), getattr(part, name))
    assert posteriors.of(2, 2) is None
    assert posteriors.n_bytes > 8 * len(posteriors.columns)


def test_what_stages_find_is_the_same() -> None:
    lengths = [5, 0, 7, 6, 4]
    posteriors = random_posteriors(4, lengths, 0.7)
    matrices = [matrix for _, _, matrix in posteriors.each()]
    found = PosteriorBatch(
        offsets_of([len(matrix.columns) for matrix in matrices]),
        np.concatenate([matrix.rows for matrix in matrices]),
        posteriors.columns, posteriors.probabilities, posteriors.row_offsets, posteriors.y_offsets,
        posteriors.x_gaps, posteriors.y_gaps, np.zeros(len(matrices)),
    )  # fmt: skip
    again = SparsePosteriors.of_pairs(lengths, posteriors.pairs, found)
    for name in ("lengths", "pairs", "starts", "columns", "probabilities", "x_gaps", "y_gaps"):
        assert np.array_equal(getattr(again, name), getattr(posteriors, name))


def test_pairs_with_an_empty_sequence_are_left_out() -> None:
    """Of sequences of 2, 0 and 1 residues, all of whose pairs were computed."""
    integers, ones = np.zeros(1, np.int32), np.ones(3, np.float32)
    found = PosteriorBatch(
        np.array([0, 0, 1, 1]), integers + 1, integers, np.array([0.5], np.float32), np.array([0, 2, 4, 4]),
        np.array([0, 0, 1, 2]), np.array([1, 1, 1, 0.5], np.float32), np.array([0.5, 1], np.float32), ones,
    )  # fmt: skip
    posteriors = SparsePosteriors.of_pairs([2, 0, 1], np.array([[0, 1], [0, 2], [1, 2]], np.int32), found)
    ((x, y, matrix),) = posteriors.each()
    assert (x, y, matrix.rows.tolist(), matrix.columns.tolist()) == (0, 2, [1], [0])
    assert (matrix.x_gaps.tolist(), matrix.y_gaps.tolist()) == ([1.0, 0.5], [0.5])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("pairs", lambda pairs: pairs[:-1]),
        ("pairs", lambda pairs: pairs[:, ::-1]),
        ("lengths", lambda lengths: lengths + 1),
        ("starts", lambda starts: starts[::-1]),
        ("starts", lambda starts: starts + 1),
        ("starts", lambda starts: starts[1:]),
        ("columns", lambda columns: columns - 1),
        ("columns", lambda columns: columns + 3),
        ("columns", lambda columns: columns[1:]),
        ("probabilities", lambda values: values[1:]),
        ("x_gaps", lambda values: values[1:]),
        ("y_gaps", lambda values: values[1:]),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    posteriors = random_posteriors(1, [5, 0, 7, 6])
    posteriors.check()
    with pytest.raises(ValueError, match="arrays"):
        replace(posteriors, **{name: change(getattr(posteriors, name))}).check()


def test_no_pairs() -> None:
    posteriors = random_posteriors(3, [5, 7], 0.0)
    assert len(posteriors) == 0
    assert list(posteriors.each()) == []
    assert (posteriors.pair_numbers() == -1).all()
    posteriors.check()
