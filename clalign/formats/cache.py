"""The cache of packed databases: a folder for each, found by checksum, the least recently used go first."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

import platformdirs

from clalign.errors import OptionError, OutputError
from clalign.formats.checksums import crc32
from clalign.formats.packed import FILES, MANIFEST, VERSION
from clalign.formats.sources import CHUNK, Source
from clalign.jobs import JobContext

FOLDER_VARIABLE = "CLALIGN_CACHE_DIR"
LIMIT_VARIABLE = "CLALIGN_CACHE_LIMIT"

DEFAULT_LIMIT = 20 * 10**9

DAY = 86400.0

SETTLED_SECONDS = 2.0
"""A file changed later than this before it was read may change again without a new time stamp."""

_WORKING = "new-"
_SPOOLED = "input-"
_LEAVING = "old-"
_INDEX = "index"
_USED = "used"
_KERNELS = "kernels"
_PROFILES = "profiles"


def cache_root() -> Path:
    """Return the folder of everything that can be made again."""
    return Path(os.environ.get(FOLDER_VARIABLE) or platformdirs.user_cache_dir("clalign"))


def cache_folder() -> Path:
    """Return the folder of the packed databases."""
    return cache_root() if os.environ.get(FOLDER_VARIABLE) else cache_root() / "databases"


def kernel_folder() -> Path:
    """Return the folder of the compiled kernels."""
    return cache_root() / _KERNELS


def profile_folder() -> Path:
    """Return the folder of the decoded libraries of profiles."""
    return cache_root() / _PROFILES


def cache_limit() -> int:
    """Return how many bytes the cache may hold."""
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return DEFAULT_LIMIT
    try:
        limit = int(float(given))
    except (ValueError, OverflowError):
        raise OptionError(f'{LIMIT_VARIABLE} is "{given}".', "Set it to a number of bytes.") from None
    return max(0, limit)


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn errors of writing in the cache into an `OutputError` that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = "the disk is full"
        else:
            reason = error.strerror or str(error)
        raise OutputError(
            f"The encoded sequences could not be kept in {folder}: {reason}.",
            f"Free some space there, or set {FOLDER_VARIABLE} to another folder.",
        ) from None


def prepare(folder: Path) -> None:
    """Make the folder and remove what interrupted jobs left there a day ago."""
    with writable(folder):
        (folder / _INDEX).mkdir(parents=True, exist_ok=True)
    for left in folder.iterdir():
        if left.name.startswith((_WORKING, _SPOOLED, _LEAVING)):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > DAY:
                    _remove(left)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Checksums:
    """What a file is known by.

    Attributes
    ----------
    sha256 : str
        Hexadecimal digits; by it things are kept.
    crc32 : int
        Quick to compute again: shows whether it was this content that was read later on.
    """

    sha256: str
    crc32: int


def checksums_of(source: Source, folder: Path, context: JobContext) -> Checksums:
    """Return the checksums of a file; one that is unchanged since the last time is not read again.

    The file may be replaced at any moment, so who reads it after this has to compare `Checksums.crc32`.
    """
    place = folder / _INDEX / hashlib.sha256(os.fsencode(source.file.absolute())).hexdigest()
    with source.file.open("rb") as stream:
        before = _stamp(stream, source)
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(place.read_text("utf-8"))
            if known["stamp"] == before:
                return Checksums(**known["checksums"])
        found = _computed(stream, source, context)
        settled = _is_settled(stream) and _stamp(stream, source) == before
    if settled and not source.file.name.startswith(_SPOOLED):
        with suppress(OSError):
            write_whole(place, json.dumps({"stamp": before, "checksums": asdict(found)}))
    return found


def _stamp(stream: BinaryIO, source: Source) -> list[str | int]:
    """Return by what a change of an open file shows."""
    facts = os.fstat(stream.fileno())
    return [
        os.fsencode(source.file.absolute()).hex(),
        facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns,
    ]  # fmt: skip


def _is_settled(stream: BinaryIO) -> bool:
    facts = os.fstat(stream.fileno())
    return time.time() - max(facts.st_mtime, facts.st_ctime) > SETTLED_SECONDS


def _computed(stream: BinaryIO, source: Source, context: JobContext) -> Checksums:
    digest, checksum, done = hashlib.sha256(), 0, 0
    while data := stream.read(CHUNK):
        digest.update(data)
        checksum = crc32(data, checksum)
        done += len(data)
        context.progress("read", done, max(source.size, done), "bytes")
        context.check()
    return Checksums(digest.hexdigest(), checksum)


def write_whole(path: Path, text: str) -> None:
    """Write a small file in a folder that is there, so that nobody ever reads a part of it."""
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        try:
            file.write(text)
            file.flush()
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


def entry_folder(folder: Path, digest: str, sequence_format: str) -> Path:
    """Return where the packed database of a file is kept."""
    return folder / f"{digest}-{sequence_format.replace(' ', '_')}-{VERSION}"


@contextmanager
def new_entry(entry: Path) -> Iterator[Path]:
    """Give a working folder that becomes the entry at the end; nothing stays behind if that is not reached."""
    with writable(entry.parent):
        working = Path(tempfile.mkdtemp(prefix=_WORKING, dir=entry.parent))
    try:
        yield working
        with writable(entry.parent):
            _put(working, entry)
    finally:
        _remove(working)


def _put(working: Path, entry: Path) -> None:
    """Rename the working folder; if another process was faster, its entry is as good."""
    for _ in range(3):
        try:
            os.rename(working, entry)
        except OSError:
            if not entry.exists():
                raise
        else:
            return
        if (entry / MANIFEST).exists():
            return
        discard(entry)


def discard(entry: Path) -> bool:
    """Remove an entry; return whether it is gone (on Windows one that is open stays)."""
    leaving = entry.with_name(f"{_LEAVING}{os.getpid()}-{time.monotonic_ns()}-{entry.name[:16]}")
    try:
        os.rename(entry, leaving)
    except OSError:
        return not entry.exists()
    shutil.rmtree(leaving, ignore_errors=True)
    return True


def mark_used(entry: Path) -> None:
    """Remember that an entry was used now."""
    with suppress(OSError):
        (entry / _USED).touch()


@dataclass(frozen=True, slots=True)
class CachedDatabase:
    """An entry of the cache.

    Attributes
    ----------
    folder : Path
    source : str
        The file it was made from.
    size : int
        Bytes.
    used : float
        Time stamp of the last use.
    """

    folder: Path
    source: str
    size: int
    used: float


def cached_databases() -> list[CachedDatabase]:
    """Return the entries of the cache, the most recently used first."""
    folder = cache_folder()
    if not folder.is_dir():
        return []
    entries = []
    for entry in folder.iterdir():
        if entry.name == _INDEX or not entry.is_dir() or entry.name.startswith((_WORKING, _LEAVING)):
            continue
        with suppress(OSError, ValueError, KeyError, TypeError):
            source = json.loads((entry / MANIFEST).read_text("utf-8"))["facts"].get("source", "")
            size = sum((entry / name).stat().st_size for name in (*FILES, MANIFEST))
            entries.append(CachedDatabase(entry, source, size, _last_use(entry)))
    return sorted(entries, key=lambda cached: -cached.used)


def _last_use(entry: Path) -> float:
    mark = entry / _USED
    return (mark if mark.exists() else entry).stat().st_mtime


def clear_cache() -> int:
    """Remove all entries, compiled kernels and decoded profiles; return how many bytes that freed."""
    freed = sum(cached.size for cached in cached_databases() if discard(cached.folder))
    for folder in (kernel_folder(), profile_folder()):
        freed += sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        shutil.rmtree(folder, ignore_errors=True)
    shutil.rmtree(cache_folder() / _INDEX, ignore_errors=True)
    return freed


def keep_to_limit(in_use: Path) -> None:
    """Remove the least recently used entries until the cache is within its limit."""
    entries = cached_databases()
    total, limit = sum(cached.size for cached in entries), cache_limit()
    for cached in reversed(entries):
        if total <= limit:
            return
        if cached.folder != in_use and discard(cached.folder):
            total -= cached.size
