"""The alignments of a file, and the profile of each of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from clalign.building.profiles import Builder, Built, NoProfile
from clalign.building.rows import NO_CODE, code_table
from clalign.building.specs import BuildSpec
from clalign.databases.loading import HMMER_NAMES, UnknownFormat
from clalign.errors import InputError, OptionError, quoted
from clalign.formats.a3m import alignment_form, refined
from clalign.formats.blocks import NOT_IN_ROWS, Reading, RefusedLetter
from clalign.formats.readers import ALIGNMENTS, read_alignments, read_blocks
from clalign.formats.sources import Source, TextReader, opened
from clalign.jobs import JobContext, QuietContext
from clalign.values.alphabets import Alphabet
from clalign.values.row_alignments import RowAlignment


def read_alignments_of(path: str, spec: BuildSpec, context: JobContext) -> Iterator[RowAlignment]:
    """Yield the alignments of a file.

    Raises
    ------
    InputError
        If one has no rows, does not end, or has annotation that fits no row or not all columns.
    """
    with opened(path) as source, ExitStack() as files:
        reading = Reading(TextReader(source, context), refused=NOT_IN_ROWS)
        for rows in read_alignments(_form(source, spec.form, context), reading, files):
            made = rows.alignment(is_strict=True)
            if found := reading.findings.found.get("no_terminator"):
                raise reading.text.error("the closing // of the alignment is missing.", line=found.lines[0])
            if not made.n_rows or not made.n_columns:
                raise InputError(path, "there is no alignment in this file.", "Choose another file.")
            yield made
        reading.warn()


def _form(source: Source, name: str, context: JobContext) -> str:
    """Return the format of a file, given what the user calls it."""
    if name == "auto":
        return alignment_form(source, context)
    known = HMMER_NAMES.get(name.lower(), name.lower())
    if known not in (*ALIGNMENTS, "fasta"):
        raise UnknownFormat(name)
    return refined(known, source, context)


def build_one(builder: Builder, path: str, rows: RowAlignment, number: int, first: RowAlignment) -> Built:
    """Return the profile of an alignment of a file, named as in the file or, of the only one, as the file.

    Parameters
    ----------
    builder : Builder
    path : str
        The file.
    rows : RowAlignment
    number : int
        Its place in the file, from 0.
    first : RowAlignment
        The first one of the file.

    Raises
    ------
    InputError
        If it has letters that are not of the alphabet, or no profile can be built of it.
    OptionError
        If there are several of one name.
    """
    _refuse_letters(path, rows, builder.alphabet, builder.spec.form)
    if number and (builder.spec.name or not (_own_name(first) and _own_name(rows))):
        raise OptionError(
            f"{path} has several alignments, which cannot have the same name.",
            "Name each in the file, with a line #=GF ID.",
        )
    name = _name(rows, path, builder.spec)
    try:
        return builder.build(rows, name)
    except NoProfile as error:
        which = f"in its alignment {number + 1}, {quoted(name)}, " if _own_name(first) else ""
        raise InputError(path, f"{which}{error.message}", error.hint) from None


def _refuse_letters(path: str, rows: RowAlignment, alphabet: Alphabet, form: str) -> None:
    """Refuse letters that an alphabet does not have, with the line of the first one."""
    table = code_table(alphabet)
    if not (table[rows.cells] == NO_CODE).any():
        return
    with opened(path) as source:
        foreign = bytes(byte for byte in range(33, 127) if table[byte] == NO_CODE)
        try:
            for _ in read_blocks(_form(source, form, QuietContext()), Reading(TextReader(source), True, foreign)):
                pass
        except RefusedLetter as error:
            reason = f'the record {quoted(error.record)} has "{error.letter}", which is not in its alphabet.'
            hint = "Correct it, or choose another of --amino, --dna and --rna."
            raise InputError(path, reason, hint, error.line) from None


def _own_name(rows: RowAlignment) -> str:
    return next((text for tag, text in rows.notes.file if tag == "ID" and text.strip()), "")


def _name(rows: RowAlignment, path: str, spec: BuildSpec) -> str:
    """Return the name of a profile: the given one, that of the alignment, or that of the file."""
    own = _own_name(rows)
    if len(own.split()) > 1:
        with opened(path) as source:
            lines = (n for n, line in TextReader(source).lines() if line.startswith(b"#=GF ID") and line.split()[3:])
            raise InputError(
                path, f"the name {quoted(own)} after #=GF ID is not one word.", "Write _ for blanks.", next(lines)
            )
    if spec.name or own:
        return spec.name or own
    stem = Path(path).stem  # only the last ending goes, of "a.sto.gz" it is the one of the compression
    return "_".join(stem.encode(errors="backslashreplace").decode().split()) or "alignment"
