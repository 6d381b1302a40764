"""run.py: what it would install, when it installs again, and what it says where it cannot."""

import importlib.util
import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


class Machine:
    """Stands in for venv and pip: notes what was asked for, and answers as told."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.works = False
        self.pip_code = 0

    def make_venv(self) -> None:
        self.done.append("venv")
        self.works = True

    def install(self, extras: list[str]) -> int:
        self.done.append(extras)
        return self.pip_code


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_under_test", ROOT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "setup.py"):
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "STAMP", tmp_path / ".venv" / "clalign-setup.json")
    monkeypatch.setattr(module, "RUNS", tmp_path / "runs")
    (tmp_path / ".venv").mkdir()
    return module


@pytest.fixture
def machine(run: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(run, "make_venv", machine.make_venv)
    monkeypatch.setattr(run, "install", machine.install)
    monkeypatch.setattr(run, "is_working", lambda: machine.works)
    return machine


def test_second_start_installs_nothing(run: ModuleType, machine: Machine):
    run.settle_venv("")
    assert machine.done == ["venv", []]
    run.settle_venv("")
    assert machine.done == ["venv", []]


def test_tests_add_their_tools_once_and_a_plain_start_keeps_them(run: ModuleType, machine: Machine):
    run.settle_venv("")
    run.settle_venv("dev")
    run.settle_venv("dev")
    run.settle_venv("")
    assert machine.done == ["venv", [], ["dev"]]


def test_changed_project_is_installed_again_in_place(run: ModuleType, machine: Machine):
    run.settle_venv("dev")
    (run.ROOT / "pyproject.toml").write_text("changed")
    run.settle_venv("dev")
    assert machine.done == ["venv", ["dev"], ["dev"]]


def test_broken_environment_is_made_again(run: ModuleType, machine: Machine):
    run.settle_venv("")
    machine.works = False
    run.settle_venv("")
    assert machine.done == ["venv", [], "venv", []]


def test_installation_that_was_cut_off_is_made_again(
    run: ModuleType, machine: Machine, monkeypatch: pytest.MonkeyPatch
):
    def cut_off(extras: list[str]) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(run, "install", cut_off)
        with pytest.raises(KeyboardInterrupt):
            run.settle_venv("")
    run.settle_venv("")
    assert machine.done == ["venv", "venv", []]


def test_refused_installation_is_reported_and_tried_again_in_place(run: ModuleType, machine: Machine):
    machine.pip_code = 1
    with pytest.raises(run.Stop, match=r"Start run\.py again"):
        run.settle_venv("")
    machine.pip_code = 0
    run.settle_venv("")
    assert machine.done == ["venv", [], []]
    assert json.loads(run.STAMP.read_text())["state"] == "ready"


def test_missing_packages_are_named(run: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(run.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(run, "is_loadable", lambda library: library != "libEGL.so.1")
    monkeypatch.setattr(run, "has_linker", lambda: False)
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else object())
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    assert run.missing_packages() == [f"{version}-venv", "gcc", "libc6-dev", "libegl1"]


def test_nothing_is_asked_of_apt_where_nothing_misses(run: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "missing_packages", list)
    monkeypatch.setattr(run, "may_use_apt", lambda: pytest.fail("apt was asked"))
    run.settle_system()


@pytest.mark.parametrize(("packages", "stops"), [(["libegl1"], False), (["python3.11-venv", "libegl1"], True)])
def test_line_to_run_is_printed_where_apt_may_not(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys, packages: list[str], stops: bool
):
    monkeypatch.setattr(run, "missing_packages", lambda: packages)
    monkeypatch.setattr(run, "may_use_apt", lambda: False)
    monkeypatch.setattr(run.shutil, "which", lambda name: f"/usr/bin/{name}")
    line = "sudo apt-get install -y " + " ".join(packages)
    if stops:
        with pytest.raises(run.Stop, match=line):
            run.settle_system()
    else:
        run.settle_system()
        assert line in capsys.readouterr().out


def test_old_python_hands_over_to_a_newer_one_that_runs(run: ModuleType, monkeypatch: pytest.MonkeyPatch):
    broken, sound = "/bin/python3.14", "/bin/python3.12"
    monkeypatch.setattr(run.shutil, "which", lambda name: {"python3.14": broken, "python3.12": sound}.get(name))
    monkeypatch.setattr(run.subprocess, "call", lambda command, **_: 127 if command[0] == broken else 0)
    assert run.newer_interpreter() == sound


def test_old_python_without_a_newer_one_is_reported(run: ModuleType, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run.shutil, "which", lambda name: None)
    with pytest.raises(run.Stop, match=r"needs Python 3\.11"):
        run.newer_interpreter()


@pytest.mark.parametrize(
    ("display", "platform", "shown"), [("", "", False), (":0", "", True), (":0", "offscreen", False)]
)
def test_display(run: ModuleType, monkeypatch: pytest.MonkeyPatch, display: str, platform: str, shown: bool):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    monkeypatch.setenv("QT_QPA_PLATFORM", platform)
    assert run.has_display() is shown


def _write_run(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA application_id = {0x636C616C}")
    connection.execute("CREATE TABLE facts (name TEXT)")
    connection.close()


def test_run_file_of_the_last_start_is_replaced(run: ModuleType):
    path = run.free_run_file()
    _write_run(path)
    Path(f"{path}-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(28))
    assert run.free_run_file() == path
    assert list(run.RUNS.iterdir()) == []


@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_no_other_file_is_replaced_by_the_run_of_a_start(run: ModuleType, ending: str):
    path = run.free_run_file()
    if ending:
        _write_run(path)
    Path(f"{path}{ending}").write_text("mine")
    before = {file.name: file.read_bytes() for file in run.RUNS.iterdir()}
    assert run.free_run_file() == path.with_name("example-2.clalign")
    assert {file.name: file.read_bytes() for file in run.RUNS.iterdir()} == before


def test_unknown_word_is_reported_without_installing():
    child = subprocess.run([sys.executable, ROOT / "run.py", "tset"], capture_output=True, text=True)
    assert child.returncode == 1
    assert "run.py knows" in child.stderr
    assert "Traceback" not in child.stderr


def test_files_in_the_current_folder_are_not_run(run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("pip", "clalign", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(99)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    monkeypatch.setattr(run, "venv_python", lambda: Path(sys.executable))
    assert run.is_working()
    assert run.clalign("--version", capture=True).stdout.startswith(b"clalign ")
