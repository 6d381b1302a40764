"""Cards of open files: the content of a sequence file or a profile file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QPushButton, QWidget

from clalign.common.plain_data import Json
from clalign.formats.profile_cards import calibration_words, format_words
from clalign.values.documents import Card

from .. import formatting, theme
from ..models.workspace import Offer, Source
from .widgets.facts import facts_grid, heading
from .widgets.file_report import report_parts
from .widgets.flow import Flow
from .widgets.parts import (
    EmptyPanel,
    ScrolledCard,
    button,
    clear_layout,
    label,
    notice_row,
    row,
)

ALPHABETS = (("auto", "Automatic"), ("amino", "Protein"), ("dna", "DNA"), ("rna", "RNA"))

CUTOFFS = {"ga": "Gathering (GA)", "tc": "Trusted (TC)", "nc": "Noise (NC)"}


def profile_parts(card: Card) -> list[QWidget]:
    """Return widgets that show a profile."""
    consensus = label(_wrapped(card["consensus"]), selectable=True)
    consensus.setFont(theme.mono_font(8))
    consensus.setToolTip("Most probable residue of each node; upper case where it dominates")
    return [facts_grid(profile_facts(card)), consensus]


class ProfileCard(ScrolledCard):
    """The profile of a run."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: Json = {}

    def show_profile(self, card: Card) -> None:
        """Show a profile."""
        if not card or card == self._shown:
            return
        self._shown = card
        clear_layout(self.box)
        self.box.addWidget(heading(f"Profile {card['name']}"))
        for part in profile_parts(card):
            self.box.addWidget(part)
        self.box.addStretch(1)


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
        self.alphabets: QComboBox | None = None

    def show_source(self, source: Source | None) -> None:
        """Show a file."""
        if source == self.source and source is not None:
            return
        self.source = source
        self.alphabets = None
        clear_layout(self.box)
        if source is None:
            self.box.addWidget(EmptyPanel("file-outline", "Nothing selected", "Select a file or a hit."))
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
            severity, said = offer.said
            ways = [self._button(source, offer)] if offer.text else []
            if severity:
                self.box.addWidget(notice_row(severity, said, *ways))
                continue
            if said:
                self.box.addWidget(label(said, wrap=True))
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
        self.alphabets = box
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


def _wrapped(text: str, width: int = 36, lines: int = 12) -> str:
    cut = [text[i : i + width] for i in range(0, len(text), width)]
    return "\n".join(cut[:lines] + (["…"] if len(cut) > lines else []))


def profile_facts(card: Card) -> list[tuple[str, str]]:
    """Return names and values of a profile."""
    n_built = card.get("facts", {}).get("sequences", "")
    rows = [
        ("Name", card["name"]),
        ("Accession", card["accession"]),
        ("Description", card["description"]),
        ("Nodes", formatting.count(card["length"])),
        ("Alphabet", formatting.alphabet(card["alphabet"])),
        ("Built from", formatting.plural(int(n_built), "sequence") if n_built.isdecimal() else ""),
        ("Format", format_words(card)),
        ("Calibration", calibration_words(card)),
    ]
    for name, title in CUTOFFS.items():
        pair = (card.get("cutoffs") or {}).get(name)
        if pair:
            rows.append((title, f"{pair[0]:g} bits; domain {pair[1]:g}"))
    return [(name, value) for name, value in rows if value and value != "-"]
