"""What the sheets that start a search share: a form, a device, notices, and the same as a command."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QComboBox, QVBoxLayout, QWidget

from clalign.errors import ClalignError
from clalign.values.specs import Spec

from ... import formatting, theme
from ...models import device_words
from ...models.results.scripts import as_command, as_python
from ...models.workspace import (
    Notice,
    Source,
    SourceKind,
    Workspace,
)
from .choices import NarrowBox
from .flow import Flow
from .option_form import FormLines, OptionForm
from .parts import button, clear_layout, label, notice_row, row, set_role
from .sheet import Sheet

NOTHING = "Choose or open a file"

FORESEE_MS = 600
"""So long nothing must change before it is asked what a run would take: a worker looks at files and device."""

LINES = 3
"""Lines of the grid of files that each may take."""


def source_words(source: Source) -> str:
    """Return a file as the sheet lists it."""
    if source.kind == "sequences" and source.report:
        return f"{source.name} – {formatting.plural(source.report['n_sequences'], 'sequence')}"
    if source.kind == "profiles" and source.cards:
        names = source.cards[0]["name"] if len(source.cards) == 1 else formatting.plural(len(source.cards), "profile")
        return f"{source.name} – {names}"
    return source.name


class SpecSheet(Sheet):
    """Asks for nothing that is already known; what is missing is said.

    Parameters
    ----------
    form : OptionForm
    texts : tuple of str
        Heading, what stands above the form, and the words of the button that starts.
    tip : str
        Tooltip of that button.
    """

    run_asked = Signal(object)
    foresee_asked = Signal(object)
    """What the spec that is filled in would take; answered by `show_foreseen`."""
    foreseeing_outdated = Signal()
    """Another spec is filled in than the one of which that was asked."""
    open_asked = Signal()
    action_asked = Signal(str)

    def __init__(self, workspace: Workspace, form: OptionForm, texts: tuple[str, str, str], tip: str) -> None:
        super().__init__(texts[0], 680)
        self.workspace = workspace
        self.spec: Spec | None = None
        self.form, self.devices = form, NarrowBox()
        self.command = label("", "muted", wrap=True, selectable=True)
        self.command.setFont(theme.mono_font(9))
        self.estimate = label("", "muted")
        self.run_button = button(texts[2], self._run, "primary", tip)
        self._run_tip = tip
        self._is_wanted: Callable[[], bool] | None = None
        self._foreseen: dict[str, dict[str, Any]] = {}
        self._typing = QTimer(self, singleShot=True, interval=FORESEE_MS)
        self._typing.timeout.connect(self.ask_foreseen)
        self.setFocusProxy(self.run_button)
        self._notices, self.cautions = QVBoxLayout(), QVBoxLayout()
        self._build(texts[1])
        self._connect()
        self.show_workspace()

    def _build(self, how: str) -> None:
        self.body.addWidget(label("What", "muted"))
        self.body.addWidget(self._what())
        self.body.addSpacing(8)
        self.body.addWidget(label(how, "muted"))
        self.body.addWidget(self.form)
        self.body.addSpacing(8)
        self.body.addWidget(label("Where", "muted"))
        self.body.addWidget(self._where())
        self.body.addLayout(self._notices)
        self.body.addStretch(1)
        self.foot.addLayout(self.cautions)  # which are seen without scrolling
        self.foot.addWidget(self.command)
        self.copies = (
            button("Copy as command", self.copy_command, "flat"), button("Copy as Python", self.copy_python, "flat")
        )  # fmt: skip
        self.foot.addLayout(row((Flow(*self.copies), 1), self.estimate, self.run_button))

    def _files(self) -> dict[str, tuple[str, QComboBox]]:
        """Return what the boxes of the files are called, and they, by what the workspace calls the chosen files."""
        raise NotImplementedError

    def _what(self) -> QWidget:
        """Return the files to choose, and what belongs to them."""
        made = FormLines()
        for place, (text, box) in enumerate(self._files().values()):
            made.add(LINES * place, text, box)
            opens = button("Open…", self.open_asked.emit)
            made.grid.addWidget(opens, LINES * place, 2, Qt.AlignmentFlag.AlignLeft)
        self._add_more(made)
        return made

    def _where(self) -> QWidget:
        """Return what the search runs on."""
        made = FormLines()
        made.add(0, "Device", self.devices)
        made.grid.addWidget(label(), 0, 2)  # an empty column would take no room
        return made

    def _add_more(self, lines: FormLines) -> None:
        """Add what belongs below the files, or below one of them; each has `LINES` lines."""

    def _connect(self) -> None:
        for name, (_, box) in self._files().items():
            box.activated.connect(lambda _, name=name, box=box: self._choose(name, box.currentData()))
        self.devices.activated.connect(lambda: self.workspace.choose_device(self.devices.currentData()))
        self.form.changed.connect(self.show_spec)
        self.form.resized.connect(self.resized)
        for signal in (
            self.workspace.sources_changed,
            self.workspace.choice_changed,
            self.workspace.devices_changed,
        ):
            signal.connect(self.show_workspace)

    def _choose(self, name: str, path: str) -> None:
        (self.workspace.choose_queries if name == "queries" else self.workspace.choose)(path)

    def fill_files(self, box: QComboBox, kind: SourceKind, path: str) -> None:
        """Show the open files of a kind."""
        box.clear()
        for source in self.workspace.of_kind(kind):
            box.addItem(source_words(source), source.path)
        if not box.count():
            box.addItem(NOTHING, "")
        box.setCurrentIndex(max(0, box.findData(path)))

    def show_workspace(self) -> None:
        """Show the files and devices there are."""
        space = self.workspace
        for name, (_, box) in self._files().items():
            self.fill_files(box, "profiles" if name == "profiles" else "sequences", getattr(space, f"{name}_path"))
        self.devices.clear()
        now = device_words.title(space.auto_device()) if space.devices_known else "devices are still being looked for"
        self.devices.addItem(f"Automatic ({now})", "auto")
        for device in space.devices:
            self.devices.addItem(f"{device_words.title(device)} · {device_words.line(device)}", device.id)
        if space.cluster:
            self.devices.addItem(f"Cluster ({space.cluster})", space.device_id)
        self.devices.setCurrentIndex(max(0, self.devices.findData(space.device_id)))
        self.show_spec()

    def show_spec(self) -> None:
        """Show command, notices and estimate of what is filled in."""
        values, problem = self.form.values()
        before, self.spec = self.spec, None
        try:
            self.spec = None if problem else self._filled_in(values)
        except ClalignError as error:
            problem = str(error)
        if self.spec != before:
            self.foreseeing_outdated.emit()
        said = self._said()
        self._say(problem, self._reason(), self._estimate(), {notice.text for notice in said})
        self._show_notices(problem, said)
        self._show_more(values)
        self._start_if_ready()
        self.resized.emit()

    def _filled_in(self, values: dict[str, Any]) -> Spec | None:
        """Return what is filled in, None while files are missing; raises `ClalignError` if it makes no sense."""
        raise NotImplementedError

    def _said(self) -> list[Notice]:
        """Return what is to be said of files and device."""
        raise NotImplementedError

    def _estimate(self) -> str:
        """Return how long it may take; empty if that is not known."""
        raise NotImplementedError

    def _show_more(self, values: dict[str, Any]) -> None:
        """Show what else depends on the options."""

    def _reason(self) -> str:
        """Return why it cannot start now; empty if it can."""
        raise NotImplementedError

    def _say(self, problem: str, reason: str, estimate: str, said: set[str]) -> None:
        """Let the search start, or say what is wrong with the options, or else why it cannot, unless that is `said`."""
        reason = problem or reason
        self.run_button.setEnabled(not reason)
        self.run_button.setToolTip(reason or self._run_tip)
        for copies in self.copies:
            copies.setEnabled(self.spec is not None)
            copies.setToolTip("" if self.spec is not None else reason)
        command = as_command(self.spec) if self.spec and not reason else ""
        self.command.setText(command if reason in said else reason or command)
        set_role(self.command, "role", "caution" if problem else "muted")
        self.command.setFont(QApplication.font() if reason else theme.mono_font(9))
        found = self._foreseen.get(_key(self.spec), {}) if self.spec is not None else {}
        self.estimate.setText("" if reason else ", ".join(part for part in (estimate, building_words(found)) if part))
        if not reason and not found:
            self._typing.start()

    def ask_foreseen(self) -> None:
        """Ask for what only a look at kept programs can tell, once nothing has changed for a moment."""
        space = self.workspace
        if self.spec is None or not self.run_button.isEnabled() or not space.devices_known or space.cluster:
            return
        if space.device.kind != "reference" and _key(self.spec) not in self._foreseen:
            self.foresee_asked.emit(self.spec)

    def show_foreseen(self, spec: Spec, found: dict[str, Any]) -> None:
        """Take over what a run would take."""
        self._foreseen[_key(spec)] = found or {"devices": []}
        self.show_spec()

    def _show_notices(self, problem: str, found: list[Notice]) -> None:
        for shown in (self._notices, self.cautions):
            clear_layout(shown)
        if problem:
            self.cautions.addWidget(notice_row("stop", problem))
        for notice in found:
            buttons = [button(text, partial(self.action_asked.emit, name)) for name, text in notice.ways]
            place = self.cautions if notice.severity in ("caution", "stop") else self._notices
            place.addWidget(notice_row(notice.severity, notice.text, *buttons))

    def run_when_ready(self, is_wanted: Callable[[], bool]) -> None:
        """Start when the files are read, if that is still wanted then: others may have been chosen."""
        self._is_wanted = is_wanted
        self._start_if_ready()

    def _start_if_ready(self) -> None:
        if self._is_wanted is not None and self.run_button.isEnabled():
            if self._is_wanted():
                QTimer.singleShot(0, self, self.run_button.click)
            self._is_wanted = None

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


def building_words(found: dict[str, Any]) -> str:
    """Return how long kernels are prepared before a run that was foreseen; empty if all are kept."""
    n_new = sum(device["new"] for device in found.get("devices", ()))
    if not n_new:
        return ""
    return f"and {time_words(found['build_seconds'])} to prepare {formatting.plural(n_new, 'kernel')}, once"


def _key(spec: Spec) -> str:
    return json.dumps(spec.to_dict(), default=str)


def time_words(seconds: float) -> str:
    """Return an estimate in whole seconds, or in rounder words."""
    whole = math.ceil(seconds)
    return f"about {whole}{formatting.THIN}s" if whole < 10 else f"about {formatting.duration(whole)}"
