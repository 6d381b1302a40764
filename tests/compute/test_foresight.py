"""What programs work was found to need is remembered, and found again as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clalign
from clalign.compute.foresight import remembered
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import ProgramChoice
from clalign.databases.cache import kernel_folder
from clalign.engines.pairwise import rehearsal as pairwise_rehearsing
from clalign.engines.pairwise.inputs import load_inputs
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.rehearsal import (
    WORTH_REMEMBERING,
    foresight_of,
    rehearse,
)
from clalign.engines.plan7.spec import SearchSpec
from clalign.jobs import QuietContext
from clalign.values.devices import Device
from clalign.values.synthetic import random_local_hmm

CARD = Device("7:0", "Card", "gpu", vendor="NVIDIA Corporation", compute_capability=90, n_compute_units=132,
              memory_bytes=2**36, max_buffer_bytes=2**34, local_bytes=49152, max_work_group=1024)  # fmt: skip

PROGRAMS = [ProgramChoice.of("b", {"N": 4, "LANES": 16}), ProgramChoice.of("a", {}), ProgramChoice.of("b", {"N": "4u"})]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def kept() -> list[Path]:
    return sorted(kernel_folder().glob("*"))


class Counted:
    """Rehearses, and counts how often."""

    def __init__(self) -> None:
        self.n = 0

    def __call__(self, session: Rehearsal) -> None:
        self.n += 1
        session.build_ahead(PROGRAMS)

    def programs(self, device: Device = CARD, *inputs: str) -> list[ProgramChoice]:
        """Return the programs in the order in which they are told."""
        noted: list[ProgramChoice] = []
        remembered(self, *inputs)(Rehearsal(device, noted.append))
        return noted


def test_what_was_rehearsed_is_found_again_in_its_order() -> None:
    counted = Counted()
    assert [counted.programs(CARD, "inputs") for _ in range(3)] == [PROGRAMS] * 3
    assert counted.n == 1
    assert [[choice.defines for choice in counted.programs(CARD, "inputs")]] == [[c.defines for c in PROGRAMS]]


def test_other_inputs_other_devices_and_other_versions_are_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted()
    tuned = replace(CARD, tuning={"ssv.nodes": 24})
    for device, inputs in ((CARD, ["a"]), (CARD, ["a", ""]), (CARD, ["b"]), (tuned, ["a"]), (tuned, ["a"])):
        assert counted.programs(device, *inputs) == PROGRAMS
    assert counted.n == 4
    judged = replace(CARD.judged("ready", gcups=7.0), memory_bytes=3)
    assert counted.programs(judged, "a") == PROGRAMS
    assert counted.n == 4, "what chooses no program does not count"
    monkeypatch.setattr(clalign, "__version__", "0.0.0-other")
    assert counted.programs(CARD, "a") == PROGRAMS
    assert counted.n == 5


@pytest.mark.parametrize("damage", [lambda text: text[:-9], lambda text: text.replace("16", "61"), lambda text: "[]"])
def test_what_is_damaged_is_rehearsed_again(damage: Callable[[str], str]) -> None:
    counted = Counted()
    counted.programs()
    (file,) = kept()
    file.write_text(damage(file.read_text()))
    assert [counted.programs() for _ in range(2)] == [PROGRAMS] * 2
    assert counted.n == 2


def test_without_a_cache_it_is_rehearsed_each_time(cache: Path) -> None:
    cache.write_text("")
    counted = Counted()
    assert [counted.programs() for _ in range(2)] == [PROGRAMS] * 2
    assert counted.n == 2


def test_what_fails_is_not_remembered() -> None:
    def fails(session: Rehearsal) -> None:
        session.build_ahead(PROGRAMS[:1])
        raise ValueError("no more")

    for _ in range(2):
        with pytest.raises(ValueError, match="no more"):
            remembered(fails)(Rehearsal(CARD))
    assert not kept()


def test_a_library_needs_what_it_needed() -> None:
    rng, spec = np.random.default_rng(5), SearchSpec("a", "b")
    models = [random_local_hmm(rng, 20 * n) for n in range(1, WORTH_REMEMBERING + 1)]
    whole = Rehearsal(CARD)
    rehearse(models, spec, whole)
    for _ in range(2):
        again = Rehearsal(CARD)
        foresight_of(models, spec, "digest")(again)
        assert list(again.programs) == list(whole.programs)
    assert len(kept()) == 1
    assert again.n_bytes == 0, "no table was made"
    without_bias = Rehearsal(CARD)
    foresight_of(models, replace(spec, without_bias_filter=True), "digest")(without_bias)
    assert {choice.source for choice in set(whole.programs) - set(without_bias.programs)} == {"bias_filter_item"}


def test_few_profiles_and_such_of_no_file_are_not_remembered() -> None:
    models = [random_local_hmm(np.random.default_rng(5), 40)] * WORTH_REMEMBERING
    foresight_of(models, SearchSpec("a", "b"), "")(Rehearsal(CARD))
    foresight_of(models[1:], SearchSpec("a", "b"), "digest")(Rehearsal(CARD))
    assert not kept()


def test_a_comparison_needs_what_it_needed(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text("".join(f">{n}\n{'MKVLAAGIVL' * (n + 1)}\n" for n in range(9)))
    found = []
    for matrix in (None, None, "PAM30"):
        inputs = load_inputs(None, PairwiseSpec(str(targets), str(targets), matrix=matrix), QuietContext())
        rehearsal = Rehearsal(CARD)
        pairwise_rehearsing.foresight_of(inputs)(rehearsal)
        found.append(list(rehearsal.programs))
    assert found[0] == found[1]
    assert len(kept()) == 2, "one for each scoring"
