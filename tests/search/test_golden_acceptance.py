"""Every HMMER2 profile of the acceptance data against its FASTA files: equal to hmmsearch 2.3.2 in every digit.

Needs ``CLALIGN_DATA`` and hmmsearch 2.3.2 (``hmm2search``), which is slow: large files are searched in part.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.formats.profiles import load_profiles

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from acceptance import EVERY_SEQUENCE, plain_copy, share  # noqa: E402
from hmm2search_output import differences, parse_output  # noqa: E402

pytestmark = pytest.mark.usefixtures("worker_here")

PROFILES = ("*.hmm", "*.hmm2")
SEQUENCES = ("hmmer2/*.fa", "hmmer2/*.seq", "sequences/*.fasta.gz", "sequences/*.fa.gz", "sequences/*.faa.gz")
DNA = ("dna/MT-human.fa", "dna/U89959_ests.fas", "dna/SARS-CoV-2_MN908947.3.fasta")

MOST = 50_000
"""Bytes of a file of sequences that are searched."""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acceptance")


def single_models(path: Path, folder: Path) -> Iterator[Path]:
    """Yield a file for each model: hmmsearch reads only the first of several."""
    models = [part for part in path.read_text().split("//\n") if part.strip()]
    for number, model in enumerate(models):
        single = folder / f"{path.stem}_{number}.hmm"
        single.write_text(model + "//\n")
        yield single


def sequence_files(data: Path, profile: Path, folder: Path) -> list[Path]:
    nucleic = load_profiles(str(profile))[0].alphabet.is_nucleic
    patterns = DNA if nucleic else SEQUENCES
    files = sorted(found for pattern in patterns for found in data.glob(pattern))
    return [plain_copy(path, folder, MOST) for path in files]


def compare(program: str, profile: Path, sequences: Path, options: tuple[str, ...], folder: Path) -> list[str]:
    theirs = subprocess.run(
        [program, "--cpu", "0", *options, str(profile), str(sequences)], capture_output=True, text=True, check=True
    )
    ours = folder / "ours.txt"
    nucleic = load_profiles(str(profile))[0].alphabet.is_nucleic
    alphabet = ["--alphabet", "dna" if nucleic else "amino"]
    assert main(["hmmsearch", "-q", *alphabet, *options, "-o", str(ours), str(profile), str(sequences)]) == 0
    found = differences(parse_output(theirs.stdout), parse_output(ours.read_text()))
    return [f"{profile.name} x {sequences.name}: {text}" for text in found]


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_every_hmmer2_profile_of_the_data(data_folder: Path, hmm2search: str, scratch: Path) -> None:
    files = sorted(found for pattern in PROFILES for found in (data_folder / "hmmer2").glob(pattern))
    models = [single for path in files for single in single_models(path, scratch)]
    assert len(models) >= 6
    problems, n_searches = [], 0
    for place, profile in enumerate(models):
        for sequences in share(sequence_files(data_folder, profile, scratch), place, 2):
            problems += compare(hmm2search, profile, sequences, (), scratch)
            n_searches += 1
    assert problems == []
    assert n_searches >= (50 if EVERY_SEQUENCE else 25)


@pytest.mark.thorough
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", ["katdna_ls", "katdna_fs", "made1_ls", "made1_fs", "made1_s"])
def test_dna_profiles_against_genomes(name: str, data_folder: Path, hmm2search: str, scratch: Path) -> None:
    profile = GOLDEN / "profiles" / f"{name}.hmm"
    problems = []
    for pattern in DNA:
        problems += compare(hmm2search, profile, data_folder / pattern, (), scratch)
    assert problems == []
