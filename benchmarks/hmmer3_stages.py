"""Speed of each stage of the HMMER3 pipeline, and HMMER's own stages beside it in the same run.

The database is synthetic and seeded, with the lengths of Swiss-Prot; every stage scores all of it (or
the part that `--later-share` says), as if everything had passed the stages before. HMMER's stages
are those of pyhmmer on one thread with the database in memory: it is run with the filters set so that
nothing passes the stage in question, and the time of the stages before is taken off. Rates count
cells: nodes times residues. Results that this can compare are compared. Prints one JSON object.

    python benchmarks/hmmer3_stages.py --profiles pfam.hmm.gz --device cpu --output stages.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.formats.profiles import load_profiles
from clalign.stages.hmmer3.forward import FORWARD
from clalign.stages.hmmer3.msv import MSV
from clalign.stages.hmmer3.row_lists import all_rows, length_buffers
from clalign.stages.hmmer3.ssv import SSV
from clalign.stages.hmmer3.viterbi_filter import VITERBI_FILTER
from clalign.values.alphabets import decode
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.profiles import Hmm
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import swissprot_batch

NOTHING = 1e-300
"""A P-value that no random sequence has."""

STAGES = ("ssv", "msv", "viterbi_filter", "forward")


def head(batch: SequenceBatch, n: int) -> SequenceBatch:
    """Return every k-th sequence, so that there are about `n` of them and their lengths are those of the batch.

    Not the very first, which is the longest of all: it is no typical one among few.
    """
    step = max(1, len(batch) // n)
    rows = np.arange(step // 2, len(batch), step)
    return SequenceBatch.from_texts([batch.residues(row) for row in rows])


def enqueue_of(stage: str) -> Callable[[Session, SequenceBatch, LocalProfile], Any]:
    """Return what enqueues a stage on all rows of a batch."""
    if stage == "ssv":
        return lambda session, batch, profile: SSV.enqueue(session, batch, [profile])
    later = {"msv": MSV, "viterbi_filter": VITERBI_FILTER, "forward": FORWARD}[stage]

    def enqueue(session: Session, batch: SequenceBatch, profile: LocalProfile) -> Any:
        return later.enqueue(session, batch, [profile], all_rows(session, batch), length_buffers(session, batch))

    return enqueue


def measure(session: Any, stage: str, batch: SequenceBatch, profile: LocalProfile, repeats: int) -> dict[str, Any]:
    """Return the median rate of a stage, by the device's clock and by that of the processor."""
    enqueue, wall, cpu, kernel = enqueue_of(stage), [], [], []
    for round_ in range(repeats + 1):
        began, used, computed = time.perf_counter(), time.process_time(), session.kernel_seconds
        enqueue(session, batch, profile)
        session.finish()
        if round_:  # the first builds kernels and lays the batch out
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - used)
            kernel.append(session.kernel_seconds - computed)
    cells = batch.n_cells(profile.length)
    row = {"gcups": round(cells / statistics.median(kernel) / 1e9, 3), "seconds": round(statistics.median(wall), 5)}
    if session.device.kind == "cpu":
        row["gcups_per_core"] = round(cells / statistics.median(cpu) / 1e9, 3)
    return row


class Peer:
    """HMMER's stages, by way of pyhmmer, on one thread."""

    def __init__(self, path: Path) -> None:
        import pyhmmer

        self.pyhmmer = pyhmmer
        with pyhmmer.plan7.HMMFile(path) as file:
            self.models = {hmm.name: hmm for hmm in file}
        self.alphabet = next(iter(self.models.values())).alphabet
        self.blocks: dict[int, Any] = {}

    def block(self, batch: SequenceBatch) -> Any:
        """Return the sequences of a batch as HMMER holds them."""
        if id(batch) not in self.blocks:
            make = self.pyhmmer.easel.TextSequence
            texts = (make(name=f"s{row}".encode(), sequence=decode(batch.residues(row))) for row in range(len(batch)))
            self.blocks[id(batch)] = self.pyhmmer.easel.DigitalSequenceBlock(
                self.alphabet, [text.digitize(self.alphabet) for text in texts]
            )
        return self.blocks[id(batch)]

    def seconds(self, name: str, batch: SequenceBatch, repeats: int, **options: Any) -> float:
        """Return the median processor time of a search."""
        block, spent = self.block(batch), []
        for _ in range(repeats):
            pipeline = self.pyhmmer.plan7.Pipeline(self.alphabet, **options)
            used = time.process_time()
            pipeline.search_hmm(self.models[name], block)
            spent.append(time.process_time() - used)
        return statistics.median(spent)

    def rates(self, hmm: Hmm, batches: dict[str, SequenceBatch], repeats: int) -> dict[str, float]:
        """Return the rates of SSV (with MSV where it is needed), the Viterbi filter and Forward."""
        stop_after = {
            "ssv": {"F1": NOTHING, "bias_filter": False},
            "viterbi_filter": {"F1": 1.0, "F2": NOTHING, "bias_filter": False},
            "forward": {"F1": 1.0, "F2": 1.0, "F3": NOTHING, "bias_filter": False},
        }
        found = {}
        for stage, options in stop_after.items():
            batch = batches[stage]
            spent = self.seconds(hmm.name, batch, repeats, **options)
            if stage != "ssv":
                spent -= self.seconds(hmm.name, batch, repeats, **stop_after["ssv"])
            found[stage] = round(batch.n_cells(hmm.length) / spent / 1e9, 3)
        return found


def benchmark(
    session: Session, hmm: Hmm, batches: dict[str, SequenceBatch], peer: Peer | None, n: int
) -> dict[str, Any]:
    """Measure all stages of one model."""
    profile = to_local_profile(hmm)
    row: dict[str, Any] = {"profile": hmm.name, "nodes": hmm.length}
    for stage in STAGES:
        row[stage] = measure(session, stage, batches[stage], profile, n)
    if peer is not None:
        row["hmmer"] = peer.rates(hmm, batches, n)
        if session.device.kind == "cpu":
            row["ratio_per_core"] = {
                stage: round(row[stage]["gcups_per_core"] / rate, 2) for stage, rate in row["hmmer"].items()
            }
    return row


def chosen(models: list[Hmm], n: int) -> list[Hmm]:
    """Return models of evenly spread lengths."""
    ordered = sorted(models, key=lambda hmm: hmm.length)
    return [ordered[round(k * (len(ordered) - 1) / max(1, n - 1))] for k in range(n)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, required=True, help="HMMER3 library, not compressed for the peer")
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--later-share", type=float, default=0.1, help="share of them for the later stages")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    everything = swissprot_batch(np.random.default_rng(4), options.sequences)
    some = head(everything, max(1, int(options.sequences * options.later_share)))
    batches = {stage: everything if stage == "ssv" else some for stage in STAGES}
    peer = None if options.no_peer else Peer(options.profiles)
    device = pick_device(options.device)
    with open_session(device) as session:
        models = chosen(load_profiles(str(options.profiles)), options.models)
        rows = [benchmark(session, hmm, batches, peer, options.repeats) for hmm in models]
    text = json.dumps(
        {
            "kind": "hmmer3 stages", "device": device.name, "system": f"{platform.system()} {platform.machine()}",
            "cores": os.cpu_count(), "residues": int(everything.offsets[-1]), "residues_later": int(some.offsets[-1]),
            "rows": rows,
        },
        indent=1,
    )  # fmt: skip
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
