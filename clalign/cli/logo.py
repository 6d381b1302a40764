"""``clalign logo``: draw a profile as a logo."""

from __future__ import annotations

import argparse
import re
from itertools import islice

from clalign.cli.inputs import input_path
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser
from clalign.errors import InputError, OptionError
from clalign.tools.painting import ENDINGS, check_ending, painter_of, writing
from clalign.values.profile_logo import HEIGHT_MODES
from clalign.values.profiles import Hmm
from clalign.values.typed_numbers import count

SCHEMES = ("clustal", "safe", "none")

DESCRIPTION = (
    "Draw a HMMER2 or HMMER3 profile as a logo: the height of letters is the information of a node or"
    " their score; below are the shares of sequences that have the node and that have insertions after it."
)

EXAMPLES = (
    "clalign logo globins4.hmm -o globins4.svg",
    "clalign logo --heights score --nodes 20-80 --per-row 30 globins4.hmm -o part.pdf",
    "clalign logo --name RRM_1 Pfam-A.hmm -o rrm.png",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("profiles", metavar="HMMFILE", help="the profile; the first of several, see --name")
    parser.add_argument("-o", dest="output", metavar="OUT", required=True, help="write to OUT: .svg, .pdf or .png")
    meanings = "; ".join(f"{mode}: {text[0].lower()}{text[1:]}" for mode, text in HEIGHT_MODES.items())
    parser.add_argument(
        "--heights",
        choices=tuple(HEIGHT_MODES),
        default="information",
        help=f"meaning of the height of a letter [information]. {meanings}",
    )
    parser.add_argument("--name", help="draw the profile with this name or accession")
    parser.add_argument("--nodes", metavar="A-B", help="draw only nodes A to B, counted from 1")
    parser.add_argument("--per-row", type=count, default=50, metavar="N", help="nodes in a row [50]")
    parser.add_argument("--no-indel", action="store_true", help="omit occupancy and insertions")
    parser.add_argument("--colors", choices=SCHEMES, default="clustal", help="colors of the residues [clustal]")


def run(arguments: argparse.Namespace) -> int:
    """Draw the logo."""
    check_ending(arguments.output, ENDINGS)
    profiles = input_path(arguments.profiles)
    check_places((arguments.output,), (profiles,))
    hmm = profile_named(profiles, arguments.name)
    nodes = node_range(arguments.nodes, hmm.length)
    painter = painter_of("clalign.ui.engines.plan7.logo_pictures")
    choices = painter.PictureChoices(nodes, arguments.per_row, not arguments.no_indel, arguments.colors)
    with writing(arguments.output):
        painter.write_logo(hmm, arguments.heights, choices, arguments.output)
    return 0


def profile_named(path: str, name: str | None) -> Hmm:
    """Return the profile of a file with a name or accession; without a name the first one.

    Raises
    ------
    InputError
        If there is none.
    """
    from clalign.formats.profiles import read_profiles

    models = read_profiles(path)
    if name is not None:
        models = (hmm for hmm in models if name in (hmm.name, hmm.accession, hmm.accession.partition(".")[0]))
    hmm = next(islice(models, 1), None)
    if hmm is None:
        what = f'has no profile with the name or accession "{name}".' if name else "has no profile."
        raise InputError(path, f"the file {what}", "Check the name; case matters.")
    return hmm


def node_range(text: str | None, length: int) -> range:
    """Return the nodes that ``A-B`` means, counted from 0.

    Raises
    ------
    OptionError
        If it makes no sense for a profile of this length.
    """
    if text is None:
        return range(length)
    found = re.fullmatch(r"(\d+)-(\d+)", text)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= first <= last <= length:
        raise OptionError(
            f"--nodes is {text}, but the profile has nodes 1 to {length}.", "Give a range of these, such as 1-50."
        )
    return range(first - 1, last)
