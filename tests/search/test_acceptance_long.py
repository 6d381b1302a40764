"""Genomes pair by pair: scores are those of the kernel that scores alone, and of parasail; alignments score as much.

Needs ``CLALIGN_DATA``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.databases.loading import load_database
from clalign.engines.pairwise.inputs import reverse_complement, scoring_of
from clalign.runs.run_file import open_run
from clalign.values.alphabets import decode
from clalign.values.devices import Device
from clalign.values.pair_alignments import PairAlignment, path_of, path_score
from clalign.values.sequences import Sequence

pytestmark = [pytest.mark.usefixtures("worker_here"), pytest.mark.timeout(900)]

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

from acceptance import EVERY_SEQUENCE  # noqa: E402

MAX_BASES = 50_000 if EVERY_SEQUENCE else 10_000
"""Of a sequence, from its beginning, so that there are several strips: two whole chloroplasts take minutes."""

SWAPPED = str.maketrans("ID", "DI")

MITOCHONDRIA = "MT-human.fa", "MT-orang.fa"
CHLOROPLASTS = "NC_000932_Arabidopsis_chloroplast.gb", "NC_014267.1.gb"

CASES = (
    (MITOCHONDRIA, {}), (MITOCHONDRIA, {"--strand": "both"}), (MITOCHONDRIA, {"--mode": "global"}),
    (MITOCHONDRIA, {"--mode": "semiglobal", "--gap-first": "3", "--gap-next": "3"}),
    (MITOCHONDRIA, {"--mode": "ungapped"}), (("lambda_NC_001416.fa", "SARS-CoV-2_MN908947.3.fasta"), {}),
    (("SARS-CoV-2_MN908947.3.fasta", "MT-human.fa"), {"--mode": "global", "--strand": "both"}),
    (MITOCHONDRIA, {"--gap-first": "3", "--gap-next": "3"}),
    (("lambda_NC_001416.fa", "human_T1.fa"), {"--mode": "local"}), (CHLOROPLASTS, {"--mode": "semiglobal"}),
)  # fmt: skip


def only(path: Path) -> Any:
    """Return the sequences of a file that holds one."""
    from clalign.jobs import QuietContext

    database = load_database(str(path), alphabet="dna", sequence_format="auto", context=QuietContext())[0]
    assert len(database) == 1
    return database


def beginning(path: Path, folder: Path) -> Path:
    """Write the first bases of the sequence of a file to another one."""
    made = folder / f"{path.stem}.fa"
    made.write_text(f">{path.stem}\n{decode(only(path).residues(0)[:MAX_BASES])}\n")
    return made


@pytest.mark.thorough
@pytest.mark.parametrize(("files", "options"), CASES, ids=lambda value: "-".join(map(str, value)) or "usual")
def test_scores_are_those_of_a_second_method(
    files: tuple[str, str], options: dict[str, str], opencl_device: Device, data_folder: Path, tmp_path: Path
) -> None:
    inputs = [beginning(data_folder / "dna" / name, tmp_path) for name in files]
    words = [word for pair in ({"--strand": "plus"} | options).items() for word in pair]
    words += ["--alphabet", "dna", "--device", opencl_device.id, "-o", str(tmp_path / "text")]
    run, scores = tmp_path / "long.clalign", tmp_path / "scores.tsv"
    assert main(["sw", "-q", "--long", *words, "--run", str(run), *map(str, inputs)]) == 0
    assert main(["sw", "-q", *words, "--top", "1", "--scores", str(scores), *map(str, inputs)]) == 0
    query, target = (only(path) for path in inputs)
    with open_run(run) as opened:
        (hit,), scoring = opened.hits(), scoring_of(opened)
    (line,) = scores.read_text().splitlines()
    assert int(line.rsplit("\t", 1)[1]) == hit.raw
    (part,) = hit.domains
    assert part.pair is not None
    (begin, end), codes = part.query_range, query.residues(0)
    if part.pair.strand < 0:
        codes = reverse_complement(Sequence("", "", codes), query.alphabet).codes
        begin, end = len(codes) - end, len(codes) - begin
    path = path_of(part.cigar)
    assert path == part.states.translate(SWAPPED)
    assert path.count("M") + path.count("I") == end - begin
    assert (
        path_score(PairAlignment(0, (begin, end), part.target_range, path), codes, target.residues(0), scoring)
        == hit.raw
    )


PARASAIL: dict[str, Callable[[Any], Any]] = {
    "local": lambda parasail: parasail.sw_striped_32, "global": lambda parasail: parasail.nw_striped_32,
    "semiglobal": lambda parasail: parasail.sg_striped_32,
}  # fmt: skip


@pytest.mark.parametrize("mode", PARASAIL)
def test_scores_are_parasail_s(mode: str, opencl_device: Device, data_folder: Path, tmp_path: Path) -> None:
    """What is no base was taken out, since parasail knows no other letters here."""
    parasail = pytest.importorskip("parasail")
    texts = []
    for name in MITOCHONDRIA:
        text = "".join((data_folder / "dna" / name).read_text().split("\n")[1:]).upper()
        texts.append("".join(letter for letter in text if letter in "ACGT"))
        (tmp_path / name).write_text(f">{name}\n{texts[-1]}\n")
    scores = tmp_path / "scores.tsv"
    words = [
        "--mode",
        mode,
        "--gap-first",
        "7",
        "--gap-next",
        "2",
        "--device",
        opencl_device.id,
        "--scores",
        str(scores),
    ]
    inputs = [str(tmp_path / name) for name in MITOCHONDRIA]
    assert main(["sw", "-q", "--long", "-o", str(tmp_path / "text"), *words, *inputs]) == 0
    expected = PARASAIL[mode](parasail)(*texts, 7, 2, parasail.matrix_create("ACGT", 2, -3)).score
    assert int(scores.read_text().rsplit("\t", 1)[1]) == expected
