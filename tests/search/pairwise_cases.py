"""Small sequence files for pairwise searches, and searches of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import Cancelled
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, create_run
from clalign.values.devices import REFERENCE, Device
from tests.computing import compute_search

LETTERS = {"amino": "ACDEFGHIKLMNPQRSTVWY", "dna": "ACGT"}


def random_text(rng: np.random.Generator, alphabet: str, n: int) -> str:
    return "".join(rng.choice(list(LETTERS[alphabet]), n))


def changed(rng: np.random.Generator, alphabet: str, text: str) -> str:
    """Return a text with a fifth of its letters replaced, lost or doubled."""
    letters = []
    for letter in text:
        chance = rng.random()
        if chance > 0.05:
            letters.append(letter if chance > 0.15 else random_text(rng, alphabet, 1))
        if chance > 0.97:
            letters.append(letter)
    return "".join(letters)


def fasta(path: Path, records: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records))
    return path


def make_inputs(folder: Path, alphabet: str, n: int = 24) -> tuple[Path, Path]:
    """Write queries, and targets of which some are related to them, one on the other strand."""
    rng = np.random.default_rng(5)
    queries = [(f"q{i} query", random_text(rng, alphabet, length)) for i, length in enumerate((70, 25, 110))]
    targets = [(f"t{i} target {i}", random_text(rng, alphabet, int(rng.integers(10, 90)))) for i in range(n)]
    for i, (_, text) in enumerate(queries):
        targets.insert(7 * i, (f"related{i}", random_text(rng, alphabet, 9) + changed(rng, alphabet, text)))
    other = changed(rng, alphabet, queries[0][1])
    if alphabet == "dna":
        other = other.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    targets += [("other", random_text(rng, alphabet, 30) + other), ("nothing", "")]
    return fasta(folder / "queries.fa", queries), fasta(folder / "targets.fa", targets)


def records(path: Path) -> list[tuple[str, str]]:
    parts = [part.split("\n", 1) for part in path.read_text().split(">")[1:]]
    return [(head.split()[0], body.replace("\n", "")) for head, body in parts]


class Watching(QuietContext):
    """Keeps the warnings, and stops a job after some batches."""

    def __init__(self, batches: int | None = None) -> None:
        self.texts: list[str] = []
        self.batches = batches

    def warn(self, text: str) -> None:
        self.texts.append(text)

    def partial(self, **facts: Any) -> None:
        if self.batches is not None:
            self.batches -= 1

    def check(self) -> None:
        if self.batches is not None and self.batches <= 0:
            raise Cancelled


def search(
    inputs: tuple[Path, Path], path: Path, device: Device = REFERENCE, context: Any = None, **options: Any
) -> RunFile:
    spec = PairwiseSpec(str(inputs[0]), str(inputs[1]), **options)
    run = create_run(path, engine="pairwise", spec=spec.to_dict(), direction="pairwise", state="new")
    try:
        compute_search(run, spec, lambda words: device, context or QuietContext())
    except BaseException:
        run.close()
        raise
    return run
