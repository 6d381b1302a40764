"""What callers of the library give: paths, open files, objects and options."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import os
import reprlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, ClassVar, TypeAlias, TypeVar, get_args, get_origin

import msgspec
import numpy as np
from msgspec import Struct

from clalign.errors import ClalignError, InputError, OptionError, quoted
from clalign.formats.scratch import Scratch
from clalign.formats.sources import PathLike, path_text
from clalign.formats.writers import fasta_record
from clalign.values.devices import Device
from clalign.values.documents import SpecFields
from clalign.values.profiles import Hmm
from clalign.values.sequences import Sequence, SequenceDatabase
from clalign.values.specs import has_meaning, types_of

Kind = TypeVar("Kind")

Profiles: TypeAlias = PathLike | IO[str] | IO[bytes] | Hmm | Iterable[Hmm]
Sequences: TypeAlias = PathLike | IO[str] | IO[bytes] | Sequence | SequenceDatabase | Iterable[Sequence]


def known_options(
    options: SpecFields, spec: type, command: str, preset: Mapping[str, object] | None = None
) -> SpecFields:
    """Return options that are fields of a spec, with values of the types of these fields.

    `preset` are the fields that the command itself sets.

    Raises
    ------
    OptionError
        If one is no field, has no meaning for the command, or its value is of another type.
    """
    hints = types_of(spec)
    names = [name for name, hint in hints.items() if get_origin(hint) is not ClassVar]
    if preset is not None and dataclasses.is_dataclass(spec):
        fields = dataclasses.fields(spec)
        useless = {f.name for f in fields if not has_meaning(f, spec, preset)}
        chosen_by_command = {name for f in fields for name in f.metadata.get("when", {})}
        names = [name for name in names if name not in useless | chosen_by_command]
    for name in options:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise OptionError(
                f"{command} has no option {name}.",
                f"Did you mean {near[0]}?" if near else f"It has {', '.join(names)}.",
            )
    return {name: typed(value, hints[name], name) for name, value in options.items()}


def typed(value: object, hint: type[Kind], name: str) -> Kind:
    """Return the value of an option as its type has it; those of numpy, and paths, are taken as well.

    Raises
    ------
    OptionError
        If it is of another type, or none of what there is to choose from.
    """
    try:
        return msgspec.convert(_plain(value), hint)
    except msgspec.ValidationError as error:
        choices = [str(one) for part in (hint, *get_args(hint)) for one in get_args(part) if isinstance(one, str)]
        if isinstance(value, str) and choices:
            raise OptionError(f"There is no {name} {quoted(value)}.", f"Choose one of {', '.join(choices)}.") from None
        raise OptionError(f"{name} cannot be {reprlib.repr(value)}.", f"{error}.") from None


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, list | tuple | range):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def device_words(value: object) -> str:
    """Return the words for a device, words or a `Device`, or for a list of these.

    Raises
    ------
    OptionError
        If it is something else.
    """
    several = value if isinstance(value, list | tuple) else [value]
    if not several or not all(isinstance(one, Device | str) for one in several):
        raise OptionError(f"device cannot be {reprlib.repr(value)}.", "Give an id, words, a Device, or a list of them.")
    return ",".join(one.id if isinstance(one, Device) else str(one) for one in several)


def paths_of(value: object) -> list[object]:
    """Return the paths of a list of nothing else; any other input as the only one."""
    if isinstance(value, list | tuple) and value and all(isinstance(one, str | os.PathLike) for one in value):
        return list(value)
    return [value]


class Taken(Struct, frozen=True):
    """An input, as a file that an engine reads.

    Attributes
    ----------
    path : str
        As it was given, or of a copy; ``-`` for profiles in memory.
    profiles : list of Hmm
        Those that stay in memory.
    name : str
        What an error calls it instead of the path; empty for a file of the caller.
    starts : list of int
        The first line of each sequence of a copy.
    """

    path: str
    profiles: list[Hmm] = []
    name: str = ""
    starts: list[int] = []

    def place(self, line: int | None) -> tuple[str, int | None]:
        """Return the words by which an error names a place of it: by the sequence, or by the line of what was read."""
        if not self.starts or line is None:
            return self.name, line
        return f"sequence {bisect_right(self.starts, line):,} of {self.name}", None


def taken(value: object, folder: Scratch, name: str) -> Taken:
    """Return an input as a file.

    Raises
    ------
    WrongInput
        If it is none of what can be read.
    """
    if isinstance(value, str | os.PathLike):
        return Taken(os.path.abspath(path_text(value, name)))
    copy = folder.path / name
    if hasattr(value, "read"):
        text = value.read()
        if not isinstance(text, str | bytes):
            raise WrongInput(name, "yields", text)
        copy.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Taken(str(copy), name=name)
    objects = _objects(value, name)
    profiles = [one for one in objects if isinstance(one, Hmm)]
    if profiles and len(profiles) == len(objects):
        return Taken("-", profiles, name)
    starts, line = [], 1
    with copy.open("w", encoding="utf-8") as stream:
        for one in objects:
            if not isinstance(one, Sequence):
                raise WrongInput(name, "holds", one)
            record = fasta_record(one.name, one.description, one.text)
            stream.write(record)
            starts.append(line)
            line += record.count("\n")
    return Taken(str(copy), name=name, starts=starts)


class WrongInput(OptionError, TypeError):
    """An input that is none of what can be read."""

    def __init__(self, name: str, verb: str, value: object) -> None:
        hint = "Give a path, an open file, sequences or profiles, or a list of sequences or of profiles."
        super().__init__(f"{name} {verb} a {type(value).__name__}, which cannot be read.", hint)


def _objects(value: object, name: str) -> list[object]:
    if isinstance(value, Hmm | Sequence):
        return [value]
    if isinstance(value, SequenceDatabase):
        return [value[int(row)] for row in np.argsort(value.order)]
    if not isinstance(value, Iterable):
        raise WrongInput(name, "is", value)
    return list(value)


@contextlib.contextmanager
def inputs_named(inputs: Iterable[Taken]) -> Iterator[None]:
    """Let errors name an input that is no file of the caller by its name, in place of the path of a copy."""
    copies = {one.path: one for one in inputs if one.name}

    def renamed(text: str) -> str:
        for path, one in copies.items():
            text = text if path == "-" else text.replace(path, one.name)
        return text

    try:
        yield
    except ClalignError as error:
        if isinstance(error, InputError) and error.path in copies:
            place, line = copies[error.path].place(error.line)
            raise InputError(place, renamed(error.reason), renamed(error.hint), line) from error
        error.message, error.hint = renamed(error.message), renamed(error.hint)
        raise
