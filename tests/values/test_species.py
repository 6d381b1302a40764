from clalign.values.species import SpeciesRule, Taxonomy, species_in, species_of, taxon_in


def test_words_of_species() -> None:
    text = "Kinase OS=Escherichia coli (strain K12) OX=83333 GN=x PE=1 SV=2"
    assert (species_in(text), taxon_in(text)) == ("Escherichia coli (strain K12)", "83333")
    assert species_in("OS=Homo sapiens") == "Homo sapiens"
    assert species_in("no POS=tion here") == species_in("") == ""
    assert (species_of(text), species_of("a protein OX=9606")) == (species_in(text), "taxon 9606")
    rule = SpeciesRule(Taxonomy({"9606": ("human", "Primates"), "P1": ("mouse", "")}), 1)
    assert [rule.of("x", "", "OX=9606"), rule.of("sp|P1|y", "", text), rule.of("z", "", text)] == ["Primates", "", ""]
    known = Taxonomy({"83333": ("Bacteria",), "P1": ("mine",)})
    assert known.group("sp|P1|A_ECOLI", "", text) == "mine"
    assert known.group("x", "-", text) == "Bacteria"
