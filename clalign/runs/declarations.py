"""What an engine declares of its runs: tables of its own, types of its cards, the order of its hits.

This package knows no engine; `clalign.runs.find_declaration` is set by one that does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct, field

from clalign import runs
from clalign.errors import OptionError
from clalign.runs.columns import Columns, SqlRow, sql_of
from clalign.runs.facts import BegunRun, Best, SpecFacts
from clalign.values.checked import Count, Place
from clalign.values.documents import Card, SpecFields
from clalign.values.hits import Hit

KEYS: dict[str, Columns] = {
    "hits": {"hit": Count},
    "parts": {"hit": Count, "number": Place},
    "batches": {"query": Place, "first": Count},
    "pieces": {"query": Place, "number": Place},
    "unfinished": {"query": Place, "first": Count, "number": Place},
    "": {"number": Count},
}
"""What a row of an engine's table is of, and the columns of the key that the row has."""


Fields = dict[str, Iterable[Any]]
"""Values of the fields of many things, by the names of the fields."""


class EngineTable(Struct, frozen=True, kw_only=True):
    """A table of an engine beside the others: for each hit, part or batch it has one row, or none.

    Of pieces of batches, which the engine numbers, it has as many as `BatchResult.kept` has.

    Of batches that are not finished it may have any number of rows, from which an engine goes on; they go when the
    batch is stored. Such a table is only there while it is needed.

    Attributes
    ----------
    name : str
        Begins with the name of the engine.
    of : str
        What its rows are of: ``hits``, ``parts``, ``batches``, ``pieces``, ``unfinished`` batches; empty where they are
        only numbered.
    columns : mapping of str to type
        Types of those besides its key, see `clalign.runs.columns`; those of hits and parts may be missing.
    row : callable
        Returns the values that are written of a `Hit` or `Domain`; None for no row. Those of a batch come with it.
    read : callable
        Takes the fields of all the `Hit` or `Domain` that are read, as columns by their names, and its own columns, in
        which all values of one that it has no row of are None; sets what they say.
    """

    name: str
    columns: Columns
    of: Literal["hits", "parts", "batches", "pieces", "unfinished", ""] = ""
    row: Callable[[Any], SqlRow | None] = lambda written: None
    read: Callable[[Fields, Sequence[SqlRow]], None] = lambda fields, columns: None

    @property
    def names(self) -> list[str]:
        """The names of its columns besides its key."""
        return list(self.columns)

    @property
    def all_columns(self) -> Columns:
        """The types of its columns by their names, the key first."""
        return {**KEYS[self.of], **self.columns}

    @property
    def sql(self) -> str:
        """The statement that makes it."""
        return sql_of(self.name, self.all_columns, ", ".join(KEYS[self.of]))


class Judge(Protocol):
    """What lets a part of a hit be reported, and be called significant."""

    @property
    def n_targets(self) -> float | None:
        """What conditional E-values count; None for the targets that are reported."""

    def judgment(
        self, score: float, evalue: float, log_pvalue: float | None, n_reported: int, is_hit_significant: bool
    ) -> tuple[float | None, bool, bool]:
        """Return conditional E-value, whether a part is reported, and whether it is significant.

        The last arguments are how many targets are reported, and whether the hit is significant.
        """


def by_score(card: Card, hit: Hit) -> tuple[float, str | None]:
    """Put hits in the order of their scores."""
    del card
    return hit.score, None


class Declaration(Struct, frozen=True, kw_only=True):
    """What an engine declares of its runs.

    Attributes
    ----------
    engine : str
        Its name.
    is_installed : bool
        Whether it is at hand; of one that is not only the name is known, and its runs say what every run does.
    tables : tuple of EngineTable
    cards : mapping of str to type
        Types of its cards by their ``origin``: subclasses of `clalign.runs.facts.QueryCard`.
    best : type of Best
        What is said of the best target of a query.
    begun : type of BegunRun
        The facts that its runs have once they have begun.
    asked : type of Asked
        What is read of its specs without the engine.
    order : callable
        Returns of a card and a hit what hits stand in falling order of, and what equal ones stand in rising order of.
    judge : callable
        Returns of a card and the spec of the run, as plain data, the `Judge` of the parts of its hits; None where all
        of them are significant.
    unsound : callable
        Returns in words what a hit cannot have or lack, given the card of its query; None if there is nothing.
    values : mapping of str to str
        SQL of what its hits can be sorted and filtered by, over its own tables and the others.
    identical : str
        SQL of how many columns of a part have two equal residues; empty where that is not known.
    placed : mapping of str to str
        SQL of where a part lies on its target, for what differs from `clalign.runs.placed_parts.PLACES`.
    choosing : tuple of str
        Fields of its specs which, where one is set, let not every query be compared with every target.
    best_part_only : bool
        Whether coverage and identity of a hit are those of its first part, not of all that are reported.
    """

    engine: str
    is_installed: bool = True
    tables: tuple[EngineTable, ...] = ()
    cards: Mapping[str, type] = field(default_factory=dict)
    best: type[Best] = Best
    begun: type[BegunRun] = BegunRun
    asked: type[SpecFacts] = SpecFacts
    order: Callable[[Card, Hit], tuple[float, str | None]] = by_score
    judge: Callable[[Card, SpecFields], Judge | None] = lambda card, spec: None
    unsound: Callable[[Card, Hit], str | None] = lambda card, hit: None
    values: Mapping[str, str] = field(default_factory=dict)
    identical: str = ""
    placed: Mapping[str, str] = field(default_factory=dict)
    choosing: tuple[str, ...] = ()
    best_part_only: bool = False

    def of(self, thing: str) -> list[EngineTable]:
        """Return the tables whose rows are of hits, parts, batches, pieces or unfinished batches."""
        return [table for table in self.tables if table.of == thing]

    def needed(self) -> Declaration:
        """Return this, if the engine is at hand.

        Raises
        ------
        OptionError
            If it is not.
        """
        if not self.is_installed:
            raise OptionError(
                f"The run was made by the engine {self.engine}, which is not installed.",
                "Install the package that has it.",
            )
        return self


def declaration_of(engine: str) -> Declaration:
    """Return what the engine of a run declares."""
    try:
        found: Declaration = runs.find_declaration(engine)
    except LookupError:
        return Declaration(engine=engine, is_installed=False)
    return found
