"""Regions of a target that hold domains, by posterior probabilities: the plain form that every kernel must equal.

With Forward and Backward values of the whole target, divided by the same terms s, and c = 1 / N(0) of Backward::

    begun(i) = begun(i-1) + Bf(i-1) Bb(i-1) s(i-1) c              how many domains have begun
    ended(i) = ended(i-1) + Ef(i) Eb(i) s(i) c                    how many have ended
    inside(i) = 1 - ( Nf(i-1) Nb(i) + Jf(i-1) Jb(i) + Cf(i-1) Cb(i) ) LOOP c

A region is a stretch of the target that lies in a domain with some probability. It may hold several if
at some residue z the smaller one of ended(z) - ended(first - 1) and begun(last) - begun(z - 1) is large.

References
----------
Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis (1998), 3.2: posterior decoding.
HMMER 3.3.2 user's guide, "The HMMER profile/sequence comparison pipeline".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.reference.local_rows import ONE, Floats, backward_rows, forward_rows, forward_score, multi_hit, times
from clalign.values.envelopes import Decoded, Region
from clalign.values.local_profiles import StripedOdds

INSIDE, AT_EDGE, SEVERAL = np.float32(0.25), np.float32(0.10), np.float32(0.20)
"""A region reaches `INSIDE` somewhere and ends below `AT_EDGE`; from `SEVERAL` on it may hold several domains."""


class Occupancy(Struct, frozen=True):
    """How many domains have begun and ended at each residue, and how likely it lies in one (float32[L + 1])."""

    begun: Floats
    ended: Floats
    inside: Floats


def decode(codes: npt.NDArray[np.uint8], odds: StripedOdds, check: Callable[[], None] = lambda: None) -> Decoded:
    """Return score, expected number of domains and regions of a target (`codes`: uint8[L])."""
    if not len(codes):
        return Decoded(math.nan, 0.0, ())
    ends = multi_hit(len(codes))
    rows = forward_rows(codes, odds, ends, check)
    forward = np.array([(r.n, r.e, r.j, r.b, r.c, r.scale) for r in rows], np.float32)
    score = forward_score(forward[-1, 4], forward[:, 5], ends)
    mirrored = backward_rows(codes, forward[:, 5], odds, ends, check)
    backward = np.array([(r.n, r.e, r.j, r.b, r.c, r.scale) for r in mirrored], np.float32)[::-1]
    occupancy = occupancy_of(forward, backward, ends.loop)
    if occupancy is None:
        return Decoded(score, math.nan, ())
    return Decoded(score, float(occupancy.begun[-1]), tuple(regions_of(occupancy)))


def occupancy_of(forward: Floats, backward: Floats, loop: np.float32) -> Occupancy | None:
    """Return the occupancy from the rows of special states (float32[L + 1, 6]: N, E, J, B, C, divisor).

    None where the probabilities exceed single precision.
    """
    nf, ef, jf, bf, cf, scale = forward.T
    nb, eb, jb, bb, cb, own = backward.T
    with np.errstate(all="ignore"):
        # Where Backward was divided by terms of its own, the quotients make up for it.
        first = np.array([ONE / nb[0]], np.float32)
        factors = np.multiply.accumulate(np.concatenate([first, scale[:-1] / own[:-1]]), dtype=np.float32)
        if not np.isfinite(factors[-1]):
            return None
        begun = times(bf[:-1], bb[:-1]) * scale[:-1] * factors[:-1]
        ended = times(ef[1:], eb[1:]) * scale[1:] * factors[1:]
        outside = times(times(nf[:-1], nb[1:]), loop) * factors[1:]
        outside = outside + times(times(jf[:-1], jb[1:]), loop) * factors[1:]
        outside = outside + times(times(cf[:-1], cb[1:]), loop) * factors[1:]
    return Occupancy(_running(begun), _running(ended), np.concatenate([[np.float32(0)], ONE - outside]))


def _running(changes: Floats) -> Floats:
    sums: Floats = np.add.accumulate(np.concatenate([[np.float32(0)], changes]), dtype=np.float32)
    return sums


def regions_of(occupancy: Occupancy) -> Iterator[Region]:
    """Yield the regions of a target in their order."""
    begun, ended, inside = occupancy.begun, occupancy.ended, occupancy.inside
    not_begun = inside[1:] - np.diff(begun) < AT_EDGE
    not_ended = inside[1:] - np.diff(ended) < AT_EDGE
    reached = inside[1:] >= INSIDE
    first, triggered = -1, False
    for x in range(len(reached)):
        if not triggered:
            if not_begun[x] or first < 0:
                first = x
            triggered = bool(reached[x])
        elif not_ended[x]:
            both = np.minimum(ended[first + 1 : x + 2] - ended[first], begun[x + 1] - begun[first : x + 1])
            yield Region(first, x + 1, bool(both.max() >= SEVERAL))
            first, triggered = -1, False
