"""The tree of the data dock."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QStandardItem, QStandardItemModel

from .. import formatting, theme
from .file_names import distinct_names
from .workspace import Source, SourceKind, Workspace

PATH_ROLE = Qt.ItemDataRole.UserRole + 1
LINE_ROLE = Qt.ItemDataRole.UserRole + 2
"""Text at the right of a name, and its color of the theme."""

GROUPS: tuple[tuple[SourceKind, str, str], ...] = (
    ("sequences", "Sequences", "text-box-outline"),
    ("profiles", "Profiles", "chart-timeline-variant"),
    ("run", "Runs", "table"),
)

EMPTY = {
    "sequences": "Open a sequence file, or drop it here",
    "profiles": "Open a profile file (.hmm)",
    "run": "Searches appear here",
}


def source_line(source: Source) -> str:
    """Return the second half of a row of the tree."""
    if source.state == "reading":
        return "reading…"
    if source.state == "refused":
        return "not readable"
    if source.kind == "sequences":
        return f"{formatting.count(source.report['n_sequences'])} · {formatting.alphabet(source.alphabet_found)}"
    if source.kind == "profiles":
        if len(source.cards) == 1:
            return f"{source.cards[0]['length']} nodes"
        return formatting.plural(len(source.cards), "profile")
    return str(source.report.get("state_words", ""))


def distinct_titles(sources: list[Source]) -> dict[str, str]:
    """Return titles of files by their paths; runs with the same title get a number, other files their folder."""
    names = distinct_names(source.path for source in sources if source.kind != "run")
    runs = [source for source in sources if source.kind == "run"]
    common, counts = Counter(source.name for source in runs), Counter[str]()
    for source in runs:
        counts[source.name] += 1
        names[source.path] = f"{source.name} ({counts[source.name]})" if common[source.name] > 1 else source.name
    return names


class DataTree(QStandardItemModel):
    """Open sequences, profiles and runs."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        workspace.sources_changed.connect(self.rebuild)
        workspace.choice_changed.connect(self.rebuild)
        self.rebuild()

    def rebuild(self) -> None:
        """Show the files of the workspace."""
        self.clear()
        unknown = self._workspace.of_kind("unknown")
        self._names = distinct_titles(list(self._workspace.sources.values()))
        for kind, title, icon in GROUPS:
            group = QStandardItem(title)
            group.setFlags(Qt.ItemFlag.ItemIsEnabled)
            font = group.font()
            font.setBold(True)
            group.setFont(font)
            self.appendRow(group)
            sources = self._workspace.of_kind(kind)
            for source in [*sources, *(one for one in unknown if one.kind_by_name == kind)]:
                group.appendRow(self._row(source, icon))
            if not group.rowCount():
                group.appendRow(self._plain(EMPTY[kind]))

    def _plain(self, text: str) -> QStandardItem:
        item = QStandardItem(text)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled)
        item.setForeground(QColor(theme.current().muted))
        return item

    def _row(self, source: Source, icon: str) -> QStandardItem:
        name, line = QStandardItem(self._names[source.path]), source_line(source)
        chosen = source.path in (self._workspace.profiles_path, self._workspace.sequences_path)
        if source.state == "refused":
            name.setIcon(theme.mark("stop"))
        else:
            name.setIcon(theme.icon("check-circle" if chosen else icon, "accent" if chosen else "muted"))
        name.setData((line, "stop_text" if source.state == "refused" else "muted"), LINE_ROLE)
        name.setData(f"{name.text()}, {line}", Qt.ItemDataRole.AccessibleTextRole)
        tip = source.path if not source.problem else f"{source.problem} {source.hint}"
        if chosen:
            tip += "\nUsed for the next search"
        if source.report.get("begun"):
            tip += f"\nBegun {source.report['begun']}"
        name.setData(source.path, PATH_ROLE)
        name.setToolTip(tip)
        name.setEditable(False)
        return name

    def index_of(self, path: str) -> QStandardItem | None:
        """Return the item of a file."""
        for row in range(self.rowCount()):
            group = self.item(row)
            for place in range(group.rowCount()):
                child = group.child(place)
                if child.data(PATH_ROLE) == path:
                    return child
        return None
