"""Hits in a chosen order, paged from the run file."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from clalign.runs import open_run

from .hit_filter import HitFilter

PAGE = 256
"""Rows read at once."""

ALL_PROFILES = -1
"""In place of the number of a profile: the hits of all of them, one sequence after the other."""


@dataclass(frozen=True, slots=True)
class HitRow:
    """A line of the hits table.

    Attributes
    ----------
    spans : tuple of (start, end, hmm_start, hmm_end, score)
        Each reported domain on the sequence and on the profile, 0-based and half open.
    """

    id: int
    name: str
    accession: str
    description: str
    length: int
    score: float
    bias: float
    evalue: float
    n_domains: int
    best_score: float | None
    best_evalue: float | None
    verified: str
    profile: int
    spans: tuple[tuple[int, int, int, int, float], ...] = ()

    def coverage(self, profile_length: int) -> float:
        """Return the share of the profile's nodes that the reported domains touch."""
        covered, reach = 0, 0
        for start, end in sorted((span[2], span[3]) for span in self.spans):
            covered += max(0, end - max(start, reach))
            reach = max(reach, end)
        return covered / max(1, profile_length)


SORTS = {
    "evalue": "evalue",
    "score": "score",
    "bias": "bias",
    "name": "name COLLATE NOCASE",
    "accession": "accession COLLATE NOCASE",
    "description": "description COLLATE NOCASE",
    "length": "length",
    "n_domains": "n_domains",
    "best_score": "best_score",
    "best_evalue": "best_evalue",
    "verified": "verified",
    "profile": "(SELECT name FROM main.profiles WHERE profiles.id = hits.profile) COLLATE NOCASE",
    "start": "(SELECT min(ali_start) FROM domains WHERE hit = hits.id)",
    "model_start": "(SELECT min(hmm_start) FROM domains WHERE hit = hits.id)",
    "coverage": "(SELECT sum(hmm_end - hmm_start) FROM domains WHERE hit = hits.id)",
}
"""SQL of each order."""

NEARLY_UNIQUE = ("name", "accession")
"""Orders with so few ties that what decides them does not matter."""

_COLUMNS = (
    "id, name, accession, description, length, score, bias, evalue, n_domains, best_score, best_evalue, verified, "
    "profile"
)


@dataclass(frozen=True, slots=True)
class HitQuery:
    """What the table shall show.

    Attributes
    ----------
    least_score : float or None
        Show hits with at least this score (bits).
    sort : str or None
        Key of `SORTS`; None is the original order: falling score, then place in the input.
    """

    path: Path
    profile: int
    filter: HitFilter = HitFilter()
    least_score: float | None = None
    sort: str | None = None
    descending: bool = False

    def condition(self) -> tuple[str, tuple[float | str, ...]]:
        """Return the SQL condition and its values."""
        parts: list[str] = ["profile = ?"]
        values: list[float | str] = [self.profile]
        if self.profile == ALL_PROFILES:
            parts, values = ["1"], []
        if self.least_score is not None:
            parts.append("score >= ?")
            values.append(self.least_score)
        if self.filter.where:
            parts.append(f"({self.filter.where})")
            values += self.filter.values
        return " AND ".join(parts), tuple(values)


class HitPages:
    """The answer to a `HitQuery`: an ordered list of hit ids in a temporary table of its own connection.

    Only the ids are kept, by SQLite; rows are read a page at a time. It is made in the reader's
    thread and then used by the window's, never by both at once.
    """

    def __init__(self, query: HitQuery, keep: int | None = None) -> None:
        self.query = query
        with open_run(query.path) as run:
            location = run.path.absolute().as_uri()
        self._connection = sqlite3.connect(f"{location}?mode=ro", uri=True, timeout=20, check_same_thread=False)
        where, values = query.condition()
        order = "score DESC, input_index"
        if query.profile == ALL_PROFILES:
            order = "input_index, score DESC, profile"
        if query.sort is not None:
            ties = "id" if query.sort in NEARLY_UNIQUE else order
            order = f"{SORTS[query.sort]} {'DESC' if query.descending else 'ASC'}, {ties}"
        # The index has only score and place; for anything else it would fetch a million rows out of their order.
        simple = query.sort is None and not query.filter.where and query.profile != ALL_PROFILES
        indexed = "" if simple else "NOT INDEXED"
        self._connection.execute("CREATE TEMP TABLE shown (place INTEGER PRIMARY KEY, id INTEGER)")
        self._connection.execute(
            f"INSERT INTO shown (id) SELECT id FROM main.hits {indexed} WHERE {where} ORDER BY {order}", values
        )
        self._connection.commit()
        self.n_rows = int(self._connection.execute("SELECT count(*) FROM shown").fetchone()[0])
        where, values = HitQuery(query.path, query.profile).condition()
        self.n_all = int(
            self._connection.execute(f"SELECT count(*) FROM main.hits WHERE {where}", values).fetchone()[0]
        )
        self.kept = self.place_of(keep) if keep is not None else None

    def place_of(self, hit: int) -> int | None:
        """Return the row of a hit, from 0, or None if it is not shown."""
        found = self._connection.execute("SELECT place FROM shown WHERE id = ?", (hit,)).fetchone()
        return int(found[0]) - 1 if found else None

    def ids(self) -> list[int]:
        """Return the ids of all rows shown, in order."""
        return [row[0] for row in self._connection.execute("SELECT id FROM shown ORDER BY place")]

    def rows(self, first: int, n_rows: int) -> list[HitRow]:
        """Return some rows, domains included."""
        found = self._connection.execute(
            f"SELECT {', '.join('hits.' + c.strip() for c in _COLUMNS.split(','))} FROM shown"
            " JOIN main.hits ON hits.id = shown.id WHERE place > ? AND place <= ? ORDER BY place",
            (first, first + n_rows),
        ).fetchall()
        spans: dict[int, list[tuple[int, int, int, int, float]]] = {}
        for hit, *span in self._connection.execute(
            "SELECT hit, ali_start, ali_end, hmm_start, hmm_end, domains.score FROM shown"
            " JOIN main.domains ON hit = shown.id WHERE place > ? AND place <= ? ORDER BY place, number",
            (first, first + n_rows),
        ):
            spans.setdefault(hit, []).append(tuple(span))
        return [HitRow(*row, tuple(spans.get(row[0], ()))) for row in found]

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()


def count_hits(path: Path, limits: list[list[tuple[int, float]]]) -> list[int]:
    """Return for each list of profiles and least scores how many hits there are."""
    question = "SELECT count(*) FROM hits WHERE profile = ? AND score >= ?"
    with open_run(path) as run:
        return [
            sum(run.connection.execute(question, (profile, score)).fetchone()[0] for profile, score in wanted)
            for wanted in limits
        ]
