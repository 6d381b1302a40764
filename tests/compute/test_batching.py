"""Batches cover a database exactly, and what is left of a run is found again."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clalign.compute.batching import BatchCutter, batch_end, fits, gaps, typical_length
from clalign.values.alphabets import AMINO, encode
from clalign.values.devices import Device
from clalign.values.sequences import Sequence, SequenceDatabase
from tests.computing import database_of


def database(lengths: list[int]) -> SequenceDatabase:
    return database_of([Sequence(f"s{i}", "", encode("A" * length)) for i, length in enumerate(lengths)], AMINO)


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


def test_kept_batches_are_the_same_objects() -> None:
    whole = database([9, 8, 7, 6, 5, 4])
    cutter = BatchCutter(whole, 17, keep=True)
    first = [cutter.cut(row, 6) for row in (0, 2, 4)]
    assert [batch.targets.tolist() for batch in first] == [[0, 1], [2, 3], [4, 5]]
    assert all(cutter.cut(row, 6) is batch for row, batch in zip((0, 2, 4), first, strict=True))
    assert cutter.cut(2, 3).targets.tolist() == [2], "what is left of an interrupted run"
    cutter.resize(20)
    assert cutter.cut(0, 6) is first[0], "much the same size is the same"
    cutter.resize(7)
    assert cutter.cut(0, 6).targets.tolist() == [0]
    cutter.resize(9, exactly=True)
    assert cutter.cut(1, 6).targets.tolist() == [1]
    passing = BatchCutter(whole, 17, keep=False)
    assert passing.cut(0, 6) is not passing.cut(0, 6)


def test_sizes_by_model_and_memory() -> None:
    assert typical_length([100]) == 100
    assert typical_length([23, 100, 488]) == 122, "a batch of the longest takes four times as long at most"
    assert typical_length([10, 11, 12, 13]) == 12
    card = Device("0:0", "Card", "gpu", memory_bytes=1000)
    assert fits(database([30] * 5), card)
    assert not fits(database([30] * 6), card)
