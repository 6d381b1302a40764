"""The sheet that compares sequences with sequences: pasted or opened, scored as chosen."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from clalign.engines.pairwise.estimate import estimate
from clalign.engines.pairwise.inputs import choose_scoring
from clalign.engines.pairwise.spec import PairwiseSpec

from ... import theme
from ...models.workspace import Notice, SourceKind, Workspace
from ...views.widgets.choices import NarrowBox
from ...views.widgets.option_form import FormLines, Options
from ...views.widgets.parts import (
    button,
    label,
    row,
    stacked,
)
from ...views.widgets.small_sheets import SequenceField
from ...views.widgets.spec_sheet import SpecSheet, estimate_words
from .form import PairForm
from .notices import alphabet_chosen, compares_bases, pair_notices, reason_not_to_compare


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
    paste_requested = Signal(str)

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self.queries, self.targets = NarrowBox(), NarrowBox()
        self.scoring = label("", "muted", wrap=True)
        texts = ("Compare sequences", "Compare")
        super().__init__(workspace, PairForm(), options, texts, "Start the comparison (Ctrl+Shift+R)")
        self.form.box.insertWidget(1, self.scoring)

    def _files(self) -> dict[str, tuple[str, QComboBox]]:
        return {"queries": ("Queries", self.queries), "sequences": ("Targets", self.targets)}

    def _add_lines(self, lines: FormLines) -> None:
        self.paste_button = button("Paste a query…", self._toggle_paste, "flat", "Paste sequences in place of a file")
        self.text = SequenceField("Query sequences")
        self.text.setFont(theme.mono_font(9))
        self.text.setFixedHeight(84)
        self.use = button("Use as query", self._use_pasted, tip="Paste or type sequences first.")
        self.use.setEnabled(False)
        self.text.textChanged.connect(lambda: self.use.setEnabled(bool(self.text.fasta("query"))))
        self._paste = QWidget()
        hint = label("FASTA or a plain sequence; saved as a file.", "muted")
        self._paste.setLayout(stacked(self.text, row(hint, None, self.use), spacing=-1))
        self._paste.hide()
        lines.grid.addLayout(row(self.paste_button, None), 1, 1)  # below the queries, which it is about
        lines.grid.addWidget(self._paste, 2, 1, 1, 2)

    def _toggle_paste(self) -> None:
        self._paste.setVisible(self._paste.isHidden())
        if not self._paste.isHidden():
            self.text.setFocus()
        self.resized.emit()

    def _use_pasted(self) -> None:
        self.paste_requested.emit(self.text.fasta("query"))

    def fill_files(self, box: QComboBox, kind: SourceKind, path: str) -> None:
        """List the open files; the first entry asks for queries while none are chosen."""
        super().fill_files(box, kind, path)
        if box is self.queries and self.workspace.queries is None and box.findData("") < 0:
            box.insertItem(0, "Choose, open or paste queries", "")
            box.setCurrentIndex(0)

    def show_workspace(self) -> None:
        """List files and devices, and the matrices that fit."""
        self.form.offer_matrices(self._is_nucleic)
        super().show_workspace()

    @property
    def _is_nucleic(self) -> bool:
        return compares_bases(self.workspace.queries, self.workspace.sequences)

    def _filled_spec(self, values: Options) -> PairwiseSpec | None:
        space = self.workspace
        queries, targets = (source.path if source else "" for source in (space.queries, space.sequences))
        alphabet = alphabet_chosen(space.queries, space.sequences)
        given = {"queries": queries, "targets": targets, "device": space.device_id, "alphabet": alphabet}
        spec = PairwiseSpec.from_dict({**given, **values})
        self.scoring.setText(scoring_words(spec, self._is_nucleic))
        return spec if queries and targets else None

    def show_spec(self) -> None:
        self.scoring.setText("")
        super().show_spec()

    def _input_notices(self) -> list[Notice]:
        return pair_notices(self.workspace.queries, self.workspace.sequences, self.workspace.known_device)

    def _obstacle(self) -> str:
        return reason_not_to_compare(self.workspace)

    def _estimate(self) -> str:
        space = self.workspace
        queries, targets = space.queries, space.sequences
        if not queries or not targets or not queries.report or not targets.report:
            return ""
        strands = 2 if self._is_nucleic and self.spec and self.spec.strand in ("auto", "both") else 1
        cells = strands * float(queries.report["n_residues"]) * targets.report["n_residues"]
        n, n_residues = queries.report["n_sequences"], queries.report["n_residues"]
        return estimate_words(estimate(n, n_residues, cells, [space.device]))
