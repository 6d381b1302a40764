"""The sheet that writes a problem report to a file."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPlainTextEdit

from ... import theme
from ..widgets.parts import button, label, row
from ..widgets.sheet import Sheet


class ReportSheet(Sheet):
    """Asks for a description of the problem, and shows the content of the file."""

    save_requested = Signal()

    def __init__(self) -> None:
        super().__init__("Report a problem", 760)
        words = "Everything below goes into one file, which you may read, shorten and send. Nothing is sent by clalign."
        self.body.addWidget(label(words, "muted", wrap=True))
        self.body.addWidget(label("What happened, and what did you expect?"))
        self.happened = QPlainTextEdit()
        self.happened.setFixedHeight(84)
        self.happened.setTabChangesFocus(True)
        self.happened.setAccessibleName("What happened")
        self.body.addWidget(self.happened)
        self.body.addWidget(label("Attached, with paths and file names"))
        self.collected = QPlainTextEdit("Checking the installation…")
        self.collected.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.collected.setFont(theme.mono_font(9))
        self.collected.setMinimumHeight(220)
        self.collected.setTabChangesFocus(True)
        self.collected.setAccessibleName("Attached")
        self.body.addWidget(self.collected)
        self.copy = button("Copy", lambda: QGuiApplication.clipboard().setText(self.text()))
        self.save = button("Save report…", self.save_requested.emit, "primary")
        self.foot.addLayout(row(None, button("Close", self.close_sheet), self.copy, self.save))
        for made in (self.copy, self.save):
            made.setEnabled(False)
            made.setToolTip("The installation is still being checked.")
        self.setFocusProxy(self.happened)

    def show_report(self, text: str) -> None:
        """Show the collected facts."""
        self.collected.setPlainText(text)
        for made in (self.copy, self.save):
            made.setEnabled(True)
            made.setToolTip("")

    def text(self) -> str:
        """Return the whole report."""
        happened = self.happened.toPlainText().strip() or "(not described)"
        return f"== What happened ==\n{happened}\n\n{self.collected.toPlainText()}"
