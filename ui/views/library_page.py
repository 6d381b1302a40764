"""The library of runs: every run with name, date and size, a search, and comparisons of two runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QComboBox, QLineEdit, QStackedWidget, QWidget

from clalign.tools.library import RunEntry

from .. import formatting
from ..models.jobs import JobItem
from ..models.results.run_view import STATE_WORDS
from ..models.widgets.text_table import Row, TextColumn, TextTable
from .widgets.parts import EmptyPanel, back_button, button, fill_box, label, notice_row, row, stacked, title_label
from .widgets.sheet import Sheet
from .widgets.text_table_view import TextTableView

MARKS = {"done": "good", "elsewhere": "note", "unreadable": "stop"}

COLUMNS = (
    TextColumn("Name", "Its name, or those of its inputs", lambda r: r["name"], width=200, stretch=True,
               mark=lambda r: MARKS.get(r["state"], "caution"), value=lambda r: r["name"].casefold()),
    TextColumn("Command", "Command that made it", lambda r: r["kind"], width=110, value=lambda r: r["kind"]),
    TextColumn("State", "State of the run", lambda r: state_words(r), width=130, value=lambda r: state_words(r)),
    TextColumn("Hits", "Reported hits of all queries", lambda r: hit_words(r), right=True, width=80,
               value=lambda r: r["n_hits"], large_first=True),
    TextColumn("Made", "Start time", lambda r: formatting.moment(r["created"]), width=130,
               value=lambda r: r["created"], large_first=True),
    TextColumn("Device", "Which computed it", lambda r: r["device"], width=150, value=lambda r: r["device"]),
    TextColumn("Size", "Of the run file", lambda r: formatting.size(r["n_bytes"]), right=True, width=80,
               value=lambda r: r["n_bytes"], large_first=True),
)  # fmt: skip


def hit_words(found: Row) -> str:
    """Return the number of hits of a run; empty if it searches none."""
    return "" if found["kind"] == "align" else formatting.count(found["n_hits"])


def state_words(found: Row) -> str:
    """Return the state of a run as text."""
    if (job := found["job"]) is not None:
        share = f", {formatting.percent(job.course.fraction)}" if job.course.fraction else ""
        return f"{job.state_words}{share}"
    return "cannot be read" if found["problem"] else STATE_WORDS.get(found["state"], str(found["state"]))


ACTIONS = {
    "open": ("Open", "Show its results (Enter)"),
    "resume": ("Continue", "It is partial: compute the rest"),
    "rename": ("Rename…", "Give it a name, stored in its file"),
    "reveal": ("Show in folder", "Open its folder"),
    "compare": ("Compare runs", "Which hits two runs share; choose two"),
    "delete": ("Delete…", "Delete it permanently, after confirmation"),
}


NEEDED = {"resume": "Choose a partial run.", "compare": "Choose two runs (Ctrl+click)."}
"""What actions need that are not for any run."""

PARTIAL = ("stopped", "failed")
"""States of runs that can go on."""


class LibraryPage(QWidget):
    """Search box, table, and actions on the selected runs."""

    back_requested = Signal()
    search_changed = Signal(str)
    action_requested = Signal(str, list)
    """Action, and the paths of the selected runs."""

    def __init__(self) -> None:
        super().__init__()
        self.model = TextTable(COLUMNS, self, is_dim=lambda r: bool(r["problem"]))
        self.table = TextTableView(self.model, "Runs")
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.ActionsContextMenu)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search: name, files, command, state")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search runs")
        self.search.textChanged.connect(self.search_changed)
        self.count = label("", "muted")
        self.buttons = {}
        for name, (text, tip) in ACTIONS.items():
            self.buttons[name] = button(text, partial(self._ask, name), tip=tip)
            self.table.addAction(text, partial(self._ask, name))
        self.empty = EmptyPanel("archive-outline", "", "")
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(self.table)
        head = row(back_button(self.back_requested.emit), (title_label("Library of runs"), 1), self.count)
        head.setContentsMargins(12, 8, 12, 0)
        tools = row((self.search, 1), *self.buttons.values(), margins=(12, 0, 12, 4))
        self.setLayout(stacked(head, tools, (self._stack, 1)))
        self.setFocusProxy(self.search)
        self.table.selectionModel().selectionChanged.connect(self.show_choice)
        self.table.activated.connect(lambda _: self._ask("open"))
        self.search.returnPressed.connect(self._open_found)
        self.show_choice()

    def show_runs(self, rows: list[Row], n_all: int) -> None:
        """Show runs."""
        chosen = self.chosen()
        self.model.set_rows(rows)
        of = f" of {formatting.count(n_all)}" if len(rows) < n_all else ""
        size = formatting.size(sum(found["n_bytes"] for found in rows))
        runs = f"{formatting.count(len(rows))}{of} runs" if of else formatting.plural(len(rows), "run")
        self.count.setText(f"{runs} · {size}")
        self._stack.setCurrentIndex(1 if rows else 0)
        words = ("No run matches", "Clear the search to see all.") if n_all else (
            "No runs", "Every search, comparison and alignment is kept here.")  # fmt: skip
        self.empty.show_text(*words)
        for place, found in enumerate(self.model.rows):  # as they are sorted
            if found["path"] in chosen:
                self.table.selectRow(place)
        self.show_choice()

    def chosen(self) -> list[str]:
        """Return the paths of the selected runs."""
        places = sorted(index.row() for index in self.table.selectionModel().selectedRows())
        return [str(self.model.rows[place]["path"]) for place in places if place < len(self.model.rows)]

    def show_choice(self) -> None:
        """Enable the actions that apply to the selection."""
        chosen = self.chosen()
        n, partial_runs = len(chosen), [found["path"] for found in self.model.rows if found["state"] in PARTIAL]
        is_partial = n == 1 and chosen[0] in partial_runs
        needs = {"open": n == 1, "resume": is_partial, "rename": n == 1, "reveal": n == 1, "compare": n == 2,
                 "delete": n > 0}  # fmt: skip
        for (name, shown), action in zip(self.buttons.items(), self.table.actions(), strict=True):
            shown.setEnabled(needs[name])
            action.setEnabled(needs[name])
            shown.setToolTip(ACTIONS[name][1] if needs[name] else NEEDED.get(name, "Choose a run."))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The search field leaves these keys to the page.
        if event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up) and self.search.hasFocus():
            self._choose_found()
            self.table.setFocus()
            return
        super().keyPressEvent(event)

    def _choose_found(self) -> None:
        """Select the first run, unless some are selected."""
        if not self.chosen() and self.model.rows:
            self.table.selectRow(0)

    def _open_found(self) -> None:
        self._choose_found()
        self._ask("open")

    def _ask(self, name: str) -> None:
        if self.buttons[name].isEnabled():
            self.action_requested.emit(name, self.chosen())


class NameRunSheet(Sheet):
    """Asks for the name of a run."""

    named = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__("Name of the run", 480)
        self.field = QLineEdit(name)
        self.field.setAccessibleName("Name of the run")
        self.field.selectAll()
        self.body.addWidget(self.field)
        self.body.addWidget(label("Stored in the run file; without one its inputs are its name.", "muted", wrap=True))
        save = button("Rename", lambda: self.named.emit(self.field.text()), "primary")
        self.foot.addLayout(row(None, button("Cancel", self.close_sheet), save))
        self.setFocusProxy(self.field)


class DeleteRunsSheet(Sheet):
    """Asks for confirmation to delete runs."""

    confirmed = Signal()

    def __init__(self, names: list[str], n_bytes: int) -> None:
        what = "the run" if len(names) == 1 else f"{formatting.count(len(names))} runs"
        super().__init__(f"Delete {what}?", 480)
        shown = names if len(names) <= 8 else [*names[:7], f"and {len(names) - 7} more"]
        self.body.addWidget(label("\n".join(shown), wrap=True))
        words = f"{formatting.size(n_bytes)}, with all hits and notes. This cannot be undone; the inputs stay."
        self.body.addWidget(label(words, "muted", wrap=True))
        keep = button("Keep", self.close_sheet)
        self.foot.addLayout(row(None, keep, button("Delete", self.confirmed.emit, "primary")))
        self.setFocusProxy(keep)


def _number_column(title: str, side: str, place: int, words: Callable[[float], str]) -> TextColumn:
    """Return the column of the score or the E-value in a run, by its place in a hit."""
    return TextColumn(title, f"In the {side} run", lambda r: words(r[side][place]) if r[side] else "", right=True,
                      width=90, value=lambda r: r[side] and r[side][place], large_first=place == 0)  # fmt: skip


ONLY = {"first": "only in 1", "second": "only in 2"}
"""What stands in place of the change of hits of only one run."""

COMPARED = (
    TextColumn("Query", "What was searched with", lambda r: r["query"], width=120, value=lambda r: r["query"]),
    TextColumn("Target", "What was found", lambda r: r["target"], width=150, stretch=True, value=lambda r: r["target"]),
    *(
        _number_column(f"{number}: {title}", side, place, words)
        for number, side in enumerate(("first", "second"), 1)
        for place, (title, words) in enumerate((("Score", formatting.score), ("E-value", formatting.evalue)))
    ),
    TextColumn("Change", "Score of the second run minus that of the first",
               lambda r: ONLY.get(r["status"]) or formatting.score(r["change"]), right=True, width=80,
               value=lambda r: r["change"] if r["status"] == "both" else None, large_first=True),
)  # fmt: skip

SIDES = {"": "All hits", "both": "In both", "first": "Only in the first", "second": "Only in the second"}


def verdict(rows: list[Row]) -> tuple[str, str]:
    """Return severity and words on whether two runs have the same hits, scores and E-values."""
    numbers = Counter(found["status"] for found in rows)
    n_both, n_changed = numbers["both"], sum(
        found["status"] == "both" and repr(found["first"]) != repr(found["second"]) for found in rows
    )  # fmt: skip
    if not rows:
        return "note", "Neither run has hits."
    same = f"Both have the same {formatting.plural(n_both, 'hit')}"
    some = f"{formatting.count(n_both)} of {formatting.plural(len(rows), 'hit')} in both"
    parts = [same if n_both == len(rows) else some]
    parts += [f"{formatting.count(numbers[side])} only in the {side}" for side in ("first", "second") if numbers[side]]
    if n_both:
        other = f"{formatting.count(n_changed)} with another score or E-value"
        parts.append(other if n_changed else "scores and E-values equal")
    return "good" if n_both == len(rows) and not n_changed else "note", "; ".join(parts) + "."


class RunsComparedSheet(Sheet):
    """The hits of two runs beside each other."""

    save_requested = Signal()

    def __init__(self, runs: tuple[RunEntry, RunEntry], rows: list[Row]) -> None:
        super().__init__("Comparison of two runs", 860)
        self._rows = rows
        self.body.addWidget(notice_row(*verdict(rows)))
        for place, run in enumerate(runs, 1):
            own = " ".join(flag for flag in run.flags if flag not in runs[2 - place].flags)
            facts = run.name, own, formatting.plural(run.n_hits, "hit"), formatting.moment(run.created), run.device
            self.body.addWidget(label(f"{place}: {' · '.join(part for part in facts if part)}", wrap=True))
            if run.state != "done":
                words = f"Run {place} is {STATE_WORDS.get(run.state, run.state)}: it may lack hits of the other."
                self.body.addWidget(notice_row("caution", words))
        self.sides, numbers = QComboBox(), Counter(found["status"] for found in rows)
        numbers[""] = len(rows)
        fill_box(self.sides, ((side, f"{text} ({formatting.count(numbers[side])})") for side, text in SIDES.items()))
        self.sides.setAccessibleName("Hits to show")
        self.sides.currentIndexChanged.connect(self._show)
        self.body.addLayout(row(self.sides, None))
        self.model = TextTable(COMPARED, self)
        self.table = TextTableView(self.model, "Hits of both runs")
        self.table.setMinimumHeight(300)
        self.body.addWidget(self.table, 1)
        self._show()
        save = button("Save as TSV…", self.save_requested.emit, "primary")
        self.foot.addLayout(row(None, button("Close", self.close_sheet), save))

    def _show(self) -> None:
        side = self.sides.currentData()
        self.model.set_rows([found for found in self._rows if side in ("", found["status"])])


def entry_row(entry: RunEntry, job: JobItem | None = None) -> Row:
    """Return an entry of the library as a row, with the job of this window that works on it."""
    names = ("name", "kind", "state", "created", "n_bytes", "n_hits", "device", "problem")
    tip = "\n".join([str(entry.path), *entry.inputs, entry.problem]).strip()
    return {"path": str(entry.path), "tip": tip, "job": job, **{name: getattr(entry, name) for name in names}}
