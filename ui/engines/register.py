"""Which parts of the window show the runs of each engine; an engine that is not named here has the plain ones."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from clalign.engines.engine import Engine, engine_named, engine_of
from clalign.errors import DamagedRun
from clalign.runs.run_file import open_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Classes as ``module:name``, which are imported when they are needed, and words.

    Attributes
    ----------
    run_view : str
        A `RunView`.
    page : str
        A `ResultsPage`.
    explain_sheet : str
        An `ExplainSheet`.
    verbs : tuple of str
        What stands before the names of its two files.
    """

    run_view: str = "..models.run_view:RunView"
    page: str = "..views.results_page:ResultsPage"
    explain_sheet: str = "..views.explain_sheet:ExplainSheet"
    verbs: tuple[str, str] = ("Search", "in")


USUAL = "plan7"

PARTS = {
    "plan7": Parts(
        run_view=".plan7.run_view:ProfileRunView",
        page=".plan7.page:SearchPage",
        explain_sheet=".plan7.explain_sheet:FilterSheet",
    ),
    "pairwise": Parts(
        run_view=".pairwise.run_view:PairRunView",
        page=".pairwise.page:PairPage",
        explain_sheet=".pairwise.explain_sheet:ColumnSheet",
        verbs=("Compare", "with"),
    ),
}


def engine_at(path: str) -> Engine:
    """Return the engine of a run file; of one that is damaged inside the usual one, whose page says so.

    Raises
    ------
    ClalignError
        It is no readable run file.
    """
    try:
        with open_run(Path(path)) as run:
            return engine_of(run)
    except (sqlite3.DatabaseError, DamagedRun):
        return engine_named(USUAL)


def parts_of(engine: Engine) -> Parts:
    """Return the parts of an engine."""
    return PARTS.get(engine.name, Parts())


def part_of(engine: Engine, name: str) -> Any:
    """Return a class of an engine: that of its ``run_view``, ``page``, or ``explain_sheet``."""
    module, _, attribute = str(getattr(parts_of(engine), name)).partition(":")
    return getattr(import_module(module, __package__), attribute)
