"""The domains of targets that passed HMMER3's filters: regions, envelopes, alignments, biases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.compute.sessions import Session, Steps, at_once
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.sampling import SAMPLING, SamplingModel
from clalign.values.envelopes import Decoded, Envelope, Parts, Rescored, Resolved, RowProfiles, TargetDomains
from clalign.values.local_profiles import LocalProfile
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
    """Start to find the domains that one profile has in the targets of a batch; return what waits for them.

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
    for first, last in _row_portions(batch.offsets):
        targets += _targets(batch, first, decoded[first:last], of_rows[first:last])
    return targets


def _parts(batch: SequenceBatch, regions: list[_Region]) -> Parts:
    table = np.array([(region.row, *region.stretch) for region in regions], np.int32).reshape(-1, 3)
    return Parts(batch, *(np.ascontiguousarray(column) for column in table.T))


def _row_portions(offsets: npt.NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield rows whose biases are computed together: no more than `RESIDUES_AT_ONCE`, unless it is a longer one."""
    first, n = 0, len(offsets) - 1
    while first < n:
        most = int(offsets[first]) + RESIDUES_AT_ONCE
        last = max(first + 1, int(np.searchsorted(offsets, most, side="right")) - 1)
        yield first, last
        first = last


def _targets(
    batch: SequenceBatch, first_row: int, decoded: Sequence[Decoded], regions: Sequence[Sequence[_Region]]
) -> Iterator[TargetDomains]:
    """Yield what is known of some rows of a batch, given the regions of each."""
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
