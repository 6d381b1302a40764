"""Alignments of many sequences as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TextIO

import numpy as np

from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.reading import PairFacts
from clalign.engines.msa.reliability import Singles
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers

KEY = "#=GC Accuracy"


def write_fasta(given: AlignmentInput, alignment: MultipleAlignment, stream: TextIO) -> None:
    """Write aligned FASTA: a line for each row, in the order of the input."""
    rows = alignment.rows(given.letters)
    for name, description, row in zip(given.names, given.descriptions, rows, strict=True):
        stream.write(f">{name}{' ' + description if description else ''}\n{row.decode('latin-1')}\n")


def write_stockholm(
    given: AlignmentInput, alignment: MultipleAlignment, accuracy: tuple[Singles, float | np.float32], stream: TextIO
) -> None:
    """Write Stockholm with the expected accuracy of the alignment and, as a digit, of each column."""
    columns, whole = accuracy
    digits = "".join(map(str, np.minimum(9, 10 * columns).astype(np.int64).tolist()))
    width = 1 + max(len(KEY), *map(len, given.names))
    stream.write(f"# STOCKHOLM 1.0\n{'#=GF Accuracy':{width}}{whole:g}\n")
    for name, row in zip(given.names, alignment.rows(given.letters), strict=True):
        stream.write(f"{name:{width}}{row.decode('latin-1')}\n")
    stream.write(f"{KEY:{width}}{digits}\n//\n")


def write_parameters(names: tuple[str, ...], pairs: Iterable[tuple[int, int, PairFacts]], stream: TextIO) -> int:
    """Write what was learned of each pair as a table with tabs, with the digits that FSA prints; return the lines.

    Pairs of which nothing was computed, as one sequence is empty, are left out.
    """
    stream.write("first\tsecond\tlog_likelihood\tgap_open1\tgap_extend1\tgap_open2\tgap_extend2\n")
    n_lines = 0
    for i, j, facts in pairs:
        if facts.gaps is None or not np.isfinite(facts.log_likelihood):
            continue
        numbers = np.zeros((2, 2))
        numbers[: facts.gaps.n_sets] = np.stack([facts.gaps.opens, facts.gaps.extends], axis=1)
        words = (f"{number:g}" for number in (facts.log_likelihood, *numbers.ravel().tolist()))
        stream.write("\t".join([names[i], names[j], *words]) + "\n")
        n_lines += 1
    return n_lines


def write_merges(merges: ColumnMerges, stream: TextIO) -> None:
    """Write the columns that an annealing began with and its merges, as FSA's viewer replays them (``.gui``)."""
    stream.write("; Initial DAG\n; Format is:\n;   column: (sequence, position) => initial_accuracy\n")
    stream.write("; sequence is 0-based and position is 0-based\n\n")
    lengths = merges.lengths
    sequences = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.repeat(np.cumsum(lengths) - lengths, lengths)
    by_number = np.argsort(creation_numbers(lengths))
    places = (np.arange(len(sequences)) - starts)[by_number].tolist()
    for number, (sequence, position) in enumerate(zip(sequences[by_number].tolist(), places, strict=True)):
        stream.write(f"{number}: ({sequence}, {position})\n")
    stream.write("\n; Merges (added edges)\n; Format is:\n;   source_column -> dest_column => accuracy_change\n")
    stream.write("; (new accuracy is source_column_accuracy + dest_column_accuracy + accuracy_change)\n")
    stream.write("; (note that all accuracies are unnormalized)\n\n")
    pairs = zip(merges.survivors.tolist(), merges.victims.tolist(), strict=True)
    stream.writelines(itertools.starmap("{} -> {}\n".format, pairs))
