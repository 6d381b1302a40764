"""Sequences with characters that HMMER3 does not take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.databases.reports import InputReport
from clalign.databases.rereading import ALIGNED
from clalign.errors import InputError
from clalign.formats.blocks import Reading, RefusedLetter
from clalign.formats.readers import ALIGNMENTS, read_blocks
from clalign.formats.sources import TextReader, is_plain, opened
from clalign.formats.tally import GAPS
from clalign.values.alphabets import DOT_CODE, ENCODE, LETTERS, N_CODES, STOP_CODE, Alphabet, decode
from clalign.values.local_scores import members_of
from clalign.values.sequences import SequenceDatabase

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
    """Return what is said of the first refused character in a file; None if it cannot be read again."""
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
