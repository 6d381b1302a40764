"""``clalign shard``: plan a search in parts, for computers that do not communicate."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from clalign.cli.options import add_progress_options, progress_mode, spec_of
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import show
from clalign.engines.engine import Engine, engine_of_command, engines
from clalign.errors import OptionError, named, quoted
from clalign.values.shards import FLAG, MAX_SHARDS, Shard, ShardRows
from clalign.values.specs import Spec
from clalign.values.typed_numbers import count

COMMAND = "clalign shard"

DESCRIPTION = (
    "Plan a search in parts, for computers that do not communicate: an array job of a scheduler, or a"
    f" few machines. Shows the parts of the sequences and how to search each ({FLAG}); `clalign merge` merges their"
    " runs into that of the whole search, with its E-values."
)

EXAMPLES = (
    "clalign shard 16 hmmsearch --cut_ga families.hmm proteins.fasta",
    "clalign shard 16 --script search.sh hmmsearch families.hmm proteins.fasta   # then: sbatch search.sh",
    "clalign shard 4 --commands sw queries.fasta proteins.fasta | parallel -j 1",
    "clalign merge parts/*.clalign -o whole.clalign",
)

FOLDER = "parts"

SCRIPT = """\
#!/bin/bash
# {n} parts of a search; each task of an array job searches one, and continues it if it is started again.
#   SLURM: sbatch {script}      Grid Engine, PBS: qsub {script}      LSF: bsub < {script}
#   on this computer, one after another: for i in $(seq {n}); do bash {script} $i; done
# Then: {merge}
#SBATCH --job-name=clalign --array=1-{n}
#$ -N clalign -t 1-{n} -S /bin/bash
#PBS -N clalign -J 1-{n}
#BSUB -J clalign[1-{n}]
set -eu
part="${{1:-${{SLURM_ARRAY_TASK_ID:-${{PBS_ARRAY_INDEX:-${{SGE_TASK_ID:-${{LSB_JOBINDEX:-}}}}}}}}}}"
if [ -z "$part" ]; then
    echo "Which of the {n} parts? Submit this as an array job, or give a number." >&2
    exit 2
fi
cd {here}
mkdir -p {folder}
clalign="${{CLALIGN:-}}"
[ -n "$clalign" ] || clalign={program}
run={folder}/$(printf '{pattern}' "$part")
if [ -e "$run" ]; then
    exec "$clalign" resume --progress plain -o /dev/null "$run"
fi
exec "$clalign" {name} {flag} "$part/{n}" --run "$run" --progress plain -o /dev/null {words}
"""
"""Template of a script for array jobs; to each scheduler the lines for the others are comments."""


class Planned(Struct, frozen=True):
    """A search in parts.

    Attributes
    ----------
    words : tuple of str
        Name of the command, and the words that follow it.
    spec : Spec
    n : int
        Number of parts.
    folder : str
        Folder of the run files.
    """

    words: tuple[str, ...]
    spec: Spec
    n: int
    folder: str

    @property
    def pattern(self) -> str:
        """The pattern of the names of run files, for printf."""
        return f"{self.words[0]}-%0{len(str(self.n))}d-of-{self.n}.clalign"

    def command(self, number: int) -> str:
        """Return the command that searches a part."""
        own = [FLAG, str(Shard(number, self.n)), "--run", f"{self.folder}/{self.pattern % number}"]
        return shlex.join(["clalign", self.words[0], *own, "-o", os.devnull, *self.words[1:]])

    @property
    def merge(self) -> str:
        """The command that merges the runs."""
        runs = f"{shlex.quote(self.folder)}/{self.words[0]}-*-of-{self.n}.clalign"
        return f"clalign merge {runs} -o {self.words[0]}.clalign"

    def script(self, path: str) -> str:
        """Return the script for an array job that will be written to a path."""
        return SCRIPT.format(
            n=self.n, script=shlex.quote(named(path)), merge=self.merge, here=shlex.quote(os.getcwd()), flag=FLAG,
            folder=shlex.quote(self.folder), program=shlex.quote(shutil.which("clalign") or "clalign"),
            pattern=self.pattern,
            name=self.words[0], words=shlex.join(self.words[1:]),
        )  # fmt: skip


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("n", type=count, metavar="N", help="number of parts")
    parser.add_argument("search", nargs="?", metavar="COMMAND", help="the search, with its options and files")
    group = parser.add_argument_group("Output")
    group.add_argument("--script", metavar="F", help="write a script for array jobs: SLURM, Grid Engine, PBS, LSF")
    group.add_argument("--commands", action="store_true", help="print only the command of each part")
    group.add_argument("--folder", metavar="DIR", default=FOLDER, help=f"folder for the runs of the parts [{FOLDER}]")
    add_progress_options(parser)
    parser.leads_to = {name for engine in engines() for name in engine.commands}


def run(arguments: argparse.Namespace) -> int:
    """Show the parts, or print or write the commands that search them."""
    from clalign.formats.writers import whole_file

    planned = _planned(arguments)
    if arguments.script is not None:
        check_places((arguments.script,), planned.spec.paths)
    if not arguments.commands:
        show("\n".join(_table(_rows(planned, arguments))))
    if arguments.commands:
        Path(planned.folder).mkdir(parents=True, exist_ok=True)
        show("\n".join(planned.command(number) for number in range(1, planned.n + 1)))
    elif arguments.script is not None:
        with whole_file(arguments.script) as stream:
            stream.write(planned.script(arguments.script))
        show(f"\nWrote {arguments.script}; its first lines show how to submit it. Then run:\n  {planned.merge}")
    else:
        show(f"\nSearch part 1 with\n  {planned.command(1)}\nand so on. Then run:\n  {planned.merge}")
        show(f"(--commands prints all, --script F writes an array job. Make the folder {planned.folder} first.)")
    return 0


def _planned(arguments: argparse.Namespace) -> Planned:
    """Return the search that the words describe; refuse one that cannot be done in parts."""
    from clalign.cli.program import parser_of

    words = tuple(arguments.leads_to)
    searches = [name for engine in engines() for name in engine.commands if _has_parts(engine)]
    if not words:
        raise UsageError(COMMAND, f"a search is missing after the number of parts: {', '.join(searches)}")
    name, engine = words[0], engine_of_command(words[0])
    if not _has_parts(engine):
        raise OptionError(
            f"`clalign {name}` needs all sequences at once and cannot be done in parts.",
            f"Parts are only for {', '.join(searches)}.",
        )
    if arguments.n > MAX_SHARDS:
        raise OptionError(f"There are {arguments.n:,} parts.", f"Give at most {MAX_SHARDS:,}.")
    parser = parser_of(name)
    assert parser is not None
    given = parser.parse_args(words[1:])
    command = engine.command(name)
    for flag, value in (
        (FLAG, vars(given).get("shard")), ("--run", given.run_file),
        *((one.flag, vars(given).get(f"out_{one.name}")) for one in command.outputs),
    ):  # fmt: skip
        if value is not None:
            raise UsageError(COMMAND, f"{flag} differs between parts: leave it out, and export the merged run")
    spec = spec_of(given, engine, command)
    Shard.parse(f"1/{arguments.n}")
    dataclasses.replace(spec, **{"shard": f"1/{arguments.n}"})  # checks it
    if "-" in spec.paths:
        raise OptionError("Standard input (-) can be read by one part only.", "Give a file.")
    _check_lines(arguments, words)
    return Planned(words, spec, arguments.n, named(str(Path(arguments.folder))))


def _check_lines(arguments: argparse.Namespace, words: tuple[str, ...]) -> None:
    """Refuse names with line breaks where each line is a command or a comment."""
    given = [("--folder", arguments.folder), ("--script", arguments.script or "")]
    for what, name in [*given, *(("the search", word) for word in (words if arguments.commands else ()))]:
        if "\n" in name or "\r" in name:
            hint = "Rename it. In the search itself, --script can take it."
            raise OptionError(f"There is a line break in {quoted(name)} ({what}), but each command is one line.", hint)


def _has_parts(engine: Engine) -> bool:
    return any(field.name == "shard" for field in dataclasses.fields(engine.spec))


def _rows(planned: Planned, arguments: argparse.Namespace) -> Iterator[tuple[Shard, ShardRows, int]]:
    """Yield each part, its rows, and the length of its longest sequence; prepares the database."""
    import numpy as np

    from clalign.cli.progress import progress_display
    from clalign.databases.loading import load_database
    from clalign.jobs import Job

    spec: Any = planned.spec
    display = progress_display(progress_mode(arguments))
    try:
        database, _ = load_database(
            spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=Job(display.show)
        )
    finally:
        display.close()
    for number in range(1, planned.n + 1):
        shard = Shard(number, planned.n)
        rows = shard.of_database(database.offsets)
        lengths = np.diff(database.offsets[rows.first : rows.last + 1])
        yield shard, rows, int(lengths.max(initial=0))


def _table(rows: Iterator[tuple[Shard, ShardRows, int]]) -> Iterator[str]:
    yield f"{'Part':>11s} {'Sequences':>13s} {'Residues':>16s} {'Longest':>9s}"
    for shard, part, longest in rows:
        yield f"{shard!s:>11s} {len(part):>13,} {part.n_residues:>16,} {longest:>9,}"
