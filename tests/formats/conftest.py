"""What the tests of file formats share: a cache of their own, and a short way to load some bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clalign.databases import cache
from clalign.databases.loading import load_database
from clalign.databases.reports import InputReport
from clalign.values.sequences import SequenceDatabase

Loader = Callable[..., tuple[SequenceDatabase, InputReport]]


@pytest.fixture(autouse=True)
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of packed databases, in a cache for this test alone."""
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    return cache.cache_folder()


@pytest.fixture
def load(tmp_path: Path) -> Loader:
    """Load bytes as if they were the content of a file."""

    def load_bytes(content: bytes, name: str = "input.txt", **options: Any) -> tuple[SequenceDatabase, InputReport]:
        path = tmp_path / name
        path.write_bytes(content)
        return load_database(str(path), **options)

    return load_bytes
