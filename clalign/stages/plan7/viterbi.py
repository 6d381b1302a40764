"""Plan7 Viterbi scores with HMMER2's integers, on any device."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.stages.plan7.viterbi_shapes import can_strip, start_item, start_lanes, start_vector, strips_pay
from clalign.values.hits import Scores
from clalign.values.profiles import IntegerProfile
from clalign.values.sequences import SequenceBatch


class ViterbiStage(Stage[SequenceBatch, IntegerProfile, Scores]):
    """The Viterbi score of every sequence of a batch; exact on every device.

    By default its shape is what suits the device, the model and the batch. ``item`` falls back to ``lanes`` for the
    few models that it cannot serve.
    """

    name = "viterbi"

    def reference(self, batch: SequenceBatch, model: IntegerProfile, check: Check = no_check) -> Scores:
        from clalign.reference.viterbi import viterbi_score

        offsets = batch.offsets
        values = [viterbi_score(batch.codes[a:b], model, check) for a, b in itertools.pairwise(offsets)]
        return Scores(batch.targets, np.array(values, np.int32))

    def start(self, session: KernelSession, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Scores]:
        if len(batch) == 0:
            return lambda: Scores(batch.targets, np.empty(0, np.int32))
        shape = self.shape_for(session, batch, model)
        launch = {"item": start_item, "lanes": start_lanes, "vector": start_vector}[shape]
        choices = self.defines if shape == (self.shape or shape) else {}  # meant for the shape that was asked for
        collect = launch(session, batch, model, choices)
        return lambda: Scores(batch.targets, collect())

    def shape_for(self, session: KernelSession, batch: SequenceBatch, model: IntegerProfile) -> str:
        """Return the shape that this stage takes for a batch and a model on a session."""
        if self.shape == "item" and not can_strip(session, model):
            return "lanes"
        if self.shape:
            return self.shape
        if session.device.kind == "cpu":
            return "vector"
        return "item" if strips_pay(session, batch, model) else "lanes"


VITERBI = ViterbiStage()
