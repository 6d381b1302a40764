"""A run file may come from anybody: whatever it names as its device, no command connects to it."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import clalign
from clalign.cli import main
from clalign.cli.outputs import Outputs
from clalign.cli.run_places import RunPlace, continuation
from clalign.engines.engine import spec_of, spec_to_continue
from clalign.errors import DeviceNotFound, ExitCode
from clalign.runs.run_file import open_run
from clalign.values.devices import cluster_of

WORDS = (
    "tcp://{0}", "  tcp://{0}  ", "gpus@tcp://{0}", "tls://{0}", "ws://{0}", "{1}", "auto@{1}", "tcp://{0}@tcp://{0}",
    "tcp://{0} @{1}", "{1}@local:2", "local:2",
)  # fmt: skip
"""What a file may say, with the address of a scheduler, and the file of one."""


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """An address where nobody may connect, and a file that names it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        path = tmp_path / "scheduler.json"
        path.write_text(json.dumps({"address": f"tcp://{address}"}))
        yield address, str(path)
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run of a search, of an alignment, and of both parts of a search."""
    folder = tmp_path_factory.mktemp("kept")
    proteins, found = clalign.example("three_proteins.fasta"), dict[str, Path]()
    given = {"search": {}, "first": {"shard": "1/2"}, "second": {"shard": "2/2"}}
    for name, options in given.items():
        found[name] = folder / f"{name}.clalign"
        clalign.sw(proteins, proteins, found[name], device="reference", **options).close()
    family, found["alignment"] = folder / "family.fa", folder / "alignment.clalign"
    family.write_text(">a\nMKVLATGHEWQRIPNDFCYSTAAGKL\n>b\nMKVLSTGHDWQKIPNDFCYTAAGK\n>c\nKVMATHEWRIPDYFCWSTKAGKL\n")
    clalign.align_many(family, found["alignment"], device="reference").close()
    return found


def begun_on(words: str, run: Path, folder: Path, state: str = "stopped") -> Path:
    """Return a copy of a run that says it began on a device."""
    path = Path(shutil.copy(run, folder))
    with open_run(path, writable=True) as file:
        file.set_facts(spec={**file.facts.spec, "device": words}, state=state)
    return path


@pytest.mark.parametrize("words", WORDS)
def test_a_run_is_not_resumed_on_a_cluster_that_it_names(
    words: str, scheduler: tuple[str, str], kept: dict[str, Path], tmp_path: Path, worker_here: None
) -> None:
    run = begun_on(words.format(*scheduler), kept["search"], tmp_path)
    with open_run(run) as file:
        assert cluster_of(spec_of(file).device) is None  # type: ignore[attr-defined]
        with pytest.raises(DeviceNotFound, match="--cluster"):
            spec_to_continue(file, None)
    assert main(["resume", "-q", str(run)]) == ExitCode.NO_DEVICE
    assert main(["resume", "-q", "--dry-run", str(run)]) == ExitCode.NO_DEVICE
    with open_run(run) as file:
        assert file.state == "stopped"
    assert main(["resume", "-q", "--device", "reference", "-o", str(tmp_path / "out"), str(run)]) == ExitCode.DONE
    with open_run(run) as file:
        assert file.state == "done"
    assert main(["resume", "-q", "-o", str(tmp_path / "again"), str(run)]) == ExitCode.DONE
    assert (tmp_path / "again").read_text()


@pytest.mark.parametrize("words", ["tcp://{0}", "tcp://{0}@tcp://{0}"])
def test_no_command_that_is_given_a_run_connects_to_what_it_names(
    words: str, scheduler: tuple[str, str], kept: dict[str, Path], tmp_path: Path, worker_here: None
) -> None:
    device, out = words.format(*scheduler), str(tmp_path / "out")
    runs = {name: str(begun_on(device, path, tmp_path, "done")) for name, path in kept.items()}
    search, alignment = runs["search"], runs["alignment"]
    with open_run(Path(search)) as file:
        name = file.cards()[0]["name"]
    for command in (
        ["export", "-o", out, search], ["verify", "--sample", "2", search],
        ["picture", "--kind", "qq", "-o", f"{out}.svg", search], ["explain", "--query", "1", search, name],
        ["runs", "list", str(tmp_path)], ["tree", alignment],
        ["merge", runs["first"], runs["second"], "--device", "reference", "-o", str(tmp_path / "merged.clalign")],
        ["anneal", "--gapfactor", "0.5", "--run", str(tmp_path / "annealed.clalign"), alignment],
        ["resume", "-q", str(tmp_path / "annealed.clalign")],
    ):  # fmt: skip
        assert main(command) == ExitCode.DONE, command
    for made in ("merged", "annealed"):
        with open_run(tmp_path / f"{made}.clalign") as file:
            assert cluster_of(file.facts.spec["device"]) is None


def test_the_library_continues_a_run_where_its_caller_says(
    scheduler: tuple[str, str], kept: dict[str, Path], tmp_path: Path
) -> None:
    run, proteins = begun_on(f"tcp://{scheduler[0]}", kept["search"], tmp_path), clalign.example("three_proteins.fasta")
    with clalign.sw(proteins, proteins, run, device="reference") as found:
        assert found.run.state == "done"
        assert len(found) > 0


def test_the_way_to_go_on_names_the_cluster_that_the_user_gave(kept: dict[str, Path], tmp_path: Path) -> None:
    run = begun_on("tcp://other:1", kept["search"], tmp_path)
    text = continuation(RunPlace(run, device="gpus@tcp://host:8786"), Outputs(()))
    assert "clalign resume --device gpus --cluster tcp://host:8786" in text
    assert "--cluster" not in continuation(RunPlace(run), Outputs(()))
