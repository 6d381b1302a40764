"""How much pairs of sequences count: weights from a file, as those of a tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.errors import InputError, quoted
from clalign.formats.numbers import finite
from clalign.formats.sources import TextReader, opened
from clalign.values.sparse_posteriors import SparsePosteriors


def read_weights(path: str, names: tuple[str, ...]) -> npt.NDArray[np.float64]:
    """Read lines of two names and a weight; return the weights of all pairs, 1 in the mean (float64[N, N]).

    Raises
    ------
    InputError
        With the line that is none, or names no sequence of these.
    """
    numbers = {name: number for number, name in enumerate(names)}
    weights = np.zeros((len(names), len(names)))
    with opened(path) as source:
        text = TextReader(source)
        for line_number, line in text.lines():
            words = line.decode("utf-8", "replace").split()
            if not words or words[0].startswith(("#", ";")):
                continue
            weight = finite(words[2]) if len(words) == 3 else None
            if weight is None or weight < 0:
                raise text.error(
                    "this is not a weight.", "Lines hold two names and a number of at least 0.", line_number
                )
            for name in words[:2]:
                if name not in numbers:
                    raise text.error(f"there is no sequence named {quoted(name)}.", "Correct the name.", line_number)
            i, j = (numbers[name] for name in words[:2])
            weights[i, j] = weights[j, i] = weight
    of_pairs = weights[np.triu_indices(len(names), 1)]
    if not of_pairs.any():
        raise InputError(path, "no pair of these sequences has a weight.", "Give some pairs one above 0.")
    weights /= of_pairs.mean()
    return weights


def weighted(posteriors: SparsePosteriors, weights: npt.NDArray[np.float64]) -> SparsePosteriors:
    """Return posteriors that count as much as their pairs do; those that count nothing are left out."""
    x, y = posteriors.pairs.T
    of_pairs = weights[x, y].astype(np.float32)
    counts = of_pairs > 0
    rows, others = np.diff(posteriors.row_offsets), np.diff(posteriors.y_offsets)
    of_rows, of_others = np.repeat(of_pairs, rows), np.repeat(of_pairs, others)
    sizes = np.diff(posteriors.starts)
    of_entries = np.repeat(of_rows, sizes)
    kept = of_entries > 0
    starts = np.concatenate([[0], np.cumsum(sizes[of_rows > 0])]).astype(np.int64)
    return replace(
        posteriors, pairs=posteriors.pairs[counts], starts=starts, columns=posteriors.columns[kept],
        probabilities=(posteriors.probabilities * of_entries)[kept], x_gaps=(posteriors.x_gaps * of_rows)[of_rows > 0],
        y_gaps=(posteriors.y_gaps * of_others)[of_others > 0],
    )  # fmt: skip
