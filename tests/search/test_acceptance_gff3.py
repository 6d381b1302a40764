"""GFF3 files of every engine are taken by GenomeTools' validator, with the types of the Sequence Ontology."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from clalign import api
from clalign.engines.export import export
from clalign.runs.run_file import open_run

GT = shutil.which("gt")

pytestmark = pytest.mark.skipif(GT is None, reason="GenomeTools is not installed")

HOSTILE = ("with space", "semi;colon=1,2&3", "per%cent", ">greater", "tab\there", "ünïcode", "a|b|c")
"""Names of sequences that GFF3 must escape."""


def validated(run: Path, what: str) -> list[str]:
    """Return the lines of a GFF3 file of a run that the validator takes."""
    path = run.with_suffix(f".{what}.gff3")
    export(run, what, path)
    assert GT is not None
    messages = subprocess.run([GT, "gff3validator", "-typecheck", "so", str(path)], capture_output=True, text=True)
    assert messages.returncode == 0, messages.stderr
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def proteins(path: Path, n: int) -> Iterator[tuple[str, str]]:
    """Yield names and residues of the first proteins of a file."""
    with gzip.open(path, "rt") as file:
        for record in islice(file.read().split(">")[1:], n):
            head, _, text = record.partition("\n")
            yield head.split()[0], text.replace("\n", "")


@pytest.fixture(scope="module")
def genes(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first proteins of a genome, as Prodigal would name them, on both strands."""
    path, place = tmp_path_factory.mktemp("gff3") / "genes.faa", 1
    with path.open("w") as file:
        found = proteins(data_folder / "sequences" / "Mycoplasma_genitalium.faa.gz", 60)
        for number, (_, text) in enumerate(found, start=1):
            end = place + 3 * len(text) + 2
            file.write(f">contig_{number} # {place} # {end} # {1 if number % 2 else -1} # ID=1_{number}\n{text}\n")
            place = end + 50
    return path


@pytest.mark.parametrize("command", ["hmmsearch", "hmmscan"])
def test_domains(data_folder: Path, tmp_path: Path, genes: Path, command: str) -> None:
    models = sorted((data_folder / "pfam" / "pfam38").glob("*.hmm"))
    library = tmp_path / "families.hmm"
    library.write_text("".join(path.read_text() for path in models))
    run = tmp_path / "run.clalign"
    getattr(api, command)(library, genes, device="cpu", run=run).close()
    found = [validated(run, what) for what in ("gff3", "architecture_gff3", "gff3_genome")]
    assert len(found[0]) >= len(found[1]) > 3
    assert {line.split("\t")[6] for line in found[2]} == {"+", "-"}
    assert len(found[2]) == len(found[0]), "every protein has its place"
    name_hostilely(run)
    assert [len(validated(run, what)) for what in ("gff3", "architecture_gff3")] == [len(found[0]), len(found[1])]


def name_hostilely(path: Path) -> None:
    """Give targets and profiles of a run names that must be escaped."""
    with open_run(path, writable=True) as run, run.connection:
        rows = [row for (row,) in run.connection.execute("SELECT rowid FROM targets")]
        for place, row in enumerate(rows):
            name = f"{HOSTILE[place % len(HOSTILE)]}{place}"
            run.connection.execute("UPDATE targets SET name = ?, description = ? WHERE rowid = ?", (name, name, row))
        for number in range(len(run.cards())):
            run.set_card(number, {**run.card(number), "name": f"{HOSTILE[number % len(HOSTILE)]}{number}"})


def test_alignments_of_proteins_and_of_both_strands(data_folder: Path, tmp_path: Path, genes: Path) -> None:
    queries = tmp_path / "queries.faa"
    found = proteins(data_folder / "sequences" / "Mycoplasma_agalactiae.faa.gz", 15)
    queries.write_text("".join(f">{name}\n{text}\n" for name, text in found))
    run = tmp_path / "proteins.clalign"
    api.sw(queries, genes, device="cpu", run=run).close()
    assert all(validated(run, what) for what in ("gff3", "architecture_gff3", "gff3_genome"))
    dna, other = "ACGTTGCAAGGCTTACCGATCGATTTGCAC", str.maketrans("ACGT", "TGCA")
    targets = {"chr1:101-138(+)": f"ACCA{dna}TTGA", "chr2:1-34(-)": f"GG{dna[::-1].translate(other)}CC"}
    (tmp_path / "q.fa").write_text(f">q\n{dna}\n")
    (tmp_path / "t.fa").write_text("".join(f">{name}\n{text}\n" for name, text in targets.items()))
    run = tmp_path / "strands.clalign"
    api.sw(tmp_path / "q.fa", tmp_path / "t.fa", device="cpu", run=run).close()
    assert {line.split("\t")[6] for line in validated(run, "gff3")} == {"+", "-"}
    assert len(validated(run, "gff3_genome")) == len(validated(run, "gff3"))
