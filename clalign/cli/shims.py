"""``clalign shims``: programs with HMMER's names, which run clalign for those who call these programs by their path.

Each is a small script that runs ``clalign as NAME``: the command of that name with the words that it was given, with
HMMER's exit codes (0 or 1) and with a version line that programs look for.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

import clalign
from clalign.cli.parser import CommandParser
from clalign.cli.starting import WorkerAhead
from clalign.cli.streams import enough_read, flush_stdout, show, write_stderr
from clalign.errors import ClalignError, ExitCode, OutputError
from clalign.formats.tables import HMMER_PROGRAMS, RULE, hmmer_lines

AS = "as"
"""The word before the name of a program that clalign stands for."""

ENDED_FROM_OUTSIDE = (ExitCode.HUNG_UP, ExitCode.INTERRUPTED)

PRESS = "hmmpress"

OTHERS = (PRESS, "hmmfetch", "hmmconvert", "hmmemit", "hmmstat", "hmmlogo", "alimask", "nhmmer", "nhmmscan")
"""Programs that HMMER does itself where it is installed."""

AS_HMMER = {"jackhmmer": ("--qkind", "sequences")}
"""Options with which a command takes its files as HMMER does: there each row of an alignment is a query."""

_MARK = "Written by clalign shims"
"""By this a file is known as one of clalign's own, which may be overwritten."""

DESCRIPTION = (
    "Write programs with the names of HMMER's into a folder, for scripts that call these by name or by"
    " path: each runs clalign with the same words, on the device of the variable CLALIGN_DEVICE. What clalign has"
    " not, such as hmmfetch, runs HMMER's own program if that is installed. Files of others are never replaced."
)

EXAMPLES = (
    "clalign shims ~/hmmer-on-gpu",
    'clalign shims bin && PATH="$PWD/bin:$PATH" my_pipeline.sh',
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("folder", metavar="DIR", help="the folder, which is made if there is none")


def run(arguments: argparse.Namespace) -> int:
    """Write the programs."""
    written = write_programs(Path(arguments.folder))
    show(f"Wrote to {arguments.folder}: {', '.join(written)}")
    if passed := [words[0] for words in written.values() if len(words) == 1]:
        show(f"Those of HMMER itself run {', '.join(passed)}")
    return ExitCode.DONE


def programs() -> list[str]:
    """Return the names of the programs that clalign stands for."""
    from clalign.cli.program import all_commands

    known = all_commands()
    return [name for name in HMMER_PROGRAMS if name in known]


def _installed(name: str) -> list[str]:
    """Return the program of HMMER itself with a name, as words that run it; none if there is none."""
    found = (shutil.which(name, path=folder) for folder in os.get_exec_path())
    return [os.path.abspath(path) for path in found if path and not _is_own(Path(path))][:1]


def write_programs(folder: Path) -> dict[str, list[str]]:
    """Write the programs into a folder and return by their names the words that each runs.

    Raises
    ------
    OutputError
        If it has a file of another origin with such a name, or takes no files; nothing is written then.
    """
    from clalign.formats.writers import check_writable, replaced_file
    from clalign.system.processes import own_command

    run_by = {name: _installed(name) for name in OTHERS}
    run_by |= {name: own_command(AS, name) for name in (*programs(), *([] if run_by[PRESS] else [PRESS]))}
    run_by = {name: words for name, words in run_by.items() if words}
    places = {name: folder / (f"{name}.cmd" if sys.platform == "win32" else name) for name in run_by}
    for place in places.values():
        if place.is_symlink() or (place.exists() and not _is_own(place)):
            hint = "Choose another folder, or move this file away."
            raise OutputError(f"{place} exists and was not written by clalign shims.", hint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for place in places.values():
            check_writable(str(place))
        for name, place in places.items():
            with replaced_file(place) as stream:
                stream.write(script(run_by[name]))
            place.chmod(0o755)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"{folder} takes no programs ({reason}).", "Choose another folder.") from error
    return run_by


def script(words: list[str]) -> str:
    """Return the text of a program that runs these words with those it is given."""
    if sys.platform == "win32":
        return f"@rem {_MARK}.\r\n@" + " ".join(f'"{word}"' for word in words) + " %*\r\n"
    return f'#!/bin/sh\n# {_MARK}.\nexec {shlex.join(words)} "$@"\n'


def _is_own(place: Path) -> bool:
    try:
        with place.open("rb") as stream:
            return _MARK.encode() in stream.read(200)
    except OSError:
        return False


def run_as(words: list[str], worker_ahead: WorkerAhead) -> int:
    """Do what a program of HMMER does, given its name and words, and return the exit code that it would."""
    from clalign.cli.program import parser_of, run_words

    name, *given = words or [""]
    if name == PRESS:
        return _press(given)
    if name not in programs():
        write_stderr(f"clalign {AS}: {name or 'nothing'} is none of {', '.join(programs())}.")
        return ExitCode.USAGE
    if {"-h", "--help"} & set(given):
        parser = parser_of(name)
        assert parser is not None
        lines = [*hmmer_lines(name, clalign.__version__), RULE, parser.format_help().replace(f"clalign {name}", name)]
        with enough_read():  # pipelines look for the version in the first lines
            show("\n".join(lines))
            flush_stdout()
        return ExitCode.DONE
    ours = ["--progress", "none", *AS_HMMER.get(name, ())]
    code = run_words([name, *ours, *given], worker_ahead, shlex.join([name, *given]))
    return code if code in (ExitCode.DONE, *ENDED_FROM_OUTSIDE) else 1


def _press(given: list[str]) -> int:
    """Do what hmmpress is called for, which is nothing, and fail where it would: at a file that has no profiles."""
    from clalign.formats.profiles import read_profiles

    path = given[-1] if given else "-h"
    if path in ("-h", "--help"):
        show("\n".join([*hmmer_lines(PRESS, clalign.__version__), RULE, f"Usage: {PRESS} [-f] HMMFILE"]))
        return ExitCode.DONE if given else 1
    try:
        n = sum(1 for _ in read_profiles(path))
    except ClalignError as error:
        write_stderr(f"clalign: {error.message}\n{error.hint}")
        return 1
    show(f"Nothing was pressed: hmmscan of clalign takes the {n:,} profile{'s' * (n != 1)} of {path} as they are.")
    return ExitCode.DONE
