"""Libraries of HMMER3 profiles, decoded once, since reading a model as text takes longer than most searches."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict

from clalign import tracing
from clalign.common.plain_data import Json
from clalign.databases import cache
from clalign.databases.cache_root import WORKING, make_folder
from clalign.databases.packed import MANIFEST
from clalign.formats.checksums import checked_content, checked_json, crc32
from clalign.formats.profiles import models_in
from clalign.formats.sources import CHUNK, TextReader, opened
from clalign.jobs import QuietContext
from clalign.values.alphabets import ALPHABETS
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM, Calibration, Cutoffs, Floats, Hmm, Hmmer3Settings

VERSION = 4
"""Version of the decoded form; others are rebuilt."""

MAX_LIBRARIES = 64
"""Limit of the decoded libraries, above which the least recently used are removed."""

_OF_NODES = ("match", "insert", "transitions", "columns")
_ARRAYS = (*_OF_NODES, "composition")
_MODELS = "models.json"
_FILES = (_MODELS, *_ARRAYS)
_TEXTS = ("name", "accession", "description", "consensus", "reference", "structure", "mask", "facts")
_STATISTICS = ("msv", "viterbi", "forward")
_STEPS = (MM, MI, MD, IM, II, DM, DD)

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError)
"""Errors that damage in the cache, or a full disk, leads to."""

Take = Callable[[Hmm], None]
"""What is given each model."""

NODES_AT_ONCE = 1 << 17
"""Nodes of models that are read before they are written: some 25 MB."""


def load_library(path: str, check: Callable[[], None] = lambda: None, keep: bool = True) -> tuple[list[Hmm], str]:
    """Return all models of a file, and the SHA-256 of its content.

    A library of HMMER3 models is stored decoded, by that checksum.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.
    check : callable
        Called between models; it may raise `Cancelled`.
    keep : bool
        Whether decoded models are read from and written to the cache; False reads the text.

    Raises
    ------
    InputError
        See `clalign.formats.profiles.read_profiles`.
    """
    with tracing.span("read profiles", "reading"), opened(path) as source:
        sums = cache.checksums_of(source, QuietContext())

        def read(take: Take) -> None:
            text = TextReader(source)
            for hmm in models_in(text, check):
                check()
                take(hmm)
            text.check_same(sums.crc32)

        return kept_models(sums.sha256, read, keep), sums.sha256


def kept_models(digest: str, make: Callable[[Take], None], keep: bool = True) -> list[Hmm]:
    """Return the models that something with a checksum stands for, decoded before or now.

    Parameters
    ----------
    digest : str
    make : callable
        Gives each of them to a function; called where they are not in the cache, and once more if they cannot be
        written there. Its own errors are passed on.
    keep : bool
        Whether they are read from and written to the cache.
    """
    place = cache.profile_folder() / f"{digest}-{VERSION}"
    if keep and place.is_dir():
        with suppress(*_UNREADABLE):
            models = list(_read(place))
            cache.mark_used(place)
            return models
    if keep:
        keeper = _Keeper(place)
        try:
            make(keeper.add)
            return keeper.finished()
        except _NotKept:
            pass  # they are made in memory
        finally:
            keeper.give_up()
    found: list[Hmm] = []
    make(found.append)
    return found


class _NotKept(Exception):
    """Raised for models of HMMER2, which are not stored decoded, and where the cache cannot be written or read."""


@contextmanager
def _of_cache() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise _NotKept from error


class _Keeper:
    """A writer of models into the cache while they are read, so that a large library is never in memory as a whole.

    Parameters
    ----------
    place : Path
        Folder of all models after `finished`.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._working: Path | None = None
        self._waiting: list[Hmm] = []
        self._n_models = self._n_waiting = 0

    def add(self, hmm: Hmm) -> None:
        """Add a model."""
        if not isinstance(hmm.settings, Hmmer3Settings):
            raise _NotKept
        self._waiting.append(hmm)
        self._n_waiting += hmm.length
        if self._n_waiting >= NODES_AT_ONCE:
            with _of_cache():
                self._write()

    def _write(self) -> None:
        if self._working is None:
            make_folder(self._place.parent)
            self._working = Path(tempfile.mkdtemp(prefix=WORKING, dir=self._place.parent))
        for name in _ARRAYS:
            parts = [_array(hmm, name) for hmm in self._waiting]
            with (self._working / name).open("ab") as file:
                for part in parts:
                    file.write(part.astype("<f4", copy=False).tobytes())
        with (self._working / _MODELS).open("a", encoding="utf-8") as texts:
            for hmm in self._waiting:
                texts.write(f"{',' if self._n_models else '['}\n{json.dumps(_description(hmm))}")
                self._n_models += 1
        self._waiting, self._n_waiting = [], 0

    def finished(self) -> list[Hmm]:
        """Write the rest, rename the folder to its final name, and return the models."""
        with _of_cache():
            self._finish()
            return list(_read(self._place))

    def _finish(self) -> None:
        self._write()
        assert self._working is not None
        with (self._working / _MODELS).open("a", encoding="utf-8") as texts:
            texts.write("\n]" if self._n_models else "[]")
        sums = {name: _checksum(self._working / name) for name in _FILES}
        (self._working / MANIFEST).write_text(checked_json(sums), "utf-8")
        cache.discard(self._place)
        self._working.rename(self._place)
        self._working = None
        cache.limit_number(self._place.parent, MAX_LIBRARIES)

    def give_up(self) -> None:
        """Remove the working folder, unless it is finished."""
        if self._working is not None:
            cache.remove(self._working)


def _checksum(file: Path) -> int:
    """Return the CRC-32 of a file, read piece by piece: mapped, all of it would count as memory in use."""
    found = 0
    with file.open("rb", buffering=0) as stream:
        while data := stream.read(CHUNK):
            found = crc32(data, found)
    return found


def _array(hmm: Hmm, name: str) -> Floats:
    if name == "columns":  # all that are plausible are exact in single precision
        columns = np.full(hmm.length, np.nan) if hmm.columns is None else hmm.columns
        return np.concatenate([[0], columns]).astype(np.float32)[:, None]
    if name != "composition":
        table: Floats = getattr(hmm, name)
        return table
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    given = settings.composition
    return np.full((1, hmm.alphabet.size), np.nan, np.float32) if given is None else given[None, :]


def _description(hmm: Hmm) -> dict[str, object]:
    """Return all values of a model except for its tables, as plain data."""
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    return {
        **{name: getattr(hmm, name) for name in _TEXTS},
        "alphabet": hmm.alphabet.name,
        "length": hmm.length,
        "cutoffs": asdict(hmm.cutoffs),
        "version": settings.version,
        "max_length": settings.max_length,
        "effective_n": settings.effective_n,
        "statistics": {
            name: None if (given := getattr(settings, name)) is None else asdict(given) for name in _STATISTICS
        },
    }


def _read(place: Path) -> Iterator[Hmm]:
    sums = checked_content((place / MANIFEST).read_text("utf-8"))
    if sums != {name: _checksum(place / name) for name in _FILES}:
        raise ValueError("the numbers are damaged")
    models: list[Json] = json.loads((place / _MODELS).read_text("utf-8"))
    if not models:
        return
    widths = dict.fromkeys(_ARRAYS, ALPHABETS[models[0]["alphabet"]].size) | {"transitions": len(_STEPS), "columns": 1}
    # Views of plain arrays cost a fraction of those of mapped ones; the pages stay mapped all the same.
    arrays = {
        name: np.memmap(place / name, "<f4", "r").view(np.ndarray).reshape(-1, width) for name, width in widths.items()
    }
    start = 0
    for number, found in enumerate(models):
        end = start + found["length"] + 1
        yield _model(found, {name: arrays[name][start:end] for name in _OF_NODES}, arrays["composition"][number])
        start = end
    if start != len(arrays["match"]):
        raise ValueError("the numbers do not belong to the models")


def _model(found: Json, tables: dict[str, Floats], composition: npt.NDArray[np.float32]) -> Hmm:
    statistics = {name: None if given is None else Calibration(**given) for name, given in found["statistics"].items()}
    settings = Hmmer3Settings(
        version=found["version"],
        composition=None if math.isnan(composition[0]) else composition,
        max_length=found["max_length"],
        effective_n=found["effective_n"],
        **statistics,
    )
    columns = tables["columns"][1:, 0]
    cutoffs = {kind: None if pair is None else tuple(pair) for kind, pair in found["cutoffs"].items()}
    return Hmm(
        **{name: found[name] for name in _TEXTS},
        match=tables["match"],
        insert=tables["insert"],
        transitions=tables["transitions"],
        alphabet=ALPHABETS[found["alphabet"]],
        cutoffs=Cutoffs(**cutoffs),
        calibration=None,
        settings=settings,
        columns=None if np.isnan(columns).any() else columns.astype(np.int32),
    )
