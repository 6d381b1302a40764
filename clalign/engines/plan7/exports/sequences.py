"""A run's domains as alignments, and its sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, islice
from typing import TextIO

from clalign.engines.export_lines import add_flanks, describe, write_lines
from clalign.engines.plan7.aligned import query_row
from clalign.engines.plan7.exports.hmmer3_stockholm import BLOCK, PackedRows, hmmer3_stockholm_lines
from clalign.engines.plan7.exports.rows import ProfileTableSource
from clalign.engines.plan7.exports.source import chosen_domains, hits, profile_queries, queries
from clalign.formats.profile_stockholm import AlignedRow, profile_stockholm_lines
from clalign.formats.writers import fasta_record


def write_stockholm(source: ProfileTableSource, stream: TextIO) -> int:
    """Write the domains of each profile, aligned to it; nothing for one without any.

    Those of a HMMER3 profile as hmmsearch 3 writes them.
    """
    comments, count = source.provenance.comments(), 0
    for query in profile_queries(source):
        card, block = source.cards[query.number], BLOCK if source.choice.width else 0
        is_round = source.spec.has_rounds
        above = query_row(source.cards[card["first"]]) if is_round and source.spec.has_sequences else None
        if card["origin"] != "hmmer3":
            count += _write_rows(source, stream, query.number, comments)
            continue
        rows = limited(source, above, source.aligned_rows(query.number))
        if is_round:
            count += write_round(source, stream, query.number, rows, block, comments)
        elif packed := PackedRows(rows):
            author = f"{source.provenance.program} (clalign {source.provenance.version})"
            write_lines(stream, hmmer3_stockholm_lines(card, packed, author, comments, block))
            count += len(packed)
    return count


def _write_rows(source: ProfileTableSource, stream: TextIO, number: int, comments: Iterable[str]) -> int:
    """Write the domains of a HMMER2 profile, and return how many they are."""
    n = sum(1 for _ in limited(source, None, source.aligned_rows(number)))
    if n:
        write_lines(stream, profile_stockholm_lines(
            source.cards[number], lambda: limited(source, None, source.aligned_rows(number)), comments
        ))  # fmt: skip
    return n


def write_round(
    source: ProfileTableSource, stream: TextIO, number: int, rows: Iterable[AlignedRow], block: int = 0,
    comments: Iterable[str] = (),
) -> int:  # fmt: skip
    """Write the alignment that ends a round, and return how many rows it has; `block` as in Stockholm's lines.

    Parameters
    ----------
    source : ProfileTableSource
    stream : TextIO
    number : int
        Of the profile of the round.
    rows : iterable of AlignedRow
        A query that is a sequence first.
    block : int
        Columns of a block; 0 for one block.
    comments : iterable of str
    """
    if not (packed := PackedRows(rows)):
        return 0
    card, first = source.cards[number], source.cards[source.cards[number]["first"]]
    named = {**first, "name": f"{first['name']}-i{card['round']}"}
    author = f"{source.provenance.program} (clalign {source.provenance.version})"
    write_lines(stream, hmmer3_stockholm_lines(named, packed, author, comments, block, has_case=False))
    return len(packed)


def limited(source: ProfileTableSource, query: AlignedRow | None, rows: Iterator[AlignedRow]) -> Iterator[AlignedRow]:
    """Yield a query, if there is one, and of the rows below it as many as are wanted."""
    return chain([] if query is None else [query], islice(rows, source.choice.seq_limit))


def write_matched(source: ProfileTableSource, stream: TextIO) -> int:
    """Write the part that each domain covers, named ``name/from-to``, perhaps with what stands beside it."""
    count, flank, database = 0, source.choice.flank, cache(source.database)
    for query in queries(source):
        for number, hit in hits(source, query):
            description = describe(source, hit, source.cards[number])
            for domain in chosen_domains(source, hit):
                letters = zip(domain.states, domain.text.target, strict=True)
                residues = "".join(letter.upper() for state, letter in letters if state != "D")
                start, end = domain.target_range
                if flank:
                    start, end, residues = add_flanks(database(), hit, domain.target_range, flank)
                stream.write(fasta_record(f"{hit.name}/{start + 1}-{end}", description, residues))
                count += 1
    return count
