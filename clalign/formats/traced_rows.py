"""Hits of a query as one multiple alignment, from their stored paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from clalign.formats.profile_stockholm import AlignedRow, unique_names
from clalign.formats.tables import plain
from clalign.values.documents import Card
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, RowNotes, RowTexts, is_residue

Scores = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]

_INSERT = np.uint8(ord("I"))
_DELETE = np.uint8(ord("D"))
_GAP, _PAD = np.uint8(ord("-")), np.uint8(ord("."))

POSTERIOR = "PP"
"""Tag of the annotation of rows with posterior probabilities."""


def traced_rows(
    card: Card, rows: Callable[[], Iterable[AlignedRow]], check: Callable[[], None] = lambda: None
) -> tuple[RowAlignment, Scores]:
    """Return hits, or domains, aligned to their query, and their scores in bits (float32[n_rows]).

    Residues of match columns are upper case and their gaps ``-``; those between them are lower case, from the left, and
    filled up with ``.``.

    Parameters
    ----------
    card : dict
        Card of the query: name, accession, description, length, and optionally reference and structure.
    rows : callable
        Returns the rows; called twice, so that they need not be kept.
    check : callable
        Called after each row; may raise to stop.
    """
    length: int = card["length"]
    longest = np.zeros(length + 1, np.int64)
    n_rows, has_posterior = 0, False
    for row in rows():
        _, inserted = _steps(row)
        if len(inserted):
            np.maximum(longest, np.bincount(inserted, minlength=length + 1), out=longest)
        n_rows += 1
        has_posterior |= bool(row.posterior)
        check()
    begins = np.cumsum(longest) - longest + np.arange(length + 1)  # of the inserts after each node
    matches = begins[1:] - 1
    n_columns = int(begins[-1] + longest[-1])
    line = np.full(n_columns, _PAD, np.uint8)
    line[matches] = _GAP
    cells = np.empty((n_rows, n_columns), np.uint8)
    cells[:] = line
    posteriors = np.full((n_rows, n_columns), _PAD, np.uint8) if has_posterior else np.empty((0, 0), np.uint8)
    names, descriptions, accessions, scores = [], [], [], []
    for place, row in enumerate(rows()):
        if place >= n_rows:
            break
        _fill(row, cells[place], posteriors[place] if has_posterior else None, begins, matches)
        names.append(row.place)
        descriptions.append(plain(row.description))
        accessions.append(row.accession)
        scores.append(row.score)
        check()
    names = list(unique_names(names))
    notes = _notes(card, names, accessions, line, matches)
    if has_posterior:
        notes.residues[POSTERIOR] = RowTexts(np.arange(n_rows), posteriors)
    return RowAlignment(cells, names, descriptions, notes), np.array(scores, np.float32)


def _steps(row: AlignedRow) -> tuple[Integers, Integers]:
    """Return the number of nodes before each step, and before each insert alone."""
    states = np.frombuffer(row.states.encode(), np.uint8)
    is_insert = states == _INSERT
    passed = row.first_node + np.cumsum(~is_insert) - ~is_insert
    return passed, passed[is_insert]


def _fill(row: AlignedRow, cells: Bytes, posteriors: Bytes | None, begins: Integers, matches: Integers) -> None:
    states = np.frombuffer(row.states.encode(), np.uint8)
    letters = np.frombuffer(row.text.encode("latin-1", "replace"), np.uint8)
    passed, inserted = _steps(row)
    is_insert, is_match = states == _INSERT, (states != _INSERT) & (states != _DELETE)
    columns = np.empty(len(states), np.int64)
    columns[~is_insert] = matches[passed[~is_insert]]
    if len(inserted):
        first = np.concatenate([[True], inserted[1:] != inserted[:-1]])
        starts = np.maximum.accumulate(np.where(first, np.arange(len(inserted)), 0))
        columns[is_insert] = begins[inserted] + np.arange(len(inserted)) - starts
    is_letter = is_residue(letters)
    cells[columns[is_match]] = np.where(is_letter, letters & UPPER, letters)[is_match]
    cells[columns[is_insert]] = np.where(is_letter, letters | ~UPPER, letters)[is_insert]
    if posteriors is not None and row.posterior:
        marks = np.frombuffer(row.posterior.encode("latin-1", "replace"), np.uint8)
        held = is_match | is_insert
        posteriors[columns[held]] = marks[held]


def _notes(card: Card, names: Sequence[str], accessions: Sequence[str], line: Bytes, matches: Integers) -> RowNotes:
    tags = (("ID", "name"), ("AC", "accession"), ("DE", "description"))
    of_file = [(tag, plain(str(card[key]))) for tag, key in tags if card.get(key)]
    of_rows = [(name, "AC", text) for name, text in zip(names, accessions, strict=True) if text not in ("", "-")]
    columns = {}
    for tag, text in (("SS_cons", card.get("structure")), ("RF", card.get("reference") or "x" * len(matches))):
        if text and len(text) == len(matches):
            spread = np.full(len(line), _PAD, np.uint8)
            spread[matches] = np.frombuffer(text.encode("latin-1", "replace"), np.uint8)
            columns[tag] = spread.tobytes()
    return RowNotes(of_file, of_rows, {}, columns)
