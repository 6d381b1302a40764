"""Words are read in the asked order, and all of them: sums and products equal the reference."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.stages.memories import LOCAL_WORDS, ProductStage, Reading, ReadingStage, Words


def random_words(n: int) -> Words:
    return np.random.default_rng(n).integers(0, 2**32, n, dtype=np.uint32)


@pytest.mark.parametrize("stride", [1, 2, 8])
@pytest.mark.parametrize("n_items", [4, 64])
def test_words_of_global_memory(session: Session, stride: int, n_items: int) -> None:
    reading = Reading("read_global", random_words(8 * n_items), n_items, stride, 8)
    expected = ReadingStage().reference(reading, 4)
    assert np.array_equal(session.run(ReadingStage(), reading, 4), expected)
    assert int(expected.sum(dtype=np.uint32)) == int(reading.words.sum(dtype=np.uint32))


def test_neighbors_read_words_side_by_side_or_apart() -> None:
    words = np.arange(8, dtype=np.uint32)
    assert ReadingStage().reference(Reading("read_global", words, 4, 1, 2), 4).tolist() == [4, 6, 8, 10]
    assert ReadingStage().reference(Reading("read_global", words, 4, 2, 2), 4).tolist() == [1, 5, 9, 13]


@pytest.mark.parametrize("stride", [1, 32, 33])
def test_words_of_local_memory(session: Session, stride: int) -> None:
    reading = Reading("read_local", random_words(LOCAL_WORDS), 64, stride, 100)
    assert np.array_equal(session.run(ReadingStage(), reading, 32), ReadingStage().reference(reading, 32))


@pytest.mark.thorough(n=[7])
@pytest.mark.parametrize("local", [0, 1])
@pytest.mark.parametrize("n", [1, 7, 40])
def test_products_of_matrices(session: Session, local: int, n: int) -> None:
    a, b = np.random.default_rng(n).integers(0, 2**32, (2, n, n), dtype=np.uint32)
    found = session.run(ProductStage(LOCAL_ROW=local), (a, b), 8)
    assert found.tolist() == [
        [int(sum(int(x) * int(y) for x, y in zip(r, c, strict=True))) % 2**32 for c in b.T] for r in a
    ]
