"""The text that people read, of profiles of HMMER2 and HMMER3."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TextIO

import numpy as np

from clalign.engines.export_lines import write_lines
from clalign.engines.plan7.exports import hmmer2_text as text
from clalign.engines.plan7.exports import hmmer3_text
from clalign.engines.plan7.exports.hmmer3_text_writer import (
    write_hmmer3_head,
    write_hmmer3_query,
    write_hmmer3_rounds,
    write_hmmer3_scan,
)
from clalign.engines.plan7.exports.source import (
    ProfileRunSource,
    Query,
    all_widths,
    hits,
    places,
    queries,
    write_by_query,
)
from clalign.runs.queries import is_significant
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card, TargetFacts
from clalign.values.evalues import bits, hmmer2_pvalue
from clalign.values.hits import Domain, Hit
from clalign.values.profiles import IMPOSSIBLE, Calibration


def write_text(source: ProfileRunSource, stream: TextIO) -> int:
    """Write the text that people read; the parts of several queries are parted by ``//``.

    Each profile has the layout of the program it belongs to; so has a scan, where all of them are HMMER2's.
    """
    if source.is_scan:
        return write_hmmer3_scan(source, stream) if source.is_hmmer3 else _text_of_scan(source, stream)
    if source.is_hmmer3:
        write_hmmer3_head(source, stream)
    else:
        write_lines(stream, text.opening(source.provenance, text.SEARCH))
    count = write_by_query(source, stream, write_profile)
    closing = hmmer3_text.closing if source.is_hmmer3 else text.closing
    write_lines(stream, [closing(source.provenance)])
    return count


def write_profile(source: ProfileRunSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write the part of a profile, and return how many hits it has."""
    card, path, end = source.cards[query.number], source.choice.alignment_file, ["//"]
    if card["origin"] == "hmmer3":
        write = write_hmmer3_rounds if source.spec.has_rounds else write_hmmer3_query
        count = write(source, stream, query)
    else:
        write_lines(stream, text.parameters(source.spec, card))
        count = _text_of_profile(source, stream, query)
    if path and card["origin"] == "hmmer3":
        limit, is_round = source.choice.seq_limit, source.spec.has_rounds
        n_above = int(is_round and source.spec.has_sequences)
        if is_round and not source.keys.are_chosen:
            from clalign.engines.plan7.rounds import n_rows_of

            n_rows = n_rows_of(source.run, query.number) - n_above
        else:
            found = (hit.domains for _, hit in hits(source, query) if is_significant(hit))
            n_rows = sum(domain.is_significant for domains in found for domain in domains)
        saved = hmmer3_text.alignment_saved(n_above + (n_rows if limit is None else min(n_rows, limit)), path)
        end.insert(0 if is_round else 1, saved)
    write_lines(stream, end)
    return count


def _text_of_profile(source: ProfileRunSource, stream: TextIO, query: Query) -> int:
    number = query.number
    card = source.cards[number]
    width = max(8, all_widths(source)[0].name)
    description_width = max(52 - width, 11)
    write_lines(stream, text.hit_header("complete sequences", "Sequence", width, description_width))
    n_hits = write_lines(
        stream,
        (text.hit_row(hit.name, hit.description, hit, width, description_width) for _, hit in hits(source, query)),
    )
    searched = _n_searched(source, number)
    if not n_hits:
        closest = nearest(source.run, number, card)
        write_lines(stream, (f"  {line}" for line in text.no_hits(source.spec, card, searched, closest)))
    write_lines(stream, text.domain_header("Sequence", width))
    rows = (text.domain_row(hit.name, card, hit, domain, width) for hit, domain in _domains_by_score(source, number))
    n_domains = write_lines(stream, rows)
    if source.choice.alignments and n_domains:
        write_lines(stream, ["", "Alignments of top-scoring domains:"])
        for hit, domain in _domains_by_score(source, number):
            write_lines(stream, text.alignment_lines(card, hit, domain))
    report = source.run.facts.database
    n_targets = report.n_sequences - report.n_empty if report else None
    write_lines(stream, ["", *text.totals(searched, n_targets, n_hits, n_domains, source.provenance.partial)])
    return n_hits


def _text_of_scan(source: ProfileRunSource, stream: TextIO) -> int:
    """Write the text of a scan; the sections of the sequences are parted by ``//``.

    Of a scan that was stopped it is not known which sequences match nothing: those with matches are written alone.
    """
    cards = source.cards
    n_uncalibrated = sum(card["calibration"] is None for card in cards)
    write_lines(stream, text.opening(source.provenance, text.SCAN))
    write_lines(stream, text.scan_parameters(source.spec, len(cards), n_uncalibrated))
    width = max(12, all_widths(source)[0].name)
    n_hits = n_sequences = 0
    for query in queries(source, every=not source.provenance.partial):
        # HMMER2 lists profiles of the same E-value in the order of the library.
        found = sorted(hits(source, query), key=lambda entry: (entry[1].evalue, entry[0]))
        if found or query.length:
            _text_of_sequence(source, stream, query, found, width)
        n_hits += len(found)
        n_sequences += bool(found)
    searched = min((_n_searched(source, number) for number in range(len(cards))), default=0)
    report = source.run.facts.database
    n_targets = report.n_sequences - report.n_empty if report else None
    write_lines(stream, text.scan_totals(searched, n_targets, n_sequences, n_hits, source.provenance.partial))
    write_lines(stream, [text.closing(source.provenance)])
    return n_hits


def _text_of_sequence(
    source: ProfileRunSource, stream: TextIO, query: Query, found: list[tuple[int, Hit]], width: int
) -> None:
    entries = [(source.cards[number], hit) for number, hit in found]
    # HMMER2 lists what begins at the same residue in the order of the library.
    domains = [
        (source.cards[number], hit, domain)
        for number, hit in sorted(found, key=lambda entry: entry[0])
        for _, domain in places(source, number, hit)
    ]
    domains.sort(key=lambda entry: entry[2].target_range[0])
    description_width = max(52 - width, 11)
    write_lines(stream, text.sequence_head(query.name, query.accession, query.description))
    write_lines(stream, text.hit_header("sequence family classification", "Model", width, description_width))
    write_lines(
        stream, (text.hit_row(c["name"], c["description"], hit, width, description_width) for c, hit in entries)
    )
    write_lines(stream, [] if found else [text.NO_HITS])
    write_lines(stream, text.domain_header("Model", width))
    write_lines(stream, (text.domain_row(card["name"], card, hit, domain, width) for card, hit, domain in domains))
    write_lines(stream, [] if domains else [text.NO_HITS])
    if source.choice.alignments:
        write_lines(stream, ["", "Alignments of top-scoring domains:", *([] if domains else [text.NO_HITS])])
        for card, hit, domain in domains:
            write_lines(stream, text.alignment_lines(card, hit, domain, title=card["name"]))
    write_lines(stream, ["//"])


def _domains_by_score(source: ProfileRunSource, number: int) -> Iterator[tuple[Hit, Domain]]:
    """Yield the chosen domains of a profile, best first, ties in the order of the input."""
    hit_of = lru_cache(maxsize=1024)(source.run.hit)
    for key, place in source.keys.parts_by_score(number):
        hit = hit_of(key)
        yield hit, next(domain for domain in hit.domains if domain.number == place)


def _n_searched(source: ProfileRunSource, number: int) -> int:
    """Return how many sequences with residues a profile was searched against so far."""
    done = source.run.n_rows_finished(number)
    report = source.run.facts.database
    return min(done, report.n_sequences - report.n_empty) if report else done


def nearest(run: RunFile, number: int, card: Card) -> TargetFacts | None:
    """Return E-value, score and, where it was kept, name of the best sequence of a profile.

    Without a kept one it is computed from the scores before the composition correction.
    """
    kept = run.best(number)
    if kept:
        return kept
    best = max((int(values.max()) for _, _, values in run.scores(number) if len(values)), default=None)
    if best is None or best <= IMPOSSIBLE or card["origin"] != "hmmer2":
        return None
    found = card["calibration"]
    calibration = Calibration("gumbel", found["mu"], found["lambda"]) if found else None
    score = bits(best)
    return {"evalue": hmmer2_pvalue(np.float32(score), calibration) * (run.facts.n_targets or 0), "score": float(score)}
