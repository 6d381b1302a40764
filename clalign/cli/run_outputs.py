"""What a run can be written as when it is there, whatever it is of: the flags of export and resume."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from clalign.cli.options import NO_TEXT, add_text_options
from clalign.cli.outputs import SHAPES, Outputs, add_outputs, outputs_of
from clalign.cli.parser import CommandParser
from clalign.engines.commands import Command, Output
from clalign.engines.engine import Engine, engines
from clalign.errors import OptionError
from clalign.values.typed_numbers import whole_number


def all_outputs(of: Iterable[Engine] | None = None) -> list[Output]:
    """Return what runs, those `of` some engines or all, can be written as.

    An export of several engines has the flags of all, and the first's words.
    """
    found: dict[str, list[tuple[Engine, str, Output]]] = {}
    asked = list(engines() if of is None else of)
    for engine in asked:
        for program, command in engine.part("commands").items():
            for one in (*command.outputs, *command.later):
                found.setdefault(one.export, []).append((engine, program, one))
    return [_joined(entries, len(asked)) for entries in found.values()]


def _joined(entries: list[tuple[Engine, str, Output]], n_asked: int) -> Output:
    flags = dict.fromkeys(flag for _, _, one in entries for flag in one.flag.split())
    is_general = len({engine.name for engine, _, _ in entries}) == n_asked
    tables = entries[0][0].part("tables") if "tables" in entries[0][0].at else {}
    columns = ", ".join(column.file for column in tables.get(entries[0][2].export, ()))
    of = "" if is_general else f"of a run of {' or '.join(program for _, program, _ in entries)}: "
    return replace(
        entries[0][2], flag=" ".join(flags), help=f"{of}{entries[0][2].help}{columns and '; columns: '}{columns}"
    )


def add_run_outputs(parser: CommandParser, of: Iterable[Engine] | None = None) -> None:
    """Add the flags that name output files, whatever the run is of, or of runs `of` some engines."""
    group = parser.add_argument_group("Output")
    add_outputs(group, all_outputs(of))
    parser.set_defaults(**NO_TEXT)
    asked = engines() if of is None else of
    commands: list[Command] = [one for engine in asked for one in engine.part("commands").values() if one.has_hits]
    if commands:
        group.add_argument(
            "--html-hits", type=whole_number, metavar="N", help="with --html: list at most N hits of each query, the"
            " best; 0 for all, up to 50,000 [200; of many queries 5,000 in all]"
        )  # fmt: skip
        group.add_argument(
            "--with-matched-by", action="store_true", help="with --fasta-matched: end each description with the"
            " profile, or the query of sw, that the part was matched by: [matched_by=NAME]"
        )  # fmt: skip
        shapes = {shape for one in commands for shape in one.shapes}
        add_text_options(group, shapes, max(one.least_width for one in commands))


def outputs_of_run(arguments: argparse.Namespace, command: str, of: Iterable[Engine] | None = None) -> Outputs:
    """Return the outputs that the flags name; the text, to standard output, only if they name none.

    `of` is as it was for `add_run_outputs`.
    """
    known = all_outputs(of)
    is_text_wanted = getattr(arguments, "outfmt", None) is not None or not any(
        getattr(arguments, f"out_{one.export}") for one in known
    )
    return outputs_of(arguments, command, known, is_text_wanted)


def flags_of(outputs: Outputs) -> list[str]:
    """Return the flags by which `clalign resume` writes some outputs."""
    known = {one.export: one.flag.split()[0] for one in all_outputs()}
    words = ["--outfmt", outputs.columns] if outputs.columns else []
    is_alone = [path for _, path in outputs.files] == ["-"]
    for what, path in outputs.files:
        flag = known["text" if what == "outfmt" else what]
        words += [] if is_alone and what in ("text", "outfmt") else [flag, path]
    for field, value in outputs.shaped.items():
        flag, _ = SHAPES[field]
        words += [flag] if isinstance(value, bool) else [flag, str(value)]
    return words


def check_known(path: str, outputs: Outputs, command: str) -> None:
    """Refuse outputs that a run has not, and what shapes none of them, in the words of the command line.

    Raises
    ------
    OptionError
        If there is one that it has not.
    UsageError
        If a flag would have no effect.
    """
    from clalign.engines.engine import engine_of, spec_of
    from clalign.runs.run_file import open_run

    with open_run(Path(path)) as found:
        program, known = spec_of(found).command, engine_of(found).writers
    flags = {one.export: one.flag.replace(" ", ", ") for one in all_outputs()} | {"outfmt": "--outfmt"}
    unknown = next((flags[what] for what, _ in outputs.files if what not in known), None)
    if unknown is not None:
        others = ", ".join(flag for name, flag in flags.items() if name in known)
        raise OptionError(f"A run of `clalign {program}` has no {unknown}.", f"Choose among {others}.")
    outputs.check_shapes(command, {name: flag.split(",")[0] for name, flag in flags.items() if name in known})
