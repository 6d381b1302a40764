"""Letters of sequences: guessed alphabets, reconciled with each other, and characters that HMMER3 does not take.

Letters of bases are also those of amino acids, so a comparison of both kinds runs, but its hits mean nothing. It is
refused, for sequences as for profiles, unless the user names the alphabet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from clalign.databases.reports import InputReport, Issue
from clalign.databases.rereading import ALIGNED
from clalign.errors import InputError
from clalign.formats.blocks import Reading, RefusedLetter
from clalign.formats.readers import ALIGNMENTS, read_blocks
from clalign.formats.sources import TextReader, is_plain, opened
from clalign.formats.tally import GAPS
from clalign.values.alphabets import (
    ALPHABETS,
    AMINO,
    DNA,
    DOT_CODE,
    ENCODE,
    LETTERS,
    N_CODES,
    RNA,
    STOP_CODE,
    Alphabet,
    decode,
)
from clalign.values.local_scores import members_of
from clalign.values.sequences import SequenceDatabase

TRANSLATE = "Translate the nucleic acids first; or, if an alphabet was guessed wrongly,"
"""Beginning of the hint of a refusal; how to name the alphabet differs between window and command line."""


MIN_LETTER_SHARE = 0.95
"""Least share of the letters of all sequences that must belong to an alphabet."""


class Guess(NamedTuple):
    """The guessed alphabet of the sequences of a file.

    Attributes
    ----------
    name : str
        Name of the alphabet: ``amino``, ``dna`` or ``rna``.
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
        """Return the guess from the report on a file."""
        return cls(report.alphabet, report.alphabet_reason, report.is_doubtful)


class Objection(NamedTuple):
    """A caution or a refusal for profiles and sequences of two kinds.

    Attributes
    ----------
    text : str
        The message.
    blocks : bool
        Whether the search is refused.
    taken : Guess
        The alphabet that the sequences are taken for.
    """

    text: str
    blocks: bool
    taken: Guess


def reconciled(queries: Guess, targets: Guess) -> tuple[Guess, Guess]:
    """Return the two guesses, of which a doubtful one yields to the other if they are of two kinds.

    They stay as they are if neither is doubtful.
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
    """Return the reason for refusing a comparison; `where` is the file of the targets."""
    return (
        f"the queries look like {queries.alphabet.label} ({queries.reason}), but the targets in {where} look like"
        f" {targets.alphabet.label} ({targets.reason})."
    )


def caution(taken: Guess) -> str:
    """Return the caution about a guess that yielded."""
    return (
        f"Taken for {taken.alphabet.label}, like the other input: there are too few letters, or too few"
        f" different ones, for a reliable guess ({taken.reason})."
    )


def reinterpreted(
    guess: Guess, database: SequenceDatabase, report: InputReport, whose: str = "both are"
) -> tuple[SequenceDatabase, InputReport]:
    """Return sequences and their report with the alphabet of a guess that yielded, and a caution.

    `whose` completes the advice to use ``--alphabet``.
    """
    text = f"{caution(guess)} If that is wrong, use --alphabet to say what {whose}."
    issues = (*report.issues, Issue("alphabet", "caution", text))
    return replace(database, alphabet=guess.alphabet), msgspec.structs.replace(
        report, alphabet=guess.name, issues=issues
    )


def objection(profiles: Sequence[tuple[str, Alphabet]], sequences: Guess, where: str) -> Objection | None:
    """Return the objection to profiles that are for another kind of molecule than the sequences; None without such.

    Parameters
    ----------
    profiles : sequence of (str, Alphabet)
        Name and alphabet of each.
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
    _, taken = reconciled(Guess(alphabet.name, "", False), sequences)
    if taken != sequences:
        return Objection(f"{where}: {caution(taken)}", False, taken)
    return Objection(f"The profile {name} is for {alphabet.label}, but {looks}.", True, sequences)


def alphabet_of(counts: npt.NDArray[np.int64]) -> Alphabet | None:
    """Return the first of DNA, RNA and protein that nearly all letters belong to; None without one.

    Parameters
    ----------
    counts : int64[256]
        Number of each byte, letters as upper-case ones; others, such as ``?`` and ``-``, are ignored.
    """
    n_letters = counts[ord("A") : ord("Z") + 1].sum()
    for alphabet, unknown in ((DNA, "N"), (RNA, "N"), (AMINO, "X")):
        own = counts[[ord(letter) for letter in alphabet.canonical + unknown]].sum()
        if own >= MIN_LETTER_SHARE * n_letters:
            return alphabet
    return None


CHUNK = 1 << 24
"""Residues that are looked through at once."""


def refused_codes(alphabet: Alphabet) -> npt.NDArray[np.bool_]:
    """Return which letter codes HMMER3 refuses in a sequence of this alphabet (bool[N_CODES])."""
    refused = np.array([not meanings for meanings in members_of(alphabet)])
    refused[[STOP_CODE, DOT_CODE]] = False
    refused[len(LETTERS) :] = False
    assert len(refused) == N_CODES
    return refused


def refused_rows(database: SequenceDatabase, alphabet: Alphabet, report: InputReport) -> npt.NDArray[np.int64]:
    """Return the rows of a database with characters that HMMER3 refuses in this alphabet, rising."""
    is_odd = any(issue.kind in ("letters", "gaps") for issue in report.issues)
    if not is_odd and alphabet.is_nucleic == database.alphabet.is_nucleic:
        return np.empty(0, np.int64)
    found, refused = [np.empty(0, np.int64)], refused_codes(alphabet)
    for start in range(0, database.n_residues, CHUNK):
        places = np.flatnonzero(refused[database.codes[start : start + CHUNK]])
        found.append(np.unique(np.searchsorted(database.offsets, places + start, side="right") - 1))
    return np.unique(np.concatenate(found)).astype(np.int64)


def refused_record(
    path: str, database: SequenceDatabase, rows: npt.NDArray[np.int64], alphabet: Alphabet, form: str, advice: str
) -> InputError:
    """Return the error for the first of some rows, of a file in a format, with advice on how to leave them out."""
    row, refused = int(rows[np.argmin(database.order[rows])]), refused_codes(alphabet)
    codes = database.residues(row)
    letter, name, line = decode(codes[refused[codes]][:1]), database.header(row)[0], None
    if found := _first_refused(path, form, refused):
        letter, name, line = found.letter, found.record, found.line
    what = f'"{letter}"' if letter != "?" or found else "a character"  # what is no letter has no code of its own
    more = f" ({len(rows):,} records hold such)" if len(rows) > 1 else ""
    return InputError(
        path,
        f'the record "{name}" holds {what}, which HMMER3 does not take in a sequence{more}.',
        _hint_for_bad(database, alphabet, advice),
        line,
    )


def _hint_for_bad(database: SequenceDatabase, alphabet: Alphabet, advice: str) -> str:
    if alphabet.is_nucleic == database.alphabet.is_nucleic:
        return f"{advice} or correct the file."
    return f"The profile is for {alphabet.label}, but these sequences look like {database.alphabet.label}: take others."


def _first_refused(path: str, form: str, refused: npt.NDArray[np.bool_]) -> RefusedLetter | None:
    """Return the error about the first refused character in a file; None if it cannot be read again."""
    if not is_plain(path):
        return None
    table = np.append(refused, np.zeros(256 - N_CODES, bool))[ENCODE]
    bad = np.flatnonzero(table).astype(np.uint8).tobytes()
    with opened(path) as source:
        drop_gaps = form == ALIGNED or form in ALIGNMENTS
        reading = Reading(TextReader(source), drop_gaps, bad.translate(None, GAPS) if drop_gaps else bad)
        try:
            for _ in read_blocks("fasta" if form == ALIGNED else form, reading):
                pass
        except RefusedLetter as error:
            return error
    return None
