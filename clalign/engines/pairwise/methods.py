"""What a comparison of sequences does, as it may stand in a paper."""

from __future__ import annotations

from clalign.engines.pairwise.report_text import limit_words
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import begun_facts
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card


def methods(run: RunFile) -> str:
    """Return the procedure of a run in a few sentences."""
    facts, spec = begun_facts(run), run.spec(PairwiseSpec)
    scoring, strands = facts.scoring, facts.strands
    words = "Given pairs were aligned" if spec.is_pairs else "All queries were compared with all targets"
    gaps = f", a gap of k residues costing {scoring['gap_first']} + (k - 1) * {scoring['gap_next']}"
    if scoring["mode"] == "ungapped":
        gaps = ""
    text = f"{words} by exact dynamic programming ({scoring['mode']} alignments) with the matrix {scoring['matrix']}"
    card = run.card(0)
    statistics = str(card.get("statistics_words") or "").rstrip(".")
    parts = [f"{text}{gaps}.", f"{statistics[:1].upper()}{statistics[1:]}." if statistics else ""]
    if card.get("alphabet") != "amino":
        parts.append(f"The strand{'s' * (len(strands) > 1)} {' and '.join(strands)} of the queries counted.")
    return " ".join(part for part in (*parts, _reported(spec, card)) if part)


def _reported(spec: PairwiseSpec, card: Card) -> str:
    """Return the sentence on what was reported."""
    if spec.is_pairs:
        return "All pairs were reported."
    limits = limit_words(spec, card)
    return f"Reported were targets{f' with {limits}' if limits else ''}, of each query at most the best {spec.top:,}."
