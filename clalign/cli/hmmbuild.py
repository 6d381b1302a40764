"""``clalign hmmbuild``: build HMMER3 profiles from alignments."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import clalign
from clalign.building.specs import BuildSpec
from clalign.cli.inputs import in_alignments, input_path, written_to
from clalign.cli.options import (
    add_device_option,
    add_progress_options,
    device_of,
    progress_mode,
)
from clalign.cli.outputs import check_places
from clalign.cli.parser import CommandParser
from clalign.cli.streams import enough_read, show
from clalign.formats.tables import RULE, hmmer_lines, stands_for_hmmer
from clalign.values.alphabets import ALPHABETS
from clalign.values.documents import JobResult
from clalign.values.typed_numbers import number, whole_number

COMMAND = "clalign hmmbuild"

DESCRIPTION = (
    "Build a HMMER3 profile from each alignment of a file, equal to that of hmmbuild 3.3.2 but"
    " for its date. Options have the names and meanings of HMMER's."
)

EXAMPLES = (
    "clalign hmmbuild globins.hmm globins.sto",
    "clalign hmmbuild -n my_family --hand my_family.hmm my_family.sto.gz",
    "clalign hmmbuild --symfrac 0.3 --wgsc --eset 20 - seeds.sto | clalign hmmsearch - proteins.fasta",
)

SWITCHES = (
    # group, flag, field, value, what it does
    ("Alphabet", "--amino", "alphabet", "amino", "the alignment is of proteins"),
    ("Alphabet", "--dna", "alphabet", "dna", "the alignment is of DNA"),
    ("Alphabet", "--rna", "alphabet", "rna", "the alignment is of RNA"),
    ("Model columns", "--fast", "by_hand", False, "columns with enough residues [default]"),
    ("Weights", "--wpb", "weighting", "pb", "by position [default]"),
    ("Weights", "--wgsc", "weighting", "gsc", "from a tree"),
    ("Weights", "--wblosum", "weighting", "blosum", "by clusters"),
    ("Weights", "--wnone", "weighting", "none", "all equal"),
    ("Weights", "--wgiven", "weighting", "given", "as given in the file"),
    ("Effective number", "--eent", "effective_number", "entropy", "by relative entropy [default]"),
    ("Effective number", "--eclust", "effective_number", "clust", "the number of clusters"),
    ("Effective number", "--enone", "effective_number", "none", "the number of sequences"),
    ("Priors", "--pnone", "prior", "none", "none: probabilities are observed frequencies"),
    ("Priors", "--plaplace", "prior", "laplace", "Laplace's: one more of each residue"),
)


OTHER_FLAGS = {"matrix": ("--mxfile",)}
"""Further flags of a field."""


READERS: dict[str, tuple[Callable[[str], object], str]] = {
    "int": (whole_number, "N"), "float": (number, "X"), "str": (str, "NAME")
}  # fmt: skip
"""What reads a value of a type, and the word for it."""


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("output", metavar="HMMFILE", help="the new profile file; - is standard output")
    parser.add_argument(
        "alignment",
        metavar="MSAFILE",
        help="Stockholm, Clustal, aligned FASTA, A3M, SELEX, PHYLIP, MSF, NEXUS or BAliBASE XML, also compressed, or a"
        " run of an alignment; - is standard input",
    )
    groups = {"Output": parser.add_argument_group("Output")}
    groups["Output"].add_argument(
        "-o", dest="summary", metavar="F", help="write the table of what was built to F instead of showing it"
    )
    groups["Output"].add_argument(
        "-O", dest="resaved", metavar="F", help="write the alignments as they were counted to F, in Stockholm format"
    )
    groups["Output"].add_argument("-n", dest="name", metavar="NAME", help="name of the profile [name of the alignment]")
    exclusive = dict[str, argparse._MutuallyExclusiveGroup]()
    for title, flag, field, value, text in SWITCHES:
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        group = groups[title]
        if field not in exclusive:
            exclusive[field] = group.add_mutually_exclusive_group()
        default = getattr(BuildSpec(), field)
        exclusive[field].add_argument(flag, dest=field, action="store_const", const=value, help=text, default=default)
    exclusive["effective_number"].add_argument(
        "--eset", dest="effective_number", type=number, metavar="X", help="this number"
    )
    exclusive["by_hand"].add_argument(
        "--hand", dest="by_hand", action="store_const", const=True, help="the columns marked by the RF line"
    )
    _add_numbers(parser, groups)
    add_device_option(parser)
    add_progress_options(parser)


def _add_numbers(parser: CommandParser, groups: dict[str, argparse._ArgumentGroup]) -> None:
    """Add the flags that take a number or a name, and those of switches with a field of their own."""
    for field in dataclasses.fields(BuildSpec):
        if "flag" not in field.metadata or field.name == "by_hand":
            continue
        title, flag, text = (field.metadata[key] for key in ("group", "flag", "help"))
        if title not in groups:
            groups[title] = parser.add_argument_group(title)
        group, kind = groups[title], str(field.type).partition(" ")[0]
        if kind == "bool":
            group.add_argument(flag, dest=field.name, action="store_true", help=text)
            continue
        shown = "" if field.default is None else f" [{field.default}]"
        read, metavar = READERS[kind]
        flags = flag, *OTHER_FLAGS.get(field.name, ())
        group.add_argument(
            *flags, dest=field.name, type=read, default=field.default, metavar=metavar, help=f"{text}{shown}"
        )


def spec_of(arguments: argparse.Namespace) -> BuildSpec:
    """Return the spec that the flags describe."""
    return BuildSpec(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(BuildSpec)})


def run(arguments: argparse.Namespace) -> int:
    """Build the profiles and show their sizes."""
    from clalign.cli.watch import watch_job
    from clalign.formats.matrices import is_matrix_file
    from clalign.formats.writers import whole_file

    spec = spec_of(arguments)
    output, alignment = arguments.output, input_path(arguments.alignment)
    matrix = [arguments.matrix] if arguments.matrix and is_matrix_file(arguments.matrix) else []
    check_places(filter(None, (output, arguments.summary, arguments.resaved)), (alignment, *matrix))
    with contextlib.ExitStack() as stack:
        (given,) = stack.enter_context(in_alignments(alignment))
        built = stack.enter_context(written_to(output))
        job = {
            "job": "hmmbuild", "alignment": given, "output": str(built), "device": device_of(arguments),
            "resave": str(Path(arguments.resaved).absolute()) if arguments.resaved else os.devnull,
            **dataclasses.asdict(spec),
        }  # fmt: skip
        value = watch_job(job, progress_mode(arguments), "Stopped. Nothing was written.")
    is_hmmers = stands_for_hmmer(arguments.command)
    lines = [*(head_lines(arguments) if is_hmmers else []), *summary_lines(value)]
    if arguments.summary:
        with enough_read(), whole_file(arguments.summary) as stream:
            stream.writelines(f"{line}\n" for line in lines)
    if arguments.summary or output == "-":
        return 0
    n = len(value["profiles"])
    show("\n".join(lines if is_hmmers else [*lines, "", f"Wrote {n} profile{'s' * (n != 1)} to {output}."]))
    return 0


def head_lines(arguments: argparse.Namespace) -> list[str]:
    """Return the head of the text where clalign stands for hmmbuild: the program and the files, as HMMER has it."""
    named = (
        ("input alignment file", "alignment"),
        ("output HMM file", "output"),
        ("name (the single) HMM", "name"),
        ("output directed to file", "summary"),
        ("processed alignment resaved to", "resaved"),
    )
    given = [(words, getattr(arguments, field)) for words, field in named]
    files = [f"# {f'{words}:':<34s}{value}" for words, value in given if value]
    return [*hmmer_lines("hmmbuild", clalign.__version__), RULE, *files, RULE, ""]


def summary_lines(value: JobResult) -> list[str]:
    """Return the table of the profiles that were built, as hmmbuild has it."""
    is_nucleic = ALPHABETS[value["alphabet"]].is_nucleic
    window = ("W", "-----", "{max_length:>5} ") if is_nucleic else ("", "", "")
    lines = [
        f"# idx {'name':<20s}  nseq  alen  mlen {f'{window[0]:>5} ' * is_nucleic}eff_nseq re/pos description",
        f"#---- {'-' * 20} ----- ----- ----- {f'{window[1]} ' * is_nucleic}-------- ------ -----------",
    ]
    row = (
        "{number:<5d} {name:<20s} {n_sequences:>5d} {n_columns:>5d} {length:>5d} " + window[2]
        + "{effective_n:>8.2f} {entropy:>6.3f} {description}"
    )  # fmt: skip
    return lines + [row.format(number=number, **one) for number, one in enumerate(value["profiles"], 1)]
