"""Statistics of the columns of an alignment: counts of letters, consensus, conservation, information."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.row_alignments import UPPER, Bytes, is_residue

N_LETTERS = 26

Counts = npt.NDArray[np.uint32]
Floats = npt.NDArray[np.float32]

MAX_ROWS = 255
"""Rows that are counted together, so that a byte holds their sum."""

AMINO_LETTERS, NUCLEIC_LETTERS = "ACDEFGHIKLMNPQRSTVWY", "ACGTU"

BACKGROUND = {
    "A": 0.0777, "R": 0.0512, "N": 0.0448, "D": 0.0537, "C": 0.0153, "Q": 0.0342, "E": 0.0545, "G": 0.0735,
    "H": 0.0240, "I": 0.0676, "L": 0.0989, "K": 0.0581, "M": 0.0237, "F": 0.0473, "P": 0.0394, "S": 0.0595,
    "T": 0.0552, "W": 0.0132, "Y": 0.0321, "V": 0.0731,
}  # fmt: skip
"""Shares of the residues in the blocks that BLOSUM62 was counted in."""

TIE = ord("+")

NO_RESIDUE = ord("-")


def count_letters(cells: Bytes, counts: Counts, lengths: npt.NDArray[np.int64]) -> None:
    """Add the letters of at most `MAX_ROWS` rows to the counts of their columns, and the residues to their lengths.

    Parameters
    ----------
    cells : uint8[n_rows, n_columns]
    counts : uint32[n_columns, N_LETTERS]
    lengths : int64[n_rows]
    """
    upper = cells & UPPER
    same = np.empty(upper.shape, np.bool_)
    for letter in range(N_LETTERS):
        np.equal(upper, np.uint8(65 + letter), out=same)
        counts[:, letter] += np.add.reduce(same.view(np.uint8), axis=0, dtype=np.uint8)
    lengths += np.count_nonzero(is_residue(cells), axis=1)


class ColumnTracks(Struct, frozen=True, eq=False):
    """Statistics that are drawn along the columns.

    Attributes
    ----------
    consensus : uint8[n]
        The commonest residue: upper case where at least half of the rows have it; ``+`` where several are as common,
        ``-`` where no row has a residue.
    share : float32[n]
        The share of the column's residues that are this one.
    occupancy : float32[n]
        The share of the rows that have a residue.
    conservation : float32[n]
        Jensen-Shannon divergence of the column's residues from the background, times the occupancy (Capra and Singh
        2007, without a window), as a share of the greatest one.
    information : float32[n]
        Bits that the column's residues have less than equally frequent ones, corrected for few rows (Schneider and
        Stephens 1990).
    """

    consensus: Bytes
    share: Floats
    occupancy: Floats
    conservation: Floats
    information: Floats

    @classmethod
    def empty(cls, n_columns: int) -> ColumnTracks:
        """Return tracks of zeros, to be filled in."""
        return cls(np.zeros(n_columns, np.uint8), *(np.zeros(n_columns, np.float32) for _ in range(4)))

    def put(self, begin: int, part: ColumnTracks) -> None:
        """Fill in the tracks from a column on."""
        end = begin + len(part.consensus)
        for whole, some in (
            (self.consensus, part.consensus),
            (self.share, part.share),
            (self.occupancy, part.occupancy),
            (self.conservation, part.conservation),
            (self.information, part.information),
        ):
            whole[begin:end] = some


def column_tracks(counts: Counts, n_rows: int, nucleic: bool) -> ColumnTracks:
    """Return the tracks of columns from the counts of their letters (uint32[n, N_LETTERS])."""
    total = counts.sum(axis=1, dtype=np.int64)
    most = counts.max(axis=1)
    letter = counts.argmax(axis=1).astype(np.uint8) + np.uint8(65)
    tied = (counts == most[:, None]).sum(axis=1) > 1
    consensus = np.where(2 * most.astype(np.int64) >= n_rows, letter, letter | np.uint8(0x20))
    consensus = np.where(total == 0, np.uint8(NO_RESIDUE), np.where(tied, np.uint8(TIE), consensus))
    known = np.maximum(total, 1)
    occupancy = total / max(1, n_rows)
    information = _information(counts, nucleic)
    return ColumnTracks(
        consensus.astype(np.uint8),
        (most / known).astype(np.float32),
        occupancy.astype(np.float32),
        (_divergence(counts, nucleic) * occupancy).astype(np.float32),
        information.astype(np.float32),
    )


def logo_letters(nucleic: bool) -> list[int]:
    """Return the places in the alphabet of the letters that a logo is made of."""
    return [ord(letter) - 65 for letter in (NUCLEIC_LETTERS if nucleic else AMINO_LETTERS)]


def max_information(nucleic: bool) -> float:
    """Return the bits of a column that has one letter only."""
    return float(np.log2(4 if nucleic else 20))


def _shares(counts: Counts, nucleic: bool) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    chosen = counts[:, logo_letters(nucleic)].astype(np.float64)
    if nucleic:  # T and U are the same base
        chosen[:, 3] += chosen[:, 4]
        chosen = chosen[:, :4]
    total = chosen.sum(axis=1)
    return chosen / np.maximum(total, 1.0)[:, None], total


def _information(counts: Counts, nucleic: bool) -> npt.NDArray[np.float64]:
    shares, total = _shares(counts, nucleic)
    n_letters = shares.shape[1]
    entropy = -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)
    correction = (n_letters - 1) / (2 * np.log(2) * np.maximum(total, 1.0))
    bits = np.maximum(0.0, np.log2(n_letters) - entropy - correction)
    return np.asarray(np.where(total > 0, bits, 0.0))


def _divergence(counts: Counts, nucleic: bool) -> npt.NDArray[np.float64]:
    shares, total = _shares(counts, nucleic)
    if nucleic:
        background = np.full(4, 0.25)
    else:
        background = np.array([BACKGROUND[letter] for letter in AMINO_LETTERS])
        background /= background.sum()

    def divergence(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        middle = (p + background) / 2

        def part(of: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
            return np.asarray((of * np.log2(np.where(of > 0, of, 1.0) / np.where(of > 0, middle, 1.0))).sum(axis=-1))

        return (part(p) + part(np.broadcast_to(background, p.shape))) / 2

    greatest = divergence(np.eye(len(background))).max()
    return np.asarray(np.where(total > 0, divergence(shares) / greatest, 0.0))
