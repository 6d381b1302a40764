"""What an alignment will take, before it begins: time, memory and room on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.engines.msa.reading import MAPPED_BYTES
from clalign.engines.msa.spec import AlignmentSpec
from clalign.sizes import size_text
from clalign.values.devices import Device

POSTERIORS_PER_RESIDUE = 4
"""Posteriors that are kept for each residue of the shorter sequence of a pair, at most, if they are alike at all."""

PACKED_BYTES = 5
"""Of a posterior in the run file."""

MERGING_BYTES = 36
"""Of the annealing's edges, its heap and its table of known ones, for each posterior."""

SPEED = 0.1
"""A pass over a pair with five states has this share of the cells in a second that the search with profiles has."""

DEVICE_RATE = 2e8
"""Cells a second of a device that was never measured."""

MOST_OF_MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an alignment will take.

    Attributes
    ----------
    n_pairs : int
    n_cells : float
        Of the matrices of all pairs, in all passes.
    seconds : float
        For these; what follows takes less.
    memory_bytes : float
        At most, while columns are merged; posteriors beyond a limit do not count, as they are in a temporary file.
    disk_bytes : float
        Of the run, and of that file.
    """

    n_pairs: int
    n_cells: float
    seconds: float
    memory_bytes: float
    disk_bytes: float


def estimate(
    lengths: npt.NDArray[np.int64], spec: AlignmentSpec, device: Device | None = None, n_pairs: int | None = None
) -> Estimate:
    """Return what an alignment will take.

    Parameters
    ----------
    lengths : int64[N]
        Residues of each sequence.
    spec : AlignmentSpec
    device : Device, optional
    n_pairs : int, optional
        That are compared; by default as many as the spec asks for.
    """
    from clalign.engines.msa.parameters import choice_of

    n = len(lengths)
    total = n * (n - 1) // 2
    n_pairs = choice_of(spec).wanted(n) if n_pairs is None and n > 1 else n_pairs or 0
    share = n_pairs / max(1, total)
    residues = float(lengths.sum())
    cells = share * (residues**2 - float((lengths.astype(np.float64) ** 2).sum())) / 2
    shorter = share * float((np.sort(lengths) * np.arange(n - 1, -1, -1)).sum())
    posteriors, rows = POSTERIORS_PER_RESIDUE * shorter, share * residues * max(0, n - 1) / 2
    in_arrays = 8 * posteriors + 16 * rows
    passes = 1 if spec.load_posteriors else (1 if spec.without_learning else 5)
    rate = SPEED * (device.gcups * 1e9 if device is not None else 0.0) or DEVICE_RATE
    memory = min(in_arrays, MAPPED_BYTES) + (8 + MERGING_BYTES) * posteriors + 12 * rows + 52 * residues
    disk = PACKED_BYTES * posteriors + (in_arrays if in_arrays > MAPPED_BYTES else 0)
    return Estimate(n_pairs, passes * cells, passes * cells / rate, memory, disk)


def caution_of(lengths: npt.NDArray[np.int64], pairs: npt.NDArray[np.int32], spec: AlignmentSpec) -> Iterator[str]:
    """Yield what is to be said of an alignment that may take more memory than there is."""
    needed, there = estimate(lengths, spec, None, len(pairs)).memory_bytes, physical_memory()
    if there is not None and needed > MOST_OF_MEMORY * there:
        yield (
            f"The alignment of {len(lengths):,} sequences by {len(pairs):,} pairs may need {size_text(needed)} of"
            f" memory, but there are {size_text(there)}. Fewer pairs (--fast) need less."
        )


def physical_memory() -> float | None:
    """Return the memory of this computer; None if the system does not tell."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
