"""Posteriors of pairs as text, as FSA writes and reads them (``.probs``)."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import TextIO

import numpy as np
from msgspec import Struct, field

from clalign.errors import InputError
from clalign.formats.numbers import finite
from clalign.formats.sources import TextReader, opened
from clalign.values.sparse_posteriors import ExcessPosterior, PosteriorMatrix, SparsePosteriors

_RESIDUE = rb"\(\s*(\d{1,9})\s*,\s*(-1|\d{1,9})\s*\)"
_LINE = re.compile(rb"\s*" + _RESIDUE + rb"\s*~\s*" + _RESIDUE + rb"\s*=>\s*(\S{1,99})\s*")

_HEAD = """\
; Sparse posterior probability matrix for sequences {x} and {y}
; Format is:
;   ({x}, position_1) ~ ({y}, position_2) => prob
; which means that ({x}, position_1) is aligned to ({y}, position_2) with probability prob.
;   ({x}, position_1) ~ ({y}, -1) => prob
; means that ({x}, position_1) is aligned to a gap in {y} with probability prob.
; sequence is 0-based and position is 0-based

"""


ENTRY_BYTES, PAIR_BYTES = 12, 512
"""Bytes of memory for the posterior of a match while it is read, and for each pair."""

EXCESS = "the posteriors of a residue of the sequences {} and {} add up to more than is possible."
EXCESS_HINT = "Give each posterior once; those of a residue must add up to at most 1."


class _Entries(Struct):
    """Residues of both sequences and probabilities of the matches of a pair, in the order of the file."""

    rows: array[int] = field(default_factory=lambda: array("i"))
    columns: array[int] = field(default_factory=lambda: array("i"))
    probabilities: array[float] = field(default_factory=lambda: array("f"))


def write_posteriors(posteriors: SparsePosteriors, stream: TextIO) -> None:
    """Write the posteriors of all pairs: the matches, then the gap posteriors of both sequences."""
    for x, y, pair in posteriors.each():
        stream.write(_HEAD.format(x=x, y=y))
        stream.write("; match posteriors\n")
        for a, b, p in zip(pair.rows.tolist(), pair.columns.tolist(), pair.probabilities.tolist(), strict=True):
            stream.write(f"({x}, {a}) ~ ({y}, {b}) => {p:g}\n")
        stream.write("\n; gap posteriors\n")
        stream.writelines(f"({x}, {a}) ~ ({y}, -1) => {p:g}\n" for a, p in enumerate(pair.x_gaps.tolist()))
        stream.write("\n")
        stream.writelines(f"({x}, -1) ~ ({y}, {b}) => {p:g}\n" for b, p in enumerate(pair.y_gaps.tolist()))
        stream.write("\n")


def read_posteriors(path: str, lengths: Sequence[int]) -> SparsePosteriors:
    """Read the posteriors of pairs among sequences of these lengths.

    Gap posteriors are computed from those of the matches; only the pairs are taken from their lines.

    Raises
    ------
    InputError
        With the line that is no posterior, or not one of these sequences.
    """
    with opened(path) as source:
        found: dict[tuple[int, int], _Entries] = {}
        _gather(found, TextReader(source), lengths)
    return SparsePosteriors.joined(
        lengths, [(*pair, _pair(path, pair, found[pair], lengths)) for pair in sorted(found)]
    )


def _gather(pairs: dict[tuple[int, int], _Entries], text: TextReader, lengths: Sequence[int]) -> None:
    """Read lines into the entries of each pair."""
    for number, line in text.lines():
        if line.startswith(b";") or not line.strip():
            continue
        found = _LINE.fullmatch(line)
        p = finite(found[5].decode("ascii", "replace")) if found else None
        if found is None or p is None or not 0 <= p <= 1:
            raise text.error(
                "the line is not a posterior probability.", 'Lines look like "(0, 4) ~ (1, 5) => 0.98".', number
            )
        x, a, y, b = (int(word) for word in found.groups()[:4])
        if x == y or max(x, y) >= len(lengths) or a >= lengths[x] or b >= lengths[y]:
            raise text.error(
                "the sequences have no such residues.", "Give the sequences that the posteriors belong to.", number
            )
        if x > y:
            x, a, y, b = y, b, x, a
        entries = pairs.get((x, y))
        if entries is None:
            text.keep(PAIR_BYTES, number)
            entries = pairs[x, y] = _Entries()
        if min(a, b) >= 0:
            if len(entries.rows) == lengths[x] * lengths[y]:
                raise text.error(EXCESS.format(x, y), EXCESS_HINT, number)
            text.keep(ENTRY_BYTES, number)
            entries.rows.append(a)
            entries.columns.append(b)
            entries.probabilities.append(p)


def _pair(path: str, pair: tuple[int, int], entries: _Entries, lengths: Sequence[int]) -> PosteriorMatrix:
    rows, columns = np.array(entries.rows, np.int32), np.array(entries.columns, np.int32)
    order = np.lexsort((columns, rows))
    rows, columns, p = rows[order], columns[order], np.array(entries.probabilities, np.float32)[order]
    try:
        if ((np.diff(rows) == 0) & (np.diff(columns) == 0)).any():
            raise ExcessPosterior
        return PosteriorMatrix.from_entries((lengths[pair[0]], lengths[pair[1]]), rows, columns, p)
    except ExcessPosterior:
        raise InputError(path, EXCESS.format(*pair), EXCESS_HINT) from None
