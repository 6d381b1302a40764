"""Flags that sub-commands share: of an engine (made from its spec), of the device, of inputs and of progress."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from argparse import SUPPRESS
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from clalign.cli.parser import CommandParser
from clalign.engines.commands import Command
from clalign.engines.engine import Engine
from clalign.errors import OptionError, quoted
from clalign.values.devices import cluster_of, without_cluster
from clalign.values.specs import Spec, has_meaning, types_of
from clalign.values.typed_numbers import count, number, positive_number, signed_number, whole_number

ProgressMode = Literal["bar", "plain", "json", "none", "quiet"]
"""How progress is shown; ``none`` still shows warnings, ``quiet`` does not."""

PROGRESS_CHOICES = ("auto", "bar", "plain", "json", "none")


def add_fields(parser: CommandParser, spec: type, command: Command | None = None) -> dict[str, argparse._ArgumentGroup]:
    """Add a flag for each field of a spec that has one, and return their groups by title.

    The namespace gets only the flags that were given; see `spec_of`. `command` is that of an engine, if there is one.
    """
    found, aliases, preset = (command.found, command.aliases, command.preset) if command else ("", {}, {})
    usual = command.usual if command else {}
    hints = types_of(spec)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in dataclasses.fields(spec):
        if "flag" not in field.metadata or not has_meaning(field, spec, preset):
            continue
        given = field.metadata
        title, flag, text = given["group"], given["flag"], given["help"].format(found=found)
        group = groups.get(title) or groups.setdefault(title, parser.add_argument_group(title))
        if "values" in given:
            _add_values(group, field.name, flag, text, given["values"])
        elif field.default is False:
            group.add_argument(flag, dest=field.name, action="store_true", default=SUPPRESS, help=text)
        elif choices := [c for c in get_args(hints[field.name]) if isinstance(c, str)]:
            group.add_argument(
                flag, dest=field.name, choices=choices, default=SUPPRESS, metavar="|".join(choices), help=text
            )
        else:
            kinds = (hints[field.name], *get_args(hints[field.name]))
            whole = signed_number if given.get("signed") else count if given.get("positive") else whole_number
            kind = number if float in kinds else whole if int in kinds else str
            value = usual.get(field.name, field.default)
            default = f" [{value:g}]" if isinstance(value, float | int) else ""
            flags = [flag, *aliases.get(field.name, "").split()]
            action = group.add_argument(
                *flags, dest=field.name, type=kind, default=SUPPRESS, metavar="X", help=f"{text}{default}"
            )
            if "names" in given:
                action.names_at = given["names"]  # type: ignore[attr-defined]
    return groups


def _add_values(group: argparse._ArgumentGroup, name: str, flags: str, text: str, values: Mapping[str, str]) -> None:
    """Add a flag for each value of a field; they exclude each other."""
    exclusive = group.add_mutually_exclusive_group()
    for flag, (value, meaning) in zip(flags.split("|"), values.items(), strict=True):
        exclusive.add_argument(
            flag, dest=name, action="store_const", const=value, default=SUPPRESS, help=f"{text}: {meaning}"
        )


def add_device_option(parser: CommandParser) -> argparse._ArgumentGroup:
    """Add ``--device`` and return its group."""
    group = parser.add_argument_group("Device")
    group.add_argument(
        "--device",
        metavar="D",
        help="device to run on: an id or part of a name from `clalign devices`, gpu, cpu, auto or reference; for a"
        " search or an alignment also several: 0:0,0:1, gpus or all; other commands take the first"
        " [the variable CLALIGN_DEVICE, else auto]",
    )
    group.add_argument(
        "--cpu",
        type=whole_number,
        metavar="N",
        help="use no more than N cores: threads of a processor's driver, compilers and processes beside a card (0: one)"
        " [the variable HMMER_NCPU, else SLURM_CPUS_PER_TASK, else all]",
    )
    group.add_argument(
        "--gpu-memory",
        type=positive_number,
        metavar="X",
        help="use no more of a card's memory than this share, such as 0.5, or number of bytes, such as 8e9"
        " [the variable CLALIGN_GPU_MEMORY, else all]",
    )
    return group


def add_cluster_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--cluster`` to the options of the device."""
    group.add_argument(
        "--cluster",
        metavar="A",
        help="compute on the workers of a Dask cluster, each on its --device: the address of the scheduler, such as"
        " tcp://host:8786, the .json file that it wrote, or local:4 for four workers on this machine",
    )


def add_locate_option(parser: CommandParser) -> None:
    """Add ``--locate``, for runs of which a file was moved."""
    group = parser.add_argument_group("Moved files")
    group.add_argument(
        "--locate",
        action="append",
        default=[],
        metavar="PATH",
        help="new place of a file that the run was made with, or its folder; the file is recognized by its checksum,"
        " and its place is kept with the run; repeatable",
    )


def locate_inputs(run_file: str, places: list[str]) -> None:
    """Keep the new places of the inputs of a run with it.

    Raises
    ------
    InputError
        If a place has none of its inputs.
    """
    if not places:
        return
    from clalign.runs.inputs import relocate
    from clalign.runs.run_file import open_run

    with open_run(Path(run_file), writable=True) as run:
        relocate(run, places)


def add_progress_options(parser: CommandParser) -> None:
    """Add ``--progress`` and ``-q``."""
    group = parser.add_argument_group("Progress")
    group.add_argument(
        "--progress",
        choices=PROGRESS_CHOICES,
        default="auto",
        metavar="|".join(PROGRESS_CHOICES),
        help="progress on standard error; auto: a bar on a terminal, else a line every 10 s; json: one event a line;"
        " none: only warnings",
    )
    group.add_argument("-q", dest="quiet", action="store_true", help="no progress and no warnings")


def progress_mode(arguments: argparse.Namespace) -> ProgressMode:
    """Return how to show progress."""
    if arguments.quiet:
        return "quiet"
    if arguments.progress == "auto":
        return "bar" if sys.stderr.isatty() else "plain"
    mode: ProgressMode = arguments.progress
    return mode


def device_of(arguments: argparse.Namespace) -> str:
    """Return the words for the device: the flag, else the variable, else ``auto``."""
    words, cluster = str(arguments.device or os.environ.get("CLALIGN_DEVICE") or "auto"), vars(arguments).get("cluster")
    if cluster is None:
        return words
    if cluster_of(cluster) is None or "@" in cluster:
        raise OptionError(
            f"--cluster is {quoted(cluster)}, which is not an address of a scheduler.",
            "Give one such as tcp://host:8786, the .json file that the scheduler wrote, or local:4.",
        )
    return f"{without_cluster(words)}@{cluster}"


def spec_of(arguments: argparse.Namespace, engine: Engine, command: Command) -> Spec:
    """Return the spec that the flags of a command describe."""
    given = vars(arguments)
    usual = {f.name: f.default for f in dataclasses.fields(engine.spec) if "flag" in f.metadata}
    fields = {name: given.get(name, value) for name, value in {**usual, **command.usual}.items()}
    named = {one.field: given[one.field] for one in command.inputs}
    files = {field: tuple(value) if isinstance(value, list) else value for field, value in named.items()}
    values = {**command.values(fields, arguments), **files, **command.preset}
    return engine.spec_of({"device": device_of(arguments), **values})
