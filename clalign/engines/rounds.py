"""What a round of a search is to the library, and what rounds have found in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from clalign.runs.pages import QueryFound
from clalign.values.documents import Card
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
    def n_significant(self) -> int:
        """How many hits are significant."""

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


def has_converged(n_new: int, n_before: int, n_rows: int, is_chosen: bool) -> bool:
    """Return whether no round follows one, whatever their number may be.

    Parameters
    ----------
    n_new : int
        Significant hits that were none in the round before.
    n_before, n_rows : int
        Rows of the alignment that it was searched with the profile of, and of the one that ends it. Without a row there
        is no profile.
    is_chosen : bool
        Whether the user has taken or dropped some of its hits, so that a round makes sense all the same.
    """
    return not n_rows or (not is_chosen and not n_new and n_rows <= n_before)


def chosen_rows(card: Card) -> tuple[set[int], set[int]]:
    """Return the rows of targets whose hits the user takes into the next profile, and of those that he drops."""
    return set(card.get("taken") or ()), set(card.get("dropped") or ())


MAX_LOST = 8
"""Names of lost hits that are shown."""


def done_words(cards: Sequence[Card], found: Mapping[int, QueryFound], is_complete: bool) -> str:
    """Return in words what the last rounds have found; empty before one is done.

    Parameters
    ----------
    cards : sequence of dict
        Of the profiles of all rounds.
    found : mapping of int to QueryFound
        By the numbers of the profiles.
    is_complete : bool
        Whether no round follows.
    """
    done = {card.get("first"): number for number, card in enumerate(cards)
            if number in found and found[number].searched >= 1.0}  # fmt: skip
    if not done:
        return ""
    n, n_rounds = len(done), max(cards[number].get("round") or 1 for number in done.values())
    n_significant = sum(found[number].n_significant for number in done.values())
    n_hits = sum(found[number].n_hits for number in done.values())
    n_converged = sum(found[number].has_converged for number in done.values())
    which = "" if n == 1 else "all " if n_converged == n else f"{n_converged:,} of them "
    end = f", {which}converged" if n_converged else "" if is_complete else " so far"
    of, up_to = (f" of {n:,} queries", "up to ") if n > 1 else ("", "")
    hits = f"{n_significant:,} significant hit{'s' * (n_significant != 1)} ({n_hits:,} reported)"
    return f"{hits}{of} after {up_to}{n_rounds} round{'s' * (n_rounds != 1)}{end}"


def lost_words(found: QueryFound) -> str:
    """Return which names a round has lost; empty if none."""
    more = f" and {len(found.lost) - MAX_LOST:,} more" * (len(found.lost) > MAX_LOST)
    return f"Lost: {', '.join(found.lost[:MAX_LOST])}{more}" if found.lost else ""
