"""All laboratories."""

from __future__ import annotations

from clalign.labs.comparison_results import COMPARISON
from clalign.labs.laboratory import Laboratory
from clalign.labs.ladder import Ladder
from clalign.labs.pair_hmm_ladder import LADDER as PAIR_HMM
from clalign.labs.smith_waterman_ladder import LADDER as SMITH_WATERMAN
from clalign.labs.synchronization_results import SYNCHRONIZATION
from clalign.labs.viterbi_ladder import LADDER as VITERBI

LADDERS: dict[str, Ladder] = {ladder.name: ladder for ladder in (VITERBI, SMITH_WATERMAN, PAIR_HMM)}
"""By the name that is asked for."""

LABORATORIES: dict[str, Laboratory] = {one.kind: one for one in (*LADDERS.values(), COMPARISON, SYNCHRONIZATION)}
"""By the kind of their documents."""
