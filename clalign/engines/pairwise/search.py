"""The pairwise search job: sequences against a database of sequences, batch after batch into a run file.

A run file of it differs from one of profiles in this:

* The fact ``direction`` is ``pairwise``, ``scoring`` holds matrix and gap costs as they were used, ``queries`` the
  report of the query file, beside ``database``.
* What profiles are there, queries are here; a query's number is its place among those of its file that have residues
  (of given pairs, among all). Its card has ``strands``,
  ``statistics`` (or None), ``statistics_words``, ``fitted`` and ``curve``, written when they are known, and
  ``is_adjusted`` where E-values are adjusted to the composition of each pair.
* Scores, and the histogram, are in units of the matrix, bins 1 wide (``histogram_bin``, ``histogram_unit``). On two
  strands the better score counts.
* A hit is a target with one alignment, or with one of each strand, as its domains (`clalign.values.hits.PairFacts`).
  Its score is in bits if there are statistics; otherwise it is the raw score, and the E-value is not a number.

Where statistics are known before, hits are found batch by batch; where they are fitted to the scores of the run, or
where there are none, at the end of each query. In the end the first `top` of each query are left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from clalign.compute.batching import BatchCutter, fits, residue_limit, typical_length
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.packed import VERSION as PACKING
from clalign.engines.pairwise.inputs import STRANDS, PairwiseInputs, cautions, load_inputs
from clalign.engines.pairwise.lists import align_pairs
from clalign.engines.pairwise.query import (
    QuerySearch,
    card_of_query,
    card_with,
    prepare_query,
    refuse_unknown_statistics,
    statistics_at_end,
)
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.profile_search import (
    CHANGED_TEXT,
    FIRST_RATE,
    REFERENCE_RATE,
    facts_of_pace,
    in_run,
    versions,
    warn,
)
from clalign.execution.pipeline import Pace, Pipeline
from clalign.jobs import JobContext, QuietContext
from clalign.runs.run_file import RunFile, create_run
from clalign.values.devices import Device

CARDS_AT_ONCE = 64
"""So many cards of queries are made before a job is asked whether to go on."""

PAIR_SPEED = 4
"""Smith-Waterman is at least so many times as fast as Viterbi, by whose rate devices are known."""

GPU_PATIENCE = 2.5
"""Batches of a GPU may take so many times longer: the longest targets, which come first, keep few of its units busy,
and with many others beside them that costs least.
"""

GPU_REMEMBERED = 0.5
"""The first batches of a GPU, which hold the longest targets, say little of the rate of others."""


def pairwise_search(
    queries: str | Path, targets: str | Path, run: str | Path, context: JobContext | None = None, **options: Any
) -> RunFile:
    """Search sequences against sequences in this process and return the open run file.

    Parameters
    ----------
    queries, targets : str or Path
        Sequence files.
    run : str or Path
        The run file to make; it must not exist.
    context : JobContext, optional
        Told of the progress, and asked whether to stop.
    **options
        Fields of `clalign.engines.pairwise.spec.PairwiseSpec`, such as ``matrix="BLOSUM45"``, ``mode="global"`` or
        ``device="gpu"``.

    Raises
    ------
    ClalignError
        What the user can act on.
    """
    from clalign.compute.opencl.choice import pick_device

    spec = PairwiseSpec(queries=str(queries), targets=str(targets), **options)
    file = create_run(Path(run), spec=spec.to_dict(), direction=spec.direction, state="new")
    try:
        run_pairwise(file, spec, pick_device, context or QuietContext())
    except BaseException:
        file.close()
        raise
    return file


def run_pairwise(
    run: RunFile, spec: PairwiseSpec, pick_device: Callable[[str], Device], context: JobContext
) -> dict[str, Any]:
    """Search, or go on with a search, until everything is in the run file; see `profile_search.run_search`."""
    started = time.monotonic()
    return in_run(run, lambda: _search(run, spec, pick_device, context, started))


def _search(
    run: RunFile, spec: PairwiseSpec, pick_device: Callable[[str], Device], context: JobContext, started: float
) -> dict[str, Any]:
    with opening_of(lambda: pick_device(spec.device), context) as opening:
        inputs = load_inputs(run, spec, context)
        if run.fact("scoring") is None:  # a begun run has its statistics
            refuse_unknown_statistics(inputs, spec)

        def tell_cautions(device: Device) -> None:
            _tell_cautions(run, inputs, device, context)

        tell_once = cache(tell_cautions)

        def work(session: Session) -> dict[str, Any]:
            _store_inputs(run, spec, inputs, session.device, context)
            tell_once(session.device)
            pace = (align_pairs if spec.is_pairs else _compute)(run, spec, inputs, session, context)
            seconds = {name: round(seconds, 6) for name, seconds in session.seconds_by_kernel.items()}
            return {**facts_of_pace(pace), "kernel_seconds": seconds, "device": session.device.name}

        summary = opening.work(work, context.check, partial(warn, run, context))
    in_16_bits, in_32_bits = run.n_wider()
    return {
        "run": str(run.path),
        "n_hits": run.n_hits(),
        "n_queries": len(inputs.query_rows),
        "n_sequences": len(inputs.targets),
        "n_residues": inputs.targets.n_residues,
        "seconds": time.monotonic() - started,
        **summary,
        "domain_device": None,
        "n_in_16_bits": in_16_bits,
        "n_in_32_bits": in_32_bits,
    }


def _store_inputs(
    run: RunFile, spec: PairwiseSpec, inputs: PairwiseInputs, device: Device, context: JobContext
) -> None:
    def card(number: int) -> dict[str, Any]:
        if number % CARDS_AT_ONCE == 0:
            context.check()
        return card_of_query(inputs, number, spec)

    if run.fact("scoring") is None:
        run.set_profiles(map(card, range(len(inputs.query_rows))))
    run.set_facts(
        spec=spec.to_dict(),
        direction=spec.direction,
        scoring=inputs.chosen.to_dict(),
        database=inputs.target_report.to_dict(),
        queries=inputs.query_report.to_dict(),
        strands=[STRANDS[strand] for strand in inputs.strands],
        device=device.to_dict(),
        n_targets=len(inputs.targets),
        packing=PACKING,
        versions=versions(),
    )


def _tell_cautions(run: RunFile, inputs: PairwiseInputs, device: Device, context: JobContext) -> None:
    texts = [CHANGED_TEXT] if run.fact("seen_digest") not in (None, inputs.target_report.digest) else []
    texts += cautions(inputs)
    if device.kind == "reference":
        texts.append("Running on the NumPy reference, which is slow and meant for checking.")
    for text in texts:
        warn(run, context, text)


def _compute(run: RunFile, spec: PairwiseSpec, inputs: PairwiseInputs, session: Session, context: JobContext) -> Pace:
    """Compute what the run lacks; return what became known of the speed."""
    device, database, n = session.device, inputs.targets, len(inputs.query_rows)
    lengths = [inputs.queries.length(int(row)) * len(inputs.strands) for row in inputs.query_rows]
    rate = PAIR_SPEED * device.gcups * 1e9 or (REFERENCE_RATE if device.kind == "reference" else FIRST_RATE)
    total = float(database.n_residues) * sum(lengths)
    of_gpu = {"patience": GPU_PATIENCE, "remembered": GPU_REMEMBERED} if device.kind == "gpu" else {}
    pace = Pace(rate, residue_limit(device), max(1, typical_length(lengths)), total, *run.work_done(), **of_gpu)

    def search_of(number: int) -> QuerySearch:
        return prepare_query(run, inputs, number, spec)

    def ended(number: int, search: QuerySearch, tracer: Session) -> None:
        statistics, fitted = statistics_at_end(run, inputs, search, number)
        search.statistics = statistics
        if search.finds_early:
            run.keep_best(number, spec.top)
        else:
            run.set_hits(number, search.best_hits(run, number, tracer))
        run.set_card(number, card_with(run.card(number), inputs, search, statistics, fitted))

    # The longest first: if several devices share them, none is left alone with it in the end.
    numbers = sorted(range(n), key=lambda number: -lengths[number])
    cutter = BatchCutter(database, pace.residues, keep=n > 1 and fits(database, device))
    Pipeline(run, search_of, numbers, cutter, session, pace, context, ended).compute()
    return pace
