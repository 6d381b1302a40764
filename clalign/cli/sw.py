"""``clalign sw``: search sequences against sequences with Smith-Waterman, or align pairs of them."""

from __future__ import annotations

import argparse
from typing import Any

from clalign.cli.hmmsearch import check_run
from clalign.cli.inputs import in_file, name_as_given, there
from clalign.cli.options import (
    LEAST_TEXT_WIDTH,
    add_cpu_option,
    add_device_option,
    add_fields,
    add_progress_options,
    add_safe_option,
    device_of,
    field_values,
    outputs_of,
    progress_mode,
    tell_of_cpu,
)
from clalign.cli.parser import CommandParser, whole_number
from clalign.engines.pairwise.spec import SCORING, PairwiseSpec
from clalign.errors import OptionError

COMMAND = "clalign sw"

FILES = (
    ("text", "-o", "write the text, or what --outfmt asks for, to F instead of standard output"),
    ("tsv", "--tsv", "write a tab-separated table of alignments with a header"),
    ("scores", "--scores", "write query, target and score of every pair, in the order of the input"),
    ("sam", "--sam", "write SAM"),
    ("jsonl", "--json", "write a JSON object for each hit, one a line"),
    ("stockholm", "--stockholm", "write the targets found, aligned to their query, as Stockholm"),
    ("fasta", "--fasta", "write the targets found, whole"),
    ("fasta_matched", "--fasta-matched", "write the aligned part of each target"),
)

EXAMPLES = (
    "clalign sw queries.fasta proteins.fasta",
    "clalign sw --matrix BLOSUM45 --gapopen 14 --gapextend 2 -E 1e-3 --tsv hits.tsv queries.fasta proteins.fasta.gz",
    'clalign sw --outfmt "6 std qcovs cigar" -o hits.tsv --device gpu queries.fasta proteins.fasta',
    "clalign sw --match 1 --mismatch -1 --strand plus --sam hits.sam reads.fastq genome.fasta",
    "clalign sw --pairs --mode global --scores scores.tsv a.fasta b.fasta",
)


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "sw",
        examples=EXAMPLES,
        description="Search sequences against sequences with the Smith-Waterman algorithm: exact scores of all pairs,"
        " E-values, alignments. With --pairs or --pair-list given pairs are aligned instead.",
    )
    parser.add_argument("queries", metavar="QUERIES", help="sequences, also compressed; - is standard input")
    parser.add_argument("targets", metavar="TARGETS", help="sequences, also compressed; - is standard input")
    output = parser.add_argument_group("Output")
    for name, flag, text in FILES:
        output.add_argument(flag, dest=f"out_{name}", metavar="F", help=text)
    add_outfmt(output)
    add_safe_option(output)
    output.add_argument("--noali", action="store_true", help="leave the alignments out of the text")
    output.add_argument(
        "--textw",
        type=whole_number,
        default=LEAST_TEXT_WIDTH,
        metavar="N",
        help=f"longest line of an alignment; 0 for no limit [{LEAST_TEXT_WIDTH}]",
    )
    parser.add_argument_group("Run").add_argument(
        "--run",
        dest="run_file",
        metavar="F",
        help="keep the run in F (.clalign), which the window opens and `clalign resume` continues; standard input is"
        " kept beside it",
    )
    add_cpu_option(add_device_option(parser))
    groups = add_fields(parser, PairwiseSpec)
    groups[SCORING].add_argument(
        "--gapopen",
        type=whole_number,
        metavar="X",
        help="as in BLAST: a gap of k residues costs gapopen + k * gapextend, so its first residue gapopen + gapextend",
    )
    groups[SCORING].add_argument(
        "--gapextend", type=whole_number, metavar="X", help="see --gapopen; both in place of --gap-first and --gap-next"
    )
    add_progress_options(parser)
    parser.set_defaults(run=run)


def add_outfmt(group: argparse._ArgumentGroup) -> None:
    """Add ``--outfmt`` with the list of its columns."""
    from clalign.formats.pairwise_rows import COLUMNS

    group.add_argument(
        "--outfmt",
        metavar="S",
        help='in place of the text BLAST\'s table: 6, or "6" and names of columns, as in "6 std qcovs"; std are the'
        f" usual twelve. Columns: {', '.join(COLUMNS)}",
    )


def spec_of(arguments: argparse.Namespace, queries: str, targets: str) -> PairwiseSpec:
    """Return the spec that the flags describe."""
    values = field_values(arguments, PairwiseSpec)
    opening, extension = arguments.gapopen, arguments.gapextend
    if opening is not None or extension is not None:
        if values["gap_first"] is not None or values["gap_next"] is not None:
            raise OptionError(
                "Gap costs are given twice.", "Take --gapopen and --gapextend, or --gap-first and --gap-next."
            )
        if opening is None or extension is None:
            raise OptionError("Only one of the two gap costs is given.", "Give both --gapopen and --gapextend.")
        values |= {"gap_first": opening + extension, "gap_next": extension}
    if values["mode"] == "ungapped" and values["gap_first"] is not None:
        raise OptionError("There are gap costs, but --mode ungapped makes no gaps.", "Leave out one of them.")
    return PairwiseSpec(queries=queries, targets=targets, device=device_of(arguments), **values)


def run(arguments: argparse.Namespace) -> int:
    """Let a worker search, and write the outputs."""
    from clalign.cli.watch import run_place, watch
    from clalign.engines.pairwise.inputs import choose_scoring
    from clalign.formats.matrices import is_matrix_file

    outputs = outputs_of(arguments, COMMAND, FILES)
    spec_of(arguments, arguments.queries, arguments.targets)
    inputs = [there(arguments.queries), there(arguments.targets)]
    if getattr(arguments, "pair_list", None) is not None:
        inputs.append(there(arguments.pair_list))
    if inputs.count("-") > 1:
        raise OptionError("Standard input (-) is named twice, but can be read only once.", "Give files.")
    check_run(arguments.run_file)
    outputs.check(tuple(inputs), arguments.run_file)
    tell_of_cpu(arguments, COMMAND)
    place = run_place(arguments.run_file)
    try:
        if (matrix := getattr(arguments, "matrix", None)) is not None and is_matrix_file(matrix):
            arguments.matrix = in_file(matrix, place)
        choose_scoring(spec_of(arguments, *inputs[:2]), is_nucleic=False)  # what is wrong with it is told at once
        queries, targets, *pair_list = (in_file(path, place) for path in inputs)
        if pair_list:
            arguments.pair_list = pair_list[0]
        spec = spec_of(arguments, queries, targets)
    except BaseException as error:
        name_as_given(error, place)
        place.discard()
        raise
    job = {
        "job": "pairwise", "run": str(place.path), "spec": spec.to_dict(), "command": arguments.command,
        "temporary": place.scratch is not None,
    }  # fmt: skip
    return watch(job, place, outputs, progress_mode(arguments))
