"""Write what a run found: text, tables, sequences, alignments. Everything comes from the run file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TextIO

from clalign.engines.plan7.export_sequences import write_fasta, write_matched, write_stockholm
from clalign.engines.plan7.export_source import Choice, Source, open_source
from clalign.engines.plan7.export_tables import (
    write_domtblout,
    write_domtsv,
    write_jsonl,
    write_pfamtblout,
    write_tblout,
    write_tsv,
)
from clalign.engines.plan7.export_text import write_text
from clalign.errors import OptionError
from clalign.formats.writers import EXACT, table_stream, whole_file
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import RunFile, open_run


def export(
    run_path: str | Path,
    what: str,
    out_path: str | Path,
    hits: Sequence[int] | None = None,
    context: JobContext | None = None,
    *,
    significant: bool = False,
    alignments: bool = True,
    width: int = 120,
    accessions: bool = False,
    columns: str = "",
    alignment_file: str = "",
    safe_cells: bool = False,
) -> int:
    """Write the results of a run to a file, all of it or nothing.

    Parameters
    ----------
    run_path : str or Path
    what : str
        One of `WRITERS`: ``text``, ``tsv``, ``domtsv``, ``tblout``, ``domtblout``, ``pfamtblout``, ``jsonl``,
        ``stockholm``, ``fasta`` (whole sequences), ``fasta_matched`` (the parts that the domains cover). For runs of
        pairwise searches one of `clalign.engines.pairwise.export.WRITERS`.
    out_path : str or Path
        The file; ``-`` is standard output.
    hits : sequence of int, optional
        Ids of the hits to write; all if None.
    context : JobContext, optional
        Told how many hits are written; may stop it.
    significant : bool
        Leave out what is not beyond the inclusion thresholds.
    alignments : bool
        Whether ``text`` shows alignments.
    width : int
        Longest line of the text of HMMER3 profiles, 0 for no limit; then alignments are of one block, too.
    accessions : bool
        Whether that text shows accessions in place of names.
    columns : str
        Of a pairwise search what ``outfmt`` writes: ``6``, or ``6`` and names of columns.
    safe_cells : bool
        Whether cells of tab-separated tables that begin with ``=``, ``+``, ``-`` or ``@`` and are no numbers get a
        ``'`` before them, so that a spreadsheet does not compute them.
    alignment_file : str
        Where the alignments of significant domains are written, too: ``text`` of HMMER3 profiles tells it.

    Returns
    -------
    int
        Records written: hits, domains or sequences.

    Raises
    ------
    OutputError
        If the file cannot be written.
    InputError
        If there is no such run, or the sequences are gone or have changed.
    """
    choice = Choice(hits, significant, alignments, width, accessions, alignment_file, safe_cells)
    with open_run(Path(run_path)) as run:
        if run.fact("direction") == "pairwise":
            from clalign.engines.pairwise.export import export_pairwise

            return export_pairwise(run, what, str(out_path), choice, columns, context or QuietContext())
        if what not in WRITERS:
            raise OptionError(f"There is no export named {what}.", f"Choose one of {', '.join(WRITERS)}.")
        source = open_source(run, choice, context or QuietContext())
        with whole_file(str(out_path), is_exact=what in EXACT) as stream:
            return WRITERS[what](source, table_stream(stream, what, choice.safe_cells))


def writers_of(run: RunFile) -> Collection[str]:
    """Return the names of the exports that runs like this one have."""
    if run.fact("direction") == "pairwise":
        from clalign.engines.pairwise import export as pairwise_export

        return pairwise_export.WRITERS.keys()
    return WRITERS.keys()


WRITERS: dict[str, Callable[[Source, TextIO], int]] = {
    "text": write_text,
    "tsv": write_tsv,
    "domtsv": write_domtsv,
    "tblout": write_tblout,
    "domtblout": write_domtblout,
    "pfamtblout": write_pfamtblout,
    "jsonl": write_jsonl,
    "stockholm": write_stockholm,
    "fasta": write_fasta,
    "fasta_matched": write_matched,
}
