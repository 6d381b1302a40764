"""Alignments in the formats of HMMER's programs, letter by letter as its library Easel writes them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from clalign.formats.row_writers import text_of
from clalign.formats.writers import line_name
from clalign.values.row_alignments import UPPER, Bytes, RowAlignment, is_residue

WIDTH, STOCKHOLM_WIDTH = 60, 200
"""Columns of a line, and of one of Stockholm's blocks."""

PHYLIP_NAME = 10
"""Letters of a name in PHYLIP."""

Lines = Iterator[str]


def _row_notes(alignment: RowAlignment, wanted: str) -> list[str]:
    """Return an annotation of each row; empty where it has none. Rows of one name have theirs in order."""
    known: dict[str, deque[str]] = {}
    for name, tag, text in alignment.notes.rows:
        if tag == wanted:
            known.setdefault(name, deque()).append(text)
    return [known[name].popleft() if known.get(name) else "" for name in alignment.names]


def _stockholm(alignment: RowAlignment, block: int) -> Lines:
    names, notes, n_rows = [line_name(name) for name in alignment.names], alignment.notes, alignment.n_rows
    n_digits = len(str(n_rows)) if len(set(names)) < n_rows else 0
    names = [f"{place:0{n_digits}d}|{name}" for place, name in enumerate(names)] if n_digits else names
    width = max(map(len, names), default=0)
    label = max(width, width + len("#=GR  PP") if notes.residues else 0, *(len(f"#=GC {tag}") for tag in notes.columns))
    yield "# STOCKHOLM 1.0\n"
    if n_digits:
        yield '# WARNING: seq names have been made unique by adding a prefix of "<seq#>|"\n'
    yield from (f"#=GF {tag} {text}\n" for tag, text in notes.file)
    yield "\n"
    of_rows = (("WT", _row_notes(alignment, "WT")), ("AC", _row_notes(alignment, "AC")), ("DE", alignment.descriptions))
    for tag, texts in of_rows:
        yield from (f"#=GS {name:<{width}s} {tag} {text}\n" for name, text in zip(names, texts, strict=True) if text)
        yield "\n" * any(texts)
    for start in range(0, alignment.n_columns, block or alignment.n_columns):
        part = slice(start, start + (block or alignment.n_columns))
        yield "\n" * (start > 0)
        for row, name in enumerate(names):
            yield f"{name:<{label}s} {text_of(alignment.cells[row, part])}\n"
            for tag, marks in notes.residues.items():
                if text := marks.of(row):
                    yield f"{f'#=GR {name:<{width}s} {tag}':<{label}s} {text[part].decode('latin-1')}\n"
        for tag, text in notes.columns.items():
            yield f"{f'#=GC {tag}':<{label}s} {text[part].decode('latin-1')}\n"
    yield "//\n"


def _head(alignment: RowAlignment, row: int, accession: str) -> str:
    parts = filter(None, (alignment.names[row], accession, alignment.descriptions[row]))
    return f">{' '.join(parts)}\n"


def _wrapped(text: str) -> Lines:
    yield from (f"{text[at : at + WIDTH]}\n" for at in range(0, len(text), WIDTH))


def _afa(alignment: RowAlignment) -> Lines:
    for row, accession in enumerate(_row_notes(alignment, "AC")):
        yield _head(alignment, row, accession)
        yield from _wrapped(text_of(alignment.cells[row]))


def _consensus_columns(alignment: RowAlignment) -> npt.NDArray[np.bool_]:
    """Return which columns are those of the RF line, or of the first row if there is none."""
    marked = alignment.notes.columns.get("RF")
    letters = np.frombuffer(marked, np.uint8) if marked else alignment.cells[0]
    return is_residue(letters) | ((letters >= ord("0")) & (letters <= ord("9")))


def _a2m(alignment: RowAlignment) -> Lines:
    is_consensus = _consensus_columns(alignment)
    for row, accession in enumerate(_row_notes(alignment, "AC")):
        yield _head(alignment, row, accession)
        cells = alignment.cells[row]
        held = is_residue(cells)
        letters = np.where(cells == ord("O"), np.uint8(ord("X")), cells)  # O is another sign in this format
        upper = np.where(held, letters & UPPER, np.uint8(ord("-")))
        text = np.where(is_consensus, upper, letters | ~UPPER)
        yield from _wrapped(text_of(text[is_consensus | held]))


def _psiblast(alignment: RowAlignment) -> Lines:
    is_consensus, width = _consensus_columns(alignment), max(map(len, alignment.names))
    for start in range(0, alignment.n_columns, WIDTH):
        part = slice(start, start + WIDTH)
        yield "\n" * (start > 0)
        for name, cells in zip(alignment.names, alignment.cells[:, part], strict=True):
            cased = np.where(is_consensus[part], cells & UPPER, cells | ~UPPER)
            yield f"{name:<{width}s}  {text_of(np.where(is_residue(cells), cased, np.uint8(ord('-'))))}\n"


def _selex(alignment: RowAlignment) -> Lines:
    width = max(4, *map(len, alignment.names))
    for start in range(0, alignment.n_columns, WIDTH):
        part = slice(start, start + WIDTH)
        yield "\n" * (start > 0)
        for tag in ("RF", "MM"):
            if text := alignment.notes.columns.get(tag):
                yield f"{f'#={tag}':<{width}s} {text[part].decode('latin-1')}\n"
        for name, cells in zip(alignment.names, alignment.cells[:, part], strict=True):
            yield f"{name:<{width}s} {text_of(cells)}\n"


def _clustal(alignment: RowAlignment, program: str) -> Lines:
    width, marks = max(map(len, alignment.names)), _conserved(alignment.cells)
    yield f"{program} multiple sequence alignment\n"
    for start in range(0, alignment.n_columns, WIDTH):
        part = slice(start, start + WIDTH)
        yield "\n"
        for name, cells in zip(alignment.names, alignment.cells[:, part], strict=True):
            yield f"{name:<{width}s} {text_of(cells)}\n"
        yield f"{'':<{width}s} {marks[part]}\n"


def _conserved(cells: Bytes) -> str:
    """Return ``*`` for columns with one and the same letter, and blanks."""
    upper = cells & UPPER
    same = is_residue(cells).all(axis=0) & (upper == upper[0]).all(axis=0)
    return "".join(np.where(same, "*", " ").tolist())


def _phylip_cells(cells: Bytes) -> str:
    """Return letters with the gaps and the marks that PHYLIP has."""
    upper = np.where(is_residue(cells), cells & UPPER, cells)
    gaps = np.isin(cells, np.frombuffer(b".-_ ", np.uint8))
    found = np.where(gaps, np.uint8(ord("-")), np.where(cells == ord("~"), np.uint8(ord("?")), upper))
    return text_of(found)


def _phylip(alignment: RowAlignment) -> Lines:
    yield f" {alignment.n_rows} {alignment.n_columns}"
    for start in range(0, alignment.n_columns, WIDTH):
        yield "\n"
        for name, cells in zip(alignment.names, alignment.cells[:, start : start + WIDTH], strict=True):
            yield f"{_phylip_name(name) if start == 0 else ''}{_phylip_cells(cells)}\n"


def _phylip_name(name: str) -> str:
    return f"{name[:PHYLIP_NAME]:<{PHYLIP_NAME}s} "


def _phylips(alignment: RowAlignment) -> Lines:
    yield f" {alignment.n_rows} {alignment.n_columns}\n"
    for name, cells in zip(alignment.names, alignment.cells, strict=True):
        for start in range(0, alignment.n_columns, WIDTH):
            yield f"{_phylip_name(name) if start == 0 else ''}{_phylip_cells(cells[start : start + WIDTH])}\n"


WRITERS: dict[str, Callable[[RowAlignment], Lines]] = {
    "stockholm": lambda alignment: _stockholm(alignment, STOCKHOLM_WIDTH),
    "pfam": lambda alignment: _stockholm(alignment, 0),
    "a2m": _a2m,
    "a3m": _a2m,  # Easel leaves out the dots
    "psiblast": _psiblast,
    "selex": _selex,
    "afa": _afa,
    "clustal": lambda alignment: _clustal(alignment, "CLUSTAL 2.1"),
    "clustallike": lambda alignment: _clustal(alignment, "EASEL (0.48)"),
    "phylip": _phylip,
    "phylips": _phylips,
}
"""The formats by HMMER's names, and A3M."""
