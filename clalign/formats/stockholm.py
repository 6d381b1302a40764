"""Reader of Stockholm alignments (Pfam and Rfam); a file may hold several.

What writes Stockholm: `clalign.formats.row_writers` any rows, `clalign.engines.msa.writers` those of a computed
alignment by it; `clalign.formats.profile_stockholm` hits as rows aligned to a query, for HMMER2 profiles and pairwise
searches; `clalign.engines.plan7.exports.hmmer3_stockholm` the same for HMMER3 profiles, letter by letter as HMMER3.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Reading, text_of
from clalign.formats.sources import LINE_BYTES

MAGIC = b"# STOCKHOLM 1."


def stockholm_alignments(reading: Reading, files: ExitStack, skip: int = 0) -> Iterator[AlignedRows]:
    """Yield the alignments of a file one after the other.

    Parameters
    ----------
    reading : Reading
    files : ExitStack
        Closes the temporary files.
    skip : int
        Number of alignments at the beginning to skip.

    Raises
    ------
    InputError
        If a line is no row, or the file ends early.
    """
    rows: AlignedRows | None = None
    begun = 0
    for number, line in reading.text.lines():
        if line.startswith(MAGIC):
            if rows is not None and rows.names:
                raise reading.text.error("another alignment begins before the closing // of the last one.", line=number)
            rows, begun = AlignedRows(reading, files), number
        elif line.startswith(b"//"):
            if rows is not None and not skip:
                _describe(rows)
                yield rows
            skip -= skip > 0 and rows is not None
            rows = None
        elif not line.strip():
            if rows is not None:
                rows.end_block()
        elif rows is None:
            raise reading.text.error(
                f'"# STOCKHOLM 1.0" was expected before this line: "{text_of(line)[:40]}".', line=number
            )
        elif not skip:
            _take(reading, rows, number, line)
    if rows is not None and not skip:
        if not rows.names:
            raise reading.text.error("the file ends within the alignment that begins in this line.", line=begun)
        reading.findings.add("no_terminator", begun, "all its rows have the same length")
        _describe(rows)
        yield rows


def _take(reading: Reading, rows: AlignedRows, number: int, line: bytes) -> None:
    if not line.startswith(b"#"):
        words = line.split(None, 1)
        if len(words) < 2:
            raise reading.text.error(f'the row "{text_of(line)[:40]}" has a name but no residues.', line=number)
        rows.add(text_of(words[0]), number, words[1])
        return
    reading.text.keep(len(line) + LINE_BYTES, number)
    kind, rest = (*line.split(None, 1), b"")[:2]
    if kind == b"#=GF" and (parts := rest.split(None, 1)):
        rows.notes.file.append((text_of(parts[0]), text_of(parts[1]) if parts[1:] else ""))
    elif kind == b"#=GS" and len(parts := rest.split(None, 2)) > 1:
        name = text_of(parts[0])
        if parts[2:]:
            rows.mention(name, number)
        rows.notes.rows.append((name, text_of(parts[1]), text_of(parts[2]) if parts[2:] else ""))
    elif kind == b"#=GC" and len(parts := rest.split(None, 1)) == 2:
        tag = text_of(parts[0])
        rows.columns.setdefault(tag, bytearray()).extend(b"".join(parts[1].split()))
        rows.column_lines[tag] = number
    elif kind == b"#=GR" and len(parts := rest.split(None, 2)) == 3:
        rows.annotate(text_of(parts[1]), text_of(parts[0]), number, parts[2])


def _describe(rows: AlignedRows) -> None:
    """Take accessions and descriptions from the annotation of the rows."""
    described: dict[str, list[str]] = {}
    for name, tag, text in rows.notes.rows:
        if tag == "AC" and text:
            rows.accessions[name] = text
        elif tag == "DE":
            described.setdefault(name, []).append(text)
    for number, name in enumerate(rows.names if described else ()):
        rows.descriptions[number] = " ".join(described.get(name, ()))
