"""What a search with one profile can do, be it one of HMMER2 or of HMMER3."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol, Self

from clalign.compute.sessions import Session, Steps
from clalign.engines.plan7.steps import Step
from clalign.execution.units import Details, Scored, Search
from clalign.runs.run_file import RunFile
from clalign.values.hits import Hit
from clalign.values.sequences import SequenceBatch, SequenceDatabase


class ProfileSearch(Search[SequenceBatch, Details], Protocol[Details]):
    """A search with one profile; those of one origin can be computed together."""

    @property
    def origin(self) -> str:
        """What the profile is of, ``hmmer2`` or ``hmmer3``."""

    @property
    def database(self) -> SequenceDatabase:
        """The sequences that are searched."""

    @property
    def shelf(self) -> object:
        """Where the profile stands with others, which are scored together; None where each is scored alone."""

    def start_together(
        self, searches: Sequence[Self], session: Session, batch: SequenceBatch
    ) -> Callable[[], Sequence[Scored[Details]]]:
        """Start scoring a batch with searches of one shelf; return a callable that blocks until all are there."""

    def hits_together(
        self, session: Session, units: Sequence[tuple[Self, Scored[Details]]]
    ) -> Steps[Sequence[Collection[Hit]]]:
        """Look for the hits in units of this origin; ends with those of each unit."""

    def calls_significant(self, hit: Hit) -> bool:
        """Return whether a hit is significant by its score and E-value."""

    def evalues_again(self, hit: Hit) -> list[tuple[float, float]]:
        """Return the E-values of a hit and its domains, each with the one that follows from its score."""

    def agrees(self, hit: Hit, again: Hit) -> bool:
        """Return whether two devices found the same hit, as far as they compute alike."""

    def filter_differences(self, run: RunFile, number: int, scored: Scored[Details]) -> list[str]:
        """Return in words which targets passed other filters than in a run, for its query `number`."""

    def steps_of(self, session: Session, row: int) -> list[Step]:
        """Return the fate of a target in every step, also in those that it would not have come to."""


AnyProfileSearch = ProfileSearch[Any]
"""A search with a HMMER2 or HMMER3 profile; only the search knows the type of `Scored.details`."""
