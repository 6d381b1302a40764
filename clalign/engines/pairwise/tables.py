"""What a run of pairs holds beside what every run does: what is known of an alignment besides its path; its cards."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from clalign.databases.reports import InputReport
from clalign.runs.declarations import Card, Declaration, EngineTable, Fields
from clalign.runs.opening import BegunRun, Finished
from clalign.runs.plain_data import (
    ALPHABET,
    ANY_CARD,
    count,
    finite,
    line,
    not_negative,
    one_of,
    path_or_word,
    place,
    positive,
    text,
    truth,
)
from clalign.runs.run_file import RunFile
from clalign.values.hits import Domain, Hit, PairFacts
from clalign.values.scoring import MODES


def _of_alignment(alignment: Domain) -> tuple[Any, ...] | None:
    pair = alignment.pair
    if pair is None:
        return None
    return pair.strand, pair.n_identical, pair.n_positive, pair.n_gaps, pair.n_gap_residues


def _read_alignments(fields: Fields, columns: Sequence[Sequence[Any]]) -> None:
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
    found = [counts for _, _, *counts in run.own_batches(BATCHES.name)]
    return sum(n for n, _ in found), sum(n for _, n in found)


_IF_KNOWN = (None, finite)

_STATISTICS = {
    "kind": text, "lambda": positive, "k": positive, "h": _IF_KNOWN, "alpha": _IF_KNOWN, "beta": _IF_KNOWN,
    "step": place, "length_adjustment": finite, "query_length": count, "search_space": not_negative, "words": text,
    "n_fitted": count,
}  # fmt: skip

_CARD = ANY_CARD | {
    "target_alphabet?": ALPHABET, "strands": [text], "statistics?": _STATISTICS, "fitted?": _STATISTICS,
    "statistics_words": text, "curve?": {"first": count, "counts": [finite]},
}  # fmt: skip

_SCORING = {
    "matrix": path_or_word, "letters": line, "table": [[finite]], "is_nucleic": truth, "source": text,
    "gap_first": place, "gap_next": place, "gaps_source": text, "mode": one_of(*MODES),
}  # fmt: skip

ALIGNMENTS = EngineTable(
    name="pairwise_alignments",
    of="parts",
    columns="strand sign?, identical place?, positive place?, gaps place?, gap_residues place?",
    row=_of_alignment,
    read=_read_alignments,
)

BATCHES = EngineTable(
    name="pairwise_batches",
    of="batches",
    columns="n_in_16_bits count, n_in_32_bits count",
)

CHECKPOINTS = EngineTable(name="pairwise_checkpoints", of="unfinished", columns="part line, packed blob")
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


class PairwiseFinished(Finished, kw_only=True):
    """What a finished run of pairs says of its computation."""

    n_queries: int
    n_in_16_bits: int
    n_in_32_bits: int


class PairwiseFacts(BegunRun, kw_only=True):
    """The facts of a search of sequences, or of an alignment of pairs, that has begun."""

    queries: InputReport
    scoring: dict[str, Any]
    strands: list[str]
    direction: Literal["pairwise"] = "pairwise"
    n_targets: float
    finished: PairwiseFinished | None = None


RUNS = Declaration(
    engine="pairwise",
    begun=PairwiseFacts,
    tables=(ALIGNMENTS, BATCHES, CHECKPOINTS),
    cards={"pairwise": _CARD},
    facts={"scoring": (None, _SCORING), "strands": [one_of("plus", "minus")]},
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
