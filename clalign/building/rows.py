"""Aligned rows as HMMER's programs number their letters."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.alphabets import Alphabet

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint8]

NO_CODE = 255
"""What a byte has that no letter of the alphabet, gap or mark stands for."""


class DigitalRows(Struct, frozen=True, eq=False):
    """The rows of an alignment as numbers: residues, the gap, ambiguous letters, ``*``, and ``~`` for missing data.

    Attributes
    ----------
    alphabet : Alphabet
    codes : uint8[n_rows, n_columns]
        From 0 to K - 1 the residues, then the others in the order above.
    """

    alphabet: Alphabet
    codes: Codes

    @classmethod
    def of_cells(cls, cells: Codes, alphabet: Alphabet) -> DigitalRows:
        """Return the rows of letters in ASCII (uint8[n_rows, n_columns]); unknown ones get `NO_CODE`."""
        return cls(alphabet, code_table(alphabet)[cells])

    @property
    def gap(self) -> int:
        """The code of a gap, K."""
        return self.alphabet.size

    @property
    def missing(self) -> int:
        """The code of missing data, which ends a fragment; that of ``*`` is one less."""
        return len(symbols(self.alphabet)) - 1

    @property
    def is_canonical(self) -> Bools:
        """Where an unambiguous residue is."""
        found: Bools = self.codes < self.gap
        return found

    @property
    def is_residue(self) -> Bools:
        """Where a residue is, an ambiguous letter counted in."""
        found: Bools = (self.codes != self.gap) & (self.codes < self.missing - 1)
        return found

    def spans(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the first column of each row with a residue, and the one past the last (int64[n_rows], both).

        A row without residues has the end of the alignment and 0.
        """
        found, n_columns = self.is_residue, self.codes.shape[1]
        has = found.any(axis=1)
        first = np.where(has, found.argmax(axis=1), n_columns)
        return first, np.where(has, n_columns - found[:, ::-1].argmax(axis=1), 0)

    def with_fragments(self, share: float) -> DigitalRows:
        """Return them with missing data in place of the outer gaps of rows that have at most a share of the columns."""
        n_columns = self.codes.shape[1]
        is_fragment = self.is_residue.sum(axis=1) <= share * n_columns
        first, end = self.spans()
        columns = np.arange(n_columns)
        outside = (columns < first[:, None]) | (columns >= end[:, None])
        return DigitalRows(self.alphabet, np.where(outside & is_fragment[:, None], self.missing, self.codes))

    def masked(self, is_masked: Bools) -> DigitalRows:
        """Return them with the letter for any residue in the masked columns (bool[n_columns])."""
        hidden = is_masked & (self.codes != self.gap) & (self.codes != self.missing)
        return DigitalRows(self.alphabet, np.where(hidden, self.missing - 2, self.codes))

    def checksum(self) -> int:
        """Return the checksum by which a profile knows the alignment it was built from.

        References
        ----------
        Jenkins, Dr. Dobb's Journal, September 1997: the one-at-a-time hash.
        """
        value, word = 0, 0xFFFFFFFF
        for code in self.codes.tobytes():
            value = value + code & word
            value = value + (value << 10) & word
            value ^= value >> 6
        value = value + (value << 3) & word
        value ^= value >> 11
        return value + (value << 15) & word


def symbols(alphabet: Alphabet) -> str:
    """Return the letters of an alphabet in the order of their codes."""
    ambiguous = "RYMKSWHBVDN" if alphabet.is_nucleic else "BJZOUX"
    return f"{alphabet.canonical}-{ambiguous}*~"


def code_table(alphabet: Alphabet) -> Codes:
    """Return the code of each byte (uint8[256])."""
    table = np.full(256, NO_CODE, np.uint8)
    known = symbols(alphabet)
    same = {"_": "-", ".": "-"}
    if alphabet.is_nucleic:
        same |= {"T": alphabet.canonical[3], "U": alphabet.canonical[3], "X": "N", "I": "A"}
    for letter, code in {letter: known.index(letter) for letter in known}.items():
        table[[ord(letter), ord(letter.lower())]] = code
    for letter, other in same.items():
        table[[ord(letter), ord(letter.lower())]] = known.index(other)
    return table


def members(alphabet: Alphabet) -> dict[int, list[int]]:
    """Return the residues that each ambiguous letter stands for, by their codes."""
    known = symbols(alphabet)
    return {
        code: sorted(alphabet.canonical.index(one) for one in alphabet.degenerate[known[code]])
        for code in range(alphabet.size + 1, len(known) - 2)
    }
