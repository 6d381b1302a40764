"""Facts about a run, in a line or two."""

from __future__ import annotations

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from clalign.control_characters import escaped

from .. import theme

FACTS, WORDS = re.compile(r"(?= · )"), re.compile(r"(?<= )")


class FactsParagraph(QWidget):
    """Facts with dots between them, or a sentence, in a line or two; what does not fit is left out as a whole.

    Parameters
    ----------
    breaks : re.Pattern
        Where a line may end: `FACTS` or `WORDS`.
    """

    MOST = 2
    """Lines at most."""

    def __init__(self, breaks: re.Pattern[str]) -> None:
        super().__init__()
        self._text, self._breaks = "", breaks
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def setText(self, text: str) -> None:
        """Show another text."""
        text = escaped(text)
        if text != self._text:
            self._text = text
            self.setToolTip(text)
            self.updateGeometry()
            self.update()

    def text(self) -> str:
        """Return the whole text."""
        return self._text

    def lines(self, width: int) -> list[str]:
        """Return as much as fits into so many pixels."""
        metrics, made = QFontMetrics(self.font()), [""]
        for part in self._breaks.split(self._text):
            if metrics.horizontalAdvance((made[-1] + part).rstrip()) <= width:
                made[-1] += part
            elif len(made) < self.MOST and made[-1]:
                made.append(part.removeprefix(" · "))
            else:
                whole = f"{made[-1].rstrip()} …" if made[-1] else part
                made[-1] = metrics.elidedText(whole, Qt.TextElideMode.ElideRight, width)
                break
        return made

    def hasHeightForWidth(self) -> bool:
        """Tell that a narrow one is higher."""
        return True

    def heightForWidth(self, width: int) -> int:
        """Return the height of its lines."""
        return len(self.lines(width)) * QFontMetrics(self.font()).height() + 2

    def sizeHint(self) -> QSize:
        """Return the size of a single line."""
        metrics = QFontMetrics(self.font())
        return QSize(metrics.horizontalAdvance(self._text) + 2, metrics.height() + 2)

    def minimumSizeHint(self) -> QSize:
        """Return a size for a few letters."""
        return QSize(40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw as much as fits."""
        painter = QPainter(self)
        painter.setPen(QColor(theme.current().muted))
        sides = Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft
        painter.drawText(self.rect(), sides, "\n".join(self.lines(self.width())))
