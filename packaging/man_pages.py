"""Write the man pages, one for `clalign` and one for each command, from the parsers of the command line.

    python packaging/man_pages.py FOLDER

In an environment where clalign is installed, from outside of the checkout or with ``python -P``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

import clalign
from clalign.cli.parser import EXIT_CODES, CommandParser
from clalign.cli.program import EXAMPLES, all_commands, parser_of

VARIABLES = {
    "CLALIGN_DEVICE": "What --device means where it is not given.",
    "CLALIGN_CACHE_DIR": "The folder in which prepared sequences, compiled kernels and verdicts on devices are kept.",
    "CLALIGN_CACHE_LIMIT": "How large that folder may grow; clalign cache shows and clears it.",
    "CLALIGN_CONFIG": "The folder in which the window keeps its settings.",
    "CLALIGN_LOG": "How much the worker process logs to standard error: DEBUG, INFO or WARNING.",
}

PURPOSE = "profile HMM search, Smith-Waterman and alignment of many sequences on any OpenCL device"


def escaped(text: str) -> str:
    """Return text in which nothing means anything to roff; a hyphen is the character that is typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("^", "\\(ha").replace("~", "\\(ti")
    return f"\\&{text}" if text.startswith(".") else text


def bold(text: str) -> str:
    """Return text in bold face."""
    return f"\\fB{escaped(text)}\\fR"


def verbatim(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines that stay as they are."""
    yield ".nf"
    yield from map(escaped, lines)
    yield ".fi"


def head(name: str, words: str) -> Iterator[str]:
    """Yield the head of a page."""
    yield f'.TH "{escaped(name.upper())}" "1" "" "clalign {escaped(clalign.__version__)}" "clalign"'
    yield from (".SH NAME", f"{escaped(name)} \\- {escaped(words)}")


def flags_of(action: argparse.Action) -> str:
    """Return the flags of an option with its value."""
    value = "" if action.nargs == 0 else f" \\fI{escaped(str(action.metavar or action.dest.upper()))}\\fR"
    return ", ".join(f"{bold(flag)}{value}" for flag in action.option_strings)


def options(parser: CommandParser) -> Iterator[str]:
    """Yield the options of a command by their groups."""
    for group in sorted(parser._action_groups, key=lambda group: group.title == "Help"):
        shown = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        if not shown:
            continue
        yield f".SS {escaped(group.title or 'Options')}"
        for action in shown:
            name = (
                flags_of(action) if action.option_strings else f"\\fI{escaped(str(action.metavar or action.dest))}\\fR"
            )
            yield from (".TP", name, escaped((action.help or "").replace("%%", "%")))


def command_page(name: str, words: str, parser: CommandParser) -> Iterator[str]:
    """Yield the lines of the page of a command."""
    yield from head(f"clalign-{name}", words)
    usage = parser.format_usage_line().removeprefix(f"Usage: {parser.prog} ")
    yield from (".SH SYNOPSIS", f"{bold(parser.prog)} {escaped(usage)}")
    yield from (".SH DESCRIPTION", escaped(parser.description or words))
    yield ".SH OPTIONS"
    yield from options(parser)
    if parser.examples:
        yield ".SH EXAMPLES"
        yield from verbatim(parser.examples)
    yield from exit_status()
    yield from (".SH SEE ALSO", f"{bold('clalign')}(1)")


def exit_status() -> Iterator[str]:
    """Yield what the exit codes mean."""
    yield ".SH EXIT STATUS"
    yield from verbatim(EXIT_CODES.splitlines()[1:])


def main_page(commands: dict[str, str]) -> Iterator[str]:
    """Yield the lines of the page of `clalign`."""
    yield from head("clalign", PURPOSE)
    yield from (".SH SYNOPSIS", f"{bold('clalign')} \\fICOMMAND\\fR [options]")
    yield from (".br", f"{bold('clalign gui')} [\\fIFILES\\fR]")
    yield from (".SH DESCRIPTION", escaped(f"A desktop application and a command line for {PURPOSE}."))
    yield ".SH COMMANDS"
    for name, words in commands.items():
        yield from (".TP", f"{bold(f'clalign-{name}')}(1)", escaped(words))
    yield ".SH EXAMPLES"
    yield from verbatim(EXAMPLES.splitlines()[1:])
    yield from exit_status()
    yield ".SH ENVIRONMENT"
    for name, words in VARIABLES.items():
        yield from (".TP", bold(name), escaped(words))


def pages() -> dict[str, str]:
    """Return all pages by the names of their files."""
    commands = all_commands()
    made = {"clalign.1": list(main_page(commands))}
    for name, words in commands.items():
        parser = parser_of(name)
        assert parser is not None
        made[f"clalign-{name}.1"] = list(command_page(name, words, parser))
    return {file: "\n".join([*lines, ""]) for file, lines in made.items()}


def main(folder: Path) -> None:
    """Write the pages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    given = argparse.ArgumentParser(description="Write the man pages of all commands.")
    given.add_argument("folder", type=Path)
    main(given.parse_args().folder)
