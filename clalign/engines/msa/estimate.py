"""What an alignment will take, before it begins: time, memory and room on the disk."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.common.amounts import counted, size_text
from clalign.engines.msa.reading import MAPPED_BYTES, MAX_PAIRS
from clalign.engines.msa.spanning_trees import MAX_SEQUENCES
from clalign.engines.msa.spec import AlignmentSpec
from clalign.errors import OptionError
from clalign.execution.speed import PROGRAM_BYTES, START_SECONDS, Estimate, rate_of
from clalign.values.devices import Device
from clalign.values.sparse_posteriors import SparsePosteriors

POSTERIORS_PER_RESIDUE, MAX_PER_RESIDUE = 3, 8
"""Posteriors that are kept for each residue of the shorter sequence of a pair, mostly and at most: of families there
are 2 to 3.5, of distant proteins 4 to 6; only sequences of very few letters have more than 8."""

CANDIDATES_PER_RESIDUE, MAX_CANDIDATES = 1, 2
"""Candidates, the posteriors that merges may begin with, for each residue, mostly and at most, at a gap factor of 1."""

MIN_FACTOR = 0.01
"""With gap factors below this everything may be merged."""

PACKED_BYTES = 5
"""Bytes of a posterior in the run file."""

POSTERIOR_BYTES, ROW_BYTES = 8, 16
"""Bytes of a posterior in arrays, and of what a residue has in each pair besides; the annealing has as much again."""

MERGING_BYTES = 44
"""Bytes of the annealing's edges, its heap and its table of known ones, which grows by half, for each candidate."""

PAIR_NUMBER_BYTES = 4
"""Bytes of any two sequences, compared or not, in the table that merging looks pairs up in."""

RESIDUE_BYTES = 60
"""Bytes of a residue in the alignment while it is made."""

SPEED = {
    1: {"cpu": 0.1, "gpu": 0.02, "accelerator": 0.02, "reference": 0.1},
    2: {"cpu": 0.07, "gpu": 0.02, "accelerator": 0.02, "reference": 0.07},
}
"""A pass over a pair has this share of the cells in a second that the search with profiles has, by sets of gaps."""

USUAL_ROUNDS = 2
"""Rounds of the training after which it mostly ends; comparing the pairs takes three passes more."""

DEVICE_RATE = 2e8
"""Cells a second of a device that was never measured."""

MERGING_SECONDS = 7e-9
"""Seconds of annealing and refinement for each candidate and sequence: columns grow with the number of sequences. 500
proteins by 9,400 pairs took 6.2 s, 73 long ones by 849 pairs 0.7 s (`benchmarks/results`)."""

MERGING_STAGES = {"annealing": 0.6, "refinement": 0.4}
"""Parts of it, by the stages in which progress is reported."""

MAX_OF_MEMORY = 0.8


class AlignmentEstimate(Estimate, frozen=True):
    """What an alignment will take, with all that follows on the processor.

    So much memory is needed while columns are merged; posteriors beyond a limit do not count, as they are in a
    temporary file. That file is counted with the run.

    Attributes
    ----------
    n_pairs : int
    n_cells : float
        Of the matrices of all pairs, in all passes.
    """

    n_pairs: int = 0
    n_cells: float = 0.0


def estimate(
    lengths: npt.NDArray[np.int64], spec: AlignmentSpec, devices: Sequence[Device] = (), n_pairs: int | None = None,
    left: float = 1.0, is_most: bool = False,
) -> AlignmentEstimate:  # fmt: skip
    """Return the estimate of an alignment.

    Parameters
    ----------
    lengths : int64[N]
        Residues of each sequence.
    spec : AlignmentSpec
    devices : sequence of Device
        Where one was never measured, or there is none, the time is that of a slow one.
    n_pairs : int, optional
        That are compared; by default as many as the spec asks for.
    left : float
        The share of the comparisons that is still to be done.
    is_most : bool
        Whether to return what is needed at most, and not what is to be expected.
    """
    from clalign.engines.msa.parameters import choice_of

    n = len(lengths)
    total = n * (n - 1) // 2
    n_pairs = choice_of(spec).wanted(n) if n_pairs is None and n > 1 else n_pairs or 0
    share = n_pairs / max(1, total)
    residues = float(lengths.sum())
    cells = share * (residues**2 - float((lengths.astype(np.float64) ** 2).sum())) / 2
    shorter = share * float((np.sort(lengths) * np.arange(n - 1, -1, -1)).sum())
    per_residue = (MAX_PER_RESIDUE, MAX_CANDIDATES) if is_most else (POSTERIORS_PER_RESIDUE, CANDIDATES_PER_RESIDUE)
    posteriors, rows = per_residue[0] * shorter, share * residues * max(0, n - 1) / 2
    passes = 1 if spec.load_posteriors else (1 if spec.without_learning else USUAL_ROUNDS + 3)
    rate = rate_of(devices, SPEED[1 if spec.has_one_gap_set else 2]) if devices else 0.0
    merging = min(posteriors, per_residue[1] * shorter / max(spec.used_gap_factor, MIN_FACTOR))
    later = {stage: part * MERGING_SECONDS * merging * n for stage, part in MERGING_STAGES.items()}
    seconds = START_SECONDS + left * passes * cells / (rate or DEVICE_RATE) + sum(later.values())
    memory = needed_bytes(posteriors, rows, merging, residues) + PAIR_NUMBER_BYTES * float(n) ** 2
    most = MAX_PER_RESIDUE * shorter
    in_arrays = POSTERIOR_BYTES * most + ROW_BYTES * rows
    disk = PACKED_BYTES * most + (in_arrays if in_arrays > MAPPED_BYTES else 0)
    return AlignmentEstimate(counted(n_pairs, "pair"), seconds, memory, disk, later, n_pairs, passes * cells)


def needed_bytes(posteriors: float, rows: float, merging: float, residues: float) -> float:
    """Return the memory that an alignment takes at most, all in all.

    Parameters
    ----------
    posteriors : float
        That are kept.
    rows : float
        Residues of the first sequences of all pairs.
    merging : float
        Posteriors that merges may begin with.
    residues : float
        Of all sequences.
    """
    in_arrays = POSTERIOR_BYTES * posteriors + ROW_BYTES * rows
    return PROGRAM_BYTES + min(in_arrays, MAPPED_BYTES) + in_arrays + MERGING_BYTES * merging + RESIDUE_BYTES * residues


def check_size(lengths: npt.NDArray[np.int64], spec: AlignmentSpec) -> None:
    """Refuse more sequences than columns can be merged of on this computer, and more pairs than a run can hold.

    Raises
    ------
    OptionError
        With a number of sequences, or a choice of pairs, that is possible.
    """
    from clalign.engines.msa.parameters import choice_of

    n, memory = len(lengths), physical_memory()
    most = MAX_SEQUENCES if memory is None else int(math.sqrt(MAX_OF_MEMORY * memory / PAIR_NUMBER_BYTES))
    most = min(most, MAX_SEQUENCES)
    if n > most:
        raise OptionError(
            f"{n:,} sequences are too many to be aligned together on this computer.",
            f"Align at most {most:,} of them, such as one of each group of similar ones.",
        )
    choice = choice_of(spec)
    if spec.load_posteriors is None and (wanted := choice.wanted(n)) > MAX_PAIRS:
        fewer = replace(choice, is_fast=True, number=None, to_first=False).wanted(n)
        raise OptionError(
            f"{wanted:,} pairs of {n:,} sequences are more than the {MAX_PAIRS:,} that an alignment can hold.",
            f"Compare fewer: --fast takes {fewer:,}, and --alignment-number as many as you say.",
        )


def caution_of(lengths: npt.NDArray[np.int64], pairs: npt.NDArray[np.int32], spec: AlignmentSpec) -> Iterator[str]:
    """Yield the warning about an alignment that may take more memory than there is."""
    needed = estimate(lengths, spec, (), len(pairs), is_most=True).memory_bytes
    yield from _too_much(f"{len(lengths):,} sequences by {len(pairs):,} pairs may need", needed, spec)


def caution_before_merging(known: SparsePosteriors, spec: AlignmentSpec) -> Iterator[str]:
    """Yield the warning about posteriors, now known, that take more memory to be merged by than there is."""
    n, n_rows = len(known.columns), len(known.x_gaps)
    merging = min(n, MAX_CANDIDATES * n_rows / max(spec.used_gap_factor, MIN_FACTOR))
    needed = needed_bytes(n, n_rows, merging, float(known.lengths.sum()))
    yield from _too_much(f"{n:,} posterior probabilities needs", needed, spec)


def _too_much(what: str, needed: float, spec: AlignmentSpec) -> Iterator[str]:
    there = physical_memory()
    if there is not None and needed > MAX_OF_MEMORY * there:
        yield (
            f"The alignment of {what} {size_text(needed)} of memory, but there are {size_text(there)}. Fewer pairs"
            f" ({'--alignment-number' if spec.is_fast or spec.n_pairs else '--fast'}) need less."
        )


def physical_memory() -> float | None:
    """Return the memory of this computer; None if the system does not provide it."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
