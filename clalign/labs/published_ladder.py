"""What was published of Plan7 Viterbi in OpenCL: one work-item a sequence, on a GeForce GTX 460 (Fermi, 336 cores).

Seconds are means over twenty Pfam families (`FAMILIES`) against 70,000 Swiss-Prot sequences of 550 to 1500
residues; those of the combinations are of one family. HMMER2 ran on one core of an Athlon II X3 of 3.2 GHz.
"""

from __future__ import annotations

from clalign.labs.publications import published_figures

PUBLISHED_DEVICE = "GeForce GTX 460"

FAMILIES = {name: int(figures["nodes"]) for name, figures in published_figures("004", "table 7.2").items()}
"""The families and their nodes."""

FAMILY = "Oxidored_q1"
"""The one family of the combinations."""

_ALONE = published_figures(
    "004", "table 9.5", "table 8.2", "table 8.4", "table 9.1", "table 9.2", "table 9.3", "table 9.4", "table 10.1"
)

ALONE_SECONDS = {name: next(iter(figures.values())) for name, figures in _ALONE.items()}
"""Seconds of each choice alone."""

BASIC_SECONDS = ALONE_SECONDS["basic"]

FITTING_BASIC_SECONDS = published_figures("004", "table 9.5")["basic"]["kernel_seconds"]
"""Basic, over the seventeen families whose emissions fitted local memory; so is that with local ones."""

COMBINED_SECONDS = {name: figures["kernel_seconds"] for name, figures in published_figures("004", "table 10.2").items()}
"""Seconds of basic and of the combinations, for `FAMILY`."""

GRANULARITY_SPEEDUPS = {"coarse": 52.77, "medium": 18.11, "fine": 14.03}
"""Over HMMER2, mean over the families; medium with one row a launch."""

DIVERGENCE_SECONDS = {
    name: figures["kernel_seconds"] for name, figures in published_figures("004", "table 8.6", "table 8.7").items()
}

COPY_SHARE = published_figures("004", "table 8.5")["basic"]["share"]
"""Share of the copies in the basic rung's time."""

OF_THE_COMPILER = published_figures("004", "table 10.3", "table 8.3")
"""Registers and occupancy of rungs."""


def published_row(name: str) -> dict[str, float | None] | None:
    """Return seconds, speed-up, registers and occupancy of a rung; None if it was not published."""
    if name in ALONE_SECONDS:
        seconds, basic = ALONE_SECONDS[name], FITTING_BASIC_SECONDS if name == "local-emissions" else BASIC_SECONDS
    elif name in COMBINED_SECONDS:
        seconds, basic = COMBINED_SECONDS[name], COMBINED_SECONDS["basic"]
    else:
        return None
    known = OF_THE_COMPILER.get(name, {})
    return {
        "seconds": seconds,
        "speedup": round(basic / seconds, 2),
        "registers": int(known["registers"]) if known else None,
        "occupancy": known.get("occupancy"),
    }
