"""When a device copies and computes the two halves of 004's overlapped copies, by its own clock (figures 6.9, 8.4)."""

from __future__ import annotations

from typing import cast

import numpy as np
from msgspec.structs import replace

from clalign import tracing
from clalign.compute.opening import open_session
from clalign.compute.sessions import KernelSession
from clalign.jobs import JobContext
from clalign.labs import ladder_data as data
from clalign.labs.ladder import measurable_device
from clalign.labs.repeating import Found, Request, Table
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_ladder import BASIC, ViterbiLadderStage
from clalign.values.profiles import IntegerProfile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_codes
from clalign.values.text_columns import Row

WAYS = {"without overlap": BASIC, "with overlap": replace(BASIC, copies="overlapped")}

SIZES = {"small": (64, 12), "cpu": (512, 60), "gpu": (20_000, 60), "accelerator": (2000, 60)}
"""Sequences and nodes, by the kind of device."""

COMMANDS = ("copying", "kernels")
"""Categories of a trace that are commands of a device."""


def overlap_found(request: Request, context: JobContext) -> Found:
    """Return the commands of a run without and with overlapped copies, each with its begin and end."""
    device = measurable_device(request.device)
    n, nodes = SIZES["small" if request.is_small else device.kind]
    model, rng = data.ladder_model(None, nodes, request.seed), np.random.default_rng(request.seed)
    lengths = data.published_lengths(rng, n)
    batch = SequenceBatch.of_lengths(random_codes(rng, int(lengths.sum())), lengths)
    tables, wrong = dict[str, Table](), []
    for place, (way, choices) in enumerate(WAYS.items()):
        context.progress("lab", place, len(WAYS), "ways", now=way)
        under_way = tracing.recorded()  # of the whole job, if the user asked for one
        recording = under_way or tracing.begin("laboratory")
        try:
            with open_session(device, context.check) as opened:
                session = cast("KernelSession", opened)
                tables[way], is_right = _lines(
                    session, ViterbiLadderStage(choices.within(device)), batch, model, recording
                )
        finally:
            if under_way is None:
                tracing.end()
        wrong += [] if is_right else [f"scores {way}"]
    return Found(tables, f"{device.name}, {n:,} sequences, {nodes} nodes; the second run.", tuple(wrong))


def _lines(
    session: KernelSession, stage: ViterbiLadderStage, batch: SequenceBatch, model: IntegerProfile,
    recording: tracing.Recording,
) -> tuple[Table, bool]:  # fmt: skip
    """Return the commands of a run after one that built the kernels, and whether its scores are right."""
    expected = session.run(VITERBI, batch, model).values
    session.run(stage, batch, model)
    since = tracing.now()
    # Another object with the same sequences, so that they are copied once more.
    is_right = bool(np.array_equal(session.run(stage, replace(batch), model).values, expected))
    session.finish()
    found = [
        (one, track.name)
        for track, spans in recording.tracks().items()
        for one in spans
        if one.category in COMMANDS and one.begin >= since
    ]
    first, table, n_of = min((one.begin for one, _ in found), default=0), Table(), dict[str, int]()
    for one, queue in sorted(found, key=lambda of: of[0].begin):
        name = "kernel" if one.category == "kernels" else one.name
        n_of[name] = number = n_of.get(name, 0) + 1
        row: Row = {"begins": (one.begin - first) / 1e6, "ends": (one.end - first) / 1e6}
        table[f"{name} {number}, {queue}"] = row
    return table, is_right
