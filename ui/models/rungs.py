"""The rungs that the laboratory knows, before any was run."""

from __future__ import annotations

from clalign.labs.ladder_rungs import EXPERIMENTS, RUNGS
from clalign.labs.published_ladder import published_facts, published_row
from clalign.labs.smith_waterman_rungs import LENGTH, PAIR_RUNGS, PAIRS, PUBLISHED, PUBLISHED_DEVICE

from .text_table import Row


def known_rungs() -> list[Row]:
    """Return name, group, words and published figures of every rung of Plan7 Viterbi."""
    return [
        {"name": rung.name, "group": rung.group, "text": rung.text, "published": published_row(rung.name)}
        for rung in RUNGS
    ]


def known_pair_rungs() -> list[Row]:
    """Return name, words and published figures of every rung of Smith-Waterman."""
    return [{"name": rung.name, "text": rung.text, "published": PUBLISHED.get(rung.name)} for rung in PAIR_RUNGS]


def known_experiments() -> list[str]:
    """Return the names by which the experiments are asked for."""
    return list(EXPERIMENTS)


def published_device() -> str:
    """Return what the published figures of Plan7 Viterbi were measured on."""
    return str(published_facts()["device"])


def published_pair_device() -> str:
    """Return what those of Smith-Waterman were measured on."""
    return PUBLISHED_DEVICE


def usual_pairs() -> tuple[int, int]:
    """Return how many pairs were published, and the length of their sequences."""
    return PAIRS, LENGTH
