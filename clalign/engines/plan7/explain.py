"""Why a target was found, or missed: one sequence through every step of a search, with scores and thresholds."""

from __future__ import annotations

from collections.abc import Callable

from clalign.compute.opening import opening_of
from clalign.databases.loading import load_database
from clalign.engines.plan7.hmmer3.funnel import in_sentence
from clalign.engines.plan7.inputs import load_queries, targets_of, with_later_rounds
from clalign.engines.plan7.profile_search import check_unchanged, prepare_search, with_alphabet_of_profiles
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.steps import Step
from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.runs.inputs import at_hand
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device
from clalign.values.documents import Explanation


def explain_run(
    run: RunFile, profile: int, target: int | str, pick_device: Callable[[str], Device], context: JobContext
) -> Explanation:
    """Return how a target, a database row or a name, fares in a run; see `explain`."""
    return explain(run.spec(SearchSpec), profile, target, pick_device, context, run)


def explain(
    spec: SearchSpec,
    profile: int,
    target: int | str,
    pick_device: Callable[[str], Device],
    context: JobContext,
    run: RunFile | None = None,
) -> Explanation:
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
    profiles, digest = load_queries(spec, pick_device, context)
    if run is not None:
        check_unchanged(run, spec, report, digest)
        profiles = with_later_rounds(run, spec, profiles, context)
    if not 0 <= profile < len(profiles):
        raise OptionError(f"There is no profile {profile + 1}.", f"The file has {len(profiles)}.")
    database, report, texts = with_alphabet_of_profiles(spec, profiles, database, report)
    for text in texts:
        context.warn(text)
    row = database.row_named(target, context.warn) if isinstance(target, str) else target
    targets = targets_of(spec, database, profiles, report)
    search = prepare_search(profiles[profile], profile, spec, targets)

    with opening_of(lambda: pick_device(spec.device), context) as opening:
        steps = opening.work(lambda session: search.steps_of(session, row), context.check, context.warn)
    name = database.header(row)[0]
    taken, dropped = (run.card(profile).get(key) or () for key in ("taken", "dropped")) if run is not None else ((), ())
    chosen = " The user took it into the next round." if row in taken else ""
    chosen = " The user dropped it from the next round." if row in dropped else chosen
    return {
        "profile": profiles[profile].name,
        "target": name,
        "length": database.length(row),
        "steps": steps,
        "verdict": _verdict(name, steps) + chosen,
    }


def _verdict(name: str, steps: list[Step]) -> str:
    stopped = next((step for step in steps if step["ran"] and step["passed"] is False), None)
    if stopped is None:
        return f"{name} is {'significant' if steps[-1]['significant'] else 'reported, but not significant'}."
    if stopped["stage"] == "all":
        return f"{name} is not searched. {stopped['text']}"
    if stopped["stage"] == "reported":
        return f"{name} passes all filters, but is not reported: {stopped['text'][0].lower()}{stopped['text'][1:]}"
    return f"{name} is missed, because it does not pass this step: {in_sentence(stopped['label'])}."
