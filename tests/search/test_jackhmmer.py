"""``clalign jackhmmer``: the rounds of jackhmmer 3.3.2, and what can be done with such a run."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clalign
from clalign.cli import main
from clalign.databases.loading import load_database
from clalign.engines.engine import engine_of
from clalign.engines.plan7.exports import rounds as rounds_files
from clalign.engines.plan7.inputs import load_queries
from clalign.engines.plan7.rounds import choose, stop_after
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import Cancelled, ExitCode, OptionError
from clalign.formats.profiles import read_profiles
from clalign.jobs import QuietContext
from clalign.runs.connection import owned
from clalign.runs.run_file import open_run
from clalign.values.devices import Device
from clalign.values.profiles import Hmm
from tests.search.pairwise_cases import Watching

pytestmark = pytest.mark.usefixtures("worker_here")

BUILT = Path(__file__).parents[1] / "golden" / "sequences" / "built.fa"

NAMES = {"-o": "txt", "--tblout": "tbl", "--domtblout": "dom", "-A": "sto"}

OPTIONS = (
    "",
    "-N 2 --eclust --wblosum --wid 0.7 --acc",
    "--eentexp --plaplace --incT 30 --incdomT 20 --notextw",
    "--enone --pnone --fragthresh 0.2 --mx BLOSUM45 --popen 0.01 --EmN 50 --seed 9 --noali -N 3",
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Sequences to search, some of one name, and three of them as queries, beside an empty one and a lonely one."""
    folder = tmp_path_factory.mktemp("jackhmmer")
    records = {record.split()[0]: record for record in BUILT.read_text().split(">")[1:]}
    targets, queries = folder / "targets.fasta", folder / "queries.fasta"
    targets.write_text("".join(f">{text}" for text in records.values()) + f">{records['globin2_cut']}")
    chosen = "".join(f">{records[name]}" for name in ("globin1_cut", "rrm2_pair"))
    queries.write_text(f"{chosen}>empty\n>lonely of no family\nWWCCHHWWPPCCWWHHMMCCWW\n>both XB{records['same_twice']}")
    return {"targets": targets, "queries": queries}


def lines_of(path: Path) -> list[str]:
    """Return an output's lines but those that name programs, files and times."""
    kept = [line for line in path.read_text().splitlines() if not line.startswith(("# ", "#=GF AU", "#=GF CC", "DATE"))]
    return [" ".join(line.split()) for line in kept if path.suffix not in (".tbl", ".dom") or line[0] != "#"]


@pytest.mark.thorough(options=OPTIONS[1:2])
@pytest.mark.skipif(shutil.which("jackhmmer") is None, reason="jackhmmer 3 is not installed")
@pytest.mark.parametrize("options", OPTIONS)
def test_equals_jackhmmer(files: dict[str, Path], tmp_path: Path, options: str) -> None:
    def words(side: str) -> list[str]:
        (tmp_path / side).mkdir()
        outputs = [word for flag, end in NAMES.items() for word in (flag, str(tmp_path / side / f"x.{end}"))]
        rounds = ["--chkhmm", str(tmp_path / side / "chk"), "--chkali", str(tmp_path / side / "chk")]
        return [*options.split(), *outputs, *rounds, str(files["queries"]), str(files["targets"])]

    subprocess.run(["jackhmmer", "--cpu", "0", *words("theirs")], check=True)
    assert main(["jackhmmer", "-q", *words("ours")]) == 0
    theirs = sorted((tmp_path / "theirs").iterdir())
    assert [path.name for path in theirs] == sorted(path.name for path in (tmp_path / "ours").iterdir())
    assert len(theirs) >= len(NAMES) + 4
    for path in theirs:
        assert lines_of(tmp_path / "ours" / path.name) == lines_of(path), path.name


def test_rounds_are_yielded_and_a_stopped_search_goes_on(files: dict[str, Path], tmp_path: Path) -> None:
    whole, kept = tmp_path / "whole.txt", tmp_path / "x.clalign"
    with clalign.jackhmmer(files["queries"], files["targets"], iterations=3) as rounds:
        found = list(rounds)
        assert [(one.query, one.number) for one in found[:4]] == [
            (name, 1) for name in ("globin1_cut", "rrm2_pair", "lonely", "both")
        ]
        of_globin = [one for one in found if one.query == "globin1_cut"]
        assert [(one.number, one.profile_name, one.n_new) for one in of_globin] == [
            (1, "globin1_cut", 8), (2, "globin1_cut-i1", 6), (3, "globin1_cut-i2", 1),
        ]  # fmt: skip
        lonely = next(one for one in found if one.query == "lonely")
        assert (len(lonely), lonely.n_new, lonely.has_converged, lonely.alignment().n_rows) == (0, 0, True, 1)
        assert of_globin[1].alignment().n_rows == 16
        assert of_globin[1].profile().facts["sequences"] == "10"
        assert set(of_globin[0].new) < {hit.name for hit in of_globin[1]}
        rounds.results.export("text", whole)
        last = {one.query: len(one) for one in found}
        run = rounds.results.run
        assert run.n_final_hits() == run.facts.finished["n_hits"] == sum(last.values()) < run.n_hits()
    with clalign.jackhmmer(files["queries"], files["targets"], kept, iterations=3) as rounds:
        next(rounds)
    with open_run(kept) as run:
        assert run.state in ("stopped", "done")
    assert main(["resume", "-q", str(kept), "-o", str(tmp_path / "resumed.txt")]) == 0
    assert lines_of(tmp_path / "resumed.txt") == lines_of(whole)


@pytest.mark.thorough
def test_several_devices_find_the_same(files: dict[str, Path], fast_device: Device, tmp_path: Path) -> None:
    both = [str(files["queries"]), str(files["targets"])]
    for name, device in (("one", fast_device.id), ("two", f"{fast_device.id},{fast_device.id}")):
        words = ["--device", device, "-o", str(tmp_path / f"{name}.txt"), "--tblout", str(tmp_path / f"{name}.tbl")]
        assert main(["jackhmmer", "-q", *words, *both]) == 0
    for end in ("txt", "tbl"):
        assert lines_of(tmp_path / f"one.{end}") == lines_of(tmp_path / f"two.{end}")


@pytest.mark.thorough
def test_a_run_is_verified_explained_and_exported(files: dict[str, Path], fast_device: Device, tmp_path: Path) -> None:
    kept = tmp_path / "x.clalign"
    both = [str(files["queries"]), str(files["targets"])]
    assert main(["jackhmmer", "-q", "-N", "2", "--run", str(kept), "-o", str(tmp_path / "x.txt"), *both]) == 0
    assert main(["verify", "-q", "--device", fast_device.id, str(kept)]) == 0
    assert main(["explain", "-q", "--device", fast_device.id, "--profile", "rrm2_pair-i1", str(kept), "rrm3_pair"]) == 0
    assert main(["export", "--tsv", str(tmp_path / "x.tsv"), "--gff3", str(tmp_path / "x.gff3"), str(kept)]) == 0
    rows = [line.split("\t") for line in (tmp_path / "x.tsv").read_text().splitlines()[1:]]
    table = [line.split() for line in lines_of_tblout(kept, tmp_path)]
    assert [(row[0], row[1]) for row in rows] == [(row[2], row[0]) for row in table]
    assert {row[0] for row in rows} == {"globin1_cut", "rrm2_pair", "both"}
    assert main(["export", "--a3m", "-", str(kept)]) == ExitCode.INPUT
    assert main(["export", "--chkali", "-", str(kept)]) == ExitCode.INPUT
    for name, ends in (("rrm2_pair", "-i2"), ("rrm2_pair-i1", "-i2"), ("globin1_cut-i1", "-i2")):
        chosen = ["--query", name, "--significant", "-A", str(tmp_path / "x.sto")]
        assert main(["export", *chosen, "--a3m", str(tmp_path / "x.a3m"), str(kept)]) == 0
        assert f"#=GF ID {name.removesuffix('-i1')}{ends}" in (tmp_path / "x.sto").read_text()
        assert (tmp_path / "x.a3m").read_text().startswith(f">{name.removesuffix('-i1')}")
    assert main(["export", "--chkhmm", f"{kept}-wal", str(kept)]) == 0
    assert Path(f"{kept}-wal-2.hmm").read_text().startswith("HMMER3/f")
    for options, n_queries in (([], "4"), (["--query", "rrm2_pair"], "1"), (["--query", "rrm2_pair-i1"], "1")):
        drawn = [str(tmp_path / f"rounds.{end}") for end in ("tsv", "svg")]
        assert all(main(["picture", "--kind", "rounds", *options, "-o", path, str(kept)]) == 0 for path in drawn)
        of_rounds = [line.split("\t") for line in Path(drawn[0]).read_text().splitlines()]
        assert of_rounds[0] == ["round", "queries", "reported", "significant", "new", "lost"]
        assert [line[:2] for line in of_rounds[1:]] == [["1", n_queries], ["2", "1" if options else "3"]]
        assert of_rounds[1][3] == of_rounds[1][4] != "0"
    with open_run(kept, writable=True) as run:
        card = run.card(run.n_queries() - 1)
        statistics = card["calibration3"]
        forward = {**statistics["forward"], "tau": statistics["forward"]["tau"] + 0.01}
        run.set_card(run.n_queries() - 1, {**card, "calibration3": {**statistics, "forward": forward}})
    assert main(["verify", "-q", "--device", fast_device.id, str(kept)]) == ExitCode.DIFFERENT, "its statistics"
    with open_run(kept, writable=True) as run:
        run.set_card(run.n_queries() - 1, {**card, "n_rows": card["n_rows"] + 1})
    assert main(["verify", "-q", "--device", fast_device.id, str(kept)]) == ExitCode.DIFFERENT


@pytest.mark.parametrize("damage", [{"first": 1}, {"before": 7}, {"before": None}, {"round": 4}, {"n_rows": None}])
def test_rounds_that_do_not_follow_each_other_are_damage(
    files: dict[str, Path], tmp_path: Path, damage: dict[str, object]
) -> None:
    kept = tmp_path / "x.clalign"
    query = tmp_path / "q.fa"
    query.write_text(">" + files["queries"].read_text().split(">")[1])
    both = [str(query), str(files["targets"])]
    assert main(["jackhmmer", "-q", "-N", "2", "--run", str(kept), "-o", str(tmp_path / "x.txt"), *both]) == 0
    with open_run(kept, writable=True) as run:
        run.set_card(1, {**run.card(1), **damage})
    for words in (["export", "--tblout", "-"], ["export", "--chkhmm", str(tmp_path / "chk")]):
        assert main([*words, str(kept)]) == ExitCode.UNREADABLE, words


def lines_of_tblout(run: Path, folder: Path) -> list[str]:
    """Return the lines of the table of hits."""
    assert main(["export", "--tblout", str(folder / "x.tbl"), str(run)]) == 0
    return lines_of(folder / "x.tbl")


def test_a3m_has_the_columns_of_the_query_and_the_limit_holds(files: dict[str, Path], tmp_path: Path) -> None:
    query = tmp_path / "q.fa"
    query.write_text(">" + files["queries"].read_text().split(">")[1])
    outputs = {name: tmp_path / name for name in ("a3m", "sto", "txt")}
    words = ["--a3m", str(outputs["a3m"]), "-A", str(outputs["sto"]), "-o", str(outputs["txt"]), "--seq_limit", "4"]
    assert main(["jackhmmer", "-q", "-N", "2", *words, str(query), str(files["targets"])]) == 0
    records = [record.split("\n") for record in outputs["a3m"].read_text().split(">")[1:]]
    residues = "".join(query.read_text().splitlines()[1:])
    assert [records[0][0].split()[0], records[0][1]] == ["globin1_cut", residues]
    assert len(records) == 5
    for _, text, _ in records:
        assert sum(letter == "-" or letter.isupper() for letter in text) == len(residues)
    rows = [line.split()[0] for line in outputs["sto"].read_text().splitlines() if line and line[0] not in "#/"]
    assert rows == [record[0].split()[0] for record in records]
    assert (
        f"# Alignment of 5 hits satisfying inclusion thresholds saved to: {outputs['sto']}"
        in outputs["txt"].read_text()
    )


def test_what_cannot_be_is_refused(files: dict[str, Path], tmp_path: Path) -> None:
    both = [str(files["queries"]), str(files["targets"])]
    assert main(["jackhmmer", "-N", "0", *both]) == ExitCode.INPUT
    assert main(["jackhmmer", "--shard", "1/2", *both]) == ExitCode.INPUT
    assert main(["jackhmmer", "--a3m", str(tmp_path / "x"), *both]) == ExitCode.USAGE
    assert main(["jackhmmer", "--eset", "0", *both]) == ExitCode.INPUT
    assert main(["phmmer", "-N", "2", *both]) == ExitCode.USAGE
    with pytest.raises(OptionError), clalign.jackhmmer(*both, fragthresh=1.5) as rounds:
        next(rounds)


@pytest.fixture(scope="module")
def family(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Ways to begin with one family of proteins: Stockholm, aligned FASTA and a profile that was built of it."""
    folder = tmp_path_factory.mktemp("family")
    query, found = folder / "query.fa", {name: folder / f"family.{name}" for name in ("sto", "afa", "hmm")}
    query.write_text(">" + files["queries"].read_text().split(">")[1])
    words = ["-q", "-N", "1", "-o", str(folder / "x.txt"), "-A", str(found["sto"])]
    assert main(["jackhmmer", *words, str(query), str(files["targets"])]) == 0
    rows = [line.split() for line in found["sto"].read_text().splitlines() if line and line[0] not in "#/"]
    texts = dict[str, str]()
    for name, text in rows:
        texts[name] = texts.get(name, "") + text
    found["afa"].write_text("".join(f">{name}\n{text}\n" for name, text in texts.items()))
    assert main(["hmmbuild", str(found["hmm"]), str(found["sto"])]) == 0
    return found


def from_family(query: Path, targets: Path, folder: Path, *options: str) -> dict[str, Path]:
    """Search in rounds, and return what was written: text, tables, run, and profiles of each round."""
    folder.mkdir()
    found = {end: folder / f"x.{end}" for end in ("txt", "tbl", "dom", "sto", "clalign")}
    outputs = ["-o", found["txt"], "--tblout", found["tbl"], "--domtblout", found["dom"], "-A", found["sto"]]
    more = ["--run", found["clalign"], "--chkhmm", folder / "chk", "--chkali", folder / "chk"]
    assert main(["jackhmmer", "-q", *options, *map(str, [*outputs, *more, query, targets])]) == 0
    return {**found, **{path.name: path for path in folder.glob("chk-*")}}


@pytest.mark.skipif(shutil.which("hmmsearch") is None, reason="HMMER 3 is not installed")
def test_rounds_from_a_profile_equal_hmmsearch_and_hmmbuild(
    files: dict[str, Path], family: dict[str, Path], tmp_path: Path
) -> None:
    targets, limits = files["targets"], ["--cpu", "0", "--incE", "0.001", "--incdomE", "0.001"]
    first = from_family(family["hmm"], targets, tmp_path / "first", "-N", "1")
    theirs = {name: tmp_path / f"theirs.{name}" for name in ("txt", "tbl", "dom", "sto", "hmm")}
    outputs = ["-o", theirs["txt"], "--tblout", theirs["tbl"], "--domtblout", theirs["dom"], "-A", theirs["sto"]]
    subprocess.run(["hmmsearch", *limits, *map(str, [*outputs, family["hmm"], targets])], check=True)
    for name in ("tbl", "dom"):
        assert lines_of(first[name]) == lines_of(theirs[name]), name
        assert lines_of(first[name]), name
    subprocess.run(["hmmbuild", "--hand", "-o", "/dev/null", theirs["hmm"], theirs["sto"]], check=True)
    again = from_family(family["hmm"], targets, tmp_path / "again", "-N", "2")
    ours = [line for line in lines_of(again["chk-2.hmm"]) if not line.startswith("NAME")]
    assert ours == [line for line in lines_of(theirs["hmm"]) if not line.startswith("NAME")]
    assert lines_of(again["chk-1.hmm"]) == lines_of(family["hmm"])
    subprocess.run(["hmmsearch", *limits, "--tblout", theirs["tbl"], again["chk-2.hmm"], targets], check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    rows, wanted = ([line.split() for line in lines_of(path)] for path in (again["tbl"], theirs["tbl"]))
    assert [row[0] for row in rows] == [row[0] for row in wanted]
    for row, other in zip(rows, wanted, strict=True):  # the profile in the file has five digits
        assert abs(float(row[5]) - float(other[5])) < 0.11, row[0]


@pytest.mark.thorough
def test_rounds_from_an_alignment_are_those_of_its_profile(
    files: dict[str, Path], family: dict[str, Path], fast_device: Device, tmp_path: Path
) -> None:
    found = {
        name: from_family(family[name], files["targets"], tmp_path / name, "-N", "3", "--qkind", kind)
        for name, kind in (("sto", "auto"), ("afa", "alignments"), ("hmm", "auto"))
    }
    for name in family.keys() - {"hmm"}:
        ours, wanted = ([line.split() for line in lines_of(found[one]["tbl"])] for one in (name, "hmm"))
        assert [(row[0], row[5]) for row in ours] == [(row[0], row[5]) for row in wanted]
    profile = [line for line in lines_of(found["sto"]["chk-1.hmm"]) if not line.startswith("NAME")]
    assert profile == [line for line in lines_of(family["hmm"]) if not line.startswith("NAME")]
    for name in ("sto", "hmm"):
        kept = str(found[name]["clalign"])
        assert main(["verify", "-q", "--device", fast_device.id, kept]) == 0
        with open_run(Path(kept)) as run:
            names = [card["name"] for card in run.cards()]
            assert run.card(0)["n_rows"] == 0
        assert main(["explain", "-q", "--device", fast_device.id, "--profile", names[1], kept, "globin2_cut"]) == 0
        a3m = tmp_path / f"{name}.a3m"
        assert main(["export", "--a3m", str(a3m), kept]) == 0
        assert a3m.read_text().count(">") == sum(line[0] != "#" for line in found[name]["dom"].read_text().splitlines())


def test_a_round_from_a_profile_in_the_library(files: dict[str, Path], family: dict[str, Path], tmp_path: Path) -> None:
    kept = tmp_path / "x.clalign"
    for _ in range(2):  # the second time the run is continued: what it began with is what is asked for
        with clalign.jackhmmer(family["sto"], files["targets"], kept, iterations=2) as rounds:
            first, second = rounds
            assert (first.number, second.number, second.n_new, second.has_converged) == (1, 2, len(second.new), False)
            assert (first.query, second.profile_name) == (first.profile_name, f"{first.query}-i1")
    with open_run(kept) as run:
        assert run.facts.spec is not None
        assert run.facts.spec["query_kind"] == "alignments"
        one = engine_of(run).round(run, 0)
        assert one.alignment().n_rows == sum(d.is_significant for hit in one if hit.is_significant for d in hit.domains)
        built = next(iter(read_profiles(str(family["hmm"]))))
        assert np.allclose(one.profile().match[1:], built.match[1:], atol=1e-5)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("HMMER2", ()), ("dna", ()), ("dna alignment", ()), ("gaps", ()), ("sto", ("--qkind", "profiles")),
        ("hmm", ("--qkind", "sequences")), ("hmm", ("--qkind", "alignments")),
    ],
)  # fmt: skip
def test_queries_that_rounds_cannot_begin_with(
    files: dict[str, Path], family: dict[str, Path], tmp_path: Path, query: str, options: tuple[str, ...]
) -> None:
    golden = BUILT.parents[1] / "profiles"
    dna = tmp_path / "dna.sto"
    dna.write_text("# STOCKHOLM 1.0\n" + "".join(f"s{n} {'ACGTTGCA' * 9}\n" for n in range(3)) + "//\n")
    gaps = tmp_path / "gaps.fa"
    gaps.write_text(">a\nMKLV-WWHE\n>b\nMKLVAWWHEW\n")
    if query == "dna":
        assert main(["hmmbuild", "--dna", str(tmp_path / "dna.hmm"), str(dna)]) == 0
    paths = {"HMMER2": golden / "globins_ls.hmm", "dna": tmp_path / "dna.hmm", "dna alignment": dna, "gaps": gaps}
    words = ["jackhmmer", "-q", *options, str({**paths, **family}[query]), str(files["targets"])]
    assert main(words) == ExitCode.UNREADABLE


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (">a\nMKLVWWHE\n>b\nMKLVAWHEW\n", "sequences"), (">a\nMKLV-WWHE\n>b\nMKLVAWWHE\n", "alignments"),
        (">a\nMKLV-WWHE\n>b\nMKLVAaccWWHE\n", "alignments"), ("CLUSTAL W\n\na MKLV-WWHE\nb MKLVAWWHE\n", "alignments"),
    ],
)  # fmt: skip
def test_queries_are_recognized(tmp_path: Path, text: str, kind: str) -> None:
    path = tmp_path / "queries"
    path.write_text(text)
    spec = SearchSpec(str(path), "x", direction="rounds")
    assert spec.settled().query_kind == kind
    assert spec.settled().continues(replace(spec, query_kind=spec.settled().query_kind))
    assert not spec.settled().continues(replace(spec, query_kind="profiles"))
    assert replace(spec, query_format="fasta").settled().query_kind == "sequences"
    assert replace(spec, direction="sequence").settled().query_kind == "auto"


def test_rows_of_an_alignment_are_queries_where_its_format_is_given(
    files: dict[str, Path], family: dict[str, Path], tmp_path: Path
) -> None:
    found = from_family(family["sto"], files["targets"], tmp_path / "rows", "-N", "1", "--qformat", "stockholm")
    with open_run(found["clalign"]) as run:
        assert run.n_queries() == family["afa"].read_text().count(">") > 1
        assert {card["n_rows"] for card in run.cards()} == {1}


class EndsAfterTheFirst(QuietContext):
    """Has a search in rounds end with the round of its first results."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def partial(self, **facts: object) -> None:
        with open_run(self.run, writable=True) as run:
            stop_after(run)


def test_a_search_ends_after_the_round_that_is_begun(files: dict[str, Path], tmp_path: Path) -> None:
    kept = tmp_path / "x.clalign"
    both = files["queries"], files["targets"]
    with clalign.jackhmmer(*both, kept, iterations=3, context=EndsAfterTheFirst(kept)) as rounds:
        assert {one.number for one in rounds} == {1}
    with open_run(kept) as run:
        assert (run.state, run.facts.spec and run.facts.spec["iterations"]) == ("done", 1)
    assert main(["resume", "-q", "--one-more", "-o", str(tmp_path / "x.txt"), str(kept)]) == 0
    with open_run(kept) as run:
        assert max(card["round"] for card in run.cards()) == 2


@pytest.mark.thorough
def test_a_stopped_search_goes_on_with_the_device_of_the_caller(
    files: dict[str, Path], tmp_path: Path, fast_device: Device
) -> None:
    kept, both = tmp_path / "x.clalign", (files["queries"], files["targets"])
    few = {"msv_n": 20, "viterbi_n": 20, "forward_n": 20}  # random sequences: the reference is slow
    context: QuietContext = Watching(1)
    with pytest.raises(Cancelled), clalign.jackhmmer(*both, kept, context=context, device="reference", **few) as rounds:
        list(rounds)
    context = EndsAfterTheFirst(kept)
    with clalign.jackhmmer(*both, kept, context=context, device=fast_device.id, **few) as rounds:
        assert {one.number for one in rounds} == {1}
        rounds.one_more()
        assert {one.number for one in rounds} == {2}
        assert rounds.results.summary["device"] == fast_device.name


@pytest.mark.thorough
def test_one_more_round_is_that_of_a_longer_search(files: dict[str, Path], tmp_path: Path) -> None:
    kept, texts = tmp_path / "x.clalign", {name: tmp_path / f"{name}.txt" for name in ("one", "more", "whole")}
    both = [str(files["queries"]), str(files["targets"])]
    assert main(["jackhmmer", "-q", "-N", "1", "--run", str(kept), "-o", str(texts["one"]), *both]) == 0
    for _ in range(2):
        assert main(["resume", "-q", "--one-more", "-o", str(texts["more"]), str(kept)]) == 0
    assert main(["jackhmmer", "-q", "-N", "3", "-o", str(texts["whole"]), *both]) == 0
    assert lines_of(texts["more"]) == lines_of(texts["whole"])
    assert main(["resume", "--take", "x", str(kept)]) == ExitCode.USAGE
    assert main(["resume", "--one-more", "--take", "no such", str(kept)]) == ExitCode.INPUT


@pytest.mark.thorough(is_kept=[True])
@pytest.mark.parametrize("is_kept", [False, True])
def test_the_library_goes_on_with_one_more_round(files: dict[str, Path], tmp_path: Path, is_kept: bool) -> None:
    queries, targets = (load_database(str(files[name]))[0] for name in ("queries", "targets"))  # in memory
    kept, whole = tmp_path / "x.clalign", tmp_path / "whole.txt"
    assert main(["jackhmmer", "-q", "-N", "2", "-o", str(whole), str(files["queries"]), str(files["targets"])]) == 0
    with clalign.jackhmmer(queries, targets, kept if is_kept else None, iterations=1) as rounds:
        rounds.one_more()
        found = list(rounds)
        assert {one.number for one in found} == {1, 2}
        rounds.results.export("text", tmp_path / "more.txt")
        last = next(one for one in found if (one.query, one.number) == ("globin1_cut", 2))
        dropped, n_rows = next(iter(last)), last.alignment().n_rows
        with pytest.raises(OptionError):
            rounds.one_more(dropped=["no such"])
        rounds.one_more(dropped=[dropped.name])
        third = next(one for one in rounds if one.query == "globin1_cut")
        n_dropped = sum(domain.is_significant for domain in dropped.domains)
        assert third.profile().facts["sequences"] == str(n_rows - n_dropped) != str(n_rows)
    assert lines_of(tmp_path / "more.txt")[1:] == lines_of(whole)[1:]
    with pytest.raises(OptionError):
        rounds.one_more()
    assert [path.name for path in tmp_path.glob("x.clalign*")] == ["x.clalign"] * is_kept


def state_of(run_file: Path) -> tuple[object, ...]:
    """Return what one more round changes: state, spec, cards and ends."""
    with open_run(run_file) as run:
        ends = [run.best(number) for number in range(run.n_queries())]
        return run.state, run.facts.spec, run.facts.finished, run.cards(), ends


def searched(files: dict[str, Path], kept: Path, *options: str, query: str = "globin1_cut") -> str:
    """Search with one query in rounds, and return the name of its last profile."""
    record = next(one for one in BUILT.read_text().split(">") if one.startswith(query))
    (path := kept.with_suffix(".fa")).write_text(f">{record}")
    words = ["-q", *options, "--run", str(kept), "-o", f"{kept}.txt", str(path), str(files["targets"])]
    assert main(["jackhmmer", *words]) == 0
    with open_run(kept) as run:
        return str(run.card(run.n_queries() - 1)["name"])


@pytest.mark.thorough(n_rounds=[5])
@pytest.mark.parametrize(("options", "n_rounds"), [(("--one-more",), 5), ((), 3)])
def test_one_more_round_of_a_query_that_has_fewer_than_another(
    files: dict[str, Path], tmp_path: Path, options: tuple[str, ...], n_rounds: int
) -> None:
    kept, queries = tmp_path / "x.clalign", tmp_path / "q.fa"
    records = [one for one in BUILT.read_text().split(">") if one.startswith(("rrm2_pair", "rrm3_pair"))]
    queries.write_text("".join(f">{one}" for one in records))
    words = ["-q", "--incE", "1e-30", "--run", str(kept), "-o", str(tmp_path / "x.txt")]
    assert main(["jackhmmer", *words, str(queries), str(files["targets"])]) == 0
    with open_run(kept, writable=True) as run:
        n, last = run.n_queries(), {card["first"]: number for number, card in enumerate(run.cards())}
        assert [run.card(number)["round"] for number in last.values()] == [2, 5]
        choose(run, last[0], [next(hit.row for hit in run.hits(last[0]) if not hit.is_significant)], True)
        if not options:  # it asks for fewer rounds than the other query has
            run.reopen([last[0]], {**(run.facts.spec or {}), "iterations": n_rounds})
    assert main(["resume", "-q", *options, "-o", str(tmp_path / "x.txt"), str(kept)]) == 0
    with open_run(kept) as run:
        assert run.spec(SearchSpec).iterations == n_rounds
        assert [run.card(n)[name] for name in ("before", "round")] == [last[0], 3]
        assert all(run.best(number) is not None for number in range(run.n_queries()))
        assert len({run.work_done(number)[0] / run.card(number)["length"] for number in range(run.n_queries())}) == 1


@pytest.mark.thorough
def test_one_more_round_of_a_stopped_search_leaves_it_its_rounds(files: dict[str, Path], tmp_path: Path) -> None:
    kept, whole, text = tmp_path / "x.clalign", tmp_path / "whole.txt", tmp_path / "x.txt"
    both = files["queries"], files["targets"]
    with pytest.raises(Cancelled), clalign.jackhmmer(*both, kept, iterations=3, context=Watching(1)) as rounds:
        list(rounds)
    with open_run(kept) as run:
        assert (run.state, max(card["round"] for card in run.cards())) == ("stopped", 1)
    assert main(["resume", "-q", "--one-more", "-o", str(text), str(kept)]) == 0
    with open_run(kept) as run:
        assert run.spec(SearchSpec).iterations == 3
    assert main(["jackhmmer", "-q", "-N", "3", "-o", str(whole), *map(str, both)]) == 0
    assert lines_of(text) == lines_of(whole)


def test_a_run_that_gets_no_further_round_stays_as_it_is(
    files: dict[str, Path], family: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "x.clalign"
    searched(files, kept, "-N", "2")
    with open_run(kept, writable=True) as run:
        first, second = [hit.name for hit in run.hits(1)][:2]
        run.keep_best(1, 1)
        assert second in {hit.name for hit in run.hits(0)}
    before, one_more = state_of(kept), ["resume", "-q", "--one-more", "-o", str(tmp_path / "x.txt")]
    with owned(kept):
        assert main([*one_more, str(kept)]) == ExitCode.CANNOT_WRITE, "another worker has it"
    for choice in (["--take", first, "--drop", "no such"], ["--drop", first, "--take", second]):
        assert main([*one_more, *choice, str(kept)]) == ExitCode.INPUT, "there, but not in the last round"
    assert state_of(kept) == before
    with open_run(kept, writable=True) as run:
        with pytest.raises(TypeError):
            run.reopen([1], {"iterations": object()})
        assert run.best(1) is not None
        choose(run, 1, [hit.row for hit in run.hits(1)], False)  # there is something to search for
        run.set_facts(spec={**(run.facts.spec or {}), "device": "gpus@tcp://host:8786"})
    before = state_of(kept)
    (query := kept.with_suffix(".fa")).rename(moved := tmp_path / "moved.fa")
    assert main([*one_more, "--drop", first, str(kept)]) == ExitCode.UNREADABLE, "a file has moved"
    assert f"clalign resume --one-more --drop={first}" in capsys.readouterr().err
    assert state_of(kept) == before
    moved.rename(query)
    assert main([*one_more, str(kept)]) == ExitCode.NO_DEVICE, "it began on a cluster"
    assert state_of(kept) == before
    with open_run(kept, writable=True) as run:
        engine_of(run).one_more(run, [], [])
        stored = run.facts.spec or {}
        assert (stored["device"], stored["iterations"]) == ("gpus@tcp://host:8786", 3)
        stop_after(run)
        assert run.facts.spec == before[1]
    other = tmp_path / "hmmsearch.clalign"
    words = ["--run", str(other), "-o", str(tmp_path / "x.txt"), str(family["hmm"]), str(files["targets"])]
    assert main(["hmmsearch", "-q", *words]) == 0
    with open_run(other, writable=True) as run, pytest.raises(OptionError) as raised:
        engine_of(run).one_more(run, [], [])
    assert "jackhmmer" in (raised.value.hint or "")


def test_alignments_have_the_rows_that_a_person_chose(files: dict[str, Path], tmp_path: Path) -> None:
    kept, text, sto = (tmp_path / f"x.{end}" for end in ("clalign", "txt", "sto"))
    searched(files, kept, "-N", "4", "--incE", "1e-30")
    with open_run(kept, writable=True) as run:
        last = run.n_queries() - 1
        hits = list(run.hits(last))
        n_before = engine_of(run).round(run, last).alignment().n_rows
        choose(run, last, [hit.row for hit in hits if not hit.is_significant], True)
        choose(run, last, [hits[0].row], False)
        names = engine_of(run).round(run, last).alignment().names
    assert len(names) != n_before
    assert main(["resume", "-q", "-o", str(text), "-A", str(sto), str(kept)]) == 0
    rows = [line.split()[0] for line in sto.read_text().splitlines() if line and line[0] not in "#/"]
    assert [row.split("|")[-1] for row in dict.fromkeys(rows)] == list(names)  # numbers part equal rows
    assert f"# Alignment of {len(names)} hits satisfying" in text.read_text()


def test_a_file_of_profiles_is_read_once_for_all(
    files: dict[str, Path], family: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, read = tmp_path / "two.hmm", list[str]()
    text = family["hmm"].read_text()
    query.write_text(text + "".join(f"{'NAME  other' if line[:4] == 'NAME' else line}\n" for line in text.splitlines()))
    found = from_family(query, files["targets"], tmp_path / "rounds", "-N", "1")

    def load(spec: SearchSpec, *more: Any) -> tuple[list[Hmm], str]:
        read.append(spec.profiles)
        return load_queries(spec, *more)

    monkeypatch.setattr(rounds_files, "load_queries", load)
    assert main(["export", "--chkhmm", str(tmp_path / "chk"), str(found["clalign"])]) == 0
    names = [line.split()[1] for line in (tmp_path / "chk-1.hmm").read_text().splitlines() if line[:4] == "NAME"]
    assert (names, read) == ([text.split()[text.split().index("NAME") + 1], "other"], [str(query)])


def test_a_person_takes_and_drops_hits(
    files: dict[str, Path], fast_device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept, query, text = tmp_path / "x.clalign", tmp_path / "q.fa", tmp_path / "x.txt"
    query.write_text(">" + files["queries"].read_text().split(">")[1])
    words = ["-q", "-N", "4", "--incE", "1e-30", "--run", str(kept), "-o", str(text), str(query), str(files["targets"])]
    assert main(["jackhmmer", *words]) == 0
    with open_run(kept) as run:
        last = run.n_queries() - 1
        one = engine_of(run).round(run, last)
        hits = {hit.name: hit for hit in one}
        assert one.has_converged
        taken = next(name for name, hit in hits.items() if not hit.is_significant)
        dropped = next(name for name, hit in hits.items() if hit.is_significant)
        n_before = one.alignment().n_rows
    assert main(["resume", "-q", "--one-more", str(kept)]) == ExitCode.INPUT, "it has converged"
    assert main(["resume", "-q", "--one-more", "--take", taken, "--drop", dropped, "-o", str(text), str(kept)]) == 0
    with open_run(kept) as run:
        assert (run.card(last)["taken"], run.card(last)["dropped"]) == ([hits[taken].row], [hits[dropped].row])
        names = engine_of(run).round(run, last).alignment().names
        assert any(name.startswith(f"{taken}/") for name in names)
        assert not any(name.startswith(f"{dropped}/") for name in names)
        change = len(hits[taken].reported_domains) - sum(one.is_significant for one in hits[dropped].domains)
        assert run.card(last + 1)["n_rows"] == len(names) == n_before + change
        assert dropped in engine_of(run).round(run, last + 1).new or not engine_of(run).round(run, last + 1).n_new
    with pytest.raises(OptionError), open_run(kept, writable=True) as run:
        choose(run, last, [hits[taken].row], None)
    assert "@@ Chosen by the user:     1 hits taken, 1 dropped" in text.read_text()
    assert main(["verify", "-q", "--device", fast_device.id, str(kept)]) == 0
    with open_run(kept) as run:
        profile = run.card(last)["name"]
    capsys.readouterr()
    assert main(["explain", "-q", "--device", fast_device.id, "--profile", profile, str(kept), dropped]) == 0
    assert "dropped" in capsys.readouterr().out
