"""Residue codes and the alphabets that give them meaning.

A sequence is stored once, as *letter codes* that keep what the file said (``A`` to ``Z`` without
case, ``*``, gap characters). What a letter is worth, and which letters are ambiguous, is decided by
the alphabet and by the engine that scores it, so a database need not be encoded again when the
guess of its alphabet is changed, and HMMER2 and HMMER3 may disagree about ``U`` or ``J``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ*-.?"
"""Letter of each code: 26 letters, stop, gap, other gap characters (``.``, ``_``, ``~``), anything else."""

N_CODES = 32
"""Rows of every table that is indexed by a letter code; the unused ones pad it to a power of two."""

STOP_CODE = 26
GAP_CODE = 27
DOT_CODE = 28
OTHER_CODE = 29

DROP = 255
"""In `ENCODE`: the byte is no residue (white space and digits) and is left out."""


def _encode_table() -> npt.NDArray[np.uint8]:
    table = np.full(256, OTHER_CODE, np.uint8)
    for code, letter in enumerate(LETTERS[:DOT_CODE]):
        table[ord(letter)] = code
        table[ord(letter.lower())] = code
    table[[ord(c) for c in "._~"]] = DOT_CODE
    table[[ord(c) for c in "0123456789 \t\r\n\v\f"]] = DROP
    table.flags.writeable = False
    return table


ENCODE = _encode_table()
"""Letter code of each byte, or `DROP`."""

DECODE = np.frombuffer(LETTERS.ljust(N_CODES, "?").encode(), np.uint8)
"""Byte of each letter code."""


def encode(text: str | bytes) -> npt.NDArray[np.uint8]:
    """Return the letter codes (uint8) of a text; white space and digits are left out."""
    data = text.encode("latin-1", "replace") if isinstance(text, str) else text
    codes = ENCODE[np.frombuffer(data, np.uint8)]
    residues: npt.NDArray[np.uint8] = codes[codes != DROP]
    return residues


def decode(codes: npt.NDArray[np.uint8]) -> str:
    """Return the upper-case text of letter codes (uint8)."""
    return str(DECODE[codes].tobytes(), "ascii")


def code_of(letter: str) -> int:
    """Return the code of one letter."""
    return int(ENCODE[ord(letter)])


class Alphabet(Struct, frozen=True):
    """The residues of a kind of sequence.

    Attributes
    ----------
    name : str
        ``amino``, ``dna`` or ``rna``.
    canonical : str
        The K unambiguous residues, in the order of a profile's columns.
    degenerate : dict
        Letters that stand for several canonical ones, or for one under another name.
    complement : dict or None
        Watson-Crick partner of each letter.
    """

    name: str
    canonical: str
    degenerate: dict[str, str]
    complement: dict[str, str] | None = None

    @property
    def size(self) -> int:
        """Number of canonical residues, K."""
        return len(self.canonical)

    @property
    def is_nucleic(self) -> bool:
        """Whether this is DNA or RNA."""
        return self.complement is not None

    @property
    def label(self) -> str:
        """The alphabet as a biologist calls it: ``protein``, ``DNA`` or ``RNA``."""
        return {"amino": "protein", "dna": "DNA", "rna": "RNA"}[self.name]

    def legal_codes(self) -> npt.NDArray[np.bool_]:
        """Return which letter codes belong to the alphabet, ``*`` in proteins included (bool[N_CODES])."""
        legal = np.zeros(N_CODES, bool)
        for letter in self.canonical + "".join(self.degenerate):
            legal[code_of(letter)] = True
        legal[STOP_CODE] = self.name == "amino"
        return legal


_IUPAC = {
    "R": "AG",
    "Y": "CT",
    "M": "AC",
    "K": "GT",
    "S": "CG",
    "W": "AT",
    "H": "ACT",
    "B": "CGT",
    "V": "ACG",
    "D": "AGT",
    "N": "ACGT",
    "X": "ACGT",
}

AMINO = Alphabet(
    "amino", "ACDEFGHIKLMNPQRSTVWY", {"B": "DN", "J": "IL", "Z": "EQ", "O": "K", "U": "C", "X": "ACDEFGHIKLMNPQRSTVWY"}
)
DNA = Alphabet("dna", "ACGT", {"U": "T", **_IUPAC}, dict(zip("ACGTURYMKSWHBVDNX", "TGCAAYRKMSWDVBHNX", strict=True)))
RNA = Alphabet(
    "rna",
    "ACGU",
    {"T": "U", **{letter: members.replace("T", "U") for letter, members in _IUPAC.items()}},
    dict(zip("ACGUTRYMKSWHBVDNX", "UGCAAYRKMSWDVBHNX", strict=True)),
)

ALPHABETS = {alphabet.name: alphabet for alphabet in (AMINO, DNA, RNA)}

FEW_LETTERS = 50
"""A guess of the alphabet from fewer letters may be wrong."""

FEW_KINDS = 2
"""A guess from no more different letters may be wrong: there are proteins of low complexity, too."""

_PROTEIN_ONLY = [code_of(letter) for letter in "EFIJLOPQZ"]


def guess_alphabet(counts: npt.NDArray[np.int64]) -> tuple[Alphabet, str]:
    """Guess the alphabet of sequences from how often each letter occurs.

    Parameters
    ----------
    counts : int64[N_CODES]
        Occurrences of each letter code.

    Returns
    -------
    alphabet : Alphabet
        The guess; protein if there is nothing to go by.
    reason : str
        The evidence in words, to be shown beside the guess.
    """
    letters = int(counts[:STOP_CODE].sum())
    if letters == 0:
        return AMINO, "no letters to judge by"
    bases = sum(int(counts[code_of(letter)]) for letter in "ACGTUN")
    share = 100.0 * bases / letters
    foreign = sum(int(counts[code]) for code in _PROTEIN_ONLY)
    if share < 85.0 or foreign > 0.02 * letters:
        return AMINO, f"only {share:.1f} % of the letters are A, C, G, T, U or N"
    uracil, thymine = int(counts[code_of("U")]), int(counts[code_of("T")])
    alphabet = RNA if uracil > thymine else DNA
    return alphabet, f"{share:.1f} % of the letters are A, C, G, T, U or N"


def is_doubtful(guess: Alphabet, counts: npt.NDArray[np.int64]) -> bool:
    """Return whether counts of letters (int64[N_CODES]) are too few, or of too few letters, to trust a guess.

    Every base has the letter of an amino acid, but not the other way round.
    """
    letters = counts[:STOP_CODE]
    may_be_other = guess.is_nucleic or not letters[~DNA.legal_codes()[:STOP_CODE]].any()
    is_little = int(letters.sum()) < FEW_LETTERS or np.count_nonzero(letters) <= FEW_KINDS
    return bool(may_be_other and is_little)


SYNONYMS = {"dna": {"U": "T", "X": "N", "I": "A"}, "rna": {"T": "U", "X": "N", "I": "A"}}
"""Letters that HMMER3 shows as others."""


def shown_letters(alphabet: Alphabet) -> npt.NDArray[np.uint8]:
    """Return the upper-case ASCII letter that each letter code is shown as (uint8[N_CODES])."""
    letters = DECODE.copy()
    letters[DOT_CODE] = ord("-")
    for letter, shown in SYNONYMS.get(alphabet.name, {}).items():
        letters[code_of(letter)] = ord(shown)
    return letters
