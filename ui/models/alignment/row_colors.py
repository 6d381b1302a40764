"""Colors of the cells of an alignment: by residue, by the composition of columns, or by a value of each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from clalign.formats.matrices import load_matrix
from clalign.values.alphabets import ENCODE
from clalign.values.column_statistics import N_LETTERS, Counts
from clalign.values.row_alignments import Bytes

from ...residue_colors import background_of

N_CODES = 32
GAP, FIRST_LETTER, MARK = 0, 1, 27

PLAIN, QUIET, FOUND = 0, 1, 2
"""Palette entries of every coloring: no color, gaps and agreement, search results."""

FIRST_COLOR = 3

FOUND_COLOR = "#FFD400"

N_STEPS = 126
"""Colors of a ramp for letters, and as many for gaps."""

FADED = "#40"
"""Begins a color that is to be mixed with three times as much of the ground: what is said of gaps hides no letters."""

UNKNOWN_COLOR = "#C8CCD0"
"""Color of a cell without a value."""


def _codes() -> Bytes:
    table = np.zeros(256, np.uint8)
    for byte in range(256):
        upper = byte & 0xDF
        is_letter = 65 <= upper <= 90
        table[byte] = FIRST_LETTER + upper - 65 if is_letter else GAP if byte in b"-._~ " else MARK
    return table


CODES = _codes()
"""The code of each byte of an alignment: a gap, a letter without case, or another mark."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

HYDROPHOBIC = "WLVIMAFCHP"

CLUSTAL_X: tuple[tuple[str, str, str, tuple[tuple[float, tuple[str, ...]], ...]], ...] = (
    ("AILMFWVC", "#80A0F0", "hydrophobic", ((0.6, (HYDROPHOBIC,)),)),
    ("KR", "#F01505", "positive", ((0.6, ("KR",)), (0.8, tuple("KRQ")))),
    ("E", "#C048C0", "negative", ((0.6, ("KR",)), (0.5, ("QE",)), (0.85, tuple("EQD")))),
    ("D", "#C048C0", "negative", ((0.6, ("KR",)), (0.85, tuple("KRQ")), (0.5, ("ED",)))),
    ("N", "#15C015", "polar", ((0.5, ("N",)), (0.85, tuple("NY")))),
    ("Q", "#15C015", "polar", ((0.6, ("KR",)), (0.5, ("QE",)), (0.85, tuple("QEKR")))),
    ("ST", "#15C015", "polar", ((0.6, (HYDROPHOBIC,)), (0.5, ("TS",)), (0.85, tuple("ST")))),
    ("HY", "#15A4A4", "aromatic", ((0.6, (HYDROPHOBIC,)), (0.85, tuple("WYACPQFHILMV")))),
    ("C", "#F08080", "cysteine", ((0.85, ("C",)),)),
    ("G", "#F09048", "glycine", ((0.0, ("G",)),)),
    ("P", "#C0C000", "proline", ((0.0, ("P",)),)),
)
"""The rules of Clustal X: residues, their color and its meaning, if more than a share of the rows has one of a group
together. A later rule overrides an earlier one."""

ZAPPO = (
    ("ILVAM", "#FFAFAF", "aliphatic"), ("FWY", "#FFC800", "aromatic"), ("KRH", "#8C8CFF", "positive"),
    ("DE", "#FF5050", "negative"), ("STNQ", "#50E650", "hydrophilic"), ("PG", "#FF70FF", "special conformation"),
    ("C", "#FFFF00", "cysteine"),
)  # fmt: skip

SAFE_GROUPS = (
    ("AVILMC", "hydrophobic"), ("FWY", "aromatic"), ("KRH", "positive"), ("DE", "negative"), ("STNQ", "hydrophilic"),
    ("GP", "special conformation"),
)  # fmt: skip
SAFE_BASES = (("A", "A"), ("C", "C"), ("G", "G"), ("TU", "TU"))

_TAYLOR = {
    "A": "#CCFF00", "V": "#99FF00", "I": "#66FF00", "L": "#33FF00", "M": "#00FF00", "F": "#00FF66", "Y": "#00FFCC",
    "W": "#00CCFF", "H": "#0066FF", "R": "#0000FF", "K": "#6600FF", "N": "#CC00FF", "Q": "#FF00CC", "E": "#FF0066",
    "D": "#FF0000", "S": "#FF3300", "T": "#FF6600", "G": "#FF9900", "P": "#FFCC00", "C": "#FFFF00",
}  # fmt: skip
"""Taylor 1997."""

KYTE_DOOLITTLE = {
    "I": 4.5, "V": 4.2, "L": 3.8, "F": 2.8, "C": 2.5, "M": 1.9, "A": 1.8, "G": -0.4, "T": -0.7, "S": -0.8, "W": -0.9,
    "Y": -1.3, "P": -1.6, "H": -3.2, "E": -3.5, "Q": -3.5, "D": -3.5, "N": -3.5, "K": -3.9, "R": -4.5,
}  # fmt: skip

NUCLEOTIDES = (
    ("A", "#7AD07A", "A"), ("C", "#80A0F0", "C"), ("G", "#F0A860", "G"), ("TU", "#F0A0A0", "TU"),
    ("RY", "#C8C8C8", "RY"),
)  # fmt: skip

IDENTITY = ((0.8, "#6E8CFA"), (0.6, "#9DB4FF"), (0.4, "#CFD9FF"))

SAFE_ANCHORS = ("#B35806", "#E08214", "#FDB863", "#FEE0B6", "#EDF1F6", "#CFE0EF", "#AECDE6", "#8DB9DB")
"""Orange for what is low, as in ColorBrewer's PuOr, to a calm blue: apart with any kind of color vision."""

SCHEMES = {
    "clustalx": "Clustal X",
    "safe": "Color-blind safe",
    "zappo": "Zappo",
    "taylor": "Taylor",
    "blosum62": "BLOSUM62",
    "identity": "Identity",
    "hydrophobicity": "Hydrophobicity",
    "nucleotide": "Nucleotide",
    "none": "No colors",
}
"""Titles of the schemes."""

SCHEME_WORDS = {
    "clustalx": "Residues are colored only where their column has enough of their group",
    "safe": "Groups of residues in colors that look different with any kind of color vision",
    "zappo": "Physical and chemical groups of residues",
    "taylor": "A color for each residue; similar residues have similar colors",
    "blosum62": "Dark: the column's commonest residue; light: one that BLOSUM62 scores above zero with it",
    "identity": "The column's commonest residue, by the share of the rows that have it",
    "hydrophobicity": "From hydrophilic (blue) to hydrophobic (red), after Kyte and Doolittle",
    "nucleotide": "A color for each base",
    "none": "Letters only",
}

RAMPS = {"safe": "Color-blind safe", "rainbow": "Blue, green, red"}
"""Titles of the color ramps for values from 0 to 1."""

Swatch = tuple[str, str]
"""A color and its meaning."""

CellValues = Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], npt.NDArray[np.float32]]
"""Returns values from 0 to 1, or NaN, of cells by their rows and columns (float32[rows, columns])."""


@dataclass(frozen=True, slots=True, eq=False)
class Composition:
    """Statistics of the painted columns.

    Attributes
    ----------
    counts : uint32[n, N_LETTERS]
    n_rows : int
    """

    counts: Counts
    n_rows: int


@dataclass(frozen=True, slots=True, eq=False)
class Coloring:
    """A palette and the rule that assigns its colors to cells.

    Attributes
    ----------
    name : str
    palette : tuple of str
        From `FIRST_COLOR` on.
    legend : tuple of Swatch
    table : callable, optional
        Returns the place of the palette of each letter code, in all columns alike (uint8[1, N_CODES]) or in each
        (uint8[n, N_CODES]).
    values : callable, optional
        Instead of it: the values of cells.
    """

    name: str
    palette: tuple[str, ...]
    legend: tuple[Swatch, ...]
    table: Callable[[Composition], Bytes] | None = None
    values: CellValues | None = None

    def places(
        self, codes: Bytes, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], known: Composition
    ) -> Bytes:
        """Return the palette entry of each cell (uint8[rows, columns]); `known` describes these columns."""
        if self.values is not None:
            found = self.values(rows, columns)
            steps = np.round(np.clip(np.nan_to_num(found), 0, 1) * (N_STEPS - 1)) + N_STEPS * (codes == GAP)
            unknown = np.where(codes == GAP, QUIET, FIRST_COLOR)
            return np.where(np.isnan(found), unknown, FIRST_COLOR + 1 + steps).astype(np.uint8)
        assert self.table is not None
        table = self.table(known)
        if len(table) == 1:
            return np.asarray(table[0][codes])
        flat = codes.astype(np.intp)
        flat += (np.arange(len(table)) * N_CODES)[None, :]
        return table.reshape(-1)[flat]


def _fixed(colors: Mapping[str, str]) -> tuple[tuple[str, ...], Bytes]:
    """Return a palette and the table of letters (uint8[1, N_CODES])."""
    palette = tuple(dict.fromkeys(colors.values()))
    table = np.full((1, N_CODES), PLAIN, np.uint8)
    table[0, GAP] = QUIET
    for letter, color in colors.items():
        table[0, code_of(letter)] = FIRST_COLOR + palette.index(color)
    return palette, table


def code_of(letter: str) -> int:
    """Return the code of a letter."""
    return int(CODES[ord(letter)])


def _by_residue(name: str, colors: Mapping[str, str], legend: Sequence[Swatch]) -> Coloring:
    palette, table = _fixed(colors)
    return Coloring(name, palette, tuple(legend), lambda known: table)


def _by_group(name: str, groups: Sequence[tuple[str, str, str]]) -> Coloring:
    colors = {letter: color for letters, color, _ in groups for letter in letters}
    return _by_residue(name, colors, [(color, f"{words} ({letters})" if letters != words else words)
                                      for letters, color, words in groups])  # fmt: skip


def _empty(n: int) -> Bytes:
    table = np.full((n, N_CODES), PLAIN, np.uint8)
    table[:, GAP] = QUIET
    return table


def _clustal_x() -> Coloring:
    palette = tuple(dict.fromkeys(color for _, color, _, _ in CLUSTAL_X))
    legend = {color: words for _, color, words, _ in CLUSTAL_X}

    def table(known: Composition) -> Bytes:
        made = _empty(len(known.counts))
        shares = known.counts / max(1, known.n_rows)
        together: dict[str, npt.NDArray[np.float64]] = {}
        for letters, color, _, rules in CLUSTAL_X:
            holds = np.zeros(len(shares), bool)
            for least, groups in rules:
                for group in groups:
                    if group not in together:
                        together[group] = shares[:, [ord(letter) - 65 for letter in group]].sum(axis=1)
                    holds |= together[group] > least
            for letter in letters:
                made[holds, code_of(letter)] = FIRST_COLOR + palette.index(color)
        return made

    return Coloring(SCHEMES["clustalx"], palette, tuple(legend.items()), table)


def _commonest(known: Composition) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
    return known.counts.argmax(axis=1), known.counts.max(axis=1)


def _identity() -> Coloring:
    def table(known: Composition) -> Bytes:
        made = _empty(len(known.counts))
        letter, most = _commonest(known)
        shares = most / max(1, known.n_rows)
        for place, (least, _) in reversed(list(enumerate(IDENTITY))):
            chosen = np.flatnonzero(shares > least)
            made[chosen, FIRST_LETTER + letter[chosen]] = FIRST_COLOR + place
        return made

    legend = tuple((color, f"more than {100 * least:.0f} % of the rows") for least, color in IDENTITY)
    return Coloring(SCHEMES["identity"], tuple(color for _, color in IDENTITY), legend, table)


@cache
def _likeness() -> npt.NDArray[np.bool_]:
    """Return the pairs of letters with a positive score in BLOSUM62 (bool[N_LETTERS, N_LETTERS])."""
    codes = ENCODE[[ord(letter) for letter in LETTERS]]
    scores = load_matrix("BLOSUM62").scores[np.ix_(codes, codes)] > 0
    for letter in "JOUX":  # the matrix has no scores of their own for them
        scores[ord(letter) - 65] = scores[:, ord(letter) - 65] = False
    return np.asarray(scores)


def _blosum62() -> Coloring:
    palette = ("#9A9AFF", "#CCCCFF")

    def table(known: Composition) -> Bytes:
        made = _empty(len(known.counts))
        letter, most = _commonest(known)
        made[:, FIRST_LETTER : FIRST_LETTER + N_LETTERS][_likeness()[letter] & (most > 0)[:, None]] = FIRST_COLOR + 1
        some = np.flatnonzero(most)
        made[some, FIRST_LETTER + letter[some]] = FIRST_COLOR
        return made

    legend = ((palette[0], "the commonest residue"), (palette[1], "similar by BLOSUM62"))
    return Coloring(SCHEMES["blosum62"], palette, legend, table)


def _hydrophobicity() -> Coloring:
    colors = {letter: mixed("#4A6CFF", "#FF6A5A", (value + 4.5) / 9) for letter, value in KYTE_DOOLITTLE.items()}
    legend = ((colors["R"], "hydrophilic"), (colors["G"], "between"), (colors["I"], "hydrophobic"))
    return _by_residue(SCHEMES["hydrophobicity"], colors, legend)


def _safe(nucleic: bool) -> Coloring:
    groups = SAFE_BASES if nucleic else SAFE_GROUPS
    return _by_group(SCHEMES["safe"], [(letters, background_of(letters[0], "safe", nucleic) or "", words)
                                       for letters, words in groups])  # fmt: skip


@cache
def coloring(scheme: str, nucleic: bool) -> Coloring:
    """Return a coloring by its name."""
    if scheme == "clustalx":
        return _clustal_x() if not nucleic else _by_group(SCHEMES["nucleotide"], NUCLEOTIDES)
    if scheme == "safe":
        return _safe(nucleic)
    if scheme == "taylor":
        return _by_residue(SCHEMES[scheme], _TAYLOR, [(color, letter) for letter, color in _TAYLOR.items()])
    makers: dict[str, Callable[[], Coloring]] = {
        "zappo": lambda: _by_group(SCHEMES["zappo"], ZAPPO), "blosum62": _blosum62, "identity": _identity,
        "hydrophobicity": _hydrophobicity, "nucleotide": lambda: _by_group(SCHEMES["nucleotide"], NUCLEOTIDES),
    }  # fmt: skip
    return makers[scheme]() if scheme in makers else _by_residue(SCHEMES["none"], {}, [])


def mixed(one: str, other: str, share: float) -> str:
    """Return a color between two."""
    parts = [(int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in parts)


def ramp(kind: str, n: int) -> tuple[str, ...]:
    """Return colors for values from 0 to 1: ``safe``, or ``rainbow`` as in FSA's viewer."""
    return tuple(_rainbow(place / (n - 1)) if kind == "rainbow" else _of_safe(place / (n - 1)) for place in range(n))


def _rainbow(value: float) -> str:
    v, bend = round(255 * value), -0.015564
    parts = (bend * (v - 127) * (v - 382), bend * v * (v - 255), bend * (v + 127) * (v - 127))
    return "#" + "".join(f"{min(255, max(0, round(part))):02X}" for part in parts)


def _of_safe(value: float) -> str:
    place = value * (len(SAFE_ANCHORS) - 1)
    low = min(int(place), len(SAFE_ANCHORS) - 2)
    return mixed(SAFE_ANCHORS[low], SAFE_ANCHORS[low + 1], place - low)


def value_coloring(name: str, values: CellValues, kind: str = "safe") -> Coloring:
    """Return the coloring of cells by values."""
    colors = ramp(kind, N_STEPS)
    steps = [colors[round(place * (N_STEPS - 1) / 8)] for place in range(9)]
    legend = ((UNKNOWN_COLOR, "not defined"), *((color, "") for color in steps[:-1]), (steps[-1], "low to high"))
    faded = (f"{FADED}{color[1:]}" for color in colors)
    return Coloring(name, (UNKNOWN_COLOR, *colors, *faded), legend, values=values)
