"""Why a target was found, or missed: one sequence through every step of a search, with scores and thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec.structs import replace

from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.loading import load_database
from clalign.databases.profile_library import load_library
from clalign.engines.plan7.hmmer2.search import NO_LIMIT, Hmmer2Search
from clalign.engines.plan7.hmmer3.domains import define_domains
from clalign.engines.plan7.hmmer3.funnel import STAGES, in_sentence
from clalign.engines.plan7.hmmer3.search import Candidates, Hmmer3Search
from clalign.engines.plan7.hmmer3.thresholds import ALL_SCORES
from clalign.engines.plan7.preparing import prepare_search
from clalign.engines.plan7.profile_search import check_unchanged, of_the_profiles_kind
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.targets import LONGEST, targets_of
from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.runs.inputs import at_hand
from clalign.runs.run_file import RunFile
from clalign.stages.hmmer3.filters import FILTERS
from clalign.values.devices import Device
from clalign.values.evalues import bits, distinguishing_decimals, hmmer3_evalue, hmmer3_gumbel_score, hmmer3_tail_score
from clalign.values.filters import Passage, pvalue
from clalign.values.hits import FilterScores, Hit
from clalign.values.local_scores import LN_2, length_terms
from clalign.values.profiles import IMPOSSIBLE, Calibration

Step = dict[str, Any]


def explain_run(
    run: RunFile, profile: int, target: int | str, pick_device: Callable[[str], Device], context: JobContext
) -> dict[str, Any]:
    """Return how a target, a database row or a name, fares in a run; see `explain`."""
    return explain(run.spec(SearchSpec), profile, target, pick_device, context, run)


def explain(
    spec: SearchSpec,
    profile: int,
    target: int | str,
    pick_device: Callable[[str], Device],
    context: JobContext,
    run: RunFile | None = None,
) -> dict[str, Any]:
    """Send one target through every step of a search, also those that it would not have come to.

    Parameters
    ----------
    spec : SearchSpec
    profile : int
        Number of the profile, from 0.
    target : int or str
        Database row, or name.
    pick_device : callable
        Returns the device for the user's words.
    context : JobContext
    run : RunFile, optional
        If it is a run that is asked about: its input must not have changed.

    Returns
    -------
    dict
        ``profile``, ``target``, ``length``, ``steps`` and ``verdict``. Each step has ``stage``, ``label``,
        ``score`` and ``threshold`` (bits), ``pvalue`` and ``limit``, ``passed``, ``ran`` (whether the search
        itself comes to it) and ``text``; what does not apply is None.
    """
    if run is not None:
        spec = at_hand(run, spec, context)
    database, report = load_database(
        spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
    )
    profiles, digest = load_library(spec.profiles, context.check)
    if run is not None:
        check_unchanged(run, spec, report, digest)
    if not 0 <= profile < len(profiles):
        raise OptionError(f"There is no profile {profile + 1}.", f"The file has {len(profiles)}.")
    database, report, texts = of_the_profiles_kind(spec, profiles, database, report)
    for text in texts:
        context.warn(text)
    row = database.row_named(target, context.warn) if isinstance(target, str) else target
    targets = targets_of(spec, database, profiles, report)
    search = prepare_search(profiles[profile], profile, spec, targets)

    def steps_on(session: Session) -> list[Step]:
        if isinstance(search, Hmmer2Search):
            return _steps_of_hmmer2(search, row, session)
        return _steps_of_hmmer3(search, row, session)

    with opening_of(lambda: pick_device(spec.device), context) as opening:
        steps = opening.work(steps_on, context.check, context.warn)
    name = database.header(row)[0]
    return {
        "profile": profiles[profile].name,
        "target": name,
        "length": database.length(row),
        "steps": steps,
        "verdict": _verdict(name, steps),
    }


def _step(stage: str, label: str, text: str, **facts: Any) -> Step:
    empty = {"score": None, "threshold": None, "pvalue": None, "limit": None, "passed": None, "ran": True}
    return {"stage": stage, "label": label, **empty, **facts, "text": text}


def _scored(score: float, threshold: float) -> str:
    """Return a score and what is needed."""
    needed = _possible(threshold)
    if not math.isfinite(score):
        shown = "more than can be counted" if score > 0 else "nothing"
        return shown if needed is None else f"{shown}; {needed:.1f} bits are needed"
    digits = distinguishing_decimals(score, needed)
    return f"{score:.{digits}f} bits" + ("" if needed is None else f"; {needed:.{digits}f} are needed")


def _pvalue(value: float) -> str:
    return f"{value:.2g}" if value else "below 1e-300"


def _finite(score: float) -> float | None:
    return float(score) if math.isfinite(score) else None


def _possible(threshold: float) -> float | None:
    """Return a threshold that some score may have, else None."""
    return float(threshold) if abs(threshold) < ALL_SCORES else None


def _counted(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _unless(came: bool) -> str:
    return "" if came else "The search does not come to it. "


def _steps_of_hmmer3(search: Hmmer3Search, row: int, session: Session) -> list[Step]:
    database = search.targets.database
    codes = database.residues(row)
    if row in search.targets.left_out.rows or not len(codes):
        why = "It has no residues."
        if len(codes):
            why = f"HMMER3 searches no sequence longer than {LONGEST:,} residues, nor one with characters it refuses."
        return [_step("all", STAGES["all"], why, passed=False)]
    found = FILTERS.passage(codes, search.model)
    null = float(length_terms(np.array([len(codes)])).null[0])
    steps = _filter_steps(search, found, null)
    if not math.isfinite(found.forward):
        return steps
    domains = define_domains(session, database.select(np.array([row], np.int64)), search.profile, search.seed)()[0]
    came = all(step["passed"] for step in steps if step["ran"])
    n = len(domains.envelopes)
    text = f"{domains.expected:.1f} domains are expected and {n} found, in {_counted(domains.n_regions, 'region')}."
    steps.append(_step("domains", "Domains", _unless(came) + text, passed=n > 0, ran=came))
    if not n:
        return steps
    relaxed = replace(search, thresholds=replace(search.thresholds, evalue=NO_LIMIT, score=None))
    filters = FilterScores(0.0, None, None, None)
    (hit,) = relaxed.hits(Candidates(np.array([row]), [domains], np.array([null], np.float32), [filters], [0]))
    return [*steps, _report_step(search, hit, came)]


def _filter_steps(search: Hmmer3Search, found: Passage, null: float) -> list[Step]:
    settings, limits = search.profile.settings, search.model.limits
    assert settings.msv is not None
    assert settings.viterbi is not None
    assert settings.forward is not None
    judged = (
        ("msv", found.msv, null, settings.msv, limits.f1),
        ("bias", found.msv, found.bias, settings.msv, limits.f1),
        ("viterbi", found.viterbi, found.bias, settings.viterbi, limits.f2),
        ("forward", found.forward, found.bias, settings.forward, limits.f3),
    )
    steps: list[Step] = []
    came, is_sure = True, False
    for stage, score, against, calibration, limit in judged:
        used = (stage != "bias" or limits.bias) and not (stage == "viterbi" and is_sure)
        step = _filter_step(stage, score, against, calibration, limit) | {"ran": came and used}
        if not used:
            why = "its P-value so far is low enough already" if limits.f2 < 1.0 and stage == "viterbi" else "left out"
            step["text"] = f"Not run in the search ({why}). {step['text']}"
        elif not came:
            step["text"] = _unless(came) + step["text"]
        steps.append(step)
        came = came and (step["passed"] or not used)
        is_sure = stage == "bias" and step["pvalue"] <= limits.f2
    return steps


def _filter_step(stage: str, score: float, against: float, calibration: Calibration, limit: float) -> Step:
    difference = np.float32(score) - np.float32(against)
    value = float(difference) / LN_2
    found = pvalue(difference, calibration)
    inverse = hmmer3_gumbel_score if calibration.kind == "gumbel" else hmmer3_tail_score
    threshold = inverse(limit, calibration)
    known = "" if value == math.inf else f"P-value {_pvalue(found)}, "  # a full counter has none
    text = f"It scores {_scored(value, threshold)} ({known}limit {limit:g})."
    return _step(
        stage, STAGES[stage], text, score=_finite(value),
        threshold=_possible(threshold), pvalue=found, limit=limit, passed=found <= limit,
    )  # fmt: skip


def _report_step(search: Hmmer3Search, hit: Hit, came: bool) -> Step:
    limits = search.thresholds
    log_pvalue = hit.log_pvalue or 0.0
    text = f"After {hit.bias:.1f} bits for biased composition its score is {_scored(hit.score, limits.report_score)}"
    text += f" (E-value {hit.evalue:.2g})."
    by_evalue = limits.score is None
    return _step(
        "reported", STAGES["reported"], _unless(came) + text, score=hit.score, threshold=_possible(limits.report_score),
        pvalue=hmmer3_evalue(log_pvalue, 1.0), limit=_finite(limits.pvalue(limits.evalue)) if by_evalue else None,
        passed=limits.reports(hit.score, hmmer3_evalue(log_pvalue, limits.n_targets)), ran=came,
    )  # fmt: skip


def _steps_of_hmmer2(search: Hmmer2Search, row: int, session: Session) -> list[Step]:
    limits = search.thresholds
    scored = search.start_scoring(session, search.database.select(np.array([row], np.int64)))()
    raw = int(scored.scores.values[0])
    if raw == IMPOSSIBLE:
        return [
            _step("all", STAGES["all"], "It has no residues, or the profile cannot be aligned to it.", passed=False)
        ]
    score = bits(raw)
    passed = len(search.candidates(scored.scores)) > 0
    text = f"The best alignment scores {_scored(float(score), limits.report_score)}."
    value = limits.pvalue(score)
    least = _possible(limits.report_score)
    steps = [
        _step("viterbi", "Viterbi score", text, score=float(score), threshold=least, pvalue=value,
              limit=limits.evalue / limits.n_targets if limits.evalue != NO_LIMIT and limits.n_targets else None,
              passed=passed)
    ]  # fmt: skip
    relaxed = replace(limits, evalue=NO_LIMIT, score=-NO_LIMIT, domain_evalue=NO_LIMIT, domain_score=-NO_LIMIT)
    hits = replace(search, thresholds=relaxed, judged_among=1.0).start_hits(session, scored)()
    if not hits:
        return steps
    corrected, evalue = np.float32(hits[0].score), hits[0].evalue
    text = f"Corrected for composition, the score of {_counted(hits[0].n_domains, 'domain')} is"
    text += f" {_scored(float(corrected), limits.report_score)} (E-value {evalue:.2g})."
    is_hit = bool(corrected >= limits.score and evalue <= limits.evalue)
    steps.append(
        _step("reported", STAGES["reported"], text, score=hits[0].score, threshold=_possible(limits.report_score),
              pvalue=limits.pvalue(corrected), passed=is_hit, ran=passed)
    )  # fmt: skip
    return steps


def _verdict(name: str, steps: list[Step]) -> str:
    stopped = next((step for step in steps if step["ran"] and step["passed"] is False), None)
    if stopped is None:
        return f"{name} is reported."
    if stopped["stage"] == "all":
        return f"{name} is not searched. {stopped['text']}"
    if stopped["stage"] == "reported":
        return f"{name} passes all filters, but is not reported: {stopped['text'][0].lower()}{stopped['text'][1:]}"
    return f"{name} is missed, because it does not pass this step: {in_sentence(stopped['label'])}."
