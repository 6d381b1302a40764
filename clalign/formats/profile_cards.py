"""Words for a profile from its card, the plain data that it is shown with."""

from __future__ import annotations

from clalign.values.axes import MINUS
from clalign.values.documents import Card


def format_words(card: Card) -> str:
    """Return the program whose format a profile has."""
    return str(card["origin"]).upper()


def calibration_words(card: Card) -> str:
    """Return the calibration of a profile in words."""
    entry, entries = card.get("calibration"), card.get("calibration3")
    if entry:
        return f"extreme value, mu {entry['mu']:.2f}, lambda {entry['lambda']:.3f}".replace("-", MINUS)
    if entries:
        return (
            f"MSV mu {entries['msv']['mu']:.2f}, Viterbi mu {entries['viterbi']['mu']:.2f}, "
            f"Forward tau {entries['forward']['tau']:.2f}; lambda {entries['forward']['lambda']:.3f}"
        ).replace("-", MINUS)
    return (
        "none: E-values are rough (upper bounds)"
        if card["origin"] == "hmmer2"
        else "none: it cannot be used for a search"
    )
