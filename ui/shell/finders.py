"""What the command palette finds: commands, opened and recent files, and the queries of the run in view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction

from .. import theme
from ..controllers.app_controller import AppController
from ..models.data_tree import GROUPS, distinct_titles, source_line
from .palette import MAX_NAMES, Entry, Group

if TYPE_CHECKING:
    from ..views.results.results_page import ResultsPage

ICONS = {kind: icon for kind, _, icon in GROUPS}


def begins(wanted: str, text: str) -> bool:
    """Return whether all words of `wanted` begin a word of `text`."""
    starts = re.findall(r"[^\s…,;:()]+", text.lower())
    return all(any(start.startswith(word) for start in starts) for word in wanted.lower().split())


def find_commands(actions: Iterable[QAction], wanted: str) -> Group:
    """Return commands by the starts of words of their titles, or of what they are for."""
    found = [one for one in actions if begins(wanted, f"{one.text()} {one.property('words')}")]
    if wanted:
        found.sort(key=partial(_rank, wanted))
    return Group("Commands", [_command(action) for action in found], len(found))


def _rank(wanted: str, action: QAction) -> tuple[bool, bool, int]:
    """Put titles with the words that were typed first, then what can be run, then those that begin with them."""
    title = _title(action).lower()
    first = len(title.split()[0]) if title.startswith(wanted.lower().strip()) else len(title)
    return not begins(wanted, title), not action.isEnabled(), first


def _title(action: QAction) -> str:
    return action.text().replace("&", "")


def _command(action: QAction) -> Entry:
    refusal = "" if action.isEnabled() else action.toolTip()
    keys = action.shortcut().toString()
    return Entry(_title(action), action.trigger, action.toolTip(), keys, action.icon(), refusal)


def find_named(title: str, entries: list[tuple[str, Entry]], wanted: str) -> Group:
    """Return the entries in whose text all typed words are; those whose title begins with them come first."""
    words, start = wanted.casefold().split(), wanted.casefold().strip()
    found = [entry for text, entry in entries if all(word in text for word in words)]
    found.sort(key=lambda entry: not entry.title.casefold().startswith(start))
    return Group(title, found[:MAX_NAMES], len(found))


def _show_opened(app: AppController, path: str) -> None:
    app.window.dock.show()
    app.sources.choose_source(path)


def find_opened(app: AppController, wanted: str) -> Group:
    """Return opened files and runs by name or folder."""
    sources = list(app.workspace.sources.values())
    titles = distinct_titles(sources)
    entries = [
        (f"{titles[source.path]} {source.path}".casefold(),
         Entry(titles[source.path], partial(_show_opened, app, source.path), source.path, source_line(source),
               theme.icon(ICONS.get(source.kind, ICONS["sequences"]), "muted")))
        for source in sources
    ]  # fmt: skip
    return find_named("Opened", entries, wanted)


def recent_entries(app: AppController, reopen: Callable[[str], object]) -> list[tuple[str, Entry]]:
    """Return recent files and runs that are not open, with their names and folders; it looks at each on the disk."""
    names, opened, words = app.window.recent_names, app.workspace.sources, app.window.run_words
    return [
        (f"{names[entry.path]} {entry.path}".casefold(),
         Entry(names[entry.path], partial(reopen, entry.path), entry.path,
               words.get(entry.path, ("", "", ""))[1], refusal=entry.problem))
        for entry in app.settings.recent if entry.path not in opened
    ]  # fmt: skip


def find_queries(app: AppController, wanted: str) -> Group:
    """Return the queries of the run in view by name, accession or description; none before something is typed."""
    page, start = app.page, wanted.casefold().strip()
    if page is None or not start:
        return Group("", [], 0)
    found = [row for row in page.queries.model.holding(wanted) if row["number"] is not None]
    found.sort(key=lambda row: not row["words"].startswith(start))
    icon, is_of_rounds = theme.icon(ICONS["profiles"], "muted"), page.queries.model.has_rounds
    entries = [
        Entry(f"{row['name']}, {row['short']}" if is_of_rounds else row["name"],
              partial(_show_query, page, row["number"]), row["facts"], icon=icon)
        for row in found[:MAX_NAMES]
    ]  # fmt: skip
    return Group(page.run.nouns, entries, len(found))


def _show_query(page: ResultsPage, number: int) -> None:
    page.run.set_profile(number)
    if page.has_tab("hits"):
        page.show_tab("hits")
