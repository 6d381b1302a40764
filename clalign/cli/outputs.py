"""The files that a command writes and the options that shape them, checked before anything is computed."""

from __future__ import annotations

import argparse
import os
from argparse import SUPPRESS
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from clalign.cli.parser import UsageError
from clalign.engines.commands import Files
from clalign.engines.exports import ALWAYS_TAKEN, OPTIONS, TEXT_WIDTH, Export, Shape, ShapeOption
from clalign.errors import OptionError
from clalign.values.documents import SpecFields
from clalign.values.typed_numbers import OutOfRange, signed_number, whole_number

WITHOUT_WIDTH = "--notextw"
"""The flag that HMMER has for lines of any length."""


class Outputs(Struct, frozen=True):
    """The files to write.

    Attributes
    ----------
    files : tuple of (Export, str)
        Kind and path of each; ``-`` is standard output.
    shape : Shape
    """

    files: Files
    shape: Shape = Shape()

    @property
    def how(self) -> SpecFields:
        """Fields of the `Choice` of every export."""
        alignment_file = next((path for one, path in self.files if one.aligns == "all queries"), "")
        return {**asdict(self.shape), "alignment_file": alignment_file}

    def check_shape(self, command: str, known: Iterable[Export]) -> None:
        """Refuse flags that would have no effect on any output.

        Parameters
        ----------
        command : str
        known : iterable of Export
            Exports that the command can write.

        Raises
        ------
        UsageError
            If there is such a flag.
        """
        written, shape = {one.name for one, _ in self.files}, self.shape
        for field in shape.given:
            heeding = [one for one in known if one.heeds(field, shape)]
            if field in ALWAYS_TAKEN or any(one.name in written for one in heeding):
                continue
            *others, last = [one.flag.split()[0] for one in heeding] or [""]
            if not last:
                words = f"{OPTIONS[field].flag} has no effect here: leave it out"
                raise UsageError(command, words)
            words, add = (f"{', '.join(others)} or {last}", "one of these") if others else (last, "it")
            raise UsageError(
                command, f"{OPTIONS[field].flag} has no effect without {words}: add {add}, or leave it out"
            )
        if shape.clans and shape.overlaps in ("best", "all"):
            raise UsageError(command, f"--clans has no effect with --overlaps {shape.overlaps}: leave one of them out")

    def check(
        self, inputs: tuple[str, ...] = (), run: str | None = None, trace: str | None = None,
        profiles: str = "", of: str | None = None,
    ) -> None:  # fmt: skip
        """Refuse outputs that could not be written, before anything is computed.

        Parameters
        ----------
        inputs : tuple of str
            Files that must not be overwritten.
        run : str, optional
            The run file that will be made.
        trace : str, optional
            The file of a trace that will be written.
        profiles : str, optional
            The file of profiles, beside which a table of clans may lie; empty for a search without profiles.
        of : str, optional
            The run file whose results are written; its inputs must not be overwritten.
        """
        from clalign.formats.taxonomy import species_rule

        shape = self.shape
        if shape.taxonomy_column and not shape.taxonomy:
            raise OptionError("--taxonomy-column needs a table.", "Name one with --taxonomy.")
        species_rule(shape.taxonomy, shape.taxonomy_column)
        for one, _ in self.files:
            one.check()
        if shape.clans or shape.overlaps == "clans":
            from clalign.engines.architectures import check_clans, check_clans_of_run

            if of is None:
                check_clans(shape.clans, shape.overlaps, profiles)
            else:
                check_clans_of_run(Path(of), shape.clans, shape.overlaps)
        if trace == "-":
            raise OptionError("A trace cannot go to standard output.", "Give --profile-run a file name.")
        written = (*(one.place(path) for one, path in self.files), *self._beside(), *([trace] if trace else ()))
        check_places(written, (*inputs, shape.taxonomy, shape.clans, *(() if of is None else _run_and_inputs(of))), run)

    def _beside(self) -> list[str]:
        """Return the paths of the files of provenance beside others."""
        from clalign.formats.writers import PROVENANCE_ENDING, has_neighbors

        if not self.shape.provenance:
            return []
        found = [f"{path}{PROVENANCE_ENDING}" for _, path in self.files if has_neighbors(path)]
        if not found:
            raise OptionError(
                "--with-provenance writes files beside outputs, but no output is a file.", "Give an output a file name."
            )
        return found


def check_places(outputs: Iterable[str], inputs: Iterable[str], run: str | None = None) -> None:
    """Refuse outputs that could not be written, that would overwrite an input, or that have the same path.

    Parameters
    ----------
    outputs, inputs : iterable of str
        Paths; ``-`` is a standard stream, and an empty path is ignored.
    run : str, optional
        The run file that will be made.

    Raises
    ------
    OptionError
        If two have the same path, or one has that of a file kept beside a run.
    OutputError
        If one could not be written.
    """
    from clalign.engines.run_sources import is_copy_of
    from clalign.formats.writers import check_writable
    from clalign.runs.side_files import check_output

    taken = {_identity(path): "read" for path in inputs if path != "-" and os.path.exists(path)}
    if run is not None:
        taken[_identity(run)] = "the run"
    for path in outputs:
        if path == "-":
            continue
        place = _identity(path)
        if place in taken and (os.path.isfile(path) or not os.path.exists(path)):
            raise OptionError(f"{path} is already {taken[place]}.", "Give each output a file of its own.")
        taken[place] = "written"
        check_output(path, run)
        if run is not None and is_copy_of(Path(run), path):
            raise OptionError(f"{path} is where the run {run} keeps an input.", "Give the output another name.")
        check_writable(path)


def _identity(path: str) -> tuple[int, int] | str:
    """Return a key that all names of a file share: device and inode, or the resolved path if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return status.st_dev, status.st_ino


def _run_and_inputs(run: str) -> Iterator[str]:
    """Yield a run file and its inputs."""
    from clalign.engines.engine import spec_of
    from clalign.runs.run_file import open_run

    yield run
    with open_run(Path(run)) as found:
        yield from spec_of(found).paths


def add_outputs(
    group: argparse._ArgumentGroup, exports: Collection[Export], min_width: int = 0, is_later: bool = False
) -> None:
    """Add the flags that name output files, and those that shape any of them.

    Parameters
    ----------
    group : argparse._ArgumentGroup
    exports : collection of Export
    min_width : int
        Smallest value of ``--textw``; 0 for no limit.
    is_later : bool
        Whether the command writes the results of an existing run.
    """
    for one in exports:
        if one.columns is None:
            group.add_argument(*one.flag.split(), dest=f"out_{one.name}", metavar="F", help=one.help)
    usual = Shape()
    for field, option in OPTIONS.items():
        if (is_later or not option.is_later) and any(one.heeds(field, usual) for one in exports):
            if field == "width":
                _add_width(group, option, min_width, is_later or min_width > 0)
            elif option.metavar:
                kind = whole_number if option.is_number else str
                group.add_argument(
                    option.flag, dest=field, default=SUPPRESS, type=kind, choices=option.choices or None,
                    metavar=option.metavar, help=option.help,
                )  # fmt: skip
            else:
                action = "store_false" if getattr(usual, field) else "store_true"
                group.add_argument(option.flag, dest=field, default=SUPPRESS, action=action, help=option.help)


def _add_width(group: argparse._ArgumentGroup, option: ShapeOption, min_width: int, has_notextw: bool) -> None:
    """Add the flag for the length of lines; where HMMER's text may be written, also HMMER's for lines of any length."""

    def width_of(text: str) -> int:
        value = signed_number(text)
        if value < min_width:
            raise OutOfRange(text, f"a whole number from {min_width} on")
        return value

    exclusive, more = group.add_mutually_exclusive_group(), "" if min_width else "; 0 for no limit"
    exclusive.add_argument(
        option.flag,
        dest="width",
        default=SUPPRESS,
        type=width_of,
        metavar=option.metavar,
        help=f"{option.help}{more} [{TEXT_WIDTH}]",
    )
    if has_notextw:
        exclusive.add_argument(
            WITHOUT_WIDTH, dest="width", default=SUPPRESS, action="store_const", const=0, help="do not wrap lines"
        )


def outputs_of(
    arguments: argparse.Namespace,
    command: str,
    known: Iterable[Export],
    is_text_wanted: bool = True,
) -> Outputs:
    """Return the outputs that the flags name; the text goes to standard output if nothing else does.

    Parameters
    ----------
    arguments : argparse.Namespace
    command : str
    known : iterable of Export
        Exports of the command.
    is_text_wanted : bool
        Whether to write the text if no flag names a file for it.

    Raises
    ------
    UsageError
        If two outputs go to standard output.
    OptionError
        If a named column does not exist.
    """
    given, known = vars(arguments), list(known)
    shape = Shape(**{field: given[field] for field in OPTIONS if field in given})
    has_columns = "columns" in given
    main = next(one for one in known if one.is_main and (one.columns is not None) == has_columns)
    if main.columns is not None:
        main.columns.check(shape.columns)
    named = [(one, path) for one in known if (path := given.get(f"out_{one.name}")) is not None]
    files = [(main if one.is_main else one, path) for one, path in named]
    to_stdout = [one.flag for one, path in named if path == "-"]
    if is_text_wanted and not to_stdout and not any(one.is_main for one, _ in named):
        files.insert(0, (main, "-"))
    if len(to_stdout) > 1:
        raise UsageError(command, f"only one output can go to standard output, not {' and '.join(to_stdout)}")
    return Outputs(tuple(files), shape)
