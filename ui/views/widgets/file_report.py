"""The content of a sequence file: facts, a distribution of lengths, remarks."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from clalign.common.plain_data import Json

from ... import formatting, theme
from .facts import facts_grid
from .parts import label, notice_row


class LengthBars(QWidget):
    """The distribution of lengths as small bars.

    Parameters
    ----------
    bins : list
        The bounds of each bar and how many sequences it holds.
    ends : (str, str)
        The shortest and the longest length, within the bounds of the first and the last bar.
    """

    def __init__(self, bins: list[list[int]], ends: tuple[str, str]) -> None:
        super().__init__()
        self._bins, self._ends = bins, ends
        self.setMinimumHeight(56)
        self.setAccessibleName("Distribution of lengths")
        self.setMaximumWidth(900)
        self.setToolTip(
            "\n".join(f"{formatting.span(a, b)}: {formatting.plural(n, 'sequence')}" for a, b, n in bins if n)
        )

    def sizeHint(self) -> QSize:
        return QSize(200, 56)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._bins:
            return
        colors, painter = theme.current(), QPainter(self)
        area = QRectF(self.rect()).adjusted(0, 2, 0, -18)
        most = max(n for _, _, n in self._bins) or 1
        width = area.width() / len(self._bins)
        for place, (_, _, n) in enumerate(self._bins):
            height = max(1.0, area.height() * n / most) if n else 0
            bar = QRectF(area.left() + place * width, area.bottom() - height, max(1.0, width - 1), height)
            painter.fillRect(bar, QColor(colors.accent))
        painter.fillRect(QRectF(area.left(), area.bottom(), area.width(), 1), QColor(colors.border))
        painter.setPen(QColor(colors.muted))
        below = QRectF(self.rect()).adjusted(0, self.height() - 17, 0, 0)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, self._ends[0])
        painter.drawText(below, Qt.AlignmentFlag.AlignRight, f"{self._ends[1]} residues")


def file_words(report: Json) -> str:
    """Return format, compression and line ends of a file."""
    parts = [report["format"]]
    if report["compression"]:
        parts.append("not compressed" if report["compression"] == "none" else report["compression"])
    if report["line_ends"]:
        parts.append("no line ends" if report["line_ends"] == "none" else report["line_ends"])
    return ", ".join(part for part in parts if part)


def report_parts(report: Json) -> list[QWidget]:
    """Return widgets that show an input report."""
    if not report:
        return [label("Nothing was read yet.", "muted")]
    ends = formatting.count(report["shortest"]), formatting.count(report["longest"])
    several = report["n_sequences"] > 1
    rows = [
        ("File", formatting.short_path(report["path"])),
        ("Sequences", formatting.count(report["n_sequences"])),
        ("Residues", formatting.count(report["n_residues"])),
        ("Lengths", f"{ends[0]} to {ends[1]}, mean {formatting.count(report['mean'])}" if several else ends[0]),
        ("Alphabet", f"{formatting.alphabet(report['alphabet'])}: {report['alphabet_reason']}"),
        *([("Format", words)] if (words := file_words(report)) else []),
        ("SHA-256", report["digest"][:16] + "…" if len(report["digest"]) > 16 else report["digest"]),
    ]
    parts: list[QWidget] = [facts_grid(rows)]
    if report["length_histogram"] and several:
        parts.append(LengthBars(report["length_histogram"], ends))
    parts += [notice_row(issue["severity"], issue_text(issue)) for issue in report["issues"]]
    if not report["issues"]:
        parts.append(notice_row("good", "Read without remarks"))
    return parts


def issue_text(issue: Json) -> str:
    """Return an issue of an input report with its severity and its lines."""
    severity = {"note": "Note", "caution": "Caution"}[issue["severity"]]
    text = f"{severity}: {issue['text']}"
    lines = issue["lines"]
    if lines and "line" not in issue["text"]:
        named = ", ".join(formatting.count(n) for n in lines)
        text += f" ({'line' if len(lines) == 1 else 'lines'} {named}{' …' if issue['count'] > len(lines) else ''})"
    return text
