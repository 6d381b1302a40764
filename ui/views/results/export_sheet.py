"""The export sheet: hits, format, and file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QCheckBox,
    QFileDialog,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QRadioButton,
    QSpinBox,
    QWidget,
)

from clalign.common.plain_data import Json
from clalign.engines.exports import Export, NamedColumns, Shape
from clalign.errors import OptionError
from clalign.formats.writers import PROVENANCE_ENDING

from ... import formatting, theme
from ..widgets.choices import NarrowBox
from ..widgets.flow import Flow
from ..widgets.parts import allow_entry, button, label, row
from ..widgets.sheet import Sheet

LEFT = QTextOption.TabType.LeftTab

GROUPS = {title.lower(): title for title in ("Sequences", "Alignment", "Table", "Annotation", "Report")}
"""Titles of the groups of formats."""

PREVIEW_MS, PREVIEW_LINES, GAP = 200, 8, 2
"""Pause after a change before the first lines are written, how many are shown, and the letters between columns."""

HIT_CHOICES = {
    "all": "All reported hits",
    "significant": "Significant hits",
    "filtered": "Hits shown in the table",
    "selected": "Selected hits",
}
"""Titles of the choices of hits."""

TIPS = {"significant": "As judged by the search; for tables of domains only significant domains"}


@dataclass(frozen=True)
class ExportChoices:
    """The available exports.

    Attributes
    ----------
    name : str
        Proposed file name without ending.
    of_one : str
        Is added to it for hits of the query in view alone.
    counts : dict
        Number of hits that are ``all``, ``filtered`` (shown) and ``selected``; where hits are judged also those that
        are ``significant``, None if they are not counted.
    folder : Path
    forms : sequence of Export
    columns : str
        Their proposed names.
    form : str
        The proposed form, if it is one of them.
    one_query : str
        Hint for exports of one query if hits of several are chosen.
    """

    name: str
    counts: dict[str, int | None]
    folder: Path
    forms: Sequence[Export]
    columns: str = ""
    form: str = ""
    one_query: str = ""
    of_one: str = ""

    @property
    def named(self) -> NamedColumns | None:
        """The columns that one of the formats can choose."""
        return next((form.columns for form in self.forms if form.columns is not None), None)


class FirstLines(QPlainTextEdit):
    """The first lines of a file; long ones are scrolled to."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setFont(theme.mono_font(9))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAccessibleName("First lines of the file")
        self.setFixedHeight(PREVIEW_LINES * self.fontMetrics().lineSpacing() + 28)

    def show_lines(self, lines: list[str]) -> None:
        """Show lines, and columns that tabulators separate below each other."""
        cells = [line.split("\t") for line in lines]
        widths = [max(map(len, column)) for column in zip_longest(*cells, fillvalue="")]
        option = self.document().defaultTextOption()
        letter = self.fontMetrics().horizontalAdvance("0")
        option.setTabs([QTextOption.Tab(end * letter, LEFT) for end in accumulate(width + GAP for width in widths)])
        self.document().setDefaultTextOption(option)
        self.setPlainText("\n".join(lines))


class ExportSheet(Sheet):
    """First what is exported, then its format; emits format, file and hits; see `shape` for the rest."""

    export_requested = Signal(str, str, str)

    preview_requested = Signal(str, str)
    """Format and choice of hits whose first lines are needed; see `take_preview`."""

    outdated = Signal()
    """There may be more hits; see `show_count`."""

    queries_requested = Signal(str)
    """The choice of hits whose number of queries is needed; see `take_queries`."""

    def __init__(self, choices: ExportChoices) -> None:
        super().__init__("Export hits", 760)
        self._choices = choices
        self._n_queries: dict[str, int | None] = {}
        self._own_name = self._is_made = False
        self.groups, self.forms, self.which = QButtonGroup(self), NarrowBox(), QButtonGroup(self)
        self._last: dict[str, str] = {}  # the format that was chosen of each group
        self._later = QTimer(self, singleShot=True, interval=PREVIEW_MS)
        self._later.timeout.connect(lambda: self.preview_requested.emit(self._form.name, self._which))
        self.path = QLineEdit()
        self.path.setAccessibleName("File to write")
        self.path.textEdited.connect(self._note_name)
        self.problem = label("", "caution", wrap=True)
        self.problem.setMinimumHeight(self.problem.fontMetrics().lineSpacing() + 2)
        self.export_button = button("Export", self._export, "primary")
        self._add_forms()
        self._add_columns()
        self._add_which()
        self.preview = FirstLines()
        self.body.addWidget(label("First lines", "muted"))
        self.body.addWidget(self.preview)
        self.body.addStretch(1)
        self.foot.addLayout(row(label("File", "muted"), self.path, button("Choose…", self._choose_path)))
        self.foot.addWidget(self.problem)
        self.foot.addLayout(row(None, button("Cancel", self.close_sheet), self.export_button))
        self.setFocusProxy(self.forms)
        self.forms.currentIndexChanged.connect(lambda _: self._note_form())
        self._is_made = True
        self.path.textChanged.connect(lambda: self._judge())
        self.columns.textChanged.connect(lambda: self._judge())
        self._propose()

    def _add_forms(self) -> None:
        forms = self._choices.forms
        for number, (group, title) in enumerate(GROUPS.items()):
            if any(form.group == group for form in forms):
                made = QRadioButton(title)
                self.groups.addButton(made, number)
                made.toggled.connect(lambda is_on, group=group: self._show_group(group) if is_on else None)
        self.body.addWidget(label("What", "muted"))
        self.body.addLayout(Flow(*self.groups.buttons(), spacing=24))
        self.forms.setAccessibleName("Format")
        self.forms.setMinimumContentsLength(44)
        self.body.addLayout(row(label("Format", "muted"), self.forms, None))
        wanted = [form for form in forms if form.name == self._choices.form]
        wanted += [form for form in forms if form.separator == "\t"]  # before anything was exported
        self.choose_form((wanted or list(forms))[0].name)
        self.body.addSpacing(8)

    def _show_group(self, group: str) -> None:
        """List the formats of a group, and choose the one that was chosen of it before, or its first one."""
        self.forms.blockSignals(True)
        self.forms.clear()
        for form in self._choices.forms:
            if form.group == group:
                self.forms.addItem(form.words, form.name)
                place = self.forms.count() - 1
                tip = formatting.tip(form.help[:1].upper() + form.help[1:])
                self.forms.setItemData(place, tip, Qt.ItemDataRole.ToolTipRole)
                try:
                    form.check()
                except OptionError as error:
                    self.forms.setItemText(place, f"{form.words} – not installed")
                    allow_entry(self.forms, place, str(error))
        self.forms.setCurrentIndex(max(0, self.forms.findData(self._last.get(group, ""))))
        self.forms.blockSignals(False)
        self._propose()

    def choose_form(self, name: str) -> None:
        """Choose a format and its group."""
        group = next(form.group for form in self._choices.forms if form.name == name)
        self._last[group] = name
        self.groups.button(list(GROUPS).index(group)).setChecked(True)
        self.forms.setCurrentIndex(self.forms.findData(name))

    def _note_form(self) -> None:
        self._last[self._form.group] = self._form.name
        self._propose()

    def _add_columns(self) -> None:
        """Add the line for names of columns, which one of the formats needs."""
        named = self._choices.named
        self.columns = QLineEdit(self._choices.columns or (named.usual if named else ""))
        self.columns.setAccessibleName(f"Columns of {named.title}" if named else "Columns")
        self.columns.setToolTip(named.tip if named else "")
        self._menu = QMenu(self)
        add = button("Add…", lambda: self._menu.popup(add.mapToGlobal(add.rect().bottomLeft())), tip="Add a column")
        for name, text in (named.known if named else {}).items():
            action = self._menu.addAction(f"{name}\t{text}")
            action.triggered.connect(lambda _=False, name=name: self._add_column(name))
        self._columns_line = QWidget()
        self._columns_line.setLayout(row(label("Columns", "muted"), self.columns, add))
        self.body.addWidget(self._columns_line)
        self.is_safe = QCheckBox("Safe for spreadsheets: no name becomes a formula")
        self.flank = QSpinBox()
        self.flank.setRange(0, 1_000_000)
        self.flank.setAccessibleName("Residues on either side of the parts")
        self._flank_line = QWidget()
        self._flank_line.setLayout(row(label("Extra residues on either side", "muted"), self.flank, None))
        self.with_species = QCheckBox("Add a column of species")
        self.with_origin = QCheckBox("Also write a file with its origin")
        self.is_safe.setToolTip("Puts ' before names that begin with =, +, - or @")
        species_tip = "The last column: OS= or OX= of descriptions, or the table of taxonomy chosen on Pictures"
        self.with_species.setToolTip(species_tip)
        tip = f"With {PROVENANCE_ENDING} at its end: version, command, inputs with checksums, device, date"
        self.with_origin.setToolTip(tip)
        checks = (self.with_origin, self.is_safe, self.with_species, self._flank_line)
        for part in (*checks, self._columns_line):  # what does not apply leaves its room: nothing moves
            policy = part.sizePolicy()
            policy.setRetainSizeWhenHidden(part is not self._columns_line or named is not None)
            part.setSizePolicy(policy)
        self.body.addLayout(Flow(*checks, spacing=24))
        self.body.addSpacing(8)

    def shape(self) -> Json:
        """Return the other choices as fields of a `Shape`."""
        named, text = self._form.columns, self.columns.text().strip()
        chosen = {
            "columns": f"{named.before}{text}" if named is not None and text else "",
            "flank": self.flank.value(),
            "species": self.with_species.isChecked(),
            "safe_cells": self.is_safe.isChecked(),
            "provenance": self.with_origin.isChecked(),
        }
        return {name: value for name, value in chosen.items() if value and self._heeds(name)}

    def _heeds(self, field: str) -> bool:
        """Return whether a choice affects the format; tables of named columns contain the species, too."""
        is_named = field == "species" and self._form.columns is not None
        return self._form.heeds(field, Shape()) and not is_named

    def _add_column(self, name: str) -> None:
        self.columns.setText(f"{self.columns.text().strip()} {name}".strip())

    @property
    def _form(self) -> Export:
        """The chosen format."""
        return next(form for form in self._choices.forms if form.name == self.forms.currentData())

    def _add_which(self) -> None:
        counts = self._choices.counts
        self.body.addWidget(label("Which hits", "muted"))
        for number, (key, text) in enumerate(HIT_CHOICES.items()):
            if key not in counts:
                continue
            known = counts[key]
            made = QRadioButton(text)
            self.which.addButton(made, number)
            made.setToolTip(TIPS.get(key, ""))
            if known is not None:
                self.show_count(key, known)
        self.body.addLayout(Flow(*self.which.buttons(), spacing=24))
        n_all, n_shown, n_selected = (counts[key] or 0 for key in ("all", "filtered", "selected"))
        self._usual_which = "selected" if n_selected > 1 else "filtered" if 0 < n_shown < n_all else "all"
        self.button_of(self._usual_which).setChecked(True)
        self._own_which = False
        self.which.buttonClicked.connect(self._keep_which)
        self.body.addSpacing(8)

    def show_count(self, key: str, count: int) -> None:
        """Show how many hits a choice has."""
        made, self._choices.counts[key] = self.button_of(key), count
        made.setText(f"{HIT_CHOICES[key]} ({formatting.count(count)})")
        made.setEnabled(count != 0)
        made.setToolTip(TIPS.get(key, "") if count else "There are none.")

    def button_of(self, which: str) -> QAbstractButton:
        """Return the button of a choice of hits by a key of `HIT_CHOICES`."""
        return self.which.button(list(HIT_CHOICES).index(which))

    def _keep_which(self) -> None:
        self._own_which = True
        self._propose()

    @property
    def _which(self) -> str:
        """The key of the chosen hits."""
        return list(HIT_CHOICES)[self.which.checkedId()]

    def _note_name(self) -> None:
        self._own_name = True

    def _propose(self) -> None:
        if not self._is_made:
            return
        self._columns_line.setVisible(self._form.columns is not None)
        self.is_safe.setVisible(self._form.separator == "\t")
        self.with_species.setVisible(self._heeds("species"))
        self._flank_line.setVisible(self._heeds("flank"))
        if not self._own_which:
            self.button_of("all" if self._form.is_of_run else self._usual_which).setChecked(True)
        if not self._own_name:
            of_one = self._choices.of_one if self._which in ("filtered", "selected") else ""
            name = f"{self._choices.name}{of_one}{self._form.ending}"
            self.path.setText(str(self._choices.folder / name))
        self.preview.clear()
        self._judge()

    def _judge(self) -> None:
        path = Path(self.path.text().strip() or ".")
        problem = ""
        if not self.path.text().strip() or path.is_dir():
            problem = "Choose a file name."
        elif not path.parent.is_dir():
            problem = f"The folder {path.parent} does not exist."
        elif not self._choices.counts["all"]:
            problem = "There are no hits to export."
        elif self._form.aligns == "one query" and self._choices.one_query and self._known_queries() > 1:
            problem = self._choices.one_query
        elif (named := self._form.columns) is not None:
            try:
                named.check(f"{named.before}{self.columns.text()}")
            except OptionError as error:
                problem = str(error)
        self._preview_later(problem)
        self.export_button.setEnabled(not problem)
        self.export_button.setToolTip(problem)
        exists = not problem and path.exists()
        self.problem.setText(f"{path.name} exists and will be replaced." if exists else problem)

    def _preview_later(self, problem: str) -> None:
        """Have the first lines written, unless they are no text, or there is a problem."""
        self._later.stop()
        if self._form.ending.endswith((".parquet", ".html")):
            self.preview.setPlainText(f"{self._form.words}: no preview.")
        elif not problem:
            self._later.start()
            if not self.preview.toPlainText():
                self.preview.setPlainText("The first lines follow…")  # while a run is written, after seconds

    def take_preview(self, answer: str | Exception) -> None:
        """Show the first lines, also of what stands below a long head, or why there are none."""
        lines = (f"No preview: {answer}" if isinstance(answer, Exception) else answer).splitlines()
        first = next((place for place, line in enumerate(lines) if line and not line.startswith("#")), 0)
        if first >= PREVIEW_LINES - 1:
            lines = [*lines[: PREVIEW_LINES // 2], "…", *lines[first:]]
        self.preview.show_lines(lines[:PREVIEW_LINES])

    def _known_queries(self) -> int:
        """Return how many queries found the chosen hits; 0, after a request, if that is not known yet."""
        which = self._which
        if which not in self._n_queries:
            self._n_queries[which] = None
            self.queries_requested.emit(which)
        return self._n_queries[which] or 0

    def take_queries(self, answer: tuple[str, int] | Exception) -> None:
        """Set how many queries found some hits; errors are left to the export."""
        if not isinstance(answer, Exception):
            which, n_queries = answer
            self._n_queries[which] = n_queries
            self._judge()

    def _choose_path(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Export hits to", self.path.text())
        if name:
            self._own_name = True
            self.path.setText(name)

    def _export(self) -> None:
        self.export_requested.emit(self._form.name, self.path.text().strip(), self._which)
