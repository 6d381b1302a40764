"""Overlapping domains are resolved as Pfam does it, and tables of clans are read in every form."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from clalign.errors import InputError
from clalign.formats.clans import clans_beside, read_clans
from clalign.formats.genome_places import GenomePlace, genome_place
from clalign.values.architectures import Architecture, Clans, PlacedDomain, grouped, resolve


def placed(family: int, start: int, end: int, evalue: float, score: float = 10.0) -> PlacedDomain:
    name = f"F{family}"
    return PlacedDomain(
        0, family, 1, name, f"PF{family:05d}.3", 50, (start, end), (start, end + 9), (0, end - start), score, evalue
    )


def plainly(domains: list[PlacedDomain], clan_of: dict[str, str] | None, nested: set[frozenset[str]]) -> set[int]:
    """Return the places of those that are kept, by the rules put down once more: residue by residue."""
    taken: list[int] = []
    for place in sorted(range(len(domains)), key=lambda place: (domains[place].evalue, -domains[place].score)):
        one = domains[place]
        beaten = False
        for other in (domains[winner] for winner in taken):
            shared = set(range(*one.target_range)) & set(range(*other.target_range))
            kin = clan_of is None or (one.family in clan_of and clan_of[one.family] == clan_of.get(other.family))
            beaten |= bool(shared) and kin and frozenset((one.family, other.family)) not in nested
        if not beaten:
            taken.append(place)
    return set(taken)


@pytest.mark.parametrize("seed", range(20))
def test_domains_are_resolved_as_the_rules_say(seed: int) -> None:
    random = np.random.default_rng(seed)
    domains = []
    for number in range(40):
        start = int(random.integers(0, 400))
        end = start + int(random.integers(1, 80))
        domains.append(
            placed(int(random.integers(0, 8)), start, end, 10.0 ** -float(random.integers(1, 30)), 1.0 * number)
        )
    clan_of = {f"F{family}": f"CL{family % 3}" for family in range(6)}  # two families are of none
    nested = {frozenset(("F0", "F3")), frozenset(("F1", "F4"))}
    pairs = frozenset((a, b) for pair in nested for a in pair for b in pair if a != b)
    clans = Clans(clan_of, pairs)
    for rule, expected in (
        ("clans", plainly(domains, clan_of, nested)),
        ("auto", plainly(domains, clan_of, nested)),
        ("best", plainly(domains, None, nested)),
        ("all", set(range(len(domains)))),
    ):
        kept = resolve(domains, rule, clans)
        assert {domains.index(domain) for domain in kept} == expected, rule
        assert [domain.target_range for domain in kept] == sorted(domain.target_range for domain in kept)
    assert resolve(domains, "auto", Clans()) == resolve(domains, "best", Clans())


def test_domains_that_touch_do_not_overlap() -> None:
    assert len(resolve([placed(1, 0, 10, 1e-9), placed(1, 10, 20, 1e-3)], "best", Clans())) == 2
    assert len(resolve([placed(1, 0, 11, 1e-9), placed(1, 10, 20, 1e-3)], "best", Clans())) == 1


def test_equal_evalues_are_distinguished_by_the_score() -> None:
    (kept,) = resolve([placed(1, 0, 20, 0.0, 900.0), placed(2, 5, 30, 0.0, 1900.0)], "best", Clans())
    assert kept.family == "F2"


def test_sequences_are_grouped_by_what_they_consist_of() -> None:
    def sequence(*families: int) -> Architecture:
        domains = tuple(placed(family, 20 * place, 20 * place + 9, 1e-9) for place, family in enumerate(families))
        return Architecture(0, "s", "", "", 99, domains, len(domains))

    groups = grouped([sequence(1, 2), sequence(2, 1), sequence(1, 2), sequence(2)])
    assert [(group.words, group.members) for group in groups] == [("F1~F2", (0, 2)), ("F2", (3,)), ("F2~F1", (1,))]


CLANS_TSV = "PF00001\tCL0192\tGPCR_A\t7tm_1\tReceptor\nPF00002\tCL0192\tGPCR_A\t7tm_2\tx\nPF00003\t\\N\t\\N\tAlone\tx\n"
HMM_DAT = """# STOCKHOLM 1.0
#=GF ID   7tm_1
#=GF AC   PF00001.29
#=GF CL   CL0192
#=GF NE   7tm_2;
//
# STOCKHOLM 1.0
#=GF ID   7tm_2
#=GF AC   PF00002.8
#=GF CL   CL0192
//
# STOCKHOLM 1.0
#=GF ID   Alone
#=GF AC   PF00003.1
//
"""


@pytest.mark.parametrize("text", [CLANS_TSV, HMM_DAT, "PF00001\tCL0192\nPF00002\tCL0192\n7tm_1\tCL0192\n"])
def test_tables_of_clans_are_read_in_every_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "clans.gz").write_bytes(gzip.compress(text.encode()))
    clans = read_clans(str(tmp_path / "clans.gz"))
    assert {clans.of.get(name) for name in ("PF00001", "PF00002", "7tm_1")} == {"CL0192"}
    assert not {"PF00003", "Alone"} & set(clans.of)
    nests = ("PF00001", "7tm_2") in clans.nested and ("7tm_2", "7tm_1") in clans.nested
    assert nests == ("NE" in text)


def test_what_is_no_table_of_clans_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("PF00001\tCL1\n\nPF00002 CL1\nPF00003 CL1\n")
    (tmp_path / "y").write_text(">seq\nMKV\n")
    for name, line in (("y", 1),):
        with pytest.raises(InputError) as caught:
            read_clans(str(tmp_path / name))
        assert caught.value.line == line


def test_the_table_beside_the_profiles_is_found(tmp_path: Path) -> None:
    profiles = tmp_path / "my.hmm"
    assert clans_beside(str(profiles)) == ""
    for name in ("Pfam-A.clans.tsv", "my.hmm.dat"):
        (tmp_path / name).touch()
        assert clans_beside(str(profiles)) == str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "description", "length", "found"),
    [
        ("c_1_7", "# 100 # 129 # -1 # ID=1_7;partial=00", 9, ("c_1", ((99, 129, -1),))),
        ("c_1_7", "# 100 # 129 # 1 # ID=1_7", 10, ("c_1", ((99, 129, 1),))),
        ("c_1_7", "# 100 # 129 # 1 # ID=1_7", 12, None),  # not as long as it must be
        ("lcl|c_prot_1", "[gene=thrL] [location=190..255]", 21, ("c", ((189, 255, 1),))),
        ("lcl|c_prot_9", "[location=complement(join(1..30,41..70))]", 20, ("c", ((40, 70, -1), (0, 30, -1)))),
        ("lcl|c_prot_9", "[location=join(971..1000,<1..>30)]", 20, ("c", ((970, 1000, 1), (0, 30, 1)))),
        ("lcl|c_prot_9", "[location=join(complement(41..70),81..110)]", 20, ("c", ((40, 70, -1), (80, 110, 1)))),
        ("lcl|c_prot_9", "[location=join(complement(order(1..9,13..33)),81..110)]", 20,
         ("c", ((12, 33, -1), (0, 9, -1), (80, 110, 1)))),
        ("lcl|c_prot_9", "[location=join(41..70,J00194.1:81..110)]", 20, None),  # of another sequence
        ("P1", "pep chromosome:GRCh38:X:101:160:-1 gene:G", 20, ("X", ((100, 160, -1),))),
        ("chr1:11-40(-)", "", 10, ("chr1", ((10, 40, -1),))),
        ("ctg/40-11", "", 10, ("ctg", ((10, 40, -1),))),
        ("sp|P00393|DHNA_ECOLI", "NADH dehydrogenase OS=Escherichia coli", 434, None),
    ],
)  # fmt: skip
def test_places_on_genomes_are_read_from_headers(name: str, description: str, length: int, found: object) -> None:
    place = genome_place(name, description, length, is_protein=True)
    assert (place and (place.name, place.exons)) == found


def place_of(location: str) -> GenomePlace:
    found = genome_place("lcl|c_prot_p_1", f"[location={location}]", 20, is_protein=True)
    assert found is not None
    return found


def test_residues_lie_on_the_exons_of_their_gene() -> None:
    minus = place_of("complement(join(1..30,41..70))")
    assert minus.parts(0, 2) == [((64, 70, -1), (0, 2))]  # the gene begins at the right end
    assert minus.parts(9, 11) == [((40, 43, -1), (9, 10)), ((27, 30, -1), (10, 11))]
    plus = genome_place("chr1:11-20", "", 10, is_protein=False)
    assert plus is not None
    assert plus.parts(2, 5) == [((12, 15, 1), (2, 5))]


def test_genes_lie_across_the_origin_and_on_both_strands() -> None:
    assert place_of("join(971..1000,1..30)").parts(8, 12) == [((994, 1000, 1), (8, 10)), ((0, 6, 1), (10, 12))]
    minus = place_of("complement(join(971..1000,1..30))")
    assert minus.parts(8, 12) == [((0, 6, -1), (8, 10)), ((994, 1000, -1), (10, 12))]
    both = place_of("join(complement(41..70),81..110)")
    assert both.parts(8, 12) == [((40, 46, -1), (8, 10)), ((80, 86, 1), (10, 12))]


@pytest.mark.parametrize(
    ("location", "blocks"),
    [
        ("join(1..30,41..70)", ([(24, 30), (40, 46)], 1)),
        ("complement(join(1..30,41..70))", ([(24, 30), (40, 46)], -1)),
        ("join(1..30,30..59)", ([(24, 35)], 1)),  # the ribosome slips
        ("complement(join(1..30,30..59))", ([(24, 35)], -1)),
        ("join(1..30,31..60)", ([(24, 36)], 1)),
        ("join(971..1000,1..30)", None),
        ("complement(join(971..1000,1..30))", None),
        ("join(complement(41..70),81..110)", None),
    ],
)
def test_blocks_rise_and_do_not_touch(location: str, blocks: object) -> None:
    place = place_of(location)
    assert place.blocks(8, 12) == blocks
    assert place.blocks(2, 3) is not None, "one exon alone"
