"""Inputs that can be read once only: pipes, ``<(command)`` of a shell, standard input; and what is no input at all."""

from __future__ import annotations

import io
import os
import shutil
import threading
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.inputs import in_files, input_path
from clalign.cli.run_places import run_place
from clalign.errors import ClalignError, ExitCode, InputError
from clalign.runs.connection import owned
from clalign.runs.run_file import create_run

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILE = GOLDEN / "profiles" / "katdna_ls.hmm"
DNA = GOLDEN / "sequences" / "kat.fa"
MATRIX = "  A  C  D\nA 4 -1 -2\nC -1 9 -3\nD -2 -3 6\n"
QUERY = ">q\nACDACD\n"

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")

Pipe = Callable[[str, bytes], str]


@pytest.fixture
def pipe(tmp_path: Path) -> Pipe:
    """Make a named pipe out of which some bytes come, once; whoever opens it again waits for ever."""

    def make(name: str, content: bytes) -> str:
        path = tmp_path / name
        os.mkfifo(path)
        threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
        return str(path)

    return make


def quiet(command: str, *words: str) -> int:
    return main([command, "-q", "--device", "reference", *words])


@pytest.mark.thorough(command=["hmmsearch"])
@pytest.mark.parametrize("command", ["hmmsearch", "hmmscan"])
def test_profiles_and_sequences(command: str, pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert quiet(command, "--tsv", "-", str(PROFILE), str(DNA)) == 0
    expected = capsys.readouterr().out
    run = tmp_path / "r.clalign"
    given = pipe("profiles", PROFILE.read_bytes()), pipe("x.fa", DNA.read_bytes())
    assert quiet(command, "--tsv", "-", "--run", str(run), *given) == 0
    assert capsys.readouterr().out == expected
    assert (tmp_path / "r.pipe-x.fa").read_bytes() == DNA.read_bytes()
    assert main(["export", str(run), "-o", "-"]) == 0
    assert "r.pipe" not in capsys.readouterr().out


def test_everything_of_sw(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    pairs, matrix = pipe("pairs", b"q\tq\n"), pipe("matrix", MATRIX.encode())
    words = ["--alphabet", "amino", "--pair-list", pairs, "--matrix", matrix, "--outfmt", "6 qseqid score"]
    assert quiet("sw", *words, pipe("q", QUERY.encode()), pipe("t", QUERY.encode())) == 0
    assert capsys.readouterr().out == "q\t38\n"


def test_two_pipes_of_one_name_are_not_taken_for_one(
    pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in "ab":
        (tmp_path / folder).mkdir()
    given = pipe("a/p", QUERY.encode()), pipe("b/p", QUERY.encode())
    assert quiet("sw", *given) == ExitCode.INPUT
    assert "pipe" in capsys.readouterr().err
    Path(given[1]).read_bytes()  # nobody waits for its reader any more


@pytest.mark.thorough
@pytest.mark.usefixtures("worker_here")
def test_calibrate_reads_three_times(pipe: Pipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words, written = ("--num", "600", "--fixed", "20", "-o"), [tmp_path / name for name in "ab"]
    assert quiet("calibrate", *words, str(written[0]), str(PROFILE)) == 0
    assert quiet("calibrate", *words, str(written[1]), pipe("p", PROFILE.read_bytes())) == 0
    assert written[0].read_bytes() == written[1].read_bytes()
    assert quiet("calibrate", "--in-place", pipe("again", b"")) == ExitCode.INPUT


@pytest.mark.usefixtures("worker_here")
def test_explain(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    assert quiet("explain", pipe("p", PROFILE.read_bytes()), pipe("s", DNA.read_bytes()), "s2") == 0
    assert "Sequence: s2" in capsys.readouterr().out
    name = pipe("bad", b"nothing of the kind\n")
    assert quiet("explain", name, str(DNA), "s2") == ExitCode.UNREADABLE
    assert capsys.readouterr().err.startswith(f"clalign: {name}: ")


@pytest.mark.usefixtures("worker_here")
def test_hmmbuild(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hmmbuild", "-q", "--amino", "-", pipe("family.afa", b">a\nACDEF\n>b\nACDEF\n")]) == 0
    assert "NAME  family\n" in capsys.readouterr().out


@pytest.mark.usefixtures("worker_here")
def test_alignments(pipe: Pipe, capsys: pytest.CaptureFixture[str]) -> None:
    rows = b">a\nACDEFGHIKL\n>b\nACDEFGHIKL\n"
    assert quiet("add", pipe("old.afa", rows), pipe("new.fa", b">c\nACDEFGHIKL\n")) == 0
    assert capsys.readouterr().out == rows.decode() + ">c\nACDEFGHIKL\n"
    assert quiet("realign", "--columns", "2-5", pipe("again.afa", rows)) == 0
    assert capsys.readouterr().out == rows.decode()
    assert main(["accuracy", pipe("test", rows), pipe("reference", rows)]) == 0
    assert "1.0000    1.0000" in capsys.readouterr().out
    known = pipe("probs", b"(0, 0) ~ (1, 0) => 0.5\n")
    assert main(["tree", "--distance", "posterior", "--probs", known, pipe("rows", rows)]) == 0
    assert capsys.readouterr().out == "(a:0.475,b:0.475);\n"


def test_descriptors_of_a_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/fd").exists():
        pytest.skip("this system has no /dev/fd")
    ends = [os.pipe() for _ in range(2)]
    for (_, end), path in zip(ends, (PROFILE, DNA), strict=True):
        threading.Thread(target=fill, args=(end, path.read_bytes())).start()
    names = [f"/dev/fd/{end}" for end, _ in ends]
    assert quiet("hmmscan", "-o", "-", *names) == 0
    assert "/dev/fd/" in capsys.readouterr().out
    for end, _ in ends:
        os.close(end)


def fill(end: int, content: bytes) -> None:
    with open(end, "wb") as stream:
        stream.write(content)


def test_a_run_that_is_refused_leaves_no_copies(pipe: Pipe, tmp_path: Path) -> None:
    given = pipe("profiles", b"no model\n"), pipe("x.fa", DNA.read_bytes())
    assert quiet("hmmsearch", "--run", str(tmp_path / "r.clalign"), *given) == ExitCode.UNREADABLE
    assert {path.name for path in tmp_path.iterdir()} == {"profiles", "x.fa"}


def test_a_command_that_has_made_no_run_removes_none(tmp_path: Path) -> None:
    place = run_place(str(tmp_path / "x.clalign"))
    place.discard()
    with create_run(place.path, engine="plan7", state="new"):
        with owned(place.path):
            place.discard()
        assert place.path.exists(), "another worker has just made it"
    place.discard()
    assert not place.path.exists(), "it holds nothing, and nobody is at it"
    assert quiet("hmmsearch", "-o", os.devnull, "--run", str(place.path), str(PROFILE), str(DNA)) == 0
    place.discard()
    assert place.path.exists(), "another command has finished it"


def test_a_copy_does_not_replace_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.stdin").write_text("mine")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DNA.read_bytes())))
    assert quiet("hmmsearch", "--run", str(tmp_path / "r.clalign"), str(PROFILE), "-") == ExitCode.CANNOT_WRITE
    assert "r.stdin" in capsys.readouterr().err
    assert (tmp_path / "r.stdin").read_text() == "mine"


def test_a_disk_that_gets_full_is_reported_and_not_filled(
    pipe: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(10 << 30, (10 << 30) - (100 << 20), 100 << 20))
    words = ("--run", str(tmp_path / "r.clalign"), str(PROFILE), pipe("s", DNA.read_bytes()))
    assert quiet("hmmsearch", *words) == ExitCode.CANNOT_WRITE
    assert "TMPDIR" in capsys.readouterr().err
    assert not (tmp_path / "r.pipe-s").exists()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="this system has no /dev/zero")
def test_what_never_ends_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, *words in (
        ("hmmsearch", "/dev/zero", str(DNA)), ("hmmscan", str(PROFILE), "/dev/zero"),
        ("sw", str(DNA), "/dev/zero"), ("sw", "--matrix", "/dev/zero", str(DNA), str(DNA)),
        ("calibrate", "-o", str(tmp_path / "x"), "/dev/zero"),
    ):  # fmt: skip
        assert quiet(command, *words) == ExitCode.UNREADABLE, command
        assert capsys.readouterr().err.startswith("clalign: /dev/zero: ")


def test_what_is_not_there_is_reported(tmp_path: Path) -> None:
    for name in (str(tmp_path / "nothing"), "x" * 5000):
        with pytest.raises(InputError) as refused:
            input_path(name)
        assert refused.value.hint


def test_errors_name_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x")))
    with pytest.raises(ClalignError, match="standard input: bad") as refused, in_files("-") as (copy,):
        raise InputError(copy, "bad.")
    assert copy not in str(refused.value)
    assert not Path(copy).exists()
