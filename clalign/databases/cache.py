"""The cache: a marked folder of files that can be recomputed; the least recently used are removed first."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct
from msgspec.structs import asdict

from clalign.databases.cache_root import (
    FOLDER_VARIABLE,
    MARK,
    WORKING,
    cache_limit,
    cache_root,
    make_folder,
    write_whole,
)
from clalign.databases.packed import MANIFEST, READING
from clalign.errors import OutputError
from clalign.formats import scratch
from clalign.formats.checksums import checked_content, checked_json, crc32
from clalign.formats.sources import CHUNK, Source
from clalign.jobs import JobContext

DAY = 86400.0

SETTLED_SECONDS = 2.0
"""The checksum of a file that changed more recently is not stored: it may change without a new time stamp."""

SIZE_CHECK_SECONDS = 60.0
"""Least time between two computations of the size of the cache, which may take long."""

MAX_CHECKSUMS = 4096
"""Limit of the stored checksums of files, above which the older half is removed."""

MAX_KERNELS = 4096
"""Limit of the files of compiled kernels, above which the least recently used half is removed."""

_LEAVING = "old-"
_USED = "used"

_DATABASES, _PROFILES, _KERNELS, _INDEX, _LOCKS = "databases", "profiles", "kernels", "index", "locks"
_SHARDS = "shards"

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LEFT = re.compile(f"(?:{WORKING}|{_LEAVING}|{scratch.PREFIX}).+")
_NAMES = {
    _DATABASES: re.compile(r"[0-9a-f]{64}-[a-z0-9_]+-\d+"),
    _PROFILES: re.compile(r"[0-9a-f]{64}-\d+"),
    _KERNELS: _DIGEST,
    _SHARDS: _DIGEST,
    _INDEX: _DIGEST,
}
"""Names of the entries of each folder; nothing else is removed, except for remains of interrupted jobs."""


def cache_folder() -> Path:
    """Return the folder of the packed databases."""
    return cache_root() / _DATABASES


def kernel_folder() -> Path:
    """Return the folder of the compiled kernels."""
    return cache_root() / _KERNELS


def keep_kernel(place: Path, data: bytes) -> None:
    """Write a file into the folder of the compiled kernels.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    make_folder(place.parent)
    write_whole(place, data)
    limit_number(place.parent, MAX_KERNELS, MAX_KERNELS // 2)


def profile_folder() -> Path:
    """Return the folder of the decoded libraries of profiles."""
    return cache_root() / _PROFILES


def shard_folder() -> Path:
    """Return the folder of the shards of databases that a worker of a cluster has received."""
    return cache_root() / _SHARDS


def kept_shards() -> list[Path]:
    """Return the shards of databases that a worker of a cluster has received, named by their digests."""
    return _kept(_SHARDS)


def lock_folder() -> Path:
    """Return the folder of the locks of runs."""
    return cache_root() / _LOCKS


@contextmanager
def writable(folder: Path) -> Iterator[None]:
    """Turn errors at writing into the cache into an `OutputError`."""
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
    """Make a folder of the cache and remove the remains of dead processes from it, at the latest after a day."""
    with writable(folder):
        make_folder(folder)
    _sweep(folder)
    _sweep(cache_root())


def _sweep(folder: Path) -> None:
    with suppress(OSError):
        for left in folder.iterdir():
            if _LEFT.fullmatch(left.name) and (scratch.is_orphan(left) or _is_old(left)):
                remove(left)


def _is_old(left: Path) -> bool:
    """Return whether remains are older than a day and not in use."""
    return time.time() - left.stat().st_mtime > DAY and not scratch.is_in_use(left)


def is_own(path: Path) -> bool:
    """Return whether a path is in the marked folder, without symbolic links in between."""
    root = cache_root()
    between = [path, *path.parents][: len(path.parts) - len(root.parts)]
    is_marked = root in path.parents and (root / MARK).is_file()
    return is_marked and not any(step.is_symlink() for step in between)


def remove(path: Path) -> bool:
    """Remove a path of the cache and return whether it is gone; foreign files stay."""
    if not is_own(path):
        return False
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)
    return not path.exists()


class Checksums(Struct, frozen=True):
    """Checksums of a file.

    Attributes
    ----------
    sha256 : str
        Hexadecimal digits; entries of the cache are named by it.
    crc32 : int
        Quick to compute: it shows whether the content has changed when it is read later.
    """

    sha256: str
    crc32: int


def checksums_of(source: Source, context: JobContext) -> Checksums:
    """Return the checksums of a file, from the cache if the file has not changed.

    The file may be replaced at any moment, so later readers must compare `Checksums.crc32`.
    """
    place = cache_root() / _INDEX / hashlib.sha256(os.fsencode(source.file.absolute())).hexdigest()
    with source.file.open("rb") as stream:
        before = _stamp(stream, source)
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = checked_content(place.read_text("utf-8"))
            if known["stamp"] == before:
                return Checksums(**known["checksums"])
        found = _compute(stream, source, context)
        settled = _is_settled(stream) and _stamp(stream, source) == before
    if settled and not source.is_copy:
        with suppress(OSError):
            make_folder(place.parent)
            write_whole(place, checked_json({"stamp": before, "checksums": asdict(found)}))
            limit_number(place.parent, MAX_CHECKSUMS, MAX_CHECKSUMS // 2)
    return found


def _stamp(stream: BinaryIO, source: Source) -> list[str | int]:
    """Return the values of an open file by which a change is detected."""
    facts = os.fstat(stream.fileno())
    return [
        os.fsencode(source.file.absolute()).hex(),
        facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns,
    ]  # fmt: skip


def _is_settled(stream: BinaryIO) -> bool:
    facts = os.fstat(stream.fileno())
    return time.time() - max(facts.st_mtime, facts.st_ctime) > SETTLED_SECONDS


def _compute(stream: BinaryIO, source: Source, context: JobContext) -> Checksums:
    digest, checksum, done = hashlib.sha256(), 0, 0
    while data := stream.read(CHUNK):
        digest.update(data)
        checksum = crc32(data, checksum)
        done += len(data)
        context.progress("read", done, max(source.size, done), "bytes")
        context.check()
    return Checksums(digest.hexdigest(), checksum)


def limit_number(folder: Path, most: int, at_once: int = 1) -> None:
    """Remove the least recently used entries of a folder of the cache that has more than `most`, at least `at_once`."""
    _sweep(folder)
    kept = _kept(folder.name)
    if len(kept) > most:
        with suppress(OSError):
            for path in sorted(kept, key=_last_use)[: max(at_once, len(kept) - most)]:
                discard(path) if path.is_dir() else remove(path)


def entry_folder(folder: Path, digest: str, sequence_format: str) -> Path:
    """Return the folder of the packed database of a file."""
    return folder / f"{digest}-{sequence_format.replace(' ', '_')}-{READING}"


@contextmanager
def new_entry(entry: Path) -> Iterator[Path]:
    """Yield a working folder that becomes the entry at the end; it is removed after an error."""
    with writable(entry.parent):
        make_folder(entry.parent)
        working = scratch.Scratch(entry.parent, WORKING)
    with working as folder:
        yield folder
        working.keep()
        with writable(entry.parent):
            _put(folder, entry)


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
    if not is_own(entry):
        return not entry.exists()
    leaving = entry.with_name(f"{_LEAVING}{os.getpid()}-{time.monotonic_ns()}-{entry.name[:16]}")
    try:
        os.rename(entry, leaving)
    except OSError:
        return not entry.exists()
    remove(leaving)
    return True


def mark_used(entry: Path) -> None:
    """Record that an entry is used now."""
    with suppress(OSError):
        (entry / _USED).touch()


class CachedDatabase(Struct, frozen=True):
    """A packed database in the cache.

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
    """Return the packed databases in the cache, the most recently used first."""
    entries = []
    for entry in _kept(_DATABASES):
        with suppress(OSError, ValueError, KeyError, TypeError):
            source = checked_content((entry / MANIFEST).read_text("utf-8"))["facts"].get("source", "")
            entries.append(CachedDatabase(entry, source, _size(entry), _last_use(entry)))
    return sorted(entries, key=lambda cached: -cached.used)


def _kept(name: str) -> list[Path]:
    """Return the entries of a folder of the cache."""
    try:
        return [path for path in (cache_root() / name).iterdir() if _NAMES[name].fullmatch(path.name)]
    except OSError:
        return []


def _left() -> list[Path]:
    """Return the remains of interrupted jobs in the cache."""
    found = []
    for folder in (cache_root(), *(cache_root() / name for name in _NAMES)):
        with suppress(OSError):
            found += [path for path in folder.iterdir() if _LEFT.fullmatch(path.name) and not scratch.is_in_use(path)]
    return found


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files below a folder; links are not followed."""
    size = 0
    with suppress(OSError):
        if not path.is_dir() or path.is_symlink():
            return path.lstat().st_size
        with os.scandir(path) as found:
            for item in found:
                deeper = item.is_dir(follow_symlinks=False)
                size += _size(Path(item.path)) if deeper else item.stat(follow_symlinks=False).st_size
    return size


def _last_use(entry: Path) -> float:
    mark = entry / _USED
    return (mark if mark.exists() else entry).stat().st_mtime


def sizes() -> dict[str, int]:
    """Return the bytes of each part of the cache, by words for the part."""
    root = cache_root()
    if not os.path.isfile(root / MARK):  # False, too, if this user may not look
        return {}
    parts = {_DATABASES: "prepared sequences", _PROFILES: "decoded profiles", _KERNELS: "compiled kernels",
             _SHARDS: "sequences sent by a cluster"}  # fmt: skip
    found = {**dict.fromkeys(parts.values(), 0), "other": 0}
    with suppress(OSError):
        for path in root.iterdir():
            found[parts.get(path.name, "other")] += _size(path)
    return found


def clear_cache() -> int:
    """Remove all entries, except for the results of self-tests, and return how many bytes that freed."""
    before = sum(sizes().values())
    for path in [*(path for name in _NAMES for path in _kept(name)), *_left()]:
        if path.is_dir():
            discard(path)
        else:
            remove(path)
    return before - sum(sizes().values())


_kept_to_limit: dict[Path, float] = {}
"""Monotonic time of the last computation of the size of a cache, by its folder."""


def shrink_to_limit(in_use: Path, has_grown: bool = True) -> None:
    """Remove the least recently used databases, shards and libraries until the cache is within its limit.

    Parameters
    ----------
    in_use : Path
        The entry that is kept in any case.
    has_grown : bool
        Whether the caller has added an entry; else the size is computed at most once in `SIZE_CHECK_SECONDS`.
    """
    now, last = time.monotonic(), _kept_to_limit.get(cache_root())
    if not has_grown and last is not None and now - last < SIZE_CHECK_SECONDS:
        return
    _kept_to_limit[cache_root()] = now
    total, limit = sum(sizes().values()), cache_limit()
    if total <= limit:
        return
    entries = []
    for entry in (*_kept(_DATABASES), *_kept(_PROFILES), *_kept(_SHARDS)):
        with suppress(OSError):
            entries.append((_last_use(entry), entry, _size(entry)))
    for _, entry, size in sorted(entries):
        if total <= limit:
            return
        if entry != in_use and discard(entry):
            total -= size
