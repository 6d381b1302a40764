"""An engine of another package, from this folder, is one of clalign's without a change of clalign."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from clalign.databases.loading import load_database
from clalign.errors import DamagedRun, OptionError
from clalign.runs.run_file import open_run

TOY = Path(__file__).parent / "toy"
PROTEINS = files("clalign.resources") / "examples" / "swissprot_sample.fasta.gz"
MOTIF = "GK"


def clalign(*words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TOY), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-P", "-m", "clalign", *words]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy") / "motif.clalign"
    done = clalign("motif", "--motif", MOTIF, "--device", "cpu", "--run", str(path), "-o", os.devnull, str(PROTEINS))
    assert done.returncode == 0, done.stderr
    return path


def expected() -> dict[str, int]:
    database, _ = load_database(str(PROTEINS))
    counts = {record.name: len(re.findall(f"(?={MOTIF})", record.text)) for record in database}
    return {name: n for name, n in counts.items() if n}


def test_the_command_line_has_it() -> None:
    assert "\n  motif " in clalign("--help").stdout
    assert "--least X" in clalign("motif", "--help").stdout
    assert "--motif" in clalign("motif", str(PROTEINS)).stderr


def test_a_run_holds_what_it_has_found_on_a_device(counted: Path) -> None:
    with open_run(counted) as run:
        assert {hit.name: hit.raw for hit in run.hits()} == expected()
        assert run.facts.engine == "motif"
        assert run.facts.device.kind == "cpu"
        edges, counts = run.histogram(0)
        assert int(counts.sum()) == run.facts.database.n_sequences
        assert edges[0] == 0.0


def test_a_run_is_exported(counted: Path) -> None:
    lines = clalign("export", str(counted)).stdout.splitlines()
    assert {name: int(n) for name, n in (line.split("\t") for line in lines)} == expected()
    fasta = clalign("export", "--fasta", "-", str(counted)).stdout
    assert len(re.findall("^>", fasta, re.MULTILINE)) == len(expected())
    refused = clalign("export", "--sam", "-", str(counted))
    assert "`clalign motif`" in refused.stderr


def test_a_run_is_continued(counted: Path) -> None:
    done = clalign("resume", str(counted))
    assert done.returncode == 0


OWN = """
import sys, clalign
from pathlib import Path
from clalign.runs.run_file import open_run
with open_run(Path(sys.argv[1])) as run:
    for times, sequences in run.engine_rows("motif_times"):
        print(times, sequences)
"""


def test_a_run_has_a_table_of_its_own(counted: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TOY)}
    command = [sys.executable, "-P", "-c", OWN, str(counted)]
    shown = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    found = Counter(expected().values())
    assert {int(n): int(m) for n, m in (line.split() for line in shown.splitlines()) if n != "0"} == found
    with open_run(counted) as run, pytest.raises(OptionError, match="engine motif"):
        run.engine_rows("motif_times")


@pytest.mark.parametrize(
    "script",
    ["CREATE TABLE other_times (times INTEGER)", "CREATE TABLE motif_more (times INTEGER DEFAULT (random()))",
     "CREATE VIEW motif_view AS SELECT 1", "CREATE TABLE motif_two (a INTEGER, b INTEGER AS (a * 2))"],
)  # fmt: skip
def test_a_table_that_no_engine_makes_is_refused(counted: Path, tmp_path: Path, script: str) -> None:
    path = Path(shutil.copy(counted, tmp_path))
    open_run(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(script)
    with pytest.raises(DamagedRun):
        open_run(path)


def test_what_it_cannot_do_is_said(counted: Path) -> None:
    done = clalign("verify", str(counted))
    assert "`clalign motif`" in done.stderr
    assert done.returncode == 1


def test_a_run_of_an_engine_that_is_gone_is_refused_in_words(counted: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "clalign", "export", str(counted)], capture_output=True, text=True, check=False
    )
    assert "engine motif" in done.stderr
    assert done.returncode == 1


WINDOW = """
import sys
from pathlib import Path
from PySide6.QtCore import QTimer
from clalign.ui.settings import Settings
from clalign.ui.shell import app
from clalign.ui.worker_process import default_worker

application = app.make_application(["clalign"])
window = app.open_window(Settings(Path(sys.argv[2]), Path(sys.argv[2])), default_worker(), [sys.argv[1]])

def look():
    page = window.controller.page
    if page is None or not page.run.hits.n_all or page.run.histogram is None:
        return
    watch.stop()
    page.hits.table.choose_row(0)
    for name in page.TABS:
        page.show_tab(name)
    window.controller.hits.export_hits()
    n_exports = window.sheets.sheet.forms.count()
    print(page.run.hits.n_all, page.run.histogram.counts.sum(), page.run.hit.raw, n_exports)
    window.close()
    application.quit()

watch = QTimer(interval=50)
watch.timeout.connect(look)
watch.start()
application.exec()
"""


@pytest.mark.thorough
def test_a_run_is_shown_in_the_window(counted: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TOY), "QT_QPA_PLATFORM": "offscreen"}
    command = [sys.executable, "-P", "-c", WINDOW, str(counted), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, timeout=300)
    with open_run(counted) as run:
        n_targets = run.facts.database.n_sequences
    assert done.stdout.split() == [str(n) for n in (len(expected()), n_targets, max(expected().values()), 2)]
