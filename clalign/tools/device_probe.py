"""The work of the child process that finds devices: listing them, and a quick test of each kernel."""

from __future__ import annotations

import time

import numpy as np

from clalign.common.plain_data import Json
from clalign.compute.opencl.discover import described_devices
from clalign.compute.opencl.session import OpenCLSession
from clalign.errors import ClalignError
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE
from clalign.values.synthetic import random_batch, random_profile

SPEED_CELLS = {"gpu": 4e10, "cpu": 4e8, "accelerator": 4e9}
"""Cells of the measurement, which take less than a second on a current device."""

SPEED_NODES, SPEED_LENGTH = 200, 350
"""Length of the profile (nodes) and of the sequences (residues) of the measurement."""


def list_devices() -> list[Json]:
    """Return the descriptions of all devices as plain data."""
    return [device.to_dict() for device in described_devices()]


def quick_test(number: str) -> Json:
    """Run every kernel of a device on random cases, compare with the reference, and measure it.

    Returns
    -------
    dict
        ``health``, ``problem`` and ``gcups``.
    """
    device = next((device for device in described_devices() if device.id == number), None)
    if device is None:
        return {"health": "not usable", "problem": "It is no longer there.", "gcups": 0.0}
    try:
        with OpenCLSession(device) as session:
            n_tests, n_wrong = _compare(session)
            if n_wrong:
                text = (
                    f"It gave a wrong score in {n_wrong} of {n_tests} tests, so it is switched off. Results of other"
                    " devices are not affected."
                )
                return {"health": "self-test failed", "problem": text, "gcups": 0.0}
            return {"health": "ready", "problem": "", "gcups": _measure(session)}
    except ClalignError as error:
        return {"health": "not usable", "problem": str(error), "gcups": 0.0}


def _compare(session: OpenCLSession) -> tuple[int, int]:
    rng = np.random.default_rng(1)
    n_tests = n_wrong = 0
    for nodes in (1, 9, 40, 150):
        profile = random_profile(rng, nodes)
        batch = random_batch(rng, profile, 12, 90)
        expected = VITERBI.reference(batch, profile).values
        n_wrong += int((session.run(VITERBI, batch, profile).values != expected).sum())
        paths = VITERBI_TRACE.reference(batch, profile)
        n_wrong += sum(a != b for a, b in zip(session.run(VITERBI_TRACE, batch, profile), paths, strict=True))
        n_tests += 2 * len(batch)
    return n_tests, n_wrong


def _measure(session: OpenCLSession) -> float:
    """Return the speed of the scoring kernel in 10^9 cells a second."""
    rng = np.random.default_rng(2)
    profile = random_profile(rng, SPEED_NODES)
    n = int(SPEED_CELLS[session.device.kind] / SPEED_NODES / SPEED_LENGTH)
    small = random_batch(rng, profile, 64, SPEED_LENGTH, same_length=True)
    batch = random_batch(rng, profile, max(n, 64), SPEED_LENGTH, same_length=True)
    session.run(VITERBI, small, profile)
    began = time.perf_counter()
    session.run(VITERBI, batch, profile)
    return float(batch.n_cells(SPEED_NODES) / (time.perf_counter() - began) / 1e9)
