"""Posteriors made up for tests."""

from __future__ import annotations

import itertools

import numpy as np

from clalign.values.multiple_alignments import MultipleAlignment, offsets_of
from clalign.values.sparse_posteriors import PosteriorMatrix, SparsePosteriors


def random_posteriors(
    seed: int, lengths: list[int], share_of_pairs: float = 1.0, is_coarse: bool = False
) -> SparsePosteriors:
    """Return posteriors around the diagonals of some pairs; coarse ones have many equal weights."""
    rng = np.random.default_rng(seed)
    found = []
    for x, y in itertools.combinations(range(len(lengths)), 2):
        if lengths[x] and lengths[y] and rng.random() <= share_of_pairs:
            found.append((x, y, random_pair(rng, lengths[x], lengths[y], is_coarse)))
    return SparsePosteriors.joined(lengths, found)


def random_pair(rng: np.random.Generator, x: int, y: int, is_coarse: bool = False) -> PosteriorMatrix:
    """Return posteriors of a pair whose rows and columns add up to no more than 1."""
    a, b = np.indices((x, y))
    p = rng.random((x, y)) ** 2 * np.exp(-((a / x - b / y) ** 2) * 40)
    if is_coarse:
        p = np.round(p * 4) / 4
    p[p < 0.2] = 0
    p /= np.maximum(1, np.maximum.outer(p.sum(axis=1), p.sum(axis=0)))
    rows, columns = np.nonzero(p >= 0.01)
    return PosteriorMatrix.from_entries(
        (x, y), rows.astype(np.int32), columns.astype(np.int32), p[rows, columns].astype(np.float32)
    )


def random_alignment(seed: int, lengths: list[int]) -> MultipleAlignment:
    """Return an alignment with gaps at random, but without empty columns."""
    rng = np.random.default_rng(seed)
    width = max(lengths, default=0) + 3
    columns = np.concatenate(
        [np.empty(0, np.int64), *(np.sort(rng.choice(width, length, replace=False)) for length in lengths)]
    )
    used, numbers = np.unique(columns, return_inverse=True)
    return MultipleAlignment(offsets_of(lengths), numbers.astype(np.int32), len(used))


def is_alignment(alignment: MultipleAlignment) -> bool:
    """Return whether the residues of each sequence stand in rising columns, and every column has some."""
    parts = np.split(alignment.columns, alignment.offsets[1:-1])
    rising = all((np.diff(part) > 0).all() for part in parts)
    return rising and len(np.unique(alignment.columns)) == alignment.n_columns
