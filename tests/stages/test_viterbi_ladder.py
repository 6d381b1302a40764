"""The ladder's kernel equals the reference, whatever is chosen on its axes."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.compute.opencl.kernels import assemble
from clalign.compute.sessions import Session
from clalign.stages.plan7 import viterbi_ladder
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_ladder import AXES, BASIC, LadderChoices, ViterbiLadderStage, global_bytes
from clalign.values.profiles import IntegerProfile, to_integer_profile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_hmm, random_profile

GROUP = 32
"""Kept small here, so that few sequences fill several work-groups."""

EACH_CHOICE = [(axis, choice) for axis, choices in AXES.items() for choice in choices[1:]]


Scores = npt.NDArray[np.int32]


def differing(
    choices: LadderChoices,
    session: Session,
    batch: SequenceBatch,
    profile: IntegerProfile,
    expected: Scores | None = None,
) -> int:
    if expected is None:
        expected = VITERBI.reference(batch, profile).values
    return int((session.run(ViterbiLadderStage(choices), batch, profile).values != expected).sum())


def every_axis(session: Session, batch: SequenceBatch, profile: IntegerProfile) -> None:
    """Compare the basic choices, and two combinations that hold something else on every axis."""
    memory = {"rows": "padded", "transitions": "local", "specials": "replicated", "emissions": "local"}
    rest = {"scheduling": "on", "unroll": 4, "sequences": "packed", "copies": "overlapped", "granularity": "medium"}
    rest["first_row"] = "of-item"
    other = {"rows": "private", "transitions": "constant", "specials": "local", "emissions": "transposed"}
    combined = LadderChoices(**memory, **rest, rows_per_launch=7, group=GROUP)  # type: ignore[arg-type]
    private = LadderChoices(**other, sequences="padded", unroll=2, group=GROUP)  # type: ignore[arg-type]
    expected = VITERBI.reference(batch, profile).values
    for choices in (BASIC, combined, private):
        assert differing(choices, session, batch, profile, expected) == 0, choices.changed()


@pytest.mark.thorough
@pytest.mark.parametrize(("axis", "choice"), EACH_CHOICE, ids=lambda value: str(value))
def test_each_choice_alone(session: Session, axis: str, choice: str | int) -> None:
    rng = np.random.default_rng(1)
    changed: dict[str, str | int] = {axis: choice, "group": GROUP, "rows_per_launch": 9}
    profile = random_profile(rng, 11)
    batch = random_batch(rng, profile, 70, 30)
    assert differing(LadderChoices(**changed), session, batch, profile) == 0  # type: ignore[arg-type]


@pytest.mark.thorough
@given(
    choices=st.fixed_dictionaries({axis: st.sampled_from(choices) for axis, choices in AXES.items()}),
    group=st.sampled_from([1, 3, 31, 33, 64, 100]),
    rows_per_launch=st.integers(1, 40),
    n_nodes=st.sampled_from([1, 2, 7, 8, 9, 33]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=12, deadline=None)
def test_random_choices(
    session: Session, choices: dict[str, str | int], group: int, rows_per_launch: int, n_nodes: int, seed: int
) -> None:
    if choices["rows"] == "private":
        choices = {**choices, "granularity": "coarse"}
    if choices["granularity"] == "fine":
        choices = {**choices, "first_row": "argument"}
    rng = np.random.default_rng(seed)
    profile = random_profile(rng, n_nodes, bool(seed & 1))
    batch = random_batch(rng, profile, 40, 20)
    chosen = LadderChoices(**choices, group=group, rows_per_launch=rows_per_launch)  # type: ignore[arg-type]
    assert differing(chosen, session, batch, profile) == 0


@pytest.mark.thorough(first_row=AXES["first_row"][-1:])
@pytest.mark.parametrize("first_row", AXES["first_row"])
@pytest.mark.parametrize("rows_per_launch", [1, 7])
def test_launches_learn_their_first_row(session: Session, first_row: str, rows_per_launch: int) -> None:
    rng = np.random.default_rng(6)
    profile = random_profile(rng, 9)
    choices = LadderChoices(
        granularity="medium", first_row=first_row, rows_per_launch=rows_per_launch, rows="padded", specials="local",
        group=GROUP,
    )  # fmt: skip
    assert differing(choices, session, random_batch(rng, profile, 45, 20), profile) == 0


def test_bytes_of_a_cell_are_those_of_the_source() -> None:
    text = assemble("viterbi_ladder_item")
    one_by_one, _, rest = text.partition("#if SCHEDULING == 0")[2].partition("#else")
    fetched, _, rest = rest.partition("int opens =")
    once, _, computed = rest.partition(";")
    words = sum(one_by_one.count(f"{what}_AT(w") for what in ("STATE", "TRANSITION", "EMISSION"))
    assert words == 23
    assert global_bytes(BASIC, 100) == 4 * 23 + 0.01
    states = fetched.count("STATE_AT") - 1 + computed.partition("#endif")[0].count("STATE_AT")
    assert (states, fetched.partition("int m[BLOCK]")[0].count("STATE_AT") + once.count("STATE_AT")) == (8, 3)
    assert global_bytes(LadderChoices(scheduling="on", unroll=8), 100) == 4 * (8 + 3 / 8 + 11) + 0.01
    assert global_bytes(LadderChoices(rows="private", transitions="constant", emissions="local"), 50) == 0.02


def test_each_32_sequences_are_as_long_as_the_longest_of_them() -> None:
    lengths = np.array([5] * 31 + [3, 2], np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
    symbols = np.arange(lengths.sum(), dtype=np.uint8)
    padded, starts = viterbi_ladder.arranged("padded", symbols, offsets, lengths)
    assert np.diff(starts).tolist() == [64, 64, 32, 32, 32]
    for row, length in enumerate(lengths):
        assert [padded[starts[i] + row] for i in range(length)] == symbols[offsets[row] :][:length].tolist()


@pytest.mark.thorough(group=[33], n=[33])
@pytest.mark.parametrize("group", [1, 17, 33, 127])
@pytest.mark.parametrize("n", [1, 33, 130])
def test_odd_groups(session: Session, group: int, n: int) -> None:
    rng = np.random.default_rng(group)
    profile = random_profile(rng, 5)
    choices = LadderChoices(specials="local", transitions="local", emissions="local", rows="interleaved", group=group)
    assert differing(choices, session, random_batch(rng, profile, n, 12), profile) == 0


@pytest.mark.thorough
def test_nasty_sequences(session: Session) -> None:
    rng = np.random.default_rng(2)
    profile = random_profile(rng, 20)
    nasty = ["", "A", "X" * 50, "*", "-" * 9, "J", "UOBZ", "~._", "Q" * 300, profile.hmm.consensus * 9, ""]
    every_axis(session, SequenceBatch.from_texts(nasty), profile)
    every_axis(session, SequenceBatch.from_texts(["", "", ""]), profile)
    assert len(session.run(ViterbiLadderStage(), SequenceBatch.from_texts([]), profile).values) == 0


@pytest.mark.thorough
def test_large_model(session: Session) -> None:
    rng = np.random.default_rng(3)
    profile = random_profile(rng, 3000)
    batch = random_batch(rng, profile, 3, 9)
    choices = LadderChoices(rows="padded", sequences="packed", scheduling="on", unroll=8)
    expected = VITERBI.reference(batch, profile).values
    for chosen in (choices, msgspec.structs.replace(choices, rows="private", group=GROUP)):
        assert differing(chosen, session, batch, profile, expected) == 0


@pytest.mark.thorough
def test_long_sequence(session: Session) -> None:
    """Some drivers end every loop after 65,535 rounds."""
    rng = np.random.default_rng(4)
    profile = random_profile(rng, 3)
    long = np.tile(random_batch(rng, profile, 5, 200).codes, 400)[:70_000]
    batch = SequenceBatch.from_texts([long, "", "M"])
    expected = VITERBI.reference(batch, profile).values
    for choices in (LadderChoices(sequences="packed", group=GROUP), LadderChoices(rows="private", group=GROUP)):
        assert differing(choices, session, batch, profile, expected) == 0


@pytest.mark.thorough
def test_impossible_emissions(session: Session) -> None:
    """A node that cannot emit a residue at all must not wrap around 32 bits."""
    rng = np.random.default_rng(12)
    hmm = random_hmm(rng, 6, local=False)
    hmm.match[2:5, :10] = 0
    hmm.transitions[3, 1:3] = 0
    profile = to_integer_profile(hmm)
    every_axis(session, random_batch(rng, profile, 40, 12), profile)


def test_little_memory(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rows of all sequences do not fit, they are computed part by part."""
    rng = np.random.default_rng(5)
    profile = random_profile(rng, 9)
    batch = random_batch(rng, profile, 150, 20)
    monkeypatch.setattr(session, "device", replace(session.device, max_buffer_bytes=32 * 67 * 4 * 2))
    choices = LadderChoices(sequences="interleaved", rows="interleaved", group=GROUP)
    assert viterbi_ladder._sequence_limit(session.device, choices, 9) == 32
    assert differing(choices, session, batch, profile) == 0
    assert differing(BASIC, session, batch, profile) == 0


def test_planted_fault_is_noticed(session: Session) -> None:
    rng = np.random.default_rng(7)
    profile = random_profile(rng, 12)
    batch = random_batch(rng, profile, 8, 40)
    for choices in (BASIC, LadderChoices(granularity="fine", group=GROUP)):
        stage = ViterbiLadderStage(choices, SABOTAGE=1)
        assert (session.run(stage, batch, profile).values != stage.reference(batch, profile).values).any()
