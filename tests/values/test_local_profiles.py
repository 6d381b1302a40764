"""Profiles made together are, number by number, what each is alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace

from clalign.formats.profiles import load_profiles
from clalign.stages.hmmer3 import forward_tables, ssv
from clalign.stages.hmmer3 import viterbi_filter_tables as words
from clalign.stages.hmmer3.viterbi_filter_pairs import pair_steps, pairs_of
from clalign.values import local_profiles
from clalign.values.local_profiles import (
    LocalProfile,
    Shelves,
    byte_scores,
    composition_odds,
    odds,
    shelf_of,
    to_local_profile,
    word_scores,
)
from clalign.values.profiles import DD, DM, MD, Hmm
from clalign.values.synthetic import random_hmm, random_local_hmm

ROOT = Path(__file__).resolve().parents[2]
PROFILES = [
    path
    for folder in ("tests/golden/hmmer3/profiles", "resources/examples")
    for path in sorted((ROOT / folder).glob("*.hmm"))
]


class HostSession:
    """Keeps what is computed once, as a session does."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], tuple[object, Any]] = {}

    def cached(self, name: str, key: object, make: Callable[[], Any]) -> Any:
        return self._kept.setdefault((name, id(key)), (key, make()))[1]


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays, numbers, or records of such are equal in every bit."""
    if isinstance(a, Struct):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)
    a, b = np.asarray(a), np.asarray(b)
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def odd_hmm(rng: np.random.Generator, n_nodes: int) -> Hmm:
    """Return a model whose deletes go on for nothing, and some of whose steps are next to impossible."""
    hmm = random_local_hmm(rng, n_nodes)
    hmm.transitions[1:n_nodes, DM : DD + 1] = rng.dirichlet([0.02, 0.02], n_nodes - 1)
    hmm.transitions[1:n_nodes, MD] *= rng.random(n_nodes - 1) < 0.5
    return hmm


def library(name: str) -> list[Hmm]:
    rng = np.random.default_rng(15)
    if name == "random":
        return [random_local_hmm(rng, int(n)) for n in (1, 2, 3, 4, 17, 1, 90, 301)]
    if name == "odd":
        return [odd_hmm(rng, int(n)) for n in rng.integers(1, 60, 40)]
    kind = name == "DNA"
    found = [hmm for path in PROFILES for hmm in load_profiles(str(path))]
    return [hmm for hmm in found if hmm.origin == "hmmer3" and hmm.alphabet.is_nucleic == kind]


def pairs(name: str) -> list[tuple[LocalProfile, LocalProfile]]:
    """Return each profile made alone, and made with the others."""
    hmms = library(name)
    shelf = shelf_of(hmms)
    assert len(hmms) == len(shelf) > 1
    return [(to_local_profile(hmm), shelf.profile(place)) for place, hmm in enumerate(hmms)]


NAMES = ("proteins", "DNA", "random", "odd")


@pytest.mark.parametrize("name", NAMES)
def test_profiles_of_a_shelf_are_those_made_alone(name: str) -> None:
    for alone, together in pairs(name):
        assert len(alone.shelved.shelf) == 1
        for field in ("match", "transitions", "begin", "occupancy", "background", "composition"):
            assert same(getattr(alone, field), getattr(together, field)), field
        for form in (byte_scores, word_scores, odds, composition_odds):
            assert same(form(alone), form(together)), form


@pytest.mark.parametrize("name", NAMES)
def test_tables_of_the_filters_are_those_made_alone(name: str) -> None:
    session: Any = HostSession()
    merged = set()
    for alone, together in pairs(name):
        assert same(ssv.biased_scores_of(session, alone), ssv.biased_scores_of(session, together))
        merged.add(words.merges_steps(session, alone))
        assert words.merges_steps(session, together) == words.merges_steps(session, alone)
        for plain in (False, True):
            for a, b in zip(*(words.steps_of(session, one, plain) for one in (alone, together)), strict=True):
                assert same(a, b)
        for lanes in (8, 32):
            for a, b in zip(
                forward_tables.forward_tables(session, alone, lanes),
                forward_tables.forward_tables(session, together, lanes),
                strict=True,
            ):
                assert same(a, b)
        one, other = pairs_of(session, alone), pairs_of(session, together)
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            for field in one.__struct_fields__:
                assert np.array_equal(getattr(one, field), getattr(other, field)), field
    assert merged == ({True, False} if name == "odd" else {True})


def test_only_models_whose_sums_fit_are_scored_in_pairs() -> None:
    shelf = shelf_of(library("random"))
    scores = shelf.word_scores
    scores.match[3, shelf.starts[5] - 1] = 30_000
    scores.begin[shelf.starts[6] + 1] = -20_000
    found = pair_steps(scores, shelf.starts)
    assert [place for place, one in enumerate(found) if one is None] == [4, 6]
    for place, one in enumerate(found):
        alone = pair_steps(word_scores(shelf.profile(place)), np.array([0, shelf.lengths[place] + 1]))[0]
        assert (alone is None) == (one is None)
        for field in one.__struct_fields__ if one is not None else ():
            assert np.array_equal(getattr(alone, field), getattr(one, field)), field


def test_a_missing_composition_is_computed_or_left_out() -> None:
    hmms = [
        replace(hmm, settings=replace(hmm.settings, composition=None))  # type: ignore[arg-type]
        for hmm in library("random")
    ]
    for compute in (False, True):
        shelf = shelf_of(hmms, compute)
        for place, hmm in enumerate(hmms):
            assert same(to_local_profile(hmm, compute).composition, shelf.profile(place).composition)


def test_shelves_are_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hmms = library("odd")
    hmms.insert(7, random_hmm(np.random.default_rng(1), 30))
    monkeypatch.setattr(local_profiles, "MAX_NODES", 200)
    made: list[int] = []

    def counted(some: list[Hmm], compute: bool) -> local_profiles.ProfileShelf:
        made.append(len(some))
        return shelf_of(some, compute)

    monkeypatch.setattr(local_profiles, "shelf_of", counted)
    shelves = Shelves(hmms)
    assert not made
    for number, hmm in enumerate(hmms):
        profile = shelves.profile(number)
        assert (profile is None) == (number == 7)
        assert profile is None or profile.hmm is hmm
    assert sum(made) == len(hmms) - 1
    assert len(made) > 5
    assert shelves.profile(0) is not None  # one that was let go comes again
    assert sum(made) > len(hmms) - 1


def test_shelves_that_several_are_at_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices each search with the models of another one."""
    monkeypatch.setattr(local_profiles, "MAX_NODES", 200)
    hmms = library("odd")
    shelves, n_made = Shelves(hmms), [0]
    firsts, ends = shelves.firsts, [*shelves.firsts[1:], len(hmms)]
    assert len(firsts) > local_profiles.MAX_KEPT_SHELVES + 2

    def counted(some: list[Hmm], compute: bool) -> local_profiles.ProfileShelf:
        n_made[0] += 1
        return shelf_of(some, compute)

    monkeypatch.setattr(local_profiles, "shelf_of", counted)
    held = [shelves.profile(first) for first in firsts]
    for step in range(1, max(np.diff([*firsts, len(hmms)]))):
        held = [shelves.profile(min(first + step, end - 1)) for first, end in zip(firsts, ends, strict=True)]
    assert n_made[0] == len(firsts)
    assert len({id(one.shelved.shelf) for one in held if one and one.shelved}) == len(firsts)


def test_gains_do_not_leak_from_model_to_model() -> None:
    """The planted fault: without the lift of each model above the next, a good end shows in the model before."""
    shelf = shelf_of(library("odd"))
    together = words.delete_gains(shelf.word_scores, shelf.starts)
    as_one = words.delete_gains(shelf.word_scores, np.array([0, shelf.starts[-1]]))
    assert (together != as_one).any()


def test_models_of_different_alphabets_are_on_different_shelves() -> None:
    """No file mixes them, but a list of models may."""
    hmms = [*library("random")[:2], *library("DNA")[:2], *library("random")[2:4]]
    shelves = Shelves(hmms)
    for number, hmm in enumerate(hmms):
        profile = shelves.profile(number)
        assert profile is not None
        assert same(profile.match, to_local_profile(hmm).match)
