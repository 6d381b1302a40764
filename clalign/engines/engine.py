"""What an engine is, and the register of all of them."""

from __future__ import annotations

from typing import Any

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import DamagedRun
from clalign.runs.run_file import RunFile

Spec = SearchSpec | PairwiseSpec


def spec_of(run: RunFile) -> Spec:
    """Return what was asked of a run.

    Raises
    ------
    DamagedRun
        If the file does not say it, or says something else.
    """
    data: dict[str, Any] | None = run.fact("spec")
    if data is None:
        raise DamagedRun(run.path, "it does not say what was asked for")
    return run.spec(PairwiseSpec) if data.get("direction") == "pairwise" else run.spec(SearchSpec)
