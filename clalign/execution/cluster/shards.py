"""Databases in shards: how they are cut and sent, how a worker keeps them, and reads them as if it had all of them."""

from __future__ import annotations

import bisect
import hashlib
import json
import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clalign.databases.cache import shard_folder
from clalign.databases.cache_root import make_folder, write_whole
from clalign.databases.packed import FILES, READING
from clalign.formats.checksums import crc32
from clalign.values.alphabets import Alphabet
from clalign.values.sequences import SequenceDatabase

SHARD_RESIDUES = 2**24
"""Approximate size of a shard (residues), some tens of megabytes with the names."""

ROW_RESIDUES = 64
"""Residues for which a row counts besides its own: for its name and its place."""

Integers = npt.NDArray[np.int64]


class MissingShards(Exception):
    """Rows that this worker does not have were asked for; the numbers of a database and of its shards."""

    def __init__(self, database: int, shards: Sequence[int]) -> None:
        super().__init__(database, shards)
        self.database, self.shards = database, list(shards)


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """What is known of a database without any shard of it.

    Attributes
    ----------
    alphabet : Alphabet
    rows, residues, texts : int64[n_shards + 1]
        Where each shard begins among all rows, residues and bytes of texts.
    source, digest : str
    n_empty : int
        As `SequenceDatabase` has them.
    """

    alphabet: Alphabet
    rows: Integers
    residues: Integers
    texts: Integers
    source: str
    digest: str
    n_empty: int

    @classmethod
    def of(cls, database: SequenceDatabase) -> Outline:
        """Return how a database is cut; the same one is always cut alike."""
        bounds, n = [0], len(database)
        offsets = database.offsets[:]
        while bounds[-1] < n:
            first = bounds[-1]
            most = int(offsets[first]) + SHARD_RESIDUES
            last = min(int(np.searchsorted(offsets, most, side="right")) - 1, first + SHARD_RESIDUES // ROW_RESIDUES, n)
            bounds.append(max(last, first + 1))
        rows = np.array(bounds if n else [0, 0], np.int64)
        texts = np.array([int(database.text_offsets[int(row)]) for row in rows], np.int64)
        facts = database.source, database.digest, database.n_empty
        return cls(database.alphabet, rows, offsets[rows].astype(np.int64), texts, *facts)

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.rows) - 1

    def of_rows(self, first: int, last: int) -> range:
        """Return the shards that rows are in."""
        ends = np.searchsorted(self.rows, [first, max(first, last - 1)], side="right") - 1
        return range(int(ends[0]), min(int(ends[1]) + 1, self.n_shards))


def digest_of_shard(database: SequenceDatabase, outline: Outline, number: int) -> str:
    """Return the digest of a shard, by which it is found again, in hexadecimal digits.

    The checksum of the file says what it holds; of a database that comes from none all is looked at.
    """
    parts = _parts(database, outline, number)
    facts = [outline.digest, READING, *outline.rows[number : number + 2].tolist(), len(database), database.n_residues]
    found = hashlib.sha256(json.dumps(facts).encode())
    for name, part in parts.items():
        if name in ("offsets", "order", "text_offsets") or not outline.digest:
            found.update(np.ascontiguousarray(part()).tobytes())
    return found.hexdigest()


def packed_shard(database: SequenceDatabase, outline: Outline, number: int) -> bytes:
    """Return a shard as it is sent."""
    found = {name: np.ascontiguousarray(part()) for name, part in _parts(database, outline, number).items()}
    blob = b"".join(found[name].astype(FILES[name]).tobytes() for name in FILES)
    sizes = {name: len(found[name]) for name in FILES}
    return json.dumps({"sizes": sizes, "crc32": crc32(blob)}).encode() + b"\n" + blob


def _parts(
    database: SequenceDatabase, outline: Outline, number: int
) -> dict[str, Callable[[], npt.NDArray[np.generic]]]:
    (first, last), (start, end) = outline.rows[number : number + 2], outline.residues[number : number + 2]
    text_start, text_end = outline.texts[number : number + 2]
    return {
        "codes": lambda: database.codes[int(start) : int(end)],
        "offsets": lambda: database.offsets[int(first) : int(last) + 1],
        "order": lambda: database.order[int(first) : int(last)],
        "text": lambda: database.text[int(text_start) : int(text_end)],
        "text_offsets": lambda: database.text_offsets[int(first) : int(last) + 1],
    }


def keep_shard(digest: str, data: bytes) -> None:
    """Keep a shard in the cache of this machine."""
    folder = shard_folder()
    make_folder(folder)
    write_whole(folder / digest, data)


def read_shard(digest: str) -> bytes | None:
    """Return a shard from the cache as it is sent; None if it is not there."""
    try:
        return (shard_folder() / digest).read_bytes()
    except OSError:
        return None


def opened_shard(digest: str) -> dict[str, npt.NDArray[np.generic]] | None:
    """Return the arrays of a shard, mapped from the cache; None if it is not there or damaged, and so removed."""
    path = shard_folder() / digest
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        place = data.find(b"\n") + 1
        facts = json.loads(data[:place])
        with memoryview(data) as view:
            is_whole = crc32(view[place:]) == facts["crc32"]
        arrays = {}
        for name, kind in FILES.items():
            n = int(facts["sizes"][name])
            array = np.frombuffer(data, np.uint8, n * np.dtype(kind).itemsize, place)
            place += array.nbytes
            # What has no array of bytes before it is not where a number may begin.
            arrays[name] = array if kind is np.uint8 else np.frombuffer(array.tobytes(), kind)
        if is_whole:
            os.utime(path)
            return arrays
    except (OSError, ValueError, KeyError, TypeError):
        pass
    with suppress(OSError):
        path.unlink()
    return None


class Shards:
    """The shards of a database that a worker has, read as if it had all of them.

    Parameters
    ----------
    number : int
        Number of the database in payloads.
    outline : Outline
    """

    def __init__(self, number: int, outline: Outline) -> None:
        self.number, self.outline = number, outline
        self.held: dict[int, dict[str, npt.NDArray[np.generic]]] = {}
        starts = {
            "codes": outline.residues, "offsets": outline.rows, "order": outline.rows, "text": outline.texts,
            "text_offsets": outline.rows,
        }  # fmt: skip
        bounds = {"offsets": outline.residues, "text_offsets": outline.texts}
        columns = {name: _Column(self, name, starts[name], bounds.get(name)) for name in FILES}
        self.database = SequenceDatabase(
            outline.alphabet, columns["codes"], columns["offsets"], columns["order"], columns["text"],
            columns["text_offsets"], outline.source, outline.digest, outline.n_empty,
        )  # fmt: skip

    def part(self, shard: int, name: str) -> npt.NDArray[np.generic]:
        """Return an array of a shard; raise `MissingShards` if it is not here."""
        if shard not in self.held:
            raise MissingShards(self.number, [shard])
        return self.held[shard][name]


class _Column:
    """An array of a database of which this worker has some shards.

    Where each row begins is an array with one entry more than rows: the entry between two shards is in both.
    """

    def __init__(self, shards: Shards, name: str, starts: Integers, bounds: Integers | None) -> None:
        self._shards, self._name, self._starts = shards, name, starts
        self._listed: list[int] = starts.tolist()
        self._bounds = bounds
        self._more = 0 if bounds is None else 1

    def __len__(self) -> int:
        return int(self._starts[-1]) + self._more

    def __array__(self, dtype: npt.DTypeLike | None = None, /, *, copy: bool | None = None) -> npt.NDArray[np.generic]:
        return np.asarray(self[:], dtype)

    def __getitem__(self, key: object, /) -> object:
        if isinstance(key, slice):
            first, last, step = key.indices(len(self))
            return self._slice(first, last) if step == 1 else self._slice(0, len(self))[key]
        if isinstance(key, int | np.integer):
            return self._one(int(key))
        places = np.asarray(key)
        if places.dtype == bool:
            places = np.flatnonzero(places)
        return self._several(np.where(places < 0, places + len(self), places))

    def _several(self, places: Integers) -> npt.NDArray[np.generic]:
        if places.size and not 0 <= places.min() <= places.max() < len(self):
            raise IndexError(places)
        found = np.empty(places.shape, FILES[self._name])
        of_shard = np.searchsorted(self._starts, places, side="right") - 1
        starts = self._starts[of_shard]
        if self._bounds is not None:
            at_bound = starts == places
            found[at_bound] = self._bounds[of_shard[at_bound]]
            of_shard = np.where(at_bound, -1, of_shard)
        for shard in np.unique(of_shard):
            if shard >= 0:
                chosen = of_shard == shard
                found[chosen] = self._shards.part(int(shard), self._name)[places[chosen] - starts[chosen]]
        return found

    def _one(self, place: int) -> object:
        place += len(self) if place < 0 else 0
        if not 0 <= place < len(self):
            raise IndexError(place)
        shard = bisect.bisect_right(self._listed, place) - 1
        if self._bounds is not None and self._listed[shard] == place:
            return self._bounds[shard]
        return self._shards.part(shard, self._name)[place - self._listed[shard]]

    def _slice(self, first: int, last: int) -> npt.NDArray[np.generic]:
        pieces: list[npt.NDArray[np.generic]] = []
        while first < last:
            shard = int(np.searchsorted(self._starts, first, side="right")) - 1
            if first + self._more == last and self._bounds is not None and self._starts[shard] == first:
                pieces.append(self._bounds[shard : shard + 1])
                break
            start, end = self._starts[shard : shard + 2].tolist()
            part = self._shards.part(shard, self._name)
            pieces.append(part[first - start : last - start])
            first = end + self._more
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate([np.empty(0, FILES[self._name]), *pieces])
