"""Make the bundled examples again from their sources (see resources/examples/README.md).

    python3 packaging/make_examples.py RRM_1.sto Thioesterase.hmm2 globins4.hmm MADE1.sto SWISSPROT.fasta.gz RRM_1.hmm

The sources are named, with version and licence, in that README. Needs HMMER 2.3.2 (Debian's package
hmmer2: hmm2build, hmm2calibrate, hmm2search), hmmsearch of HMMER 3.3.2 (package hmmer) and nothing but
Python's standard library.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "resources" / "examples"
PROTEINS = "swissprot_sample.fasta.gz"
QUERIES = "three_proteins.fasta"
QUERY_NAMES = ("sp|P68250|1433B_BOVIN", "sp|P29274|AA2AR_HUMAN", "sp|P01009|A1AT_HUMAN")
EVERY = 4
"""Of the Swiss-Prot file every fourth sequence is taken, and every one that a profile hits."""

MOTIF_ALIGNMENT = ["ACGTTGACGT", "ACGTTGACGT", "ACGT-GACGA", "AGGTTCACGT", "ACGTTGAC-T"]
MOTIF_TARGETS = [
    ("perfect", "ACGTTGACGT"),
    ("twice", "ACGTTGACGTCCCCACGTTGACGT"),
    ("deletion", "TTACGTGACGATT"),
    ("insertion", "GGACGTTCCGACGTGG"),
    ("fragment", "TTGACGT"),
    ("unknown_base", "acgtNgacgt"),
    ("unlike", "CCCCCCCC"),
    ("one_base", "A"),
]

Record = tuple[str, str]


def read_fasta(path: Path) -> Iterator[Record]:
    """Yield header and sequence of each record."""
    packed = path.read_bytes()
    text = (gzip.decompress(packed) if path.suffix == ".gz" else packed).decode("ascii")
    for block in text.lstrip(">").split("\n>"):
        header, _, sequence = block.partition("\n")
        yield header, sequence.replace("\n", "")


def write_fasta(path: Path, records: list[Record]) -> None:
    """Write records, 60 residues a line; compressed where the name ends in .gz, the same bytes each time."""
    text = "".join(
        f">{header}\n" + "".join(sequence[at : at + 60] + "\n" for at in range(0, len(sequence), 60))
        for header, sequence in records
    ).encode("ascii")
    path.write_bytes(gzip.compress(text, 9, mtime=0) if path.suffix == ".gz" else text)


def hmmer(program: str, *arguments: str, folder: Path) -> str:
    """Run a program of HMMER 2.3.2 and return what it printed."""
    return subprocess.run([program, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def build(alignment: Path, model: str, folder: Path, *options: str, calibrate: bool = True) -> None:
    """Build a HMMER2 profile from an alignment."""
    name = model.lower()
    shutil.copyfile(alignment, folder / f"{name}.sto")
    hmmer("hmm2build", "-F", "-n", model, *options, f"{name}.hmm", f"{name}.sto", folder=folder)
    if calibrate:
        hmmer("hmm2calibrate", "--cpu", "0", "--seed", "1", f"{name}.hmm", folder=folder)


def search(profile: str, targets: Path, folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows that hmm2search prints: target, score, E-value, N; and the domains."""
    text = hmmer("hmm2search", "--cpu", "0", profile, str(targets), folder=folder)
    top = text[text.index("Scores for complete") : text.index("Parsed for domains")]
    bottom = text[text.index("Parsed for domains") : text.index("Alignments of top")]
    hits = re.findall(r"^(\S+).*\s(-?\d+\.\d)\s+(\S+)\s+(\d+)$", top, re.MULTILINE)
    domain = r"^(\S+)\s+(\d+)/\d+\s+(\d+)\s+(\d+)\s\S\S\s+(\d+)\s+(\d+)\s\S\S\s+(-?\d+\.\d)\s+(\S+)$"
    return [list(row) for row in hits], [list(row) for row in re.findall(domain, bottom, re.MULTILINE)]


def search_hmmer3(profile: str, targets: Path, folder: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the same of hmmsearch, from its tables; the number of domains is that of the reported ones."""
    hmmer("hmmsearch", "--tblout", "hits", "--domtblout", "domains", profile, str(targets), folder=folder)
    hits, domains = (
        [line.split() for line in (folder / name).read_text().splitlines() if not line.startswith("#")]
        for name in ("hits", "domains")
    )
    places = [[row[0], row[9], row[17], row[18], row[15], row[16], row[13], row[12]] for row in domains]
    return [[row[0], row[5], row[4], row[16]] for row in hits], places


def write_expected(name: str, profile: str, targets: Path, folder: Path) -> None:
    """Store the answer of hmm2search, or of hmmsearch, to one example."""
    is_newer = (folder / profile).read_text().startswith("HMMER3")
    hits, domains = (search_hmmer3 if is_newer else search)(profile, targets, folder)
    tables = (
        ("hits", "target score evalue n_domains", hits),
        ("domains", "target domain ali_from ali_to hmm_from hmm_to score evalue", domains),
    )
    for kind, columns, rows in tables:
        lines = [columns.split(), *rows]
        text = "".join("\t".join(line) + "\n" for line in lines)
        (FOLDER / f"{name}.{kind}.tsv").write_text(text, encoding="ascii")
    print(f"{name}: {len(hits)} hits, {len(domains)} domains")


def sample_proteins(swissprot: Path, profiles: list[str], folder: Path) -> None:
    """Write every fourth protein, and all that a profile hits."""
    records = list(read_fasta(swissprot))
    whole = folder / "whole.fasta"
    write_fasta(whole, records)
    found = {hit[0] for profile in profiles for hit in search(profile, whole, folder)[0]}
    kept = [record for i, record in enumerate(records) if i % EVERY == 0 or record[0].split()[0] in found]
    write_fasta(FOLDER / PROTEINS, kept)
    write_fasta(FOLDER / QUERIES, [record for record in records if record[0].split()[0] in QUERY_NAMES])
    print(f"{PROTEINS}: {len(kept)} of {len(records)} sequences")


def transposon_targets(alignment: Path, generator: random.Random) -> list[Record]:
    """Return random DNA; into every sixteenth piece a changed element of the alignment was put, or two."""
    rows: dict[str, str] = {}
    for line in alignment.read_text(encoding="ascii").splitlines():
        if line and line[0] not in "#/":
            name, text = line.split()
            rows[name] = rows.get(name, "") + text
    elements = [re.sub("[^ACGT]", "", text.upper()) for text in rows.values()]
    records = []
    for number in range(1, 481):
        pieces = ["".join(generator.choices("ACGT", (0.3, 0.2, 0.2, 0.3), k=generator.randint(80, 900)))]
        copies = generator.choice((1, 1, 2)) if number % 16 == 0 else 0
        for _ in range(copies):
            element = generator.choice(elements)
            changes = generator.uniform(0, 0.3)
            pieces.append("".join(generator.choice("ACGT") if generator.random() < changes else x for x in element))
            pieces.append("".join(generator.choices("ACGT", k=generator.randint(50, 300))))
        note = f"random DNA, elements put in: {copies}"
        records.append((f"dna{number:03d} {note}", "".join(pieces)))
    return records


def main(arguments: list[str]) -> None:
    """Make every file of the folder but examples.json and README.md."""
    rrm, thioesterase, globins, made, swissprot, newer = map(Path, arguments)
    shutil.copyfile(thioesterase, FOLDER / "thioesterase.hmm")
    shutil.copyfile(globins, FOLDER / "globins4.hmm")
    shutil.copyfile(newer, FOLDER / "rrm_1_hmmer3.hmm")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        build(rrm, "RRM_1", folder)
        build(made, "MADE1", folder, "--nucleic")
        motif = folder / "motif.alignment"
        rows = [f"seq{i} {row}" for i, row in enumerate(MOTIF_ALIGNMENT, 1)]
        motif.write_text("\n".join(["# STOCKHOLM 1.0", *rows, "//", ""]), encoding="ascii")
        build(motif, "motif", folder, "--nucleic", calibrate=False)
        for name in ("rrm_1", "made1", "motif"):
            shutil.copyfile(folder / f"{name}.hmm", FOLDER / f"{name}.hmm")
        shutil.copyfile(thioesterase, folder / "thioesterase.hmm")
        shutil.copyfile(newer, folder / "rrm_1_hmmer3.hmm")
        sample_proteins(swissprot, ["rrm_1.hmm", "thioesterase.hmm"], folder)
        write_fasta(FOLDER / "random_dna.fasta.gz", transposon_targets(made, random.Random(2024)))
        write_fasta(FOLDER / "motif.fasta", MOTIF_TARGETS)
        write_all_expected(folder)


def write_all_expected(folder: Path) -> None:
    """Store the answers to all examples."""
    for name, targets in (
        ("rrm_1", PROTEINS),
        ("thioesterase", PROTEINS),
        ("rrm_1_hmmer3", PROTEINS),
        ("made1", "random_dna.fasta.gz"),
        ("motif", "motif.fasta"),
    ):
        plain = folder / f"{name}.targets"
        write_fasta(plain, list(read_fasta(FOLDER / targets)))
        write_expected(name, f"{name}.hmm", plain, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
