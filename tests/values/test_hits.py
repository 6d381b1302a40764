"""Hits that are packed are those that were added, in whatever portions."""

from __future__ import annotations

import math
import pickle

import pytest

from clalign.values.alignments import AlignmentText
from clalign.values.hits import PACKED_TOGETHER, Domain, DomainEstimates, FilterScores, Hit, PackedHits, PairFacts


def hit(row: int) -> Hit:
    """Return a hit in which every field has a value, or with every second row none that it may lack."""
    is_whole = row % 2 == 0
    text = AlignmentText("ac", "a ", "Ac", "9*" if is_whole else "")
    domain = Domain(
        1, 1.5, 0.1, 1e-5, (1, 3), (2, 4), (0, 5), -7, "MM", text, -8.25 if is_whole else None,
        0.75 if is_whole else None, 2e-300 if is_whole else None, is_whole, not is_whole,
        None if is_whole else PairFacts(-1, 1, 2, 3, 4),
    )  # fmt: skip
    return Hit(
        row, row + 1, f"näme {row}", "", "µ", 10, 0.1 + 0.2, 0.0, 1e-320, 2**40, (domain,) * (row % 3), 3,
        -math.inf if is_whole else None, is_whole, DomainEstimates(1.25, 1, 2, 3, 4) if is_whole else None,
        FilterScores(math.inf, None, 1.0, None) if is_whole else None,
    )  # fmt: skip


@pytest.mark.parametrize("n", [0, 1, PACKED_TOGETHER - 1, PACKED_TOGETHER, 2 * PACKED_TOGETHER + 3])
@pytest.mark.parametrize("portion", [1, 5, 3 * PACKED_TOGETHER])
def test_packed_hits_come_back_whole(n: int, portion: int) -> None:
    hits = [hit(row) for row in range(n)]
    packed = PackedHits()
    for first in range(0, n, portion):
        packed.add(iter(hits[first : first + portion]))
    assert len(packed) == n
    assert list(packed) == hits == list(packed)
    assert (packed.n_bytes > 0) is (n >= PACKED_TOGETHER)
    packed.pack()
    assert (len(packed), list(packed), packed.n_bytes > 0) == (n, hits, n > 0)
    again = pickle.loads(pickle.dumps(packed))
    assert again == packed
    assert list(again) == hits


def test_packed_hits_are_no_objects() -> None:
    """Else a million hits of one query would take more memory than there is."""
    packed = PackedHits()
    packed.add(hit(row) for row in range(4 * PACKED_TOGETHER))
    first, second = next(iter(packed)), next(iter(packed))
    assert first == second
    assert first is not second
