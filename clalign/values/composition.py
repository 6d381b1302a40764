"""Adjustment of statistics to the composition of a pair of proteins.

Lambda without gaps is that of random sequences of the usual composition. Two sequences that are rich in the same
letters score high by chance more often: their own lambda, the root of ``sum q_a p_b exp(lambda s_ab) = 1`` for the
shares q and p of the letters in query and target, is smaller. Lambda with gaps cannot be computed, but it is taken to
shrink by the same factor (Schaffer et al. 2001), so E-values and bits of the pair are those of a score multiplied by
it. BLAST multiplies the scores of the matrix, gap costs as they are, and aligns again (its mode 1); here the alignment
stays as it is. As there, the factor lies between 0.5 and 1: no score counts for more than it is.

References
----------
Schaffer, Aravind, Madden, Shavirin, Spouge, Wolf, Koonin and Altschul, Nucleic Acids Res. 29, 2994 (2001).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.values.alphabets import AMINO, N_CODES, code_of
from clalign.values.karlin_altschul import ungapped_parameters
from clalign.values.scoring import SubstitutionMatrix
from clalign.values.sequences import SequenceBatch

MIN_FACTOR = 0.5
"""Least factor of lambda, as in BLAST."""

COUNTED_AS = {"U": "C", "O": "K"}
"""Selenocysteine and pyrrolysine count as what they stand in for; other letters beside the twenty do not count."""

N_STEPS = 45
"""Number of bisections, after which the factor is known to 1e-14."""


def letter_counts(batch: SequenceBatch) -> npt.NDArray[np.float64]:
    """Return how often each of the twenty amino acids stands in each sequence (float64[n, 20])."""
    letters = {code_of(letter): column for column, letter in enumerate(AMINO.canonical)}
    letters |= {code_of(letter): letters[code_of(other)] for letter, other in COUNTED_AS.items()}
    rows = np.repeat(np.arange(len(batch), dtype=np.int64), batch.lengths)
    counts = np.bincount(rows * N_CODES + batch.codes, minlength=len(batch) * N_CODES).reshape(-1, N_CODES)
    found = np.zeros((len(batch), len(AMINO.canonical)))
    for code, column in letters.items():
        found[:, column] += counts[:, code]
    return found


def lambda_factors(
    matrix: SubstitutionMatrix, query: npt.NDArray[np.uint8], batch: SequenceBatch
) -> npt.NDArray[np.float64]:
    """Return the factors that lambda is to be multiplied by for a query and each target.

    Parameters
    ----------
    matrix : SubstitutionMatrix
        For proteins, with a negative mean score.
    query : uint8[m]
        Letter codes.
    batch : SequenceBatch
        Targets.

    Returns
    -------
    float64[n]
        Between `MIN_FACTOR` and 1; 1 where a sequence has none of the twenty amino acids.
    """
    usual = ungapped_parameters(matrix)
    assert usual is not None
    own = letter_counts(SequenceBatch.from_texts([query]))[0]
    counts = letter_counts(batch)
    totals = counts.sum(axis=1)
    factors = np.ones(len(batch))
    if not own.sum():
        return factors
    codes = [code_of(letter) for letter in AMINO.canonical]
    table = matrix.scores[np.ix_(codes, codes)].astype(np.int64)
    scores = np.unique(table)
    # By score and letter of the target: the share of letters of the query that score so with it.
    shares = np.stack([(table == score).T @ (own / own.sum()) for score in scores])
    known = totals > 0
    chances = counts[known] / totals[known, np.newaxis] @ shares.T

    def is_above(factor: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
        """Return whether lambda, times a factor, lies above the root: there the sum exceeds 1."""
        powers = np.exp(usual.lambda_ * factor[:, np.newaxis] * scores)
        above: npt.NDArray[np.bool_] = np.einsum("ns,ns->n", chances, powers) > 1.0
        return above

    low, high = np.full(int(known.sum()), MIN_FACTOR), np.ones(int(known.sum()))
    least, most = is_above(low), ~is_above(high)
    for _ in range(N_STEPS):
        middle = (low + high) / 2.0
        above = is_above(middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    factors[known] = np.where(most, 1.0, np.where(least, MIN_FACTOR, (low + high) / 2.0))
    return factors
