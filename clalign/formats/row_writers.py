"""Alignments of rows as text: aligned FASTA, Stockholm with all that it says, Clustal and what other programs read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

import numpy as np
import numpy.typing as npt

from clalign.errors import InputError
from clalign.formats.writers import fasta_record
from clalign.jobs import JobContext, QuietContext
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, is_residue

Rows = npt.NDArray[np.int64]

FORMS = {
    "fasta": "Aligned FASTA", "stockholm": "Stockholm", "clustal": "Clustal", "a2m": "A2M", "a3m": "A3M",
    "phylip": "PHYLIP", "msf": "MSF", "nexus": "NEXUS",
}  # fmt: skip
"""Formats that are written, as users know them."""

ENDINGS = {
    "fasta": (".fasta", ".fa", ".afa", ".mfa", ".fas"), "stockholm": (".sto", ".stk"), "clustal": (".aln",),
    "a2m": (".a2m",), "a3m": (".a3m",), "phylip": (".phy", ".phylip"), "msf": (".msf",), "nexus": (".nex", ".nexus"),
}  # fmt: skip
"""How the names of files of each format end; the first is the usual one."""

CLUSTAL_WIDTH = 60

STRONG = ("STA", "NEQK", "NHQK", "NDEQ", "QHRK", "MILV", "MILF", "HY", "FYW")
WEAK = (
    "CSA", "ATV", "SAG", "STNK", "STPA", "SGND", "SNDEQK", "NDEQHK", "NEQHRK", "FVLIM", "HFY",
)  # fmt: skip
"""Groups of Clustal: columns with residues of one of them are marked with a colon, or a dot."""

MARKED = 512
"""Columns whose marks are found together."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What of an alignment is written.

    Attributes
    ----------
    rows : int64[k]
        In the order in which they are written.
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


def form_of(path: str) -> str:
    """Return the format that the ending of a file name means; empty if none."""
    name = path.lower()
    return next((form for form, endings in ENDINGS.items() if name.endswith(endings)), "")


def write_rows(
    alignment: RowAlignment, form: str, stream: TextIO, part: Part | None = None, context: JobContext | None = None
) -> None:
    """Write an alignment, or a part of it.

    Parameters
    ----------
    form : str
        One of `FORMS`.
    stream : TextIO
    part : Part, optional
    context : JobContext, optional
        Asked whether to go on.

    Raises
    ------
    InputError
        If two rows have the same name, in a format that cannot have that.
    """
    chosen = part or Part.whole(alignment)
    from clalign.formats import more_row_writers as more

    write: Callable[[RowAlignment, Part], Iterator[str]] = {
        "fasta": fasta_lines, "stockholm": stockholm_lines, "clustal": clustal_lines, "a2m": more.a2m_lines,
        "a3m": more.a3m_lines, "phylip": more.phylip_lines, "msf": more.msf_lines, "nexus": more.nexus_lines,
    }[form]  # fmt: skip
    for place, line in enumerate(write(alignment, chosen)):
        if place % MARKED == 0:
            (context or QuietContext()).check()
        stream.write(line)


def fasta_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the records of aligned FASTA."""
    for row in part.rows.tolist():
        yield fasta_record(alignment.names[row], alignment.descriptions[row], text_of(alignment.cells[row, part.cut]))


def stockholm_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of Stockholm: what is said of the file, of its rows, the rows with their annotation, and that of
    the columns, each in the order in which it was read.
    """
    names, notes = alignment.names, alignment.notes
    check_names(alignment, part)
    written = {names[row] for row in part.rows.tolist()}
    yield "# STOCKHOLM 1.0\n"
    for tag, said in notes.file:
        yield f"#=GF {tag} {said}".rstrip() + "\n"
    said_of = [entry for entry in notes.rows if entry[0] in written]
    widest = max((len(name) for name, _, _ in said_of), default=0)
    for name, tag, said in said_of:
        yield f"#=GS {name:<{widest}s} {tag} {said}".rstrip() + "\n"
    described = {name for name, tag, _ in notes.rows if tag == "DE"}
    for row in part.rows.tolist():
        if alignment.descriptions[row] and names[row] not in described:
            yield f"#=GS {names[row]} DE {alignment.descriptions[row]}\n"
    width = max(map(len, written), default=0)
    tags = max((len(tag) for tag in (*notes.residues, *notes.columns)), default=0)
    label = max(width, (width + 6 + tags) if notes.residues else 0, (5 + tags) if notes.columns else 0)
    for row in part.rows.tolist():
        yield f"{names[row]:<{label}s} {text_of(alignment.cells[row, part.cut])}\n"
        for tag, texts in notes.residues.items():
            if text := texts.of(row):
                yield f"{f'#=GR {names[row]:<{width}s} {tag}':<{label}s} {text[part.cut].decode('latin-1')}\n"
    for tag, text in notes.columns.items():
        yield f"{f'#=GC {tag}':<{label}s} {text[part.cut].decode('latin-1')}\n"
    yield "//\n"


def clustal_lines(alignment: RowAlignment, part: Part) -> Iterator[str]:
    """Yield the lines of Clustal, with its marks below each block."""
    check_names(alignment, part)
    rows, cells = part.rows, alignment.cells
    width = max((len(alignment.names[row]) for row in rows.tolist()), default=0) + 4
    yield "CLUSTAL multiple sequence alignment\n\n"
    for begin in range(part.columns.start, part.columns.stop, CLUSTAL_WIDTH):
        end = min(begin + CLUSTAL_WIDTH, part.columns.stop)
        yield "\n"
        block = cells[rows, begin:end]
        for row, letters in zip(rows.tolist(), block, strict=True):
            yield f"{alignment.names[row]:<{width}s}{text_of(letters)}\n"
        yield f"{' ' * width}{column_marks(block)}".rstrip() + "\n"


def column_marks(cells: Bytes) -> str:
    """Return Clustal's mark of each column: ``*`` one residue, ``:`` and ``.`` alike ones, all without gaps."""
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


def check_names(alignment: RowAlignment, part: Part) -> None:
    """Refuse two rows of one name.

    Raises
    ------
    InputError
        If there are such.
    """
    known: set[str] = set()
    for row in part.rows.tolist():
        name = alignment.names[row]
        if name in known:
            raise InputError(
                name, "two rows have this name, which this format cannot tell apart.", "Save it as aligned FASTA."
            )
        known.add(name)
