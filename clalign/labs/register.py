"""All laboratories."""

from __future__ import annotations

from clalign.labs.comparison_results import COMPARISON
from clalign.labs.laboratory import Laboratory
from clalign.labs.ladder import Ladder
from clalign.labs.pair_hmm_ladder import LADDER as PAIR_HMM
from clalign.labs.publication_lab import PublicationLab, publication_labs
from clalign.labs.search_comparison import SEARCHES
from clalign.labs.smith_waterman_ladder import LADDER as SMITH_WATERMAN
from clalign.labs.synchronization_results import SYNCHRONIZATION
from clalign.labs.viterbi_ladder import LADDER as VITERBI

LADDERS: dict[str, Ladder] = {ladder.name: ladder for ladder in (VITERBI, SMITH_WATERMAN, PAIR_HMM)}
"""By the name that is asked for."""

PUBLICATIONS: dict[str, PublicationLab] = {one.source.key: one for one in publication_labs()}
"""By the number of the source."""

LABORATORIES: dict[str, Laboratory] = {
    one.kind: one for one in (*LADDERS.values(), COMPARISON, SEARCHES, SYNCHRONIZATION, *PUBLICATIONS.values())
}
"""By the kind of their documents."""
