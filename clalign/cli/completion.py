"""``clalign completion``: scripts by which shells complete commands, options, choices, files and devices."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.common.plain_data import Json
from clalign.errors import OptionError

DESCRIPTION = (
    "Print the script by which a shell completes commands, options, choices, file names and devices of"
    " clalign. A new version of clalign may need a new script."
)

EXAMPLES = (
    "clalign completion bash > ~/.local/share/bash-completion/completions/clalign",
    "clalign completion zsh > ~/.zfunc/_clalign            # in ~/.zshrc: fpath+=~/.zfunc, then compinit",
    "clalign completion fish > ~/.config/fish/completions/clalign.fish",
    "clalign completion powershell >> $PROFILE",
)

SHELLS = ("bash", "zsh", "fish", "powershell")

DEVICES = "devices"
"""The argument by which the scripts get the words for devices, one a line."""


class _Shells(tuple[str, ...]):
    """Names of shells, among which `DEVICES` is accepted but not offered."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return word == DEVICES or super().__contains__(word)


NO_FILES = ("NAME", "TEXT", "S", "P", "G", "A,B", "A-B")
"""Metavariables of arguments that are texts but not file names."""


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("shell", choices=_Shells(SHELLS), metavar="|".join(SHELLS), help="your shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    show("\n".join(device_words()) if arguments.shell == DEVICES else script_for(arguments.shell))
    return 0


def device_words() -> list[str]:
    """Return the values that ``--device`` takes: ids of devices that were tested before, found fast, and kinds."""
    try:
        from clalign.compute.opencl.discover import familiar_devices

        known = [device.id for device in familiar_devices()]
    except ImportError:
        known = []
    return list(dict.fromkeys((*known, "auto", "gpu", "cpu", "gpus", "all", "reference")))


def script_for(shell: str) -> str:
    """Return the script for a shell.

    Raises
    ------
    OptionError
        If the package that writes such scripts is missing.
    """
    try:
        import shtab
    except ImportError:
        raise OptionError("The package shtab is not installed.", "Install it with: pip install shtab") from None
    parser = whole_parser()
    quiet = "2>$null" if shell == "powershell" else "2>/dev/null"
    _mark(parser, shtab.FILE, shtab.cmd(f"clalign completion {DEVICES} {quiet}"))
    script: str = shtab.complete(parser, shell)
    return script.rstrip("\n")


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser with all commands, which are otherwise made one at a time."""
    from clalign.cli.program import all_commands, parser_of

    whole = argparse.ArgumentParser("clalign", allow_abbrev=False)
    whole.add_argument("-V", "--version", action="version", help="show the version")
    commands = whole.add_subparsers(dest="command", parser_class=CommandParser)
    for name, text in all_commands().items():
        parser_of(name, partial(commands.add_parser, help=text))
    return whole


def _mark(parser: argparse.ArgumentParser, files: Json, devices: Json) -> None:
    """Mark the arguments of a parser and its sub-parsers that are files, names or files, or devices."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _mark(below, files, devices)
        elif action.metavar == "D":
            action.complete = devices  # type: ignore[attr-defined]
        elif place := getattr(action, "names_at", ""):
            action.complete = _names_or_files(action.dest, _names(place), files)  # type: ignore[attr-defined]
        elif action.nargs != 0 and action.type in (None, str) and not action.choices and action.metavar not in NO_FILES:
            action.complete = files  # type: ignore[attr-defined]


def _names(place: str) -> list[str]:
    module, _, attribute = place.partition(":")
    try:
        return list(attrgetter(attribute)(importlib.import_module(module))())
    except OptionError:  # what has the names is not installed
        return []


def _names_or_files(what: str, names: Sequence[str], files: Json) -> dict[str, object]:
    """Return the words and functions by which shells complete an argument that is one of some names, or a file."""
    # Bash takes the output of a function with "_file" in its name for files, and escapes their blanks.
    function, listed, quoted = f"_clalign_{what}_or_file", " ".join(names), ", ".join(f"'{name}'" for name in names)
    bash = f'{function}() {{\n  compgen -W "{listed}" -- "$1"\n  {files["bash"]} "$1"\n}}'
    zsh = f"{function}() {{\n  _alternative '{what}:{what}:({listed})' 'files:file:{files['zsh']}'\n}}"
    powershell = (
        f"function {function} {{\n  param([string]$WordToComplete)\n"
        f'  @({quoted}) | Where-Object {{ $_ -like "$WordToComplete*" }}\n'
        f"  {files['powershell']} $WordToComplete\n}}"
    )
    return {
        "bash": function,
        "zsh": function,
        "fish": f"(string split ' ' '{listed}'; {files['fish'][1:-1]})",
        "powershell": function,
        "preamble": {"bash": bash, "zsh": zsh, "powershell": powershell},
    }
