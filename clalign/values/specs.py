"""Specs: what a user wants computed, as plain data with the words for flags and for entries of forms."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self, get_origin, get_type_hints

from clalign.errors import OptionError
from clalign.values.checked import ValidationError, check_as
from clalign.values.devices import cluster_of, without_cluster
from clalign.values.documents import SpecFields

REPORT = "Reporting"
INPUT = "Input"
"""Groups of options that several specs have."""


@dataclass(frozen=True, slots=True)
class Spec(ABC):
    """The base of the specs of all engines; fields that name files come before those that have a flag.

    Attributes
    ----------
    inputs : tuple of str
        The fields that name its files, each one or (as a tuple) several; at most one is standard input (``-``).
    more_files : tuple of str
        Fields that may name further files.
    """

    inputs: ClassVar[tuple[str, ...]] = ()
    more_files: ClassVar[tuple[str, ...]] = ()

    @property
    @abstractmethod
    def command(self) -> str:
        """The sub-command that runs it."""

    @property
    def is_scan(self) -> bool:
        """Whether the entries of the first file are the targets of hits, not their queries."""
        return False

    @property
    def choosing_flag(self) -> str:
        """The flag that selects the hits of one entry of the first file."""
        return "--target" if self.is_scan else "--query"

    @property
    def needs_ends(self) -> bool:
        """Whether something is computed at the ends of queries, in the process that writes the run."""
        return False

    def usual(self, name: str, default: object) -> object:
        """Return the value of a field that is not given: `default`, unless other fields have their own."""
        return default

    def settled(self) -> Self:
        """Return the spec of a new run, in which nothing is left to chance: whoever computes a part does the same."""
        return self

    def continues(self, asked: Spec) -> bool:
        """Return whether this spec of a run is what is asked for, on whatever device."""
        return self.on(asked.to_dict()["device"]) == asked

    def check_inputs(self) -> None:
        """Raise `OptionError` if several files are standard input."""
        if self.paths.count("-") > 1:
            n = "two" if len(self.paths) == 2 else f"{len(self.paths)}"
            raise OptionError(f"Only one of the {n} files can be standard input (-).", "Give the other one as a file.")

    @property
    def paths(self) -> tuple[str, ...]:
        """The files in the order of the command line."""
        return tuple(path for name in self.inputs for path in paths_in(getattr(self, name)))

    @classmethod
    def takes_many(cls, name: str) -> bool:
        """Return whether a field names several files."""
        return get_origin(types_of(cls)[name]) is tuple

    def on(self, device: str | None) -> Self:
        """Return the spec for another device; for the same one if None."""
        return dataclasses.replace(self, **({"device": device} if device else {}))

    def with_paths(self, place_of: Callable[[str], str]) -> Self:
        """Return the spec with other files in the place of each of them."""
        names = [name for name in (*self.inputs, *self.more_files) if getattr(self, name) is not None]
        return dataclasses.replace(self, **{name: with_each(getattr(self, name), place_of) for name in names})

    def to_dict(self) -> SpecFields:
        """Return the spec as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: SpecFields) -> Self:
        """Return the spec that `to_dict` described.

        Raises
        ------
        OptionError
            If an entry is missing, unknown or of another type, or if entries contradict each other.
        """
        if unknown := data.keys() - {f.name for f in dataclasses.fields(cls)}:
            raise OptionError(
                f"{cls.__name__} has no {', '.join(sorted(unknown))}.",
                f"It has: {', '.join(cls.__dataclass_fields__)}.",
            )
        try:
            return check_as(cls, data)
        except ValidationError as error:
            raise OptionError(f"An option is invalid: {error}.", "Correct that field.") from None

    def command_line(self) -> list[str]:
        """Return the words of the command that runs this spec; only what differs from the defaults."""
        return ["clalign", self.command, *(word for flag in _flags(self) for word in flag), *self.paths]

    def flags(self) -> list[str]:
        """Return the flags of what differs from the defaults, each with its value."""
        return [" ".join(words) for words in _flags(self) if words]


@cache
def types_of(spec: type) -> Mapping[str, Any]:
    """Return the types of the fields of a spec; making them of their texts takes a millisecond."""
    return get_type_hints(spec)


def paths_in(value: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that a field names."""
    return (value,) if isinstance(value, str) else value


def with_each(value: str | tuple[str, ...], place_of: Callable[[str], str]) -> str | tuple[str, ...]:
    """Return the value of a field that names files, with others in their place."""
    return place_of(value) if isinstance(value, str) else tuple(map(place_of, value))


def option(default: Any, flag: str, label: str, text: str, group: str, **more: Any) -> Any:
    """Return a dataclass field with the words for its flag and its form entry.

    In `text`, ``{found}`` stands for what is found and counted. What `more` may say, for flags: ``values``, a mapping
    of the value of each flag to words; ``signed``, for whole numbers that may be below 0. For forms: ``first``, for
    what is shown at once; ``of_file``, for what belongs to the opened files; ``choices``, a mapping of each value of a
    list to words; ``empty``, words in place of the default, so that no value stands for it; ``file``, the heading of
    the dialog that asks for one. For both: ``positive``, for numbers above 0. For shells: ``names``, the place of a
    function that returns names that may stand in place of a file. ``when`` maps other fields to the values with which
    alone the option has a meaning.
    """
    return field(default=default, metadata={"flag": flag, "label": label, "help": text, "group": group, **more})


def has_meaning(option: dataclasses.Field[object], spec: type, values: Mapping[str, object]) -> bool:
    """Return whether an option of a spec has a meaning beside some values of other fields, else their defaults."""
    defaults = {f.name: f.default for f in dataclasses.fields(spec)}
    when: Mapping[str, Collection[object]] = option.metadata.get("when", {})
    return all(values.get(name, defaults[name]) in wanted for name, wanted in when.items())


def options_of(spec: type[Spec], given: Mapping[str, object] | None = None) -> list[dataclasses.Field[Any]]:
    """Return the fields of a spec that have a flag, and do not belong to the opened files: those of its form.

    Parameters
    ----------
    spec : type
    given : mapping, optional
        Values on which it depends what has a meaning; those that are not given have their defaults.
    """
    found = (f for f in dataclasses.fields(spec) if "flag" in f.metadata and not f.metadata.get("of_file"))
    return [f for f in found if has_meaning(f, spec, given or {})]


def flag_of(name: str, spec: type) -> str:
    """Return the command line flag of a field of a spec."""
    flags = {f.name: str(f.metadata.get("flag", f.name)) for f in dataclasses.fields(spec)}
    return flags[name]


def device_flags(words: str) -> list[str]:
    """Return the flags for a user's words for a device or a cluster; none for the fastest device of this machine."""
    here, cluster = without_cluster(words), cluster_of(words)
    return [*(["--device", here] if here != "auto" else []), *(["--cluster", cluster[1]] if cluster else [])]


def _flags(spec: Spec) -> Iterator[list[str]]:
    """Yield the flags of the fields of a spec that differ from their defaults, with their values."""
    yield device_flags(getattr(spec, "device", "auto"))
    for f in dataclasses.fields(spec):
        value = getattr(spec, f.name)
        if "flag" not in f.metadata or value == spec.usual(f.name, f.default):
            continue
        flags = f.metadata["flag"].split("|")
        if len(flags) > 1:  # a flag for each value
            yield [flags[list(f.metadata["values"]).index(value)]]
        elif value is True:
            yield [flags[0]]
        else:
            yield [flags[0], f"{value:g}" if isinstance(value, float) else str(value)]
