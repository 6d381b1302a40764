"""What the commands do: the verbs of the window, between models and views."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QFileDialog

from clalign.errors import ClalignError
from clalign.formats.examples import Example
from clalign.runs import open_run
from clalign.specs import SearchSpec

from . import theme, words
from .device_desk import DeviceDesk
from .hit_desk import HitDesk
from .inspector import Inspector
from .job_desk import JobDesk
from .models.jobs import JobItem, JobQueue
from .models.reader import Reader
from .models.run_view import STATE_WORDS, RunView
from .models.workspace import Source, Workspace
from .settings import Settings, write_whole

if TYPE_CHECKING:
    from .main_window import MainWindow
    from .views.results_page import ResultsPage
    from .views.run_sheet import RunSheet

FILE_FILTER = (
    "Profiles, sequences and runs (*.hmm *.hmm2 *.fa *.fasta *.faa *.fna *.ffn *.fas *.fq *.fastq *.gb *.gbk *.embl "
    "*.sto *.stk *.aln *.dat *.gz *.bz2 *.xz *.zst *.clalign);;All files (*)"
)


class Conductor(QObject):
    """Knows what is open and does what the commands say.

    Parameters
    ----------
    window : MainWindow
    settings : Settings
    worker : list of str
        Starts a worker.
    """

    def __init__(self, window: MainWindow, settings: Settings, worker: list[str]) -> None:
        super().__init__(window)
        self.window = window
        self.settings = settings
        self.workspace = Workspace(self)
        self.workspace.device_id = settings.preferences.device
        self.queue = JobQueue(worker, self)
        self.inspector = Inspector(worker, self.workspace, self)
        self.reader = Reader(self)
        self.desk = JobDesk(self, self.queue)
        self.hits = HitDesk(self)
        self.devices = DeviceDesk(self)
        self.pages: dict[str, ResultsPage] = {}
        self._run_when_read: set[str] = set()
        self._offer_search = False
        self.inspector.file_read.connect(self._take_file)
        self.inspector.file_refused.connect(self._refuse_file)
        self.inspector.run_found.connect(self.open_run_page)
        self.inspector.trouble.connect(lambda text: self.say("caution", text))

    # --- what is shown ---

    @property
    def page(self) -> ResultsPage | None:
        """The results in view."""
        shown = self.window.center.currentWidget()
        return next((page for page in self.pages.values() if page is shown), None)

    def say(self, severity: str, text: str, *actions: Any) -> None:
        """Show a message."""
        self.window.messages.say(severity, text, *actions)

    def update_actions(self) -> None:
        """Enable what can be used now."""
        self.window.actions_.update()

    def show_start(self) -> None:
        """Show the start page."""
        self.window.center.setCurrentWidget(self.window.start)
        self.window.start.setFocus()
        self.window.details.show_run(None)
        self.window.setWindowTitle("clalign")
        self.update_actions()

    def show_run(self, path: str) -> None:
        """Show the results of a run."""
        page = self.pages.get(path)
        if page is None:
            self.open_run_page(path)
            return
        self.window.sheets.close_sheet()
        self.window.center.setCurrentWidget(page)
        self.window.data.select(path)
        self._show_details(page)
        self.window.setWindowTitle(f"{page.run.title} – clalign")
        self.update_actions()

    def show_tab(self, number: str) -> None:
        """Show a part of the results."""
        page = self.page
        if page is not None:
            page.tabs.setCurrentIndex(int(number))
            focus = (page.hits.table, page.histogram.plot, page.hit.alignment, page.report)[int(number)]
            focus.setFocus()

    def close_page(self) -> None:
        """Close the results in view; the run stays on disk."""
        page = self.page
        if page is None:
            return
        path = str(page.run.path)
        if self.queue.of_run(path) is not None:
            self.say("note", "The job goes on. Stop it first to close its results.")
            return
        self.show_start()
        self._drop_page(path)
        self.workspace.remove(path)

    def _drop_page(self, path: str) -> None:
        page = self.pages.pop(path, None)
        if page is not None:
            self.window.center.removeWidget(page)
            page.run.close()
            page.deleteLater()

    # --- files ---

    def open_files(self) -> None:
        """Ask for files and open them."""
        names, _ = QFileDialog.getOpenFileNames(self.window, "Open files", "", FILE_FILTER)
        self.open_paths(names)

    def open_paths(self, paths: list[str]) -> None:
        """Open files; their content decides what they are."""
        self._offer_search = len(paths) > 1 or self._offer_search
        for name in paths:
            path = str(Path(name).absolute())
            if path in self.workspace.sources:
                self._take_again(path)
            elif not Path(path).exists():
                self.say("stop", f"{path} is not there. It may have been moved or deleted.")
            elif path.endswith(".clalign"):
                self.open_run_page(path)
            else:
                self.inspector.read_file(path)

    def _take_again(self, path: str) -> None:
        if self.workspace.sources[path].kind == "run":
            self.show_run(path)
        else:
            self.workspace.choose(path)
            self._take_file(path)

    def _take_file(self, path: str) -> None:
        source = self.workspace.sources[path]
        self.workspace.choose(path)
        self.add_recent(path, source.kind)
        self.window.data.select(path)
        self.window.details.show_source(source)
        self._run_when_read.discard(path)
        ready = not self.workspace.reason_not_to_run()
        if ready and self._offer_search and not self._run_when_read:
            self._offer_search = False
            self.open_run_sheet()
        self.update_actions()

    def _refuse_file(self, path: str) -> None:
        source = self.workspace.sources[path]
        self._run_when_read.clear()
        self._offer_search = False
        self.say("stop", f"{source.problem} {source.hint}".strip())
        self.window.details.show_source(source)

    def paste_sequences(self) -> None:
        """Open the sheet that takes sequences from the clipboard."""
        from .views.small_sheets import PasteSheet

        sheet = PasteSheet()
        sheet.paste_asked.connect(self._keep_pasted)
        self.window.sheets.open_sheet(sheet)

    def _keep_pasted(self, name: str, text: str) -> None:
        folder = self.settings.data / "pasted"
        stem = re.sub(r"[^\w.-]+", "_", name).strip("._") or "pasted"
        path, number = folder / f"{stem}.fasta", 2
        while path.exists():
            path, number = folder / f"{stem}-{number}.fasta", number + 1
        try:
            write_whole(path, text)
        except OSError as error:
            self.say("stop", f"The sequences could not be kept in {folder} ({error.strerror}).")
            return
        self.window.sheets.close_sheet()
        self.open_paths([str(path)])

    def open_example(self, example: Example) -> None:
        """Open a bundled example: its files fill the search sheet in."""
        paths = [str(example.profiles), *([str(example.targets)] if example.targets else [])]
        self._offer_search = len(paths) > 1
        self._run_when_read = set(paths) - set(self.workspace.sources)
        self.open_paths(paths)
        for path in paths:
            self.workspace.choose(path)

    def close_source(self, path: str) -> None:
        """Close a file; a run's results with it."""
        if path in self.pages:
            self.show_run(path)
            self.close_page()
        else:
            self.workspace.remove(path)
            self.window.details.show_source(None)
        self.update_actions()

    def choose_source(self, path: str) -> None:
        """Show what a file holds."""
        source = self.workspace.sources.get(path)
        if source is None:
            return
        if source.kind == "run":
            self.show_run(path)
        else:
            self.window.details.show_source(source)

    def use_source(self, path: str) -> None:
        """Use a file for the next search."""
        self.workspace.choose(path)
        self.update_actions()

    def choose_alphabet(self, path: str, alphabet: str) -> None:
        """Take the sequences of a file for another alphabet."""
        self.inspector.read_file(path, alphabet)

    def add_recent(self, path: str, kind: str) -> None:
        """Remember a file that was opened."""
        examples = str(Path(__file__).parent.parent)
        if not (path.startswith(examples) and "examples" in path):
            self.settings.add_recent(path, kind)
        self.window.show_recent()

    # --- search ---

    def run_search(self) -> None:
        """Open the search sheet, or start the search if it is open."""
        sheet = self.run_sheet
        if sheet is None:
            self.open_run_sheet()
        else:
            sheet.run_button.click()

    @property
    def run_sheet(self) -> RunSheet | None:
        """The search sheet, if it is open."""
        from .views.run_sheet import RunSheet

        sheet = self.window.sheets.sheet
        return sheet if isinstance(sheet, RunSheet) else None

    def open_run_sheet(self, **options: Any) -> None:
        """Show the search sheet with the options of the last search."""
        from .views.run_sheet import RunSheet

        sheet = RunSheet(self.workspace, {**self.settings.preferences.options, **options})
        sheet.run_asked.connect(self.start_search)
        sheet.open_asked.connect(self.open_files)
        sheet.action_asked.connect(self._take_advice)
        sheet.resized.connect(self.window.sheets.fit)
        self.window.sheets.open_sheet(sheet)
        if self.settings.preferences.run_examples and self._is_example():
            QTimer.singleShot(0, sheet, sheet.run_button.click)

    def _is_example(self) -> bool:
        profiles = self.workspace.profiles
        return profiles is not None and "examples" in Path(profiles.path).parts

    def _take_advice(self, name: str) -> None:
        sequences = self.workspace.sequences
        if sequences is not None and name.startswith("take_as_"):
            self.choose_alphabet(sequences.path, name.removeprefix("take_as_"))

    def start_search(self, spec: SearchSpec) -> None:
        """Start a search and show its results."""
        defaults = SearchSpec("", "")
        values = spec.to_dict()
        left_out = ("profiles", "targets", "device", "alphabet", "sequence_format")
        options = {k: v for k, v in values.items() if k not in left_out and v != getattr(defaults, k)}
        self.settings.change(options=options)
        try:
            self.desk.search(spec)
        except OSError as error:
            why = error.strerror
            self.say("stop", f"The folder for runs, {self.settings.runs}, could not be made because: {why}.")
            return
        self.window.sheets.close_sheet()

    def open_run_page(self, path: str, live: bool = False) -> None:
        """Show a run file."""
        from .views.results_page import ResultsPage

        if path in self.pages:
            self.pages[path].run.is_live = self.queue.of_run(path) is not None
            self.pages[path].run.note_change()
            self.show_run(path)
            return
        if not live:
            try:
                open_run(Path(path)).close()
            except ClalignError as error:
                self.say("stop", str(error))
                return
        run = RunView(Path(path), self.reader, self)
        run.is_live = self.queue.of_run(path) is not None
        page = ResultsPage(run)
        self._connect_page(page)
        self.pages[path] = page
        self.window.center.addWidget(page)
        self.workspace.put(Source(path, "run", "ready", report={"state_words": "running" if live else ""}))
        self.show_run(path)
        if not live:
            self.add_recent(path, "run")
            run.refresh()

    def _connect_page(self, page: ResultsPage) -> None:
        page.action_asked.connect(self._act_on_page)
        page.verify_asked.connect(lambda hits: self.desk.verify(str(page.run.path), hits))
        page.scheme_chosen.connect(self.set_scheme)
        page.set_log(self.settings.preferences.log_counts)
        page.hit.set_scheme(self.settings.preferences.scheme)
        page.run.hit_changed.connect(self.update_actions)
        page.run.hit_changed.connect(lambda: self._show_details(page))
        page.tabs.currentChanged.connect(lambda _: self._show_details(page))
        page.run.hits.shown_changed.connect(self.update_actions)
        page.run.facts_changed.connect(lambda: self._note_state(page.run))
        page.run.trouble.connect(lambda text: self.say("stop", text))

    def _show_details(self, page: ResultsPage) -> None:
        """Show the hit in the dock, or the profile where the page shows the hit itself."""
        if self.page is not page:
            return
        if page.tabs.currentWidget() is page.hit and page.run.card:
            self.window.details.show_profile(page.run.card)
        else:
            self.window.details.show_run(page.run)

    def _note_state(self, run: RunView) -> None:
        path, state = str(run.path), STATE_WORDS.get(run.state, run.state)
        if self.page is not None and self.page.run is run:
            self.window.setWindowTitle(f"{run.title} – clalign")
        if run.is_complete:
            state = words.moment(run.facts.get("created") or 0)
        report = {"state_words": state, "title": run.title}
        source = self.workspace.sources.get(path)
        if source is not None and source.report != report:
            self.workspace.change(path, report=report)

    def _act_on_page(self, name: str) -> None:
        calls = {
            "export": self.hits.export_hits,
            "verify": self.hits.verify_run,
            "resume": self.resume_run,
            "resume_elsewhere": self.resume_elsewhere,
            "search_wider": self._search_wider,
            "copy_command": self.hits.copy_command,
            "copy_python": self.hits.copy_python,
        }
        calls[name]()

    def _search_wider(self) -> None:
        page = self.page
        if page is None:
            return
        spec = page.run.facts["spec"]
        self.open_paths([spec["profiles"], spec["targets"]])
        self._offer_search = False
        self.open_run_sheet(evalue=spec["evalue"] * 10, score=None, cutoff="none")

    def note_run_end(self, item: JobItem) -> None:
        """Take over that a job ended."""
        if item.is_search and Path(item.run).exists():
            self.add_recent(item.run, "run")
        if item.is_search and not item.is_active and not Path(item.run).exists():
            in_view = self.page is self.pages.get(item.run)
            self._drop_page(item.run)
            self.workspace.remove(item.run)
            if in_view:
                self.show_start()
        self.update_actions()

    def stop_job(self) -> None:
        """Stop the running job."""
        if self.queue.current is not None:
            self.queue.stop(self.queue.current)

    def pause_job(self) -> None:
        """Let the running job wait, or go on."""
        if self.queue.current is not None:
            self.queue.pause(self.queue.current)

    def resume_run(self) -> None:
        """Continue the run in view."""
        if self.page is not None:
            self.desk.resume(str(self.page.run.path))

    def resume_elsewhere(self) -> None:
        """Continue the run in view on another device."""
        if self.page is not None:
            self.desk.resume(str(self.page.run.path), elsewhere=True)

    # --- the window ---

    def toggle_scale(self) -> None:
        """Switch the histogram between logarithmic and linear."""
        self.change_preferences({"log_counts": not self.settings.preferences.log_counts})

    def set_scheme(self, scheme: str) -> None:
        """Color residues by another scheme."""
        self.change_preferences({"scheme": scheme})

    def set_theme(self, choice: str) -> None:
        """Switch between light and dark."""
        self.change_preferences({"theme": choice})

    def change_preferences(self, choices: dict[str, Any]) -> None:
        """Keep choices and let them take effect at once."""
        self.settings.change(**choices)
        chosen = self.settings.preferences
        if "theme" in choices:
            theme.apply(chosen.theme)
            self.window.dress()
        for page in self.pages.values():
            page.set_log(chosen.log_counts)
            page.hit.set_scheme(chosen.scheme)
        self.window.details.hit.set_scheme(chosen.scheme)

    def preferences(self) -> None:
        """Open the preferences."""
        from .views.small_sheets import PreferencesSheet

        sheet = PreferencesSheet(self.settings.preferences)
        sheet.changed.connect(self.change_preferences)
        self.window.sheets.open_sheet(sheet)

    def focus_data(self) -> None:
        """Go to the opened files."""
        self.window.show_dock("data")
        self.window.data.tree.setFocus()

    def toggle_dock(self, name: str) -> None:
        """Show or hide a dock."""
        dock = self.window.docks[name]
        dock.setVisible(not dock.isVisible())

    def reset_layout(self) -> None:
        """Put the docks where they were at first."""
        self.window.arrange()

    def full_screen(self) -> None:
        """Fill the screen, or stop doing so."""
        if self.window.isFullScreen():
            self.window.showNormal()
        else:
            self.window.showFullScreen()

    def show_palette(self) -> None:
        """Search commands by name."""
        self.update_actions()
        self.window.palette_.open_with(list(self.window.actions_.by_id.values()))

    def show_keys(self) -> None:
        """Show keys and the filter language."""
        from .help import keys_sheet

        self.window.sheets.open_sheet(keys_sheet())

    def about(self) -> None:
        """Say what this is."""
        from .help import about_sheet

        self.window.sheets.open_sheet(about_sheet())

    def quit(self) -> None:
        """Close the window."""
        self.window.close()

    def leave(self) -> None:
        """End everything that runs, when the window closes."""
        self.queue.leave()
        self.inspector.leave()
        for path in list(self.pages):
            self._drop_page(path)
        self.reader.close()
