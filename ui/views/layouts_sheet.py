"""The sheet of saved layouts: use, delete, or save under a name."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout

from .widgets.parts import (
    button,
    clear_layout,
    label,
    row,
)
from .widgets.sheet import Sheet


class LayoutsSheet(Sheet):
    """Lists layouts with their actions."""

    use_requested = Signal(str)
    save_requested = Signal(str)
    forget_requested = Signal(str)

    def __init__(self, names: list[str]) -> None:
        super().__init__("My own layouts", 480)
        self._lines = QVBoxLayout()
        self._lines.setSpacing(6)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Name for the current layout")
        self.field.setAccessibleName("Name of the layout")
        self.save = button("Save", self._save, "primary")
        self.field.textChanged.connect(self._judge)
        self.body.addLayout(self._lines)
        self.body.addSpacing(8)
        self.body.addWidget(label("Save the current arrangement", "muted"))
        self.body.addLayout(row((self.field, 1), self.save))
        self.body.addStretch(1)
        self.foot.addLayout(row(None, button("Close", self.close_sheet)))
        self.setFocusProxy(self.field)
        self.show_names(names)

    def show_names(self, names: list[str]) -> None:
        """List some layouts."""
        self._names = names
        clear_layout(self._lines)
        for name in names:
            use = button("Use", partial(self.use_requested.emit, name), tip="Use this arrangement")
            gone = button(
                "Delete", partial(self.forget_requested.emit, name), tip="Delete this layout; no dock changes"
            )
            use.setAccessibleName(f"Use {name}")
            gone.setAccessibleName(f"Delete {name}")
            self._lines.addLayout(row((label(name), 1), use, gone))
        if not names:
            self._lines.addWidget(
                label("No layout is saved yet: arrange the docks, then save them under a name.", "muted")
            )
        self._judge()

    def _judge(self) -> None:
        name = self.field.text().strip()
        self.save.setEnabled(bool(name))
        self.save.setText("Replace" if name in self._names else "Save")
        self.save.setToolTip("" if name else "Type a name first.")

    def _save(self) -> None:
        self.save_requested.emit(self.field.text().strip())
