"""Which kernels a GPU is given for odd batches: a CPU's driver runs them here in its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from clalign.compute.geometry import lane_backend
from clalign.compute.opencl.session import OpenCLSession
from clalign.stages.plan7 import viterbi_shapes
from clalign.stages.plan7.viterbi import VITERBI, ViterbiStage
from clalign.values.devices import Device
from clalign.values.profiles import II, IntegerProfile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_profile


@pytest.mark.parametrize(
    ("vendor", "platform", "backend"),
    [
        ("NVIDIA Corporation", "NVIDIA CUDA", 1),
        ("Advanced Micro Devices, Inc.", "AMD Accelerated Parallel Processing", 3),
        ("AMD", "rusticl", 0),
        ("AMD", "Clover", 0),
        ("Intel(R) Corporation", "Intel(R) OpenCL Graphics", 0),
        ("nobody", "anything", 0),
    ],
)
def test_how_lanes_exchange_values(vendor: str, platform: str, backend: int) -> None:
    device = Device("0:0", "Card", "gpu", vendor=vendor, platform=platform)
    assert lane_backend(device)["LANE_BACKEND"] == backend


Launches = list[tuple[str, int]]


@pytest.fixture
def gpu(opencl_device: Device) -> Iterator[OpenCLSession]:
    with OpenCLSession(replace(opencl_device, kind="gpu", vendor="nobody")) as session:
        yield session


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> Launches:
    """What is launched from now on: entries and numbers of work-items."""
    seen: Launches = []
    launch = OpenCLSession.launch

    def noted(self: Any, source: str, entry: str, defines: Any, n_items: int, *more: Any, **options: Any) -> None:
        seen.append((entry, n_items))
        launch(self, source, entry, defines, n_items, *more, **options)

    monkeypatch.setattr(OpenCLSession, "launch", noted)
    return seen


@pytest.mark.parametrize("texts", [["", ""], ["A" * 60, "C" * 51], ["A" * 60, ""]])
def test_no_sequence_that_the_strips_take(
    gpu: OpenCLSession, launches: Launches, monkeypatch: pytest.MonkeyPatch, texts: list[str]
) -> None:
    """Drivers before OpenCL 2.1 refuse to launch nothing."""
    monkeypatch.setattr(viterbi_shapes, "MIN_LONG", 50)
    monkeypatch.setattr(viterbi_shapes, "MAX_LONG", 50)
    profile = random_profile(np.random.default_rng(1), 9)
    batch = SequenceBatch.from_texts(texts)
    found = gpu.run(ViterbiStage("item"), batch, profile).values
    assert found.tolist() == VITERBI.reference(batch, profile).values.tolist()
    assert all(n_items > 0 for _, n_items in launches)


def gaining(profile: IntegerProfile, gain: int) -> IntegerProfile:
    """Return a profile whose long inserts gain so much with each residue."""
    insert = profile.insert.copy()
    insert[:, 1 : profile.length] = gain - profile.transitions[II, 1 : profile.length]
    return msgspec.structs.replace(profile, insert=insert)


@pytest.mark.thorough(gain=[0])
@pytest.mark.parametrize(("gain", "entry"), [(0, "viterbi_score_skewed"), (1, "viterbi_score")])
def test_sequences_longer_than_is_exact(gpu: OpenCLSession, launches: Launches, gain: int, entry: str) -> None:
    profile = gaining(random_profile(np.random.default_rng(2), 9), gain)
    batch = SequenceBatch.from_texts(["A" * 131_073])
    gpu.start(ViterbiStage("lanes"), batch, profile)
    assert [seen for seen, _ in launches] == [entry]
