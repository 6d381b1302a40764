"""What `clalign align` leaves is an alignment for the commands that take one: as a file, and in its run."""

from __future__ import annotations

from pathlib import Path

import pytest

from clalign.cli import main
from clalign.errors import ExitCode
from clalign.formats.row_forms import ENDINGS, FORMS
from clalign.runs.run_file import open_run

pytestmark = pytest.mark.usefixtures("worker_here")

FAMILY = (
    ">a\nMKVLATGHEWQRIPNDFCYSTAAGKL\n>b\nMKVLSTGHDWQKIPNDFCYTAAGK\n>c\nKVMATHEWRIPDYFCWSTKAGKL\n"
    ">d\nMQRRSTVLLGPEDDNGHCWYVVKK\n"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A family, its alignment as a file, and the run that made it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "family.fa").write_text(FAMILY)
    assert main(["align", "-q", "--device", "reference", "--run", "f.clalign", "-o", "f.afa", "family.fa"]) == 0
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_a_run_does_what_its_alignment_does(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "tree", "f.clalign") == shown(capsys, "tree", "f.afa")
    messages = shown(capsys, "accuracy", "f.clalign", "f.afa")
    assert messages.splitlines()[1] == "1.0000    1.0000    1.0000    1.0000    f.clalign"
    words = ("realign", "-q", "--device", "reference", "--columns", "2-9")
    assert shown(capsys, *words, "f.clalign") == shown(capsys, *words, "f.afa")
    (folder / "new.fa").write_text(">e\nMKVLATGHEWQRIPNDFCYSTAAGKL\n")
    words = ("add", "-q", "--device", "reference")
    assert shown(capsys, *words, "f.clalign", "new.fa") == shown(capsys, *words, "f.afa", "new.fa")


def test_a_profile_is_built_of_a_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    profiles = [shown(capsys, "hmmbuild", "-q", "--amino", "-", path).splitlines() for path in ("f.clalign", "f.afa")]
    assert profiles[0][1] == "NAME  f"
    assert [line for line in profiles[0] if not line.startswith("DATE")] == [
        line for line in profiles[1] if not line.startswith("DATE")
    ]


def test_posteriors_of_a_run_are_distances(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("tree", "--distance", "posterior", "--matrix", "-")
    found = shown(capsys, *words, "f.clalign")
    assert main(["export", "--probs", "f.probs", "f.clalign"]) == 0
    assert found == shown(capsys, *words, "--probs", "f.probs", "f.afa")
    distances = [[float(word) for word in line.split()[1:]] for line in found.splitlines()[1:]]
    assert distances[0][1] < 0.3 < distances[0][3]


def test_a_run_is_not_written_over(folder: Path) -> None:
    before = (folder / "f.clalign").read_bytes()
    assert main(["add", "-q", "-o", "f.clalign", "f.clalign", "family.fa"]) == ExitCode.INPUT
    assert (folder / "f.clalign").read_bytes() == before


def test_a_run_is_annealed_again_as_if_it_had_been_so_from_the_beginning(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (folder / "f.clalign").read_bytes()
    for factor in ("0", "0.5", "3"):
        words = ("--device", "reference", "-q", "--gapfactor", factor)
        found = shown(capsys, "anneal", *words, "--run", f"a{factor}.clalign", "f.clalign")
        assert found == shown(capsys, "align", *words, "--run", f"b{factor}.clalign", "family.fa")
        shown(capsys, "verify", "-q", f"a{factor}.clalign")
    assert len({(folder / f"a{factor}.clalign").read_bytes() for factor in ("0", "0.5", "3")}) == 3
    assert (folder / "f.clalign").read_bytes() == before
    with open_run(folder / "f.clalign") as old, open_run(folder / "a3.clalign") as new:
        assert new.facts.finished["device"] == old.facts.finished["device"] == "Reference (NumPy)"
        assert "align" in old.facts.command
        assert new.facts.command is None  # that of the old run made something else
    assert shown(capsys, "export", "a0.clalign", "--probs", "-") == shown(capsys, "export", "f.clalign", "--probs", "-")


def test_what_cannot_be_annealed_again_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["anneal", "--maxsn", "--run", "f.clalign", "f.clalign"]) in (ExitCode.INPUT, ExitCode.CANNOT_WRITE)
    (folder / "there.clalign").write_text("mine")
    assert main(["anneal", "--maxsn", "--run", "there.clalign", "f.clalign"]) == ExitCode.CANNOT_WRITE
    assert (folder / "there.clalign").read_text() == "mine"
    assert main(["anneal", "--maxsn", "--run", "none/x.clalign", "f.clalign"]) == ExitCode.CANNOT_WRITE
    capsys.readouterr()


@pytest.mark.thorough
def test_alignments_are_written_in_one_list_of_formats(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("-q", "--device", "reference")
    for form in FORMS:
        made = shown(capsys, "align", *words, "--format", form, "family.fa")
        assert made == shown(capsys, "export", "f.clalign", f"--{form}", "-")
        again = ("--gapfactor", "1", "--run", f"{form}.clalign", f"--{form}", "-")
        assert made == shown(capsys, "anneal", *words, *again, "f.clalign")
        assert shown(capsys, "realign", *words, "--format", form, "--columns", "1-1", "f.clalign")
        assert main(["align", *words, "-o", f"by_ending{ENDINGS[form][0]}", "family.fa"]) == 0
        assert Path(f"by_ending{ENDINGS[form][0]}").read_text() == made


def test_the_help_of_anneal_offers_what_alignments_can_be_written_as(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "anneal", "-h")
    assert all(f"--{form} F" in text for form in FORMS)
    of_hits = ("--tblout", "--flank", "--overlaps", "--species", "--textw", "--outfmt")
    assert not [flag for flag in of_hits if flag in text]
