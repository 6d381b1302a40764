"""``clalign hmmalign``: align sequences to a HMMER3 profile."""

from __future__ import annotations

import argparse
import contextlib

from clalign.cli.inputs import in_alignments, in_files, input_path, written_to
from clalign.cli.options import (
    add_device_option,
    add_progress_options,
    device_of,
    progress_mode,
)
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser, UsageError
from clalign.cli.streams import write_stderr
from clalign.formats.row_forms import PROFILE_FORMS
from clalign.tools.specs import AlignSpec

COMMAND = "clalign hmmalign"

DESCRIPTION = (
    "Align sequences to a HMMER3 profile: each residue where it belongs with the greatest expected"
    " accuracy, equal to the alignment of hmmalign 3.3.2. Options have the names and meanings of HMMER's."
)

EXAMPLES = (
    "clalign hmmalign globins.hmm proteins.fasta",
    "clalign hmmalign -o family.sto --trim --mapali seed.sto family.hmm new.fasta",
    "clalign hmmalign --outformat a2m --no-inserts -o columns.a2m family.hmm proteins.fasta",
)


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("profile", metavar="HMMFILE", help="a file with one profile; - is standard input")
    parser.add_argument(
        "sequences",
        metavar="SEQFILE",
        help="the sequences, also compressed; of an alignment the gaps are left out; - is standard input",
    )
    output = parser.add_argument_group("Output")
    output.add_argument("-o", dest="output", metavar="F", default="-", help="write it to F [standard output]")
    output.add_argument(
        "--outformat", dest="out_form", metavar="S", type=str.lower, choices=PROFILE_FORMS,
        default=AlignSpec().out_form, help=f"its format: {', '.join(PROFILE_FORMS)} [{AlignSpec().out_form}]",
    )  # fmt: skip
    output.add_argument(
        "--trim", dest="trims", action="store_true", help="leave out residues before the first and after the last node"
    )
    output.add_argument(
        "--no-inserts", dest="has_no_inserts", action="store_true",
        help="leave out all residues between nodes, too: columns of the profile alone",
    )  # fmt: skip
    output.add_argument(
        "--mapali", dest="map_alignment", metavar="F", default="",
        help="put the rows of the alignment in F first, which the profile was built of",
    )  # fmt: skip
    given = parser.add_argument_group("Input")
    alphabets = given.add_mutually_exclusive_group()
    for name, text in (("amino", "proteins"), ("dna", "DNA"), ("rna", "RNA")):
        alphabets.add_argument(
            f"--{name}", dest="alphabet", action="store_const", const=name, default=AlignSpec().alphabet,
            help=f"the profile and the sequences are of {text}",
        )  # fmt: skip
    given.add_argument(
        "--informat", dest="form", metavar="S", default=AlignSpec().form, help="format of the sequences [auto]"
    )
    add_device_option(parser)
    add_progress_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Align the sequences, and write or show the alignment."""
    from msgspec.structs import asdict

    from clalign.cli.watch import watch_job

    if arguments.profile == "-" and arguments.sequences == "-":
        raise UsageError(COMMAND, "only one of HMMFILE and SEQFILE can be -.")
    spec = AlignSpec(**{name: getattr(arguments, name) for name in AlignSpec.__struct_fields__})
    profile, sequences = input_path(arguments.profile), input_path(arguments.sequences)
    others = [input_path(spec.map_alignment)] if spec.map_alignment else []
    check_places((arguments.output,), (profile, sequences, *others))
    with contextlib.ExitStack() as stack:
        given, others = stack.enter_context(in_files(profile, sequences)), stack.enter_context(in_alignments(*others))
        written = stack.enter_context(written_to(arguments.output))
        job = {
            "job": "hmmalign", "profile": given[0], "sequences": given[1], "output": str(written),
            "device": device_of(arguments), **asdict(spec), "map_alignment": "".join(others),
        }  # fmt: skip
        value = watch_job(job, progress_mode(arguments), "Stopped. Nothing was written.")
    if arguments.output != "-" and progress_mode(arguments) in ("bar", "plain"):
        n, columns = value["n_sequences"], value["n_columns"]
        write_stderr(
            f"Aligned {n:,} sequence{'s' * (n != 1)} to {value['profile']} in {columns:,} columns: {arguments.output}"
        )
    return 0
