"""Architectures of a proteome are what the rules of Pfam make of its table of domains, put down once more."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

from clalign import api


def plain_architectures(table: Path, clan_of: dict[str, str]) -> dict[str, list[tuple[str, int, int]]]:
    """Return the domains that are kept of each sequence, from a table of domains."""
    found = defaultdict(list)
    with table.open() as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["significant"] == "yes":
                place = int(row["ali_from"]), int(row["ali_to"])
                entry = float(row["i_evalue"]), -float(row["score"]), *place, row["query"], row["query_accession"]
                found[row["target"]].append(entry)
    kept = {}
    for name, domains in found.items():
        taken: list[tuple[str, str, int, int]] = []
        for _, _, start, end, family, accession in sorted(domains):
            clan = clan_of.get(accession.split(".")[0])
            if not any(
                clan and clan_of.get(a.split(".")[0]) == clan and start <= e and s <= end for _, a, s, e in taken
            ):
                taken.append((family, accession, start, end))
        kept[name] = sorted((family, start, end) for family, _, start, end in taken)
    return kept


def test_a_proteome_equals_the_rules_put_down_plainly(data_folder: Path, tmp_path: Path) -> None:
    profiles = tmp_path / "families.hmm"  # several of two releases, whose domains overlap, and kin of theirs
    models = sorted((data_folder / "pfam").glob("pfam3[58]/*.hmm"))
    profiles.write_text("".join(path.read_text() for path in models))
    sequences = data_folder / "sequences" / "Mycoplasma_genitalium.faa.gz"
    accessions = sorted({path.name.split("_")[0] for path in models})
    clan_of = {accession: f"CL{place % 3}" for place, accession in enumerate(accessions) if place % 5 != 1}
    clans = tmp_path / "clans.tsv"
    clans.write_text("".join(f"{accession}\t{clan}\n" for accession, clan in clan_of.items()))
    limits = {"inclusion_evalue": 10.0, "inclusion_domain_evalue": 10.0}
    with api.hmmsearch(profiles, sequences, device="cpu", **limits) as found:
        found.export("domtsv", tmp_path / "domains.tsv")
        found.export("architecture", tmp_path / "made.tsv", clans=str(clans))
    expected = plain_architectures(tmp_path / "domains.tsv", clan_of)
    made, n_left_out = {}, 0
    with (tmp_path / "made.tsv").open() as lines:
        for row in csv.DictReader((line for line in lines if line[0] != "#"), delimiter="\t", quoting=csv.QUOTE_NONE):
            parts = [part.rsplit(":", 2) for part in row["domains"].split(";")]
            made[row["sequence"]] = sorted((family, *map(int, place.split("-"))) for family, place, _ in parts)
            n_left_out += int(row["n_left_out"])
    assert made == expected
    assert n_left_out > 10, "there must be something to resolve"
    assert max(map(len, made.values())) > 1
