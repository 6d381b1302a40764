"""The tables of an engine as TSV, CSV and Parquet."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterable
from itertools import islice
from typing import TextIO

from clalign.engines.columns import CellOf, Column, Kind, table_lines, written_cell
from clalign.engines.export_lines import write_lines, write_table
from clalign.engines.export_source import ExportSource
from clalign.errors import OptionError, OutputError
from clalign.formats.tables import PARTIAL, plain
from clalign.formats.writers import safe_cell

ROWS_AT_ONCE = 65_536
"""Rows of a group of a Parquet file."""

INSTALL = "Install it with: pip install 'clalign[parquet]'"

_TYPES: dict[Kind, str] = {
    "text": "string", "whole number": "int64", "number": "float64", "percent": "float64", "picture": "int64",
}  # fmt: skip

_VALUES: dict[Kind, CellOf] = {"text": plain, "whole number": int, "number": float, "percent": float, "picture": int}


def write_tsv(source: ExportSource, stream: TextIO, table: str) -> int:
    """Write one of an engine's tables with tabs between."""
    columns, rows = source.columns(table), source.table_rows(table)
    if source.begun is None:
        return write_table(stream, columns, rows, source.provenance.partial)
    count = source.begun.copy_to(stream) + write_lines(stream, islice(table_lines(columns, rows), 1, None))
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def write_csv(source: ExportSource, stream: TextIO, table: str) -> int:
    """Write one of an engine's tables with commas between, for spreadsheets: as in TSV, but no cell is a formula."""
    columns = source.columns(table)
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([column.file for column in columns])
    count = 0
    for row in source.table_rows(table):
        writer.writerow([safe_cell(written_cell(column, row)) for column in columns])
        count += 1
    return count


def check_arrow() -> None:
    """Raise `OptionError` if what writes Parquet is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise OptionError("Parquet needs the package pyarrow, which is not installed.", INSTALL)


def write_parquet(source: ExportSource, stream: TextIO, table: str) -> int:
    """Write one of an engine's tables as Parquet, unrounded, with where it comes from in the metadata.

    Raises
    ------
    OptionError
        If pyarrow is not installed.
    OutputError
        If the stream takes no bytes, as a terminal.
    """
    check_arrow()
    arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    binary = getattr(stream, "buffer", None)
    if binary is None:
        raise OutputError("Parquet is no text that could be shown here.", "Name a file.")
    columns = source.columns(table)
    metadata = {"clalign": source.provenance.version, "partial": str(source.provenance.partial).lower()}
    for key, value in (line.split(": ", 1) for line in source.provenance.lines()):
        metadata[key] = f"{metadata[key]}\n{value}" if key in metadata else value  # there is a checksum for each input
    schema = arrow.schema(
        [(column.file, getattr(arrow, _TYPES[column.kind])()) for column in columns], metadata=metadata
    )
    rows, count = iter(source.table_rows(table)), 0
    with parquet.ParquetWriter(binary, schema) as writer:
        while some := list(islice(rows, ROWS_AT_ONCE)):
            writer.write_table(arrow.Table.from_pydict(_columns(columns, some), schema=schema))
            count += len(some)
    return count


def _columns(columns: Iterable[Column], rows: list[object]) -> dict[str, list[object]]:
    return {
        column.file: [None if (value := column.value(row)) is None else _VALUES[column.kind](value) for row in rows]
        for column in columns
    }
