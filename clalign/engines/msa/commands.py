"""``clalign align``."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from collections.abc import Mapping

from clalign.engines.commands import Command, Files, Input
from clalign.engines.msa.exports import LATER, MERGES, PARAMETERS, PROBABILITIES, ROWS, TEXT
from clalign.engines.msa.spec import ALIGNING
from clalign.errors import OptionError
from clalign.formats.row_forms import FORMS, USUAL_FORM, form_of
from clalign.values.documents import SpecFields

_SEQUENCES = "sequences, also compressed; - is standard input; several files are joined"


def add_options(groups: Mapping[str, _ArgumentGroup]) -> None:
    """Add what is written in what form."""
    groups[ALIGNING].add_argument(
        "--stockholm", action="store_true", help="write Stockholm with the expected accuracy in place of aligned FASTA"
    )
    groups[ALIGNING].add_argument("--format", choices=tuple(FORMS), metavar="|".join(FORMS),
                                  help="what to write [by the ending of F, else fasta]")  # fmt: skip
    groups[ALIGNING].add_argument(
        "--gui", action="store_true",
        help="write merges and posterior probabilities, too, beside the first file: SEQS.gui and SEQS.probs",
    )  # fmt: skip
    groups[ALIGNING].add_argument(
        "--write-params", action="store_true",
        help="write likelihood and learned gap parameters of each pair, too, beside the first file: SEQS.params",
    )  # fmt: skip
    groups[ALIGNING].add_argument(
        "--noanchored", action="store_true", help="for command lines of fsa: nothing is anchored in any case"
    )


def written(files: Files, given: Namespace, inputs: tuple[str, ...]) -> Files:
    """Return all that is written.

    Raises
    ------
    OptionError
        If two formats are asked for, or there is no file that merges could be written beside.
    """
    if given.stockholm and given.format not in (None, "stockholm"):
        raise OptionError(f"--stockholm is given, and --format {given.format}.", "Leave out one of the two.")
    asked_for = "stockholm" if given.stockholm else given.format
    forms = {one.name: one for one in ROWS}
    files = tuple(
        (forms[asked_for or form_of(path) or USUAL_FORM] if one is TEXT else one, path) for one, path in files
    )
    more = [*([MERGES, PROBABILITIES] if given.gui else []), *([PARAMETERS] if given.write_params else [])]
    if more and inputs[0] == "-":
        flag = "--gui" if given.gui else "--write-params"
        raise OptionError(f"{flag} writes beside the first file, but that is standard input.", "Give it as a file.")
    return (*files, *((one, f"{inputs[0]}.{one.name}") for one in more))


def files(given: SpecFields) -> dict[str, str]:
    """Return the posteriors and the weights that are read."""
    return {name: given[name] for name in ("load_posteriors", "tree_weights") if given.get(name) is not None}


COMMANDS = {
    "align": Command(
        description="Align sequences with each other by the posterior probabilities of all pairs of them (FSA):"
        " proteins, DNA or RNA. Says of each column how far it can be trusted.",
        examples=(
            "clalign align family.fasta > family.afa",
            "clalign align --fast --stockholm -o family.sto --device gpu family.fasta",
            "clalign align --maxsn --run family.clalign one.fasta two.fasta > both.afa",
            "clalign align --noindel2 --refinement 0 --gui family.fasta > family.afa",
        ),
        inputs=(Input("sequences", "SEQS", _SEQUENCES),),
        outputs=(TEXT,),
        later=LATER,
        keeps_words=True,
        found="sequences",
        add_options=add_options,
        written=written,
        files=files,
    )
}
