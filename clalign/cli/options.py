"""Flags that sub-commands share: those of an engine (from its spec), of outputs and of progress."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from argparse import SUPPRESS
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

from clalign.cli.parser import CommandParser
from clalign.cli.streams import tell
from clalign.engines.commands import Command
from clalign.engines.engine import Engine
from clalign.errors import OptionError, quoted
from clalign.values.devices import at_home, cluster_of
from clalign.values.specs import Spec
from clalign.values.typed_numbers import OutOfRange, count, number, signed_number, whole_number

ProgressMode = Literal["bar", "plain", "json", "none", "quiet"]
"""How progress is shown; ``none`` still shows warnings, ``quiet`` does not."""

PROGRESS_CHOICES = ("auto", "bar", "plain", "json", "none")

TEXT_WIDTH = 120
"""Longest line of a text, unless another one is asked for."""

NO_TEXT = {
    "noali": False, "textw": TEXT_WIDTH, "safe_tsv": False, "cpu": None, "overlaps": "", "clans": "", "flank": 0,
    "species": False, "taxonomy": "", "taxonomy_column": "", "with_provenance": False, "with_matched_by": False,
    "html_hits": None,
}  # fmt: skip
"""What the flags that shape texts and tables say where there are none."""


def add_fields(
    parser: CommandParser, spec: type[Any], command: Command | None = None
) -> dict[str, argparse._ArgumentGroup]:
    """Add a flag for each field of a spec that has one, and return their groups by title.

    Only what was given comes into the namespace; see `spec_of`. `command` is that of an engine, if it is one.
    """
    found, aliases = (command.found, command.aliases) if command else ("", {})
    hints = get_type_hints(spec)
    groups: dict[str, argparse._ArgumentGroup] = {}
    for field in dataclasses.fields(spec):
        if "flag" not in field.metadata:
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
            default = f" [{field.default:g}]" if isinstance(field.default, float | int) else ""
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


def add_device_option(parser: CommandParser, default: str | None = None) -> argparse._ArgumentGroup:
    """Add ``--device`` and return its group."""
    group = parser.add_argument_group("Device")
    group.add_argument(
        "--device",
        metavar="D",
        default=default,
        help="what to run on: an id or part of a name from `clalign devices`, gpu, cpu, auto or reference; a search or"
        " an alignment also on several: 0:0,0:1, gpus or all; others take the first"
        " [the variable CLALIGN_DEVICE, else auto]",
    )
    return group


def add_cluster_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--cluster`` to the options of the device."""
    group.add_argument(
        "--cluster",
        metavar="A",
        help="compute on the workers of a cluster of Dask, each on its --device: the address of the scheduler, such as"
        " tcp://host:8786, the .json file that it wrote, or local:4 for so many workers on this machine",
    )


def add_cpu_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--cpu``, which scripts written for HMMER have."""
    group.add_argument(
        "--cpu",
        type=whole_number,
        metavar="N",
        help="accepted for scripts written for HMMER, without effect: a device uses all it has",
    )


def tell_of_cpu(arguments: argparse.Namespace, command: str) -> None:
    """Say that ``--cpu`` has no effect, where it was given."""
    if arguments.cpu is not None and progress_mode(arguments) in ("bar", "plain"):
        tell(f"{command}: --cpu has no effect: a device uses all it has.")


def add_text_options(group: argparse._ArgumentGroup, shapes: Collection[str], least_width: int = 0) -> None:
    """Add the flags that shape text and tables; `shapes` names those that not every command has."""
    if "--outfmt" in shapes:
        from clalign.formats.blast_columns import WORDS

        group.add_argument(
            "--outfmt",
            metavar="S",
            help="in place of the text BLAST's table: 6, 7 (with comments), or either with names of columns, as in"
            ' "6 std qcovs"; std are the'
            f" usual twelve. Columns: {', '.join(WORDS)}",
        )
    add_safe_option(group)
    group.add_argument("--species", action="store_true", help="add a last column to the tables of hits and of domains"
                       " (TSV, CSV, Parquet): the species that descriptions name with OS= or OX=")  # fmt: skip
    group.add_argument("--taxonomy", default="", metavar="TABLE", help="as --species, which is looked up in a table"
                       " first: lines of name, accession, OX number or OS name, tab, species; more may be")  # fmt: skip
    group.add_argument("--taxonomy-column", default="", metavar="C", help="which column of that table: its name, or its"
                       " number [2]")  # fmt: skip
    add_place_options(group)
    group.add_argument("--noali", action="store_true", help="leave the alignments out of the text")
    if "--acc" in shapes:
        group.add_argument("--acc", action="store_true", help="show accessions in place of names (HMMER3)")

    def width_of(text: str) -> int:
        value = signed_number(text)
        if value < least_width:
            raise OutOfRange(text, f"a whole number from {least_width} on")
        return value

    width = group.add_mutually_exclusive_group()
    what = "of the text (HMMER3)" if least_width else "of an alignment; 0 for no limit"
    width.add_argument(
        "--textw", type=width_of, default=TEXT_WIDTH, metavar="N", help=f"longest line {what} [{TEXT_WIDTH}]"
    )
    if "--notextw" in shapes:
        width.add_argument("--notextw", dest="textw", action="store_const", const=0, help="do not wrap it")


def add_place_options(group: argparse._ArgumentGroup) -> None:
    """Add what is done with domains that overlap, and what stands beside parts of sequences."""
    from clalign.values.architectures import RULES

    rules = "; ".join(f"{name}: {words}" for name, words in RULES.items())
    group.add_argument(
        "--overlaps",
        choices=tuple(RULES),
        default="",
        metavar="|".join(RULES),
        help=f"in architectures, GFF3 and BED: {rules} [auto; GFF3 and BED of all domains: all]",
    )
    group.add_argument(
        "--clans",
        default="",
        metavar="F",
        help="a table of clans: Pfam-A.clans.tsv, Pfam-A.hmm.dat, Stockholm with CL lines, or lines of family, tab,"
        " clan [Pfam-A.clans.tsv or Pfam-A.hmm.dat beside the profiles]",
    )
    group.add_argument("--flank", type=whole_number, default=0, metavar="N",
                       help="with --fasta-matched: write N more residues on either side [0]")  # fmt: skip


def add_safe_option(group: argparse._ArgumentGroup) -> None:
    """Add ``--safe-tsv``."""
    group.add_argument("--safe-tsv", action="store_true", help="in tab-separated tables, put ' before names that begin"
                       " with =, +, - or @, which a spreadsheet would compute; CSV always has it")  # fmt: skip


def add_locate_option(parser: CommandParser) -> None:
    """Add ``--locate``, for runs of which a file was moved."""
    group = parser.add_argument_group("Moved files")
    group.add_argument(
        "--locate",
        action="append",
        default=[],
        metavar="PATH",
        help="where a file that the run was made with lies now, or the folder; known by its checksum and kept with the"
        " run; may be given again",
    )


def locate_inputs(run_file: str, places: list[str]) -> None:
    """Keep with a run where its files lie now.

    Raises
    ------
    InputError
        If one is none of its files.
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
        help="on standard error: a bar on a terminal, else a line every 10 s; json: one event a line; none: warnings"
        " alone",
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
    """Return the device that was asked for: the flag, else the variable, else ``auto``."""
    words, cluster = str(arguments.device or os.environ.get("CLALIGN_DEVICE") or "auto"), vars(arguments).get("cluster")
    if cluster is None:
        return words
    if cluster_of(cluster) is None or "@" in cluster:
        raise OptionError(
            f"--cluster is {quoted(cluster)}, which is no address of a scheduler.",
            "Give one such as tcp://host:8786, the .json file that the scheduler wrote, or local:4.",
        )
    return f"{at_home(words)}@{cluster}"


def spec_of(arguments: argparse.Namespace, engine: Engine, command: Command) -> Spec:
    """Return the spec that the flags of a command describe."""
    given = vars(arguments)
    fields = {f.name: given.get(f.name, f.default) for f in dataclasses.fields(engine.spec) if "flag" in f.metadata}
    named = {one.field: given[one.field] for one in command.inputs}
    files = {field: tuple(value) if isinstance(value, list) else value for field, value in named.items()}
    values = {**command.values(fields, arguments), **files, **command.preset}
    return engine.asked({"device": device_of(arguments), **values})
