"""Given pairs: in step and from lists, stopped and continued, with faults."""

from __future__ import annotations

import gzip
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from clalign.engines.pairwise import hits as pairwise_hits
from clalign.engines.pairwise.inputs import scoring_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.errors import Cancelled, InputError
from clalign.formats import sources
from clalign.jobs import QuietContext
from clalign.reference.smith_waterman_trace import pair_alignment
from clalign.runs.run_file import open_run
from clalign.values.alphabets import encode
from clalign.values.devices import REFERENCE, Device
from clalign.values.scoring import PairwiseQuery
from clalign.values.sequences import Sequence
from tests.computing import compute_search

sys.path.insert(0, str(Path(__file__).parent))
from pairwise_cases import Watching, changed, fasta, make_inputs, random_text, records, search


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_inputs(tmp_path_factory.mktemp("bases"), "dna")


@pytest.mark.thorough(mode=["global"])
@pytest.mark.parametrize("mode", ["local", "global"])
def test_pairs_in_step(mode: str, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise_hits, "MAX_PAIRS", 4)
    rng = np.random.default_rng(8)
    queries = [(f"q{i}", random_text(rng, "amino", 30 + i)) for i in range(9)]
    targets = [(f"t{i}", changed(rng, "amino", text)) for i, (_, text) in enumerate(queries)]
    targets[3] = ("t3", random_text(rng, "amino", 5))
    inputs = fasta(tmp_path / "q.fa", queries), fasta(tmp_path / "t.fa", targets)
    with search(inputs, tmp_path / "a.clalign", device, in_step=True, mode=mode) as run:
        assert len(run.finished(-1)) == 3
        for number, hits in enumerate([list(run.hits(n)) for n in range(9)]):
            (hit,) = hits
            query = PairwiseQuery(Sequence("q", "", encode(queries[number][1])), scoring_of(run))
            expected = pair_alignment(query, encode(targets[number][1]))
            assert (hit.name, hit.input_index, hit.raw) == (f"t{number}", number, expected.score)
            assert hit.domains[0].cigar == expected.cigar
            assert math.isnan(hit.evalue)
        value = verify_pairwise(run, None, 50, REFERENCE, QuietContext())
        assert (value["checked"], value["differing"]) == (9, 0)


def test_listed_pairs(bases: tuple[Path, Path], tmp_path: Path) -> None:
    listed = tmp_path / "pairs.tsv"
    listed.write_text("# query, target\nq2\trelated2\nq0\tother\n\nq0\trelated0\nq0\tother\n")
    context = Watching()
    with search(bases, tmp_path / "a.clalign", context=context, pair_list=str(listed), strand="both") as run:
        rows = run.connection.execute(
            "SELECT query, name, input_index FROM hits JOIN targets USING (row) ORDER BY input_index"
        ).fetchall()
        assert rows == [(2, "related2", 0), (0, "other", 1), (0, "related0", 2)]
        strands = {hit.name: hit.domains[0].pair.strand for hit in run.hits() if hit.domains[0].pair}
        assert strands == {"related2": 1, "related0": 1, "other": -1}
    assert any("listed" in text for text in context.texts)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("q0\trelated0\nq0\tnobody\n", 2, '"nobody"'),
        ("q9\trelated0\n", 1, '"q9"'),
        ("q0\n", 1, ""),
        ("# none\n", None, ""),
    ],
)
def test_lists_with_faults(bases: tuple[Path, Path], tmp_path: Path, text: str, line: int | None, words: str) -> None:
    listed = tmp_path / "pairs.tsv"
    listed.write_text(text)
    with pytest.raises(InputError) as caught:
        search(bases, tmp_path / "a.clalign", pair_list=str(listed))
    assert (caught.value.path, caught.value.line) == (str(listed), line)
    assert words in caught.value.reason


def test_a_list_is_read_compressed_and_within_the_bound_of_all_readers(
    bases: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "pairs.gz"
    listed.write_bytes(gzip.compress(b"q0\trelated0\n" * 1000))
    with search(bases, tmp_path / "a.clalign", pair_list=str(listed)) as run:
        assert run.connection.execute("SELECT count(*) FROM hits").fetchone() == (1,)
    monkeypatch.setattr(sources, "MAX_KEPT_BYTES", 1 << 16)
    with pytest.raises(InputError, match="memory") as caught:
        search(bases, tmp_path / "b.clalign", pair_list=str(listed))
    assert (caught.value.path, caught.value.line) == (str(listed), 465)


def test_files_in_step_must_hold_as_many(bases: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\b3\b"):
        search(bases, tmp_path / "a.clalign", in_step=True)


def test_stopped_pairs_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairwise_hits, "MAX_PAIRS", 2)
    inputs = make_inputs(tmp_path, "amino", 0)
    inputs = inputs[0], fasta(tmp_path / "three.fa", records(inputs[1])[:3])
    with pytest.raises(Cancelled):
        search(inputs, tmp_path / "a.clalign", context=Watching(1), in_step=True)
    spec = PairwiseSpec(str(inputs[0]), str(inputs[1]), in_step=True)
    with open_run(tmp_path / "a.clalign", writable=True) as run:
        assert run.n_hits() == 2
        compute_search(run, spec, lambda words: REFERENCE, QuietContext())
        assert [hit.input_index for hit in run.hits()] == [0, 1, 2]
