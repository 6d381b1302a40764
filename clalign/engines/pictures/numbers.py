"""What pictures of hits are made from: the hits of a run as columns, and the words for its queries."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.engines.engine import engine_of
from clalign.jobs import JobContext
from clalign.runs.hit_columns import HitColumns, read_hit_columns
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card
from clalign.values.sequences import short_name

Floats = npt.NDArray[np.float64]


class HitNumbers(Struct, frozen=True, eq=False):
    """The hits that a picture is of.

    Attributes
    ----------
    hits : HitColumns
    query : int or None
        The number of the query; None if it is of all.
    card : dict
        Of the query; empty if it is of all.
    n_queries : int
        How many queries they are of.
    calls_significant : bool
        Whether hits are called significant.
    noun, nouns : str
        What a query is called, and several.
    run : RunFile
    are_chosen : bool
        Whether there may be more hits, which were not chosen.
    """

    hits: HitColumns
    query: int | None
    card: Card
    n_queries: int
    calls_significant: bool
    noun: str
    nouns: str
    run: RunFile
    are_chosen: bool = False

    @property
    def has_bits(self) -> bool:
        """Whether scores are in bits: without statistics they are in units of the matrix."""
        return not len(self.hits) or not bool(np.isnan(self.hits.evalues).all())

    @property
    def scores(self) -> Floats:
        """Scores in `unit`."""
        return self.hits.scores if self.has_bits else self.hits.raws

    @property
    def unit(self) -> str:
        """What scores are in."""
        return "bits" if self.has_bits else "units of the matrix"

    @property
    def target(self) -> str:
        """What was found is called: in a scan profiles are the targets, not the sequences that they match."""
        return "sequence" if self.run.facts.direction == "scan" else "target"

    @property
    def of(self) -> str:
        """What the hits are of, within a sentence."""
        return short_name(str(self.card["name"])) if self.card else f"all {self.n_queries:,} {self.nouns}"

    @property
    def whose(self) -> str:
        """What the hits are of, at the beginning of a title; names keep their letters."""
        return self.of if self.card else f"A{self.of[1:]}"

    @property
    def which(self) -> str:
        """Which hits they are, for sentences."""
        return f"{'the chosen' if self.are_chosen else 'all'} hits of {self.of}"


def read_numbers(run: RunFile, hits: HitQueries, query: int | None, context: JobContext) -> HitNumbers:
    """Return the hits of a query, or of all, as pictures need them."""
    engine, n_queries = engine_of(run), run.n_queries()
    if query is None and n_queries == 1:
        query = 0
    found = read_hit_columns(hits, query, context.check)
    card = run.card(query) if query is not None else {}
    n = 1 if query is not None else n_queries
    return HitNumbers(
        found, query, card, n, engine.calls_significant, engine.query, engine.queries, run, hits.are_chosen
    )
