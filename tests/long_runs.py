"""A run with the alignment of a pair as long as one likes: its path is made up, not computed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from clalign.engines.pairwise import lists
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run
from clalign.values.devices import REFERENCE
from clalign.values.pair_alignments import PairAlignment, path_score
from tests.computing import compute_search


def made_pair(n_columns: int, seed: int = 1) -> tuple[str, str, str]:
    """Return a query, a target and the path of their alignment: a tenth of the columns differ, a hundredth are gaps."""
    rng = np.random.default_rng(seed)
    query = rng.choice(np.frombuffer(b"ACGT", np.uint8), n_columns)
    target = np.where(rng.random(n_columns) < 0.1, rng.choice(np.frombuffer(b"ACGT", np.uint8), n_columns), query)
    kinds = rng.choice(np.frombuffer(b"MID", np.uint8), n_columns, p=[0.99, 0.005, 0.005])
    kinds[[0, -1]] = ord("M")
    texts = (query[kinds != ord("D")], target[kinds != ord("I")], kinds)
    query_text, target_text, path = (text.tobytes().decode("ascii") for text in texts)
    return query_text, target_text, path


def long_run(folder: Path, n_columns: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a run with the alignment of a query on its plus strand."""
    query, target, path = made_pair(n_columns)
    for name, text in (("query", query), ("target", target)):
        (folder / f"{name}.fa").write_text(f">{name} made up\n{text}\n")

    def known(session: object, queries: tuple[lists.PairwiseQuery, ...], codes: object, *more: object) -> object:
        found = PairAlignment(0, (0, len(query)), (0, len(target)), path)
        score = path_score(found, queries[0].sequence.codes, codes, queries[0].scoring)  # type: ignore[arg-type]
        return [found._replace(score=score)]

    run = folder / "long.clalign"
    spec = PairwiseSpec(str(folder / "query.fa"), str(folder / "target.fa"), long=True, mode="global")
    with (
        monkeypatch.context() as patched,
        create_run(run, engine="pairwise", spec=spec.to_dict(), direction="pairwise") as made,
    ):
        patched.setattr(lists, "align_long", known)
        compute_search(made, spec, lambda words: REFERENCE, QuietContext())
    return run
