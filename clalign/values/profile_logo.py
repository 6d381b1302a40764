"""The numbers that a logo of a profile shows: letter heights, occupancy, insertions."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.local_scores import background
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM, Hmm, Hmmer2Settings

Doubles = npt.NDArray[np.float64]

HeightMode = Literal["information", "probability", "score"]

HEIGHT_MODES: dict[HeightMode, str] = {
    "information": "Information content, letters above background",
    "probability": "Information content, all letters",
    "score": "Score",
}
"""Meanings of the height of a letter."""


ROWS_AT_ONCE = 2000
"""Rows of an alignment that are counted at once."""


class ProfileLogo(Struct, frozen=True):
    """A profile node by node; row k - 1 of each array belongs to node k.

    Attributes
    ----------
    letters : str
        The K residues, in the order of the columns.
    probabilities : float64[M, K]
        Match emissions p, each row summing to one.
    background : float64[K]
        Residue frequencies q of the null model.
    scores : float64[M, K]
        log2(p / q) in bits; minus infinity where p is 0.
    information : float64[M]
        Relative entropy of each node: the sum of p log2(p / q), in bits.
    occupancy : float64[M]
        Probability that a sequence has a residue at the node, entering at the first node.
    insert_probability : float64[M]
        Probability of residues between the node and the next one, once it is occupied; 0 at the last.
    insert_length : float64[M]
        Expected number of these residues, 1 / (1 - p(I to I)), where there are any; 0 at the last node.
    """

    letters: str
    probabilities: Doubles
    background: Doubles
    scores: Doubles
    information: Doubles
    occupancy: Doubles
    insert_probability: Doubles
    insert_length: Doubles

    @property
    def length(self) -> int:
        """Number of nodes, M."""
        return len(self.information)

    def heights(self, mode: HeightMode) -> Doubles:
        """Return the height of every letter in bits (float64[M, K]).

        Parameters
        ----------
        mode : str
            ``information``: the node's information, shared among the residues that are more frequent
            than in the background, by their probability. ``probability``: the same, shared among all
            residues. ``score``: the log-odds score, which may be negative; a residue that cannot
            occur has the height 0.
        """
        if mode == "score":
            return np.where(np.isfinite(self.scores), self.scores, 0.0)
        shares = self.probabilities
        if mode == "information":
            above = np.where(self.scores > 0, self.probabilities, 0.0)
            total = above.sum(axis=1, keepdims=True)
            shares = np.divide(above, total, out=np.zeros_like(above), where=total > 0)
        heights: Doubles = shares * np.maximum(self.information, 0.0)[:, None]
        return heights


def profile_logo(hmm: Hmm) -> ProfileLogo:
    """Return the numbers that the logo of a HMMER2 or HMMER3 profile shows.

    References
    ----------
    Schneider and Stephens, Nucleic Acids Res. 18, 6097 (1990): letter heights by information.
    Schuster-Boeckler, Schultz and Rahmann, BMC Bioinformatics 5, 7 (2004): logos of profile HMMs.
    Wheeler, Clements and Finn, BMC Bioinformatics 15, 7 (2014): heights above background, occupancy
    and insertions as rows.
    """
    null = background_of(hmm)
    probabilities = _rows(hmm.match[1:])
    with np.errstate(divide="ignore"):
        scores = np.log2(probabilities / null)
    terms = np.multiply(probabilities, scores, out=np.zeros_like(scores), where=probabilities > 0)
    steps = core_transitions(hmm)
    insert_probability, insert_length = steps[1:, MI].copy(), 1.0 / np.maximum(1.0 - steps[1:, II], 1e-9)
    insert_probability[-1] = insert_length[-1] = 0.0
    return ProfileLogo(
        letters=hmm.alphabet.canonical,
        probabilities=probabilities,
        background=null,
        scores=scores,
        information=terms.sum(axis=1),
        occupancy=_occupancy(steps, _first_occupancy(hmm)),
        insert_probability=insert_probability,
        insert_length=insert_length,
    )


def logo_of_rows(cells: npt.NDArray[np.uint8], like: ProfileLogo) -> ProfileLogo:
    """Return the logo of sequences that are aligned to a profile, node by node.

    Parameters
    ----------
    cells : uint8[n_rows, n_columns]
        As A2M writes them: at nodes upper case or ``-``, between them lower case or ``.``.
    like : ProfileLogo
        Of the profile, whose letters and background it has. One residue of the background is added to each node.

    Returns
    -------
    ProfileLogo
        Without insertions.
    """
    first = cells[0] if len(cells) else np.zeros(0, np.uint8)
    matches = np.flatnonzero((first == ord("-")) | ((first >= ord("A")) & (first <= ord("Z"))))
    counts = np.zeros((len(matches), len(like.letters)))
    for some in range(0, len(cells), ROWS_AT_ONCE):
        block = cells[some : some + ROWS_AT_ONCE][:, matches]
        for place, letter in enumerate(like.letters):
            counts[:, place] += np.count_nonzero(block == ord(letter), axis=0)
    probabilities = _rows(counts + like.background)
    scores = np.log2(probabilities / like.background)
    none = np.zeros(len(matches))
    occupancy = counts.sum(axis=1) / max(1, len(cells))
    information = (probabilities * scores).sum(axis=1)
    return ProfileLogo(like.letters, probabilities, like.background, scores, information, occupancy, none, none)


def background_of(hmm: Hmm) -> Doubles:
    """Return the residue frequencies of a profile's null model (float64[K])."""
    settings = hmm.settings
    null = settings.null if isinstance(settings, Hmmer2Settings) else background(hmm.alphabet)
    frequencies: Doubles = _rows(null[None, :])[0]
    return frequencies


def core_transitions(hmm: Hmm) -> Doubles:
    """Return the transitions within the core model, each state's summing to one (float64[M + 1, 7]).

    HMMER2's direct way from a match to the end is left out, so that what is left has the same
    meaning for both kinds of profiles.
    """
    steps = hmm.transitions.astype(np.float64)
    for first, last in ((MM, MD), (IM, II), (DM, DD)):
        steps[:, first : last + 1] = _rows(steps[:, first : last + 1])
    return steps


def _first_occupancy(hmm: Hmm) -> float:
    settings = hmm.settings
    if isinstance(settings, Hmmer2Settings):
        return 1.0 - float(settings.begin_to_delete)
    return float(hmm.transitions[0, MM]) + float(hmm.transitions[0, MI])


def _occupancy(steps: Doubles, first: float) -> Doubles:
    occupied = np.empty(len(steps) - 1)
    occupied[0] = first
    for k in range(1, len(occupied)):
        before = occupied[k - 1]
        occupied[k] = before * (steps[k, MM] + steps[k, MI]) + (1.0 - before) * steps[k, DM]
    return occupied


def _rows(values: npt.NDArray[np.floating]) -> Doubles:
    """Return rows that sum to one; rows of zeros stay as they are."""
    wide = values.astype(np.float64)
    total = wide.sum(axis=-1, keepdims=True)
    rows: Doubles = np.divide(wide, total, out=np.zeros_like(wide), where=total > 0)
    return rows
