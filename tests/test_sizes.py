"""Amounts of memory in words: one function, used everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from clalign.common.amounts import size_text
from clalign.ui import formatting

ROOT = Path(__file__).resolve().parents[1]

SIZE_MADE_BY_HAND = re.compile(r"[})]\s?[\"'{]?\s?([KMGT]i?B|kB)\b")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 bytes"), (999, "999 bytes"), (1000, "1.0 kB"), (9_940, "9.9 kB"), (9_960, "10 kB"), (999_400, "999 kB"),
        (999_600, "1.0 MB"), (2**20, "1.0 MB"), (2**30, "1.1 GB"), (25_160_000_000, "25 GB"), (3e15, "3000 TB"),
    ],
)  # fmt: skip
def test_sizes_have_decimal_units(n_bytes: float, text: str) -> None:
    assert size_text(n_bytes) == text
    assert formatting.size(n_bytes) == text.replace(" ", formatting.THIN)


def test_no_other_place_makes_a_size() -> None:
    assert SIZE_MADE_BY_HAND.search('f"{size / 1e6:.1f} MB"')
    assert SIZE_MADE_BY_HAND.search("f'{size >> 30} GiB'")
    sources = [path for folder in ("clalign", "ui") for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in sources if SIZE_MADE_BY_HAND.search(path.read_text("utf-8"))] == []
