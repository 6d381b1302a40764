"""``clalign sw``."""

from __future__ import annotations

from argparse import Namespace, _ArgumentGroup
from collections.abc import Mapping

from clalign.engines.commands import Command, Input
from clalign.engines.pairwise.exports import OUTPUTS
from clalign.engines.pairwise.spec import ALL_REPORTED, OF_SEARCHES, SCORING, PairwiseSpec
from clalign.errors import OptionError
from clalign.values.documents import SpecFields
from clalign.values.specs import Spec, flag_of
from clalign.values.typed_numbers import whole_number

_SEQUENCES = "sequences, also compressed; - is standard input"


def add_options(groups: Mapping[str, _ArgumentGroup]) -> None:
    """Add gap costs as BLAST has them."""
    groups[SCORING].add_argument(
        "--gapopen",
        type=whole_number,
        metavar="X",
        help="as in BLAST: a gap of k residues costs gapopen + k * gapextend, so its first residue gapopen + gapextend",
    )
    groups[SCORING].add_argument(
        "--gapextend", type=whole_number, metavar="X", help="see --gapopen; both in place of --gap-first and --gap-next"
    )


def with_gap_costs(values: SpecFields, given: Namespace) -> SpecFields:
    """Return the fields of a spec with the gap costs that were given as BLAST has them.

    Raises
    ------
    OptionError
        If they are given twice, or in half, or make no sense.
    """
    opening, extension = given.gapopen, given.gapextend
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
    return values


def files(given: SpecFields) -> dict[str, str]:
    """Return the matrix, if it is a file, and the list of pairs."""
    from clalign.formats.matrices import is_matrix_file

    matrix = given.get("matrix")
    found = {"matrix": matrix} if matrix is not None and is_matrix_file(matrix) else {}
    return found | {name: given[name] for name in ("pair_list",) if given.get(name) is not None}


def check(spec: Spec) -> None:
    """Raise what is wrong with the scoring."""
    from clalign.engines.pairwise.inputs import choose_scoring

    assert isinstance(spec, PairwiseSpec)
    choose_scoring(spec, is_nucleic=False)


def conflict(given: SpecFields, spec: Spec) -> str | None:
    """Return which options of searches were given for pairs, where they would have no effect."""
    assert isinstance(spec, PairwiseSpec)
    name = next((name for name in OF_SEARCHES if name in given), None) if spec.is_pairs else None
    if name is None:
        return None
    pairs = next(one for one in ("in_step", "pair_list", "long") if getattr(spec, one) not in (False, None))
    both = " and ".join(flag_of(one, PairwiseSpec) for one in (name, pairs))
    return f"{both} exclude each other: {ALL_REPORTED[:1].lower()}{ALL_REPORTED[1:]} Leave one of them out."


def has_several(spec: Spec) -> bool:
    """Return whether there is more than one query."""
    from clalign.engines.pairwise import inputs

    assert isinstance(spec, PairwiseSpec)
    return inputs.has_several(spec)


COMMANDS = {
    "sw": Command(
        description="Search sequences against sequences with the Smith-Waterman algorithm: exact scores of all pairs,"
        " E-values, alignments. With --pairs, --pair-list or --long given pairs are aligned instead.",
        examples=(
            "clalign sw queries.fasta proteins.fasta",
            'clalign sw --matrix BLOSUM45 --gapopen 14 --gapextend 2 -E 1e-3 --outfmt "6 std cigar" -o hits.tsv'
            " --device gpu queries.fasta proteins.fasta.gz",
            "clalign sw --match 1 --mismatch -1 --strand plus --sam hits.sam reads.fastq genome.fasta",
            "clalign sw --pairs --mode global --scores scores.tsv a.fasta b.fasta",
            "clalign sw --long --run mitochondria.clalign human.fasta orangutan.fasta",
        ),
        inputs=(Input("queries", "QUERIES", _SEQUENCES), Input("targets", "TARGETS", _SEQUENCES)),
        outputs=OUTPUTS,
        keeps_words=True,
        add_options=add_options,
        values=with_gap_costs,
        files=files,
        check=check,
        conflict=conflict,
        has_several=has_several,
    )
}
