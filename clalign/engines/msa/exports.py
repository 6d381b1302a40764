"""The exports of an alignment: its rows in several formats, and what it was made of."""

from clalign.engines.exports import Export
from clalign.engines.lazy_imports import LazyImport
from clalign.formats.row_forms import ENDINGS, FORMS, OTHER_FORMS

_HERE = "clalign.engines.msa.export"

TEXT = Export(
    "text",
    "-o",
    "write the alignment to F instead of standard output",
    "",
    ".afa",
    LazyImport(f"{_HERE}:write_fasta"),
    counts="sequence",
    is_main=True,
)
"""What the command writes: aligned FASTA, unless it names another format."""

ROWS = (
    Export(
        "fasta",
        "--fasta",
        f"write the alignment as {FORMS['fasta']}",
        "Aligned FASTA",
        ".afa",
        LazyImport(f"{_HERE}:write_fasta"),
        counts="sequence",
        is_exact=True,
        has_remarks=False,
        group="alignment",
    ),
    Export(
        "stockholm",
        "--stockholm",
        f"write the alignment as {FORMS['stockholm']}",
        "Stockholm with the expected accuracy",
        ".sto",
        LazyImport(f"{_HERE}:write_stockholm"),
        counts="sequence",
        serves="alignment",
        group="alignment",
    ),
    *(
        Export(
            form,
            f"--{form}",
            f"write the alignment as {FORMS[form]}",
            FORMS[form],
            ENDINGS[form][0],
            LazyImport(f"{_HERE}:write_form"),
            argument=form,
            counts="sequence",
            group="alignment",
            is_exact=form == "a2m",
            has_remarks=form != "a2m",
        )
        for form in OTHER_FORMS
    ),
)
"""The alignment, by the formats of `FORMS`."""

MERGES = Export(
    "gui",
    "--gui",
    "write the merges that made it, as FSA's viewer replays them",
    "Merges, as FSA's viewer replays them",
    ".gui",
    LazyImport(f"{_HERE}:write_merges"),
    counts="merge",
)

PROBABILITIES = Export(
    "probs",
    "--probs",
    "write the posterior probabilities of all pairs, as FSA does",
    "Posterior probabilities of all pairs",
    ".probs",
    LazyImport(f"{_HERE}:write_probabilities"),
    counts="pair",
    serves="posteriors",
)

PARAMETERS = Export(
    "params",
    "--params",
    "write likelihood and learned gap parameters of each pair as a table",
    "Gap parameters of all pairs",
    ".tsv",
    LazyImport(f"{_HERE}:write_parameters"),
    counts="pair",
)

LATER = (*ROWS, MERGES, PROBABILITIES, PARAMETERS)
"""What `clalign export` writes by flags of its own."""

EXPORTS = (TEXT, *LATER)
