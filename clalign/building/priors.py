"""Probabilities of a profile from counts and what is known of proteins and nucleic acids in general."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.building.counts import Counts
from clalign.values.alphabets import Alphabet
from clalign.values.profiles import DD, DM, MD, MI, MM
from clalign.values.sums import compensated_sum, normalized

Doubles = npt.NDArray[np.float64]

LOG_GAMMA = (
    4.694580336184385e04, -1.560605207784446e05, 2.065049568014106e05, -1.388934775095388e05, 5.031796415085709e04,
    -9.601592329182778e03, 8.785855930895250e02, -3.155153906098611e01, 2.908143421162229e-01, -2.319827630494973e-04,
    1.251639670050933e-10,
)  # fmt: skip
"""Coefficients of Lanczos' series as HMMER has them."""

HALF_LOG_2_PI = 0.918938533
"""Half the logarithm of 2 pi, with as many digits as HMMER has."""

NEGLIGIBLE = 500.0
"""A term whose logarithm is so far below the largest does not count in a sum."""


class Mixture(Struct, frozen=True, eq=False):
    """A mixture of Dirichlet distributions: share (float64[Q]) and parameters (float64[Q, K]) of each."""

    shares: Doubles
    alphas: Doubles

    @classmethod
    def of_one(cls, *alphas: float) -> Mixture:
        """Return one distribution."""
        return cls(np.ones(1), np.array([alphas]))

    def mean(self, counts: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the mean posterior probabilities of counts (float32[n, K], both).

        References
        ----------
        Sjolander et al., Comput. Appl. Biosci. 12, 327-345 (1996).
        """
        c = counts.astype(np.float64)
        shares = self._posterior(c)
        total = compensated_sum(c)
        means = np.zeros_like(c)
        for share, alpha in zip(shares.T, self.alphas, strict=True):
            means += share[:, None] * (c + alpha) / (total + compensated_sum(alpha))[:, None]
        return normalized(means).astype(np.float32)

    def _posterior(self, counts: Doubles) -> Doubles:
        """Return the share of each distribution given counts (float64[n, Q])."""
        if len(self.shares) == 1:
            return np.ones((len(counts), 1))
        logs = np.log(self.shares) + log_densities(counts, self.alphas)
        top = logs.max(axis=1, keepdims=True)
        terms, total = np.where(logs > top - NEGLIGIBLE, np.exp(logs - top), 0.0), np.zeros(len(counts))
        for column in terms.T:
            total = total + column
        return normalized(np.exp(logs - (np.log(total)[:, None] + top)))


class Prior(Struct, frozen=True, eq=False):
    """What is known before anything is counted: transitions from match, insert and delete, emissions of both."""

    match: Mixture
    insert: Mixture
    from_match: Mixture
    from_insert: Mixture
    from_delete: Mixture


def log_gamma(x: Doubles) -> Doubles:
    """Return the logarithm of the gamma function, with HMMER's rounding.

    References
    ----------
    Lanczos, SIAM J. Numer. Anal. B 1, 86-96 (1964).
    """
    below = x - 1.0
    place, value = below + 11.0, np.ones_like(x)
    for coefficient in reversed(LOG_GAMMA):
        value += coefficient / place
        place -= 1.0
    shifted = below + 11.0 + 0.5
    logs: Doubles = np.log(value) + (HALF_LOG_2_PI + (below + 0.5) * np.log(shifted) - shifted)
    return logs


def log_densities(counts: Doubles, alphas: Doubles) -> Doubles:
    """Return the logarithms of the probabilities of counts (float64[n, K]) by Dirichlet distributions (float64[Q, K]).

    Returns
    -------
    float64[n, Q]
        Sums are of one term after the other, as in HMMER.
    """
    of_counts, of_alphas = log_gamma(counts + 1.0), log_gamma(alphas)
    of_total, of_sums = log_gamma(_sum(counts) + 1.0), log_gamma(_sum(alphas))
    logs = np.empty((len(counts), len(alphas)))
    for q, alpha in enumerate(alphas):
        both = counts + alpha
        terms = _sum(log_gamma(both) - of_counts - of_alphas[q])
        logs[:, q] = terms + (of_sums[q] + of_total - log_gamma(_sum(both)))
    return logs


def _sum(values: Doubles) -> Doubles:
    """Return sums over the last axis, one value after the other."""
    sums: Doubles = np.add.accumulate(values, axis=-1)[..., -1]
    return sums


def prior_of(alphabet: Alphabet) -> Prior:
    """Return HMMER's prior of proteins or of nucleic acids."""
    if alphabet.is_nucleic:
        return Prior(
            Mixture(NUCLEIC_SHARES, NUCLEIC_ALPHAS),
            Mixture.of_one(1.0, 1.0, 1.0, 1.0),
            Mixture.of_one(2.0, 0.1, 0.1),
            Mixture.of_one(0.12, 0.4),
            Mixture.of_one(0.5, 1.0),
        )
    return Prior(
        Mixture(AMINO_SHARES, AMINO_ALPHAS),
        Mixture.of_one(*AMINO_INSERTED),
        Mixture.of_one(0.7939, 0.0278, 0.0135),
        Mixture.of_one(0.1551, 0.1331),
        Mixture.of_one(0.9002, 0.5630),
    )


def laplace(alphabet: Alphabet) -> Prior:
    """Return the prior of one more of everything."""
    emissions = Mixture.of_one(*[1.0] * alphabet.size)
    return Prior(emissions, emissions, *(Mixture.of_one(*[1.0] * n) for n in (3, 2, 2)))


def match_probabilities(counts: npt.NDArray[np.float32], prior: Prior | None) -> npt.NDArray[np.float32]:
    """Return the emission probabilities of match states (float32[n, K]), which have their counts."""
    return normalized(counts) if prior is None else prior.match.mean(counts)


def probabilities(counts: Counts, prior: Prior | None) -> Counts:
    """Return the probabilities of counts: emissions, and transitions from each state; frequencies without a prior."""
    if prior is None:
        return _frequencies(counts)
    t = counts.transitions
    match, insert = prior.match.mean(counts.match), prior.insert.mean(counts.insert)
    transitions = np.concatenate(
        [prior.from_match.mean(t[:, :3]), prior.from_insert.mean(t[:, 3:5]), prior.from_delete.mean(t[:, 5:])], axis=1
    )
    transitions[-1, MD] = 0
    transitions[-1, :3] = normalized(transitions[-1, :3])
    transitions[[0, -1], DM], transitions[[0, -1], DD] = 1, 0
    match[0] = 0
    match[0, 0] = 1
    return Counts(match, insert, transitions)


def _frequencies(counts: Counts) -> Counts:
    t = counts.transitions
    transitions = np.concatenate([normalized(t[:, :3]), normalized(t[:, 3:5]), normalized(t[:, 5:])], axis=1)
    transitions[-1, DM], transitions[-1, DD] = 1, 0
    if transitions[-1, MD] > 0:
        transitions[-1, [MM, MI, MD]] = 0.5, 0.5, 0
    return Counts(normalized(counts.match), normalized(counts.insert), transitions)


AMINO_SHARES = np.array([0.178091, 0.056591, 0.0960191, 0.0781233, 0.0834977, 0.0904123, 0.114468, 0.0682132, 0.234585])

AMINO_ALPHAS = np.array([
    [0.270671, 0.039848, 0.017576, 0.016415, 0.014268, 0.131916, 0.012391, 0.022599, 0.020358, 0.030727,
     0.015315, 0.048298, 0.053803, 0.020662, 0.023612, 0.216147, 0.147226, 0.065438, 0.003758, 0.009621],
    [0.021465, 0.010300, 0.011741, 0.010883, 0.385651, 0.016416, 0.076196, 0.035329, 0.013921, 0.093517,
     0.022034, 0.028593, 0.013086, 0.023011, 0.018866, 0.029156, 0.018153, 0.036100, 0.071770, 0.419641],
    [0.561459, 0.045448, 0.438366, 0.764167, 0.087364, 0.259114, 0.214940, 0.145928, 0.762204, 0.247320,
     0.118662, 0.441564, 0.174822, 0.530840, 0.465529, 0.583402, 0.445586, 0.227050, 0.029510, 0.121090],
    [0.070143, 0.011140, 0.019479, 0.094657, 0.013162, 0.048038, 0.077000, 0.032939, 0.576639, 0.072293,
     0.028240, 0.080372, 0.037661, 0.185037, 0.506783, 0.073732, 0.071587, 0.042532, 0.011254, 0.028723],
    [0.041103, 0.014794, 0.005610, 0.010216, 0.153602, 0.007797, 0.007175, 0.299635, 0.010849, 0.999446,
     0.210189, 0.006127, 0.013021, 0.019798, 0.014509, 0.012049, 0.035799, 0.180085, 0.012744, 0.026466],
    [0.115607, 0.037381, 0.012414, 0.018179, 0.051778, 0.017255, 0.004911, 0.796882, 0.017074, 0.285858,
     0.075811, 0.014548, 0.015092, 0.011382, 0.012696, 0.027535, 0.088333, 0.944340, 0.004373, 0.016741],
    [0.093461, 0.004737, 0.387252, 0.347841, 0.010822, 0.105877, 0.049776, 0.014963, 0.094276, 0.027761,
     0.010040, 0.187869, 0.050018, 0.110039, 0.038668, 0.119471, 0.065802, 0.025430, 0.003215, 0.018742],
    [0.452171, 0.114613, 0.062460, 0.115702, 0.284246, 0.140204, 0.100358, 0.550230, 0.143995, 0.700649,
     0.276580, 0.118569, 0.097470, 0.126673, 0.143634, 0.278983, 0.358482, 0.661750, 0.061533, 0.199373],
    [0.005193, 0.004039, 0.006722, 0.006121, 0.003468, 0.016931, 0.003647, 0.002184, 0.005019, 0.005990,
     0.001473, 0.004158, 0.009055, 0.003630, 0.006583, 0.003172, 0.003690, 0.002967, 0.002772, 0.002686],
])  # fmt: skip
"""Nine kinds of columns of proteins (Sjolander et al.)."""

AMINO_INSERTED = (
    681.0, 120.0, 623.0, 651.0, 313.0, 902.0, 241.0, 371.0, 687.0, 676.0,
    143.0, 548.0, 647.0, 415.0, 551.0, 926.0, 623.0, 505.0, 102.0, 269.0,
)  # fmt: skip
"""Residues of insertions in proteins."""

NUCLEIC_SHARES = np.array([0.24, 0.26, 0.08, 0.42])

NUCLEIC_ALPHAS = np.array(
    [[0.16, 0.45, 0.12, 0.39], [0.09, 0.03, 0.09, 0.04], [1.29, 0.40, 6.58, 0.51], [1.74, 1.49, 1.57, 1.95]]
)
"""Four kinds of columns of nucleic acids."""
