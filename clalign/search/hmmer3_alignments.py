"""The alignment of a HMMER3 domain as text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.alignments import AlignmentText, DomainPath
from clalign.alphabets import DECODE, DOT_CODE, Alphabet, code_of
from clalign.local_profiles import LocalProfile

SYNONYMS = {"dna": {"U": "T", "X": "N", "I": "A"}, "rna": {"T": "U", "X": "N", "I": "A"}}
"""Letters that HMMER3 shows as others."""

_MATCH, _INSERT, _DELETE = ord("M"), ord("I"), ord("D")
_UPPER = np.uint8(0xDF)  # clears the bit that makes an ASCII letter lower case


def shown_letters(alphabet: Alphabet) -> npt.NDArray[np.uint8]:
    """Return the upper-case ASCII letter that each letter code is shown as (uint8[N_CODES])."""
    letters = DECODE.copy()
    letters[DOT_CODE] = ord("-")
    for letter, shown in SYNONYMS.get(alphabet.name, {}).items():
        letters[code_of(letter)] = ord(shown)
    return letters


def hmmer3_alignment_text(
    path: DomainPath, posterior: str, profile: LocalProfile, codes: npt.NDArray[np.uint8]
) -> AlignmentText:
    """Return the rows of an alignment.

    Parameters
    ----------
    path : DomainPath
    posterior : str
        How sure each step is.
    profile : LocalProfile
    codes : uint8[length]
        Letter codes of the whole target.
    """
    states = path.codes()
    nodes, residues = path.nodes(), path.residues()
    matches, inserts, deletes = states == _MATCH, states == _INSERT, states == _DELETE
    consensus = np.frombuffer(profile.hmm.consensus.encode(), np.uint8)[nodes]
    aligned = codes[np.maximum(residues, 0)]
    letters = shown_letters(profile.hmm.alphabet)[aligned]
    lower = np.where((letters >= ord("A")) & (letters <= ord("Z")), letters | ~_UPPER, letters)
    same = matches & (letters == (consensus & _UPPER))
    likely = matches & (profile.match[aligned, nodes + 1] > 0)
    model = np.where(inserts, ord("."), consensus)
    match = np.where(same, consensus, np.where(likely, ord("+"), ord(" ")))
    target = np.where(deletes, ord("-"), np.where(inserts, lower, letters))
    rows = [row.astype(np.uint8).tobytes().decode("ascii") for row in (model, match, target)]
    return AlignmentText(rows[0], rows[1], rows[2], posterior)
