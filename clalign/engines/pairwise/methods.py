"""What a comparison of sequences does, as it may stand in a paper."""

from __future__ import annotations

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.runs.run_file import RunFile


def methods(run: RunFile) -> str:
    """Return the procedure of a run in a few sentences."""
    spec, scoring = run.spec(PairwiseSpec), run.fact("scoring") or {}
    words = "Given pairs were aligned" if spec.is_pairs else "All queries were compared with all targets"
    gaps = f", a gap of k residues costing {scoring.get('gap_first')} + (k - 1) * {scoring.get('gap_next')}"
    if scoring.get("mode") == "ungapped":
        gaps = ""
    matrix, mode = scoring.get("matrix", ""), scoring.get("mode", "local")
    said = f"{words} by exact dynamic programming ({mode} alignments) with the matrix {matrix}{gaps}."
    statistics = str(run.card(0).get("statistics_words") or "")
    return f"{said} {statistics[:1].upper()}{statistics[1:]}".strip().rstrip(".") + "."
