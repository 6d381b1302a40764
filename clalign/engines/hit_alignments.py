"""The hits of a query as one multiple alignment, from their paths: nothing is computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from clalign.engines.engine import engine_of, spec_of
from clalign.engines.export_source import Choice, ExportSource
from clalign.errors import OptionError, command_for
from clalign.formats.row_writers import text_of, write_rows
from clalign.formats.sources import PathLike, path_text
from clalign.formats.traced_rows import Scores, traced_rows
from clalign.formats.writers import fasta_record
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import open_run
from clalign.values.row_alignments import RowAlignment


def hit_alignment(source: ExportSource, number: int) -> tuple[RowAlignment, Scores]:
    """Return the chosen hits of a query, aligned to it, and their scores in bits (float32[n_rows])."""
    return traced_rows(source.cards[number], lambda: source.aligned_rows(number), source.context.check)


def read_hit_alignment(
    path: PathLike, number: int, significant: bool = True, context: JobContext | None = None
) -> tuple[RowAlignment, Scores]:
    """Return the hits of a query of a run as one alignment, and their scores in bits (float32[n_rows]).

    Parameters
    ----------
    path : path
        The run file.
    number : int
        Of the query, from 0.
    significant : bool
        Only hits and domains beyond the inclusion thresholds, where there are any.
    context : JobContext, optional
        Asked whether to go on.
    """
    with open_run(Path(path_text(path, "path"))) as run:
        engine = engine_of(run)
        choice = Choice(significant=significant and engine.calls_significant)
        return hit_alignment(engine.source(run, choice, context or QuietContext()), number)


def _the_query(source: ExportSource) -> int | None:
    """Return the number of the only query with hits; None, and say so, if there is none.

    Raises
    ------
    OptionError
        If there are several.
    """
    found = [number for number, _ in source.keys.queries_with_hits() if source.keys.of_query(number)]
    if len(found) == 1:
        return found[0]
    if not found:
        source.context.warn("There are no hits to be aligned: the file is empty.")
        return None
    command = command_for("export", "RUN", spec_of(source.run).choosing_flag, "NAME")
    names = ", ".join(source.cards[number]["name"] for number in found[:5])
    raise OptionError(
        f"{len(found):,} {engine_of(source.run).queries} have hits ({names}{', ...' * (len(found) > 5)}), which make as"
        " many alignments.",
        f"Choose the hits of one (in a kept run `{command}`); Stockholm holds those of all.",
    )


def write_afa(source: ExportSource, stream: TextIO) -> int:
    """Write the hits of a query as aligned FASTA: residues in upper case, gaps as dashes."""
    if (number := _the_query(source)) is None:
        return 0
    alignment, _ = hit_alignment(source, number)
    for row in range(alignment.n_rows):
        source.context.check()
        text = text_of(alignment.cells[row]).upper().replace(".", "-")
        stream.write(fasta_record(alignment.names[row], alignment.descriptions[row], text))
    return alignment.n_rows


def write_a2m(source: ExportSource, stream: TextIO) -> int:
    """Write the hits of a query as A2M."""
    if (number := _the_query(source)) is None:
        return 0
    alignment, _ = hit_alignment(source, number)
    write_rows(alignment, "a2m", stream, context=source.context)
    return alignment.n_rows
