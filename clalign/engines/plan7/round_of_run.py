"""One round of a search as the library shows it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from clalign.engines.plan7.exports.rounds import given_profiles, profile_of
from clalign.engines.plan7.rounds import aligned, card_of, ends_at, first_card, n_new, names_before, rows_of
from clalign.engines.plan7.spec import SearchSpec
from clalign.jobs import QuietContext
from clalign.runs.pages import QueryFound, found_by_query
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile, open_run
from clalign.values.hits import Hit
from clalign.values.profiles import Hmm
from clalign.values.row_alignments import RowAlignment


class RoundOfRun:
    """A round of a query; see `clalign.engines.rounds.Round`.

    Attributes
    ----------
    query : str
        Name of the query.
    number : int
        From 1.
    profile_name : str
        What the run calls the profile: the name of the query, then ``NAME-i1`` and so on.
    """

    def __init__(self, run: RunFile, number: int) -> None:
        self._run, self._profile, self._card = run, number, card_of(run, number)
        self.query: str = first_card(run, number)["name"]
        self.number: int = self._card["round"]
        self.profile_name: str = self._card["name"]

    def __repr__(self) -> str:
        return f"<Round {self.number} of {self.query}: {len(self)} hits, {self.n_new} new>"

    def __len__(self) -> int:
        return self._run.n_hits(self._profile)

    def __iter__(self) -> Iterator[Hit]:
        return self._run.hits(self._profile)

    @property
    def n_significant(self) -> int:
        """How many hits are significant."""
        return len(self._significant())

    @property
    def n_new(self) -> int:
        """How many significant hits were none in the round before."""
        return n_new(self._run, self._profile)

    @property
    def new(self) -> list[str]:
        """Names of the significant hits that were none in the round before."""
        before = names_before(self._run, self._profile)
        return [name for name in self._significant() if name not in before]

    @property
    def lost(self) -> list[str]:
        """Names that significant hits had in the round before, and have no more."""
        now = set(self._significant())
        return sorted(name for name in names_before(self._run, self._profile) if name not in now)

    def _significant(self) -> list[str]:
        return HitQueries(self._run.connection).significant_names(self._profile)

    @property
    def has_converged(self) -> bool:
        """Whether nothing new was found, so that no round follows."""
        return ends_at(self._run, self._profile)

    def alignment(self) -> RowAlignment:
        """Return the significant domains, aligned to the query, which is the first row: capital letters and dashes."""
        return aligned(self._run, self._profile, list(rows_of(self._run, self._profile)))

    def profile(self) -> Hmm:
        """Return the profile that was searched with."""
        spec = self._run.spec(SearchSpec)
        given = partial(given_profiles, self._run, spec, QuietContext())
        return profile_of(self._run, self._profile, spec, given).hmm


def found_by_round(path: Path) -> dict[int, QueryFound]:
    """Return the findings of the rounds of all queries so far, by the numbers of their profiles.

    Raises
    ------
    DamagedRun
        If the rounds do not follow each other.
    """
    found = found_by_query(path)
    with open_run(path) as run:
        followed = {run.card(number).get("before") for number in range(run.n_queries())}
        for number, all_of_it in found.items():
            one = RoundOfRun(run, number)
            has_converged = number not in followed and all_of_it.searched >= 1.0 and one.has_converged
            found[number] = all_of_it._replace(new=tuple(one.new), lost=tuple(one.lost), has_converged=has_converged)
    return found
