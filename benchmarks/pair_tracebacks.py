"""Speed of alignments with their paths, and parasail's beside it in the same run, on one thread and on several.

Workloads: pairs of random nucleotides (1000 of 512 x 512 by default) with linear and with affine gaps; one
protein against many that are like it, and against one; one pair of long sequences that are alike. All are synthetic
and seeded. Times are those of the whole call, from sequences to paths on the host, the best of several rounds in
which all take turns. Parasail is called without the wrapper of its Python package, and makes its CIGARs. Every path
is re-scored, and some alignments are compared with the plain reference. Prints one JSON object.

    python benchmarks/pair_tracebacks.py --device cpu --output pair_tracebacks.json
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.formats.matrices import load_matrix
from clalign.reference.smith_waterman_trace import pair_alignment
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.alphabets import DNA, code_of, decode
from clalign.values.pair_alignments import PairAlignment, path_score
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_codes

Codes = npt.NDArray[np.uint8]

PEERS = ("striped_8", "striped_16", "striped_sat", "scan_8", "scan_16", "scan_sat", "diag_8", "diag_16", "diag_sat")

FEW_CELLS = 2_000_000
"""So many cells of the reference take some seconds."""


@dataclass(frozen=True)
class Workload:
    """Pairs and how they are scored; `peer_matrix` is parasail's."""

    name: str
    batch: PairBatch
    scoring: Scoring
    peer_matrix: Any = None

    def pair(self, row: int) -> tuple[Codes, Codes]:
        batch = self.batch
        return batch.queries.residues(batch.query_rows[row]), batch.targets.residues(batch.target_rows[row])


def altered(rng: np.random.Generator, codes: Codes, letters: Codes, share: float) -> Codes:
    """Return a sequence with so many of its residues exchanged, and a tenth as many left out or doubled."""
    changed = np.where(rng.random(len(codes)) < share, rng.choice(letters, len(codes)), codes)
    return np.repeat(changed, 1 + (rng.random(len(codes)) < share / 20) - (rng.random(len(codes)) < share / 20))


def workloads(options: argparse.Namespace, parasail: Any) -> list[Workload]:
    rng = np.random.default_rng(5)
    bases = np.array([code_of(letter) for letter in DNA.canonical], np.uint8)
    pairs = [SequenceBatch.from_texts(rng.choice(bases, (options.pairs, options.length))) for _ in range(2)]
    query = random_codes(rng, 350)
    hits = [altered(rng, query, random_codes(rng, 1000), 0.6)[:350] for _ in range(options.hits)]
    long = rng.choice(bases, options.long)
    equal, blosum = SubstitutionMatrix.match_mismatch(1, -1), load_matrix("BLOSUM62")
    of_equal = parasail and parasail.matrix_create("ACGT", 1, -1)
    of_blosum = parasail and parasail.blosum62
    nucleic, proteins = PairBatch.in_step(*pairs), SequenceBatch.from_texts(hits)
    both = (SequenceBatch.from_texts([codes]) for codes in (long, altered(rng, long, bases, 0.2)))
    found = [
        Workload("nucleotides, linear gaps", nucleic, Scoring(equal, GapCosts(2, 2)), of_equal),
        Workload("nucleotides, affine gaps", nucleic, Scoring(equal, GapCosts(4, 1)), of_equal),
        Workload("protein hits", PairBatch.of_query(query, proteins), Scoring(blosum, GapCosts(12, 1)), of_blosum),
        Workload(
            "one protein hit", PairBatch.of_query(query, SequenceBatch.from_texts(hits[:1])),
            Scoring(blosum, GapCosts(12, 1)), of_blosum,
        ),
        Workload("one long pair", PairBatch.in_step(*both), Scoring(equal, GapCosts(4, 1))),
    ]  # fmt: skip
    return [workload for workload in found if workload.name not in options.without]


class Peer:
    """Parasail's alignments with their CIGARs."""

    def __init__(self, workload: Workload) -> None:
        from parasail.bindings_v2 import _lib, c_matrix_p

        self.workload = workload
        self.library = library = ctypes.CDLL(_lib._name)  # apart from the package's, which has types of its own
        text, number, result = ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p
        for name in PEERS:
            function = self.function(name)
            function.argtypes = [text, number, text, number, number, number, c_matrix_p]
            function.restype = result
        library.parasail_result_get_cigar.argtypes = [result, text, number, text, number, c_matrix_p]
        library.parasail_result_get_cigar.restype = result
        for name in ("result_free", "cigar_free", "result_get_score"):
            getattr(library, f"parasail_{name}").argtypes = [result]
        rows = range(len(workload.batch))
        self.texts = [tuple(decode(codes).encode() for codes in workload.pair(row)) for row in rows]

    def function(self, name: str) -> Any:
        return getattr(self.library, f"parasail_sw_trace_{name}")

    def align(self, name: str, part: slice) -> list[int]:
        """Align some pairs; return their scores."""
        function, gaps, matrix = self.function(name), self.workload.scoring.gaps, self.workload.peer_matrix.pointer
        library, scores = self.library, []
        for query, target in self.texts[part]:
            given = (query, len(query), target, len(target))
            result = function(*given, gaps.first, gaps.next, matrix)
            library.parasail_cigar_free(library.parasail_result_get_cigar(result, *given, matrix))
            scores.append(library.parasail_result_get_score(result))
            library.parasail_result_free(result)
        return scores

    def seconds(self, name: str, n_threads: int) -> tuple[float, list[int]]:
        """Return the time of all pairs on so many threads, and their scores."""
        parts = [slice(k, None, n_threads) for k in range(n_threads)]
        scores = np.empty(len(self.texts), np.int64)
        with ThreadPoolExecutor(n_threads) as pool:
            began = time.perf_counter()
            found = list(pool.map(lambda part: self.align(name, part), parts))
            spent = time.perf_counter() - began
        for part, values in zip(parts, found, strict=True):
            scores[part] = values
        return spent, scores.tolist()


def checked(workload: Workload, found: list[PairAlignment]) -> dict[str, int]:
    """Return how many paths are not worth their score, and how many alignments are not the reference's."""
    scoring, cells = workload.scoring, 0
    wrong = sum(path_score(one, *workload.pair(row), scoring) != one.score for row, one in enumerate(found))
    compared = differing = 0
    for row, one in enumerate(found):
        query, target = workload.pair(row)
        cells += len(query) * len(target)
        if cells > FEW_CELLS:
            break
        compared += 1
        differing += one != pair_alignment(PairwiseQuery(Sequence("", "", query), scoring), target)
    return {"not_worth_their_score": wrong, "compared": compared, "differing": differing}


def benchmark(session: Any, workload: Workload, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one workload."""
    batch, scoring = workload.batch, workload.scoring
    found = session.run(SMITH_WATERMAN_TRACE, batch, scoring)  # builds the kernels
    columns = float(np.mean([len(one.path) for one in found]))
    row: dict[str, Any] = {"workload": workload.name, "pairs": len(batch), "cells": batch.n_cells, "columns": columns}
    row |= checked(workload, found)
    peer = Peer(workload) if workload.peer_matrix else None
    threads = (1, os.cpu_count() or 1)
    wall, kernel, spent = [], [], {(name, n): [] for name in PEERS for n in threads if peer}
    scores = [one.score for one in found]
    row["parasail_differing"] = {}
    for _ in range(options.rounds):
        began, computed = time.perf_counter(), session.kernel_seconds
        session.run(SMITH_WATERMAN_TRACE, batch, scoring)
        wall.append(time.perf_counter() - began)
        kernel.append(session.kernel_seconds - computed)
        fastest = min((min(seconds) for seconds in spent.values() if seconds), default=0.0)
        for (name, n), seconds in spent.items():
            if not seconds or min(seconds) <= 3 * fastest:
                used, values = peer.seconds(name, n)
                seconds.append(used)
                row["parasail_differing"][name] = sum(a != b for a, b in zip(values, scores, strict=True))
    row |= {"milliseconds": round(1e3 * min(wall), 3), "kernel_milliseconds": round(1e3 * min(kernel), 3)}
    row["gcups"] = round(batch.n_cells / min(wall) / 1e9, 2)
    for n in threads if peer else ():
        # What overflowed without being computed again is not compared.
        valid = [name for name in PEERS if not row["parasail_differing"][name]]
        best = min(valid, key=lambda name, n=n: min(spent[name, n]))
        row[f"parasail_on_{n}"] = {"best": best, "milliseconds": round(1e3 * min(spent[best, n]), 3)}
        row[f"times_parasail_on_{n}"] = round(min(spent[best, n]) / min(wall), 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--hits", type=int, default=2000)
    parser.add_argument("--long", type=int, default=40_000)
    parser.add_argument("--without", nargs="+", default=[], help="names of workloads")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    parasail = None
    if not options.no_peer:
        import parasail
    device = pick_device(options.device)
    with open_session(device) as session:
        rows = [benchmark(session, workload, options) for workload in workloads(options, parasail)]
    text = json.dumps(
        {
            "kind": "pair tracebacks", "device": device.name, "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(), "rows": rows,
        },
        indent=1,
    )  # fmt: skip
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
