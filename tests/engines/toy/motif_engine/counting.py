"""What is asked, how it is counted, and how the counts are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, Session, no_check
from clalign.databases.loading import load_database
from clalign.databases.reports import InputReport
from clalign.engines.commands import Command, Input
from clalign.engines.export_lines import write_lines
from clalign.engines.export_source import ExportSource
from clalign.engines.exports import Export
from clalign.engines.lazy_imports import LazyImport
from clalign.errors import OptionError
from clalign.execution.job import Task
from clalign.execution.speed import Estimate, Pace, seconds_of
from clalign.execution.units import Plan, Scored
from clalign.runs.tables import Declaration, EngineTable
from clalign.values.alphabets import encode
from clalign.values.checked import Count, Place
from clalign.values.devices import Device
from clalign.values.hits import Hit, Scores
from clalign.values.sequences import SequenceBatch, SequenceDatabase
from clalign.values.specs import INPUT, REPORT, Spec, option

Codes = npt.NDArray[np.uint8]


TIMES = EngineTable(name="motif_times", columns={"times": Place, "sequences": Count})
"""How many sequences have the motif so many times."""

RUNS = Declaration(engine="motif", tables=(TIMES,))


@dataclass(frozen=True, slots=True)
class MotifSpec(Spec):
    """Which motif is counted in which sequences."""

    inputs: ClassVar[tuple[str, ...]] = ("targets",)

    targets: str
    device: str = "auto"
    motif: str = option("", "--motif", "Motif", "residues to count", INPUT)
    least: int = option(1, "--least", "Least count", "report {found} with at least so many", REPORT, positive=True)
    alphabet: str = "amino"
    sequence_format: str = "auto"

    def __post_init__(self) -> None:
        if not self.motif:
            raise OptionError("No motif is given.", "Name it with --motif.")

    @property
    def command(self) -> str:
        """``motif``."""
        return "motif"


EXPORTS = (
    Export("text", "-o", "write the counts", "Counts", ".txt", LazyImport(f"{__name__}:write_text"), is_main=True),
    Export(
        "fasta",
        "--fasta",
        "write the sequences that have it, whole",
        "Sequences",
        ".fasta",
        LazyImport("clalign.engines.export_lines:write_fasta"),
    ),
)

COMMANDS = {
    "motif": Command(
        description="Count a motif in every sequence.",
        examples=("clalign motif --motif GKT proteins.fasta",),
        inputs=(Input("targets", "SEQDB", "sequences"),),
        outputs=EXPORTS,
        found="sequences",
    )
}


class MotifStage:
    """Counts of a motif in each sequence of a batch."""

    name = "motif"

    def reference(self, batch: SequenceBatch, model: Codes, check: Check = no_check) -> npt.NDArray[np.int32]:
        """Count with Python."""
        wanted, counts = model.tobytes(), []
        for start, end in zip(batch.offsets[:-1].tolist(), batch.offsets[1:].tolist(), strict=True):
            check()
            text = batch.codes[start:end].tobytes()
            counts.append(sum(text.startswith(wanted, at) for at in range(len(text))))
        return np.array(counts, np.int32)

    def start(self, session: Any, batch: SequenceBatch, model: Codes) -> Callable[[], npt.NDArray[np.int32]]:
        """Start counting on an OpenCL session; return what waits for the counts."""
        residues, offsets = session.residues(batch)
        counts = session.results(4 * len(batch))
        session.launch(
            "motif_engine:motif_item", "count_motif", {"M": len(model)}, len(batch), 1,
            residues, offsets, session.upload(model), counts,
        )  # fmt: skip
        fetched: Callable[[], npt.NDArray[np.int32]] = session.fetch(counts, len(batch), np.int32)
        return fetched


MOTIF = MotifStage()


@dataclass
class MotifSearch:
    """The motif against one database."""

    codes: Codes
    database: SequenceDatabase
    least: int

    @property
    def length(self) -> int:
        """Comparisons for each residue."""
        return len(self.codes)

    def start_scoring(self, session: Session, batch: SequenceBatch) -> Callable[[], Scored[None]]:
        """Start counting in a batch."""
        wait = session.start(MOTIF, batch, self.codes)
        return lambda: Scored(Scores(batch.targets, wait()), None, bin_width=1)

    def start_hits(self, session: Session, scored: Scored[None]) -> Callable[[], tuple[Hit, ...]]:
        """Return what lists the sequences that have it."""
        del session
        counts = zip(scored.scores.targets.tolist(), scored.scores.values.tolist(), strict=True)
        return lambda: tuple(self._hit(row, count) for row, count in counts if count >= self.least)

    def _hit(self, row: int, count: int) -> Hit:
        place, length = int(self.database.order[row]), self.database.length(row)
        return Hit(row, place, *self.database.header(row), length, float(count), 0.0, math.nan, count, (), 0)

    def described(self, raw: int, row: int) -> dict[str, Any]:
        """Return the sequence with the most."""
        return {"name": self.database.header(row)[0], "score": float(raw), "evalue": None}


@dataclass
class MotifWork:
    """The motif and the sequences."""

    task: Task[MotifSpec]
    targets: SequenceDatabase
    report: InputReport

    @classmethod
    def loaded(cls, task: Task[MotifSpec]) -> MotifWork:
        """Read the sequences."""
        spec = task.spec
        return cls(task, *load_database(spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format))

    def store(self) -> dict[str, Any]:
        """Store the one query."""
        motif = self.task.spec.motif
        card = {"name": motif, "accession": "", "description": "", "length": len(motif), "alphabet": "amino",
                "origin": "motif", "histogram_bin": 1, "histogram_unit": 1.0}  # fmt: skip
        self.task.run.set_cards([card])
        return {"n_targets": len(self.targets)}

    def cautions(self) -> list[str]:
        """Nothing."""
        return []

    def plan(self) -> Plan:
        """Count in all sequences."""
        codes, targets = encode(self.task.spec.motif), self.targets
        search = MotifSearch(codes, targets, self.task.spec.least)
        return Plan(
            [0], len(targets), float(targets.n_residues) * len(codes), lambda run, number: search,
            lambda device: Pace.of(device, targets, [len(codes)]),
        )  # fmt: skip

    def estimate(self, n_cells: float, devices: Sequence[Device]) -> Estimate:
        """Return the time by the measured speed."""
        return Estimate("1 motif", seconds_of(n_cells, devices))

    def summary(self) -> dict[str, Any]:
        """Count how often each count is, in a table of the engine; nothing more is told."""
        run = self.task.run
        if not run.engine_rows(TIMES.name):
            times, sequences = run.histogram(0)
            run.add_engine_rows(TIMES.name, zip(times.astype(int).tolist(), sequences.tolist(), strict=True))
        return {}


class MotifSource(ExportSource):
    """A run with what the writers ask of it."""

    def found(self) -> Iterator[Hit]:
        """Yield the sequences, those with the most first."""
        yield from self.stored(self.keys.of_query(0))


def write_text(source: MotifSource, stream: TextIO) -> int:
    """Write name and count of each sequence."""
    return write_lines(stream, (f"{hit.name}\t{hit.raw}" for hit in source.found()))
