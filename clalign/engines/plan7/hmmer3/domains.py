"""The domains of targets that passed HMMER3's filters: regions, envelopes, alignments and their text, biases, scores.

Scores are in single precision where HMMER3 holds single precision, so that printed digits are the same.

References
----------
HMMER 3.3.2 user's guide, "Tabular output formats": what is called score, bias and E-value.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.common.portions import portions_of
from clalign.compute.sessions import Session, Steps, at_once
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.sampling import SAMPLING, SamplingModel
from clalign.values.alignments import AlignmentText, DomainPath
from clalign.values.alphabets import shown_letters
from clalign.values.envelopes import Decoded, Envelope, Parts, Rescored, Resolved, RowProfiles, TargetDomains
from clalign.values.local_profiles import LocalProfile
from clalign.values.local_scores import LN_2
from clalign.values.null2 import compensated_sums, null2_scores
from clalign.values.sequences import SequenceBatch

RESIDUES_AT_ONCE = 1 << 20
"""Residues of the targets whose biases are computed together; each takes some 60 bytes meanwhile."""

Stretch = tuple[int, int]
"""First residue of a target and one past the last."""


class _Region(Struct, gc=False):
    """A region of a row of the batch, what its samples show if there are any, and what became of its envelopes."""

    row: int
    stretch: Stretch
    resolved: Resolved | None = None
    envelopes: list[tuple[Stretch, Rescored | None]] = field(default_factory=list)


def define_domains(
    session: Session, batch: SequenceBatch, profile: LocalProfile, seed: int = 42
) -> Callable[[], list[TargetDomains]]:
    """Start to find the domains that one profile has in the targets of a batch; return a callable that waits for them.

    Parameters and results are those of `domains_in_steps`.
    """
    steps = domains_in_steps(session, batch, RowProfiles.alone(profile, len(batch)), seed)
    next(steps)
    return lambda: at_once(steps)


def domains_in_steps(
    session: Session, batch: SequenceBatch, profiles: RowProfiles, seed: int = 42
) -> Steps[list[TargetDomains]]:
    """Find the domains of the targets of a batch, each with its profile, step by step.

    Parameters
    ----------
    session : Session
    batch : SequenceBatch
        Targets that passed the Forward filter.
    profiles : RowProfiles
    seed : int
        Start of the random numbers in each region that may hold several domains; 0 for another one
        each time.

    Returns
    -------
    Steps
        Ends with the `TargetDomains` of each row of the batch.

    References
    ----------
    HMMER 3.3.2 user's guide, "Defining domain locations".
    """
    decoding = session.start(DECODING, batch, profiles)
    yield session.reached()
    decoded = decoding()
    found = [(_Region(row, (r.first, r.last)), r) for row, target in enumerate(decoded) for r in target.regions]
    simple = [region for region, r in found if not r.is_multiple]
    multiple = [region for region, r in found if r.is_multiple]
    sampling = session.start(SAMPLING, _parts(batch, multiple), SamplingModel(profiles, seed))
    are_sampled = session.reached()
    rescoring = session.start(ENVELOPE, _parts(batch, simple), profiles)
    clusters = []
    if multiple:
        yield are_sampled
    for region, resolved in zip(multiple, sampling(), strict=True):
        region.resolved = resolved
        clusters += [(region, _Region(region.row, place)) for place in resolved.envelopes]
    rescoring_too = session.start(ENVELOPE, _parts(batch, [cluster for _, cluster in clusters]), profiles)
    if found:
        yield session.reached()
    for region, answer in zip(simple, rescoring(), strict=True):
        region.envelopes.append((region.stretch, answer))
    for (region, cluster), answer in zip(clusters, rescoring_too(), strict=True):
        region.envelopes.append((cluster.stretch, answer))
    of_rows: list[list[_Region]] = [[] for _ in decoded]
    for region, _ in found:
        of_rows[region.row].append(region)
    targets: list[TargetDomains] = []
    for some in portions_of(batch.lengths, RESIDUES_AT_ONCE):
        targets += _targets(batch, some.start, decoded[some], of_rows[some])
    return targets


def _parts(batch: SequenceBatch, regions: list[_Region]) -> Parts:
    table = np.array([(region.row, *region.stretch) for region in regions], np.int32).reshape(-1, 3)
    return Parts(batch, *(np.ascontiguousarray(column) for column in table.T))


def _targets(
    batch: SequenceBatch, first_row: int, decoded: Sequence[Decoded], regions: Sequence[Sequence[_Region]]
) -> Iterator[TargetDomains]:
    """Yield the domains of some rows of a batch, given the regions of each."""
    every = [region for of_row in regions for region in of_row]
    corrections, totals = _corrections(batch, first_row, len(regions), every)
    next_one = iter(corrections)
    for target, of_row, total in zip(decoded, regions, totals, strict=True):
        envelopes: list[Envelope] = []
        n_clustered = n_overlaps = n_envelopes = 0
        for region in of_row:
            end, is_sampled = 0, region.resolved is not None
            n_clustered += is_sampled
            n_envelopes += len(region.envelopes)
            for (first, last), rescored in region.envelopes:
                n_overlaps += is_sampled and first < end
                if rescored is None:
                    continue
                end = last
                envelopes.append(
                    Envelope(first, last, rescored.score, next(next_one), rescored.expected_correct, rescored.path,
                             rescored.posterior)
                )  # fmt: skip
        yield TargetDomains(
            forward=target.forward,
            expected=target.expected,
            n_regions=len(of_row),
            n_clustered=n_clustered,
            n_overlaps=n_overlaps,
            n_envelopes=n_envelopes,
            correction=total,
            envelopes=tuple(envelopes),
        )


def _corrections(
    batch: SequenceBatch, first_row: int, n_rows: int, regions: Sequence[_Region]
) -> tuple[list[float], list[float]]:
    """Return the sums of the null2 scores over each envelope that could be rescored, and over each of some rows."""
    offsets = batch.offsets[first_row : first_row + n_rows + 1].astype(np.int64)
    bounds = offsets - offsets[0]
    null2 = np.zeros(int(bounds[-1]), np.float32)
    for region in regions:
        if region.resolved is not None:
            first, last = region.stretch
            begin = int(bounds[region.row - first_row])
            null2[begin + first : begin + last] = region.resolved.null2
    kept = [
        (region.row - first_row, first, last, region.resolved is None, rescored.ratios)
        for region in regions for (first, last), rescored in region.envelopes if rescored is not None
    ]  # fmt: skip
    sums = np.zeros(len(kept), np.float32)
    if kept:
        rows, first, last, simple = np.array([each[:4] for each in kept], np.int64).T
        owner = np.repeat(np.arange(len(kept)), last - first)
        residues = np.arange(len(owner)) - np.repeat(np.cumsum(last - first) - last, last - first)
        slots = bounds[rows][owner] + residues
        in_simple = np.flatnonzero(simple[owner])
        of_envelope, place = owner[in_simple], residues[in_simple] + offsets[:-1][rows][owner[in_simple]]
        scores = null2_scores(np.array([each[4] for each in kept]))
        null2[slots[in_simple]] = scores[of_envelope, batch.codes[place]]
        np.add.at(sums, owner, null2[slots])  # one after the other, as HMMER does: rounding shows
    return sums.tolist(), compensated_sums(null2, bounds).tolist()


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
    for some in portions_of([len(path.states) for path in paths], COLUMNS_AT_ONCE):
        yield from _made_together(paths[some], posteriors[some], profile, targets[some])


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


LOG_SUM_REACH = np.float32(15.7)
"""Beyond this difference the smaller term of a log-sum counts for nothing."""

LOG_SUM_SCALE = np.float32(1000.0)

LOG_SUMS = np.log1p(np.exp(-np.arange(16000) / 1000.0)).astype(np.float32)
"""What is added to the greater term, by the difference in 1/1000."""

LOG_OMEGA = math.log(1.0 / 256.0)
"""Prior of the null model that has the composition of the domain."""

Floats = npt.NDArray[np.float32]


def bias_of(corrections: Floats) -> Floats:
    """Return the bias that null2 scores take off a score, in nats: log(1 + omega e^x) as HMMER3's table gives it."""
    shares = (LOG_OMEGA + corrections.astype(np.float64)).astype(np.float32)
    high, apart = np.maximum(shares, np.float32(0)), np.abs(shares)
    places = np.minimum(apart * LOG_SUM_SCALE, np.float32(len(LOG_SUMS) - 1)).astype(np.int64)
    return np.where(apart < LOG_SUM_REACH, high + LOG_SUMS[places], high)


def in_bits(nats: Floats) -> Floats:
    """Return scores in bits."""
    return (nats.astype(np.float64) / LN_2).astype(np.float32)


class TargetScores(Struct, frozen=True):
    """The scores of targets and of their envelopes standing alone, in bits.

    Attributes
    ----------
    score, uncorrected : float32[n]
        Of each target, corrected for biased composition and not.
    begins : int64[n + 1]
        Where the envelopes of each target begin.
    domain_score : float32[m]
        Of each envelope, corrected.
    domain_bias : float64[m]
        What the correction took off it.
    """

    score: Floats
    uncorrected: Floats
    begins: npt.NDArray[np.int64]
    domain_score: Floats
    domain_bias: npt.NDArray[np.float64]

    @property
    def bias(self) -> Floats:
        """What the correction took off each target."""
        return self.uncorrected - self.score


def target_scores(
    found: Sequence[TargetDomains], null: Floats, lengths: npt.NDArray[np.int64], *, without_null2: bool = False
) -> TargetScores:
    """Return the scores of targets.

    The score of a target is that of Forward or, if higher, the sum of its domains that stand out from their bias.

    Parameters
    ----------
    found : sequence of TargetDomains
    null : float32[n]
        Scores of the null model in nats.
    lengths : int64[n]
        Residues of each target.
    without_null2 : bool
        Do without the correction.
    """
    envelopes = _Envelopes.of(found, lengths, without_null2)
    forward = np.array([target.forward for target in found], np.float32)
    corrections = np.array([target.correction for target in found], np.float32)
    bias = np.zeros_like(null) if without_null2 else bias_of(corrections)
    uncorrected, score = in_bits(forward - null), in_bits(forward - (null + bias))
    total, bias, n_inside = envelopes.summed(len(found))
    taken = np.zeros_like(null) if without_null2 else bias_of(bias)
    total = (total + envelopes.outside(np.arange(len(found)), n_inside)).astype(np.float32)
    summed = in_bits(total - (null + taken))
    is_better = (n_inside > 0) & (summed > score)
    domain_score, domain_bias = envelopes.alone(null)
    return TargetScores(
        np.where(is_better, summed, score),
        np.where(is_better, in_bits(total - null), uncorrected),
        np.concatenate([[0], np.cumsum([len(target.envelopes) for target in found])]),
        domain_score,
        domain_bias,
    )


class _Envelopes(Struct, frozen=True):
    """The envelopes of several targets: which target each belongs to, its residues, score and correction in nats."""

    owner: npt.NDArray[np.int64]
    n_inside: npt.NDArray[np.int64]
    score: Floats
    correction: Floats
    lengths: npt.NDArray[np.int64]
    without_null2: bool

    @classmethod
    def of(cls, found: Sequence[TargetDomains], lengths: npt.NDArray[np.int64], without_null2: bool) -> _Envelopes:
        every = [(owner, envelope) for owner, target in enumerate(found) for envelope in target.envelopes]
        correction = np.array([envelope.correction for _, envelope in every], np.float32)
        return cls(
            owner=np.array([owner for owner, _ in every], np.int64),
            n_inside=np.array([envelope.last - envelope.first for _, envelope in every], np.int64),
            score=np.array([envelope.score for _, envelope in every], np.float32),
            correction=np.zeros_like(correction) if without_null2 else correction,
            lengths=lengths,
            without_null2=without_null2,
        )

    def summed(self, n: int) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
        """Return score, correction and residues of what stands out in each target, summed one after the other."""
        out = self.score - self.correction > 0
        score, correction, n_inside = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int64)
        np.add.at(score, self.owner[out], self.score[out])
        np.add.at(correction, self.owner[out], self.correction[out])
        np.add.at(n_inside, self.owner[out], self.n_inside[out])
        return score, correction, n_inside

    def outside(self, targets: npt.NDArray[np.int64], n_inside: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the scores of the residues of targets that belong to no domain, in nats."""
        stay = self.lengths.astype(np.float32) / (self.lengths + 3).astype(np.float32)
        loop = np.array([math.log(share) for share in stay.tolist()])  # the C library's: its last bit counts
        scores: npt.NDArray[np.float64] = (self.lengths[targets] - n_inside) * loop[targets]
        return scores

    def alone(self, null: Floats) -> tuple[Floats, npt.NDArray[np.float64]]:
        """Return score and bias of each envelope standing alone, in bits."""
        bias = np.zeros_like(self.correction) if self.without_null2 else bias_of(self.correction)
        alone = (self.score + self.outside(self.owner, self.n_inside)).astype(np.float32)
        return in_bits(alone - (null[self.owner] + bias)), bias.astype(np.float64) / LN_2


def repeats(found: TargetDomains, scores: Floats) -> set[int]:
    """Return which domains to leave out because a better one, or an equal one before, has their alignment.

    Overlapping envelopes may end with the very same alignment (`scores`: float32, of each).
    """
    hidden: set[int] = set()
    if not found.n_overlaps:
        return hidden
    spans = [envelope.path.target_range for envelope in found.envelopes]
    for first in range(len(spans)):
        for second in range(first + 1, len(spans)):
            if spans[first] == spans[second]:
                hidden.add(second if scores[first] >= scores[second] else first)
    return hidden
