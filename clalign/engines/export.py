"""Write what a run found: text, tables, sequences, alignments. Everything comes from the run file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TextIO, cast

from clalign.engines.engine import engine_of, spec_of
from clalign.engines.export_source import OTHER_EXPORT, Begun, Choice, ExportSource, KeptHits
from clalign.engines.exports import Export
from clalign.errors import OptionError
from clalign.formats.tables import Provenance
from clalign.formats.writers import PROVENANCE_ENDING, SafeCells, has_neighbors, whole_file
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import open_run
from clalign.runs.side_files import check_output


def export(
    run_path: str | Path,
    name: str,
    out_path: str | Path,
    hits: Sequence[int] | None = None,
    context: JobContext | None = None,
    begun: Begun | None = None,
    kept: KeptHits | None = None,
    **options: Any,
) -> int:
    """Write the results of a run to a file, all of it or nothing.

    Parameters
    ----------
    run_path : str or Path
    name : str
        The name of one of the `exports` of the run's engine, such as ``text``, ``tsv``, ``jsonl``, ``stockholm``,
        ``fasta`` (whole sequences) or ``fasta_matched`` (their aligned parts).
    out_path : str or Path
        The file; ``-`` is standard output.
    hits : sequence of int, optional
        Ids of the hits to write; all if None.
    context : JobContext, optional
        Receives the number of hits written; stops the writing.
    begun : Begun, optional
        Queries already written while the run was computed.
    kept : KeptHits, optional
        Hits that other exports of the run have read, and that further ones may take.
    **options
        Other fields of `Choice`, such as ``significant=True``.

    Returns
    -------
    int
        Records written: hits, domains or sequences.

    Raises
    ------
    OptionError
        If such runs have no export of this name, or SQLite keeps a file of its own at that place.
    OutputError
        If the file cannot be written.
    InputError
        If there is no such run, or the sequences are gone or have changed.
    """
    choice = Choice(hits=hits, **options)
    with open_run(Path(run_path)) as run:
        exports = {one.name: one for one in engine_of(run).exports}
        if name not in exports:
            program = spec_of(run).command
            raise OptionError(
                f'Runs of `clalign {program}` have no export named "{name}".', f"Choose one of {', '.join(exports)}."
            )
        chosen = exports[name]
        context = context or QuietContext()
        if chosen.by_round:
            return _write_rounds(engine_of(run).source(run, choice, context), chosen, str(out_path))
        if out_path != "-":
            check_output(out_path)
        with whole_file(str(out_path), chosen.is_exact) as stream:
            source = engine_of(run).source(run, choice, context)
            if begun is not None and begun.still_holds(source.provenance):
                source.begun = begun
            if kept is not None and run.state == "done":
                source.kept = kept
            is_made_safe = chosen.separator == "\t" and choice.safe_cells
            count = chosen.writer(source, cast(TextIO, SafeCells(stream)) if is_made_safe else stream)
        _warn_if_partial(source.provenance, chosen, str(out_path), context)
        _write_provenance(source.provenance, chosen, str(out_path), choice)
        return count


def _write_rounds(source: ExportSource, chosen: Export, begin: str) -> int:
    """Write a file for each round, and return how many records they have."""
    count, write = 0, chosen.write.get()
    for number in range(1, source.n_rounds + 1):
        path = chosen.place(begin, number)
        check_output(path)
        with whole_file(path, chosen.is_exact) as stream:
            count += write(source, stream, number)
        _warn_if_partial(source.provenance, chosen, path, source.context)
        _write_provenance(source.provenance, chosen, path, source.choice)
    return count


def export_for_tool(run_path: str | Path, what: Literal["alignment", "posteriors"], out_path: str | Path) -> None:
    """Write the alignment of a run, or its posteriors, to a file for tools that read those.

    Raises
    ------
    OptionError
        If such runs have none.
    """
    with open_run(Path(run_path)) as run:
        found = next((one.name for one in engine_of(run).exports if one.serves == what), None)
        if found is None:
            raise OptionError(f"Runs of `clalign {spec_of(run).command}` have no {what}.", OTHER_EXPORT)
    export(run_path, found, out_path)


def _warn_if_partial(provenance: Provenance, chosen: Export, path: str, context: JobContext) -> None:
    """Say that a file is partial if its format has no place for that."""
    if provenance.partial and not chosen.has_remarks:
        named = "What is written" if path == "-" else path
        context.warn(f"{named} is partial, but this format cannot be marked so: not everything was searched.")


def _write_provenance(provenance: Provenance, chosen: Export, path: str, choice: Choice) -> None:
    """Write where a file comes from into one beside it, if that is asked for."""
    if choice.provenance and has_neighbors(path):
        given = choice.given.items()
        options = {name: value for name, value in given if name != "provenance" and chosen.heeds(name, choice)}
        facts = {"file": Path(path).name, "export": chosen.name, **provenance.facts(), "options": options}
        with whole_file(f"{path}{PROVENANCE_ENDING}") as stream:
            stream.write(json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
