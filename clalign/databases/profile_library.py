"""Libraries of HMMER3 profiles, decoded once: reading the text of a model takes longer than most searches with it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign import tracing
from clalign.databases import cache
from clalign.databases.packed import MANIFEST
from clalign.formats.checksums import checked_content, checked_json, crc32
from clalign.formats.profiles import models_in
from clalign.formats.sources import TextReader, opened
from clalign.jobs import QuietContext
from clalign.values.alphabets import ALPHABETS
from clalign.values.profiles import Calibration, Cutoffs, Floats, Hmm, Hmmer3Settings

VERSION = 1
"""Of the decoded form; another one is made anew."""

MOST_LIBRARIES = 64
"""Beyond this the least recently used go."""

_ARRAYS = ("match", "insert", "transitions", "composition")
_MODELS = "models.json"
_FILES = (_MODELS, *(f"{name}.npy" for name in _ARRAYS))
_TEXTS = ("name", "accession", "description", "consensus", "reference", "structure", "facts")
_STATISTICS = ("msv", "viterbi", "forward")


def load_library(path: str, check: Callable[[], None] = lambda: None, keep: bool = True) -> tuple[list[Hmm], str]:
    """Return all models of a file, and the SHA-256 of what was read of it.

    A library of HMMER3 models is kept decoded, by that checksum.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.
    check : callable
        Called between models; it may raise `Cancelled`.
    keep : bool
        Whether to take and to leave decoded models in the cache; False reads the text.

    Raises
    ------
    InputError
        See `clalign.formats.profiles.read_profiles`.
    """
    with tracing.span("read profiles", "reading"), opened(path) as source:
        sums = cache.checksums_of(source, QuietContext())
        place = cache.profile_folder() / f"{sums.sha256}-{VERSION}"
        if keep and place.is_dir():
            with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
                models = list(_read(place))
                cache.mark_used(place)
                return models, sums.sha256
        text, models = TextReader(source), []
        for hmm in models_in(text, check):
            check()
            models.append(hmm)
        text.check_same(sums.crc32)
    if keep and all(isinstance(hmm.settings, Hmmer3Settings) for hmm in models):
        with suppress(OSError):
            _keep(models, place)
    return models, sums.sha256


def _keep(models: list[Hmm], place: Path) -> None:
    cache.make_folder(place.parent)
    working = Path(tempfile.mkdtemp(prefix=cache.WORKING, dir=place.parent))
    try:
        size = models[0].alphabet.size if models else 0
        for name in _ARRAYS:
            parts = [_array(hmm, name) for hmm in models]
            np.save(working / f"{name}.npy", np.concatenate(parts) if parts else np.zeros((0, size), np.float32))
        (working / _MODELS).write_text(json.dumps([_description(hmm) for hmm in models]), "utf-8")
        sums = {name: crc32(_bytes(working / name)) for name in _FILES}
        (working / MANIFEST).write_text(checked_json(sums), "utf-8")
        cache.discard(place)
        working.rename(place)
    except OSError:
        cache.remove(working)
        raise
    cache.limit_number(place.parent, MOST_LIBRARIES)


def _bytes(file: Path) -> npt.NDArray[np.uint8]:
    return np.memmap(file, np.uint8, "r")


def _array(hmm: Hmm, name: str) -> Floats:
    if name != "composition":
        table: Floats = getattr(hmm, name)
        return table
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    given = settings.composition
    return np.full((1, hmm.alphabet.size), np.nan, np.float32) if given is None else given[None, :]


def _description(hmm: Hmm) -> dict[str, Any]:
    """Return everything of a model but its numbers."""
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
    if sums != {name: crc32(_bytes(place / name)) for name in _FILES}:
        raise ValueError("the numbers are damaged")
    models: list[dict[str, Any]] = json.loads((place / _MODELS).read_text("utf-8"))
    arrays = {name: np.load(place / f"{name}.npy", mmap_mode="r") for name in _ARRAYS}
    start = 0
    for number, found in enumerate(models):
        end = start + found["length"] + 1
        yield _model(found, {name: arrays[name][start:end] for name in _ARRAYS[:3]}, arrays["composition"][number])
        start = end
    if start != len(arrays["match"]):
        raise ValueError("the numbers do not belong to the models")


def _model(found: dict[str, Any], tables: dict[str, Floats], composition: npt.NDArray[np.float32]) -> Hmm:
    statistics = {
        name: None if given is None else Calibration(**given) for name, given in found["statistics"].items()
    }  # fmt: skip
    settings = Hmmer3Settings(
        version=found["version"],
        composition=None if np.isnan(composition).any() else np.array(composition),
        max_length=found["max_length"],
        effective_n=found["effective_n"],
        **statistics,
    )
    cutoffs = {kind: None if pair is None else tuple(pair) for kind, pair in found["cutoffs"].items()}
    match, insert, transitions = (np.array(tables[name]) for name in _ARRAYS[:3])
    return Hmm(
        **{name: found[name] for name in _TEXTS},
        match=match,
        insert=insert,
        transitions=transitions,
        alphabet=ALPHABETS[found["alphabet"]],
        cutoffs=Cutoffs(**cutoffs),
        calibration=None,
        settings=settings,
    )
