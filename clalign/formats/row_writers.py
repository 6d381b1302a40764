"""Alignments as text: aligned FASTA, Stockholm with annotation, Clustal and the formats of other programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TextIO

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.errors import InputError
from clalign.formats.writers import fasta_record, line_name
from clalign.jobs import JobContext, QuietContext
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, is_residue

Rows = npt.NDArray[np.int64]

CLUSTAL_WIDTH = 60

STRONG = ("STA", "NEQK", "NHQK", "NDEQ", "QHRK", "MILV", "MILF", "HY", "FYW")
WEAK = ("CSA", "ATV", "SAG", "STNK", "STPA", "SGND", "SNDEQK", "NDEQHK", "NEQHRK", "FVLIM", "HFY")
"""Groups of residues in Clustal: columns of a strong group are marked with a colon, of a weak one with a dot."""

LINES_BETWEEN_CHECKS = 512

MSF_WIDTH = 50

MAX_GAPS = 0.5
"""Columns with a larger share of gaps are inserts, if an alignment does not mark them by lower case."""

_GAP, _PAD, _SMALL = np.uint8(ord("-")), np.uint8(ord(".")), np.uint8(0x20)

_STOP, _MISSING = np.uint8(ord("*")), np.uint8(ord("?"))

_MODULUS = 10_000
"""Modulus of GCG's checksums."""


class Part(Struct, frozen=True, eq=False):
    """The part of an alignment that is written.

    Attributes
    ----------
    rows : int64[k]
        Rows in the order in which they are written.
    columns : range
    """

    rows: Rows
    columns: range

    @classmethod
    def whole(cls, alignment: RowAlignment) -> Part:
        """Return all of an alignment, in its own order."""
        return cls(np.arange(alignment.n_rows), range(alignment.n_columns))

    @property
    def cut(self) -> slice:
        """The columns as a slice."""
        return slice(self.columns.start, self.columns.stop)


def write_rows(
    alignment: RowAlignment, form: str, stream: TextIO, part: Part | None = None, context: JobContext | None = None
) -> None:
    """Write an alignment, or a part of it.

    Parameters
    ----------
    form : str
        One of `clalign.formats.row_forms.FORMS`.
    stream : TextIO
    part : Part, optional
    context : JobContext, optional
        May cancel.

    Raises
    ------
    InputError
        If two rows have the same name in a format that does not allow it.
    """
    chosen = part or Part.whole(alignment)
    write: Callable[[RowAlignment, Part], Iterator[str]] = {
        "fasta": fasta_lines, "stockholm": stockholm_lines, "clustal": clustal_lines, "a2m": a2m_lines,
        "a3m": a3m_lines, "phylip": phylip_lines, "msf": msf_lines, "nexus": nexus_lines,
    }[form]  # fmt: skip
    for place, line in enumerate(write(alignment, chosen)):
        if place % LINES_BETWEEN_CHECKS == 0:
            (context or QuietContext()).check()
        stream.write(line)


def fasta_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the records of aligned FASTA."""
    for row in part.rows.tolist():
        yield fasta_record(alignment.names[row], alignment.descriptions[row], text_of(alignment.cells[row, part.cut]))


def stockholm_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of Stockholm: annotation of the file and the rows, the rows with theirs, that of the columns."""
    names, notes = alignment.names, alignment.notes
    check_names(line_name(names[row]) for row in part.rows.tolist())
    written = {names[row]: line_name(names[row]) for row in part.rows.tolist()}
    yield "# STOCKHOLM 1.0\n"
    for tag, note in notes.file:
        yield f"#=GF {tag} {note}".rstrip() + "\n"
    row_notes = [(written[name], tag, note) for name, tag, note in notes.rows if name in written]
    widest = max((len(name) for name, _, _ in row_notes), default=0)
    for name, tag, note in row_notes:
        yield f"#=GS {name:<{widest}s} {tag} {note}".rstrip() + "\n"
    described = {name for name, tag, _ in notes.rows if tag == "DE"}
    for row in part.rows.tolist():
        if alignment.descriptions[row] and names[row] not in described:
            yield f"#=GS {written[names[row]]} DE {alignment.descriptions[row]}\n"
    width = max(map(len, written.values()), default=0)
    tags = max((len(tag) for tag in (*notes.residues, *notes.columns)), default=0)
    label = max(width, (width + 6 + tags) if notes.residues else 0, (5 + tags) if notes.columns else 0)
    for row in part.rows.tolist():
        yield f"{written[names[row]]:<{label}s} {text_of(alignment.cells[row, part.cut])}\n"
        for tag, texts in notes.residues.items():
            if text := texts.of(row):
                yield f"{f'#=GR {written[names[row]]:<{width}s} {tag}':<{label}s} {text[part.cut].decode('latin-1')}\n"
    for tag, text in notes.columns.items():
        yield f"{f'#=GC {tag}':<{label}s} {text[part.cut].decode('latin-1')}\n"
    yield "//\n"


def clustal_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of Clustal, with its marks below each block."""
    check_names(alignment.names[row] for row in part.rows.tolist())
    rows, cells = part.rows, alignment.cells
    width = max((len(alignment.names[row]) for row in rows.tolist()), default=0) + 4
    yield "CLUSTAL multiple sequence alignment\n\n"
    for begin in range(part.columns.start, part.columns.stop, CLUSTAL_WIDTH):
        end = min(begin + CLUSTAL_WIDTH, part.columns.stop)
        yield "\n"
        block = cells[rows, begin:end]
        for row, letters in zip(rows.tolist(), block, strict=True):
            yield f"{alignment.names[row]:<{width}s}{text_of(letters)}\n"
        yield f"{' ' * width}{column_marks(block)}\n"


def column_marks(cells: Bytes) -> str:
    """Return Clustal's mark of each column: ``*`` one residue, ``:`` and ``.`` similar ones, all without gaps."""
    upper = cells & UPPER
    masks = np.where(is_residue(cells), np.uint32(1) << ((upper - np.uint8(65)) & np.uint8(31)).astype(np.uint32), 0)
    present = np.bitwise_or.reduce(masks, axis=0)
    whole = is_residue(cells).all(axis=0) if len(cells) else np.zeros(cells.shape[1], bool)
    marks = np.full(cells.shape[1], " ")
    for mark, groups in ((".", WEAK), (":", STRONG), ("*", tuple(map(chr, range(65, 91))))):
        for group in groups:
            members = np.uint32(sum(1 << (ord(letter) - 65) for letter in group))
            marks[whole & ((present & ~members) == 0)] = mark
    return "".join(marks.tolist())


def text_of(letters: Bytes) -> str:
    """Return letters as text."""
    return letters.tobytes().decode("latin-1")


def check_names(names: Iterable[str]) -> None:
    """Refuse two rows with the same name.

    Raises
    ------
    InputError
        If there are two.
    """
    known: set[str] = set()
    for name in names:
        if name in known:
            raise InputError(
                name, "two rows have this name, which this format does not allow.", "Save it as aligned FASTA."
            )
        known.add(name)


def insert_columns(cells: Bytes) -> npt.NDArray[np.bool_]:
    """Return which columns are inserts: those of lower case or ``.`` where others have capitals, else those with
    more gaps than residues.
    """
    residues = is_residue(cells)
    small = residues & ((cells & _SMALL) != 0)
    has_capital = (residues & ~small).any(axis=0)
    marked = (small.any(axis=0) | (cells == _PAD).any(axis=0)) & ~has_capital
    if not len(cells) or (marked.any() and has_capital.any()):
        return np.asarray(marked, bool)
    few: npt.NDArray[np.bool_] = _is_held(cells).mean(axis=0) < 1.0 - MAX_GAPS
    return few


def _is_held(cells: Bytes) -> npt.NDArray[np.bool_]:
    """Return which bytes are not gaps: residues, stops, missing data."""
    held: npt.NDArray[np.bool_] = is_residue(cells) | (cells == _STOP) | (cells == _MISSING)
    return held


def _unknown(alignment: RowAlignment, part: Part) -> np.uint8:
    """Return the letter that stands for any residue."""
    return np.uint8(ord("N" if _is_nucleic(alignment, part) else "X"))


def _with_cases(alignment: RowAlignment, part: Part) -> Iterator[tuple[int, Bytes]]:
    """Yield rows with capitals and ``-`` in match columns, lower case and ``.`` in inserts, and no other marks."""
    inserts, unknown = insert_columns(alignment.cells[:, part.cut]), _unknown(alignment, part)
    for row in part.rows.tolist():
        cells = alignment.cells[row, part.cut]
        held = _is_held(cells)
        upper = np.where(is_residue(cells), cells & UPPER, np.where(held, unknown, _GAP))
        yield row, np.where(inserts, np.where(held, upper | _SMALL, _PAD), upper)


def a2m_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the records of A2M: inserts are lower case, filled up with ``.``."""
    for row, cells in _with_cases(alignment, part):
        yield fasta_record(alignment.names[row], alignment.descriptions[row], text_of(cells))


def a3m_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the records of A3M: as A2M, without the ``.``."""
    for row, cells in _with_cases(alignment, part):
        yield fasta_record(alignment.names[row], alignment.descriptions[row], text_of(cells[cells != _PAD]))


def _plain_rows(alignment: RowAlignment, part: Part) -> Iterator[tuple[str, Bytes]]:
    """Yield names without blanks, and rows whose gaps are all ``-``."""
    rows = part.rows.tolist()
    names = ["_".join(alignment.names[row].split()) for row in rows]
    check_names(names)
    for name, row in zip(names, rows, strict=True):
        cells = alignment.cells[row, part.cut]
        yield name, np.where(_is_held(cells), cells, _GAP)


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
    nucleic, n_columns, unknown = _is_nucleic(alignment, part), len(part.columns), _unknown(alignment, part)
    rows = [
        (name, np.where(cells == _GAP, _PAD, np.where(cells == _MISSING, unknown, cells)))
        for name, cells in _plain_rows(alignment, part)
    ]
    if not rows:
        raise InputError("alignment", "it has no rows.", "Select at least one row.")
    sums = [_checksum(cells) for _, cells in rows]
    kind, mark = ("N", "NA") if nucleic else ("P", "AA")
    yield f"!!{mark}_MULTIPLE_ALIGNMENT 1.0\n\n"
    yield f"  clalign.msf  MSF: {n_columns}  Type: {kind}  Check: {sum(sums) % _MODULUS}  ..\n\n"
    width = max(len(name) for name, _ in rows)
    for (name, _), check in zip(rows, sums, strict=True):
        yield f"  Name: {name:<{width}s}  Len: {n_columns:5d}  Check: {check:4d}  Weight:  1.00\n"
    yield "\n//\n"
    for begin in range(0, n_columns, MSF_WIDTH):
        yield "\n"
        for name, cells in rows:
            text = text_of(cells[begin : begin + MSF_WIDTH])
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
