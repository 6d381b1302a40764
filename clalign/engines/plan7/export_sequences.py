"""A run's domains as alignments, and its sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from clalign.engines.export import write_lines
from clalign.engines.plan7.export_source import Query, Source, chosen_domains, hits, profile_queries, queries
from clalign.engines.plan7.hmmer3_stockholm import BLOCK, hmmer3_stockholm_lines
from clalign.formats.writers import AlignedRow, fasta_record, stockholm_lines
from clalign.values.hits import Domain, Hit

GAPS = "-.~_"


def write_stockholm(source: Source, stream: TextIO) -> int:
    """Write the domains of each profile, aligned to it; nothing for one without any."""
    comments = ["partial: yes"] if source.origin.partial else []
    count = 0
    for query in profile_queries(source):
        card = source.cards[query.number]

        def rows(query: Query = query) -> Iterator[AlignedRow]:
            for number, hit in hits(source, query):
                for domain in chosen_domains(source, number, hit):
                    yield _aligned_row(hit, domain)

        n = sum(1 for _ in rows())
        count += n
        if not n:
            continue
        if card["origin"] == "hmmer3":
            author = f"{source.origin.program} (clalign {source.origin.version})"
            block = BLOCK if source.choice.width else 0
            write_lines(stream, hmmer3_stockholm_lines(card, rows, author, comments, block))
        else:
            write_lines(stream, stockholm_lines(card, rows, comments))
    return count


def _aligned_row(hit: Hit, domain: Domain) -> AlignedRow:
    ends = domain.target_range[0] + 1, domain.target_range[1]
    # A gap character that was searched as a residue must not look like a gap of the alignment.
    letters = zip(domain.states, domain.text.target, strict=True)
    residues = "".join("X" if state != "D" and letter in GAPS else letter for state, letter in letters)
    return AlignedRow(
        name=hit.name,
        accession=hit.accession,
        description=hit.description,
        start=ends[0],
        end=ends[1],
        first_node=domain.profile_range[0],
        states=domain.states,
        text=residues,
        posterior=domain.text.posterior,
    )


def write_matched(source: Source, stream: TextIO) -> int:
    """Write the part that each domain covers, named ``name/from-to``."""
    count = 0
    for query in queries(source):
        for number, hit in hits(source, query):
            for domain in chosen_domains(source, number, hit):
                letters = zip(domain.states, domain.text.target, strict=True)
                residues = "".join(letter.upper() for state, letter in letters if state != "D")
                start, end = domain.target_range
                stream.write(fasta_record(f"{hit.name}/{start + 1}-{end}", hit.description, residues))
                count += 1
    return count
