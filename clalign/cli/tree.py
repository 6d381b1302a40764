"""``clalign tree``: distances between the sequences of an alignment, and their tree."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import TextIO

from clalign.cli.changes import ALIGNMENT_HELP
from clalign.cli.inputs import guide_tree_of, in_alignments, in_files, input_path
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser, UsageError
from clalign.errors import OptionError

DESCRIPTION = "Compute the distances between the sequences of an alignment, and their tree by neighbor joining."

EXAMPLES = (
    "clalign tree family.afa > family.nwk",
    "clalign tree --midpoint --draw family.svg -o family.nwk family.afa",
    "clalign tree --distance p --matrix distances.tsv family.afa",
    "clalign tree --distance posterior family.clalign",
    "clalign tree --distance posterior --probs family.fasta.probs family.afa",
)

DISTANCE_HELP = (
    "kimura: estimated substitutions per residue; p: share of different residues; posterior: expected share of the"
    " shorter sequence that is not aligned correctly, by posterior probabilities [kimura]"
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("alignment", metavar="ALIGNMENT", help=ALIGNMENT_HELP)
    group = parser.add_argument_group("Distances")
    group.add_argument(
        "--distance",
        choices=("kimura", "p", "posterior"),
        default="kimura",
        metavar="kimura|p|posterior",
        help=DISTANCE_HELP,
    )
    group.add_argument(
        "--probs", metavar="F", help="posterior probabilities of all pairs in fsa's format (.probs) [those of the run]"
    )
    group = parser.add_argument_group("Output")
    group.add_argument("-o", dest="output", metavar="F", help="write the tree to F, as Newick [standard output]")
    group.add_argument("--matrix", metavar="F", help="write the distances to F: .tsv separated by tabs, else PHYLIP")
    group.add_argument("--draw", metavar="F", help="draw the tree to F (.svg)")
    group.add_argument(
        "--midpoint", action="store_true", help="put the root in the middle of the longest path, as always in drawings"
    )


def run(arguments: argparse.Namespace) -> int:
    """Make the tree and write it."""
    from clalign.formats.distances import write_phylip, write_tsv
    from clalign.formats.drawing_svg import drawing_svg
    from clalign.formats.newick import write_newick
    from clalign.formats.tree_drawings import tree_drawing
    from clalign.formats.writers import whole_file

    outputs = [path for path in (arguments.output, arguments.matrix, arguments.draw) if path is not None]
    if outputs.count("-") > 1:
        raise UsageError("clalign tree", "only one output can go to standard output")
    if arguments.draw not in (None, "-") and not arguments.draw.lower().endswith(".svg"):
        raise OptionError(
            f"{arguments.draw} does not end in .svg.", "Drawings are written as SVG: end its name in .svg."
        )
    check_places(outputs, (arguments.alignment, arguments.probs or ""))
    with contextlib.ExitStack() as stack:
        given = input_path(arguments.alignment)
        (alignment,) = stack.enter_context(in_alignments(given))
        probs = arguments.probs
        if probs is not None:
            (probs,) = stack.enter_context(in_files(input_path(probs)))
        found = guide_tree_of(given, alignment, arguments.distance, stack, probs=probs)
    drawn = found.tree.rooted_in_the_middle()
    tree = drawn if arguments.midpoint else found.tree
    matrix = write_tsv if (arguments.matrix or "").lower().endswith(".tsv") else write_phylip
    writers: list[tuple[str | None, Callable[[TextIO], object]]] = [
        (arguments.matrix, lambda stream: matrix(found.names, found.distances, stream)),
        (arguments.draw, lambda stream: stream.write(drawing_svg(tree_drawing(drawn)))),
        (arguments.output or ("-" if "-" not in outputs else None), lambda stream: write_newick(tree, stream)),
    ]
    for path, write in writers:
        if path is not None:
            with whole_file(path) as stream:
                write(stream)
    return 0
