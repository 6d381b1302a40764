"""An alignment beside another one of the same sequences: their agreement, and corresponding columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal

from clalign.common.plain_data import Json
from clalign.errors import InputError, quoted
from clalign.formats.row_alignments import read_rows
from clalign.jobs import JobContext
from clalign.tools.alignment_accuracy import AlignmentAccuracy, alignment_accuracy, residue_agreements
from clalign.values.multiple_alignments import GAPS, MultipleAlignment
from clalign.values.row_alignments import RowAlignment, RowNotes

from ... import formatting
from ..reader import Reader
from .row_colors import CellValues
from .rows_view import RowsView

Integers = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]

MAX_CELLS = 20_000_000
"""Characters of an alignment that is compared in the window; each needs some 16 bytes."""

AGREEMENT = "Agreement"
"""Name of the coloring of cells and of the digits above columns."""

NOTE_WORDS = "How much of a column's residues, in tenths, have the same partners in the other one; 9 is nearly all"


@dataclass(frozen=True, slots=True, eq=False)
class OtherRows:
    """Another alignment, with the rows that both have.

    Attributes
    ----------
    alignment : RowAlignment
        In the order of the first one.
    rows : int64[n]
        The rows of the first one that it has.
    n_missing, n_more : int
        Rows that only the first one has, and only the other one.
    """

    alignment: RowAlignment
    rows: Integers
    n_missing: int
    n_more: int


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of the two compared alignments.

    Attributes
    ----------
    positions : int32[n, n_columns]
        The residue of each common row in each column, from 0, or -1.
    places : list of int64[n_residues]
        The column of each residue of each common row.
    columns : int64[n_columns]
        The column of the other one with most of a column; -1 for none.
    agreement : float32[n, n_columns]
        The share of the other rows that have the same partner, or none, beside a residue in both; nan for gaps.
    marks : bytes
        The mean of each column in tenths.
    differs : int64[m]
        Columns in which not all is the same.
    """

    positions: npt.NDArray[np.int32]
    places: list[Integers]
    columns: Integers
    agreement: Values
    marks: bytes
    differs: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Two alignments of the same sequences.

    Attributes
    ----------
    accuracy : AlignmentAccuracy
        Of the first one, where the other one is the reference.
    sides : tuple of Side
        Of the first and of the other one.
    """

    accuracy: AlignmentAccuracy
    sides: tuple[Side, Side]


def read_other(path: str, alignment: RowAlignment, context: JobContext) -> OtherRows:
    """Read another alignment of the sequences of an alignment, or of some of them.

    Raises
    ------
    InputError
        If fewer than two of its rows are common, or their residues differ, or it is too large.
    """
    other = read_rows(path, context=context)
    if max(other.n_rows * other.n_columns, alignment.n_rows * alignment.n_columns) > MAX_CELLS:
        hint = "Compare them on the command line: clalign accuracy TEST REFERENCE"
        raise InputError(path, "these alignments are too large to be compared in the window.", hint)
    known = {name: row for row, name in enumerate(other.names)}
    pairs = [(row, known[name]) for row, name in enumerate(alignment.names) if name in known]
    if len(pairs) < 2:
        reason = "fewer than two of these sequences are in it; they are found by their names."
        raise InputError(path, reason, "Choose an alignment of the same sequences.")
    for ours, theirs in pairs:
        context.check()
        if _letters(alignment.cells[ours]) != _letters(other.cells[theirs]):
            reason = f"the residues of {quoted(alignment.names[ours])} differ."
            raise InputError(path, reason, "Choose an alignment of the same sequences.")
    rows, places = (np.array(each, np.int64) for each in zip(*pairs, strict=True))
    made = RowAlignment(
        np.ascontiguousarray(other.cells[places]),
        tuple(other.names[place] for place in places.tolist()),
        tuple(other.descriptions[place] for place in places.tolist()),
        RowNotes(),
    )
    return OtherRows(made, rows, alignment.n_rows - len(pairs), other.n_rows - len(pairs))


def _letters(cells: npt.NDArray[np.uint8]) -> bytes:
    return cells.tobytes().translate(None, GAPS).upper()


def compared(alignment: RowAlignment, other: OtherRows, context: JobContext) -> Compared:
    """Return the agreement of two alignments."""
    ours = MultipleAlignment.from_rows([alignment.cells[row].tobytes() for row in other.rows.tolist()])
    context.check()
    theirs = MultipleAlignment.from_rows([row.tobytes() for row in other.alignment.cells])
    context.check()
    accuracy = alignment_accuracy(ours, theirs)
    context.check()
    return Compared(accuracy, (_side(ours, theirs), _side(theirs, ours)))


def _side(own: MultipleAlignment, other: MultipleAlignment) -> Side:
    positions, shares = own.positions(), residue_agreements(own, other)
    agreement = np.full(positions.shape, np.nan, np.float32)
    agreement[np.repeat(np.arange(len(own)), np.diff(own.offsets)), own.columns] = shares
    together, counts = np.unique(
        own.columns.astype(np.int64) * max(1, other.n_columns) + other.columns, return_counts=True
    )
    here, elsewhere = np.divmod(together, max(1, other.n_columns))
    order = np.lexsort((-counts, here))
    held, firsts = np.unique(here[order], return_index=True)
    columns = np.full(own.n_columns, -1, np.int64)
    columns[held] = elsewhere[order][firsts]
    n = np.bincount(own.columns, minlength=own.n_columns)
    sums = np.bincount(own.columns, weights=shares, minlength=own.n_columns)
    means = np.divide(sums, n, out=np.zeros(own.n_columns), where=n > 0)
    digits = np.minimum(9, np.floor(10 * means)).astype(np.uint8) + np.uint8(ord("0"))
    marks = np.where(n > 0, digits, np.uint8(ord("."))).astype(np.uint8).tobytes()
    places = [part.astype(np.int64) for part in np.split(own.columns, own.offsets[1:-1])]
    return Side(positions, places, columns, agreement, marks, np.flatnonzero((means < 1) & (n > 0)))


class RowsComparison(QObject):
    """Compares an alignment in view with another one in a file.

    Parameters
    ----------
    view : RowsView
        Whose changes are followed.
    path : str
        The other one.
    """

    read = Signal()
    """The other alignment was read and can be shown."""

    compared = Signal()
    failed = Signal(str)

    def __init__(self, view: RowsView, path: str) -> None:
        super().__init__(view)
        self.view, self.path, self.name = view, path, Path(path).name
        self.other: RowsView | None = None
        self.found: Compared | None = None
        self._given: OtherRows | None = None
        self._reader = Reader(self)
        view.replaced.connect(self._renew)
        view.order_changed.connect(self._follow_order)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is computed."""
        return self._reader.is_idle and (self.other is None or self.other.is_idle)

    def begin(self) -> None:
        """Read the other alignment."""
        self._reader.ask_slowly("read", partial(read_other, self.path, self.view.alignment), self._take_other)

    def close(self) -> None:
        """Release both alignments, and remove the results from the view."""
        self.view.replaced.disconnect(self._renew)
        self.view.order_changed.disconnect(self._follow_order)
        self._reader.close()
        if self.other is not None:
            self.other.close()
        was_shown = self.view.scheme == AGREEMENT
        self.view.values.pop(AGREEMENT, None)
        self.view.set_note(AGREEMENT, None)
        self.view.link(np.empty(0, np.int64), np.empty(0, np.int64))
        if was_shown:
            self.view.set_scheme(next(iter(self.view.values), "nucleotide" if self.view.nucleic else "safe"))

    def _take_other(self, answer: OtherRows | Exception) -> None:
        if isinstance(answer, Exception):
            self.failed.emit(formatting.error_text(answer, f"{self.path} could not be read"))
            return
        self._given = answer
        self.other = RowsView(answer.alignment, self)
        self.other.begin()
        for number, view in enumerate((self.view, self.other)):
            view.set_values(AGREEMENT, self._values_of(number))
        self.other.set_scheme(AGREEMENT)
        self._follow_order()
        self.read.emit()
        self._renew()

    def _renew(self) -> None:
        """Compare again after the view shows another alignment."""
        self.found = None
        if self._given is not None:
            alignment = self.view.alignment
            self._reader.forget("compare")
            question = partial(compared, alignment, self._given)
            self._reader.ask_slowly("compare", question, partial(self._take_compared, alignment))

    def _take_compared(self, alignment: RowAlignment, answer: Compared | Exception) -> None:
        if isinstance(answer, Exception):
            self.failed.emit(formatting.error_text(answer, "The alignments could not be compared"))
        elif alignment is self.view.alignment and self.other is not None:
            self.found = answer
            for view, side in zip((self.view, self.other), answer.sides, strict=True):
                view.set_note(AGREEMENT, side.marks, NOTE_WORDS)
            self.compared.emit()

    def _values_of(self, number: int) -> CellValues:
        def values(rows: Integers, columns: Integers) -> Values:
            shown = np.full((len(rows), len(columns)), np.nan, np.float32)
            if self.found is not None and self._given is not None:
                agreement = self.found.sides[number].agreement
                if number:
                    return agreement[np.ix_(rows, columns)]
                at = np.searchsorted(self._given.rows, rows)
                at = np.minimum(at, len(self._given.rows) - 1)
                is_row = self._given.rows[at] == rows
                shown[is_row] = agreement[np.ix_(at[is_row], columns)]
            return shown

        return values

    def _follow_order(self) -> None:
        """Show the rows of the other alignment in the order of the view."""
        if self._given is None or self.other is None:
            return
        places = np.full(self.view.n_rows, -1, np.int64)
        places[self._given.rows] = np.arange(len(self._given.rows))
        order = places[self.view.order]
        order = order[order >= 0]
        if not np.array_equal(order, self.other.order):
            self.other.set_order("", order)
            self.other.sort("")

    # --- from one to the other ---

    def column_of(self, is_other: bool, column: int) -> int:
        """Return the column on the other side with most of a column; the nearest one if there is none."""
        if self.found is None:
            return 0
        known = self.found.sides[is_other].columns
        elsewhere = np.flatnonzero(known >= 0)
        if not len(elsewhere):
            return 0
        return int(known[elsewhere[np.argmin(np.abs(elsewhere - column))]])

    def row_of(self, is_other: bool, row: int) -> int:
        """Return the number of a row on the other side; -1 if it is missing."""
        if self._given is None:
            return -1
        if is_other:
            return int(self._given.rows[row])
        found = np.flatnonzero(self._given.rows == row)
        return int(found[0]) if len(found) else -1

    def cells_of(self, is_other: bool, column: int) -> tuple[Integers, Integers]:
        """Return the residues of a column on the other side: rows of the file, and columns."""
        if self.found is None or self._given is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        own, other = self.found.sides[is_other], self.found.sides[not is_other]
        residues = own.positions[:, column]
        rows = np.flatnonzero(residues >= 0)
        columns = np.array([other.places[row][residues[row]] for row in rows.tolist()], np.int64)
        return (self._given.rows[rows] if is_other else rows), columns

    def difference(self, step: int) -> int:
        """Return the next column of the view with a difference, or the previous one; -1 if there is none."""
        differs = self.found.sides[0].differs if self.found is not None else np.empty(0, np.int64)
        now = self.view.cursor[1]
        found = differs[differs > now] if step > 0 else differs[differs < now][::-1]
        return int(found[0]) if len(found) else -1

    def words(self) -> str:
        """Return the result as text."""
        if self._given is None:
            return "Reading…"
        if self.found is None:
            return "Comparing…"
        one = self.found.accuracy
        measures = {"AMA": one.ama, "SP": one.sensitivity, "PPV": one.ppv, "TC": one.total_column}
        parts = [f"{name} {'–' if np.isnan(value) else f'{value:.3f}'}" for name, value in measures.items()]
        n = len(self.found.sides[0].differs)
        parts.append(f"{formatting.plural(n, 'column')} differ{'s' if n == 1 else ''}" if n else "no difference")
        given = self._given
        if given.n_missing or given.n_more:
            parts.append(f"over the {formatting.count(len(given.rows))} sequences that both have")
        return " · ".join(parts)

    def more_words(self) -> Json:
        """Return the measures by their names."""
        return {
            "AMA": "the share of residues that have the same partner, or none, in both",
            "SP": "the share of the other alignment's residue pairs that are here, too (sum of pairs)",
            "PPV": "the share of the residue pairs here that are in the other alignment, too",
            "TC": "the share of the other alignment's columns that are whole here",
        }
