"""Sequences that are aligned to a profile as one alignment, with the columns that HMMER 3.3.2's hmmalign gives them.

Each node of the profile has a column. Residues between two nodes stand half at the left, half at the right of their
columns; those before the first node stand at the right, those after the last one at the left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, RowNotes, RowTexts, is_residue

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

POSTERIOR, MEAN_POSTERIOR = "PP", "PP_cons"
"""Tags of the annotation of rows, and of columns, with posterior probabilities."""

_GAP, _PAD, _MISSING = (np.uint8(ord(letter)) for letter in "-.~")


class Fragment(Struct, frozen=True):
    """Where a row of an alignment has missing data, which is no gap, at an end.

    Attributes
    ----------
    before : int
        The node, from 1, before and at whose column nothing is known, unless the row has more there; 0 for none.
    has_gap : bool
        Whether the row has a gap at that node.
    after : int or None
        The last node of which something is known; None if all is.
    """

    before: int = 0
    has_gap: bool = False
    after: int | None = None


class PlacedRow(Struct, frozen=True, eq=False):
    """A sequence by the nodes of a profile.

    Attributes
    ----------
    name, accession, description : str
    letters : uint8[n]
        Its residues in ASCII, upper case.
    nodes : int64[n]
        The node, from 1, at whose column each stands or after whose column it is inserted; 0 before the first.
    is_match : bool[n]
    certainty : float32[n] or None
        Posterior probability of each place; None where the place was given.
    fragment : Fragment, optional
    """

    name: str
    accession: str
    description: str
    letters: Bytes
    nodes: Places
    is_match: npt.NDArray[np.bool_]
    certainty: Floats | None = None
    fragment: Fragment = Fragment()

    def select(self, chosen: npt.NDArray[np.bool_]) -> PlacedRow:
        """Return the row with some of its residues."""
        certainty = None if self.certainty is None else self.certainty[chosen]
        return PlacedRow(
            self.name, self.accession, self.description, self.letters[chosen], self.nodes[chosen],
            self.is_match[chosen], certainty, self.fragment,
        )  # fmt: skip


def trimmed(row: PlacedRow, length: int) -> PlacedRow:
    """Return a row without the residues before the first and after the last node of a profile."""
    return row.select(row.is_match | ((row.nodes > 0) & (row.nodes < length)))


def without_inserts(row: PlacedRow) -> PlacedRow:
    """Return a row without residues that stand at no node."""
    return row.select(row.is_match)


def placed_alignment(
    rows: Sequence[PlacedRow], length: int, mask: str = "", check: Callable[[], None] = lambda: None,
    keeps_all: bool = True,
) -> RowAlignment:  # fmt: skip
    """Return rows as one alignment.

    Parameters
    ----------
    rows : sequence of PlacedRow
    length : int
        Nodes of the profile, M.
    mask : str
        Its mask, a character for each node.
    check : callable
        Called after each row; it may raise to stop.
    keeps_all : bool
        Whether nodes at which no row has a residue have a column, too.

    Returns
    -------
    RowAlignment
        Residues of nodes are upper case and their gaps ``-``, the others lower case and filled up with ``.``. Rows have
        posterior probabilities as digits, and the columns their means.
    """
    rooms, used = np.zeros(length + 1, np.int64), np.full(length + 1, keeps_all)
    for row in rows:
        np.maximum(rooms, np.bincount(row.nodes[~row.is_match], minlength=length + 1), out=rooms)
        used[row.nodes[row.is_match]] = True
    used[0] = False
    begins = np.cumsum(rooms) - rooms + np.cumsum(used)  # of the inserts after each node
    matches, used = begins[1:] - 1, used[1:]
    line = np.full(int(begins[-1] + rooms[-1]), _PAD, np.uint8)
    line[matches[used]] = _GAP
    cells = np.empty((len(rows), len(line)), np.uint8)
    cells[:] = line
    certain = [place for place, row in enumerate(rows) if row.certainty is not None]
    digits = np.full((len(certain), len(line)), _PAD, np.uint8)
    totals, counts = np.zeros(length), np.zeros(length, np.int64)
    n_done = 0
    for place, row in enumerate(rows):
        check()
        columns = _columns(row, rooms, begins, matches)
        _mark_missing(row, cells[place], begins, used)
        is_letter = is_residue(row.letters)
        lower = np.where(is_letter, row.letters | ~UPPER, row.letters)
        cells[place, columns] = np.where(row.is_match, row.letters, lower)
        if row.certainty is None:
            continue
        digits[n_done, columns] = digits_of(row.certainty)
        n_done += 1
        nodes = row.nodes[row.is_match] - 1
        totals[nodes] += row.certainty[row.is_match]
        counts[nodes] += 1
    of_columns = _column_notes(line, matches, used, totals, counts, mask)
    repeated = {name for name, n in Counter(row.name for row in rows).items() if n > 1}  # theirs are taken in order
    notes = RowNotes(
        rows=[(row.name, "AC", row.accession) for row in rows if row.accession or row.name in repeated],
        residues={POSTERIOR: RowTexts(np.array(certain, np.int64), digits)} if certain else {},
        columns=of_columns if certain else {tag: text for tag, text in of_columns.items() if tag != MEAN_POSTERIOR},
    )
    return RowAlignment(cells, [row.name for row in rows], [row.description for row in rows], notes)


def digits_of(certainty: npt.NDArray[np.floating]) -> Bytes:
    """Return the digit of each posterior probability: ``0`` to ``9``, ``*`` from 0.95 on."""
    rounded = certainty.astype(np.float32).astype(np.float64) + 0.05
    digits = np.minimum(rounded * 10, 10).astype(np.uint8) + np.uint8(ord("0"))
    return np.where(rounded >= 1, np.uint8(ord("*")), digits)


def _columns(row: PlacedRow, rooms: Places, begins: Places, matches: Places) -> Places:
    """Return the column of each residue of a row."""
    columns = np.empty(len(row.letters), np.int64)
    columns[row.is_match] = matches[row.nodes[row.is_match] - 1]
    inserted = ~row.is_match
    nodes = row.nodes[inserted]
    if not len(nodes):
        return columns
    last = len(rooms) - 1
    is_first = np.concatenate([[True], nodes[1:] != nodes[:-1]])
    starts = np.flatnonzero(is_first)
    sizes = np.diff(starts, append=len(nodes))
    within = np.arange(len(nodes)) - np.repeat(starts, sizes)
    # Half of the letters stay at the left; a stop is none.
    left = np.add.reduceat(is_residue(row.letters[inserted]).astype(np.int64), starts) // 2
    stays = (nodes[starts] == last) | (nodes[starts] == row.fragment.after)
    left = np.where(stays, sizes, np.where(nodes[starts] == 0, 0, left))
    shift = np.where(within < np.repeat(left, sizes), 0, rooms[nodes] - np.repeat(sizes, sizes))
    columns[inserted] = begins[nodes] + within + shift
    return columns


def _mark_missing(row: PlacedRow, cells: Bytes, begins: Places, used: npt.NDArray[np.bool_]) -> None:
    fragment = row.fragment
    if fragment.before:
        cells[: begins[fragment.before]] = _MISSING
        if fragment.has_gap and used[fragment.before - 1]:
            cells[begins[fragment.before] - 1] = _GAP
    if fragment.after is not None:
        inserted = int(np.count_nonzero(~row.is_match & (row.nodes == fragment.after)))
        cells[begins[fragment.after] + inserted :] = _MISSING


def _column_notes(
    line: Bytes, matches: Places, used: npt.NDArray[np.bool_], totals: npt.NDArray[np.float64], counts: Places,
    mask: str,
) -> dict[str, bytes]:  # fmt: skip
    """Return the annotation of the columns, in the order in which HMMER writes it."""
    known = counts > 0
    means = np.full(len(counts), _PAD, np.uint8)
    means[known] = digits_of(totals[known] / counts[known])
    notes = {MEAN_POSTERIOR: means, "RF": np.full(len(counts), ord("x"), np.uint8)}
    if mask:  # HMMER leaves out that of the last node
        notes["MM"] = np.frombuffer(f"{mask[:-1]}.".encode("latin-1", "replace"), np.uint8)
    return {tag: _spread(text[used], line, matches[used]) for tag, text in notes.items()}


def _spread(text: Bytes, line: Bytes, matches: Places) -> bytes:
    found = np.full(len(line), _PAD, np.uint8)
    found[matches] = text
    return found.tobytes()
