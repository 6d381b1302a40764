"""What can be said in SQL of the alignments of two sequences in a run file."""

from __future__ import annotations


def of_alignment(expression: str) -> str:
    """Return the SQL of a value of the best alignment of a hit."""
    return f"(SELECT {expression} FROM domains WHERE hit = hits.id AND number = 1)"


_QUERY_LENGTH = "(SELECT length FROM profiles WHERE profiles.id = hits.profile)"
_IDENTITY = "100.0 * identical / length(states)"
_POSITIVES = "100.0 * positive / length(states)"
_QUERY_COVERAGE = f"100.0 * (hmm_end - hmm_start) / {_QUERY_LENGTH}"

PAIR_VALUES = {
    "identity": of_alignment(_IDENTITY),
    "positives": of_alignment(_POSITIVES),
    "gaps": of_alignment("gaps"),
    "query_coverage": of_alignment(_QUERY_COVERAGE),
    "target_coverage": of_alignment("100.0 * (ali_end - ali_start) / hits.length"),
    "query_start": of_alignment("hmm_start"),
    "target_start": of_alignment("ali_start"),
    "strand": of_alignment("strand"),
    "n_columns": of_alignment("length(states)"),
    "ranking": of_alignment(f"{_QUERY_COVERAGE} / 2 + {_IDENTITY} / 4 + {_POSITIVES} / 4"),
}
"""Values by the names that orders and filters use; shares are percents."""

PAIR_COLUMNS = "states, strand, identical, positive, gaps, gap_residues"
"""Columns of ``domains`` that only alignments of two sequences have."""
