"""GCG's multiple sequence format (MSF), as PileUp and many aligners write it."""

from __future__ import annotations

from clalign.errors import quoted
from clalign.formats.aligned import AlignedRows, RowNames
from clalign.formats.blocks import Reading, text_of


def msf_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of an MSF alignment; its gaps (``.`` and ``~``) are included as ``-``.

    Raises
    ------
    InputError
        If a line is no row, a row has no name in the header, or the rows differ in length.
    """
    names = RowNames(reading.text)
    is_header = True
    for number, line in reading.text.kept_lines():
        words = line.split()
        if is_header:
            if len(words) > 1 and words[0] == b"Name:":
                names.add(text_of(words[1]), number)
                rows.mention(text_of(words[1]), number)
            is_header = line.strip() != b"//"
            continue
        if not words or all(word.isdigit() for word in words):  # a ruler
            rows.end_block()
            continue
        name = text_of(words[0])
        if name not in rows:
            raise reading.text.error(f"the row {quoted(name)} has no Name: line in the header.", line=number)
        rows.add(name, number, b"".join(words[1:]).translate(_GAPS))
    if is_header:
        raise reading.text.error("the line // between the header and the rows is missing.")


_GAPS = bytes.maketrans(b".~", b"--")
