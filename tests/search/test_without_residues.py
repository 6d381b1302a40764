"""Sequences without residues.

As queries they are left out of a search and told in one line, but not of given pairs and older runs. As targets they
may be all that there is.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from clalign.databases.examples import load_examples
from clalign.engines.export import export
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.verify import verify_run
from clalign.errors import DamagedRun, InputError
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run
from clalign.values.devices import REFERENCE, Device
from tests.computing import compute_search

sys.path.insert(0, str(Path(__file__).parent))
from pairwise_cases import Watching, fasta, make_inputs, records, search

PROFILES = {example.id: str(example.profiles) for example in load_examples()}


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    """Three queries, with others that hold nothing before, between and behind them."""
    queries, targets = make_inputs(tmp_path, "amino")
    full = records(queries)
    return fasta(queries, [("e1", ""), full[0], ("e2", ""), ("e3", ""), *full[1:], ("e4", "")]), targets


def test_queries_without_residues_are_left_out_and_reported_once(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    full, context = [record for record in records(inputs[0]) if record[1]], Watching()
    with search(inputs, tmp_path / "a.clalign", context=context) as run:
        assert [card["name"] for card in run.cards()] == [name for name, _ in full]
        assert re.match(rf"{re.escape(str(inputs[0]))}, line 1: .*\b4\.", context.texts[0])
        assert [text for _, _, text in run.messages()] == context.texts
        assert [issue.count for issue in run.facts.queries.issues if issue.kind == "empty"] == [4]
        assert verify_pairwise(run, None, 9, REFERENCE, QuietContext())["differing"] == 0
        hits = [repr(list(run.hits(number))) for number in range(3)]
    for what in ("sam", "scores", "stockholm"):
        export(tmp_path / "a.clalign", what, str(tmp_path / what), context=QuietContext())
    assert len((tmp_path / "scores").read_text().splitlines()) == 3 * len(records(inputs[1]))
    lines = [line.split("\t") for line in (tmp_path / "sam").read_text().splitlines() if not line.startswith("@")]
    assert {line[0]: line[9] for line in lines if not int(line[1]) & 256}.keys() == {name for name, _ in full}
    shown = {line[9] for line in lines if line[9] != "*" and not int(line[1]) & 16}
    assert shown <= {text for _, text in full}
    with search((fasta(tmp_path / "full.fa", full), inputs[1]), tmp_path / "b.clalign") as run:
        assert [repr(list(run.hits(number))) for number in range(3)] == hits


def test_given_pairs_keep_them(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    names = [name for name, _ in records(inputs[0])]
    targets = fasta(tmp_path / "t.fa", [(f"t{i}", "ACDEF") for i in range(len(names))])
    with search((inputs[0], targets), tmp_path / "a.clalign", mode="global", in_step=True) as run:
        assert [card["name"] for card in run.cards()] == names
        assert run.n_hits() == len(names)


def test_a_run_with_other_queries_than_its_file_is_refused(inputs: tuple[Path, Path], tmp_path: Path) -> None:
    with search(inputs, tmp_path / "a.clalign") as run:
        run.connection.execute("DELETE FROM queries WHERE id = (SELECT max(id) FROM queries)")
        with pytest.raises(DamagedRun):
            verify_pairwise(run, None, 9, REFERENCE, QuietContext())


@pytest.mark.parametrize("direction", ["search", "scan"])
@pytest.mark.parametrize("profiles", ["rrm_1_hmmer3", "rrm_1", "motif"])
def test_targets_without_residues_are_searched_and_nothing_found(
    profiles: str, direction: Any, device: Device, tmp_path: Path
) -> None:
    targets, context = fasta(tmp_path / "t.fa", [("a", ""), ("b", "")]), Watching()
    spec = SearchSpec(PROFILES[profiles], str(targets), direction=direction)
    with create_run(tmp_path / "a.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
        compute_search(run, spec, lambda words: device, context)
        assert (run.state, run.n_hits()) == ("done", 0)
        assert context.texts[0].startswith(f"{targets}: ")
        assert verify_run(run, None, 9, REFERENCE, QuietContext())["differing"] == 0
    for what in ("text", "tsv", "jsonl", "stockholm", "fasta"):
        assert export(tmp_path / "a.clalign", what, str(tmp_path / what), context=QuietContext()) == 0


def test_targets_of_a_pairwise_search_may_be_without_residues_and_queries_not(device: Device, tmp_path: Path) -> None:
    empty, full = fasta(tmp_path / "e.fa", [("a", ""), ("b", "")]), fasta(tmp_path / "f.fa", [("q", "MKVLAAGHWY")])
    with search((full, empty), tmp_path / "a.clalign", device) as run:
        assert (run.state, run.n_hits()) == ("done", 0)
        assert verify_pairwise(run, None, 9, REFERENCE, QuietContext())["differing"] == 0
    with search((full, empty), tmp_path / "b.clalign", device, mode="global") as run:
        assert [(hit.name, hit.raw) for hit in run.hits(0)] == [("a", -21), ("b", -21)]
    with pytest.raises(InputError, match=empty.name):
        search((empty, full), tmp_path / "c.clalign", device)
