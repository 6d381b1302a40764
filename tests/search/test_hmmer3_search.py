"""HMMER3's search in the pipeline: the same whatever the batches and interruptions; what is left out; thresholds."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from clalign.cli.processes import WorkerProcess
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import ReferenceSession
from clalign.databases.examples import load_examples
from clalign.engines.engine import explain_in_run
from clalign.engines.export import export
from clalign.engines.plan7 import self_test as selftest
from clalign.engines.plan7.explain import explain
from clalign.engines.plan7.hmmer3 import search as hmmer3_search
from clalign.engines.plan7.hmmer3.domains import domains_in_steps
from clalign.engines.plan7.hmmer3.funnel import funnel_of, pvalues_of, survivors_at
from clalign.engines.plan7.hmmer3.search import _demand_agreement
from clalign.engines.plan7.hmmer3.thresholds import filter_limits, hmmer3_thresholds
from clalign.engines.plan7.self_test import REFERENCE_SECONDS, _check_example, _check_random_hmmer3
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.verify import verify_run
from clalign.errors import Cancelled, DeviceError, InputError, OptionError, WorkerLost
from clalign.execution import executor, speed
from clalign.formats.profiles import load_profiles
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, create_run, open_run
from clalign.stages.hmmer3.filters import FILTERS
from clalign.values.devices import REFERENCE, Device
from clalign.values.evalues import hmmer3_evalue
from clalign.values.profiles import IMPOSSIBLE
from tests.computing import compute_search

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILES = {example.id: Path(str(example.profiles)) for example in load_examples()}
RRM, GLOBINS = PROFILES["rrm_1_hmmer3"], PROFILES["globins4"]
BUILT = GOLDEN / "sequences" / "built.fa"
ODD = GOLDEN / "hmmer3" / "sequences" / "odd.fa"


class Watching(QuietContext):
    """Keeps the warnings, and stops after some stored batches."""

    def __init__(self, after: float = math.inf) -> None:
        self.left = after
        self.warnings: list[str] = []

    def partial(self, **facts: Any) -> None:
        self.left -= 1

    def check(self) -> None:
        if self.left <= 0:
            raise Cancelled

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def searched(path: Path, spec: SearchSpec, context: QuietContext | None = None) -> RunFile:
    run = create_run(path, engine="plan7", spec=spec.to_dict(), state="new")
    compute_search(run, spec, pick_device, context or QuietContext())
    return run


def content(run: RunFile, profile: int = 0) -> dict[str, Any]:
    return {
        "hits": list(run.hits(profile)),
        "scores": [int(v) for _, _, values in run.scores(profile) for v in values],
        "histogram": [list(part) for part in run.histogram(profile)],
        "funnel": funnel_of(run, profile),
        "survivors": survivors_at(run, profile, "msv"),
        "best": run.best(profile),
    }


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HMMER3 profile, a HMMER2 profile, and another HMMER3 profile in one file."""
    older = GOLDEN / "profiles" / "globins_ls.hmm"
    path = tmp_path_factory.mktemp("library") / "mixed.hmm"
    path.write_text("".join(file.read_text() for file in (GLOBINS, older, RRM)))
    return path


@pytest.fixture(scope="module")
def whole(library: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("whole") / "run.clalign"
    with searched(path, SearchSpec(str(library), str(BUILT), evalue=1000.0, f1=0.2)) as run:
        return [content(run, number) for number in range(3)]


def test_a_mixed_library_gives_what_each_profile_gives(whole: list[dict[str, Any]], tmp_path: Path) -> None:
    for number, profile in ((0, GLOBINS), (2, RRM)):
        spec = SearchSpec(str(profile), str(BUILT), evalue=1000.0, f1=0.2)
        with searched(tmp_path / f"{number}.clalign", spec) as run:
            assert content(run) == whole[number]
            assert run.n_hits() > 5
    older = whole[1]
    assert len(older["hits"]) > 5
    assert all(hit.estimates is None for hit in older["hits"])
    assert older["survivors"] == []
    assert [stage["stage"] for stage in older["funnel"]] == ["all", "reported"]


@pytest.mark.thorough(n_residues=[3000])
@pytest.mark.parametrize("n_residues", [1, 700, 3000])
def test_batches_of_any_size_give_the_same(
    n_residues: int, library: Path, whole: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed, "residue_limit", lambda device: n_residues)
    monkeypatch.setattr(speed, "BATCH_SECONDS", 1000.0)
    with searched(tmp_path / "run.clalign", SearchSpec(str(library), str(BUILT), evalue=1000.0, f1=0.2)) as run:
        assert len(run.finished(0)) > 1
        assert [content(run, number) for number in range(3)] == whole


@pytest.mark.parametrize(("name", "most"), [("MAX_DOMAIN_TARGETS", 2), ("DOMAIN_CELLS", 1.0)])
def test_domains_in_portions_of_any_size_are_the_same(
    name: str, most: float, library: Path, whole: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hmmer3_search, name, most)
    sizes: list[int] = []

    def noted(session: Any, batch: Any, *given: Any) -> Any:
        sizes.append(len(batch))
        return domains_in_steps(session, batch, *given)

    monkeypatch.setattr(hmmer3_search, "domains_in_steps", noted)
    with searched(tmp_path / "run.clalign", SearchSpec(str(library), str(BUILT), evalue=1000.0, f1=0.2)) as run:
        assert [content(run, number) for number in range(3)] == whole
    assert len(sizes) > 3
    assert max(sizes) <= most


def test_stopped_and_continued(
    library: Path, whole: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SearchSpec(str(library), str(BUILT), evalue=1000.0, f1=0.2)
    monkeypatch.setattr(speed, "residue_limit", lambda device: 1500)
    monkeypatch.setattr(speed, "BATCH_SECONDS", 1000.0)
    monkeypatch.setattr(executor, "MAX_GATHERED_ROWS", 1)  # each unit is stored before many more are computed
    with create_run(tmp_path / "run.clalign", engine="plan7", spec=spec.to_dict(), state="new") as run:
        for after in (1, 3, 2):
            with pytest.raises(Cancelled):
                compute_search(run, spec, pick_device, Watching(after))
        monkeypatch.setattr(speed, "residue_limit", lambda device: 2300)
        compute_search(run, spec, pick_device, QuietContext())
        assert [content(run, number) for number in range(3)] == whole


def test_the_survivors_are_those_of_the_funnel(tmp_path: Path) -> None:
    spec = SearchSpec(str(GLOBINS), str(ODD), f1=0.3, f2=0.2, f3=0.05, evalue=1e-40)
    with searched(tmp_path / "run.clalign", spec) as run:
        funnel = {stage["stage"]: stage for stage in funnel_of(run, 0)}
        stages = list(funnel)
        assert stages == ["all", "msv", "bias", "viterbi", "forward", "reported"]
        for before, stage in itertools.pairwise(stages):
            passed, rejected = (
                survivors_at(run, 0, stage, limit=-1),
                survivors_at(run, 0, stage, rejected=True, limit=-1),
            )
            assert len(passed) == funnel[stage]["passed"]
            scored = len(survivors_at(run, 0, "all", limit=-1)) if before == "all" else funnel[before]["passed"]
            assert len(passed) + len(rejected) == scored
            if stage != "reported":
                assert all(target["pvalue"] <= target["limit"] for target in passed)
                assert all(target["pvalue"] > target["limit"] for target in rejected)
            assert all(target["name"] and target["length"] for target in [*passed, *rejected])
        assert funnel["all"]["passed"] == 28, "records without residues are counted"
        assert funnel["msv"]["expected"] == pytest.approx(0.3 * 28)
        scores = [target["msv"] for target in survivors_at(run, 0, "msv")]
        assert scores == sorted(scores, reverse=True)
        assert survivors_at(run, 0, "msv", limit=2, offset=1) == survivors_at(run, 0, "msv")[1:3]
        assert survivors_at(run, 0, "all", rejected=True) == []


def test_names_of_survivors_are_gone_with_the_sequences(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text(BUILT.read_text())
    with searched(tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(targets))) as run:
        targets.write_text(">other\nMKV\n")
        gone = survivors_at(run, 0, "msv")
        assert gone
        assert all((target["name"], target["length"]) == ("", None) for target in gone)


def test_the_histogram_shows_msv_scores_of_all_targets(tmp_path: Path) -> None:
    with searched(tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(ODD))) as run:
        values = np.concatenate([values for _, _, values in run.scores(0)])
        assert (values == IMPOSSIBLE).sum() == 3, "those without residues"
        assert run.histogram(0)[1].sum() == 25
        assert values.max() / 1000 < 40, "what overflows has the highest score that does not"
        card = run.cards()[0]
    assert card["histogram_kind"] == "msv"
    assert card["histogram_report_score"] is None
    assert card["histogram_pass_score"] == pytest.approx(-4.402, abs=1e-3)


def test_records_that_hmmer3_refuses(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    good = "".join(f">{record}" for record in BUILT.read_text().split(">")[1:4])
    targets.write_text(f"{good}>bad one\nMKV\nLLA-W\n>dots are fine\nMK.V_L~*\n>other\nMKV#LL\n>same length\nMKVLLAW\n")
    line = len(good.splitlines()) + 3
    spec = SearchSpec(str(RRM), str(targets), evalue=1e6, without_filters=True)
    with pytest.raises(InputError, match=rf'line {line}: .*"bad" .*"-"') as refused:
        searched(tmp_path / "refused.clalign", spec)
    assert "--skip_bad" in refused.value.hint
    context = Watching()
    with searched(tmp_path / "skipped.clalign", replace(spec, skip_bad=True), context) as run:
        assert funnel_of(run, 0)[0]["passed"] == run.facts.n_targets == 5
        assert not {"bad", "other"} & {hit.name for hit in run.hits(0)}
        assert len([text for text in context.warnings if "bad" in text and "other" in text]) == 1
    targets.write_text(f"{good}>dots are fine\nMK.V_L~*\n>same length\nMKVLLAW\n")
    with searched(tmp_path / "without.clalign", spec) as plain, open_run(tmp_path / "skipped.clalign") as run:
        expected = [(hit.name, hit.score, hit.evalue) for hit in plain.hits(0)]
        assert [(hit.name, hit.score, hit.evalue) for hit in run.hits(0)] == expected
        assert len(expected) >= 2


@pytest.mark.parametrize(("bad", "messages"), [(",", '","'), ("\u00e9", '"\u00e9"')])
def test_what_is_no_letter_is_named(bad: str, messages: str, tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text(f">fine\nMKVLLA\n>bad\nMKV\nLL{bad}AW\n>other\nMK{bad}LL\n", "utf-8")
    with pytest.raises(InputError) as refused:
        searched(tmp_path / "refused.clalign", SearchSpec(str(RRM), str(targets)))
    assert re.search(rf'line 5: .*"bad" .*{messages}.*\(2 ', str(refused.value))


def test_digits_are_left_out_with_a_warning(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text(BUILT.read_text() + ">numbered\n1 MKVLLA 6\n")
    context = Watching()
    with searched(tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(targets)), context) as run:
        line = (BUILT.read_text() + "\n").count("\n") + 1
        assert [text for text in context.warnings if text.startswith(f"{targets}, line {line}: ")]
        assert funnel_of(run, 0)[0]["passed"] == 28


def test_a_target_that_is_too_long_is_left_out(tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    rng = np.random.default_rng(1)
    letters = np.array(list("ACDEFGHIKLMNPQRSTVWY"))
    domain = "".join(BUILT.read_text().split(">")[1].splitlines()[1:])
    texts = {"longest": 100_000 - len(domain), "too_long": 100_001 - len(domain)}
    with targets.open("w") as file:
        for name, n in texts.items():
            file.write(f">{name}\n{domain}{''.join(letters[rng.integers(0, 20, n)])}\n")
    context = Watching()
    with searched(tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(targets)), context) as run:
        assert [text for text in context.warnings if "too_long (100,001 " in text]
        assert run.facts.n_targets == 1
        values = np.concatenate([values for _, _, values in run.scores(0)])
        assert (values == IMPOSSIBLE).tolist() == [True, False]
        assert "too_long is not searched" in explain_in_run(run.path, 0, 0, pick_device, QuietContext())["verdict"]


def test_a_target_of_stops_is_no_hit(device: Device, tmp_path: Path) -> None:
    targets = tmp_path / "targets.fa"
    targets.write_text(">stops\n***\n>stop\n*\n>dot\n.\n>ends\n" + "MKVLAA" * 20 + "\n")
    spec = SearchSpec(str(GLOBINS), str(targets), device=device.id, without_filters=True, evalue=1e9)
    with create_run(tmp_path / "run.clalign", engine="plan7") as run:
        compute_search(run, spec, lambda wish: device, QuietContext())
        assert {hit.name for hit in run.hits(0)} <= {"ends"}
        assert funnel_of(run, 0)[1]["passed"] == 4


def test_profiles_that_lack_something(tmp_path: Path) -> None:
    lines = GLOBINS.read_text().splitlines(keepends=True)
    uncalibrated, plain = tmp_path / "uncalibrated.hmm", tmp_path / "plain.hmm"
    uncalibrated.write_text("".join(line for line in lines if not line.startswith("STATS")))
    with pytest.raises(OptionError, match="globins4"):
        searched(tmp_path / "a.clalign", SearchSpec(str(uncalibrated), str(BUILT)))
    with pytest.raises(OptionError, match="gathering"):
        searched(tmp_path / "b.clalign", SearchSpec(str(GLOBINS), str(BUILT), cutoff="ga"))
    plain.write_text("".join(line for line in lines if not line.lstrip().startswith("COMPO")))
    context = Watching()
    with searched(tmp_path / "c.clalign", SearchSpec(str(plain), str(BUILT)), context) as run:
        assert [text for text in context.warnings if "COMPO" in text and "--compute_compo" in text]
        with searched(tmp_path / "d.clalign", SearchSpec(str(GLOBINS), str(BUILT))) as other:
            assert [hit.name for hit in run.hits()] == [hit.name for hit in other.hits()]
    context = Watching()
    searched(tmp_path / "e.clalign", SearchSpec(str(plain), str(BUILT), without_bias_filter=True), context).close()
    assert not context.warnings


def test_thresholds_at_their_edges() -> None:
    hmm = load_profiles(str(RRM))[0]
    limits = hmmer3_thresholds(hmm, SearchSpec("p", "t", evalue=10.0, n_targets=1000.0), 5.0)
    least = limits.report_score
    tau, slope = limits.calibration.location, limits.calibration.slope
    assert least == pytest.approx(tau - math.log(10 / 1000) / slope)

    def evalue(score: float) -> float:
        return 1000 * math.exp(-slope * (score - tau))

    assert limits.reports(least + 1e-3, evalue(least + 1e-3))
    assert not limits.reports(least - 1e-3, evalue(least - 1e-3))
    assert not limits.calls_significant(least + 1e-3, evalue(least + 1e-3))
    by_score = hmmer3_thresholds(hmm, SearchSpec("p", "t", score=20.5, inclusion_score=30.0), 5.0)
    assert by_score.reports(20.5, math.inf), "the E-value does not count"
    assert not by_score.reports(20.499998, 0.0)
    assert (by_score.report_score, by_score.least_significant_score) == (20.5, 30.0)
    assert by_score.domains.sorts_by_score
    curated = hmmer3_thresholds(hmm, SearchSpec("p", "t", cutoff="ga"), 5.0)
    assert hmm.cutoffs.gathering is not None
    pair = tuple(float(np.float32(x)) for x in hmm.cutoffs.gathering)
    assert (curated.score, curated.domains.score) == pair
    assert (curated.inclusion_score, curated.domains.inclusion_score) == pair


def test_filter_options() -> None:
    assert filter_limits(SearchSpec("p", "t", f1=5.0, f2=2.0)).f1 == 1.0
    everything = filter_limits(SearchSpec("p", "t", without_filters=True, f1=0.1))
    assert (everything.f1, everything.f2, everything.f3, everything.bias) == (1.0, 1.0, 1.0, False)
    assert filter_limits(SearchSpec("p", "t", f1=0.0, f2=0.0, f3=0.0)).f3 == 0.0
    with pytest.raises(OptionError, match="--F2"):
        SearchSpec("p", "t", f2=-0.1)
    with pytest.raises(OptionError, match="--seed"):
        SearchSpec("p", "t", seed=-1)


def test_the_size_of_the_database_is_given_or_counted(tmp_path: Path) -> None:
    with searched(tmp_path / "a.clalign", SearchSpec(str(GLOBINS), str(ODD))) as run:
        counted = {hit.name: hit for hit in run.hits()}
        n = len(counted)
        assert run.facts.n_targets == 28
    given = SearchSpec(str(GLOBINS), str(ODD), n_targets=2800.0, n_domain_targets=7.0)
    with searched(tmp_path / "b.clalign", given) as run:
        for hit in run.hits():
            before = counted[hit.name]
            assert hit.evalue == pytest.approx(100 * before.evalue)
            for domain, other in zip(hit.domains, before.domains, strict=True):
                assert domain.conditional_evalue == pytest.approx(other.conditional_evalue / n * 7)


@pytest.mark.thorough
def test_verify_on_the_reference(tmp_path: Path) -> None:
    with searched(tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(ODD))) as run:
        result = verify_run(run, None, 2, REFERENCE, QuietContext())
        assert result["differing"] == 0
        assert result["checked"] == 4
        run.connection.execute("UPDATE hits SET raw = raw + 1 WHERE id = 1")
        run.connection.execute("UPDATE parts SET target_start = target_start + 1 WHERE hit = 2")
        result = verify_run(run, [1, 2, 3], 0, REFERENCE, QuietContext())
        assert (result["checked"], result["differing"]) == (3, 2)


@pytest.mark.parametrize("f1", [0.0, 1e-40])
def test_verify_knows_that_an_overflow_passes_every_limit(tmp_path: Path, f1: float) -> None:
    with searched(tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(BUILT), f1=f1)) as run:
        assert np.isposinf([row["msv"] for row in survivors_at(run, 0, "msv")]).any()
        assert verify_run(run, None, 2, pick_device("cpu"), QuietContext())["details"] == []


def test_a_pvalue_below_the_smallest_normal_number_is_0() -> None:
    card = {"calibration3": {"forward": {"tau": 0.0, "lambda": 1.0}}}
    found = pvalues_of(card, "forward", np.array([-1.0, 700.0, 720.0, 800.0], np.float32))
    assert (found > 0.0).tolist() == [True, True, False, False]


def test_explain(tmp_path: Path) -> None:
    spec = SearchSpec(str(GLOBINS), str(ODD), device="reference")
    found = explain(spec, 0, "close", pick_device, QuietContext())
    steps = {step["stage"]: step for step in found["steps"]}
    assert list(steps) == ["msv", "bias", "viterbi", "forward", "domains", "reported"]
    assert found["verdict"] == "close is significant."
    assert steps["reported"]["score"] == pytest.approx(127.3, abs=0.05)
    assert not steps["viterbi"]["ran"], "MSV was so good that the search leaves it out"
    doubtful = explain(replace(spec, inclusion_evalue=1e-60), 0, "close", pick_device, QuietContext())
    assert (steps["reported"]["significant"], doubtful["steps"][-1]["significant"]) == (True, False)
    assert "not significant" in doubtful["verdict"]
    missed = explain(spec, 0, "poly_q", pick_device, QuietContext())
    assert "MSV filter" in missed["verdict"]
    assert all(step["score"] is not None for step in missed["steps"][:4]), "also those that it would not come to"
    assert [step["ran"] for step in missed["steps"][:4]] == [True, False, False, False]
    strict = explain(replace(spec, evalue=1e-60), 0, "close", pick_device, QuietContext())
    assert "not reported" in strict["verdict"]
    assert "not searched" in explain(spec, 0, "empty_again", pick_device, QuietContext())["verdict"]
    with pytest.raises(InputError, match='"clos"'):
        explain(spec, 0, "clos", pick_device, QuietContext())
    with pytest.raises(OptionError, match=r"\b2\b"):
        explain(spec, 1, "close", pick_device, QuietContext())


def test_explain_a_hmmer2_profile() -> None:
    older = GOLDEN / "profiles" / "globins_ls.hmm"
    spec = SearchSpec(str(older), str(BUILT), device="reference")
    names = [record.split()[0] for record in BUILT.read_text().split(">")[1:]]
    found = [explain(spec, 0, name, pick_device, QuietContext()) for name in (names[0], names[-1])]
    assert any(value["verdict"].endswith("is significant.") for value in found)
    strict = replace(spec, inclusion_score=1e4)
    assert explain(strict, 0, found[0]["target"], pick_device, QuietContext())["steps"][-1]["significant"] is False


class Faulty(ReferenceSession):
    """A device that gets the score of one target wrong by what a byte is worth."""

    def start(self, stage: Any, batch: Any, model: Any) -> Any:
        wait = super().start(stage, batch, model)

        def result() -> Any:
            found = wait()
            if stage is FILTERS and len(found[0].msv) > 1:
                found[0].msv[1] += np.float32(0.231)
            return found

        return result


def test_the_self_test_notices_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "HMMER3_NODES", (1, 5))
    with open_session(pick_device("cpu")) as sound, Faulty(REFERENCE) as faulty:
        assert _check_random_hmmer3(sound, QuietContext())["equal"]
        assert not _check_random_hmmer3(faulty, QuietContext())["equal"]


def test_the_self_test_knows_the_example_of_hmmer3(opencl_device: Device) -> None:
    example = next(example for example in load_examples() if example.id == "rrm_1_hmmer3")
    assert example.seconds > REFERENCE_SECONDS, "left out on the reference"
    with open_session(opencl_device) as session:
        assert _check_example(example, session, QuietContext())["equal"]
        wrong = msgspec.structs.replace(
            example, hits=(msgspec.structs.replace(example.hits[0], score="137.4"), *example.hits[1:])
        )
        assert example.hits[0].target in _check_example(wrong, session, QuietContext())["detail"]
        fewer = msgspec.structs.replace(example, domains=example.domains[1:])
        assert not _check_example(fewer, session, QuietContext())["equal"]


@pytest.mark.thorough
def test_killed_and_continued(tmp_path: Path, library: Path) -> None:
    """A worker that is killed after a stored batch costs nothing but what it had under way."""
    targets = PROFILES["rrm_1"].parent / "swissprot_sample.fasta.gz"
    many = tmp_path / "many.hmm"
    many.write_text(library.read_text() * 12)
    spec = SearchSpec(str(many), str(targets))
    with searched(tmp_path / "whole.clalign", spec) as run:
        expected = [content(run, number) for number in range(36)]
    path = tmp_path / "killed.clalign"
    job: dict[str, Any] = {"job": "search", "run": str(path), "spec": spec.to_dict()}
    n_killed = 0
    for _ in range(3):
        with WorkerProcess(job) as worker, contextlib.suppress(WorkerLost):
            for event in worker.events():
                if event is not None and event.kind == "partial":
                    worker.stop()
        with open_run(path) as run:
            n_killed += run.state == "running"
        job = {"job": "resume", "run": str(path)}
    assert n_killed, "at least one must strike before the end"
    with WorkerProcess(job) as worker:
        assert [event for event in worker.events() if event][-1].kind == "finished"
    with open_run(path) as run:
        assert [content(run, number) for number in range(36)] == expected


@pytest.mark.parametrize("direction", ["search", "scan"])
def test_without_a_target_to_score_there_is_an_empty_answer(
    direction: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clalign.engines.plan7.inputs.MAX_LENGTH", 20)
    targets = tmp_path / "targets.fa"
    targets.write_text(">long\n" + "MKVLAA" * 5 + "\n>bad\nMK-LV\n")
    path, spec = tmp_path / "run.clalign", SearchSpec(str(GLOBINS), str(targets), direction=direction, skip_bad=True)
    with searched(path, spec) as run:
        assert list(run.hits()) == []
        assert [step["passed"] for step in funnel_of(run, 0)] == [0] * len(funnel_of(run, 0))
    export(path, "text", tmp_path / "text")
    text = (tmp_path / "text").read_text()
    assert text.count("[No hits detected that satisfy reporting thresholds]") == (1 if direction == "search" else 2)
    if direction == "search":
        assert "Target sequences:                          0  (0 residues searched)" in text
        assert "Initial search space (Z):                  0  [actual number of targets]" in text
    assert "is not searched" in explain_in_run(path, 0, 0, pick_device, QuietContext())["verdict"]


def test_without_targets_every_score_is_significant() -> None:
    hmm = load_profiles(str(RRM))[0]
    limits = hmmer3_thresholds(hmm, SearchSpec("p", "t", evalue=0.0), 0.0)
    assert limits.report_score == limits.least_significant_score == -(2.0**30) / 1000.0
    assert limits.reports(-5.0, hmmer3_evalue(0.0, limits.n_targets))


@pytest.mark.parametrize(
    ("forward", "again", "agree"),
    [(10.0, 10.04, True), (10.0, 10.1, False), (24_710.0, 24_710.2, True), (66_856.0, 66_854.8, True),
     (24_710.0, 24_720.0, False), (-24_710.0, -24_710.2, True), (10.0, math.inf, True)],
)  # fmt: skip
def test_forward_scores_may_differ_by_a_share_of_them(forward: float, again: float, agree: bool) -> None:
    session: Any = SimpleNamespace(device=REFERENCE)
    found: Any = [SimpleNamespace(forward=again)]
    with contextlib.nullcontext() if agree else pytest.raises(DeviceError):
        _demand_agreement(session, np.array([forward], np.float32), found)
