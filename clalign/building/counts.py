"""What the rows of an alignment do in each node of a profile: emissions and transitions, counted by weight."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.building.rows import DigitalRows, members
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM
from clalign.values.sums import compensated_sum

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

CELLS_AT_ONCE = 2**20

MATCH, INSERT, DELETE, BEGIN, END, MISSING = range(6)
"""States of a path through the profile: match, insert, delete, begin, end, and missing data."""

TRANSITIONS = np.full((6, 6), -1)
TRANSITIONS[MATCH, [MATCH, INSERT, DELETE, END]] = MM, MI, MD, MM
TRANSITIONS[INSERT, [MATCH, INSERT, END]] = IM, II, IM
TRANSITIONS[DELETE, [MATCH, DELETE, END]] = DM, DD, DM
TRANSITIONS[BEGIN, [MATCH, INSERT, DELETE]] = MM, MI, MD
"""The transition of each pair of states; -1 where none is counted."""


class Counts(Struct, frozen=True, eq=False):
    """Sums of weights.

    Attributes
    ----------
    match, insert : float32[M + 1, K]
    transitions : float32[M + 1, 7]
    """

    match: Floats
    insert: Floats
    transitions: Floats

    def scaled(self, factor: float) -> Counts:
        """Return all of them times a factor."""
        by = np.float32(factor)
        return Counts(self.match * by, self.insert * by, self.transitions * by)

    def powered(self, exponent: float) -> Counts:
        """Return them with the sum over each node raised to a power; node 0 stays as it is."""
        totals = compensated_sum(self.match)
        raised = np.power(totals.astype(np.float64), exponent).astype(np.float32)
        by = np.divide(raised, totals, out=np.ones_like(totals), where=totals > 0)[:, None]
        by[0] = 1.0
        return Counts(self.match * by, self.insert * by, self.transitions * by)


def match_columns(rows: DigitalRows, weights: npt.NDArray[np.float64], symfrac: float) -> Bools:
    """Return the columns in which residues have at least a share of the weight (bool[n_columns]).

    Missing data have none.
    """
    n_columns = rows.codes.shape[1]
    residues, total = np.zeros((2, n_columns), np.float32)
    for row, weight in enumerate(weights.tolist()):
        codes = rows.codes[row]
        is_residue, is_gap = (codes != rows.gap) & (codes < rows.missing - 1), codes == rows.gap
        # HMMER adds in double precision and keeps the sum in single precision: the columns depend on it.
        residues = np.where(is_residue, residues.astype(np.float64) + weight, residues).astype(np.float32)
        total = np.where(is_residue | is_gap, total.astype(np.float64) + weight, total).astype(np.float32)
    share = np.divide(residues, total, out=np.zeros_like(total), where=total > 0)
    return (residues > 0) & (share >= np.float32(symfrac))


def counted(rows: DigitalRows, weights: npt.NDArray[np.float64], is_match: Bools) -> Counts:
    """Return what the rows do, given their weights (float64[n_rows]) and the match columns (bool[n_columns])."""
    n_nodes, n_residues = int(is_match.sum()), rows.gap
    found = Counts(
        np.zeros((n_nodes + 1, n_residues), np.float32),
        np.zeros((n_nodes + 1, n_residues), np.float32),
        np.zeros((n_nodes + 1, 7), np.float32),
    )
    at_once = max(1, CELLS_AT_ONCE // len(is_match))
    for first in range(0, len(rows.codes), at_once):
        paths = paths_of(rows, slice(first, first + at_once), is_match)
        _count(paths, weights.astype(np.float32)[first : first + at_once], rows, found)
    return found


class Paths(Struct, frozen=True):
    """The paths of some rows, one after the other: state, node, emitted code and row of each step."""

    states: Ints
    nodes: Ints
    codes: Ints
    rows: Ints

    def at(self, places: Ints | Bools) -> Paths:
        """Return chosen steps."""
        return Paths(self.states[places], self.nodes[places], self.codes[places], self.rows[places])


def paths_of(rows: DigitalRows, part: slice, is_match: Bools) -> Paths:
    """Return the paths of some rows, without steps between insert and delete."""
    codes = rows.codes[part]
    n, n_columns = codes.shape
    states = np.full((n, n_columns + 2), -1)
    states[:, 0], states[:, -1] = BEGIN, END
    inner = states[:, 1:-1]
    is_gap, is_missing = codes == rows.gap, codes == rows.missing
    inner[:] = np.where(is_match, MATCH, INSERT)
    inner[is_gap] = -1
    inner[is_gap & is_match] = DELETE
    inner[is_missing] = MISSING
    nodes = np.concatenate([[0], np.cumsum(is_match), [0]])
    emitted = np.zeros_like(states)
    emitted[:, 1:-1] = codes
    taken = states >= 0
    owner = np.broadcast_to(np.arange(n)[:, None], states.shape)
    steps = Paths(states[taken], np.broadcast_to(nodes, states.shape)[taken], emitted[taken], owner[taken])
    again = (steps.states[1:] == MISSING) & (steps.states[:-1] == MISSING)
    return _merged(steps.at(np.append(True, ~again)))


def _merged(steps: Paths) -> Paths:
    """Return paths in which a delete next to an insert is a match of that residue.

    Of several in a row each pairs with the next one, from the first on.
    """
    this, following = steps.states[:-1], steps.states[1:]
    pairs = np.append(((this == DELETE) & (following == INSERT)) | ((this == INSERT) & (following == DELETE)), False)
    begins = np.flatnonzero(pairs & ~np.append(False, pairs[:-1]))
    places = np.flatnonzero(pairs)
    since = places - begins[np.searchsorted(begins, places, side="right") - 1]
    chosen = places[since % 2 == 0]
    states, nodes, codes = steps.states.copy(), steps.nodes.copy(), steps.codes.copy()
    deletes = np.where(steps.states[chosen] == DELETE, chosen, chosen + 1)
    states[chosen], nodes[chosen] = MATCH, steps.nodes[deletes]
    codes[chosen] = steps.codes[2 * chosen + 1 - deletes]
    kept = np.ones(len(states), np.bool_)
    kept[chosen + 1] = False
    return Paths(states, nodes, codes, steps.rows).at(kept)


def _inside(steps: Paths) -> Bools:
    """Return the steps that count: where data are missing at an end, those from the first match to before the last."""
    n = len(steps.states)
    begins, ends = np.flatnonzero(steps.states == BEGIN), np.flatnonzero(steps.states == END)
    matches = np.flatnonzero(steps.states == MATCH)
    following = np.append(matches, n)[np.searchsorted(matches, begins)]
    last = np.append(matches, -1)[np.searchsorted(matches, ends) - 1]
    first = np.where((steps.states[begins + 1] == MISSING) & (following < ends), following, begins)
    stop = np.where((steps.states[ends - 1] == MISSING) & (last > begins), last, ends)
    places = np.arange(n)
    return (places >= first[steps.rows]) & (places < stop[steps.rows])


def _count(steps: Paths, weights: Floats, rows: DigitalRows, found: Counts) -> None:
    """Add the paths to the counts, row after row: sums in single precision depend on the order."""
    inside = _inside(steps) & (steps.states != MISSING)
    places = np.flatnonzero(inside)
    kinds = TRANSITIONS[steps.states[places], steps.states[places + 1]]
    places, kinds = places[kinds >= 0], kinds[kinds >= 0]
    np.add.at(found.transitions, (steps.nodes[places], kinds), weights[steps.rows[places]])
    ambiguous = members(rows.alphabet)
    for state, table in ((MATCH, found.match), (INSERT, found.insert)):
        here = steps.at(inside & (steps.states == state))
        parts = [ambiguous.get(code, [code] if code < rows.gap else []) for code in range(rows.missing + 1)]
        sizes = np.array([len(part) for part in parts])
        n_each = sizes[here.codes]
        begins = np.concatenate([[0], np.cumsum(sizes)])[here.codes]
        offset = np.arange(int(n_each.sum())) - np.repeat(np.cumsum(n_each) - n_each, n_each)
        residues = np.array([one for part in parts for one in part])[np.repeat(begins, n_each) + offset]
        shares = weights[here.rows] / np.maximum(n_each, 1).astype(np.float32)
        np.add.at(table, (np.repeat(here.nodes, n_each), residues), np.repeat(shares, n_each))
