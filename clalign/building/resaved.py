"""The alignment that a profile was built of, as it was counted: what hmmbuild writes with ``-O``."""

from __future__ import annotations

import numpy as np

from clalign.building.counts import BEGIN, DELETE, END, INSERT, MATCH, MISSING, Paths, paths_of
from clalign.building.profiles import Built
from clalign.building.rows import symbols
from clalign.values.placed_rows import Fragment, PlacedRow, placed_alignment
from clalign.values.row_alignments import RowAlignment, RowNotes


def resaved(built: Built, alignment: RowAlignment) -> RowAlignment | None:
    """Return an alignment with each residue where its profile has it; None for a profile by a substitution matrix.

    A residue that stood in an insert beside a gap of the profile stands in its column. Only nodes at which there is a
    residue have columns.
    """
    rows = built.counted
    if rows is None or built.columns is None:
        return None
    is_match = np.zeros(rows.codes.shape[1], bool)
    is_match[built.columns - 1] = True
    letters = np.frombuffer(symbols(rows.alphabet).encode(), np.uint8)
    placed = []
    for number, name in enumerate(alignment.names):
        path = paths_of(rows, slice(number, number + 1), is_match)
        emits = (path.states == MATCH) | (path.states == INSERT)
        placed.append(
            PlacedRow(
                name, "", "", letters[path.codes[emits]], path.nodes[emits], path.states[emits] == MATCH, None,
                _fragment(path),
            )
        )  # fmt: skip
    found = placed_alignment(placed, len(built.columns), keeps_all=False)
    known = [] if built.weights is None else built.weights.tolist()
    weights = [(name, "WT", f"{weight:.2f}") for name, weight in zip(found.names, known, strict=bool(known))]
    about = (("ID", built.hmm.name), ("AC", built.hmm.accession), ("DE", built.hmm.description))
    notes = RowNotes([(tag, text) for tag, text in about if text], weights, {}, found.notes.columns)
    return RowAlignment(found.cells, found.names, found.descriptions, notes)


def _fragment(path: Paths) -> Fragment:
    """Return where a row has missing data at an end."""
    states, nodes = path.states.tolist(), path.nodes.tolist()
    assert (states[0], states[-1]) == (BEGIN, END)
    if len(states) < 4:
        return Fragment()
    before = nodes[2] if states[1] == MISSING else 0
    return Fragment(before, states[2] == DELETE, nodes[-3] if states[-2] == MISSING else None)
