"""``clalign note``: write or print the note of a hit, which is kept in the run."""

from __future__ import annotations

import argparse
from pathlib import Path

from clalign.cli.explain import number_of
from clalign.cli.parser import CommandParser
from clalign.cli.streams import show
from clalign.errors import OptionError, command_for

DESCRIPTION = (
    "Write a note beside a hit, as in the window, or print its note. A note is one line, and is kept in the run file."
)

EXAMPLES = (
    'clalign note search.clalign HBB_HUMAN "seen in the structure, too"',
    "clalign note search.clalign HBB_HUMAN      # prints it",
    'clalign note search.clalign HBB_HUMAN ""   # removes it',
    "clalign export search.clalign --tsv hits.tsv   # all notes, in the last column",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    parser.add_argument("name", metavar="NAME", help="name of the sequence that was found")
    parser.add_argument("text", metavar="TEXT", nargs="?", help='the new note; "" removes it')
    group = parser.add_argument_group("Profile")
    group.add_argument(
        "--profile", "--query", metavar="P", help="name, accession or number of the profile, or query [the only one]"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the note, or print it."""
    from clalign.engines.engine import engine_of
    from clalign.runs.run_file import open_run, write_note

    path = Path(arguments.run_file)
    with open_run(path) as found:
        what = engine_of(found).query
        names = [(card["name"], card["accession"]) for card in found.cards()]
        number = number_of(arguments.run_file, names, arguments.profile, what)
        rows = found.rows_named(number, arguments.name)
        if not rows:
            raise OptionError(
                f"{arguments.name} is not a hit of the {what} {names[number][0]}.",
                f"List the hits with: {command_for('export', arguments.run_file, '--tsv', '-')}",
            )
        if len(rows) > 1:
            raise OptionError(
                f"{len(rows)} hits are named {arguments.name}.", "Write notes beside them in the window: clalign gui"
            )
        note = found.notes().get((number, rows[0]), "")
    if arguments.text is not None:
        write_note(path, number, rows[0], arguments.text)
    elif note:
        show(note)
    return 0
