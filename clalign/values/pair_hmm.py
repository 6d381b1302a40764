"""The pair hidden Markov model of statistical alignment: gap parameters, emissions, posteriors, expected counts.

A path emits pairs of residues (match), residues of the first sequence x alone (insert) and of the second, y (delete).
There are one or two sets of gap states, of which each has an insert and a delete: with 3 or 5 emitting states.

References
----------
Bradley, Roberts, Smoot, Juvekar, Do, Dewey, Holmes and Pachter, Fast statistical alignment, PLoS Computational Biology
5(5):e1000392 (2009). The protein tables are those of ProbCons (Do, Mahabhashyam, Brudno and Batzoglou, 2005).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.alphabets import N_CODES, Alphabet, code_of

Numbers = npt.NDArray[np.float64]

TO_END = 0.001
"""Probability of the step from any emitting state to the end; also the least probability of a gap."""

FREQUENCY_OFFSET = 0.001
"""Added to the count of each residue before it is made a frequency."""

PROTEIN_LETTERS, NUCLEIC_LETTERS = "ACDEFGHIKLMNPQRSTVWY", "ACGT"

_PROTEIN_SINGLES = """
0.07831005 0.02189704 0.05130349 0.05615771 0.04463228 0.07783433 0.02601093 0.06511648 0.05877077 0.09716489
0.02438117 0.04433257 0.03940142 0.03585766 0.05246024 0.05849916 0.05115306 0.07343426 0.01203523 0.03124726
"""

_PROTEIN_PAIRS = """
.02373072 .00145515 .01013470 .00223549 .00036798 .01911178 .00332218 .00037956 .00496800 .01676565 .00165004
.00052274 .00069041 .00078814 .01661038 .00597898 .00071206 .00235249 .00214860 .00115204 .04062876 .00114353
.00026421 .00097077 .00131767 .00072545 .00103704 .00867996 .00318853 .00094040 .00105355 .00124207 .00279948
.00142520 .00059716 .01778263 .00331693 .00046951 .00252518 .00428420 .00087222 .00259311 .00121376 .00157852
.01612228 .00449576 .00138494 .00161966 .00222063 .00533369 .00212853 .00111754 .01071834 .00259626 .03583921
.00148878 .00037421 .00047808 .00076105 .00116111 .00066504 .00042237 .00224097 .00096120 .00461939 .00409522
.00210228 .00042479 .00353540 .00224738 .00084658 .00288882 .00141205 .00104273 .00257310 .00160275 .00063401
.01281864 .00230618 .00034766 .00125381 .00151550 .00060701 .00155601 .00049078 .00103767 .00154836 .00157310
.00046718 .00100282 .01846071 .00219102 .00032102 .00176784 .00345128 .00059248 .00142432 .00113901 .00100883
.00312308 .00180553 .00075546 .00158223 .00090111 .00756604 .00244502 .00044701 .00161657 .00268865 .00090768
.00194865 .00132105 .00138145 .00595650 .00246811 .00076734 .00207782 .00106268 .00253532 .01775118 .00631752
.00094867 .00285226 .00293898 .00119036 .00381962 .00116422 .00173565 .00312633 .00250962 .00087787 .00301397
.00180037 .00191155 .00224540 .01346609 .00389995 .00073798 .00180488 .00216760 .00107595 .00214841 .00077747
.00248968 .00250862 .00302273 .00093371 .00220144 .00147982 .00154526 .00186053 .00487295 .01299436 .00533241
.00119152 .00127915 .00178697 .00256159 .00194579 .00071553 .01117956 .00210897 .00914460 .00197461 .00136609
.00135781 .00132844 .00169359 .00241601 .00343452 .02075171 .00039119 .00010666 .00016015 .00023815 .00085751
.00038786 .00019097 .00039549 .00028448 .00076736 .00016253 .00021006 .00015674 .00020592 .00029139 .00026525
.00024961 .00038538 .00563625 .00131840 .00036626 .00066005 .00092548 .00368739 .00089301 .00131038 .00127857
.00100817 .00219713 .00054105 .00074960 .00047608 .00070192 .00099430 .00102648 .00094759 .00148001 .00069226
.00999315
"""

_NUCLEIC_SINGLES = "0.227079 0.242208 0.283932 0.246468"
_NUCLEIC_PAIRS = "0.148724 .0184143 .158392 .0361397 .0275537 .197932 .0238474 .0389291 .0244289 .155748"


def _read_only(numbers: npt.ArrayLike) -> Numbers:
    array = np.array(numbers, np.float64)
    array.flags.writeable = False
    return array


class GapParameters(Struct, frozen=True, eq=False):
    """How gaps open and go on, one number for each set of gap states; of one model, or of many.

    Attributes
    ----------
    opens : float64[..., n_sets]
        Probability of the step from match to either state of the set.
    extends : float64[..., n_sets]
        Probability of staying in a gap.
    """

    opens: Numbers
    extends: Numbers

    @classmethod
    def of(cls, opens: npt.ArrayLike, extends: npt.ArrayLike) -> GapParameters:
        """Return parameters of numbers, which are copied."""
        return cls(_read_only(opens), _read_only(extends))

    @property
    def n_sets(self) -> int:
        """Sets of gap states: 1 or 2."""
        return int(self.opens.shape[-1])


class PairEmissions(Struct, frozen=True, eq=False):
    """Emission probabilities of the states.

    Attributes
    ----------
    letters : str
        The residues, in the order of the tables.
    singles : float64[n]
        Probability of a residue in a gap.
    pairs : float64[n, n]
        Probability of a residue of x and one of y in a match.
    """

    letters: str
    singles: Numbers
    pairs: Numbers

    @classmethod
    def of(cls, letters: str, singles: npt.ArrayLike, pairs: npt.ArrayLike) -> PairEmissions:
        """Return emissions of numbers, which are copied."""
        return cls(letters, _read_only(singles), _read_only(pairs))

    @property
    def indices(self) -> npt.NDArray[np.uint8]:
        """Place in the tables of each letter code (uint8[N_CODES]); U counts as T, letters that are not there as A."""
        return indices_of(self.letters)


def indices_of(letters: str) -> npt.NDArray[np.uint8]:
    """Return the place among letters of each letter code (uint8[N_CODES]); U is T, and what is not there the first."""
    indices = np.zeros(N_CODES, np.uint8)
    for place, letter in enumerate(letters):
        indices[code_of(letter)] = place
    if letters == NUCLEIC_LETTERS:
        indices[code_of("U")] = letters.index("T")
    return indices


class PairHmm(Struct, frozen=True, eq=False):
    """A pair hidden Markov model."""

    gaps: GapParameters
    emissions: PairEmissions


class PairHmms(Struct, frozen=True, eq=False):
    """The models of the pairs of a batch: gap parameters of their own, and emissions that several may share.

    Attributes
    ----------
    gaps : GapParameters
        Gap parameters of the pairs (float64[n, n_sets] each).
    emissions : tuple of PairEmissions
        All emissions, which have the same letters.
    emission_rows : int32[n]
        Which of them each pair has.
    """

    gaps: GapParameters
    emissions: tuple[PairEmissions, ...]
    emission_rows: npt.NDArray[np.int32]

    @classmethod
    def same(cls, model: PairHmm, n: int) -> PairHmms:
        """Return one model for n pairs."""
        gaps = GapParameters.of(np.tile(model.gaps.opens, (n, 1)), np.tile(model.gaps.extends, (n, 1)))
        return cls(gaps, (model.emissions,), np.zeros(n, np.int32))

    @classmethod
    def each(cls, gaps: Sequence[GapParameters], emissions: PairEmissions) -> PairHmms:
        """Return models that share their emissions."""
        of_all = GapParameters.of([pair.opens for pair in gaps], [pair.extends for pair in gaps])
        return cls(of_all, (emissions,), np.zeros(len(gaps), np.int32))

    def __len__(self) -> int:
        return len(self.emission_rows)

    def __getitem__(self, row: int) -> PairHmm:
        gaps = GapParameters(self.gaps.opens[row], self.gaps.extends[row])
        return PairHmm(gaps, self.emissions[self.emission_rows[row]])

    def select(self, rows: npt.NDArray[np.int64]) -> PairHmms:
        """Return the models of some pairs, with those emissions that they have."""
        gaps = GapParameters.of(self.gaps.opens[rows], self.gaps.extends[rows])
        used, places = np.unique(self.emission_rows[rows], return_inverse=True)
        return PairHmms(gaps, tuple(self.emissions[row] for row in used.tolist() or [0]), places.astype(np.int32))


class Transitions(Struct, frozen=True):
    """Probabilities of the steps of a model, or of many; those of gaps one for each set (float64[..., n_sets])."""

    start_match: Numbers
    match_match: Numbers
    opens: Numbers
    """To insert, and the same to delete."""
    extends: Numbers
    closes: Numbers


def transitions_of(gaps: GapParameters) -> Transitions:
    """Return the steps of a model, or of many; those that are not named lead to the end, with `TO_END`."""
    stay = 1.0 - gaps.opens.sum(axis=-1)
    return Transitions(stay, stay - TO_END, gaps.opens / 2, gaps.extends, 1.0 - gaps.extends - TO_END)


class ExpectedCounts(Struct, frozen=True, eq=False):
    """How often paths through the models take each step and emit each residue, by pair.

    Attributes
    ----------
    match_match : float64[n]
        From match to match.
    opens, extends, closes : float64[n, n_sets]
        From match to a gap, from a gap to itself, and from a gap to match.
    matches : float64[n, n_letters, n_letters]
        Pairs of residues that match emits.
    inserts, deletes : float64[n, n_letters]
        Residues of x and of y that gaps emit.
    log_likelihoods : float64[n]
        Natural logarithm of the probability of the pair.
    """

    match_match: Numbers
    opens: Numbers
    extends: Numbers
    closes: Numbers
    matches: Numbers
    inserts: Numbers
    deletes: Numbers
    log_likelihoods: Numbers


class PosteriorBatch(Struct, frozen=True, eq=False):
    """Which residues of pairs are probably homologous; pairs one after the other, in each by x and then by y.

    Attributes
    ----------
    offsets : int64[n + 1]
        Where the entries of each pair begin.
    x, y : int32[n_entries]
        Places of the two residues, counted from 0.
    values : float32[n_entries]
        Probability that they match.
    x_offsets, y_offsets : int64[n + 1]
        Where the residues of each pair begin in `x_gaps` and `y_gaps`.
    x_gaps, y_gaps : float32[n_residues]
        What is left of 1 for each residue.
    log_likelihoods : float64[n]
        Natural logarithm of the probability of the pair.
    """

    offsets: npt.NDArray[np.int64]
    x: npt.NDArray[np.int32]
    y: npt.NDArray[np.int32]
    values: npt.NDArray[np.float32]
    x_offsets: npt.NDArray[np.int64]
    y_offsets: npt.NDArray[np.int64]
    x_gaps: npt.NDArray[np.float32]
    y_gaps: npt.NDArray[np.float32]
    log_likelihoods: Numbers

    def __len__(self) -> int:
        return len(self.log_likelihoods)


MIN_POSTERIOR = 0.01
"""Posteriors below this are not kept."""

MIN_GAP_POSTERIOR = np.float32(1e-4)


def gap_posteriors(places: npt.NDArray[np.integer], values: npt.NDArray[np.float32], n: int) -> npt.NDArray[np.float32]:
    """Return the rest up to 1 for each of n residues, given the entries of the kept posteriors, in their order."""
    left = np.ones(n, np.float32)
    np.subtract.at(left, places, values)
    return np.maximum(left, MIN_GAP_POSTERIOR)


SEED_GAPS = {
    (False, 1): GapParameters.of([np.float32(0.01993141696)], [np.float32(0.7943345308)]),
    (False, 2): GapParameters.of(
        [np.float32(0.0119511066), np.float32(0.008008334786)], [np.float32(0.3965826333), np.float32(0.8988758326)]
    ),
    (True, 1): GapParameters.of([0.02], [0.3]),
    (True, 2): GapParameters.of([0.012, 0.008], [0.4, 0.9]),
}
"""Gap parameters before anything is learned, by whether sequences are nucleic, and the number of sets."""


def _symmetric(text: str, n: int) -> Numbers:
    """Return a table whose lower triangle is given."""
    table = np.zeros((n, n))
    table[np.tril_indices(n)] = np.array(text.split(), float)
    return table + np.tril(table, -1).T


def fixed_emissions(alphabet: Alphabet) -> PairEmissions:
    """Return emissions that do not depend on the sequences: those of a model that learns nothing."""
    if alphabet.is_nucleic:
        singles, pairs = np.array(_NUCLEIC_SINGLES.split(), float), _symmetric(_NUCLEIC_PAIRS, 4)
        return PairEmissions.of(NUCLEIC_LETTERS, singles, pairs)
    singles = np.array(_PROTEIN_SINGLES.split(), float)
    return PairEmissions.of(PROTEIN_LETTERS, singles, _symmetric(_PROTEIN_PAIRS, 20))


def seed_emissions(alphabet: Alphabet, counts: npt.NDArray[np.int64]) -> PairEmissions:
    """Return emissions for sequences of given composition, with which learning begins.

    Proteins have those of `fixed_emissions`, carried over to the frequencies of their residues; nucleic acids
    those of the model of Tamura and Nei.

    Parameters
    ----------
    alphabet : Alphabet
    counts : int64[n_letters]
        How often each residue occurs, in the order of the tables.
    """
    frequencies = (counts + FREQUENCY_OFFSET) / (counts.sum() + FREQUENCY_OFFSET * len(counts))
    if alphabet.is_nucleic:
        return tamura_nei(frequencies)
    fixed = fixed_emissions(alphabet)
    ratios = frequencies / fixed.singles
    pairs = fixed.pairs * np.outer(ratios, ratios)
    return PairEmissions.of(fixed.letters, frequencies / frequencies.sum(), pairs / pairs.sum())


def tamura_nei(
    frequencies: Numbers, time: float = 0.4, purines: float = 1.3, pyrimidines: float = 1.3, others: float = 1.0
) -> PairEmissions:
    """Return the emissions of two nucleic acids at a distance in time: the model of Tamura and Nei (1993).

    Parameters
    ----------
    frequencies : float64[4]
        Of A, C, G and T.
    time : float
    purines, pyrimidines, others : float
        Rates of replacement within the purines, within the pyrimidines, and by any base.
    """
    is_same_class = np.equal.outer(np.arange(4) % 2, np.arange(4) % 2)
    of_class = is_same_class @ frequencies
    rates = np.array([purines, pyrimidines, purines, pyrimidines])[:, None]
    kept = np.exp(-others * time)
    replaced = np.eye(4) * kept * np.exp(-rates * time)
    replaced += kept * (1 - np.exp(-rates * time)) * is_same_class * (frequencies / of_class)
    replaced += (1 - kept) * frequencies
    return PairEmissions.of(NUCLEIC_LETTERS, frequencies, replaced * frequencies[:, None])
