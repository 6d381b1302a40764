"""Alignments of a sequence to a profile, and their picture in text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.alphabets import decode
from clalign.profiles import DD, DM, II, IM, MD, MI, MM, IntegerProfile


@dataclass(frozen=True, slots=True)
class DomainPath:
    """The way of one domain through a profile.

    Attributes
    ----------
    states : str
        One of ``M``, ``I``, ``D`` for each step from B to E.
    node_start : int
        Node of the first step, counted from 0.
    residue_start : int
        Residue of the first step that emits one, counted from 0.
    """

    states: str
    node_start: int
    residue_start: int

    def nodes(self) -> npt.NDArray[np.int64]:
        """Return the node of each step, counted from 0; an insert belongs to the node before it."""
        advances = np.array([state != "I" for state in self.states], np.int64)
        nodes: npt.NDArray[np.int64] = self.node_start + np.cumsum(advances) - 1
        return nodes

    def residues(self) -> npt.NDArray[np.int64]:
        """Return the residue of each step, counted from 0, or -1 for a delete."""
        emits = np.array([state != "D" for state in self.states], bool)
        return np.where(emits, self.residue_start + np.cumsum(emits) - 1, -1)

    @property
    def profile_range(self) -> tuple[int, int]:
        """First node and one past the last, over matches and deletes (0-based, half open)."""
        nodes = self.nodes()[np.array([state != "I" for state in self.states], bool)]
        return int(nodes[0]), int(nodes[-1]) + 1

    @property
    def target_range(self) -> tuple[int, int]:
        """First residue and one past the last, over the matches (0-based, half open)."""
        residues = self.residues()[np.array([state == "M" for state in self.states], bool)]
        return int(residues[0]), int(residues[-1]) + 1


_STEP = {"MM": MM, "MI": MI, "MD": MD, "IM": IM, "II": II, "DM": DM, "DD": DD}


def path_score(path: DomainPath, profile: IntegerProfile, codes: npt.NDArray[np.uint8]) -> int:
    """Return the integer score of a domain standing alone: S N B ... E C T (1/1000 bit).

    Computed from the path alone, so it is an independent check of the dynamic programming; through a
    delete wing it may differ from it by a few units, since the terms are rounded apart.
    """
    nodes, residues, special = path.nodes() + 1, path.residues(), profile.special
    first, last = int(nodes[0]), int(nodes[-1])
    score = special.n_move + special.e_move + special.c_move
    score += profile.begin_to_delete if path.states[0] == "D" else int(profile.begin[first])
    score += 0 if path.states[-1] == "D" else int(profile.end[last])
    for step, state in enumerate(path.states):
        if state == "M":
            score += int(profile.match[codes[residues[step]], nodes[step]])
        elif state == "I":
            score += int(profile.insert[codes[residues[step]], nodes[step]])
        if step:
            change = path.states[step - 1] + state
            score += int(profile.transitions[_STEP[change], nodes[step - 1]])
    return score


@dataclass(frozen=True, slots=True)
class AlignmentText:
    """An alignment as rows of equal length.

    Attributes
    ----------
    model : str
        Most probable residue of each node, ``.`` at inserts.
    match : str
        The residue where it is the model's, ``+`` where its score is positive.
    target : str
        Inserts in lower case, deletes as ``-``.
    posterior : str
        Posterior probability of each column where the engine knows it, else empty.
    """

    model: str
    match: str
    target: str
    posterior: str = ""


def alignment_text(path: DomainPath, profile: IntegerProfile, codes: npt.NDArray[np.uint8]) -> AlignmentText:
    """Return the rows of an alignment (`codes`: the whole target's letter codes, uint8[length])."""
    consensus, letters = profile.hmm.consensus, decode(codes)
    model, match, target = [], [], []
    for state, node, residue in zip(path.states, path.nodes(), path.residues(), strict=True):
        letter = letters[residue] if residue >= 0 else "-"
        if state == "D":
            model.append(consensus[node])
            match.append(" ")
            target.append("-")
        elif state == "M":
            score = profile.match[codes[residue], node + 1]
            same = letter == consensus[node].upper()
            model.append(consensus[node])
            match.append(consensus[node] if same else "+" if score > 0 else " ")
            target.append(letter)
        else:
            score = profile.insert[codes[residue], node + 1]
            model.append(".")
            match.append("+" if score > 0 else " ")
            target.append(letter.lower())
    return AlignmentText("".join(model), "".join(match), "".join(target))
