"""The search job: profiles against a database on a device, batch after batch into a run file."""

from __future__ import annotations

import hashlib
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import clalign
from clalign.batching import BatchCutter, fits, residue_limit, typical_length
from clalign.devices import Device
from clalign.errors import ClalignError, InputError, OptionError, RunBusy
from clalign.formats.databases import load_database
from clalign.formats.packed import VERSION as PACKING
from clalign.formats.profiles import profile_card, read_profiles, repeated_names
from clalign.formats.reports import InputReport
from clalign.jobs import JobContext, QuietContext
from clalign.profiles import Hmm
from clalign.runs import RunFile, create_run
from clalign.search.hmmer2_search import Hmmer2Search, prepare_search, targets_of, thresholds_for
from clalign.search.opening import Opening
from clalign.search.pipeline import Pace, Pipeline
from clalign.sequences import SequenceDatabase
from clalign.sessions import Session, open_session
from clalign.specs import SearchSpec

FIRST_RATE = 2e8
"""Cells a second that the first batch is sized for if the device was never measured."""

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

    Parameters
    ----------
    profiles, targets : str or Path
        Files.
    run : str or Path
        The run file to make; it must not exist.
    context : JobContext, optional
        Told of the progress, and asked whether to stop.
    **options
        Fields of `clalign.specs.SearchSpec`, such as ``evalue=1e-5`` or ``device="gpu"``.

    Raises
    ------
    ClalignError
        What the user can act on.
    """
    from clalign.opencl.choice import pick_device

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
    try:
        with run.owned():
            return _run_owned(run, spec, pick_device, context, started)
    except RunBusy:
        raise  # its state is the other worker's business
    except ClalignError as error:
        run.set_facts(state="failed", error={"message": error.message, "hint": error.hint})
        raise


def _run_owned(
    run: RunFile, spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext, started: float
) -> dict[str, Any]:
    run.set_facts(state="running", error=None)
    try:
        summary = _search(run, spec, pick_device, context, started)
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
    with Opening(lambda: _opened(spec, pick_device, context)) as opening:
        profiles = _read_profiles(spec, context)
        database, report = load_database(
            spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
        )
        if run.fact("database") is not None:
            check_unchanged(run, spec, report)
        session = opening.result(context.check)
    with session:
        device = session.device
        _store_inputs(run, spec, report, profiles, database, device)
        _tell_cautions(run, report, profiles, database, device, context)
        pace = _compute(run, spec, profiles, database, session, context)
    return {
        "run": str(run.path),
        "n_hits": run.n_hits(),
        "n_sequences": len(database),
        "n_residues": database.n_residues,
        "cells": pace.done_cells,
        "seconds": time.monotonic() - started,
        "device_seconds": pace.device_seconds,
        "gcups": pace.gcups,
        "device": device.name,
    }


def _opened(spec: SearchSpec, pick_device: Callable[[str], Device], context: JobContext) -> Session:
    return open_session(pick_device(spec.device), context.check)


def _compute(
    run: RunFile,
    spec: SearchSpec,
    profiles: list[Hmm],
    database: SequenceDatabase,
    session: Session,
    context: JobContext,
) -> Pace:
    """Compute what the run lacks; return what became known of the speed."""
    device = session.device
    lengths = [hmm.length for hmm in profiles]
    rate = device.gcups * 1e9 or (REFERENCE_RATE if device.kind == "reference" else FIRST_RATE)
    pace = Pace(
        rate, residue_limit(device), typical_length(lengths), float(database.n_residues) * sum(lengths),
        *run.work_done(),
    )  # fmt: skip
    targets = targets_of(spec, database, len(profiles))

    def search_of(number: int) -> Hmmer2Search:
        return prepare_search(profiles[number], number, spec, targets)

    cutter = BatchCutter(database, pace.residues, keep=len(profiles) > 1 and fits(database, device))
    Pipeline(run, search_of, len(profiles), cutter, session, pace, context).compute()
    return pace


def _read_profiles(spec: SearchSpec, context: JobContext) -> list[Hmm]:
    profiles = []
    for hmm in read_profiles(spec.profiles):
        context.check()
        profiles.append(hmm)
    newer = next((hmm for hmm in profiles if hmm.origin == "hmmer3"), None)
    if newer is not None:
        raise OptionError(
            f"{newer.name} in {spec.profiles} is a HMMER3 profile; searching with those is not available yet.",
            "It can be opened and looked at. Search with a HMMER2 profile (HMMER2.0 in its first line).",
        )
    return profiles


def file_digest(path: str) -> str:
    """Return the SHA-256 checksum of a file; empty for standard input."""
    if path == "-":
        return ""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_unchanged(run: RunFile, spec: SearchSpec, report: InputReport) -> None:
    """Refuse to go on with other input than the run began with.

    Raises
    ------
    InputError
        If a file has changed, or if the run has not come so far as to read them.
    """
    before = run.fact("database")
    hint = "Put the old file back, or start a new search."
    if before is None:
        raise InputError(run.path, "this run has no results; its input could not be read.", "Search again.")
    if run.fact("packing") != PACKING:
        raise InputError(run.path, "this run counts sequences as another version of clalign does.", "Search again.")
    if before["digest"] != report.digest:
        raise InputError(spec.targets, "the sequences have changed since this run began.", hint)
    if run.fact("profiles_digest") != file_digest(spec.profiles):
        raise InputError(spec.profiles, "the profiles have changed since this run began.", hint)


def _store_inputs(
    run: RunFile,
    spec: SearchSpec,
    report: InputReport,
    profiles: list[Hmm],
    database: SequenceDatabase,
    device: Device,
) -> None:
    n_targets = targets_of(spec, database, len(profiles)).n
    limits = [thresholds_for(hmm, spec, n_targets) for hmm in profiles]
    cards = [
        {
            **profile_card(hmm),
            "report_score": limit.report_score,
            "include_score": limit.include_score,
            "n_targets": limit.n_targets,
        }
        for hmm, limit in zip(profiles, limits, strict=True)
    ]
    run.set_profiles(cards)
    run.set_facts(
        spec=spec.to_dict(),
        direction=spec.direction,
        database=report.to_dict(),
        profiles_digest=file_digest(spec.profiles),
        device=device.to_dict(),
        n_targets=limits[0].n_targets,
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


def _tell_cautions(
    run: RunFile,
    report: InputReport,
    profiles: list[Hmm],
    database: SequenceDatabase,
    device: Device,
    context: JobContext,
) -> None:
    changed = run.fact("seen_digest") not in (None, report.digest)
    for text in [CHANGED_TEXT] * changed + _cautions(profiles, database, device):
        run.add_message("warning", text)
        context.warn(text)


def _cautions(profiles: list[Hmm], database: SequenceDatabase, device: Device) -> list[str]:
    texts = []
    foreign = [hmm for hmm in profiles if hmm.alphabet.is_nucleic != database.alphabet.is_nucleic]
    if foreign:
        texts.append(
            f"The profile {foreign[0].name} is for {foreign[0].alphabet.label}, but these sequences look like"
            f" {database.alphabet.label}. If that guess is wrong, say so with --alphabet."
        )
    repeated = repeated_names(profiles)
    if repeated:
        texts.append(f"Several profiles have the same name: {', '.join(repeated[:3])}. Their results are kept apart.")
    uncalibrated = [hmm.name for hmm in profiles if not hmm.is_calibrated]
    if uncalibrated:
        names = ", ".join(uncalibrated[:3]) + (" and others" if len(uncalibrated) > 3 else "")
        texts.append(f"No calibration in {names}: the E-values are only upper bounds.")
    if device.kind == "reference":
        texts.append("Running on the NumPy reference, which is slow and meant for checking.")
    return texts
