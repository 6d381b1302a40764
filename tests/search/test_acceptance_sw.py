"""Scores of 50 queries against many proteins, and of nucleic acids on both strands: equal to parasail's, all of them.

Needs ``CLALIGN_DATA`` and parasail. What is aligned is scored again by the search itself. Every other target with the
usual scoring, and every tenth with others; all of them in an exhaustive run, which takes parasail long.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.values.devices import Device

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from acceptance import EVERY_SEQUENCE  # noqa: E402

parasail: Any = pytest.importorskip("parasail")

pytestmark = pytest.mark.usefixtures("worker_here")

QUERIES = 50

SCORINGS = (
    # matrix, costs of the first residue of a gap and of each further one
    ("BLOSUM62", 12, 1), ("BLOSUM45", 16, 2), ("BLOSUM50", 13, 3), ("BLOSUM80", 11, 1), ("PAM250", 10, 10),
)  # fmt: skip

MODES = {"local": "sw", "global": "nw", "semiglobal": "sg"}


def records(path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and residues of a FASTA file."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for part in data.decode().split(">")[1:]:
        head, body = part.split("\n", 1)
        yield head.split()[0], body.replace("\n", "").upper()


def theirs(queries: list[str], targets: list[str], matrix: Any, gaps: tuple[int, int], name: str) -> list[int]:
    """Return parasail's scores of all pairs, query after query.

    Its striped shape is faster, but with linear gaps some scores are too low there, and differ from its own plain ones.
    """
    form = "striped" if gaps[0] > gaps[1] else "scan"
    align_16, align_32 = (getattr(parasail, f"sw_{form}_profile_{bits}") for bits in (16, 32))

    def scores(query: str) -> list[int]:
        if name != "sw":
            align = getattr(parasail, f"{name}_striped_32")
            return [align(query, target, *gaps, matrix).score for target in targets]
        narrow, wide = parasail.profile_create_16(query, matrix), parasail.profile_create_32(query, matrix)
        found = (align_16(narrow, target, *gaps) for target in targets)
        return [
            align_32(wide, target, *gaps).score if result.saturated else result.score
            for result, target in zip(found, targets, strict=True)
        ]

    with ThreadPoolExecutor(2) as pool:
        return [score for found in pool.map(scores, queries) for score in found]


def ours(path: Path) -> list[int]:
    return [int(line.rsplit("\t", 1)[1]) for line in path.read_text().splitlines()]


def differences(found: list[int], expected: list[int]) -> list[tuple[int, int, int]]:
    assert len(found) == len(expected)
    pairs = enumerate(zip(found, expected, strict=True))
    return [(place, a, b) for place, (a, b) in pairs if a != b]


@pytest.fixture(scope="module")
def queries(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("acceptance") / "queries.fa"
    some = list(records(data_folder / "sequences" / "mmseqs2_QUERY.fasta.gz"))[:QUERIES]
    path.write_text("".join(f">{name}\n{text}\n" for name, text in some))
    return path


@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("matrix", "first", "following"), SCORINGS)
def test_proteins(
    matrix: str, first: int, following: int, opencl_device: Device, queries: Path, data_folder: Path, tmp_path: Path
) -> None:
    every, targets, scores = (
        data_folder / "sequences" / "uniparc_5k.fasta.gz",
        tmp_path / "targets",
        tmp_path / "scores",
    )
    chosen = list(records(every))
    assert len(chosen) >= 5000
    chosen = chosen if EVERY_SEQUENCE else chosen[:: 2 if matrix == "BLOSUM62" else 10]
    targets.write_text("".join(f">{name}\n{text}\n" for name, text in chosen))
    costs = ["--gap-first", str(first), "--gap-next", str(following)]
    words = ["--matrix", matrix, *costs, "--scores", str(scores), "-o", str(tmp_path / "text"), "--device"]
    assert main(["sw", "-q", *words, opencl_device.id, str(queries), str(targets)]) == 0
    texts = [text for _, text in records(queries)], [text for _, text in chosen]
    assert differences(ours(scores), theirs(*texts, getattr(parasail, matrix.lower()), (first, following), "sw")) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", MODES)
def test_nucleic_acids(mode: str, opencl_device: Device, data_folder: Path, tmp_path: Path) -> None:
    ests = [(name, text) for name, text in records(data_folder / "dna" / "U89959_ests.fas") if set(text) <= set("ACGT")]
    some, others = ests[:12], ests[12:212]
    for name, chosen in (("queries", some), ("targets", others)):
        (tmp_path / name).write_text("".join(f">{key}\n{text}\n" for key, text in chosen))
    scores = tmp_path / "scores.tsv"
    words = ["--match", "2", "--mismatch", "-3", "--gapopen", "5", "--gapextend", "2", "--mode", mode, "--top", "20"]
    outputs = ["--scores", str(scores), "-o", str(tmp_path / "text"), "--device", opencl_device.id]
    assert main(["sw", "-q", *words, *outputs, str(tmp_path / "queries"), str(tmp_path / "targets")]) == 0
    matrix = parasail.matrix_create("ACGT", 2, -3)
    reverse = str.maketrans("ACGT", "TGCA")
    strands = [[text for _, text in some], [text.translate(reverse)[::-1] for _, text in some]]
    plus, minus = (theirs(texts, [text for _, text in others], matrix, (7, 2), MODES[mode]) for texts in strands)
    expected = [max(pair) for pair in zip(plus, minus, strict=True)]
    assert differences(ours(scores), expected) == []
