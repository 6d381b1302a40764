"""``--dry-run``: everything is checked and told as for a run, and nothing is computed or left behind."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.errors import ExitCode
from clalign.runs.facts import MARKS
from clalign.runs.run_file import open_run

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
PROFILE, PROTEINS = EXAMPLES / "globins4.hmm", EXAMPLES / "three_proteins.fasta"

LENGTHS = [len("".join(record.split("\n")[1:])) for record in PROTEINS.read_text("ascii").split(">")[1:]]
N = sum(LENGTHS)
NODES = next(int(line.split()[1]) for line in PROFILE.read_text("ascii").splitlines() if line.startswith("LENG"))

COMMANDS: dict[str, tuple[tuple[Path, ...], str, int]] = {
    "hmmsearch": ((PROFILE, PROTEINS), f"1 profile of {NODES} nodes", NODES * N),
    "hmmscan": ((PROFILE, PROTEINS), f"1 profile of {NODES} nodes", NODES * N),
    "sw": ((PROTEINS, PROTEINS), f"3 queries of {N:,} residues", N * N),
    "align": ((PROTEINS,), "3 pairs", 0),
}
"""Inputs, queries in words, and cells; alignments count passes of their own."""


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders come."""
    made = tmp_path / "scratch"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    monkeypatch.setenv("TMPDIR", str(made))
    return made


def finished(messages: str) -> dict[str, Any]:
    event = json.loads(messages.splitlines()[-1])
    assert event["kind"] == "finished"
    return dict(event["value"])


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("worker_here")
def test_it_tells_what_would_be_done_and_leaves_nothing(
    name: str, tmp_path: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, queries, n_cells = COMMANDS[name]
    files = [tmp_path / "text", tmp_path / "run.clalign", tmp_path / "trace.json"]
    given = ["-o", str(files[0]), "--run", str(files[1]), "--profile-run", str(files[2])]
    words = [name, "--dry-run", "--device", "reference", *given, *map(str, inputs)]
    assert main(words) == ExitCode.DONE
    messages = capsys.readouterr().out
    assert f"queries:   {queries}\n" in messages
    assert f"targets:   3 sequences of {N:,} residues\n" in messages
    assert f"cells:     {n_cells:.3g}\n" in messages or not n_cells
    assert "(reference)" in messages
    assert "time:      " in messages
    assert "memory:    about " in messages
    assert all(str(path) in messages and not path.exists() for path in files)
    assert not list(scratch.iterdir())


def test_a_device_tells_its_programs(scratch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["hmmsearch", "--dry-run", "--progress", "json", "--device", "auto", str(PROFILE), str(PROTEINS)]
    assert main(words) == ExitCode.DONE
    shown = capsys.readouterr()
    value = finished(shown.err)
    assert (value["n_residues"], value["cells"]) == (N, NODES * N)
    assert value["memory_bytes"] > 2e7
    (device,) = value["devices"]
    assert f"({device['id']})" in shown.out
    assert (device["seconds"], device["build_seconds"]) == (value["seconds"], value["build_seconds"])
    if device["kind"] == "reference":
        assert device["programs"] == 0
    else:
        assert 0 <= device["new"] <= device["programs"]
        assert device["programs"] > 1
        assert device["memory_bytes"] > N
        assert ("to compile" in shown.out) == (device["new"] > 0)
    assert not list(scratch.iterdir())


@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (f"hmmsearch {PROFILE} none", ExitCode.UNREADABLE),
        (f"hmmsearch {PROFILE} {EXAMPLES}/random_dna.fasta.gz", ExitCode.UNREADABLE),
        (f"hmmsearch --device 77:0 {PROFILE} {PROTEINS}", ExitCode.NO_DEVICE),
        (f"hmmsearch --cluster none.json {PROFILE} {PROTEINS}", ExitCode.NO_DEVICE),
        (f"hmmsearch --cluster local:0 {PROFILE} {PROTEINS}", ExitCode.INPUT),
        (f"hmmsearch --cluster local:9999 {PROFILE} {PROTEINS}", ExitCode.INPUT),
        (f"hmmsearch --run {PROTEINS} {PROFILE} {PROTEINS}", ExitCode.CANNOT_WRITE),
        (f"sw -o none/x {PROTEINS} {PROTEINS}", ExitCode.CANNOT_WRITE),
        (f"sw --pairs {PROTEINS} {EXAMPLES}/swissprot_sample.fasta.gz", ExitCode.UNREADABLE),
        (f"sw --strand minus {PROTEINS} {PROTEINS}", ExitCode.INPUT),
        (f"hmmscan --textw 20 {PROFILE} {PROTEINS}", ExitCode.INPUT),
        (f"align --load-probs {PROTEINS} {PROTEINS}", ExitCode.UNREADABLE),
    ],
)
def test_it_ends_as_the_checks_of_the_run_do(
    words: str, code: ExitCode, tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    name, *rest = words.split()
    device = [] if {"--device", "--cluster"} & set(rest) else ["--device", "reference"]
    printed = []
    for more in ([], ["--dry-run"]):
        assert main([name, *more, *device, *rest]) == code
        messages = capsys.readouterr().err.splitlines()
        printed.append(
            [line for line in messages if not line.startswith("clalign: Testing ")]
        )  # who comes first tests devices
    assert printed[0] == printed[1]
    assert not list(scratch.iterdir())


@pytest.mark.usefixtures("worker_here")
def test_workers_on_this_machine_need_dask_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    printed = []
    for more in ([], ["--dry-run"]):
        words = [*more, "--device", "reference", "--cluster", "local:2", str(PROFILE), str(PROTEINS)]
        assert main(["hmmsearch", *words]) == ExitCode.INPUT
        printed.append(capsys.readouterr().err)
    assert "Dask" in printed[0]
    assert printed[0] == printed[1]


@pytest.mark.usefixtures("worker_here")
def test_workers_on_this_machine_have_its_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """They are not started, but their memory is counted."""
    sizes = []
    for more in ([], ["--cluster", "local:40"]):
        words = ["--dry-run", "--progress", "json", "--device", "reference", *more, str(PROFILE), str(PROTEINS)]
        assert main(["hmmsearch", *words]) == ExitCode.DONE
        shown = capsys.readouterr()
        sizes.append(finished(shown.err)["memory_bytes"])
    assert "40" in shown.err
    assert "(reference)" in shown.out
    assert sizes[1] > sizes[0] + 1e9


@pytest.mark.usefixtures("worker_here")
def test_one_after_the_other_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run that follows finds what it finds without one."""
    words = ["--device", "reference", "-q", "--tblout", "-", str(PROFILE), str(PROTEINS)]
    texts = []
    for more in ([], ["--dry-run"], []):
        assert main(["hmmsearch", *more, *words]) == ExitCode.DONE
        text = capsys.readouterr().out
        texts.append([line for line in text.splitlines() if not line.startswith("#")])
    assert texts[0] == texts[2] != texts[1]


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run of two profiles that lacks the second one."""
    both, path = tmp_path / "both.hmm", tmp_path / "x.clalign"
    both.write_text(2 * PROFILE.read_text("ascii"))
    words = ["-q", "--device", "reference", "-o", str(tmp_path / "text"), "--run", str(path)]
    assert main(["hmmsearch", *words, str(both), str(PROTEINS)]) == ExitCode.DONE
    with open_run(path, writable=True) as run:
        with run.connection:
            for table in ("batches", "plan7_batches"):
                run.connection.execute(f"DELETE FROM {table} WHERE query = 1")
        run.set_facts(state="stopped", finished=None)
        run.seal()
    return path


@pytest.mark.usefixtures("worker_here")
def test_of_a_run_that_was_stopped_it_tells_what_is_left(
    begun: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in begun.parent.iterdir() if path.is_file()}
    output = begun.parent / "hits.tsv"
    assert main(["resume", "--dry-run", "--progress", "json", "--tsv", str(output), str(begun)]) == ExitCode.DONE
    shown = capsys.readouterr()
    value = finished(shown.err)
    assert (value["cells"], value["done"]) == (NODES * N, 0.5)
    assert f"queries:   2 profiles of {2 * NODES} nodes\n" in shown.out
    assert f"cells:     {NODES * N:.3g}\ndone:      50 % of all cells" in shown.out
    assert "(reference)" in shown.out
    assert "time:      about " in shown.out
    assert f"output:    tsv to {output}\n" in shown.out
    assert {path: path.read_bytes() for path in begun.parent.iterdir() if path.is_file()} == before
    assert not list(scratch.iterdir())
    assert main(["resume", "-q", "--tsv", str(output), str(begun)]) == ExitCode.DONE
    assert main(["resume", "--dry-run", str(begun)]) == ExitCode.DONE
    assert capsys.readouterr().out.startswith("Nothing is left to compute")


@pytest.mark.usefixtures("worker_here")
def test_of_a_run_that_never_began_it_tells_all_of_it(
    begun: Path, scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_run(begun, writable=True) as run:
        with run.connection:
            run.connection.executemany("DELETE FROM facts WHERE name = ?", [(name,) for name in ("database", *MARKS)])
        run.seal()
    before = begun.read_bytes()
    assert main(["resume", "--dry-run", "--progress", "json", str(begun)]) == ExitCode.DONE
    value = finished(capsys.readouterr().err)
    assert (value["cells"], value["done"]) == (2 * NODES * N, 0.0)
    assert begun.read_bytes() == before
    assert not list(scratch.iterdir())
