"""``clalign hmmbuild``: the same profiles as hmmbuild 3.3.2."""

from __future__ import annotations

import builtins
import gzip
import importlib
import io
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.errors import ExitCode, InputError, OptionError
from clalign.formats.profiles import load_profiles
from clalign.jobs import QuietContext
from clalign.tools.hmm_building import build_profiles, n_clusters
from clalign.tools.specs import BuildSpec

pytestmark = pytest.mark.usefixtures("worker_here")

PROTEINS = {
    "one": "MKVLAAGIVGLLLAQWERTYIPASDFGHKLCVNM",
    "two": "MKVLSAGIVGLLL-QWERTFIPASDFGHKMCVNM",
    "three": "MRVLAAGLVG-LLAQWDRTYIPASEFGHKLC---",
    "four": "-KVLAVGIVGLLLAQWE--YIPASDYGHRLCVNM",
}
BASES = {"a": "ACGTTGACGTACGTACCGTA", "b": "ACGTTGACGTAC-TACCGTA", "c": "ACCTTGACGTACGTACCGTT"}


def stockholm(rows: dict[str, str], *heads: str) -> str:
    lines = ["# STOCKHOLM 1.0", *heads, *(f"{name:<10s} {text}" for name, text in rows.items()), "//"]
    return "\n".join(lines) + "\n"


def clustal(rows: dict[str, str]) -> str:
    """As others write it: without a line of consensus symbols, with counts."""
    return "CLUSTAL W\n\n" + "".join(f"{name:<10s} {text} {len(text)}\n" for name, text in rows.items())


def fasta(rows: dict[str, str]) -> str:
    return "".join(f">{name} text\n{text}\n" for name, text in rows.items())


def numbers(text: str) -> list[str]:
    """Return the lines of a profile but those that tell of version, time and command."""
    return [line for line in text.splitlines() if not line.startswith(("HMMER3/", "DATE", "COM"))]


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


def test_formats_give_the_same_profile(tmp_path: Path) -> None:
    expected = numbers(built(tmp_path, stockholm(PROTEINS)))
    assert "NAME  family" in expected
    assert "LENG  34" in expected
    assert numbers(built(tmp_path, clustal(PROTEINS))) == expected
    assert numbers(built(tmp_path, fasta(PROTEINS))) == expected
    packed = tmp_path / "family.sto.gz"
    packed.write_bytes(gzip.compress(stockholm(PROTEINS).replace("\n", "\r\n").encode()))
    assert main(["hmmbuild", "-q", str(tmp_path / "packed.hmm"), str(packed)]) == 0
    assert numbers((tmp_path / "packed.hmm").read_text()) == expected


def test_several_alignments_and_their_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = stockholm(PROTEINS, "#=GF ID first") + stockholm(PROTEINS, "#=GF ID second")
    built(tmp_path, text)
    assert [hmm.name for hmm in load_profiles(str(tmp_path / "ours.hmm"))] == ["first", "second"]
    (tmp_path / "family.sto").write_text(text.replace("#=GF ID second\n", ""))
    words = ["hmmbuild", "-q", str(tmp_path / "new.hmm"), str(tmp_path / "family.sto")]
    assert main(words) == ExitCode.INPUT
    assert not (tmp_path / "new.hmm").exists()


def test_standard_input_and_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stockholm(PROTEINS).encode())))
    assert main(["hmmbuild", "-q", "-n", "x", "--wgsc", "-", "-"]) == 0
    shown = capsys.readouterr().out
    assert "NAME  x\n" in shown
    assert "COM   [1] clalign hmmbuild -n x --wgsc\n" in shown


WRONG = {
    "a second row of one name": (stockholm(PROTEINS).replace("two ", "one "), 3, "one"),
    "a letter": (stockholm(PROTEINS).replace("SEFG", "S4FG"), 4, '"4"'),
    "a letter of no base": (stockholm(BASES).replace("ACGTACC", "ACGQACC"), 2, '"Q"'),
    "no end": (stockholm(PROTEINS).replace("//\n", ""), 1, "//"),
    "a note of no row": (stockholm(PROTEINS, "#=GS nine AC A9"), 2, "nine"),
    "a name of two words": (stockholm(PROTEINS, "#=GF DE words", "#=GF ID two words"), 3, "ID"),
    "a short annotation": (stockholm(PROTEINS).replace("//", "#=GC RF xxx\n//"), None, ""),
    "a hash in fasta": (fasta(PROTEINS).replace("SEFG", "S#FG"), 6, '"#"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_an_alignment_is_told_with_its_line(tmp_path: Path, case: str) -> None:
    text, line, words = WRONG[case]
    (tmp_path / "x").write_text(text)
    spec = BuildSpec(alphabet="dna" if "base" in case else "amino")
    with pytest.raises(InputError) as refused:
        build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), spec, QuietContext())
    assert words in refused.value.reason
    assert refused.value.line == line if line else refused.value.line is not None
    assert not (tmp_path / "x.hmm").exists()


def test_notes_may_be_blank_or_in_latin_1(tmp_path: Path) -> None:
    text = stockholm(PROTEINS, "#=GF ID family", "#=GF DE prot\xe9ine", "#=GF AU \xe9").encode("latin-1")
    for data, said in ((text, "prot\xe9ine"), (text.replace(b"prot\xe9ine", b"  "), "")):
        (tmp_path / "x").write_bytes(data)
        build_profiles(str(tmp_path / "x"), str(tmp_path / "x.hmm"), BuildSpec(), QuietContext())
        (hmm,) = load_profiles(str(tmp_path / "x.hmm"))
        assert (hmm.name, hmm.description) == ("family", said)
        assert ("DESC" in (tmp_path / "x.hmm").read_text("utf-8")) == bool(said)


def test_names_are_one_word(tmp_path: Path) -> None:
    alignment = tmp_path / "my  family.afa"
    alignment.write_text(fasta(PROTEINS))
    value = build_profiles(str(alignment), str(tmp_path / "x.hmm"), BuildSpec(), QuietContext())
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
    assert n_clusters(["ACDEF-", "ACD---", "ACWEFY", "WWWWFY"], share) == n


def test_without_the_package_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str, *more: Any) -> Any:
        if name == "pyhmmer":
            raise ImportError(name)
        return builtins.__import__(name, *more)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(OptionError, match="pyhmmer") as error:
        build_profiles("a.sto", str(tmp_path / "a.hmm"), BuildSpec(), QuietContext())
    assert "pip install" in error.value.hint
