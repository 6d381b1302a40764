"""Odds ratios of a HMMER3 profile in single precision, striped over four lanes.

Node ``lane * Q + q + 1`` is at ``[q, lane]`` of arrays of shape ``[Q, 4]``.

References
----------
Farrar, Bioinformatics 23, 156-161 (2007): the striped layout.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.local_profiles import LocalProfile
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

Floats = npt.NDArray[np.float32]

LANES = 4


def exponential(values: Floats) -> Floats:
    """Return e to the power of each value, by the polynomial that HMMER uses, equal in every bit.

    References
    ----------
    Moshier, Methods and Programs for Mathematical Functions (1989): Cephes' ``expf``.
    """
    f = np.float32
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        low, high = values <= f(-88.3762626647949), values > f(88.3762626647949)
        x = np.where(low | high, f(0), values)
        powers = np.floor(x * f(1.44269504088896341) + f(0.5))
        x = x - powers * f(0.693359375)
        x = x - powers * f(-2.12194440e-4)
        y = np.full_like(x, f(1.9875691500e-4))
        for term in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
            y = y * x + f(term)
        y = y * (x * x) + x + f(1)
        result = np.ldexp(y, powers.astype(np.int32))
    exponentials: Floats = np.where(low, f(0), np.where(high, f(np.inf), result)).astype(np.float32)
    return exponentials


def n_vectors(n_nodes: int) -> int:
    """Return Q, the number of vectors that hold so many nodes."""
    return max(2, -(-n_nodes // LANES))


class StripedOdds(Struct, frozen=True):
    """Odds ratios and probabilities of a profile, striped; 0 where impossible and beyond the last node.

    Attributes
    ----------
    emissions : float32[N_CODES, Q, 4]
    begin, mm, im, dm : float32[Q, 4]
        From B, and from M, I and D of the node before.
    md, mi, ii, dd : float32[Q, 4]
        To D of the next node, to I of the same.
    """

    emissions: Floats
    begin: Floats
    mm: Floats
    im: Floats
    dm: Floats
    md: Floats
    mi: Floats
    ii: Floats
    dd: Floats


def stripe(values: Floats, fill: float = 0.0) -> Floats:
    """Return the last axis, nodes 1 to M, as ``[..., Q, 4]``."""
    n_nodes = values.shape[-1]
    padded = np.full((*values.shape[:-1], n_vectors(n_nodes) * LANES), fill, np.float32)
    padded[..., :n_nodes] = values
    return np.ascontiguousarray(padded.reshape(*values.shape[:-1], LANES, -1).swapaxes(-1, -2))


def striped_odds(profile: LocalProfile) -> StripedOdds:
    """Return the odds ratios of a profile, equal to HMMER's in every bit."""
    t = exponential(profile.transitions)
    entering = [stripe(t[step, :-1]) for step in (MM, IM, DM)]
    leaving = [stripe(t[step, 1:]) for step in (MD, MI, II, DD)]
    emissions = stripe(exponential(profile.match[:, 1:]))
    return StripedOdds(emissions, stripe(exponential(profile.begin[1:])), *entering, *leaving)
