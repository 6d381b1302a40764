"""The search job: profiles against a database on a device, batch after batch into a run file."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import clalign
from clalign.compute.batching import BatchCutter, fits, residue_limit, typical_length
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.loading import load_database
from clalign.databases.packed import VERSION as PACKING
from clalign.databases.profile_library import load_library
from clalign.databases.reports import InputReport
from clalign.engines.plan7.alphabet_guesses import TRANSLATE, Guess, objection, taken_for
from clalign.engines.plan7.domain_host import DomainHost
from clalign.engines.plan7.hmmer3_thresholds import filter_limits
from clalign.engines.plan7.preparing import card_of_search, has_composition, prepare_search
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.targets import Targets, targets_of
from clalign.errors import ClalignError, InputError, RunBusy
from clalign.execution.pipeline import Pace, Pipeline
from clalign.execution.protocol import ProfileSearch
from clalign.formats.profiles import repeated_names
from clalign.jobs import JobContext, QuietContext
from clalign.runs.inputs import at_hand, check_counted
from clalign.runs.run_file import RunFile, create_run
from clalign.values.devices import Device
from clalign.values.profiles import Hmm
from clalign.values.sequences import SequenceDatabase

FIRST_RATE = 2e8
"""Cells a second that the first batch is sized for if the device was never measured."""

NO_RESIDUES = "None of its records has residues, so there was nothing to search."

CHANGED_TEXT = "The sequence file has changed since it was opened; what it holds now is searched."

REFERENCE_RATE = 2e6
"""The same for the reference."""


def hmmsearch(
    profiles: str | Path,
    targets: str | Path,
    run: str | Path,
    context: JobContext | None = None,
    **options: Any,
) -> RunFile:
    """Search profiles against sequences in this process and return the open run file.

    A HMMER2 profile gives the hits of hmmsearch 2.3.2, a HMMER3 profile those of hmmsearch 3.3.2. The run file
    yields them (`RunFile.hits`), the scores of all targets, and for HMMER3 what passed each filter
    (`RunFile.funnel`, `RunFile.survivors`).

    Parameters
    ----------
    profiles, targets : str or Path
        Files; the profiles may be a library that mixes both formats.
    run : str or Path
        The run file to make; it must not exist.
    context : JobContext, optional
        Told of the progress, and asked whether to stop.
    **options
        Fields of `clalign.engines.plan7.spec.SearchSpec`, such as ``evalue=1e-5``, ``device="gpu"``,
        ``direction="scan"``, ``cutoff="ga"`` or ``without_filters=True``.

    Raises
    ------
    ClalignError
        What the user can act on.
    """
    from clalign.compute.opencl.choice import pick_device

    spec = SearchSpec(profiles=str(profiles), targets=str(targets), **options)
    file = create_run(Path(run), spec=spec.to_dict(), state="new")
    try:
        run_search(file, spec, pick_device, context or QuietContext())
    except BaseException:
        file.close()
        raise
    return file


def run_search(
    run: RunFile, spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext
) -> dict[str, Any]:
    """Search, or go on with a search, until everything is in the run file.

    Parameters
    ----------
    run : RunFile
        New, or left by an earlier worker; finished batches are not computed again.
    spec : SearchSpec
    pick_device : callable
        Returns the device for the user's words.
    context : JobContext
        Told of the progress, and asked whether to stop.

    Returns
    -------
    dict
        The summary that the job ends with (``n_hits``, ``n_sequences``, ``cells``, ``seconds`` ...).

    Raises
    ------
    ClalignError
        What the user can act on; the state of the run is then ``failed``.
    Cancelled
        The state is then ``stopped``, and what is finished stays.
    """
    started = time.monotonic()
    return in_run(run, lambda: _search(run, spec, pick_device, context, started))


def in_run(run: RunFile, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do the work of a run as its only worker, keep in it what becomes of it, and return the summary."""
    try:
        with run.owned():
            return _run_owned(run, work)
    except RunBusy:
        raise  # its state is the other worker's business
    except ClalignError as error:
        run.set_facts(state="failed", error={"message": error.message, "hint": error.hint})
        raise


def _run_owned(run: RunFile, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    run.set_facts(state="running", error=None)
    try:
        summary = work()
    except ClalignError:
        raise
    except BaseException:
        # Cancelled, or nobody listens any more, or a fault: what is finished can be continued.
        run.set_facts(state="stopped")
        raise
    run.set_facts(state="done", finished=summary)
    run.seal()
    return summary


def _search(
    run: RunFile, spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext, started: float
) -> dict[str, Any]:
    is_begun = run.fact("database") is not None
    files = at_hand(run, spec, context) if is_begun else spec
    with opening_of(lambda: pick_device(spec.device), context) as opening:
        profiles, digest = load_library(files.profiles, context.check)
        database, report = load_database(
            files.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
        )
        if is_begun:
            check_unchanged(run, files, report, digest)
        database, report, texts = of_the_profiles_kind(spec, profiles, database, report, is_begun)
        targets = targets_of(spec, database, profiles, report)

        def tell_cautions(device: Device) -> None:
            told = [*texts, *_cautions(spec, profiles, device), *targets.left_out.texts]
            _tell_cautions(run, report, told, context)

        tell_once = cache(tell_cautions)

        def work(session: Session) -> dict[str, Any]:
            has_envelopes = any(hmm.origin == "hmmer3" for hmm in profiles)
            with DomainHost(session, pick_device, context.check, has_envelopes) as host:
                _store_inputs(run, spec, report, profiles, digest, targets, session.device)
                tell_once(session.device)
                pace = _compute(run, spec, profiles, targets, session, host, context)
                seconds = {**_rounded(session.seconds_by_kernel), **_rounded(host.seconds_by_kernel())}
            return {
                **facts_of_pace(pace),
                "kernel_seconds": seconds,
                "device": session.device.name,
                "domain_device": None if host.device is None else host.device.name,
            }

        summary = opening.work(work, context.check, partial(warn, run, context))
    return {
        "run": str(run.path),
        "n_hits": run.n_hits(),
        "n_sequences": len(database),
        "n_residues": database.n_residues,
        "seconds": time.monotonic() - started,
        **summary,
    }


def facts_of_pace(pace: Pace) -> dict[str, float]:
    """Return what the summary of a search says of its speed."""
    return {"cells": pace.done_cells, "device_seconds": pace.device_seconds, "gcups": pace.gcups}


def warn(run: RunFile, context: JobContext, text: str) -> None:
    """Tell something the user must know, and keep it with the run."""
    run.add_message("warning", text)
    context.warn(text)


def _rounded(seconds: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 6) for name, value in seconds.items()}


def _compute(
    run: RunFile,
    spec: SearchSpec,
    profiles: list[Hmm],
    targets: Targets,
    session: Session,
    host: DomainHost,
    context: JobContext,
) -> Pace:
    """Compute what the run lacks; return what became known of the speed."""
    device, database = session.device, targets.database
    lengths = [hmm.length for hmm in profiles]
    rate = device.gcups * 1e9 or (REFERENCE_RATE if device.kind == "reference" else FIRST_RATE)
    pace = Pace(
        rate, residue_limit(device), typical_length(lengths), float(database.n_residues) * sum(lengths),
        *run.work_done(),
    )  # fmt: skip

    def search_of(number: int) -> ProfileSearch:
        return prepare_search(profiles[number], number, spec, targets, host)

    cutter = BatchCutter(database, pace.residues, keep=len(profiles) > 1 and fits(database, device))
    Pipeline(run, search_of, range(len(profiles)), cutter, session, pace, context).compute()
    return pace


def check_unchanged(run: RunFile, spec: SearchSpec, report: InputReport, profiles_digest: str) -> None:
    """Refuse to go on with other input than the run began with.

    Parameters
    ----------
    run : RunFile
    spec : SearchSpec
    report : InputReport
        Of the sequences.
    profiles_digest : str
        SHA-256 of the profiles that were read (`load_library`).

    Raises
    ------
    InputError
        If a file has changed, or if the run has not come so far as to read them.
    """
    before = run.fact("database")
    hint = "Put the old file back, or start a new search."
    if before is None:
        raise InputError(run.path, "this run has no results; its input could not be read.", "Search again.")
    if before["digest"] != report.digest:
        raise InputError(spec.targets, "the sequences have changed since this run began.", hint)
    check_counted(run, "database", report)
    if run.fact("profiles_digest") != profiles_digest:
        raise InputError(spec.profiles, "the profiles have changed since this run began.", hint)


def _store_inputs(
    run: RunFile,
    spec: SearchSpec,
    report: InputReport,
    profiles: list[Hmm],
    profiles_digest: str,
    targets: Targets,
    device: Device,
) -> None:
    cards = [card_of_search(hmm, spec, targets) for hmm in profiles]
    run.set_profiles(cards)
    run.set_facts(
        spec=spec.to_dict(),
        direction=spec.direction,
        database=report.to_dict(),
        profiles_digest=profiles_digest,
        device=device.to_dict(),
        n_targets=cards[0]["n_targets"],
        packing=PACKING,
        versions=versions(),
    )


def versions() -> dict[str, str]:
    """Return the versions of the program and of what it computes with."""
    found = {"clalign": clalign.__version__, "python": platform.python_version(), "platform": sys.platform}
    for package, name in (("numpy", "__version__"), ("pyopencl", "VERSION_TEXT")):
        if package in sys.modules:  # reading it from the installed files takes as long as all of the start
            found[package] = str(getattr(sys.modules[package], name))
    return found


def of_the_profiles_kind(
    spec: SearchSpec, profiles: list[Hmm], database: SequenceDatabase, report: InputReport, is_begun: bool = False
) -> tuple[SequenceDatabase, InputReport, list[str]]:
    """Return sequences as they are searched with profiles, and what the user should know of that.

    A search that has begun nevertheless, as older versions did, goes on.

    Raises
    ------
    InputError
        If the profiles are for proteins and the sequences look like nucleic acids, or the other way round.
    """
    found = objection([(hmm.name, hmm.alphabet) for hmm in profiles], Guess.of(report), spec.targets)
    if found is None:
        return database, report, []
    if found.blocks and not is_begun:
        kind = profiles[0].alphabet.name
        hint = f"{TRANSLATE} say with --alphabet {kind} what the sequences are."
        raise InputError(spec.profiles, f"{found.text[0].lower()}{found.text[1:]}", hint)
    if found.taken.alphabet != database.alphabet:
        database, report = taken_for(found.taken, database, report)
    return database, report, [f"{found.text} If that is wrong, say with --alphabet what the sequences are."]


def _tell_cautions(run: RunFile, report: InputReport, texts: list[str], context: JobContext) -> None:
    changed = run.fact("seen_digest") not in (None, report.digest)
    none = [f"{report.path}: {NO_RESIDUES}"] if not report.n_residues else []
    for text in [*[CHANGED_TEXT] * changed, *none, *texts]:
        warn(run, context, text)


def _cautions(spec: SearchSpec, profiles: list[Hmm], device: Device) -> list[str]:
    texts = []
    repeated = repeated_names(profiles)
    if repeated:
        texts.append(f"Several profiles have the same name: {', '.join(repeated[:3])}. Their results are kept apart.")
    uncalibrated = [hmm.name for hmm in profiles if hmm.origin == "hmmer2" and not hmm.is_calibrated]
    if uncalibrated:
        texts.append(f"No calibration in {_listed(uncalibrated)}: the E-values are only upper bounds.")
    without = [hmm.name for hmm in profiles if not has_composition(hmm)]
    if without and filter_limits(spec).bias:
        words = (
            "it is computed for the bias filter, where HMMER3 would do without, so other sequences may pass than there."
            if spec.compute_composition
            else "the bias filter does without, as HMMER3 does, and filters next to nothing. To have it computed:"
            " --compute_compo."
        )
        texts.append(f"No composition (COMPO) in {_listed(without)}: {words}")
    if device.kind == "reference":
        texts.append("Running on the NumPy reference, which is slow and meant for checking.")
    return texts


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
