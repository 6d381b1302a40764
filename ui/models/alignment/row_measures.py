"""Measures of an alignment, computed while it is shown: composition of columns, lengths, identities, orders of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.jobs import JobContext
from clalign.values.column_statistics import (
    MAX_ROWS,
    N_LETTERS,
    NUCLEIC_LETTERS,
    ColumnTracks,
    Counts,
    column_tracks,
    count_letters,
)
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, is_residue
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule

Rows = npt.NDArray[np.int64]

SPECIES = "Species"
"""Title of the order of rows by species."""

PLACE = re.compile(r"/\d+-\d+$")
"""Range at the end of the name of a partial sequence."""

COLUMNS = 2048
"""Columns that are measured together."""

SAMPLED = (64, 4096)
"""Rows and columns that decide whether the letters are bases."""

MOSTLY = 0.95

IDENTITY_ROWS = 512


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """Measures of columns and rows; filled in by another thread.

    Attributes
    ----------
    counts : uint32[n_columns, N_LETTERS]
    tracks : ColumnTracks
    lengths : int64[n_rows]
        Residues of each row.
    """

    counts: Counts
    tracks: ColumnTracks
    lengths: Rows

    @classmethod
    def empty(cls, alignment: RowAlignment) -> Measures:
        """Return measures to be filled in."""
        counts = np.zeros((alignment.n_columns, N_LETTERS), np.uint32)
        return cls(counts, ColumnTracks.empty(alignment.n_columns), np.zeros(alignment.n_rows, np.int64))


MAX_SORTED_BYTES = 256
"""Bytes of words that are sorted as columns of letters."""

SPELLED_AT_ONCE = 20_000

LAST = chr(0x10FFFF)
"""Sorts after every word."""


def looks_nucleic(alignment: RowAlignment) -> bool:
    """Return whether the letters of the first rows are those of DNA or RNA."""
    part = alignment.cells[: SAMPLED[0], : SAMPLED[1]] & UPPER
    counts = np.bincount(part.ravel(), minlength=256)
    letters = int(counts[65:91].sum())
    return letters > 0 and int(counts[[ord(letter) for letter in NUCLEIC_LETTERS + "N"]].sum()) >= MOSTLY * letters


def measure(alignment: RowAlignment, nucleic: bool, into: Measures, context: JobContext) -> None:
    """Count the letters of all columns; the progress is the number of finished columns."""
    total = alignment.n_rows * alignment.n_columns
    done = 0
    for begin in range(0, alignment.n_columns, COLUMNS):
        end = min(begin + COLUMNS, alignment.n_columns)
        counts = np.zeros((end - begin, N_LETTERS), np.uint32)
        for row in range(0, alignment.n_rows, MAX_ROWS):
            cells = np.ascontiguousarray(alignment.cells[row : row + MAX_ROWS, begin:end])
            count_letters(cells, counts, into.lengths[row : row + MAX_ROWS])
            done += cells.size
            context.progress("columns", done, total, "cells", known=begin)
            context.check()
        into.counts[begin:end] = counts
        into.tracks.put(begin, column_tracks(counts, alignment.n_rows, nucleic))
        context.progress("columns", done, total, "cells", known=end)


def identities(alignment: RowAlignment, reference: Bytes, context: JobContext) -> npt.NDArray[np.float32]:
    """Return the share of the residues of a reference that each row shares (float32[n_rows])."""
    wanted = reference & UPPER
    columns = np.flatnonzero(is_residue(reference))
    found = np.zeros(alignment.n_rows, np.float32)
    if not len(columns):
        return found
    has = is_residue(reference)
    for row in range(0, alignment.n_rows, IDENTITY_ROWS):
        context.progress("identity", row, alignment.n_rows, "rows")
        context.check()
        same = (alignment.cells[row : row + IDENTITY_ROWS] & UPPER) == wanted
        found[row : row + IDENTITY_ROWS] = np.count_nonzero(same & has, axis=1) / len(columns)
    return found


def order_by_name(alignment: RowAlignment) -> Rows:
    """Return the order of the rows by name, ignoring case."""
    return order_of([name.casefold() for name in alignment.names])


def order_by_species(alignment: RowAlignment, rule: SpeciesRule = FROM_DESCRIPTIONS) -> Rows | None:
    """Return the order of the rows by species, unknown ones last; None if all are unknown."""
    noted = {(name, tag): text for name, tag, text in alignment.notes.rows if tag in ("AC", "OS")}  # of Stockholm files
    species = []
    for name, description in zip(alignment.names, alignment.descriptions, strict=True):
        words = f"{description} OS={noted[name, 'OS']}" if (name, "OS") in noted else description
        species.append(rule.of(PLACE.sub("", name), noted.get((name, "AC"), ""), words).lower())
    if not any(species):
        return None
    return order_of([name or LAST for name in species])


def order_of(words: Sequence[str]) -> Rows:
    """Return the sorting order of words; Python's own sort would block the window."""
    spelled = [word.encode("utf-8", "surrogatepass") for word in words]
    longest = max(map(len, spelled), default=0)
    if longest > MAX_SORTED_BYTES:
        return np.array(sorted(range(len(words)), key=spelled.__getitem__), np.int64)
    made = np.empty(len(spelled), f"S{max(1, longest)}")
    for begin in range(0, len(spelled), SPELLED_AT_ONCE):
        made[begin : begin + SPELLED_AT_ONCE] = spelled[begin : begin + SPELLED_AT_ONCE]
    return np.argsort(made, kind="stable").astype(np.int64)


def order_by_value(values: npt.NDArray[np.float32] | Rows) -> Rows:
    """Return the order of the rows by a value, the greatest first; rows without one last."""
    return np.argsort(np.where(np.isnan(values), np.inf, -values.astype(np.float64)), kind="stable")
