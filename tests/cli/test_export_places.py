"""What GFF3, BED and SAM say of hits: places, names, and what their scores are."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from clalign.cli import main

pytestmark = pytest.mark.usefixtures("worker_here")


def sw(*words: str) -> int:
    return main(["sw", "-q", "--device", "reference", *words])


def records(path: Path) -> list[list[str]]:
    lines = path.read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith(("#", "@"))]


def attributes(path: Path) -> list[dict[str, str]]:
    return [dict(word.split("=", 1) for word in line[8].split(";")) for line in records(path)]


@pytest.mark.parametrize(("mode", "scale"), [("global", "raw"), ("local", "bits")])
def test_scores_without_statistics_are_not_called_bits(mode: str, scale: str, tmp_path: Path) -> None:
    fasta = tmp_path / "a.fa"
    fasta.write_text(">a\nMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA\n")
    made = {flag: tmp_path / flag[2:] for flag in ("--gff3", "--query-table", "--hit-matrix", "--html", "--tsv")}
    flags = [word for flag, path in made.items() for word in (flag, str(path))]
    pairs = ["--pairs"] if mode == "global" else []
    assert sw(*pairs, "--mode", mode, "-o", str(tmp_path / "o"), *flags, str(fasta), str(fasta)) == 0
    (row,) = csv.DictReader(made["--tsv"].read_text().splitlines(), delimiter="\t")
    score = row["bits"] or row["score"]
    said = attributes(made["--gff3"])[0]
    assert {"bits": "bits", "raw": "raw_score"}[scale] in said
    assert said.get("bits", said.get("raw_score")) == score
    assert ("bits" in said) == (scale == "bits")
    (query,) = csv.DictReader(made["--query-table"].read_text().splitlines()[:2], delimiter="\t")
    assert (query["best_score"], query["score_unit"]) == (score, scale)
    assert f"# scores: {scale}\n" in made["--hit-matrix"].read_text()
    assert f"{float(score):.1f} {scale}</td>" in made["--html"].read_text()
