"""Base of the sheets that search with sequences, which are opened or pasted."""

from __future__ import annotations

import re

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from ... import theme
from ...models.workspace import Source, SourceKind, Workspace
from .choices import NarrowBox
from .option_form import FormLines, OptionForm, Options
from .parts import button, label, row, set_role, stacked
from .small_sheets import SequenceField, show_problem
from .spec_sheet import SpecSheet

SAVED = "FASTA or a plain sequence; saved as a file."


class QueriesSheet(SpecSheet):
    """Queries against targets, both of them sequences."""

    paste_requested = Signal(str, str)
    """Sequences in FASTA that become the queries, and those that become the targets, if any."""

    def __init__(
        self, workspace: Workspace, form: OptionForm, options: Options, texts: tuple[str, str], tip: str
    ) -> None:
        self.queries, self.targets = NarrowBox(), NarrowBox()
        self._before: str | None = None  # the file of the queries when a pasted text was taken in its place
        super().__init__(workspace, form, options, texts, tip)

    def _files(self) -> dict[str, tuple[str, QComboBox]]:
        return {"queries": ("Queries", self.queries), "sequences": ("Targets", self.targets)}

    def _add_lines(self, lines: FormLines) -> None:
        self.paste_button = button("Paste a query…", self._toggle_paste, "flat", "Paste sequences in place of a file")
        self.text = SequenceField("Query sequences", self.workspace)
        self.text.setFont(theme.mono_font(9))
        self.text.setFixedHeight(84)
        self.use = button("Use as query", self._use)
        self.text.textChanged.connect(self._judge_pasted)
        self.text.textChanged.connect(self.show_spec)
        self._paste, self._hint = QWidget(), label("", wrap=True)
        self._paste.setLayout(stacked(self.text, row((self._hint, 1), self.use), spacing=-1))
        self._judge_pasted()
        self._paste.hide()
        lines.grid.addLayout(row(self.paste_button, None), 1, 1)  # below the queries, which it is about
        lines.grid.addWidget(self._paste, 2, 1, 1, 2)

    def _toggle_paste(self) -> None:
        self._paste.setVisible(self._paste.isHidden())
        if not self._paste.isHidden():
            self.text.setFocus()
        self.show_spec()

    def _judge_pasted(self) -> None:
        show_problem(self.text, self.use, self._hint)
        set_role(self._hint, "role", "caution" if self._hint.text() else "muted")
        usual = "The first is the query, the second the target." if self._pasted()[1] else SAVED
        self._hint.setText(self._hint.text() or usual)

    def _pasted(self) -> tuple[str, str]:
        """Return the pasted queries, and the second of two sequences as target while there is no other."""
        text = self.text.fasta("query")
        records = re.split("^(?=>)", text, flags=re.MULTILINE)[1:]
        return (records[0], records[1]) if len(records) == 2 and self.workspace.sequences is None else (text, "")

    def _use(self) -> None:
        self._before = self.workspace.queries_path
        self.paste_requested.emit(*self._pasted())

    def show_workspace(self) -> None:
        super().show_workspace()
        if self._before not in (None, self.workspace.queries_path):  # the pasted text was read
            self._before = None
            if self._paste.isAncestorOf(self.window().focusWidget()):
                self.queries.setFocus()
            self.text.clear()
            self._paste.hide()

    def _show_readiness(self, problem: str, shown: set[str]) -> None:
        is_unused = not self._paste.isHidden() and bool(self.text.toPlainText().strip())
        unused = "Use the pasted sequences as query, or empty their box." if is_unused else ""
        super()._show_readiness(problem or unused, shown)

    @property
    def query(self) -> Source | None:
        """The file of the queries."""
        return self.workspace.queries

    def fill_files(self, box: QComboBox, kind: SourceKind, path: str, missing: str = "") -> None:
        """List the open files; the first entry asks for queries while none are chosen."""
        super().fill_files(box, kind, path, "Choose, open or paste queries" if box is self.queries else "")
