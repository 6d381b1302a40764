"""Arrangements of the docks that the user has saved, each under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from PySide6.QtCore import QByteArray

from ..views.layouts_sheet import LayoutsSheet

if TYPE_CHECKING:
    from ..views.workbench import Workbench

GROUP = "layouts"


class Layouts:
    """Saves arrangements of the docks, brings them back, and lets them go.

    Parameters
    ----------
    window : Workbench
    """

    def __init__(self, window: Workbench) -> None:
        self._window = window

    @property
    def names(self) -> list[str]:
        """The names of those that are saved, in alphabetical order."""
        stored = self._window.settings.layout
        stored.beginGroup(GROUP)
        found = [unquote(name) for name in stored.childGroups()]
        stored.endGroup()
        return sorted(found, key=str.casefold)

    def save(self, name: str) -> None:
        """Keep the docks as they are now, in place of what had this name."""
        stored = self._window.settings.layout
        stored.setValue(f"{_place(name)}/state", self._window.saveState())
        stored.setValue(f"{_place(name)}/docks", " ".join(self._window.wanted_docks))
        stored.sync()
        self._window.messages.notify("good", f"The layout “{name}” is saved: Window > My own layouts… brings it back.")

    def use(self, name: str) -> None:
        """Arrange the docks as they were saved."""
        stored = self._window.settings.layout
        state, docks = stored.value(f"{_place(name)}/state"), stored.value(f"{_place(name)}/docks")
        if isinstance(state, QByteArray):
            self._window.restoreState(state)
            self._window.arrange_docks(str(docks).split())

    def forget(self, name: str) -> None:
        """Delete one."""
        self._window.settings.layout.remove(_place(name))

    def open_sheet(self) -> None:
        """Offer those that are saved, and to save the docks as they are now."""
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
