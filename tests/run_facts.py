"""What made-up runs say of themselves."""

from __future__ import annotations

from typing import Any

from clalign.databases.reports import InputReport

DEVICE = {"id": "0:0", "name": "by hand", "kind": "cpu"}


def report_of(n_sequences: int, n_residues: int, n_empty: int = 0, **more: Any) -> InputReport:
    """Return the report on a made-up file of sequences."""
    known = {
        "path": "seqs.fa", "digest": "none", "format": "fasta", "compression": "none", "line_ends": "LF",
        "alphabet": "amino", "alphabet_reason": "made up", "n_sequences": n_sequences, "n_residues": n_residues,
        "n_empty": n_empty, "shortest": 0, "mean": n_residues / n_sequences, "longest": 0, "length_histogram": (),
    }  # fmt: skip
    return InputReport(**known | more)
