"""Profiles of HMMER3 from the alignments of a file, with the numbers of hmmbuild 3.3.2."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from clalign.building.effective_number import relative_entropy
from clalign.building.guess import guessed_alphabet
from clalign.building.profiles import Builder, NoProfile
from clalign.building.resaved import resaved
from clalign.building.rows import NO_CODE, code_table
from clalign.building.specs import BuildSpec
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.loading import HMMER_NAMES, UnknownFormat
from clalign.errors import InputError, OptionError, quoted
from clalign.formats.a3m import alignment_form, refined
from clalign.formats.blocks import NOT_IN_ROWS, Reading, RefusedLetter
from clalign.formats.hmmer3_writer import profile_text
from clalign.formats.hmmer_rows import WRITERS
from clalign.formats.readers import ALIGNMENTS, read_alignments, read_blocks
from clalign.formats.sources import Source, TextReader, opened
from clalign.formats.writers import whole_file
from clalign.jobs import JobContext, QuietContext
from clalign.values.alphabets import ALPHABETS, Alphabet
from clalign.values.devices import Device
from clalign.values.documents import JobResult
from clalign.values.local_scores import background
from clalign.values.profiles import Hmm, Hmmer3Settings
from clalign.values.row_alignments import Bytes, RowAlignment


def build_profiles(
    alignment: str, output: str, spec: BuildSpec, device: Device, context: JobContext, resave: str = os.devnull
) -> JobResult:
    """Build a profile from each alignment of a file and write all of them to another file.

    Parameters
    ----------
    alignment : str
        Stockholm (one or several), Clustal, aligned FASTA, A3M, SELEX, PHYLIP, MSF, NEXUS or BAliBASE XML.
    output : str
        The new file.
    spec : BuildSpec
    device : Device
        Computes the scores of random sequences.
    context : JobContext
    resave : str
        Another new file, for the alignments as they were counted, in Stockholm format.

    Returns
    -------
    dict
        ``output``, ``alphabet``, ``profiles`` with the ``name``, ``length``, ``n_sequences``, ``n_columns``,
        ``effective_n``, ``entropy`` (bits a node), ``max_length`` and ``description`` of each, and those of the first.

    Raises
    ------
    InputError
        If the file is no alignment, or a profile cannot be built from it.
    OptionError
        If one name is given for several alignments.
    """
    built: list[JobResult] = []
    given = _Given(alignment, spec, context)
    alphabet = ALPHABETS[spec.alphabet] if spec.alphabet != "auto" else given.alphabet()

    def build(session: Session) -> None:
        builder = Builder(spec, alphabet, session, context.check)
        built.clear()
        named: list[bool] = []
        with whole_file(output, is_exact=True) as stream, whole_file(resave, is_exact=True) as other:
            for number, rows in enumerate(given.alignments()):
                context.check()
                _refuse_letters(alignment, rows, alphabet, spec.form)
                named.append(bool(_own_name(rows)))
                name = _name(rows, named, alignment, spec)
                try:
                    found = builder.build(rows, name)
                except NoProfile as error:
                    which = f"in its alignment {number + 1}, {quoted(name)}, " if named[0] else ""
                    raise InputError(alignment, f"{which}{error.message}", error.hint) from None
                hmm = replace(found.hmm, facts=found.hmm.facts | {"date": time.strftime("%a %b %e %H:%M:%S %Y")})
                stream.writelines(f"{line}\n" for line in profile_text(hmm, found.columns, found.mask))
                if resave != os.devnull and (counted := resaved(found, rows)) is not None:
                    other.writelines(WRITERS["stockholm"](counted))
                built.append(_facts(hmm, rows))
            if not built:
                raise InputError(alignment, "the file has no alignment.", "Choose another file.")

    with opening_of(lambda: device, context) as opening:
        opening.work(build, context.check, context.warn)
    return {"output": output, "alphabet": alphabet.name, **built[0], "profiles": built}


def _facts(hmm: Hmm, rows: RowAlignment) -> JobResult:
    """Return the facts shown of a profile that was built of an alignment."""
    assert isinstance(hmm.settings, Hmmer3Settings)
    return {
        "name": hmm.name,
        "length": hmm.length,
        "n_sequences": rows.n_rows,
        "n_columns": rows.n_columns,
        "effective_n": hmm.settings.effective_n,
        "entropy": relative_entropy(hmm.match[1:], background(hmm.alphabet)),
        "max_length": hmm.settings.max_length,
        "description": hmm.description,
    }


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


class _Given:
    """The alignments of a file; those from which its alphabet was guessed are not read a second time."""

    def __init__(self, path: str, spec: BuildSpec, context: JobContext) -> None:
        self._path, self._spec, self._context = path, spec, context
        self._begin()

    def _begin(self) -> None:
        self._ahead: list[RowAlignment] = []
        self._rest = read_alignments_of(self._path, self._spec, self._context)

    def alphabet(self) -> Alphabet:
        """Return the alphabet that their letters are of."""
        found = guessed_alphabet(self._rows())
        if found is None:
            raise InputError(self._path, "the alphabet of its sequences is uncertain.", "Give --amino, --dna or --rna.")
        return found

    def _rows(self) -> Iterator[Bytes]:
        for rows in self._rest:
            self._ahead.append(rows)
            yield from rows.cells

    def alignments(self) -> Iterator[RowAlignment]:
        """Yield them; if a device fails, once more from the first one."""
        ahead, rest = self._ahead, self._rest
        self._begin()
        while ahead:
            yield ahead.pop(0)
        yield from rest


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


def _name(rows: RowAlignment, named: list[bool], path: str, spec: BuildSpec) -> str:
    """Return the name of a profile: the given one, that of the alignment, or that of the file.

    `named` says of this alignment and those before it whether each has a name.
    """
    own = _own_name(rows)
    if len(named) > 1 and (spec.name or not all(named)):
        raise OptionError(
            f"{path} has several alignments, which cannot have the same name.",
            "Name each in the file, with a line #=GF ID.",
        )
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
