"""Every HMMER3 profile of the acceptance data against its FASTA files: the tables of hmmsearch 3.3.2, line by line.

Needs ``CLALIGN_DATA``; compares with hmmsearch where it is installed, else with pyhmmer. Large files are searched in
part.
"""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.formats.profiles import load_profiles

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from acceptance import EVERY_SEQUENCE, plain_copy  # noqa: E402
from hmmer3_output import Comparison, compare_domains, compare_hits  # noqa: E402

PROFILES = ("hmmer3/*.hmm", "pfam/*/*.hmm", "pfam/*.hmm.gz")
PROTEINS = ("sequences/*.fasta.gz", "sequences/*.fa.gz", "sequences/*.faa.gz", "dna/*.faa")
DNA = ("dna/MT-*.fa", "dna/*_ests.fas", "dna/SARS*.fasta", "dna/lambda*.fa", "dna/vsearch_query.fsa")
"""Without files that hold sequences of more than 100,000 residues, which hmmsearch refuses."""

MOST, MOST_SCANNED = 200_000, 400_000
"""Bytes of a file of proteins that are searched, and that are scanned."""

NUCLEIC = ("--max", "-E", "1e6", "--domE", "1e6")

MAX_IN_PYHMMER = {"F1": 1.0, "F2": 1.0, "F3": 1.0, "bias_filter": False, "E": 1e6, "domE": 1e6}

HMMSEARCH = shutil.which("hmmsearch")

pytestmark = [
    pytest.mark.usefixtures("worker_here"),
    pytest.mark.timeout(7200),
    pytest.mark.skipif(
        HMMSEARCH is None and importlib.util.find_spec("pyhmmer") is None,
        reason="neither hmmsearch 3 nor pyhmmer is installed",
    ),
]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acceptance")


def found(data: Path, patterns: tuple[str, ...], folder: Path, most: int = 0) -> list[Path]:
    """Return the files of some patterns, unpacked."""
    return [plain_copy(path, folder, most) for pattern in patterns for path in sorted(data.glob(pattern))]


def alphabet_of(path: Path) -> str:
    """Return the alphabet of a file of profiles."""
    return load_profiles(str(path))[0].alphabet.name


def theirs(profiles: Path, sequences: Path, options: tuple[str, ...], folder: Path) -> tuple[str, str]:
    """Return the tables of hits and domains of the other program."""
    if HMMSEARCH is None:
        return theirs_of_library(profiles, sequences, options)
    return tables(HMMSEARCH, profiles, sequences, options, folder)


def tables(program: str, profiles: Path, sequences: Path, options: tuple[str, ...], folder: Path) -> tuple[str, str]:
    """Run a program of HMMER and return its tables of hits and domains."""
    hits, domains = folder / "theirs.tbl", folder / "theirs.domtbl"
    words = [program, "--cpu", "0", "--noali", "-o", os.devnull, "--tblout", str(hits), "--domtblout", str(domains)]
    subprocess.run([*words, *options, str(profiles), str(sequences)], check=True)
    return hits.read_text(), domains.read_text()


def theirs_of_library(profiles: Path, sequences: Path, options: tuple[str, ...]) -> tuple[str, str]:
    import pyhmmer

    hits, domains = io.BytesIO(), io.BytesIO()
    with pyhmmer.plan7.HMMFile(profiles) as models:
        for hmm in models:
            with pyhmmer.easel.SequenceFile(sequences, digital=True, alphabet=hmm.alphabet) as file:
                block = file.read_block()
            chosen = {"--nobias": {"bias_filter": False}, "--max": MAX_IN_PYHMMER}.get((*options, "")[0], {})
            pipeline = pyhmmer.plan7.Pipeline(hmm.alphabet, **chosen)
            top = pipeline.search_hmm(hmm, block)
            top.write(hits, format="targets", header=False)
            top.write(domains, format="domains", header=False)
    return hits.getvalue().decode(), domains.getvalue().decode()


def ours(
    profiles: Path, sequences: Path, options: tuple[str, ...], folder: Path, command: str = "hmmsearch"
) -> tuple[str, str, str]:
    """Return clalign's tables of hits and domains, and its unrounded numbers."""
    files = [folder / name for name in ("ours.tbl", "ours.domtbl", "ours.jsonl")]
    flags = [word for flag, path in zip(("--tblout", "--domtblout", "--json"), files, strict=True)
             for word in (flag, str(path))]  # fmt: skip
    alphabet = "amino" if alphabet_of(profiles) == "amino" else "dna"
    words = [command, "-q", "--noali", "-o", os.devnull, "--alphabet", alphabet, *flags, *options]
    assert main([*words, str(profiles), str(sequences)]) == 0
    hits, domains, values = (path.read_text() for path in files)
    return hits, domains, values


def compare(profiles: list[Path], sequences: Path, options: tuple[str, ...], folder: Path) -> tuple[Comparison, ...]:
    """Compare the searches of a file of sequences; clalign does all profiles at once."""
    library = folder / "library.hmm"
    library.write_text("".join(path.read_text() for path in profiles))
    hits, domains = "", ""
    for path in profiles:
        more_hits, more_domains = theirs(path, sequences, options, folder)
        hits, domains = hits + more_hits, domains + more_domains
    my_hits, my_domains, values = ours(library, sequences, options, folder)
    limit = 1e6 if options == NUCLEIC else 10.0
    return compare_hits(hits, my_hits, values, limit), compare_domains(domains, my_domains, values, limit)


def options_for(profiles: list[Path]) -> tuple[str, ...]:
    """Return the options to search with: profiles of nucleic acids find next to nothing with filters."""
    return () if alphabet_of(profiles[0]) == "amino" else NUCLEIC


def search_all(
    profiles: list[Path], files: list[Path], folder: Path, say: Callable[[str], object]
) -> tuple[Comparison, Comparison]:
    """Compare everything, and say what there was."""
    totals = {"hits": Comparison(), "domains": Comparison()}
    n_searches = 0
    for sequences in files:
        options = options_for(profiles)
        n_searches += sum(len(load_profiles(str(path))) for path in profiles)
        for name, result in zip(totals, compare(profiles, sequences, options, folder), strict=True):
            totals[name].add(result)
            shown = f"{len(profiles)} files of profiles x {sequences.name}{' '.join(('', *options))}, {name}"
            say(f"\n{shown}: {result.n_lines} lines, {result.n_equal} equal")
            say("".join(f"\n  permitted: {text}" for text in result.permitted))
            say("".join(f"\n  wrong: {text}" for text in result.wrong))
    for name, total in totals.items():
        shown = f"{total.n_lines} lines, {total.n_equal} equal, {len(total.permitted)} permitted differences"
        say(f"\nAll {n_searches} searches, {name}: {shown}\n")
    return totals["hits"], totals["domains"]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], object]:
    """Return what writes into the output of the tests, whether these pass or not."""

    def write(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(text)

    return write


@pytest.mark.thorough
def test_proteins(data_folder: Path, scratch: Path, say: Callable[[str], object]) -> None:
    """Every other file of profiles against every other file of proteins, and the other ones against the others."""
    profiles = [path for path in found(data_folder, PROFILES, scratch) if alphabet_of(path) == "amino"]
    files = found(data_folder, PROTEINS, scratch, MOST)
    assert len(profiles) >= 26
    step = 1 if EVERY_SEQUENCE else 2
    hits, domains = Comparison(), Comparison()
    for part in range(step):
        for total, more in zip(
            (hits, domains), search_all(profiles[part::step], files[part::step], scratch, say), strict=True
        ):
            total.add(more)
    assert hits.wrong + domains.wrong == []
    assert hits.n_lines > (7000 if EVERY_SEQUENCE else 400)
    assert hits.n_equal > 0.995 * hits.n_lines
    assert domains.n_equal > 0.995 * domains.n_lines


@pytest.mark.thorough
@pytest.mark.parametrize("alphabet", ["DNA", "RNA"])
def test_nucleic_acids(alphabet: str, data_folder: Path, scratch: Path, say: Callable[[str], object]) -> None:
    profiles = [path for path in found(data_folder, PROFILES, scratch) if alphabet_of(path) == alphabet.lower()]
    assert profiles
    hits, domains = search_all(profiles, found(data_folder, DNA, scratch), scratch, say)
    assert hits.wrong + domains.wrong == []
    assert hits.n_lines > 20


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("hmmscan") is None, reason="hmmscan is not installed")
def test_scans(data_folder: Path, scratch: Path, tmp_path: Path, say: Callable[[str], object]) -> None:
    library = plain_copy(data_folder / "pfam" / "pfam38_open50.hmm.gz", scratch)
    subprocess.run(["hmmpress", "-f", str(library)], check=True, capture_output=True)
    for name in ("Mycoplasma_genitalium.faa.gz", "swissprot_archaea_prokka.fasta.gz"):
        sequences = plain_copy(data_folder / "sequences" / name, tmp_path, MOST_SCANNED)
        hits, domains = tables("hmmscan", library, sequences, (), scratch)
        my_hits, my_domains, values = ours(library, sequences, (), scratch, "hmmscan")
        for what, result in (("hits", compare_hits(hits, my_hits, values)),
                             ("domains", compare_domains(domains, my_domains, values))):  # fmt: skip
            say(f"\n50 profiles x {sequences.name}, scanned, {what}: {result.n_lines} lines, {result.n_equal} equal")
            say("".join(f"\n  permitted: {text}" for text in result.permitted))
            assert result.wrong == []
            assert result.n_lines > 20
