"""Sequences aligned to a HMMER3 profile, with the alignment of hmmalign 3.3.2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from clalign.building.alignments import read_alignments_of
from clalign.building.rows import DigitalRows
from clalign.building.specs import BuildSpec
from clalign.common.portions import portions_of
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.letters import refused_record, refused_rows
from clalign.databases.loading import load_database
from clalign.errors import InputError, quoted
from clalign.formats.hmmer_rows import WRITERS
from clalign.formats.profiles import read_profiles
from clalign.formats.row_writers import write_rows
from clalign.formats.writers import whole_file
from clalign.jobs import JobContext
from clalign.stages.hmmer3.envelope import WHOLE
from clalign.tools.specs import AlignSpec
from clalign.values.alphabets import ENCODE, shown_letters
from clalign.values.devices import Device
from clalign.values.documents import JobResult
from clalign.values.envelopes import Parts, Rescored, RowProfiles
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.placed_rows import Fragment, PlacedRow, placed_alignment, trimmed, without_inserts
from clalign.values.profiles import Hmm
from clalign.values.row_alignments import Bytes, RowAlignment
from clalign.values.sequences import SequenceDatabase

CELLS_AT_ONCE = 1 << 28
"""Cells of the matrices of sequences that are aligned before a stop is looked for."""

_INSERT, _DELETE = ord("I"), ord("D")

_GAP, _MISSING, _LETTER = range(3)
"""What a column of an alignment holds."""

Places = npt.NDArray[np.int64]


def align_to_profile(
    profile: str, sequences: str, output: str, spec: AlignSpec, device: Device, context: JobContext
) -> JobResult:
    """Align the sequences of a file to a profile and write the alignment to another file.

    Parameters
    ----------
    profile : str
        A file with one HMMER3 profile.
    sequences : str
        In any format that can be searched; of an alignment the gaps are left out.
    output : str
        The new file, in the format of `spec`.
    spec : AlignSpec
    device : Device
    context : JobContext

    Returns
    -------
    dict
        ``output``, ``format``, ``profile`` (its name), ``n_sequences``, ``n_rows``, ``n_columns`` ``length`` (nodes).

    Raises
    ------
    InputError
        If there is not just one profile, if sequences have letters that it does not know or none that it can emit, or
        if the alignment for ``map_alignment`` is another one than the profile was built of.
    """
    hmm = only_profile(profile, spec, context)
    aligned, n_sequences = aligned_to_profile(hmm, sequences, spec, device, context)
    write_aligned(aligned, output, spec, context)
    return {
        "output": output, "format": spec.out_form, "profile": hmm.name, "n_sequences": n_sequences,
        "n_rows": aligned.n_rows, "n_columns": aligned.n_columns, "length": hmm.length,
    }  # fmt: skip


def write_aligned(aligned: RowAlignment, output: str, spec: AlignSpec, context: JobContext) -> None:
    """Write an alignment in the format of a spec."""
    with whole_file(output, is_exact=True) as stream:
        if spec.out_form in WRITERS:
            stream.writelines(WRITERS[spec.out_form](aligned))
        else:
            write_rows(aligned, spec.out_form, stream, context=context)


def aligned_to_profile(
    hmm: Hmm, sequences: str, spec: AlignSpec, device: Device, context: JobContext
) -> tuple[RowAlignment, int]:
    """Return the alignment and the number of sequences; see `align_to_profile`."""
    mapped = _mapped_rows(spec.map_alignment, hmm, context) if spec.map_alignment else []
    database, report = load_database(sequences, alphabet=hmm.alphabet.name, sequence_format=spec.form, context=context)
    if len(bad := refused_rows(database, hmm.alphabet, report)):
        advice = "Leave such records out,"
        raise refused_record(sequences, database, bad, hmm.alphabet, report.format, advice)

    def align(session: Session) -> list[PlacedRow]:
        return list(_placed(session, database, to_local_profile(hmm), context, sequences))

    with opening_of(lambda: device, context) as opening:
        rows = [*mapped, *opening.work(align, context.check, context.warn)]
    if spec.trims:
        rows = [trimmed(row, hmm.length) for row in rows]
    if spec.has_no_inserts:
        rows = [without_inserts(row) for row in rows]
    return placed_alignment(rows, hmm.length, hmm.mask, context.check), len(database)


def only_profile(path: str, spec: AlignSpec, context: JobContext) -> Hmm:
    """Return the profile of a file that has one.

    Raises
    ------
    InputError
        If it has several, or one of HMMER2 or of another alphabet than `spec` has.
    """
    found: list[Hmm] = []
    for hmm in read_profiles(path, context.check):
        found.append(hmm)
        if len(found) > 1:
            hint = f"Take one of them out, as with: hmmfetch {path} {found[0].name}"
            raise InputError(path, "it has several profiles, and sequences are aligned to one.", hint)
    (hmm,) = found
    if hmm.origin == "hmmer2":
        raise InputError(path, "this is a profile of HMMER2.", "Convert it with hmmconvert of HMMER3.")
    if spec.alphabet not in ("auto", hmm.alphabet.name):
        wanted = f"--{spec.alphabet}"
        raise InputError(path, f"the profile is for {hmm.alphabet.label}, not what {wanted} says.", "Leave it out.")
    return hmm


def _placed(
    session: Session, database: SequenceDatabase, profile: LocalProfile, context: JobContext, path: str
) -> Iterator[PlacedRow]:
    """Yield the sequences of a database, in the order of the file, aligned to a profile."""
    letters, order = shown_letters(profile.hmm.alphabet), np.argsort(database.order)
    cells = np.diff(database.offsets)[order] * profile.length
    for part in portions_of(cells, CELLS_AT_ONCE):
        context.progress("align", int(cells[: part.start].sum()), int(cells.sum()), "cells")
        context.check()
        rows = order[part]
        batch = database.select(rows)
        chosen = np.flatnonzero(batch.lengths > 0).astype(np.int32)
        parts = Parts(batch, chosen, np.zeros_like(chosen), batch.lengths[chosen])
        answers = iter(session.run(WHOLE, parts, RowProfiles.alone(profile, len(batch))))
        headers = zip(*database.headers(rows), strict=True)
        for row, (name, accession, description) in enumerate(headers):
            codes = batch.residues(row)
            if not len(codes):
                empty = np.empty(0, np.int64)
                yield PlacedRow(name, accession, description, codes, empty, empty > 0, empty.astype(np.float32))
                continue
            answer = next(answers)
            if answer is None:
                reason = f"the profile can emit none of the residues of {quoted(name)}."
                raise InputError(path, reason, "Leave this sequence out.")
            nodes, is_match = _nodes(answer, len(codes), profile.length)
            yield PlacedRow(name, accession, description, letters[codes], nodes, is_match, answer.certainty)
    context.progress("align", int(cells.sum()), int(cells.sum()), "cells")


def _nodes(answer: Rescored, n: int, length: int) -> tuple[Places, npt.NDArray[np.bool_]]:
    """Return the node of each residue, and whether it stands at its column."""
    states = np.frombuffer(answer.path.states.encode("ascii"), np.uint8)
    at = answer.path.node_start + np.cumsum(states != _INSERT)
    held = states != _DELETE
    first = answer.path.residue_start
    end = first + int(held.sum())
    nodes, is_match = np.zeros(n, np.int64), np.zeros(n, bool)
    nodes[first:end], is_match[first:end] = at[held], (states != _INSERT)[held]
    nodes[end:] = length
    return nodes, is_match


def _mapped_rows(path: str, hmm: Hmm, context: JobContext) -> list[PlacedRow]:
    """Return the rows of the alignment that a profile was built of, by the nodes that its columns are."""
    checksum = hmm.facts.get("checksum")
    if hmm.columns is None or checksum is None:
        what = "the columns of its alignment (MAP)" if hmm.columns is None else "the checksum of its alignment (CKSUM)"
        raise InputError(
            path, f"it cannot be used: {quoted(hmm.name)} does not have {what}.", "Build it anew with clalign hmmbuild."
        )
    given = next(read_alignments_of(path, BuildSpec(), context))
    rows = DigitalRows.of_cells(given.cells, hmm.alphabet)
    if rows.checksum() != int(checksum):
        reason = f"this is not the alignment that {quoted(hmm.name)} was built of, by its checksum."
        raise InputError(path, reason, "Give that alignment to --mapali.")
    columns = hmm.columns
    if columns[0] < 1 or columns[-1] > given.n_columns or (np.diff(columns) < 1).any():
        reason = (
            f"{quoted(hmm.name)} has columns (MAP) that its alignment of {given.n_columns:,} columns does not have."
        )
        raise InputError(path, reason, "Build the profile anew with clalign hmmbuild.")
    node_of = np.zeros(given.n_columns, np.int64)
    node_of[columns - 1] = 1
    letters = shown_letters(hmm.alphabet)
    accessions = {name: text for name, tag, text in given.notes.rows if tag == "AC"}
    descriptions = {name: text for name, tag, text in given.notes.rows if tag == "DE"}
    found = []
    for row, name in enumerate(given.names):
        kinds = np.where(
            rows.codes[row] == rows.missing, _MISSING, np.where(rows.codes[row] == rows.gap, _GAP, _LETTER)
        )
        is_letter, is_residue = kinds == _LETTER, rows.is_residue[row]
        symbols = letters[ENCODE[given.cells[row][is_letter]]]
        # HMMER counts residues alone, and so takes for a stop, and for what follows, the letters from it on.
        counted = np.cumsum(is_residue)[is_letter] - is_residue[is_letter]
        found.append(
            PlacedRow(
                name, accessions.get(name, ""), given.descriptions[row] or descriptions.get(name, ""), symbols[counted],
                np.cumsum(node_of)[is_letter], node_of[is_letter] > 0, None, _fragment(path, name, kinds, node_of),
            )
        )  # fmt: skip
    return found


def _fragment(path: str, name: str, kinds: Bytes, node_of: Places) -> Fragment:
    """Return where a row has missing data, given what each of its columns holds."""
    filled = np.flatnonzero((kinds != _GAP) | (node_of > 0))
    known = filled[kinds[filled] != _MISSING]
    if not len(known) or len(known) == len(filled):
        return Fragment()
    first, last = int(known[0]), int(known[-1])
    if (kinds[first:last] == _MISSING).any():
        raise InputError(path, f"the row {quoted(name)} has missing data (~) between residues.", "Write - for gaps.")
    nodes = np.cumsum(node_of)
    before = int(nodes[first]) if filled[0] < first else 0
    return Fragment(before, kinds[first] == _GAP, int(nodes[last]) if filled[-1] > last else None)
