"""Smith-Waterman on a device equals the reference: every shape and mode, any matrix and gap costs, overflow."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.opencl.kernels import with_headers
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.sessions import Session
from clalign.errors import OptionError
from clalign.formats.matrices import load_matrix
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN, SmithWatermanStage
from clalign.stages.pairwise.smith_waterman_gpu import lanes_for, lanes_that_fit
from clalign.stages.pairwise.smith_waterman_vector import widths_of
from clalign.values.alphabets import LETTERS, N_CODES, code_of, decode
from clalign.values.scoring import MAX_GAP_COST, MODES, GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

Codes = npt.NDArray[np.uint8]

SHAPES = [
    ("vector", {}),
    ("vector", {"LANES": 32, "COLUMNS": 1}),
    ("vector", {"LANES": 16, "COLUMNS": 4}),
    ("item", {"ROWS": 8, "GROUP": 32}),
    ("lanes", {"LANES": 8, "ROWS": 4}),
]

FEW_SHAPES = ["vector", "item"]


def random_matrix(rng: np.random.Generator, greatest: int, least: int) -> SubstitutionMatrix:
    """Return scores of all letters, which are not the same when query and target are exchanged."""
    table = rng.integers(least, greatest + 1, (len(LETTERS), len(LETTERS)))
    table[0, 0] = greatest
    return SubstitutionMatrix.from_table("random", LETTERS, table, is_nucleic=False)


def typical_matrix(rng: np.random.Generator, match: int = 5) -> SubstitutionMatrix:
    """Return scores where random sequences have no long alignments, as those of proteins are."""
    table = rng.integers(-4, 1, (len(LETTERS), len(LETTERS)))
    np.fill_diagonal(table, match)
    return SubstitutionMatrix.from_table("typical", LETTERS, table, is_nucleic=False)


def random_codes(rng: np.random.Generator, n: int, odd: float = 0.05) -> Codes:
    """Return residues, some of which are letters that no matrix of proteins has."""
    codes = rng.integers(0, 23, n).astype(np.uint8)
    strange = rng.random(n) < odd
    codes[strange] = rng.integers(0, len(LETTERS), int(strange.sum()))
    return codes


def query_of(codes: Codes, matrix: SubstitutionMatrix, first: int, next_: int, mode: Mode = "local") -> PairwiseQuery:
    return PairwiseQuery(Sequence("query", "", codes), Scoring(matrix, GapCosts(first, next_), mode))


def related(rng: np.random.Generator, query: Codes, longest: int) -> Codes:
    """Return a sequence that often holds parts of the query, with gaps."""
    parts = [random_codes(rng, int(rng.integers(0, longest + 1)))]
    if rng.random() < 0.5:
        begin, end = np.sort(rng.integers(0, len(query) + 1, 2))
        parts += [query[begin:end], random_codes(rng, int(rng.integers(0, 4))), query[end:]]
    return np.concatenate(parts)


def n_differing(stage: SmithWatermanStage, session: Session, batch: SequenceBatch, query: PairwiseQuery) -> int:
    found, expected = session.run(stage, batch, query).scores, SMITH_WATERMAN.reference(batch, query).scores
    assert found.targets.tolist() == batch.targets.tolist()
    return int((found.values != expected.values).sum())


@pytest.mark.thorough(mode=["local"], defines=[SHAPES[0][1], SHAPES[3][1], SHAPES[4][1]])
@pytest.mark.exhaustive(mode=["local"])
@pytest.mark.exhaustive(defines=[SHAPES[0][1], SHAPES[3][1], SHAPES[4][1]])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.sampled_from([1, 2, 3, 17, 64]),
    greatest=st.sampled_from([1, 5, 15, 127]),
    least=st.sampled_from([0, -1, -4, -127]),
    next_cost=st.sampled_from([0, 1, 2, 14, 126, 300]),
    opening=st.sampled_from([0, 1, 10, 115, 600]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_shape(
    shaped_session: Session, shape: str, defines: dict[str, int], mode: Mode, seed: int, length: int, greatest: int,
    least: int, next_cost: int, opening: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    codes = random_codes(rng, length)
    query = query_of(codes, random_matrix(rng, greatest, least), next_cost + opening, next_cost, mode)
    batch = SequenceBatch.from_texts([related(rng, codes, 40) for _ in range(int(rng.integers(1, 80)))])
    assert n_differing(SmithWatermanStage(shape, **defines), shaped_session, batch, query) == 0


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", MODES)
def test_default_shape_and_many_sequences(session: Session, mode: Mode) -> None:
    """More than all lanes take at once, of all lengths in any order."""
    rng = np.random.default_rng(1)
    codes = random_codes(rng, 33)
    batch = SequenceBatch.from_texts([related(rng, codes, int(rng.choice([5, 50, 120]))) for _ in range(900)])
    assert n_differing(SMITH_WATERMAN, session, batch, query_of(codes, typical_matrix(rng), 11, 1, mode)) == 0


@pytest.mark.thorough(mode=["local"], shape=["vector"])
@pytest.mark.parametrize("mode", ["local", "ungapped"])
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_scores_around_the_ends_of_8_and_16_bits(shaped_session: Session, shape: str, mode: Mode) -> None:
    """Beginnings of the query; the greatest scores of each width and their neighbors are among them."""
    matrix = SubstitutionMatrix.from_table("weights", "AW", [[1, -1], [-1, 20]], is_nucleic=False)
    for n_heavy, ends in ((5, range(101, 113)), (6, range(121, 131)), (1637, range(32_742, 32_772))):
        codes = np.array([code_of("W")] * n_heavy + [code_of("A")] * 40, np.uint8)
        batch = SequenceBatch.from_texts([codes[: n_heavy + end - 20 * n_heavy] for end in ends])
        found = shaped_session.run(SmithWatermanStage(shape), batch, query_of(codes, matrix, 2, 1, mode))
        assert found.scores.values.tolist() == list(ends)


@pytest.mark.thorough(masks=[0])
@pytest.mark.parametrize("shape", ["vector"])
@pytest.mark.parametrize("masks", [0, 1])
def test_best_scores_by_maxima_and_by_masks(shaped_session: Session, shape: str, masks: int) -> None:
    """Up to the greatest score that 8 bits may keep, each of them often."""
    matrix = SubstitutionMatrix.from_table("weights", "AW", [[1, -1], [-1, 20]], is_nucleic=False)
    codes = np.array([code_of("W")] * 5 + [code_of("A")] * 40, np.uint8)
    batch = SequenceBatch.from_texts([codes[:n] for n in [*range(1, 13), 1, 5] * 8])
    stage = SmithWatermanStage(shape, MASKS=masks, LANES=64)
    assert n_differing(stage, shaped_session, batch, query_of(codes, matrix, 2, 1)) == 0


LARGER_ONES = """
#include "common/saturated.h"
__kernel void larger_ones(__global const scores_t *a, __global const scores_t *b, __global scores_t *larger,
                          __global int *facts)
{
#ifdef __AVX512BW__
    facts[0] = 1;
#endif
    facts[1] = HAS_MASKS;
    const size_t i = get_global_id(0);
    larger[i] = larger_by_mask(a[i], b[i]);
}
"""


@pytest.mark.parametrize("shape", ["vector"])
@pytest.mark.parametrize(("masks", "lanes"), [(0, 64), (1, 64), (1, 128)])
def test_larger_of_any_two_bytes(shaped_session: Session, shape: str, masks: int, lanes: int) -> None:
    """All pairs, equal ones and both ends among them."""
    session = shaped_session
    assert isinstance(session, OpenCLSession)
    if masks and session.device.family != "avx512":
        pytest.skip("the processor has no registers of masks")
    every = np.arange(-128, 128).astype(np.int8)
    a, b = np.repeat(every, 256), np.tile(every, 256)
    larger, facts = np.zeros_like(a), np.zeros(2, np.int32)
    there = [session.loaded(array) for array in (a, b, larger, facts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        program = cl.Program(session._context, with_headers(LARGER_ONES, "larger_ones.cl"))
        kernel = program.build([f"-DMASKS={masks}", "-DWIDTH=8", f"-DLANES={lanes}"]).larger_ones
    session.finish()
    kernel(session._queue.handle, (len(a) // lanes,), (1,), *there)
    cl.enqueue_copy(session._queue.handle, larger, there[2])
    cl.enqueue_copy(session._queue.handle, facts, there[3])
    has_registers, are_used = facts.tolist()
    if masks and not has_registers:
        pytest.skip("the driver's compiler makes no use of the processor's registers of masks")
    assert are_used == masks
    assert np.array_equal(larger, np.maximum(a, b))


@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_sequences_computed_again_are_counted(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(3)
    codes = random_codes(rng, 1700, odd=0)
    query = query_of(codes, typical_matrix(rng, 20), 11, 1)
    batch = SequenceBatch.from_texts([codes, codes[:300], codes[:1], codes[:2], "", codes[:400], codes[400:]])
    found = shaped_session.run(SmithWatermanStage(shape), batch, query)
    assert found.scores.values.tolist() == SMITH_WATERMAN.reference(batch, query).scores.values.tolist()
    assert found.n_in_32_bits == (found.scores.values > 32_000).sum() == 1
    if shape == "vector":
        assert found.n_in_16_bits == (found.scores.values > 127 - 20).sum() == 4


def test_width_follows_from_what_a_score_can_reach() -> None:
    rng = np.random.default_rng(4)

    def widths(length: int, longest: int, first: int, next_cost: int, mode: Mode, match: int = 5) -> tuple[int, ...]:
        query = query_of(random_codes(rng, length), typical_matrix(rng, match), first, next_cost, mode)
        return widths_of(query, longest)

    assert widths(24, 9000, 11, 1, "local") == (8,)
    assert widths(25, 9000, 11, 1, "local") == (8, 16)
    assert widths(9000, 24, 1000, 1, "ungapped") == (8,)
    assert widths(6552, 20_000, 11, 1, "local") == (8, 16)
    assert widths(6553, 20_000, 11, 1, "local") == (8, 16, 32)
    assert widths(9, 9000, 11, 1, "local", match=21) == (16,)
    assert widths(9000, 9000, 11, 1, "local", match=21) == (16, 32)
    assert widths(16_000, 16_000, 11, 1, "global") == (32,)
    assert widths(6000, 16_000, 11, 1, "global") == (16,)
    assert widths(6000, 16_000, 11, 2, "global") == (32,)
    assert widths(6000, 16_000, 11, 2, "semiglobal") == (16,)


@pytest.mark.parametrize(
    ("local_bytes", "wanted", "expected"),
    [
        (2**16, (32, 16, 2), (32, 16)),
        (48 * 2**10, (32, 32, 2), (32, 16)),
        (48 * 2**10, (8, 32, 2), (8, 32)),
        (2**15, (32, 16, 2), (16, 16)),
        (2**15, (32, 8, 1), (32, 8)),
    ],
)
def test_tables_of_lanes_fit_local_memory(
    local_bytes: int, wanted: tuple[int, int, int], expected: tuple[int, int]
) -> None:
    assert lanes_that_fit(local_bytes, *wanted) == expected
    lanes, rows = expected
    table = wanted[2] * N_CODES * -(-rows // 16) * lanes
    assert 16 * table + 4 * lanes + 4 <= local_bytes, "the formula of smith_waterman_lanes.cl"


@pytest.mark.parametrize(
    ("length", "local_bytes", "expected"),
    [
        (150, 48 * 2**10, 8),  # 8 x 20 rows in one strip, not 16 x 12
        (464, 48 * 2**10, 16),  # 16 x 32 in one strip are as much as 8 x 20 in three
        (567, 48 * 2**10, 8),  # 8 x 24 in three strips, not 16 x 20 in two
        (5478, 48 * 2**10, 16),
        (5478, 2**14, 8),  # no room for 16 lanes
    ],
)
def test_as_many_lanes_as_compute_least(length: int, local_bytes: int, expected: int) -> None:
    assert lanes_for(length, (8, 16), local_bytes, 32, 2) == expected


@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_scores_that_fit_no_number(shaped_session: Session, shape: str) -> None:
    """They would be wrong; the target is not there, since it is refused before it is read."""
    codes = random_codes(np.random.default_rng(12), 9)
    query = query_of(codes, typical_matrix(np.random.default_rng(12)), 500, 500, "global")
    batch = SequenceBatch(codes, np.array([0, 4, 2**21], np.int32), np.arange(2))
    with pytest.raises(OptionError, match=r"\b9 .*2,097,148"):
        shaped_session.run(SmithWatermanStage(shape), batch, query)


@pytest.mark.parametrize("mode", ["global", "semiglobal"])
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_lowest_scores_that_16_bits_hold(shaped_session: Session, shape: str, mode: Mode) -> None:
    """All costs as high as they can be, just within 16 bits and just beyond."""
    rng = np.random.default_rng(5)
    matrix = random_matrix(rng, 127, -127)
    for length in range(10, 20):
        codes = random_codes(rng, length)
        batch = SequenceBatch.from_texts([random_codes(rng, n) for n in range(25)])
        query = query_of(codes, matrix, MAX_GAP_COST, MAX_GAP_COST, mode)
        assert n_differing(SmithWatermanStage(shape), shaped_session, batch, query) == 0


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_one_long_sequence_among_short_ones(shaped_session: Session, shape: str, mode: Mode) -> None:
    rng = np.random.default_rng(6)
    codes = random_codes(rng, 40)
    texts = [random_codes(rng, 3000), *(related(rng, codes, 30) for _ in range(300))]
    query = query_of(codes, typical_matrix(rng), 12, 1, mode)
    assert n_differing(SmithWatermanStage(shape), shaped_session, SequenceBatch.from_texts(texts), query) == 0


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_long_query(shaped_session: Session, shape: str, mode: Mode) -> None:
    rng = np.random.default_rng(7)
    codes = random_codes(rng, 3000)
    texts = [related(rng, codes, 30) for _ in range(6)]
    query = query_of(codes, typical_matrix(rng), 12, 1, mode)
    assert n_differing(SmithWatermanStage(shape), shaped_session, SequenceBatch.from_texts(texts), query) == 0


@pytest.mark.thorough(gaps=[(12, 1), (5, 0)])
@pytest.mark.parametrize("mode", ["local", "global", "semiglobal"])
@pytest.mark.parametrize("gaps", [(12, 1), (3, 3), (5, 0), (200, 100)])
def test_scores_are_those_of_parasail(any_session: Session, mode: Mode, gaps: tuple[int, int]) -> None:
    """Its striped functions are wrong for some costs where a gap in one sequence meets one in the other."""
    parasail = pytest.importorskip("parasail")
    rng = np.random.default_rng(11)
    codes = random_codes(rng, 150)
    batch = SequenceBatch.from_texts([related(rng, codes, 200) for _ in range(150)])
    align = getattr(parasail, {"local": "sw", "global": "nw", "semiglobal": "sg"}[mode] + "_scan_32")
    found = any_session.run(SMITH_WATERMAN, batch, query_of(codes, load_matrix("BLOSUM62"), *gaps, mode)).scores.values
    for row in np.flatnonzero(batch.lengths):
        text = decode(batch.residues(row))
        assert found[row] == align(decode(codes), text, *gaps, parasail.blosum62).score


@pytest.mark.parametrize("mode", MODES)
def test_nothing(session: Session, mode: Mode) -> None:
    rng = np.random.default_rng(8)
    matrix = typical_matrix(rng)
    full, empty = (query_of(random_codes(rng, n), matrix, 3, 2, mode) for n in (9, 0))
    assert len(session.run(SMITH_WATERMAN, SequenceBatch.from_texts([]), full).scores.values) == 0
    for batch in (SequenceBatch.from_texts(["", ""]), SequenceBatch.from_texts(["", "A", "*-", ""])):
        assert n_differing(SMITH_WATERMAN, session, batch, full) == 0
        assert n_differing(SMITH_WATERMAN, session, batch, empty) == 0


@pytest.mark.parametrize("shape", ["vector"])
def test_codes_that_stand_for_no_letter(shaped_session: Session, shape: str) -> None:
    """The tables have rows for them, so they may come."""
    rng = np.random.default_rng(9)
    matrix = SubstitutionMatrix("all", LETTERS, rng.integers(-5, 6, (N_CODES, N_CODES)).astype(np.int8), False)
    codes = rng.integers(0, N_CODES, 70).astype(np.uint8)
    batch = SequenceBatch.from_texts([rng.integers(0, N_CODES, 50).astype(np.uint8) for _ in range(70)])
    assert n_differing(SmithWatermanStage(shape), shaped_session, batch, query_of(codes, matrix, 7, 2)) == 0


@pytest.mark.thorough(mode=["local"], shape=["vector"])
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "ungapped"])
@pytest.mark.parametrize("shape", FEW_SHAPES)
def test_planted_fault_is_noticed(shaped_session: Session, shape: str, mode: Mode) -> None:
    """A gap is opened at the cost of its extension, which has no meaning without gaps."""
    rng = np.random.default_rng(10)
    codes = random_codes(rng, 30)
    batch = SequenceBatch.from_texts([related(rng, codes, 30) for _ in range(9)])
    query = query_of(codes, typical_matrix(rng), 11, 1, mode)
    assert n_differing(SmithWatermanStage(shape, SABOTAGE=1), shaped_session, batch, query) > 0
