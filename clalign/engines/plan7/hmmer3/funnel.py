"""How many targets passed each of HMMER3's filters, and which."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.engines.plan7.tables import BATCHES, Survivors, unpack_survivors
from clalign.jobs import JobContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.runs.targets import HeaderReader
from clalign.values.documents import Card, StageCounts
from clalign.values.evalues import MIN_NORMAL, hmmer3_gumbel, hmmer3_log_tail
from clalign.values.profiles import IMPOSSIBLE, Calibration

STAGES = {
    "all": "All sequences",
    "msv": "MSV filter",
    "bias": "Bias filter",
    "viterbi": "Viterbi filter",
    "forward": "Forward filter",
    "reported": "Reported",
}
"""What a target goes through, and how it is called."""

_NAMES = ("MSV", "Viterbi", "Forward")

FILTERS = ("msv", "bias", "viterbi", "forward")

Header = Callable[[int], tuple[str, str, int | None]]
"""Returns name, description and length of a database row."""


def in_sentence(label: str) -> str:
    """Return the label of a step as it stands within a sentence: names keep their capital."""
    return label if label.startswith(_NAMES) else label[0].lower() + label[1:]


def calibration_of(card: Card, stage: str) -> Calibration:
    """Return the score statistics of a filter."""
    if stage == "forward":
        found = card["calibration3"]["forward"]
        return Calibration("exponential", found["tau"], found["lambda"])
    found = card["calibration3"]["viterbi" if stage == "viterbi" else "msv"]
    return Calibration("gumbel", found["mu"], found["lambda"])


def pvalues_of(card: Card, stage: str, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the P-values of scores in bits in a filter."""
    calibration = calibration_of(card, stage)
    if stage == "forward":
        pvalues = np.exp(hmmer3_log_tail(scores, calibration))
        return np.where(pvalues < MIN_NORMAL, 0.0, pvalues)  # as in `evalues.exponential_survival`
    return hmmer3_gumbel(scores, calibration)


def limit_of(card: Card, stage: str) -> float:
    """Return the P-value that lets a target pass a filter."""
    limits = card["filter_limits"]
    return float(limits[{"msv": "f1", "bias": "f1", "viterbi": "f2", "forward": "f3"}[stage]])


def funnel_of(run: RunFile, profile: int) -> list[StageCounts]:
    """Return how many targets of a profile passed each stage so far: ``stage``, ``label``, ``passed``, ``expected`` (by
    chance), ``limit`` (P-value) and ``ran``.

    HMMER2 has no filters.
    """
    card = run.card(profile)
    n_passed = np.zeros(len(FILTERS), np.int64)
    for _, _, _, *counts in run.engine_rows_of_batches(BATCHES.name, profile):
        n_passed += counts
    n_all = run.n_rows_finished(profile) - n_left_out(run, profile, card)
    passed = dict(zip(STAGES, (n_all, *n_passed.tolist(), run.n_hits(profile)), strict=True))
    rows: list[StageCounts] = []
    for stage, label in STAGES.items():
        is_filter = stage in FILTERS
        if is_filter and card.get("origin") != "hmmer3":
            continue
        limit = limit_of(card, stage) if is_filter else None
        rows.append(
            {
                "stage": stage,
                "label": label,
                "passed": passed[stage],
                "expected": None if limit is None else limit * n_all,
                "limit": limit,
                "ran": not is_filter or was_run(card, stage),
            }
        )
    return rows


class WorkOfProfile(Struct, frozen=True):
    """What was computed for a profile.

    Attributes
    ----------
    n_rows : int
        Targets, those that HMMER3 cannot search among them.
    cells, seconds : float
        And the time of the device.
    n_passed : sequence of int
        How many targets passed each of `FILTERS`.
    """

    n_rows: int = 0
    cells: float = 0.0
    seconds: float = 0.0
    n_passed: Sequence[int] = (0,) * len(FILTERS)


NO_WORK = WorkOfProfile()


def works_of(run: RunFile, first: int, last: int) -> dict[int, WorkOfProfile]:
    """Return the amounts computed for the profiles from a number on, to before another, by one question."""
    found = run.sums_of_batches(BATCHES.name, BATCHES.names[1:], first, last)
    return {number: WorkOfProfile(n_rows, cells, seconds, passed) for number, n_rows, cells, seconds, *passed in found}


def was_run(card: Card, stage: str) -> bool:
    """Return whether a filter was used at all."""
    if stage == "bias":
        return bool(card["filter_limits"]["bias"])
    return stage != "viterbi" or card["filter_limits"]["f2"] < 1.0


def n_left_out(run: RunFile, profile: int, card: Card) -> int:
    """Return how many finished targets HMMER3 cannot search."""
    rows = np.sort(np.array(card.get("left_out") or [], np.int64))
    if not len(rows):
        return 0
    return sum(int(np.searchsorted(rows, last) - np.searchsorted(rows, first)) for first, last in run.finished(profile))


def survivors_of(run: RunFile, profile: int) -> Survivors:
    """Return the survivors of the first filter in all finished batches."""
    blobs = run.engine_rows_of_batches(BATCHES.name, profile)
    parts = [unpack_survivors(blob, first, last, run.path) for first, last, blob, *_ in blobs]
    kinds = (np.int64, np.float32, np.float32, np.float32, np.float32, np.uint8)
    names = ("rows", *FILTERS, "reached")
    columns = [
        np.concatenate([np.empty(0, kind), *(getattr(part, name) for part in parts)]).astype(kind)
        for name, kind in zip(names, kinds, strict=True)
    ]
    return Survivors(*columns)


def hits_with_score(run: RunFile, profile: int, stage: str, low: float, high: float) -> list[int]:
    """Return the ids of the hits whose score in a filter, ``msv`` or ``forward``, is from `low` to below `high` bits.

    The best come first.
    """
    rows = [np.empty(0, np.int64)]
    if stage == "forward":
        table = survivors_of(run, profile)
        rows.append(table.rows[(table.forward >= low) & (table.forward < high)])
    else:  # what overflows has its place among the stored scores, not among those of survivors
        for first, _, values in run.scores(profile):
            rows.append(np.flatnonzero((values >= 1000 * low) & (values < 1000 * high)) + first)
    return HitQueries(run.connection).in_rows(profile, np.concatenate(rows))


def targets_at(run: RunFile, profile: int, stage: str, rejected: bool) -> Survivors:
    """Return the targets that passed a stage, or came to it and were rejected, in falling order of their scores.

    Those that did not pass the first filter have a score in it and nothing else.
    """
    table = survivors_of(run, profile)
    if stage in ("all", "msv") and (rejected or stage == "all"):
        others = _stopped_at_once(run, profile, table.rows)
        table = others if stage == "msv" else _joined(table, others)
        chosen = np.full(len(table.rows), stage == "msv" or not rejected)
    elif stage == "reported":
        is_hit = np.isin(table.rows, HitQueries(run.connection).rows(profile))
        chosen = ~is_hit & (table.reached == len(FILTERS)) if rejected else is_hit
    else:
        level = FILTERS.index(stage) + 1
        chosen = table.reached == level - 1 if rejected else table.reached >= level
    ranks = _ranks(table, "msv" if stage == "all" else stage)
    places = np.flatnonzero(chosen)
    keys = [-rank[places].astype(np.float64) for rank in ranks]
    return _taken(table, places[np.lexsort([table.rows[places], *keys])])


def _ranks(table: Survivors, stage: str) -> list[npt.NDArray[np.float32]]:
    """Return the keys that order targets, the most important last; those that skipped the Viterbi filter are first."""
    if stage == "viterbi":
        return [table.bias, np.nan_to_num(table.viterbi, nan=np.inf)]
    return [getattr(table, "forward" if stage == "reported" else stage)]


def _stopped_at_once(run: RunFile, profile: int, passed: npt.NDArray[np.int64]) -> Survivors:
    """Return the targets that did not pass the first filter."""
    rows, scores = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
    for first, _, values in run.scores(profile):
        scored = np.flatnonzero(values > IMPOSSIBLE)
        rows.append(scored + first)
        scores.append((values[scored] / 1000.0).astype(np.float32))
    every, msv = np.concatenate(rows), np.concatenate(scores)
    stopped = ~np.isin(every, passed)
    unknown = np.full(int(stopped.sum()), np.nan, np.float32)
    return Survivors(every[stopped], msv[stopped], unknown, unknown, unknown, np.zeros(len(unknown), np.uint8))


def _joined(a: Survivors, b: Survivors) -> Survivors:
    names = ("rows", *FILTERS, "reached")
    return Survivors(*(np.concatenate([getattr(a, name), getattr(b, name)]) for name in names))


def _taken(table: Survivors, places: npt.NDArray[np.int64]) -> Survivors:
    return Survivors(*(getattr(table, name)[places] for name in ("rows", *FILTERS, "reached")))


def listed(card: Card, stage: str, table: Survivors, header: Header) -> list[Card]:
    """Return targets as plain data, with their P-values in a stage.

    A target that skipped the Viterbi filter has the P-value, and the limit, that let it.
    """
    judge = {"all": "msv", "reported": "forward"}.get(stage, stage)
    pvalues = pvalues_of(card, judge, getattr(table, judge))
    limits = np.full(len(pvalues), limit_of(card, judge))
    if judge == "viterbi":
        skipped = np.isnan(table.viterbi)
        pvalues[skipped] = pvalues_of(card, "bias", table.bias[skipped])
    rows = []
    for place, row in enumerate(table.rows.tolist()):
        name, description, length = header(row)
        scores = {stage: float(getattr(table, stage)[place]) for stage in FILTERS}
        rows.append(
            {"row": row, "name": name, "description": description, "length": length}
            | {stage: None if np.isnan(score) else score for stage, score in scores.items()}
            | {"pvalue": None if np.isnan(pvalues[place]) else float(pvalues[place]), "limit": float(limits[place])}
        )
    return rows


def survivors_at(
    run: RunFile,
    profile: int,
    stage: str,
    rejected: bool = False,
    limit: int = 1000,
    offset: int = 0,
    context: JobContext | None = None,
) -> list[dict[str, object]]:
    """Return the targets that passed a stage of a HMMER3 profile, or that it rejected, the best first.

    Each has ``row``, ``name``, ``description``, ``length``, ``msv``, ``bias``, ``viterbi``, ``forward`` (bits),
    ``pvalue`` and ``limit``. Names come from the sequence file; they are empty when it is not at hand any more.
    """
    card = run.card(profile)
    if card.get("origin") != "hmmer3":
        return []
    table = targets_at(run, profile, stage, rejected)
    end = len(table.rows) if limit < 0 else min(len(table.rows), offset + limit)
    return listed(card, stage, _taken(table, np.arange(offset, max(end, offset))), HeaderReader(run, context))
