"""Search in the rows of an alignment: residues across gaps, patterns, or names."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.values.multiple_alignments import GAPS
from clalign.values.row_alignments import RowAlignment

MODES = {
    "text": ("Residues", "Consecutive letters, ignoring gaps"),
    "prosite": ("PROSITE pattern", "As C-x(2,4)-C-{P}-[LIV]: x any residue, [..] one of these, {..} none"),
    "regex": (
        "Regular expression",
        "As N[^P][ST], on the residues without gaps; case does not matter, and * or + mean 100 residues at most",
    ),
    "name": ("Name", "Part of a name or of a description"),
}
"""Kinds of search: their titles and meanings."""

MAX_FOUND = 100_000

MAX_REPEAT = 100
"""Residues of an unbounded repeat: a pattern with several of them would take for ever."""

_ELEMENT = re.compile(
    r"(?P<what>x|[A-Z]|\[[A-Z>]+\]|\{[A-Z]+\})(?:\((?P<low>\d+)(?:,(?P<high>\d+))?\))?", re.IGNORECASE
)

_ENDLESS = re.compile(r"(\\.|\[(?:\\.|[^\]\\])*\])|(\*|\+|\{(\d+),\})([?+]?)")


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Matches in an alignment.

    Attributes
    ----------
    rows, begins, ends : int64[n]
        Rows of the file, rising, and the columns from the first residue to one past the last; a name has none.
    is_all : bool
        Whether there are no further matches.
    """

    rows: npt.NDArray[np.int64]
    begins: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    is_all: bool = True

    def __len__(self) -> int:
        """Return the number of matches."""
        return len(self.rows)

    def in_row(self, row: int) -> list[tuple[int, int]]:
        """Return the columns of the matches in a row."""
        low, high = np.searchsorted(self.rows, [row, row + 1])
        return list(zip(self.begins[low:high].tolist(), self.ends[low:high].tolist(), strict=True))


def nothing() -> Found:
    """Return an empty list of matches."""
    return _as_found([], True)


def prosite_pattern(text: str) -> str:
    """Return a PROSITE pattern as a regular expression.

    Raises
    ------
    OptionError
        With the element that is none.
    """
    pattern = re.sub(r"\s", "", text).removesuffix(".")
    begin, end = pattern.startswith("<"), pattern.endswith(">")
    made = []
    for element in pattern.removeprefix("<").removesuffix(">").split("-"):
        found = _ELEMENT.fullmatch(element)
        if found is None:
            hint = "Elements are separated by -, such as x, A, [AG], {P}, x(3), x(2,4)."
            raise OptionError(f'"{element}" is not an element of a PROSITE pattern.', hint)
        what = found["what"].upper()
        if what == "X":
            what = "."
        elif what.startswith("{"):
            what = f"[^{what[1:-1]}]"
        elif ">" in what:
            what = f"(?:[{what[1:-1].replace('>', '')}]|$)"
        low, high = found["low"], found["high"]
        made.append(what + (f"{{{low},{high}}}" if high else f"{{{low}}}" if low else ""))
    return ("^" if begin else "") + "".join(made) + ("$" if end else "")


def _bounded(pattern: str) -> str:
    """Return a regular expression with bounded repeats; Python cannot be stopped while it matches one."""

    def end(found: re.Match[str]) -> str:
        kept, repeat, least, more = found.groups()
        if kept:
            return str(kept)
        return f"{{{least or ('1' if repeat == '+' else '0')},{MAX_REPEAT}}}{more}"

    return _ENDLESS.sub(end, pattern)


def compiled(text: str, mode: str) -> re.Pattern[bytes]:
    """Return a query as an expression for upper-case residues without gaps.

    Raises
    ------
    OptionError
        It cannot be understood.
    """
    if mode == "text":
        letters = "".join(text.split())
        return re.compile(re.escape(letters.upper().encode("latin-1", "replace")))
    expression = prosite_pattern(text) if mode == "prosite" else _bounded(text)
    if mode == "regex" and re.search(r"[*+}]\)*\)[*+{]", expression):
        raise OptionError("A repeat within a repeat could take forever.", "Write the inner one out, or fix its number.")
    try:
        return re.compile(expression.encode("latin-1", "replace"), re.IGNORECASE)
    except (re.error, OverflowError) as error:
        raise OptionError(f"Invalid regular expression: {error}.", "For plain letters choose Residues.") from None


def find_rows(alignment: RowAlignment, text: str, mode: str, context: JobContext) -> Found:
    """Search all rows.

    Raises
    ------
    OptionError
        The query is invalid.
    """
    if mode == "name":
        return _find_names(alignment, text, context)
    pattern = compiled(text, mode)
    found: list[tuple[int, int, int]] = []
    n_rows = alignment.n_rows
    for row in range(n_rows):
        if row % 256 == 0:
            context.progress("find", row, n_rows, "rows", found=len(found))
            context.check()
        letters = alignment.cells[row]
        residues = letters.tobytes().translate(None, GAPS).upper()
        places: npt.NDArray[np.int64] | None = None
        for hit in pattern.finditer(residues):
            if hit.end() == hit.start():
                continue
            if places is None:
                places = np.flatnonzero(~np.isin(letters, list(GAPS)))
            found.append((row, int(places[hit.start()]), int(places[hit.end() - 1]) + 1))
            if len(found) >= MAX_FOUND:
                return _as_found(found, False)
    return _as_found(found, True)


def _find_names(alignment: RowAlignment, text: str, context: JobContext) -> Found:
    wanted, found = text.casefold().strip(), list[tuple[int, int, int]]()
    for row, (name, description) in enumerate(zip(alignment.names, alignment.descriptions, strict=True)):
        if row % 4096 == 0:
            context.check()
        if wanted in name.casefold() or wanted in description.casefold():
            found.append((row, 0, 0))
            if len(found) >= MAX_FOUND:
                return _as_found(found, False)
    return _as_found(found, True)


def _as_found(found: list[tuple[int, int, int]], is_all: bool) -> Found:
    table = np.array(found, np.int64).reshape(-1, 3)
    return Found(table[:, 0], table[:, 1], table[:, 2], is_all)
