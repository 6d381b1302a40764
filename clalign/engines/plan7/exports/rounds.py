"""What a search in rounds leaves besides: profiles and alignments of each round, and the last one as A3M."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TextIO

import numpy as np
from msgspec.structs import replace

from clalign.building.profiles import Builder, Built
from clalign.building.rows import code_table
from clalign.building.specs import BuildSpec
from clalign.engines.export import write_lines
from clalign.engines.plan7.aligned import query_row
from clalign.engines.plan7.exports.rows import Source
from clalign.engines.plan7.exports.sequences import limited, write_round
from clalign.engines.plan7.exports.source import profile_queries
from clalign.engines.plan7.rounds import made_again, rows_of, statistics_of
from clalign.engines.plan7.spec import BUILD_OPTIONS, SearchSpec
from clalign.errors import OptionError
from clalign.formats.hmmer3_writer import profile_text
from clalign.formats.profile_stockholm import aligned_text, widen_inserts
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import AMINO


def write_profiles(source: Source, stream: TextIO, number: int) -> int:
    """Write the profiles of the round of a number, from 1, and return how many they are."""
    count = 0
    for profile in _of_round(source, number):
        source.context.check()
        built = profile_of(source.run, profile, source.spec)
        date = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(source.origin.seconds))
        hmm = replace(built.hmm, facts={**built.hmm.facts, "date": date})
        write_lines(stream, profile_text(hmm, built.columns))
        count += 1
    return count


def write_alignments(source: Source, stream: TextIO, number: int) -> int:
    """Write the alignments that end the round of a number, from 1, and return how many rows they have."""
    return sum(
        write_round(source, stream, profile, lambda profile=profile: rows_of(source.run, profile))  # type: ignore[misc]
        for profile in _of_round(source, number)
    )


def write_a3m(source: Source, stream: TextIO) -> int:
    """Write the alignment that ends the last round of the only query as A3M.

    Raises
    ------
    OptionError
        If there are several queries, or the search had no rounds.
    """
    found = [one for one in profile_queries(source) if source.choice.hits is None or one.keys]
    if source.n_rounds and len(found) != 1:
        reason = f"A3M holds one query with what it is aligned with; the run has {len(found)} queries."
        raise OptionError(reason, "Choose one, or write Stockholm.")
    number = found[0].number
    query, count = query_row(source.cards[source.cards[number]["first"]]), 0
    for row in limited(source, query, source.aligned_rows(number)):
        inserts = [0] * (query.end + 1)
        widen_inserts(row, inserts)
        stream.write(f"{f'>{row.place} {row.remark}'.rstrip()}\n{aligned_text(row, inserts)}\n")
        count += 1
    return count


def _of_round(source: Source, number: int) -> Iterator[int]:
    """Yield the numbers of the profiles of a round; other queries ended before it."""
    return (numbers[number - 1] for numbers in source.rounds.values() if len(numbers) >= number)


def profile_of(run: RunFile, number: int, spec: SearchSpec) -> Built:
    """Return the profile of a round, made again."""
    card = run.card(number)
    if card["before"] is not None:
        return made_again(run, number, spec, has_checksum=True)
    build = BuildSpec(by_matrix=True, **{name: getattr(spec, name) for name in BUILD_OPTIONS})
    codes = code_table(AMINO)[np.frombuffer(card["consensus"].encode(), np.uint8)]
    hmm = Builder(build, AMINO, None).of_sequence(codes, card["name"], known=statistics_of(card))
    return Built(hmm, None, "")
