"""The alphabet of an alignment that nobody has named."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from clalign.values.alphabets import AMINO, DNA, RNA, Alphabet
from clalign.values.row_alignments import UPPER

Counts = npt.NDArray[np.int64]

ENOUGH = (500, 5_000, 50_000)
"""After more letters than each of these the alphabet is guessed; after all of them, if it is not known by then."""

FEW = 10
"""Number of letters up to which nothing is guessed."""

MANY_UNKNOWN = 2000
"""Number of letters above which the alphabet is DNA if all are N."""

OTHERS = 0.02
"""Share of other letters that an alphabet may have."""

MIN_KINDS = 15
"""Different letters of a protein, at least, where none is of proteins alone."""

PROTEIN_ONLY, BASES, SHARED = "EFIJLOPQZ", "ACG", "DHKMRSVWY"
"""Letters that no base has; bases of DNA and of RNA; residues that stand for several bases, too."""


def guessed_alphabet(rows: Iterable[npt.NDArray[np.uint8]]) -> Alphabet | None:
    """Return the alphabet of rows of letters in ASCII by HMMER's rule; None if it is uncertain."""
    counts, thresholds = np.zeros(26, np.int64), list(ENOUGH)
    for cells in rows:
        letters = (cells & UPPER).astype(np.int64) - ord("A")
        counts += np.bincount(letters[(letters >= 0) & (letters < 26)], minlength=26)
        if thresholds and counts.sum() > thresholds[0]:
            thresholds.pop(0)
            if (found := _alphabet_of(counts)) is not None:
                return found
    return _alphabet_of(counts)


def _alphabet_of(counts: Counts) -> Alphabet | None:
    n = int(counts.sum())

    def count(letters: str) -> int:
        return sum(int(counts[ord(letter) - ord("A")]) for letter in letters)

    def kinds(letters: str) -> int:
        return sum(count(letter) > 0 for letter in letters)

    if n <= FEW:
        return None
    if n > MANY_UNKNOWN and count("N") == n:
        return DNA
    if count(PROTEIN_ONLY):
        return AMINO
    for alphabet, base in ((DNA, "T"), (RNA, "U")):
        if n - count(BASES + base + "N") <= OTHERS * n and kinds(BASES + base) == 4:
            return alphabet
    is_known = n - count(PROTEIN_ONLY + BASES + SHARED + "NTX") <= OTHERS * n
    if is_known and count(SHARED) > count(BASES) and kinds(PROTEIN_ONLY + BASES + SHARED + "NT") >= MIN_KINDS:
        return AMINO
    return None
