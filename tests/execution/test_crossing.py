"""A card and the processor beside it define domains of the same run, and it is the run of one device.

A simulator is the card, which takes the kernels of cards. As a script this searches with it and with the processor, and
prints which of them defined domains, one after the other, and what differs.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from clalign.compute.opencl import discover, kernels
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.sessions import Session
from clalign.engines.plan7.spec import SearchSpec
from clalign.execution import executor
from clalign.execution.executor import CpuHelper
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run

sys.path.insert(0, str(Path(__file__).parents[2]))  # as a script
sys.path.insert(0, str(Path(__file__).parent))
import device_runs

from tests.computing import compute_search
from tests.stages.on_simulator import SIMULATOR
from tests.stages.test_data_races import run_on_simulator

PROFILES = Path(__file__).parents[1] / "golden" / "hmmer3" / "profiles"

DOMAINS = ("decoding", "envelope", "sampling")
"""Kernels that the simulator takes as its compiler makes them best; the others it takes only as they are written."""

N_ON_CARD = 1
"""Groups of targets whose domains the card defines before the programs of the processor are there."""


@pytest.mark.thorough
@pytest.mark.usefixtures("simulator")
def test_domains_of_a_card_and_of_the_processor_are_those_of_one_device(tmp_path: Path) -> None:
    cache = os.environ.get("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    done = run_on_simulator([str(tmp_path)], tmp_path, Path(__file__), OCLGRIND_DATA_RACES="", CLALIGN_CACHE_DIR=cache)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["differing"] == []
    assert found["helpers"][:N_ON_CARD] == ["gpu"] * N_ON_CARD
    assert set(found["helpers"][N_ON_CARD:]) == {"cpu"}, "all that comes later goes to the processor"
    assert {f"{name}_simd4" for name in DOMAINS} <= set(found["kernels_of_card"])
    assert found["n_domains"] > 9


def write_inputs(folder: Path) -> None:
    """Write three profiles of a motif, and targets that have it once, or again and again."""
    text, motif = (PROFILES / "XYPPX.hmm").read_text(), "GYPPQ"
    (folder / "profiles.hmm").write_text("".join(text.replace("NAME  ", f"NAME  {name}") for name in "ABC"))
    targets = {"once": f"MKTA{motif}LKQR", "repeated": motif * 4, "crowded": "PPPYPPPYPPQYPPP" * 2}
    (folder / "targets.fa").write_text("".join(f">{name}\n{target}\n" for name, target in targets.items()))


def crossing_after(helpers: list[str]) -> None:
    """Let the processor lack programs until the card has defined some domains; note who defines which."""
    built_session_or = CpuHelper.built_session_or

    def unbuilt(session: OpenCLSession, choices: Any) -> Any:
        return list(choices) if len(helpers) < N_ON_CARD else []

    def noted(helper: CpuHelper, fallback: Session) -> Session:
        found = built_session_or(helper, fallback)
        helpers.append(found.device.kind)
        return found

    OpenCLSession.unbuilt = unbuilt  # type: ignore[method-assign]
    # The simulator takes calls of one thread at a time.
    OpenCLSession.build_ahead = lambda session, choices, **more: None  # type: ignore[method-assign]
    CpuHelper.built_session_or = noted  # type: ignore[method-assign]


def simulate(folder: Path) -> dict[str, Any]:
    """Search with the card and the processor beside it, and with the processor alone; compare what the runs hold."""
    discover._HIDDEN_PLATFORMS = ()  # offered to nobody else
    devices = discover.described_devices()
    card = next(device for device in devices if device.platform == SIMULATOR)
    processor = next(device for device in devices if device.kind == "cpu")
    helpers, launched = list[str](), dict[str, None]()
    crossing_after(helpers)
    built, launch = kernels._built, OpenCLSession.launch

    def as_it_can(context: Any, device: str, name: str, defines: Any, more: Any) -> Any:
        is_plain = SIMULATOR in context.devices[0].platform.name and not name.startswith(DOMAINS)
        return built(context, device, name, defines, ("-cl-opt-disable",) if is_plain else more)

    def noted(session: OpenCLSession, source: str, *given: Any, **more: Any) -> None:
        if session.device is card:
            launched[source] = None
        launch(session, source, *given, **more)

    kernels._built, OpenCLSession.launch = as_it_can, noted  # type: ignore[method-assign]
    executor.GATHER_SECONDS, executor.MAX_TOGETHER = 0.0, 1  # each unit alone
    runs = {}
    for name, first in (("alone", processor), ("crossing", card)):
        helpers.clear()
        spec = SearchSpec(str(folder / "profiles.hmm"), str(folder / "targets.fa"), evalue=1000.0)
        with create_run(folder / f"{name}.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
            done = compute_search(run, spec, {"auto": first, "cpu": processor}.__getitem__, QuietContext())
        assert done["domain_device"] == (processor.name if first is card else None)
        runs[name] = device_runs.content(folder / f"{name}.clalign")
    alone, crossing = runs.values()
    return {
        "differing": [part for part in alone if alone[part] != crossing[part]], "helpers": helpers,
        "kernels_of_card": list(launched), "n_domains": sum(hits.count("Domain(") for hits in alone["hits"]),
    }  # fmt: skip


def main(folder: Path) -> None:
    """Print what came of it."""
    write_inputs(folder)
    sys.stdout.write(json.dumps(simulate(folder)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
