"""What the ladder is measured on: a model and a batch of sequences, synthetic or a user's own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.databases.loading import load_database
from clalign.errors import InputError, OptionError
from clalign.formats.profiles import load_profiles
from clalign.jobs import JobContext
from clalign.labs.published_ladder import FAMILIES, FAMILY
from clalign.values.profiles import Hmmer2Settings, IntegerProfile, to_integer_profile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_codes, random_profile, swissprot_lengths

SHORTEST, LONGEST = 550, 1500
MAX_SEQUENCES = 70_000
"""The published experiments took 70,000 sequences of 550 to 1500 residues."""

MIN_SEQUENCES = 64

Rng = np.random.Generator


class LadderData(Struct, frozen=True):
    """A model and sequences.

    Attributes
    ----------
    model : IntegerProfile
    batch : SequenceBatch
        In no order of lengths.
    source : str
        Where the sequences come from, in words.
    """

    model: IntegerProfile
    batch: SequenceBatch
    source: str

    @property
    def cells(self) -> int:
        """Cells of the matrix over all sequences."""
        return int(self.batch.offsets[-1]) * self.model.length


def ladder_model(path: str | None, n_nodes: int | None, seed: int) -> IntegerProfile:
    """Return the first model of a file, or a random one, by default of the published family's length.

    Raises
    ------
    InputError
        If the model is not one of HMMER2.
    """
    if path is None:
        return random_profile(np.random.default_rng(seed), n_nodes or FAMILIES[FAMILY])
    if n_nodes is not None:
        raise OptionError("A model from a file has its own length.", "Leave out either --hmm or --nodes.")
    hmm = load_profiles(path)[0]
    if not isinstance(hmm.settings, Hmmer2Settings):
        raise InputError(path, f"{hmm.name} is not a HMMER2 model.", "The ladder measures HMMER2's algorithm.")
    return to_integer_profile(hmm)


def ladder_data(
    model: IntegerProfile, path: str | None, n: int | None, n_cells: float, step: int, seed: int, context: JobContext
) -> LadderData:
    """Return the sequences to measure on.

    Parameters
    ----------
    model : IntegerProfile
    path : str or None
        A sequence file; None draws a synthetic database.
    n : int or None
        How many sequences to take; None takes as many as make about `n_cells` cells.
    n_cells : float
    step : int
        The number is then a multiple of this, so that all cores of a device have as much to do.
    seed : int
    context : JobContext

    Raises
    ------
    InputError
        If the file holds no sequences.
    """
    rng = np.random.default_rng(seed)
    n_residues = n_cells / model.length
    if path is None:
        lengths = published_lengths(rng, n or _fitting(n_residues, (SHORTEST + LONGEST) / 2, step))
        batch = SequenceBatch.of_lengths(random_codes(rng, int(lengths.sum())), lengths)
        return LadderData(model, batch, f"synthetic, {SHORTEST} to {LONGEST} residues, seed {seed}")
    database, _ = load_database(path, context=context)
    if database.n_residues == 0:
        raise InputError(path, "it has no residues.", "Give sequences to measure on.")
    n = min(n or _fitting(n_residues, database.n_residues / len(database), step), len(database))
    rows = rng.permutation(len(database))[:n].astype(np.int64)
    drawn = database.select(rows)
    return LadderData(model, drawn, f"{len(drawn):,} of {len(database):,} sequences of {path}, seed {seed}")


def _fitting(n_residues: float, mean: float, step: int) -> int:
    n = max(MIN_SEQUENCES, min(MAX_SEQUENCES, int(n_residues / mean)))
    return max(1, round(n / step)) * step


def published_lengths(rng: Rng, n: int) -> npt.NDArray[np.int64]:
    """Return lengths drawn from those of Swiss-Prot which the published experiments took (int64[n])."""
    found = np.empty(0, np.int64)
    while len(found) < n:
        lengths = swissprot_lengths(rng, 10 * n)
        found = np.concatenate([found, lengths[(lengths >= SHORTEST) & (lengths <= LONGEST)]])
    return found[:n]


def shortened(batch: SequenceBatch, length: int) -> SequenceBatch:
    """Return a batch with the first `length` residues of every sequence."""
    lengths = np.minimum(np.diff(batch.offsets), length).astype(np.int64)
    rows = np.repeat(np.arange(len(batch)), lengths)
    places = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return SequenceBatch.of_lengths(batch.codes[batch.offsets[rows] + places], lengths)


def divergence_sets(rng: Rng, n_residues: float) -> dict[str, tuple[str, SequenceBatch]]:
    """Return the four published synthetic sets, with about this many residues each, and what they are.

    Equal sequences of 32 residues; different ones; groups of 32 sequences of the same length, the
    lengths rising from 10 to 499; the same shuffled.
    """
    n = max(MIN_SEQUENCES, min(MAX_SEQUENCES, int(n_residues / 32)))
    same = np.full(n, 32, np.int64)
    n_groups = max(4, min(313, int(n_residues / (32 * 254.5))))
    rising = np.repeat(np.round(np.linspace(10, 499, n_groups)).astype(np.int64), 32)
    grouped = SequenceBatch.of_lengths(random_codes(rng, int(rising.sum())), rising)
    order = rng.permutation(len(grouped))
    shuffled = np.concatenate([grouped.residues(row) for row in order])
    return {
        "equal": ("equal sequences", SequenceBatch.of_lengths(np.tile(random_codes(rng, 32), n), same)),
        "different": ("different sequences of equal length", SequenceBatch.of_lengths(random_codes(rng, 32 * n), same)),
        "grouped": ("lengths grouped by 32", grouped),
        "shuffled": ("the same, shuffled", SequenceBatch.of_lengths(shuffled, rising[order])),
    }
