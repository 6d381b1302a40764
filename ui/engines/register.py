"""The parts of the window that belong to one engine; an engine that is not named here has the plain ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from typing import Any

from clalign.engines.engine import Engine, engine_named, engine_of
from clalign.errors import DamagedRun
from clalign.runs.run_file import open_run

from ..views.start_page import Welcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Titles, and places as ``module:name`` that are imported on first use.

    Attributes
    ----------
    run_view : str
        A `RunView`.
    page : str
        A `ResultsPage`.
    controller : str
        A `FormController`; without it no runs are prepared in the window.
    known_as : str
        What its commands call that controller.
    commands : str
        Each a `Command`, in a tuple.
    examples : str
        Returns its bundled examples.
    way : tuple of str
        Text, command and tooltip of a button of the start page.
    needs : str
        What its files are, as the part of a sentence.
    """

    run_view: str = "..models.results.run_view:RunView"
    page: str = "..views.results.results_page:ResultsPage"
    controller: str = ""
    known_as: str = ""
    commands: str = ""
    examples: str = ""
    way: tuple[str, str, str] | None = None
    needs: str = ""


USUAL = "plan7"

PARTS = {
    "plan7": Parts(
        run_view=".plan7.run_view:ProfileRunView",
        page=".plan7.page:SearchPage",
        controller=".plan7.search_controller:SearchController",
        known_as="search",
        commands=".plan7.commands:COMMANDS",
        examples="clalign.databases.examples:load_examples",
        needs="a search needs a profile (.hmm of HMMER2 or HMMER3) and sequences (FASTA, FASTQ, GenBank, Stockholm …)",
    ),
    "pairwise": Parts(
        run_view=".pairwise.run_view:PairRunView",
        page=".pairwise.page:PairPage",
        controller=".pairwise.pair_controller:PairController",
        known_as="pairs",
        commands=".pairwise.commands:COMMANDS",
        examples="clalign.databases.examples:load_pair_examples",
        way=("Compare sequences…", "pairs.open_sheet", "Smith-Waterman: sequences with sequences"),
        needs="a comparison two sequence files, or one and a sequence that is pasted",
    ),
    "msa": Parts(
        run_view=".msa.run_view:AlignedRunView",
        page=".msa.page:AlignedPage",
        controller=".msa.align_controller:AlignController",
        known_as="align",
        commands=".msa.commands:COMMANDS",
        way=("Align sequences…", "align.open_sheet", "Statistical alignment of many sequences (FSA)"),
        needs="an alignment the sequences of one file",
    ),
}


def engine_at(path: str) -> Engine:
    """Return the engine of a run file; for a damaged file the default engine, whose page shows the damage.

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


def part_of(engine: Engine, name: str) -> Any:
    """Return the class of an engine for its ``run_view`` or its ``page``."""
    return _found(getattr(PARTS.get(engine.name, Parts()), name))


def parts(name: str) -> Iterator[tuple[Parts, Any]]:
    """Yield the engines that have a part, with the part."""
    for entry in PARTS.values():
        if getattr(entry, name):
            yield entry, _found(getattr(entry, name))


def _found(place: str) -> Any:
    module, _, attribute = place.partition(":")
    return getattr(import_module(module, __package__), attribute)


def welcome() -> Welcome:
    """Return the entries of the start page, with the first example of each engine first."""
    lists = [[(entry.known_as, example) for example in load()] for entry, load in parts("examples")]
    examples = [example for some in zip_longest(*lists) for example in some if example is not None]
    ways = [entry.way for entry in PARTS.values() if entry.way is not None]
    needs = ", ".join(entry.needs for entry in PARTS.values() if entry.needs)
    return Welcome(examples, ways, f"{needs[:1].upper()}{needs[1:]}.")
