"""The names that the package offers, and a search in one call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import clalign
from clalign.databases.examples import load_examples
from clalign.engines.plan7.spec import SearchSpec


def test_every_name_is_there() -> None:
    for name in clalign.__all__:
        assert getattr(clalign, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = clalign.nothing


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, clalign; print([m for m in ('numpy', 'pyopencl', 'PySide6') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_search_in_one_call(tmp_path: Path) -> None:
    example = next(example for example in load_examples() if example.id == "motif")
    assert example.targets is not None
    with clalign.hmmsearch(example.profiles, example.targets, tmp_path / "run.clalign", evalue=5.0) as run:
        found = {hit.name: f"{hit.score:.1f}" for hit in run.hits()}
    expected = {hit.target: hit.score for hit in example.hits if float(hit.evalue) <= 5}
    assert found == expected
    assert len(found) < len(example.hits)


def test_the_program_that_the_window_offers_runs(tmp_path: Path) -> None:
    from clalign.ui.models.results.scripts import as_python

    example = next(example for example in load_examples() if example.id == "motif")
    spec = SearchSpec(profiles=str(example.profiles), targets=str(example.targets), device="reference", evalue=5.0)
    done = subprocess.run(
        [sys.executable, "-c", as_python(spec)], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
    )
    assert len(done.stdout.splitlines()) == sum(float(hit.evalue) <= 5 for hit in example.hits)
