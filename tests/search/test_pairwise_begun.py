"""Pairwise runs that an earlier version began: with its statistics they are verified and go on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from clalign.engines.pairwise import query as pairwise_query
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.errors import Cancelled, InputError
from clalign.execution.speed import Pace
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, open_run
from clalign.values.devices import REFERENCE
from clalign.values.karlin_altschul import Statistics, known_statistics
from tests.computing import compute_search

sys.path.insert(0, str(Path(__file__).parent))
from pairwise_cases import Watching, make_inputs, search


def go_on(path: Path, inputs: tuple[Path, Path]) -> list[str]:
    with open_run(path, writable=True) as run:
        compute_search(run, PairwiseSpec(str(inputs[0]), str(inputs[1])), lambda words: REFERENCE, QuietContext())
        return hits_of(run)


def hits_of(run: RunFile) -> list[str]:
    return [repr(list(run.hits(number))) for number in range(3)]


def begun_with(
    statistics: Callable[..., Statistics | None], inputs: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """Return the hits of a whole run, a.clalign, with these statistics; b.clalign is begun with them and stopped."""
    with monkeypatch.context() as before:
        before.setattr(pairwise_query, "known_statistics", statistics)
        before.setattr(Pace, "residues", property(lambda pace: 300))
        with search(inputs, folder / "a.clalign") as run:
            whole = hits_of(run)
        with pytest.raises(Cancelled):
            search(inputs, folder / "b.clalign", context=Watching(1))
    return whole


def test_a_run_without_statistics_keeps_what_it_has_scored_where_there_are_some_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = make_inputs(tmp_path, "amino")
    whole = begun_with(lambda *about: None, inputs, tmp_path, monkeypatch)
    assert go_on(tmp_path / "b.clalign", inputs) == whole


def test_a_run_with_other_statistics_goes_on_with_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = make_inputs(tmp_path, "amino")

    def other(*about: Any) -> Statistics | None:
        found = known_statistics(*about)
        return found and replace(found, search_space=found.search_space / 3)

    whole = begun_with(other, inputs, tmp_path, monkeypatch)
    assert go_on(tmp_path / "b.clalign", inputs) == whole


def test_a_run_whose_sequences_are_read_otherwise_now_is_refused(tmp_path: Path) -> None:
    """As of A3M, which an earlier version read as FASTA: its rows are in another order."""
    inputs = make_inputs(tmp_path, "amino")
    with search(inputs, tmp_path / "a.clalign") as run:
        verify_pairwise(run, None, 3, REFERENCE, QuietContext())
        known = run.facts.database
        run.set_facts(database=replace(known, n_residues=known.n_residues + 1))
        with pytest.raises(InputError, match=r"a\.clalign"):
            verify_pairwise(run, None, 3, REFERENCE, QuietContext())
        run.set_facts(database=known, packing=1)
        with pytest.raises(InputError, match=r"a\.clalign"):
            verify_pairwise(run, None, 3, REFERENCE, QuietContext())
