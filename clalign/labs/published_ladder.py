"""What was published of Plan7 Viterbi in OpenCL: one work-item a sequence, on a GeForce GTX 460 (Fermi, 336 cores).

Seconds are means over twenty Pfam families (`FAMILIES`) against 70,000 Swiss-Prot sequences of 550 to 1500
residues; those of the combinations are of one family. HMMER2 ran on one core of an Athlon II X3 of 3.2 GHz.
"""

from __future__ import annotations

from clalign.common.plain_data import Json
from clalign.labs.publications import published_figures

FAMILIES = {
    "ABC_tran": 118, "Acetyltransf_1": 83, "adh_short": 167, "BPD_transp_1": 185, "COX1": 447, "Cytochrom_B_C": 102,
    "Cytochrom_B_N": 188, "GP120": 488, "HATPase_c": 111, "Helicase_C": 78, "HTH_1": 60, "MFS_1": 354,
    "Oxidored_q1": 270, "Pkinase": 260, "Response_reg": 112, "RVP": 100, "RVT_1": 214, "RVT_thumb": 70, "WD40": 39,
    "zf-C2H2": 23,
}  # fmt: skip
"""The families and their nodes."""

FAMILY = "Oxidored_q1"
"""The one family of the combinations."""

HMMER2_SECONDS = 142.21

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

SWISSPROT_GCUPS = published_figures("004", "table 10.4, mean GCUPS")["1+2+3+4+6+7"]["gcups"]
"""Of the final combination, in cells of residues and nodes, as everywhere here.

The source prints 8.99, and 0.20 for HMMER2: it counts 3Q + 5 cells for each residue and a model of Q nodes.
"""

COPY_SHARE = published_figures("004", "table 8.5")["basic"]["share"]
"""Of the basic rung's time."""

OF_THE_COMPILER = published_figures("004", "table 10.3", "table 8.3")
"""Registers and occupancy of rungs."""


def published_row(name: str) -> dict[str, float | None] | None:
    """Return seconds, speed-ups, registers and occupancy of a rung; None if it was not published."""
    if name in ALONE_SECONDS:
        seconds, basic = ALONE_SECONDS[name], BASIC_SECONDS
        if name == "local-emissions":
            basic = FITTING_BASIC_SECONDS
        over_hmmer2 = None if name == "local-emissions" else round(HMMER2_SECONDS / seconds, 2)
    elif name in COMBINED_SECONDS:
        seconds, basic, over_hmmer2 = COMBINED_SECONDS[name], COMBINED_SECONDS["basic"], None
    else:
        return None
    told = OF_THE_COMPILER.get(name, {})
    return {
        "seconds": seconds,
        "speedup": round(basic / seconds, 2),
        "speedup_over_hmmer2": over_hmmer2,
        "registers": int(told["registers"]) if told else None,
        "occupancy": told.get("occupancy"),
    }


def published_facts() -> Json:
    """Return what was published beside the rungs, as plain data."""
    return {
        "device": "GeForce GTX 460",
        "families": FAMILIES,
        "family": FAMILY,
        "hmmer2_seconds": HMMER2_SECONDS,
        "granularity_speedup_over_hmmer2": GRANULARITY_SPEEDUPS,
        "divergence_seconds": DIVERGENCE_SECONDS,
        "work_group": {"best": 256, "occupancy": 0.33},
        "copy_share": COPY_SHARE,
        "whole_swissprot": {
            "seconds": 11.13,
            "gcups": SWISSPROT_GCUPS,
            "hmmer2_gcups": 0.07,
            "speedup_over_hmmer2": 48.82,
        },
    }
