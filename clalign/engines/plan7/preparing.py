"""The search that a profile asks for: HMMER2's or HMMER3's, by what its file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clalign.engines.plan7.hmmer3.search import prepare_hmmer3_search
from clalign.engines.plan7.hmmer3.thresholds import (
    card_of_statistics,
    filter_limits,
    hmmer3_thresholds,
)
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.targets import Targets
from clalign.formats.profiles import profile_card
from clalign.values.documents import Card
from clalign.values.local_profiles import LocalProfile
from clalign.values.profiles import Hmm, Hmmer3Settings

if TYPE_CHECKING:
    from clalign.engines.plan7.search import AnySearch


def prepare_search(
    hmm: Hmm, number: int, spec: SearchSpec, targets: Targets, profile: LocalProfile | None = None
) -> AnySearch:
    """Return the search of the `number`-th profile from 0, its scores and thresholds ready.

    A HMMER3 profile as it is searched with is made unless it is given.

    Raises
    ------
    OptionError
        If the model's own cutoffs are asked for and it has none, or if it lacks the statistics it needs.
    """
    if hmm.origin == "hmmer3":
        return prepare_hmmer3_search(hmm, spec, targets, profile)
    from clalign.engines.plan7.hmmer2.search import prepare_hmmer2_search

    return prepare_hmmer2_search(hmm, number, spec, targets)


def card_of_search(hmm: Hmm, spec: SearchSpec, targets: Targets) -> Card:
    """Return the card of a profile with the thresholds of a search, as plain data."""
    card = profile_card(hmm)
    if hmm.origin == "hmmer2":
        from clalign.engines.plan7.hmmer2.search import thresholds_for

        older = thresholds_for(hmm, spec, targets.n("hmmer2"))
        return card | {
            "report_score": older.report_score,
            "include_score": older.least_significant_score,
            "n_targets": older.n_targets,
            "histogram_kind": "viterbi",
            "histogram_report_score": older.report_score,
        }
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    limits = hmmer3_thresholds(hmm, spec, targets.n("hmmer3"))
    return card | {
        "report_score": limits.report_score,
        "include_score": limits.least_significant_score,
        "n_targets": limits.n_targets,
        "histogram_kind": "msv",
        "histogram_report_score": None,
        "left_out": targets.left_out.rows.tolist(),
        "left_out_residues": sum(map(targets.database.length, targets.left_out.rows.tolist())),
        **card_of_statistics(settings, filter_limits(spec), limits),
    }


def has_composition(hmm: Hmm) -> bool:
    """Return whether a profile says what its bias filter needs, or needs none."""
    return not isinstance(hmm.settings, Hmmer3Settings) or hmm.settings.composition is not None
