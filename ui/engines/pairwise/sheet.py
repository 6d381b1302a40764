"""The sheet that compares sequences with sequences: pasted or opened, scored as chosen."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QComboBox, QPlainTextEdit, QWidget

from clalign.engines.pairwise.inputs import choose_scoring
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import ClalignError

from ... import theme
from ...models.workspace import Workspace
from ...views.parts import button, label, row, shrinking, stacked
from ...views.spec_sheet import SpecSheet, time_words
from .form import PairForm
from .notices import alphabet_chosen, compares_bases, pair_notices, reason_not_to_compare

HINT = ">name description\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF…"


def scoring_words(spec: PairwiseSpec, is_nucleic: bool) -> str:
    """Return matrix and gap costs of a spec in words.

    Raises
    ------
    ClalignError
        They cannot be used.
    """
    chosen = choose_scoring(spec, is_nucleic)
    matrix, gaps = chosen.scoring.matrix.name, chosen.scoring.gaps
    if spec.mode == "ungapped":
        return f"{matrix}, no gaps."
    costs = f"a gap costs {gaps.first} for its first residue and {gaps.next} for each further one"
    return f"{matrix}; {costs} ({chosen.gaps_source})."


class PairSheet(SpecSheet):
    """Every query against every target."""

    form: PairForm
    spec: PairwiseSpec | None
    paste_asked = Signal(str)

    def __init__(self, workspace: Workspace, options: dict[str, Any]) -> None:
        self.queries, self.targets = shrinking(QComboBox()), shrinking(QComboBox())
        self.scoring = label("", "muted", wrap=True)
        self._waits = False
        form = PairForm()
        form.set_values(options)
        texts = ("Compare sequences", "How they are scored, and what is reported", "Compare")
        super().__init__(workspace, form, texts, "Start the comparison (Ctrl+Shift+R)")
        form.box.insertWidget(1, self.scoring)

    def _what(self) -> QWidget:
        made, grid = self._files_grid((("Queries", self.queries), ("Targets", self.targets)))
        self.paste_button = button("Paste a query…", self._toggle_paste, "flat", "Paste sequences in place of a file")
        self.text = QPlainTextEdit()
        self.text.setPlaceholderText(HINT)
        self.text.setFont(theme.mono_font(9))
        self.text.setFixedHeight(84)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName("Query sequences")
        self.use = button("Use as query", self._use_pasted, tip="Paste or type sequences first.")
        self.use.setEnabled(False)
        self.text.textChanged.connect(lambda: self.use.setEnabled(bool(self.text.toPlainText().strip())))
        self._paste = QWidget()
        hint = label("FASTA, or a plain sequence; it is kept as a file.", "muted")
        self._paste.setLayout(stacked(self.text, row(hint, None, self.use), spacing=-1))
        self._paste.hide()
        grid.addLayout(row(self.paste_button, None), 2, 1)
        grid.addWidget(self._paste, 3, 1, 1, 2)
        return made

    def _toggle_paste(self) -> None:
        self._paste.setVisible(self._paste.isHidden())
        if not self._paste.isHidden():
            self.text.setFocus()
        self.resized.emit()

    def _use_pasted(self) -> None:
        text = self.text.toPlainText().strip()
        self.paste_asked.emit((text if text.startswith(">") else f">query\n{text}") + "\n")

    def _connect(self) -> None:
        self.queries.activated.connect(lambda: self.workspace.choose_queries(self.queries.currentData()))
        self.targets.activated.connect(lambda: self.workspace.choose(self.targets.currentData()))
        super()._connect()

    def show_workspace(self) -> None:
        """Show the files and devices there are, and the matrices that fit them."""
        space = self.workspace
        self.fill_files(self.queries, "sequences", space.queries_path)
        self.fill_files(self.targets, "sequences", space.sequences_path)
        if space.queries is None and self.queries.findData("") < 0:
            self.queries.insertItem(0, "Choose, open or paste queries", "")
            self.queries.setCurrentIndex(0)
        self.form.offer_matrices(self._is_nucleic)
        super().show_workspace()

    @property
    def _is_nucleic(self) -> bool:
        return compares_bases(self.workspace.queries, self.workspace.sequences)

    def show_spec(self) -> None:
        """Show command, scoring, notices and estimate of what is filled in."""
        space = self.workspace
        values, problem = self.form.values()
        self.spec, scoring = None, ""
        try:
            if not problem:
                queries, targets = (source.path if source else "" for source in (space.queries, space.sequences))
                alphabet = alphabet_chosen(space.queries, space.sequences)
                given = {"queries": queries, "targets": targets, "device": space.device_id, "alphabet": alphabet}
                spec = PairwiseSpec.from_dict({**given, **values})
                scoring = scoring_words(spec, self._is_nucleic)
                self.spec = spec if queries and targets else None
        except ClalignError as error:
            problem = str(error)
        self.scoring.setText(scoring)
        self._say(problem, reason_not_to_compare(space), self._estimate())
        self._show_notices(problem, pair_notices(space.queries, space.sequences, space.device))
        if self._waits and self.run_button.isEnabled():
            self._waits = False
            QTimer.singleShot(0, self, self.run_button.click)
        self.resized.emit()

    def run_when_ready(self) -> None:
        """Start as soon as the files are read."""
        if self.run_button.isEnabled():
            self.run_button.click()
        else:
            self._waits = True

    def _estimate(self) -> str:
        space = self.workspace
        queries, targets, gcups = space.queries, space.sequences, space.device.gcups
        if not gcups or not queries or not targets or not queries.report or not targets.report:
            return ""
        strands = 2 if self._is_nucleic and self.spec and self.spec.strand in ("auto", "both") else 1
        cells = strands * float(queries.report["n_residues"]) * targets.report["n_residues"]
        # Measured with HMMER2's recurrence, which takes longer.
        return "at most " + time_words(cells / gcups / 1e9)
