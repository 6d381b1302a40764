"""Profiles as logos: pages of profile files, profiles of runs, and pictures of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from shiboken6 import isValid

from clalign.engines.hit_alignments import read_hit_alignment
from clalign.jobs import JobContext
from clalign.values.documents import Card
from clalign.values.profile_logo import ProfileLogo, logo_of_rows

from ... import formatting
from ...formatting import error_text
from ...services.app_context import AppContext, PagesController
from ...services.form_controller import FormController
from ...services.picture_files import open_picture_sheet
from .profile_nodes import ShownProfile, node_line, read_profile, read_run_profile

if TYPE_CHECKING:
    from ...views.results.results_page import ResultsPage
    from .page import SearchPage
    from .profile_view import ProfilePage, ProfileView


class ProfileController(PagesController["ProfilePage"]):
    """Reads profiles for the views."""

    pages: dict[str, ProfilePage]

    def __init__(self, app: AppContext, form: FormController) -> None:
        super().__init__(app)
        self._locating = form.locating
        app.preferences_changed.connect(lambda _: self._set_scheme(app.settings.preferences.scheme))
        self._locating.located.connect(self._fill_again)
        self._waiting: dict[tuple[str, int, int], list[Callable[[ShownProfile], None]]] = {}

    @property
    def view(self) -> ProfileView | None:
        """The logo in view: that of a page, or of a run."""
        if self.page is not None:
            return self.page.view
        results = self._app.page
        if results is None or results.tab != "query":
            return None
        from .page import SearchPage  # results are there, so it was imported before

        return results.profile if isinstance(results, SearchPage) else None

    def open_chosen(self) -> None:
        """Show the logo of the chosen profile."""
        if self._app.workspace.profiles is not None:
            self.open_profile(self._app.workspace.profiles.path)

    def open_profile(self, path: str, number: int = 0) -> None:
        """Show a profile of an open file."""
        from .profile_view import ProfilePage

        source = self._app.workspace.sources.get(path)
        if source is None or not source.cards:
            return
        self.drop(path)
        page = ProfilePage(source.name, source.cards)
        self.pages[path] = page
        page.profile_requested.connect(lambda chosen: self._fill_page(path, chosen))
        self.connect_view(page.view)
        self._app.window.center.addWidget(page)
        self._app.show_page(page, source.name)
        self._fill_page(path, number)

    def _fill_page(self, path: str, number: int) -> None:
        source, page = self._app.workspace.sources.get(path), self.pages.get(path)
        if source is None or page is None:
            return
        card = source.cards[number]
        page.show_card(number, _card_line(card))
        self.fill(page.view, path, number, lambda context: read_profile(path, number, card, context))

    def drop(self, path: str) -> None:
        if path in self.pages:
            self.forget(path)
        super().drop(path)

    def forget(self, owner: str) -> None:
        for key in [key for key in self._waiting if key[0] == owner]:
            del self._waiting[key]
        self._app.forget_files(owner)

    def connect_page(self, page: ResultsPage) -> None:
        from .page import SearchPage

        assert isinstance(page, SearchPage)
        page.node_chosen.connect(lambda node: self.show_node(page, node))
        page.profile_requested.connect(lambda: self.fill_results(page))
        page.profile_made.connect(self.connect_view)

    def connect_view(self, view: ProfileView) -> None:
        """Connect a logo."""
        view.set_scheme(self._app.settings.preferences.scheme)
        view.scheme_chosen.connect(self._app.set_scheme)
        view.least_requested.connect(lambda profile: self._show_disfavored(view, profile))
        view.export_requested.connect(self.export_logo)
        view.locate_requested.connect(self._locating.locate_for_page)

    def _set_scheme(self, scheme: str) -> None:
        """Color residues of all pages by a scheme."""
        for page in self.pages.values():
            page.view.set_scheme(scheme)

    def show_node(self, page: SearchPage, node: int) -> None:
        """Choose a node of the searched profile, and describe it."""

        def show_disfavored_node(profile: ShownProfile) -> None:
            page.profile.choose_node(node)
            page.hit.show_node(node_line(profile, node))

        self.fill_results(page, show_disfavored_node)

    def fill_results(self, page: SearchPage, then: Callable[[ShownProfile], None] = lambda profile: None) -> None:
        """Show the profile of a run, whose file must still exist."""
        run = page.run
        number = run.hit.profile if run.shows_all and run.hit is not None else max(0, run.profile)
        path = (run.facts.get("spec") or {}).get("profiles", "-")
        card = run.cards[number] if run.cards else None
        whose = card and (_whose(card, run.hit is not None) if run.shows_all else _card_line(card))
        page.profile.show_profile_name(whose or "")
        if card is None:
            page.profile.show_text("No profile yet", "It appears here when the search begins.")
        elif path == "-":
            page.profile.show_text("The profile is not available", "It came from standard input: open it as a file.")
        else:
            file = run.path

            def show(profile: ShownProfile) -> None:
                then(profile)
                self._fill_hits(page, number, profile)

            self.fill(page.profile, str(file), number, lambda job: read_run_profile(file, number, card, job), show)

    def _fill_hits(self, page: SearchPage, number: int, profile: ShownProfile) -> None:
        """Show the logo of the hits of a profile below its own; while a search runs, that of the hits so far."""
        run, view = page.run, page.profile
        path, wanted = run.path, (number, run.query_hits.get(number, run.hits.n_all))
        if view.wanted_hits == wanted:
            return
        view.wanted_hits = wanted

        def read(context: JobContext) -> tuple[ProfileLogo | None, str]:
            alignment, _ = read_hit_alignment(path, number, True, context)
            logo = logo_of_rows(alignment.cells, profile.logo) if alignment.n_rows else None
            if logo is not None and logo.length != profile.logo.length:
                logo = None  # the file was changed since
            return logo, f"Hits: {formatting.plural(alignment.n_rows, 'significant domain')}"

        def take(answer: tuple[ProfileLogo | None, str] | Exception) -> None:
            if isValid(view) and view.profile is profile and not isinstance(answer, Exception):
                view.show_hits(*answer)

        self._app.files.ask_slowly((str(path), "logo of hits"), read, take)

    def _fill_again(self, run: str) -> None:
        """Read the profile once a missing file of its run was found."""
        from .page import SearchPage

        page = self._app.pages.get(run)
        if isinstance(page, SearchPage) and page.tab == "query":
            self.fill_results(page)

    def fill(
        self, view: ProfileView, owner: str, number: int, read: Callable[[JobContext], ShownProfile],
        then: Callable[[ShownProfile], None] = lambda profile: None,
    ) -> None:  # fmt: skip
        """Read a profile of a file or of a run in a thread, and show it."""
        if view.wanted == (owner, number) and view.profile is not None:
            then(view.profile)
            return
        key = (owner, id(view), number)
        waiting = self._waiting.setdefault(key, [])
        waiting.append(then)
        if len(waiting) > 1:
            return
        view.wanted = (owner, number)

        def take(answer: ShownProfile | Exception) -> None:
            calls = self._waiting.pop(key, [])
            if not isValid(view) or view.wanted != (owner, number):
                return
            if isinstance(answer, Exception):
                view.show_text("The profile cannot be shown", error_text(answer, "Its file could not be read"))
            else:
                view.show_profile(answer)
                for call in calls:
                    call(answer)

        self._app.files.ask_slowly(key, read, take)

    def _show_disfavored(self, view: ProfileView, profile: ShownProfile) -> None:
        from .profile_view import DisfavoredSheet

        sheet = DisfavoredSheet(profile)
        sheet.node_chosen.connect(view.choose_node)
        self._app.window.sheets.open_sheet(sheet)

    def export_logo(self) -> None:
        """Open the sheet that exports the logo in view."""
        from .logo_pictures import LogoPicture
        from .logo_sheet import LogoSheet

        view = self.view
        if view is None or view.figure is None:
            return
        sheet = LogoSheet(view.figure, view.logo.shown_nodes(), self._app.export_folder, view.logo.scheme)
        open_picture_sheet(self._app, sheet, partial(LogoPicture, view.figure))


def _card_line(card: Card) -> str:
    """Return a line about the profile of a logo."""
    parts = [card["name"], card["accession"], card["description"], formatting.plural(card["length"], "node")]
    return " · ".join(part for part in parts if part and part != "-")


def _whose(card: Card, is_of_hit: bool) -> str:
    """Return which profile the logo shows when the hits of all profiles are in view, and how to see another one."""
    why = "of the chosen hit" if is_of_hit else "the first one; choose a hit or a profile to see another"
    return f"{card['name']}, {why} · {_card_line({**card, 'name': ''})}"
