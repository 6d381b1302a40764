"""Texts and tables that have a place for it say what made them: version, command, checksums of inputs, device, date."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from Bio import AlignIO

import clalign
from clalign.cli import main
from clalign.cli.early_outputs import EarlyOutputs
from clalign.cli.outputs import Outputs
from clalign.cli.progress import progress_display
from clalign.cli.watch import write_outputs
from clalign.engines.engine import spec_of
from clalign.engines.export_source import provenance_of
from clalign.engines.exports import HIT_FILES
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
PROTEINS = EXAMPLES / "three_proteins.fasta"

MADE = [
    ("hmmsearch", "rrm_1.hmm", "-o"),
    ("hmmscan", "rrm_1.hmm", "-o"),
    ("hmmsearch", "globins4.hmm", "-o"),
    ("hmmscan", "globins4.hmm", "-o"),
    *(("hmmsearch", "globins4.hmm", flag) for flag in ("--tblout", "--domtblout")),
    ("hmmscan", "globins4.hmm", "--tblout"),
    ("sw", "three_proteins.fasta", "-o"),
    ("sw", "three_proteins.fasta", "--sam"),
]


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize(("command", "query", "flag"), MADE)
def test_a_file_says_what_made_it(command: str, query: str, flag: str, tmp_path: Path) -> None:
    made, inputs = tmp_path / "made", [EXAMPLES / query, PROTEINS]
    assert main([command, "-q", "--device", "reference", flag, str(made), *map(str, inputs)]) == ExitCode.DONE
    text = made.read_text("utf-8")
    assert clalign.__version__ in text
    assert f"clalign {command} " in text
    assert "Reference (NumPy)" in text
    assert re.search(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}", text)
    found = {tuple(line.split("  ", 1)) for line in re.findall(r"SHA-256: +(.*)", text)}
    assert found == {(hashlib.sha256(path.read_bytes()).hexdigest(), str(path)) for path in inputs}


def test_sha256sum_checks_the_inputs(tmp_path: Path) -> None:
    made, copy = tmp_path / "made", tmp_path / "proteins.fasta"
    copy.write_bytes(PROTEINS.read_bytes())
    words = ["-q", "--device", "reference", "--tblout", str(made), str(EXAMPLES / "globins4.hmm"), str(copy)]
    assert main(["hmmsearch", *words]) == ExitCode.DONE
    sums = "".join(f"{line}\n" for line in re.findall(r"# SHA-256: +(.*)", made.read_text("utf-8")))
    check = ["sha256sum", "--check", "--status"]
    assert subprocess.run(check, input=sums, text=True, check=False).returncode == 0
    copy.write_text(">other\nACD\n", encoding="utf-8")
    assert subprocess.run(check, input=sums, text=True, check=False).returncode == 1


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A search of a profile, in a file with a line feed in its name, that hit several sequences."""
    profile, path = tmp_path / "glob\nins.hmm", tmp_path / "run.clalign"
    profile.write_bytes((EXAMPLES / "rrm_1_hmmer3.hmm").read_bytes())
    targets = EXAMPLES / "swissprot_sample.fasta.gz"
    words = ["-q", "--device", "cpu", "-o", str(tmp_path / "text"), "--run", str(path), str(profile), str(targets)]
    assert main(["hmmsearch", *words]) == ExitCode.DONE
    return path


@pytest.mark.usefixtures("worker_here")
def test_a_file_says_which_hits_were_chosen(run: Path, tmp_path: Path) -> None:
    with open_run(run) as opened:
        n_all, n_best = opened.n_hits(), sum((hit.evalue or 0) <= 1e-15 for hit in opened.hits())
    assert 0 < n_best < n_all
    for flag in ("-o", "--tblout", "--gff3", "--bed", "--html"):
        made = tmp_path / "made"
        for chosen in ([], ["-E", "1e-15"], ["--significant"]):
            assert main(["export", str(run), *chosen, flag, str(made)]) == ExitCode.DONE
            text = made.read_text("utf-8")
            assert (f"{n_best} of {n_all} hits" in text) == ("-E" in chosen), flag
            assert ("only what is significant" in text) == (chosen == ["--significant"]), flag


@pytest.mark.usefixtures("worker_here")
def test_nothing_is_chosen_as_significant_where_no_hit_is_called_so(tmp_path: Path) -> None:
    files = [tmp_path / "one.fasta", PROTEINS]
    files[0].write_text("".join(PROTEINS.read_text("utf-8").partition("\n>")[0]) + "\n", "utf-8")
    made = [tmp_path / name for name in ("k.sto", "k.afa")]
    words = ["--with-provenance", "--stockholm", str(made[0]), "--afa", str(made[1]), *map(str, files)]
    assert main(["sw", "-q", "--device", "reference", "-o", str(tmp_path / "text"), *words]) == ExitCode.DONE
    assert "only what is significant" not in made[0].read_text("utf-8")
    for path in made:
        assert json.loads(Path(f"{path}.provenance.json").read_text("utf-8"))["chosen"] == ""


@pytest.mark.usefixtures("worker_here")
def test_alignments_of_a_search_hold_the_same_domains(tmp_path: Path) -> None:
    made = [tmp_path / name for name in ("k.sto", "k.afa", "k.a2m")]
    words = ["-A", str(made[0]), "--afa", str(made[1]), "--a2m", str(made[2])]
    files = [str(EXAMPLES / "rrm_1_hmmer3.hmm"), str(EXAMPLES / "swissprot_sample.fasta.gz")]
    words += ["--domtsv", str(tmp_path / "domains"), "-o", str(tmp_path / "text")]
    assert main(["hmmsearch", "-q", "--device", "cpu", *words, *files]) == ExitCode.DONE
    rows = [[row.id for row in AlignIO.read(made[0], "stockholm")], [row.id for row in AlignIO.read(made[1], "fasta")]]
    rows.append(re.findall(r"^>(\S+)", made[2].read_text("utf-8"), re.M))
    assert rows[0] == rows[1] == rows[2]
    assert 0 < len(rows[0]) < len((tmp_path / "domains").read_text("utf-8").splitlines()) - 1, "some are insignificant"


@pytest.mark.usefixtures("worker_here")
def test_a_line_feed_in_a_name_begins_no_line(run: Path, tmp_path: Path) -> None:
    """What follows it would be read as a record."""
    for flag in ("-o", "--tblout", "--gff3", "--bed"):
        made = tmp_path / "made"
        assert main(["export", str(run), flag, str(made)]) == ExitCode.DONE
        lines = made.read_text("utf-8").splitlines()
        assert not [line for line in lines if line.startswith("ins.hmm")], flag
        assert [line for line in lines if "glob\\nins.hmm" in line], flag


@pytest.mark.usefixtures("worker_here")
def test_parquet_has_the_checksums_of_all_inputs(run: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert main(["export", str(run), "--parquet", str(tmp_path / "hits.parquet")]) == ExitCode.DONE
    sums = parquet.read_schema(tmp_path / "hits.parquet").metadata[b"sha256"].decode().splitlines()
    names = (EXAMPLES / "rrm_1_hmmer3.hmm", EXAMPLES / "swissprot_sample.fasta.gz")
    assert [line.split()[0] for line in sums] == [hashlib.sha256(path.read_bytes()).hexdigest() for path in names]


@pytest.mark.usefixtures("worker_here")
def test_what_has_no_place_for_it_gets_a_file_beside_it_if_that_is_asked_for(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "hits.csv"
    assert main(["export", str(run), "--csv", str(made)]) == ExitCode.DONE
    assert not [path.name for path in tmp_path.iterdir() if "provenance" in path.name], "nobody asked"
    words = ["-E", "1e-15", "--with-provenance", "--csv", str(made), "--fasta", "-"]
    assert main(["export", str(run), *words]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith(">")
    shown = json.loads((tmp_path / "hits.csv.provenance.json").read_text("utf-8"))
    assert (shown["file"], shown["export"], shown["partial"]) == ("hits.csv", "csv", False)
    assert (shown["program"], shown["version"]) == ("clalign hmmsearch", clalign.__version__)
    assert shown["command"].startswith("clalign hmmsearch ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}", shown["date"])
    assert re.fullmatch(rf"{len(made.read_text().splitlines()) - 1} of \d+ hits \(-E 1e-15\)", shown["chosen"])
    inputs = (EXAMPLES / "rrm_1_hmmer3.hmm", EXAMPLES / "swissprot_sample.fasta.gz")
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in inputs]
    assert [one["sha256"] for one in shown["inputs"]] == sums
    assert shown["options"] == {}
    shaped = ["--with-provenance", "--flank", "5", "--with-matched-by", "--fasta-matched", str(tmp_path / "parts")]
    assert main(["export", str(run), *shaped]) == ExitCode.DONE
    shown = json.loads((tmp_path / "parts.provenance.json").read_text("utf-8"))
    assert shown["options"] == {"flank": 5, "matched_by": True}
    words = ["--target", "sp|Q923K9|A1CF_RAT", "--significant", "--with-provenance", "--csv", str(made)]
    assert main(["export", str(run), *words]) == ExitCode.DONE
    shown = json.loads((tmp_path / "hits.csv.provenance.json").read_text("utf-8"))
    assert re.fullmatch(r"1 of \d+ hits \(--target 'sp\|Q923K9\|A1CF_RAT'\), only what is significant", shown["chosen"])


@pytest.mark.usefixtures("worker_here")
def test_alignments_have_the_checksums_of_all_their_sequences(tmp_path: Path) -> None:
    files, run, new = [tmp_path / "a.fa", tmp_path / "b.fa"], tmp_path / "run.clalign", tmp_path / "new.clalign"
    files[0].write_text(">a one\nMKVLATGHEWQRIPND\n>b\nMKVLSTGHDWQKIPND\n", "utf-8")
    files[1].write_text(">c\nKVMATHEWRIPDY\n", "utf-8")
    inputs = [{"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "name": str(path)} for path in files]
    made, flag = [tmp_path / name for name in ("k.afa", "k.a2m", "k.sto")], "--with-provenance"
    words = ["-q", "--device", "reference", "--run", str(run), flag, "-o", str(made[0])]
    assert main(["align", *words, *map(str, files)]) == ExitCode.DONE
    assert main(["export", flag, "--a2m", str(made[1]), str(run)]) == ExitCode.DONE
    words = ["-q", "--device", "reference", "--maxsn", "--run", str(new), flag, "--stockholm", str(made[2])]
    assert main(["anneal", *words, str(run)]) == ExitCode.DONE
    for path in made:
        assert json.loads(Path(f"{path}.provenance.json").read_text("utf-8"))["inputs"] == inputs


@pytest.mark.usefixtures("worker_here")
def test_a_file_beside_others_is_an_output_like_any_other(run: Path, tmp_path: Path) -> None:
    words = ["export", str(run), "--with-provenance"]
    assert main([*words, "--csv", "-"]) == ExitCode.INPUT, "there is nothing that it could lie beside"
    both = ["--csv", str(tmp_path / "x"), "--tsv", str(tmp_path / "x.provenance.json")]
    assert main([*words, *both]) == ExitCode.INPUT
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(("path", "named"), [("x.csv", "x.csv was not"), ("-", "Nothing was")])
def test_a_search_that_is_stopped_says_what_it_does_not_write(
    path: str, named: str, stopped_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(stopped_run.parent)
    outputs = Outputs(((HIT_FILES[0], path),))
    write_outputs(stopped_run, outputs, True, progress_display("plain"), EarlyOutputs(stopped_run, outputs))
    shown = capsys.readouterr()
    assert f"{named} " in shown.err
    assert not shown.out
    assert not Path(path).exists()


def test_a_partial_run_is_reported_where_its_file_cannot_say_so(
    stopped_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "made"
    for flag, kind in (("--csv", list), ("--domcsv", list), ("--fasta-matched", str), ("--afa", str), ("--a2m", str)):
        assert main(["export", str(stopped_run), flag, str(made)]) == ExitCode.DONE
        assert str(made) in capsys.readouterr().err, flag
        assert "partial" not in made.read_text("utf-8")
        if kind is list:
            head, *rows = csv.reader(made.read_text("utf-8").splitlines())
            assert rows
            assert {len(row) for row in rows} == {len(head)}
    for flag in ("--tsv", "-o", "--json"):
        assert main(["export", str(stopped_run), flag, str(made)]) == ExitCode.DONE
        assert capsys.readouterr().err == ""
        assert "partial" in made.read_text("utf-8").splitlines()[-1]
    assert main(["export", str(stopped_run), "--with-provenance", "--csv", str(made)]) == ExitCode.DONE
    assert json.loads((tmp_path / "made.provenance.json").read_text("utf-8"))["partial"] is True


@pytest.mark.usefixtures("worker_here")
def test_alignments_and_pictures_of_hits_say_what_made_them(run: Path, tmp_path: Path) -> None:
    with open_run(run) as opened:
        lines = provenance_of(opened, spec_of(opened)).comments()
    assert lines[0] == f"made by: clalign {clalign.__version__}"
    assert len([line for line in lines if line.startswith("sha256: ")]) == 2
    sto, svg = tmp_path / "x.sto", tmp_path / "x.svg"
    assert main(["export", str(run), "--stockholm", str(sto)]) == ExitCode.DONE
    shown = [line.removeprefix("#=GF CC ") for line in sto.read_text("utf-8").splitlines() if "#=GF CC" in line]
    assert shown == [line.replace("\n", "\\n") for line in lines]
    assert list(AlignIO.parse(sto, "stockholm"))
    assert main(["picture", str(run), "-o", str(svg)]) == ExitCode.DONE
    metadata = ElementTree.parse(svg).getroot().find("{http://www.w3.org/2000/svg}metadata")
    assert metadata is not None
    assert metadata.text is not None
    assert metadata.text.splitlines() == lines


def test_a_picture_of_a_partial_run_says_so(stopped_run: Path, tmp_path: Path) -> None:
    svg = tmp_path / "x.svg"
    assert main(["picture", str(stopped_run), "-o", str(svg)]) == ExitCode.DONE
    assert "\npartial: yes</metadata>" in svg.read_text("utf-8")
