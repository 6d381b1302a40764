"""``clalign export``: write the results of a run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from clalign.cli.options import Outputs, add_locate_option, add_text_options, locate_inputs, outputs_of
from clalign.cli.parser import CommandParser, number
from clalign.cli.streams import enough_read
from clalign.cli.sw import add_outfmt
from clalign.errors import OptionError

COMMAND = "clalign export"

FILES = (
    ("text", "-o", "write the text of hmmsearch, hmmscan or sw"),
    ("fasta", "--fasta", "write the matched sequences, whole"),
    ("fasta_matched", "--fasta-matched", "write the part that each domain covers"),
    ("stockholm", "--stockholm", "write the domains, aligned to the profile"),
    ("tsv", "--tsv", "write a tab-separated table of sequences"),
    ("domtsv", "--domtsv", "write a tab-separated table of domains"),
    ("tblout", "--tblout", "write HMMER3's table of hits"),
    ("domtblout", "--domtblout", "write HMMER3's table of domains"),
    ("pfamtblout", "--pfamtblout", "write HMMER3's table of hits and domains for Pfam"),
    ("jsonl", "--json", "write a JSON object for each hit, one a line"),
    ("scores", "--scores", "of a run of sw: write query, target and score of every pair"),
    ("sam", "--sam", "of a run of sw: write SAM"),
)

EXAMPLES = (
    "clalign export search.clalign | less",
    "clalign export search.clalign --fasta hits.fasta",
    "clalign export search.clalign --evalue 1e-10 --stockholm family.sto",
    "clalign export search.clalign --significant --tsv - | head",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "export",
        examples=EXAMPLES,
        description="Write what a run has found; with no output named the text, to standard output. Nothing is computed"
        " again.",
    )
    parser.add_argument("run_file", metavar="RUN", help="the run file (.clalign)")
    add_locate_option(parser)
    add_run_outputs(parser)
    chosen = parser.add_argument_group("Which hits")
    chosen.add_argument("-E", "--evalue", type=number, metavar="X", help="only sequences with at most this E-value")
    chosen.add_argument(
        "-T",
        "--score",
        type=number,
        metavar="X",
        help="only sequences with at least this score (as in the search)",
    )
    chosen.add_argument("--significant", action="store_true", help="only what the search called significant")
    parser.set_defaults(run=run)


def add_run_outputs(parser: CommandParser) -> None:
    """Add the flags that name output files, whatever search the run is of."""
    from clalign.formats.table_columns import columns_of_table

    group = parser.add_argument_group("Output")
    tables = {table: columns_of_table(table) for table in ("tsv", "domtsv")}
    for name, flag, text in FILES:
        if name in tables:
            text = f"{text}; columns: {', '.join(column.name for column in tables[name])}"
        flags = ("-A", flag) if name == "stockholm" else (flag,)  # as HMMER has it, too
        group.add_argument(*flags, dest=f"out_{name}", metavar="F", help=f"{text}; - is standard output")
    add_text_options(group)
    add_outfmt(group)


def run(arguments: argparse.Namespace) -> int:
    """Write the files that the flags name."""
    from clalign.engines.export import export

    outputs = outputs_of_run(arguments, COMMAND)
    check_known(arguments.run_file, outputs)
    locate_inputs(arguments.run_file, arguments.locate)
    hits = _chosen(arguments)
    outputs.check((arguments.run_file,))
    for what, path in outputs.files:
        with enough_read():
            export(
                arguments.run_file,
                what,
                path,
                hits,
                significant=arguments.significant,
                alignments=outputs.alignments,
                width=outputs.width,
                accessions=outputs.accessions,
                columns=outputs.columns,
                safe_cells=outputs.safe_cells,
            )
    return 0


def outputs_of_run(arguments: argparse.Namespace, command: str) -> Outputs:
    """Return the outputs that the flags name; the text, to standard output, only if they name none."""
    is_text_wanted = arguments.outfmt is not None or not any(getattr(arguments, f"out_{name}") for name, _, _ in FILES)
    return outputs_of(arguments, command, FILES, is_text_wanted)


def check_known(path: str, outputs: Outputs) -> None:
    """Refuse outputs that a run has not, in the words of the command line.

    Raises
    ------
    OptionError
        If there is one.
    """
    from clalign.engines.engine import engine_of, spec_of
    from clalign.runs.run_file import open_run

    with open_run(Path(path)) as found:
        program, known = spec_of(found).command, engine_of(found).writers
    flags = {name: flag for name, flag, _ in FILES} | {"outfmt": "--outfmt"}
    unknown = next((flags[what] for what, _ in outputs.files if what not in known), None)
    if unknown is not None:
        others = ", ".join(flag for name, flag in flags.items() if name in known)
        raise OptionError(f"A run of `clalign {program}` has no {unknown}.", f"Choose among {others}.")


def _chosen(arguments: argparse.Namespace) -> list[int] | None:
    """Return the ids of the hits within the limits; None for all."""
    from clalign.engines.engine import engine_of, spec_of
    from clalign.runs.queries import HitQueries
    from clalign.runs.run_file import open_run

    with open_run(Path(arguments.run_file)) as found:
        engine = engine_of(found)
        if arguments.significant and not engine.judges:
            raise OptionError(
                f"A run of `clalign {spec_of(found).command}` calls no hits significant.", "Choose with -E or -T."
            )
        if arguments.evalue is None and arguments.score is None:
            return None
        is_raw = engine.score_of_option == "raw"
        return HitQueries(found.connection).within(arguments.evalue, arguments.score, is_raw)
