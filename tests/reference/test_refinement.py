"""Refinement by the reference: what must be so of its moves and scores."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clalign.reference.refinement import refine
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.sparse_posteriors import PosteriorMatrix, SparsePosteriors
from tests.posterior_cases import is_alignment, random_alignment, random_posteriors

LENGTHS = [9, 12, 0, 11, 8]


def score(posteriors: SparsePosteriors, alignment: MultipleAlignment, factor: float) -> float:
    """Return the expected score, residue by residue."""
    positions, total = alignment.positions().T.tolist(), 0.0
    for x, y, pair in posteriors.each():
        known = dict(
            zip(zip(pair.rows.tolist(), pair.columns.tolist(), strict=True), pair.probabilities.tolist(), strict=True)
        )
        for column in positions:
            a, b = column[x], column[y]
            if a >= 0 and b >= 0:
                total += 2 * known.get((a, b), 0.0)
            elif a >= 0:
                total += factor * float(pair.x_gaps[a])
            elif b >= 0:
                total += factor * float(pair.y_gaps[b])
    return total


@pytest.mark.parametrize("factor", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(6))
def test_each_sweep_has_its_score_and_is_an_alignment(seed: int, factor: float) -> None:
    posteriors, alignment = random_posteriors(seed, LENGTHS, 0.8), random_alignment(seed, LENGTHS)
    moves = refine(posteriors, alignment, factor)
    scores = moves.scores.tolist()
    assert len(scores) == len(moves.ends) + 1 > 2
    assert all(a < b for a, b in itertools.pairwise(scores[:-1]))
    assert scores[-1] <= scores[-2]
    for sweep, found in enumerate(scores):
        refined = moves.alignment_after(alignment, sweep)
        assert is_alignment(refined)
        assert found == pytest.approx(score(posteriors, refined, factor), rel=1e-5)


@pytest.mark.parametrize("most", [0, 1, 2])
def test_it_makes_no_more_sweeps_than_wanted(most: int) -> None:
    posteriors, alignment = random_posteriors(1, LENGTHS), random_alignment(1, LENGTHS)
    every, some = refine(posteriors, alignment), refine(posteriors, alignment, most_sweeps=most)
    assert len(some.ends) == most
    assert some.scores.tolist() == every.scores[: most + 1].tolist()
    assert some.targets.tolist() == every.targets[: len(some.targets)].tolist()


def test_a_residue_moves_to_its_partner() -> None:
    """The second residues stand alone; the one of the later sequence is moved, since it comes first among equals."""
    diagonal = np.arange(3, dtype=np.int32)
    pair = PosteriorMatrix.from_entries((3, 3), diagonal, diagonal, np.full(3, 0.75, np.float32))
    posteriors = SparsePosteriors.joined([3, 3], [(0, 1, pair)])
    alignment = MultipleAlignment.from_rows([b"AC-D", b"A-CD"])
    moves = refine(posteriors, alignment)
    facts = (moves.sequences, moves.positions, moves.sources, moves.targets, moves.ends, moves.scores)
    assert [fact.tolist() for fact in facts] == [[1], [1], [2], [1], [1, 1], [3.5, 4.5, 4.5]]
    assert moves.alignment_after(alignment, 1).rows([b"ACD", b"ACD"]) == [b"ACD", b"ACD"]
