"""The tables of docs/notes/ladder.md come from files of results, and are those of today's files."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "notes"


@pytest.fixture
def page() -> ModuleType:
    found = importlib.util.spec_from_file_location("ladder_page", DOCS / "ladder_page.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def results() -> dict[str, Any]:
    row = {
        "name": "basic", "group": "alone", "text": "", "choices": {}, "status": "done", "reason": None, "equal": True,
        "kernel_seconds": 1.5, "copy_seconds": 2e-3, "gcups": 12.34, "speedup": 1.0, "registers": 32,
        "local_bytes": 0, "private_bytes": 6540, "occupancy": 0.5, "published": {"seconds": 144.13, "speedup": 1.0},
    }  # fmt: skip
    broken = {**row, "name": "local-emissions", "status": "not run", "equal": False, "reason": "Too little memory."}
    broken |= dict.fromkeys(("kernel_seconds", "copy_seconds", "gcups", "speedup", "registers", "occupancy"))
    document = {
        "device": {"name": "made up"}, "model": {"name": "m", "length": 9}, "runs": 3, "rows": [row, broken],
        "database": {"n_sequences": 2, "n_residues": 7, "longest": 5, "source": "by hand"},
        "experiments": {"work_group": [{**row, "group": 64}]},
    }  # fmt: skip
    return {"detail": document, "means": [{**row, "families": 20}], "families": {}}


def test_tables_are_filled_in_and_renewed(page: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "ladder_here.json").write_text(json.dumps(results()))
    places = [
        f"<!-- table here {what} -->\nold\n<!-- end table -->" for what in ("facts", "alone", "means", "work_group")
    ]
    text = "\n".join(["before", *places, "<!-- table there alone -->\n<!-- end table -->", "after"])
    filled = page.rendered(text, tmp_path)
    assert page.rendered(filled, tmp_path) == filled
    assert "| basic | equal | 1.5 s | 12.3 | 1.00× | 1.00× | 32 | 0 B | 6,540 B | 50% | 2 ms |" in filled
    assert "- local-emissions: Too little memory." in filled
    assert "| 64 | equal | 1.5 s |" in filled
    assert "made up · all scores are equal · m, 9 nodes, against 2 sequences" in filled
    assert filled.count("Not measured yet.") == 1
    assert "old" not in filled
    assert filled.startswith("before\n")
    assert filled.endswith("\nafter")


def test_pairs_have_a_file_of_their_own(page: ModuleType, tmp_path: Path) -> None:
    row = {
        "name": "global", "status": "not run", "reason": "Too little memory.", "equal": False, "device": "made up",
        "published": {"total_seconds": 1.27, "kernel_seconds": 0.2736, "copy_seconds": 0.5337, "speedup": 2.57},
    }  # fmt: skip
    unknown = ("total", "kernel", "copy", "host")
    row |= dict.fromkeys([*(f"{name}_seconds" for name in unknown), "gcups", "speedup", "registers", "occupancy"])
    document = {
        "device": {"name": "made up"}, "pairs": 3, "length": 9, "seed": 1, "runs": 2,
        "rows": [{**row, "local_bytes": 4}], "scoring": {"matrix": "+1/-1", "gap": 2},
    }  # fmt: skip
    (tmp_path / "smith_waterman_ladder_here.json").write_text(json.dumps(document))
    places = [f"<!-- table here {what} -->\n<!-- end table -->" for what in ("pair_facts", "pairs")]
    filled = page.rendered("\n".join([*places, "<!-- table here alone -->\n<!-- end table -->"]), tmp_path)
    assert "3 pairs of 9 x 9 random nucleotides" in filled
    assert "| 2.57× | 1.27 s | 274 ms | 534 ms |" in filled
    assert "- global: Too little memory." in filled
    assert filled.count("Not measured yet.") == 1


def test_the_pair_hmm_has_a_file_of_its_own(page: ModuleType, tmp_path: Path) -> None:
    known = {"forward_seconds": 0.395, "backward_seconds": 0.4, "baum_welch_seconds": 0.326}
    row = {
        "name": "states", "status": "done", "reason": None, "equal": True, "device": "made up", **known,
        **dict.fromkeys(("posteriors_seconds", "counts_seconds", "total_seconds", "kernel_seconds"), 0.5), "gcups": 2.0,
        "sweep_gcups": [1.0, 2.0, 3.0], "speedup": 4.0, "registers": None, "local_bytes": 4,
        "published": {**known, "run_minutes": 57.806, "speedup": 2.227},
    }  # fmt: skip
    size = {**row, "name": "9 x 8", "speedups": [1.0, 2.0, 3.0], "published_speedups": None}
    document = {
        "device": {"name": "made up"}, "x": 9, "y": 8, "pairs": 3, "seed": 1, "runs": 2, "rows": [row],
        "experiments": {"sizes": [size]},
    }  # fmt: skip
    (tmp_path / "pair_hmm_ladder_here.json").write_text(json.dumps(document))
    places = [f"<!-- table here {what} -->\n<!-- end table -->" for what in ("hmm_facts", "hmm", "hmm_sizes")]
    filled = page.rendered("\n".join(places), tmp_path)
    assert "a pair of 9 x 8 random residues" in filled
    assert "| 4.00× | 2.23× | 2 | 1 · 2 · 3 |" in filled
    assert "| 9 x 8 | equal | 395 ms | 400 ms | 326 ms | 1.00× · 2.00× · 3.00× |  | 4.00× |" in filled


def test_the_page_shows_the_present_results(page: ModuleType) -> None:
    text = (DOCS / "ladder.md").read_text("utf-8")
    assert page.rendered(text) == text
    assert len(page.PLACE.findall(text)) == 27
