"""Filters compute the rows of a list alone, in its order, whatever room it has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.bias_filter import BIAS_FILTER
from clalign.stages.hmmer3.forward import FORWARD
from clalign.stages.hmmer3.row_lists import RowList, length_buffers
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER
from clalign.values.synthetic import random_local_profile, swissprot_batch


@pytest.mark.parametrize(("stage", "tolerance"), [(BIAS_FILTER, 1e-4), (FORWARD, 6e-5), (VITERBI_FILTER, 0)])
def test_chosen_rows(session: Session, stage: Any, tolerance: float) -> None:
    rng = np.random.default_rng(8)
    profile = random_local_profile(rng, 33)
    batch = swissprot_batch(rng, 12)
    rows = np.array([7, 3, 3, 11, 0, 99, 99], np.int32)
    chosen = RowList(session.upload(rows), session.upload(np.array([5], np.uint32)), 7)
    scores = stage.enqueue(session, batch, [profile], chosen, length_buffers(session, batch))
    found = session.download(scores, 7, np.float32)[:5]
    assert np.abs(found - stage.reference(batch, profile)[rows[:5]]).max() <= tolerance
