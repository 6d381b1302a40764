"""Commands that write, signaled or killed at random moments: nothing differs afterwards, and nothing is left over.

``CLALIGN_ROUNDS`` says how often (200 take about an hour on two cores), ``CLALIGN_SEED`` where the chance begins.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from clalign.cli import processes, starting
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run
from clalign.system.processes import own_command

GOLDEN = Path(__file__).parents[1] / "golden"
PATIENCE = 300.0
"""Seconds that anything may take on a busy machine before it counts as hanging."""

MARK = "CLALIGN_ROUND"
"""A variable by which the processes of a round are known, also those whose parent has gone."""

SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
SOFT = {0, ExitCode.STOPPED, ExitCode.INTERRUPTED, ExitCode.TERMINATED, ExitCode.HUNG_UP}

ROWS = "".join(f"s{i} MKVLAARTEWYGHHKL{'MN'[i % 2]}NPQRSTVWYACDEF\n" for i in range(12))

CHANGING = re.compile(
    r"(?m)^(# |@CO\t|#=GF CC )?([Dd]ate|[Cc]ommand|[Dd]evice|DATE|COM|Option settings|Current dir|Time|Mc/sec"
    r"|CALIBRATE)\b.*\n"
)
"""Lines that tell date, command, device and speed."""


@dataclass(frozen=True)
class Case:
    """A command, what it writes, and how it is brought to its end after it was cut off."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    run: str = ""
    again: tuple[str, ...] = ()
    is_new: bool = True


def flags(*names: str) -> tuple[str, ...]:
    kinds = {".txt": "-o", ".tsv": "--tsv", ".dom": "--domtsv", ".tbl": "--tblout", ".sto": "-A", ".fa": "--fasta"}
    return tuple(word for name in names for word in (kinds[Path(name).suffix], f"out/{name}"))


def search(command: str, first: str, second: str, *names: str, device: str = "reference") -> Case:
    words = (command, "--device", device, "--run", "out/x.clalign", *flags(*names), first, second)
    return Case(words, names, "x.clalign", ("resume", *flags(*names), "out/x.clalign"))


HITS = ("hits.txt", "hits.tsv", "hits.dom")
RESUME = ("resume", *flags(*HITS), "out/stopped.clalign")

CASES = {
    "hmmsearch": search("hmmsearch", "rrm.hmm", "many.fa", *HITS),
    "hmmsearch with a HMMER3 profile": search(
        "hmmsearch", "rrm3.hmm", "many.fa", "hits.txt", "hits.tbl", "hits.sto", device="auto"
    ),
    "hmmscan": search("hmmscan", "rrm.hmm", "proteins.fa", "hits.txt", "hits.tsv", device="auto"),
    "sw": search("sw", "queries.fa", "many.fa", "hits.txt", "hits.tsv", device="auto"),
    "resume": Case(RESUME, HITS, "stopped.clalign", RESUME, is_new=False),
    "export": Case(("export", *flags(*HITS), "done.clalign"), HITS),
    "verify": Case(("verify", "--sample", "5", "out/done.clalign"), (), is_new=False),
    "calibrate": Case(
        ("calibrate", "--device", "auto", "--num", "2000", "--seed", "1", "-o", "out/c.hmm", "rrm.hmm"), ("c.hmm",)
    ),
    "hmmbuild": Case(("hmmbuild", "out/b.hmm", "family.sto"), ("b.hmm",)),
    "bench": Case(("bench", "--device", "reference", "--residues", "20000", "--json", "out/b.json"), ("b.json",)),
}


def text_of(path: Path) -> str:
    """Return what is the same each time in a file."""
    text = path.read_text()
    return str(re.findall(r'"scores_digest": "\w+"', text)) if path.suffix == ".json" else CHANGING.sub("", text)


class Workshop:
    """Inputs, undisturbed outputs, and rounds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: dict[str, dict[str, str]] = {}
        self.n_lines: dict[str, int] = {}
        proteins = (GOLDEN / "sequences" / "proteins.fa").read_text()
        (folder / "many.fa").write_text("".join(proteins.replace(">", f">{i}_") for i in range(3)))
        (folder / "proteins.fa").write_text(proteins)
        (folder / "queries.fa").write_text("".join(f">{p}" for p in proteins.split(">")[1:4]))
        (folder / "family.sto").write_text(f"# STOCKHOLM 1.0\n{ROWS}//\n")
        shutil.copy(GOLDEN / "profiles" / "rrm_ls.hmm", folder / "rrm.hmm")
        examples = Path(__file__).parents[2] / "resources" / "examples"
        shutil.copy(examples / "rrm_1_hmmer3.hmm", folder / "rrm3.hmm")
        self._make_runs()
        for name in CASES:
            self._make(name)

    def _make_runs(self) -> None:
        """Make a finished run, and one that was stopped after its first batches."""
        words = ["hmmsearch", "--progress", "json", "--device", "reference", "-o", "out/x.txt"]
        self.lay_out("runs")
        for name in ("done", "stopped"):
            process = self.start("", *words, "--run", f"{name}.clalign", "rrm.hmm", "many.fa")
            assert process.stderr
            if name == "stopped":
                next(line for line in process.stderr if '"partial"' in line)
                process.send_signal(signal.SIGTERM)
            assert process.communicate()[1] is not None
            assert process.returncode in (ExitCode.DONE, ExitCode.TERMINATED)
        with open_run(self.folder / "stopped.clalign") as run:
            assert run.state == "stopped"

    def lay_out(self, name: str) -> None:
        """Give the case an empty folder for its outputs, with the run that it is about to change."""
        for folder in ("out", "tmp"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
            (self.folder / folder).mkdir()
        for run in ("stopped", "done"):
            if f"out/{run}.clalign" in CASES.get(name, CASES["sw"]).words:
                shutil.copy(self.folder / f"{run}.clalign", self.folder / "out")

    def start(self, mark: str, *words: str) -> subprocess.Popen[str]:
        environment = {**os.environ, MARK: mark, "TMPDIR": str(self.folder / "tmp")}
        return subprocess.Popen(
            own_command(*words), cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _make(self, name: str) -> None:
        self.lay_out(name)
        process = self.start("", *self.words(name))
        _, messages = process.communicate()
        assert process.returncode == 0, messages
        self.n_lines[name] = messages.count("\n")
        self.made[name] = self.outputs(name)
        assert set(self.made[name]) == set(CASES[name].outputs)

    def words(self, name: str) -> list[str]:
        first, *others = CASES[name].words
        return [first, *([] if first == "export" else ["--progress", "json"]), *others]

    def outputs(self, name: str) -> dict[str, str]:
        """Return the outputs that are there."""
        paths = {output: self.folder / "out" / output for output in CASES[name].outputs}
        return {output: text_of(path) for output, path in paths.items() if path.exists()}

    def round(self, name: str, rng: random.Random, mark: str) -> str:
        """Cut a command off at a random moment, look at what is left, and bring it to its end; say what happened."""
        self.lay_out(name)
        process = self.start(mark, *self.words(name))
        moment = rng.randrange(self.n_lines[name] + 1) if name != "export" else rng.randrange(len(HITS) + 1)
        read = self.wait_for_outputs(process, moment) if name == "export" else self.wait_for_lines(process, moment)
        number, victim = signal.Signals[rng.choice(SIGNALS)], rng.choice(("parent", "worker"))
        worker = worker_of(process, mark)
        aimed = worker if victim == "worker" and worker is not None else psutil.Process(process.pid)
        with contextlib.suppress(psutil.NoSuchProcess):  # it was faster
            aimed.send_signal(number)
        _, rest = process.communicate(timeout=PATIENCE)
        what = f"{name}: {number.name} to the {victim} after {moment} lines, code {process.returncode}\n{read}{rest}"
        allowed = SOFT | {-number} if aimed.pid == process.pid else SOFT
        assert process.returncode in allowed, what
        assert moment == 0 or "Traceback" not in read + rest, what
        self.look_at_left(name, mark, what, is_done=process.returncode == 0)
        self.end_well(name, what)
        return f"{number.name} to {victim if worker else 'parent'}, code {process.returncode}"

    @staticmethod
    def wait_for_lines(process: subprocess.Popen[str], n: int) -> str:
        assert process.stderr
        return "".join(line for _, line in zip(range(n), process.stderr, strict=False))

    def wait_for_outputs(self, process: subprocess.Popen[str], n: int) -> str:
        while process.poll() is None and len(list((self.folder / "out").iterdir())) < n:
            time.sleep(0.001)
        return ""

    def look_at_left(self, name: str, mark: str, what: str, is_done: bool) -> None:
        """Hold that outputs are absent, whole or marked as partial, and that neither files nor processes are left."""
        left = list(marked(mark))
        assert psutil.wait_procs(left, timeout=PATIENCE)[1] == [], what
        found = self.outputs(name)
        if is_done:
            assert found == self.made[name], what
        for output, text in found.items():
            assert text == self.made[name][output] or text.endswith("# partial: yes\n") or "partial" in text, what
        run = CASES[name].run or "done.clalign"
        expected = {*CASES[name].outputs, *(f"{run}{ending}" for ending in ("", "-wal", "-shm", "-journal"))}
        names = {path.name for path in (self.folder / "out").iterdir()}
        assert names <= expected, what
        assert list((self.folder / "tmp").iterdir()) == [], what

    def end_well(self, name: str, what: str) -> None:
        case = CASES[name]
        run = self.folder / "out" / case.run
        words = case.again if case.run and run.exists() else case.words
        if "calibrate" in words and (self.folder / "out" / "c.hmm").exists():
            words = ("calibrate", "--help")  # it was done, and replaces nothing
        process = self.start("", *words)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, what
        assert self.outputs(name) == self.made[name], what
        if name == "verify":
            before, now = self.folder / "done.clalign", self.folder / "out" / "done.clalign"
            with open_run(before) as first, open_run(now) as second:
                assert list(first.hits()) == list(second.hits()), what
                assert second.verifications(), what


def marked(mark: str) -> Iterator[psutil.Process]:
    """Yield the processes of a round."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                yield process


def worker_of(process: subprocess.Popen[str], mark: str) -> psutil.Process | None:
    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children():
            if "worker" in child.cmdline():
                return child
    return None


def test_a_worker_that_was_started_ahead_is_taken_or_ended() -> None:
    with starting.WorkerAhead("plan7") as begun:
        ahead = begun._process
        assert ahead is not None
        assert "plan7" in ahead.args
        with (
            processes.WorkerProcess({"job": "devices"}, begun) as worker,
            processes.WorkerProcess({"job": "devices"}, begun) as other,
        ):
            assert worker.pid == ahead.pid != other.pid
            for each in (worker, other):
                assert [event.kind for event in each.events() if event is not None][-1] == "finished"
    with starting.WorkerAhead("pairwise") as begun:
        unused = begun._process
    assert unused is not None
    assert unused.poll() is not None


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("kills"))


@pytest.mark.exhaustive
@pytest.mark.timeout(0)
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_nothing_differs_and_nothing_is_left_over(workshop: Workshop, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(os.environ.get("CLALIGN_SEED", "42"))
    n_rounds = int(os.environ.get("CLALIGN_ROUNDS", str(len(CASES))))
    found: Counter[str] = Counter()
    for number in range(n_rounds):
        name = list(CASES)[number % len(CASES)]
        outcome = workshop.round(name, rng, f"{os.getpid()}-{number}")
        found[outcome] += 1
        with capsys.disabled():
            sys.stderr.write(f"{number + 1}/{n_rounds} {name}: {outcome}\n")
    cut_off = sum(n for outcome, n in found.items() if not outcome.endswith("code 0"))
    assert cut_off >= n_rounds // 4, found
