"""The rounds of a search, as of jackhmmer: what one has found makes the profile of the next one.

Every round of a query has a profile, with a number in the run as every other: those of the first rounds come first,
others as they are made. Its card says which round it is of, which profile the query began with, and which one it had
before. A run does not keep profiles: from the hits and the score statistics that it keeps each can be made again.

References
----------
Johnson, Eddy & Portugaly, BMC Bioinformatics 11, 431 (2010); HMMER 3.3.2 user's guide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from msgspec.structs import replace

from clalign.building.profiles import Builder, Built
from clalign.building.rows import NO_CODE, code_table
from clalign.compute.sessions import Session
from clalign.engines.plan7.aligned import aligned_row, query_row
from clalign.engines.plan7.exports.hmmer3_stockholm import ROWS_AT_ONCE, CenteredColumns, RowColumns, in_capitals
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.rounds import chosen_rows, has_converged
from clalign.errors import DamagedRun, OptionError, quoted
from clalign.execution.units import Storing
from clalign.formats.profile_stockholm import AlignedRow, annotation_text
from clalign.runs.hit_rows import unwritable
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import AMINO
from clalign.values.documents import Card, SpecFields
from clalign.values.hits import Domain, Hit
from clalign.values.profiles import Calibration, Hmm, Hmmer3Settings
from clalign.values.row_alignments import RowAlignment, RowNotes


def card_of(run: RunFile, number: int) -> Card:
    """Return the card of a profile of a run of rounds.

    Raises
    ------
    DamagedRun
        If it does not say which round it is of, or belongs to no round before it.
    """
    card = run.card(number)
    first, before, place = card.get("first"), card.get("before"), card.get("round")
    if before is None:
        follows = (first, place) == (number, 1)
    else:
        known = run.card(before) if before < number else {}
        follows = bool(known) and (first, place) == (known.get("first"), 1 + (known.get("round") or 0))
    if not follows or card.get("n_rows") is None:
        raise DamagedRun(run.path, "its rounds do not follow each other")
    return card


def first_card(run: RunFile, number: int) -> Card:
    """Return the card of the first profile of the query of a profile."""
    first: int = card_of(run, number)["first"]
    return card_of(run, first)


def rows_of(run: RunFile, number: int) -> Iterator[AlignedRow]:
    """Yield the rows of the alignment that ends a round: the query if it is a sequence, and the significant domains."""
    first = first_card(run, number)
    if first["n_rows"]:
        yield query_row(first)
    for hit, domain in _significant(run, number):
        if (wrong := unwritable(hit, first["length"])) is not None:
            raise DamagedRun(run.path, f"the hit {hit.name} has {wrong}")
        yield aligned_row(hit, domain)


def n_rows_of(run: RunFile, number: int) -> int:
    """Return how many rows the alignment that ends a round has."""
    n_queries: int = first_card(run, number)["n_rows"]
    return n_queries + sum(1 for _ in _significant(run, number))


def _significant(run: RunFile, number: int) -> Iterator[tuple[Hit, Domain]]:
    """Yield the significant domains of a round, each with its hit, best first, as the user has chosen hits.

    A hit that is taken without a significant domain has all that are reported.
    """
    taken, dropped = chosen_rows(run.card(number))
    for hit in run.hits(number):
        if hit.row not in dropped and (hit.is_significant or hit.row in taken):
            found = [domain for domain in hit.domains if domain.is_significant]
            yield from ((hit, one) for one in found or (hit.reported_domains if hit.row in taken else ()))


def ends_at(run: RunFile, number: int) -> bool:
    """Return whether no round follows one, whatever their number may be."""
    card = card_of(run, number)
    return has_converged(n_new(run, number), card["n_rows"], n_rows_of(run, number), any(chosen_rows(card)))


def choose(run: RunFile, number: int, rows: Iterable[int], is_in: bool | None) -> None:
    """Keep that the user takes hits of a round into the next profile, or drops them; None for what E-values say.

    Parameters
    ----------
    run : RunFile
        Open for writing; nothing computes it.
    number : int
        Of the profile of the round.
    rows : iterable of int
        Of the targets.
    is_in : bool or None

    Raises
    ------
    OptionError
        If the next profile is there already.
    """
    card = card_of(run, number)
    if any(run.card(other).get("before") == number for other in range(number + 1, run.n_queries())):
        raise OptionError("The next round has its profile already.", "Choose among the hits of the last round.")
    taken, dropped = chosen_rows(card)
    for row in rows:
        taken.discard(row)
        dropped.discard(row)
        if is_in is not None:
            (taken if is_in else dropped).add(row)
    kept = {name: value for name, value in card.items() if name not in ("taken", "dropped")}
    more = {name: sorted(rows) for name, rows in (("taken", taken), ("dropped", dropped)) if rows}
    run.set_card(number, {**kept, **more})


def one_more(run: RunFile, taken: Iterable[str] = (), dropped: Iterable[str] = ()) -> None:
    """Have a search go on, of the queries that have not converged: a finished one with one more round than it was to
    have at most, a stopped one with those that it lacks.

    Nothing is changed if it cannot go on.

    Parameters
    ----------
    run : RunFile
        Open for writing; nothing computes it.
    taken, dropped : iterable of str
        Names of targets whose hits in the last rounds the user wants in the next profile, or not.

    Raises
    ------
    OptionError
        If the search has no rounds, if no last round has hits of such a target, or if all queries have converged, and
        none of their hits was chosen.
    """
    spec, hits = run.spec(SearchSpec), HitQueries(run.connection)
    if not spec.has_rounds:
        raise OptionError(f"Runs of `clalign {spec.command}` have no rounds.", "Search in rounds: clalign jackhmmer.")
    last = {card_of(run, number)["first"]: number for number in range(run.n_queries())}
    chosen = [(name, is_in) for names, is_in in ((taken, True), (dropped, False)) for name in names]
    rows = {number: set(hits.rows(number).tolist()) for number in last.values()} if chosen else {}
    with run.transaction():
        for name, is_in in chosen:
            named = hits.targets_named(name)
            found = {number: some for number in rows if (some := rows[number].intersection(named))}
            if not found:
                raise OptionError(f"No last round has hits of {quoted(name)}.", "Choose among the hits of these.")
            for number, some in found.items():
                choose(run, number, some, is_in)
        going = [number for number in last.values() if run.best(number) is None or not ends_at(run, number)]
        if last and not going:
            hint = "Take hits into the next one, or drop some."
            raise OptionError("No query has a further round: all have converged.", hint)
        ended = {number: card_of(run, number)["round"] for number in going if run.best(number) is not None}
        is_stopped = len(ended) < len(going) or not last
        n_rounds = max(spec.iterations, 0 if is_stopped else 1 + max(ended.values()))
        run.reopen([number for number, n in ended.items() if n < n_rounds], _stored_spec(run, n_rounds))


def name_of(run: RunFile, number: int) -> str:
    """Return the name of the alignment that ends a round, and so of the next profile."""
    return f"{first_card(run, number)['name']}-i{card_of(run, number)['round']}"


def aligned(run: RunFile, number: int, rows: Sequence[AlignedRow]) -> RowAlignment:
    """Return the rows that end a round as the alignment that the next profile is built from: capitals and dashes."""
    first = first_card(run, number)
    length: int = first["length"]
    parts = [rows[n : n + ROWS_AT_ONCE] for n in range(0, len(rows), ROWS_AT_ONCE)]
    widths = np.zeros(length + 1, np.int64)
    for part in parts:
        RowColumns(part).widen(widths)
    inserts: list[int] = widths.tolist()
    columns, texts = CenteredColumns(inserts), list[bytes]()
    for part in parts:
        cells, _ = columns.cells(RowColumns(part), len(part))
        texts += [in_capitals(line.tobytes().decode("latin-1")).encode("latin-1") for line in cells]
    found = RowAlignment.of_rows([row.place for row in rows], texts)
    if (code_table(AMINO)[found.cells] == NO_CODE).any():
        raise DamagedRun(run.path, "it has residues that are not those of proteins")
    notes = [(tag, first[key]) for tag, key in (("AC", "accession"), ("DE", "description")) if first[key]]
    return replace(found, notes=RowNotes(notes, columns={"RF": annotation_text("x" * length, inserts).encode()}))


def names_before(run: RunFile, number: int) -> set[str]:
    """Return the names of the significant hits of the round before; none before the first one."""
    card_of(run, number)
    return HitQueries(run.connection).names_before(number)


def n_new(run: RunFile, number: int) -> int:
    """Return how many significant hits of a round have names that none of the round before had."""
    known = names_before(run, number)
    return sum(name not in known for name in HitQueries(run.connection).significant_names(number))


def made_again(
    run: RunFile, number: int, spec: SearchSpec, check: Callable[[], None] = lambda: None, has_checksum: bool = False,
    session: Session | None = None,
) -> Built:  # fmt: skip
    """Return the profile of a later round, from the hits of the one before, with statistics of the run or of a session.

    `has_checksum` as of `Builder.build`.
    """
    card = card_of(run, number)
    before: int = card["before"]
    builder = Builder(spec.round_spec(), AMINO, session, check)
    rows, known = aligned(run, before, list(rows_of(run, before))), statistics_of(card) if session is None else None
    return builder.build(rows, name_of(run, before), known, has_checksum)


def stop_after(run: RunFile) -> None:
    """Have a search end with the rounds that are begun, also while it is computed.

    Raises
    ------
    OptionError
        If none is begun.
    """
    n_rounds = max((card_of(run, number)["round"] for number in range(run.n_queries())), default=0)
    if not n_rounds:
        raise OptionError("No round is begun.", "Wait until the queries are read, or stop the search.")
    run.set_facts(spec=_stored_spec(run, n_rounds))


def _stored_spec(run: RunFile, n_rounds: int) -> SpecFields:
    """Return the spec of a run as it is stored, with its cluster, but with another number of rounds."""
    return {**(run.facts.spec or {}), "iterations": n_rounds}


def all_profiles(
    run: RunFile, spec: SearchSpec, first: list[Hmm], check: Callable[[], None], session: Session | None = None
) -> list[Hmm]:
    """Return the profiles of all rounds of a run by their numbers, given those of the first ones; see `made_again`."""
    later = range(len(first), run.n_queries())
    return [*first, *(made_again(run, number, spec, check, session=session).hmm for number in later)]


def place_of(run: RunFile, number: int, spec: SearchSpec) -> Card:
    """Return the fields of a profile's card about its round, as they follow from the round before."""
    before: int | None = card_of(run, number)["before"]
    place = first_place(number, spec) if before is None else _next_place(run, before, n_rows_of(run, before))
    return {**place, **{name: rows for name, rows in run.card(number).items() if name in ("taken", "dropped")}}


def first_place(number: int, spec: SearchSpec) -> Card:
    """Return the fields of a first profile's card; of the rows it was made of that of a sequence alone is counted."""
    return {"round": 1, "first": number, "before": None, "n_rows": int(spec.has_sequences)}


def _next_place(run: RunFile, before: int, n_rows: int) -> Card:
    card = card_of(run, before)
    return {"round": card["round"] + 1, "first": card["first"], "before": before, "n_rows": n_rows}


def statistics_of(card: Card) -> Hmmer3Settings:
    """Return the score statistics on a card."""
    found = {
        name: Calibration("exponential" if "tau" in one else "gumbel", one.get("tau", one.get("mu")), one["lambda"])
        for name, one in card["calibration3"].items()
    }
    return Hmmer3Settings("f", **found, composition=None, max_length=None, effective_n=None)


class Rounds:
    """The profiles of the rounds of a run.

    Parameters
    ----------
    spec : SearchSpec
    first : sequence of Hmm
        Those of the first rounds.
    card_of : callable
        Returns the card of a profile.
    check : callable
        Called now and then; may raise.
    """

    def __init__(
        self, spec: SearchSpec, first: Sequence[Hmm], card_of: Callable[[Hmm], Card],
        check: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._spec, self._first, self._card_of, self._check = spec, first, card_of, check
        self._made = dict[int, Hmm]()

    def cards(self) -> Iterator[Card]:
        """Yield the cards of the profiles of the first rounds."""
        for number, hmm in enumerate(self._first):
            yield {**self._card_of(hmm), **first_place(number, self._spec)}

    def profile(self, run: RunFile, number: int) -> Hmm:
        """Return a profile; another process may have made it."""
        if number < len(self._first):
            return self._first[number]
        made = self._made.pop(number, None)  # of thousands of queries all would not fit into memory
        return made_again(run, number, self._spec, self._check).hmm if made is None else made

    def compute_end(self, run: RunFile, number: int, session: Session) -> Storing:
        """Make the profile of the round that follows, if there is one; return a callable that stores its card."""
        card = card_of(run, number)
        if card["round"] >= run.spec(SearchSpec).iterations:  # they may have become fewer
            return lambda run: None
        rows = list(rows_of(run, number))
        if has_converged(n_new(run, number), card["n_rows"], len(rows), any(chosen_rows(card))):
            return lambda run: None
        builder = Builder(self._spec.round_spec(), AMINO, session, self._check)
        hmm = builder.build(aligned(run, number, rows), name_of(run, number), has_checksum=False).hmm
        more = _next_place(run, number, len(rows))

        def store(run: RunFile) -> None:
            if more["round"] > run.spec(SearchSpec).iterations:  # a person may have had it end meanwhile
                return
            self._made[run.add_card({**self._card_of(hmm), **more})] = hmm

        return store
