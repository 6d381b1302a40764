"""The formats that alignments are written in, as data, so that helps need not load the writers."""

FORMS = {
    "fasta": "Aligned FASTA", "stockholm": "Stockholm", "clustal": "Clustal", "a2m": "A2M", "a3m": "A3M",
    "phylip": "PHYLIP", "msf": "MSF", "nexus": "NEXUS",
}  # fmt: skip
"""Names of the formats for users."""

HMMER_FORMS = (
    "stockholm", "pfam", "a2m", "psiblast", "selex", "afa", "clustal", "clustallike", "phylip", "phylips"
)  # fmt: skip
"""HMMER's names of the formats that `clalign.formats.hmmer_rows` writes."""

PROFILE_FORMS = (*HMMER_FORMS, *(form for form in FORMS if form not in (*HMMER_FORMS, "fasta")))
"""Formats of alignments to a profile."""

ENDINGS = {
    "fasta": (".fasta", ".fa", ".afa", ".mfa", ".fas"), "stockholm": (".sto", ".stk"), "clustal": (".aln",),
    "a2m": (".a2m",), "a3m": (".a3m",), "phylip": (".phy", ".phylip"), "msf": (".msf",), "nexus": (".nex", ".nexus"),
}  # fmt: skip
"""Endings of the names of files in each format, the usual one first."""


USUAL_FORM = "fasta"
"""The default format."""

OTHER_FORMS = tuple(form for form in FORMS if form not in ("fasta", "stockholm"))
"""Formats without annotation."""


def form_of(path: str) -> str:
    """Return the format by the ending of a file name; empty if it is unknown."""
    name = path.lower()
    return next((form for form, endings in ENDINGS.items() if name.endswith(endings)), "")
