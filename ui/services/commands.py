"""Commands of the window, and reasons why they are not available."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .alignment_controller import AlignmentController
from .app_context import AppContext

if TYPE_CHECKING:
    from ..views.results.results_page import ResultsPage

Reason = Callable[[AppContext], str]


class Elsewhere(str):
    """A reason that holds as long as the page in view is: menus leave such commands out."""

    __slots__ = ()


@dataclass(frozen=True)
class Command:
    """A command.

    Attributes
    ----------
    id : str
        The method that it calls, from the `AppContext` on, with an argument after a colon.
    menu : str
        Its menu; empty: only in the command palette.
    objection : callable
        Returns why it cannot be used now; empty if it can.
    before : str
        The id of the command after an engine's one.
    is_on : callable, optional
        Returns whether a command with a check mark is on.
    choice : str
        Name of those of which one is always on.
    words : str
        Other words by which the command palette finds it.
    """

    id: str
    text: str
    menu: str = ""
    keys: str = ""
    icon: str = ""
    objection: Reason = lambda app: ""
    tip: str = ""
    separator: bool = False
    before: str = ""
    is_on: Callable[[AppContext], bool] | None = None
    choice: str = ""
    words: str = ""


def has_theme(app: AppContext, name: str) -> bool:
    """Return whether a theme is in use."""
    return app.settings.preferences.theme == name


def no_page(app: AppContext) -> str:
    """Return why there are no results to act on."""
    if app.page is None:
        return Elsewhere("Open a run first, or search.")
    return Elsewhere("This run cannot be read.") if app.page.run.refusal else ""


def nothing_to_close(app: AppContext) -> str:
    """Return why there is no page to close."""
    return "" if app.window.center.currentWidget() is not app.window.start else no_page(app)


def _of_page(app: AppContext, holds: Callable[[ResultsPage], bool], reason: str) -> str:
    return no_page(app) or ("" if app.page is not None and holds(app.page) else reason)


def no_hits(app: AppContext) -> str:
    """Return why there are no hits to act on."""
    return _of_page(app, lambda page: page.run.hits.n_all > 0 or any(page.run.query_hits.values()), "No hits yet.")


def nothing_to_export(app: AppContext) -> str:
    """Return why there is nothing to export: no hits, no finished alignment of a run, nor that of a file."""
    if app.page is None:
        return no_rows(app) and no_page(app)
    if app.page.run.looks_for_hits:
        return no_hits(app)
    return _of_page(app, lambda page: page.run.is_complete, app.page.run.empty_words()[1])


def no_hit(app: AppContext) -> str:
    """Return why there is no selected hit to act on."""
    return _of_page(app, lambda page: page.run.hit is not None, "Select a hit first.")


def no_search(app: AppContext) -> str:
    """Return why there is nothing to pause."""
    item = app.queue.current
    return "" if item is not None and item.is_search else "No search is running."


def not_partial(app: AppContext) -> str:
    """Return why there is nothing to continue."""
    if app.page is not None and app.page.run.is_live:
        return "A job is working on this run."
    if app.page is not None and app.page.run.state == "elsewhere":
        return "Another process is writing this run."
    return _of_page(app, lambda page: not page.run.is_complete, Elsewhere("This run is complete."))


def no_run_form(app: AppContext) -> str:
    """Return why the command of a search cannot be copied."""
    return "" if app.current_spec() is not None else "Open a run, or choose a profile and sequences first."


def no_devices(app: AppContext) -> str:
    """Return why there are no devices to act on."""
    return "" if app.workspace.devices_known else "Still looking for devices."


def no_tuning(app: AppContext) -> str:
    """Return why the chosen device cannot be tuned."""
    device = app.workspace.device
    if device.kind == "reference":
        return no_devices(app) or "The reference has nothing to tune. Choose another device."
    return no_devices(app) or ("" if device.is_usable else device.problem)


def no_column(app: AppContext, key: str) -> str:
    """Return why hits cannot be sorted by a column."""
    reason = "This table has no such column."
    return no_hits(app) or _of_page(app, lambda page: page.hits.table.kind.place(key) is not None, reason)


def no_tab(app: AppContext, name: str, reason: str) -> str:
    """Return why a part of the results cannot be shown."""
    return _of_page(app, lambda page: page.has_tab(name), Elsewhere(reason))


def no_rows(app: AppContext) -> str:
    """Return why there is no alignment of many rows to act on."""
    return "" if AlignmentController.of(app).panel is not None else Elsewhere("Open an alignment first.")


def no_alignment(app: AppContext) -> str:
    """Return why there is no alignment to show or to build a profile from."""
    chosen = app.workspace.sequences
    formats = "Stockholm, Clustal, FASTA, A3M, SELEX, PHYLIP, MSF, NEXUS, BAliBASE XML"
    return "" if chosen is not None and chosen.is_alignment else Elsewhere(f"Open an alignment first ({formats}).")
