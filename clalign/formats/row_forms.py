"""The formats that alignments are written in, as data: helps name them, and need not load what writes them."""

FORMS = {
    "fasta": "Aligned FASTA", "stockholm": "Stockholm", "clustal": "Clustal", "a2m": "A2M", "a3m": "A3M",
    "phylip": "PHYLIP", "msf": "MSF", "nexus": "NEXUS",
}  # fmt: skip
"""Formats that are written, as users know them."""

ENDINGS = {
    "fasta": (".fasta", ".fa", ".afa", ".mfa", ".fas"), "stockholm": (".sto", ".stk"), "clustal": (".aln",),
    "a2m": (".a2m",), "a3m": (".a3m",), "phylip": (".phy", ".phylip"), "msf": (".msf",), "nexus": (".nex", ".nexus"),
}  # fmt: skip
"""How the names of files of each format end; the first is the usual one."""


USUAL_FORM = "fasta"
"""What is written where no format is named."""

OTHER_FORMS = tuple(form for form in FORMS if form not in ("fasta", "stockholm"))
"""Those that say nothing but the rows."""


def form_of(path: str) -> str:
    """Return the format that the ending of a file name means; empty if none."""
    name = path.lower()
    return next((form for form, endings in ENDINGS.items() if name.endswith(endings)), "")
