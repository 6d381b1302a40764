"""``clalign hmmbuild``: the same profiles as hmmbuild 3.3.2."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from clalign.building.guess import guessed_alphabet
from clalign.building.random64 import Random64, sample
from clalign.building.rows import DigitalRows
from clalign.building.specs import BuildSpec
from clalign.building.weights import clusters
from clalign.cli import main
from clalign.errors import ExitCode, InputError, OptionError
from clalign.formats.profiles import load_profiles
from clalign.jobs import QuietContext
from clalign.tools import hmm_building
from clalign.tools.hmm_building import build_profiles
from clalign.values.alphabets import AMINO
from clalign.values.devices import REFERENCE
from clalign.values.row_alignments import RowAlignment

pytestmark = pytest.mark.usefixtures("worker_here")

PROTEINS = {
    "one": "MKVLAAGIVGLLLAQWERTYIPASDFGHKLCVNM",
    "two": "MKVLSAGIVGLLL-QWERTFIPASDFGHKMCVNM",
    "three": "MRVLAAGLVG-LLAQWDRTYIPASEFGHKLC---",
    "four": "-KVLAVGIVGLLLAQWE--YIPASDYGHRLCVNM",
}
BASES = {"a": "ACGTTGACGTACGTACCGTA", "b": "ACGTTGACGTAC-TACCGTA", "c": "ACCTTGACGTACGTACCGTT"}


QUICK = BuildSpec(msv_n=2, viterbi_n=2, forward_n=2)
"""Few random sequences: the reference is slow."""


def stockholm(rows: dict[str, str], *heads: str) -> str:
    lines = ["# STOCKHOLM 1.0", *heads, *(f"{name:<10s} {text}" for name, text in rows.items()), "//"]
    return "\n".join(lines) + "\n"


def clustal(rows: dict[str, str]) -> str:
    """As others write it: without a line of consensus symbols, with counts."""
    return "CLUSTAL W\n\n" + "".join(f"{name:<10s} {text} {len(text)}\n" for name, text in rows.items())


def fasta(rows: dict[str, str]) -> str:
    return "".join(f">{name} text\n{text}\n" for name, text in rows.items())


def numbers(text: str) -> list[str]:
    """Return the lines of a profile but its date."""
    return [line for line in text.splitlines() if not line.startswith("DATE")]


def built(folder: Path, text: str, *flags: str) -> str:
    alignment, output = folder / "family.sto", folder / "ours.hmm"
    alignment.write_text(text)
    assert main(["hmmbuild", "-q", *flags, str(output), str(alignment)]) == 0
    return output.read_text()


CASES = {
    "proteins": (stockholm(PROTEINS), ()),
    "dna": (stockholm(BASES), ("--dna",)),
    "annotated": (
        stockholm(PROTEINS, "#=GF ID fam", "#=GF AC PF9", "#=GF DE A family", "#=GF GA 25.0 20.0",
                  "#=GF TC 25.1 20.1", "#=GF NC 24.9 19.9", "#=GC RF " + "x" * 30 + "...."),
        ("--hand",),
    ),
    "weights": (stockholm(PROTEINS), ("--wgsc", "--eset", "3.5", "--plaplace")),
    "clusters": (stockholm(PROTEINS), ("--wblosum", "--wid", "0.8", "--eclust", "--eid", "0.9", "--symfrac", "0.9")),
    "statistics": (stockholm(PROTEINS), ("--EmN", "50", "--EvL", "100", "--EfN", "60", "--Eft", "0.1", "--seed", "7")),
    "named": (stockholm(PROTEINS), ("-n", "other", "--ere", "0.8", "--pnone", "--wnone")),
    "fragments": (
        stockholm({**PROTEINS, "five": "-" * 20 + "ASDFGHKLCV----", "six": "~~~~AAGI" + "-" * 26}),
        ("--fragthresh", "0.4", "--maxinsertlen", "5"),
    ),
    "insertions": (
        stockholm({"a": "ACD--EFGHI-K", "b": "AC-wwEFG-IyK", "c": "A--w-EFGHI-K", "d": "ACD--EF-*IyK"}),
        ("--amino", "--symfrac", "0.6", "--wgiven"),
    ),
    "masked": (stockholm(BASES, "#=GC MM " + ".....mmmmm" * 2), ("--dna", "--w_beta", "0.01")),
    "limit": (stockholm(BASES), ("--rna", "--w_length", "77")),
    "single": (stockholm({"one": PROTEINS["one"] + "XBU"}), ("--amino", "--singlemx", "--mx", "PAM30")),
    "single base": (stockholm({"a": BASES["a"]}), ("--dna", "--singlemx", "--popen", "0.01")),
    "one score": (stockholm(PROTEINS, "#=GF GA 25", "#=GF DE one", "#=GF DE two"), ("--Eft", "1e-6")),
    "gaps": (stockholm(PROTEINS), ("--popen", "0.03", "--pextend", "0.6")),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.skipif(shutil.which("hmmbuild") is None, reason="hmmbuild 3 is not installed")
def test_equals_hmmbuild(case: str, tmp_path: Path) -> None:
    text, flags = CASES[case]
    ours = built(tmp_path, text, *flags)
    theirs = tmp_path / "theirs.hmm"
    words = ["hmmbuild", "--cpu", "0", *flags, str(theirs), str(tmp_path / "family.sto")]
    subprocess.run(words, check=True, capture_output=True)
    assert numbers(ours) == numbers(theirs.read_text())


@pytest.mark.skipif(shutil.which("hmmbuild") is None, reason="hmmbuild 3 is not installed")
@pytest.mark.parametrize("rows", [PROTEINS, BASES], ids=["proteins", "bases"])
def test_the_table_is_that_of_hmmbuild(rows: dict[str, str], tmp_path: Path) -> None:
    built(tmp_path, stockholm(rows, "#=GF DE some words"), "-o", str(tmp_path / "ours"), "--informat", "pfam")
    words = ["-o", str(tmp_path / "theirs"), str(tmp_path / "x.hmm"), str(tmp_path / "family.sto")]
    subprocess.run(["hmmbuild", *words], check=True, capture_output=True)
    theirs = (tmp_path / "theirs").read_text().splitlines()
    ours = (tmp_path / "ours").read_text().splitlines()
    assert len(ours) == 3
    assert ours == [line for line in theirs if line.startswith(("# idx", "#----", "1 "))]


def test_formats_give_the_same_profile(tmp_path: Path) -> None:
    expected = numbers(built(tmp_path, stockholm(PROTEINS)))
    assert "NAME  family" in expected
    assert "LENG  34" in expected
    assert numbers(built(tmp_path, clustal(PROTEINS))) == expected
    assert numbers(built(tmp_path, fasta(PROTEINS))) == expected
    packed = tmp_path / "family.sto.gz"
    packed.write_bytes(gzip.compress(stockholm(PROTEINS).replace("\n", "\r\n").encode()))
    assert main(["hmmbuild", "-q", str(tmp_path / "packed.hmm"), str(packed)]) == 0
    named = [line.replace("NAME  family", "NAME  family.sto") for line in expected]
    assert numbers((tmp_path / "packed.hmm").read_text()) == named


def test_several_alignments_and_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = stockholm(PROTEINS, "#=GF ID first") + stockholm(PROTEINS, "#=GF ID second")
    built(tmp_path, text)
    assert [hmm.name for hmm in load_profiles(str(tmp_path / "ours.hmm"))] == ["first", "second"]
    for name in ("first", "second"):  # the file cannot name even the first one of several
        (tmp_path / "family.sto").write_text(text.replace(f"#=GF ID {name}\n", ""))
        words = ["hmmbuild", "-q", str(tmp_path / "new.hmm"), str(tmp_path / "family.sto")]
        assert main(words) == ExitCode.INPUT
        assert not (tmp_path / "new.hmm").exists()


RESAVED = """# STOCKHOLM 1.0
#=GF ID family
#=GF DE a family

#=GS first  WT 0.95
#=GS second WT 1.01
#=GS third  WT 1.05

first   ~~~~TYIPASDFGHKLCVNM
second  MKVLTYIPA-DFGHKLCVNM
third   MKVLTYLPASDFGHKLCVNM
#=GC RF xxxxxxxxxxxxxxxxxxxx
//
"""

COUNTED = {"first": "----TYIP-ASDFGHKLCVNM", "second": "MKVLTYIP-A-DFGHKLCVNM", "third": "MKVLTYLPA-SDFGHKLCVNM"}


@pytest.mark.parametrize("flags", [(), ("--wnone",), ("--wgsc", "--symfrac", "0.9"), ("--hand",)])
def test_the_alignment_is_saved_as_it_was_counted(flags: tuple[str, ...], tmp_path: Path) -> None:
    """Outer gaps of fragments are missing data, and residues beside gaps of the profile stand in its columns."""
    ours, theirs, alignment = tmp_path / "ours.sto", tmp_path / "theirs.sto", tmp_path / "family.sto"
    reference = "#=GC RF xxxxxxxx.xxxxxxxxxxxx"
    text = stockholm(COUNTED, "#=GF ID family", "#=GF DE a family").replace("//", f"{reference}\n//")
    alignment.write_text(text + text.replace("family", "other"))
    words = ["--amino", "--fragthresh", "0.9", *flags, "-O"]
    assert main(["hmmbuild", "-q", *words, str(ours), str(tmp_path / "ours.hmm"), str(alignment)]) == 0
    assert flags or ours.read_text().startswith(RESAVED)
    if program := shutil.which("hmmbuild"):
        last = [str(theirs), str(tmp_path / "theirs.hmm"), str(alignment)]
        subprocess.run([program, *words, *last], check=True, capture_output=True)
        assert ours.read_text() == theirs.read_text()


def test_what_tells_the_alphabet_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(stockholm(PROTEINS, f"#=GF ID n{number}") for number in range(3))
    (tmp_path / "x").write_text(text)
    read, usual = list[str](), hmm_building.read_alignments_of

    def counting(*given: object) -> Iterator[RowAlignment]:
        for rows in usual(*given):  # type: ignore[arg-type]
            read.append(dict(rows.notes.file)["ID"])
            yield rows

    monkeypatch.setattr(hmm_building, "read_alignments_of", counting)
    value = build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), QUICK, REFERENCE, QuietContext())
    assert [one["name"] for one in value["profiles"]] == read == ["n0", "n1", "n2"]


def test_errors_name_the_alignment_of_several(tmp_path: Path) -> None:
    text = stockholm(PROTEINS, "#=GF ID first") + stockholm({"a": "*****"}, "#=GF ID second")
    (tmp_path / "x").write_text(text)
    with pytest.raises(InputError) as refused:
        build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), QUICK, REFERENCE, QuietContext())
    assert 'alignment 2, "second"' in refused.value.reason


def test_standard_input_and_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stockholm(PROTEINS).encode())))
    assert main(["hmmbuild", "-q", "-n", "x", "--wgsc", "-", "-"]) == 0
    shown = capsys.readouterr().out
    assert "NAME  x\n" in shown


WRONG = {
    "a second row of one name": (stockholm(PROTEINS).replace("two ", "one "), 3, "one"),
    "a letter": (stockholm(PROTEINS).replace("SEFG", "S4FG"), 4, '"4"'),
    "a letter of no base": (stockholm(BASES).replace("ACGTACC", "ACGQACC"), 2, '"Q"'),
    "a weight": (stockholm(PROTEINS, *(f"#=GS {name} WT abc" for name in PROTEINS)), 0, "abc"),
    "a score": (stockholm(PROTEINS, "#=GF GA 25x"), 0, "25x"),
    "only stops": (stockholm({"a": "*****"}), 0, "residues"),
    "no preference": (stockholm({"a": "XXXX"}), 0, "statistics"),
    "no end": (stockholm(PROTEINS).replace("//\n", ""), 1, "//"),
    "a note of no row": (stockholm(PROTEINS, "#=GS nine AC A9"), 2, "nine"),
    "a name of two words": (stockholm(PROTEINS, "#=GF DE words", "#=GF ID two words"), 3, "ID"),
    "a short annotation": (stockholm(PROTEINS).replace("//", "#=GC RF xxx\n//"), None, ""),
    "a hash in fasta": (fasta(PROTEINS).replace("SEFG", "S#FG"), 6, '"#"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_an_alignment_is_reported_with_its_line(tmp_path: Path, case: str) -> None:
    text, line, words = WRONG[case]
    (tmp_path / "x").write_text(text)
    spec = BuildSpec(
        alphabet="dna" if "base" in case else "amino", weighting="given" if "weight" in case else "pb", by_matrix=True,
        msv_n=QUICK.msv_n, viterbi_n=QUICK.viterbi_n, forward_n=QUICK.forward_n,
    )  # fmt: skip
    with pytest.raises(InputError) as refused:
        build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), spec, REFERENCE, QuietContext())
    assert words in refused.value.reason
    assert refused.value.line == line if line else (line == 0 or refused.value.line is not None)
    assert not (tmp_path / "x.hmm").exists()


def test_notes_may_be_blank_or_in_latin_1(tmp_path: Path) -> None:
    text = stockholm(PROTEINS, "#=GF ID family", "#=GF DE prot\xe9ine", "#=GF AU \xe9").encode("latin-1")
    for data, printed in ((text, "prot\xe9ine"), (text.replace(b"prot\xe9ine", b"  "), "")):
        (tmp_path / "x").write_bytes(data)
        build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), QUICK, REFERENCE, QuietContext())
        (hmm,) = load_profiles(str(tmp_path / "x.hmm"))
        assert (hmm.name, hmm.description) == ("family", printed)
        assert ("DESC" in (tmp_path / "x.hmm").read_text("utf-8")) == bool(printed)


def test_names_are_one_word(tmp_path: Path) -> None:
    alignment = tmp_path / "my  family.afa"
    alignment.write_text(fasta(PROTEINS))
    value = build_profiles(str(alignment), str(tmp_path / "x.hmm"), QUICK, REFERENCE, QuietContext())
    assert value["name"] == load_profiles(str(tmp_path / "x.hmm"))[0].name == "my_family"
    for name in ("a b", " a", "a\n", "", "\t"):
        with pytest.raises(OptionError):
            BuildSpec(name=name)


AMBIGUOUS = {
    "a": "ACDEFGHIKLMNPQRSTVWYACDEFGHIKL", "b": "ACDEXGHIKLMNPQRSXVWYACDEFGHIKV",
    "c": "ACCEFGHIKLMNPXRSTVWYWCDEFAHIKL", "d": "WCCEFGHIKLXXPXRSTVYYWCDQFAHIRL",
}  # fmt: skip


def test_rows_are_weighed_by_their_canonical_residues(tmp_path: Path) -> None:
    text = built(tmp_path, stockholm(AMBIGUOUS), "--amino", "--wgsc")
    assert "EFFN  1.644531\n" in text  # as hmmbuild 3.3.2 has it
    for flags in (("--wblosum", "--wid", "0.8"), ("--eclust", "--eid", "0.8")):
        ours = built(tmp_path, stockholm(AMBIGUOUS), "--amino", *flags)
        if program := shutil.which("hmmbuild"):
            theirs = tmp_path / "theirs.hmm"
            words = [program, "-n", "family", "--amino", *flags, str(theirs), str(tmp_path / "family.sto")]
            subprocess.run(words, check=True, capture_output=True)
            assert numbers(ours) == numbers(theirs.read_text())


@pytest.mark.parametrize(("share", "n"), [(1.0, 3), (0.81, 3), (0.8, 2), (0.51, 2), (0.5, 1)])
def test_clusters_link_rows_by_identical_residues_of_the_shorter_one(share: float, n: int) -> None:
    cells = np.array([list(row) for row in (b"ACDEF-", b"ACD---", b"ACWEFY", b"WWWWFY")], np.uint8)
    assert clusters(DigitalRows.of_cells(cells, AMINO), share).max() + 1 == n


def test_random_numbers_are_those_of_the_standard() -> None:
    random = Random64(5489)
    assert [random.word() for _ in range(10_000)][-1] == 9981545732273789042  # ISO C++, 29.5.6


@pytest.mark.parametrize(("n_drawn", "n"), [(100, 101), (100, 5000), (1, 7), (2, 10**6)])
def test_a_sample_is_of_different_rows(n_drawn: int, n: int) -> None:
    chosen = sample(42, n_drawn, n)
    assert len(chosen) == n_drawn
    assert (np.diff(chosen) > 0).all()
    assert 0 <= chosen[0] <= chosen[-1] < n


@pytest.mark.parametrize(
    ("text", "name"),
    [("ACGTTGACGTACGTACCGTA", "dna"), ("ACGUUGACGU", None), ("ACGUUGACGUA", "rna"), ("MKVLAAGIVGLLLAQW", "amino"),
     ("ACDGHKMNRSTVWYXDHKMRSVWY", None), ("ACDEGHKMNRSTVWY", "amino"), ("ACDGHKMNRST", None), ("N" * 2001, "dna")],
)  # fmt: skip
def test_the_alphabet_is_guessed_as_hmmer_does(text: str, name: str | None) -> None:
    found = guessed_alphabet([np.frombuffer(text.encode(), np.uint8)])
    assert (None if found is None else found.name) == name
