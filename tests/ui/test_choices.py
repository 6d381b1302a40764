"""Lists of names with counts: how they look, and where they open."""

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyle, QStyleOptionViewItem

from clalign.ui import theme
from clalign.ui.views.choices import COUNT_ROLE, CountDelegate, list_place

STATES = QStyle.StateFlag


@pytest.mark.parametrize(
    ("state", "token"),
    [(STATES.State_None, "surface"), (STATES.State_MouseOver, "hover"),
     (STATES.State_Selected | STATES.State_MouseOver, "selected")],
)  # fmt: skip
def test_a_count_stands_on_the_color_of_its_line(qtbot: Any, state: QStyle.StateFlag, token: str) -> None:
    rows = QListWidget()
    qtbot.addWidget(rows)
    item = QListWidgetItem("a name that is much longer than the line, and stands below the count", rows)
    item.setData(COUNT_ROLE, 1234)
    image = QImage(240, 24, QImage.Format.Format_RGB32)
    image.fill(QColor("magenta"))
    option = QStyleOptionViewItem()
    option.initFrom(rows)
    option.widget, option.rect = rows, QRect(QPoint(0, 0), image.size())
    option.state = STATES.State_Enabled | state
    painter = QPainter(image)
    CountDelegate(rows).paint(painter, option, rows.indexFromItem(item))
    painter.end()
    assert image.pixelColor(237, 2) == QColor(getattr(theme.current(), token))


def test_a_list_opens_upward_where_there_is_no_room_below() -> None:
    room = QRect(0, 0, 800, 600)
    assert list_place(QRect(10, 20, 200, 24), room, (220, 380)) == QRect(10, 45, 280, 380)
    low = list_place(QRect(500, 570, 200, 24), room, (220, 380))
    assert low.height() == 380
    assert low.bottom() < 570
    assert room.contains(low)
    for top in range(-20, 640, 10):  # a window may stand partly beyond its screen
        assert list_place(QRect(10, top, 200, 24), room, (220, 380)).height() >= 220
    assert list_place(QRect(10, 40, 200, 24), QRect(0, 0, 800, 60), (220, 380)).height() >= 0
