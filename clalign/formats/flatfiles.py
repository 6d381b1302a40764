"""GenBank, EMBL and UniProt text: names, descriptions and residues are read, features are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

from clalign.errors import quoted
from clalign.formats.blocks import Block, BlockBuilder, Reading, text_of
from clalign.formats.numbers import whole
from clalign.formats.sources import LINE_BYTES

END = b"//"


class _Layout(Struct, frozen=True):
    """The words that a format begins its lines with.

    `entry` begins an entry, `sequence` is the line before its residues, `tag_size` the width of the
    column of tags, `length` finds the declared length in the entry line.
    """

    label: str
    entry: bytes
    sequence: bytes
    accession: bytes
    description: bytes
    tag_size: int
    length: re.Pattern[bytes]


GENBANK = _Layout(
    "GenBank", b"LOCUS", b"ORIGIN", b"ACCESSION", b"DEFINITION", 12, re.compile(rb"\s(\d+) (?:bp|aa|rc)\b")
)
EMBL = _Layout("EMBL or UniProt", b"ID", b"SQ", b"AC", b"DE", 5, re.compile(rb"\s(\d+) (?:BP|AA|SQ)\b"))


def read_genbank_blocks(reading: Reading) -> Iterator[Block]:
    """Yield the sequences of a GenBank or GenPept file as blocks."""
    return _read(reading, GENBANK)


def read_embl_blocks(reading: Reading) -> Iterator[Block]:
    """Yield the sequences of an EMBL or UniProt file as blocks."""
    return _read(reading, EMBL)


def _read(reading: Reading, layout: _Layout) -> Iterator[Block]:
    builder = BlockBuilder(reading)
    entries = _Entries(reading, builder, layout)
    for number, line in reading.text.lines():
        entries.line(number, line)
        yield from builder.full()
    entries.end_of_file()
    yield from builder.rest()


class _Entry(Struct):
    """An entry as far as it has been read."""

    line: int
    name: str
    declared: int | None
    accession: str = ""
    description: list[str] = field(default_factory=list)
    in_sequence: bool = False
    n_residues: int = 0


class _Entries:
    """A reader of the lines of a file, which starts a record for each entry with a sequence."""

    def __init__(self, reading: Reading, builder: BlockBuilder, layout: _Layout) -> None:
        self._reading = reading
        self._builder = builder
        self._layout = layout
        self._entry: _Entry | None = None
        self._tag = b""

    def line(self, number: int, line: bytes) -> None:
        """Read one line."""
        tag = line[: self._layout.tag_size].rstrip()
        entry = self._entry
        if tag.startswith(END):
            if entry is not None:
                self._end(entry)
            self._entry = None
            if rest := line[len(END) :].strip(b"/ \t"):  # in joined files the line end may be missing
                self.line(number, rest)
        elif tag == self._layout.entry or line.startswith(self._layout.entry + b" "):
            if entry is not None:
                raise self._reading.text.error(
                    f"the entry {quoted(entry.name)} has no closing // before the next entry begins.", line=number
                )
            self._entry = self._begin(number, line)
        elif entry is None:
            if line.strip():
                self._reading.findings.add("text_between", number)
        elif entry.in_sequence:
            self._residues(entry, number, line)
        else:
            self._head(entry, tag, number, line)

    def _begin(self, number: int, line: bytes) -> _Entry:
        self._reading.text.kept_bytes = 0  # nothing is kept of an entry once the next one begins
        words = line[len(self._layout.entry) :].split()
        name = text_of(words[0]).rstrip(";") if words else ""
        self._tag = self._layout.entry
        return _Entry(number, name, _length(self._layout, line))

    def _head(self, entry: _Entry, tag: bytes, number: int, line: bytes) -> None:
        layout = self._layout
        if tag:
            self._tag = tag
        text = text_of(line[layout.tag_size :])
        if tag == layout.sequence or line.startswith(layout.sequence + b" "):
            self._builder.start(entry.name, entry.accession, _description(entry.description), entry.line)
            entry.in_sequence = True
            entry.declared = entry.declared or _length(layout, line)
        elif tag == layout.accession and text and not entry.accession:
            entry.accession = re.split(r"[\s;]", text)[0]
        elif self._tag == layout.description:
            self._reading.text.keep(len(line) + LINE_BYTES, number)
            entry.description.append(text)

    def _residues(self, entry: _Entry, number: int, line: bytes) -> None:
        if entry.n_residues == 0 and line.startswith(self._layout.sequence + b" "):
            return
        if line[:1].isalpha() and line[1:2].isalpha() and b" " in line[2 : self._layout.tag_size + 1]:
            raise self._reading.text.error(
                f"residues or // were expected in the entry {quoted(entry.name)}, but the line is "
                f"{quoted(text_of(line[:200]), 30)}.",
                line=number,
            )
        entry.n_residues += self._builder.residues(number, line)

    def _end(self, entry: _Entry) -> None:
        if not entry.in_sequence or (entry.n_residues == 0 and entry.declared):
            self._reading.findings.add("no_sequence", entry.line, entry.name)
        elif entry.declared is not None and entry.declared != entry.n_residues:
            detail = f"{quoted(entry.name)} declares {entry.declared:,} and has {entry.n_residues:,}"
            self._reading.findings.add("length", entry.line, detail)

    def end_of_file(self) -> None:
        """Refuse an entry that is cut off, unless all its residues are there."""
        entry = self._entry
        if entry is None:
            return
        if not entry.in_sequence or entry.n_residues != entry.declared:
            promised = f" of {entry.declared:,}" if entry.declared else ""
            raise self._reading.text.error(
                f"the file ends within the {self._layout.label} entry {quoted(entry.name)} that begins in this line "
                f"(it has {entry.n_residues:,} residues{promised}).",
                line=entry.line,
            )
        self._reading.findings.add("no_terminator", entry.line, f"all its {entry.n_residues:,} residues are there")


def _length(layout: _Layout, line: bytes) -> int | None:
    """Return the length that the first line of an entry, or of its sequence, declares."""
    found = layout.length.search(line)
    return whole(found[1].decode()) if found else None


def _description(lines: list[str]) -> str:
    """Return the description; for a UniProt entry the recommended or submitted name."""
    text = " ".join(lines)
    found = re.search(r"(?:RecName|SubName): Full=([^;]*);", text)
    if found is None:
        return text
    name = found[1]
    evidence = name.rfind("{") if name.endswith("}") else len(name)
    return name[:evidence].rstrip()
