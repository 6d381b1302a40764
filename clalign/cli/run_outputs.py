"""The outputs of existing runs of any engine: flags of export and resume."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from clalign.cli.outputs import WITHOUT_WIDTH, Outputs, add_outputs, outputs_of
from clalign.cli.parser import CommandParser
from clalign.engines.engine import Engine, engines
from clalign.engines.exports import OPTIONS, Export
from clalign.errors import OptionError


def all_outputs(of: Iterable[Engine] | None = None) -> list[Export]:
    """Return the exports of runs, of all engines or `of` some.

    An export of several engines has the flags of all and the help of the first. Exports with named columns come last.
    """
    found: dict[str, list[tuple[Engine, str, Export]]] = {}
    chosen = list(engines() if of is None else of)
    for engine in chosen:
        for program, command in engine.parts.commands.get().items():
            for one in (*command.outputs, *command.later):
                found.setdefault(one.name, []).append((engine, program, one))
    joined = (_joined(entries, len(chosen)) for entries in found.values())
    return sorted(joined, key=lambda one: one.columns is not None)


def _joined(entries: list[tuple[Engine, str, Export]], n_engines: int) -> Export:
    flags = dict.fromkeys(flag for _, _, one in entries for flag in one.flag.split())
    is_general = len({engine.name for engine, _, _ in entries}) == n_engines
    engine, _, first = entries[0]
    table = engine.tables[first.argument] if first.argument and first.separator == "\t" else ()
    columns = ", ".join(column.file for column in table)
    of = "" if is_general else f"for runs of {' or '.join(program for _, program, _ in entries)}: "
    return replace(first, flag=" ".join(flags), help=f"{of}{first.help}{columns and '; columns: '}{columns}")


def add_run_outputs(parser: CommandParser, of: Iterable[Engine] | None = None) -> None:
    """Add the flags that name output files, of runs of all engines or `of` some."""
    add_outputs(parser.add_argument_group("Output"), all_outputs(of), is_later=True)


def outputs_of_run(arguments: argparse.Namespace, command: str, of: Iterable[Engine] | None = None) -> Outputs:
    """Return the outputs that the flags name, or the text to standard output if they name none.

    `of` is the same as for `add_run_outputs`.
    """
    known, given = all_outputs(of), vars(arguments)
    is_text_wanted = "columns" in given or not any(given.get(f"out_{one.name}") for one in known)
    return outputs_of(arguments, command, known, is_text_wanted)


def flags_of(outputs: Outputs) -> list[str]:
    """Return the flags of `clalign resume` that write some outputs."""
    known = all_outputs()
    main = next(one for one in known if one.is_main and one.columns is None)
    flags = {one.name: (main if one.is_main else one).flag.split()[0] for one in known}
    is_text_alone = [(one.is_main, path) for one, path in outputs.files] == [(True, "-")]
    words = [] if is_text_alone else [word for one, path in outputs.files for word in (flags[one.name], path)]
    for field, value in outputs.shape.given.items():
        if isinstance(value, bool):
            words.append(OPTIONS[field].flag)
        else:
            words += [WITHOUT_WIDTH] if field == "width" and not value else [OPTIONS[field].flag, str(value)]
    return words


def outputs_of_its_engine(path: str, outputs: Outputs, command: str) -> Outputs:
    """Return outputs as the engine of a run writes them.

    Raises
    ------
    OptionError
        If the engine does not have an output, or if the lines of its text cannot be so short.
    UsageError
        If a flag would have no effect.
    """
    from clalign.engines.engine import engine_of, spec_of
    from clalign.runs.run_file import open_run

    with open_run(Path(path)) as found:
        engine, program = engine_of(found), spec_of(found).command
    known, exports = all_outputs(), {one.name: one for one in engine.exports}
    flags = {one.name: one.flag.replace(" ", ", ") for one in known}
    unknown = next((flags[one.name] for one, _ in outputs.files if one.name not in exports), None)
    if unknown is not None:
        others = ", ".join(flag for name, flag in flags.items() if name in exports)
        raise OptionError(f"A run of `clalign {program}` has no {unknown}.", f"Choose from {others}.")
    outputs.check_shape(command, [one for one in known if one.name in exports])
    width, min_width = outputs.shape.width, engine.command(program).min_width
    if 0 < width < min_width:
        raise OptionError(f"--textw is {width}.", f"Give a whole number from {min_width} on, or {WITHOUT_WIDTH}.")
    return replace(outputs, files=tuple((exports[one.name], path) for one, path in outputs.files))
