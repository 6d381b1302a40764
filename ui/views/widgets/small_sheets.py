"""Small sheets: pasted sequences, cluster, preferences, device, help texts."""

from __future__ import annotations

import re
import time
from typing import ClassVar

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPlainTextEdit, QPushButton, QVBoxLayout

from clalign.common.plain_data import Json
from clalign.formats.recognize import identify_text
from clalign.formats.sources import HEAD_BYTES
from clalign.values.devices import Device, cluster_of
from clalign.values.documents import DeviceFields

from ... import formatting, theme
from ...models import device_words
from ...models.workspace import Workspace
from ...residue_colors import RESIDUE_SCHEMES
from ...settings import Preferences
from .facts import facts_grid
from .parts import button, clear_layout, fill_box, label, notice_row, row
from .sheet import Sheet

PASTE_WORDS = "FASTA or a plain sequence, saved as a file, so that the search can be repeated."

CLUSTER_WORDS = (
    "The address of a Dask scheduler (tcp://host:8786), the .json file that it wrote, or local:4 for 4 workers on"
    " this machine. Workers need the same version of clalign."
)

THEMES = (("system", "As the system"), ("light", "Light"), ("dark", "Dark"))


def is_letters_alone(text: str) -> bool:
    """Return whether a text is one sequence without a header line; numbers at its lines do not count."""
    return bool(re.fullmatch(r"[A-Za-z*.\-\s\d]*", text) and re.search("[A-Za-z]", text))


class SequenceField(QPlainTextEdit):
    """Takes sequences as FASTA, or one by its letters alone; what is not used is there when it is opened again.

    Parameters
    ----------
    name : str
        What it is called for those who do not see it.
    """

    def __init__(self, name: str, workspace: Workspace) -> None:
        super().__init__(workspace.draft)
        self.selectAll()  # what is pasted replaces it
        self.textChanged.connect(lambda: setattr(workspace, "draft", self.toPlainText()))
        self.setPlaceholderText(">name description\nMVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF…")
        self.setFont(theme.mono_font())
        self.setTabChangesFocus(True)
        self.setAccessibleName(name)

    def fasta(self, name: str) -> str:
        """Return the content, with a name if it is one sequence without; empty without sequences."""
        text = self.toPlainText().strip()
        return f">{name}\n{text}\n" if is_letters_alone(text) else f"{text}\n" if text else ""

    def problem(self) -> str:
        """Return why the content cannot be used; empty if it may hold sequences."""
        text = self.toPlainText().strip()
        if not text:
            return "Paste or type sequences first."
        if text.startswith(">") and not re.search(r"^\s*[^>;\s]", text, re.MULTILINE):
            return "There are no residues below the header."
        found = identify_text(text[:HEAD_BYTES].encode(), "pasted text")
        if is_letters_alone(text) or found.kind in ("sequences", "alignment"):
            return ""
        return f"This is {found.format}, not a sequence. Paste FASTA, or the letters of one sequence."


def show_problem(text: SequenceField, use: QPushButton, words: QLabel) -> None:
    """Enable the button that uses a pasted text, or show why it cannot be used."""
    problem = text.problem()
    use.setEnabled(not problem)
    use.setToolTip(problem)
    words.setText(problem if text.toPlainText().strip() else "")


class PasteSheet(Sheet):
    """Takes sequences from the clipboard; they become a file in the data folder."""

    paste_requested = Signal(str, str)

    def __init__(self, workspace: Workspace) -> None:
        super().__init__("Paste sequences", 640)
        self.text = SequenceField("Sequences", workspace)
        self.text.setMinimumHeight(220)
        self.name = QLineEdit("pasted")
        self.name.setAccessibleName("Name of the file")
        self.save = button("Open", self._save, "primary")
        self.setFocusProxy(self.text)
        self.body.addWidget(label(PASTE_WORDS, "muted", wrap=True))
        self.body.addWidget(self.text, 1)
        self.problem = label("", "caution", wrap=True)
        self.foot.addWidget(self.problem)
        self.foot.addLayout(row(label("Name"), self.name, None, button("Cancel", self.close_sheet), self.save))
        self.text.textChanged.connect(self._judge)
        self._judge()

    def _judge(self) -> None:
        show_problem(self.text, self.save, self.problem)

    def _save(self) -> None:
        self.paste_requested.emit(self.name.text(), self.text.fasta(self.name.text() or "pasted"))


class ClusterSheet(Sheet):
    """Asks for the address of a cluster."""

    chosen = Signal(str)

    def __init__(self, address: str) -> None:
        super().__init__("Compute on a cluster", 560)
        self.address = QLineEdit(address)
        self.address.setPlaceholderText("tcp://host:8786")
        self.address.setAccessibleName("Address of the scheduler")
        self.problem = label("", "muted", wrap=True)
        self.choose = button("Choose", self._choose, "primary")
        self.setFocusProxy(self.address)
        self.body.addWidget(label(CLUSTER_WORDS, "muted", wrap=True))
        self.body.addWidget(self.address)
        self.body.addWidget(self.problem)
        self.foot.addLayout(row(None, button("Cancel", self.close_sheet), self.choose))
        self.address.textChanged.connect(self._judge)
        self.address.returnPressed.connect(self._choose)
        self._judge()

    def _judge(self) -> None:
        words = self.address.text().strip()
        is_known = cluster_of(words) is not None
        self.choose.setEnabled(is_known)
        self.choose.setToolTip("" if is_known else "Type an address first.")
        text = f'"{words}" is not an address: tcp://host:8786, local:4, or a file that ends in .json.'
        self.problem.setText(text if words and not is_known else "")

    def _choose(self) -> None:
        found = cluster_of(self.address.text())
        if found is not None:
            self.chosen.emit("@".join(found))


class PreferencesSheet(Sheet):
    """Preferences, which take effect at once."""

    changed = Signal(dict)

    def __init__(self, preferences: Preferences) -> None:
        super().__init__("Preferences", 480)
        self.theme = self._choice("Look", THEMES, preferences.theme, "theme")
        self.scheme = self._choice("Residue colors", tuple(RESIDUE_SCHEMES.items()), preferences.scheme, "scheme")
        self._tick("High contrast, also if the system does not ask for it", preferences.contrast, "contrast")
        self._tick("Reduce motion", preferences.still, "still")
        self._tick("Show the start page when clalign opens", preferences.show_start, "show_start")
        self._tick("Run an example at once when it is opened", preferences.run_examples, "run_examples")
        self._tick("Histogram with a logarithmic scale", preferences.log_counts, "log_counts")
        self.body.addStretch(1)
        self.foot.addLayout(row(None, button("Done", self.close_sheet, "primary")))
        self.setFocusProxy(self.theme)

    def _choice(self, text: str, entries: tuple[tuple[str, str], ...], value: str, name: str) -> QComboBox:
        box = QComboBox()
        box.setAccessibleName(text)
        fill_box(box, entries, value)
        box.activated.connect(lambda: self.changed.emit({name: box.currentData()}))
        self.body.addLayout(row(label(text), None, box))
        return box

    def _tick(self, text: str, value: bool, name: str) -> None:
        box = QCheckBox(text)
        box.setChecked(value)
        box.toggled.connect(lambda on: self.changed.emit({name: on}))
        self.body.addWidget(box)


class DeviceSheet(Sheet):
    """All facts about a device, its self-test, and advice if it cannot be used."""

    test_requested = Signal(str)
    tune_requested = Signal(str, bool)

    def __init__(self, device: Device) -> None:
        super().__init__(device_words.title(device), 560)
        self.device_id = device.id
        self._checks = QVBoxLayout()
        self._facts = QVBoxLayout()
        self.body.addLayout(self._checks)
        self.body.addLayout(self._facts)
        self.body.addStretch(1)
        self.test = button("Self-test", self.begin_test, "primary")
        self.test.setToolTip("Search the bundled examples on it and compare with their known answers")
        ask = self.tune_requested.emit
        self.tune = button("Tune", lambda: ask(device.id, False), tip="Try the kernels in different sizes and keep the"
                           " fastest; results do not depend on it")  # fmt: skip
        self.forget = button("Forget tuning", lambda: ask(device.id, True), tip="Restore the built-in settings")
        self.foot.addLayout(row(self.tune, self.forget, None, button("Close", self.close_sheet), self.test))
        self.setFocusProxy(self.test)
        self.show_device(device)

    def show_device(self, device: Device) -> None:
        """Show the present facts."""
        clear_layout(self._facts)
        severity, words = device_words.health(device)
        if device.problem:
            self._facts.addWidget(notice_row(severity, f"{words}. {device.problem}"))
        self._facts.addWidget(facts_grid(device_words.facts(device)))
        for tool in (self.tune, self.forget):
            tool.setVisible(device.kind != "reference")
            tool.setEnabled(device.is_usable)

    def add_trial(self, trial: Json) -> None:
        """Show the last trial of a running tuning."""
        clear_layout(self._checks)
        words = device_words.trial(trial)
        self._checks.addWidget(notice_row("caution" if trial["problem"] else "note", words))
        self.resized.emit()

    def begin_test(self) -> None:
        """Request the self-test, and show that it runs, and for how long."""
        self.test.setEnabled(False)
        self.test.setToolTip("The self-test is running.")
        clear_layout(self._checks)
        words, begun = label("Testing…", "muted"), time.monotonic()
        clock = QTimer(words, interval=1000)
        clock.timeout.connect(lambda: words.setText(f"Testing for {formatting.duration(time.monotonic() - begun)}…"))
        clock.start()
        self._checks.addWidget(words)
        self.resized.emit()
        self.test_requested.emit(self.device_id)

    def show_test(self, device: str, checks: list[DeviceFields], problem: str) -> None:
        """Show the result of a self-test."""
        if device != self.device_id:
            return
        self.test.setEnabled(True)
        clear_layout(self._checks)
        for check in checks:
            verdict = "equal" if check["equal"] else "differs"
            text = f"{check['name']}: {verdict}. {check.get('detail') or ''}".strip()
            self._checks.addWidget(notice_row("good" if check["equal"] else "stop", text))
        if problem:
            self._checks.addWidget(notice_row("stop", problem))
        self.resized.emit()


class TextSheet(Sheet):
    """Names and texts to read: shortcuts, the filter language, about."""

    is_aside: ClassVar[bool] = True

    def __init__(self, heading: str, parts: list[tuple[str, list[tuple[str, str]]]]) -> None:
        super().__init__(heading, 600)
        for title, rows in parts:
            if title:
                self.body.addWidget(label(title, "heading"))
            self.body.addWidget(facts_grid(rows))
            self.body.addSpacing(8)
        self.body.addStretch(1)
        close = button("Close", self.close_sheet, "primary")
        self.foot.addLayout(row(None, close))
        self.setFocusProxy(close)
