"""Hits in a chosen order, paged from the run file."""

from __future__ import annotations

from msgspec.structs import asdict

from clalign.runs import pages
from clalign.values.hits import Hit

PAGE = 64
"""Rows read at once while the table is painted: more than it shows, few enough for a few milliseconds."""

ALL_QUERIES = pages.ALL_QUERIES
"""In place of the number of a query: all queries."""


class HitRow(Hit, frozen=True, kw_only=True):
    """A row of the hits table: a hit with its query, verification and note.

    Attributes
    ----------
    id : int
        In the run file.
    profile : int
        Number of the query; with `row` it identifies a hit even if the search rewrites it.
    verified : str
    note : str
        What the user has written beside it.
    """

    id: int
    profile: int
    verified: str
    note: str

    @property
    def has_no_domain(self) -> bool:
        """Whether the sequence passes but none of its domains does."""
        return self.estimates is not None and not self.reported_domains


class HitPages(pages.HitPages):
    """Created in the reader's thread and then used by the window's, never by both at once."""

    def rows(self, first: int, n_rows: int) -> list[HitRow]:
        """Return rows of the table, domains included."""
        return [
            HitRow(
                **asdict(listed.hit),
                id=listed.id, profile=listed.query, verified=listed.verified, note=listed.note,
            )
            for listed in self.listed(first, n_rows)
        ]  # fmt: skip
