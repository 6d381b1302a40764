"""Logos as files: wrapped into rows, as SVG, PDF or PNG."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from clalign.values.profile_logo import HeightMode
from clalign.values.profiles import Hmm

from ... import theme
from ...views.charts.painting import has_fonts, start_painting
from ...views.charts.pictures import FORMATS, save_picture
from .logo_figure import LogoFigure, logo_figure
from .logo_painter import MARGIN, LogoStyle, extra_height, paint_block

__all__ = ["FORMATS", "LogoPicture", "PictureChoices", "has_fonts", "write_logo"]

LETTERS = 130.0
"""Height of the letters of a row in pixels."""

EDGE, HEAD, BETWEEN = 16.0, 28.0, 14.0


@dataclass(frozen=True, slots=True)
class PictureChoices:
    """The drawn part of a logo.

    Attributes
    ----------
    nodes : range
        Counted from 0.
    per_row : int
        Nodes in a row.
    with_rows : bool
        Whether occupancy and insertions are drawn.
    scheme : str
        Colors of the residues.
    """

    nodes: range
    per_row: int = 50
    with_rows: bool = True
    scheme: str = "clustal"


class LogoPicture:
    """A logo laid out in rows; a long one fills several pages of a PDF."""

    def __init__(self, figure: LogoFigure, choices: PictureChoices) -> None:
        self.figure, self.title = figure, figure.title
        self.style = LogoStyle(theme.LIGHT, choices.scheme, with_rows=choices.with_rows)
        nodes, most = choices.nodes, max(1, choices.per_row)
        self.rows = [nodes[i : i + most] for i in range(0, len(nodes), most)]
        self.n_rows = len(self.rows)
        letters = LETTERS * (1.6 if figure.bottom < 0 else 1.0)
        self.row_height = letters + extra_height(figure, choices.with_rows)
        self.width = MARGIN + min(most, max(1, len(nodes))) * self.style.cell + 2 * EDGE

    def height(self, n_rows: int) -> float:
        """Return the pixels that rows need, title included."""
        return EDGE + HEAD + n_rows * (self.row_height + BETWEEN) - BETWEEN + EDGE

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw some rows below the title."""
        font = QFont(painter.font())
        font.setPixelSize(13)
        painter.setFont(font)
        painter.setPen(QColor(theme.LIGHT.text))
        title = QRectF(EDGE, EDGE, self.width - 2 * EDGE, HEAD - 8)
        painter.drawText(title, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), self.figure.title)
        font.setPixelSize(11)
        painter.setFont(font)
        y = EDGE + HEAD
        for nodes in self.rows[first : first + n_rows]:
            width = MARGIN + len(nodes) * self.style.cell
            paint_block(painter, QRectF(EDGE, y, width, self.row_height), self.figure, nodes, self.style)
            y += self.row_height + BETWEEN


def write_logo(hmm: Hmm, mode: HeightMode, choices: PictureChoices, path: str) -> None:
    """Write the logo of a profile; the ending of the file name decides the format.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    start_painting()
    save_picture(LogoPicture(logo_figure(hmm, mode), choices), path, QFont())
