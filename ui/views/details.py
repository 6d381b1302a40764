"""The card of the selected file, or of a row of a laboratory, below the opened files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QPushButton, QStackedWidget, QWidget

from .. import formatting
from ..models.workspace import Offer, Source, Workspace
from .widgets.facts import facts_grid, heading
from .widgets.file_report import report_parts
from .widgets.flow import Flow
from .widgets.parts import EmptyPanel, ScrolledCard, button, clear_layout, fill_box, label, notice_row, row
from .widgets.profile_facts import profile_parts

ALPHABETS = (("auto", "Automatic"), ("amino", "Protein"), ("dna", "DNA"), ("rna", "RNA"))


class SourceCard(ScrolledCard):
    """The card of an open file."""

    command_requested = Signal(str, tuple)

    def __init__(self) -> None:
        super().__init__()
        self.source: Source | None = None
        self.offers: Callable[[Source], list[Offer]] = lambda source: []

    def show_source(self, source: Source | None) -> None:
        """Show a file."""
        if source == self.source and source is not None:
            return
        self.source = source
        clear_layout(self.box)
        if source is None:
            self.box.addWidget(EmptyPanel("file-outline", "Nothing selected", "Select a file."))
            return
        title = heading(source.name)
        title.setToolTip(source.path)
        self.box.addWidget(title)
        if source.state == "reading":
            self.box.addWidget(label("Reading…", "muted"))
        elif source.state == "refused":
            self.box.addWidget(notice_row("stop", f"{source.problem} {source.hint}".strip()))
        elif source.kind == "sequences":
            self._show_sequences(source)
        elif source.kind == "profiles":
            self._show_profiles(source)
        self.box.addStretch(1)
        self._add_buttons(source)

    def _add_buttons(self, source: Source) -> None:
        ask, of_file = self.command_requested.emit, (source.path,)
        use = button("Use for the next search", lambda: ask("sources.use_source", of_file))
        self.box.addLayout(Flow(use, button("Close file", lambda: ask("close_source", of_file))))
        use.setVisible(source.state == "ready" and source.kind in ("sequences", "profiles"))
        for offer in self._offers(source, "foot"):
            self.box.insertLayout(self.box.count() - 1, row(self._button(source, offer), None))

    def _offers(self, source: Source, place: str) -> list[Offer]:
        return [offer for offer in self.offers(source) if offer.place == place] if source.state == "ready" else []

    def _button(self, source: Source, offer: Offer, *more: object) -> QPushButton:
        ask = partial(self.command_requested.emit, offer.command, (source.path, *offer.arguments, *more))
        return button(offer.text, ask, "primary" if offer.is_primary else "", offer.tip)

    def _add_offers(self, source: Source) -> None:
        """Add the actions for a file, above its facts."""
        for offer in self._offers(source, "head"):
            severity, notice = offer.notice
            ways = [self._button(source, offer)] if offer.text else []
            if severity:
                self.box.addWidget(notice_row(severity, notice, *ways))
                continue
            if notice:
                self.box.addWidget(label(notice, wrap=True))
            for way in ways:
                self.box.addLayout(row(way, None))

    def _show_sequences(self, source: Source) -> None:
        box = QComboBox()
        box.setAccessibleName("Alphabet of the sequences")
        guessed = f" ({formatting.alphabet(source.alphabet_found)})" if source.alphabet == "auto" else ""
        entries = ((key, text + guessed * (key == "auto")) for key, text in ALPHABETS)
        fill_box(box, entries, source.alphabet)
        ask = self.command_requested.emit
        box.activated.connect(lambda: ask("sources.choose_alphabet", (source.path, box.currentData())))
        self._add_offers(source)
        for part in report_parts(source.report):
            self.box.addWidget(part)
        self.box.addLayout(Flow(label("Read as", "muted"), box))

    def _show_profiles(self, source: Source) -> None:
        self._add_offers(source)
        for number, card in enumerate(source.cards[:50]):
            if len(source.cards) > 1:
                self.box.addWidget(heading(card["name"]))
            for part in profile_parts(card):
                self.box.addWidget(part)
            for offer in self._offers(source, "each"):
                self.box.addLayout(row(self._button(source, offer, number), None))
        if len(source.cards) > 50:
            self.box.addWidget(label(f"and {formatting.count(len(source.cards) - 50)} more", "muted"))


class FactsCard(ScrolledCard):
    """A heading, a text, and names with values."""

    def show_facts(self, title: str, rows: list[tuple[str, str]], text: str) -> None:
        """Show other facts."""
        clear_layout(self.box)
        self.box.addWidget(heading(title))
        if text:
            self.box.addWidget(label(text, "muted", wrap=True))
        self.box.addWidget(facts_grid(rows))
        self.box.addStretch(1)


MIN_WIDTH = 296
"""Pixels; less would cut the buttons of a card off."""


class Details(QStackedWidget):
    """Shows the selection; hidden without one."""

    source_shown = Signal(str)
    """Path of the file; empty if none is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.source = SourceCard()
        self.addWidget(self.source)
        self.facts = FactsCard()
        self.addWidget(self.facts)
        self.setMinimumWidth(MIN_WIDTH)
        self.source.show_source(None)
        self.hide()

    def show_source(self, source: Source | None) -> None:
        """Show a file."""
        self.source.show_source(source)
        self._show_card(self.source, source is not None)
        self.source_shown.emit("" if source is None else source.path)

    @property
    def path(self) -> str:
        """The file that is shown; empty if none is."""
        return self.source.source.path if self.source.source is not None else ""

    def _show_card(self, card: QWidget, has_selection: bool = True) -> None:
        self.setCurrentWidget(card)
        self.setVisible(has_selection)

    def show_facts(self, title: str, rows: list[tuple[str, str]], text: str) -> None:
        """Show a heading, facts and a text."""
        self.facts.show_facts(title, rows, text)
        self._show_card(self.facts)

    @property
    def shows_facts(self) -> bool:
        """Whether the facts of `show_facts` are in view."""
        return self.currentWidget() is self.facts

    def renew(self, workspace: Workspace) -> None:
        """Update the facts about the file in view."""
        shown = self.source.source
        if shown is not None:
            self.source.show_source(workspace.sources.get(shown.path))
            if self.currentWidget() is self.source:
                self._show_card(self.source, self.source.source is not None)
