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


def finished(told: str) -> dict[str, Any]:
    event = json.loads(told.splitlines()[-1])
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
    told = capsys.readouterr().out
    assert f"queries:   {queries}\n" in told
    assert f"targets:   3 sequences of {N:,} residues\n" in told
    assert f"cells:     {n_cells:.3g}\n" in told or not n_cells
    assert "(reference)" in told
    assert "time:      " in told
    assert "memory:    about " in told
    assert all(str(path) in told and not path.exists() for path in files)
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
    said = []
    for more in ([], ["--dry-run"]):
        assert main([name, *more, *device, *rest]) == code
        told = capsys.readouterr().err.splitlines()
        said.append(
            [line for line in told if not line.startswith("clalign: Testing ")]
        )  # who comes first tests devices
    assert said[0] == said[1]
    assert not list(scratch.iterdir())


@pytest.mark.usefixtures("worker_here")
def test_workers_on_this_machine_need_dask_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = []
    for more in ([], ["--dry-run"]):
        words = [*more, "--device", "reference", "--cluster", "local:2", str(PROFILE), str(PROTEINS)]
        assert main(["hmmsearch", *words]) == ExitCode.INPUT
        said.append(capsys.readouterr().err)
    assert "needs Dask" in said[0]
    assert said[0] == said[1]


@pytest.mark.usefixtures("worker_here")
def test_workers_on_this_machine_have_its_devices(capsys: pytest.CaptureFixture[str]) -> None:
    """They are not started, but their memory is counted."""
    sizes = []
    for more in ([], ["--cluster", "local:40"]):
        words = ["--dry-run", "--progress", "json", "--device", "reference", *more, str(PROFILE), str(PROTEINS)]
        assert main(["hmmsearch", *words]) == ExitCode.DONE
        shown = capsys.readouterr()
        sizes.append(finished(shown.err)["memory_bytes"])
    assert "40 workers on this machine share its devices" in shown.err
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
