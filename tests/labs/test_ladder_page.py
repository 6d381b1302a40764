"""The tables of docs/notes/ladder.md come from files of results, and are those of today's files."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

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


def test_the_page_shows_the_present_results(page: ModuleType) -> None:
    text = (DOCS / "ladder.md").read_text("utf-8")
    assert page.rendered(text) == text
    assert len(page.PLACE.findall(text)) == 27
