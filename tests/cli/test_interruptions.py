"""Searches that end early: the worker killed, Ctrl-C, termination. What is found stays, and the rest follows."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from clalign.cli import engine_command, main, starting, worker_commands
from clalign.cli.interruptions import Interruptions, endings_raised
from clalign.cli.processes import WorkerProcess
from clalign.databases.examples import load_examples
from clalign.errors import ExitCode, WorkerLost
from clalign.jobs import Job
from clalign.runs.run_file import create_run, open_run

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILE = str(GOLDEN / "profiles" / "rrm_ls.hmm")

COPIES = 25

PATIENCE = 300
"""Seconds that a process may take to end on a busy machine."""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sequences that keep the reference busy for some seconds."""
    path = tmp_path_factory.mktemp("many") / "many.fa"
    text = (GOLDEN / "sequences" / "proteins.fa").read_text()
    path.write_text("".join(text.replace(">", f">{i}_") for i in range(COPIES)))
    return path


@pytest.fixture(scope="module")
def undisturbed(many: Path) -> dict[str, str]:
    """The outputs of a search that nobody disturbs."""
    folder = many.parent
    assert main(["hmmsearch", "-q", *outputs(folder), PROFILE, str(many)]) == 0
    found = contents(folder)
    assert found["hits.tsv"].count("\n") > 100
    return found


def outputs(folder: Path) -> list[str]:
    return ["-o", f"{folder}/hits.txt", "--tsv", f"{folder}/hits.tsv", "--domtsv", f"{folder}/domains.tsv"]


def contents(folder: Path) -> dict[str, str]:
    """Return the outputs without the lines that tell date, command and device."""
    texts = {name: (folder / name).read_text() for name in ("hits.txt", "hits.tsv", "domains.tsv")}
    texts["hits.txt"] = re.sub(r"(?m)^(Date|Command|Device): .*$", "", texts["hits.txt"])
    return texts


def resume(run: Path, folder: Path) -> int:
    """Go on with a run, on the fastest device: the results must be the same on each."""
    return main(["resume", "-q", "--device", "auto", *outputs(folder), str(run)])


def advised(messages: str) -> list[str]:
    """Return the words of the command that goes on, as it was told with the progress."""
    (found,) = re.findall(r'Continue with: clalign ([^"\n(]*)', messages)
    return shlex.split(found)


def start(*words: str, **more: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "clalign", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)  # type: ignore[call-overload, no-any-return]


def worker_of(process: subprocess.Popen[str]) -> psutil.Process:
    while process.poll() is None:
        for child in psutil.Process(process.pid).children():
            if "worker" in child.cmdline():
                return child
        time.sleep(0.02)
    raise AssertionError("no worker was started")


def wait_for_batches(process: subprocess.Popen[str], n: int) -> None:
    """Read progress lines until `n` batches are stored."""
    assert process.stderr
    for line in process.stderr:
        n -= '"partial"' in line
        if n <= 0:
            return
    raise AssertionError(f"the search ended early ({process.wait()})")


@pytest.mark.thorough
def test_a_lost_worker_without_run_names_its_file(
    many: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = start(
        "hmmsearch", "--progress", "json", "--device", "reference", PROFILE, str(many),
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    wait_for_batches(process, 2)
    worker_of(process).kill()
    out, messages = process.communicate()
    assert process.returncode == ExitCode.STOPPED
    assert out == ""
    (run,) = tmp_path.glob("clalign-*/search.clalign")
    assert advised(messages) == ["resume", str(run)]
    assert main(["resume", "-q", "--sam", "-", str(run)]) == ExitCode.INPUT, "that is for pairwise runs"
    away = many.rename(many.with_suffix(".away"))
    assert main(["resume", "-q", str(run)]) == ExitCode.UNREADABLE
    assert str(many) in capsys.readouterr().err
    away.rename(many)
    assert main(["resume", "-q", "--device", "auto", "-o", str(tmp_path / "hits.txt"), str(run)]) == 0
    assert (tmp_path / "hits.txt").read_text().endswith("# [ok]\n")


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, ExitCode.INTERRUPTED),
        (signal.SIGTERM, ExitCode.TERMINATED),
        (getattr(signal, "SIGHUP", None), ExitCode.HUNG_UP),
    ],
)
def test_one_signal_writes_partial_results(
    number: signal.Signals, code: ExitCode, many: Path, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    run, sequences, table = tmp_path / "x.clalign", tmp_path / "hits.fa", tmp_path / "hits.csv"
    process = start(
        "hmmsearch", "--progress", "json", "--device", "reference", *outputs(tmp_path), "--run", str(run),
        "--fasta", str(sequences), "--csv", str(table), PROFILE, str(many),
    )  # fmt: skip
    wait_for_batches(process, 2)
    process.send_signal(number)
    _, messages = process.communicate()
    assert process.returncode == code
    assert advised(messages)[-1] == str(run)
    texts = contents(tmp_path)
    assert all(text.endswith("# partial: yes\n") for text in texts.values())
    assert texts["hits.tsv"].count("\n") < undisturbed["hits.tsv"].count("\n")
    assert not sequences.exists()
    assert not table.exists(), "its readers would take a remark for a row"
    assert main([*advised(messages), "-q", "--device", "auto"]) == 0
    assert contents(tmp_path) == undisturbed
    assert sequences.read_text().startswith(">")
    assert "partial" not in table.read_text()


@pytest.mark.thorough
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_second_signal_stops_at_once(many: Path, undisturbed: dict[str, str], tmp_path: Path) -> None:
    run = tmp_path / "x.clalign"
    process = start(
        "hmmsearch", "--progress", "json", "--device", "reference", *outputs(tmp_path), "--run", str(run), PROFILE,
        str(many),
    )  # fmt: skip
    wait_for_batches(process, 2)
    worker = worker_of(process)
    worker.suspend()  # it cannot answer the first wish
    process.send_signal(signal.SIGINT)
    assert process.stderr
    assert any("Ctrl-C" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    assert messages
    assert not worker.is_running()
    assert not (tmp_path / "hits.txt").exists()
    assert resume(run, tmp_path) == 0
    assert contents(tmp_path) == undisturbed


def test_a_worker_ends_with_its_parent(many: Path, tmp_path: Path) -> None:
    process = start(
        "hmmsearch", "--progress", "json", "--device", "reference", "--run", str(tmp_path / "x.clalign"), PROFILE,
        str(many),
    )  # fmt: skip
    wait_for_batches(process, 1)
    worker = worker_of(process)
    process.kill()
    process.communicate()
    assert psutil.wait_procs([worker], timeout=PATIENCE)[1] == []


def test_a_lost_worker_tells_its_last_words() -> None:
    with WorkerProcess({"job": "no such job"}) as worker:
        events = [event for event in worker.events() if event]
    assert events[-1].kind == "failed"
    with WorkerProcess({"job": "devices"}) as worker:
        psutil.Process(worker.pid).kill()
        with pytest.raises(WorkerLost, match="SIGKILL"):
            list(worker.events())
    if os.name != "posix":
        return
    with WorkerProcess({"job": "bench"}) as worker:
        assert next(event for event in worker.events() if event).kind == "started"
        os.kill(worker.pid, signal.SIGSEGV)
        with pytest.raises(WorkerLost, match=r'SIGSEGV.* File "'):
            list(worker.events())


def test_an_interruption_at_the_very_start_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(command: list[str]) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(starting, "started", interrupted)
    assert main(["hmmsearch", PROFILE, "nowhere.fa"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.startswith("clalign: ")


def test_a_system_that_starts_no_process_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    n_tried = 0

    def refused(command: list[str]) -> NoReturn:
        nonlocal n_tried
        n_tried += 1
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(starting, "started", refused)
    assert main(["hmmsearch", PROFILE, str(GOLDEN / "nowhere.fa")]) == ExitCode.UNREADABLE, "no worker is needed"
    capsys.readouterr()
    assert main(["hmmsearch", PROFILE, str(GOLDEN / "sequences" / "kat.fa")]) == ExitCode.ENGINE
    assert n_tried == 1 + 1 + 1, "ahead, and when it was needed"
    messages = capsys.readouterr().err
    assert messages.startswith("clalign: ")
    assert "Traceback" not in messages


HANGING = """
import sys, time, ctypes
from clalign.cli import main, worker_commands, worker
worker_commands.GRACE_SECONDS = 0.5
def hang(request, job):
    job.progress("search", 0, 1, "cells")
    ctypes.PyDLL(None).sleep(1000) if {with_lock} else time.sleep(1000)
worker.JOBS = dict.fromkeys([*worker.JOBS, "search"], hang)
sys.exit(main(["worker"]))
"""
"""A worker whose driver hangs, with the interpreter's lock or without it."""

PATIENT = """
import sys
from clalign.cli import interruptions, main, processes, starting
interruptions.STOP_SECONDS = {seconds}
processes.END_SECONDS = 1.0
starting.worker_command = lambda *words: [sys.executable, "-c", {worker!r}]
sys.exit(main(sys.argv[1:]))
"""


def start_hanging(*words: str, seconds: float = 0.5, with_lock: bool = False) -> subprocess.Popen[str]:
    """Start a command whose worker hangs, and wait until it does."""
    code = PATIENT.format(seconds=seconds, worker=HANGING.format(with_lock=with_lock))
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr
    assert any("progress" in line for line in process.stderr)
    return process


ENDINGS = [(signal.SIGTERM, ExitCode.TERMINATED)]
if os.name == "posix":
    ENDINGS.append((signal.SIGHUP, ExitCode.HUNG_UP))


@pytest.mark.thorough(command=["bench"])
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), ENDINGS)
@pytest.mark.parametrize("command", ["hmmsearch", "bench"])
def test_one_signal_ends_a_command_whose_worker_hangs(
    command: str, number: signal.Signals, code: ExitCode, tmp_path: Path
) -> None:
    run = tmp_path / "x.clalign"
    files = ["--run", str(run), PROFILE, str(GOLDEN / "sequences" / "kat.fa")] if command == "hmmsearch" else []
    process = start_hanging(command, "--progress", "json", "--device", "reference", *files)
    worker = child_of(process)
    process.send_signal(number)
    process.communicate()
    assert process.returncode == code
    assert not worker.is_running()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_second_interruption_ends_a_command_whose_worker_hangs() -> None:
    process = start_hanging("bench", "--progress", "json", seconds=1000)
    worker = child_of(process)
    process.send_signal(signal.SIGINT)
    assert process.stderr
    assert any("Ctrl-C" in line for line in process.stderr)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    assert not worker.is_running()


@pytest.mark.thorough(with_lock=[True])
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child that lets no thread of Python run")
@pytest.mark.parametrize("with_lock", [False, True])
def test_a_worker_that_hangs_ends_with_its_parent(with_lock: bool) -> None:
    process = start_hanging("bench", "--progress", "json", with_lock=with_lock)
    worker = child_of(process)
    process.kill()
    process.communicate()
    assert psutil.wait_procs([worker], timeout=PATIENCE)[1] == []


def child_of(process: subprocess.Popen[str]) -> psutil.Process:
    (child,) = psutil.Process(process.pid).children()
    return child


@pytest.mark.thorough
def test_the_test_of_a_driver_ends_with_its_parent(tmp_path: Path) -> None:
    hanging = """
import sys, time
from clalign.cli import main, worker_commands
from clalign.tools import device_probe as probe
probe.list_devices = lambda: time.sleep(1000)
sys.exit(main(["probe", "list"]))
"""
    code = f"""
import sys
from clalign.system.processes import ask
print("asking", flush=True)
ask([sys.executable, "-c", {hanging!r}], 1000)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline()
        found: list[psutil.Process] = []
        while not found:
            found = psutil.Process(process.pid).children()
        process.kill()
    assert psutil.wait_procs(found, timeout=PATIENCE)[1] == []


@pytest.mark.thorough(number=[signal.SIGTERM])
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), ENDINGS)
def test_a_signal_while_an_output_is_written_leaves_nothing(
    number: signal.Signals, code: ExitCode, tmp_path: Path
) -> None:
    writing = """
import sys
from clalign.cli import main, note
from clalign.formats.writers import whole_file
def run(arguments):
    with whole_file(sys.argv[1]) as stream:
        print("writing", flush=True)
        sys.stdin.read()
note.run = run
sys.exit(main(["note", "x", "y"]))
"""
    output = tmp_path / "out.txt"
    output.write_text("before")
    process = subprocess.Popen(
        [sys.executable, "-c", writing, str(output)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "writing\n"
    process.send_signal(number)
    process.communicate()
    assert process.returncode == code
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert output.read_text() == "before"


def test_a_run_that_somebody_else_makes_at_the_same_time_stays_his(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file comes after it was looked whether there is one."""
    run, sequences = tmp_path / "x.clalign", GOLDEN / "sequences" / "kat.fa"
    monkeypatch.setattr(engine_command, "check_run", lambda path: Path(path).write_text("his"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(sequences.read_bytes())))
    assert main(["hmmsearch", "-q", "--run", str(run), PROFILE, "-"]) == ExitCode.CANNOT_WRITE
    messages = capsys.readouterr().err
    assert messages.endswith(f"clalign resume {run}\n")
    assert [path.name for path in tmp_path.iterdir()] == [run.name], "no copy of standard input is left"
    assert run.read_text() == "his"


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_is_not_heeded_when_everything_is_done() -> None:
    ending = """
import atexit, os, signal, sys
from clalign.cli import be_program
atexit.register(os.kill, os.getpid(), signal.SIGINT)
sys.exit(be_program(["--version"]))
"""
    done = subprocess.run([sys.executable, "-c", ending], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (ExitCode.DONE, "")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_what_nohup_has_switched_off_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings_raised():
            os.kill(os.getpid(), signal.SIGHUP)
        with Interruptions().counted():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_job_that_is_stopped_while_a_kernel_is_built_ends_at_once(tmp_path: Path) -> None:
    """A driver's compiler hears nothing for minutes; what is in the run file stays, and the run can be continued."""
    run = tmp_path / "run.clalign"
    script = (
        "import threading\n"
        "from argparse import Namespace\n"
        "from clalign.cli import worker\n"
        "from clalign.compute.opencl import programs\n"
        "compiled = threading.Event()\n"
        "def compile_for_ever(*words):\n"
        "    compiled.wait(600)\n"
        "programs.build = compile_for_ever\n"
        "worker.run(Namespace(engine='', stay=False))\n"
    )
    example = next(example for example in load_examples() if example.id == "motif")
    spec = {"profiles": str(example.profiles), "targets": str(example.targets), "device": "cpu"}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps({"job": "search", "spec": spec, "run": str(run)}) + "\n")
        process.stdin.flush()
        kinds = []
        for line in process.stdout:
            event = json.loads(line)
            kinds.append(event["kind"])
            if event["kind"] == "progress" and event["value"]["stage"] == "build":
                assert event["value"]["done"] < event["value"]["total"]
                process.stdin.write('{"command": "cancel"}\n')
                process.stdin.flush()
        assert kinds[-1] == "cancelled"
        assert process.wait(60) == ExitCode.STOPPED
    with open_run(run) as opened:
        assert opened.state == "stopped"


def test_a_run_that_is_verified_stays_complete_when_its_compiler_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(code: int) -> NoReturn:
        raise SystemExit(code)

    monkeypatch.setattr(os, "_exit", left)
    monkeypatch.setattr(worker_commands, "BUILD_SECONDS", 0.0)
    run = tmp_path / "run.clalign"
    with create_run(run, engine="plan7", state="done"):
        pass
    job = Job(lambda event: None)
    job.progress("build", 1, None, "s")
    with pytest.raises(SystemExit):
        worker_commands.end_while_building(job, str(run))
    with open_run(run) as opened:
        assert opened.state == "done"
