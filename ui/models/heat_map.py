"""The matrix of hits as colors: a picture of any part of it at any zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clalign.engines.overview import HitMatrix

Bytes = npt.NDArray[np.uint8]
Levels = npt.NDArray[np.uint16]

STEPS = 256

LIGHT = ((0.0, (222, 235, 247)), (0.35, (107, 174, 214)), (0.7, (8, 81, 156)), (1.0, (3, 24, 66)))
DARK = ((0.0, (22, 50, 75)), (0.35, (24, 105, 160)), (0.7, (86, 180, 233)), (1.0, (235, 247, 255)))
"""Stops of the ramps: the better, the farther from the background."""


def ramp(is_dark: bool, background: tuple[int, int, int]) -> Bytes:
    """Return the colors (uint8[257, 3]) of shares of the best score; the first is that of no hit."""
    stops = DARK if is_dark else LIGHT
    places = np.linspace(0, 1, STEPS)
    known = [place for place, _ in stops]
    parts = [np.interp(places, known, [color[part] for _, color in stops]) for part in range(3)]
    return np.vstack([np.array(background), np.stack(parts, axis=1)]).astype(np.uint8)


@dataclass(frozen=True)
class HeatMap:
    """A matrix of hits, ready to be drawn.

    Attributes
    ----------
    matrix : HitMatrix
    """

    matrix: HitMatrix

    @cached_property
    def levels(self) -> npt.NDArray[np.uint16]:
        """Of each hit the place on the ramp, from 1; scores of far apart orders can be told apart (square root)."""
        scores = np.maximum(self.matrix.scores, 0.0)
        most = float(scores.max()) if len(scores) else 1.0
        return (1 + np.sqrt(scores / max(most, 1e-9)) * (STEPS - 1)).astype(np.uint16)

    @cached_property
    def most(self) -> float:
        """The highest score."""
        return float(self.matrix.scores.max()) if len(self.matrix.scores) else 0.0

    @cached_property
    def by_place(self) -> dict[tuple[int, int], int]:
        """The hit of a row and a column."""
        return {(row, column): place for place, (row, column) in enumerate(self.matrix.places.tolist())}

    def picture(self, rows: tuple[float, float], columns: tuple[float, float], size: tuple[int, int]) -> Levels:
        """Return places on the ramp (uint16[height, width]) of a part: of cells that share a pixel the best one.

        Parameters
        ----------
        rows, columns : tuple of float
            First and last, which may lie between cells and beyond the ends.
        size : tuple of int
            Width and height in pixels.
        """
        width, height = size
        made = np.zeros((height, width), np.uint16)
        per_row, per_column = (rows[1] - rows[0]) / height, (columns[1] - columns[0]) / width
        places = self.matrix.places
        if per_row <= 1 and per_column <= 1:  # cells are pixels or larger: each pixel looks its cell up
            table = self._table(rows, columns)
            first_row, first_column = max(0, int(rows[0])), max(0, int(columns[0]))
            at_row = np.floor(rows[0] + (np.arange(height) + 0.5) * per_row).astype(np.int64) - first_row
            at_column = np.floor(columns[0] + (np.arange(width) + 0.5) * per_column).astype(np.int64) - first_column
            in_rows = (at_row >= 0) & (at_row < table.shape[0])
            in_columns = (at_column >= 0) & (at_column < table.shape[1])
            made[np.ix_(in_rows, in_columns)] = table[np.ix_(at_row[in_rows], at_column[in_columns])]
            return made
        low_y = np.floor((places[:, 0] - rows[0]) / per_row).astype(np.int64)
        low_x = np.floor((places[:, 1] - columns[0]) / per_column).astype(np.int64)
        high_y = np.maximum(np.ceil((places[:, 0] + 1 - rows[0]) / per_row).astype(np.int64), low_y + 1)
        high_x = np.maximum(np.ceil((places[:, 1] + 1 - columns[0]) / per_column).astype(np.int64), low_x + 1)
        seen = (high_y > 0) & (high_x > 0) & (low_y < height) & (low_x < width)
        order = np.flatnonzero(seen)
        order = order[np.argsort(self.levels[order], kind="stable")]
        boxes = zip(
            np.maximum(low_y, 0)[order].tolist(), high_y[order].tolist(), np.maximum(low_x, 0)[order].tolist(),
            high_x[order].tolist(), self.levels[order].tolist(), strict=True,
        )  # fmt: skip
        if per_row > 1 and per_column > 1:
            np.maximum.at(made, (np.maximum(low_y, 0)[order], np.maximum(low_x, 0)[order]), self.levels[order])
            return made
        for top, bottom, left, right, level in boxes:
            made[top:bottom, left:right] = np.maximum(made[top:bottom, left:right], level)
        return made

    def _table(self, rows: tuple[float, float], columns: tuple[float, float]) -> npt.NDArray[np.uint16]:
        """Return the part of the matrix that is looked at, cell by cell."""
        n_rows, n_columns = self.matrix.shape
        first, last = max(0, int(rows[0])), min(n_rows, int(np.ceil(rows[1])) + 1)
        begin, end = max(0, int(columns[0])), min(n_columns, int(np.ceil(columns[1])) + 1)
        made = np.zeros((max(0, last - first), max(0, end - begin)), np.uint16)
        places = self.matrix.places
        inside = (places[:, 0] >= first) & (places[:, 0] < last) & (places[:, 1] >= begin) & (places[:, 1] < end)
        chosen = places[inside]
        np.maximum.at(made, (chosen[:, 0] - first, chosen[:, 1] - begin), self.levels[inside])
        return made
