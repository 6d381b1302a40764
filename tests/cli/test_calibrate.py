"""``clalign calibrate`` from end to end, and searches with what it wrote."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.calibrate import fit_lines
from clalign.errors import ExitCode
from clalign.values.devices import Device

GOLDEN = Path(__file__).parents[1] / "golden"
PROFILES = GOLDEN / "profiles"
KATDNA = str(PROFILES / "katdna_ls.hmm")
SMALL = ("--num", "300", "--mean", "40", "--sd", "10")

sys.path.insert(0, str(GOLDEN))

from hmm2search_output import differences, parse_output  # noqa: E402

pytestmark = pytest.mark.usefixtures("worker_here")


def calibrate(*words: str, device: str = "reference") -> int:
    return main(["calibrate", "-q", "--device", device, *words])


def test_prints_fit_and_histogram(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output, fits = tmp_path / "out.hmm", tmp_path / "fits.json"
    assert calibrate(*SMALL, "-o", str(output), "--histogram", str(fits), KATDNA) == 0
    text = capsys.readouterr().out
    document = json.loads(fits.read_text())
    (fit,) = document["fits"]
    assert f"mu {fit['mu']:.6f}   lambda {fit['lambda']:.6f}" in text
    assert str(output) in text.splitlines()[-1]
    rows = [line.split() for line in text.splitlines() if line.startswith("   ") and "=" in line]
    low = fit["histogram"]["low"]
    for row in rows:
        assert int(row[1]) == fit["histogram"]["counts"][int(row[0]) - low]
    assert document["kind"] == "calibration"
    assert document["device"] == "Reference (NumPy)"


@pytest.mark.thorough
def test_same_seed_same_file(fast_device: Device, tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.hmm" for n in range(3)]
    for path, seed in zip(files, ("7", "7", "8"), strict=True):
        assert calibrate(*SMALL, "--seed", seed, "-o", str(path), KATDNA, device=fast_device.id) == 0
    first, second, third = (path.read_bytes() for path in files)
    assert first == second != third


def test_in_place(tmp_path: Path) -> None:
    path = tmp_path / "a.hmm"
    shutil.copy(KATDNA, path)
    assert calibrate(*SMALL, "--in-place", str(path)) == 0
    before, after = Path(KATDNA).read_text().splitlines(), path.read_text().splitlines()
    assert [line for line in after if line not in before] == [line for line in after if line.startswith("EVD")]
    assert len(after) == len(before) + 1


def test_long_histogram_is_folded_where_the_fit_begins() -> None:
    counts = [1] * 100 + [9, 5, 3, 1] * 5
    fit = {
        "name": "a", "length": 9, "mu": 0.2, "lambda": 0.3, "highest": 19.5, "n": sum(counts), "seed": 1, "edge": 0.0,
        "n_fitted": 90, "n_censored": 40, "words": "Fit is good",
        "histogram": {"low": -100, "width": 1, "counts": counts},
    }  # fmt: skip
    rows = [line.split() for line in fit_lines(fit)[5:]]
    assert len(rows) <= 41
    assert sum(int(row[1]) for row in rows) == sum(counts)
    assert "0" in [row[0] for row in rows]


def test_a_profile_without_a_fit_is_not_written(tmp_path: Path) -> None:
    assert calibrate(*SMALL, "-o", str(tmp_path / "x.hmm"), str(PROFILES / "ecori_fs.hmm")) == ExitCode.ENGINE
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_interrupting_leaves_nothing(tmp_path: Path) -> None:
    words = ["calibrate", "--progress", "json", "--device", "reference", "-o", "x.hmm", str(PROFILES / "nif3.hmm")]
    command = [sys.executable, "-m", "clalign", *words]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if json.loads(line)["kind"] == "partial":
                break
        process.send_signal(signal.SIGINT)
        last = process.stderr.read().splitlines()[-1]
    assert process.returncode == ExitCode.INTERRUPTED
    assert json.loads(last)["value"]["text"]
    assert list(tmp_path.iterdir()) == []


def test_a_search_uses_the_new_values(tmp_path: Path, hmm2search: str, fast_device: Device) -> None:
    """Calibrated by clalign, a profile gives in HMMER 2.3.2 the same E-values as here."""
    profile, sequences = tmp_path / "new.hmm", str(GOLDEN / "sequences" / "kat.fa")
    assert calibrate(*SMALL, "-o", str(profile), KATDNA, device=fast_device.id) == 0
    ours = tmp_path / "ours.txt"
    search = ["hmmsearch", "-q", "--device", fast_device.id, "-E", "50", "-o", str(ours)]
    assert main([*search, str(profile), sequences]) == 0
    theirs = subprocess.run(
        [hmm2search, "--cpu", "0", "-E", "50", str(profile), sequences], check=True, capture_output=True, text=True
    ).stdout
    assert len(parse_output(theirs).hits) > 3
    assert differences(parse_output(theirs), parse_output(ours.read_text())) == []
    assert main([*search, KATDNA, sequences]) == 0
    assert differences(parse_output(theirs), parse_output(ours.read_text())) != []
