"""Statistics of local alignments: computed, published and fitted."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from clalign.compute.opening import open_session
from clalign.formats.matrices import load_matrix
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.values.alphabets import N_CODES, code_of
from clalign.values.devices import Device
from clalign.values.karlin_altschul import (
    MAX_FITTED,
    MIN_SCORES,
    Parameters,
    Statistics,
    blast_parameters,
    fitted_statistics,
    frequencies,
    known_statistics,
    length_adjustment,
    misfit,
    published_parameters,
    rows_to_fit,
    typical_lengths,
    ungapped_parameters,
)
from clalign.values.karlin_altschul_tables import EVEN_ONLY, NUCLEIC, PROTEIN, UNGAPPED_LAMBDA
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

# Lambda, K and H without gaps, as BLAST has them.
UNGAPPED = {
    "BLOSUM45": (0.2291, 0.0924, 0.2514), "BLOSUM50": (0.2318, 0.112, 0.3362), "BLOSUM62": (0.3176, 0.134, 0.4012),
    "BLOSUM90": (0.3346, 0.190, 0.7547), "PAM30": (0.3400, 0.283, 1.754), "PAM70": (0.3345, 0.229, 1.029),
    "PAM250": (0.2252, 0.0868, 0.2223),
}  # fmt: skip


@pytest.mark.parametrize("name", UNGAPPED)
def test_computed_parameters_are_those_of_blast(name: str) -> None:
    found = ungapped_parameters(load_matrix(name))
    assert found is not None
    assert (found.lambda_, found.k, found.h) == pytest.approx(UNGAPPED[name], rel=5e-3)  # printed with three digits


def test_computed_parameters_of_nucleic_scores() -> None:
    for pair, lambda_, k in (((1, -3), 1.374, 0.711), ((1, -5), 1.39, 0.747), ((1, -4), 1.383, 0.738)):
        found = ungapped_parameters(SubstitutionMatrix.match_mismatch(*pair))
        assert found is not None
        assert (found.lambda_, found.k) == pytest.approx((lambda_, k), rel=5e-3)


def test_a_common_factor_of_the_scores_changes_only_the_unit() -> None:
    one, three = (ungapped_parameters(SubstitutionMatrix.match_mismatch(n, -2 * n)) for n in (1, 3))
    assert one is not None
    assert three is not None
    assert (three.lambda_ * 3, three.k, three.h) == pytest.approx((one.lambda_, one.k, one.h))


def test_a_matrix_without_negative_mean_has_none() -> None:
    assert ungapped_parameters(load_matrix("RAO")) is None
    assert known_statistics(Scoring(load_matrix("RAO"), GapCosts(5, 1), "ungapped"), 100, 1000, 10) is None


def test_gaps_make_every_published_lambda_smaller() -> None:
    for name, rows in PROTEIN.items():
        assert all(0 < row[2] <= UNGAPPED_LAMBDA[name] for row in rows)
        assert len({row[:2] for row in rows}) == len(rows)
    for (match, mismatch), (_, rows) in NUCLEIC.items():
        exact = ungapped_parameters(SubstitutionMatrix.match_mismatch(match, mismatch))
        assert exact is not None
        assert all(0 < row[2] <= exact.lambda_ * 1.1 for row in rows)


def test_published_parameters_of_nucleic_scores() -> None:
    assert published_parameters(SubstitutionMatrix.match_mismatch(2, -3), GapCosts.from_blast(5, 2)) == Parameters(
        0.625, 0.41, 0.78, 0.8, -2, 2
    )
    doubled = published_parameters(SubstitutionMatrix.match_mismatch(2, -4), GapCosts.from_blast(4, 2))
    assert doubled is not None
    assert (doubled.lambda_, doubled.k, doubled.step) == (1.29 / 2, 0.49, 1)
    for dear in (SubstitutionMatrix.match_mismatch(2, -4), SubstitutionMatrix.match_mismatch(1, -2)):
        assert published_parameters(dear, GapCosts.from_blast(11, 5)) is None
        assert blast_parameters(dear, GapCosts.from_blast(11, 5)) == (ungapped_parameters(dear), "computed")
        assert blast_parameters(dear, GapCosts.from_blast(1, 0)) is None
    assert blast_parameters(load_matrix("BLOSUM62"), GapCosts.from_blast(99, 99)) is None


ROWS = [(pair, row) for pair, (_, rows) in NUCLEIC.items() for row in rows]


@pytest.mark.parametrize(("pair", "row"), ROWS, ids=str)
@pytest.mark.parametrize("factor", [1, 3])
def test_every_row_of_the_nucleic_tables_is_found(pair: tuple[int, int], row: tuple[float, ...], factor: int) -> None:
    """Also where the row's own gap costs are those from which on others count as dear."""
    matrix = SubstitutionMatrix.match_mismatch(pair[0] * factor, pair[1] * factor)
    gaps = GapCosts.from_blast(int(row[0]) * factor, int(row[1]) * factor)
    known = known_statistics(Scoring(matrix, gaps), 500, 10**7, 1000)
    assert known is not None
    lambda_, k, h, alpha, beta = row[2:]
    step = 2 * factor if pair in EVEN_ONLY else 1
    assert known.kind == "published"
    assert known.parameters == Parameters(lambda_ / factor, k, h, alpha / factor, beta, step)
    assert f" {matrix.name} " in known.words


@pytest.mark.parametrize("pair", NUCLEIC)
def test_dearer_gaps_than_any_row_have_the_statistics_without_gaps(pair: tuple[int, int]) -> None:
    matrix, (opening, extension) = SubstitutionMatrix.match_mismatch(*pair), NUCLEIC[pair][0]
    known = known_statistics(Scoring(matrix, GapCosts.from_blast(opening + 1, extension)), 500, 10**7, 1000)
    assert known is not None
    assert known.kind == "computed"
    assert known.parameters == ungapped_parameters(matrix)
    assert "published" not in known.words
    assert known_statistics(Scoring(matrix, GapCosts.from_blast(opening, 0)), 500, 10**7, 1000) is None


def test_a_matrix_with_a_known_name_and_other_scores_has_no_published_statistics() -> None:
    blosum = load_matrix("BLOSUM62")
    scores = blosum.scores.copy()
    at = code_of("W"), code_of("C")
    scores[at] = scores[at[::-1]] = scores[at] + 1
    altered = msgspec.structs.replace(blosum, scores=scores)
    assert altered.name == "BLOSUM62"
    assert published_parameters(blosum, GapCosts.from_blast(11, 1)) is not None
    assert published_parameters(altered, GapCosts.from_blast(11, 1)) is None


@pytest.mark.parametrize(
    ("m", "n", "n_sequences"), [(300, 200_000_000, 500_000), (57, 979_924, 3000), (3000, 10**7, 9)]
)
def test_the_length_adjustment_is_the_largest_below_its_fixed_point(m: int, n: int, n_sequences: int) -> None:
    p = Parameters(0.267, 0.041, 0.14, 1.9, -30)

    def right_side(length: int) -> float:
        return 1.9 / 0.267 * math.log(0.041 * (m - length) * (n - n_sequences * length)) - 30

    found = length_adjustment(p, m, n, n_sequences)
    assert 0 < found <= right_side(found)
    small = 0.041 * (m - found - 1) * (n - n_sequences * (found + 1)) <= max(m, n)
    assert small or found + 1 > right_side(found + 1)


def test_tiny_searches_have_no_length_adjustment() -> None:
    assert length_adjustment(Parameters(0.267, 0.041, 0.14, 1.9, -30), 5, 20, 2) == 0


def statistics(n_residues: int = 10**8) -> Statistics:
    found = known_statistics(Scoring(load_matrix("BLOSUM62"), GapCosts(12, 1)), 300, n_residues, n_residues // 360)
    assert found is not None
    return found


def test_bits_and_evalues_are_two_views_of_a_score() -> None:
    known = statistics()
    for raw in (0, 40, 70, 700):
        assert known.evalue(raw) == pytest.approx(known.search_space * 2.0 ** -known.bits(raw), rel=1e-9)
    assert known.bits(70) == pytest.approx((0.267 * 70 - math.log(0.041)) / math.log(2))
    assert Statistics.from_dict(known.to_dict()) == known


@pytest.mark.parametrize("limit", [1e-30, 1e-3, 10.0, 1e12])
def test_the_least_score_is_the_least(limit: float) -> None:
    known = statistics()
    least = known.least_raw(limit)
    assert known.evalue(least) <= limit
    assert least == 0 or known.evalue(least - 1) > limit


@pytest.mark.parametrize(
    ("pair", "gaps", "step"),
    [((2, -3), (5, 2), 2), ((3, -4), (6, 3), 2), ((6, -8), (12, 6), 4), ((1, -3), (2, 2), 1), ((4, -5), (6, 5), 1)],
)
def test_evalues_are_those_of_scores_rounded_down_where_the_tables_ask_for_it(
    pair: tuple[int, int], gaps: tuple[int, int], step: int
) -> None:
    found = known_statistics(
        Scoring(SubstitutionMatrix.match_mismatch(*pair), GapCosts.from_blast(*gaps)), 100, 10**6, 10
    )
    assert found is not None
    values = [found.evalue(raw) for raw in range(40, 40 + step + 1)]
    assert values[:step] == [values[0]] * step
    assert values[step] < values[0]
    for raw in (40, 41, 43):  # the bits are those of the formula, as BLAST prints them
        assert found.bits(raw) == (found.parameters.lambda_ * raw - math.log(found.parameters.k)) / math.log(2)
    assert found.least_raw(1e-5) % step == 0
    assert ("rounded down" in found.words) == (step > 1)


def random_batch(n: int, rng: np.random.Generator) -> SequenceBatch:
    shares = frequencies(is_nucleic=False)
    codes = [rng.choice(N_CODES, int(rng.integers(60, 900)), p=shares).astype(np.uint8) for _ in range(n)]
    return SequenceBatch.from_texts(codes)


QUERY_LENGTH = 2000
"""The published lambda is that of long sequences; with short ones chance gives fewer high scores."""


def random_query(rng: np.random.Generator) -> PairwiseQuery:
    codes = rng.choice(N_CODES, QUERY_LENGTH, p=frequencies(is_nucleic=False)).astype(np.uint8)
    return PairwiseQuery(Sequence("q", "", codes), Scoring(load_matrix("BLOSUM62"), GapCosts.from_blast(11, 1)))


Simulated = tuple[list[npt.NDArray[np.int32]], npt.NDArray[np.int64]]


@pytest.fixture(scope="module")
def simulated(opencl_device: Device) -> Simulated:
    """Scores of three random queries against random sequences, and the lengths of these."""
    rng = np.random.default_rng(7)
    batch = random_batch(3000, rng)
    with open_session(opencl_device) as session:
        scores = [session.run(SMITH_WATERMAN, batch, random_query(rng)).scores.values for _ in range(3)]
    return scores, batch.lengths.astype(np.int64)


def test_a_fit_to_random_sequences_finds_the_published_parameters(simulated: Simulated) -> None:
    found = [fitted_statistics(scores, simulated[1], QUERY_LENGTH, int(simulated[1].sum())) for scores in simulated[0]]
    lambdas = [fit.parameters.lambda_ for fit in found if fit is not None]
    assert len(lambdas) == 3
    # The standard error of each is 0.78 / sqrt(3000) = 1.4 %; so is what the composition of a query changes.
    assert np.mean(lambdas) == pytest.approx(0.267, rel=0.04)
    for fit, scores in zip(found, simulated[0], strict=True):
        assert fit is not None
        for score in (50, 60):
            n = int((scores >= score).sum())
            assert fit.evalue(score) == pytest.approx(n, rel=4 / math.sqrt(n))


def test_homologs_do_not_move_the_fit(simulated: Simulated) -> None:
    scores, lengths = simulated[0][0], simulated[1]
    with_family = scores.copy()
    with_family[:300] += 150
    plain, other = (
        fitted_statistics(values, lengths, QUERY_LENGTH, int(lengths.sum())) for values in (scores, with_family)
    )
    assert plain is not None
    assert other is not None
    assert len(scores) - 310 < other.n_fitted <= len(scores) - 300
    assert other.parameters.lambda_ == pytest.approx(plain.parameters.lambda_, rel=0.03)


def test_the_expected_histogram_is_that_of_the_sequences(simulated: Simulated) -> None:
    scores, lengths = simulated[0][0], simulated[1]
    fit = fitted_statistics(scores, lengths, QUERY_LENGTH, int(lengths.sum()))
    assert fit is not None
    expected = fit.expected_counts(typical_lengths(lengths), len(lengths), 0, 400)
    assert expected.sum() == pytest.approx(len(scores), rel=1e-6)
    observed = np.bincount(scores, minlength=400)[:400]
    assert 0.5 * np.abs(expected - observed).sum() < 0.08 * len(scores)


def test_scores_that_published_statistics_do_not_fit_are_reported() -> None:
    known = Statistics("published", Parameters(0.267, 0.041), 0, 300, 3e8, "")

    def fitted(k: float, n: int = 5000) -> Statistics:
        return Statistics("fitted", Parameters(0.267, k), 0, 300, 3e8, "", n)

    assert "5 times" in misfit(known, fitted(0.041 * 5), 10.0)
    assert "4 times" in misfit(known, fitted(0.041 / 4), 10.0)
    assert misfit(known, fitted(0.041 * 2.9), 10.0) == misfit(known, fitted(0.041 / 2.9), 10.0) == ""
    assert (
        misfit(known, fitted(0.041 * 5, n=300), 10.0) == misfit(known, None, 10.0) == misfit(known, known, 10.0) == ""
    )
    flatter = Statistics("fitted", Parameters(0.232, 0.017), 0, 300, 3e8, "", 5000)
    assert misfit(known, flatter, 1e-3)


@pytest.mark.parametrize("evalue", [1e-60, 1e-318])
def test_a_strict_limit_says_nothing_of_how_scores_fit(evalue: float) -> None:
    known = Statistics("published", Parameters(0.267, 0.041), 0, 300, 3e8, "")
    much_alike = Statistics("fitted", Parameters(0.256, 0.03), 0, 300, 3e8, "", 5000)
    assert misfit(known, much_alike, evalue) == ""


def test_few_scores_are_not_fitted() -> None:
    rng = np.random.default_rng(1)
    n = MIN_SCORES
    raws = (40 + 3 * rng.gumbel(size=n)).astype(np.int32)
    lengths = np.full(n, 300, np.int64)
    assert fitted_statistics(raws, lengths, 100, 10**6) is not None
    assert fitted_statistics(raws[1:], lengths[1:], 100, 10**6) is None
    assert fitted_statistics(np.full(n, 30, np.int32), lengths, 100, 10**6) is None


@pytest.mark.parametrize(("score", "deviation"), [(6500, 3.0), (1500, 3.0), (2**30, 1.0)])
def test_copies_of_one_sequence_are_not_taken_for_chance(score: int, deviation: float) -> None:
    """No number holds K of such a fit, or it means nothing."""
    raws = (score + deviation * np.random.default_rng(1).normal(size=1500)).astype(np.int32)
    assert fitted_statistics(raws, np.full(1500, 1273, np.int64), 1273, 10**6) is None


def test_of_many_sequences_some_are_fitted_and_never_empty_ones() -> None:
    lengths = np.arange(3 * MAX_FITTED, dtype=np.int64) % 3
    rows = rows_to_fit(lengths)
    assert len(rows) == len(set(rows.tolist())) == MAX_FITTED
    assert lengths[rows].min() == 1
    assert rows_to_fit(np.array([5, 0, 7])).tolist() == [0, 2]
    assert np.array_equal(rows, rows_to_fit(lengths))


def test_evalues_go_on_to_zero_and_limits_below_all_numbers_have_a_score() -> None:
    known = statistics()
    values = [known.evalue(raw) for raw in range(2600, 3200, 50)]
    assert values == sorted(values, reverse=True)
    assert 0.0 < values[2] < 1e-300
    assert values[-1] == 0.0
    assert known.evalue(2650) == pytest.approx(known.evalue(2600) * math.exp(-0.267 * 50), rel=1e-9)
    for limit in (1e-300, 5e-324):
        least = known.least_raw(limit)
        assert known.evalue(least) <= limit < known.evalue(least - 1)
