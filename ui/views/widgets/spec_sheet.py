"""Base of the sheets that start a run: files, options, device, notices, and the equivalent command."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QComboBox, QVBoxLayout, QWidget
from shiboken6 import isValid

from clalign.engines.engine import engine_for_spec
from clalign.errors import ClalignError
from clalign.execution.speed import START_SECONDS, Estimate
from clalign.values.documents import JobResult
from clalign.values.specs import Spec

from ... import formatting, theme
from ...models import device_words
from ...models.results.scripts import as_command, as_python
from ...models.workspace import STILL_READ, Notice, Source, SourceKind, Workspace
from .choices import NarrowBox
from .flow import Flow
from .option_form import FormLines, OptionForm, Options
from .parts import button, clear_layout, height_for, label, notice_row, row, set_role
from .sheet import Sheet

NOTHING = "Choose or open a file"

DRY_RUN_MS = 600
"""Pause after a change before a worker estimates the time to build kernels (ms)."""

BUILDING_UNKNOWN = "and preparing the device if needed"
"""Stands beside an estimate until a worker has looked which kernels are new."""

LINES = 3
"""Lines of the grid for each file."""


def source_words(source: Source) -> str:
    """Return the entry of a file in the box of files."""
    if source.kind == "sequences" and source.report:
        return f"{source.name} – {formatting.plural(source.report['n_sequences'], 'sequence')}"
    if source.kind == "profiles" and source.cards:
        names = source.cards[0]["name"] if len(source.cards) == 1 else formatting.plural(len(source.cards), "profile")
        return f"{source.name} – {names}"
    return source.name


NOTICES_HEIGHT = 76
"""Pixels for two notices of two lines."""


class SpecSheet(Sheet):
    """A form for a run: its files, options and device, and why it cannot start yet.

    Parameters
    ----------
    form : OptionForm
    options : dict
        Values that the form is filled in with.
    texts : tuple of str
        The heading, and the text of the button that starts the run.
    tip : str
        Tooltip of that button.
    """

    run_requested = Signal(object)
    dry_run_requested = Signal(object)
    """A spec whose time to build kernels is needed; answered by `show_dry_run`."""
    dry_run_outdated = Signal()
    """The spec has changed since `dry_run_requested`."""
    open_requested = Signal()
    action_requested = Signal(str)

    def __init__(
        self, workspace: Workspace, form: OptionForm, options: Options, texts: tuple[str, str], tip: str
    ) -> None:
        super().__init__(texts[0], 680)
        form.set_values(options)
        self.workspace = workspace
        self.spec: Spec | None = None
        self.form, self.devices = form, NarrowBox()
        self.command = label("", "muted", wrap=True, selectable=True)
        self.command.setFont(theme.mono_font(9))
        self.estimate = label("", "muted")
        self.run_button = button(texts[1], self._run, "primary", tip)
        self._run_tip = tip
        self._is_wanted: Callable[[], bool] | None = None
        self._dry_runs: dict[str, JobResult] = {}
        self._typing = QTimer(self, singleShot=True, interval=DRY_RUN_MS)
        self._typing.timeout.connect(self.request_forecast)
        self.setFocusProxy(self.run_button)
        self._notices, self.cautions = QVBoxLayout(), QVBoxLayout()
        self._build()
        self._connect()
        self.show_workspace()

    def preferred_height(self, width: int) -> int:
        # Notices come and go with the choices: what they need must not move the button that starts the run.
        taken = height_for(self._notices, width) + height_for(self.cautions, width)
        spare = max(0, NOTICES_HEIGHT - taken - self.foot.spacing() * bool(self.cautions.count()))
        return super().preferred_height(width) + spare

    def _build(self) -> None:
        self.body.addWidget(self._file_lines())
        self.form.box.insertWidget(1, self._device_line())
        self.body.addWidget(self.form)
        self.body.addLayout(self._notices)
        self.body.addStretch(1)
        self.foot.addLayout(self.cautions)  # which are seen without scrolling
        self.foot.addWidget(self.command)
        self.copies = (
            button("Copy as command", self.copy_command, "flat"),
            button("Copy as Python", self.copy_python, "flat"),
        )
        self.foot.addLayout(row(None, self.estimate))  # however long it gets, no button moves
        self.foot.addLayout(row((Flow(*self.copies), 1), self.run_button))

    def _files(self) -> dict[str, tuple[str, QComboBox]]:
        """Return the label and the box of each file, by the name of the file in the workspace."""
        raise NotImplementedError

    def _file_lines(self) -> QWidget:
        """Return the lines of the files."""
        made = FormLines()
        for place, (text, box) in enumerate(self._files().values()):
            made.add(LINES * place, text, box)
            opens = button("Open…", partial(self._open, box))
            made.grid.addWidget(opens, LINES * place, 2, Qt.AlignmentFlag.AlignLeft)
        self._add_lines(made)
        return made

    def _open(self, box: QComboBox) -> None:
        """Ask for files; Enter is for what is done with them."""
        self.open_requested.emit()
        if isValid(box) and box.isVisible():
            box.setFocus()

    def _device_line(self) -> QWidget:
        """Return the line of the device."""
        made = FormLines()
        made.add(0, "Device", self.devices)
        made.grid.addWidget(label(), 0, 2)  # an empty column would take no room
        return made

    def _add_lines(self, lines: FormLines) -> None:
        """Add lines below the files, or below one of them; each file has `LINES` lines."""

    def _connect(self) -> None:
        for name, (_, box) in self._files().items():
            box.activated.connect(lambda _, name=name, box=box: self._choose(name, box.currentData()))
        self.devices.activated.connect(lambda: self.workspace.choose_device(self.devices.currentData()))
        self.form.changed.connect(self.show_spec)
        self.form.resized.connect(self.resized)
        for signal in (self.workspace.sources_changed, self.workspace.choice_changed, self.workspace.devices_changed):
            signal.connect(self.show_workspace)

    def _choose(self, name: str, path: str) -> None:
        (self.workspace.choose_queries if name == "queries" else self.workspace.choose)(path)

    def fill_files(self, box: QComboBox, kind: SourceKind, path: str, missing: str = "") -> None:
        """Show the open files of a kind, after words for none while none of them is chosen."""
        box.clear()
        for source in self.workspace.of_kind(kind):
            box.addItem(source_words(source), source.path)
        if not box.count():
            read = next((one for one in self.workspace.being_read if one.kind_by_name == kind), None)
            box.addItem(NOTHING if read is None else f"Reading {read.name}…", "")
        if box.findData(path) < 0 and box.itemData(0):
            box.insertItem(0, missing or "Choose…", "")
        box.setCurrentIndex(max(0, box.findData(path)))

    def show_workspace(self) -> None:
        """Show the files and devices there are."""
        space = self.workspace
        for name, (_, box) in self._files().items():
            kind: SourceKind = "profiles" if name == "profiles" else "sequences"
            awaited = space.awaited(kind) if name != "queries" else None
            self.fill_files(box, kind, getattr(space, f"{name}_path"))
            if awaited is not None:
                box.insertItem(0, f"Reading {awaited.name}…", awaited.path)
                box.setCurrentIndex(0)
        self.devices.clear()
        now = device_words.title(space.auto_device()) if space.devices_known else "still looking for devices"
        self.devices.addItem(f"Automatic ({now})", "auto")
        for device in space.devices:
            self.devices.addItem(f"{device_words.title(device)} · {device_words.line(device)}", device.id)
        if space.cluster:
            self.devices.addItem(f"Cluster ({space.cluster})", space.device_id)
        self.devices.setCurrentIndex(max(0, self.devices.findData(space.device_id)))
        self.show_spec()

    def show_spec(self) -> None:
        """Show command, notices and estimate for the form."""
        values, problem = self.form.values()
        before, self.spec = self.spec, None
        try:
            self.spec = None if problem else self._filled_spec(values)
        except ClalignError as error:
            problem = str(error)
        if self.spec != before:
            self.dry_run_outdated.emit()
        notices = self._input_notices()
        self._show_readiness(problem, {notice.text for notice in notices})
        self._show_notices(problem, notices)
        self._show_option_notices(values)
        self._start_if_ready()
        self.resized.emit()

    def _filled_spec(self, values: Options) -> Spec | None:
        """Return the spec of the form, None while files are missing; raises `ClalignError` for invalid options."""
        raise NotImplementedError

    def _input_notices(self) -> list[Notice]:
        """Return notices about files and device."""
        raise NotImplementedError

    def _estimate(self) -> Estimate | None:
        """Return what the run is expected to take; None if that is unknown."""
        raise NotImplementedError

    def _estimate_words(self) -> str:
        """Return the time of the run, as far as it is known."""
        found = self._estimate() if self.spec is not None else None
        if self.spec is None or found is None or found.seconds is None:
            return ""
        beside = found.later_seconds + START_SECONDS
        space, engine = self.workspace, engine_for_spec(self.spec).name
        return formatting.about(beside + space.likely_seconds(engine, space.device.id, found.seconds - beside))

    def _show_option_notices(self, values: Options) -> None:
        """Show notices about the options."""

    def _obstacle(self) -> str:
        """Return why the run cannot start now; empty if it can."""
        raise NotImplementedError

    def _show_readiness(self, problem: str, shown: set[str]) -> None:
        """Enable the start and show the command, or show why the run cannot start, unless a notice does."""
        space = self.workspace
        is_read = any(space.awaited("profiles" if name == "profiles" else "sequences") for name in self._files())
        is_read = is_read or (self.spec is None and bool(space.being_read))
        reason = problem or (STILL_READ if is_read else self._obstacle())
        self.run_button.setEnabled(not reason)
        self.run_button.setToolTip(reason or self._run_tip)
        for copies in self.copies:
            copies.setEnabled(self.spec is not None)
            copies.setToolTip("" if self.spec is not None else reason)
        command = as_command(self.spec) if self.spec and not reason else ""
        self.command.setText(command if reason in shown else reason or command)
        set_role(self.command, "role", "caution" if problem else "muted")
        self.command.setFont(QApplication.font() if reason else theme.mono_font(9))
        found = self._dry_runs.get(_key(self.spec), {}) if self.spec is not None else {}
        is_open = not found and self.workspace.device.kind != "reference"
        parts = () if reason else (self._estimate_words(), BUILDING_UNKNOWN if is_open else building_words(found))
        self.estimate.setText(", ".join(part for part in parts if part))
        if not reason and not found:
            self._typing.start()

    def request_forecast(self) -> None:
        """Request the time to build kernels, which depends on the programs in the cache."""
        space = self.workspace
        if self.spec is None or not self.run_button.isEnabled() or not space.devices_known or space.cluster:
            return
        if space.device.kind != "reference" and _key(self.spec) not in self._dry_runs:
            self.dry_run_requested.emit(self.spec)

    def show_dry_run(self, spec: Spec, found: JobResult) -> None:
        """Show the time to build kernels."""
        self._dry_runs[_key(spec)] = found or {"devices": []}
        self.show_spec()

    def _show_notices(self, problem: str, found: list[Notice]) -> None:
        for shown in (self._notices, self.cautions):
            clear_layout(shown)
        if problem:
            self.cautions.addWidget(notice_row("stop", problem))
        for notice in found:
            buttons = [button(text, partial(self.action_requested.emit, name)) for name, text in notice.ways]
            place = self.cautions if notice.severity in ("caution", "stop") else self._notices
            place.addWidget(notice_row(notice.severity, notice.text, *buttons))

    def run_when_ready(self, is_wanted: Callable[[], bool]) -> None:
        """Start when the files are read, if `is_wanted` still holds: other files may have been chosen."""
        self._is_wanted = is_wanted
        self._start_if_ready()

    def _start_if_ready(self) -> None:
        if self._is_wanted is not None and self.run_button.isEnabled():
            if self._is_wanted():
                QTimer.singleShot(0, self, self.run_button.click)
            self._is_wanted = None

    def _run(self) -> None:
        if self.spec is not None and self.run_button.isEnabled():
            self.run_requested.emit(self.spec)

    def copy_command(self) -> None:
        """Copy the command."""
        if self.spec:
            QGuiApplication.clipboard().setText(as_command(self.spec))

    def copy_python(self) -> None:
        """Copy the same as a Python program."""
        if self.spec:
            QGuiApplication.clipboard().setText(as_python(self.spec))


def building_words(found: JobResult) -> str:
    """Return the time to compile kernels before a run; empty if all are in the cache."""
    is_new = any(device["new"] for device in found.get("devices", ()))
    return f"and {formatting.about(found['build_seconds'])} to prepare the device" if is_new else ""


def _key(spec: Spec) -> str:
    return json.dumps(spec.to_dict(), default=str)
