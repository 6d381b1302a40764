"""What GFF3, BED and SAM say of hits: places, names, and what their scores are."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.engines.pairwise.sam import Names
from clalign.formats.intervals import bed_line
from clalign.values.hits import matched_places

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
    shown = attributes(made["--gff3"])[0]
    assert {"bits": "bits", "raw": "raw_score"}[scale] in shown
    assert shown.get("bits", shown.get("raw_score")) == score
    assert ("bits" in shown) == (scale == "bits")
    (query,) = csv.DictReader(made["--query-table"].read_text().splitlines()[:2], delimiter="\t")
    assert (query["best_score"], query["score_unit"]) == (score, scale)
    assert f"# scores: {scale}\n" in made["--hit-matrix"].read_text()
    assert f"{float(score):.1f} {scale}</td>" in made["--html"].read_text()


def test_each_line_of_a_domain_over_introns_names_its_part_of_the_family(tmp_path: Path) -> None:
    """Coding sequences of NCBI name their exons; the part in the middle has an insert of two residues."""
    query, targets, made = tmp_path / "q.fa", tmp_path / "t.fa", tmp_path / "genome.gff3"
    query.write_text(">q\nMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA\n")
    text = "MKVLAARTEWYGHHKLMNPPPQRSTVWYACDEFGHIKLMNAA"
    exons = {"": "join(101..130,201..232,301..364)", "complement": "complement(join(101..164,201..232,301..330))"}
    for strand, location in exons.items():
        targets.write_text(f">lcl|NC_1.1_prot_1 [location={location}]\n{text}\n")
        assert sw("-o", str(tmp_path / "o"), "--genome-gff3", str(made), str(query), str(targets)) == 0
        shown = [(line[3], line[4], line[8].split("Target=q ")[1].split(";")[0]) for line in records(made)]
        expected = {("101", "130", "1 10"), ("201", "232", "11 19"), ("301", "364", "19 40")}
        if strand:
            expected = {("301", "330", "1 10"), ("201", "232", "11 19"), ("101", "164", "19 40")}
        assert set(shown) == expected
        assert len({line[8].split(";")[0] for line in records(made)}) == 1, "they are of one match"


def test_each_part_of_a_gene_on_both_strands_has_its_own_in_gff3_and_none_in_bed(tmp_path: Path) -> None:
    text = "MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA"
    query, targets, gff3, bed = (tmp_path / name for name in ("q.fa", "t.fa", "genome.gff3", "genome.bed"))
    query.write_text(f">q\n{text}\n")
    places = ("join(complement(101..160),301..360)", "join(941..1000,1..60)", "join(1..60,60..119)")
    targets.write_text("".join(f">lcl|c_prot_{n} [location={place}]\n{text}\n" for n, place in enumerate(places)))
    assert sw("-o", str(tmp_path / "o"), "--genome-gff3", str(gff3), "--genome-bed", str(bed), str(query), str(targets)
              ) == 0  # fmt: skip
    lines = zip(records(gff3), attributes(gff3), strict=True)
    shown = [(*line[3:5], line[6], values["Target"]) for line, values in lines]
    assert shown == [
        ("101", "160", "-", "q 1 20"), ("301", "360", "+", "q 21 40"), ("941", "1000", "+", "q 1 20"),
        ("1", "60", "+", "q 21 40"), ("1", "60", "+", "q 1 20"), ("60", "119", "+", "q 21 40"),
    ]  # fmt: skip
    assert [line[1:3] + line[9:] for line in records(bed)] == [["0", "119", "1", "119", "0"]]
    words = "# left out: 2 domains on both strands or across the origin, for which BED has no blocks\n"
    assert bed.read_text().endswith(words)
    assert "left out" not in gff3.read_text()


def test_a_name_that_occurs_twice_has_one_region_in_gff3(tmp_path: Path) -> None:
    text = "MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA"
    query, targets, made = tmp_path / "q.fa", tmp_path / "t.fa", tmp_path / "a.gff3"
    query.write_text(f">q\n{text}\n")
    targets.write_text(f">t\n{text}\n>one\n{text}\n>t\n{text}AAA\n")
    assert sw("-o", str(tmp_path / "o"), "--gff3", str(made), str(query), str(targets)) == 0
    regions = [line for line in made.read_text().splitlines() if line.startswith("##sequence-region")]
    assert regions == ["##sequence-region t 1 43", "##sequence-region one 1 40"]
    assert len(records(made)) == 3


@pytest.mark.parametrize(
    ("path", "places", "expected"),
    [("MMIIMDM", (0, 2), (0, 2)), ("MMIIMDM", (2, 4), None), ("MMIIMDM", (3, 6), (2, 5)), ("", (0, 3), None)],
)
def test_places_are_matched_along_the_path(path: str, places: tuple[int, int], expected: tuple[int, int]) -> None:
    assert matched_places(path, *places) == expected


def test_no_line_of_bed_is_a_comment() -> None:
    line = bed_line("#1 x", [(0, 9)], "#family", 3.0, ".", blocks=False)
    assert line == "%231_x\t0\t9\t%23family\t3\t."


def test_names_in_sam_are_what_it_allows_and_each_of_one_sequence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    query, targets, made = tmp_path / "q.fa", tmp_path / "t.fa", tmp_path / "a.sam"
    text = "MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA"
    query.write_text(f">q\n{text}\n>q\n{text[5:]}\n>ä\n{text[2:]}\n")
    names = ["t", "ä", "t", "ö", "*x", "t_2"]
    targets.write_text("".join(f">{name}\n{text[place:]}\n" for place, name in enumerate(names)))
    assert main(["sw", "--device", "reference", "-o", str(tmp_path / "o"), "--sam", str(made), str(query), str(targets)]
                ) == 0  # fmt: skip
    messages = capsys.readouterr().err
    assert re.search(r"targets .*\b2 .*\bt\b", messages)
    assert re.search(r"queries .*\b1 ", messages)
    head = [line.split("\t") for line in made.read_text().splitlines() if line.startswith("@SQ")]
    assert [line[1] for line in head] == ["SN:t", "SN:%C3%A4", "SN:t_2", "SN:%C3%B6", "SN:%2Ax", "SN:t_2_2"]
    assert [line[2] for line in head] == [f"LN:{len(text) - place}" for place in range(6)]
    assert [line[3:] for line in head] == [[], ["DS:ä"], ["DS:t"], ["DS:ö"], ["DS:*x"], ["DS:t_2"]]
    assert {line[0] for line in records(made)} == {"q", "q_2", "%C3%A4"}
    assert {line[2] for line in records(made)} == {line[1][3:] for line in head}


def test_long_names_of_queries_stay_within_the_limit_of_sam() -> None:
    names = Names([(0, "x" * 300), (1, "x" * 299)], are_targets=False)
    assert (names[0], names[1]) == ("x" * 254, "x" * 252 + "_2")
