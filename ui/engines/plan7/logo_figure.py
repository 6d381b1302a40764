"""A logo as numbers and text, independent of how it is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clalign.values.profile_logo import HEIGHT_MODES, HeightMode, ProfileLogo, profile_logo
from clalign.values.profiles import Hmm

Stack = list[tuple[str, float]]

AXIS_STEP = 0.5
"""Bits; the axis ends at a multiple of this."""

LONG_INSERT = 12.0
"""Expected residues of an insertion with the darkest cell."""


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A row of cells below the letters.

    Attributes
    ----------
    values : float64[M]
    shades : float64[M]
        How dark each cell is, from 0 to 1.
    write : callable
        Writes a value.
    """

    name: str
    tip: str
    values: npt.NDArray[np.float64]
    shades: npt.NDArray[np.float64]
    write: Callable[[float], str]

    def text(self, node: int) -> str:
        """Return the text of a cell; `node` counts from 0."""
        return self.write(float(self.values[node]))


@dataclass(frozen=True, slots=True)
class LogoFigure:
    """The data of a logo.

    Attributes
    ----------
    title : str
    letters : str
        The residues, in the order of the columns of `heights`.
    heights : float64[M, K]
        Bits; negative ones are below the line.
    top, bottom : float
        Ends of the axis in bits; `bottom` is 0 or less.
    axis : str
    consensus, structure : str
        One character a node; `structure` may be empty.
    rows : tuple of FigureRow
    nucleic : bool
    """

    title: str
    letters: str
    heights: npt.NDArray[np.float64]
    top: float
    bottom: float
    axis: str
    consensus: str
    structure: str
    rows: tuple[FigureRow, ...]
    nucleic: bool

    @property
    def length(self) -> int:
        """Number of nodes."""
        return len(self.heights)

    def skyline(self, n_columns: int) -> npt.NDArray[np.float64]:
        """Return the highest stack of the nodes in each of some columns, as a share of the axis (float64[n])."""
        tops = np.where(self.heights > 0, self.heights, 0).sum(axis=1) / self.top
        first = np.arange(n_columns) * self.length // n_columns
        line: npt.NDArray[np.float64] = np.maximum.reduceat(tops, first)
        return line

    def stack(self, node: int) -> tuple[Stack, Stack]:
        """Return letters and heights above and below the line, from the line outwards; `node` counts from 0.

        Above, the highest letter is the topmost one; below, the deepest one is at the bottom.
        """
        found = [(letter, float(h)) for letter, h in zip(self.letters, self.heights[node], strict=True) if h]
        above = sorted((entry for entry in found if entry[1] > 0), key=lambda entry: entry[1])
        below = sorted((entry for entry in found if entry[1] < 0), key=lambda entry: -entry[1])
        return above, below


def logo_figure(hmm: Hmm, mode: HeightMode, logo: ProfileLogo | None = None) -> LogoFigure:
    """Return the figure of a profile for one meaning of the letter heights."""
    logo = logo or profile_logo(hmm)
    heights = logo.heights(mode)
    top, bottom = _ends(heights)
    return LogoFigure(
        title=f"{hmm.name} – {HEIGHT_MODES[mode].lower()}",
        letters=logo.letters,
        heights=heights,
        top=max(AXIS_STEP, top),
        bottom=bottom,
        axis="score (bits)" if mode == "score" else "information (bits)",
        consensus=hmm.consensus,
        structure=hmm.structure,
        rows=_rows(logo),
        nucleic=hmm.alphabet.is_nucleic,
    )


def beside(figure: LogoFigure, logo: ProfileLogo, mode: HeightMode, title: str) -> tuple[LogoFigure, LogoFigure]:
    """Return the figure of a profile and that of its hits, of which there is the logo, on one scale."""
    heights = logo.heights(mode)
    top, bottom = _ends(heights)
    best = logo.probabilities.argmax(axis=1)
    consensus = "".join(logo.letters[i].lower() if x else "-" for i, x in zip(best, logo.occupancy, strict=True))
    above = replace(figure, top=max(figure.top, top), bottom=min(figure.bottom, bottom))
    return above, replace(above, title=title, heights=heights, consensus=consensus, structure="", rows=())


def _ends(heights: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return upper and lower end of an axis for letters of some heights: multiples of its step."""
    top = float(np.where(heights > 0, heights, 0).sum(axis=1).max(initial=0.0))
    bottom = float(np.where(heights < 0, heights, 0).sum(axis=1).min(initial=0.0))
    return AXIS_STEP * math.ceil(top / AXIS_STEP - 1e-9), AXIS_STEP * math.floor(bottom / AXIS_STEP + 1e-9)


def _rows(logo: ProfileLogo) -> tuple[FigureRow, ...]:
    lengths = logo.insert_length
    return (
        FigureRow("Occupancy %", "Share of the family's sequences with a residue at the node",
                  logo.occupancy, 1.0 - logo.occupancy, percents),
        FigureRow("Insert %", "Share of the sequences with residues inserted behind the node",
                  logo.insert_probability, np.sqrt(logo.insert_probability), percents),
        FigureRow("Insert length", "Mean number of residues inserted there, if any",
                  lengths, np.clip((lengths - 1.0) / LONG_INSERT, 0, 1), lambda x: f"{x:.1f}" if x else "–"),
    )  # fmt: skip


def percents(share: float) -> str:
    """Return a share in percent with significant digits; small shares are not 0."""
    value = 100 * share
    if 0 < value < 0.1:
        return "<0.1"
    return f"{value:.1f}" if 0 < value < 0.95 else f"{value:.0f}"
