"""BAliBASE references (MACSIM XML): the rows of an alignment, and which of its columns are core blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn
from xml.parsers import expat

from clalign.common.amounts import size_text
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Reading
from clalign.formats.sources import LINE_BYTES

NAME, LETTERS = "seq-name", "seq-data"
SCORE_NAME, SCORES = "colsco-name", "colsco-data"

CORE_TAG = "core"
"""Tag of the annotation that marks the columns of core blocks with ``*``."""

MAX_TEXT_BYTES = 16 << 20
"""Limit of the bytes of the text of an element, of a tag and of a comment."""

MAX_DEPTH = 100
"""Limit of the depth of elements; references have six levels."""

CORE_SCORE = "coreblock"
"""The name of the scores of columns that mark core blocks with 1."""


def balibase_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of a reference, and its core blocks if it has them.

    Raises
    ------
    InputError
        If it is no XML, or a row has no name.
    """
    name = score = ""
    for element, line, text in _elements(reading, NAME, LETTERS, SCORE_NAME, SCORES):
        if element == NAME:
            name = "_".join(text.split())
        elif element == SCORE_NAME:
            score = text.strip()
        elif element == SCORES:
            if score == CORE_SCORE:
                rows.columns[CORE_TAG] = bytearray(ord("*") if word == "1" else ord(".") for word in text.split())
        elif not name:
            raise reading.text.error("a row has no name.", line=line)
        else:
            reading.text.keep(len(text) + LINE_BYTES, line)
            rows.add(name, line, text.encode())


def _elements(reading: Reading, *wanted: str) -> Iterator[tuple[str, int, str]]:
    """Yield the name of each element that is wanted, the line where it ends, and its text."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parts: list[str] = []
    found: list[tuple[str, int, str]] = []
    depth = 0

    def begin(name: str, _: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            reason = f"elements are nested more than {MAX_DEPTH} levels deep, so this is not a BAliBASE reference."
            raise reading.text.error(reason, line=parser.CurrentLineNumber)
        parts.clear()
        parser.CharacterDataHandler = parts.append if name in wanted else None

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        if name in wanted:
            found.append((name, parser.CurrentLineNumber, "".join(parts)))
        parser.CharacterDataHandler = None

    def refuse(*_: object) -> NoReturn:
        raise reading.text.error("this XML declares entities, which are not supported.")

    parser.StartElementHandler, parser.EndElementHandler, parser.EntityDeclHandler = begin, end, refuse
    try:
        n_bytes = 0
        for chunk in reading.text.chunks():
            parser.Parse(chunk)
            yield from found
            found.clear()
            n_bytes += len(chunk)
            # The parser holds back a tag or a comment until it ends.
            if max(sum(map(len, parts)), n_bytes - parser.CurrentByteIndex) > MAX_TEXT_BYTES:
                reason = f"an element, a tag or a comment takes more than {size_text(MAX_TEXT_BYTES)}."
                raise reading.text.error(reason, line=parser.CurrentLineNumber)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        reason = f"the XML is not well formed ({expat.ErrorString(error.code)})."
        raise reading.text.error(reason, line=error.lineno) from None
