"""Published statistics of gapped local alignments, those that NCBI BLAST uses: ``resources/statistics``.

Each row: cost of opening a gap, of each of its residues (a gap of k costs opening + k * extension), then lambda, K,
H, alpha and beta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import groupby
from typing import TypeVar

Key = TypeVar("Key")
Row = tuple[float, float, float, float, float, float, float]

UNGAPPED_LAMBDA = {
    "BLOSUM45": 0.229090590, "BLOSUM50": 0.231827191, "BLOSUM62": 0.317605958, "BLOSUM80": 0.342969301,
    "BLOSUM90": 0.334565470, "PAM30": 0.340025332, "PAM70": 0.334502604, "PAM250": 0.225152683,
}  # fmt: skip
"""Lambda of each matrix without gaps, computed from the scores that BLAST has; its tables print four digits of it. It
is different for others of the same name: the BLOSUM80 of the tables counts in half bits, while the file of that
name at the NCBI, and in most programs, counts in thirds of a bit."""

USUAL_GAPS = {
    "BLOSUM45": (14, 2), "BLOSUM50": (13, 2), "BLOSUM62": (11, 1), "BLOSUM80": (10, 1), "BLOSUM90": (10, 1),
    "PAM30": (9, 1), "PAM70": (10, 1), "PAM250": (14, 2),
}  # fmt: skip
"""Opening and extension that BLAST's tables call the best for each matrix."""

_COSTLY = {
    (1, -5): (3, 3), (1, -4): (2, 2), (2, -7): (4, 4), (1, -3): (2, 2), (2, -5): (4, 4), (1, -2): (2, 2),
    (2, -3): (6, 4), (3, -4): (6, 3), (4, -5): (12, 8), (1, -1): (4, 2), (3, -2): (5, 5), (5, -4): (25, 10),
}  # fmt: skip
"""By match and mismatch: the costs from which on gaps that have no row cost so much that the statistics are those
without gaps."""


def _rows_by(key: Callable[[list[str]], Key], name: str) -> Iterator[tuple[Key, tuple[Row, ...]]]:
    """Yield the rows of a file of `resources/statistics` that have the same key."""
    lines = (files("clalign.resources") / "statistics" / name).read_text("ascii").splitlines()[1:]
    for shared, group in groupby((line.split("\t") for line in lines), key):
        yield shared, tuple(tuple(map(float, words[-7:])) for words in group)  # type: ignore[misc]


PROTEIN: dict[str, tuple[Row, ...]] = dict(_rows_by(lambda words: words[0], "protein.tsv"))
"""Rows for proteins, by the name of the matrix."""

NUCLEIC: dict[tuple[int, int], tuple[tuple[int, int], tuple[Row, ...]]] = {
    key: (_COSTLY[key], rows) for key, rows in _rows_by(lambda words: (int(words[0]), int(words[1])), "nucleic.tsv")
}
"""The costs of `_COSTLY` and the rows, by match and mismatch without a common factor. Rows for gaps that cost nothing
to open and half a match more than a mismatch are left out."""

EVEN_ONLY = ((2, -7), (2, -5), (2, -3), (3, -4))
"""Match and mismatch whose rows hold for even scores; odd ones are rounded down for E-values."""
