"""Run files of a made-up HMMER3 profile: hits with domains of every kind, and what passed the filters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from msgspec.structs import replace

from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.tables import BATCHES, Survivors, pack_survivors
from clalign.runs.batches import BatchResult
from clalign.runs.run_file import RunFile, create_run, open_run
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, DomainEstimates, FilterScores, Hit, Scores
from tests.run_facts import DEVICE, report_of

LENGTH = 40
ROWS = 1000
MSV = {"mu": -8.0, "lambda": 0.7}
LIMITS = {"f1": 0.02, "f2": 0.001, "f3": 1e-5, "bias": True}

MODEL = "MKVLAAGIVLMKVLAAGIVL..MKVLAAGI"
TARGET = "MKILA--IVLMKVLAAGIVLskMKVLAAGI"
MARKS = "678999..********************98"


def card(length: int = LENGTH, **more) -> dict:
    return {
        "name": "Made-3", "accession": "PF88888.2", "description": "A made-up HMMER3 family", "length": length,
        "alphabet": "amino", "origin": "hmmer3", "consensus": ("MKVLAAGIVL" * length)[:length],
        "reference": "", "structure": "",
        "cutoffs": {"ga": [20.0, 20.0], "tc": None, "nc": None}, "calibration": None, "facts": {"sequences": "12"},
        "report_score": 4.0, "include_score": 14.0, "n_targets": float(ROWS), "histogram_kind": "msv",
        "histogram_report_score": None, "left_out": [], "filter_limits": LIMITS,
        "calibration3": {"msv": MSV, "viterbi": {"mu": -9.0, "lambda": 0.7}, "forward": {"tau": -4.0, "lambda": 0.7}},
        "domain_limits": {"evalue": 10.0, "score": None, "inclusion_evalue": 0.01, "inclusion_score": None,
                          "n_targets": None, "sorts_by_score": False},
        "histogram_pass_score": -2.4, **more,
    }  # fmt: skip


def domain(number: int, score: float, start: int, log_pvalue: float) -> Domain:
    match = "".join(a if a == b else " " for a, b in zip(MODEL, TARGET, strict=True))
    states = "".join("I" if a == "." else "D" if b == "-" else "M" for a, b in zip(MODEL, TARGET, strict=True))
    return Domain(
        number, score, 0.2, float(np.exp(log_pvalue) * ROWS), (0, 28), (start, start + 28), (start - 3, start + 34), 0,
        states, AlignmentText(MODEL, match, TARGET, MARKS), log_pvalue, 0.91,
    )  # fmt: skip


def hit(row: int, score: float, *log_pvalues: float) -> Hit:
    """Return a hit with a domain for each logarithm of a P-value."""
    domains = tuple(domain(n + 1, score / (n + 1), 5 + 60 * n, p) for n, p in enumerate(log_pvalues))
    whole = -0.7 * (score + 4.0)
    return Hit(
        row, row, f"SEQ_{row:04d}", "-", f"made-up protein {row}", 300, score, 0.3, float(np.exp(whole) * ROWS), 0,
        domains, len(domains), whole, score >= 14.0, DomainEstimates(len(domains) + 0.4, 2, 1, 0, len(domains)),
        FilterScores(score - 2, score - 2.5, None if row % 2 else score - 1, score + 1),
    )  # fmt: skip


def hits() -> tuple[Hit, ...]:
    """Return two strong hits, one with a domain that does not count, and one none of whose domains does."""
    return (
        hit(3, 60.0, -45.0),
        hit(14, 40.0, -30.0, -9.0, 0.0),
        hit(159, 16.0, -8.0),
        hit(265, 15.0, 2.0, 2.0),
        hit(358, 6.0, -5.0),
    )


def survivors() -> Survivors:
    """Return 30 targets that passed the first filter, of which 24, 12 and 8 passed the next ones."""
    found = [hit.row for hit in hits()]
    rows = np.array(sorted({*found, *range(400, 425)}), np.int64)
    reached = np.ones(30, np.uint8)
    order = np.argsort(~np.isin(rows, found), kind="stable")
    for n, level in ((24, 2), (12, 3), (8, 4)):
        reached[order[:n]] = level
    score = np.linspace(12, 0, 30).astype(np.float32)
    unknown = np.float32(np.nan)
    return Survivors(
        rows, score, score - 1, np.where(reached >= 2, score - 2, unknown).astype(np.float32),
        np.where(reached >= 3, score + 1, unknown).astype(np.float32), reached,
    )  # fmt: skip


def add_batch(run: RunFile, profile: int = 0) -> None:
    rng = np.random.default_rng(5)
    rows = np.arange(ROWS, dtype=np.int64)
    values = (1000 * rng.gumbel(MSV["mu"], 1 / MSV["lambda"], ROWS)).astype(np.int32)
    passed = survivors()
    values[passed.rows] = (1000 * passed.msv).astype(np.int32)
    result = BatchResult(profile, 0, ROWS, Scores(rows, values), hits(), 1e7, 0.1, "Made-up GPU")
    run.add_batch(replace(result, kept={BATCHES.name: pack_survivors(passed)}))


def make_run(path: Path, profiles: str = "", targets: str = "", name_: str = "Made-3", **more) -> Path:
    """Write a finished run file of a profile with a name; `more` goes into its card."""
    more["name"] = name_
    spec = SearchSpec(profiles or str(path.with_suffix(".hmm")), targets or str(path.with_suffix(".fasta"))).to_dict()
    report = report_of(
        ROWS, 300 * ROWS, path=spec["targets"], digest="0" * 64, shortest=20, longest=900,
        length_histogram=((20, 900, ROWS),),
    )  # fmt: skip
    finished = {"run": str(path), "n_hits": 5, "n_sequences": ROWS, "cells": 1e7, "new_cells": 1e7, "seconds": 1.5,
                "device_seconds": 1.0, "gcups": 12.0, "device": "Made-up GPU"}  # fmt: skip
    with create_run(path, engine="plan7", spec=spec, state="new") as run:
        run.set_cards([card(**more)])
        run.set_facts(direction="search", database=report, device=DEVICE | {"name": "Made-up GPU"},
                      n_targets=ROWS, versions={"clalign": "0"}, state="running")  # fmt: skip
        add_batch(run)
        run.set_facts(state="done", finished=finished)
    return path


def make_families(path: Path) -> Path:
    """Write a run of three profiles: the second hits one of the sequences of the first, the third none."""
    make_run(path)
    with open_run(path, writable=True) as run:
        run.set_cards([card(), card(name="Other", accession="PF00002.1"), card(name="None-3")])
        found = hit(14, 30.0, -40.0, -38.0)
        places = [(5, 33), (200, 228)]  # the first lies where a domain of the other family lies
        domains = tuple(replace(part, target_range=place, envelope=place)
                        for part, place in zip(found.domains, places, strict=True))  # fmt: skip
        scores = Scores(np.arange(ROWS, dtype=np.int64), np.zeros(ROWS, np.int32))
        run.add_batch(BatchResult(1, 0, ROWS, scores, (replace(found, domains=domains),), 1e7, 0.1, "GPU"))
        run.add_batch(BatchResult(2, 0, ROWS, scores, (), 1e7, 0.1, "GPU"))
        run.set_facts(state="done")
    return path


def make_many(path: Path, n: int) -> Path:
    """Write a run of two profiles with so many hits of each, all with the domain of one; the third has none."""
    make_families(path)
    with open_run(path, writable=True) as run:
        database = run.connection
        database.execute("PRAGMA synchronous = OFF")
        n_targets = 10 * ROWS + n
        run.set_facts(n_targets=n_targets, database=replace(run.facts.database, n_sequences=n_targets))
        (hit_id, row), (last,) = database.execute("SELECT id, row FROM hits").fetchone(), database.execute(
            "SELECT max(id) FROM hits").fetchone()  # fmt: skip
        own = {"hit": f"{last + 1} + n", "id": f"{last + 1} + n", "row": f"{10 * ROWS} + n / 2", "query": "n % 2",
               "input_index": f"{10 * ROWS} + n / 2", "score": "20 + n % 4000 / 100.0",
               "sort_key": "20 + n % 4000 / 100.0"}  # fmt: skip
        with database:
            first = f"WITH RECURSIVE made(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM made WHERE n < {2 * n - 1})"
            for table, key, value in (("hits", "id", hit_id), ("parts", "hit", hit_id), ("plan7_hits", "hit", hit_id),
                                      ("plan7_domains", "hit", hit_id), ("targets", "row", row)):  # fmt: skip
                names = [column[1] for column in database.execute(f"PRAGMA table_info({table})")]
                values = {**own, "name": f"'MANY_' || ({10 * ROWS} + n / 2)"} if table == "targets" else own
                used = ", ".join(values.get(name, name) for name in names)
                every = " AND n % 2 = 0" if table == "targets" else ""
                database.execute(f"{first} INSERT INTO {table} SELECT {used} FROM made, {table} WHERE {key} = ?{every}",
                                 (value,))  # fmt: skip
    return path
