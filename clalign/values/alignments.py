"""Alignments of a sequence to a profile, and their picture in text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.alphabets import DECODE, STOP_CODE
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM, IntegerProfile

_MATCH, _INSERT, _DELETE = ord("M"), ord("I"), ord("D")


class DomainPath(Struct, frozen=True, gc=False):
    """The path of one domain through a profile.

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

    def codes(self) -> npt.NDArray[np.uint8]:
        """Return the ASCII code of each state."""
        return np.frombuffer(self.states.encode("ascii"), np.uint8)

    def nodes(self) -> npt.NDArray[np.int64]:
        """Return the node of each step, counted from 0; an insert belongs to the node before it."""
        nodes: npt.NDArray[np.int64] = self.node_start - 1 + np.cumsum(self.codes() != _INSERT)
        return nodes

    def residues(self) -> npt.NDArray[np.int64]:
        """Return the residue of each step, counted from 0, or -1 for a delete."""
        emits = self.codes() != _DELETE
        return np.where(emits, self.residue_start - 1 + np.cumsum(emits), -1)

    @property
    def query_range(self) -> tuple[int, int]:
        """First node and one past the last, over matches and deletes (0-based, half open)."""
        return self.node_start, self.node_start + len(self.states) - self.states.count("I")

    @property
    def target_range(self) -> tuple[int, int]:
        """First residue and one past the last, over the matches (0-based, half open)."""
        if self.states.startswith("M") and self.states.endswith("M"):  # HMMER3's all do
            return self.residue_start, self.residue_start + len(self.states) - self.states.count("D")
        first, last = self.states.index("M"), self.states.rindex("M")
        start, end = (self.residue_start + step - self.states.count("D", 0, step) for step in (first, last))
        return start, end + 1


_UPPER = np.uint8(0xDF)  # clears the bit that makes an ASCII letter lower case


def _step_table() -> npt.NDArray[np.int64]:
    """Return the column of the transition table for each pair of state bytes."""
    table = np.full((256, 256), -1, np.int64)
    steps = {"MM": MM, "MI": MI, "MD": MD, "IM": IM, "II": II, "DM": DM, "DD": DD}
    for step, column in steps.items():
        table[ord(step[0]), ord(step[1])] = column
    return table


_STEPS = _step_table()


def path_score(path: DomainPath, profile: IntegerProfile, codes: npt.NDArray[np.uint8]) -> int:
    """Return the integer score of a domain standing alone: S N B ... E C T (1/1000 bit).

    Computed from the path alone, so it is an independent check of the dynamic programming; through a
    delete wing it may differ from it by a few units, since the terms are rounded apart.
    """
    states = path.codes()
    nodes, residues, special = path.nodes() + 1, path.residues(), profile.special
    matches, inserts = states == _MATCH, states == _INSERT
    score = special.n_move + special.e_move + special.c_move
    score += profile.begin_to_delete if states[0] == _DELETE else int(profile.begin[nodes[0]])
    score += 0 if states[-1] == _DELETE else int(profile.end[nodes[-1]])
    score += int(profile.match[codes[residues[matches]], nodes[matches]].sum(dtype=np.int64))
    score += int(profile.insert[codes[residues[inserts]], nodes[inserts]].sum(dtype=np.int64))
    steps = _STEPS[states[:-1], states[1:]]
    return score + int(profile.transitions[steps, nodes[:-1]].sum(dtype=np.int64))


class AlignmentText(Struct, frozen=True, array_like=True, gc=False):
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
    states = path.codes()
    nodes, residues = path.nodes(), path.residues()
    matches, inserts, deletes = states == _MATCH, states == _INSERT, states == _DELETE
    consensus = np.frombuffer(profile.hmm.consensus.encode(), np.uint8)[nodes]
    aligned = codes[np.maximum(residues, 0)]
    # HMMER2 scores what is no letter (gap characters, stops) as unknown; as "-" it would look like a delete.
    letters = np.where(aligned < STOP_CODE, DECODE[aligned], np.uint8(ord("X")))
    scores = np.where(matches, profile.match[aligned, nodes + 1], profile.insert[aligned, nodes + 1])
    same = matches & (letters == (consensus & _UPPER))
    model = np.where(inserts, ord("."), consensus)
    match = np.where(same, consensus, np.where(~deletes & (scores > 0), ord("+"), ord(" ")))
    target = np.where(deletes, ord("-"), np.where(inserts, letters | ~_UPPER, letters))
    return AlignmentText(*(row.astype(np.uint8).tobytes().decode("ascii") for row in (model, match, target)))
