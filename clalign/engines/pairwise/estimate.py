"""What a comparison of sequences will take, before it begins."""

from __future__ import annotations

from collections.abc import Sequence

from clalign.common.amounts import counted
from clalign.execution.speed import START_SECONDS, Estimate, seconds_of
from clalign.values.devices import Device

SPEED = {"cpu": 6.0, "gpu": 3.0, "accelerator": 3.0, "reference": 2.0}
"""How many cells of Smith-Waterman's scores devices compute in the time of one of HMMER2's recurrence, by their kinds:
two cores of a Zen 4 did 58 to 79 GCUPS, which have 9.75 by that; see docs/kernels.md."""

QUERY_SECONDS = 5e-3
"""What the host has to do for each query: statistics, and the best hits."""


def estimate(n_queries: int, n_residues: int, n_cells: float, devices: Sequence[Device]) -> Estimate:
    """Return the estimate of a comparison on devices together.

    Parameters
    ----------
    n_queries, n_residues : int
        Of the queries.
    n_cells : float
        Of all pairs and strands, or what is left of them.
    devices : sequence of Device
    """
    words = f"{counted(n_queries, 'query', 'queries')} of {counted(n_residues, 'residue')}"
    seconds = seconds_of(n_cells, devices, SPEED)
    return Estimate(words, None if seconds is None else START_SECONDS + QUERY_SECONDS * n_queries + seconds)
