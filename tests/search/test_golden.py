"""clalign's results equal those of hmmsearch 2.3.2 in every printed digit, through the real command line."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.values.devices import Device

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from hmm2search_output import GoldenAnswer, GoldenDomain, GoldenHit, differences, parse_output  # noqa: E402

pytestmark = pytest.mark.usefixtures("worker_here")

CASES = sorted((GOLDEN / "answers").glob("*.json"))
SHORT = [case for case in CASES if re.search("__(built|odd|kat)", case.stem)]
ON_REFERENCE = [case for case in SHORT if re.search("rrm_.*built|globins.*odd|xyppx|katdna.*kat", case.stem)]


@pytest.mark.thorough(case=SHORT)
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_equals_hmmsearch(case: Path, opencl_device: Device, tmp_path: Path) -> None:
    check(case, opencl_device.id, tmp_path)


@pytest.mark.thorough(case=ON_REFERENCE[::3])
@pytest.mark.parametrize("case", ON_REFERENCE, ids=lambda path: path.stem)
def test_the_reference_equals_hmmsearch(case: Path, tmp_path: Path) -> None:
    """It is slow, and searches some of what is short."""
    check(case, "reference", tmp_path)


def check(case: Path, device: str, tmp_path: Path) -> None:
    """Compare text and tables of a search with the stored answer."""
    stored = json.loads(case.read_text())
    profile, sequences, options = (stored.pop(key) for key in ("profile", "sequences", "options"))
    stored.pop("command")
    expected = GoldenAnswer.from_dict(stored)
    text, tsv, domtsv = (tmp_path / name for name in ("hits.txt", "hits.tsv", "domains.tsv"))
    files = ["-o", str(text), "--tsv", str(tsv), "--domtsv", str(domtsv)]
    inputs = [str(GOLDEN / "profiles" / f"{profile}.hmm"), str(GOLDEN / "sequences" / f"{sequences}.fa")]
    assert main(["hmmsearch", "-q", "--device", device, *files, *options, *inputs]) == 0
    assert differences(expected, parse_output(text.read_text())) == []
    check_hits(rows_of(tsv), expected.hits)
    check_domains(rows_of(domtsv), expected.domains)


def test_there_are_cases_of_every_kind() -> None:
    """The stored answers must not dwindle unseen."""
    names = [path.stem for path in CASES]
    assert len(names) >= 34
    for kind in ("_ls__", "_fs__", "_g__", "_s__", "odd_protein", "odd_dna", "nonull2", "cut_ga", "domE"):
        assert any(kind in name for name in names), kind


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def rounds_to(text: str, printed: str, form: str) -> bool:
    """Tell whether a number of six digits may be the one that was printed with fewer.

    Six digits may stand exactly between two shorter numbers; then both are right.
    """
    value = float(text)
    half = abs(value) * 5e-6
    return printed in {format(x, form) for x in (value - half, value, value + half)}


def check_hits(rows: list[dict[str, str]], hits: tuple[GoldenHit, ...]) -> None:
    assert len(rows) == len(hits)
    rows = sorted(rows, key=lambda row: (row["target"], -float(row["score"])))
    for row, hit in zip(rows, sorted(hits, key=lambda hit: (hit.name, -float(hit.score))), strict=True):
        assert (row["target"], int(row["n_domains"])) == (hit.name, hit.n_domains)
        assert rounds_to(row["score"], hit.score, ".1f"), (row, hit)
        assert rounds_to(row["evalue"], hit.evalue, ".2g"), (row, hit)


def check_domains(rows: list[dict[str, str]], domains: tuple[GoldenDomain, ...]) -> None:
    names = ("target", "domain", "n_domains", "ali_from", "ali_to", "hmm_from", "hmm_to")
    assert len(rows) == len(domains)
    rows = sorted(rows, key=lambda row: [row[name] for name in names])
    for row, domain in zip(rows, sorted(domains, key=place), strict=True):
        assert [row[name] for name in names] == place(domain)
        assert rounds_to(row["score"], domain.score, ".1f"), (row, domain)
        assert rounds_to(row["i_evalue"], domain.evalue, ".2g"), (row, domain)


def place(domain: GoldenDomain) -> list[str]:
    return [
        str(value)
        for value in (
            domain.name, domain.number, domain.n_domains, domain.target_start, domain.target_end,
            domain.profile_start, domain.profile_end,
        )
    ]  # fmt: skip
