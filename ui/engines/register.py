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
    controller_name : str
        Name of that controller in `AppController` and in its commands, as ``search`` in ``search.open_sheet``.
    commands : str
        Each a `Command`, in a tuple.
    examples : str
        Returns its bundled examples.
    start_button : tuple of str
        Text, command and tooltip of its button on the start page.
    input_words : str
        The files that it needs, as a part of a sentence.
    """

    run_view: str = "..models.results.run_view:RunView"
    page: str = "..views.results.results_page:ResultsPage"
    controller: str = ""
    controller_name: str = ""
    commands: str = ""
    examples: str = ""
    start_button: tuple[str, str, str] | None = None
    input_words: str = ""


USUAL = "plan7"

PARTS = {
    "plan7": Parts(
        run_view=".plan7.run_view:ProfileRunView",
        page=".plan7.page:SearchPage",
        controller=".plan7.search_controller:SearchController",
        controller_name="search",
        commands=".plan7.commands:COMMANDS",
        examples="clalign.databases.examples:load_examples",
        start_button=("Search with sequences…", "search.open_sequences", "phmmer: a profile is made of each query"),
        input_words="a search needs a profile (.hmm of HMMER2 or HMMER3) and sequences"
        " (FASTA, FASTQ, GenBank, Stockholm …)",
    ),
    "pairwise": Parts(
        run_view=".pairwise.run_view:PairRunView",
        page=".pairwise.page:PairPage",
        controller=".pairwise.pair_controller:PairController",
        controller_name="pairs",
        commands=".pairwise.commands:COMMANDS",
        examples="clalign.databases.examples:load_pair_examples",
        start_button=("Compare sequences…", "pairs.open_sheet", "Smith-Waterman: sequences with sequences"),
        input_words="a comparison two sequence files, or one and a sequence that is pasted",
    ),
    "msa": Parts(
        run_view=".msa.run_view:AlignedRunView",
        page=".msa.page:AlignedPage",
        controller=".msa.align_controller:AlignController",
        controller_name="align",
        commands=".msa.commands:COMMANDS",
        start_button=("Align sequences…", "align.open_sheet", "Statistical alignment of many sequences (FSA)"),
        input_words="an alignment the sequences of one file",
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
    lists = [[(entry.controller_name, example) for example in load()] for entry, load in parts("examples")]
    examples = [example for some in zip_longest(*lists) for example in some if example is not None]
    buttons = [entry.start_button for entry in PARTS.values() if entry.start_button is not None]
    words = ", ".join(entry.input_words for entry in PARTS.values() if entry.input_words)
    return Welcome(examples, buttons, f"{words[:1].upper()}{words[1:]}.")
