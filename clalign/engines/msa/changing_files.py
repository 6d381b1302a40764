"""Changes of finished alignments in files: sequences added, blocks of columns aligned again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.sequence_rows import SequenceRow, read_sequences
from clalign.engines.msa.changing import ChangeChoice, ChangedRows, with_added, with_realigned
from clalign.errors import InputError, quoted
from clalign.formats.row_alignments import check_only, read_rows
from clalign.formats.row_writers import write_rows
from clalign.formats.writers import whole_file
from clalign.jobs import JobContext
from clalign.values.devices import Device
from clalign.values.documents import JobResult
from clalign.values.row_alignments import Bytes, RowAlignment, RowNotes, RowTexts, is_residue

OUTDATED = ("Accuracy", "SQ")
"""Tags of Stockholm that say something of the alignment as it was."""


def add_sequences(
    alignment: str, sequences: str, output: str, form: str, choice: ChangeChoice, device: Device, context: JobContext
) -> JobResult:
    """Add the sequences of a file to the alignment in another one, and write both together.

    Parameters
    ----------
    alignment : str
        Of any format; what Stockholm says of it is kept.
    sequences : str
        Of any format; gaps are left out.
    output : str
        The new file, which may be that of the alignment.
    form : str
        What is written: one of `clalign.formats.row_forms.FORMS`.
    choice : ChangeChoice
    device : Device
    context : JobContext
        Receives progress; stops the work.

    Returns
    -------
    dict
        ``output``, ``device``, ``n_sequences``, ``n_columns``, and of the alignment as it was ``n_rows`` and ``width``.
    """
    check_only(alignment, context)
    old = read_rows(alignment, context=context)
    new = [SequenceRow(row.name, row.description, row.residues) for row in read_sequences(sequences, context)]
    if known := set(old.names).intersection(row.name for row in new):
        raise InputError(
            sequences, f"{quoted(min(known))} is the name of a row of {alignment}, too.", "Give each a name of its own."
        )
    change = partial(with_added, path=alignment, rows=_rows(old), new=new, choice=choice, context=context)
    return _changed(change, old, output, form, device, context)


def realign_columns(
    alignment: str, columns: range, output: str, form: str, choice: ChangeChoice, device: Device, context: JobContext
) -> JobResult:
    """Align a block of columns of an alignment again, and write all of it; see `add_sequences`."""
    check_only(alignment, context)
    old = read_rows(alignment, context=context)
    change = partial(with_realigned, path=alignment, rows=_rows(old), columns=columns, choice=choice, context=context)
    return _changed(change, old, output, form, device, context)


def _rows(alignment: RowAlignment) -> list[SequenceRow]:
    parts = zip(alignment.names, alignment.descriptions, alignment.cells, strict=True)
    return [SequenceRow(name, description, cells.tobytes()) for name, description, cells in parts]


def _changed(
    change: Callable[[Session], ChangedRows], old: RowAlignment, output: str, form: str, device: Device,
    context: JobContext,
) -> JobResult:  # fmt: skip
    with opening_of(lambda: device, context) as opening:
        made = with_notes(opening.work(change, context.check, context.warn), old)
    with whole_file(output, is_exact=True) as stream:
        write_rows(made, form, stream, context=context)
    return {
        "output": output, "device": device.name, "n_sequences": made.n_rows, "n_columns": made.n_columns,
        "n_rows": old.n_rows, "width": old.n_columns,
    }  # fmt: skip


def with_notes(changed: ChangedRows, old: RowAlignment) -> RowAlignment:
    """Return a changed alignment with what was said of it before.

    What is said of a column stays with it, and what is said of a residue goes where that goes.
    """
    rows, notes, places = changed.rows, old.notes, changed.places
    made = RowAlignment.of_rows([row.name for row in rows], [row.text for row in rows])
    kept = places >= 0

    def moved(cells: Bytes, row: int | None = None) -> Bytes:
        new = np.full(made.n_columns, ord("."), np.uint8)
        new[places[kept]] = cells[kept]
        if row is not None:
            new[is_residue(made.cells[row])] = cells[is_residue(old.cells[row])]
        return new

    columns = {
        tag: moved(np.frombuffer(text, np.uint8)).tobytes()
        for tag, text in notes.columns.items()
        if tag not in OUTDATED
    }
    residues = {
        tag: RowTexts(
            texts.rows, np.array([moved(*each) for each in zip(texts.cells, texts.rows.tolist(), strict=True)])
        )
        for tag, texts in notes.residues.items()
    }
    file_notes = [(tag, text) for tag, text in notes.file if tag not in OUTDATED]
    return RowAlignment(
        made.cells, made.names, [row.description for row in rows], RowNotes(file_notes, notes.rows, residues, columns)
    )
