"""What runs of several devices are compared with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from device_runs import Devices, Expected, computed, content, exports, spec_of


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all input."""
    return tmp_path_factory.mktemp("input")


@pytest.fixture(scope="session")
def expected(folder: Path) -> Expected:
    """What a run of an engine holds, and its exports, if one device computes it."""
    found: dict[str, Any] = {}

    def of(engine: str) -> Any:
        if engine not in found:
            path = folder / f"{engine}.clalign"
            with pytest.MonkeyPatch.context() as monkeypatch:
                computed(spec_of(engine, folder), path, Devices(monkeypatch), ("one",))
            found[engine] = content(path), exports(path, folder / engine)
        return found[engine]

    return of
