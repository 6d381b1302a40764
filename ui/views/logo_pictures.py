"""A logo as a file: wrapped to rows, as SVG, PDF or PNG."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QImage, QPageSize, QPainter, QPdfWriter

from .. import theme
from ..models.logo_figure import LogoFigure
from .logo_painter import MARGIN, LogoStyle, extra_height, paint_block

FORMATS = (".svg", ".pdf", ".png")

LETTERS = 130.0
"""Height of the letters of a row in pixels."""

EDGE, HEAD, BETWEEN = 16.0, 28.0, 14.0

PDF_DPI = 96

MOST_PIXELS = 60_000_000
LONGEST_SIDE = 30_000


@dataclass(frozen=True, slots=True)
class PictureChoices:
    """What of a logo is drawn.

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
    """A logo laid out in rows; a long one over several pages of a PDF."""

    def __init__(self, figure: LogoFigure, choices: PictureChoices) -> None:
        self.figure = figure
        self.style = LogoStyle(theme.LIGHT, choices.scheme, with_rows=choices.with_rows)
        nodes, most = choices.nodes, max(1, choices.per_row)
        self.rows = [nodes[i : i + most] for i in range(0, len(nodes), most)]
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
        painter.setPen(theme.QColor(theme.LIGHT.text))
        title = QRectF(EDGE, EDGE, self.width - 2 * EDGE, HEAD - 8)
        painter.drawText(title, int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), self.figure.title)
        font.setPixelSize(11)
        painter.setFont(font)
        y = EDGE + HEAD
        for nodes in self.rows[first : first + n_rows]:
            width = MARGIN + len(nodes) * self.style.cell
            paint_block(painter, QRectF(EDGE, y, width, self.row_height), self.figure, nodes, self.style)
            y += self.row_height + BETWEEN


def save_logo(figure: LogoFigure, choices: PictureChoices, path: str, font: QFont) -> None:
    """Write a logo; the ending of the file name decides the format.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    picture = LogoPicture(figure, choices)
    write = {".svg": _svg, ".pdf": _pdf, ".png": _png}[Path(path).suffix.lower()]
    content = write(picture, font)
    part = Path(f"{path}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _svg(picture: LogoPicture, font: QFont) -> bytes:
    from PySide6.QtSvg import QSvgGenerator

    width, height = math.ceil(picture.width), math.ceil(picture.height(len(picture.rows)))
    buffer = _opened()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(width, height))
    generator.setViewBox(QRectF(0, 0, width, height))
    generator.setTitle(picture.figure.title)
    generator.setDescription("Made by clalign")
    painter = QPainter(generator)
    painter.setFont(font)
    picture.paint(painter, 0, len(picture.rows))
    painter.end()
    return _content(buffer)


def _pdf(picture: LogoPicture, font: QFont) -> bytes:
    """Return pages as wide as a row, of the shape of A4 held upright or higher if one row needs it."""
    room = max(picture.width * math.sqrt(2.0), picture.height(1))
    per_page = max(1, int((room - EDGE - HEAD - EDGE + BETWEEN) / (picture.row_height + BETWEEN)))
    height = picture.height(min(per_page, len(picture.rows)))
    buffer = _opened()
    writer = QPdfWriter(buffer)
    writer.setTitle(picture.figure.title)
    writer.setCreator("clalign")
    writer.setResolution(PDF_DPI)
    points = QSizeF(picture.width, height) * (72.0 / PDF_DPI)
    writer.setPageSize(QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    painter = QPainter(writer)
    painter.setFont(font)
    for first in range(0, len(picture.rows), per_page):
        if first:
            writer.newPage()
        picture.paint(painter, first, per_page)
    painter.end()
    return _content(buffer)


def _png(picture: LogoPicture, font: QFont) -> bytes:
    """Return a picture with twice the pixels, or fewer where it would become too large."""
    width, height = picture.width, picture.height(len(picture.rows))
    scale = min(2.0, math.sqrt(MOST_PIXELS / (width * height)), LONGEST_SIDE / max(width, height))
    image = QImage(math.ceil(width * scale), math.ceil(height * scale), QImage.Format.Format_RGB32)
    image.fill(theme.QColor(theme.LIGHT.surface))
    painter = QPainter(image)
    painter.scale(scale, scale)
    painter.setFont(font)
    picture.paint(painter, 0, len(picture.rows))
    painter.end()
    buffer = _opened()
    if not image.save(buffer, "PNG"):
        raise OSError(0, "there is too little memory for a picture of this size")
    return _content(buffer)


def _opened() -> QBuffer:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return buffer


def _content(buffer: QBuffer) -> bytes:
    data: QByteArray = buffer.data()
    return bytes(data.data())
