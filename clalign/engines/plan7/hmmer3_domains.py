"""The domains of targets that passed HMMER3's filters: regions, envelopes, alignments, biases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.compute.sessions import Session, Steps, at_once
from clalign.stages.hmmer3.decoding import DECODING
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.sampling import SAMPLING, SamplingModel
from clalign.values.envelopes import Decoded, Envelope, Parts, Rescored, Resolved, RowProfiles, TargetDomains
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch

Stretch = tuple[int, int]
"""First residue of a target and one past the last."""


class _Region(Struct):
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
    rows: list[list[_Region]] = [[] for _ in decoded]
    for region, _ in found:
        rows[region.row].append(region)
    return [_target(batch.residues(row), decoded[row], regions) for row, regions in enumerate(rows)]


def _parts(batch: SequenceBatch, regions: list[_Region]) -> Parts:
    table = np.array([(region.row, *region.stretch) for region in regions], np.int32).reshape(-1, 3)
    return Parts(batch, *(np.ascontiguousarray(column) for column in table.T))


def _target(codes: npt.NDArray[np.uint8], decoded: Decoded, regions: list[_Region]) -> TargetDomains:
    envelopes: list[Envelope] = []
    null2 = np.zeros(len(codes), np.float32)
    n_overlaps = 0
    for region in regions:
        end = 0
        if region.resolved is not None:
            null2[slice(*region.stretch)] = region.resolved.null2
        for (first, last), rescored in region.envelopes:
            n_overlaps += region.resolved is not None and first < end
            if rescored is None:
                continue
            end = last
            if region.resolved is None:
                null2[first:last] = _logarithms(rescored.ratios)[codes[first:last]]
            envelopes.append(_envelope(first, last, null2, rescored))
    return TargetDomains(
        forward=decoded.forward,
        expected=decoded.expected,
        n_regions=len(regions),
        n_clustered=sum(region.resolved is not None for region in regions),
        n_overlaps=n_overlaps,
        n_envelopes=sum(len(region.envelopes) for region in regions),
        correction=float(np.float32(null2.sum(dtype=np.float64))),
        envelopes=tuple(envelopes),
    )


def _envelope(first: int, last: int, null2: npt.NDArray[np.float32], rescored: Rescored) -> Envelope:
    return Envelope(
        first=first,
        last=last,
        score=rescored.score,
        correction=float(np.add.accumulate(null2[first:last], dtype=np.float32)[-1]),
        expected_correct=rescored.expected_correct,
        path=rescored.path,
        posterior=rescored.posterior,
    )


def _logarithms(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return natural logarithms with the last bit right."""
    logarithms: npt.NDArray[np.float32] = np.log(values.astype(np.float64)).astype(np.float32)
    return logarithms
