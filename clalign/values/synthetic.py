"""Random profiles and sequences, for the self-test of devices, the benchmarks and the tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.values.alphabets import AMINO, code_of
from clalign.values.local_profiles import LocalProfile, mean_composition, to_local_profile
from clalign.values.profiles import (
    Calibration,
    Cutoffs,
    Hmm,
    Hmmer2Settings,
    Hmmer3Settings,
    IntegerProfile,
    consensus_of,
    to_integer_profile,
)
from clalign.values.sequences import SequenceBatch

_NULL_LOOP = np.float32(350.0 / 351.0)

SWISSPROT_PERCENT = {
    "A": 8.25, "R": 5.53, "N": 4.06, "D": 5.46, "C": 1.38, "Q": 3.93, "E": 6.72, "G": 7.07, "H": 2.27, "I": 5.91,
    "L": 9.65, "K": 5.80, "M": 2.41, "F": 3.86, "P": 4.74, "S": 6.65, "T": 5.36, "W": 1.10, "Y": 2.92, "V": 6.86,
}  # fmt: skip
"""How often each residue occurs in Swiss-Prot (its release statistics)."""


def random_hmm(rng: np.random.Generator, n_nodes: int, local: bool = True) -> Hmm:
    """Return a protein model in HMMER2's multi-hit mode, local (fs) or glocal (ls)."""
    m, k = n_nodes, AMINO.size
    # Priors keep every residue possible, here as in models made from alignments.
    match = (0.99 * rng.dirichlet(np.full(k, 0.4), m + 1) + 0.01 / k).astype(np.float32)
    insert = rng.dirichlet(np.full(k, 20.0), m + 1).astype(np.float32)
    from_match = rng.dirichlet([60.0, 1.0, 1.0], m + 1)
    from_insert, from_delete = rng.dirichlet([2.0, 1.0], m + 1), rng.dirichlet([2.0, 1.0], m + 1)
    transitions = np.concatenate([from_match, from_insert, from_delete], axis=1).astype(np.float32)
    begin, end = np.zeros(m + 1, np.float32), np.zeros(m + 1, np.float32)
    begin[1] = 0.5 if local else 0.99
    if local and m > 1:
        begin[2:] = 0.49 / (m - 1)
        end[1:m] = 0.5 / (m - 1)
    end[m] = 1.0
    loop, half = _NULL_LOOP, np.float32(0.5)
    special = np.array([[1 - loop, loop], [half, half], [1 - loop, loop], [1 - loop, loop]], np.float32)
    null = rng.dirichlet(np.full(k, 40.0)).astype(np.float32)
    settings = Hmmer2Settings(begin, end, np.float32(0.01), special, null, np.array([loop, 1 - loop], np.float32))
    return Hmm(
        name=f"random{m}",
        accession="",
        description="",
        alphabet=AMINO,
        match=match,
        insert=insert,
        transitions=transitions,
        consensus=consensus_of(match, AMINO),
        reference="",
        structure="",
        cutoffs=Cutoffs(),
        calibration=None,
        settings=settings,
    )


def random_profile(rng: np.random.Generator, n_nodes: int, local: bool = True) -> IntegerProfile:
    """Return the integer scores of `random_hmm`."""
    return to_integer_profile(random_hmm(rng, n_nodes, local))


def random_local_hmm(rng: np.random.Generator, n_nodes: int) -> Hmm:
    """Return a HMMER3 protein model with score statistics that models of this kind have."""
    hmm = random_hmm(rng, n_nodes)
    msv, viterbi = Calibration("gumbel", -8.0, 0.71), Calibration("gumbel", -8.5, 0.71)
    settings = Hmmer3Settings("f", msv, viterbi, Calibration("exponential", -4.0, 0.71), None, None, None)
    # The last node leads nowhere but to the end, and the first cannot be deleted into.
    hmm.transitions[0, 5:] = [1, 0]
    hmm.transitions[n_nodes, :3] = [0.99, 0.01, 0]
    hmm.transitions[n_nodes, 5:] = [1, 0]
    hmm = replace(hmm, settings=settings)
    return replace(hmm, settings=replace(settings, composition=mean_composition(hmm)))


def random_local_profile(rng: np.random.Generator, n_nodes: int) -> LocalProfile:
    """Return the search profile of `random_local_hmm`."""
    return to_local_profile(random_local_hmm(rng, n_nodes))


def random_batch(
    rng: np.random.Generator, profile: IntegerProfile | LocalProfile, n: int, longest: int, same_length: bool = False
) -> SequenceBatch:
    """Return sequences of up to `longest` residues; every fourth holds copies of the consensus."""
    residues = np.array([code_of(letter) for letter in AMINO.canonical], np.uint8)
    if same_length:
        codes = residues[rng.integers(0, len(residues), n * longest)]
        return SequenceBatch.of_lengths(codes, np.full(n, longest))
    odd = np.array([code_of(letter) for letter in "XBZUOJ*-"], np.uint8)
    consensus = np.array([code_of(letter) for letter in profile.hmm.consensus], np.uint8)
    sequences: list[npt.NDArray[np.uint8]] = []
    for number in range(n):
        length = int(rng.integers(0, longest + 1))
        sequence = residues[rng.integers(0, len(residues), length)]
        strange = rng.random(length) < 0.03
        sequence[strange] = odd[rng.integers(0, len(odd), int(strange.sum()))]
        if number % 4 == 0:
            sequence = np.concatenate([sequence, consensus, sequence[: length // 2], consensus])
        sequences.append(sequence)
    return SequenceBatch.from_texts(sequences)


MAX_PROTEIN_LENGTH = 35_000


def swissprot_lengths(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Return sequence lengths distributed like those of Swiss-Prot (int64[n]): mean 354, longest 35,000.

    Most are lognormal; one in 500 is of a heavy tail of giants, as titins are.
    """
    common = rng.lognormal(5.6435, 0.64, n)
    giants = 2000.0 * (1.0 + rng.pareto(1.8, n))
    lengths = np.where(rng.random(n) < 0.002, giants, common)
    return np.clip(np.round(lengths), 2, MAX_PROTEIN_LENGTH).astype(np.int64)


def random_codes(rng: np.random.Generator, n_residues: int) -> npt.NDArray[np.uint8]:
    """Return letter codes of random protein residues (uint8[n_residues]), with Swiss-Prot's frequencies."""
    residues = np.array([code_of(letter) for letter in SWISSPROT_PERCENT], np.uint8)
    weights = np.array(list(SWISSPROT_PERCENT.values()))
    # Drawing bytes from a table of 65,536 is far faster than from a distribution; no weight is off by 0.01 %.
    shares = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    table = np.repeat(residues, np.diff(np.round(shares * 65536).astype(np.int64)))
    codes: npt.NDArray[np.uint8] = table[rng.integers(0, 65536, n_residues, np.uint16)]
    return codes


def swissprot_batch(rng: np.random.Generator, n: int) -> SequenceBatch:
    """Return `n` random sequences with Swiss-Prot's lengths and frequencies, longest first."""
    lengths = np.sort(swissprot_lengths(rng, n))[::-1]
    return SequenceBatch.of_lengths(random_codes(rng, int(lengths.sum())), lengths)
