"""What a search in rounds leaves besides: profiles and alignments of each round; and A3M of every search."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TextIO

import numpy as np
from msgspec.structs import replace

from clalign.building.profiles import Builder, Built
from clalign.building.rows import NO_CODE, code_table
from clalign.building.specs import BuildSpec
from clalign.engines.export_lines import write_lines
from clalign.engines.plan7.aligned import query_row
from clalign.engines.plan7.exports.rows import ProfileTableSource
from clalign.engines.plan7.exports.sequences import limited, write_round
from clalign.engines.plan7.exports.source import profile_queries
from clalign.engines.plan7.inputs import load_queries
from clalign.engines.plan7.rounds import card_of, made_again, rows_of, statistics_of
from clalign.engines.plan7.spec import BUILD_OPTIONS, SearchSpec
from clalign.errors import DamagedRun, OptionError
from clalign.formats.hmmer3_writer import profile_text
from clalign.formats.profile_stockholm import aligned_text, widen_inserts
from clalign.jobs import JobContext
from clalign.runs.inputs import input_of
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import AMINO
from clalign.values.devices import REFERENCE
from clalign.values.profiles import Hmm


def write_profiles(source: ProfileTableSource, stream: TextIO, number: int) -> int:
    """Write the profiles of the round of a number, from 1, and return how many they are."""
    count, given = 0, cache(partial(given_profiles, source.run, source.spec, source.context))
    for profile in _of_round(source, number):
        source.context.check()
        built = profile_of(source.run, profile, source.spec, given)
        date = time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(source.provenance.seconds))
        hmm = replace(built.hmm, facts={**built.hmm.facts, "date": date})
        write_lines(stream, profile_text(hmm, built.columns, built.mask))
        count += 1
    return count


def write_alignments(source: ProfileTableSource, stream: TextIO, number: int) -> int:
    """Write the alignments that end the round of a number, from 1, and return how many rows they have."""
    return sum(
        write_round(source, stream, profile, rows_of(source.run, profile)) for profile in _of_round(source, number)
    )


def write_a3m(source: ProfileTableSource, stream: TextIO) -> int:
    """Write the chosen domains of the only query as A3M, under the query if that is a sequence.

    Raises
    ------
    OptionError
        If there are several queries.
    """
    found = list(profile_queries(source))
    if len(found) > 1:
        found = [one for one in found if one.keys]
    if len(found) > 1:
        reason = f"A3M holds one query with what it is aligned with, but {len(found):,} have hits."
        raise OptionError(reason, "Choose one, or write Stockholm.")
    count = 0
    for one in found:
        card = source.cards[one.number]
        above = query_row(source.cards[card.get("first", one.number)]) if source.spec.has_sequences else None
        for row in limited(source, above, source.aligned_rows(one.number)):
            inserts = [0] * (card["length"] + 1)
            widen_inserts(row, inserts)
            stream.write(f"{f'>{row.place} {row.remark}'.rstrip()}\n{aligned_text(row, inserts)}\n")
            count += 1
    return count


def _of_round(source: ProfileTableSource, number: int) -> Iterator[int]:
    """Yield the numbers of the profiles of a round; other queries ended before it."""
    return (numbers[number - 1] for numbers in source.rounds.values() if len(numbers) >= number)


def given_profiles(run: RunFile, spec: SearchSpec, context: JobContext) -> list[Hmm]:
    """Return the profiles that a search in rounds began with, if they are of a file, which is read again.

    Raises
    ------
    InputError
        If that file is not the one that the run began with.
    """
    file = dataclasses.replace(spec, profiles=input_of(run, "profiles", context))
    return load_queries(file, lambda _: REFERENCE, context)[0]


def profile_of(run: RunFile, number: int, spec: SearchSpec, given: Callable[[], Sequence[Hmm]]) -> Built:
    """Return the profile of a round, made again; first ones that are of a file are `given`."""
    card = card_of(run, number)
    if card["before"] is not None:
        return made_again(run, number, spec, has_checksum=True)
    if not spec.has_sequences:
        hmm = given()[number]
        return Built(hmm, None if hmm.columns is None else hmm.columns.astype(np.int64), hmm.mask)
    build = BuildSpec(by_matrix=True, **{name: getattr(spec, name) for name in BUILD_OPTIONS})
    codes = code_table(AMINO)[np.frombuffer(card["consensus"].encode("latin-1", "replace"), np.uint8)]
    if (codes == NO_CODE).any():
        raise DamagedRun(run.path, "a query has letters that are not those of proteins")
    hmm = Builder(build, AMINO, None).of_sequence(codes, card["name"], known=statistics_of(card))
    return Built(hmm, None, "")
