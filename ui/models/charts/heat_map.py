"""The matrix of hits as colors: images of any part at any zoom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clalign.engines.overview import HitMatrix

Bytes = npt.NDArray[np.uint8]
Levels = npt.NDArray[np.uint16]
Integers = npt.NDArray[np.int64]

STEPS = 256

LIGHT = ((0.0, (222, 235, 247)), (0.35, (107, 174, 214)), (0.7, (8, 81, 156)), (1.0, (3, 24, 66)))
DARK = ((0.0, (22, 50, 75)), (0.35, (24, 105, 160)), (0.7, (86, 180, 233)), (1.0, (235, 247, 255)))
"""Stops of the ramps: a better score is farther from the background."""


def ramp(is_dark: bool, background: tuple[int, int, int]) -> Bytes:
    """Return the colors (uint8[257, 3]) of shares of the best score; the first is for no hit."""
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
    def levels(self) -> Levels:
        """The place of each hit on the ramp, from 1; square roots separate scores of different magnitudes."""
        scores = np.maximum(self.matrix.scores, 0.0)
        most = float(scores.max()) if len(scores) else 1.0
        return (1 + np.sqrt(scores / max(most, 1e-9)) * (STEPS - 1)).astype(np.uint16)

    @cached_property
    def most(self) -> float:
        """The highest score."""
        return float(self.matrix.scores.max()) if len(self.matrix.scores) else 0.0

    @cached_property
    def _keys(self) -> tuple[Integers, Integers]:
        """Places of hits as rising numbers, and the hits in that order."""
        keys = self.matrix.places[:, 0] * max(1, self.matrix.shape[1]) + self.matrix.places[:, 1]
        order = np.argsort(keys, kind="stable")
        return keys[order], order

    @cached_property
    def _rising(self) -> tuple[Integers, Levels]:
        """Places and levels of hits, the best last."""
        order = np.argsort(self.levels, kind="stable")
        return self.matrix.places[order], self.levels[order]

    def prepared(self) -> HeatMap:
        """Compute what takes long with many hits; return this."""
        assert self._rising is not None
        assert self._keys is not None
        return self

    def hit_at(self, row: int, column: int) -> int | None:
        """Return the hit of a row and a column, if there is one."""
        keys, order = self._keys
        wanted = row * max(1, self.matrix.shape[1]) + column
        place = int(np.searchsorted(keys, wanted))
        return int(order[place]) if place < len(keys) and keys[place] == wanted else None

    def picture(self, rows: tuple[float, float], columns: tuple[float, float], size: tuple[int, int]) -> Levels:
        """Return places on the ramp (uint16[height, width]) of a part: the best of the cells that share a pixel.

        Parameters
        ----------
        rows, columns : tuple of float
            First and last, which may be between cells and beyond the ends.
        size : tuple of int
            Width and height in pixels.
        """
        n_rows, n_columns = self.matrix.shape
        places, levels = self._rising
        y, n_y, seen_y = _binned(places[:, 0], rows, size[1], n_rows)
        x, n_x, seen_x = _binned(places[:, 1], columns, size[0], n_columns)
        table = np.zeros((n_y + 1, n_x + 1), np.uint16)  # the last ones stay empty: what is beyond the ends
        inside = (y >= 0) & (y < n_y) & (x >= 0) & (x < n_x)
        table[y[inside], x[inside]] = levels[inside]  # of several in one place the last stays, which is the best
        made: Levels = table[seen_y[:, None], seen_x[None, :]]
        return made


def _binned(cells: Integers, span: tuple[float, float], n_pixels: int, n_cells: int) -> tuple[Integers, int, Integers]:
    """Return the bin of each cell of an axis, the number of bins, and the bin of each pixel.

    Where cells are smaller than pixels, a bin is a pixel; else it is a cell.
    """
    per_pixel = (span[1] - span[0]) / n_pixels
    if per_pixel > 1:
        bins: Integers = np.floor((cells - span[0]) / per_pixel).astype(np.int64)
        return bins, n_pixels, np.arange(n_pixels)
    first = max(0, int(span[0]))
    n_bins = max(0, min(n_cells, int(np.ceil(span[1])) + 1) - first)
    seen: Integers = np.floor(span[0] + (np.arange(n_pixels) + 0.5) * per_pixel).astype(np.int64) - first
    return cells - first, n_bins, np.where((seen >= 0) & (seen < n_bins), seen, n_bins)
