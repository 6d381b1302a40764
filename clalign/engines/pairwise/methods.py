"""What a comparison of sequences does, as it may stand in a paper."""

from __future__ import annotations

from typing import Any

from clalign.engines.pairwise.report_text import limit_words
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
    card = run.card(0)
    statistics = str(card.get("statistics_words") or "").rstrip(".")
    parts = [said, f"{statistics[:1].upper()}{statistics[1:]}." if statistics else ""]
    if (strands := run.fact("strands") or []) and card.get("alphabet") != "amino":
        parts.append(f"The strand{'s' * (len(strands) > 1)} {' and '.join(strands)} of the queries counted.")
    return " ".join(part for part in (*parts, _reported(spec, card)) if part)


def _reported(spec: PairwiseSpec, card: dict[str, Any]) -> str:
    """Return what was reported."""
    if spec.is_pairs:
        return "All pairs were reported."
    limits = limit_words(spec, card)
    return f"Reported were targets{f' with {limits}' if limits else ''}, of each query at most the best {spec.top:,}."
