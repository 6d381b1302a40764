"""clalign's scans equal those of hmmpfam 2.3.2 in every printed digit, through the real command line."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.runs.run_file import open_run
from clalign.values.devices import Device

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from acceptance import plain_copy  # noqa: E402
from hmm2search_output import (  # noqa: E402
    GoldenAnswer,
    differences,
    parse_scan,
)

pytestmark = pytest.mark.usefixtures("worker_here")

CASES = sorted((GOLDEN / "scans").glob("*.json"))


def library(profiles: list[str], folder: Path) -> str:
    path = folder / "library.hmm"
    path.write_text("".join((GOLDEN / "profiles" / f"{name}.hmm").read_text() for name in profiles))
    return str(path)


@pytest.mark.thorough(case=[case for case in CASES if "__proteins" not in case.stem and "library" not in case.stem])
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_equals_hmmpfam(case: Path, fast_device: Device, tmp_path: Path) -> None:
    stored = json.loads(case.read_text())
    expected = [(answer.pop("query"), GoldenAnswer.from_dict(answer)) for answer in stored["answers"]]
    text, tsv, run = tmp_path / "out.txt", tmp_path / "out.tsv", tmp_path / "run.clalign"
    inputs = [library(stored["profiles"], tmp_path), str(GOLDEN / "sequences" / f"{stored['sequences']}.fa")]
    words = ["hmmscan", "-q", "--device", fast_device.id, "-o", str(text), "--tsv", str(tsv), "--run", str(run)]
    assert main([*words, *stored["options"], *inputs]) == 0
    found = parse_scan(text.read_text())
    assert [query for query, _ in found] == [query for query, _ in expected]
    for (query, theirs), (_, ours) in zip(expected, found, strict=True):
        assert differences(theirs, ours) == [], query
        assert [d.target_start for d in ours.domains] == sorted(d.target_start for d in ours.domains)
    rows = list(csv.DictReader(tsv.read_text().splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
    pairs = [(query, hit.name) for query, answer in expected for hit in answer.hits]
    assert sorted((row["query"], row["target"]) for row in rows) == sorted(pairs)
    with open_run(run) as kept:
        assert kept.facts.direction == "scan"
        given = dict(zip(stored["options"], stored["options"][1:], strict=False)).get("-Z")
        assert kept.facts.n_targets == float(given or len(stored["profiles"]))


def test_there_are_cases_of_every_kind() -> None:
    names = [path.stem for path in CASES]
    assert len(names) >= 7
    for kind in ("odd_protein", "odd_dna", "nonull2", "cut_ga", "domE", "domT", "_Z_"):
        assert any(kind in name for name in names), kind


@pytest.mark.thorough
def test_the_profiles_of_the_data(data_folder: Path, hmm2search: str, tmp_path: Path) -> None:
    """Every protein profile of the acceptance data in one library against some of its globins and others."""
    folder = data_folder / "hmmer2"
    files = sorted(path for pattern in ("*.hmm", "*.hmm2") for path in folder.glob(pattern))
    both = tmp_path / "library.hmm"
    both.write_text("".join(path.read_text() for path in files))
    ours = tmp_path / "ours.txt"
    for name in ("tut_globins630.fa", "test_Optiontests.fa"):
        sequences = str(plain_copy(folder / name, tmp_path, 30_000))
        theirs = subprocess.run(
            [hmm2search.replace("hmm2search", "hmm2pfam"), "--cpu", "0", str(both), sequences],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert main(["hmmscan", "-q", "-o", str(ours), str(both), sequences]) == 0
        expected, found = parse_scan(theirs.stdout), parse_scan(ours.read_text())
        assert [query for query, _ in found] == [query for query, _ in expected]
        assert len(found) > 0
        for (query, wanted), (_, answer) in zip(expected, found, strict=True):
            assert differences(wanted, answer) == [], query


def test_domains_that_begin_together_are_in_the_order_of_the_library(tmp_path: Path) -> None:
    """As hmm2pfam lists them: it prints the spoiled profile first in the lower table alone."""
    better = (GOLDEN / "profiles" / "rrm_ls.hmm").read_text()
    lines = better.replace("NAME  ", "NAME  spoiled_", 1).splitlines(keepends=True)
    for place, line in enumerate(lines):
        words = line.split()
        if len(words) > 20 and words[0] in ("40", "41", "42"):
            lines[place] = f"  {' '.join([words[0], *words[8:21], *words[1:8], *words[21:]])}\n"
    both, sequences, out = tmp_path / "both.hmm", tmp_path / "one.fa", tmp_path / "out.txt"
    both.write_text("".join(lines) + better)
    built = (GOLDEN / "sequences" / "built.fa").read_text().split(">")[1:]
    sequences.write_text(next(f">{record}" for record in built if record.startswith("rrm0_pair")))
    assert main(["hmmscan", "-q", "--noali", "-o", str(out), str(both), str(sequences)]) == 0
    hits, domains = out.read_text().split("Parsed for domains:")
    assert [line.split()[0] for line in hits.splitlines() if "RNA" in line] == ["rrm_ls", "spoiled_rrm_ls"]
    found = [tuple(line.split()[:2]) for line in domains.splitlines() if "[]" in line]
    assert found == [(name, part) for part in ("1/2", "2/2") for name in ("spoiled_rrm_ls", "rrm_ls")]
