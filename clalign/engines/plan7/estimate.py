"""What a search with profiles will take, before it begins: its cells, as far as filters let them come to each stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clalign.common.amounts import counted
from clalign.engines.plan7.hmmer3.thresholds import filter_limits
from clalign.engines.plan7.spec import SearchSpec
from clalign.execution.speed import START_SECONDS, Estimate, rate_of
from clalign.values.devices import Device
from clalign.values.local_scores import FilterLimits

SSV = {"cpu": 14.0, "gpu": 5.5, "accelerator": 5.5, "reference": 2.0}
"""How many cells of the first filter devices compute in the time of one of HMMER2's recurrence, by their kinds.

With 20,000 models like Pfam's and the proteins of a bacterium this filter did 141 GCUPS on two cores of a Zen 4, which
have 9.75 by HMMER2's recurrence; an H200, of 1.8 TCUPS, does 9.9 (`benchmarks/results`, docs/kernels.md). So were the
stages below measured.
"""

PASSED = {"cpu": 0.95, "gpu": 0.8, "accelerator": 0.8, "reference": 0.8}
"""Cells of MSV, bias and Viterbi filter together in that time, for what passes the first one."""

FORWARD = {"cpu": 0.6, "gpu": 0.1, "accelerator": 0.1, "reference": 0.5}
"""Cells of the Forward filter in that time."""

DOMAINS = {"cpu": 0.03, "reference": 0.005}
"""Cells of all that defines domains in that time: decoding, sampling, envelopes, alignments."""

HOST_RATE = 7e8
"""Cells a second of that by the processor beside a card."""

HOMOLOGS = 1e-3
"""The share of sequences that pass all filters since they are homologs: of Pfam's models 0.007 % among the proteins of
a bacterium, 0.2 % for large families there, 0.04 to 0.15 % among those of Swiss-Prot."""

MODEL_SECONDS = 6e-4
"""What the host has to do for each model."""


def estimate(
    models: Iterable[tuple[str, int]], n_cells: float, spec: SearchSpec, devices: Sequence[Device]
) -> Estimate:
    """Return the estimate of a search on devices together.

    Parameters
    ----------
    models : iterable of (str, int)
        Origin and number of nodes of each.
    n_cells : float
        Nodes of all times residues, or what is left of that.
    spec : SearchSpec
    devices : sequence of Device
    """
    known = list(models)
    nodes = sum(length for _, length in known)
    newer = sum(length for origin, length in known if origin == "hmmer3") / max(1, nodes)
    words = f"{counted(len(known), 'profile')} of {counted(nodes, 'node')}"
    rate = rate_of(devices)
    if not rate:
        return Estimate(words, None)
    limits = filter_limits(spec)
    seconds = (1 - newer) * n_cells / rate + filtered_seconds(newer * n_cells, limits, devices)
    return Estimate(words, START_SECONDS + MODEL_SECONDS * len(known) + seconds)


def shares_of(limits: FilterLimits) -> tuple[float, float, float]:
    """Return the shares of the targets that pass the first, the Viterbi and the Forward filter, homologs included."""
    first = min(1.0, limits.f1 + HOMOLOGS)
    second = min(first, limits.f2 + HOMOLOGS)
    return first, second, min(second, limits.f3 + HOMOLOGS)


def filtered_seconds(n_cells: float, limits: FilterLimits, devices: Sequence[Device]) -> float:
    """Return the time of HMMER3's stages, each of which gets what passes the one before."""
    first, second, third = shares_of(limits)
    stages: Iterable[tuple[float, Mapping[str, float]]] = ((1.0, SSV), (first, PASSED), (second, FORWARD))
    seconds = sum(share * n_cells / rate_of(devices, speeds) for share, speeds in stages)
    own = [device for device in devices if device.kind in DOMAINS]
    host = HOST_RATE if len(own) < len(devices) else 0.0
    return seconds + third * n_cells / (rate_of(own, DOMAINS) + host)
