"""The rungs that the laboratory knows, before any was run."""

from __future__ import annotations

from clalign.labs.ladder_rungs import EXPERIMENTS, RUNGS
from clalign.labs.published_ladder import published_facts, published_row

from .text_table import Row


def known_rungs() -> list[Row]:
    """Return name, group, words and published figures of every rung."""
    return [
        {"name": rung.name, "group": rung.group, "text": rung.text, "published": published_row(rung.name)}
        for rung in RUNGS
    ]


def known_experiments() -> list[str]:
    """Return the names by which the experiments are asked for."""
    return list(EXPERIMENTS)


def published_device() -> str:
    """Return what the published figures were measured on."""
    return str(published_facts()["device"])
