"""Packed databases: sequences as arrays in a folder, written in bounded memory and mapped to be read."""

from __future__ import annotations

import json
import mmap
import sys
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.common.plain_data import Json
from clalign.formats.blocks import Block
from clalign.formats.checksums import CheckedArray, PieceSums, checked_content, checked_json
from clalign.formats.tally import MAX_SHOWN_LINES
from clalign.values.alphabets import Alphabet
from clalign.values.sequences import SequenceDatabase, longest_first

VERSION = 3
"""Changes with the order of rows, since runs store numbers of rows."""

READING = 6
"""Changes with the way in which files are read or packed, so that entries of the cache are rebuilt."""

VOLUME_RESIDUES = 8 << 20
VOLUME_SEQUENCES = 64 << 10
"""Size of a volume, within which sequences are sorted by length."""

FILES: dict[str, type[np.generic]] = {
    "codes": np.uint8,
    "offsets": np.int64,
    "order": np.int64,
    "text": np.uint8,
    "text_offsets": np.int64,
}
"""Types of the arrays of `SequenceDatabase`, each of which is a file."""

MANIFEST = "manifest.json"
HASHES = "hashes"
LINES = "lines"
SUMS = "sums"
"""Working files: hash of each name and line of each header (int64), in the order of the input; checksums."""

NAMES_AT_ONCE = 1 << 22
"""Hashes that are compared in memory; more are compared in parts, for each of which all are read."""

BYTES_AT_ONCE = 1 << 23
"""Bytes of a folder that are copied together."""

Integers = npt.NDArray[np.int64]

LENGTH_EDGES = np.array(sorted({round(2.0 ** (n / 4)) for n in range(4 * 40)}), np.int64)
"""Lower ends of the bins of the histogram of lengths, about four to an octave."""


class LengthFacts(Struct):
    """Statistics of the lengths of all sequences."""

    n: int = 0
    total: int = 0
    shortest: int = 0
    longest: int = 0
    n_empty: int = 0
    empty_lines: list[int] = field(default_factory=list)
    bins: list[int] = field(default_factory=lambda: [0] * (len(LENGTH_EDGES) + 1))

    def add(self, lengths: Integers, lines: Integers) -> None:
        """Add sequences with the lines of their headers."""
        smallest = int(lengths.min())
        self.shortest = min(self.shortest, smallest) if self.n else smallest
        self.longest = max(self.longest, int(lengths.max()))
        self.n += len(lengths)
        self.total += int(lengths.sum())
        empty = lines[lengths == 0]
        self.n_empty += len(empty)
        self.empty_lines = [*self.empty_lines, *empty[:MAX_SHOWN_LINES].tolist()][:MAX_SHOWN_LINES]
        places = np.searchsorted(LENGTH_EDGES, lengths, side="right")
        self.bins = (np.array(self.bins) + np.bincount(places, minlength=len(self.bins))).tolist()

    def join(self, other: LengthFacts, n_lines: int) -> None:
        """Add those of sequences behind these, whose lines are counted from `n_lines` on."""
        self.shortest = min(self.shortest, other.shortest) if self.n else other.shortest
        self.longest = max(self.longest, other.longest)
        self.n, self.total, self.n_empty = self.n + other.n, self.total + other.total, self.n_empty + other.n_empty
        further = [line + n_lines for line in other.empty_lines]
        self.empty_lines = [*self.empty_lines, *further][:MAX_SHOWN_LINES]
        self.bins = (np.array(self.bins) + np.array(other.bins)).tolist()

    def histogram(self) -> list[list[int]]:
        """Return [first length, last length, number] of each bin, from the first to the last that is used."""
        used = np.flatnonzero(self.bins)
        edges = [0, *LENGTH_EDGES.tolist()]
        return [
            [edges[i], edges[i + 1] - 1 if i + 1 < len(edges) else self.longest, int(self.bins[i])]
            for i in range(int(used[0]), int(used[-1]) + 1)
        ]


class PackedWriter:
    """A writer of blocks of sequences into a folder, volume by volume.

    Parameters
    ----------
    folder : Path
        An empty folder.
    volume_residues, volume_sequences : int
        Size of a volume.
    """

    def __init__(
        self, folder: Path, volume_residues: int = VOLUME_RESIDUES, volume_sequences: int = VOLUME_SEQUENCES
    ) -> None:
        self.folder = folder
        self.lengths = LengthFacts()
        self._volume_residues = volume_residues
        self._volume_sequences = volume_sequences
        self._pieces: list[bytes] = []
        self._size = 0
        self._starts: list[int] = []
        self._texts: list[bytes] = []
        self._lines: list[int] = []
        self._streamed: int | None = None
        self._n_codes = 0
        self._n_text = 0
        self._files: dict[str, BinaryIO] = {}
        self._sums = {name: PieceSums() for name in FILES}

    def __enter__(self) -> PackedWriter:
        for name in (*FILES, HASHES, LINES):
            self._files[name] = (self.folder / name).open("wb")
        self._write("offsets", np.zeros(1, np.int64))
        self._write("text_offsets", np.zeros(1, np.int64))
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, block: Block) -> None:
        """Add a block."""
        codes, breaks = block.codes, block.breaks
        if block.is_segment:
            self._end_volume()
        # Not Python's hashes, which differ from process to process.
        hashes = [blake2b(text[: text.index(b"\t")], digest_size=8).digest() for text in block.texts]
        self._write(HASHES, b"".join(hashes))
        self._write(LINES, block.lines.astype(np.int64))
        if self._streamed is not None:
            first = int(breaks[0]) if len(breaks) else len(codes)
            self._stream(codes[:first])
            codes, breaks = codes[first:], breaks - first
            if len(breaks):
                self._end_streamed()
        self._starts += (breaks + self._size).tolist()
        self._texts += block.texts
        self._lines += block.lines.tolist()
        if self._starts:
            self._pieces.append(codes)
            self._size += len(codes)
            self._flush(final=False)

    def finish(self) -> LengthFacts:
        """Write the rest and return the statistics of the lengths."""
        self._end_volume()
        for file in self._files.values():
            file.flush()
        sums = {name: found.finish() for name, found in self._sums.items()}
        (self.folder / SUMS).write_text(json.dumps(sums), "utf-8")
        return self.lengths

    def _end_volume(self) -> None:
        """Write all that was added."""
        if self._streamed is not None:
            self._end_streamed()
        if self._starts:
            self._flush(final=True)

    def add_packed(self, folder: Path, lengths: LengthFacts, n_lines: int) -> None:
        """Add all sequences of another folder, whose lines are counted from `n_lines` on."""
        added = {"offsets": self._n_codes, "text_offsets": self._n_text, "order": self.lengths.n, LINES: n_lines}
        for name in (*FILES, HASHES, LINES):
            with (folder / name).open("rb") as file:
                file.seek(8 if name.endswith("offsets") else 0)  # the first one is 0
                while data := file.read(BYTES_AT_ONCE):
                    self._write(name, np.frombuffer(data, np.int64) + added[name] if name in added else data)
                if name == "text":
                    self._n_text += file.tell()
        self._n_codes += lengths.total
        self.lengths.join(lengths, n_lines)

    def _write(self, name: str, values: npt.NDArray[np.generic] | bytes) -> None:
        data = values if isinstance(values, bytes) else values.tobytes()
        self._files[name].write(data)
        if name in FILES:
            self._sums[name].add(data)

    def _flush(self, final: bool) -> None:
        """Write all volumes that are complete; the last record is open unless this is the end."""
        ends = np.array([*self._starts[1:], self._size], np.int64)
        lengths = np.diff(ends, prepend=0)
        if not final:
            lengths = lengths[:-1]
        first = 0
        while first < len(lengths):
            count = self._volume_count(lengths[first:])
            if count == 0 and not final and not self._open_is_long():
                break
            count = count or len(lengths) - first
            self._write_volume(first, lengths[first : first + count])
            first += count
        self._forget(first, int(lengths[:first].sum()))
        if not final and len(self._texts) == 1 and self._open_is_long():
            self._begin_streamed()

    def _open_is_long(self) -> bool:
        return bool(self._starts) and self._size - self._starts[-1] > self._volume_residues

    def _volume_count(self, lengths: Integers) -> int:
        """Return how many of the next sequences form a volume; 0 if it is not yet full.

        A sequence that alone is longer than a volume is a volume of its own.
        """
        full = int(np.searchsorted(np.cumsum(lengths), self._volume_residues)) + 1
        full = min(full, self._volume_sequences)
        long = np.flatnonzero(lengths[:full] > self._volume_residues)
        if len(long):
            return max(1, int(long[0]))
        return full if full <= len(lengths) else 0

    def _write_volume(self, first: int, lengths: Integers) -> None:
        if len(self._pieces) > 1:
            self._pieces = [b"".join(self._pieces)]
        data = self._pieces[0]
        starts = self._starts[first : first + len(lengths)]
        rows = longest_first(lengths)
        sizes = lengths.tolist()
        texts = [self._texts[first + i] for i in rows.tolist()]
        base = self.lengths.n
        self._write("codes", b"".join([data[starts[i] : starts[i] + sizes[i]] for i in rows.tolist()]))
        self._write_rows(lengths[rows], texts, rows + base)
        self.lengths.add(lengths, np.array(self._lines[first : first + len(lengths)], np.int64))

    def _write_rows(self, lengths: Integers, texts: list[bytes], order: Integers) -> None:
        text_sizes = np.fromiter(map(len, texts), np.int64, len(texts))
        self._write("offsets", self._n_codes + np.cumsum(lengths, dtype=np.int64))
        self._write("text_offsets", self._n_text + np.cumsum(text_sizes))
        self._write("order", order.astype(np.int64))
        self._write("text", b"".join(texts))
        self._n_codes += int(lengths.sum())
        self._n_text += int(text_sizes.sum())

    def _forget(self, n_records: int, n_residues: int) -> None:
        if not n_records:
            return
        self._pieces = [b"".join(self._pieces)[n_residues:]]
        self._size -= n_residues
        self._starts = [start - n_residues for start in self._starts[n_records:]]
        self._texts = self._texts[n_records:]
        self._lines = self._lines[n_records:]

    def _begin_streamed(self) -> None:
        """Begin to write the open record part by part, because it is longer than a volume."""
        pieces, self._pieces = self._pieces, []
        self._streamed, self._size, self._starts = 0, 0, []
        for piece in pieces:
            self._stream(piece)

    def _stream(self, codes: bytes) -> None:
        assert self._streamed is not None
        self._write("codes", codes)
        self._streamed += len(codes)

    def _end_streamed(self) -> None:
        lengths = np.array([self._streamed], np.int64)
        self._write_rows(lengths, self._texts, np.array([self.lengths.n], np.int64))
        self.lengths.add(lengths, np.array(self._lines, np.int64))
        self._streamed, self._texts, self._lines = None, [], []


class Duplicates(Struct, frozen=True):
    """Sequences with repeated names: how many, and the first ones.

    `lines` are those of the first headers, `first` is the place of the first one in the input.
    """

    count: int
    lines: list[int]
    first: int | None


def find_duplicates(folder: Path, at_once: int = NAMES_AT_ONCE) -> Duplicates:
    """Return the sequences whose name another one has before them.

    The hashes of the names are compared in parts, so this needs the same memory for any number.

    Parameters
    ----------
    folder : Path
        The folder of a `PackedWriter`.
    at_once : int
        Hashes that are compared together.
    """
    n = (folder / HASHES).stat().st_size // 8
    parts = -(-n // at_once)
    count, first = 0, np.empty(0, np.int64)
    for part in range(parts):
        places = _repeated(folder / HASHES, part, parts, at_once)
        count += len(places)
        first = np.sort(np.concatenate([first, places]))[:MAX_SHOWN_LINES]
    return Duplicates(count, _lines_at(folder / LINES, first.tolist()), int(first[0]) if count else None)


def _repeated(file: Path, part: int, parts: int, at_once: int) -> Integers:
    """Return the place of each repeated hash among those of one part."""
    places, hashes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    start = 0
    with file.open("rb") as stream:
        while data := stream.read(8 * at_once):
            values = np.frombuffer(data, np.int64)
            mine = np.flatnonzero(values % parts == part)
            places.append(mine + start)
            hashes.append(values[mine])
            start += len(values)
    values = np.concatenate(hashes)
    order = np.argsort(values, kind="stable")
    repeated = order[1:][np.diff(values[order]) == 0]
    return np.sort(np.concatenate(places)[repeated])


def _lines_at(file: Path, places: list[int]) -> list[int]:
    lines = []
    with file.open("rb") as stream:
        for place in places:
            stream.seek(8 * place)
            lines.append(int.from_bytes(stream.read(8), sys.byteorder))
    return lines


def name_of(folder: Path, place: int) -> str:
    """Return the name of the sequence at a place in the input."""
    order = np.memmap(folder / "order", np.int64, "r")
    offsets = np.memmap(folder / "text_offsets", np.int64, "r")
    for start in range(0, len(order), NAMES_AT_ONCE):
        found = np.flatnonzero(order[start : start + NAMES_AT_ONCE] == place)
        if len(found):
            begin, end = offsets[start + found[0] : start + found[0] + 2].tolist()
            break
    else:
        raise ValueError(place)
    with (folder / "text").open("rb") as file:
        file.seek(begin)
        return file.read(end - begin).split(b"\t")[0].decode("utf-8", "replace")


def write_manifest(folder: Path, facts: dict[str, object]) -> None:
    """Write sizes and checksums of the files and the facts of the input, and remove the working files."""
    sums = json.loads((folder / SUMS).read_text("utf-8"))
    sizes = {name: (folder / name).stat().st_size for name in FILES}
    for name in (HASHES, LINES, SUMS):
        (folder / name).unlink(missing_ok=True)
    content = {"version": READING, "sizes": sizes, "sums": sums, "facts": facts}
    (folder / MANIFEST).write_text(checked_json(content), "utf-8")


class DamagedPack(Exception):
    """A packed database that is not complete."""


class Manifest(Struct, frozen=True):
    """The manifest of a packed database.

    Attributes
    ----------
    facts : dict
        Facts of the input.
    sums : dict
        CRC-32 of each piece of a file, by its name.
    sizes : dict
        Size of a file in bytes, by its name.
    """

    facts: Json
    sums: dict[str, list[int]]
    sizes: dict[str, int]


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a packed database after checking that its files have their sizes.

    Raises
    ------
    DamagedPack
        If a file is missing or has a wrong size, or the manifest is damaged.
    """
    try:
        manifest = checked_content((folder / MANIFEST).read_text("utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in FILES}
        if manifest["version"] != READING or manifest["sizes"] != sizes:
            raise DamagedPack(folder)
        return Manifest(manifest["facts"], manifest["sums"], sizes)
    except (OSError, ValueError, KeyError, TypeError):
        raise DamagedPack(folder) from None


class _Mapped:
    """The arrays of a folder, mapped into memory, and replaced if the folder is rebuilt."""

    def __init__(self, folder: Path, rebuild: Callable[[], None]) -> None:
        self._folder = folder
        self._rebuild = rebuild
        self._maps: list[mmap.mmap] = []
        self.arrays = {name: CheckedArray(*found, self._renew) for name, found in self._opened().items()}

    def _opened(self) -> dict[str, tuple[npt.NDArray[np.generic], list[int]]]:
        manifest = read_manifest(self._folder)
        found: dict[str, tuple[npt.NDArray[np.generic], list[int]]] = {}
        maps = []
        for name, kind in FILES.items():
            content: mmap.mmap | bytes = b""  # an empty file cannot be mapped
            if manifest.sizes[name]:
                with (self._folder / name).open("rb") as file:
                    maps.append(content := mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            found[name] = np.frombuffer(content, kind), manifest.sums[name]
        self._maps = maps
        return found

    def _renew(self) -> None:
        self._rebuild()
        for name, found in self._opened().items():
            self.arrays[name].replace(*found)

    def release(self) -> None:
        """Free the memory of the mapped pages, which are read again when they are needed."""
        for mapped in self._maps:
            if hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)


def open_packed(
    folder: Path, alphabet: Alphabet, source: str, digest: str, n_empty: int, rebuild: Callable[[], None]
) -> SequenceDatabase:
    """Return the database in a folder, mapped into memory.

    `rebuild` makes the folder again; it is called if a part turns out to be damaged.

    Raises
    ------
    DamagedPack, OSError, ValueError
        If damage is found at once.
    """
    mapped = _Mapped(folder, rebuild)
    return SequenceDatabase(
        alphabet=alphabet, **mapped.arrays, source=source, digest=digest, n_empty=n_empty, release=mapped.release
    )
