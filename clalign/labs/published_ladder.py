"""What was published of Plan7 Viterbi in OpenCL: one work-item a sequence, on a GeForce GTX 460 (Fermi, 336 cores).

Seconds are means over twenty Pfam families (`FAMILIES`) against 70,000 Swiss-Prot sequences of 550 to 1500
residues; those of the combinations are of one family. HMMER2 ran on one core of an Athlon II X3 of 3.2 GHz.
"""

from __future__ import annotations

from typing import Any

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

BASIC_SECONDS = 144.13

ALONE_SECONDS = {
    "basic": BASIC_SECONDS,
    "scheduling": 131.98,
    "unroll-2": 143.38,
    "unroll-4": 143.73,
    "unroll-8": 139.92,
    "unroll-2+scheduling": 80.35,
    "unroll-4+scheduling": 58.26,
    "unroll-8+scheduling": 47.36,
    "overlapped-copies": 145.57,
    "interleaved-sequences": 132.00,
    "interleaved-rows": 20.43,
    "padded-rows": 18.10,
    "private-rows": 6.70,
    "constant-transitions": 143.40,
    "local-transitions": 142.54,
    "local-specials": 140.99,
    "replicated-specials": 140.44,
    "local-emissions": 99.27,
}
"""Seconds of each choice alone."""

FITTING_BASIC_SECONDS = 105.82
"""Basic, over the seventeen families whose emissions fitted local memory; the 99.27 s are over those, too."""

COMBINED_BASIC_SECONDS = 220.85

COMBINED_SECONDS = {
    "1": 10.60,
    "1+2": 11.94,
    "1+3": 10.40,
    "1+2+3": 8.04,
    "1+2+3+4": 5.20,
    "1+2+3+4+5": 6.25,
    "1+2+3+4+6": 5.17,
    "1+2+3+4+6+7": 4.36,
}
"""Seconds of the combinations, for `FAMILY`."""

GRANULARITY_SPEEDUPS = {"coarse": 52.77, "medium": 18.11, "fine": 14.03}
"""Over HMMER2, mean over the families; medium with one row a launch."""

DIVERGENCE_SECONDS = {"equal": 5.52, "different": 5.53, "grouped": 6.86, "shuffled": 6.52}

SWISSPROT_GCUPS = 2.95
"""Of the final combination, in cells of residues and nodes, as everywhere here.

The source prints 8.99, and 0.20 for HMMER2: it counts 3Q + 5 cells for each residue and a model of Q nodes.
"""

COPY_SHARE = 0.0003
"""Of the basic rung's time."""

REGISTERS = {
    "basic": 37, "unroll-2": 39, "unroll-4": 41, "unroll-8": 45, "scheduling": 39, "unroll-2+scheduling": 44,
    "unroll-4+scheduling": 63, "unroll-8+scheduling": 63, "1+2+3+4": 62, "1+2+3+4+5": 63,
}  # fmt: skip

OCCUPANCY = {
    "basic": 0.5, "unroll-2": 0.5, "unroll-4": 0.5, "unroll-8": 0.33, "scheduling": 0.5, "unroll-2+scheduling": 0.33,
    "unroll-4+scheduling": 0.33, "unroll-8+scheduling": 0.33, "local-emissions": 0.17, "1+2+3+4": 0.33,
    "1+2+3+4+5": 0.17,
}  # fmt: skip


def published_row(name: str) -> dict[str, float | None] | None:
    """Return seconds, speed-ups, registers and occupancy of a rung; None if it was not published."""
    if name in ALONE_SECONDS:
        seconds, basic = ALONE_SECONDS[name], BASIC_SECONDS
        if name == "local-emissions":
            basic = FITTING_BASIC_SECONDS
        over_hmmer2 = None if name == "local-emissions" else round(HMMER2_SECONDS / seconds, 2)
    elif name in COMBINED_SECONDS:
        seconds, basic, over_hmmer2 = COMBINED_SECONDS[name], COMBINED_BASIC_SECONDS, None
    else:
        return None
    return {
        "seconds": seconds,
        "speedup": round(basic / seconds, 2),
        "speedup_over_hmmer2": over_hmmer2,
        "registers": REGISTERS.get(name),
        "occupancy": OCCUPANCY.get(name),
    }


def published_facts() -> dict[str, Any]:
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
