"""Beside a graphics card the processor defines domains; without a driver for it the card does."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from clalign.compute import opening
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opening import open_session
from clalign.compute.sessions import ProgramChoice, ReferenceSession, Session, no_check
from clalign.databases.examples import load_examples
from clalign.engines.plan7.spec import SearchSpec
from clalign.execution import executor as module
from clalign.execution.executor import CpuHelper
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run
from clalign.stages.hmmer3.decoding import DECODING, DecodingStage
from clalign.stages.hmmer3.envelope import ENVELOPE
from clalign.stages.hmmer3.sampling import SAMPLING
from clalign.system.bounds import n_cores
from clalign.values.devices import REFERENCE, Device
from clalign.values.envelopes import RowProfiles
from clalign.values.synthetic import random_batch, random_local_profile
from tests.computing import compute_search
from tests.conftest import usable_devices

BUILT = Path(__file__).parents[1] / "golden" / "sequences" / "built.fa"
CARD = replace(REFERENCE, kind="gpu", name="A card")


def helper_of(device: Device, wishes: list[str], is_needed: bool = True) -> CpuHelper:
    def pick(wish: str) -> Device:
        wishes.append(wish)
        return REFERENCE

    return CpuHelper(ReferenceSession(device), pick, no_check, is_needed)


def test_the_processor_is_opened_beside_a_card() -> None:
    wishes: list[str] = []
    with helper_of(CARD, wishes) as helper:
        fallback = ReferenceSession(CARD)
        found = helper.session_or(fallback)
        assert found is not fallback
        assert helper.session_or(fallback) is found
        assert helper.session is found
        assert found.device == REFERENCE
    assert wishes == ["cpu"]


class _Either(DecodingStage):
    def __init__(self, is_suitable: bool) -> None:
        super().__init__()
        self._is_suitable = is_suitable

    def suits(self, card: Device) -> bool:
        return self._is_suitable


def test_a_card_has_its_helper_compute_what_does_not_suit_it() -> None:
    rng = np.random.default_rng(1)
    profile = random_local_profile(rng, 5)
    batch = random_batch(rng, profile, 2, 20)
    given = batch, RowProfiles.alone(profile, len(batch))
    with open_session(usable_devices()[0]) as card, card.second_queue() as tracer:
        helper = ReferenceSession(REFERENCE)
        session = tracer.helped_by(helper)
        alone = session.run(_Either(True), *given)
        assert not helper.seconds_by_kernel
        waits = session.start(_Either(True), *given), session.start(_Either(False), *given)
        is_reached = session.reached()
        assert [wait() for wait in waits] == [alone] * 2
        assert is_reached()
        assert list(helper.seconds_by_kernel) == ["decoding"]
        assert tracer.run(_Either(False), *given) == alone
        card.join(tracer)
        seconds = card.seconds_by_kernel["decoding_simd4"]
        assert session.run(_Either(True), *given) == alone
        card.join(tracer)
        assert card.seconds_by_kernel["decoding_simd4"] > seconds > 0


@pytest.mark.parametrize(
    ("vendor", "units_for_each_core", "are_so"),
    [
        ("NVIDIA", 1, (False, False, False)), ("NVIDIA", 8, (True, True, False)), ("NVIDIA", 33, (True, True, True)),
        ("Advanced Micro Devices", 1000, (False, False, False)),
    ],
)  # fmt: skip
def test_which_cards_define_domains_themselves(
    vendor: str, units_for_each_core: int, are_so: tuple[bool, bool, bool]
) -> None:
    card = replace(CARD, vendor=vendor, n_compute_units=units_for_each_core * n_cores())
    assert tuple(stage.suits(card) for stage in (DECODING, ENVELOPE, SAMPLING)) == are_so


@pytest.mark.parametrize(("own", "is_needed"), [(REFERENCE, True), (CARD, False)])
def test_nothing_is_opened_where_it_is_of_no_use(own: Device, is_needed: bool) -> None:
    wishes: list[str] = []
    with helper_of(own, wishes, is_needed) as helper:
        fallback = ReferenceSession(own)
        assert helper.session_or(fallback) is fallback
    assert wishes == []
    assert helper.session is None


def test_the_card_does_it_as_long_as_the_processor_lacks_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [ProgramChoice.of("sampling_simd4", {"LANES": 4})]
    card, processor = ReferenceSession(CARD), ReferenceSession(REFERENCE)
    asked: list[tuple[str, list[ProgramChoice]]] = []
    is_asked = threading.Event()

    def ahead(name: str, choices: Any, can_wait: bool = False) -> None:
        assert can_wait == (name == "card"), "what filters need comes first"
        asked.append((name, list(choices)))
        if name == "processor":
            is_asked.set()

    for name, session in (("card", card), ("processor", processor)):
        monkeypatch.setattr(session, "build_ahead", partial(ahead, name))
    monkeypatch.setattr(processor, "unbuilt", lambda choices: [choice for choice in choices if choice in lacking])
    monkeypatch.setattr(module, "open_session", lambda *_: processor)
    monkeypatch.setattr(module, "SMALL_JOB_SECONDS", 0.0)
    rehearsals = [lambda rehearsal: rehearsal.build_ahead(list(lacking))]
    with CpuHelper(card, lambda wish: REFERENCE, no_check, rehearsals=rehearsals) as helper:
        assert helper.built_session_or(card) is card
        assert helper.session is None, "it has had no part in it"
        assert is_asked.wait(60)
        assert [name for name, _ in asked] == ["card", "processor"]
        lacking.clear()
        assert helper.built_session_or(card) is processor
        assert helper.session is processor


def test_what_kernels_took_on_both_devices_is_added() -> None:
    card = ReferenceSession(CARD)
    card.seconds_by_kernel = {"ssv": 1.0, "decoding": 2.0}
    with CpuHelper(card, lambda wish: REFERENCE, no_check) as helper:
        assert helper.report()[1] == {"ssv": 1.0, "decoding": 2.0}
        processor: Any = helper.session_or(card)
        processor.seconds_by_kernel = {"decoding": 0.5, "envelope": 0.25}
        assert helper.report()[1] == {"ssv": 1.0, "decoding": 2.5, "envelope": 0.25}


@pytest.mark.parametrize(("profile", "beside"), [("globins4", True), ("rrm_1", False)])
def test_a_card_filters_and_the_processor_beside_it_defines_domains(
    profile: str, beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = next((device for device in usable_devices() if device.kind == "cpu"), REFERENCE)

    def as_card(device: Device, *watchers: Any) -> Session:
        return open_session(device, *watchers) if device != CARD else ReferenceSession(device, *watchers[:1])

    monkeypatch.setattr(opening, "open_session", as_card)
    monkeypatch.setattr(OpenCLSession, "unbuilt", lambda session, choices: [])  # those that it lacks are waited for
    profiles = next(str(example.profiles) for example in load_examples() if example.id == profile)
    found = []
    for name, card in (("card", CARD), ("alone", processor)):
        spec = SearchSpec(profiles, str(BUILT), evalue=1000.0)
        with create_run(tmp_path / f"{name}.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
            done = compute_search(run, spec, {"auto": card, "cpu": processor}.__getitem__, QuietContext())
            found.append([msgspec.structs.replace(hit, filters=None) for hit in run.hits()])  # these are the card's
        uses_host = beside and name == "card"
        assert done["domain_device"] == (processor.name if uses_host else None)
        assert done["device"] == card.name
    assert found[0] == found[1]
    assert len(found[0]) > 5
