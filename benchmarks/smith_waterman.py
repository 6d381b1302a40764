"""Speed of Smith-Waterman's scores, and parasail's on one thread beside it in the same run.

The database is synthetic and seeded, with the lengths of Swiss-Prot; the queries are random, too, so hardly
any score overflows a byte, neither here nor there. Every round measures all in turn, but for variants of
parasail that took more than twice as long as another one; the best round of each counts. Variants with a query
profile are measured, where there is one; what calls from Python cost by themselves (those with a query and
targets of one residue) is taken off parasail's time. All scores are compared. Rates count cells: residues of
the query times residues of the targets, by the processor's time. Prints one JSON object.

    python benchmarks/smith_waterman.py --device cpu --output smith_waterman.json
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.formats.matrices import load_matrix
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.values.alphabets import decode
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import swissprot_batch

MATRIX = "BLOSUM62"
GAPS = GapCosts(12, 1)

PEERS = ("striped_profile_8", "striped_profile_16", "striped_profile_sat", "scan_profile_8", "scan_profile_16",
         "scan_profile_sat", "diag_8", "diag_16", "diag_sat")  # fmt: skip


class Peer:
    """Variants of parasail on texts of sequences; they are called without the wrapper of its Python package."""

    def __init__(self, texts: list[bytes]) -> None:
        import parasail
        from parasail.bindings_v2 import _lib, c_matrix_p

        self.parasail, self.library = parasail, _lib
        self.matrix = getattr(parasail, MATRIX.lower())
        self.texts = texts
        for name in PEERS:
            if "profile" not in name:
                text, number = ctypes.c_char_p, ctypes.c_int
                self.function(name).argtypes = [text, number, text, number, number, number, c_matrix_p]

    def function(self, name: str) -> Any:
        """Return a function of the library."""
        return getattr(self.library, f"parasail_sw_{name}")

    def caller(self, name: str, query: str) -> Callable[[bytes], Any]:
        """Return what aligns a query with a target."""
        function, gaps = self.function(name), (GAPS.first, GAPS.next)
        if "profile" in name:
            profile = getattr(self.parasail, f"profile_create_{name.rpartition('_')[2]}")(query, self.matrix)
            return lambda text: function(profile, text, len(text), *gaps)
        own = query.encode()
        return lambda text: function(own, len(own), text, len(text), *gaps, self.matrix)

    def seconds(self, name: str, query: str) -> float:
        """Return the processor time of all targets, without that of the calls."""
        free, spent = self.library.parasail_result_free, []
        for own, texts in ((query, self.texts), (query[:1], [text[:1] for text in self.texts])):
            align = self.caller(name, own)
            used = time.process_time()
            for text in texts:
                free(align(text))
            spent.append(time.process_time() - used)
        return spent[0] - spent[1]

    def scores(self, query: str) -> list[int]:
        """Return the scores of all targets."""
        profile = self.parasail.profile_create_sat(query, self.matrix)
        align = self.parasail.sw_striped_profile_sat
        return [align(profile, text.decode(), GAPS.first, GAPS.next).score for text in self.texts]


def benchmark(session: Any, batch: SequenceBatch, codes: Any, peer: Peer | None, rounds: int) -> dict[str, Any]:
    """Measure one query."""
    query = PairwiseQuery(Sequence("query", "", codes), Scoring(load_matrix(MATRIX), GAPS))
    found = session.run(SMITH_WATERMAN, batch, query)  # builds the kernel
    row: dict[str, Any] = {"query": len(codes), "in_16_bits": found.n_in_16_bits}
    if peer is not None:
        row["n_differing"] = int((found.scores.values != peer.scores(decode(codes))).sum())
    wall, cpu, device = [], [], []
    spent: dict[str, list[float]] = {name: [] for name in PEERS if peer is not None}
    for _ in range(rounds):
        began, used, computed = time.perf_counter(), time.process_time(), session.kernel_seconds
        session.run(SMITH_WATERMAN, batch, query)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
        device.append(session.kernel_seconds - computed)
        fastest = min((min(seconds) for seconds in spent.values() if seconds), default=0.0)
        for name, seconds in spent.items():
            if not seconds or min(seconds) <= 2 * fastest:
                seconds.append(peer.seconds(name, decode(codes)))
    cells = batch.n_cells(len(codes)) / 1e9
    row |= {"gcups": round(cells / min(device), 2), "seconds": round(min(wall), 5)}
    if session.device.kind == "cpu":
        row["gcups_per_core"] = round(cells / min(cpu), 2)
    if spent:
        row["parasail"] = {name: round(cells / min(seconds), 2) for name, seconds in spent.items()}
        best = max(row["parasail"].values())
        row["ratio_to_best"] = round(row.get("gcups_per_core", row["gcups"]) / best, 2)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, nargs="+", default=[150, 350, 1000], help="residues")
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(4)
    batch = swissprot_batch(rng, options.sequences)
    texts = [decode(batch.residues(row)).encode() for row in range(len(batch))]
    peer = None if options.no_peer else Peer(texts)
    device = pick_device(options.device)
    with open_session(device) as session:
        queries = [rng.choice(batch.codes, length) for length in options.queries]
        rows = [benchmark(session, batch, codes, peer, options.rounds) for codes in queries]
    text = json.dumps(
        {
            "kind": "smith-waterman", "device": device.name, "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(), "residues": int(batch.offsets[-1]), "longest": int(batch.lengths.max()),
            "matrix": MATRIX, "gaps": [GAPS.first, GAPS.next], "rows": rows,
        },
        indent=1,
    )  # fmt: skip
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
