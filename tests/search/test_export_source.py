"""What every output asks of a run, however many hits a query has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from clalign.engines.export_source import Choice, KeptHits
from clalign.engines.plan7 import ENGINE
from clalign.engines.plan7.exports.source import ProfileRunSource, hits, profile_queries
from clalign.engines.plan7.spec import SearchSpec
from clalign.jobs import QuietContext
from clalign.runs.batches import BatchResult
from clalign.runs.run_file import RunFile, create_run
from clalign.values.documents import Card
from clalign.values.hits import Hit, Scores

N_HITS, OTHERS = 1000, 3
"""Hits of the first query and of the second."""


def names_of(scores: npt.NDArray[np.int64]) -> list[str]:
    """Return the names of targets, best score first, and of equal ones the first in the input first."""
    return [f"t{row}" for row in np.argsort(-scores, kind="stable")]


@pytest.fixture
def scores(request: pytest.FixtureRequest) -> npt.NDArray[np.int64]:
    """Scores of so many targets of the first query, many of them equal."""
    return np.random.default_rng(7).integers(0, 300, N_HITS + request.param)


@pytest.fixture
def run(scores: npt.NDArray[np.int64], tmp_path: Path) -> Iterator[RunFile]:
    """A run of two queries whose hits were stored in the order of the input."""
    card: Card = {
        "name": "p", "accession": "", "description": "", "length": 3, "origin": "hmmer2", "alphabet": "amino",
        "consensus": "acg", "reference": "", "structure": "", "cutoffs": {}, "calibration": None, "facts": {},
    }  # fmt: skip
    with create_run(
        tmp_path / "a.clalign", engine="plan7", spec=SearchSpec("p.hmm", "t.fa").to_dict(), state="done"
    ) as made:
        made.set_cards([card, {**card, "name": "q"}])
        for profile, values in enumerate([scores, np.arange(OTHERS)]):
            found = [
                Hit(row, row, f"t{row}", "", "", 10, float(score), 0.0, 1e-3, int(score), (), 0)
                for row, score in enumerate(values)
            ]
            stored = Scores(np.arange(len(values)), values.astype(np.int32))
            made.add_batch(BatchResult(profile, 0, len(values), stored, tuple(found), 1.0, 1.0, "device"))
        yield made


@pytest.mark.parametrize("scores", [-1, 0, 1, 700], indirect=True)
def test_no_hit_is_lost_however_many_there_are(run: RunFile, scores: npt.NDArray[np.int64]) -> None:
    source = ProfileRunSource(ENGINE, run, Choice(), QuietContext())
    both = list(profile_queries(source))
    expected = [names_of(scores), names_of(np.arange(OTHERS))]
    for query in (0, 0, 1, 0, 1):
        assert [hit.name for _, hit in hits(source, both[query])] == expected[query]


@pytest.mark.parametrize("scores", [0], indirect=True)
@pytest.mark.parametrize("max_bytes", [0, 1000, 2**20])
def test_hits_are_kept_while_there_is_room(run: RunFile, max_bytes: int) -> None:
    source = ProfileRunSource(ENGINE, run, Choice(), QuietContext())
    source.kept = KeptHits(max_bytes)
    both = list(profile_queries(source))
    for query in (*both, *both):
        read = [hit for _, hit in hits(source, query)]
        ids = [key.id for key in query.keys]
        assert read == list(run.hits_at(ids))
        assert source.kept.n_bytes <= max_bytes
        known = source.kept.get(query.number, ids)
        assert (known is not None) is (max_bytes == 2**20 or (max_bytes == 1000 and query is both[1]))
        if known is not None:
            assert list(known) == read
            assert list(source.kept.get(query.number, ids[1::2]) or ()) == read[1::2]
            assert source.kept.get(query.number, ids[::-1]) is None
