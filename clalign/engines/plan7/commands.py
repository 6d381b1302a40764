"""``clalign hmmsearch``, ``clalign hmmscan``, ``clalign phmmer`` and ``clalign jackhmmer``."""

from __future__ import annotations

from itertools import islice
from typing import get_args

from msgspec.structs import replace

from clalign.engines.commands import Command, Input
from clalign.engines.plan7.exports.register import OUTPUTS, OUTPUTS_OF_ROUNDS
from clalign.engines.plan7.spec import FOUND, REPLACED, USUAL_IN_ROUNDS, SearchSpec, replaced_by
from clalign.values.documents import SpecFields
from clalign.values.specs import Spec, flag_of, types_of

MIN_TEXT_WIDTH = 120
"""Smallest `--textw` that HMMER accepts."""

_PROFILES = "profiles (HMMER2 or HMMER3 text, or .h3m); - is standard input"
_QUERIES = "queries: protein sequences, alignments or HMMER3 profiles; - is standard input"
_SEQUENCES = "sequences, also compressed; - is standard input"


def conflict(given: SpecFields, spec: Spec) -> str | None:
    """Return which options take each other's place in a search with HMMER3 profiles, where HMMER refuses them.

    The first profile decides: for those of HMMER2 a score and an E-value both count.
    """
    pair = next(((other, name) for name, other in replaced_by(given.keys()).items() if name in given), None)
    if pair is None:
        return None
    if not _is_hmmer3(spec):
        return None
    flags = [f"--cut_{given[name]}" if name == "cutoff" else flag_of(name, SearchSpec) for name in pair]
    return f"{' and '.join(flags)} exclude each other: {REPLACED[pair[0]][1]}. Leave one of them out."


def _is_hmmer3(spec: Spec) -> bool:
    """Return whether the profiles of a search are those of HMMER3, as those made of sequences are."""
    from clalign.formats.recognize import identify
    from clalign.formats.sources import opened

    if isinstance(spec, SearchSpec) and spec.makes_profiles:
        return True
    with opened(spec.paths[0]) as source:
        return identify(source).format.startswith("HMMER3")


def conflict_in_rounds(given: SpecFields, spec: Spec) -> str | None:
    """Return which options take each other's place, those for the effective number of sequences included."""
    if "effective_n" in given and "effective_number" in given:
        flags = flag_of("effective_number", SearchSpec).split("|")
        rules = list(get_args(types_of(SearchSpec)["effective_number"]))
        rule = flags[rules.index(given["effective_number"])]
        return f"--eset and {rule} exclude each other: the number takes the place of a rule. Leave one of them out."
    return conflict(given, spec)


def has_several(spec: Spec) -> bool:
    """Return whether there is more than one profile."""
    from clalign.formats.profiles import read_profiles

    return sum(1 for _ in islice(read_profiles(spec.paths[0]), 2)) > 1


def matrix_file(given: SpecFields) -> dict[str, str]:
    """Return the matrix, if it is a file."""
    from clalign.formats.matrices import is_matrix_file

    matrix = given.get("matrix")
    return {"matrix": matrix} if matrix is not None and is_matrix_file(matrix) else {}


def has_several_sequences(spec: Spec) -> bool:
    """Return whether there is more than one query; of standard input it is not known before it is read."""
    from clalign.formats.blocks import Reading
    from clalign.formats.readers import read_blocks
    from clalign.formats.recognize import identify
    from clalign.formats.sources import TextReader, opened

    assert isinstance(spec, SearchSpec)
    settled = spec.settled()
    if not settled.makes_first:
        return has_several(spec)
    with opened(spec.paths[0]) as source:
        if not settled.has_sequences:
            return sum(line.startswith(b"# STOCKHOLM") for _, line in TextReader(source).lines()) > 1
        blocks = read_blocks(identify(source).sequence_format(), Reading(TextReader(source), True))
        return sum(len(block.texts) for block in islice(blocks, 2)) > 1


_SEARCH = Command(
    description="Search profile HMMs against sequences. Names and meanings of the options are those of HMMER.",
    examples=(
        "clalign hmmsearch globins.hmm proteins.fasta",
        "clalign hmmsearch --tsv hits.tsv --run globins.clalign globins.hmm proteins.fasta.gz",
        "clalign hmmsearch -E 1e-5 --device gpu -o hits.txt --noali globins.hmm proteins.fasta",
        "zcat *.fa.gz | clalign hmmsearch --cut_ga families.hmm -",
    ),
    inputs=(Input("profiles", "HMMFILE", _PROFILES), Input("targets", "SEQDB", _SEQUENCES)),
    outputs=OUTPUTS,
    found=FOUND["search"],
    min_width=MIN_TEXT_WIDTH,
    conflict=conflict,
    has_several=has_several,
)

_PHMMER = replace(
    _SEARCH,
    description="Search protein sequences against protein sequences: of each query a profile is made with a"
    " substitution matrix, and searched with as hmmsearch does. Names and meanings of the options are those of"
    " HMMER.",
    examples=(
        "clalign phmmer query.fasta proteins.fasta",
        "clalign phmmer -E 1e-5 --tblout hits.tbl --noali queries.fasta proteins.fasta.gz",
    ),
    inputs=(Input("profiles", "SEQFILE", "queries: protein sequences; - is standard input"), _SEARCH.inputs[1]),
    preset={"direction": "sequence"},
    aliases={"matrix": "--mxfile"},
    files=matrix_file,
    has_several=has_several_sequences,
)

COMMANDS = {
    "hmmsearch": _SEARCH,
    "hmmscan": replace(
        _SEARCH,
        description="Find the profiles of a library that match each sequence (hmmpfam in HMMER2). E-values count the"
        " profiles of the library. Names and meanings of the options are those of HMMER.",
        examples=(
            "clalign hmmscan families.hmm proteins.fasta",
            "clalign hmmscan --cut_ga --domtblout domains.tbl --noali families.hmm proteins.fasta",
            "zcat *.fa.gz | clalign hmmscan -E 1e-3 --device gpu families.hmm -",
        ),
        inputs=(Input("profiles", "HMMDB", _PROFILES), Input("targets", "SEQFILE", _SEQUENCES)),
        preset={"direction": "scan"},
        found=FOUND["scan"],
        aliases={"sequence_format": "--qformat"},
    ),
    "phmmer": _PHMMER,
    "jackhmmer": replace(
        _PHMMER,
        description="Search proteins in rounds with proteins, alignments or HMMER3 profiles; options are HMMER's.",
        examples=(
            "clalign jackhmmer query.fasta proteins.fasta",
            "clalign jackhmmer -N 1 --noali -A hits.sto -o /dev/null query.fasta proteins.fasta.gz",
        ),
        inputs=(Input("profiles", "QUERYFILE", _QUERIES), _SEARCH.inputs[1]),
        outputs=OUTPUTS_OF_ROUNDS,
        preset={"direction": "rounds"},
        usual=USUAL_IN_ROUNDS,
        conflict=conflict_in_rounds,
        found=FOUND["rounds"],
    ),
}
