"""A layout that wraps like text."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class Flow(QLayout):
    """Widgets side by side, continued below when a line is full.

    Parameters
    ----------
    widgets : QWidget
    spacing : int
        Pixels between neighbors.
    between : int
        Pixels between lines.
    """

    def __init__(self, *widgets: QWidget, spacing: int = 8, between: int = 6) -> None:
        super().__init__()
        self._items: list[QLayoutItem] = []
        self._between = between
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(spacing)
        for widget in widgets:
            self.addWidget(widget)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, place: int) -> QLayoutItem | None:
        return self._items[place] if 0 <= place < len(self._items) else None

    def takeAt(self, place: int) -> QLayoutItem | None:
        return self._items.pop(place) if 0 <= place < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), moves=False)

    def setGeometry(self, place: QRect) -> None:
        super().setGeometry(place)
        self._arrange(place, moves=True)

    def sizeHint(self) -> QSize:
        return self._size([item.sizeHint() for item in self._shown()], in_line=True)

    def minimumSize(self) -> QSize:
        return self._size([item.minimumSize() for item in self._shown()], in_line=False)

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _size(self, sizes: list[QSize], in_line: bool) -> QSize:
        widths, margins = [size.width() for size in sizes], self.contentsMargins()
        width = sum(widths) + self.spacing() * max(0, len(widths) - 1) if in_line else max(widths, default=0)
        height = max((size.height() for size in sizes), default=0)
        return QSize(width + margins.left() + margins.right(), height + margins.top() + margins.bottom())

    def _lines(self, width: int) -> list[list[tuple[QLayoutItem, QSize]]]:
        """Return the items of each line with the sizes that they get."""
        lines: list[list[tuple[QLayoutItem, QSize]]] = [[]]
        used = 0
        for item in self._shown():
            size = item.sizeHint().expandedTo(item.minimumSize())
            size.setWidth(max(item.minimumSize().width(), min(size.width(), width)))
            if lines[-1] and used + self.spacing() + size.width() > width:
                lines.append([])
            used = size.width() + (used + self.spacing() if lines[-1] else 0)
            lines[-1].append((item, size))
        return lines

    def _arrange(self, place: QRect, moves: bool) -> int:
        """Return the height for a width; move the widgets if wanted."""
        margins = self.contentsMargins()
        inside = place.marginsRemoved(margins)
        y = inside.top()
        for line in self._lines(inside.width()):
            x, height = inside.left(), max((size.height() for _, size in line), default=0)
            for item, size in line:
                if moves:
                    item.setGeometry(QRect(QPoint(x, y + (height - size.height()) // 2), size))
                x += size.width() + self.spacing()
            y += height + self._between
        return max(0, y - self._between - inside.top()) + margins.top() + margins.bottom()
