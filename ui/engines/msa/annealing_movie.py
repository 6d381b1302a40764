"""The annealing of a run as an animation: an animated PNG, or a picture for each step."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter

from clalign.common.escapes import escaped
from clalign.formats.writers import replaced_file
from clalign.jobs import JobContext
from clalign.values.column_statistics import N_LETTERS
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.row_alignments import RowAlignment

from ... import formatting, theme
from ...models.alignment.row_colors import CODES, FIRST_LETTER, Coloring, Composition, coloring, value_coloring
from ...models.alignment.row_measures import looks_nucleic
from ...models.alignment.rows_view import Cells
from ...views.alignment.rows_painter import LEFT, RowsStyle, paint_cells, span
from ...views.charts.pictures import png
from .run_data import MEASURE_NAMES, AlignedRun, factor_words, judged

MAX_FRAMES = 60
"""Pictures of the merges."""

MAX_ORDERED = 20_000
"""Residues up to which columns are ordered with few gaps for each picture."""

FRAME_SECONDS, LAST_SECONDS = 0.1, 3.0

WIDTH, HEAD, EDGE = 1000, 44.0, 12.0

MAX_HEIGHT, ROW, MIN_ROW = 700.0, 14.0, 1.0
"""Pixels of all rows, of a row if there is room, and of the lowest row."""

MAX_JUDGED = 1_000_000
"""Characters of the first picture up to which every picture is colored by expected accuracy."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def steps_of(run: AlignedRun, most: int = MAX_FRAMES) -> list[int]:
    """Return the steps of the animation: from none to all merges, then the finished alignment."""
    steps = np.unique(np.linspace(0, run.n_merges, min(most, run.n_merges + 1)).round().astype(int))
    return [*steps.tolist(), run.last_step]


class AnnealingPictures:
    """Draws the alignment after each step, always as wide as the picture.

    Parameters
    ----------
    run : AlignedRun
    scheme : str
        How cells are colored: one of `SCHEMES`, or the name of a measure.
    kind : str
        The colors of values.
    title : str
    """

    def __init__(self, run: AlignedRun, scheme: str, kind: str, title: str) -> None:
        self.run, self.title, self._kind = run, title, kind
        n, longest = len(run.given), int(run.given.lengths.sum())
        by_measure = {name: key for key, name in MEASURE_NAMES.items()}
        self._measure = by_measure.get(scheme, "") if n * longest <= MAX_JUDGED else ""
        is_measure = scheme in by_measure
        self._scheme = ("clustalx" if is_measure and not self._measure else scheme) if scheme else "clustalx"
        self._nucleic = looks_nucleic(run.rows(run.final))
        if self._scheme == "clustalx" and self._nucleic:
            self._scheme = "nucleotide"
        self.row = max(MIN_ROW, min(ROW, np.floor(MAX_HEIGHT / n)))
        self._n_rows = min(n, int(MAX_HEIGHT / self.row))
        self.height = int(HEAD + self._n_rows * self.row + EDGE)

    def image(self, step: int) -> QImage:
        """Return the picture of a step."""
        is_plain = step < self.run.last_step and self.run.given.n_residues > MAX_ORDERED
        alignment = self.run.found.merges.alignment_after(step) if is_plain else self.run.at(step)
        image = QImage(WIDTH, self.height, QImage.Format.Format_RGB32)
        image.fill(QColor(theme.LIGHT.surface))
        painter = QPainter(image)
        font = QFont()
        font.setPixelSize(12)
        painter.setFont(font)
        self._paint_head(painter, step, alignment)
        left = self._paint_names(painter)
        self._paint_cells(painter, left, alignment)
        painter.end()
        return image

    def _paint_head(self, painter: QPainter, step: int, alignment: MultipleAlignment) -> None:
        run, colors = self.run, theme.LIGHT
        factor = run.gap_factor_at(step)
        columns = formatting.plural(alignment.n_columns, "column")
        if step >= run.last_step:
            words = f"finished: {formatting.plural(run.n_merges, 'merge')}, refined"
        else:
            words = f"after {formatting.count(step)} of {formatting.plural(run.n_merges, 'merge')}"
            words += f", gap factor {factor_words(factor)}" if factor is not None else ""
        painter.setPen(QColor(colors.text))
        text = f"{escaped(self.title)} – {words} · {columns}"
        painter.drawText(QRectF(EDGE, 8, WIDTH - 2 * EDGE, 18), int(LEFT), text)
        share = min(1.0, step / max(1, run.n_merges))
        painter.fillRect(QRectF(EDGE, 32, WIDTH - 2 * EDGE, 3), QColor(colors.border))
        painter.fillRect(QRectF(EDGE, 32, share * (WIDTH - 2 * EDGE), 3), QColor(colors.accent))

    def _paint_names(self, painter: QPainter) -> float:
        """Draw the names if there is room, and return the left edge of the cells."""
        if self.row < 9:
            return EDGE
        font = painter.font()
        font.setPixelSize(max(7, int(0.85 * self.row)))
        painter.setFont(font)
        metrics = QFontMetricsF(font, painter.device())
        names = [escaped(name) for name in self.run.given.names[: self._n_rows]]
        width = min(180.0, max(map(metrics.horizontalAdvance, names), default=0.0))
        painter.setPen(QColor(theme.LIGHT.muted))
        for place, name in enumerate(names):
            box = QRectF(EDGE, HEAD + place * self.row, width, self.row)
            painter.drawText(box, int(LEFT), metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, width))
        return EDGE + width + 8

    def _paint_cells(self, painter: QPainter, left: float, alignment: MultipleAlignment) -> None:
        rows, room = self.run.rows(alignment), WIDTH - EDGE - left
        size = min(12.0, room / max(1, alignment.n_columns))
        size = float(int(size)) if size >= 6 else size
        columns = span(0.0, room - 0.01, size, alignment.n_columns)
        shown = np.arange(self._n_rows)
        letters = np.asarray(rows.cells[np.ix_(shown, columns.items)])
        codes = CODES[letters]
        chosen = coloring(self._scheme, self._nucleic) if not self._measure else self._judged(alignment)
        places = chosen.places(codes, shown, columns.items, _composition(rows, columns.items))
        style = RowsStyle(theme.LIGHT, size, self.row)
        cells = Cells(letters, np.asarray(places, np.uint8))
        paint_cells(painter, QPointF(left, HEAD), cells, (columns.unit, self.row), style, chosen)

    def _judged(self, alignment: MultipleAlignment) -> Coloring:
        values = judged(self.run, alignment).characters[self._measure]
        return value_coloring(MEASURE_NAMES[self._measure], lambda r, c: values[np.ix_(r, c)], self._kind)


def _composition(rows: RowAlignment, columns: np.ndarray) -> Composition:
    codes = CODES[np.asarray(rows.cells[:, columns])]
    counts = np.stack([(codes == FIRST_LETTER + letter).sum(axis=0) for letter in range(N_LETTERS)], axis=1)
    return Composition(counts.astype(np.uint32), rows.n_rows)


def write_movie(pictures: AnnealingPictures, path: str, context: JobContext) -> None:
    """Write an animated PNG (of the PNG specification, third edition), which browsers play.

    Raises
    ------
    OSError
        It cannot be written.
    """
    steps = steps_of(pictures.run)

    def images() -> Iterator[bytes]:
        for number, step in enumerate(steps):
            context.check()
            context.progress("pictures", number, len(steps), "pictures")
            yield png(pictures.image(step))

    seconds = [*([FRAME_SECONDS] * (len(steps) - 1)), LAST_SECONDS]
    with replaced_file(path) as file:
        for part in animated_png(images(), seconds):
            file.buffer.write(part)


def write_series(pictures: AnnealingPictures, folder: str, stem: str, context: JobContext) -> int:
    """Write a PNG for each step into a folder, numbered in their order, and return how many.

    Raises
    ------
    OSError
        One cannot be written.
    """
    steps = steps_of(pictures.run)
    digits = len(str(len(steps)))
    for number, step in enumerate(steps, 1):
        context.check()
        context.progress("pictures", number - 1, len(steps), "pictures")
        with replaced_file(str(Path(folder) / f"{stem}-{number:0{digits}d}.png")) as file:
            file.buffer.write(png(pictures.image(step)))
    return len(steps)


def animated_png(images: Iterable[bytes], seconds: list[float]) -> Iterator[bytes]:
    """Yield the bytes of an animated PNG of pictures in PNG that have one size and one kind of pixels.

    Parameters
    ----------
    images : iterable of bytes
    seconds : list of float
        How long each is shown.
    """
    number = 0
    for place, image in enumerate(images):
        chunks = list(_chunks(image))
        header = next(data for kind, data in chunks if kind == b"IHDR")
        if not place:
            yield SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"acTL", struct.pack(">II", len(seconds), 0))
        control = struct.pack(">I", number) + header[:8]
        control += struct.pack(">IIHHBB", 0, 0, round(1000 * seconds[place]), 1000, 0, 0)
        yield _chunk(b"fcTL", control)
        number += 1
        for kind, data in chunks:
            if kind == b"IDAT":
                yield _chunk(b"fdAT", struct.pack(">I", number) + data) if place else _chunk(b"IDAT", data)
                number += bool(place)
    yield _chunk(b"IEND", b"")


def _chunks(image: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(image):
        (length,) = struct.unpack_from(">I", image, at)
        yield image[at + 4 : at + 8], image[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
