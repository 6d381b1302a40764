"""Facts about a run, in a line or two."""

from __future__ import annotations

import re

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QSizePolicy

from ..widgets.parts import ElidedLabel

FACTS, WORDS = re.compile(r"(?= · )"), re.compile(r"(?<= )")


class FactsParagraph(ElidedLabel):
    """Facts separated by dots, or a sentence, in a line or two; facts that do not fit are left out.

    Parameters
    ----------
    breaks : re.Pattern
        Where a line may end: `FACTS` or `WORDS`.
    """

    MAX_LINES = 2
    """Lines."""

    PLACE = Qt.AlignmentFlag.AlignTop

    def __init__(self, breaks: re.Pattern[str]) -> None:
        super().__init__(role="muted")
        self._breaks = breaks
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.updateGeometry()

    def lines(self, width: int) -> list[str]:
        """Return the facts that fit a width in pixels."""
        metrics, made = QFontMetrics(self.font()), [""]
        for part in self._breaks.split(self._text):
            if metrics.horizontalAdvance((made[-1] + part).rstrip()) <= width:
                made[-1] += part
            elif len(made) < self.MAX_LINES and made[-1]:
                made.append(part.removeprefix(" · "))
            else:
                whole = f"{made[-1].rstrip()} …" if made[-1] else part
                made[-1] = metrics.elidedText(whole, Qt.TextElideMode.ElideRight, width)
                break
        return made

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return len(self.lines(width)) * QFontMetrics(self.font()).height() + 2

    def shown(self) -> str:
        return "\n".join(self.lines(self.width()))
