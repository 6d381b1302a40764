"""Descriptions of an alignment in view, of its columns and of its cells."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from clalign.values.row_alignments import RowAlignment, is_residue

from ... import formatting
from .row_colors import CODES, Coloring, Composition
from .row_measures import Measures


class AlignmentState(Protocol):
    """The part of a view of an alignment that descriptions need."""

    alignment: RowAlignment
    measures: Measures
    nucleic: bool
    n_known: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        ...

    @property
    def is_measured(self) -> bool:
        """Whether all columns are measured."""
        ...

    @property
    def coloring(self) -> Coloring:
        """How the cells are colored."""
        ...

    def row_at(self, place: int) -> int:
        """Return the number in the file of a row of the view."""
        ...

    def shown_name(self, row: int) -> str:
        """Return the displayed name of a row of the file."""
        ...


def describe(view: AlignmentState, place: int, column: int) -> list[str]:
    """Return the description of a cell: row and residue, column, and the meaning of its color."""
    row = view.row_at(place)
    byte = int(view.alignment.cells[row, column])
    letter, name = chr(byte), formatting.short_text(formatting.short_name(view.shown_name(row)))
    is_here = bool(is_residue(np.array([byte], np.uint8))[0])
    before = view.alignment.position(row, column)
    where = f"{letter} {formatting.count(before)}" if is_here else f"gap after {formatting.count(before)}"
    parts = [f"{name}: {where}", column_words(view, column, letter if is_here else "")]
    color = _color_words(view, row, column, byte)
    return [*parts, color] if color else parts


def column_words(view: AlignmentState, column: int, letter: str = "") -> str:
    """Return the description of a column, and the frequency of a letter in it."""
    text = f"column {formatting.count(column + 1)} of {formatting.count(view.n_columns)}"
    if column >= view.n_known:
        return text
    counts, tracks = view.measures.counts[column], view.measures.tracks
    total = int(counts.sum())
    facts = [f"occupancy {formatting.share(100 * float(tracks.occupancy[column]))} %"]
    if total:
        shown = [(int(counts[i]), chr(65 + i)) for i in np.argsort(-counts.astype(np.int64))[:3] if counts[i]]
        if letter and letter.upper() not in [other for _, other in shown]:
            shown.append((int(counts[ord(letter.upper()) - 65]), letter.upper()))
        facts.append(", ".join(f"{other} {formatting.share(100 * n / total)} %" for n, other in shown))
        facts.append(f"conservation {tracks.conservation[column]:.2f}")
    return " · ".join([text, *facts])


def _color_words(view: AlignmentState, row: int, column: int, byte: int) -> str:
    chosen = view.coloring
    where = np.array([row]), np.array([column])
    if chosen.values is not None:
        value = float(chosen.values(*where)[0, 0])
        return f"{chosen.name}: {'not defined' if np.isnan(value) else f'{value:.3f}'}"
    known = Composition(view.measures.counts[where[1]], view.n_rows)
    place = int(chosen.places(CODES[np.array([[byte]], np.uint8)], *where, known)[0, 0]) - 3
    if place < 0:
        return ""
    color = chosen.palette[place]
    meaning = next((words for swatch, words in chosen.legend if swatch == color), "")
    return f"{chosen.name}: {meaning}" if meaning else ""


def summary(view: AlignmentState) -> str:
    """Return the size of the alignment as text."""
    rows, columns = formatting.plural(view.n_rows, "row"), formatting.plural(view.n_columns, "column")
    facts = [rows, columns, "nucleotides" if view.nucleic else "protein"]
    if view.is_measured:
        tracks = view.measures.tracks
        cells = max(1, view.n_rows * view.n_columns)
        facts.append(f"{formatting.percent(1 - view.measures.lengths.sum() / cells)} gaps")
        whole = int(np.count_nonzero((tracks.share >= 1) & (tracks.occupancy >= 1)))
        facts.append(formatting.plural(whole, "invariant column"))
    return " · ".join(facts)
