"""What the environment may hold: levels of the log, few open files, folders whose names are no UTF-8."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from clalign.building.specs import BuildSpec
from clalign.cli import main
from clalign.cli.environment import MIN_OPEN_FILES, leave_threads_out, log_level
from clalign.errors import ExitCode
from clalign.jobs import QuietContext
from clalign.system.processes import own_command
from clalign.tools.hmm_building import build_profiles
from clalign.values.devices import REFERENCE

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILE, TARGETS = str(GOLDEN / "profiles" / "katdna_ls.hmm"), str(GOLDEN / "sequences" / "kat.fa")


@pytest.mark.parametrize("level", ["loud", "10", " "])
def test_a_level_of_the_log_that_is_none_is_refused(
    level: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLALIGN_LOG", level)
    assert main(["cache"]) == ExitCode.INPUT
    messages = capsys.readouterr().err
    assert all(word in messages for word in ("CLALIGN_LOG", f'"{level}"', "DEBUG"))


@pytest.mark.parametrize("limit", ["-1", "-1e9", "much", "nan", "inf", " "])
@pytest.mark.parametrize("command", ["cache", "runs"])
@pytest.mark.parametrize("name", ["CLALIGN_CACHE_LIMIT", "CLALIGN_GPU_MEMORY"])
def test_a_limit_that_is_none_is_refused_by_every_command(
    name: str, command: str, limit: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, limit)
    assert main([command, *(["list"] if command == "runs" else [])]) == ExitCode.INPUT
    messages = capsys.readouterr()
    assert messages.out == ""
    assert name in messages.err
    assert limit in messages.err


@pytest.mark.parametrize(("level", "number"), [("", 30), ("info", 20), ("DEBUG", 10), ("loud", 30)])
def test_an_empty_level_of_the_log_is_that_of_warnings(
    level: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLALIGN_LOG", level)
    assert log_level() == number


def test_a_worker_takes_an_empty_level(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CLALIGN_LOG", "")
    assert main(["hmmsearch", "-q", "--device", "reference", "--tsv", "-", "-o", os.devnull, PROFILE, TARGETS]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
@pytest.mark.parametrize("n", [5, 8, 16, MIN_OPEN_FILES - 1])
def test_too_few_open_files_are_reported(n: int) -> None:
    done = limited(f"-n {n}", "devices")
    assert done.returncode == ExitCode.INPUT
    assert str(n) in done.stderr
    assert "ulimit -n 1024" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_few_open_files_are_enough_where_more_are_allowed() -> None:
    for limit in ("-S -n 12", f"-n {MIN_OPEN_FILES}"):
        done = limited(limit, "hmmsearch", "-q", "--device", "auto", "--tsv", "-", "-o", os.devnull, PROFILE, TARGETS)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("\n") > 1


def limited(limit: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f'ulimit {limit} && exec "$@"', "sh", *own_command(*words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_that_are_no_utf8_go_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / os.fsdecode(b"d\xff\xe9")
    for name in ("cache", "tmp"):
        (home / name).mkdir(parents=True)
    profile, targets, run, text, table = (
        str(home / os.fsdecode(name)) for name in (b"p\xf1.hmm", b"s\xf1.fa", b"r\xff.clalign", b"o\xff.txt", b"t\xff")
    )
    shutil.copy(PROFILE, profile)
    shutil.copy(TARGETS, targets)
    for name, value in (("CLALIGN_CACHE_DIR", home / "cache"), ("TMPDIR", home / "tmp")):
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(tempfile, "tempdir", None)
    search = ("--device", "reference", "-q")
    assert main(["hmmsearch", *search, "-o", text, "--run", run, profile, targets]) == 0
    assert main(["sw", *search, "-o", os.devnull, "--tsv", table, targets, targets]) == 0
    assert main(["verify", run]) == 0
    assert main(["export", "--tsv", "-", run]) == 0
    assert main(["explain", run, "s1"]) == 0
    assert capsys.readouterr().err == ""
    assert Path(text).read_text().endswith("# [ok]\n")
    assert list((home / "tmp").iterdir()) == []
    for words in (["explain", run, os.fsdecode(b"n\xffobody")], ["hmmsearch", os.fsdecode(b"n\xff"), targets]):
        assert main(words) == ExitCode.UNREADABLE
        assert "n\\udcff" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_profile_is_named_after_a_file_whose_name_is_no_utf8(tmp_path: Path) -> None:
    alignment = tmp_path / os.fsdecode(b"f\xff.sto")
    alignment.write_text("# STOCKHOLM 1.0\n" + "".join(f"s{i} MKVLAARTEW\n" for i in range(4)) + "//\n")
    built = tmp_path / "b.hmm"
    spec = BuildSpec(msv_n=2, viterbi_n=2, forward_n=2)
    build_profiles(str(alignment), str(built), spec, REFERENCE, QuietContext())
    assert "NAME  f\\udcff\n" in built.read_text()


def test_numpy_starts_no_threads_where_an_engine_has_nothing_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENBLAS_MAIN_FREE", "GOTOBLAS_MAIN_FREE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    leave_threads_out()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3", "the user's wish counts"
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    leave_threads_out()
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    script = "import sys, clalign.cli, clalign.cli.worker; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0, (
        "it is too late then"
    )


def test_what_few_searches_need_is_not_loaded_by_all() -> None:
    modules = "{'xopen', 'zstandard', 'clalign.formats.hmmer3_binary', 'clalign.engines.pictures'}"
    script = f"import sys, clalign.engines.pairwise.export; print(sorted({modules} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], timeout=60, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
