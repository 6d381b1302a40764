"""Cards of open files: the content of a sequence file or a profile file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QPushButton

from .. import formatting
from ..models.workspace import Offer, Source
from .widgets.facts import heading
from .widgets.file_report import report_parts
from .widgets.flow import Flow
from .widgets.parts import EmptyPanel, ScrolledCard, button, clear_layout, label, notice_row, row
from .widgets.profile_facts import profile_parts

ALPHABETS = (("auto", "Automatic"), ("amino", "Protein"), ("dna", "DNA"), ("rna", "RNA"))


class SourceCard(ScrolledCard):
    """The card of an open file."""

    alphabet_chosen = Signal(str, str)
    use_requested = Signal(str)
    close_requested = Signal(str)
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
        use = button("Use for the next search", lambda: self.use_requested.emit(source.path))
        self.box.addLayout(Flow(use, button("Close file", lambda: self.close_requested.emit(source.path))))
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
        for key, text in ALPHABETS:
            guessed = f" ({formatting.alphabet(source.alphabet_found)})" if key == source.alphabet == "auto" else ""
            box.addItem(text + guessed, key)
        box.setCurrentIndex(box.findData(source.alphabet))
        box.activated.connect(lambda: self.alphabet_chosen.emit(source.path, box.currentData()))
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
