"""An alignment in view: order, colors, selection, matches, measures, and what is said of its columns and cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal

from clalign.errors import OptionError
from clalign.jobs import Event, JobContext
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, is_residue

from ... import formatting
from ..reader import Answer, Reader
from .row_colors import CODES, GAP, SCHEMES, CellValues, Coloring, Composition, coloring, value_coloring
from .row_measures import Measures, Rows, identities, looks_nucleic, measure, order_by_name, order_by_value
from .row_search import Found, find_rows, nothing

CONSENSUS = -1
"""The consensus, in place of the number of a reference row."""

ORDERS = {"input": "File order", "name": "Name", "identity": "Identity", "length": "Length"}
"""Titles of the orders of rows; scores add theirs."""

PROBABILITY_TAG = "PP"

PICTURE_FIELDS = (
    "measures", "n_known", "share_known", "order", "order_key", "reference", "dots", "scheme", "ramp", "values",
    "has_values", "scores", "identity", "own_notes",
)  # fmt: skip
"""Attributes of a view that a picture depends on."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A block of the alignment: displayed rows, and columns."""

    rows: range
    columns: range


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Cells to be painted.

    Attributes
    ----------
    letters : uint8[rows, columns]
        The letter of each; 0 if it is the same as in the reference.
    places : uint8[rows, columns]
        Colors in the palette.
    """

    letters: Bytes
    places: Bytes


class RowsView(QObject):
    """The state of a view of an alignment, without widgets."""

    changed = Signal()
    """Cells are painted differently."""

    measured = Signal()
    """More columns are measured."""

    order_changed = Signal()
    found_changed = Signal()
    replaced = Signal()
    """Another alignment of the same sequences is shown."""

    moved = Signal()
    """The cursor or the selection has moved."""

    problem_found = Signal(str)
    input_rejected = Signal(str)
    """An invalid query; with the reason."""

    def __init__(self, alignment: RowAlignment, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.alignment = alignment
        self.nucleic = looks_nucleic(alignment)
        self.measures = Measures.empty(alignment)
        self.n_known = 0
        self.share_known = 0.0
        self.order: Rows = np.arange(alignment.n_rows)
        self.order_key = "input"
        self.reference = CONSENSUS
        self.dots = False
        self.usual_scheme = self.scheme = "nucleotide" if self.nucleic else "safe"
        self.ramp = "safe"
        self.values: dict[str, CellValues] = {}
        self.has_values = True
        """Whether values are known now; until then residues have their usual colors."""
        self.scores: dict[str, npt.NDArray[np.float32]] = {}
        self.own_orders: dict[str, Rows] = {}
        self.input_words = ORDERS["input"]
        self.own_names: dict[int, str] = {}
        self.own_notes: dict[str, tuple[bytes, str]] = {}
        self.linked: tuple[Rows, Rows] = np.empty(0, np.int64), np.empty(0, np.int64)
        self.identity: npt.NDArray[np.float32] | None = None
        self.cursor = (0, 0)
        self.selection: Selection | None = None
        self.found, self.found_at, self.is_finding = nothing(), -1, False
        self._begin: tuple[int, int] | None = None
        self._ways: Rows = np.empty(0, np.int64)
        self._readers: dict[str, Reader] = {}
        if PROBABILITY_TAG in alignment.notes.residues:
            self.values["Posterior probability"] = self._probabilities

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.alignment.n_rows

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.alignment.n_columns

    @property
    def is_measured(self) -> bool:
        """Whether all columns are measured."""
        return self.n_known >= self.n_columns

    @property
    def is_idle(self) -> bool:
        """Whether nothing is computed."""
        return all(reader.is_idle for reader in self._readers.values())

    def _reader(self, name: str) -> Reader:
        if name not in self._readers:
            self._readers[name] = Reader(self)
        return self._readers[name]

    def frozen(self) -> RowsView:
        """Return a copy of the present state, for a picture that is made in a thread."""
        made = RowsView(self.alignment)
        for name in PICTURE_FIELDS:
            setattr(made, name, getattr(self, name))
        made.cursor = (-1, -1)
        return made

    def show(self, alignment: RowAlignment) -> None:
        """Show another alignment of the same sequences in the same way, at about the same place."""
        share = self.cursor[1] / max(1, self.n_columns)
        self.alignment, self.measures, self.n_known, self.share_known = alignment, Measures.empty(alignment), 0, 0.0
        self.cursor = (self.cursor[0], min(int(share * alignment.n_columns), alignment.n_columns - 1))
        self.selection, self.identity = None, None
        self.found, self.found_at = nothing(), -1
        self.own_notes, self.linked = {}, (np.empty(0, np.int64), np.empty(0, np.int64))
        self._reader("columns").forget("columns")
        self.begin()
        self.order_changed.emit()
        self.found_changed.emit()
        self.replaced.emit()

    def begin(self) -> None:
        """Start to count the letters of the columns."""
        measures = self.measures
        question = partial(measure, self.alignment, self.nucleic, measures)
        note, end = partial(self._note_measured, measures), partial(self._end_measuring, measures)
        self._reader("columns").ask_slowly("columns", question, end, note)

    def close(self) -> None:
        """Stop all computations."""
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()

    def _note_measured(self, measures: Measures, event: Event) -> None:
        if event.kind == "progress" and measures is self.measures:
            self.n_known = event.value["known"]
            self.share_known = event.value["done"] / max(1, event.value["total"])
            self.measured.emit()

    def _end_measuring(self, measures: Measures, answer: object) -> None:
        if measures is not self.measures:
            return
        if isinstance(answer, Exception):
            self.problem_found.emit(formatting.error_text(answer, "The columns could not be counted"))
            return
        self.n_known, self.share_known = self.n_columns, 1.0
        self.measured.emit()
        self.changed.emit()

    def _ask(self, key: str, question: Callable[[JobContext], Answer], take: Callable[[Answer], None]) -> None:
        def answer(value: Answer | Exception) -> None:
            if isinstance(value, Exception):
                self.is_finding = False
                signal = self.input_rejected if isinstance(value, OptionError) else self.problem_found
                signal.emit(formatting.error_text(value, "This could not be done"))
                self.found_changed.emit()
            else:
                take(value)

        self._reader("asked").forget(key)
        self._reader("asked").ask_slowly(key, question, answer)

    # --- order ---

    def orders(self) -> dict[str, str]:
        """Return the titles of the available orders of rows."""
        return {**ORDERS, "input": self.input_words, **{name: name for name in (*self.scores, *self.own_orders)}}

    def sort(self, key: str) -> None:
        """Sort the rows."""
        alignment, reference = self.alignment, self.reference_letters()

        def by_identity(context: JobContext) -> Rows:
            self.identity = identities(alignment, reference, context)
            return order_by_value(self.identity)

        makers: dict[str, Callable[[JobContext], Rows]] = {
            "input": lambda context: np.arange(alignment.n_rows),
            "name": lambda context: order_by_name(alignment),
            "identity": by_identity,
            "length": lambda context: order_by_value(self.measures.lengths),
        }
        if key in self.own_orders:
            self._take_order(key, self.own_orders[key])
            return
        make = makers.get(key) or (lambda context: order_by_value(self.scores[key]))
        self._ask("order", make, partial(self._take_order, key))

    def find_identities(self) -> None:
        """Compute the share of the reference that each row has."""
        alignment, reference = self.alignment, self.reference_letters()
        self._ask("identities", lambda context: identities(alignment, reference, context), self._take_identities)

    def _take_identities(self, found: npt.NDArray[np.float32]) -> None:
        self.identity = found
        self.changed.emit()

    def _take_order(self, key: str, order: Rows) -> None:
        row = self.row_at(self.cursor[0])
        self.order, self.order_key, self.selection = order, key, None
        self._line_up()
        self.cursor = (self.place_of(row), self.cursor[1])
        self.order_changed.emit()
        self.moved.emit()

    def row_at(self, place: int) -> int:
        """Return the number in the file of a displayed row."""
        return int(self.order[place])

    def place_of(self, row: int) -> int:
        """Return the displayed place of a row of the file."""
        return int(np.flatnonzero(self.order == row)[0])

    def shown_name(self, row: int) -> str:
        """Return the displayed name of a row of the file."""
        return self.own_names.get(row, self.alignment.names[row])

    def name_at(self, place: int) -> str:
        """Return the name of a displayed row."""
        return self.alignment.names[self.row_at(place)]

    def set_scores(self, name: str, scores: npt.NDArray[np.float32]) -> None:
        """Offer an order of the rows by scores (float32[n_rows])."""
        self.scores[name] = scores

    def set_order(self, name: str, order: Rows) -> None:
        """Offer another order of the rows (int64[n_rows])."""
        self.own_orders[name] = order
        if self.order_key == name:
            self.sort(name)
        self.order_changed.emit()

    # --- what stands above the columns, and what is marked ---

    def column_notes(self) -> dict[str, tuple[bytes, str]]:
        """Return the annotations of the columns: those of the file and computed ones, with titles."""
        of_file = {tag: (text, f"#=GC {tag} of the file") for tag, text in self.alignment.notes.columns.items()}
        return {**of_file, **self.own_notes}

    def set_note(self, name: str, text: bytes | None, words: str = "") -> None:
        """Annotate each column by a mark (uint8[n_columns]), or remove the annotation."""
        self.own_notes.pop(name, None)
        if text is not None:
            self.own_notes[name] = text, words
        self.order_changed.emit()

    def link(self, rows: Rows, columns: Rows) -> None:
        """Frame cells, each by its row in the file and its column."""
        self.linked = rows, columns
        self.changed.emit()

    # --- colors ---

    def set_scheme(self, scheme: str) -> None:
        """Color the cells by one of `SCHEMES` or of the available values."""
        self.scheme = scheme if scheme in SCHEMES or scheme in self.values else "none"
        self.changed.emit()

    def set_ramp(self, kind: str) -> None:
        """Choose the color ramp of values."""
        self.ramp = kind
        self._values_coloring = None
        self.changed.emit()

    def set_values(self, name: str, values: CellValues) -> None:
        """Offer colors by values: see `CellValues`."""
        self.values[name] = values
        self._values_coloring = None
        self.changed.emit()

    _values_coloring: tuple[str, Coloring] | None = None

    @property
    def coloring(self) -> Coloring:
        """The coloring of the cells."""
        if self.scheme not in self.values or not self.has_values:
            return coloring(self.scheme if self.scheme in SCHEMES else self.usual_scheme, self.nucleic)
        if self._values_coloring is None or self._values_coloring[0] != self.scheme:
            made = value_coloring(self.scheme, self.values[self.scheme], self.ramp)
            self._values_coloring = self.scheme, made
        return self._values_coloring[1]

    def _probabilities(self, rows: Rows, columns: Rows) -> npt.NDArray[np.float32]:
        texts = self.alignment.notes.residues[PROBABILITY_TAG]
        places = np.minimum(np.searchsorted(texts.rows, rows), len(texts.rows) - 1)
        marks = texts.cells[np.ix_(places, columns)]
        found = np.where(marks == ord("*"), 0.975, np.clip((marks - 48.0) / 10, 0.025, 1.0))
        is_known = ((marks >= 48) & (marks <= 57)) | (marks == ord("*"))
        is_known &= (texts.rows[places] == rows)[:, None]
        return np.where(is_known, found, np.nan).astype(np.float32)

    def set_dots(self, shown: bool) -> None:
        """Show dots for residues that agree with the reference."""
        self.dots = shown
        self.changed.emit()

    def set_reference(self, row: int) -> None:
        """Compare with a row of the file, or with the consensus."""
        self.reference = row
        if self.order_key == "identity":
            self.sort("identity")
        elif self.identity is not None:
            self.find_identities()
        self.changed.emit()

    def reference_letters(self) -> Bytes:
        """Return the letters of the reference (uint8[n_columns])."""
        if self.reference == CONSENSUS:
            return self.measures.tracks.consensus
        return np.asarray(self.alignment.cells[self.reference])

    def cells(self, places: Rows, columns: Rows) -> Cells:
        """Return the cells of displayed rows and of columns for painting."""
        rows = self.order[places]
        if len(columns) and columns[-1] - columns[0] == len(columns) - 1:
            letters = np.asarray(self.alignment.cells[rows, int(columns[0]) : int(columns[-1]) + 1])
        else:
            letters = np.asarray(self.alignment.cells[np.ix_(rows, columns)])
        codes = CODES[letters]
        known = Composition(self.measures.counts[columns], self.n_rows)
        colors = self.coloring.places(codes, rows, columns, known)
        if self.dots:
            reference = self.reference_letters()[columns]
            same = ((letters & UPPER) == (reference & UPPER)) & (codes != GAP)
            same &= (rows != self.reference)[:, None]
            letters, colors = np.where(same, np.uint8(0), letters), np.where(same, np.uint8(1), colors)
        return Cells(letters, colors)

    # --- looking for something ---

    def find(self, text: str, mode: str, begin: tuple[int, int] | None = None) -> None:
        """Search all rows; the first step begins at a displayed row and column, by default at the cursor."""
        self._begin = begin
        if not text.strip():
            self.stop_finding()
            self._take_found(nothing())
            return
        self.is_finding = True
        self.found_changed.emit()
        self._ask("find", lambda context: find_rows(self.alignment, text, mode, context), self._take_found)

    def stop_finding(self) -> None:
        """Stop the search."""
        self._reader("asked").forget("find")
        self.is_finding = False
        self.found_changed.emit()

    def _take_found(self, found: Found) -> None:
        self.found, self.found_at, self.is_finding = found, -1, False
        self._line_up()
        self.found_changed.emit()
        self.changed.emit()

    def _line_up(self) -> None:
        """Sort the matches in the order of the displayed rows."""
        if not len(self.found):
            self._ways, self.found_at = np.empty(0, np.int64), -1
            return
        places = np.empty(self.n_rows, np.int64)
        places[self.order] = np.arange(self.n_rows)
        self._ways = np.lexsort((self.found.begins, places[self.found.rows]))
        self._ways_rows = places[self.found.rows][self._ways]
        self.found_at = -1

    def step_found(self, step: int) -> None:
        """Go to the next or the previous match."""
        if not len(self.found):
            return
        if self.found_at < 0:
            row, column = self._begin or self.cursor
            begins = self.found.begins[self._ways]
            after = np.flatnonzero((self._ways_rows > row) | ((self._ways_rows == row) & (begins >= column)))
            first = int(after[0]) if len(after) else 0
            self.found_at = first if step > 0 else (first - 1) % len(self.found)
        else:
            self.found_at = (self.found_at + step) % len(self.found)
        self.move_to(int(self._ways_rows[self.found_at]), int(self.found.begins[self._ways[self.found_at]]))
        self.found_changed.emit()

    def found_now(self) -> tuple[int, int, int] | None:
        """Return displayed row and columns of the current match."""
        if self.found_at < 0:
            return None
        number = self._ways[self.found_at]
        return int(self._ways_rows[self.found_at]), int(self.found.begins[number]), int(self.found.ends[number])

    # --- the cursor and what is selected ---

    def move_to(self, row: int, column: int, select: bool = False) -> None:
        """Move the cursor; with `select` extend the selection to it."""
        row, column = min(max(row, 0), self.n_rows - 1), min(max(column, 0), self.n_columns - 1)
        if not select:
            self._anchor = (row, column)
            self.selection = None
        else:
            rows, columns = sorted((self._anchor[0], row)), sorted((self._anchor[1], column))
            self.selection = Selection(range(rows[0], rows[1] + 1), range(columns[0], columns[1] + 1))
        self.cursor = (row, column)
        self.moved.emit()

    _anchor = (0, 0)

    def select(self, selection: Selection | None) -> None:
        """Select a block."""
        self.selection = selection
        if selection is not None:
            self._anchor = (selection.rows.start, selection.columns.start)
        self.moved.emit()

    def select_all(self) -> None:
        """Select everything."""
        self.select(Selection(range(self.n_rows), range(self.n_columns)))

    # --- words ---

    def describe(self, place: int, column: int) -> list[str]:
        """Return the description of a cell: row and residue, column, and the meaning of its color."""
        row = self.row_at(place)
        byte = int(self.alignment.cells[row, column])
        letter, name = chr(byte), formatting.short_text(formatting.short_name(self.shown_name(row)))
        is_here = bool(is_residue(np.array([byte], np.uint8))[0])
        before = self.alignment.position(row, column)
        where = f"{letter} {formatting.count(before)}" if is_here else f"gap after {formatting.count(before)}"
        parts = [f"{name}: {where}", self.column_words(column, letter if is_here else "")]
        color = self._color_words(row, column, byte)
        return [*parts, color] if color else parts

    def column_words(self, column: int, letter: str = "") -> str:
        """Return the description of a column, and the frequency of a letter in it."""
        text = f"column {formatting.count(column + 1)} of {formatting.count(self.n_columns)}"
        if column >= self.n_known:
            return text
        counts, tracks = self.measures.counts[column], self.measures.tracks
        total = int(counts.sum())
        facts = [f"occupancy {formatting.share(100 * float(tracks.occupancy[column]))} %"]
        if total:
            shown = [(int(counts[i]), chr(65 + i)) for i in np.argsort(-counts.astype(np.int64))[:3] if counts[i]]
            if letter and letter.upper() not in [other for _, other in shown]:
                shown.append((int(counts[ord(letter.upper()) - 65]), letter.upper()))
            facts.append(", ".join(f"{other} {formatting.share(100 * n / total)} %" for n, other in shown))
            facts.append(f"conservation {tracks.conservation[column]:.2f}")
        return " · ".join([text, *facts])

    def _color_words(self, row: int, column: int, byte: int) -> str:
        chosen = self.coloring
        where = np.array([row]), np.array([column])
        if chosen.values is not None:
            value = float(chosen.values(*where)[0, 0])
            return f"{chosen.name}: {'not defined' if np.isnan(value) else f'{value:.3f}'}"
        known = Composition(self.measures.counts[where[1]], self.n_rows)
        place = int(chosen.places(CODES[np.array([[byte]], np.uint8)], *where, known)[0, 0]) - 3
        if place < 0:
            return ""
        color = chosen.palette[place]
        meaning = next((words for swatch, words in chosen.legend if swatch == color), "")
        return f"{chosen.name}: {meaning}" if meaning else ""

    def summary(self) -> str:
        """Return the size of the alignment as text."""
        rows, columns = formatting.plural(self.n_rows, "row"), formatting.plural(self.n_columns, "column")
        facts = [rows, columns, "nucleotides" if self.nucleic else "protein"]
        if self.is_measured:
            tracks = self.measures.tracks
            cells = max(1, self.n_rows * self.n_columns)
            facts.append(f"{formatting.percent(1 - self.measures.lengths.sum() / cells)} gaps")
            whole = int(np.count_nonzero((tracks.share >= 1) & (tracks.occupancy >= 1)))
            facts.append(formatting.plural(whole, "invariant column"))
        return " · ".join(facts)
