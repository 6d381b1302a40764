"""Files as streams of text: checked, decompressed by content, with line numbers."""

from __future__ import annotations

import errno
import io
import os
import reprlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from msgspec import Struct, field

from clalign.common.amounts import size_text
from clalign.errors import InputError, NoSuchFile, OptionError, OutputError, named, typed
from clalign.formats.checksums import crc32
from clalign.formats.compression import Compression, compression_of, damages, decompressed, readable
from clalign.formats.scratch import Scratch
from clalign.jobs import JobContext, QuietContext

PathLike: TypeAlias = str | os.PathLike[str]

CHUNK = 2 << 20
"""Bytes of text that are read at once."""

MAX_LINE_BYTES = 64 << 20
"""Limit of the bytes of a line in all formats but FASTA, in which lines are read whole."""

MAX_HEADER_BYTES = 16 << 20
"""Limit of the bytes of a header line in FASTA, where lines of residues may have any length."""

MAX_PROFILE_LINE_BYTES = 4 << 20
"""Limit of the bytes of a line in a file of profiles; that of a node has some hundreds."""

MAX_KEPT_BYTES = 512 << 20
"""Limit of the bytes of memory that a reader keeps of a file until its end, such as an alignment."""

LINE_BYTES = 130
"""Bytes of memory that a line, or another small object, takes beside its text."""

STANDARD_INPUT = "-"

MIN_FREE_BYTES = 512 << 20
"""Bytes of a disk that copies of pipes leave free, or a twentieth of it if that is less."""

HEAD_BYTES = 64 << 10
"""Bytes at the beginning of a file that it is recognized by."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

NEW_COPY_HINT = "Get a new copy of the file."


def path_text(value: object, what: str) -> str:
    """Return a path as text.

    Raises
    ------
    OptionError
        If it is none.
    """
    path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path:
        raise OptionError(f"{what} cannot be {reprlib.repr(value)}.", "Give a path.")
    return path


class Source(Struct, frozen=True):
    """A file to read.

    Attributes
    ----------
    label : str
        The path that the user gave; ``-`` is standard input.
    file : Path
        The file that holds its bytes.
    compression : str
    size : int
        Size of the file in bytes, compressed if it is.
    span : (int, int), optional
        The bytes that are read, if not all; only of what is not compressed.
    """

    label: str
    file: Path
    compression: Compression
    size: int
    span: tuple[int, int] | None = None

    @property
    def is_copy(self) -> bool:
        """Whether it is a temporary copy of standard input or a pipe."""
        return str(self.file) != str(Path(self.label))


@contextmanager
def opened(path: str, spool: Path | None = None, context: JobContext | None = None) -> Iterator[Source]:
    """Check a file and yield it as a `Source`; standard input and pipes are copied to a file first.

    Parameters
    ----------
    path : str
        The file, or ``-``.
    spool : Path, optional
        Folder for the copy of standard input.
    context : JobContext, optional
        Receives the progress of the copy.

    Raises
    ------
    InputError
        If there is no such file, or it is a folder, empty or not readable.
    """
    if is_plain(path):
        yield _source(path, Path(path))
        return
    with _spooled(path, spool, context or QuietContext()) as copy:
        yield _source(path, copy)


def is_plain(path: str) -> bool:
    """Return whether a path is a plain file, which can be read repeatedly; pipes and standard input can be read once.

    Raises
    ------
    InputError
        If it does not exist or cannot be read.
    """
    if path == STANDARD_INPUT:
        return False
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise _not_readable(path, error) from None
    if stat.S_ISDIR(mode):
        raise InputError(path, "this is a folder, not a file.", "Choose a file in it.")
    if stat.S_ISBLK(mode):
        raise InputError(path, "this is a device, not a file.", "Choose a file.")
    return stat.S_ISREG(mode)


def _not_readable(path: str, error: OSError | ValueError) -> InputError:
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.ENOENT, errno.ENOTDIR) or number is None:
        return NoSuchFile(path)
    if number in (errno.EACCES, errno.EPERM):
        return InputError(path, "you may not read this file.", "Change its permissions, or copy it.")
    return InputError(path, f"the system could not read it: {os.strerror(number)}.", "Check the disk or the network.")


def _source(label: str, file: Path) -> Source:
    try:
        with file.open("rb") as stream:
            head = stream.read(16)
            size = os.fstat(stream.fileno()).st_size
    except OSError as error:
        raise _not_readable(label, error) from None
    if not head:
        raise InputError(
            label, "the file is empty (0 bytes).", "Check whether it was downloaded or written completely."
        )
    return Source(label, file, compression_of(head), size)


@contextmanager
def _spooled(path: str, folder: Path | None, context: JobContext) -> Iterator[Path]:
    try:
        scratch = Scratch(folder)
    except OSError as error:
        raise _not_kept(str(folder or tempfile.gettempdir()), error) from None
    with scratch as place:
        with (place / "input").open("wb") as copy:
            copy_input(path, copy, context)
        yield place / "input"


def _not_kept(place: str, error: OSError) -> OutputError:
    hint = "Free some space there, set TMPDIR to a folder with more space, or save the input to a file and use that."
    return OutputError(f"The input could not be kept in {place}: {error.strerror}.", hint)


def copy_input(path: str, copy: BinaryIO, context: JobContext | None = None) -> None:
    """Copy standard input or a pipe, which can be read once only, into an open file; some of the disk is left free.

    Parameters
    ----------
    path : str
        The pipe, or ``-``.
    copy : binary file
        On a disk, with a name.
    context : JobContext, optional
        Receives the progress; may cancel.

    Raises
    ------
    InputError
        If it cannot be read, or never ends.
    OutputError
        If the disk has too little space.
    """
    context = context or QuietContext()
    if path == STANDARD_INPUT and sys.stdin is None:
        raise InputError(path, "there is no standard input.", "Choose a file.")
    try:
        stream = sys.stdin.buffer if path == STANDARD_INPUT else Path(path).open("rb")  # noqa: SIM115
    except OSError as error:
        raise _not_readable(path, error) from None
    done = 0
    try:
        _refuse_endless(path, stream)
        while data := stream.read(CHUNK):
            _leave_room(copy.name)
            copy.write(data)
            done += len(data)
            context.progress("read", done, None, "bytes")
            context.check()
    except OSError as error:
        raise _not_kept(copy.name, error) from None
    finally:
        if path != STANDARD_INPUT:
            stream.close()


def _refuse_endless(path: str, stream: BinaryIO) -> None:
    """Refuse devices other than terminals, which a user can end, and the null device, which is empty."""
    try:
        facts = os.fstat(stream.fileno())
    except (OSError, ValueError):  # not a file of the system
        return
    if stat.S_ISCHR(facts.st_mode) and not stream.isatty() and not os.path.samestat(facts, os.stat(os.devnull)):
        raise InputError(path, "this is a device, not a file.", "Choose a file.")


def _leave_room(path: str) -> None:
    """Raise the error of a full disk if so little space is left that other programs would suffer."""
    usage = shutil.disk_usage(os.path.dirname(os.path.abspath(path)))
    if usage.free < min(MIN_FREE_BYTES, usage.total // 20):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class _Summed(io.FileIO):
    """A file, or some of its bytes, that keeps the CRC-32 of those that were read."""

    crc32 = 0

    def __init__(self, file: Path, span: tuple[int, int] | None) -> None:
        super().__init__(file)
        first, self._last = span or (0, sys.maxsize)
        if first:
            self.seek(first)

    def readinto(self, buffer: Any, /) -> int | None:
        """Read into a buffer; `io.BufferedReader` reads in no other way."""
        left = max(0, self._last - self.tell()) if self._last < sys.maxsize else len(buffer)
        n = super().readinto(memoryview(buffer)[:left])
        if n:
            self.crc32 = crc32(memoryview(buffer)[:n], self.crc32)
        return n


def head_of(source: Source, size: int = HEAD_BYTES) -> bytes:
    """Return the first bytes of the decompressed text, by default as many as `identify` needs."""
    reader = RawReader(source)
    try:
        return reader.read(size)
    finally:
        reader.close()


class RawReader:
    """The decompressed bytes of a source.

    Parameters
    ----------
    source : Source
    context : JobContext, optional
        Receives the number of bytes that were read.
    """

    def __init__(self, source: Source, context: JobContext | None = None) -> None:
        self.source = source
        self._context = context or QuietContext()
        try:
            self._file = _Summed(source.file, source.span)
        except OSError as error:
            raise _not_readable(source.label, error) from None
        self._raw = io.BufferedReader(self._file)
        self._stream = decompressed(self._raw, source.compression)
        self._given = 0

    def read(self, size: int) -> bytes:
        """Return exactly `size` bytes, fewer only at the end."""
        parts, left = [], size
        try:
            while left and (data := self._stream.read(left)):
                parts.append(data)
                left -= len(data)
        except damages():
            raise self._ends_early() from None
        except OSError as error:
            if error.errno is not None:
                raise _not_readable(self.source.label, error) from None
            raise self._ends_early() from None
        data = b"".join(parts)
        self._given += len(data)
        self._context.progress("encode", min(self._raw.tell(), self.source.size), self.source.size, "bytes")
        self._context.check()
        return data

    def _ends_early(self) -> InputError:
        """Return the error for a damaged file: how much of it can be read, and by which command."""
        self._raw.seek(0)
        kind = self.source.compression
        n_bytes, n_lines = readable(self._raw, kind)
        reason = f"the {kind} data is damaged or ends early, after {n_bytes:,} bytes of text in {n_lines:,} lines."
        if not n_lines:
            return InputError(self.source.label, reason, NEW_COPY_HINT, 1)
        name = self.source.label if self.source.label != STANDARD_INPUT else "FILE"
        write = f"{typed([kind, '-dc', named(name)])} > part.txt"
        hint = f"{NEW_COPY_HINT} To save what can be read: {write} (the last record may be cut off)."
        return InputError(self.source.label, reason, hint, n_lines + 1)

    def finish(self) -> int:
        """Read the rest of the file and return the CRC-32 of all its bytes."""
        try:
            while self._raw.read(CHUNK):
                pass
        except OSError as error:
            raise _not_readable(self.source.label, error) from None
        return self._file.crc32

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._raw.close()


class LineEnds(Struct):
    """How often each kind of line end occurs."""

    lf: int = 0
    crlf: int = 0
    cr: int = 0
    final: bool = True

    def add(self, data: bytes) -> None:
        """Count the line ends in a piece of text that does not split CR LF."""
        lf = count_byte(data, 10)
        if b"\r" in data:
            crlf = data.count(b"\r\n")
            self.crlf += crlf
            self.cr += data.count(b"\r") - crlf
            lf -= crlf
        self.lf += lf


class TextReader(Struct):
    r"""The text of a source with all line ends made ``\n``.

    Attributes
    ----------
    source : Source
    context : JobContext
    line : int
        Number of the first line of the piece that was given last.
    line_ends : LineEnds
        Line ends that were read so far.
    crc32 : int or None
        CRC-32 of the bytes of the file; None until its end was read.
    kept_bytes : int
        Memory for what the reader keeps of the text, see `keep`.
    """

    source: Source
    context: JobContext = field(default_factory=QuietContext)
    line: int = 1
    line_ends: LineEnds = field(default_factory=LineEnds)
    crc32: int | None = None
    kept_bytes: int = 0

    def error(self, reason: str, hint: str = NEW_COPY_HINT, line: int | None = None) -> InputError:
        """Return an error that names this file."""
        return InputError(self.source.label, reason, hint, line)

    def chunks(self, size: int = CHUNK, whole: bytes | None = None, max_bytes: int = MAX_LINE_BYTES) -> Iterator[bytes]:
        r"""Give the text in pieces that end with a line end.

        A piece without one is the middle of a very long line; lines that begin with a byte of
        `whole` (all lines if it is None) are never split. The last line always gets its end.

        Raises
        ------
        InputError
            If a line that is not split has more than `max_bytes` bytes.
        """
        carry: list[bytes] = []
        middle = False
        for data in self._pieces(size):
            begun = sum(map(len, carry))
            cut = data.rfind(b"\n") + 1
            if not middle and (whole is None or (carry or [data])[0][0] in whole):
                end = data.find(b"\n") if cut else len(data)
                if begun + end > max_bytes:
                    reason = f"the line is longer than {size_text(max_bytes)}."
                    raise self.error(reason, "Check whether this is the right file.", self.line)
                if cut == 0:
                    carry.append(data)
                    continue
            text = b"".join([*carry, data[:cut] if cut else data])
            carry = [data[cut:]] if 0 < cut < len(data) else []
            yield text
            middle = text[-1] != 10
            self.line += count_byte(text, 10)
        if carry or middle:
            self.line_ends.final = False
            yield b"".join(carry) + b"\n"

    def _pieces(self, size: int) -> Iterator[bytes]:
        raw = RawReader(self.source, self.context)
        held = b""
        try:
            data = raw.read(size + len(_BYTE_ORDER_MARK)).removeprefix(_BYTE_ORDER_MARK)
            while data or held:
                last = not data
                data = held + data
                held = b"\r" if data.endswith(b"\r") and not last else b""
                if text := data[: len(data) - len(held)]:
                    yield self._unified(text)
                data = raw.read(size)
            self.crc32 = raw.finish()
        except InputError as error:
            if error.line is None:
                raise self.error(error.reason, error.hint, self.line) from None
            raise
        finally:
            raw.close()

    def _unified(self, data: bytes) -> bytes:
        """Count the line ends of a piece and make them all the same."""
        self.line_ends.add(data)
        text = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data
        if b"\0" in text:
            line = self.line + text[: text.index(b"\0")].count(b"\n")
            raise self.error("there is a NUL byte: the file is not text, or it is damaged.", line=line)
        return text

    def check_same(self, checksum: int) -> None:
        """Refuse a file whose CRC-32 has changed.

        Raises
        ------
        InputError
            If other bytes were read.
        """
        if self.crc32 != checksum:
            raise self.error(
                "the file changed while it was read.", "Wait until it is written completely, then try again."
            )

    def lines(self, max_bytes: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
        """Yield the lines with their numbers, without line ends; refuse one of more than `max_bytes` bytes."""
        for chunk in self.chunks(max_bytes=max_bytes):
            yield from enumerate(chunk[:-1].split(b"\n"), self.line)

    def kept_lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield the lines for a reader that keeps them until the end of the file; see `keep`."""
        for number, line in self.lines():
            self.keep(len(line) + LINE_BYTES, number)
            yield number, line

    def keep(self, n_bytes: int, line: int | None = None) -> None:
        """Count memory for what the reader keeps of the text.

        Every reader that keeps more than one record calls this, so that a small compressed file cannot fill the memory.

        Raises
        ------
        InputError
            With the line, else with that where the piece of text begins, if all together is more than `MAX_KEPT_BYTES`.
        """
        self.kept_bytes += n_bytes
        if self.kept_bytes > MAX_KEPT_BYTES:
            raise self.error(
                f"reading this file takes more than {size_text(MAX_KEPT_BYTES)} of memory.",
                "Check whether this is the right file; convert sequences to FASTA, which needs less memory.",
                line or self.line,
            )


def count_byte(data: bytes, byte: int) -> int:
    """Return how often a byte occurs; for text in lines this is faster than ``bytes.count``."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == byte))


def decoded(data: bytes) -> str:
    """Return the text of bytes in UTF-8, or else in Latin-1."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
