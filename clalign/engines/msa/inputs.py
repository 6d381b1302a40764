"""The sequences that are to be aligned: checked, and as residues without ambiguity."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, no_check
from clalign.databases.letters import alphabet_of
from clalign.databases.sequence_rows import SequenceRow, check_names, read_sequences
from clalign.engines.msa.draws import Draws
from clalign.errors import InputError
from clalign.jobs import JobContext
from clalign.values.alphabets import ALPHABETS, AMINO, DNA, Alphabet, encode
from clalign.values.sequences import SequenceBatch

AMINO_CHOICES = {"B": "ND", "Z": "QE"}
"""Residues that a letter may be, in the order that FSA draws from; other letters than these may be any."""

Residues = npt.NDArray[np.uint8]

MIN_BASES = 30
"""Letters of a sequence from which on it can be no protein if all of them are bases."""


class AlignmentInput(Struct, frozen=True):
    """Sequences that can be aligned.

    Attributes
    ----------
    alphabet : Alphabet
    names, descriptions : tuple of str
    letters : tuple of bytes
        As they were read, which is how they are written.
    residues : tuple of uint8[length]
        Numbers of canonical residues of the alphabet, which were drawn for ambiguous letters.
    n_drawn : int
        Random numbers that were drawn for them.
    """

    alphabet: Alphabet
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    letters: tuple[bytes, ...]
    residues: tuple[Residues, ...]
    n_drawn: int

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.names)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Residues of each sequence."""
        return np.array([len(text) for text in self.letters], np.int64)

    @property
    def n_ambiguous(self) -> int:
        """Letters that may be several residues; a T and a U are the same base."""
        clear = (self.alphabet.canonical + "TU" * self.alphabet.is_nucleic).encode()
        return sum(len(text.upper().translate(None, clear)) for text in self.letters)

    @property
    def of_bases(self) -> list[str]:
        """The names of sequences among proteins that hold nothing but letters of bases."""
        if self.alphabet.is_nucleic:
            return []
        return [
            name
            for name, text in zip(self.names, self.letters, strict=True)
            if len(text) >= MIN_BASES and not text.upper().translate(None, b"ACGTUN")
        ]

    @property
    def n_residues(self) -> int:
        """Residues of all sequences."""
        return int(self.lengths.sum())

    def codes(self) -> SequenceBatch:
        """Return the residues as kernels read them."""
        letters = encode(self.alphabet.canonical)
        return SequenceBatch.from_texts(letters[residues] for residues in self.residues)


def read_input(
    paths: list[str], alphabet: str = "auto", seed: int = 1, context: JobContext | None = None
) -> AlignmentInput:
    """Read the sequences of files that are to be aligned together.

    Parameters
    ----------
    paths : list of str
    alphabet : str
        ``amino``, ``dna``, ``rna``, or ``auto`` to judge by the letters.
    seed : int
        Of the residues that are drawn for ambiguous letters.
    context : JobContext, optional

    Raises
    ------
    InputError
        If there are fewer than two sequences, two of the same name, or letters of no alphabet.
    """
    rows = [row for path in paths for row in read_sequences(path, context)]
    return checked_input(" and ".join(paths), rows, alphabet, seed, context.check if context else no_check)


def checked_input(
    path: str, rows: list[SequenceRow], alphabet: str = "auto", seed: int = 1, check: Check = no_check
) -> AlignmentInput:
    """Return sequences as input of an alignment; see `read_input`. `check` is called between sequences."""
    if len(rows) < 2:
        raise InputError(path, "there are fewer than two sequences in it.", "Give at least two that are to be aligned.")
    check_names(path, rows)
    letters = tuple(row.residues for row in rows)
    counts = np.bincount(np.frombuffer(b"".join(letters).upper(), np.uint8), minlength=256)
    kind = alphabet_of(counts) if alphabet == "auto" else ALPHABETS[alphabet]
    if kind is None:
        raise InputError(
            path,
            "the letters fit neither DNA nor RNA nor proteins.",
            "At least 95 % must be bases or N, or amino acids or X. Or say what they are with --alphabet.",
        )
    draws = Draws(seed)
    residues = tuple(_drawn(np.frombuffer(text.upper(), np.uint8), kind, draws, check) for text in letters)
    names, descriptions = tuple(row.name for row in rows), tuple(row.description for row in rows)
    return AlignmentInput(kind, names, descriptions, letters, residues, draws.n_drawn)


def _drawn(letters: Residues, alphabet: Alphabet, draws: Draws, check: Check) -> Residues:
    """Return residues for upper-case letters; one of those that it may be is drawn for an ambiguous letter.

    FSA takes RNA for DNA: it draws a number even for a U, which can only be a T.
    """
    check()
    canonical, degenerate = (DNA.canonical, DNA.degenerate) if alphabet.is_nucleic else (AMINO.canonical, AMINO_CHOICES)
    numbers = np.full(256, len(canonical), np.uint8)
    numbers[[ord(letter) for letter in canonical]] = np.arange(len(canonical))
    residues = numbers[letters]
    for place in np.flatnonzero(residues == len(canonical)).tolist():
        choices = degenerate.get(chr(letters[place]), canonical)
        residues[place] = canonical.index(choices[draws.below(len(choices))])
    return residues
