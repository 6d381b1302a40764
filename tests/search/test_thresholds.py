"""Which sequences are looked at closely: HMMER2 judges each with the number of sequences so far."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.engines.plan7.hmmer2.search import Hmmer2Search, prepare_hmmer2_search
from clalign.engines.plan7.inputs import targets_of
from clalign.engines.plan7.spec import SearchSpec
from clalign.values.alphabets import AMINO, encode
from clalign.values.evalues import bits
from clalign.values.hits import Scores
from clalign.values.profiles import Calibration
from clalign.values.sequences import Sequence
from clalign.values.synthetic import random_hmm
from tests.computing import database_of


def search(n: int, calibration: Calibration | None, **options: float) -> Hmmer2Search:
    from msgspec.structs import replace

    hmm = replace(random_hmm(np.random.default_rng(1), 3), calibration=calibration)
    texts = ["" if i % 7 == 3 else "ACD" for i in range(n)]
    database = database_of([Sequence(f"s{i}", "", encode(t)) for i, t in enumerate(texts)], AMINO)
    spec = SearchSpec(profiles="p", targets="t", **options)
    return prepare_hmmer2_search(hmm, 0, spec, targets_of(spec, database, [hmm]))


@pytest.mark.parametrize("calibration", [None, Calibration("gumbel", -20.0, 0.3), Calibration("gumbel", 5.0, 1.0)])
@pytest.mark.parametrize("options", [{}, {"evalue": 1e-3}, {"n_targets": 1000.0}, {"score": 1.5}, {"evalue": 1e6}])
def test_candidates_are_those_of_the_plain_rule(calibration: Calibration | None, options: dict[str, float]) -> None:
    job = search(3000, calibration, **options)
    rng = np.random.default_rng(2)
    rows = np.arange(len(job.database), dtype=np.int64)
    values = rng.integers(-40_000, 40_000, len(rows)).astype(np.int32)
    limits, counted = job.thresholds, {}
    for place in range(len(rows)):  # as the program goes through the file
        counted[place] = len(counted) and counted[place - 1]
        counted[place] += place % 7 != 3
    plain = [
        row
        for row in rows.tolist()
        if bits(int(values[row])) >= limits.score
        and limits.pvalue(bits(int(values[row])))
        * (limits.n_targets if "n_targets" in options else counted[int(job.database.order[row])])
        <= limits.evalue
    ]
    assert job.candidates(Scores(rows, values)).tolist() == plain
    assert plain
    assert len(plain) < len(rows) or options.get("evalue") == 1e6


@pytest.mark.parametrize("score", [1e308, -1e308, 3e6, -3e6])
def test_absurd_scores_are_limits_like_others(score: float) -> None:
    job = search(10, None, score=score)
    rows = np.arange(10, dtype=np.int64)
    found = job.candidates(Scores(rows, np.full(10, 50_000, np.int32)))
    assert len(found) == (0 if score > 0 else 10)


def test_a_correction_never_makes_a_score_higher() -> None:
    """What fails without the null2 correction is not corrected at all, so the correction must only lower scores."""
    from clalign.engines.plan7.hmmer2.domains import corrected_domains, counting_domains, uncorrected_domains
    from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE
    from clalign.values.synthetic import random_batch, random_profile

    rng = np.random.default_rng(4)
    n_lowered = 0
    for nodes in (3, 12, 30):
        profile = random_profile(rng, nodes)
        batch = random_batch(rng, profile, 40, 120)
        for path, start, end in zip(
            VITERBI_TRACE.reference(batch, profile), batch.offsets[:-1], batch.offsets[1:], strict=True
        ):
            if path:
                codes = [batch.codes[start:end]] * len(path)
                before = uncorrected_domains(path, codes, profile)
                after = corrected_domains(before, codes, profile)
                assert all(a.correction >= 0 for a in after)
                assert counting_domains(after)[0] <= counting_domains(before)[0]
                n_lowered += counting_domains(after)[0] < counting_domains(before)[0]
    assert n_lowered > 5
