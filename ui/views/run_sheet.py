"""The run sheet: what, with which thresholds, where; and the same as a command."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QComboBox, QGridLayout, QVBoxLayout, QWidget

from clalign.errors import OptionError
from clalign.specs import SearchSpec

from .. import theme, words
from ..forms.scripts import as_command, as_python
from ..forms.search_form import SearchForm
from ..models import device_words
from ..models.workspace import Source, Workspace, notices
from .parts import button, clear_layout, label, notice_row, row
from .sheet import Sheet

NOTHING = "Choose or open a file"

DIRECTIONS = (
    ("search", "the sequences of each profile (search)"),
    ("scan", "the profiles of each sequence (scan)"),
)


def source_words(source: Source) -> str:
    """Return a file as the sheet lists it."""
    if source.kind == "sequences" and source.report:
        return f"{source.name} – {words.plural(source.report['n_sequences'], 'sequence')}"
    if source.kind == "profiles" and source.cards:
        names = source.cards[0]["name"] if len(source.cards) == 1 else words.plural(len(source.cards), "profile")
        return f"{source.name} – {names}"
    return source.name


class RunSheet(Sheet):
    """Asks for nothing that is already known; what is missing is said."""

    run_asked = Signal(object)
    open_asked = Signal()
    action_asked = Signal(str)
    resized = Signal()

    def __init__(self, workspace: Workspace, options: dict[str, object]) -> None:
        super().__init__("Search", 680)
        self.workspace = workspace
        self.spec: SearchSpec | None = None
        self.profiles, self.sequences, self.devices = QComboBox(), QComboBox(), QComboBox()
        self.direction = QComboBox()
        for key, text in DIRECTIONS:
            self.direction.addItem(text, key)
        self.direction.setCurrentIndex(max(0, self.direction.findData(options.get("direction", "search"))))
        self.form = SearchForm()
        self.form.set_values(options)
        self.command = label("", "muted", wrap=True, selectable=True)
        self.command.setFont(theme.mono_font(9))
        self.estimate = label("", "muted")
        self.run_button = button("Run search", self._run, "primary", "Start the search (Ctrl+R)")
        self.setFocusProxy(self.run_button)
        self._notices = QVBoxLayout()
        self._build()
        self._connect()
        self.show_workspace()

    def _build(self) -> None:
        self.body.addWidget(label("What", "muted"))
        self.body.addWidget(self._what())
        self.body.addSpacing(8)
        self.body.addWidget(label("How well a hit must match", "muted"))
        self.body.addWidget(self.form)
        self.body.addSpacing(8)
        self.body.addWidget(label("Where", "muted"))
        self.body.addWidget(self.devices)
        self.body.addLayout(self._notices)
        self.body.addStretch(1)
        self.foot.addWidget(self.command)
        copy_command = button("Copy as command", self.copy_command, "flat")
        copy_python = button("Copy as Python", self.copy_python, "flat")
        self.foot.addLayout(row(copy_command, copy_python, None, self.estimate, self.run_button))

    def _what(self) -> QWidget:
        made = QWidget()
        grid = QGridLayout(made)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(8)
        grid.setColumnStretch(1, 1)
        grid.setColumnMinimumWidth(0, 90)
        for place, (text, box) in enumerate((("Profile", self.profiles), ("Sequences", self.sequences))):
            words_ = label(text)
            words_.setBuddy(box)
            box.setAccessibleName(text)
            grid.addWidget(words_, place, 0)
            grid.addWidget(box, place, 1)
            grid.addWidget(button("Open…", self.open_asked.emit), place, 2)
        look = label("Look for")
        look.setBuddy(self.direction)
        self.direction.setAccessibleName("Look for")
        grid.addWidget(look, 2, 0)
        grid.addWidget(self.direction, 2, 1)
        self.devices.setAccessibleName("Device")
        return made

    def _connect(self) -> None:
        for box in (self.profiles, self.sequences):
            box.activated.connect(lambda _, box=box: self.workspace.choose(box.currentData()))
        self.devices.activated.connect(lambda: self.workspace.choose_device(self.devices.currentData()))
        self.direction.activated.connect(lambda: self.show_spec())
        self.form.changed.connect(self.show_spec)
        self.form.resized.connect(self.resized)
        for signal in (
            self.workspace.sources_changed,
            self.workspace.choice_changed,
            self.workspace.devices_changed,
        ):
            signal.connect(self.show_workspace)

    def show_workspace(self) -> None:
        """Show the files and devices there are."""
        space = self.workspace
        for box, kind, path in (
            (self.profiles, "profiles", space.profiles_path),
            (self.sequences, "sequences", space.sequences_path),
        ):
            box.clear()
            for source in space.of_kind(kind):  # type: ignore[arg-type]
                box.addItem(source_words(source), source.path)
            if not box.count():
                box.addItem(NOTHING, "")
            box.setCurrentIndex(max(0, box.findData(path)))
        self.devices.clear()
        self.devices.addItem(f"Automatic ({device_words.title(space.auto_device())})", "auto")
        for device in space.devices:
            self.devices.addItem(f"{device_words.title(device)} · {device_words.line(device)}", device.id)
        self.devices.setCurrentIndex(max(0, self.devices.findData(space.device_id)))
        cards = space.profiles.cards if space.profiles else []
        self.form.offer_cutoffs(_common_cutoffs(cards))
        self.form.offer_presets(space.profiles is not None and space.profiles.has_hmmer3)
        self.show_spec()

    def show_spec(self) -> None:
        """Show command, notices and estimate of what is filled in."""
        space = self.workspace
        values, problem = self.form.values()
        self.spec = None
        if not problem and space.profiles and space.sequences:
            alphabet = space.sequences.alphabet
            try:
                self.spec = SearchSpec(
                    space.profiles.path,
                    space.sequences.path,
                    space.device_id,
                    self.direction.currentData(),
                    alphabet=alphabet,
                    **values,
                )
            except OptionError as error:
                problem = str(error)
        reason = problem or space.reason_not_to_run()
        self.run_button.setEnabled(not reason)
        self.run_button.setToolTip(reason or "Start the search (Ctrl+R)")
        self.command.setText(as_command(self.spec) if self.spec else reason)
        self.estimate.setText(self._estimate())
        self._show_notices(problem, values)

    def _show_notices(self, problem: str, values: dict[str, object]) -> None:
        space = self.workspace
        clear_layout(self._notices)
        if problem:
            self._notices.addWidget(notice_row("stop", problem))
        for notice in notices(space.profiles, space.sequences, space.device):
            buttons = []
            if notice.action:
                buttons = [button(notice.action_text, partial(self.action_asked.emit, notice.action))]
            self._notices.addWidget(notice_row(notice.severity, notice.text, *buttons))
        cutoffs = _common_cutoffs(space.profiles.cards if space.profiles else [])
        if values.get("cutoff") == "none" and "ga" in cutoffs:
            text = f"This profile has a gathering cutoff (GA {cutoffs['ga']:g} bits), chosen by its curators."
            use = button("Use it", lambda: self.form.set_values({"cutoff": "ga"}))
            self._notices.addWidget(notice_row("note", text, use))
        self.resized.emit()

    def _estimate(self) -> str:
        space = self.workspace
        device = space.device
        if not device.gcups or not space.profiles or not space.sequences or not space.sequences.report:
            return ""
        cells = sum(card["length"] for card in space.profiles.cards) * space.sequences.report["n_residues"]
        seconds = math.ceil(cells / device.gcups / 1e9)
        if space.profiles.has_hmmer3:
            # The measured speed is that of HMMER2's recurrence; most sequences only go through the first filter.
            return f"at most about {seconds}{words.THIN}s" if seconds < 10 else f"less than {words.duration(seconds)}"
        return f"about {seconds}{words.THIN}s" if seconds < 10 else f"about {words.duration(seconds)}"

    def _run(self) -> None:
        if self.spec is not None and self.run_button.isEnabled():
            self.run_asked.emit(self.spec)

    def copy_command(self) -> None:
        """Copy the command."""
        if self.spec:
            QGuiApplication.clipboard().setText(as_command(self.spec))

    def copy_python(self) -> None:
        """Copy the same as a Python program."""
        if self.spec:
            QGuiApplication.clipboard().setText(as_python(self.spec))


def _common_cutoffs(cards: list[dict[str, object]]) -> dict[str, float]:
    """Return the cutoffs that all profiles have; the scores are those of the first."""
    found = {}
    for name in ("ga", "tc", "nc"):
        pairs = [(card.get("cutoffs") or {}).get(name) for card in cards]  # type: ignore[attr-defined]
        if pairs and all(pairs):
            found[name] = float(pairs[0][0])
    return found
