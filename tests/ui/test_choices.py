"""Lists of names: where they open."""

from PySide6.QtCore import QRect

from clalign.ui.views.widgets.choices import list_place


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
