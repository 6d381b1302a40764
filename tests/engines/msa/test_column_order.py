"""The order of columns keeps every sequence, and gathers gaps."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.engines.msa.column_order import with_few_gaps
from clalign.values.multiple_alignments import MultipleAlignment
from tests.posterior_cases import is_alignment, random_alignment


def openings(alignment: MultipleAlignment) -> int:
    """Return how many gaps begin within or before the rows' residues, or after them."""
    residues = alignment.positions() >= 0
    before = np.concatenate([np.ones((len(residues), 1), bool), residues[:, :-1]], axis=1)
    return int((~residues & before).sum())


def test_there_are_fewer_gaps_on_the_whole() -> None:
    """Of one alignment alone there may be more."""
    given = [random_alignment(seed, [9, 5, 0, 11, 7]) for seed in range(30)]
    assert sum(openings(with_few_gaps(each)) for each in given) < sum(map(openings, given))


def test_gaps_are_gathered() -> None:
    """Residues that are aligned to nothing stand together."""
    given = MultipleAlignment.from_rows([b"AB-C-D-E", b"A-F-G-HE"])
    assert with_few_gaps(given).rows([b"ABCDE", b"AFGHE"]) == [b"ABCD---E", b"A---FGHE"]


@pytest.mark.parametrize("seed", range(5))
def test_columns_stay_the_same(seed: int) -> None:
    alignment = random_alignment(seed, [9, 0, 14, 12, 10])
    found = with_few_gaps(alignment)
    columns = [sorted(map(tuple, each.positions().T.tolist())) for each in (alignment, found)]
    assert columns[0] == columns[1]
    assert is_alignment(found)


def test_nothing_to_order() -> None:
    assert with_few_gaps(MultipleAlignment.from_rows([b"", b""])).n_columns == 0
    assert with_few_gaps(MultipleAlignment.from_rows([b"", b""])).rows([b"", b""]) == [b"", b""]
