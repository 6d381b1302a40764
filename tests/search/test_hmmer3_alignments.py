"""Alignments of HMMER3 domains as text, however many there are."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from clalign.engines.plan7.hmmer3 import domains
from clalign.engines.plan7.hmmer3.domains import COLUMNS_AT_ONCE, hmmer3_alignment_texts
from clalign.formats.profiles import load_profiles
from clalign.values.alignments import DomainPath
from clalign.values.alphabets import encode
from clalign.values.local_profiles import LocalProfile, to_local_profile

RRM = Path(__file__).parents[2] / "resources" / "examples" / "rrm_1_hmmer3.hmm"

PATHS = [
    DomainPath("MMIIM", 2, 1),
    DomainPath("M", 0, 0),
    DomainPath("MDDDM", 5, 3),
    DomainPath("MIMDM" * 3, 7, 0),
    DomainPath("MM", 66, 4),
]
TARGETS = [encode(text) for text in ("MKVLAAM", "W", "FVGNLPP", "ACDEFGHIKLMNPQRSTVWY", "KKKKKKK")]
POSTERIORS = [("0123456789*" * 2)[: len(path.states)] for path in PATHS]


@pytest.fixture(scope="module")
def profile() -> LocalProfile:
    return to_local_profile(load_profiles(str(RRM))[0])


def test_each_row_says_what_its_path_does(profile: LocalProfile) -> None:
    texts = list(hmmer3_alignment_texts(PATHS, POSTERIORS, profile, TARGETS))
    consensus = profile.hmm.consensus
    assert [text.model for text in texts[:3]] == [consensus[2:4] + ".." + consensus[4], consensus[0], consensus[5:10]]
    assert [text.target for text in texts[:3]] == ["KVlaA", "W", "N---L"]
    assert [text.posterior for text in texts] == POSTERIORS
    assert list(hmmer3_alignment_texts([], [], profile, [])) == []


@pytest.mark.parametrize("columns", [1, 5, 6, 10, 11, 27])
def test_texts_do_not_depend_on_how_many_are_made_together(
    columns: int, profile: LocalProfile, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = list(hmmer3_alignment_texts(PATHS, POSTERIORS, profile, TARGETS))
    monkeypatch.setattr(domains, "COLUMNS_AT_ONCE", columns)
    assert list(hmmer3_alignment_texts(PATHS, POSTERIORS, profile, TARGETS)) == expected


def test_memory_does_not_grow_with_the_columns(profile: LocalProfile) -> None:
    """Targets with hundreds of domains must not need gigabytes."""

    def peak(n_portions: int) -> int:
        n = n_portions * COLUMNS_AT_ONCE // 60
        paths: list[DomainPath] = [DomainPath("M" * 60, 0, 0)] * n
        targets: list[npt.NDArray[np.uint8]] = [encode("ACDEFGHIKLMNPQRSTVWY" * 3)] * n
        tracemalloc.start()
        try:
            assert sum(1 for _ in hmmer3_alignment_texts(paths, [""] * n, profile, targets)) == n
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(6) < 2 * peak(1)
