"""``clalign lab`` from end to end: the table, the document, messages, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.errors import DeviceError, ExitCode, OutOfDeviceMemory
from clalign.jobs import JobContext
from clalign.labs.ladder import Ladder
from clalign.labs.register import PUBLICATIONS
from clalign.labs.repeating import Found, Request
from clalign.labs.repetitions import REPETITIONS, Repetition
from clalign.values.devices import Device

pytestmark = pytest.mark.usefixtures("worker_here")

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILE = str(GOLDEN / "profiles" / "rrm_ls.hmm")
PROTEINS = str(GOLDEN / "sequences" / "built.fa")

PAIRS = ("lab", "ladder", "sw", "-q")
PAIR_HMM = ("lab", "ladder", "pairhmm", "-q")
LADDER = ("lab", "ladder", "viterbi", "-q", "--runs", "1")
SMALL = ("--sequences", "20", "--nodes", "10")


@pytest.fixture
def ladder(opencl_device: Device) -> tuple[str, ...]:
    """The command on a device that can be measured."""
    return (*LADDER, "--device", opencl_device.id)


@pytest.mark.thorough
def test_table_and_document(ladder: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ladder.json"
    assert main([*ladder, *SMALL, "--variants", "unroll-2,granularity", "--json", str(path)]) == ExitCode.DONE
    document = json.loads(path.read_text())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["Rung", "Check", "Kernel"]
    assert [line.split()[:2] for line in lines[1:3]] == [["basic", "equal"], ["unroll-2", "equal"]]
    assert [row["name"] for row in document["rows"]] == ["basic", "unroll-2"]
    assert any(line.startswith("fine, 1 node") for line in lines)
    assert "20 sequences" in lines[-1]


def test_a_users_files(ladder: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ladder, "--hmm", PROFILE, "--db", PROTEINS, "--variants", "basic", "--json", "-"]) == ExitCode.DONE
    document = json.loads(capsys.readouterr().out)
    assert document["model"] == {"name": "rrm_ls", "length": 74}
    assert PROTEINS in document["database"]["source"]


def test_a_difference_has_its_exit_code(
    ladder: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Ladder, "wrong", lambda self, document: ["basic"])
    assert main([*ladder, *SMALL, "--variants", "basic", "--json", "-"]) == ExitCode.DIFFERENT
    assert json.loads(capsys.readouterr().out)["rows"][0]["name"] == "basic"


@pytest.mark.thorough(rung=["global"])
@pytest.mark.parametrize(
    ("lab", "small", "kept", "rung", "messages"),
    [
        (PAIRS, ("--pairs", "9", "--length", "50"), {"pairs": 9, "length": 50}, "global", "9 pairs of 50 x 50"),
        (PAIR_HMM, ("--x", "20", "--y", "31", "--pairs", "3"), {"x": 20, "y": 31, "pairs": 3}, "states",
         "a pair of 20 x 31"),
    ],
    ids=["sw", "pairhmm"],
)  # fmt: skip
def test_ladders_of_pairs(
    opencl_device: Device, lab: tuple[str, ...], small: tuple[str, ...], kept: dict[str, int], rung: str, messages: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path, device = tmp_path / "pairs.json", ("--device", opencl_device.id)
    words = ("--runs", "1", "--seed", "3", "--variants", rung, "--json", str(path))
    assert main([*lab, *small, *words, *device]) == ExitCode.DONE
    document = json.loads(path.read_text())
    assert document.items() >= {**kept, "seed": 3}.items()
    assert [row["name"] for row in document["rows"]] == ["sequential", rung]
    lines = capsys.readouterr().out.splitlines()
    shown = [line.split()[:2] for line in lines[:3]]
    assert shown == [["Rung", "Check"], ["sequential", "equal"], [rung, "equal"]]
    assert messages in lines[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="a signal of its own to another process")
def test_stopped_by_the_user(ladder: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "ladder.json"
    command = [sys.executable, "-m", "clalign", *ladder, *SMALL, "--json", str(path)]
    output = tmp_path / "said"
    # Read line after line to the end: `communicate` would miss what came together with the first one.
    with (
        output.open("w") as errors,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Rung")
        process.send_signal(signal.SIGINT)
        rows = process.stdout.read()
    assert process.returncode == ExitCode.INTERRUPTED
    assert output.read_text()
    assert rows.startswith("basic")
    assert "work-items" not in rows
    assert not path.exists()


SYNC = ("lab", "sync", "-q", "--runs", "1")


@pytest.mark.thorough
def test_waiting_groups(opencl_device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "groups.json"
    small = ("--groups", "1,2", "--group-size", "4", "--size", "3000", "--methods", "launch,lbs,ilbs", "--sets", "2")
    assert main([*SYNC, *small, "--device", opencl_device.id, "--json", str(path)]) == ExitCode.DONE
    document = json.loads(path.read_text())
    assert (document["program"], document["size"], document["groups"]) == ("sort", 3000, [1, 2])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Groups", "At", "once", "Launch", "LBS", "ILBS"]
    assert [line.split()[0] for line in lines[1:3]] == ["1", "2"]
    assert any("3,000 keys, groups of 4 work-items · all 6 results are right" in line for line in lines)
    assert main([*SYNC, *small, "--device", opencl_device.id, "--program", "relay", "--json", "-"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["unit"] == "rounds"


def test_tables_by_their_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lab", "list", "004"]) == ExitCode.DONE
    listed = capsys.readouterr().out
    assert all(f"  {row['name']}: " in listed for row in PUBLICATIONS["004"].known)
    assert main(["lab", "table", "004:3.4", "-q", "--json", "-"]) == ExitCode.DONE
    assert json.loads(capsys.readouterr().out)["sources"]["004"]["rows"][0]["name"] == "table 3.4"


@pytest.mark.parametrize("words", [("all", "--small", "--full"), ("sync", "--full"), ("sync", "--db", PROTEINS)])
def test_options_of_tables_alone(words: tuple[str, ...]) -> None:
    assert main(["lab", *words, "-q"]) == ExitCode.INPUT


@pytest.mark.thorough
def test_users_files_in_whole_runs(opencl_device: Device, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["lab", "table", "004:7.4", "-q", "--device", opencl_device.id, "--json", "-"]
    assert main([*words, "--hmm", PROFILE, "--db", PROTEINS]) == ExitCode.DONE
    measured = json.loads(capsys.readouterr().out)["sources"]["004"]["measured"]
    assert "1 families in" in measured["families"]["text"]


@pytest.mark.parametrize("error", [DeviceError("It failed."), OutOfDeviceMemory("It is full.")])
def test_a_device_that_fails_has_its_exit_code(
    opencl_device: Device, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: DeviceError
) -> None:
    def fail(request: Request, context: JobContext) -> Found:
        raise error

    monkeypatch.setitem(REPETITIONS, "sw", Repetition("Pairs", fail))
    assert main(["lab", "item", "001:a", "-q", "--device", opencl_device.id, "--json", "-"]) == error.exit_code
    source = json.loads(capsys.readouterr().out)["sources"]["001"]
    assert source["rows"][0]["reason"] == source["failed"]["sw"]["reason"] == error.message


@pytest.mark.thorough
def test_a_source_is_written_as_a_report(opencl_device: Device, tmp_path: Path) -> None:
    words = ["lab", "all", "001", "--small", "-q", "--device", opencl_device.id]
    assert main([*words, "--output", str(tmp_path / "a"), "--json", str(tmp_path / "b")]) == ExitCode.DONE
    pictures = {"001-values.svg", "001-diagonals.svg"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"report.md", "report.html", *pictures}
    assert set(json.loads((tmp_path / "b").read_text())["sources"]) == {"001"}


def test_what_needs_a_device_is_refused_without_one() -> None:
    assert main(["lab", "table", "004:8.6", "-q", "--device", "reference"]) == ExitCode.NO_DEVICE
    assert main(["lab", "table", "004:3.2", "-q", "--device", "reference"]) == ExitCode.DONE
