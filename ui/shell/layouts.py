"""Saved arrangements of the docks."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from PySide6.QtCore import QByteArray

from ..views.layouts_sheet import LayoutsSheet

if TYPE_CHECKING:
    from ..views.workbench import Workbench

GROUP = "layouts"


class Layouts:
    """Saves, restores and deletes arrangements of the docks.

    Parameters
    ----------
    window : Workbench
    """

    def __init__(self, window: Workbench) -> None:
        self._window = window

    @property
    def names(self) -> list[str]:
        """The names of the saved ones in alphabetical order."""
        stored = self._window.settings.layout
        stored.beginGroup(GROUP)
        found = [unquote(name) for name in stored.childGroups()]
        stored.endGroup()
        return sorted(found, key=str.casefold)

    def save(self, name: str) -> None:
        """Save the present arrangement, in place of an earlier one of this name."""
        stored = self._window.settings.layout
        stored.setValue(f"{_place(name)}/state", self._window.saveState())
        stored.setValue(f"{_place(name)}/docks", " ".join(self._window.wanted_docks))
        stored.sync()
        self._window.messages.notify("good", f"The layout “{name}” is saved: View > My own layouts… restores it.")

    def use(self, name: str) -> None:
        """Restore a saved arrangement."""
        stored = self._window.settings.layout
        state, docks = stored.value(f"{_place(name)}/state"), stored.value(f"{_place(name)}/docks")
        if isinstance(state, QByteArray):
            self._window.restoreState(state)
            self._window.arrange_docks(str(docks).split())

    def forget(self, name: str) -> None:
        """Delete one."""
        self._window.settings.layout.remove(_place(name))

    def open_sheet(self) -> None:
        """List the saved arrangements, and offer to save the present one."""
        sheet, sheets = LayoutsSheet(self.names), self._window.sheets

        def use(name: str) -> None:
            sheets.close_sheet()
            self.use(name)

        def save(name: str) -> None:
            sheets.close_sheet()
            self.save(name)

        def forget(name: str) -> None:
            self.forget(name)
            sheet.show_names(self.names)

        sheet.use_requested.connect(use)
        sheet.save_requested.connect(save)
        sheet.forget_requested.connect(forget)
        sheets.open_sheet(sheet)


def _place(name: str) -> str:
    return f"{GROUP}/{quote(name, safe='')}"
