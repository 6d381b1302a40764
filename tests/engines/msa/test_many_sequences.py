"""Thousands of sequences: pairs are chosen in little memory, a stop is heard meanwhile, and too many are refused."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.engines.msa import estimate, spanning_trees
from clalign.engines.msa.estimate import check_size
from clalign.engines.msa.packing import NUMBERS_A_CHECK, pack_array, unpack_array
from clalign.engines.msa.pairs import PairChoice, chosen_pairs
from clalign.engines.msa.phases import BlockCutter, cells_before
from clalign.engines.msa.reading import Blocks
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.training import BLOCK_CELLS, BLOCK_PAIRS, WINDOW_PAIRS, blocks_of, cells_of
from clalign.engines.msa.word_similarities import WordSimilarities
from clalign.errors import Cancelled, OptionError
from clalign.values.devices import REFERENCE
from clalign.values.pair_batches import PairBatch
from clalign.values.sequences import SequenceBatch

FAST = PairChoice(is_fast=True)


def some_sequences(n: int, length: int = 30, seed: int = 1) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 20, int(rng.integers(0, length + 1))).astype(np.uint8) for _ in range(n)]


@pytest.mark.parametrize("pending", [1, 50, 1 << 16])
@pytest.mark.parametrize(
    "choice",
    [
        FAST, PairChoice(number=0, nearest_trees=5, farthest_trees=2),
        PairChoice(fraction=0.3, stars=2, degree=4, seed=3), PairChoice(number=700, nearest_trees=0),
    ],
)  # fmt: skip
def test_rows_of_similarities_lead_to_the_pairs_of_the_whole_table(
    monkeypatch: pytest.MonkeyPatch, choice: PairChoice, pending: int
) -> None:
    """However few pairs are sorted at a time."""
    sequences = some_sequences(70)
    rows = WordSimilarities(sequences, 20)
    expected = chosen_pairs(np.array([rows[i, :] for i in range(70)]), choice, 2)
    monkeypatch.setattr(spanning_trees, "MIN_PENDING", pending)
    found = chosen_pairs(WordSimilarities(sequences, 20), choice, 2)
    assert found.dtype == np.int32
    assert found.tolist() == expected.tolist()


def test_rows_of_similarities_are_shares_of_words() -> None:
    """Counted word by word."""
    sequences = some_sequences(12)
    rows = WordSimilarities(sequences, 20, 1)
    for i, j in itertools.combinations(range(12), 2):
        counts = [np.bincount(sequence, minlength=20) for sequence in (sequences[i], sequences[j])]
        shorter = min(len(sequences[i]), len(sequences[j]))
        expected = np.minimum(*counts).sum() / max(1, shorter)
        assert rows[i, :][j] == rows[j, :][i] == rows[i, slice(i + 1, None)][j - i - 1] == expected


@pytest.mark.thorough
def test_memory_grows_with_the_chosen_pairs() -> None:
    """The table of all similarities would take eight times as much."""
    n = 2000
    sequences = some_sequences(n, 12)
    tracemalloc.start()
    try:
        pairs = chosen_pairs(WordSimilarities(sequences, 20), FAST)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(pairs) == FAST.wanted(n)
    assert peak < n * n * 8


def stopped_at(number: int, work: Callable[[Callable[[], None]], object]) -> int:
    """Return how often work asks whether to stop, at most so often."""
    calls = 0

    def check() -> None:
        nonlocal calls
        calls += 1
        if calls == number:
            raise Cancelled

    try:
        work(check)
    except Cancelled:
        return number
    return calls


@pytest.mark.parametrize(
    "choice",
    [PairChoice(), PairChoice(number=0), PairChoice(number=0, nearest_trees=0, farthest_trees=1),
     PairChoice(number=0, nearest_trees=0, stars=1), PairChoice(number=0, nearest_trees=0, degree=1)],
)  # fmt: skip
def test_a_stop_is_noticed_at_every_sequence(choice: PairChoice) -> None:
    similar = WordSimilarities(some_sequences(60), 20)
    assert stopped_at(50, lambda check: chosen_pairs(similar, choice, 0, check)) == 50


def test_a_stop_is_noticed_while_words_are_counted() -> None:
    assert stopped_at(50, lambda check: WordSimilarities(some_sequences(60), 20, check=check)) == 50


def batch_of_lengths(lengths: list[int], pairs: np.ndarray) -> PairBatch:
    codes = SequenceBatch.from_texts([np.zeros(length, np.uint8) for length in lengths])
    return PairBatch(codes, codes, pairs[:, 0], pairs[:, 1])


@pytest.mark.thorough
def test_blocks_do_not_depend_on_windows() -> None:
    """Pairs are cut by their number and by their cells, across the windows that they are gone through in."""
    lengths = [0, 3, 9000, 13000, 40, 20000] * 70
    pairs = chosen_pairs(np.zeros((len(lengths),) * 2), PairChoice())
    batch = batch_of_lengths(lengths, pairs)
    assert len(pairs) > WINDOW_PAIRS
    ends = blocks_of(batch)
    cells, first, expected = cells_of(batch).tolist(), 0, []
    while first < len(pairs):
        last, total = first + 1, cells[first]
        while last < len(pairs) and last - first < BLOCK_PAIRS and total + cells[last] <= BLOCK_CELLS:
            total += cells[last]
            last += 1
        expected.append(last)
        first = last
    assert ends.tolist() == expected
    before = cells_before(batch, ends, lambda: None)
    assert before.tolist() == np.concatenate([[0], np.cumsum(cells)[ends - 1]]).tolist()
    cutter = BlockCutter.of(REFERENCE, Blocks(pairs, ends), before)
    first, spans = 0, []
    while first < len(pairs):
        spans.append(cutter.batch(first, cutter.end(first, len(pairs))))
        first = spans[-1].last
    assert sum(span.cells for span in spans) == sum(cells)
    assert all(span.cells <= cutter.wanted or span.last in ends[ends > span.first][:1] for span in spans)
    assert stopped_at(2, lambda check: blocks_of(batch, check)) == 2
    assert stopped_at(2, lambda check: cells_before(batch, ends, check)) == 2


def test_long_arrays_are_packed_in_parts(tmp_path: Path) -> None:
    numbers = np.arange(NUMBERS_A_CHECK + 7, dtype=np.int32).reshape(-1, 1)
    blob = pack_array(numbers, "<i4")
    assert unpack_array(blob, "<i4", len(numbers), tmp_path).tolist() == numbers.ravel().tolist()
    assert stopped_at(2, lambda check: pack_array(numbers, "<i4", check)) == 2


def test_more_sequences_than_memory_has_room_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "physical_memory", lambda: 5e6)
    with pytest.raises(OptionError) as caught:
        check_size(np.full(1001, 9), AlignmentSpec(("x",), is_fast=True))
    assert "1,000" in caught.value.hint
    check_size(np.full(1000, 9), AlignmentSpec(("x",), is_fast=True))


@pytest.mark.parametrize("options", [{}, {"n_pairs": 10**9}, {"fraction": 0.9}])
def test_more_pairs_than_a_run_holds_are_refused_with_what_is_possible(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(estimate, "physical_memory", lambda: None)
    lengths, n = np.full(40_000, 9), PairChoice(is_fast=True).wanted(40_000)
    with pytest.raises(OptionError) as caught:
        check_size(lengths, AlignmentSpec(("x",), **options))
    assert f"{n:,}" in caught.value.hint
    choices: list[dict[str, Any]] = [{"is_fast": True}, {"n_pairs": n}, {"to_first": True}]
    for possible in choices:
        check_size(lengths, AlignmentSpec(("x",), **possible))
