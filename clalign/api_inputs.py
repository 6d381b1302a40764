"""What callers of the library give: paths, open files, objects and options."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable
from dataclasses import fields
from typing import IO, Any, TypeAlias

import numpy as np

from clalign.errors import OptionError
from clalign.formats.scratch import Scratch
from clalign.formats.writers import fasta_record
from clalign.values.devices import Device
from clalign.values.profiles import Hmm
from clalign.values.sequences import Sequence, SequenceDatabase

PathLike: TypeAlias = str | os.PathLike[str]
Profiles: TypeAlias = PathLike | IO[str] | IO[bytes] | Hmm | Iterable[Hmm]
Sequences: TypeAlias = PathLike | IO[str] | IO[bytes] | Sequence | SequenceDatabase | Iterable[Sequence]


def known_options(options: dict[str, Any], spec: type[Any], command: str) -> dict[str, Any]:
    """Return options that are fields of a spec.

    Raises
    ------
    OptionError
        If one is none.
    """
    names = [field.name for field in fields(spec)]
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise OptionError(
                f"{command} has no option {name}.",
                f"Did you mean {near[0]}?" if near else f"It has {', '.join(names)}.",
            )
    return options


def device_words(value: Any) -> str:
    """Return the words for a device, words or a `Device`, or for a list of these."""
    several = value if isinstance(value, list | tuple) else [value]
    return ",".join(one.id if isinstance(one, Device) else str(one) for one in several)


def paths_of(value: Any) -> list[Any]:
    """Return the paths of a list of nothing else; any other input as the only one."""
    is_list = isinstance(value, list | tuple) and all(isinstance(one, str | os.PathLike) for one in value)
    return list(value) if is_list and value else [value]


def taken_path(value: Any, folder: Scratch, name: str) -> tuple[str, list[Any]]:
    """Return the path of an input, as it was given or of a copy; for profiles ``-``, and what stays in memory."""
    if isinstance(value, str | os.PathLike):
        return os.path.abspath(os.fspath(value)), []
    copy = folder.path / name
    if hasattr(value, "read"):
        text = value.read()
        copy.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(copy), []
    objects = _objects(value)
    if objects and all(isinstance(one, Hmm) for one in objects):
        return "-", objects
    with copy.open("w", encoding="utf-8") as stream:
        for one in objects:
            if not isinstance(one, Sequence):
                raise TypeError(f"{name} holds a {type(one).__name__}; give sequences, profiles, or a file")
            stream.write(fasta_record(one.name, one.description, one.text))
    return str(copy), []


def _objects(value: Any) -> list[Any]:
    if isinstance(value, Hmm | Sequence):
        return [value]
    if isinstance(value, SequenceDatabase):
        return [value[int(row)] for row in np.argsort(value.order)]
    return list(value)
