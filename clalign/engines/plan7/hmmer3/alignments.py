"""The alignments of HMMER3 domains as text."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from clalign.values.alignments import AlignmentText, DomainPath
from clalign.values.alphabets import shown_letters
from clalign.values.local_profiles import LocalProfile

COLUMNS_AT_ONCE = 1 << 18
"""Columns of the alignments that are made together; each takes some 30 bytes meanwhile."""

_MATCH, _INSERT, _DELETE = ord("M"), ord("I"), ord("D")
_UPPER = np.uint8(0xDF)  # clears the bit that makes an ASCII letter lower case


def hmmer3_alignment_texts(
    paths: Sequence[DomainPath],
    posteriors: Sequence[str],
    profile: LocalProfile,
    targets: Sequence[npt.NDArray[np.uint8]],
) -> Iterator[AlignmentText]:
    """Yield the rows of alignments, of which many are made at once.

    Parameters
    ----------
    paths : sequence of DomainPath
    posteriors : sequence of str
        How sure each step is.
    profile : LocalProfile
    targets : sequence of uint8[length]
        Letter codes of the whole target of each.
    """
    for some in _portions(paths):
        yield from _made_together(paths[some], posteriors[some], profile, targets[some])


def _portions(paths: Sequence[DomainPath]) -> Iterator[slice]:
    """Yield which paths are made together: no more than `COLUMNS_AT_ONCE`, unless it is a single longer one."""
    ends = list(itertools.accumulate(len(path.states) for path in paths))
    start = 0
    while start < len(paths):
        before = ends[start - 1] if start else 0
        end = max(start + 1, bisect.bisect_right(ends, before + COLUMNS_AT_ONCE))
        yield slice(start, end)
        start = end


def _made_together(
    paths: Sequence[DomainPath],
    posteriors: Sequence[str],
    profile: LocalProfile,
    targets: Sequence[npt.NDArray[np.uint8]],
) -> list[AlignmentText]:
    ends = np.cumsum([len(path.states) for path in paths])
    states = np.frombuffer("".join(path.states for path in paths).encode("ascii"), np.uint8)
    matches, inserts, deletes = states == _MATCH, states == _INSERT, states == _DELETE
    nodes = _nodes(paths, ends, inserts)
    residues = [codes[slice(*_residues(path))] for path, codes in zip(paths, targets, strict=True)]
    aligned = np.zeros(len(states), np.uint8)
    aligned[~deletes] = np.concatenate(residues)
    consensus = np.frombuffer(profile.hmm.consensus.encode(), np.uint8)[nodes]
    letters = shown_letters(profile.hmm.alphabet)[aligned]
    lower = np.where((letters >= ord("A")) & (letters <= ord("Z")), letters | ~_UPPER, letters)
    same = matches & (letters == (consensus & _UPPER))
    likely = matches & (profile.match[aligned, nodes + 1] > 0)
    model = np.where(inserts, ord("."), consensus)
    match = np.where(same, consensus, np.where(likely, ord("+"), ord(" ")))
    target = np.where(deletes, ord("-"), np.where(inserts, lower, letters))
    rows = [row.astype(np.uint8).tobytes().decode("ascii") for row in (model, match, target)]
    return [
        AlignmentText(rows[0][start:end], rows[1][start:end], rows[2][start:end], posterior)
        for (start, end), posterior in zip(itertools.pairwise([0, *ends.tolist()]), posteriors, strict=True)
    ]


def _nodes(
    paths: Sequence[DomainPath], ends: npt.NDArray[np.int64], inserts: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the node of each step of all paths, as `DomainPath.nodes` does of one."""
    counts = np.cumsum(~inserts)
    before = np.concatenate([[0], counts[ends[:-1] - 1]])
    starts = np.array([path.node_start for path in paths]) - 1 - before
    nodes: npt.NDArray[np.int64] = counts + np.repeat(starts, np.diff(ends, prepend=0))
    return nodes


def _residues(path: DomainPath) -> tuple[int, int]:
    """Return the first residue that a path emits and one past the last."""
    return path.residue_start, path.residue_start + len(path.states) - path.states.count("D")
