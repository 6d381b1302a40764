"""What is learned, and the posteriors, are the same on every device to the last digit, and so are alignments.

A simulator stands for a graphics card: it takes the kernels of these, whose lanes share a pair, where a processor has
vectors. As a script this prints what the simulator finds.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

from clalign.compute.opencl import discover
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.databases.sequence_rows import SequenceRow
from clalign.engines.msa.inference import inferred
from clalign.engines.msa.inputs import checked_input
from clalign.engines.msa.parameters import pairs_of
from clalign.engines.msa.spec import AlignmentSpec
from clalign.values.devices import Device

CASES = {
    "two kinds of gaps": {},
    "one kind of gaps": {"has_one_gap_set": True},
    "substitutions of each pair": {"emissions": "pair"},
}


def digest(session: Session, case: str) -> str:
    """Return a checksum over the posteriors of three related sequences; all of the learning is in them."""
    rng = np.random.default_rng(3)
    letters = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
    family = [rng.choice(letters, 75)]
    for n in (3, 9):
        child = np.where(rng.random(75) < 0.3, rng.choice(letters, 75), family[0])
        family.append(np.concatenate([child[: 20 * n % 64], child[20 * n % 64 + n :]]))
    rows = [SequenceRow(f"s{number}", "", text.tobytes()) for number, text in enumerate(family)]
    spec = AlignmentSpec(("-",), least_emission_data=60, **{"emissions": "all"} | CASES[case])
    given = checked_input("", rows, "amino", 1)
    found = inferred(session, given, pairs_of(given, spec), spec)
    parts = (found.starts, found.columns, found.probabilities, found.x_gaps, found.y_gaps)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


@pytest.mark.thorough
@pytest.mark.usefixtures("simulator")
@pytest.mark.parametrize("case", CASES)
def test_every_device_finds_the_same(opencl_device: Device, case: str, tmp_path: Path) -> None:
    from tests.stages.test_data_races import run_on_simulator

    with open_session(opencl_device) as session:
        found = digest(session, case)
    done = run_on_simulator([case], tmp_path, Path(__file__), OCLGRIND_DATA_RACES="")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [found]


def main(case: str) -> None:
    """Print what the simulator finds."""
    discover._HIDDEN_PLATFORMS = ()  # offered to nobody else
    with OpenCLSession(next(iter(discover.described_devices()))) as session:
        sys.stdout.write(f"{digest(session, case)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
