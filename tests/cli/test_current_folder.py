"""Files that lie beside the data are data: a ``numpy.py`` there, or a folder ``clalign``, is never run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clalign.cli import doctor
from clalign.cli.desktop import window_command
from clalign.cli.processes import run_job
from clalign.compute.opencl.discover import discover_devices
from clalign.system.processes import own_command

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILE, TARGETS = str(GOLDEN / "profiles" / "katdna_ls.hmm"), str(GOLDEN / "sequences" / "kat.fa")
SEARCH = ("hmmsearch", "-q", "--device", "reference", "--tsv", "-", PROFILE, TARGETS)

MODULES = ("numpy", "random", "json", "typing", "argparse", "pyopencl", "sitecustomize")
HOSTILE = "import pathlib\npathlib.Path(__file__).with_name('it_ran').touch()\nraise SystemExit(99)\n"


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules that end whatever imports them and leave a mark."""
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    return tmp_path


def add_another_clalign(folder: Path) -> None:
    (folder / "clalign").mkdir()
    for name in ("__init__.py", "__main__.py"):
        (folder / "clalign" / name).write_text(HOSTILE.replace("(__file__)", "(__file__).parent"))


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_search_runs_nothing_of_the_current_folder(hostile: Path) -> None:
    add_another_clalign(hostile)
    done = run(*own_command(*SEARCH))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") > 1
    assert not (hostile / "it_ran").exists()


def test_started_by_hand_as_a_module_nothing_of_the_current_folder_runs(hostile: Path) -> None:
    for how in (["-m", "clalign"], ["-mclalign"], ["-X", "utf8", "-m", "clalign"]):
        done = run(sys.executable, *how, *(SEARCH if len(how) == 2 else ("--version",)))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout
    assert not (hostile / "it_ran").exists()


def test_another_module_keeps_its_search_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "__init__.py").write_text("import clalign\n")
    (tmp_path / "mine" / "__main__.py").write_text("import beside\n")
    (tmp_path / "beside.py").write_text("print('found')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    assert run(sys.executable, "-m", "mine", "clalign").stdout == "found\n"


@pytest.mark.thorough
def test_looking_for_devices_and_at_the_installation_runs_nothing_of_the_current_folder(hostile: Path) -> None:
    before = [device.id for device in discover_devices()]
    add_another_clalign(hostile)
    assert [device.id for device in discover_devices(refresh=True)] == before
    assert doctor._window() == ""
    assert run_job({"job": "devices"})["devices"]
    assert not (hostile / "it_ran").exists()


def test_the_desktop_runs_nothing_of_the_current_folder(hostile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_another_clalign(hostile)
    monkeypatch.setattr(Path, "is_file", lambda path: False)  # there is no clalign-gui beside the interpreter
    done = run(*window_command(), "--help")
    assert done.returncode == 0
    assert "clalign gui" in done.stdout
    assert not (hostile / "it_ran").exists()


def test_a_search_path_that_the_user_has_set_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.stderr.write('mine\\n')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "mine" in run(*own_command("--version")).stderr


def test_the_frozen_program_starts_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert own_command("worker") == [sys.executable, "worker"]
    assert window_command() == [sys.executable, "gui"]
