"""What the pipeline asks of the search of a profile, be it one of HMMER2 or of HMMER3, or of a sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from clalign.compute.sessions import Session
from clalign.jobs import JobContext
from clalign.runs.batches import BIN
from clalign.values.hits import Hit, Scores, Survivors
from clalign.values.sequences import SequenceBatch


@dataclass(frozen=True, slots=True)
class Scored:
    """What a device found in a batch.

    Attributes
    ----------
    scores : Scores
        Of every sequence; `IMPOSSIBLE` for those that are not searched.
    survivors : Survivors or None
        What passed the first of HMMER3's filters.
    details : object
        What the search itself wants to know of it later.
    bin_width : int
        Of the histogram, in the unit of the scores.
    n_wider : tuple of int
        Sequences that were computed again with 16 and with 32 bits.
    """

    scores: Scores
    survivors: Survivors | None = None
    details: Any = None
    bin_width: int = BIN
    n_wider: tuple[int, int] = (0, 0)


class ProfileSearch(Protocol):
    """One profile, or query, against one database."""

    @property
    def length(self) -> int:
        """Cells for each residue of the database: number of nodes of the profile."""

    def start_scoring(self, session: Session, batch: SequenceBatch) -> Callable[[], Scored]:
        """Start scoring a batch; return what waits for the result and returns it."""

    def start_hits(self, session: Session, scored: Scored, context: JobContext) -> Callable[[], tuple[Hit, ...]]:
        """Start looking at what may be a hit; return what waits for the reported ones, in the order of rows."""

    def described(self, raw: int, row: int) -> dict[str, Any]:
        """Return name, score and E-value of a target, known by its integer score, that need not be a hit."""
