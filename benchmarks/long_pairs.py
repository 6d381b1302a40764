"""Speed and memory of the alignment of long pairs, with all of a device for each pair.

Pairs are files of one sequence each, or synthetic and seeded: a random sequence of bases and a copy of it with some
changed, left out and inserted. Each pair has a process of its own, so that its memory can be counted. Before a time
counts,

- the score is compared with a second way: the program's usual kernel for scores where the pair is not too long for
  it, and always both sequences backwards, whose tiles are others, in launches whose groups do not wait for each other;
- the whole alignment is compared with that of the usual kernel, where the pair is not too long for it;
- the alignment is scored again from its path alone.

Seconds of scoring are those of the first pass, from sequences on the host to the score there; the whole is the
alignment. Prints what it finds, and `BAD: n` in the end.

    python benchmarks/long_pairs.py --device gpu --data ../data --synthetic 1000000x1000000 --json long_pairs.json
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from database_memory import peak_memory

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opening import open_session
from clalign.databases.loading import load_database
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.pairwise.long_pair_regions import fill
from clalign.stages.pairwise.long_pair_state import NothingKept
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.alphabets import encode
from clalign.values.pair_alignments import PairAlignment, path_score
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

Codes = npt.NDArray[np.uint8]

LETTERS_OF = np.full(256, ord("N"), np.uint8)
LETTERS_OF[encode("ACGT")] = np.frombuffer(b"ACGT", np.uint8)

SCORING = {"affine": Scoring(SubstitutionMatrix.match_mismatch(2, -3), GapCosts(7, 2)),
           "linear": Scoring(SubstitutionMatrix.match_mismatch(2, -3), GapCosts(3, 3))}  # fmt: skip

REAL = (
    ("lambda_NC_001416.fa", "SARS-CoV-2_MN908947.3.fasta"),
    ("MT-human.fa", "MT-orang.fa"),
    ("NC_000932_Arabidopsis_chloroplast.gb", "NC_014267.1.gb"),
    ("NC_000932_Arabidopsis_chloroplast.gb", "human_T1.fa"),
    ("human_T1.fa", "NC_014267.1.gb"),
    ("lambda_NC_001416.fa", "human_T1.fa"),
)
"""Pairs of the real files."""

REVERSED_METHOD = "launch"
"""How groups meet while the sequences are aligned backwards."""


class Timed(NothingKept):
    """Notes when a device has last finished a part of the first pass; it is asked after each."""

    def __init__(self) -> None:
        self.last = 0.0

    def is_due(self, n_bytes: int) -> bool:
        self.last = time.perf_counter()
        return False


class Counted:
    """Counts the bytes of a session's buffers, and the most there were at a time."""

    def __init__(self, session: OpenCLSession) -> None:
        self.now = self.most = 0
        for name in ("upload", "loaded", "share", "allocate", "results"):
            setattr(session, name, self._counting(getattr(session, name)))

    def _counting(self, make: Any) -> Any:
        def made(*given: Any) -> Any:
            buffer = make(*given)
            if not hasattr(buffer, "counted"):  # one may be made by another
                buffer.counted = _Counted(self, int(buffer.size))
            return buffer

        return made


class _Counted:
    """Lives as long as the buffer that it belongs to."""

    def __init__(self, counts: Counted, n_bytes: int) -> None:
        self._counts, self._n_bytes = counts, n_bytes
        counts.now += n_bytes
        counts.most = max(counts.most, counts.now)

    def __del__(self) -> None:
        self._counts.now -= self._n_bytes


def synthetic(words: str, seed: int, changed: float) -> tuple[Codes, Codes]:
    """Return a related pair of the lengths that words such as ``1000000x900000`` give."""
    m, n = (int(word) for word in words.split("x"))
    rng = np.random.default_rng(seed)
    bases = encode("ACGT")
    query = bases[rng.integers(0, 4, m)]
    copy = query[rng.random(m) >= changed / 10]
    copy = np.where(rng.random(len(copy)) < changed, bases[rng.integers(0, 4, len(copy))], copy)
    places = np.sort(rng.integers(0, len(copy), m // 1000))  # a thousandth of it is inserted, in runs of ten
    copy = np.insert(copy, np.repeat(places[::10], 10), bases[rng.integers(0, 4, 10 * len(places[::10]))])
    behind = bases[rng.integers(0, 4, max(0, n - len(copy)))]
    return query, np.concatenate([copy[:n], behind])


def sequence_of(path: Path) -> Codes:
    """Return the letter codes of the first sequence of a file."""
    database, _ = load_database(str(path))
    return np.array(database.residues(int(np.argsort(database.order)[0])))


def pair_of(words: dict[str, Any], options: argparse.Namespace) -> tuple[Codes, Codes]:
    if "lengths" in words:
        return synthetic(words["lengths"], options.seed, options.changed)
    query, target = (sequence_of(Path(name)) for name in words["files"])
    return query, target


def usual_score(session: Any, query: Codes, target: Codes, scoring: Scoring) -> int:
    """Return the score of the kernel that searches databases."""
    found = session.run(SMITH_WATERMAN, SequenceBatch.from_texts([target]),
                        PairwiseQuery(Sequence("query", "", query), scoring))  # fmt: skip
    return int(found.scores.values[0])


def score_backwards(session: Any, query: Codes, target: Codes, scoring: Scoring) -> int:
    """Return the score of both sequences backwards, in launches whose groups do not wait."""
    region = LONG_PAIR.matrix(session, query[::-1].copy(), target[::-1].copy(), scoring)
    return fill(region, lambda cells: None, method=REVERSED_METHOD).end()[0]


def checked(
    session: Any, found: PairAlignment, query: Codes, target: Codes, scoring: Scoring, options: argparse.Namespace
) -> dict[str, Any]:
    """Return what other ways say, and which of it is wrong."""
    cells = len(query) * len(target)
    scores: dict[str, int] = {}
    bad = []
    if cells <= options.usual_cells:
        scores["usual kernel for scores"] = usual_score(session, query, target, scoring)
    if cells <= options.traced_cells:
        batch = PairBatch.of_query(query, SequenceBatch.from_texts([target]))
        (other,) = session.run(SMITH_WATERMAN_TRACE, batch, scoring)
        scores["usual kernel for alignments"] = other.score
        if other != found:
            bad.append("the alignment differs from that of the usual kernel")
    if cells <= options.backwards_cells:
        scores[f"backwards, {REVERSED_METHOD}"] = score_backwards(session, query, target, scoring)
    bad += [f"{name}: {score:,}, not {found.score:,}" for name, score in scores.items() if score != found.score]
    if not scores:
        bad.append("there was no second score")
    again = path_score(found, query, target, scoring)
    if again != found.score:
        bad.append(f"its path is worth {again:,}, not {found.score:,}")
    return {"second_scores": scores, "rescored": again, "bad": bad}


def measured(session: Any, query: Codes, target: Codes, scoring: Scoring) -> tuple[PairAlignment, dict[str, float]]:
    """Align a pair; return what was found and the seconds of the first pass and of all."""
    timed, n_computed = Timed(), [0]

    def report(cells: int) -> None:
        n_computed[0] += cells

    batch = PairBatch.of_query(query, SequenceBatch.from_texts([target]))
    before, began, worked = session.kernel_seconds, time.perf_counter(), time.process_time()
    found = session.run(LONG_PAIR, batch, LongPairChoice(scoring, report, timed))
    ended = time.perf_counter()
    session.finish()
    return found, {
        "scoring": timed.last - began, "whole": ended - began, "kernels": session.kernel_seconds - before,
        "cells_computed": n_computed[0], "cpu": time.process_time() - worked,
    }  # fmt: skip


def parasail_seconds(query: Codes, target: Codes, scoring: Scoring) -> dict[str, float]:
    """Return the processor seconds of parasail for the score alone, in one thread."""
    import parasail

    matrix = parasail.matrix_create("ACGT", scoring.matrix.greatest, scoring.matrix.least)
    texts, gaps = [LETTERS_OF[codes].tobytes().decode("ascii") for codes in (query, target)], scoring.gaps
    began = time.process_time()
    score = parasail.sw_striped_32(*texts, gaps.first, gaps.next, matrix).score
    return {"parasail_score": score, "parasail_cpu_seconds": time.process_time() - began}


def align(words: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Measure a pair in this process."""
    query, target = pair_of(words, options)
    scoring, cells = SCORING[options.gaps], len(query) * len(target)
    device = pick_device(options.device)
    before = peak_memory()
    with open_session(device) as session:
        assert isinstance(session, OpenCLSession)
        few = 30_000  # builds the kernels
        measured(session, query[:few], target[:few], scoring)
        counted = Counted(session)
        rounds = []
        while True:
            found, seconds = measured(session, query, target, scoring)
            rounds.append(seconds)
            if len(rounds) == options.rounds or sum(one["whole"] for one in rounds) > options.enough:
                break
        after = peak_memory()
        most, pool = counted.most, session._pool
        held = int(pool.managed_bytes) if pool else 0  # with what is not used just now
        row = checked(session, found, query, target, scoring, options)
    if options.parasail:
        row |= parasail_seconds(query, target, scoring)
        row["cpu_seconds"] = min(one["cpu"] for one in rounds)
        row["cpu_times_parasail"] = row["cpu_seconds"] / row["parasail_cpu_seconds"]
        if row["parasail_score"] != found.score:
            row["bad"].append(f"parasail: {row['parasail_score']:,}")
    scored, whole = (min(one[name] for one in rounds) for name in ("scoring", "whole"))
    return {
        **words, "device": device.to_dict(), "query": len(query), "target": len(target), "cells": cells,
        "gaps": options.gaps, "score": found.score, "query_range": found.query_range, "target_range":
        found.target_range, "columns": len(found.path), "seconds_scoring": scored, "seconds_whole": whole,
        "gcups_scoring": cells / scored / 1e9, "gcups_whole": cells / whole / 1e9,
        "cells_computed_again": rounds[-1]["cells_computed"] / cells - 1, "rounds": rounds, "device_bytes": most,
        "pool_bytes": held, "host_bytes": after["resident_peak"], "host_bytes_before": before["resident_peak"], **row,
    }  # fmt: skip


def in_own_process(words: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Measure a pair in a process of its own, for no longer than a limit."""
    own = [sys.executable, __file__, *sys.argv[1:], "--pair", json.dumps(words)]
    try:
        done = subprocess.run(own, capture_output=True, text=True, timeout=options.limit, check=False)
    except subprocess.TimeoutExpired:
        return {**words, "bad": [f"not done after {options.limit:.0f} s"]}
    if done.returncode:
        return {**words, "bad": [f"exit code {done.returncode}: {done.stderr.strip()[-500:]}"]}
    return json.loads(done.stdout.splitlines()[-1])


def wanted(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the pairs."""
    for names in [*(options.files or []), *(REAL if options.data else [])]:
        paths = [options.data / "dna" / name if options.data and names in REAL else Path(name) for name in names]
        yield {"name": " x ".join(path.stem for path in paths), "files": [str(path) for path in paths]}
    for lengths in options.synthetic:
        yield {"name": f"synthetic {lengths}", "lengths": lengths}


def line_of(row: dict[str, Any]) -> str:
    if "score" not in row:
        return f"{row['name']}: BAD {'; '.join(row['bad'])}"
    verdict = "BAD " + "; ".join(row["bad"]) if row["bad"] else f"agrees with {', '.join(row['second_scores'])}"
    return (
        f"{row['name']}: {row['query']:,} x {row['target']:,} ({row['cells']:.3g} cells), score {row['score']:,},"
        f" {row['columns']:,} columns; scoring {row['seconds_scoring']:.3f} s, {row['gcups_scoring']:.1f} GCUPS;"
        f" whole {row['seconds_whole']:.3f} s, {row['gcups_whole']:.1f} GCUPS, {row['cells_computed_again']:.1%}"
        f" computed again; device {row['device_bytes'] / 2**20:,.0f} MB, host {row['host_bytes'] / 2**20:,.0f} MB"
        f" (before {row['host_bytes_before'] / 2**20:,.0f}); {verdict}"
        + (f"; {row['cpu_times_parasail']:.2f} times parasail's score alone (CPU)" if "parasail_score" in row else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--files", nargs=2, action="append", metavar=("QUERY", "TARGET"), help="a pair; again for more")
    parser.add_argument("--data", type=Path, help="folder with dna/: the real pairs that are known")
    parser.add_argument("--synthetic", nargs="+", default=[], metavar="MxN", help="lengths of pairs that are made up")
    parser.add_argument("--changed", type=float, default=0.1, help="share of bases of a copy that are drawn anew")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--gaps", choices=SCORING, default="affine")
    parser.add_argument("--rounds", type=int, default=3, help="the best one counts")
    parser.add_argument("--enough", type=float, default=10.0, help="seconds after which there is no other round")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a pair, with all that is compared")
    parser.add_argument("--usual-cells", type=float, default=1e10, help="most cells of the usual kernel for scores")
    parser.add_argument("--traced-cells", type=float, default=2e9, help="most cells of that for alignments")
    parser.add_argument("--backwards-cells", type=float, default=1e14, help="most cells that are scored backwards")
    parser.add_argument(
        "--parasail", action="store_true", help="compare processor seconds with its score's (ACGT only)"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--pair", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.pair:
        print(json.dumps(align(json.loads(options.pair), options)))
        return
    rows = []
    for words in wanted(options):
        rows.append(in_own_process(words, options))
        print(line_of(rows[-1]), flush=True)
    n_bad = sum(bool(row["bad"]) for row in rows)
    if options.json:
        result = {"host": platform.machine(), "rows": rows, "bad": n_bad}
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(f"BAD: {n_bad}")
    sys.exit(1 if n_bad or not rows else 0)


if __name__ == "__main__":
    main()
