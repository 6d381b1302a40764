"""What a round of a search is to the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from clalign.values.hits import Hit
from clalign.values.profiles import Hmm
from clalign.values.row_alignments import RowAlignment


class Round(Protocol):
    """A round of a query; an iterable of its hits, best first.

    Attributes
    ----------
    query : str
        Name of the query.
    number : int
        From 1.
    profile_name : str
        What the run calls the profile: the name of the query, then ``NAME-i1`` and so on.
    """

    query: str
    number: int
    profile_name: str

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Hit]: ...

    @property
    def n_new(self) -> int:
        """How many significant hits were none in the round before."""

    @property
    def new(self) -> list[str]:
        """Names of the significant hits that were none in the round before."""

    @property
    def lost(self) -> list[str]:
        """Names that significant hits had in the round before, and have no more."""

    @property
    def has_converged(self) -> bool:
        """Whether nothing new was found, so that no round follows."""

    def alignment(self) -> RowAlignment:
        """Return the significant domains, aligned to the query, which is the first row: capital letters and dashes."""

    def profile(self) -> Hmm:
        """Return the profile that was searched with."""
