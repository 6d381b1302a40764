"""``clalign runs``: list, name, compare and delete runs."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import show, write_stderr
from clalign.common.amounts import size_text
from clalign.errors import NoSuchFile

DESCRIPTION = (
    "List the runs of the window or of a folder; name a run (the name is kept in its file); show which"
    " hits two runs share; delete runs."
)

EXAMPLES = (
    "clalign runs list",
    "clalign runs list globin --folder results",
    'clalign runs name search.clalign "globins, second round"',
    "clalign runs compare before.clalign after.clalign > changes.tsv",
    "clalign runs delete old.clalign --yes",
)

ACTIONS = ("list", "name", "compare", "delete")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("action", choices=ACTIONS, metavar="|".join(ACTIONS), help="what to do")
    parser.add_argument(
        "words",
        metavar="WORDS",
        nargs="*",
        help="list: words to search for; name: RUN NAME; compare: RUN RUN; delete: RUN ...",
    )
    group = parser.add_argument_group("Which and how")
    group.add_argument("--folder", metavar="DIR", help="the folder to list [the runs of the window]")
    group.add_argument("--json", action="store_true", help="list: print a JSON object for each run")
    group.add_argument("--yes", action="store_true", help="delete: really delete them")
    parser.is_mixed = True


def run(arguments: argparse.Namespace) -> int:
    """List, name, compare or delete runs."""
    return {"list": _list, "name": _name, "compare": _compare, "delete": _delete}[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
    from clalign.tools.library import listed, own_folder

    folder = Path(arguments.folder) if arguments.folder else own_folder()
    n_found = 0
    for entry in listed(folder, " ".join(arguments.words)):
        n_found += 1
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.created))
        if arguments.json:
            names = ("name", "kind", "state", "inputs", "created", "n_bytes", "n_hits", "n_queries", "problem")
            show(json.dumps({"path": str(entry.path), **{name: getattr(entry, name) for name in names}}))
        else:
            what = entry.problem or f"{entry.kind}, {entry.state}, {entry.n_hits} hits"
            show(f"{day}  {size_text(entry.n_bytes):>9}  {entry.name}  ({what})  {entry.path}")
    if not n_found:
        write_stderr(f"No runs found in {folder}. List runs elsewhere with --folder.")
    return 0


def _two(arguments: argparse.Namespace, usage: str) -> list[str]:
    words: list[str] = arguments.words
    if len(words) != 2:
        raise UsageError("clalign runs", f"{arguments.action} needs: {usage}")
    return words


def _name(arguments: argparse.Namespace) -> int:
    from clalign.tools.library import rename

    path, name = _two(arguments, "RUN NAME")
    show(rename(Path(path), name))
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    from clalign.tools.library import compare, comparison_lines, counts

    first, second = _two(arguments, "RUN RUN")
    pairs = compare(Path(first), Path(second))
    for line in comparison_lines(pairs):
        show(line)
    found = counts(pairs)
    write_stderr(
        f"{found['both']} hits in both, {found['first']} only in the first, {found['second']} only in the second."
    )
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    from clalign.runs.side_files import check_is_run
    from clalign.tools.library import delete, look_at

    if not arguments.words:
        raise UsageError("clalign runs", "delete needs: RUN")
    paths = list({os.path.abspath(word): Path(word) for word in arguments.words}.values())  # each once
    for path in paths:
        if not os.path.lexists(path):
            raise NoSuchFile(path, "List runs with: clalign runs list")
        check_is_run(path)
    for path in paths:
        if arguments.yes:
            delete(path)
            write_stderr(f"Deleted {path}.")
        else:
            entry = look_at(path)
            write_stderr(f"{path} ({entry.name}, {size_text(entry.n_bytes)}) would be deleted; add --yes to delete it.")
    return 0
