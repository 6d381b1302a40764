"""The formats of sequences by the names that they are recognized as; a reader is loaded when a file needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from clalign.formats.aligned import AlignedRows, blocks_of
from clalign.formats.blocks import Block, Reading

_BLOCKS = {
    "fasta": "fasta:read_fasta_blocks",
    "fastq": "fastq:read_fastq_blocks",
    "genbank": "flatfiles:read_genbank_blocks",
    "embl": "flatfiles:read_embl_blocks",
    "uniprot": "flatfiles:read_embl_blocks",
    "stockholm": "stockholm:read_stockholm_blocks",
    "a3m": "a3m:read_a3m_blocks",  # of rows that are only to lose their gaps none need be gathered
}
"""Where the readers are that give blocks, by format: module and name."""

_ROWS = {
    "clustal": "clustal:clustal_rows",
    "a3m": "a3m:a3m_rows",
    "selex": "selex:selex_rows",
    "phylip": "phylip:phylip_rows",
    "msf": "msf:msf_rows",
    "nexus": "nexus:nexus_rows",
    "balibase": "balibase:balibase_rows",
}
"""Likewise those of formats whose rows are gathered before they are given."""

FORMATS = tuple({**_BLOCKS, **_ROWS})

GATHERED = tuple(_ROWS)
"""Formats that `gather_rows` knows."""


def read_blocks(form: str, reading: Reading) -> Iterator[Block]:
    """Give the sequences of a file in one of the `FORMATS`; gaps are dropped by a `Reading` that is told so."""
    if form in _BLOCKS:
        yield from _at(_BLOCKS[form])(reading)
    else:
        yield from blocks_of(gather_rows(form, reading), reading)


def gather_rows(form: str, reading: Reading) -> AlignedRows:
    """Return the rows of an alignment in one of the `GATHERED` formats; they may differ in length still.

    See `AlignedRows.checked`.
    """
    rows: AlignedRows = _at(_ROWS[form])(reading)
    return rows


def _at(place: str) -> Callable[[Reading], Any]:
    module, _, name = place.partition(":")
    reader: Callable[[Reading], Any] = getattr(import_module(f"clalign.formats.{module}"), name)
    return reader
