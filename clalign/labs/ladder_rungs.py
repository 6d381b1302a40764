"""The rungs of the Viterbi ladder: every choice alone, the published combinations, the program's own kernels."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from clalign.labs.ladder import Rung
from clalign.stages.plan7.viterbi import ViterbiStage
from clalign.stages.plan7.viterbi_ladder import BASIC, LadderChoices
from clalign.values.profiles import IntegerProfile
from clalign.values.sequences import SequenceBatch

Group = Literal["alone", "combined", "program"]

PROGRAM_SHAPES = {"lanes": "gpu", "item": "", "vector": "cpu"}
"""The shapes of the program's own kernel, and the only kind of device that one is made for."""


class ViterbiRung(Rung, frozen=True, kw_only=True):
    """One row of the ladder.

    Attributes
    ----------
    group : str
        ``alone``, ``combined`` or ``program``.
    shape : str
        Of the program's own kernel.
    """

    group: Group
    shape: str = ""

    def program_stage(self, session: Any, batch: SequenceBatch, model: IntegerProfile) -> ViterbiStage | str:
        """Return the program's own stage in this shape, or why it cannot be had on a session."""
        kind, stage = PROGRAM_SHAPES[self.shape], ViterbiStage(self.shape)
        if kind and kind != session.device.kind:
            return f"This shape is made for {kind.upper()}s."
        if stage.shape_for(session, batch, model) != self.shape:
            return "This shape cannot serve this model, so the program takes another one."
        return stage


ALONE = {
    "basic": ("all in global memory, as on a processor", BASIC),
    "scheduling": ("independent variables", LadderChoices(scheduling="on")),
    "unroll-2": ("2 nodes a turn of the inner loop", LadderChoices(unroll=2)),
    "unroll-4": ("4 nodes a turn", LadderChoices(unroll=4)),
    "unroll-8": ("8 nodes a turn", LadderChoices(unroll=8)),
    "unroll-16": ("16 nodes a turn", LadderChoices(unroll=16)),
    "unroll-2+scheduling": ("2 nodes, independent variables", LadderChoices(unroll=2, scheduling="on")),
    "unroll-4+scheduling": ("4 nodes, independent variables", LadderChoices(unroll=4, scheduling="on")),
    "unroll-8+scheduling": ("8 nodes, independent variables", LadderChoices(unroll=8, scheduling="on")),
    "unroll-16+scheduling": ("16 nodes, independent variables", LadderChoices(unroll=16, scheduling="on")),
    "overlapped-copies": ("copies during kernels: halves on two queues", LadderChoices(copies="overlapped")),
    "interleaved-sequences": ("residues interleaved, longest first", LadderChoices(sequences="interleaved")),
    "padded-sequences": ("the same, each 32 of one length", LadderChoices(sequences="padded")),
    "packed-sequences": ("interleaved, 4 residues a word", LadderChoices(sequences="packed")),
    "interleaved-rows": ("score rows interleaved", LadderChoices(rows="interleaved")),
    "padded-rows": ("the same, for a multiple of 32", LadderChoices(rows="padded")),
    "private-rows": ("score rows in private memory", LadderChoices(rows="private")),
    "constant-transitions": ("transitions in constant memory", LadderChoices(transitions="constant")),
    "local-transitions": ("transitions in local memory", LadderChoices(transitions="local")),
    "local-specials": ("special transitions local, a copy a warp", LadderChoices(specials="local")),
    "replicated-specials": ("special transitions, a copy a work-item", LadderChoices(specials="replicated")),
    "constant-specials": ("special transitions in constant memory", LadderChoices(specials="constant")),
    "transposed-emissions": ("emissions transposed", LadderChoices(emissions="transposed")),
    "local-emissions": ("the same in local memory, padded to 33", LadderChoices(emissions="local")),
    "local-emissions-32": ("the same, padded to 32: banks conflict", LadderChoices(emissions="local-32")),
}

ONE = replace(BASIC, rows="private")
ONE_TO_THREE = replace(ONE, unroll=8, scheduling="on")
ONE_TO_FOUR = replace(ONE_TO_THREE, sequences="interleaved")
BEST = replace(ONE_TO_FOUR, specials="local", transitions="constant")
"""The published final combination."""


COMBINED = {
    "1": ("1: private rows", ONE),
    "1+2": ("1 + 2: 8 nodes a turn", replace(ONE, unroll=8)),
    "1+3": ("1 + 3: independent variables", replace(ONE, scheduling="on")),
    "1+2+3": ("1 + 2 + 3", ONE_TO_THREE),
    "1+2+3+4": ("... + 4: interleaved sequences, longest first", ONE_TO_FOUR),
    "1+2+3+4+5": ("... + 5: local emissions", replace(ONE_TO_FOUR, emissions="local")),
    "1+2+3+4+6": ("1 to 4 + 6: local special transitions", replace(ONE_TO_FOUR, specials="local")),
    "1+2+3+4+6+7": ("... + 7: constant transitions", BEST),
    "1+2+3+4p+6+7": ("the same with 4 residues a word", replace(BEST, sequences="packed")),
}

PROGRAM = {
    "lanes": "the program's kernel: lanes of a sub-group share a sequence",
    "item": "the program's kernel: a work-item a sequence, strips of the model in registers",
    "vector": "the program's kernel: explicit vectors",
}

RUNGS = (
    *(ViterbiRung(name, text, choices, group="alone") for name, (text, choices) in ALONE.items()),
    *(ViterbiRung(name, text, choices, group="combined") for name, (text, choices) in COMBINED.items()),
    *(ViterbiRung(shape, text, group="program", shape=shape) for shape, text in PROGRAM.items()),
)
