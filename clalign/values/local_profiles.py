"""HMMER3's search profiles: local, multi-hit log-odds scores, made for many models together.

The few numbers for each node and letter that a model is searched with take longer to compute, for one model after the
other, than a proteome takes to be searched with it. On a *shelf* the nodes of many models stand side by side in the
same arrays, which are computed in one go; what runs along the nodes of a model, such as occupancy, is computed for all
models at a time, node after node. The profile of a model is a view of these arrays, and none of its numbers depends on
the other models. A model without company has a shelf of its own.

References
----------
Eddy, PLoS Comput. Biol. 4, e1000069 (2008): the local profile and its uniform fragment lengths; HMMER 3.3.2 user's
guide.
"""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from threading import Lock
from typing import ClassVar, SupportsIndex
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.values.alphabets import N_CODES, Alphabet, code_of
from clalign.values.local_scores import (
    BYTE_SCALE,
    NEVER_BYTE,
    Bytes,
    ByteScores,
    Floats,
    Odds,
    WordScores,
    background,
    letter_scores,
    members_of,
    rounded,
    words_of,
)
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM, Hmm, Hmmer3Settings

Places = npt.NDArray[np.int64]

MAX_NODES = 1 << 15
"""Limit of the nodes on a shelf: some 20 MB of all kinds of scores."""

MAX_MODELS = 512

MAX_KEPT_SHELVES = 2
"""Limit of the shelves that are kept without being in use: units of two neighboring models may be wanted in turns."""


class LocalProfile(Struct, frozen=True, eq=False, weakref=True):
    """A model configured for local, multi-hit search; scores in nats, minus infinity where impossible.

    Insertions cost nothing but their transitions. Every match and delete state may go to E for
    nothing; E goes on to C and to J with one half each.

    Attributes
    ----------
    hmm : Hmm
    match : float32[N_CODES, M + 1]
        Log-odds of each letter code at each node; column 0 is minus infinity.
    transitions : float32[7, M + 1]
        Logarithms by `profiles.MM` ... `DD`, from node k; columns 0 and M are minus infinity.
    begin : float32[M + 1]
        B to M_k, weighted by occupancy.
    occupancy : float32[M + 1]
        Probability that a match state is visited.
    background : float32[K]
    composition : float32[K]
        Mean emissions of the model, for the bias filter.
    shelved : Shelved
        Where its scores are, beside those of the models that it was made together with.
    """

    hmm: Hmm
    match: Floats
    transitions: Floats
    begin: Floats
    occupancy: Floats
    background: Floats
    composition: Floats
    shelved: Shelved

    @property
    def length(self) -> int:
        """Number of nodes, M."""
        return self.hmm.length

    @property
    def settings(self) -> Hmmer3Settings:
        """What the file says of score statistics."""
        assert isinstance(self.hmm.settings, Hmmer3Settings)
        return self.hmm.settings

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Return the parts that a copy is made of: it is taken from the copy of the shelf."""
        return self.shelved.shelf.profile, (self.shelved.place,)


@dataclass(frozen=True, eq=False)
class ProfileShelf:
    """The profiles of models of one alphabet; `N` is the number of nodes of all, node 0 of each included.

    Attributes
    ----------
    hmms : tuple of Hmm
    starts : int64[n + 1]
        Where the nodes of each model begin, its node 0 first.
    match : float32[N_CODES, N]
    transitions : float32[7, N]
    begin, occupancy : float32[N]
    composition : float32[n, K]
        All as in `LocalProfile`.
    travels_once : bool
        Whether workers of a cluster receive a shelf once and keep it for all of its models.
    """

    travels_once: ClassVar[bool] = True

    hmms: tuple[Hmm, ...]
    starts: Places
    match: Floats
    transitions: Floats
    begin: Floats
    occupancy: Floats
    composition: Floats

    def __len__(self) -> int:
        return len(self.hmms)

    def __getstate__(self) -> Json:
        """Return the parts that a copy is made of; the rest can be computed again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def alphabet(self) -> Alphabet:
        """The alphabet of all models."""
        return self.hmms[0].alphabet

    def nodes(self, place: int) -> slice:
        """Return where the nodes of a model stand, its node 0 included."""
        return slice(int(self.starts[place]), int(self.starts[place + 1]))

    @property
    def lengths(self) -> Places:
        """Number of nodes of each model (int64[n])."""
        return np.diff(self.starts) - 1

    def profile(self, place: int) -> LocalProfile:
        """Return the profile of a model, made of views."""
        nodes = self.nodes(place)
        return LocalProfile(
            hmm=self.hmms[place],
            match=self.match[:, nodes],
            transitions=self.transitions[:, nodes],
            begin=self.begin[nodes],
            occupancy=self.occupancy[nodes],
            background=background(self.alphabet),
            composition=self.composition[place],
            shelved=Shelved(self, place),
        )

    @cached_property
    def codes(self) -> list[int]:
        """The letter codes that can be matched; the other rows of all tables are the same for every model."""
        return [code for code, members in enumerate(members_of(self.alphabet)) if members]

    @cached_property
    def owner(self) -> Places:
        """The place of the model that each node belongs to (int64[N])."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def byte_scores(self) -> tuple[Bytes, Places, Places]:
        """Costs (uint8[N_CODES, N]), bias and cost of entry (int64[n]) of the 8-bit filters."""
        canonical = [code_of(letter) for letter in self.alphabet.canonical]
        highest = np.maximum.reduceat(self.match[canonical].max(axis=0), self.starts[:-1])
        bias = np.minimum(rounded(np.maximum(highest, np.float32(0)), BYTE_SCALE), 255)
        costs = np.full(self.match.shape, NEVER_BYTE, np.uint8)
        of_node = bias[self.owner]
        for code in self.codes:  # row by row: what is worked with fits into the processor's cache
            plain = -rounded(self.match[code], BYTE_SCALE)
            costs[code] = np.minimum(plain + of_node, NEVER_BYTE)
        m = self.lengths.astype(np.float32)
        entry = np.log(np.float32(2.0) / (m * (m + np.float32(1))))
        begin = np.minimum(-rounded(entry, BYTE_SCALE), 255)
        return costs, bias.astype(np.int64), begin.astype(np.int64)

    @cached_property
    def word_scores(self) -> WordScores:
        """The 16-bit scores of all nodes."""
        match = np.full(self.match.shape, words_of(np.array([-np.inf], np.float32))[0], np.int16)
        for code in self.codes:
            match[code] = words_of(self.match[code])
        highest = np.zeros((7, 1))
        highest[II] = -1
        transitions = np.minimum(words_of(self.transitions), highest).astype(np.int16)
        return WordScores(match, transitions, words_of(self.begin))

    @cached_property
    def odds(self) -> Odds:
        """The odds ratios of all nodes."""
        match = np.zeros_like(self.match)
        for code in self.codes:
            np.exp(self.match[code], out=match[code])
        return Odds(match, np.exp(self.transitions), np.exp(self.begin))

    @cached_property
    def composition_odds(self) -> Floats:
        """How much likelier each letter is in the composition than in the background (float32[n, N_CODES])."""
        ratios, null = np.ones((len(self), N_CODES), np.float32), background(self.alphabet)
        for code, chosen in enumerate(members_of(self.alphabet)):
            if chosen:
                # Each row is summed as it is alone, in memory of its own.
                ratios[:, code] = np.ascontiguousarray(self.composition[:, chosen]).sum(axis=1) / null[chosen].sum()
        return ratios


class Shelved(Struct, frozen=True, eq=False):
    """The shelf of a profile, and its place on it."""

    shelf: ProfileShelf
    place: int

    @property
    def nodes(self) -> slice:
        """The nodes of the profile in the arrays of the shelf."""
        return self.shelf.nodes(self.place)


class Shelves:
    """The profiles of a library, made shelf by shelf when one of its models is needed; for use by several threads.

    Parameters
    ----------
    hmms : sequence of Hmm
        Models of HMMER2 stand on no shelf, and those of different alphabets on different ones.
    compute_composition : bool
        As for `shelf_of`.

    Attributes
    ----------
    firsts : list of int
        The number of the first model of each shelf.
    """

    def __init__(self, hmms: Sequence[Hmm], compute_composition: bool = False) -> None:
        self._hmms, self._compute_composition = hmms, compute_composition
        self._kept: OrderedDict[int, ProfileShelf] = OrderedDict()
        # Devices that search at the same time are each at another shelf, and hold it.
        self._in_use: WeakValueDictionary[int, ProfileShelf] = WeakValueDictionary()
        self._making = Lock()
        self.firsts = [0]
        n_nodes = 0
        for place, hmm in enumerate(hmms):
            n_nodes += hmm.length + 1
            before = hmms[max(0, place - 1)]
            is_other = hmm.origin != before.origin or hmm.alphabet != before.alphabet
            if place > self.firsts[-1] and (n_nodes > MAX_NODES or place - self.firsts[-1] == MAX_MODELS or is_other):
                self.firsts.append(place)
                n_nodes = hmm.length + 1

    def profile(self, number: int) -> LocalProfile | None:
        """Return the profile of a model by its number; None for one of HMMER2."""
        if self._hmms[number].origin == "hmmer2":
            return None
        at = bisect.bisect_right(self.firsts, number) - 1
        first = self.firsts[at]
        with self._making:
            shelf = self._in_use.get(first)
            if shelf is None:
                end = self.firsts[at + 1] if at + 1 < len(self.firsts) else len(self._hmms)
                shelf = self._in_use[first] = shelf_of(self._hmms[first:end], self._compute_composition)
            self._kept[first] = shelf
            self._kept.move_to_end(first)
            while len(self._kept) > MAX_KEPT_SHELVES:
                self._kept.popitem(last=False)
        return shelf.profile(number - first)


def shelf_of(hmms: Sequence[Hmm], compute_composition: bool = False) -> ProfileShelf:
    """Return the search profiles of some HMMER3 models.

    Parameters
    ----------
    hmms : sequence of Hmm
        Of one alphabet.
    compute_composition : bool
        Compute the mean emissions where a file does not give them. Otherwise they are zero, as in HMMER: its bias
        filter then knows no composition but the background's, and costs every target about one nat less than the null
        model.
    """
    alphabet = hmms[0].alphabet
    null = background(alphabet)
    starts = np.concatenate([[0], np.cumsum([hmm.length + 1 for hmm in hmms])]).astype(np.int64)
    probabilities = np.concatenate([hmm.transitions for hmm in hmms])
    occupied = occupancy(probabilities, starts)
    with np.errstate(divide="ignore"):
        emissions = np.concatenate([hmm.match for hmm in hmms]).astype(np.float64)
        odds = np.log(emissions / null.astype(np.float64)).astype(np.float32)
        transitions = np.log(probabilities.astype(np.float64)).astype(np.float32).T.copy()
        begin = _begin(occupied, starts)
    transitions[:, starts[:-1]] = -np.inf
    transitions[:, starts[1:] - 1] = -np.inf
    begin[starts[:-1]] = -np.inf
    match = letter_scores(odds, null, alphabet)
    match[:, starts[:-1]] = -np.inf
    composition = np.stack([_composition(hmm, compute_composition) for hmm in hmms])
    return ProfileShelf(tuple(hmms), starts, match, transitions, begin, occupied, composition)


def to_local_profile(hmm: Hmm, compute_composition: bool = False) -> LocalProfile:
    """Return the search profile of one model; see `shelf_of`."""
    return shelf_of([hmm], compute_composition).profile(0)


def byte_scores(profile: LocalProfile) -> ByteScores:
    """Return the 8-bit scores of a profile, equal to HMMER's."""
    costs, bias, begin = profile.shelved.shelf.byte_scores
    place = profile.shelved.place
    return ByteScores(costs[:, profile.shelved.nodes], int(bias[place]), int(begin[place]))


def word_scores(profile: LocalProfile) -> WordScores:
    """Return the 16-bit scores of a profile, equal to HMMER's."""
    scores, nodes = profile.shelved.shelf.word_scores, profile.shelved.nodes
    return WordScores(scores.match[:, nodes], scores.transitions[:, nodes], scores.begin[nodes])


def odds(profile: LocalProfile) -> Odds:
    """Return the odds ratios of a profile."""
    odds, nodes = profile.shelved.shelf.odds, profile.shelved.nodes
    return Odds(odds.match[:, nodes], odds.transitions[:, nodes], odds.begin[nodes])


def composition_odds(profile: LocalProfile) -> Floats:
    """Return how much likelier each letter is in the model's composition than in the background (float32[N_CODES]).

    Letters that cannot be matched have 1.
    """
    ratios: Floats = profile.shelved.shelf.composition_odds[profile.shelved.place]
    return ratios


def mean_composition(hmm: Hmm) -> Floats:
    """Return the mean emissions over match and insert states by how often they are used (float32[K])."""
    t = hmm.transitions.astype(np.float64)
    occupied = occupancy(hmm.transitions, np.array([0, hmm.length + 1])).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        inserted = np.nan_to_num(t[:, MI] / t[:, IM], nan=0.0, posinf=0.0)
    inserted[1:] *= occupied[1:]
    total = occupied[1:] @ hmm.match[1:].astype(np.float64) + inserted @ hmm.insert.astype(np.float64)
    composition: Floats = (total / total.sum()).astype(np.float32)
    return composition


def _composition(hmm: Hmm, compute: bool) -> Floats:
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    if settings.composition is not None:
        return settings.composition
    return mean_composition(hmm) if compute else np.zeros(hmm.alphabet.size, np.float32)


def by_step(starts: Places, backward: bool = False) -> tuple[Places, Places, Places]:
    """Return how the nodes of models side by side are taken one after the other.

    Returns
    -------
    taken : int64[longest, n]
        The nodes of each model, node 0 first, or the last one first; short models go on with their last one.
    step, model : int64[N]
        Where each node stands there.
    """
    sizes = np.diff(starts)
    steps = np.minimum(np.arange(int(sizes.max()))[:, None], sizes - 1)
    taken = starts[1:] - 1 - steps if backward else starts[:-1] + steps
    model = np.repeat(np.arange(len(sizes)), sizes)
    along = np.arange(int(starts[-1])) - starts[model]
    return taken, (sizes[model] - 1 - along if backward else along), model


def occupancy(probabilities: Floats, starts: Places) -> Floats:
    """Return the probability that the match state of each node is visited, side by side (float32[N]; 0 at nodes 0)."""
    taken, step, model = by_step(starts)
    entered = (probabilities[:, MM] + probabilities[:, MI])[taken]
    resumed = probabilities[:, DM].astype(np.float64)[taken]
    occupied = np.zeros(taken.shape, np.float32)
    occupied[1] = entered[0]
    for k in range(2, len(taken)):
        before = occupied[k - 1]
        stay = before * entered[k - 1]
        occupied[k] = stay.astype(np.float64) + (1.0 - before.astype(np.float64)) * resumed[k - 1]
    return occupied[step, model]


def _begin(occupied: Floats, starts: Places) -> Floats:
    """Return the logarithms of the entry probabilities of all nodes."""
    taken, _, model = by_step(starts)
    sizes = np.diff(starts)
    left = np.maximum(sizes - np.arange(len(taken))[:, None], 0).astype(np.float32)
    weighted = occupied[taken] * left
    weighted[0] = 0
    total = np.cumsum(weighted, axis=0, dtype=np.float32)[-1]
    begin: Floats = np.log((occupied / total[model]).astype(np.float64)).astype(np.float32)
    return begin


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
    """Return Q, the number of vectors that hold this many nodes."""
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


def stripe(values: Floats) -> Floats:
    """Return the last axis, nodes 1 to M, as ``[..., Q, 4]``."""
    n_nodes = values.shape[-1]
    padded = np.zeros((*values.shape[:-1], n_vectors(n_nodes) * LANES), np.float32)
    padded[..., :n_nodes] = values
    return np.ascontiguousarray(padded.reshape(*values.shape[:-1], LANES, -1).swapaxes(-1, -2))


def striped_odds(profile: LocalProfile) -> StripedOdds:
    """Return the odds ratios of a profile, equal to HMMER's in every bit."""
    t = exponential(profile.transitions)
    entering = [stripe(t[step, :-1]) for step in (MM, IM, DM)]
    leaving = [stripe(t[step, 1:]) for step in (MD, MI, II, DD)]
    emissions = stripe(exponential(profile.match[:, 1:]))
    return StripedOdds(emissions, stripe(exponential(profile.begin[1:])), *entering, *leaving)
