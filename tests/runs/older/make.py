"""Make the run files and exports of this folder, with the program of 58dec58, in a folder with the inputs."""

import contextlib
from pathlib import Path

from clalign.errors import Cancelled
from clalign.jobs import QuietContext
from clalign.runs import open_run
from clalign.search.export import export, writers_of
from clalign.search.pairwise_search import pairwise_search
from clalign.search.pipeline import Pace
from clalign.search.profile_search import hmmsearch

RUNS = {
    "hmm2search": (hmmsearch, "hmmer2.hmm", "proteins.fa", {"evalue": 50.0}),
    "hmmsearch": (hmmsearch, "hmmer3.hmm", "proteins.fa", {"evalue": 1000.0, "f1": 0.9, "f2": 0.9, "f3": 0.9}),
    "hmmscan": (
        hmmsearch, "hmmer3.hmm", "proteins.fa",
        {"direction": "scan", "evalue": 1000.0, "f1": 0.5, "f2": 0.5, "f3": 0.1},
    ),
    "sw_protein": (pairwise_search, "queries.fa", "proteins.fa", {"evalue": 100.0}),
    "sw_dna": (pairwise_search, "dna_queries.fa", "dna.fa", {"evalue": 1000.0, "top": 5}),
}  # fmt: skip


class Stopping(QuietContext):
    """Stops a search after so many batches."""

    def __init__(self, after: int) -> None:
        self.left = after

    def partial(self, **facts: object) -> None:
        del facts
        self.left -= 1
        if self.left == 0:
            raise Cancelled


Pace.residues = property(lambda self: 2500)
for name, (search, queries, targets, options) in RUNS.items():
    for kind in ("done", "half"):
        path = Path(f"{name}_{kind}.clalign")
        with contextlib.suppress(Cancelled):
            search(queries, targets, path, Stopping(4 if kind == "half" else -1), device="reference", **options).close()
        with open_run(path, writable=True) as run:
            run.connection.execute("PRAGMA journal_mode = DELETE")
            writers = list(writers_of(run))
        for writer in writers if kind == "done" else ():
            export(path, writer, f"{name}.{writer}")
