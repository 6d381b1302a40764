"""Profiles of single sequences: residues by a substitution matrix, gaps by two probabilities."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from clalign.building.counts import Counts
from clalign.building.rows import DigitalRows, members, symbols
from clalign.errors import OptionError
from clalign.formats.matrices import load_matrix
from clalign.values.alphabets import Alphabet, code_of
from clalign.values.karlin_altschul import scale_of_odds
from clalign.values.local_scores import background
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Doubles = npt.NDArray[np.float64]

BASES = np.array([[41, -32, -26, -26], [-32, 39, -38, -17], [-26, -38, 46, -31], [-26, -17, -31, 39]])
"""HMMER's matrix of nucleic acids, DNA1: A, C, G and T."""

DEFAULT_MATRIX = {"amino": "BLOSUM62", "dna": "DNA1", "rna": "DNA1"}
DEFAULT_OPEN = {"amino": 0.02, "dna": 0.03125, "rna": 0.03125}
DEFAULT_EXTEND = {"amino": 0.4, "dna": 0.75, "rna": 0.75}
"""Matrix, and probabilities that a gap begins and that it goes on, by the name of the alphabet."""

ORIGIN = "[HMM created from a query sequence]"
"""What the profile says of its history."""


def scores_of(name: str, alphabet: Alphabet) -> npt.NDArray[np.int64]:
    """Return the scores of a matrix, by name or from a file, for the residues of an alphabet (int64[K, K])."""
    if name.upper() == "DNA1" and alphabet.is_nucleic:
        return BASES
    matrix = load_matrix(name)
    if matrix.is_nucleic != alphabet.is_nucleic:
        raise OptionError(f"The matrix {name} has no scores for {alphabet.label}.", "Choose another one (--mx).")
    codes = [code_of(letter) for letter in alphabet.canonical.replace("U", "T")]
    return matrix.scores[np.ix_(codes, codes)].astype(np.int64)


def conditional(scores: npt.NDArray[np.int64], alphabet: Alphabet) -> Doubles:
    """Return how often each letter of the alphabet is aligned with each residue (float64[n_letters, K]).

    The scores are taken for log-odds at the frequencies of the background.

    Raises
    ------
    OptionError
        If there are no such probabilities.

    References
    ----------
    Karlin and Altschul, Proc. Natl. Acad. Sci. USA 87, 2264-2268 (1990).
    """
    shares = background(alphabet).astype(np.float64)
    products = [a * b for a in shares.tolist() for b in shares.tolist()]
    lambda_ = scale_of_odds(products, scores.ravel().tolist())
    if lambda_ is None:
        raise OptionError("The matrix has no scores of odds.", "Choose another one (--mx).")
    n = alphabet.size
    joint = [p * math.exp(lambda_ * score) for p, score in zip(products, scores.ravel().tolist(), strict=True)]
    table = np.zeros((len(symbols(alphabet)), n))
    table[:n] = np.array(joint).reshape(n, n)
    for code, found in members(alphabet).items():
        table[code] = np.add.accumulate(table[found], axis=0)[-1]
    sums = np.add.accumulate(table, axis=1)[:, -1:]
    return np.divide(table, sums, out=np.zeros_like(table), where=sums != 0)


def of_sequence(
    codes: npt.NDArray[np.uint8], table: Doubles, opening: float, extension: float, alphabet: Alphabet
) -> Counts:
    """Return the probabilities of a sequence's profile.

    Parameters
    ----------
    codes : uint8[M]
        As in `DigitalRows`, without gaps.
    table : float64[n_letters, K]
        See `conditional`.
    opening, extension : float
        Probability that a gap begins, and that it goes on.
    alphabet : Alphabet
    """
    n = len(codes)
    match = np.zeros((n + 1, alphabet.size), np.float32)
    match[1:] = table[codes]
    insert = np.broadcast_to(background(alphabet), match.shape)
    return Counts(match, insert, with_gaps(np.zeros((n + 1, 7), np.float32), opening, extension))


def with_gaps(
    transitions: npt.NDArray[np.float32], opening: float | None, extension: float | None
) -> npt.NDArray[np.float32]:
    """Return transitions (float32[M + 1, 7]) with given probabilities that a gap begins and that it goes on."""
    t = transitions.copy()
    if opening is not None:
        t[:, MM], t[:, MI], t[:, MD] = 1.0 - 2.0 * opening, opening, opening
        t[-1, MM] = 1.0 - opening
    if extension is not None:
        t[:, IM], t[:, II], t[:, DM], t[:, DD] = 1.0 - extension, extension, 1.0 - extension, extension
    t[-1, MD], t[-1, DM], t[-1, DD] = 0.0, 1.0, 0.0
    return t


def consensus_of_sequence(codes: npt.NDArray[np.uint8], match: npt.NDArray[np.float32], alphabet: Alphabet) -> str:
    """Return the letters of a sequence, upper case where they dominate their node.

    An ambiguous letter has no column of its own; HMMER looks at what follows in memory, the next node's numbers.
    """
    dominant = np.float32(0.9 if alphabet.is_nucleic else 0.5)
    places = np.arange(1, len(codes) + 1) * alphabet.size + codes
    known = np.append(match.ravel(), np.zeros(len(symbols(alphabet)), np.float32))
    letters = symbols(alphabet)
    return "".join(
        letters[code] if value >= dominant else letters[code].lower()
        for code, value in zip(codes.tolist(), known[places].tolist(), strict=True)
    )


def residues_of(rows: DigitalRows) -> npt.NDArray[np.uint8]:
    """Return the codes of the only row without gaps, missing data and ``*``."""
    codes = rows.codes[0]
    kept: npt.NDArray[np.uint8] = codes[(codes != rows.gap) & (codes < rows.missing - 1)]
    return kept
