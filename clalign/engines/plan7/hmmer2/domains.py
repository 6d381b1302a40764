"""From the path of a hit to its domains and their scores, as HMMER2 reports them."""

from __future__ import annotations

import math
from collections.abc import Sequence as Series

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.values.alignments import DomainPath, path_score
from clalign.values.evalues import bits
from clalign.values.profiles import INT_SCALE, LN_2, LOG2_E, IntegerProfile, residue_scores

NULL2_PRIOR = 8000
"""HMMER2's prior odds against the second null model: 8 bits."""

LOGSUM_REACH = 20000
"""Beyond this difference the smaller term of a log-sum counts for nothing."""


class ScoredDomain(Struct, frozen=True):
    """A domain with its scores.

    Attributes
    ----------
    path : DomainPath
    raw : int
        Integer score of the path standing alone.
    correction : int
        Null2 correction, in the same units; 0 if it is turned off.
    bits : float32
        The corrected score.
    """

    path: DomainPath
    raw: int
    correction: int
    bits: np.float32


def log_sum(a: int, b: int) -> int:
    """Return log2(2^a + 2^b) of integer scores as HMMER2's truncating table gives it."""
    high, difference = max(a, b), abs(a - b)
    if difference >= LOGSUM_REACH:
        return high
    return high + int(INT_SCALE * LOG2_E * math.log(1.0 + math.exp(LN_2 * float(-difference) / INT_SCALE)))


def null2_corrections(
    paths: Series[DomainPath], codes: Series[npt.NDArray[np.uint8]], profile: IntegerProfile
) -> list[int]:
    """Return the correction of each path for a target of biased composition.

    The second null model emits the mean of the emissions of all M and I steps of the path.

    Parameters
    ----------
    paths : sequence of DomainPath
    codes : sequence of uint8[length]
        Letter codes of the whole target of each path.
    profile : IntegerProfile
    """
    if not paths:
        return []
    hmm, null = profile.hmm, profile.settings.null
    composition = np.empty((len(paths), hmm.alphabet.size), np.float32)
    for row, path in enumerate(paths):
        states = path.codes()
        emits, nodes = states != ord("D"), path.nodes() + 1
        is_match = states[emits, None] == ord("M")
        emitted = np.where(is_match, hmm.match[nodes[emits]], hmm.insert[nodes[emits]])
        summed = np.add.accumulate(emitted, axis=0, dtype=np.float32)[-1]
        total = np.add.accumulate(summed, dtype=np.float32)[-1]
        composition[row] = summed / total
    scores = residue_scores(composition, null, hmm.alphabet)
    corrections = []
    for row, (path, target) in enumerate(zip(paths, codes, strict=True)):
        residues = path.residues()
        total_score = int(scores[target[residues[residues >= 0]], row].sum(dtype=np.int64))
        corrections.append(log_sum(0, total_score - NULL2_PRIOR))
    return corrections


def uncorrected_domains(
    paths: Series[DomainPath], codes: Series[npt.NDArray[np.uint8]], profile: IntegerProfile
) -> list[ScoredDomain]:
    """Return the paths with their own scores, not corrected (parameters as `null2_corrections`)."""
    raws = [path_score(path, profile, target) for path, target in zip(paths, codes, strict=True)]
    return [ScoredDomain(path, raw, 0, bits(raw)) for path, raw in zip(paths, raws, strict=True)]


def corrected_domains(
    domains: Series[ScoredDomain], codes: Series[npt.NDArray[np.uint8]], profile: IntegerProfile
) -> list[ScoredDomain]:
    """Return domains with the null2 correction, which never makes a score higher."""
    corrections = null2_corrections([domain.path for domain in domains], codes, profile)
    return [
        replace(domain, correction=correction, bits=np.float32(domain.bits - bits(correction)))
        for domain, correction in zip(domains, corrections, strict=True)
    ]


def counting_domains(domains: Series[ScoredDomain]) -> tuple[np.float32, list[ScoredDomain]]:
    """Return the score of a sequence and the domains that make it.

    Those with a positive corrected score count, and their float32 sum is the score; if there is
    none, the best single one counts, whatever its score.
    """
    positive = [domain for domain in domains if domain.bits > 0]
    if not positive:
        best = max(domains, key=lambda domain: domain.bits)
        return best.bits, [best]
    total = np.float32(0)
    for domain in positive:
        total = np.float32(total + domain.bits)
    return total, positive
