"""The bundled examples: complete, readable, and answered as HMMER 2.3.2 answers them."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clalign.databases.examples import Example, load_examples, load_pair_examples

SEARCHES = [example for example in load_examples() if example.targets]
OLDER = [example for example in SEARCHES if example.profiles.read_text().startswith("HMMER2")]


def test_every_listed_file_is_there_and_no_other():
    listed = {"README.md", "examples.json", "pair_examples.json"}
    for pair in load_pair_examples():
        listed |= {pair.queries.name, pair.targets.name}
    for example in load_examples():
        listed.add(example.profiles.name)
        if example.targets:
            stem = example.profiles.stem
            listed |= {example.targets.name, f"{stem}.hits.tsv", f"{stem}.domains.tsv"}
    folder = load_examples()[0].profiles.parent
    assert {path.name for path in folder.iterdir() if path.is_file()} == listed


def test_the_queries_of_pairs_are_among_their_targets():
    for pair in load_pair_examples():
        with gzip.open(pair.targets, "rt") as packed:
            targets = packed.read()
        records = pair.queries.read_text().split("\n>")
        assert len(records) == 3
        assert all(record.lstrip(">").strip() in targets for record in records)


def test_ids_are_unique():
    ids = [example.id for example in load_examples()]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("example", SEARCHES, ids=lambda example: example.id)
def test_expected_hits_and_domains_belong_together(example: Example):
    assert example.hits
    for hit in example.hits:
        numbers = sorted(domain.number for domain in example.domains if domain.target == hit.target)
        assert numbers == list(range(1, hit.n_domains + 1))


@pytest.mark.thorough(example=[example for example in OLDER if example.id != "thioesterase"])
@pytest.mark.parametrize("example", OLDER, ids=lambda example: example.id)
def test_expected_answer_is_what_hmm2search_prints(example: Example, hmm2search: str, tmp_path: Path):
    targets = tmp_path / "targets.fasta"
    if example.targets.suffix == ".gz":
        with gzip.open(example.targets) as packed, targets.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    else:
        shutil.copyfile(example.targets, targets)
    command = [hmm2search, "--cpu", "0", str(example.profiles), str(targets)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    scores, domains = text.split("Parsed for domains:")
    printed = re.findall(r"^(\S+).*\s(-?\d+\.\d)\s+(\S+)\s+(\d+)$", scores, re.MULTILINE)
    assert printed == [(hit.target, hit.score, hit.evalue, str(hit.n_domains)) for hit in example.hits]
    places = re.findall(r"^(\S+)\s+(\d+)/\d+\s+(\d+)\s+(\d+)\s", domains.split("Alignments of")[0], re.MULTILINE)
    assert places == [(d.target, str(d.number), str(d.ali_from), str(d.ali_to)) for d in example.domains]
