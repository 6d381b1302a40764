"""Files of HMMER2 profiles with new calibrations: a copy in which only the EVD lines change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from clalign.common.amounts import size_text
from clalign.errors import InputError, OptionError
from clalign.formats import hmmer3
from clalign.formats.numbers import whole
from clalign.formats.recognize import HMMER3_BINARY, identify
from clalign.formats.sources import CHUNK, MAX_PROFILE_LINE_BYTES, RawReader, Source, decoded, opened
from clalign.formats.writers import whole_file
from clalign.values.profiles import Calibration

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEWER = hmmer3.MAGIC.encode()


class ModelHead(Struct, frozen=True):
    """Name and number of nodes of a model, from its header."""

    name: str
    length: int


class _Place(Struct):
    """Where in a file of models a line lies.

    Attributes
    ----------
    model : int
        Number of the model, from 0; -1 before the first.
    part : str
        ``between`` models, ``header``, the ``table`` line that ends the header, or ``body``.
    """

    model: int = -1
    part: str = "between"

    def step(self, line: bytes) -> None:
        """Move on to the next line."""
        if self.part == "table":
            self.part = "body"
        if self.part == "between":
            if line.strip():
                self.model, self.part = self.model + 1, "header"
        elif line.startswith(b"//"):
            self.part = "between"
        elif self.part == "header" and line.startswith(b"HMM "):
            self.part = "table"


def evd_line(calibration: Calibration) -> str:
    """Return the line of a HMMER2 file that holds a calibration, without its end."""
    return f"EVD   {calibration.location:10f} {calibration.slope:10f}"


def model_heads(path: str, check: Callable[[], None] = lambda: None) -> list[ModelHead]:
    """Return names and lengths from the headers of a HMMER2 file, without reading the models.

    Parameters
    ----------
    path : str
    check : callable
        Called from time to time; it may raise `Cancelled`.

    Raises
    ------
    OptionError
        If a model is a HMMER3 profile.
    InputError
        If it is no profile file.
    """
    names: list[str] = []
    lengths: list[int] = []
    place = _Place()
    with opened(path) as source:
        if identify(source).profile_format() == HMMER3_BINARY:
            raise _newer(path)
        for line in _raw_lines(source, check):
            known = place.model
            place.step(line)
            if place.model > known:
                names.append("")
                lengths.append(0)
                if line.strip().startswith(_NEWER):
                    raise _newer(path)
            elif place.part == "header" and line[:5].strip() == b"NAME":
                names[-1] = decoded(line[6:].strip())
            elif place.part == "header" and line[:5].strip() == b"LENG":
                words = decoded(line[6:]).split()
                lengths[-1] = max(0, (words and whole(words[0])) or 0)
    return [ModelHead(name, length) for name, length in zip(names, lengths, strict=True)]


def _newer(path: str) -> OptionError:
    return OptionError(
        f"{path} holds a HMMER3 profile. Those are calibrated when they are built.",
        "Give a file with HMMER2 profiles (HMMER2.0 in its first line).",
    )


def _raw_lines(
    source: Source, check: Callable[[], None] = lambda: None, checksum: int | None = None
) -> Iterator[bytes]:
    """Yield the lines of the decompressed text with their ends, whichever those are; refuse very long ones.

    Also a file without the CRC-32 `checksum`, where one is given.
    """
    reader, number = RawReader(source), 0
    try:
        data, carry = reader.read(CHUNK).removeprefix(_BYTE_ORDER_MARK), b""
        while data:
            check()
            lines = (carry + data).splitlines(keepends=True)
            number += len(lines) - 1
            if len(lines[-1]) > MAX_PROFILE_LINE_BYTES:
                reason = f"the line is longer than {size_text(MAX_PROFILE_LINE_BYTES)}."
                raise InputError(source.label, reason, "Check whether this is the right file.", number + 1)
            # The last one may go on, and its CR may be followed by LF.
            carry = lines.pop()
            yield from lines
            data = reader.read(CHUNK)
        if carry:
            yield carry
        if checksum is not None and reader.finish() != checksum:
            raise _changed(source.label)
    finally:
        reader.close()


def write_calibrated(
    path: str, output: str, calibrations: Sequence[tuple[str, Calibration]], checksum: int | None = None
) -> None:
    """Write a copy of a HMMER2 file with new EVD lines; every other byte is kept.

    Parameters
    ----------
    path, output : str
        They may be the same file, which is then replaced at once. A compressed file is copied
        decompressed.
    calibrations : sequence of (str, Calibration)
        Name and calibration of each model, in the order of the file.
    checksum : int, optional
        CRC-32 of the file from which the models were read.

    Raises
    ------
    InputError
        If the file has other models than those, or is another one now.
    OutputError
        If the copy cannot be written; nothing is left behind then.
    """
    with opened(path) as source, whole_file(output, is_exact=True) as stream:
        for line in _calibrated_lines(path, _raw_lines(source, checksum=checksum), calibrations):
            stream.buffer.write(line)


def _calibrated_lines(
    path: str, lines: Iterator[bytes], calibrations: Sequence[tuple[str, Calibration]]
) -> Iterator[bytes]:
    place, written = _Place(), False
    for line in lines:
        known = place.model
        place.step(line)
        if place.model > known:
            written = False
            if place.model >= len(calibrations):
                raise _changed(path)
        if place.part not in ("header", "table"):
            yield line
            continue
        name, calibration = calibrations[place.model]
        tag = line[:5].strip()
        if tag == b"NAME" and decoded(line[6:].strip()) != name:
            raise _changed(path)
        if (tag == b"EVD" or place.part == "table") and not written:
            ending = line[len(line.rstrip(b"\r\n")) :]
            yield evd_line(calibration).encode() + ending
            written = True
        if tag != b"EVD":
            yield line
    if place.model + 1 != len(calibrations):
        raise _changed(path)


def _changed(path: str) -> InputError:
    return InputError(path, "the profiles have changed since they were read.", "Calibrate them again.")
