"""Coverage and identity are of the domains that are listed, wherever they are told."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.runs.pages import ALL_QUERIES, HitPages, HitQuery
from clalign.runs.run_file import open_run

pytestmark = pytest.mark.usefixtures("worker_here")

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"

SHARES = ("query_coverage", "target_coverage", "identity")


@pytest.fixture
def doubtful(tmp_path: Path) -> Path:
    """A run with hits of which some domains are significant, others reported, and others neither."""
    profiles, path = tmp_path / "two.hmm", tmp_path / "run.clalign"
    profiles.write_text("".join((EXAMPLES / name).read_text() for name in ("rrm_1_hmmer3.hmm", "globins4.hmm")))
    words = ["-E", "100", "--domE", "1", "--incdomE", "1e-8", "-o", str(tmp_path / "o"), "--run", str(path)]
    targets = str(EXAMPLES / "swissprot_sample.fasta.gz")
    assert main(["hmmsearch", "-q", "--device", "cpu", *words, str(profiles), targets]) == 0
    with open_run(path) as run:
        domains = [domain for hit in run.hits() for domain in hit.domains if hit.is_significant]
    assert {(domain.is_reported, domain.is_significant) for domain in domains} == {
        (True, True), (True, False), (False, False),
    }  # fmt: skip
    return path


def table(run: Path, flag: str, *words: str) -> list[dict[str, str]]:
    made = run.with_suffix(".tsv")
    assert main(["export", str(run), *words, flag, str(made)]) == 0
    lines = [line for line in made.read_text("utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t"))


def share(spans: list[tuple[str, str]], length: str) -> float:
    return 100.0 * len({place for first, last in spans for place in range(int(first), int(last) + 1)}) / int(length)


@pytest.mark.parametrize("words", [(), ("--significant",)])
def test_they_are_of_the_domains_that_are_listed(doubtful: Path, words: tuple[str, ...]) -> None:
    hits, domains = table(doubtful, "--tsv", *words), table(doubtful, "--domtsv", *words)
    assert len(domains) > len(hits) > 5
    for hit in hits:
        of = [one for one in domains if (one["query"], one["target"]) == (hit["query"], hit["target"])]
        on_query = share([(one["hmm_from"], one["hmm_to"]) for one in of], hit["query_length"])
        on_target = share([(one["ali_from"], one["ali_to"]) for one in of], hit["target_length"])
        assert float(hit["query_coverage"]) == pytest.approx(on_query, abs=0.006), hit
        assert float(hit["target_coverage"]) == pytest.approx(on_target, abs=0.006), hit
    for query in table(doubtful, "--query-table", *words):
        of = [one for one in domains if one["query"] == query["query"]]
        covered = share([(one["hmm_from"], one["hmm_to"]) for one in of], query["query_length"])
        assert int(query["n_hits"]) == sum(hit["query"] == query["query"] for hit in hits)
        assert float(query["coverage"]) == pytest.approx(covered, abs=0.006), query
        if not of:
            assert query["identity"] == ""
            continue
        equal = sum(float(one["identity"]) * int(one["columns"]) for one in of)
        assert float(query["identity"]) == pytest.approx(equal / sum(int(one["columns"]) for one in of), abs=0.01)


def test_the_window_sorts_by_what_it_shows(doubtful: Path) -> None:
    rows = {(row["query"], row["target"]): row for row in table(doubtful, "--tsv")}
    for key, column in (("coverage", SHARES[0]), ("target_coverage", SHARES[1]), ("identity", SHARES[2])):
        pages = HitPages(HitQuery(doubtful, ALL_QUERIES, sort=key))
        found = [float(rows[one.hit.query, one.hit.name][column] or -1) for one in pages.listed(0, len(rows))]
        pages.close()
        assert len(found) == len(rows)
        assert found == sorted(found), key


def test_json_has_them_and_the_path(doubtful: Path) -> None:
    for words in ((), ("--significant",)):
        hits, domains = (
            {(row["query"], row["target"], row.get("domain", "")): row for row in table(doubtful, flag, *words)}
            for flag in ("--tsv", "--domtsv")
        )
        made = doubtful.with_suffix(".json")
        assert main(["export", str(doubtful), *words, "--json", str(made)]) == 0
        objects = [json.loads(line) for line in made.read_text("utf-8").splitlines()]
        assert len(objects) == len(hits)
        for data in objects:
            names = data["profile"]["name"], data["sequence"]["name"]
            same(data, hits[*names, ""])
            for part in data["domains"]:
                row = domains[*names, str(part["number"])]
                same(part, row)
                assert (part["cigar"], str(part["columns"])) == (row["cigar"], row["columns"])


def same(shown: dict[str, Any], row: dict[str, str]) -> None:
    for name, column in zip(("profile_coverage", "sequence_coverage", "identity"), SHARES, strict=True):
        assert shown[name] == (pytest.approx(float(row[column]), abs=0.006) if row[column] else None)
