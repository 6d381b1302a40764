"""Batches cover a database exactly, and what is left of a run is found again."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clalign.alphabets import AMINO, encode
from clalign.batching import batch_end, gaps
from clalign.sequences import Sequence, SequenceDatabase


def database(lengths: list[int]) -> SequenceDatabase:
    return SequenceDatabase.from_sequences(
        [Sequence(f"s{i}", "", encode("A" * length)) for i, length in enumerate(lengths)], AMINO
    )


@given(st.lists(st.integers(0, 30), min_size=1, max_size=30), st.integers(1, 60))
def test_batches_cover_everything_once(lengths: list[int], n_residues: int) -> None:
    whole = database(lengths)
    first, seen = 0, []
    while first < len(whole):
        last = batch_end(whole, first, len(whole), n_residues)
        batch = whole.batch(first, last)
        assert len(batch) == 1 or int(batch.offsets[-1]) <= n_residues
        seen += batch.targets.tolist()
        assert batch.lengths.tolist() == [whole.length(row) for row in range(first, last)]
        first = last
    assert seen == list(range(len(whole)))
    assert sorted(whole.order.tolist()) == list(range(len(whole)))
    assert whole.n_empty == lengths.count(0)


@given(st.sets(st.integers(0, 40), max_size=20), st.integers(41, 50))
def test_gaps(cuts: set[int], n_rows: int) -> None:
    edges = sorted(cuts | {0, n_rows})
    ranges = list(itertools.pairwise(edges))
    finished, missing = ranges[::2], ranges[1::2]
    found = list(gaps(finished, n_rows))
    assert sum(b - a for a, b in found) == sum(b - a for a, b in missing)
    covered = np.zeros(n_rows, int)
    for a, b in [*found, *finished]:
        covered[a:b] += 1
    assert (covered == 1).all()
