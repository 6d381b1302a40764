"""What queries and targets are taken for beside each other, where their alphabets are guessed."""

from __future__ import annotations

from typing import NamedTuple

from clalign.alphabets import ALPHABETS, Alphabet

TRANSLATE = "Translate the nucleic acids first; or, if one of them is taken for what it is not,"
"""The way out of a refusal begins so; how to say the alphabet is another thing in the window."""


class Guess(NamedTuple):
    """What the sequences of a file look like.

    Attributes
    ----------
    name : str
        Of the alphabet: ``amino``, ``dna`` or ``rna``.
    reason : str
        The evidence.
    is_doubtful : bool
        Whether there is too little of it; see `clalign.alphabets.is_doubtful`.
    """

    name: str
    reason: str
    is_doubtful: bool

    @property
    def alphabet(self) -> Alphabet:
        """The alphabet itself."""
        return ALPHABETS[self.name]


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
