"""``clalign hmmsearch`` from end to end: inputs, outputs, messages, exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.databases.examples import load_examples
from clalign.errors import ExitCode
from clalign.values.devices import SLOW_TEXT

GOLDEN = Path(__file__).parents[1] / "golden"
pytestmark = pytest.mark.usefixtures("worker_here")

PROFILE = str(GOLDEN / "profiles" / "rrm_ls.hmm")
MOTIF = str(GOLDEN / "profiles" / "katdna_ls.hmm")
PROTEINS = str(GOLDEN / "sequences" / "built.fa")
DNA = str(GOLDEN / "sequences" / "kat.fa")


def clalign(*words: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clalign", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


def search(*words: str) -> int:
    return main(["hmmsearch", "-q", "--device", "cpu", *words])


def test_all_outputs_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "-o": "a.txt", "--tblout": "b.tbl", "--domtblout": "c.tbl", "--tsv": "d.tsv", "--domtsv": "e.tsv",
        "-A": "f.sto", "--fasta": "g.fa", "--run": "h.clalign",
    }  # fmt: skip
    flags = [word for flag, name in files.items() for word in (flag, str(tmp_path / name))]
    assert search(*flags, PROFILE, PROTEINS) == 0
    assert capsys.readouterr().out == ""
    names = {path.name for path in tmp_path.iterdir() if not path.name.endswith(("-wal", "-shm"))}
    assert names == set(files.values())
    sequences = (tmp_path / "g.fa").read_text()
    assert sequences.count(">") == 10
    assert sequences.startswith(">tandem 12 copies")
    assert (tmp_path / "f.sto").read_text().startswith("# STOCKHOLM 1.0\n#=GF ID rrm_ls\n")


def test_alignments_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--noali", PROFILE, PROTEINS) == 0
    text = capsys.readouterr().out
    assert "Parsed for domains:" in text
    assert "*->" not in text


def test_a_table_may_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("--tsv", "-", MOTIF, DNA) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("query\ttarget")
    assert len(lines) == 9


def test_several_profiles_have_a_section_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = tmp_path / "both.hmm"
    both.write_text(Path(PROFILE).read_text() + (GOLDEN / "profiles" / "globins_ls.hmm").read_text())
    assert search("--noali", str(both), PROTEINS) == 0
    text = capsys.readouterr().out
    assert text.count("Query HMM:") == 2
    assert text.splitlines().count("//") == 2
    assert text.count("# [ok]") == 1


@pytest.mark.parametrize("command", ["hmmsearch", "hmmscan"])
def test_sequences_of_one_name_are_reported_once(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.fa"
    odd.write_text(">t1\nMKVLAARTEWYG\n>t2\nMKVLA\n>t1\nMKVLAATEW\n>t2\nMKV\n")
    assert main([command, "--progress", "none", "--device", "reference", PROFILE, str(odd)]) == 0
    messages, slow = capsys.readouterr().err.splitlines()
    assert re.match(rf'clalign: {re.escape(str(odd))}, line 5: .*\b2\b.*"t1"', messages)
    assert slow == f"clalign: {SLOW_TEXT}"


@pytest.mark.thorough(which=["profiles"])
@pytest.mark.parametrize("which", ["profiles", "sequences"])
def test_standard_input(which: str, tmp_path: Path) -> None:
    words = ["-", DNA] if which == "profiles" else [MOTIF, "-"]
    given = Path(MOTIF if which == "profiles" else DNA).read_bytes()
    run = tmp_path / "x.clalign"
    command = [sys.executable, "-m", "clalign", "hmmsearch", "-q", "--device", "reference", "--tsv", "-"]
    done = subprocess.run([*command, "--run", str(run), *words], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"\n") == 9
    again = clalign("export", str(run), "--fasta", "-")
    assert again.stdout.count(">") == 8
    assert (tmp_path / "x.stdin").read_bytes() == given


def test_temporary_runs_are_removed(tmp_path: Path) -> None:
    done = clalign("hmmsearch", "--device", "reference", MOTIF, DNA, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == 0
    assert not list(tmp_path.glob("clalign-*"))


def test_no_hits_are_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert search("-E", "1e-300", MOTIF, DNA) == 0
    assert "The best of 8 sequences was s2 with E = 2.6 (score 1.1)." in capsys.readouterr().out


def test_warnings_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--device", "reference", "--alphabet", "dna", MOTIF, DNA]
    assert main(["hmmsearch", *words]) == 0
    assert "katdna_ls" in capsys.readouterr().err
    assert main(["hmmsearch", "-q", *words]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    assert quiet.out.endswith("# [ok]\n")


@pytest.mark.parametrize("command", [["hmmsearch"], ["hmmscan"], ["explain"]], ids=str)
@pytest.mark.parametrize(
    ("profile", "sequences", "profile_name", "option"),
    [(MOTIF, PROTEINS, "katdna_ls", "dna"), (PROFILE, DNA, "rrm_ls", "amino")],
    ids=["dna", "protein"],
)
def test_profiles_for_another_kind_of_molecule_are_refused(
    command: list[str], profile: str, sequences: str, profile_name: str, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """As sequences of two kinds are, and as the window does; the user may know better."""
    from clalign.databases.loading import load_database

    name = [load_database(sequences)[0].header(0)[0]] if command == ["explain"] else []
    tail = ["--device", "reference", profile, sequences, *name]
    assert main([*command, *tail]) == ExitCode.UNREADABLE
    error = capsys.readouterr().err
    assert all(word in error for word in (profile_name, sequences, f"--alphabet {option}"))
    assert main([*command, "--alphabet", option, *tail]) == 0
    assert sequences not in capsys.readouterr().err


def test_few_letters_are_taken_for_what_the_profile_is_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = tmp_path / "few.fa"
    few.write_text(">a\nGATTACA\n")
    assert main(["hmmsearch", "--device", "reference", PROFILE, str(few)]) == 0
    assert capsys.readouterr().err.count(f"{few}: ") == 1


def events(*words: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    """Return the exit code of a search on the reference, and its events; nothing else goes to standard error."""
    code = main(["hmmsearch", "--progress", "json", "--device", "reference", *words])
    return code, [json.loads(line) for line in capfd.readouterr().err.splitlines()]


def test_progress_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    code, found = events(PROFILE, PROTEINS, capfd=capfd)
    kinds = [event["kind"] for event in found]
    assert (code, kinds[0], kinds[-1]) == (ExitCode.DONE, "started", "finished")
    assert {"progress", "partial", "warning"} <= set(kinds)


def test_errors_as_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.fa"
    bad.write_text("this is not a sequence file\n")
    code, found = events(PROFILE, str(bad), capfd=capfd)
    assert found[-1]["kind"] == "failed"
    assert found[-1]["value"]["exit_code"] == code == ExitCode.UNREADABLE


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        (["-o", "/no/such/folder/x"], ExitCode.CANNOT_WRITE),
        (["--tsv", "{folder}"], ExitCode.CANNOT_WRITE),
        (["--run", "{existing}"], ExitCode.CANNOT_WRITE),
        (["--run", "-"], ExitCode.INPUT),
        (["--tsv", "{input}"], ExitCode.INPUT),
        (["--tsv", "{new}", "--domtsv", "{new}"], ExitCode.INPUT),
        (["--device", "no such card"], ExitCode.NO_DEVICE),
    ],
)
def test_bad_outputs_are_refused_at_once(
    flags: list[str], code: ExitCode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    existing, given = tmp_path / "existing", tmp_path / "in.fa"
    existing.write_text("mine")
    shutil.copyfile(DNA, given)
    places = {"folder": tmp_path, "existing": existing, "input": given, "new": tmp_path / "new"}
    words = [flag.format(**places) for flag in flags]
    assert main(["hmmsearch", *words, MOTIF, str(given)]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) <= 3
    assert existing.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["existing", "in.fa"]


def test_a_run_that_never_began_leaves_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "x.clalign"
    bad = tmp_path / "bad.hmm"
    bad.write_text("HMMER2.0\nNAME x\n")
    assert search("--run", str(run), str(bad), DNA) == ExitCode.UNREADABLE
    assert "bad.hmm" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.hmm"]
    assert search("--run", str(run), MOTIF, DNA) == 0


def hmmer3_profile() -> str:
    (profile,) = [example.profiles for example in load_examples() if example.targets is None]
    return str(profile)


def test_hmmer3_profiles_write_every_output(tmp_path: Path) -> None:
    flags = ("-o", "--tblout", "--domtblout", "--pfamtblout", "--json", "--tsv", "--domtsv", "-A", "--fasta")
    words = [word for flag in flags for word in (flag, str(tmp_path / flag.strip("-")))]
    run = ["hmmsearch", "--device", "cpu", "--progress", "plain", "--cpu", "4"]
    assert main([*run, *words, hmmer3_profile(), PROTEINS]) == 0
    hits = [json.loads(line) for line in (tmp_path / "json").read_text().splitlines()]
    assert hits[0]["profile"]["name"] == "globins4"
    assert hits[0]["significant"] is True
    assert set(hits[0]["filters"]) == {"msv", "bias", "viterbi", "forward"}
    first = hits[0]["domains"][0]
    assert first["env_from"] <= first["ali_from"] <= first["ali_to"] <= first["env_to"]
    assert len(first["alignment"]["model"]) == len(first["alignment"]["posterior"])
    tables = {name: (tmp_path / name).read_text() for name in ("tsv", "domtsv", "tblout")}
    assert tables["tsv"].count("\n") == len(hits) + 1
    assert tables["domtsv"].count("\n") == sum(len(hit["domains"]) for hit in hits) + 1
    names, row = (line.split("\t") for line in tables["domtsv"].splitlines()[:2])
    cells = dict(zip(names, row, strict=True))
    columns = ("c_evalue", "env_from", "env_to", "accuracy")
    assert [float(cells[name]) for name in columns] == pytest.approx([first[name] for name in columns], rel=1e-5)
    match = first["alignment"]["match"]
    assert float(cells["identity"]) == round(100 * sum(map(str.isalpha, match)) / len(match), 2)
    assert sum(map(int, re.findall(r"(\d+)[MID]", cells["cigar"]))) == int(cells["columns"]) == len(match)
    assert sum(not line.startswith("#") for line in tables["tblout"].splitlines()) == len(hits)


def test_hmmer3_text_keeps_to_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profile, run = tmp_path / "named.hmm", str(tmp_path / "x.clalign")
    profile.write_text(Path(hmmer3_profile()).read_text().replace("NAME  globins4", "NAME  globins4\nACC   PF42"))
    assert search("-E", "1e-3", "--F1", "0.1", "--nonull2", "--acc", "--run", run, str(profile), PROTEINS) == 0
    shown = capsys.readouterr().out
    assert "# sequence reporting threshold:    E-value <= 0.001" in shown
    assert "# MSV filter P threshold:          <= 0.1" in shown
    assert "# null2 bias corrections:          off" in shown
    assert "PF42   1 " in shown
    assert "globins4   1 " not in shown
    assert longest_line(shown) <= 120
    for flags, least, most in (("--notextw", 150, 1000), ("--textw=140", 130, 140), ("--noali", 50, 120)):
        assert main(["export", run, "-o", "-", flags]) == 0
        assert least < longest_line(capsys.readouterr().out) <= most, flags


def longest_line(text: str) -> int:
    return max(len(line) for line in text.splitlines() if not line.startswith("#"))


def test_both_kinds_of_profiles_keep_their_layouts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library, few = tmp_path / "both.hmm", tmp_path / "few.fa"
    few.write_text(">" + ">".join(Path(PROTEINS).read_text().split(">")[1:5]))
    library.write_text(Path(hmmer3_profile()).read_text() + (GOLDEN / "profiles" / "globins_ls.hmm").read_text())
    assert main(["hmmsearch", "-q", "--device", "cpu", "--noali", str(library), str(few)]) == 0
    newer, older, rest = capsys.readouterr().out.split("//\n")
    assert "Query:       globins4  [M=149]" in newer
    assert "Internal pipeline statistics summary:" in newer
    assert "Query HMM:   globins" in older
    assert rest == "[ok]\n"
    assert main(["hmmscan", "-q", "--device", "cpu", str(library), str(few)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("Query:  ") == 4
    assert ">> globins4" in shown
    assert shown.endswith("//\n[ok]\n")


def test_a_closed_pipe_is_quiet() -> None:
    command = f'"{sys.executable}" -m clalign hmmsearch -q --device reference "{PROFILE}" "{PROTEINS}" | head -n 1'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("clalign ")
    assert done.stderr == ""
