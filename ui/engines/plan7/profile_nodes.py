"""A profile and its nodes as text: transitions, favored and disfavored residues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.common.plain_data import Json
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import InputError
from clalign.formats.profiles import read_profiles
from clalign.jobs import JobContext, QuietContext
from clalign.runs.inputs import input_of
from clalign.runs.run_file import open_run
from clalign.values.documents import Card
from clalign.values.profile_logo import ProfileLogo, core_transitions, profile_logo
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM, Hmm, Hmmer3Settings

from ... import formatting

MAX_DISFAVORED = 200
"""Residues in the list of those that a model disfavors most."""


@dataclass(frozen=True, slots=True)
class ShownProfile:
    """A profile with the data of its logo.

    Attributes
    ----------
    steps : float64[M + 1, 7]
        Transitions of the core model.
    """

    hmm: Hmm
    logo: ProfileLogo
    steps: npt.NDArray[np.float64]


def shown_profile(hmm: Hmm) -> ShownProfile:
    """Return a profile with the data of its logo."""
    return ShownProfile(hmm, profile_logo(hmm), core_transitions(hmm))


def read_profile(path: str, number: int, card: Card, context: JobContext | None = None) -> ShownProfile:
    """Read one profile of a file.

    Parameters
    ----------
    number : int
        Its place in the file, from 0.
    card : dict
        What was known of it; the file may be another one by now.
    context : JobContext, optional
        Can cancel the read.

    Raises
    ------
    InputError
        If it is unreadable or missing.
    """
    check = (context or QuietContext()).check
    hmm = next((found for place, found in enumerate(read_profiles(path)) if check() or place == number), None)
    if hmm is None or (hmm.name, hmm.length) != (card["name"], card["length"]):
        raise InputError(
            path,
            f"the profile {card['name']} with {card['length']} nodes is no longer where it was.",
            "Open the file that was searched with.",
        )
    return shown_profile(hmm)


def read_run_profile(run: Path, number: int, card: Card, context: JobContext) -> ShownProfile:
    """Read a profile of a run from its present place if its file is unchanged; one of a sequence is made again.

    Raises
    ------
    ClalignError
        As of `input_of` and `read_profile`.
    """
    from clalign.engines.plan7.exports.rounds import given_profiles
    from clalign.engines.plan7.round_of_run import RoundOfRun

    with open_run(run) as file:
        spec = file.spec(SearchSpec)
        if spec.has_rounds:
            return shown_profile(RoundOfRun(file, number).profile())
        if spec.makes_profiles:
            return shown_profile(given_profiles(file, spec, context)[number])
        path = input_of(file, "profiles", context)
    return read_profile(path, number, card, context)


def node_title(profile: ShownProfile, node: int) -> str:
    """Return the heading of a node, which is counted from 1."""
    hmm = profile.hmm
    parts = [f"Node {formatting.count(node)} of {formatting.count(hmm.length)}", f"consensus {hmm.consensus[node - 1]}"]
    if hmm.structure:
        parts.append(f"structure {hmm.structure[node - 1]}")
    if hmm.reference:
        parts.append(f"reference {hmm.reference[node - 1]}")
    return " · ".join(parts)


def node_line(profile: ShownProfile, node: int) -> str:
    """Return a node and its favored residues in one line."""
    rows = sorted(emissions(profile, node), key=lambda row: -row[1])[:3]
    shares = ", ".join(f"{letter} {_percent(share)}" for letter, share, _, _ in rows)
    return f"Node {formatting.count(node)}: {shares} · information {profile.logo.information[node - 1]:.2f} bits"


def node_facts(profile: ShownProfile, node: int) -> list[tuple[str, str]]:
    """Return names and values of a node: information, occupancy, favored and disfavored residues."""
    logo, row = profile.logo, node - 1
    order = np.argsort(-logo.scores[row])
    scored = [(logo.letters[x], float(logo.scores[row, x]), float(logo.probabilities[row, x])) for x in order]
    most = [f"{letter} {bits:+.1f} ({_percent(share)})" for letter, bits, share in scored[:4] if bits > 0]
    least = [f"{letter} {_bits(bits)}" for letter, bits, _ in reversed(scored[-4:])]
    return [
        ("Information", f"{logo.information[row]:.2f} bits"),
        ("Occupancy", f"{_percent(logo.occupancy[row])} of the sequences have a residue here"),
        ("Most favored", ", ".join(most) or "none in particular"),
        ("Least favored", ", ".join(least) + " bits"),
    ]


def lane_sentences(profile: ShownProfile, node: int) -> list[str]:
    """Return the transitions from the match, the insert and the delete state of a node as sentences."""
    if node == profile.hmm.length:
        return ["The last node: after a match or a deletion the profile ends."]
    t = profile.steps[node]
    match = (
        f"After a match here, {_percent(t[MM])} go on to the next node, {_percent(t[MI])} insert residues "
        f"first, and {_percent(t[MD])} skip the next node."
    )
    insert = (
        f"An insertion continues with {_percent(t[II])} after each residue: "
        f"{profile.logo.insert_length[node - 1]:.1f} residues on average."
    )
    delete = (
        f"Of those that skip this node, {_percent(t[DM])} match the next one and {_percent(t[DD])} skip that, too."
        if t[DM] + t[DD] > 0
        else "This node cannot be skipped."
    )
    return [match, insert, delete]


def lane_steps(profile: ShownProfile, node: int) -> dict[str, float]:
    """Return the seven transitions of a node by the letters of their states; none at the last node."""
    if node == profile.hmm.length:
        return {}
    columns = {"MM": MM, "MI": MI, "MD": MD, "IM": IM, "II": II, "DM": DM, "DD": DD}
    return {name: float(profile.steps[node, column]) for name, column in columns.items()}


def emissions(profile: ShownProfile, node: int) -> list[tuple[str, float, float, float]]:
    """Return letter, probability, background and score of every residue at a node."""
    logo, row = profile.logo, node - 1
    return [
        (letter, float(logo.probabilities[row, x]), float(logo.background[x]), float(logo.scores[row, x]))
        for x, letter in enumerate(logo.letters)
    ]


def disfavored_residues(profile: ShownProfile, most: int = MAX_DISFAVORED) -> list[Json]:
    """Return the residues with the largest loss of bits against the best one of their node."""
    logo, hmm = profile.logo, profile.hmm
    best = logo.scores.max(axis=1, keepdims=True)
    costs = best - logo.scores
    rows = []
    for row, x in zip(*np.unravel_index(np.argsort(-costs, axis=None)[:most], costs.shape), strict=True):
        what = f"{logo.letters[x]} in place of {hmm.consensus[row].upper()}"
        bits = float(logo.scores[row, x])
        rows.append({"node": int(row) + 1, "what": what, "bits": bits, "cost": float(costs[row, x])})
    return rows


def statistics_words(hmm: Hmm) -> list[tuple[str, str]]:
    """Return the calibration of a profile: names and values."""
    settings = hmm.settings
    if isinstance(settings, Hmmer3Settings):
        entries = (("MSV", settings.msv), ("Viterbi", settings.viterbi), ("Forward", settings.forward))
        return [
            (f"{name} scores", formatting.curve("mu" if name != "Forward" else "tau", c.location, c.slope))
            for name, c in entries
            if c is not None
        ]
    if hmm.calibration is None:
        return [("Scores", "not calibrated: E-values are rough (upper bounds)")]
    return [("Scores", formatting.curve("mu", hmm.calibration.location, hmm.calibration.slope))]


def _percent(share: float) -> str:
    value = 100.0 * share
    if 0 < value < 0.1:
        return f"less than 0.1{formatting.THIN}%"
    return f"{value:.1f}{formatting.THIN}%" if 0 < value < 99.95 else f"{value:.0f}{formatting.THIN}%"


def _bits(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−") if np.isfinite(value) else "impossible"
