"""What queries and targets are taken for beside each other, where their alphabets are guessed.

Bases have letters of amino acids, so a comparison of both kinds runs and finds nothing that means anything. It is
refused, in the window as on the command line, for sequences as for profiles, unless the user says what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from clalign.databases.reports import InputReport, Issue
from clalign.values.alphabets import ALPHABETS, AMINO, DNA, RNA, Alphabet
from clalign.values.sequences import SequenceDatabase

TRANSLATE = "Translate the nucleic acids first; or, if one of them is taken for what it is not,"
"""The way out of a refusal begins so; how to say the alphabet is another thing in the window."""


ENOUGH = 0.95
"""Share of the letters of all sequences that an alphabet must have."""


class Guess(NamedTuple):
    """What the sequences of a file look like.

    Attributes
    ----------
    name : str
        Of the alphabet: ``amino``, ``dna`` or ``rna``.
    reason : str
        The evidence.
    is_doubtful : bool
        Whether there is too little of it; see `clalign.values.alphabets.is_doubtful`.
    """

    name: str
    reason: str
    is_doubtful: bool

    @property
    def alphabet(self) -> Alphabet:
        """The alphabet itself."""
        return ALPHABETS[self.name]

    @classmethod
    def of(cls, report: InputReport) -> Guess:
        """Return what a report says of the sequences of a file."""
        return cls(report.alphabet, report.alphabet_reason, report.is_doubtful)


class Objection(NamedTuple):
    """What is to be said of profiles and sequences of two kinds.

    Attributes
    ----------
    text : str
        In words.
    blocks : bool
        Whether the search is refused.
    taken : Guess
        What the sequences are taken for.
    """

    text: str
    blocks: bool
    taken: Guess


def beside_each_other(queries: Guess, targets: Guess) -> tuple[Guess, Guess]:
    """Return both as they are compared: where they are of two kinds, a doubtful guess yields to the other one.

    They stay of two kinds if neither is doubtful.
    """
    if not are_two_kinds(queries, targets):
        return queries, targets
    amino, nucleic = sorted((queries, targets), key=lambda guess: guess.alphabet.is_nucleic)
    # If both are, few bases are likelier than the few letters of proteins that may stand for bases.
    if amino.is_doubtful:
        amino = amino._replace(name=nucleic.name)
    elif nucleic.is_doubtful:
        nucleic = nucleic._replace(name=amino.name)
    return (nucleic, amino) if queries.alphabet.is_nucleic else (amino, nucleic)


def are_two_kinds(queries: Guess, targets: Guess) -> bool:
    """Return whether one is of nucleic acids and the other of proteins."""
    return queries.alphabet.is_nucleic != targets.alphabet.is_nucleic


def refusal(queries: Guess, targets: Guess, where: str) -> str:
    """Return why they are not compared; `where` is the file of the targets."""
    return (
        f"the queries look like {queries.alphabet.label} ({queries.reason}), but the targets in {where} look like"
        f" {targets.alphabet.label} ({targets.reason})."
    )


def caution(taken: Guess) -> str:
    """Return what to know of a guess that yielded."""
    return (
        f"Taken for {taken.alphabet.label}, like what it is compared with: there are too few letters, or too few"
        f" different ones, to tell ({taken.reason})."
    )


def taken_for(
    guess: Guess, database: SequenceDatabase, report: InputReport, whose: str = "both are"
) -> tuple[SequenceDatabase, InputReport]:
    """Return sequences as what they are taken for in place of what they look like.

    The report says so, and that ``--alphabet`` says `whose` letters they are.
    """
    text = f"{caution(guess)} If that is wrong, say with --alphabet what {whose}."
    issues = (*report.issues, Issue("alphabet", "caution", text))
    return replace(database, alphabet=guess.alphabet), msgspec.structs.replace(
        report, alphabet=guess.name, issues=issues
    )


def objection(profiles: Sequence[tuple[str, Alphabet]], sequences: Guess, where: str) -> Objection | None:
    """Return what is to be said of profiles that are for another kind of molecule than sequences; None if none is.

    Parameters
    ----------
    profiles : sequence of (str, Alphabet)
        Name of each, and what its file says that it is for.
    sequences : Guess
    where : str
        The file of the sequences.
    """
    foreign = [(name, alphabet) for name, alphabet in profiles if alphabet.is_nucleic != sequences.alphabet.is_nucleic]
    if not foreign:
        return None
    name, alphabet = foreign[0]
    looks = f"the sequences in {where} look like {sequences.alphabet.label}"
    looks += f" ({sequences.reason})" if sequences.reason else ""
    if len(foreign) < len(profiles):
        text = (
            f"{len(foreign):,} of {len(profiles):,} profiles, {name} the first, are for {alphabet.label}, but {looks}."
        )
        return Objection(text, False, sequences)
    _, taken = beside_each_other(Guess(alphabet.name, "", False), sequences)
    if taken != sequences:
        return Objection(f"{where}: {caution(taken)}", False, taken)
    return Objection(f"The profile {name} is for {alphabet.label}, but {looks}.", True, sequences)


def alphabet_of(counts: npt.NDArray[np.int64]) -> Alphabet | None:
    """Return the first of DNA, RNA and protein that has nearly all letters; None if none does.

    Parameters
    ----------
    counts : int64[256]
        How often each byte occurs, letters as upper-case ones; others, such as ``?`` and ``-``, do not matter.
    """
    n_letters = counts[ord("A") : ord("Z") + 1].sum()
    for alphabet, unknown in ((DNA, "N"), (RNA, "N"), (AMINO, "X")):
        own = counts[[ord(letter) for letter in alphabet.canonical + unknown]].sum()
        if own >= ENOUGH * n_letters:
            return alphabet
    return None
