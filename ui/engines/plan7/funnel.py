"""The filters of HMMER3 as a funnel: survivors of each stage, the number expected by chance, and their names."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from clalign.engines.pictures.stages import number_text
from clalign.engines.plan7.hmmer3.funnel import funnel_of, in_sentence, survivors_at
from clalign.jobs import JobContext
from clalign.runs.run_file import open_run
from clalign.values.documents import StageCounts

from ... import formatting
from ...models.widgets.text_table import Row, TextColumn
from .columns import number

MAX_ROWS = 20_000
"""Best sequences of a stage that are listed."""

MAX_DEVIATIONS, MIN_CHANCE = 3.0, 0.00135
"""Largest deviation (standard deviations) and least probability of what is still called chance."""

MIN_NORMAL = 10.0
"""Expected count from which on survivors are taken for normally distributed."""

MIN_RATIO = 1.25
"""A smaller ratio to the expected count is called chance, however many sequences there are."""

WARNING_RATIO = 10.0
"""Ratio to the expected count from which on a warning is shown."""

HMMER2_WORDS = (
    "HMMER2 profiles are searched without filters",
    "Every sequence gets its full Viterbi score, so nothing is left out on the way. The filters are part of HMMER3.",
)


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A stage of the funnel as text.

    Attributes
    ----------
    stage, label : str
        Key and name.
    passed, rejected : int
        Sequences that passed it, and those that came to it and did not.
    share : float
        Of all sequences, those that passed.
    expected, verdict : str
        The number expected by chance, and a verdict on the difference.
    by_chance : float or None
        The number expected by chance.
    mark : str
        Severity of the verdict.
    ran : bool
    tip : str
    """

    stage: str
    label: str
    passed: int
    rejected: int
    share: float
    expected: str
    verdict: str
    mark: str
    ran: bool
    tip: str
    by_chance: float | None = None


TIPS = {
    "all": "Everything that was searched",
    "msv": "The best ungapped alignments of each sequence, 8-bit scores",
    "bias": "The same against a null model of the profile's own composition",
    "viterbi": "The best gapped alignment, 16-bit scores; skipped where the bias filter is sure already",
    "forward": "All alignments together; what passes is aligned and scored in full",
    "reported": "What passes the thresholds of the search",
}


def read_funnel(path: Path, profile: int) -> list[FunnelStep]:
    """Read how many sequences have passed each stage so far."""
    with open_run(path) as run:
        return funnel_steps(funnel_of(run, profile))


def funnel_steps(rows: list[StageCounts]) -> list[FunnelStep]:
    """Return the stages as text."""
    total = rows[0]["passed"] if rows else 0
    n_reported = next((row["passed"] for row in rows if row["stage"] == "reported"), 0)
    steps, before = [], total
    for row in rows:
        verdict, mark = (
            judge(row["stage"], row["passed"], row["expected"], n_reported) if row["ran"] and total else ("", "")
        )
        chance, limit = row["expected"] if row["ran"] else None, row["limit"]
        expected = "" if chance is None or limit is None else _expected(chance, limit)
        passed = row["passed"]
        steps.append(
            FunnelStep(
                row["stage"], row["label"], passed, max(0, before - passed), passed / max(1, total), expected,
                verdict if row["ran"] else "not used in this search", mark, row["ran"], TIPS[row["stage"]],
                chance,
            )
        )  # fmt: skip
        before = row["passed"]
    return steps


def _expected(count: float, limit: float) -> str:
    return f"expected {number_text(count)} (P ≤ {formatting.limit(limit)})"


def judge(stage: str, passed: int, expected: float | None, n_reported: int = 0) -> tuple[str, str]:
    """Return a verdict on a number of survivors, and its severity.

    A family lets more through than chance does, and its distant relatives, too: only what is far more than both is a
    warning.
    """
    if expected is None or stage == "bias":
        return "", ""
    spread = MAX_DEVIATIONS * math.sqrt(max(expected, 1.0))
    is_more = _chance_of_so_many(passed, expected) < MIN_CHANCE if expected < MIN_NORMAL else passed > expected + spread
    if is_more and passed > MIN_RATIO * expected:
        if stage == "forward":
            return "more than by chance: probably members of the family", "note"
        if passed > WARNING_RATIO * max(expected, n_reported):
            return "far more than chance and hits explain: biased composition?", "caution"
        return "more than by chance: a large family, or bias", "note"
    if passed < expected - spread and MIN_RATIO * passed < expected:
        few = "fewer than expected by chance: unusual sequences or composition"
        return few, "caution" if WARNING_RATIO * passed < expected else "note"
    if stage == "forward" and n_reported:
        return "members of the family" + ", others by chance" * (passed > n_reported), "good"
    return "as expected by chance", "good"


def _chance_of_so_many(passed: int, expected: float) -> float:
    """Return the probability of at least this many where few are expected (Poisson)."""
    term = total = math.exp(-expected)
    for so_many in range(1, passed):
        term *= expected / so_many
        total += term
    return max(0.0, 1.0 - total) if passed else 1.0


def share_words(share: float) -> str:
    """Return a share of all sequences with three digits."""
    return f"{100 * share:#.3g}".rstrip(".") + f"{formatting.THIN}%"


def stage_title(step: FunnelStep, rejected: bool) -> str:
    """Return the title of a list of sequences of a stage."""
    if step.stage == "all":
        return "All sequences, by their MSV score"
    if step.stage == "reported":
        return "Passed all filters, but not reported" if rejected else "Reported sequences"
    return f"{'Stopped by the' if rejected else 'Passed the'} {in_sentence(step.label)}"


def _text(key: str) -> Callable[[Row], str]:
    return lambda row: str(row[key])


def _value(key: str) -> Callable[[Row], object]:
    return lambda row: row[key].lower() if isinstance(row[key], str) else row[key]


def _filter(key: str, title: str, tip: str) -> TextColumn:
    return TextColumn(
        title, f"{tip}, in bits", lambda r: number(r[key]), True, 84 if "bias" in title else 62, value=_value(key),
        large_first=True,
    )  # fmt: skip


COLUMNS = (
    TextColumn("Name", "Name of the sequence; empty if the file is missing", _text("name"), False, 150,
               value=_value("name")),
    TextColumn("Length", "Residues", lambda r: "—" if r["length"] is None else formatting.count(r["length"]), True, 56,
               value=_value("length"), large_first=True),
    _filter("msv", "MSV", "Score in the MSV filter above the null model"),
    _filter("bias", "MSV − bias", "The same above the bias filter's null model"),
    _filter("viterbi", "Viterbi", "Score in the Viterbi filter"),
    _filter("forward", "Forward", "Forward score"),
    TextColumn("P-value", "P-value of the score of this stage",
               lambda r: "—" if r["pvalue"] is None else formatting.evalue(r["pvalue"]), True, 70,
               value=_value("pvalue")),
    TextColumn("Limit", "P-value that lets a sequence pass", lambda r: formatting.limit(r["limit"]), True, 56,
               value=_value("limit")),
    TextColumn("Description", "From the sequence file", _text("description"), False, 80, stretch=True,
               value=_value("description")),
)  # fmt: skip
"""Columns of the sequences that passed a stage or were rejected by it."""


def read_survivors(path: Path, profile: int, stage: str, rejected: bool, context: JobContext | None) -> list[Row]:
    """Read the sequences that passed a stage or were rejected by it, the best first."""
    with open_run(path) as run:
        return survivors_at(run, profile, stage, rejected, MAX_ROWS, context=context)
