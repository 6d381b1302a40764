"""The formats whose rows are gathered before they are given: a function for each."""

from __future__ import annotations

from collections.abc import Callable

from clalign.formats.a3m import a3m_rows
from clalign.formats.aligned import AlignedRows
from clalign.formats.balibase import balibase_rows
from clalign.formats.blocks import Reading
from clalign.formats.clustal import clustal_rows
from clalign.formats.msf import msf_rows
from clalign.formats.nexus import nexus_rows
from clalign.formats.phylip import phylip_rows
from clalign.formats.selex import selex_rows

ALIGNED: dict[str, Callable[[Reading], AlignedRows]] = {
    "clustal": clustal_rows,
    "a3m": a3m_rows,
    "selex": selex_rows,
    "phylip": phylip_rows,
    "msf": msf_rows,
    "nexus": nexus_rows,
    "balibase": balibase_rows,
}
"""By the names that they are recognized as; the rows may differ in length still, see `AlignedRows.checked`."""
