"""Tables of distances between sequences as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

import numpy as np
import numpy.typing as npt


def write_phylip(names: Sequence[str], distances: npt.NDArray[np.floating], stream: TextIO) -> None:
    """Write a square table as PHYLIP's programs read it; blanks in names become underscores."""
    words = ["_".join(name.split()) for name in names]
    width = max([10, *map(len, words)])
    stream.write(f"{len(words):5d}\n")
    for word, row in zip(words, distances.tolist(), strict=True):
        stream.write(f"{word:<{width}s} {' '.join(f'{value:.6f}' for value in row)}\n")


def write_tsv(names: Sequence[str], distances: npt.NDArray[np.floating], stream: TextIO) -> None:
    """Write a square table separated by tabs, with names in the first line and column."""
    words = [" ".join(name.split()) for name in names]
    stream.write("\t".join(["name", *words]) + "\n")
    for word, row in zip(words, distances.tolist(), strict=True):
        stream.write("\t".join([word, *(f"{value:.6g}" for value in row)]) + "\n")
