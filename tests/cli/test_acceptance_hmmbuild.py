"""Every alignment of the acceptance data: the profiles of hmmbuild 3.3.2, letter by letter but for their date.

Needs ``CLALIGN_DATA`` and hmmbuild.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from clalign.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

from acceptance import share

ALIGNMENTS = ("hmmer3/*.sto", "hmmer3/*.afa", "pfam/*/*.st[oh]", "msa/*/*.stock", "msa/*/*.afa", "msa/*/*.fasta.gz")

OPTIONS = (
    "--wgsc", "--wblosum --wid 0.8", "--wnone", "--wgiven", "--eclust --eid 0.7", "--enone", "--eset 3.7",
    "--ere 0.9", "--esigma 30", "--pnone", "--plaplace", "--hand", "--symfrac 0.2", "--fragthresh 0.9",
    "--fragthresh 0", "--maxinsertlen 5", "--popen 0.03 --pextend 0.6", "--singlemx", "--Eft 0.1 --EmN 100",
    "--seed 7 --EvL 150 --EfL 80", "--w_beta 0.01", "--w_length 300",
)  # fmt: skip

pytestmark = [
    pytest.mark.usefixtures("worker_here"),
    pytest.mark.timeout(3600),
    pytest.mark.skipif(shutil.which("hmmbuild") is None, reason="hmmbuild 3 is not installed"),
]


def compared(files: Sequence[Path], options: list[str], folder: Path) -> int:
    """Compare the profiles of alignments that hmmbuild takes, and return how many there were."""
    ours, theirs, n = folder / "ours.hmm", folder / "theirs.hmm", 0
    for path in files:
        words = ["hmmbuild", "--cpu", "0", *options, str(theirs), str(path)]
        if subprocess.run(words, capture_output=True, check=False).returncode:
            continue
        assert main(["hmmbuild", "-q", *options, str(ours), str(path)]) == 0, path
        assert lines_of(ours) == lines_of(theirs), path
        n += 1
    return n


def lines_of(profiles: Path) -> list[str]:
    """Return the lines of profiles but their dates."""
    return [line for line in profiles.read_text(encoding="utf-8").splitlines() if not line.startswith("DATE")]


@pytest.mark.thorough
def test_every_alignment(data_folder: Path, tmp_path: Path) -> None:
    files = [path for pattern in ALIGNMENTS for path in sorted(data_folder.glob(pattern))]
    assert compared(files, [], tmp_path) > len(files) // 2


@pytest.mark.thorough
def test_alignments_as_they_were_counted(data_folder: Path, tmp_path: Path) -> None:
    """Those that ``-O`` writes."""
    n = 0
    for path in sorted(data_folder.glob("hmmer3/*.sto")):
        ours, theirs = tmp_path / "ours.sto", tmp_path / "theirs.sto"
        words = ["hmmbuild", "-O", str(theirs), str(tmp_path / "theirs.hmm"), str(path)]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            assert main(["hmmbuild", "-q", "-O", str(ours), str(tmp_path / "ours.hmm"), str(path)]) == 0
            assert ours.read_bytes() == theirs.read_bytes(), path
            n += 1
    assert n > 8


@pytest.mark.thorough
@pytest.mark.parametrize("options", OPTIONS)
def test_options(data_folder: Path, tmp_path: Path, options: str) -> None:
    files = share(sorted(data_folder.glob("hmmer3/*.sto")), OPTIONS.index(options), 3)
    assert compared(files, options.split(), tmp_path) > 1
