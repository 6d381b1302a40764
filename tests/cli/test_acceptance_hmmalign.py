"""Every profile and sequence file of the acceptance data: the alignments of hmmalign 3.3.2, letter by letter.

Needs ``CLALIGN_DATA`` and hmmalign.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.formats.row_forms import HMMER_FORMS

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

from acceptance import EVERY_SEQUENCE, plain_copy, share

PROFILES = ("hmmer3/*.hmm", "pfam/*/*.hmm")
SEQUENCES = ("hmmer3/*.sto", "hmmer3/*.fa", "sequences/M*.f*a.gz")

MOST = 30_000
"""Bytes of a proteome that are aligned."""

pytestmark = [
    pytest.mark.usefixtures("worker_here"),
    pytest.mark.timeout(3600),
    pytest.mark.skipif(shutil.which("hmmalign") is None, reason="hmmalign 3 is not installed"),
]


def is_equal(folder: Path, *words: str) -> bool:
    """Return whether hmmalign takes these words; if it does, ours must write the same."""
    theirs, ours = folder / "theirs", folder / "ours"
    if subprocess.run(["hmmalign", "-o", str(theirs), *words], capture_output=True, check=False).returncode:
        return False
    assert main(["hmmalign", "-q", "-o", str(ours), *words]) == 0, words
    assert ours.read_bytes() == theirs.read_bytes(), words
    return True


def files(data_folder: Path, patterns: tuple[str, ...]) -> list[str]:
    return [str(path) for pattern in patterns for path in sorted(data_folder.glob(pattern))]


@pytest.mark.thorough
def test_every_pair_of_hmmer3(data_folder: Path, tmp_path: Path) -> None:
    sequences = files(data_folder, SEQUENCES[:2])
    n = sum(
        is_equal(tmp_path, profile, file)
        for place, profile in enumerate(files(data_folder, PROFILES[:1]))
        for file in share(sequences, place, 3)
    )
    assert n > (100 if EVERY_SEQUENCE else 33)


@pytest.mark.thorough
def test_proteomes(data_folder: Path, tmp_path: Path) -> None:
    plain = [plain_copy(Path(path), tmp_path, MOST) for path in files(data_folder, SEQUENCES[2:])]
    n = sum(
        is_equal(tmp_path, profile, str(file))
        for place, profile in enumerate(files(data_folder, PROFILES[1:]))
        for file in share(plain, place, 3)
    )
    assert n > 5


def test_mapped_alignments(data_folder: Path, tmp_path: Path) -> None:
    n = 0
    for profile in files(data_folder, PROFILES[:1]):
        seed = str(Path(profile).with_suffix(".sto"))
        if Path(seed).exists():
            n += is_equal(tmp_path, "--mapali", seed, profile, seed)
            n += is_equal(tmp_path, "--trim", "--mapali", seed, profile, seed)
    assert n > 8


@pytest.mark.parametrize("form", HMMER_FORMS)
def test_formats(data_folder: Path, tmp_path: Path, form: str) -> None:
    folder = data_folder / "hmmer3"
    assert is_equal(tmp_path, "--outformat", form, str(folder / "LuxC.hmm"), str(folder / "LuxC.sto"))
