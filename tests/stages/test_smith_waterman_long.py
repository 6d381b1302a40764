"""Long pairs of a search on a processor, each with all of it: the scores of Parasail, and alignments worth them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.formats.matrices import load_matrix
from clalign.stages.pairwise.long_pair import LONG_PAIR
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.stages.pairwise.smith_waterman_vector import MIN_CELLS_ALONE, alone
from clalign.values.alphabets import encode
from clalign.values.pair_alignments import path_score
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

parasail = pytest.importorskip("parasail")

AMINO = "ARNDCQEGHILKMFPSTWYV"
LONG = 5000
assert LONG**2 > MIN_CELLS_ALONE

NEVER = (1_000_000, 1_000_000)
"""What gaps cost Parasail where there are none."""

FUNCTIONS = {"local": "sw", "ungapped": "sw", "global": "nw", "semiglobal": "sg"}
CASES: list[tuple[Mode, tuple[int, int]]] = [
    ("local", (11, 1)), ("local", (3, 3)), ("local", (40, 0)), ("local", (300, 200)), ("ungapped", (11, 1)),
    ("global", (11, 1)), ("global", (300, 200)), ("semiglobal", (11, 1)), ("semiglobal", (3, 3)),
]  # fmt: skip


@pytest.fixture
def processor(session: Session) -> Session:
    if session.device.kind != "cpu":
        pytest.skip("cards divide what is long in another way")
    return session


def random_text(rng: np.random.Generator, letters: str, length: int) -> str:
    return "".join(rng.choice(list(letters), length))


def changed(rng: np.random.Generator, letters: str, text: str) -> str:
    """Return a copy with other letters here and there, and some left out."""
    kept = [letter if rng.random() > 0.2 else str(rng.choice(list(letters))) for letter in text]
    return "".join(letter for letter in kept if rng.random() > 0.02)


def scores_of(letters: str) -> tuple[SubstitutionMatrix, Any]:
    """Return the same scores for clalign and for Parasail."""
    if letters == AMINO:
        return load_matrix("BLOSUM62"), parasail.blosum62
    return SubstitutionMatrix.match_mismatch(5, -4), parasail.matrix_create("ACGT", 5, -4)


def oracle(mode: Mode, gaps: tuple[int, int], matrix: Any) -> Callable[[str, str], int]:
    """Return what scores two sequences; the striped functions are wrong for some costs."""
    align = getattr(parasail, f"{FUNCTIONS[mode]}_scan_32")
    costs = NEVER if mode == "ungapped" else gaps
    return lambda query, target: int(align(query, target, *costs, matrix).score)


def uses_long_pair(session: Session) -> bool:
    return any(name.startswith("long_pair") for name in session.seconds_by_kernel)


@pytest.mark.exhaustive(mode=["local"])
@pytest.mark.exhaustive(letters=[AMINO], n_long=[3])
@pytest.mark.thorough(mode=["local"], gaps=[(11, 1)])
@pytest.mark.parametrize(("mode", "gaps"), CASES)
@pytest.mark.parametrize("letters", [AMINO, "ACGT"], ids=["protein", "dna"])
@pytest.mark.parametrize("n_long", [1, 3])
def test_long_targets_among_short_ones(
    processor: Session, n_long: int, letters: str, mode: Mode, gaps: tuple[int, int]
) -> None:
    rng = np.random.default_rng(n_long + len(letters))
    query = random_text(rng, letters, LONG)
    targets = [changed(rng, letters, query[start : start + 60]) for start in rng.integers(0, LONG - 60, 30).tolist()]
    for place in range(n_long):
        targets.insert(11 * place, changed(rng, letters, query) + random_text(rng, letters, 300 * place))
    targets[5:5] = ["", letters[0]]
    matrix, theirs = scores_of(letters)
    model = PairwiseQuery(Sequence("query", "", encode(query)), Scoring(matrix, GapCosts(*gaps), mode))
    found = processor.run(SMITH_WATERMAN, SequenceBatch.from_texts(targets), model).scores.values
    score = oracle(mode, gaps, theirs)
    expected = [score(query, target) if target else model.scoring.unpaired(LONG) for target in targets]
    assert found.tolist() == expected
    assert uses_long_pair(processor)


@pytest.mark.exhaustive(mode=["local"])
@pytest.mark.exhaustive(letters=[AMINO])
@pytest.mark.thorough(mode=["local"], gaps=[(11, 1)])
@pytest.mark.parametrize(("mode", "gaps"), CASES)
@pytest.mark.parametrize("letters", [AMINO, "ACGT"], ids=["protein", "dna"])
def test_alignments_of_long_pairs_among_short_ones(
    processor: Session, letters: str, mode: Mode, gaps: tuple[int, int]
) -> None:
    rng = np.random.default_rng(len(letters))
    queries = [random_text(rng, letters, length) for length in (90, LONG, 200, LONG + 7)]
    targets = [changed(rng, letters, query) for query in queries]
    matrix, theirs = scores_of(letters)
    scoring = Scoring(matrix, GapCosts(*gaps), mode)
    batch = PairBatch.in_step(SequenceBatch.from_texts(queries), SequenceBatch.from_texts(targets))
    score = oracle(mode, gaps, theirs)
    for found, query, target in zip(processor.run(SMITH_WATERMAN_TRACE, batch, scoring), queries, targets, strict=True):
        assert found.score == score(query, target)
        assert path_score(found, encode(query), encode(target), scoring) == found.score
    assert uses_long_pair(processor)


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", ["local", "global", "semiglobal"])
@pytest.mark.parametrize(
    ("query", "target", "scores"),
    [
        ("G", "A" * 3000 + "G" + "T" * 2000, (5, -4)),
        ("ACGT" * 700, "C", (5, -4)),
        ("ACGTTGCA" * 250, "ACGTTGCA" * 250, (5, -4)),
        ("ACGTTGCA" * 250, "ACGTTGCA" * 180, (100, -100)),
        ("A" * 2000, "C" * 1500, (5, -4)),
    ],
    ids=["one residue", "with one residue", "repeats", "beyond 16 bits", "nothing alike"],
)
def test_odd_pairs(processor: Session, query: str, target: str, scores: tuple[int, int], mode: Mode) -> None:
    scoring = Scoring(SubstitutionMatrix.match_mismatch(*scores), GapCosts(11, 2), mode)
    expected = oracle(mode, (11, 2), parasail.matrix_create("ACGT", *scores))(query, target)
    assert LONG_PAIR.best_score(processor, encode(query), encode(target), scoring) == expected
    assert expected > 2**15 or scores[0] < 100 or mode != "local"


def test_long_targets_are_alone_where_lanes_would_wait_for_them() -> None:
    lengths = np.array([30_000, 8000], np.int64)
    assert alone(lengths[:1], 100, 30_000 + 10_000, 2) == 1
    assert alone(lengths, 0, 30_000 + 8000, 2) == 2
    assert alone(lengths, 100, 30_000 + 8000 + 1000, 2) == 2
    assert alone(lengths, 100, 10_000_000_000, 2) == 0, "all lanes have enough to do"
    assert alone(lengths[:0], 500, 5000, 2) == 0
