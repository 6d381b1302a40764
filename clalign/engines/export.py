"""Write what a run found: text, tables, sequences, alignments. Everything comes from the run file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO, cast

from clalign.engines.columns import Column, table_lines
from clalign.engines.engine import engine_of, spec_of
from clalign.engines.export_source import OTHER_EXPORT, Begun, Choice, ExportSource, KeptHits
from clalign.engines.exports import Export
from clalign.errors import OptionError
from clalign.formats.tables import PARTIAL, Provenance
from clalign.formats.writers import PROVENANCE_ENDING, SafeCells, fasta_record, has_neighbors, whole_file
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import open_run
from clalign.runs.side_files import check_output
from clalign.values.documents import Card
from clalign.values.hits import Hit
from clalign.values.sequences import SequenceDatabase

LINES_AT_ONCE = 256
"""Lines that are written together."""


def export(
    run_path: str | Path,
    what: str,
    out_path: str | Path,
    hits: Sequence[int] | None = None,
    context: JobContext | None = None,
    begun: Begun | None = None,
    kept: KeptHits | None = None,
    **how: Any,
) -> int:
    """Write the results of a run to a file, all of it or nothing.

    Parameters
    ----------
    run_path : str or Path
    what : str
        The name of one of the `exports` of the run's engine, such as ``text``, ``tsv``, ``jsonl``, ``stockholm``,
        ``fasta`` (whole sequences) or ``fasta_matched`` (their aligned parts).
    out_path : str or Path
        The file; ``-`` is standard output.
    hits : sequence of int, optional
        Ids of the hits to write; all if None.
    context : JobContext, optional
        Receives the number of hits written; stops the writing.
    begun : Begun, optional
        What is written already.
    kept : KeptHits, optional
        Hits that other exports of the run have read, and that further ones may take.
    **how
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
    choice = Choice(hits=hits, **how)
    with open_run(Path(run_path)) as run:
        exports = {one.name: one for one in engine_of(run).exports}
        if what not in exports:
            program = spec_of(run).command
            raise OptionError(
                f'Runs of `clalign {program}` have no export named "{what}".', f"Choose one of {', '.join(exports)}."
            )
        one = exports[what]
        context = context or QuietContext()
        if one.by_round:
            return _write_rounds(engine_of(run).source(run, choice, context), one, str(out_path))
        if out_path != "-":
            check_output(out_path)
        with whole_file(str(out_path), one.is_exact) as stream:
            source = engine_of(run).source(run, choice, context)
            if begun is not None and begun.still_holds(source.origin):
                source.begun = begun
            if kept is not None and run.state == "done":
                source.kept = kept
            is_made_safe = one.separator == "\t" and choice.safe_cells
            count = one.writer(source, cast(TextIO, SafeCells(stream)) if is_made_safe else stream)
        _warn_of_partial(source.origin, one, str(out_path), choice, context)
        return count


def _write_rounds(source: ExportSource, one: Export, begin: str) -> int:
    """Write a file for each round, and return how many records they have."""
    count, write = 0, one.write.get()
    for number in range(1, source.n_rounds + 1):
        path = one.place(begin, number)
        check_output(path)
        with whole_file(path, one.is_exact) as stream:
            count += write(source, stream, number)
        _warn_of_partial(source.origin, one, path, source.choice, source.context)
    return count


def take_of_run(run_path: str | Path, what: Literal["alignment", "posteriors"], out_path: str | Path) -> None:
    """Write what tools that read alignments need of a run to a file.

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


def _warn_of_partial(origin: Provenance, one: Export, path: str, choice: Choice, context: JobContext) -> None:
    """Say of a file what it has no place for: where it comes from, in one beside it, and that it is partial."""
    if origin.partial and not one.has_remarks:
        named = "What is written" if path == "-" else path
        context.warn(f"{named} is partial, but this format cannot be marked so: not everything was searched.")
    if choice.provenance and has_neighbors(path):
        given = choice.given.items()
        options = {name: value for name, value in given if name != "provenance" and one.heeds(name, choice)}
        facts = {"file": Path(path).name, "export": one.name, **origin.facts(), "options": options}
        with whole_file(f"{path}{PROVENANCE_ENDING}") as stream:
            stream.write(json.dumps(facts, ensure_ascii=False, indent=1) + "\n")


def write_lines(stream: TextIO, rows: Iterable[str]) -> int:
    """Write lines and return how many they were."""
    rows, count = iter(rows), 0
    while some := list(islice(rows, LINES_AT_ONCE)):
        stream.write("\n".join([*some, ""]))
        count += len(some)
    return count


def write_table(stream: TextIO, table: Iterable[Column], rows: Iterable[object], partial: bool) -> int:
    """Write a tab-separated table, marked if the search is not complete, and return how many rows it has."""
    count = write_lines(stream, table_lines(table, rows)) - 1
    write_lines(stream, [PARTIAL] if partial else [])
    return count


def flanked(database: SequenceDatabase, hit: Hit, span: tuple[int, int], flank: int) -> tuple[int, int, str]:
    """Return first place (0-based), end and residues of a part of a target with this many more on either side."""
    start, end = max(0, span[0] - flank), min(hit.length, span[1] + flank)
    return start, end, database[hit.row].text[start:end]


def described(source: ExportSource, hit: Hit, card: Card) -> str:
    """Return the description of a part of a target, perhaps with what it was matched by."""
    return f"{hit.description} [matched_by={card['name']}]".lstrip() if source.choice.matched_by else hit.description


def write_fasta(source: ExportSource, stream: TextIO) -> int:
    """Write each target that was found once, whole."""
    database, seen = source.database(), set[int]()
    for hit in source.found():
        if hit.row not in seen:
            seen.add(hit.row)
            stream.write(fasta_record(hit.name, hit.description, database[hit.row].text))
    return len(seen)
