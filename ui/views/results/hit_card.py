"""The chosen hit: facts, domains to scale, alignments, and actions."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QComboBox, QWidget

from ...models.alignment.alignment_layout import Layout
from ...models.results.links import links_of_hit
from ...models.results.run_view import RunView
from ...residue_colors import RESIDUE_SCHEMES
from ...settings import Preferences
from ..alignment.alignment_view import AlignmentView
from ..charts.domain_strip import DomainStrip
from ..widgets.flow import Flow
from ..widgets.parts import (
    BETWEEN_FACTS,
    ElidedLabel,
    EmptyPanel,
    FactsLabel,
    FactsParagraph,
    IconButton,
    ScrolledCard,
    Surface,
    fill_box,
    height_for,
    held,
    one_of,
    row,
    stacked,
)

NOT_SELECTED = "No hit selected", "Select a hit to see its alignment here."
NO_HITS = "", "The alignment of a hit appears here."

MAX_HEIGHT = 16_777_215
"""Pixels; Qt's own limit."""

BESIDE_WIDTH = 600
"""Pixels from which on the alignment stands beside the facts, if the pane is not as high."""

VERIFIED = {"equal": "Checked on the reference: equal", "differs": "Checked on the reference: differs"}


def _together(*tools: QWidget) -> QWidget:
    """Return tools that stay side by side."""
    return held(row(*tools, spacing=4))


class HitCard(Surface):
    """Shows the chosen hit of a run, with buttons for colors, zoom and copying."""

    verify_requested = Signal(int)
    explain_requested = Signal()
    preferences_chosen = Signal(dict)
    node_chosen = Signal(int)
    link_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.run: RunView | None = None
        self.alignment = AlignmentView()
        self.alignment.node_chosen.connect(self.node_chosen)
        self.strip = DomainStrip()
        self.strip.domain_chosen.connect(self.alignment.go_to_domain)
        self.name_label = ElidedLabel("")
        font = self.name_label.font()
        font.setBold(True)
        self.name_label.setFont(font)
        self._description = ElidedLabel("", "muted")
        self.line_label, self._estimates = FactsParagraph(BETWEEN_FACTS, "text", stays=True), FactsLabel("", "muted")
        self.remarks = ElidedLabel("", "muted")
        self._node = ""
        self._of_hit: list[IconButton] = []
        self.empty = EmptyPanel("format-align-center", *NOT_SELECTED)
        self._stack = one_of(self.empty, self._shown())
        bar = Flow(*(_together(*tools) for tools in self._tools()), spacing=12, between=2)
        bar.setContentsMargins(12, 6, 12, 2)
        self._bar = QWidget()
        self._bar.setLayout(bar)
        self.setLayout(stacked(self._bar, (self._stack, 1), spacing=0))

    def _shown(self) -> QWidget:
        self._facts = ScrolledCard((12, 4, 12, 0), 3)
        head = self._facts.box
        said = self.name_label, self._description, self.line_label, self._estimates
        for part in (*said, self.strip, *self._parts(), self.remarks):
            head.addWidget(part)
        head.addStretch(1)
        made = QWidget()
        self._body = QBoxLayout(QBoxLayout.Direction.TopToBottom, made)
        self._body.setContentsMargins(0, 0, 0, 0)
        self._body.addWidget(self._facts, 2)
        self._body.addWidget(self._main_part(), 3)
        return made

    def _parts(self) -> list[QWidget]:
        """Return more about a hit below its facts, as high for every hit."""
        return []

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Put the alignment beside the facts in a low pane, else below them; no hit changes that."""
        is_beside = self.width() >= max(BESIDE_WIDTH, self.height())
        self._body.setDirection(QBoxLayout.Direction.LeftToRight if is_beside else QBoxLayout.Direction.TopToBottom)
        self._body.setStretch(0, 2 if is_beside else 0)
        needed = min(height_for(self._facts.box, self.width()), self._stack.height() * 3 // 5)
        self._facts.setMaximumHeight(MAX_HEIGHT if is_beside else needed)
        self._facts.setMinimumHeight(0 if is_beside else needed)

    def _main_part(self) -> QWidget:
        """Return the alignment with the widgets beside it."""
        return self.alignment

    def _tools(self) -> tuple[list[QWidget], list[QWidget]]:
        """Return the tools of the alignment, and what can be done with the hit; each group stays in a line."""
        self.schemes = QComboBox()
        self.schemes.setAccessibleName("Residue colors")
        fill_box(self.schemes, RESIDUE_SCHEMES.items())
        self.schemes.activated.connect(lambda: self.preferences_chosen.emit({"scheme": self.schemes.currentData()}))
        copy = IconButton("content-copy", "Copy the hit to the clipboard", lambda: None, "Copy")
        menu = copy.add_menu()
        menu.addAction("Alignment as text", self.copy_text)
        menu.addAction("Matched parts as FASTA", self.copy_fasta)
        tip = "Compute this hit again on the reference and compare"
        verify = IconButton("shield-check-outline", tip, self._verify, "Verify")
        tip = "Show the parts of the score of this sequence"
        self.explain = IconButton("filter-check-outline", tip, self.explain_requested.emit, "Explain")
        tip = "Look it up in a public database, in the browser"
        self.links = IconButton("open-in-new", tip, lambda: None, "Look up")
        self.links.add_menu()
        self._of_hit = [copy, verify, self.explain, self.links]
        seen: list[QWidget] = [
            self.schemes,
            IconButton("magnify-minus-outline", "Smaller letters (Ctrl+-)", lambda: self.alignment.zoom(-1)),
            IconButton("magnify-plus-outline", "Larger letters (Ctrl++, Ctrl+wheel)", lambda: self.alignment.zoom(1)),
        ]
        return seen, [*self._of_hit]

    def show_run(self, run: RunView | None) -> None:
        """Show the chosen hit of a run, now and after each change."""
        if self.run is not None:
            self.run.hit_changed.disconnect(self.show_hit)
            self.run.hits.dataChanged.disconnect(self._show_remarks)
            self.run.hits.shown_changed.disconnect(self._show_reason)
            self.run.facts_changed.disconnect(self._show_reason)
        self.run = run
        if run is not None:
            run.hit_changed.connect(self.show_hit)
            run.hits.dataChanged.connect(self._show_remarks)
            run.hits.shown_changed.connect(self._show_reason)
            run.facts_changed.connect(self._show_reason)
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
        self.line_label.setText(run.hit_line(hit))
        self._estimates.setText(run.estimates_line(hit))
        self._estimates.setVisible(bool(self._estimates.text()))
        self.show_node("")
        self.strip.show_hit(hit)
        self._offer_links(run)
        self._fit()
        self.alignment.show_hit(hit, run.card, run.is_nucleic, run.layout)

    def _offer_links(self, run: RunView) -> None:
        links, menu = links_of_hit(run), self.links.menu()
        menu.clear()
        for words, address in links.items():
            menu.addAction(words, partial(self.link_requested.emit, address)).setToolTip(address)
        self.links.setEnabled(bool(links))

    def _show_reason(self) -> None:
        """Ask for a hit if there are some, and show the tools only then; else the table says why there are none."""
        run = self.run
        has_hits = run is not None and run.hits.n_all > 0
        self.empty.show_text(*(NOT_SELECTED if has_hits else NO_HITS))
        self._bar.setVisible(has_hits)

    def _show_remarks(self) -> None:
        """Show the node that was clicked, the note, and whether the hit was verified: a line that is always there."""
        hit = self.run.hit if self.run is not None else None
        note = self.run.hits.current_note(hit) if self.run is not None and hit is not None else ""
        said = self._node, f"Note: {note}" if note else "", VERIFIED.get(hit.verified, "") if hit is not None else ""
        self.remarks.setText(" · ".join(words for words in said if words))

    def show_node(self, text: str) -> None:
        """Describe the node that was clicked in the alignment."""
        self._node = text
        self._show_remarks()

    def show_preferences(self, chosen: Preferences) -> None:
        """Apply the colors of residues, and whether the confidence of each column is shown."""
        self.alignment.set_posterior(chosen.posterior)
        self.alignment.set_scheme(chosen.scheme)
        self.schemes.setCurrentIndex(self.schemes.findData(chosen.scheme))

    def copy_text(self) -> None:
        """Copy the alignments as text."""
        QGuiApplication.clipboard().setText(self.alignment.as_text())

    def copy_fasta(self) -> None:
        """Copy the matched parts as FASTA."""
        QGuiApplication.clipboard().setText(self.alignment.as_fasta())

    def _verify(self) -> None:
        if self.run is not None and self.run.hit is not None:
            self.verify_requested.emit(self.run.hit.id)
