"""Pairwise searches: scores, hits, alignments and statistics against the plain reference, on every device."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.cli.processes import WorkerProcess
from clalign.databases.examples import load_examples
from clalign.engines.export import export
from clalign.engines.pairwise import hits as pairwise_hits
from clalign.engines.pairwise.inputs import reverse_complement, scoring_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.errors import Cancelled, DeviceError, InputError, OptionError
from clalign.execution import executor
from clalign.execution.speed import Pace
from clalign.jobs import QuietContext
from clalign.reference.smith_waterman import pair_score
from clalign.reference.smith_waterman_trace import pair_alignment
from clalign.runs.run_file import RunFile, open_run
from clalign.values.alphabets import encode
from clalign.values.devices import REFERENCE, Device
from clalign.values.pair_alignments import PairAlignment
from clalign.values.scoring import PairwiseQuery
from clalign.values.sequences import Sequence
from tests.computing import compute_search

sys.path.insert(0, str(Path(__file__).parent))
from pairwise_cases import Watching, fasta, make_inputs, random_text, records, search


@pytest.fixture(scope="module")
def proteins(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_inputs(tmp_path_factory.mktemp("proteins"), "amino")


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_inputs(tmp_path_factory.mktemp("bases"), "dna")


def found(run: RunFile, number: int) -> list[tuple[str, int]]:
    return [(hit.name, hit.raw) for hit in run.hits(number)]


def expected_scores(run: RunFile, inputs: tuple[Path, Path], both: bool) -> list[list[int]]:
    """Return for each query the scores of all targets, in the order of the input."""
    table = []
    for name, text in records(inputs[0]):
        sequence = Sequence(name, "", encode(text))
        strands = [sequence]
        if both:
            from clalign.values.alphabets import DNA

            strands.append(reverse_complement(sequence, DNA))
        queries = [PairwiseQuery(strand, scoring_of(run)) for strand in strands]
        table.append([max(pair_score(q, encode(t)) for q in queries) for _, t in records(inputs[1])])
    return table


def input_order(run: RunFile, number: int, inputs: tuple[Path, Path]) -> list[int]:
    """Return the stored scores of a query in the order of the input."""
    from clalign.databases.loading import load_database

    database, _ = load_database(str(inputs[1]))
    scores = np.concatenate([values for _, _, values in run.scores(number)])
    return [int(scores[row]) for row in np.argsort(database.order)]


@pytest.mark.thorough(mode=["local"])
@pytest.mark.exhaustive(mode=["local"])
@pytest.mark.exhaustive(device=["gpu", "cpu"])
@pytest.mark.parametrize("mode", ["local", "global", "semiglobal", "ungapped"])
@pytest.mark.parametrize("kind", ["proteins", "bases"])
def test_scores_of_all_pairs_are_those_of_the_reference(
    kind: str, mode: str, device: Device, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    inputs = request.getfixturevalue(kind)
    with search(inputs, tmp_path / "a.clalign", device, mode=mode) as run:
        assert run.state == "done"
        for number, scores in enumerate(expected_scores(run, inputs, both=kind == "bases")):
            assert input_order(run, number, inputs) == scores
            edges, counts = run.histogram(number)
            assert dict(zip(edges.tolist(), counts.tolist(), strict=True)) == {
                float(score): scores.count(score) for score in set(scores)
            }


def test_hits_are_the_targets_within_the_limit_and_their_alignments_score_what_they_should(
    proteins: tuple[Path, Path], device: Device, tmp_path: Path
) -> None:
    with search(proteins, tmp_path / "a.clalign", device, evalue=5.0) as run:
        texts = dict(records(proteins[1]))
        names = [name for name, _ in records(proteins[1])]
        for number, scores in enumerate(expected_scores(run, proteins, both=False)):
            card = run.card(number)
            limit = card["histogram_report_score"]
            wanted = sorted(((-score, place) for place, score in enumerate(scores) if score >= limit))
            assert found(run, number) == [(names[place], -score) for score, place in wanted]
            query = PairwiseQuery(Sequence("q", "", encode(records(proteins[0])[number][1])), scoring_of(run))
            for hit in run.hits(number):
                (domain,) = hit.domains
                expected = pair_alignment(query, encode(texts[hit.name]))
                assert (domain.raw, domain.cigar) == (expected.score, expected.cigar)
                assert (domain.query_range, domain.target_range) == (expected.query_range, expected.target_range)
                assert hit.evalue <= 5.0
                assert hit.evalue == domain.evalue
        assert {name for name, _ in found(run, 0)[:2]} == {"related0", "other"}


def test_numbers_of_an_alignment_are_those_of_its_text(proteins: tuple[Path, Path], tmp_path: Path) -> None:
    with search(proteins, tmp_path / "a.clalign") as run:
        hits = list(run.hits())
    assert len(hits) > 3
    for hit in hits:
        for domain in hit.domains:
            pair, text = domain.pair, domain.text
            assert pair is not None
            assert pair.n_identical == sum(a == b for a, b in zip(text.model, text.target, strict=True))
            assert pair.n_identical == text.match.count("|")
            assert pair.n_positive == len(text.match) - text.match.count(" ")
            assert pair.n_gap_residues == (text.model + text.target).count("-")
            assert len(text.model) - text.model.count("-") == domain.query_range[1] - domain.query_range[0]
            assert len(text.target) - text.target.count("-") == domain.target_range[1] - domain.target_range[0]


@pytest.mark.thorough(statistics=["fitted"])
@pytest.mark.parametrize("statistics", ["auto", "fitted"])
def test_no_more_than_the_first_are_reported_however_they_are_found(
    statistics: str, proteins: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch)
    with search(proteins, tmp_path / "all.clalign", statistics=statistics, evalue=1e9) as run:
        everything = [found(run, number) for number in range(3)]
        assert len(run.finished(0)) > 3
    assert all(len(hits) > 20 for hits in everything)
    with search(proteins, tmp_path / "few.clalign", statistics=statistics, evalue=1e9, top=6) as run:
        assert [found(run, number) for number in range(3)] == [hits[:6] for hits in everything]


def small_batches(monkeypatch: pytest.MonkeyPatch, n_residues: int = 300) -> None:
    monkeypatch.setattr(Pace, "residues", property(lambda pace: n_residues))
    monkeypatch.setattr(executor, "GATHER_SECONDS", 0.0)  # each is stored for itself


def test_both_strands_are_searched_and_reported(bases: tuple[Path, Path], device: Device, tmp_path: Path) -> None:
    options = {"match": 2, "mismatch": -3, "gap_first": 7, "gap_next": 2}
    with search(bases, tmp_path / "both.clalign", device, evalue=1e-3, **options) as run:
        hits = {hit.name: hit for hit in run.hits(0)}
        length = run.card(0)["length"]
        assert run.card(0)["strands"] == ["plus", "minus"]
    assert set(hits) == {"related0", "other"}
    assert [hits[name].domains[0].pair.strand for name in ("related0", "other")] == [1, -1]  # type: ignore[union-attr]
    assert hits["other"].domains[0].query_range[1] - hits["other"].domains[0].query_range[0] > length - 15
    with search(bases, tmp_path / "minus.clalign", device, evalue=1e-3, strand="minus", **options) as run:
        minus = list(run.hits(0))
    assert [(hit.name, hit.domains) for hit in minus] == [("other", hits["other"].domains)]
    with search(bases, tmp_path / "plus.clalign", device, evalue=1e-3, strand="plus", **options) as run:
        assert [hit.name for hit in run.hits(0)] == ["related0"]


def test_a_target_may_match_on_both_strands(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    one, two = random_text(rng, "dna", 40), random_text(rng, "dna", 30)
    reverse = two.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    inputs = fasta(tmp_path / "q.fa", [("q", one + two)]), fasta(tmp_path / "t.fa", [("t", one + "TTTTT" + reverse)])
    with search(inputs, tmp_path / "a.clalign", evalue=1e-6) as run:
        (hit,) = run.hits(0)
    assert [(d.number, d.pair.strand, d.query_range) for d in hit.domains if d.pair] == [
        (1, 1, (0, 40)),
        (2, -1, (40, 70)),
    ]
    assert [d.target_range for d in hit.domains] == [(0, 40), (45, 75)]
    assert hit.domains[1].text.model == reverse


@pytest.mark.thorough
def test_published_statistics_are_shown_and_fitted_ones_beside_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    targets = [(f"t{i}", random_text(rng, "amino", int(rng.integers(20, 60)))) for i in range(250)]
    inputs = fasta(tmp_path / "q.fa", [("q", random_text(rng, "amino", 50))]), fasta(tmp_path / "t.fa", targets)
    with search(inputs, tmp_path / "a.clalign") as run:
        card = run.card(0)
        assert card["statistics"]["kind"] == "published"
        assert card["statistics"]["lambda"] == 0.267
        assert card["fitted"]["kind"] == "fitted"
        assert sum(card["curve"]["counts"]) == pytest.approx(250, rel=0.01)
    with search(inputs, tmp_path / "b.clalign", statistics="fitted") as run:
        shown = run.card(0)
        assert shown["statistics"] == shown["fitted"] == card["fitted"]
        assert all(hit.evalue <= 10.0 for hit in run.hits(0))
    with search(inputs, tmp_path / "c.clalign", gap_first=30, gap_next=3) as run:
        assert run.card(0)["statistics"]["kind"] == "fitted"
    with search(inputs, tmp_path / "d.clalign", mode="ungapped") as run:
        assert run.card(0)["statistics"]["kind"] == "computed"
        assert run.card(0)["statistics"]["lambda"] == pytest.approx(0.3176, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statistics": "fitted"}, "a fit needs the scores of at least 200"),
        ({"gap_first": 40, "gap_next": 3}, "none are published for BLOSUM62 with gap costs 37/3"),
        ({"mode": "global"}, "no statistics of global alignments"),
        ({"matrix": "RAO"}, "random sequences score above 0"),
    ],
)
def test_without_statistics_there_are_no_evalues_and_it_is_said_why(
    proteins: tuple[Path, Path], tmp_path: Path, options: dict[str, Any], words: str
) -> None:
    with search(proteins, tmp_path / "a.clalign", top=4, **options) as run:
        card = run.card(0)
        assert card["statistics"] is None
        assert words in card["statistics_words"]
        hits = list(run.hits(0))
        assert len(hits) == 4
        assert all(math.isnan(hit.evalue) and hit.score == hit.raw for hit in hits)
        best = run.best(0)
        assert best is not None
        assert (best["name"], best["raw"], best["evalue"]) == (hits[0].name, hits[0].raw, None)
    with search(proteins, tmp_path / "b.clalign", top=4, score=hits[1].raw, **options) as run:
        assert [hit.name for hit in run.hits(0)] == [hit.name for hit in hits if hit.raw >= hits[1].raw]


def test_letters_that_a_matrix_has_no_scores_for_are_reported(proteins: tuple[Path, Path], tmp_path: Path) -> None:
    targets = fasta(tmp_path / "odd.fasta", [("a", "MKUVLAUWOR"), ("b", "MKVLAWRUDE")])
    with search((proteins[0], targets), tmp_path / "a.clalign", top=1) as run:
        reports = [text for _, _, text in run.messages()]
    assert any(text.startswith("1 x O, 3 x U in the targets ") and "BLOSUM62" in text for text in reports)


def test_published_statistics_that_do_not_exist_are_refused(proteins: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"BLOSUM62 .*37/3") as caught:
        search(proteins, tmp_path / "a.clalign", statistics="published", gap_first=40, gap_next=3)
    assert "11/1" in caught.value.hint


def content(run: RunFile) -> Any:
    return [
        (list(run.hits(number)), run.best(number), [part.tolist() for part in run.histogram(number)], run.card(number))
        for number in range(3)
    ]


@pytest.mark.thorough(options=[{"statistics": "fitted", "top": 3}])
@pytest.mark.parametrize("options", [{}, {"statistics": "fitted", "top": 3}, {"mode": "semiglobal", "top": 3}])
def test_a_stopped_search_goes_on_to_the_same_results(
    options: dict[str, Any], proteins: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_batches(monkeypatch)
    with search(proteins, tmp_path / "whole.clalign", **options) as run:
        whole = content(run)
        n_batches = len(run.finished(0))
    path = tmp_path / "parts.clalign"
    spec = PairwiseSpec(str(proteins[0]), str(proteins[1]), **options)
    with pytest.raises(Cancelled):
        search(proteins, path, context=Watching(3), **options)
    for batches in (n_batches, 2, None):
        with open_run(path, writable=True) as run:
            assert run.state == "stopped"
            if batches is None:
                compute_search(run, spec, lambda words: REFERENCE, QuietContext())
                assert repr(content(run)) == repr(whole)
            else:
                with pytest.raises(Cancelled):
                    compute_search(run, spec, lambda words: REFERENCE, Watching(batches))


def test_other_sequences_are_not_mixed_into_a_run(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "amino", 5)
    with pytest.raises(Cancelled):
        search(inputs, tmp_path / "a.clalign", context=Watching(1))
    spec = PairwiseSpec(str(inputs[0]), str(inputs[1]))
    for which in (0, 1):
        before = inputs[which].read_text()
        inputs[which].write_text(before.replace("A", "C", 1))
        with (
            open_run(tmp_path / "a.clalign", writable=True) as run,
            pytest.raises(InputError, match=inputs[which].name),
        ):
            compute_search(run, spec, lambda words: REFERENCE, QuietContext())
        inputs[which].write_text(before)


def test_the_matrix_of_a_run_stays_when_its_file_changes(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "amino", 5)
    letters = "ACDEFGHIKLMNPQRSTVWY"
    path = tmp_path / "own"

    def write(equal: int) -> None:
        lines = [" ".join([a, *(str(equal if a == b else -2) for b in letters)]) for a in letters]
        path.write_text("\n".join([" ".join(letters), *lines]))

    write(5)
    with search(inputs, tmp_path / "a.clalign", matrix=str(path)) as run:
        whole = [list(run.hits(number)) for number in range(3)]
    with pytest.raises(Cancelled):
        search(inputs, tmp_path / "b.clalign", context=Watching(1), matrix=str(path))
    write(9)
    spec = PairwiseSpec(str(inputs[0]), str(inputs[1]), matrix=str(path))
    with open_run(tmp_path / "b.clalign", writable=True) as run:
        compute_search(run, spec, lambda words: REFERENCE, QuietContext())
        assert repr([list(run.hits(number)) for number in range(3)]) == repr(whole)


def test_verify_finds_equal_and_wrong_numbers(bases: tuple[Path, Path], device: Device, tmp_path: Path) -> None:
    with search(bases, tmp_path / "a.clalign", device) as run:
        value = verify_pairwise(run, None, 1000, REFERENCE, QuietContext())
        assert (value["checked"], value["differing"]) == (3 * run.facts.n_targets, 0)  # no pair is computed twice
        with run.connection:
            run.connection.execute("UPDATE parts SET raw = raw + 1 WHERE hit = 1")
            run.connection.execute("UPDATE parts SET states = 'M' || states WHERE hit = 2")
        value = verify_pairwise(run, [1, 2, 3], 0, REFERENCE, QuietContext())
        assert (value["checked"], value["differing"]) == (3, 2)
        assert value["details"]
        verdicts = run.connection.execute("SELECT verified FROM hits WHERE id <= 3 ORDER BY id").fetchall()
        assert [verdict for (verdict,) in verdicts] == ["differs", "differs", "equal"]


def test_an_alignment_that_does_not_score_what_it_should_is_reported(
    proteins: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong:
        name = "smith_waterman_trace"

        def reference(self, batch: Any, scoring: Any, check: Any = None) -> list[PairAlignment]:
            return [PairAlignment(50, (0, 4), (0, 4), "MMMM")] * len(batch)

    monkeypatch.setattr(pairwise_hits, "SMITH_WATERMAN_TRACE", Wrong())
    with pytest.raises(DeviceError, match="50"):
        search(proteins, tmp_path / "a.clalign")
    with open_run(tmp_path / "a.clalign") as run:
        assert run.state == "failed"
        assert run.n_hits() == 0


def test_bases_are_not_compared_with_amino_acids(
    proteins: tuple[Path, Path], bases: tuple[Path, Path], tmp_path: Path
) -> None:
    for number, inputs in enumerate([(proteins[0], bases[1]), (bases[0], proteins[1])]):
        with pytest.raises(InputError, match=inputs[1].name):
            search(inputs, tmp_path / f"{number}.clalign")
    search((bases[0], proteins[1]), tmp_path / "both.clalign", alphabet="amino").close()


LONG_DNA = "ACGTTGCAAC" * 6


@pytest.mark.parametrize(
    ("query", "target", "taken"),
    [
        *((text, "MKVLWERQFY" * 6, "amino") for text in ("GATTACA", "ACGT", "CCCCACCC", "A" * 80, "NNNNNN")),
        *((text, LONG_DNA, "dna") for text in ("XXXX", "ACRYSWKMGG", "***")),
        ("MKVLWERQFY", "ACGTTGCA", "amino"),
        ("MKVLWERQFY", LONG_DNA, None),
        (LONG_DNA, "MKVLWERQFY", None),
    ],
)
@pytest.mark.parametrize("is_query", [True, False])
def test_a_guess_from_little_yields_to_the_other_file(
    query: str, target: str, taken: str | None, is_query: bool, tmp_path: Path
) -> None:
    texts = (query, target) if is_query else (target, query)
    inputs = (fasta(tmp_path / "q.fa", [("q", texts[0])]), fasta(tmp_path / "t.fa", [("t", texts[1])]))
    watching = Watching()
    if taken is None:
        with pytest.raises(InputError, match="--alphabet"):
            search(inputs, tmp_path / "a.clalign")
        return
    with search(inputs, tmp_path / "a.clalign", context=watching) as run:
        card = run.card(0)
        assert (card["alphabet"], card["target_alphabet"]) == (taken, taken)
        assert len(card["strands"]) == (1 if taken == "amino" else 2)
    assert len([text for text in watching.texts if re.match(r".*[qt]\.fa: ", text)]) == 1


def test_a_profile_in_place_of_sequences_is_reported_with_the_command_for_it(
    proteins: tuple[Path, Path], tmp_path: Path
) -> None:
    profile = next(example.profiles for example in load_examples() if example.profiles)
    with pytest.raises(InputError, match=rf"clalign hmmsearch \S*{profile.name} \S*queries.fa"):
        search((proteins[0], profile), tmp_path / "a.clalign")


def test_a_file_of_a_run_that_is_gone_is_reported(tmp_path: Path) -> None:
    inputs = make_inputs(tmp_path, "dna")
    with search(inputs, tmp_path / "a.clalign") as run:
        inputs[1].rename(tmp_path / "elsewhere.fa")
        with pytest.raises(InputError, match=inputs[1].name):
            verify_pairwise(run, None, 5, REFERENCE, QuietContext())
    with pytest.raises(InputError, match=inputs[1].name):
        export(tmp_path / "a.clalign", "fasta", str(tmp_path / "a.fa"))


def test_each_sequence_keeps_its_letters_on_the_other_strand(tmp_path: Path) -> None:
    text = "ACGGTCATTAGGCATCCAGATTACAG"
    rna = fasta(tmp_path / "rna.fa", [("q", text.translate(str.maketrans("ACGT", "UGCA"))[::-1])])
    dna = fasta(tmp_path / "dna.fa", [("t", text)])
    with search((rna, dna), tmp_path / "a.clalign", strand="minus"):
        pass
    for what, wanted in (("text", "Target"), ("sam", "q"), ("fasta_matched", ""), ("stockholm", "t/")):
        export(tmp_path / "a.clalign", what, str(tmp_path / what))
        lines = [line for line in (tmp_path / what).read_text().splitlines() if not line.startswith(("#", "@", ">"))]
        found = "".join(word for line in lines if wanted in line for word in line.split() if set(word) <= set("ACGTU"))
        other = "U" if what == "sam" else "T"  # of SAM the residues are the query's
        assert found
        assert set(found) <= set("ACG") | {other}, what


def test_what_does_not_fit_together_is_reported(
    proteins: tuple[Path, Path], bases: tuple[Path, Path], tmp_path: Path
) -> None:
    context = Watching()
    search(bases, tmp_path / "a.clalign", context=context, alphabet="amino", match=1, mismatch=-1).close()
    assert len([text for text in context.texts if "+1/-1" in text]) == 1
    context = Watching()
    search(bases, tmp_path / "b.clalign", context=context, matrix="PAM30").close()
    assert any("PAM30" in text for text in context.texts)
    context = Watching()
    odd = fasta(tmp_path / "odd.fa", [("x", "ACDEUUOFGHIKLMN"), ("x", "WWWW"), ("empty", "")])
    with search((odd, proteins[1]), tmp_path / "c.clalign", context=context) as run:
        assert [card["length"] for card in run.cards()] == [15, 4]
        assert [text for _, _, text in run.messages()] == context.texts
    texts = "\n".join(context.texts)
    assert "1 x O, 2 x U" in texts
    assert re.search(r'\b1, .*"x"', texts)
    assert f"{odd}, line 5: " in texts


def test_a_matrix_that_is_not_symmetric_is_taken_as_given_and_reported(tmp_path: Path) -> None:
    matrix = tmp_path / "own.txt"
    matrix.write_text("A W C\nA 4 -1 -2\nW -3 9 -2\nC -2 -2 8\n")
    query, target = fasta(tmp_path / "q.fa", [("q", "W")]), fasta(tmp_path / "t.fa", [("t", "A")])
    context, options = Watching(), {"matrix": str(matrix), "mode": "global", "in_step": True, "alphabet": "amino"}
    with search((query, target), tmp_path / "a.clalign", context=context, **options) as run:
        assert found(run, 0) == [("t", -3)]
    assert any("symmetric" in text for text in context.texts)
    context = Watching()
    search((query, target), tmp_path / "b.clalign", context=context, **options | {"matrix": "BLOSUM62"}).close()
    assert not any("symmetric" in text for text in context.texts)


def test_proteins_have_no_other_strand(proteins: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="minus"):
        search(proteins, tmp_path / "a.clalign", strand="minus")


def test_empty_files_are_refused(proteins: tuple[Path, Path], tmp_path: Path) -> None:
    empty = tmp_path / "empty.fa"
    empty.write_text("")
    for inputs in ((empty, proteins[1]), (proteins[0], empty)):
        with pytest.raises(InputError):
            search(inputs, tmp_path / f"{inputs[0].stem}.clalign")


@pytest.fixture
def worker_events(proteins: tuple[Path, Path], tmp_path: Path) -> Iterator[Any]:
    spec = PairwiseSpec(str(proteins[0]), str(proteins[1]), device="reference")
    with WorkerProcess({"job": "pairwise", "run": str(tmp_path / "w.clalign"), "spec": spec.to_dict()}) as worker:
        yield [event for event in worker.events() if event is not None]


def test_the_worker_does_the_job(worker_events: Any, tmp_path: Path) -> None:
    kinds = [event.kind for event in worker_events]
    assert kinds[0] == "started"
    assert kinds[-1] == "finished"
    assert {"progress", "partial"} <= set(kinds)
    value = worker_events[-1].value
    with open_run(tmp_path / "w.clalign") as run:
        assert run.n_hits() == value["n_hits"] > 0
        assert run.facts.spec["direction"] == "pairwise"
