"""Real files of many programs and ages: each loads with a report or is refused with one clear message.

``awkward_outcomes.tsv`` holds what each file of the ``awkward`` folder must lead to; its numbers were
checked against the manifest of the data, and by hand where that has none or others (`DIFFERENCES`).
The files themselves are not part of the repository.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from clalign.databases.loading import load_database
from clalign.errors import ClalignError, InputError
from clalign.formats.profiles import load_profiles, profile_card
from clalign.formats.recognize import recognize

TABLE = Path(__file__).with_name("awkward_outcomes.tsv")

DIFFERENCES = {
    "bioperl/testaln.fasta": "gaps stay, because the rows are not of one length; the manifest counts letters",
    "bioperl/testaln2.fasta": "gaps stay, because the rows are not of one length; the manifest counts letters",
    "bioperl/testaln.metafasta": "two gaps and three & are counted; the manifest counts letters",
    "biopython/GenBank/gbvrl1_start.seq": "three entries after a header of the release; the LOCUS lines add up to 5769",
    "biopython/Nexus/test_Nexus_input.nex": "31 missing characters (?) are kept; the manifest counts letters",
    "biotite/alignment.fasta": "gaps written as _ are left out too",
    "biotite/selenocysteine.fasta": "the line that begins with ; is a comment",
    "dnaio/simple.fasta": "the digit in SEQUENCE1 is no residue",
    "dnaio/simple.fasta.bz2": "the digit in SEQUENCE1 is no residue",
    "dnaio/simple.fasta.gz": "the digit in SEQUENCE1 is no residue",
    "dnaio/simple.fasta.xz": "the digit in SEQUENCE1 is no residue",
    "emboss/ambigprot.fasta": "two * are kept; the manifest counts letters",
    "emboss/ops.fasta": "three gaps stay in sequences that are not aligned",
    "emboss/testseqs.ncbi": "one sequence holds a line with digits, gaps and *: 3607 bytes, of which 8 are digits",
    "emboss/untrimmed.seq": "four . stay in a single sequence",
    "genometools/genbank_test7.gbk": "two entries; the first has no blank in the usual column of its LOCUS line",
    "sequenceserver/funky_aa_sequences.fa": "one gap and two * are kept; the manifest counts letters",
    "sequenceserver/funky_na_sequences.fa": "one gap stays in a single sequence",
}
"""Files whose numbers differ from those of the manifest, and why."""


def rows_of(table: Path) -> list[dict[str, str]]:
    with table.open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


OUTCOMES = {row["path"]: row for row in rows_of(TABLE)}


@pytest.fixture(scope="module")
def manifest(data_folder: Path) -> dict[str, dict[str, str]]:
    """What the collector of the data counted in each file."""
    return {row["path"]: row for row in rows_of(data_folder / "MANIFEST.tsv")}


@pytest.mark.parametrize("name", [name for name, row in OUTCOMES.items() if row["outcome"] == "loads"])
def test_it_loads(data_folder: Path, name: str) -> None:
    expected, path = OUTCOMES[name], str(data_folder / "awkward" / name)
    if recognize(path) == "profiles":
        assert expected["kind"] == "profiles"
        assert len(load_profiles(path)) == int(expected["n_sequences"])
        return
    database, report = load_database(path)
    assert (report.format, report.alphabet) == (expected["kind"], expected["words"])
    assert (report.n_sequences, report.n_residues) == (int(expected["n_sequences"]), int(expected["n_residues"]))
    assert [issue.kind for issue in report.issues] == expected["issues"].split()
    assert (len(database), database.n_residues) == (report.n_sequences, report.n_residues)


@pytest.mark.parametrize("name", [name for name, row in OUTCOMES.items() if row["outcome"] == "refused"])
def test_it_is_refused(data_folder: Path, name: str) -> None:
    expected, path = OUTCOMES[name], str(data_folder / "awkward" / name)
    for use in (load_database, load_profiles):
        with pytest.raises(InputError) as error:
            use(path)
        assert error.value.exit_code == 2
        assert error.value.hint
        assert "\n" not in str(error.value)
    with pytest.raises(InputError) as error:
        load_profiles(path) if expected["kind"] == "profiles" else load_database(path)
    assert expected["words"] in error.value.reason
    line = expected["issues"].removeprefix("line ")
    assert error.value.line == (int(line) if line else None)


def test_the_table_covers_every_file(data_folder: Path) -> None:
    folder = data_folder / "awkward"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files >= set(OUTCOMES)
    for name in sorted(files - set(OUTCOMES)):
        check_any_file(folder / name)


def check_any_file(path: Path) -> None:
    """Check what must be true of every file in the world."""
    try:
        if recognize(str(path)) == "profiles":
            assert load_profiles(str(path))
        else:
            assert len(load_database(str(path))[0])
    except ClalignError as error:
        problem = error
    else:
        return
    assert problem.exit_code in (1, 2)
    assert problem.hint


def test_the_table_agrees_with_the_manifest(manifest: dict[str, dict[str, str]]) -> None:
    checked, different = 0, set()
    for name, row in OUTCOMES.items():
        counted = manifest[f"awkward/{name}"]
        if row["outcome"] == "loads" and row["kind"] != "profiles" and counted["n_seq"]:
            checked += 1
            if (row["n_sequences"], row["n_residues"]) != (counted["n_seq"], counted["residues"]):
                different.add(name)
    assert checked > 150
    assert different == {name for name in DIFFERENCES if manifest[f"awkward/{name}"]["n_seq"]}


READ = {
    "fasta": ("fasta", "aligned fasta"),
    "fastq": ("fastq",),
    "genbank": ("genbank",),
    "embl": ("embl",),
    "swiss": ("uniprot",),
    "stockholm": ("stockholm",),
    "clustal": ("clustal",),
}


@pytest.mark.parametrize("folder", ["sequences", "dna", "hmmer2", "hmmer3", "pfam", "msa"])
def test_ordinary_files_hold_what_the_manifest_says(
    data_folder: Path, manifest: dict[str, dict[str, str]], folder: str
) -> None:
    checked = 0
    for name, counted in manifest.items():
        if not name.startswith(f"{folder}/"):
            continue
        path = str(data_folder / name)
        if counted["format"] in READ:
            _, report = load_database(path)
            assert report.format in READ[counted["format"]], name
            found = (report.n_sequences, report.n_residues, report.shortest, report.longest)
            expected = [counted[key] for key in ("n_seq", "residues", "min_len", "max_len")]
            assert "not-counted" in counted["flags"] or list(map(str, found)) == expected, name
            checked += 1
        elif counted["format"] in ("hmmer2", "hmmer3"):
            models = load_profiles(path)
            assert len(models) == int(counted["n_models"]), name
            lengths = [int(length) for length in counted["model_lens"].replace(",", " ").split() if length.isdigit()]
            assert [hmm.length for hmm in models][: len(lengths)] == lengths, name
            assert all(profile_card(hmm)["name"] for hmm in models)
            checked += 1
        else:
            check_any_file(Path(path))
    assert checked >= 10
