"""Profiles of HMMER3 from the alignments of a file, with the numbers of hmmbuild 3.3.2."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from msgspec.structs import replace

from clalign.building.alignments import build_one, read_alignments_of
from clalign.building.effective_number import relative_entropy
from clalign.building.guess import guessed_alphabet
from clalign.building.profiles import Builder
from clalign.building.resaved import resaved
from clalign.building.specs import BuildSpec
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.errors import InputError
from clalign.formats.hmmer3_writer import profile_text
from clalign.formats.hmmer_rows import WRITERS
from clalign.formats.writers import whole_file
from clalign.jobs import JobContext
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
        first: RowAlignment | None = None
        with whole_file(output, is_exact=True) as stream, whole_file(resave, is_exact=True) as other:
            for number, rows in enumerate(given.alignments()):
                context.check()
                first = rows if first is None else first
                found = build_one(builder, alignment, rows, number, first)
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
