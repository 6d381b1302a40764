"""Alignments of rows as other programs read them: A2M, A3M, PHYLIP, MSF and NEXUS."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from clalign.errors import InputError
from clalign.formats.row_writers import Part, check_names, text_of
from clalign.formats.writers import fasta_record
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, is_residue

WIDTH = 60

MOST_GAPS = 0.5
"""Columns with a larger share of gaps are inserts, where an alignment does not say so by small letters."""

_GAP, _PAD, _SMALL = np.uint8(ord("-")), np.uint8(ord(".")), np.uint8(0x20)

_MODULUS = 10_000
"""Of GCG's checksums."""


def insert_columns(cells: Bytes) -> npt.NDArray[np.bool_]:
    """Return which columns are inserts: those of small letters or ``.``, else those with more gaps than residues."""
    residues = is_residue(cells)
    small = residues & ((cells & _SMALL) != 0)
    capital = residues & ~small
    told = (small.any(axis=0) | (cells == _PAD).any(axis=0)) & ~capital.any(axis=0)
    if told.any() or not len(cells):
        return np.asarray(told, bool)
    few: npt.NDArray[np.bool_] = residues.mean(axis=0) < 1.0 - MOST_GAPS
    return few


def _with_cases(alignment: RowAlignment, part: Part) -> Iterator[tuple[int, Bytes, npt.NDArray[np.bool_]]]:
    """Yield rows with capitals and ``-`` in match columns, small letters and ``.`` in inserts."""
    inserts = insert_columns(alignment.cells[:, part.cut])
    for row in part.rows.tolist():
        cells = alignment.cells[row, part.cut]
        letters = is_residue(cells)
        upper = np.where(letters, cells & UPPER, _GAP)
        yield row, np.where(inserts, np.where(letters, upper | _SMALL, _PAD), upper), inserts


def a2m_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the records of A2M: inserts are small letters, filled up with ``.``."""
    for row, cells, _ in _with_cases(alignment, part):
        yield fasta_record(alignment.names[row], alignment.descriptions[row], text_of(cells))


def a3m_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the records of A3M: as A2M, without the ``.``."""
    for row, cells, _ in _with_cases(alignment, part):
        yield fasta_record(alignment.names[row], alignment.descriptions[row], text_of(cells[cells != _PAD]))


def _plain_rows(alignment: RowAlignment, part: Part) -> Iterator[tuple[str, Bytes]]:
    """Yield names without blanks, and rows whose gaps are all ``-``."""
    check_names(alignment, part)
    for row in part.rows.tolist():
        cells = alignment.cells[row, part.cut]
        yield "_".join(alignment.names[row].split()), np.where(is_residue(cells) | (cells == ord("*")), cells, _GAP)


def phylip_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of relaxed sequential PHYLIP: names whole, as RAxML, IQ-TREE and PhyML read it."""
    yield f"{len(part.rows)} {len(part.columns)}\n"
    width = max((len("_".join(alignment.names[row].split())) for row in part.rows.tolist()), default=0)
    for name, cells in _plain_rows(alignment, part):
        yield f"{name:<{max(width, 10)}s}  {text_of(cells)}\n"


def nexus_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of a NEXUS file with a block of data."""
    nucleic = _is_nucleic(alignment, part)
    yield "#NEXUS\nbegin data;\n"
    yield f"  dimensions ntax={len(part.rows)} nchar={len(part.columns)};\n"
    yield f"  format datatype={'dna' if nucleic else 'protein'} missing=? gap=-;\n  matrix\n"
    for name, cells in _plain_rows(alignment, part):
        quoted = name.replace("'", "''")
        yield f"    '{quoted}' {text_of(cells)}\n"
    yield "  ;\nend;\n"


def msf_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of MSF, with GCG's checksums."""
    nucleic, n_columns = _is_nucleic(alignment, part), len(part.columns)
    rows = [(name, np.where(cells == _GAP, _PAD, cells)) for name, cells in _plain_rows(alignment, part)]
    if not rows:
        raise InputError("alignment", "it has no rows.", "Choose rows.")
    sums = [_checksum(cells) for _, cells in rows]
    kind, mark = ("N", "NA") if nucleic else ("P", "AA")
    yield f"!!{mark}_MULTIPLE_ALIGNMENT 1.0\n\n"
    yield f"  clalign.msf  MSF: {n_columns}  Type: {kind}  Check: {sum(sums) % _MODULUS}  ..\n\n"
    width = max(len(name) for name, _ in rows)
    for (name, _), check in zip(rows, sums, strict=True):
        yield f"  Name: {name:<{width}s}  Len: {n_columns:5d}  Check: {check:4d}  Weight:  1.00\n"
    yield "\n//\n"
    for begin in range(0, n_columns, WIDTH):
        yield "\n"
        for name, cells in rows:
            text = text_of(cells[begin : begin + WIDTH])
            yield f"{name:<{width}s}  {' '.join(text[at : at + 10] for at in range(0, len(text), 10))}\n"


def _checksum(cells: Bytes) -> int:
    places = np.arange(len(cells)) % 57 + 1
    upper = np.where(is_residue(cells), cells & UPPER, cells)
    return int((places * upper.astype(np.int64)).sum() % _MODULUS)


def _is_nucleic(alignment: RowAlignment, part: Part) -> bool:
    cells = alignment.cells[part.rows[:100], part.cut]
    letters = np.frombuffer(b"ACGTUNacgtun", np.uint8)
    residues = cells[is_residue(cells)]
    return bool(len(residues) and np.isin(residues, letters).mean() > 0.9)
