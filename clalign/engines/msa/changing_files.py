"""Changes of finished alignments in files: sequences added, blocks of columns aligned anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.sequence_rows import SequenceRow, read_alignment, read_sequences
from clalign.engines.msa.changing import ChangeChoice, with_added, with_realigned
from clalign.formats.writers import fasta_record, whole_file
from clalign.jobs import JobContext
from clalign.values.devices import Device


def add_sequences(
    alignment: str, sequences: str, output: str, choice: ChangeChoice, device: Device, context: JobContext
) -> dict[str, Any]:
    """Add the sequences of a file to the alignment in another one, and write both together.

    Parameters
    ----------
    alignment : str
        Of any format.
    sequences : str
        Of any format; gaps are left out.
    output : str
        A file for aligned FASTA, which may be that of the alignment.
    choice : ChangeChoice
    device : Device
    context : JobContext
        Told of the progress, and asked whether to stop.

    Returns
    -------
    dict
        ``output``, ``device``, ``n_sequences``, ``n_columns``, and of the alignment as it was ``n_rows`` and ``width``.
    """
    rows = read_alignment(alignment, context)
    new = [SequenceRow(row.name, row.description, row.residues) for row in read_sequences(sequences, context)]
    change = partial(with_added, path=alignment, rows=rows, new=new, choice=choice, context=context)
    return _changed(change, rows, output, device, context)


def realign_columns(
    alignment: str, columns: range, output: str, choice: ChangeChoice, device: Device, context: JobContext
) -> dict[str, Any]:
    """Align a block of columns of an alignment anew, and write all of it; see `add_sequences`."""
    rows = read_alignment(alignment, context)
    change = partial(with_realigned, path=alignment, rows=rows, columns=columns, choice=choice, context=context)
    return _changed(change, rows, output, device, context)


def _changed(
    change: Callable[[Session], list[SequenceRow]], rows: list[SequenceRow], output: str, device: Device,
    context: JobContext,
) -> dict[str, Any]:  # fmt: skip
    with opening_of(lambda: device, context) as opening:
        made = opening.work(change, context.check, context.warn)
    with whole_file(output, is_exact=True) as stream:
        for row in made:
            stream.write(fasta_record(row.name, row.description, row.text.decode("latin-1")))
    return {
        "output": output, "device": device.name, "n_sequences": len(made), "n_columns": len(made[0].text),
        "n_rows": len(rows), "width": len(rows[0].text),
    }  # fmt: skip
