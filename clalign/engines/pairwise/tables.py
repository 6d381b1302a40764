"""What a run of pairs holds beside what every run does: what is known of an alignment besides its path; its cards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

from clalign.databases.reports import InputReport
from clalign.errors import InputError
from clalign.runs.facts import Alphabet, BegunRun, Best, Finished, QueryCard
from clalign.runs.run_file import RunFile
from clalign.runs.tables import Declaration, EngineTable, Fields, Sign, SqlRow
from clalign.values.checked import Count, Finite, Line, NotNegative, Number, Place, Positive, Whole, Word
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit, PairFacts
from clalign.values.scoring import Mode


def _of_alignment(alignment: Domain) -> SqlRow | None:
    pair = alignment.pair
    if pair is None:
        return None
    return pair.strand, pair.n_identical, pair.n_positive, pair.n_gaps, pair.n_gap_residues


def _read_alignments(fields: Fields, columns: Sequence[SqlRow]) -> None:
    fields["pair"] = [None if values[0] is None else PairFacts(*values) for values in zip(*columns, strict=True)]


def order(card: Card, hit: Hit) -> tuple[float, str | None]:
    """Put hits in the order of raw scores, unless these count for more in one pair than in another."""
    return hit.score if card.get("is_adjusted") or not hit.domains else float(hit.raw), None


_STRANDS = {"plus": 1, "minus": -1}


def unsound(card: Card, hit: Hit) -> str | None:
    """Return in words what a hit of a pair cannot lack; None if there is nothing."""
    strands = {_STRANDS.get(word) for word in card["strands"]}
    if not hit.domains:
        return "no alignment"
    if any(math.isnan(hit.evalue) != math.isnan(alignment.evalue) for alignment in hit.domains):
        return "E-values of some of its alignments only"
    for pair in (alignment.pair for alignment in hit.domains):
        if pair is None:
            return "an alignment of a profile"
        if None in (pair.n_identical, pair.n_positive, pair.n_gaps, pair.n_gap_residues):
            return "an alignment of which not all is known"
        if pair.strand not in strands:
            return "an alignment on a strand that was not compared"
    return None


def n_wider(run: RunFile) -> tuple[int, int]:
    """Return how many scores were computed again with 16 and with 32 bits, because narrower numbers overflowed."""
    found = [counts for _, _, *counts in run.engine_rows_of_batches(BATCHES.name)]
    return sum(n for n, _ in found), sum(n for _, n in found)


StoredStatistics = TypedDict("StoredStatistics", {
    "kind": str, "lambda": Positive, "k": Positive, "h": Finite | None, "alpha": Finite | None, "beta": Finite | None,
    "step": Place, "length_adjustment": Finite, "query_length": Count, "search_space": NotNegative, "words": str,
    "n_fitted": Count,
})  # fmt: skip
"""See `clalign.values.karlin_altschul.Statistics`."""


class Curve(TypedDict):
    """How many targets are expected by chance at a score and at each higher one."""

    first: Count
    counts: list[Finite]


class PairCard(QueryCard):
    """The card of a sequence that others are compared with."""

    target_alphabet: NotRequired[Alphabet | None]
    strands: list[str]
    cells_per_residue: Finite
    statistics: NotRequired[StoredStatistics | None]
    fitted: NotRequired[StoredStatistics | None]
    statistics_words: str
    curve: NotRequired[Curve | None]
    is_adjusted: NotRequired[bool]


class BestPair(Best):
    """The best target of a query."""

    evalue: Number | None
    raw: Whole


class StoredScoring(TypedDict):
    """See `clalign.engines.pairwise.inputs.ChosenScoring`."""

    matrix: Word
    letters: Line
    table: list[list[Finite]]
    is_nucleic: bool
    source: str
    gap_first: Place
    gap_next: Place
    gaps_source: str
    mode: Mode


ALIGNMENTS = EngineTable(
    name="pairwise_alignments",
    of="parts",
    columns={"strand": Sign | None} | dict.fromkeys(("identical", "positive", "gaps", "gap_residues"), Place | None),
    row=_of_alignment,
    read=_read_alignments,
)

BATCHES = EngineTable(name="pairwise_batches", of="batches", columns={"n_in_16_bits": Count, "n_in_32_bits": Count})

CHECKPOINTS = EngineTable(name="pairwise_checkpoints", of="unfinished", columns={"part": Line, "packed": bytes})
"""How far long pairs are, see `clalign.engines.pairwise.long_pairs`."""


def _best(expression: str) -> str:
    """Return the SQL of a value of the best alignment of a hit."""
    return (
        f"(SELECT {expression} FROM parts JOIN pairwise_alignments USING (hit, number)"
        " WHERE hit = hits.id AND number = 1)"
    )


_QUERY_LENGTH = "(SELECT length FROM queries WHERE queries.id = hits.query)"
_IDENTITY = "100.0 * identical / length(states)"
_POSITIVES = "100.0 * positive / length(states)"
_QUERY_COVERAGE = f"100.0 * (query_end - query_start) / {_QUERY_LENGTH}"


class PairwiseFinished(Finished):
    """What a finished run of pairs says of its computation."""

    n_queries: Count
    n_in_16_bits: Count
    n_in_32_bits: Count


class PairwiseFacts(BegunRun, frozen=True, kw_only=True):
    """The facts of a search of sequences, or of an alignment of pairs, that has begun."""

    queries: InputReport
    scoring: StoredScoring
    strands: list[Literal["plus", "minus"]]
    direction: Literal["pairwise"] = "pairwise"
    n_targets: Count
    finished: PairwiseFinished | None = None


def begun_facts(run: RunFile) -> PairwiseFacts:
    """Return the facts of a run that has begun.

    Raises
    ------
    InputError
        If it was stopped before its input was read.
    """
    if not isinstance(run.facts, PairwiseFacts):
        raise InputError(run.path, "this run has no results; its input could not be read.", "Search again.")
    return run.facts


RUNS = Declaration(
    engine="pairwise",
    begun=PairwiseFacts,
    tables=(ALIGNMENTS, BATCHES, CHECKPOINTS),
    cards={"pairwise": PairCard},
    best=BestPair,
    order=order,
    unsound=unsound,
    values={
        "identity": _best(_IDENTITY),
        "positives": _best(_POSITIVES),
        "gaps": _best("gaps"),
        "query_coverage": _best(_QUERY_COVERAGE),
        "target_coverage": _best("100.0 * (target_end - target_start) / targets.length"),
        "query_start": _best("query_start"),
        "target_start": _best("target_start"),
        "strand": _best("strand"),
        "n_columns": _best("length(states)"),
        "ranking": _best(f"{_QUERY_COVERAGE} / 2 + {_IDENTITY} / 4 + {_POSITIVES} / 4"),
    },
    identical="pairwise_alignments.identical",
    placed={"strand": "coalesce(strand, 1)"},
    choosing=("in_step", "pair_list", "long"),
    best_part_only=True,
)
"""The values are of the best alignment; shares are percents."""
