"""A tree in view: coordinates of its nodes, and the nodes at a place."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clalign.values.trees import Tree

from ... import formatting

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

KINDS = {
    "kimura": ("Kimura", "Substitutions for each residue, estimated after Kimura"),
    "p": ("Differences", "Share of different residues among the columns where both have one"),
    "posterior": (
        "Posterior",
        "Share of the shorter sequence that is not expected to be aligned well, by the run's posteriors of all pairs",
    ),
}
"""Distances by their names in the job: titles and meanings."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeLayout:
    """A tree with its root at the left and a line for each leaf.

    Attributes
    ----------
    tree : Tree
        Leaf *i* is row *i* of the alignment.
    kind : str
        One of `KINDS`.
    x, y : float64[n_nodes]
        How far from the root, in the unit of the distances, and the line.
    children : list of list of int
    order : int64[n_leaves]
        The leaves from the first line to the last.
    firsts, lasts : int64[n_nodes]
        The lines of the first and the last leaf that hang on each node.
    forks, ends : float64[n_nodes]
        Where the first and the last branch begin that part at each node; infinite at leaves.
    step : str
        Words for the step of an annealing that it is of; empty for a finished alignment.
    """

    tree: Tree
    kind: str
    x: Floats
    y: Floats
    children: list[list[int]] = field(repr=False)
    order: Integers
    firsts: Integers
    lasts: Integers
    forks: Floats
    ends: Floats
    step: str = ""

    @classmethod
    def of(cls, tree: Tree, kind: str, step: str = "") -> TreeLayout:
        """Return the layout of a tree."""
        x, y = tree.places()
        children, n = tree.children(), len(tree.names)
        firsts, lasts = np.round(y).astype(np.int64), np.round(y).astype(np.int64)
        for node in reversed(tree.from_the_root()):
            if children[node]:
                firsts[node] = firsts[children[node]].min()
                lasts[node] = lasts[children[node]].max()
        forks = np.array([y[each].min() if each else np.inf for each in children])
        ends = np.array([y[each].max() if each else -np.inf for each in children])
        return cls(tree, kind, x, y, children, np.argsort(y[:n], kind="stable"), firsts, lasts, forks, ends, step)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.tree.names)

    @property
    def depth(self) -> float:
        """Distance of the farthest leaf from the root."""
        return float(self.x.max())

    def lines(self, node: int) -> range:
        """Return the lines of the leaves of a clade."""
        return range(int(self.firsts[node]), int(self.lasts[node]) + 1)

    def leaves(self, node: int) -> Integers:
        """Return the leaves of a clade, from the first line to the last."""
        lines = self.lines(node)
        return self.order[lines.start : lines.stop]

    def parent(self, node: int) -> int:
        """Return the parent of a node; the root for itself."""
        found = int(self.tree.parents[node])
        return node if found < 0 else found

    def node_at(self, x: float, y: float, across: float, down: float) -> int:
        """Return the node whose branch or fork is nearest to a place; -1 if none is within reach.

        Parameters
        ----------
        x, y : float
            In the units of `x` and `y`.
        across, down : float
            How far it may be away, in these units.
        """
        parents = self.tree.parents
        begins = np.where(parents >= 0, self.x[np.maximum(parents, 0)], self.x)
        beside = np.maximum(np.maximum(begins - x, x - self.x), 0) / across
        away = np.maximum(beside, np.abs(self.y - y) / down)
        aside = np.maximum(np.abs(self.x - x) / across, np.maximum(self.forks - y, y - self.ends) / down)
        nearest = np.minimum(away, aside)
        found = int(np.argmin(nearest))
        return found if nearest[found] <= 1 else -1

    def words(self, node: int) -> str:
        """Return the description of a node."""
        clade = f"Clade of {formatting.plural(len(self.lines(node)), 'sequence')}"
        name = self.tree.names[node] if node < self.n_leaves else clade
        length = f"branch {self.tree.lengths[node]:.4g}" if self.tree.parents[node] >= 0 else "root"
        return f"{name} · {length} · {self.x[node]:.4g} from the root"

    def summary(self) -> str:
        """Return the size of the tree as text."""
        words = KINDS[self.kind][1]
        step = f"{self.step} · " if self.step else ""
        return f"{step}{formatting.plural(self.n_leaves, 'leaf', 'leaves')} · {words[0].lower()}{words[1:]}"
