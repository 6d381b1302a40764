"""All commands of the window: title, shortcut, availability, and function."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QMainWindow, QMenu

from .. import theme
from ..controllers.app_controller import AppController
from ..engines.register import parts
from ..models.results.result_tabs import FOR_SEVERAL_QUERIES, PARTS, TABS
from ..services.commands import (
    Command,
    Elsewhere,
    has_theme,
    no_alignment,
    no_column,
    no_devices,
    no_hit,
    no_hits,
    no_page,
    no_rows,
    no_run_form,
    no_search,
    no_tab,
    no_tuning,
    not_partial,
    nothing_to_close,
    nothing_to_export,
)

SORTED = {
    column.key: column.heading.split(" (")[0]
    for _, view in reversed([*parts("run_view")])
    for column in view.table.columns
    if column.sort
}
"""Columns that a table can be sorted by, and their titles."""

TAB_ICONS = {
    "hits": "table", "families": "grid", "aligned": "format-align-justify", "plots": "chart-histogram",
    "query": "chart-timeline-variant",
}  # fmt: skip

THEMES = (
    ("light", "Light", "white-balance-sunny"), ("dark", "Dark", "weather-night"),
    ("system", "Light or dark as the system", "theme-light-dark"),
)  # fmt: skip

LOOK = "theme appearance"

NO_QUERIES, NO_PART = "This run has only one query.", "This run has no such results."

_COMMANDS = (
    Command("sources.open_files", "Open files…", "File", "Ctrl+O", "folder-open-outline",
            tip="Profiles, sequences or runs, recognized by their content"),
    Command("sources.paste_sequences", "Paste sequences…", "File", "Ctrl+Shift+V", "content-paste"),
    Command("session.restore", "Open the files of the last session", "File", "", "history",
            tip="Files that were open when the window was last closed"),
    Command("hits.export_hits", "Export…", "File", "Ctrl+E", "export-variant", nothing_to_export,
            "Tables (TSV, CSV, Parquet, BLAST), FASTA, alignments, GFF3, BED, architectures, a report (HTML)",
            separator=True, words="hits alignment"),
    Command("alignments.save", "Save alignment…", "File", "Ctrl+S", "content-save-outline", no_rows,
            "The selected block, or all of it: Stockholm, aligned FASTA, Clustal, A2M, A3M, PHYLIP, MSF, NEXUS"),
    Command("alignments.export_picture", "Save alignment as a picture…", "File", "", "export-variant", no_rows,
            "With names, ruler, tracks and legend as SVG, PDF or PNG"),
    Command("close_page", "Close results", "File", "Ctrl+W", "close", nothing_to_close,
            "The file stays on disk and among the recent files"),
    Command("window.quit", "Quit", "File", "Ctrl+Q", "exit-to-app", separator=True),
    Command("window.press:copy", "Copy", "Edit", "", "content-copy",
            tip="The selection in the focused field, table or alignment (Ctrl+C)"),
    Command("window.press:select_all", "Select all", "Edit", "", "select-all",
            tip="In the focused field, table or alignment (Ctrl+A)"),
    Command("page.hits.table.copy", "Copy hits as table", "Edit", "Ctrl+Shift+C", "content-copy", no_hits,
            "The selected hits, or all that are shown, as tab-separated text with a header", separator=True),
    Command("page.hit.copy_text", "Copy alignment as text", "Edit", "", "content-copy", no_hit),
    Command("page.hit.copy_fasta", "Copy matched parts as FASTA", "Edit", "", "content-copy", no_hit),
    Command("alignments.panel.copy", "Copy selected block of the alignment", "Edit", "", "content-copy", no_rows,
            "As aligned FASTA; Ctrl+C in the alignment"),
    Command("alignments.panel.start_finding", "Find in the alignment", "Edit", "", "magnify", no_rows,
            "Residues, a pattern or a name; Ctrl+F in the alignment"),
    Command("hits.copy_command", "Copy search as command", "Edit", "", "console", no_run_form, separator=True),
    Command("hits.copy_python", "Copy search as Python", "Edit", "", "language-python", no_run_form),
    Command("hits.undo_note", "Undo note", "Edit", "Ctrl+Z", "undo",
            lambda app: "" if app.notes.canUndo() else Elsewhere("No note was changed."),
            "Undoes the last change of a note", separator=True),
    Command("hits.redo_note", "Redo note", "Edit", "Ctrl+Shift+Z", "redo",
            lambda app: "" if app.notes.canRedo() else Elsewhere("No change of a note was undone.")),
    Command("hits.edit_note", "Note…", "Edit", "F2", "note-edit-outline", no_hit,
            "Edits the note of the selected hit, which is stored in the run file"),
    Command("hits.filter_hits", "Filter hits", "Edit", "Ctrl+F", "filter-outline", no_page, separator=True),
    Command("hits.clear_filter", "Clear filter and line", "Edit", "Ctrl+Shift+F", "filter-off-outline", no_page),
    Command("preferences", "Preferences…", "Edit", "Ctrl+,", "cog-outline", separator=True,
            words="settings options appearance look theme residue color scheme contrast motion"),
    *(
        Command(f"show_tab:{name}", text, "View", "", TAB_ICONS[name],
                partial(no_tab, name=name, reason=NO_QUERIES if name in FOR_SEVERAL_QUERIES else NO_PART),
                words=" ".join(PARTS.get(name, {}).values()))
        for name, text in TABS.items()
    ),
    Command("show_report", "Report", "View", "Ctrl+I", "information-outline", no_page,
            "Inputs, messages, device, versions and command of the run in view"),
    Command("focus_data", "Opened files", "", "F9", "file-tree-outline", separator=True),
    Command("show_start", "Start page", "View", "Alt+Home", "home-outline"),
    Command("page.show_alignment", "Alignment of the selected hit", "", "", "format-align-center", no_hit),
    Command("page.step_hit:1", "Next hit", "View", "N", "arrow-down", no_hits, separator=True),
    Command("page.step_hit:-1", "Previous hit", "View", "P", "arrow-up", no_hits),
    Command("hits.choose_columns", "Columns of the table…", "View", "", "view-column-outline", no_page),
    Command("toggle_scale", "Logarithmic histogram", "View", "L", "chart-bell-curve",
            is_on=lambda app: app.settings.preferences.log_counts),
    Command("page.hit.alignment.zoom:1", "Larger letters", "View", "Ctrl++", "magnify-plus-outline", no_hit,
            separator=True, words="zoom in"),
    Command("page.hit.alignment.zoom:-1", "Smaller letters", "View", "Ctrl+-", "magnify-minus-outline", no_hit,
            words="zoom out"),
    Command("page.hit.alignment.zoom:0", "Normal letters", "", "Ctrl+0", "magnify", no_hit),
    Command("alignments.open_chosen", "Chosen alignment", "View", "Ctrl+Shift+L", "format-align-justify", no_alignment,
            "Rows, consensus and conservation of the alignment among the opened files", separator=True),
    Command("alignments.panel.dots.toggle", "Differences in the alignment only", "View", "", "dots-horizontal", no_rows,
            "Dots show where a row agrees with the consensus, or with its reference row"),
    Command("alignments.panel.wrap.toggle", "Wrap the alignment", "View", "", "wrap", no_rows,
            "Blocks of columns below each other"),
    Command("alignments.panel.fit", "Show the whole alignment", "View", "", "fit-to-page-outline", no_rows),
    Command("stop_job", "Stop", "Run", "Ctrl+.", "stop",
            lambda app: "" if app.queue.current is not None else "No job is running.",
            "Stops after this batch; the results so far are kept"),
    Command("pause_job", "Pause or continue", "Run", "Ctrl+Shift+.", "pause", no_search),
    Command("resume_run", "Continue this run", "Run", "", "play-circle-outline", not_partial,
            "From the last finished batch, with the same final result", separator=True),
    Command("resume_elsewhere", "Continue on another device", "Run", "", "play-circle-outline", not_partial),
    Command("jobs.merge_parts", "Merge the runs of parts…", "Run", "", "call-merge",
            tip="Makes one run of all parts of a search (--shard), equal to one search of all sequences"),
    Command("library.show", "Library of runs", "Run", "Ctrl+H", "archive-outline",
            tip="Every run by name, date and size: search, rename, compare, delete", separator=True),
    Command("edit_run", "Run again with changes…", "Run", "", "pencil-outline", no_page,
            "Opens the sheet with the files and options of the run in view"),
    Command("hits.verify_run", "Verify a sample of the hits", "Run", "", "shield-check-outline", no_hits,
            "Computes up to 50 hits again on the reference and compares every number"),
    Command("explanations.explain_hit", "Explain the selected hit", "Run", "", "filter-check-outline",
            no_hit, "Shows the parts of its score: filter by filter, or for two sequences column by column",
            separator=True),
    Command("explanations.explain_named", "Explain one sequence…", "", "", "filter-check-outline", no_page),
    Command("locating.locate_for_page", "Locate files of this run…", "", "", "file-search-outline", no_page,
            "Finds its sequences and profiles after they were moved"),
    Command("hits.verify_hit", "Verify the selected hit", "", "", "shield-check-outline", no_hit),
    Command("jobs.record_next_run", "Record a trace of the next run", "", "", "chart-timeline",
            tip="Threads, queues and kernels on one time line, beside the run: for ui.perfetto.dev or chrome://tracing",
            separator=True),
    Command("trees.show", "Distances and tree", "Alignment", "", "family-tree", no_rows,
            "Joins neighbors to a tree beside the rows, and sorts them by it", separator=True,
            words="phylogeny phylogenetics"),
    Command("alignments.compare", "Compare with another alignment…", "Alignment", "", "compare", no_rows,
            "Shows another alignment of the same sequences below, with the differences"),
    Command("devices.focus_devices", "Choose a device", "Devices", "D", "chip"),
    Command("devices.self_test", "Self-test of the chosen device", "Devices", "", "clipboard-check-outline", no_devices,
            "Searches the bundled examples on it and compares with their known answers"),
    Command("devices.device_details", "Details of the chosen device", "Devices", "", "information-outline", no_devices,
            "Memory, driver and health; test it, tune it, or forget its tuning"),
    Command("devices.tune", "Tune the chosen device", "Devices", "", "tune", no_tuning,
            "Tries the kernels in different sizes and keeps the fastest; results do not depend on it"),
    Command("devices.refresh_devices", "Look for devices again", "Devices", "", "refresh", no_devices),
    Command("labs.open:synchronization", "Inter-group synchronization", "Devices", "", "timer-sand",
            tip="Barriers between work-groups, in every known way, timed and checked on your device",
            separator=True),
    Command("labs.open:publication_004", "Published experiments", "Devices", "", "book-open-page-variant-outline",
            tip="Every numbered table and figure of the published systems, repeated on your device"),
    Command("labs.open:search_comparison", "Compare devices by your search", "Devices", "F8", "scale-balance",
            tip="Runs the search in view on each device and compares hits, time and speed"),
    Command("labs.open:comparison", "Compare devices by a random job", "Devices", "", "scale-balance",
            tip="The same job on several devices: equal scores, speed, start-up, break-even"),
    *(
        Command(f"set_theme:{name}", text, "View", "", icon, separator=name == "light", choice="theme", words=LOOK,
                is_on=partial(has_theme, name=name))
        for name, text, icon in THEMES
    ),
    Command("window.toggle_dock", "Show opened files", "View", "", "dock-left", separator=True,
            is_on=lambda app: not app.window.dock.isHidden()),
    Command("window.reset_layout", "Reset layout", "View", "", "restore", separator=True),
    Command("window.full_screen", "Full screen", "View", "F11", "fullscreen", separator=True),
    Command("help.show", "Help", "Help", "F1", "help-circle-outline", tip="The documents, with search"),
    Command("window.start_tour", "Five-minute tour", "Help", "", "map-marker-path",
            tip="Step by step through a search, on an example"),
    Command("help.show:glossary", "Glossary", "Help", "", "book-open-variant", tip="Every term and number, explained"),
    Command("window.show_keys", "Keys and filter language", "Help", "Shift+F1", "keyboard-outline"),
    Command("window.show_palette", "Commands and names", "Help", "Ctrl+K", "magnify",
            tip="Search commands, files, recent runs, and the families or queries in view"),
    Command("help.messages", "Messages", "Help", "", "message-text-outline",
            tip="All messages since the window was opened", separator=True),
    Command("help.report_problem", "Report a problem…", "Help", "", "bug-outline",
            tip="Versions, state of the installation and log in one file; nothing is sent"),
    Command("window.about", "About clalign", "Help", "", "information-outline", separator=True),
    *(
        Command(f"hits.sort_hits:{key}", f"Sort hits by {title}", "", "", "sort", partial(no_column, key=key))
        for key, title in SORTED.items()
    ),
)  # fmt: skip


def _with_engine_commands() -> tuple[Command, ...]:
    commands = list(_COMMANDS)
    for _, own in parts("commands"):
        for command in own:
            place = next(place for place, other in enumerate(commands) if other.id == command.before)
            commands.insert(place, command)
    # The keys of the parts of the results are counted as their tabs stand.
    tabs = [place for place, command in enumerate(commands) if command.id.startswith("show_tab:")]
    for number, place in enumerate(tabs[: len(TABS)], 1):
        commands[place] = replace(commands[place], keys=f"Ctrl+{number}")
    return tuple(commands)


COMMANDS = _with_engine_commands()

MENUS = ("File", "Edit", "View", "Run", "Devices", "Help")
"""Menus of the window. Commands of the menu *Alignment* are in *Tools* above every alignment."""

_ROLE = QAction.MenuRole

ROLES = {"window.quit": _ROLE.QuitRole, "preferences": _ROLE.PreferencesRole, "window.about": _ROLE.AboutRole}


def _tip(command: Command, action: QAction) -> str:
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    return (command.tip or command.text.rstrip("…")) + (f" ({keys})" if keys else "")


class Actions:
    """The commands as Qt actions of a window."""

    def __init__(self, window: QMainWindow, app: AppController) -> None:
        self.by_id: dict[str, QAction] = {}
        self._app = app
        self._commands = {command.id: command for command in COMMANDS}
        groups: dict[str, QActionGroup] = {}
        own = app.settings.preferences.keys
        for command in COMMANDS:
            action = QAction(command.text, window)
            action.setMenuRole(ROLES.get(command.id, QAction.MenuRole.NoRole))
            action.setWhatsThis(command.tip)
            action.setProperty("words", f"{command.tip} {command.words}")  # by which the palette finds it
            action.setCheckable(command.is_on is not None)
            action.setShortcut(QKeySequence(str(own.get(command.id, command.keys))))
            if command.choice:
                group = groups.setdefault(command.choice, QActionGroup(window))
                group.addAction(action)
            action.triggered.connect(lambda _=False, command=command: self._call(command))
            window.addAction(action)
            self.by_id[command.id] = action

    def fill_menus(self, window: QMainWindow) -> None:
        """Add the menus to the menu bar; they are filled when they are opened."""
        self.update()
        for title in MENUS:
            menu = window.menuBar().addMenu(f"&{title}")
            menu.aboutToShow.connect(partial(self.fill_menu, menu, title))
            self._fill(menu, title)

    def fill_menu(self, menu: QMenu, title: str) -> None:
        """Fill a menu with its commands, but for those that have nothing to do with the page in view."""
        self.update()
        self._fill(menu, title)

    def _fill(self, menu: QMenu, title: str) -> None:
        menu.setToolTipsVisible(True)
        for action in [action for action in menu.actions() if action in self.by_id.values() or action.isSeparator()]:
            menu.removeAction(action)
        others = menu.actions()  # such as a menu of files, which stays below the first command
        is_due = False
        for command in COMMANDS:
            if command.menu != title:
                continue
            is_due |= command.separator
            if isinstance(command.objection(self._app), Elsewhere):
                continue
            if is_due and len(menu.actions()) > len(others):
                menu.addSeparator()
            is_due = False
            menu.addAction(self.by_id[command.id])
        for other in others:
            menu.insertAction(menu.actions()[len(others) + 1], other)

    def update(self) -> None:
        """Enable the available commands; the tooltips of the others give the reason."""
        own, tabs = self._app.settings.preferences.keys, self._shown_tabs()
        for name, action in self.by_id.items():
            if name.startswith("show_tab:") and name not in own:
                keys = f"Ctrl+{tabs.index(name) + 1}" if name in tabs else ""
                action.setShortcut("" if keys in own.values() else keys)
            reason = self._commands[name].objection(self._app)
            action.setEnabled(not reason)
            is_on = self._commands[name].is_on
            if is_on is not None:
                action.setChecked(is_on(self._app))
            action.setToolTip(reason or _tip(self._commands[name], action))

    def _shown_tabs(self) -> list[str]:
        """Return the commands of the tabs in view, which keys count; without a page of all that results may have."""
        page = self._app.page
        shown = TABS if page is None else [name for name in page.TABS if page.has_tab(name)]
        return [f"show_tab:{name}" for name in shown]

    def set_keys(self, name: str, keys: QKeySequence) -> str:
        """Give a command other keys, from now on; return the command that has them already, and change nothing then."""
        other = next((one for one, action in self.by_id.items() if one != name and action.shortcut() == keys), None)
        if other is not None and not keys.isEmpty():
            return self._commands[other].text
        self.by_id[name].setShortcut(keys)
        own = {**self._app.settings.preferences.keys, name: keys.toString()}
        usual = QKeySequence(self._commands[name].keys)
        self._app.settings.change(keys={one: text for one, text in own.items() if one != name or keys != usual})
        return ""

    def restore_keys(self) -> None:
        """Give all commands their usual keys."""
        self._app.settings.change(keys={})
        for name, action in self.by_id.items():
            action.setShortcut(QKeySequence(self._commands[name].keys))

    def dress(self) -> None:
        """Color the icons by the theme; checkable commands have none."""
        for name, action in self.by_id.items():
            if self._commands[name].icon and not action.isCheckable():
                action.setIcon(theme.icon(self._commands[name].icon, "muted"))

    def _call(self, command: Command) -> None:
        # Keys reach an action that was enabled when it was last looked at.
        if not command.objection(self._app):
            self._app.call(command.id)
