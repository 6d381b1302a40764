"""The sequences of a file, packed into a folder: by this process or, if it is a large FASTA file, by several.

Each packs a segment at a time (`clalign.formats.fasta.SEGMENT_BYTES`) into a folder of its own, and this process puts
these together. Each line to such a process is a `Request` as JSON, and its answer a `Segment`, or null where something
is wrong with the file or the disk; then this process reads the whole file, and says what.
"""

from __future__ import annotations

import shutil
import subprocess
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import TextIO

import msgspec
import numpy as np
from msgspec import Struct

from clalign.databases.packed import LengthFacts, PackedWriter
from clalign.errors import ClalignError
from clalign.formats.blocks import Reading
from clalign.formats.checksums import crc32
from clalign.formats.fasta import segment_starts
from clalign.formats.readers import ALIGNMENTS, read_blocks
from clalign.formats.sources import LineEnds, Source, TextReader, head_of
from clalign.formats.tally import MAX_SHOWN_LINES, Finding
from clalign.jobs import JobContext, QuietContext
from clalign.system.bounds import n_cores
from clalign.system.processes import own_command

MIN_SEGMENTS = 3
"""Segments of a file for which processes are started: each takes some 0.3 s to begin."""

MAX_PROCESSES = 16
"""Limit of the processes: this one puts together what so many pack."""

CHECK_SECONDS = 0.1
"""How often is asked whether to wait on (s)."""

SEGMENTS_AHEAD = 2
"""Segments for each process that are packed before they are put together: more would only fill the disk."""

SEGMENT = "segment"
"""Beginning of the names of their folders."""

ZEROS = bytes(1 << 20)


class Request(Struct):
    """A segment that is to be packed: the file, the bytes of it, and the folder."""

    file: str
    first: int
    last: int
    folder: str
    drop_gaps: bool


class Segment(Struct):
    """What was found in a segment, whose lines are counted from 1.

    Attributes
    ----------
    crc32 : int
    line_ends : LineEnds
    counts : list of int
        Of each byte among the residues.
    lines, records : dict
        First lines of each byte, and the record of the first of them.
    findings : dict of str to Finding
    lengths : LengthFacts
    """

    crc32: int
    line_ends: LineEnds
    counts: list[int]
    lines: dict[int, list[int]]
    records: dict[int, str]
    findings: dict[str, Finding]
    lengths: LengthFacts


class _NotInSegments(Exception):
    """Segments of a file cannot be put together."""


def pack(source: Source, name: str, folder: Path, context: JobContext, drop_gaps: bool) -> tuple[Reading, LengthFacts]:
    """Pack the sequences of a file into an empty folder.

    Parameters
    ----------
    source : Source
    name : str
        The format.
    folder : Path
    context : JobContext
        Receives the progress; may cancel.
    drop_gaps : bool
        Whether gap characters are left out.

    Returns
    -------
    Reading
        What was found in the file, which was read to its end.
    LengthFacts

    Raises
    ------
    InputError
        If the file cannot be read as this format.
    """
    if name == "fasta" and source.compression == "none" and n_cores() > 1 and head_of(source, 1) != b"\xef":
        starts = segment_starts(source, context.check)
        if len(starts) >= MIN_SEGMENTS:
            try:
                return _pack_in_segments(source, starts, folder, context, drop_gaps)
            except (_NotInSegments, OSError):  # such as a disk that has no room for segments besides
                for path in folder.glob(f"{SEGMENT}*"):
                    shutil.rmtree(path)
    return _pack_alone(source, name, folder, context, drop_gaps)


def _pack_alone(
    source: Source, name: str, folder: Path, context: JobContext, drop_gaps: bool
) -> tuple[Reading, LengthFacts]:
    reading = Reading(TextReader(source, context), drop_gaps)
    last, records = b"", reading.tally.records
    with PackedWriter(folder) as writer:
        for block in read_blocks(name, reading):
            if name not in ALIGNMENTS:  # in which the parts of rows are interleaved
                for byte in reading.tally.lines.keys() - records.keys():
                    place = bisect_right(block.lines, reading.tally.lines[byte][0])
                    text = block.texts[place - 1] if place else last
                    records[byte] = text.partition(b"\t")[0].decode("utf-8", "replace")
            last = block.texts[-1] if block.texts else last
            writer.add(block)
        return reading, writer.finish()


def _pack_in_segments(
    source: Source, starts: Sequence[int], folder: Path, context: JobContext, drop_gaps: bool
) -> tuple[Reading, LengthFacts]:
    reading, n_lines, checksum = Reading(TextReader(source, context), drop_gaps), 0, 0
    requests = [
        Request(str(source.file.absolute()), first, last, str(folder.absolute() / f"{SEGMENT}{number}"), drop_gaps)
        for number, (first, last) in enumerate(zip(starts, [*starts[1:], source.size], strict=True))
    ]
    with PackedWriter(folder) as writer, _Processes(min(n_cores(), MAX_PROCESSES, len(starts))) as processes:
        for request, segment in zip(requests, processes.packed(requests, context.check), strict=True):
            if segment is None or segment.line_ends.cr or segment.line_ends.crlf:
                raise _NotInSegments
            if n_lines and "unnamed" in segment.findings:  # they are counted from the beginning of the file
                raise _NotInSegments
            writer.add_packed(Path(request.folder), segment.lengths, n_lines)
            shutil.rmtree(request.folder)
            _join(reading, segment, n_lines)
            n_lines += segment.line_ends.lf
            checksum = _joined(checksum, segment.crc32, request.last - request.first)
            context.progress("encode", request.last, source.size, "bytes")
        if source.file.stat().st_size != source.size:  # which the reader of the whole file will say
            raise _NotInSegments
        reading.text.crc32 = checksum
        return reading, writer.finish()


def _join(reading: Reading, segment: Segment, n_lines: int) -> None:
    """Add what was found in a segment to what was found before, in so many lines."""
    tally, ends = reading.tally, reading.text.line_ends
    tally.counts += np.array(segment.counts, np.int64)
    for byte, lines in segment.lines.items():
        tally.lines[byte] = [*tally.lines.get(byte, []), *(line + n_lines for line in lines)][:MAX_SHOWN_LINES]
        tally.records.setdefault(byte, segment.records[byte])
    for kind, found in segment.findings.items():
        known = reading.findings.found.setdefault(kind, Finding(detail=found.detail))
        known.count += found.count
        known.lines = [*known.lines, *(line + n_lines for line in found.lines)][:MAX_SHOWN_LINES]
    ends.lf, ends.final = ends.lf + segment.line_ends.lf, segment.line_ends.final


def _joined(before: int, after: int, n_bytes: int) -> int:
    """Return the CRC-32 of some bytes and `n_bytes` after them, given those of both: it is linear."""
    shifted, none = before, 0
    for first in range(0, n_bytes, len(ZEROS)):
        zeros = memoryview(ZEROS)[: n_bytes - first]
        shifted, none = crc32(zeros, shifted), crc32(zeros, none)
    return shifted ^ none ^ after


class _Processes(AbstractContextManager["_Processes"]):
    """Processes that pack segments; a context manager that ends them."""

    def __init__(self, n: int) -> None:
        self._threads = ThreadPoolExecutor(n, "packs segments")
        self._idle: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        self._all: list[subprocess.Popen[str]] = []
        try:
            for _ in range(n):
                self._all.append(
                    subprocess.Popen(
                        own_command("packer"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL, encoding="utf-8",
                    )
                )  # fmt: skip
                self._idle.put(self._all[-1])
        except OSError as error:
            self.__exit__()
            raise _NotInSegments from error

    def packed(self, requests: Sequence[Request], check: Callable[[], None]) -> Iterator[Segment | None]:
        """Yield what was found in each segment, None where that failed; `check` is called often and may raise."""
        left, asked = iter(requests), deque[Future[Segment | None]]()
        for request in islice(left, SEGMENTS_AHEAD * len(self._all)):
            asked.append(self._threads.submit(self._ask, request))
        while asked:
            while not wait([asked[0]], CHECK_SECONDS).done:
                check()
            yield asked.popleft().result()
            asked.extend(self._threads.submit(self._ask, request) for request in islice(left, 1))

    def _ask(self, request: Request) -> Segment | None:
        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(request).decode() + "\n")
            process.stdin.flush()
            return msgspec.json.decode(process.stdout.readline() or "null", type=Segment | None)
        except (OSError, ValueError):
            return None
        finally:
            self._idle.put(process)

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._all:
            process.kill()
        self._threads.shutdown()
        for process in self._all:
            process.communicate()


def serve(given: TextIO, answers: TextIO) -> None:
    """Pack the requested segments, one for each line, until there are no more."""
    for line in given:
        request = msgspec.json.decode(line, type=Request)
        folder, span = Path(request.folder), (request.first, request.last)
        source = Source(request.file, Path(request.file), "none", request.last - request.first, span)
        found = b"null"
        try:
            folder.mkdir()
            reading, lengths = _pack_alone(source, "fasta", folder, QuietContext(), request.drop_gaps)
            tally = reading.tally
            assert reading.text.crc32 is not None
            found = msgspec.json.encode(
                Segment(
                    reading.text.crc32, reading.text.line_ends, tally.counts.tolist(), tally.lines, tally.records,
                    reading.findings.found, lengths,
                )
            )  # fmt: skip
        except (ClalignError, OSError):
            pass
        answers.write(found.decode() + "\n")
        answers.flush()
