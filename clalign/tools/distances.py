"""Distances between the sequences of an alignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from clalign.databases.letters import alphabet_of
from clalign.values.multiple_alignments import GAPS, MultipleAlignment
from clalign.values.sparse_posteriors import SparsePosteriors

Distances = npt.NDArray[np.float64]

MAX_DISTANCE = 5.0
"""Substitutions per residue at most, and where two sequences cannot be compared."""

MAX_CHARACTERS = 1 << 24
"""Characters of rows that are compared at a time."""

PURINES = b"AG"

LETTERS = bytes(range(ord("A"), ord("Z") + 1))


def shares_of_differences(rows: Sequence[bytes]) -> Distances:
    """Return the share of columns with different residues among those where both rows have one (float64[N, N]).

    Ambiguous letters do not count; the share is NaN for rows without such columns.
    """
    same, compared, _ = _counted(rows)
    return _share(compared - same, compared)


def kimura_distances(rows: Sequence[bytes]) -> Distances:
    """Return estimates of the substitutions per residue (float64[N, N]), at most `MAX_DISTANCE`.

    For proteins it is ``-ln(1 - p - p^2 / 5)`` (Kimura 1983), for nucleic acids an estimate by the shares of
    transitions and of transversions (Kimura 1980).
    """
    same, compared, alike = _counted(rows)
    with np.errstate(invalid="ignore", divide="ignore"):
        if alike is None:
            p = _share(compared - same, compared)
            found = -np.log(1 - p - p * p / 5)
        else:
            transitions, transversions = _share(alike - same, compared), _share(compared - alike, compared)
            found = -np.log((1 - 2 * transitions - transversions) * np.sqrt(1 - 2 * transversions)) / 2
    return np.where(np.isfinite(found), np.clip(found, 0, MAX_DISTANCE) + 0.0, MAX_DISTANCE)


def difference_distances(rows: Sequence[bytes]) -> Distances:
    """Return the shares of differences (float64[N, N]), 1 for rows that cannot be compared."""
    shares = shares_of_differences(rows)
    return np.where(np.isnan(shares), 1.0, shares)


DISTANCES: dict[str, Callable[[Sequence[bytes]], Distances]] = {"p": difference_distances, "kimura": kimura_distances}
"""Functions of distances, by the names of ``--distance``."""


def posterior_distances(posteriors: SparsePosteriors, alignment: MultipleAlignment) -> Distances:
    """Return the expected share of the shorter sequence that is not aligned correctly (float64[N, N]).

    It is 1 minus the sum of the posteriors of aligned residues over the length of the shorter sequence, as in ProbCons
    (Do et al. 2005); NaN for pairs that were not compared.
    """
    positions, lengths = alignment.positions(), posteriors.lengths
    found = np.full((len(lengths), len(lengths)), np.nan)
    for i, j, pair in posteriors.each():
        both = (positions[i] >= 0) & (positions[j] >= 0)
        matched = float(pair.at(positions[i][both], positions[j][both]).sum(dtype=np.float64))
        found[i, j] = found[j, i] = max(0.0, 1 - matched / min(lengths[i], lengths[j]))
    empty = lengths == 0
    found[empty], found[:, empty] = 1.0, 1.0
    np.fill_diagonal(found, 0.0)
    return found


def _share(part: Distances, whole: Distances) -> Distances:
    with np.errstate(invalid="ignore"):
        shares: Distances = part / np.where(whole > 0, whole, np.nan)
    np.fill_diagonal(shares, 0.0)
    return shares


def _counted(rows: Sequence[bytes]) -> tuple[Distances, Distances, Distances | None]:
    """Return the numbers of columns in which two rows have equal residues, any residues, and residues of one kind.

    Kinds are purines and pyrimidines; None for proteins.
    """
    n, width = len(rows), len(rows[0]) if rows else 0
    letters = np.frombuffer(b"".join(rows).upper(), np.uint8).reshape(n, width)
    counts = np.bincount(letters.ravel(), minlength=256)
    counts[list(GAPS)] = 0
    alphabet = alphabet_of(counts)
    known = alphabet.canonical.encode() if alphabet else LETTERS
    kinds = [PURINES, known.translate(None, PURINES)] if alphabet and alphabet.is_nucleic else []
    same, compared, alike = np.zeros((3, n, n))
    step = max(1, MAX_CHARACTERS // max(1, n))
    for first in range(0, width, step):
        part = letters[:, first : first + step]
        for total, groups in ((same, [bytes([letter]) for letter in known]), (compared, [known]), (alike, kinds)):
            for group in groups:
                has = np.isin(part, list(group)).astype(np.float32)
                total += has @ has.T
    return same, compared, alike if kinds else None
