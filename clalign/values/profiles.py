"""Profile HMMs: as probabilities, and as the integer scores that HMMER2 searches with.

`Hmm` is what a file says. `IntegerProfile` is the log-odds form with 1000 units to the bit, made by
`to_integer_profile` in exactly the order of float and double operations of HMMER 2.3.2, so that
every integer is the same as there.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field
from msgspec.structs import replace

from clalign.values.alphabets import N_CODES, Alphabet, code_of

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

MM, MI, MD, IM, II, DM, DD = range(7)
"""Columns of the transition tables: from state, to state."""

IMPOSSIBLE = -987654321
"""HMMER2's minus infinity; every score is clamped to it from below."""

INT_SCALE = 1000.0
"""Units to the bit."""

LOG2_E = 1.44269504
LN_2 = 0.69314718
"""HMMER2's eight-digit constants; more digits would change rounded scores."""

LOG_ZERO = -9999.0


class Cutoffs(Struct, frozen=True):
    """Curated score thresholds of a family in bits: for the sequence and for a domain, or None."""

    gathering: tuple[float, float] | None = None
    trusted: tuple[float, float] | None = None
    noise: tuple[float, float] | None = None


class Calibration(Struct, frozen=True):
    """Parameters of a score distribution.

    Attributes
    ----------
    kind : str
        ``gumbel`` or ``exponential``.
    location : float
        mu or tau, in bits.
    slope : float
        lambda, per bit.
    """

    kind: Literal["gumbel", "exponential"]
    location: float
    slope: float


class Hmmer2Settings(Struct, frozen=True):
    """Parameters of a HMMER2 file beyond the core model: null model, entry, exit and special states.

    Attributes
    ----------
    begin, end : float32[M + 1]
        Probability of B to M_k and of M_k to E.
    begin_to_delete : float
        Probability of B to D_1 (tbd1).
    special : float32[4, 2]
        MOVE and LOOP of the states N, E, C, J.
    null : float32[K]
        Null model emissions.
    null_loop : float32[2]
        Null model self transition p1 and 1 - p1 as read.
    """

    begin: Floats
    end: Floats
    begin_to_delete: np.float32
    special: Floats
    null: Floats
    null_loop: Floats


class Hmmer3Settings(Struct, frozen=True):
    """Parameters of a HMMER3 file beyond the core model: score statistics, mean composition, length limit.

    `version` is the letter of the file format, ``a`` to ``f``; `composition` is float32[K] or None.
    """

    version: str
    msv: Calibration | None
    viterbi: Calibration | None
    forward: Calibration | None
    composition: Floats | None
    max_length: int | None
    effective_n: float | None


class Hmm(Struct, frozen=True):
    """A profile HMM as probabilities.

    Attributes
    ----------
    name, accession, description : str
    alphabet : Alphabet
    match, insert : float32[M + 1, K]
        Emissions of node k in row k; row 0 belongs to the begin node.
    transitions : float32[M + 1, 7]
        M-M, M-I, M-D, I-M, I-I, D-M, D-D of each node.
    consensus : str
        Most probable residue of each node; upper case where it dominates.
    reference, structure : str
        The RF and CS annotation, one character a node; empty if the file has none.
    cutoffs : Cutoffs
    calibration : Calibration or None
        HMMER2's extreme value distribution.
    settings : Hmmer2Settings or Hmmer3Settings
    facts : dict
        Other header lines as text: date, number of sequences, checksum, commands.
    mask : str
        The MM annotation, one character a node; empty if the file has none.
    columns : int32[M] or None
        The column of the alignment, from 1, that each node was made of.
    """

    name: str
    accession: str
    description: str
    alphabet: Alphabet
    match: Floats
    insert: Floats
    transitions: Floats
    consensus: str
    reference: str
    structure: str
    cutoffs: Cutoffs
    calibration: Calibration | None
    settings: Hmmer2Settings | Hmmer3Settings
    facts: dict[str, str] = field(default_factory=dict)
    mask: str = ""
    columns: Ints | None = None

    def __repr__(self) -> str:
        return f"<Hmm {self.name}: {self.length} nodes, {self.alphabet.name}, {self.origin}>"

    @property
    def length(self) -> int:
        """Number of nodes, M."""
        return len(self.match) - 1

    @property
    def origin(self) -> Literal["hmmer2", "hmmer3"]:
        """The program family whose scores this model has."""
        return "hmmer2" if isinstance(self.settings, Hmmer2Settings) else "hmmer3"

    @property
    def is_calibrated(self) -> bool:
        """Whether E-values can be computed from the file alone."""
        if isinstance(self.settings, Hmmer3Settings):
            return self.settings.forward is not None
        return self.calibration is not None


def consensus_of(match: Floats, alphabet: Alphabet) -> str:
    """Return the most probable residue of each node, upper case from 0.5 (protein) or 0.9 (DNA) on."""
    dominant = 0.9 if alphabet.is_nucleic else 0.5
    best = match[1:].argmax(axis=1)
    letters = [
        alphabet.canonical[x] if row[x] >= dominant else alphabet.canonical[x].lower()
        for row, x in zip(match[1:], best, strict=True)
    ]
    return "".join(letters)


class SpecialScores(Struct, frozen=True):
    """Scores of the special states' two transitions, on to the next state or round again."""

    n_move: int
    n_loop: int
    e_move: int
    e_loop: int
    c_move: int
    c_loop: int
    j_move: int
    j_loop: int


class IntegerProfile(Struct, frozen=True, weakref=True):
    """HMMER2's log-odds scores, 1000 units to the bit; `IMPOSSIBLE` is minus infinity.

    Attributes
    ----------
    hmm : Hmm
        The model after HMMER2's renormalization; null2 needs its probabilities.
    match, insert : int32[N_CODES, M + 1]
        Emission scores by letter code and node; column 0 is unused.
    transitions : int32[7, M + 1]
        From node k to node k or k + 1; columns 0 and M are impossible.
    begin, end : int32[M + 1]
        B to M_k and M_k to E with the delete wings folded in.
    begin_unfolded, end_unfolded : int32[M + 1]
        The same without them; a trace whose end is that much dearer went through the wing.
    begin_to_delete : int
        B to D_1.
    special : SpecialScores
    """

    hmm: Hmm
    match: Ints
    insert: Ints
    transitions: Ints
    begin: Ints
    end: Ints
    begin_unfolded: Ints
    end_unfolded: Ints
    begin_to_delete: int
    special: SpecialScores

    @property
    def length(self) -> int:
        """Number of nodes, M."""
        return int(self.match.shape[1]) - 1

    @property
    def settings(self) -> Hmmer2Settings:
        """The HMMER2 settings of the model."""
        assert isinstance(self.hmm.settings, Hmmer2Settings)
        return self.hmm.settings


_log: np.ufunc = np.frompyfunc(lambda x: math.log(x) if x > 0 else math.nan, 1, 1)


def _log2(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return log2 as HMMER2 computes it: the C library's log times `LOG2_E`; -9999 for zero."""
    given = np.asarray(values, np.float64)
    logs = np.asarray(_log(given), np.float64) * LOG2_E
    return np.where(given > 0, logs, LOG_ZERO)


def _natural_log(value: np.float32) -> float:
    return math.log(value) if value > 0 else LOG_ZERO


def score_of(probability: npt.ArrayLike, null: npt.ArrayLike) -> Ints:
    """Return 1000 log2(p / r), rounded half up; `IMPOSSIBLE` where p is 0. The quotient is a float32."""
    p = np.asarray(probability, np.float32)
    return _rounded(p, _log2(p / np.asarray(null, np.float32)))


def _rounded(probability: Floats, log_odds: npt.NDArray[np.float64]) -> Ints:
    scores = np.floor(0.5 + INT_SCALE * log_odds).astype(np.int32)
    return np.where(probability == 0, np.int32(IMPOSSIBLE), scores)


def _running_sum(values: Floats) -> np.float32:
    """Return the sum in float32, term by term in order (numpy's own sum adds pairwise)."""
    return np.float32(np.add.accumulate(values, dtype=np.float32)[-1])


def _normalized(values: Floats) -> Floats:
    total = _running_sum(values)
    if total == 0:
        return np.full_like(values, np.float32(1.0 / len(values)))
    return (values / total).astype(np.float32)


def renormalize(hmm: Hmm) -> Hmm:
    """Return the model with all its distributions summing to one, in HMMER2's float32 arithmetic."""
    settings = hmm.settings
    assert isinstance(settings, Hmmer2Settings)
    m = hmm.length
    match, insert, transitions = hmm.match.copy(), hmm.insert.copy(), hmm.transitions.copy()
    begin, end = settings.begin.copy(), settings.end.copy()
    for k in range(1, m + 1):
        match[k] = _normalized(match[k])
    total = np.float32(_running_sum(begin[1:]) + settings.begin_to_delete)
    begin[1:] *= np.float32(1.0 / float(total))
    begin_to_delete = np.float32(settings.begin_to_delete / total)
    for k in range(1, m):
        insert[k] = _normalized(insert[k])
        total = np.float32(_running_sum(transitions[k, :3]) + end[k])
        transitions[k, :3] *= np.float32(1.0 / float(total))
        end[k] = np.float32(end[k] / total)
        transitions[k, IM : II + 1] = _normalized(transitions[k, IM : II + 1])
        transitions[k, DM : DD + 1] = _normalized(transitions[k, DM : DD + 1])
    normal = Hmmer2Settings(
        begin=begin,
        end=end,
        begin_to_delete=begin_to_delete,
        special=np.stack([_normalized(pair) for pair in settings.special]),
        null=_normalized(settings.null),
        null_loop=_normalized(settings.null_loop),
    )
    # A residue close to the limit may change its case; HMMER2 shows the consensus of the normalized model.
    consensus = consensus_of(match, hmm.alphabet)
    return replace(hmm, match=match, insert=insert, transitions=transitions, consensus=consensus, settings=normal)


def hmmer2_members(alphabet: Alphabet) -> list[str]:
    """Return the canonical residues that each letter code stands for in HMMER2.

    HMMER2 takes selenocysteine for serine, knows no ``J`` or ``O``, and makes ``X`` of everything it
    does not know, gap characters and ``*`` included.
    """
    if alphabet.is_nucleic:
        known = {**alphabet.degenerate, **{x: x for x in alphabet.canonical}, "U": "T", "T": "T"}
        known = {letter: members.replace("U", "T") for letter, members in known.items()}
        everything = "ACGT"
    else:
        known = {"U": "S", "B": "ND", "Z": "QE", **{x: x for x in alphabet.canonical}}
        everything = alphabet.canonical
    members = [everything] * N_CODES
    for letter, stands_for in known.items():
        members[code_of(letter)] = stands_for
    return members


def residue_scores(probabilities: Floats, null: Floats, alphabet: Alphabet) -> Ints:
    """Return the scores of every letter code in emission distributions.

    Parameters
    ----------
    probabilities : float32[n, K]
    null : float32[K]
    alphabet : Alphabet

    Returns
    -------
    int32[N_CODES, n]
        Ambiguous letters have their expected score under the null model, *truncated* toward zero as
        in HMMER2, so even a letter with one meaning may differ by a unit.
    """
    canonical = alphabet.canonical.replace("U", "T") if alphabet.is_nucleic else alphabet.canonical
    log_odds = _log2(probabilities / null[None, :])
    exact = _rounded(probabilities, log_odds)
    scores = np.empty((N_CODES, len(probabilities)), np.int32)
    for code, members in enumerate(hmmer2_members(alphabet)):
        chosen = [x for x in range(alphabet.size) if canonical[x] in members]
        if len(members) == 1 and code == code_of(members):
            scores[code] = exact[:, chosen[0]]
            continue
        expected = np.zeros(len(probabilities), np.float32)
        weight = np.float32(0)
        for x in chosen:
            expected = (expected + np.float64(null[x]) * log_odds[:, x]).astype(np.float32)
            weight = np.float32(weight + null[x])
        scores[code] = np.trunc(INT_SCALE * expected.astype(np.float64) / np.float64(weight))
    return scores


def _folded_begin(hmm: Hmm, settings: Hmmer2Settings, p1: np.float32) -> Ints:
    """Return B to M_k, the better of the direct step and the way through D_1 ... D_k-1."""
    scores = np.full(hmm.length + 1, IMPOSSIBLE, np.int32)
    wing = np.float32(_natural_log(settings.begin_to_delete))
    for k in range(1, hmm.length + 1):
        best = np.float32(_natural_log(settings.begin[k]))
        if k > 1 and wing > LOG_ZERO:
            d_m, d_d = hmm.transitions[k - 1, DM], hmm.transitions[k - 1, DD]
            if d_m > 0:
                best = max(best, np.float32(float(wing) + math.log(d_m)))
            wing = np.float32(float(wing) + math.log(d_d)) if d_d > 0 else np.float32(LOG_ZERO)
        if best > LOG_ZERO:
            scores[k] = math.floor(0.5 + INT_SCALE * LOG2_E * (float(best) - math.log(p1)))
    return scores


def _folded_end(hmm: Hmm, settings: Hmmer2Settings) -> Ints:
    """Return M_k to E, the better of the direct step and the way through D_k+1 ... D_M."""
    scores = np.full(hmm.length + 1, IMPOSSIBLE, np.int32)
    scores[hmm.length] = 0
    wing = np.float32(0)
    for k in range(hmm.length - 1, 0, -1):
        best = np.float32(_natural_log(settings.end[k]))
        if wing > LOG_ZERO:
            m_d, d_d = hmm.transitions[k, MD], hmm.transitions[k, DD]
            if m_d > 0:
                best = max(best, np.float32(float(wing) + math.log(m_d)))
            wing = np.float32(float(wing) + math.log(d_d)) if d_d > 0 else np.float32(LOG_ZERO)
        if best > LOG_ZERO:
            scores[k] = math.floor(0.5 + INT_SCALE * LOG2_E * float(best))
    return scores


def _special_scores(special: Floats, p1: np.float32) -> SpecialScores:
    (n_move, n_loop), (e_move, e_loop), (c_move, c_loop), (j_move, j_loop) = special
    one = np.float32(1.0)
    return SpecialScores(
        n_move=int(score_of(n_move, one)),
        n_loop=int(score_of(n_loop, p1)),
        e_move=int(score_of(e_move, one)),
        e_loop=int(score_of(e_loop, one)),
        c_move=int(score_of(c_move, np.float32(1.0 - float(p1)))),
        c_loop=int(score_of(c_loop, p1)),
        j_move=int(score_of(j_move, one)),
        j_loop=int(score_of(j_loop, p1)),
    )


def to_integer_profile(hmm: Hmm) -> IntegerProfile:
    """Return the integer scores of a HMMER2 model, equal to those HMMER 2.3.2 computes.

    Parameters
    ----------
    hmm : Hmm
        As read from a HMMER2 file, not renormalized.

    References
    ----------
    HMMER 2.3.2 user's guide; the integer form of Plan7 described there and its rounding.
    """
    hmm = renormalize(hmm)
    settings = hmm.settings
    assert isinstance(settings, Hmmer2Settings)
    m = hmm.length
    p1 = settings.null_loop[0]
    match = residue_scores(hmm.match, settings.null, hmm.alphabet)
    insert = residue_scores(hmm.insert, settings.null, hmm.alphabet)
    match[:, 0] = IMPOSSIBLE
    insert[:, [0, m]] = IMPOSSIBLE
    reference = np.array([p1, p1, 1, p1, p1, p1, 1], np.float32)
    transitions = np.full((7, m + 1), IMPOSSIBLE, np.int32)
    transitions[:, 1:m] = score_of(hmm.transitions[1:m], reference[None, :]).T
    return IntegerProfile(
        hmm=hmm,
        match=match,
        insert=insert,
        transitions=transitions,
        begin=_folded_begin(hmm, settings, p1),
        end=_folded_end(hmm, settings),
        begin_unfolded=score_of(settings.begin, p1),
        end_unfolded=score_of(settings.end, np.float32(1.0)),
        begin_to_delete=int(score_of(settings.begin_to_delete, np.float32(1.0))),
        special=_special_scores(settings.special, p1),
    )
