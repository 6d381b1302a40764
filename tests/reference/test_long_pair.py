"""Going by rows finds the very alignments that going by cells finds."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.reference import long_pair
from clalign.reference.long_pair import alignment_by_rows, cells_by_rows
from clalign.reference.smith_waterman_trace import pair_alignment
from clalign.values.alphabets import encode
from clalign.values.pair_alignments import path_score
from clalign.values.scoring import MODES, GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence

DNA = SubstitutionMatrix.match_mismatch(1, -1)
COSTS = (GapCosts(2, 1), GapCosts(1, 1), GapCosts(4, 0), GapCosts(0, 0))


def random_pair(rng: np.random.Generator) -> tuple[str, str]:
    """Return two short texts of two letters, rich in ties; some are changed copies, some empty."""
    query = "".join(rng.choice(list("AC"), rng.integers(0, 14)))
    target = "".join(rng.choice(list("AC"), rng.integers(0, 14)))
    return query, query[:4] + query[6:] if rng.random() < 0.3 else target


@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rows_at_once", [1, 3, 100])
@pytest.mark.parametrize("most_in_32_bits", [1 << 30, 0])
def test_same_as_by_cells(mode: Mode, rows_at_once: int, most_in_32_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair, "MAX_IN_32_BITS", most_in_32_bits)
    monkeypatch.setattr(long_pair.math, "isqrt", lambda m: rows_at_once)
    monkeypatch.setattr(long_pair, "BLOCK_CELLS", 0)
    rng = np.random.default_rng(7)
    for number in range(120):
        query, target = random_pair(rng)
        pairwise = PairwiseQuery(Sequence("", "", encode(query)), Scoring(DNA, COSTS[number % len(COSTS)], mode))
        assert alignment_by_rows(pairwise, encode(target)) == pair_alignment(pairwise, encode(target)), (query, target)


def test_kept_rows_take_no_more_than_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair, "BLOCK_CELLS", 0)
    codes = encode("ACGTTGCAAC" * 80)
    pair = long_pair._Pair(PairwiseQuery(Sequence("", "", codes), Scoring(DNA, COSTS[0])), codes, len)
    kept = sum(cells.nbytes for row in pair._forward()[0] for cells in row)
    assert kept == 8 * 11 * (len(codes) + 1)
    assert kept < 1.2 * pair.n_rows * (len(codes) + 1)


def test_long_sequences_are_reported_and_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair, "CELLS_BETWEEN_WORDS", 1000)
    rng = np.random.default_rng(3)
    query = Sequence("", "", encode("".join(rng.choice(list("ACGT"), 900))))
    pairwise = PairwiseQuery(query, Scoring(DNA, GapCosts(2, 1)))
    target = np.delete(query.codes, slice(300, 320))
    messages: list[int] = []
    alignment = alignment_by_rows(pairwise, target, messages.append)
    assert 0.99 * cells_by_rows(900, len(target)) < sum(messages) <= cells_by_rows(900, len(target))
    assert path_score(alignment, query.codes, target, pairwise.scoring) == alignment.score == 880 - 2 - 19

    def stop(cells: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alignment_by_rows(pairwise, target, stop)
