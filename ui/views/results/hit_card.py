"""The chosen hit: facts, domains to scale, alignments, and actions."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QStackedWidget, QVBoxLayout, QWidget

from ...formatting import short_name, unbroken
from ...models.alignment.alignment_layout import Layout
from ...models.alignment.residue_colors import SCHEMES
from ...models.results.run_view import RunView
from ..alignment.alignment_view import AlignmentView
from ..charts.domain_strip import DomainStrip
from ..widgets.flow import Flow
from ..widgets.parts import (
    ElidedLabel,
    EmptyPanel,
    IconButton,
    label,
    row,
)

NOT_SELECTED = "No hit selected", "Select a hit to see its alignment here."

VERIFIED = {"equal": "Checked on the reference: equal", "differs": "Checked on the reference: differs"}


class HitCard(QWidget):
    """Shows the chosen hit of a run.

    Parameters
    ----------
    tools : bool
        With buttons for colors, zoom and copying beside the alignment.
    """

    verify_requested = Signal(int)
    explain_requested = Signal()
    scheme_chosen = Signal(str)
    posterior_chosen = Signal(bool)
    node_chosen = Signal(int)

    def __init__(self, tools: bool) -> None:
        super().__init__()
        self.run: RunView | None = None
        self.alignment = AlignmentView(narrow=not tools)
        self.alignment.node_chosen.connect(self.node_chosen)
        if tools:
            self.setProperty("role", "page")
            self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.strip = DomainStrip()
        self.strip.domain_chosen.connect(self.alignment.go_to_domain)
        self.name_label = ElidedLabel("")
        font = self.name_label.font()
        font.setBold(True)
        self.name_label.setFont(font)
        self._description = ElidedLabel("", "muted")
        self.line_label = label("", wrap=True, selectable=True)
        self._estimates = label("", "muted", wrap=True)
        self._node = label("", "muted", wrap=True)
        self._verified = label("", "muted", wrap=True)
        self.upper_label, self.lower_label = ElidedLabel("", "muted"), ElidedLabel("", "muted")
        self.note_label = label("", wrap=True, selectable=True)
        self._of_hit: list[IconButton] = []
        self.empty = EmptyPanel("format-align-center", *NOT_SELECTED)
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self._shown())
        box = QVBoxLayout(self)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(0)
        if tools:
            bar = Flow(*self._tools(), spacing=4, between=2)
            bar.setContentsMargins(12, 8, 12, 4)
            box.addLayout(bar)
        box.addWidget(self._stack, 1)

    def _shown(self) -> QWidget:
        made = QWidget()
        box = QVBoxLayout(made)
        box.setContentsMargins(0, 8, 0, 0)
        box.setSpacing(4)
        head = QVBoxLayout()
        head.setContentsMargins(12, 0, 12, 0)
        head.setSpacing(3)
        verify = IconButton(
            "shield-check-outline", "Compute this hit again on the reference and compare", self._verify, "Verify"
        )
        if not self.alignment.narrow:
            verify.setText("Verify on the reference")
        self.explain = IconButton(
            "filter-check-outline",
            "Show the parts of the score of this sequence",
            self.explain_requested.emit,
            "Explain",
        )
        narrow = self.alignment.narrow
        head.addWidget(self.name_label) if narrow else head.addLayout(row((self.name_label, 1), verify, self.explain))
        said = self._description, self.line_label, self._estimates, self._verified, self.note_label
        for widget in (*said, self.strip):
            head.addWidget(widget)
        if narrow:
            head.addLayout(row(verify, self.explain, None))
            head.addWidget(self.upper_label)
            head.addWidget(self.lower_label)
        head.addWidget(self._node)
        box.addLayout(head)
        box.addWidget(self._main_part(), 1)
        return made

    def _main_part(self) -> QWidget:
        """Return the alignment with the widgets beside it."""
        return self.alignment

    def _tools(self) -> list[QWidget]:
        """Return the tools above the alignment."""
        self.schemes = QComboBox()
        self.schemes.setAccessibleName("Residue colors")
        for key, text in SCHEMES.items():
            self.schemes.addItem(text, key)
        self.schemes.activated.connect(lambda: self.scheme_chosen.emit(self.schemes.currentData()))
        self._of_hit = [
            IconButton("content-copy", "Copy the alignment as text", self.copy_text, "Copy as text"),
            IconButton("content-copy", "Copy the matched parts as FASTA", self.copy_fasta, "Copy as FASTA"),
        ]
        return [
            label("Colors", "muted"),
            self.schemes,
            IconButton("magnify-minus-outline", "Smaller letters (Ctrl+-)", lambda: self.alignment.zoom(-1)),
            IconButton("magnify-plus-outline", "Larger letters (Ctrl++, Ctrl+wheel)", lambda: self.alignment.zoom(1)),
            *self._of_hit,
        ]

    def show_run(self, run: RunView | None) -> None:
        """Show the chosen hit of a run, now and after each change."""
        if self.run is not None:
            self.run.hit_changed.disconnect(self.show_hit)
            self.run.hits.dataChanged.disconnect(self._show_note)
            self.run.hits.shown_changed.disconnect(self._show_reason)
        self.run = run
        if run is not None:
            run.hit_changed.connect(self.show_hit)
            run.hits.dataChanged.connect(self._show_note)
            run.hits.shown_changed.connect(self._show_reason)
        self.show_hit()

    def show_hit(self) -> None:
        """Show the chosen hit."""
        run = self.run
        hit = run.hit if run is not None else None
        self._stack.setCurrentIndex(0 if hit is None else 1)
        self._show_reason()
        for tool in self._of_hit:
            tool.setEnabled(hit is not None)
        if run is None or hit is None:
            self.alignment.show_hit(None, {}, False, Layout())
            return
        self.name_label.setText(f"{hit.name}  {hit.accession}".strip() if hit.accession != "-" else hit.name)
        self._description.setText(hit.description)
        self.line_label.setText(unbroken(run.hit_line(hit)))
        self._estimates.setText(unbroken(run.estimates_line(hit)))
        self._estimates.setVisible(bool(self._estimates.text()))
        self._show_note()
        self.show_node("")
        self._verified.setText(VERIFIED.get(hit.verified, ""))
        self._verified.setVisible(bool(self._verified.text()))
        self.upper_label.setText(f"Upper row: {run.noun.lower()} {short_name(run.card['name'])}")
        self.lower_label.setText(f"Lower row: sequence {short_name(hit.name)}")
        self.strip.show_hit(hit)
        self.alignment.show_hit(hit, run.card, run.is_nucleic, run.layout)

    def _show_reason(self) -> None:
        """Show why there is no hit."""
        run = self.run
        has_none = run is not None and bool(run.cards) and not run.hits.n_all and not run.hits.is_busy
        self.empty.show_text(*(run.empty_words() if run is not None and has_none else NOT_SELECTED))

    def _show_note(self) -> None:
        hit = self.run.hit if self.run is not None else None
        text = self.run.hits.current_note(hit) if self.run is not None and hit is not None else ""
        self.note_label.setText(f"Note: {text}")
        self.note_label.setVisible(bool(text))

    def show_node(self, text: str) -> None:
        """Describe the node that was clicked in the alignment."""
        self._node.setText(text)
        self._node.setVisible(bool(text))

    def set_posterior(self, shown: bool) -> None:
        """Show or hide the confidence of each column."""
        self.alignment.set_posterior(shown)

    def set_scheme(self, scheme: str) -> None:
        """Color residues by a scheme."""
        self.alignment.set_scheme(scheme)
        if hasattr(self, "schemes"):
            self.schemes.setCurrentIndex(self.schemes.findData(scheme))

    def copy_text(self) -> None:
        """Copy the alignments as text."""
        QGuiApplication.clipboard().setText(self.alignment.as_text())

    def copy_fasta(self) -> None:
        """Copy the matched parts as FASTA."""
        QGuiApplication.clipboard().setText(self.alignment.as_fasta())

    def _verify(self) -> None:
        if self.run is not None and self.run.hit is not None:
            self.verify_requested.emit(self.run.hit.id)
