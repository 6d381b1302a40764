"""Pictures as files: SVG, PDF or PNG."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QMimeData, QRectF, QSize, QSizeF
from PySide6.QtGui import QColor, QFont, QImage, QImageWriter, QPageSize, QPainter, QPdfWriter

from clalign.common.escapes import escaped
from clalign.formats.writers import replaced_file

from ... import theme

FORMATS = (".svg", ".pdf", ".png")

PDF_DPI = 96
PNG_DPI = 300
MILLIMETERS = 25.4
"""Millimeters of an inch."""

MAX_PIXELS = 60_000_000
LONGEST_SIDE = 30_000
MAX_COPIED = 12_000_000
"""Pixels of a picture on the clipboard."""


class Picture(Protocol):
    """A picture in rows; a long one fills several pages of a PDF.

    Attributes
    ----------
    title : str
    width : float
        Pixels.
    n_rows : int
    """

    title: str
    width: float
    n_rows: int

    def height(self, n_rows: int) -> float:
        """Return the pixels that rows need, title included."""
        ...

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw some rows below the title."""
        ...


def save_picture(picture: Picture, path: str, font: QFont, millimeters: float = 0.0) -> None:
    """Write a picture.

    Parameters
    ----------
    picture : Picture
    path : str
    font : QFont
    millimeters : float
        How wide it is on paper; by default as its pixels are on a screen.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    ending, given = Path(path).suffix.lower(), (picture, font, millimeters)
    content = png(_image(*given, MAX_PIXELS)) if ending == ".png" else {".svg": _svg, ".pdf": _pdf}[ending](*given)
    with replaced_file(path) as file:
        file.buffer.write(content)


def copied(picture: Picture, font: QFont, millimeters: float = 0.0) -> QMimeData:
    """Return a picture for the clipboard: as pixels, and as SVG."""
    made = QMimeData()
    made.setImageData(_image(picture, font, millimeters, MAX_COPIED))
    made.setData("image/svg+xml", _svg(picture, font, millimeters))
    return made


def _svg(picture: Picture, font: QFont, millimeters: float) -> bytes:
    from PySide6.QtSvg import QSvgGenerator

    width, height = math.ceil(picture.width), math.ceil(picture.height(picture.n_rows))
    buffer = _opened()
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(QSize(width, height))
    generator.setViewBox(QRectF(0, 0, width, height))
    generator.setTitle(picture.title)
    generator.setDescription("Made by clalign")
    painter = QPainter(generator)
    painter.setFont(font)
    picture.paint(painter, 0, picture.n_rows)
    painter.end()
    content = _content(buffer)
    if millimeters:
        size = f'width="{millimeters:g}mm" height="{millimeters * height / width:.6g}mm"'.encode()
        content = re.sub(rb'width="[^"]*" height="[^"]*"', size, content, count=1)
    return readable_svg(content)


def readable_svg(content: bytes) -> bytes:
    """Return an SVG with control characters of names as escapes; XML allows none of them."""
    return escaped(content.decode("utf-8")).encode("utf-8")


def _pdf(picture: Picture, font: QFont, millimeters: float) -> bytes:
    """Return pages as wide as a row, in the ratio of A4 or higher if a row needs it."""
    room = max(picture.width * math.sqrt(2.0), picture.height(1))
    per_page = 1
    while per_page < picture.n_rows and picture.height(per_page + 1) <= room:
        per_page += 1
    height = picture.height(min(per_page, picture.n_rows))
    buffer = _opened()
    writer = QPdfWriter(buffer)
    writer.setTitle(picture.title)
    writer.setCreator("clalign")
    writer.setResolution(PDF_DPI)
    scale = millimeters / MILLIMETERS * PDF_DPI / picture.width if millimeters else 1.0
    points = QSizeF(picture.width, height) * (scale * 72.0 / PDF_DPI)
    writer.setPageSize(QPageSize(points, QPageSize.Unit.Point, "", QPageSize.SizeMatchPolicy.ExactMatch))
    writer.setPageMargins(QMarginsF(0, 0, 0, 0))
    painter = QPainter(writer)
    painter.scale(scale, scale)
    painter.setFont(font)
    for first in range(0, picture.n_rows, per_page):
        if first:
            writer.newPage()
        picture.paint(painter, first, per_page)
    painter.end()
    return _content(buffer)


def _image(picture: Picture, font: QFont, millimeters: float, most: int) -> QImage:
    """Return a picture with twice its pixels, or those of print, reduced to at most `most`."""
    width, height = picture.width, picture.height(picture.n_rows)
    wanted = millimeters / MILLIMETERS * PNG_DPI / width if millimeters else 2.0
    scale = min(wanted, math.sqrt(most / (width * height)), LONGEST_SIDE / max(width, height))
    image = QImage(math.ceil(width * scale), math.ceil(height * scale), QImage.Format.Format_RGB32)
    image.fill(QColor(theme.LIGHT.surface))
    if millimeters:
        for set_density in (image.setDotsPerMeterX, image.setDotsPerMeterY):
            set_density(round(image.width() / millimeters * 1000))
    painter = QPainter(image)
    painter.scale(scale, scale)
    painter.setFont(font)
    picture.paint(painter, 0, picture.n_rows)
    painter.end()
    return image


def png(image: QImage) -> bytes:
    """Return an image as a PNG file.

    Raises
    ------
    OSError
        It could not be made.
    """
    buffer = _opened()
    if not QImageWriter(buffer, QByteArray(b"png")).write(image):
        raise OSError(0, "there is too little memory for a picture of this size")
    return _content(buffer)


def _opened() -> QBuffer:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    return buffer


def _content(buffer: QBuffer) -> bytes:
    data: QByteArray = buffer.data()
    return bytes(data.data())
