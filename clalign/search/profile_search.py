"""The search job: profiles against a database on a device, batch after batch into a run file."""

from __future__ import annotations

import hashlib
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import clalign
from clalign.batching import BATCH_SECONDS, MIN_CELLS, batch_end, gaps, residue_limit
from clalign.devices import Device
from clalign.errors import ClalignError, InputError, OptionError, OutOfDeviceMemory, RunBusy
from clalign.evalues import bits
from clalign.formats.databases import load_database
from clalign.formats.packed import VERSION as PACKING
from clalign.formats.profiles import profile_card, read_profiles, repeated_names
from clalign.formats.reports import InputReport
from clalign.hits import Scores
from clalign.jobs import JobContext, QuietContext
from clalign.profiles import IMPOSSIBLE, Hmm
from clalign.runs import BatchResult, RunFile, create_run
from clalign.search.hmmer2_search import Hmmer2Search, Thresholds, empty_inputs, prepare_search, thresholds_for
from clalign.sequences import SequenceDatabase
from clalign.sessions import Session, open_session
from clalign.specs import SearchSpec
from clalign.stages.viterbi import VITERBI

RELEASE_RESIDUES = 2**26
"""From this size on the pages of a database are given back while it is read."""

FIRST_RATE = 2e8
"""Cells a second that the first batch is sized for if the device was never measured."""

CHANGED_TEXT = "The sequence file has changed since it was opened; what it holds now is searched."

REFERENCE_RATE = 2e6
"""The same for the reference."""


@dataclass
class _Pace:
    """What is known of a running search: the measured rate and how much is done."""

    rate: float
    residue_limit: int
    total_cells: float
    done_cells: float = 0.0
    device_seconds: float = 0.0

    def residues(self, model_length: int) -> int:
        cells = max(self.rate * BATCH_SECONDS, MIN_CELLS)
        return max(1, min(int(cells / model_length), self.residue_limit))

    def add(self, cells: float, seconds: float) -> None:
        self.done_cells += cells
        self.device_seconds += seconds
        if cells >= MIN_CELLS / 4:
            measured = cells / max(seconds, 1e-6)
            # Never trust one batch with more than a doubling: the first includes compilation.
            self.rate = min(max(measured, self.rate / 2), self.rate * 2)

    @property
    def gcups(self) -> float:
        return self.done_cells / max(self.device_seconds, 1e-9) / 1e9


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
    profiles = _read_profiles(spec, context)
    database, report = load_database(
        spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
    )
    if run.fact("database") is not None:
        check_unchanged(run, spec, report)
    device = pick_device(spec.device)
    limits = [thresholds_for(hmm, spec, database) for hmm in profiles]
    _store_inputs(run, spec, report, profiles, limits, device)
    changed = run.fact("seen_digest") not in (None, report.digest)
    for text in [CHANGED_TEXT] * changed + _cautions(profiles, database, device):
        run.add_message("warning", text)
        context.warn(text)
    done, seconds = run.work_done()
    total = float(database.n_residues) * sum(hmm.length for hmm in profiles)
    first_rate = REFERENCE_RATE if device.kind == "reference" else FIRST_RATE
    pace = _Pace((device.gcups * 1e9) or first_rate, residue_limit(device), total, done, seconds)
    empty = empty_inputs(database)
    with open_session(device, context.check) as session:
        for number, hmm in enumerate(profiles):
            search = prepare_search(hmm, spec, database, empty)
            _search_profile(run, number, search, session, pace, context)
            run.set_best(number, _best_target(run, number, search))
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


def _search_profile(
    run: RunFile, number: int, search: Hmmer2Search, session: Session, pace: _Pace, context: JobContext
) -> None:
    database, m = search.database, search.profile.length
    n_hits = run.n_hits(number)
    for start, end in gaps(run.finished(number), len(database)):
        first = start
        while first < end:
            context.check()
            last = batch_end(database, first, end, pace.residues(m))
            try:
                result = _search_batch(number, search, session, first, last, context)
            except OutOfDeviceMemory:
                if last - first <= 1:
                    raise
                pace.residue_limit = max(1, pace.residues(m) // 2)
                context.warn(f"{session.device.name} has too little free memory; going on with smaller batches.")
                continue
            pace.add(result.cells, result.seconds)
            run.add_batch(result)
            n_hits += len(result.hits)
            if database.n_residues > RELEASE_RESIDUES:
                database.release()
            first = last
            context.progress("search", pace.done_cells, pace.total_cells, "cells", gcups=pace.gcups, profile=number)
            context.partial(profile=number, n_hits=n_hits, n_scored=last)


def _search_batch(
    number: int, search: Hmmer2Search, session: Session, first: int, last: int, context: JobContext
) -> BatchResult:
    batch = search.database.batch(first, last)
    began = time.perf_counter()
    scores = session.run(VITERBI, batch, search.profile)
    seconds = time.perf_counter() - began
    # A sequence without residues has no score; HMMER2 leaves it out.
    scores = Scores(scores.targets, np.where(batch.lengths > 0, scores.values, np.int32(IMPOSSIBLE)))
    hits = search.hits(session, scores, context)
    return BatchResult(
        profile=number,
        first=first,
        last=last,
        scores=scores,
        hits=hits,
        cells=float(batch.n_cells(search.profile.length)),
        seconds=seconds,
        device=session.device.name,
    )


def _best_target(run: RunFile, number: int, search: Hmmer2Search) -> dict[str, Any] | None:
    """Return the target with the highest raw score, for a search that reports nothing."""
    best: tuple[int, int] | None = None
    for first, _, values in run.scores(number):
        row = int(values.argmax())
        if values[row] > IMPOSSIBLE and (best is None or values[row] > best[0]):
            best = int(values[row]), first + row
    if best is None:
        return None
    score = bits(best[0])
    evalue = search.thresholds.pvalue(score) * search.thresholds.n_targets
    return {"name": search.database.header(best[1])[0], "score": float(score), "evalue": evalue}


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
    limits: list[Thresholds],
    device: Device,
) -> None:
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
    for package in ("numpy", "pyopencl", "pocl-binary-distribution"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


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
