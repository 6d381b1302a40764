"""Row numbers beside a table of a million rows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHeaderView

ROW_HEIGHT = 26


class RowNumbers(QHeaderView):
    """Row numbers as wide as the last one; Qt would measure two thousand rows."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setDefaultSectionSize(ROW_HEIGHT)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setSectionsClickable(True)
        self.setHighlightSections(True)

    def sizeHint(self) -> QSize:
        if not self.count():
            return super().sizeHint()
        return QSize(self.sectionSizeFromContents(self.count() - 1).width(), 0)


def ranges_of(rows: Sequence[int]) -> list[range]:
    """Return rows, given from the top, as separate ranges."""
    cuts = [place for place in range(1, len(rows)) if rows[place] != rows[place - 1] + 1]
    ends = zip([0, *cuts], [*cuts, len(rows)], strict=True)
    return [range(rows[begin], rows[end - 1] + 1) for begin, end in ends if end]
