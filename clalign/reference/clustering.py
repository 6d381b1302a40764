"""Domains of a region, by the segments of many random tracebacks.

Segments that cover much the same residues and nodes on much the same diagonal are one cluster (single
linkage). A cluster that enough samples have a part in is a domain. Its ends are the outermost ones that
occur often enough. Of two that overlap, the one that fewer samples hold is dropped.

References
----------
HMMER 3.3.2 user's guide, "Step 2: resolving complex regions by clustering".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

OVERLAP = 4, 5
"""Two segments are linked if their overlap is 4/5 of the shorter one, in residues and in nodes."""

MAX_DIAGONAL_DISTANCE = 4
"""Linked segments also have one end on diagonals that are no further apart."""

MIN_SHARE = 0.25
"""Share of the samples that a domain must occur in."""

SAMPLES_PER_END = 50
"""An end counts if at least one of this many samples of a cluster has it."""

Segments = npt.NDArray[np.int32]


def domains_of(segments: Segments, n_samples: int) -> list[tuple[int, int]]:
    """Return the envelopes (0-based, half open) that the segments of a region show, in their order.

    Parameters
    ----------
    segments : int32[n, 5]
        As in `reference.sampling.Samples`.
    n_samples : int
    """
    if not len(segments):
        return []
    places, which = np.unique(segments[:, 1:], axis=0, return_inverse=True)
    labels = _clusters(_linked(places), which.ravel())
    found = []
    for label in np.flatnonzero(np.bincount(labels) >= MIN_SHARE * n_samples):
        members = segments[labels == label]
        n = len(np.unique(members[:, 0]))
        place = _place(members, n) if n / n_samples >= MIN_SHARE else None
        if place is not None:
            found.append((place, n / n_samples))
    found.sort(key=lambda cluster: cluster[0][0])  # of those that begin together the one that was found first
    return _undominated(found)


def _linked(places: Segments) -> npt.NDArray[np.bool_]:
    """Return which places (int32[n, 4]: residues and nodes, half open) are linked."""
    first, last, node_first, node_last = np.ascontiguousarray(places.T)
    near = _near(first - node_first) | _near(last - node_last)
    # Overlaps of nodes count one less, as in HMMER.
    linked: npt.NDArray[np.bool_] = near & _overlapping(first, last, 0) & _overlapping(node_first, node_last, 1)
    return linked


def _near(diagonals: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    near: npt.NDArray[np.bool_] = np.abs(np.subtract.outer(diagonals, diagonals)) <= MAX_DIAGONAL_DISTANCE
    return near


def _overlapping(first: npt.NDArray[np.int32], last: npt.NDArray[np.int32], less: int) -> npt.NDArray[np.bool_]:
    """Return which ranges overlap by the share `OVERLAP` of the shorter one; integers do it exactly."""
    overlap = np.minimum.outer(last, last)
    overlap -= np.maximum.outer(first, first)
    overlap -= np.int32(less)
    overlap *= np.int32(OVERLAP[1])
    lengths = (last - first) * np.int32(OVERLAP[0])
    overlapping: npt.NDArray[np.bool_] = overlap >= np.minimum.outer(lengths, lengths)
    return overlapping


def _clusters(linked: npt.NDArray[np.bool_], which: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the number of the cluster of each segment (int64[n]), in the order in which HMMER finds clusters.

    It decides which of two that begin together, in as many samples, is dropped. What is linked to a segment leaves the
    stack of those that are in no cluster yet, and the top of the stack takes its place. A segment of few nodes is not
    linked even to its like.

    Parameters
    ----------
    linked : bool[places, places]
    which : int64[n]
        The place of each segment.
    """
    labels, left, n_left, n_clusters = np.empty_like(which), np.arange(len(which))[::-1].copy(), len(which), 0
    while n_left:
        n_left -= 1
        waiting = [left[n_left]]
        while waiting:
            segment = waiting.pop()
            labels[segment] = n_clusters
            for place in np.flatnonzero(linked[which[segment], which[left[:n_left]]])[::-1]:
                n_left -= 1
                waiting.append(left[place])
                left[place] = left[n_left]
        n_clusters += 1
    return labels


def _place(members: Segments, n: int) -> tuple[int, int] | None:
    """Return the residues of a cluster that n samples have a part in, or None if its ends cross."""
    enough = -(-n // SAMPLES_PER_END)
    first, node_first = (_outermost(members[:, column], enough, 0) for column in (1, 3))
    last, node_last = (_outermost(members[:, column], enough, -1) for column in (2, 4))
    return (first, last) if first < last and node_first < node_last else None


def _outermost(ends: npt.NDArray[np.int32], enough: int, side: int) -> int:
    """Return the first (side 0) or last (-1) end that occurs often enough, or the most frequent one."""
    values, counts = np.unique(ends, return_counts=True)
    often = values[counts >= enough]
    return int(often[side] if len(often) else values[counts.argmax()])


def _undominated(clusters: list[tuple[tuple[int, int], float]]) -> list[tuple[int, int]]:
    """Return the clusters that no better one covers, from those sorted by their first residue."""
    dropped = set()
    for a, ((first, last), share) in enumerate(clusters):
        for b in range(a + 1, len(clusters)):
            (other_first, other_last), other_share = clusters[b]
            overlap = min(last, other_last) - max(first, other_first)
            if overlap == 0:
                break
            if OVERLAP[1] * overlap >= OVERLAP[0] * min(last - first, other_last - other_first):
                dropped.add(b if share > other_share else a)
    return [place for n, (place, _) in enumerate(clusters) if n not in dropped]
