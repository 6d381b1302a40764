"""Readers of sequences by the names of formats; a reader is loaded when a file needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib import import_module
from typing import Any

from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Block, BlockBuilder, Reading

_BLOCKS = {
    "fasta": "fasta:read_fasta_blocks",
    "fastq": "fastq:read_fastq_blocks",
    "genbank": "flatfiles:read_genbank_blocks",
    "embl": "flatfiles:read_embl_blocks",
    "uniprot": "flatfiles:read_embl_blocks",
    "a3m": "a3m:read_a3m_blocks",  # without gaps, rows need not be gathered
}
"""Module and name of the readers that yield blocks, by format."""

_ROWS = {
    "clustal": "clustal:clustal_rows",
    "a3m": "a3m:a3m_rows",
    "selex": "selex:selex_rows",
    "phylip": "phylip:phylip_rows",
    "msf": "msf:msf_rows",
    "nexus": "nexus:nexus_rows",
    "balibase": "balibase:balibase_rows",
}
"""Module and name of the readers that gather the rows of the only alignment in a file, by format."""

ALIGNMENTS = ("stockholm", *_ROWS)
"""Formats of alignments; aligned FASTA is recognized as FASTA."""

FORMATS = tuple(dict.fromkeys((*_BLOCKS, *ALIGNMENTS)))


def read_blocks(form: str, reading: Reading) -> Iterator[Block]:
    """Yield the sequences of a file in one of the `FORMATS`, without gaps if `reading` drops them."""
    if form in _BLOCKS:
        yield from _at(_BLOCKS[form])(reading)
        return
    builder = BlockBuilder(reading)
    with ExitStack() as files:
        for rows in read_alignments(form, reading, files):
            yield from rows.add_to(builder)
    yield from builder.rest()


def read_alignments(form: str, reading: Reading, files: ExitStack, skip: int = 0) -> Iterator[AlignedRows]:
    """Yield the alignments of a file in a format of `ALIGNMENTS` or in FASTA, whose rows may still differ in length.

    Parameters
    ----------
    form : str
    reading : Reading
    files : ExitStack
        Closes the temporary files in which large alignments are kept.
    skip : int
        Number of alignments to skip; only Stockholm files may hold several.
    """
    if form == "stockholm":
        yield from _at("stockholm:stockholm_alignments")(reading, files, skip)
    elif not skip:
        rows = AlignedRows(reading, files)
        _at("fasta:fasta_rows" if form == "fasta" else _ROWS[form])(reading, rows)
        yield rows


def _at(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    reader: Callable[..., object] = getattr(import_module(f"clalign.formats.{module}"), name)
    return reader
