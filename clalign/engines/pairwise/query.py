"""The search of one query: which scores may be hits, its statistics, and the hits themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from clalign.compute.sessions import Session, Steps, at_once
from clalign.engines.pairwise.hits import Wanted, domains_in_steps
from clalign.engines.pairwise.inputs import STRANDS, PairwiseInputs
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import BATCHES
from clalign.errors import OptionError
from clalign.execution.units import Scored
from clalign.runs.run_file import RunFile
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.values.composition import lambda_factors
from clalign.values.documents import Card, TargetFacts
from clalign.values.hits import Domain, Hit, Scores
from clalign.values.karlin_altschul import (
    MIN_SCORES,
    Statistics,
    fitted_statistics,
    known_statistics,
    misfit,
    ungapped_parameters,
)
from clalign.values.karlin_altschul_tables import PROTEIN
from clalign.values.profiles import IMPOSSIBLE
from clalign.values.scoring import PairwiseQuery, Scoring
from clalign.values.sequences import SequenceBatch, SequenceDatabase

ADJUSTED = "E-values and bits of each pair are adjusted to its composition: lambda times 0.5 to 1."


class Likely(Struct, frozen=True):
    """What a device found in a batch.

    Attributes
    ----------
    strands : int32[strands, n]
        Scores on each strand.
    positions : int64[k]
        In the batch, of what may be hits.
    counted : int32[k] or float64[k]
        What their scores count for.
    """

    strands: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]
    counted: npt.NDArray[np.number]


NOTHING_LIKELY = np.empty(0, np.int64), np.empty(0, np.int32)

LONGEST_CURVE = 1000
"""An expected histogram ends at this score at the latest."""


class QuerySearch(Struct):
    """One query against one database, on one or two strands.

    Attributes
    ----------
    queries : tuple of PairwiseQuery
        The query on each of its strands.
    strands : tuple of int
    database : SequenceDatabase
    spec : PairwiseSpec
    statistics : Statistics or None
        Known before, or fitted at the end.
    finds_early : bool
        Whether hits are found batch by batch.
    best : (int64[n], int32[n] or float64[n])
        Rows and the highest scores so far, at most `spec.top` of them: what scores less is no hit. With an adjustment
        to the composition they are multiplied by its factors. What is lost where several threads add to them would
        only have kept more from becoming hits, of which the first are chosen at the end.
    """

    queries: tuple[PairwiseQuery, ...]
    strands: tuple[int, ...]
    database: SequenceDatabase
    spec: PairwiseSpec
    statistics: Statistics | None
    finds_early: bool
    best: tuple[npt.NDArray[np.int64], npt.NDArray[np.number]] = field(
        default_factory=lambda: (np.empty(0, np.int64), np.empty(0, np.int32))
    )

    @property
    def length(self) -> int:
        """Cells for each residue of the database."""
        return self.queries[0].length * len(self.queries)

    @property
    def scoring(self) -> Scoring:
        """How it is scored."""
        return self.queries[0].scoring

    @property
    def least_raw(self) -> int:
        """The least score of a hit, apart from how many there may be."""
        limits = [1 if self.scoring.is_local else IMPOSSIBLE + 1]
        if self.spec.score is not None:
            limits.append(self.spec.score)
        if self.statistics is not None:
            limits.append(self.statistics.least_raw(self.spec.evalue))
        return max(limits)

    def start_scoring(self, session: Session, batch: SequenceBatch) -> Callable[[], Scored[Likely]]:
        """Start scoring a batch on every strand; return a callable that waits for the better scores."""
        waits = [session.start(SMITH_WATERMAN, batch, query) for query in self.queries]

        def collect() -> Scored[Likely]:
            found = [wait() for wait in waits]
            values = np.stack([one.scores.values for one in found])
            wider = sum(one.n_in_16_bits for one in found), sum(one.n_in_32_bits for one in found)
            scores = Scores(batch.targets, np.ascontiguousarray(values.max(axis=0)))
            kept = {BATCHES.name: wider} if any(wider) else {}
            likely = self.note(batch.targets, scores.values) if self.finds_early else NOTHING_LIKELY
            cells = float(batch.lengths[likely[0]].sum()) * self.length
            return Scored(scores, Likely(values, *likely), bin_width=1, kept=lambda: kept, candidate_cells=cells)

        return collect

    def start_hits(self, session: Session, scored: Scored[Likely]) -> Callable[[], tuple[Hit, ...]]:
        """Start aligning what may be a hit; return a callable that waits for the hits in the order of rows."""
        steps = hits_in_steps(session, [(self, scored)])
        next(steps)
        return lambda: at_once(steps)[0]

    def note(
        self, rows: npt.NDArray[np.int64], values: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.number]]:
        """Keep the highest of the scores (int32[n]) of database rows.

        Returns
        -------
        (int64[k], int32[k] or float64[k])
            Which of them may be hits, and what their scores count for.
        """
        positions, counted = self._passing(rows, values, max(self.least_raw, self._least_kept))
        known_rows, known = self.best  # rows may come twice, from two devices
        is_new = np.isin(rows[positions], known_rows, invert=True)
        places = np.concatenate([known_rows, rows[positions][is_new]])
        self.best = highest(places, np.concatenate([known, counted[is_new]]), self.spec.top)
        may_be_hits = counted >= self._least_kept
        return positions[may_be_hits], counted[may_be_hits]

    def _passing(
        self, rows: npt.NDArray[np.int64], values: npt.NDArray[np.int32], least: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.number]]:
        """Return which of the scores of database rows are within the limits, and what they count for."""
        positions = np.flatnonzero(values >= least)
        counted: npt.NDArray[np.number] = values[positions]
        if self.statistics is None or not self.is_adjusted:
            return positions, counted
        counted = counted * self.factors(rows[positions])  # no score counts for more than it is
        passing = np.array([self.statistics.evalue(score) <= self.spec.evalue for score in counted.tolist()], bool)
        return positions[passing], counted[passing]

    @property
    def _least_kept(self) -> float:
        """The least score of the first `spec.top` so far; minus infinity while there are fewer."""
        _, values = self.best
        return float(values.min()) if len(values) == self.spec.top else -np.inf

    @property
    def is_adjusted(self) -> bool:
        """Whether E-values are adjusted to the composition of each pair."""
        return self.spec.composition == "scale" and self.statistics is not None

    def factors(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the factor of lambda for each of some database rows (float64[n])."""
        if not self.is_adjusted:
            return np.ones(len(rows))
        return lambda_factors(self.scoring.matrix, self.queries[0].sequence.codes, self.database.select(rows))

    def statistics_of(self, rows: npt.NDArray[np.int64]) -> list[Statistics | None]:
        """Return the statistics of the pair that the query makes with each of some database rows."""
        known = self.statistics
        if known is None or not self.is_adjusted:
            return [known] * len(rows)
        return [known.scaled(factor) for factor in self.factors(rows).tolist()]

    def candidates(self, scored: Scored[Likely]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        """Return the rows of a batch that may still be hits, now that more is known.

        Returns
        -------
        (int64[k], int32[strands, k])
            Database rows and their scores.
        """
        positions = scored.details.positions[scored.details.counted >= self._least_kept]
        return scored.scores.targets[positions], scored.details.strands[:, positions]

    def wanted(self, rows: npt.NDArray[np.int64], values: npt.NDArray[np.int32]) -> list[list[Wanted]]:
        """Return the alignments of each of some database rows; `values` (int32[strands, rows]) are their scores."""
        # The other strand counts if it is a hit by itself, which only a limit can say.
        has_limit = self.statistics is not None or self.spec.score is not None
        found: list[list[Wanted]] = []
        for place, (row, statistics) in enumerate(zip(rows.tolist(), self.statistics_of(rows), strict=True)):
            order = np.argsort(-values[:, place], kind="stable").tolist()
            passing = [which for which in order[1:] if has_limit and values[which, place] >= self.least_raw]
            found.append([
                Wanted(self.queries[which], self.strands[which], row, int(values[which, place]), statistics)
                for which in [order[0], *passing]
            ])  # fmt: skip
        return found

    def hit(self, row: int, domains: list[Domain]) -> Hit:
        """Return a database row with its alignments."""
        return hit_of(self.database, row, int(self.database.order[row]), domains)

    def best_hits(self, run: RunFile, number: int, session: Session) -> tuple[Hit, ...]:
        """Choose the hits among all scores of a run, and return them."""
        scores = run.scores_by_row(number, len(self.database))
        rows = self.best_rows(scores)
        if not len(rows):
            return ()
        values = scores[rows][np.newaxis]
        if len(self.queries) > 1:  # runs keep the better score only
            values = self.start_scoring(session, self.database.select(rows))().details.strands
        return at_once(_hits_of_rows(session, [(self, rows, values)]))[0]

    def best_rows(self, scores: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Return the rows of the hits, given the scores of all rows (int32[n])."""
        rows, counted = self._passing(np.arange(len(scores), dtype=np.int64), scores, self.least_raw)
        return rows[np.sort(best_of(counted, self.database.order[rows], self.spec.top))].astype(np.int64)

    def described(self, raw: int, row: int) -> TargetFacts:
        """Return name, score and E-value of a target that need not be a hit."""
        (known,) = self.statistics_of(np.array([row], np.int64))
        return {
            "name": self.database.header(row)[0],
            "raw": raw,
            "score": known.bits(raw) if known else float(raw),
            "evalue": known.evalue(raw) if known else None,
        }


def hits_in_steps(
    session: Session, units: Sequence[tuple[QuerySearch, Scored[Likely]]]
) -> Steps[list[tuple[Hit, ...]]]:
    """Align what may be a hit in some units of one run together; ends with the hits of each."""
    return _hits_of_rows(session, [(search, *search.candidates(scored)) for search, scored in units])


def _hits_of_rows(
    session: Session, units: Sequence[tuple[QuerySearch, npt.NDArray[np.int64], npt.NDArray[np.int32]]]
) -> Steps[list[tuple[Hit, ...]]]:
    """Align queries with database rows of known scores (int32[strands, rows]); ends with the hits of each query."""
    wanted = [search.wanted(rows, values) for search, rows, values in units]
    every = [one for of_rows in wanted for of_row in of_rows for one in of_row]
    if not every:
        yield lambda: True
        return [() for _ in units]
    domains = iter((yield from domains_in_steps(session, units[0][0].database, every)))
    return [
        tuple(search.hit(of_row[0].row, list(itertools.islice(domains, len(of_row)))) for of_row in of_rows)
        for (search, _, _), of_rows in zip(units, wanted, strict=True)
    ]


def hit_of(database: SequenceDatabase, row: int, input_index: int, domains: list[Domain]) -> Hit:
    """Return a target with its alignments, the best first."""
    name, accession, description = database.header(row)
    best = domains[0]
    return Hit(
        row=row,
        input_index=input_index,
        name=name,
        accession=accession,
        description=description,
        length=database.length(row),
        score=best.score,
        bias=0.0,
        evalue=best.evalue,
        raw=best.raw,
        domains=tuple(replace(domain, number=number) for number, domain in enumerate(domains, 1)),
        n_domains=len(domains),
    )


def highest(
    rows: npt.NDArray[np.int64], values: npt.NDArray[np.number], n: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.number]]:
    """Return the n highest values of database rows, in no order, with their rows; all of them if there are fewer."""
    if len(values) <= n:
        return rows, values
    places = np.argpartition(values, len(values) - n)[len(values) - n :]
    return rows[places], values[places]


def best_of(values: npt.NDArray[np.number], order: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """Return where the n highest values are, in no order; of equal ones the first by `order`, which has each once.

    Nothing is sorted: of ten million values that takes a fiftieth of the time.
    """
    if len(values) <= n:
        return np.arange(len(values))
    least = np.partition(values, len(values) - n)[len(values) - n]
    sure, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    left = n - len(sure)
    if left < len(equal):
        equal = equal[np.argpartition(order[equal], left)[:left]]
    return np.concatenate([sure, equal])


def known_for(inputs: PairwiseInputs, number: int, spec: PairwiseSpec) -> Statistics | None:
    """Return the statistics of a query that are known before its search; a begun run has them in its card."""
    if spec.statistics == "fitted":
        return None
    targets = inputs.targets
    length = inputs.queries.length(int(inputs.query_rows[number]))
    return known_statistics(inputs.chosen.scoring, length, targets.n_residues, len(targets) - targets.n_empty)


def prepare_query(run: RunFile, inputs: PairwiseInputs, number: int, spec: PairwiseSpec) -> QuerySearch:
    """Return the search of the `number`-th query from 0, with what a run knows of it already."""
    # Not those of today's tables: hits were found, or left for the end, by what was known when the run began.
    known = _stored_statistics(run, number)
    statistics = known if known is not None and known.kind != "fitted" else None
    search = QuerySearch(
        inputs.stranded(number), inputs.strands, inputs.targets, spec, statistics, statistics is not None
    )
    for first, last, values in run.scores(number):
        search.note(np.arange(first, last, dtype=np.int64), values)
    return search


def stored_search(run: RunFile, inputs: PairwiseInputs, number: int) -> QuerySearch:
    """Return the search of a query with the statistics that a run has of it."""
    spec, statistics = run.spec(PairwiseSpec), _stored_statistics(run, number)
    return QuerySearch(inputs.stranded(number), inputs.strands, inputs.targets, spec, statistics, False)


def _stored_statistics(run: RunFile, number: int) -> Statistics | None:
    data = run.card(number).get("statistics")
    return Statistics.from_dict(data) if data else None


def refuse_unknown_statistics(inputs: PairwiseInputs, spec: PairwiseSpec) -> None:
    """Raise OptionError if something is asked for that needs published statistics and there are none."""
    scoring, is_adjusted = inputs.chosen.scoring, spec.composition == "scale"
    if is_adjusted and (inputs.queries.alphabet.is_nucleic or scoring.matrix.is_nucleic):
        raise OptionError("Only statistics of proteins are adjusted.", "Leave out --composition scale.")
    is_needed = is_adjusted or (spec.statistics == "published" and not spec.is_pairs)
    if not is_needed or known_statistics(scoring, 100, 100, 1) is not None:
        return
    opening, extension = scoring.gaps.blast
    if not scoring.is_local:
        why = f"There are no statistics of {scoring.mode} alignments."
    else:
        why = f"None are published for {scoring.matrix.name} with gap costs {opening}/{extension}."
    known = [f"{row[0]:g}/{row[1]:g}" for row in PROTEIN.get(scoring.matrix.name, ())]
    with_costs = f" or take gap costs of BLAST's tables ({', '.join(known)})" if known and scoring.is_local else ""
    option = "--composition scale" if is_adjusted else "--statistics published"
    raise OptionError(why, f"Leave out {option}{with_costs}.")


def statistics_at_end(
    run: RunFile, inputs: PairwiseInputs, search: QuerySearch, number: int
) -> tuple[Statistics | None, Statistics | None]:
    """Return the statistics to show and those fitted to the scores, now that all of them are there."""
    if not _may_be_fitted(search):
        return None, None
    rows, targets = inputs.rows_to_fit, inputs.targets
    scores = run.scores_by_row(number, len(targets))[rows]
    lengths = targets.offsets[rows + 1] - targets.offsets[rows]
    fitted = fitted_statistics(scores, lengths, search.queries[0].length, targets.n_residues)
    return (search.statistics if search.finds_early else fitted), fitted


def _may_be_fitted(search: QuerySearch) -> bool:
    return search.scoring.is_local and search.length > 0 and ungapped_parameters(search.scoring.matrix) is not None


def card_of_query(inputs: PairwiseInputs, number: int, spec: PairwiseSpec) -> Card:
    """Return the card of a query before its search, as plain data."""
    query = inputs.query(number)
    card = {
        "name": query.name,
        "accession": query.accession,
        "description": query.description,
        "length": len(query),
        "origin": "pairwise",
        "alphabet": inputs.queries.alphabet.name,
        "target_alphabet": inputs.targets.alphabet.name,
        "n_targets": len(inputs.targets),
        "strands": [STRANDS[strand] for strand in inputs.strands],
        "cells_per_residue": len(query) * len(inputs.strands),
        "histogram_kind": "raw",
        "histogram_bin": 1,
        "histogram_unit": 1.0,
    }
    statistics = None if spec.is_pairs else known_for(inputs, number, spec)
    search = QuerySearch(inputs.stranded(number), inputs.strands, inputs.targets, spec, statistics, False)
    card = card_with(card, inputs, search, statistics, None)
    if statistics is None and not spec.is_pairs and _may_be_fitted(search):
        when = "when all parts are merged" if spec.shard is not None else "at the end of this query"
        card["statistics_words"] = f"E-values and bit scores come {when}, fitted to its scores."
    return card


def card_with(
    card: Card, inputs: PairwiseInputs, search: QuerySearch, statistics: Statistics | None, fitted: Statistics | None
) -> Card:
    """Return a card with the statistics that are shown and those that were fitted, or None for each."""
    curve = None
    if statistics is not None:
        # As far as a score is expected in one of a hundred such searches.
        n = min(statistics.least_raw(0.01) + 1, LONGEST_CURVE)
        n_targets = len(inputs.targets) - inputs.targets.n_empty
        counts = statistics.expected_counts(inputs.typical_lengths, n_targets, 0, n)
        curve = {"first": 0, "counts": [round(float(count), 4) for count in counts]}
    return card | {
        "statistics": statistics.to_dict() if statistics else None,
        "statistics_words": _words_of(statistics, fitted, search.spec) if statistics else _why_none(search),
        "fitted": fitted.to_dict() if fitted else None,
        "histogram_report_score": search.least_raw if statistics else search.spec.score,
        "curve": curve,
        **({"is_adjusted": True} if search.is_adjusted else {}),
    }


def _words_of(statistics: Statistics, fitted: Statistics | None, spec: PairwiseSpec) -> str:
    """Return where statistics come from, whether they are adjusted, and whether the scores of the run fit them."""
    adjusted = ADJUSTED if spec.composition == "scale" else ""
    return " ".join(text for text in (statistics.words, adjusted, misfit(statistics, fitted, spec.evalue)) if text)


def _why_none(search: QuerySearch) -> str:
    """Return in words why there are no statistics."""
    scoring = search.scoring
    if search.spec.is_pairs:
        return "No E-values: they are for searches; scores are in units of the matrix."
    if not scoring.is_local:
        return f"No E-values: there are no statistics of {scoring.mode} alignments; scores are in units of the matrix."
    if search.length == 0:
        return "No E-values: this query has no residues."
    if ungapped_parameters(scoring.matrix) is None:
        return f"No E-values: with {scoring.matrix.name} random sequences score above 0 on average."
    opening, extension = scoring.gaps.blast
    cause = f"none are published for {scoring.matrix.name} with gap costs {opening}/{extension}"
    if search.spec.statistics == "fitted":
        cause = "they are to be fitted to the scores of the run"
    needs = f"the scores of at least {MIN_SCORES} different sequences, most of them unrelated to the query"
    return f"No E-values: {cause}, and a fit needs {needs}."
