"""What the commands do: the verbs of the window, between models and views."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from clalign.errors import ClalignError, DamagedRun

from .. import formatting, theme
from ..engines.pairwise.run_view import PairRunView, is_pairwise_run
from ..event_loop import defer
from ..models.jobs import JobItem, JobQueue
from ..models.reader import Reader
from ..models.run_view import STATE_WORDS, RunView
from ..models.workspace import Source, Workspace
from ..settings import Settings
from .building_controller import BuildingController
from .device_controller import DeviceController
from .funnel_controller import FunnelController
from .hit_controller import HitController
from .inspector import Inspector
from .job_controller import JobController
from .lab_controller import LabController
from .locate_controller import LocateController
from .pairwise_controller import PairwiseController
from .profile_controller import ProfileController
from .search_controller import SearchController
from .source_controller import SourceController

if TYPE_CHECKING:
    from ..shell.main_window import MainWindow
    from ..views.results_page import ResultsPage


class AppController(QObject):
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
        self._files: Reader | None = None
        self.jobs = JobController(self, self.queue)
        self.locating = LocateController(self)
        self.hits = HitController(self)
        self.devices = DeviceController(self)
        self.sources = SourceController(self)
        self.search = SearchController(self)
        self.labs = LabController(self)
        self.profiles = ProfileController(self)
        self.filters = FunnelController(self)
        self.building = BuildingController(self)
        self.pairs = PairwiseController(self)
        self.pages: dict[str, ResultsPage] = {}
        self.inspector.run_found.connect(self.open_run_page)
        self.inspector.trouble.connect(lambda text: self.say("caution", text))
        self.inspector.fault_met.connect(self.say_fault)

    @property
    def files(self) -> Reader:
        """A thread for what reads sequences and profiles, which may take minutes: tables must not wait for it."""
        if self._files is None:
            self._files = Reader(self)
        return self._files

    # --- what is shown ---

    @property
    def page(self) -> ResultsPage | None:
        """The results in view."""
        shown = self.window.center.currentWidget()
        return next((page for page in self.pages.values() if page is shown), None)

    def say(self, severity: str, text: str, *actions: Any, details: str = "") -> None:
        """Show a message, with a long text below it where there is one."""
        self.window.messages.say(severity, text, *actions, details=details)

    def say_fault(self, message: str, hint: str, text: str) -> None:
        """Show a fault of the program, with the text that is to be reported."""
        self.say("stop", f"{message} {hint}".strip(), details=text)

    def write_file(self, path: str, what: str, write: Callable[[], None], reader: Reader | None = None) -> None:
        """Let a reader's thread write a file, and say what came of it.

        Parameters
        ----------
        path : str
        what : str
            What it is, as the message begins.
        write : callable
        reader : Reader, optional
            By default that of all pages.
        """
        folder = QUrl.fromLocalFile(str(Path(path).absolute().parent))

        def tell(answer: Any) -> None:
            if isinstance(answer, Exception):
                why = getattr(answer, "strerror", None) or answer
                self.say("stop", f"{path} could not be written because: {why}.")
            else:
                way = ("Show folder", lambda: QDesktopServices.openUrl(folder))
                self.say("good", f"{what} written to {formatting.short_path(path)}.", way)

        (reader or self.reader).ask((path, what), write, tell)

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

    def show_page(self, page: QWidget, title: str) -> None:
        """Show a page of the centre."""
        self.window.sheets.close_sheet()
        self.window.center.setCurrentWidget(page)
        page.setFocus()
        self.window.setWindowTitle(f"{title} – clalign")
        self.update_actions()

    def show_run(self, path: str) -> None:
        """Show the results of a run."""
        page = self.pages.get(path)
        if page is None:
            self.open_run_page(path)
            return
        self.window.sheets.close_sheet()
        self.jobs.clear_done(path)
        self.window.center.setCurrentWidget(page)
        self.window.data.select(path)
        self._show_details(page)
        self.window.setWindowTitle(f"{page.run.title} – clalign")
        self.update_actions()

    def show_tab(self, name: str) -> None:
        """Show a part of the results."""
        if self.page is not None:
            self.page.show_tab(name)

    def close_page(self) -> None:
        """Close the results in view; the run stays on disk."""
        page = self.page
        if page is None:
            self.profiles.close_page()
            self.labs.close_page()
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
            self.forget_files(path)
            page.deleteLater()

    def forget_files(self, owner: str) -> None:
        """Stop what is read for a page that goes; `owner` is the path of its run or file."""
        self.profiles.forget(owner)
        if self._files is not None:
            self._files.forget_all(owner)

    # --- runs ---

    def open_run_page(self, path: str, live: bool = False) -> None:
        """Show a run file."""
        if path in self.pages:
            self.pages[path].run.is_live = self.queue.of_run(path) is not None
            self.pages[path].run.note_change()
            self.show_run(path)
            return
        item = self.queue.of_run(path)
        try:
            if item is not None and item.kind != "resume":
                is_pairwise = item.kind == "pairwise"
            else:
                is_pairwise = is_pairwise_run(Path(path))
        except DamagedRun:
            is_pairwise = False  # the page says so
        except ClalignError as error:
            self.sources.refuse(str(error))
            return
        page = self._made_page(path, is_pairwise, item is not None)
        run = page.run
        self._connect_page(page)
        self.pages[path] = page
        self.window.center.addWidget(page)
        if live:
            # In a turn of its own: making a page and listing it together would stall the window.
            defer(page, lambda: self._show_new(path, "running"))
            return
        self._show_new(path, "")
        self.sources.add_recent(path, "run")
        run.begin()

    def _made_page(self, path: str, is_pairwise: bool, is_live: bool) -> ResultsPage:
        from ..engines.pairwise.page import PairPage
        from ..views.results_page import ResultsPage

        run = (PairRunView if is_pairwise else RunView)(Path(path), self.reader, self)
        run.is_live = is_live  # before the page shows it: nothing is offered to continue while a job works on it
        if not isinstance(run, PairRunView):
            return ResultsPage(run)
        page = PairPage(run)
        self.pairs.connect_page(page)
        return page

    def _show_new(self, path: str, state: str) -> None:
        if path in self.pages:
            self.workspace.put(Source(path, "run", "ready", report={"state_words": state}))
            self.show_run(path)

    def _connect_page(self, page: ResultsPage) -> None:
        page.action_asked.connect(self._act_on_page)
        page.verify_asked.connect(lambda hits: self.jobs.verify(str(page.run.path), hits))
        page.scheme_chosen.connect(self.set_scheme)
        page.set_log(self.settings.preferences.log_counts)
        page.set_scheme(self.settings.preferences.scheme)
        page.set_posterior(self.settings.preferences.posterior)
        page.posterior_chosen.connect(lambda shown: self.change_preferences({"posterior": shown}))
        page.node_chosen.connect(lambda node: self.profiles.show_node(page, node))
        page.profile_asked.connect(lambda: self.profiles.fill_results(page))
        page.profile_made.connect(self.profiles.connect_view)
        page.funnel_asked.connect(lambda: self.filters.fill(page))
        page.funnel_made.connect(lambda view: self.filters.connect_view(page, view))
        page.explain_asked.connect(self.filters.explain_hit)
        page.hit_menu_asked.connect(self.hits.offer_menu)
        page.run.hit_changed.connect(self.update_actions)
        page.run.hit_changed.connect(lambda: self._show_details(page))
        page.tabs.currentChanged.connect(lambda _: self._show_details(page))
        page.run.hits.shown_changed.connect(self.update_actions)
        page.run.facts_changed.connect(lambda: self._note_state(page.run))
        page.run.refused.connect(self.update_actions)
        page.run.refused.connect(lambda: self._show_details(page))
        page.run.trouble.connect(lambda text: self.say("stop", text))

    def _show_details(self, page: ResultsPage) -> None:
        """Show the hit in the dock, or the profile where the page shows the hit itself."""
        if self.page is not page:
            return
        if page.run.refusal:
            self.window.details.show_run(None)
        elif page.shows_hit and page.run.card:
            if isinstance(page.run, PairRunView):
                self.window.details.show_facts(*page.run.query_facts())
            else:
                self.window.details.show_profile(page.run.card)
        else:
            self.window.details.show_run(page.run)

    def _note_state(self, run: RunView) -> None:
        path, state = str(run.path), STATE_WORDS.get(run.state, run.state)
        if self.page is not None and self.page.run is run:
            self.window.setWindowTitle(f"{run.title} – clalign")
        if run.refusal:
            state = "cannot be read"
        elif run.is_complete:
            state = formatting.moment(run.facts.get("created") or 0)
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
            "search_wider": self.search.search_wider,
            "explain_best": self.filters.explain_best,
            "copy_command": self.hits.copy_command,
            "copy_python": self.hits.copy_python,
            "open_again": self.open_again,
        }
        calls[name]()

    def open_again(self) -> None:
        """Open the run in view anew, after it could not be read."""
        if self.page is not None:
            path = str(self.page.run.path)
            self.show_start()
            self._drop_page(path)
            self.open_run_page(path)

    def note_run_end(self, item: JobItem) -> None:
        """Take over that a job ended."""
        self.sources.look_again()
        if item.is_search and Path(item.run).exists():
            self.sources.add_recent(item.run, "run")
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
            self.jobs.resume(str(self.page.run.path))

    def resume_elsewhere(self) -> None:
        """Continue the run in view on another device."""
        if self.page is not None:
            self.jobs.resume(str(self.page.run.path), elsewhere=True)

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
            page.set_scheme(chosen.scheme)
            page.set_posterior(chosen.posterior)
        self.profiles.set_scheme(chosen.scheme)
        self.window.details.hit.set_scheme(chosen.scheme)
        self.window.details.hit.set_posterior(chosen.posterior)

    def preferences(self) -> None:
        """Open the preferences."""
        from ..views.small_sheets import PreferencesSheet

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
        from ..shell.help import keys_sheet

        self.window.sheets.open_sheet(keys_sheet())

    def about(self) -> None:
        """Say what this is."""
        from ..shell.help import about_sheet

        self.window.sheets.open_sheet(about_sheet())

    def quit(self) -> None:
        """Close the window."""
        self.window.close()

    def leave(self) -> None:
        """End everything that runs, when the window closes."""
        self.queue.leave()
        self.inspector.leave()
        if self._files is not None:
            self._files.close()
        for path in list(self.pages):
            self._drop_page(path)
        self.reader.close()
