"""Lists of names with counts: how they look, and where they open."""

from typing import Any

from PySide6.QtCore import QRect
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyleOptionViewItem

from clalign.ui import formatting
from clalign.ui.views.widgets.choices import (
    COUNT_ROLE,
    CountDelegate,
    list_place,
)


def test_a_long_name_leaves_its_count_room(qtbot: Any) -> None:
    rows = QListWidget()
    qtbot.addWidget(rows)
    item = QListWidgetItem("a name that is much longer than the line, and would stand below the count", rows)
    item.setData(COUNT_ROLE, 1234)
    option = QStyleOptionViewItem()
    option.initFrom(rows)
    option.widget, option.rect = rows, QRect(0, 0, 240, 24)
    CountDelegate(rows).initStyleOption(option, rows.indexFromItem(item))
    assert "…" in option.text
    wide = option.fontMetrics.horizontalAdvance
    assert wide(option.text) + wide(formatting.plural(1234, "hit")) < 240


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
