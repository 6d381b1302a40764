"""The text that people read, of HMMER3 profiles: in the layout of hmmsearch and hmmscan 3.3.2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TextIO

import numpy as np
import numpy.typing as npt

from clalign.engines.export_lines import write_lines
from clalign.engines.plan7.exports import hmmer3_text as text
from clalign.engines.plan7.exports.source import (
    ProfileRunSource,
    Query,
    hits,
    profile_query,
    queries,
    sides,
    target_widths,
)
from clalign.engines.plan7.hmmer3.funnel import (
    FILTERS,
    NO_WORK,
    funnel_of,
    limit_of,
    n_left_out,
    survivors_of,
    works_of,
)
from clalign.engines.rounds import chosen_rows
from clalign.values.documents import Card
from clalign.values.hits import Hit

FILTER_NAMES = {"msv": "MSV", "bias": "bias", "viterbi": "Vit", "forward": "Fwd"}
"""What HMMER calls the filters."""


def write_hmmer3_head(source: ProfileRunSource, stream: TextIO) -> None:
    """Write the head of the whole text."""
    write_lines(stream, text.head_lines(source.provenance, source.spec))


def write_hmmer3_query(source: ProfileRunSource, stream: TextIO, query: Query) -> int:
    """Write the part of a profile and return the number of hits."""
    write_lines(stream, chain(_head(source, query), _hits_and_domains(source, query), _statistics(source, query)))
    return len(query.keys)


def write_hmmer3_rounds(source: ProfileRunSource, stream: TextIO, query: Query) -> int:
    """Write the rounds of a query, of the last of which it is, and return the number of hits in all."""
    from clalign.engines.plan7.rounds import n_rows_of

    source, numbers = source.of_all_rounds(), source.rounds[source.cards[query.number]["first"]]
    has_query = source.spec.has_sequences
    known, n_rows, count = set[str](), source.cards[numbers[0]]["n_rows"], 0
    write_lines(stream, chain(_head(source, query), [""]))
    for place, number in enumerate(numbers, 1):
        one = profile_query(source, number, works_of(source.run, number, number + 1).get(number, NO_WORK))
        if place > 1:
            write_lines(stream, text.round_head(place, n_rows, len(known), one.length, has_query))
        marks = partial(_mark, known)
        write_lines(stream, chain(_hits_and_domains(source, one, marks), _statistics(source, one)))
        names = source.keys.significant_names(number)
        later = numbers[place:]
        taken, dropped = chosen_rows(source.cards[number])
        both = n_rows, source.cards[later[0]]["n_rows"] if later else n_rows_of(source.run, number)
        n_new = sum(name not in known for name in names)
        if place < len(numbers) or not source.provenance.partial or source.run.best(number) is not None:
            chosen = (len(taken), len(dropped))
            is_last = place == source.spec.iterations
            write_lines(stream, text.round_end(place, n_new, both, is_last, has_query, chosen))
        known, n_rows, count = set(names), both[1], count + len(one.keys)
    return count


def _mark(before: set[str], hit: Hit) -> str:
    """Return the mark of a hit that is new in this round, or lost."""
    if hit.is_significant:
        return " " if hit.name in before else "+"
    return "-" if hit.name in before else " "


def _head(source: ProfileRunSource, query: Query) -> Iterator[str]:
    is_sequence = source.is_scan or source.spec.has_sequences
    return text.query_lines(query.name, query.length, query.accession, query.description, is_sequence)


def _statistics(source: ProfileRunSource, query: Query) -> Iterator[str]:
    card, work = source.cards[query.number], query.work
    n_targets = work.n_rows - n_left_out(source.run, query.number, card)
    n_residues = source.n_residues - (card.get("left_out_residues") or 0)
    if source.provenance.partial:
        n_residues = int(work.cells) // query.length
    limits = [limit_of(card, stage) for stage in FILTERS]
    funnel = _funnel(source, query, (n_targets, n_residues), work.n_passed, limits)
    return chain(
        text.statistics_lines(funnel, False), text.speed_lines(source.provenance.device, work.cells, work.seconds)
    )


def write_hmmer3_scan(source: ProfileRunSource, stream: TextIO) -> int:
    """Write the text of a scan, sequence after sequence, and return the number of hits."""
    write_hmmer3_head(source, stream)
    passed = _passed_by_row(source)
    n_nodes = sum(card["length"] for card in source.cards)
    limits = [next((row["limit"] for row in funnel_of(source.run, 0) if row["stage"] == s), None) for s in FILTERS]
    count = 0
    for query in queries(source, every=True):
        source.context.check()
        n_passed = [int(n) for n in passed[:, query.number]]
        funnel = _funnel(source, query, (len(source.cards), n_nodes), n_passed, limits)
        write_lines(stream, chain(
            _head(source, query), _hits_and_domains(source, query), text.statistics_lines(funnel, True), ["//"],
        ))  # fmt: skip
        count += len(query.keys)
    if source.sequences is None and source.choice.hits is None:
        write_lines(stream, ["# Sequences without hits are left out: the file is not the one that was scanned."])
    write_lines(stream, [text.closing(source.provenance)])
    return count


def _hits_and_domains(
    source: ProfileRunSource, query: Query, mark: Callable[[Hit], str] = lambda hit: " "
) -> Iterator[str]:
    """Yield the hits of a query and their domains."""
    choice, is_scan = source.choice, source.is_scan
    layout = text.Layout(choice.width, choice.accessions, choice.alignments, is_scan)
    found = (sides(source, number, hit)[1] for number, hit in hits(source, query))
    both = ((_model_card(source, number), hit) for number, hit in hits(source, query))
    yield from text.hit_lines(found, _longest_shown(source, query), layout, mark)
    yield from ("", "")
    yield from text.domain_lines(both, layout)
    yield from ("", "")


def _model_card(source: ProfileRunSource, number: int) -> Card:
    """Return the card of a profile as its alignments name it: that of a sequence has no accession of its own."""
    card = source.cards[number]
    return {**card, "accession": ""} if source.spec.has_sequences and card.get("before") is None else card


def _longest_shown(source: ProfileRunSource, query: Query) -> int:
    """Return the length of the longest name of a target that is shown."""
    if not source.choice.accessions:
        return target_widths(source, query).name
    shown = (sides(source, number, hit)[1] for number, hit in hits(source, query))
    return max((len(target.accession or target.name) for target in shown), default=0)


def _funnel(
    source: ProfileRunSource,
    query: Query,
    targets: tuple[int, int],
    n_passed: Sequence[int],
    limits: Sequence[float | None],
) -> text.Funnel:
    spec = source.spec
    names = FILTER_NAMES.values()
    return text.Funnel(
        n_targets=targets[0],
        n_units=targets[1],
        n_query_units=query.length,
        stages=[(name, n, limit or 0.0) for name, n, limit in zip(names, n_passed, limits, strict=True)],
        search_space=source.n_targets if spec.n_targets is None else spec.n_targets,
        domain_search_space=_n_reported(source, query) if spec.n_domain_targets is None else spec.n_domain_targets,
        is_given=spec.n_targets is not None,
        domain_is_given=spec.n_domain_targets is not None,
    )


def _n_reported(source: ProfileRunSource, query: Query) -> int:
    """Return how many targets of a query are reported, whether or not all of them are written."""
    is_all = source.choice.hits is None and source.choice.max_hits is None
    return len(query.keys) if is_all else source.run.n_reported(query.number, query.number)


def _passed_by_row(source: ProfileRunSource) -> npt.NDArray[np.int32]:
    """Return how many profiles passed each filter with each sequence (int32[filters, sequences])."""
    report = source.run.facts.database
    counts = np.zeros((len(FILTERS), report.n_sequences if report else 0), np.int32)
    for number, card in enumerate(source.cards):
        if card["origin"] == "hmmer3":
            table = survivors_of(source.run, number)
            for stage in range(len(FILTERS)):
                counts[stage, table.rows[table.reached > stage]] += 1
    return counts
