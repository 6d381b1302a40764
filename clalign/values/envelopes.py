"""Where a HMMER3 profile lies in a target: envelopes, their scores and their alignments."""

from __future__ import annotations

import math
import secrets

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.alignments import DomainPath
from clalign.values.alphabets import Alphabet
from clalign.values.hits import DomainEstimates
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch

N_SAMPLES = 200
"""Random tracebacks through a region that may hold several domains."""

WORD = 2**32
"""The generator of random numbers computes modulo this."""


class Envelope(Struct, frozen=True, gc=False):
    """A part of a target that holds one domain. Scores in nats.

    Attributes
    ----------
    first, last : int
        The part of the target, 0-based, half open.
    score : float
        Forward score of the part with the single-hit profile.
    correction : float
        Sum of the null2 scores over the part.
    expected_correct : float
        Expected number of correctly aligned residues of the optimal accuracy alignment.
    path : DomainPath
        That alignment, from its first to its last match state.
    posterior : str
        For each step of the path how sure it is: ``0`` to ``9``, ``*`` from 0.95 on; ``.`` at deletes.
    """

    first: int
    last: int
    score: float
    correction: float
    expected_correct: float
    path: DomainPath
    posterior: str

    @property
    def accuracy(self) -> float:
        """Expected share of the residues that are aligned correctly."""
        return self.expected_correct / (self.last - self.first)


class TargetDomains(DomainEstimates, frozen=True, gc=False):
    """The domains of a target by its posterior probabilities.

    Attributes
    ----------
    correction : float
        Sum of the null2 scores over the whole target, in nats.
    envelopes : tuple of Envelope
        In the order of the target.
    forward : float
        Forward score of the target in nats, equal to HMMER's in every bit.
    """

    correction: float
    envelopes: tuple[Envelope, ...]
    forward: float = math.nan


class RowProfiles(Struct, frozen=True, eq=False, weakref=True):
    """The profile that each row of a batch goes with.

    Attributes
    ----------
    profiles : tuple of LocalProfile
        All of one alphabet.
    of_row : int32[n]
        Which of them.
    """

    profiles: tuple[LocalProfile, ...]
    of_row: npt.NDArray[np.int32]

    @classmethod
    def alone(cls, profile: LocalProfile, n: int) -> RowProfiles:
        """Return one profile for all of `n` rows."""
        return cls((profile,), np.zeros(n, np.int32))

    def __getitem__(self, row: int) -> LocalProfile:
        return self.profiles[int(self.of_row[row])]

    @property
    def alphabet(self) -> Alphabet:
        """The alphabet of all profiles."""
        return self.profiles[0].hmm.alphabet

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Nodes of each profile (int32[n_profiles])."""
        return np.array([profile.length for profile in self.profiles], np.int32)


class Parts(Struct, frozen=True, eq=False, weakref=True):
    """Parts of the sequences of a batch.

    Attributes
    ----------
    batch : SequenceBatch
    rows : int32[n]
        Row of the batch that each part belongs to.
    first, last : int32[n]
        The part of its sequence (0-based, half open).
    """

    batch: SequenceBatch
    rows: npt.NDArray[np.int32]
    first: npt.NDArray[np.int32]
    last: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Residues of each part (int32[n])."""
        return self.last - self.first

    def codes(self, part: int) -> npt.NDArray[np.uint8]:
        """Return the letter codes of a part."""
        return self.batch.residues(int(self.rows[part]))[int(self.first[part]) : int(self.last[part])]

    def select(self, chosen: npt.NDArray[np.int32]) -> Parts:
        """Return chosen parts."""
        return Parts(self.batch, self.rows[chosen], self.first[chosen], self.last[chosen])


class Region(Struct, frozen=True, gc=False):
    """A stretch of a target (0-based, half open), and whether it may hold several domains."""

    first: int
    last: int
    is_multiple: bool


class Decoded(Struct, frozen=True, gc=False):
    """The regions of a target by its posterior probabilities.

    Attributes
    ----------
    forward : float
        Forward score in nats.
    expected : float
        Expected number of domains; not a number where single precision does not hold the probabilities.
    regions : tuple of Region
    """

    forward: float
    expected: float
    regions: tuple[Region, ...]


class Rescored(Struct, frozen=True, gc=False):
    """The score and the alignment of an envelope.

    Attributes
    ----------
    score : float
        Forward score in nats with the single-hit profile.
    ratios : float32[N_CODES]
        How much likelier each letter is in the composition of the envelope than in the background.
    expected_correct : float
        Sum of the posterior probabilities of the alignment.
    path : DomainPath
        From the first to the last match state; residues are those of the target.
    posterior : str
        A digit for each step, see `Envelope`; empty with `certainty`.
    certainty : float32[n] or None
        Posterior probability of each residue in the state that the alignment gives it, outside the model, too; only of
        alignments of whole sequences.
    """

    score: float
    ratios: npt.NDArray[np.float32]
    expected_correct: float
    path: DomainPath
    posterior: str
    certainty: npt.NDArray[np.float32] | None = None


class Resolved(Struct, frozen=True, gc=False):
    """The envelopes of a region by its sampled tracebacks.

    Attributes
    ----------
    envelopes : tuple of (int, int)
        First residue of the target and one past the last, in their order.
    null2 : float32[Lr]
        Score of each residue of the region in nats.
    """

    envelopes: tuple[tuple[int, int], ...]
    null2: npt.NDArray[np.float32]


def generator_start(seed: int) -> int:
    """Return the generator's first state for a seed; 0 stands for a random one."""
    if seed == 0:
        return secrets.randbelow(WORD - 1) + 1
    a, b, c = seed % WORD, 87654321, 12345678
    for p, q, r in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = (a - b - c) % WORD ^ c >> p
        b = ((b - c - a) % WORD ^ a << q) % WORD
        c = (c - a - b) % WORD ^ b >> r
    return c or 42
