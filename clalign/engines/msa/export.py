"""Write the alignment of a run, and what it was made of. Everything comes from the run file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from clalign.engines.export_source import Choice, EngineOfRun, ExportSource
from clalign.engines.msa import writers
from clalign.engines.msa.reading import (
    alignment_of,
    annealing_of,
    column_accuracies,
    each_pair_facts,
    given_of,
    posteriors_of,
)
from clalign.formats.posteriors import write_posteriors
from clalign.formats.row_writers import write_rows
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.values.hits import Hit
from clalign.values.row_alignments import RowAlignment


class AlignmentSource(ExportSource):
    """The run of an alignment with what every writer asks of it.

    Attributes
    ----------
    given : AlignmentInput
        The sequences.
    """

    def __init__(self, engine: EngineOfRun, run: RunFile, choice: Choice, context: JobContext) -> None:
        super().__init__(engine, run, choice, context)
        self.given = given_of(run)

    def found(self) -> Iterator[Hit]:
        """Yield no hits: there are none."""
        return iter(())


def write_fasta(source: AlignmentSource, stream: TextIO) -> int:
    """Write aligned FASTA."""
    writers.write_fasta(source.given, alignment_of(source.run, source.given), stream)
    return len(source.given)


def write_stockholm(source: AlignmentSource, stream: TextIO) -> int:
    """Write Stockholm with the expected accuracy."""
    alignment, run = alignment_of(source.run, source.given), source.run
    accuracy = column_accuracies(run), run.alignments()[0].facts["accuracy"]
    writers.write_stockholm(source.given, alignment, accuracy, stream)
    return len(source.given)


def write_form(source: AlignmentSource, stream: TextIO, form: str) -> int:
    """Write a format that says nothing but the rows."""
    given = source.given
    rows = alignment_of(source.run, given).rows(given.letters)
    alignment = RowAlignment.of_rows(given.names, rows, given.descriptions)
    write_rows(alignment, form, stream, context=source.context)
    return len(rows)


def write_merges(source: AlignmentSource, stream: TextIO) -> int:
    """Write the merges of columns."""
    merges = annealing_of(source.run, source.given).merges
    writers.write_merges(merges, stream)
    return len(merges)


def write_probabilities(source: AlignmentSource, stream: TextIO) -> int:
    """Write the posteriors of all pairs, also of a run that has not merged anything yet."""
    posteriors = posteriors_of(source.run, source.given)
    write_posteriors(posteriors, stream)
    return len(posteriors)


def write_parameters(source: AlignmentSource, stream: TextIO) -> int:
    """Write what was learned of each pair; nothing where posteriors were read."""
    return writers.write_parameters(source.given.names, each_pair_facts(source.run, source.given), stream)
