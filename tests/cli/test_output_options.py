"""Options of outputs that can have no effect, or make what cannot be written, are refused before anything is done."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.outputs import Outputs
from clalign.cli.run_outputs import flags_of
from clalign.engines.engine import engines
from clalign.engines.exports import ALWAYS_TAKEN, OPTIONS, Shape
from clalign.engines.plan7.exports.register import STOCKHOLM, TEXT
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
PROFILE, PROTEINS = str(EXAMPLES / "globins4.hmm"), str(EXAMPLES / "three_proteins.fasta")
pytestmark = pytest.mark.usefixtures("worker_here")

SEARCH, PAIRS = ["hmmsearch", PROFILE, PROTEINS], ["sw", PROTEINS, PROTEINS]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLALIGN_DEVICE", "reference")
    Path("two.hmm").write_text(2 * Path(PROFILE).read_text())
    Path("clans.tsv").write_text("family\tclan\n")
    return tmp_path


@pytest.fixture
def two_families(here: Path) -> list[str]:
    """Profiles of two families, and sequences of which some are of the second one."""
    names = ("globins4.hmm", "rrm_1_hmmer3.hmm")
    (here / "families.hmm").write_text("".join((EXAMPLES / name).read_text() for name in names))
    return ["families.hmm", str(EXAMPLES / "swissprot_sample.fasta.gz")]


def refused(words: list[str], capsys: pytest.CaptureFixture[str], code: ExitCode = ExitCode.USAGE) -> str:
    """Return what is said of a command that is refused, and leaves nothing behind."""
    before = sorted(Path().iterdir())
    assert main([*words, "--run", "x.clalign"] if words[0] != "export" else words) == code
    assert sorted(Path().iterdir()) == before
    shown = capsys.readouterr()
    assert not shown.out
    assert "Searched" not in shown.err
    return shown.err


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
@pytest.mark.parametrize("flag", ["--afa", "--a2m"])
@pytest.mark.parametrize("words", [["hmmsearch", "two.hmm", PROTEINS], ["hmmscan", "two.hmm", PROTEINS], PAIRS])
def test_an_alignment_to_one_of_several_queries(
    words: list[str], flag: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown = refused([*words, flag, "x.out", *more], capsys)
    chosen = "--target" if words[0] == "hmmscan" else "--query"
    assert f"`clalign export {chosen} NAME {flag} F RUN`" in shown


@pytest.mark.parametrize(("command", "chosen"), [("hmmsearch", "--query"), ("hmmscan", "--target")])
def test_the_command_that_chooses_one_of_several_can_be_typed(
    command: str, chosen: str, two_families: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([command, *two_families, "-q", "--device", "cpu", "-o", "x", "--run", "my run.clalign"]) == ExitCode.DONE
    )
    with open_run(Path("my run.clalign"), writable=True) as run:
        run.set_facts(state="stopped")
    assert main(["resume", "my run.clalign", "--afa", "y"]) == ExitCode.USAGE
    shown = capsys.readouterr().err
    assert "--run" not in shown
    words = shlex.split(shown.split("`")[1].replace(" NAME ", " RRM_1 ").replace(" F ", " y "))
    assert words == ["clalign", "export", chosen, "RRM_1", "--afa", "y", "my run.clalign"]
    assert main(words[1:]) == ExitCode.DONE
    assert Path("y").read_text().startswith(">")


def test_an_alignment_without_hits_is_an_empty_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("other.fa").write_text(">a\nMKMKMKMK\n")
    for flag in ("--afa", "--a2m"):
        assert main(["hmmsearch", PROFILE, "other.fa", "-o", "x", flag, "y"]) == ExitCode.DONE
        assert Path("y").read_text() == ""
        assert capsys.readouterr().err.startswith("clalign: ")


@pytest.mark.parametrize("more", [["-E", "1e-5"], ["-T", "50"], ["--top", "5"], ["--statistics", "published"]])
@pytest.mark.parametrize("pairs", [["--pairs"], ["--pair-list", "pairs.tsv"], ["--long"]])
def test_pairs_are_not_chosen_by_what_chooses_hits(
    pairs: list[str], more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pairs.tsv").write_text("a\tb\n")
    assert f"{more[0]} and {pairs[0]} " in refused([*PAIRS, *pairs, *more, "--dry-run"], capsys)


@pytest.mark.parametrize(
    "words",
    [
        ["--flank", "3", "--fasta-matched", "x"],
        ["--species", "--csv", "x"],
        ["--safe-tsv", "--outfmt", "6"],
        ["--safe-tsv", "--csv", "x"],
        ["--safe-tsv", "--hit-matrix", "x"],
        ["--species", "--outfmt", "6 std sscinames"],
        ["--overlaps", "clans", "--clans", "clans.tsv", "--bed", "x"],
        ["--clans", "clans.tsv", "--html", "x"],
        ["--noali", "--acc", "--textw", "150"],
    ],
)
def test_what_shapes_something_is_taken(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SEARCH, *words]) == ExitCode.DONE
    assert capsys.readouterr().err.count("no effect") == 0


def test_each_option_that_shapes_is_heeded_by_some_export() -> None:
    exports = [one for engine in engines() for one in engine.exports]
    assert set(OPTIONS) == set(Shape.__struct_fields__)
    assert {field for one in exports for field in one.options} <= set(OPTIONS)
    assert all(any(one.heeds(field, Shape()) for one in exports) for field in OPTIONS)
    assert set(ALWAYS_TAKEN) <= set(OPTIONS)


@pytest.mark.parametrize(
    ("shape", "flags"),
    [
        (Shape(), []),
        (Shape(width=0, alignments=False), ["--noali", "--notextw"]),
        (Shape(width=150, columns="6 std", flank=3), ["--outfmt", "6 std", "--flank", "3", "--textw", "150"]),
    ],
)
def test_a_search_is_continued_with_its_flags(shape: Shape, flags: list[str]) -> None:
    assert flags_of(Outputs(((TEXT, "x"), (STOCKHOLM, "y")), shape)) == ["-o", "x", "-A", "y", *flags]
    assert flags_of(Outputs(((TEXT, "-"),), shape)) == flags


@pytest.mark.parametrize(
    ("words", "width", "code"),
    [(PAIRS, "80", ExitCode.DONE), (SEARCH, "80", ExitCode.INPUT), (SEARCH, "120", ExitCode.DONE)],
)
def test_lines_are_as_short_as_the_text_of_a_run_can_be(words: list[str], width: str, code: ExitCode) -> None:
    assert main([*words, "-q", "-o", "text", "--run", "x.clalign"]) == ExitCode.DONE
    for command in ("export", "resume"):
        assert main([command, "x.clalign", "-o", "short", "--textw", width]) == code
        assert Path("short").exists() == (code == ExitCode.DONE)


def test_clans_of_a_run_that_cannot_be_had(capsys: pytest.CaptureFixture[str]) -> None:
    """A report of one profile asks for none, and is refused all the same, as before a search."""
    assert main([*SEARCH, "-q", "-o", "text", "--run", "x.clalign"]) == ExitCode.DONE
    for command in ("export", "resume"):
        words = [command, "x.clalign", "--overlaps", "clans", "--html", "y", "--tsv", "z"]
        assert main(words) == ExitCode.INPUT
        assert "--clans" in capsys.readouterr().err
        assert not Path("z").exists()
        assert main([*words, "--clans", "clans.tsv"]) == ExitCode.DONE
        Path("z").unlink()


def test_parquet_without_what_writes_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'clalign[parquet]'" in refused([*SEARCH, "--parquet", "x"], capsys, ExitCode.INPUT)


def test_overlapping_domains_are_thinned_out_of_gff3_too() -> None:
    text = (EXAMPLES / "rrm_1.hmm").read_text()
    Path("two.hmm").write_text(text + text.replace("NAME  RRM_1", "NAME  same"))
    assert main(["hmmsearch", "two.hmm", PROTEINS, "-q", "-o", "x", "--run", "x.clalign"]) == ExitCode.DONE
    lines = {}
    for rule in ("all", "best"):
        for flag in ("--gff3", "--bed"):
            assert main(["export", "x.clalign", "--overlaps", rule, flag, "out"]) == ExitCode.DONE
            lines[rule, flag] = [line for line in Path("out").read_text().splitlines() if line[0] != "#"]
    assert len(lines["all", "--gff3"]) == len(lines["all", "--bed"]) == 2 * len(lines["best", "--bed"]) > 0
    assert len(lines["best", "--gff3"]) == len(lines["best", "--bed"])


def test_what_is_thinned_out_says_by_which_rule() -> None:
    text = (EXAMPLES / "rrm_1.hmm").read_text()
    Path("two.hmm").write_text(text + text.replace("NAME  RRM_1", "NAME  same"))
    placed = []
    for record in Path(PROTEINS).read_text().split(">")[1:]:
        sequence = "".join(record.splitlines()[1:])
        placed.append(f">contig{len(placed)}:1-{3 * len(sequence)}\n{sequence}\n")
    Path("placed.fa").write_text("".join(placed))
    Path("clans.tsv").write_text("RRM_1\tCL1\nsame\tCL1\n")
    assert main(["hmmsearch", "two.hmm", "placed.fa", "-q", "-o", "x", "--run", "x.clalign"]) == ExitCode.DONE
    rules = {"": [], "best": ["--overlaps", "best"], "clans": ["--overlaps", "clans", "--clans", "clans.tsv"]}
    for flag in ("--gff3", "--genome-gff3", "--bed", "--genome-bed"):
        for rule, words in rules.items():
            assert main(["export", "x.clalign", *words, "--with-provenance", flag, "out"]) == ExitCode.DONE
            messages = [line for line in Path("out").read_text().splitlines() if line.startswith("# overlaps: ")]
            assert [line.split(": ")[1] for line in messages] == [rule] * bool(rule)
            shown = json.loads(Path("out.provenance.json").read_text("utf-8"))["overlaps"]
            assert [f"# overlaps: {shown}"] * bool(shown) == messages
            assert ("clan=CL1" in Path("out").read_text()) == (rule == "clans" and "gff3" in flag)


@pytest.fixture
def aligned(here: Path) -> Path:
    """The run of an alignment."""
    (here / "f.fa").write_text(">a one\nMKVLATGHEWQRIPND\n>b\nMKVLSTGHDWQKIPND\n>c\nKVMATHEWRIPDY\n")
    assert main(["align", "-q", "--run", "f.clalign", "-o", "f.afa", "f.fa"]) == ExitCode.DONE
    return here / "f.clalign"


@pytest.mark.usefixtures("aligned")
@pytest.mark.parametrize("words", [["--species"], ["--flank", "3"], ["--html-hits", "3"], ["--overlaps", "best"]])
def test_no_output_is_proposed_that_a_run_has_not(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("export", "resume"):
        assert main([command, "f.clalign", *words]) == ExitCode.USAGE
        assert words[0] in capsys.readouterr().err


@pytest.mark.usefixtures("aligned")
def test_alignments_have_no_hits_to_choose_among(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["-E", "1"], ["-T", "0"], ["--query", "a"], ["--target", "a"], ["--significant"]):
        assert words[0] in refused(["export", "f.clalign", *words], capsys)


@pytest.mark.parametrize(
    "words",
    [
        "tree -o rows.afa rows.afa",
        "tree --matrix rows.afa rows.afa",
        "tree --matrix both -o both rows.afa",
        "tree -o x.clalign x.clalign",
        "hmmbuild rows.afa rows.afa",
        "add -o new.fa rows.afa new.fa",
        "shard 2 --script new.fa sw new.fa rows.afa",
        "calibrate --histogram rows.afa -o new.hmm rows.afa",
        "export --fasta new.fa x.clalign",
        "resume --tsv rows.afa x.clalign",
        "export --species --taxonomy species.tsv --tsv species.tsv x.clalign",
        "export --tsv x.clalign x.clalign",
        "export --tsv linked x.clalign",
        "picture --kind species --taxonomy species.tsv -o species.tsv x.clalign",
        "logo -o profile.svg profile.svg",
        "bench --import species.tsv --json species.tsv",
    ],
)
def test_no_output_replaces_what_the_command_reads(words: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    residues = Path(PROTEINS).read_text().split("\n")[1][:50]
    (here / "rows.afa").write_text("".join(f">{name}\n{residues}\n" for name in "abc"))
    (here / "new.fa").write_text(f">d\n{residues}\n")
    (here / "species.tsv").write_text("a\tHomo sapiens\n")
    (here / "profile.svg").write_text(Path(PROFILE).read_text())
    os.link(here / "rows.afa", here / "linked")
    assert main(["sw", "-q", "-o", os.devnull, "--run", "x.clalign", "new.fa", "rows.afa"]) == 0
    before = {path: path.read_bytes() for path in here.iterdir()}
    capsys.readouterr()
    assert main(words.split()) == ExitCode.INPUT
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_what_is_gone_may_be_written_and_links_in_a_circle_are_reported(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "a.fa").write_text(Path(PROTEINS).read_text())
    assert main(["sw", "-q", "-o", os.devnull, "--run", "x.clalign", "a.fa", "a.fa"]) == 0
    (here / "a.fa").unlink()
    assert main(["export", "--tsv", "a.fa", "x.clalign"]) == 0
    os.symlink("there", "back")
    os.symlink("back", "there")
    capsys.readouterr()
    for name in ("back", "n" * 300):
        assert main(["export", "--tsv", name, "x.clalign"]) == ExitCode.CANNOT_WRITE
        assert name in capsys.readouterr().err
