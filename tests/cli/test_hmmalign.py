"""``clalign hmmalign``: the same alignments as hmmalign 3.3.2."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clalign
from clalign.cli import main
from clalign.errors import ExitCode, OptionError
from clalign.formats.row_alignments import read_rows
from clalign.formats.row_forms import HMMER_FORMS, PROFILE_FORMS

pytestmark = pytest.mark.usefixtures("worker_here")

GOLDEN = Path(__file__).parents[1] / "golden" / "hmmalign"

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
GLOBINS, RRM, PROTEINS = (str(EXAMPLES / name) for name in ("globins4.hmm", "rrm_1_hmmer3.hmm", "three_proteins.fasta"))
REPEATS = str(GOLDEN / "repeats.fasta")

STORED = {
    "globins": (GLOBINS, PROTEINS),
    "globins_trimmed": ("--trim", GLOBINS, PROTEINS),
    "repeats": (RRM, REPEATS),
}

SEED = """# STOCKHOLM 1.0
#=GS last AC P12345
#=GS last DE a row that is named first
first     ~~~~TYIPASDFGHKLCVNM--aa
second    MKVLTYIP--DFG.KLCVN~~~~~
third     MKVLTYLPASDFG*KLCVNMa---
last      -KVLTYIPASDWGHKLCVNM----
//
"""

needs_hmmalign = pytest.mark.skipif(shutil.which("hmmalign") is None, reason="hmmalign 3 is not installed")


def written(path: Path, *words: str) -> str:
    assert main(["hmmalign", "-q", "-o", str(path), *words]) == 0
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", STORED)
def test_equals_stored_answers(case: str, tmp_path: Path) -> None:
    assert written(tmp_path / "rows.sto", *STORED[case]) == (GOLDEN / f"{case}.sto").read_text()


def test_the_reference_aligns_alike(tmp_path: Path) -> None:
    words = "--device", "reference", *STORED["repeats"]
    assert written(tmp_path / "rows.sto", *words) == (GOLDEN / "repeats.sto").read_text()


@needs_hmmalign
@pytest.mark.parametrize("form", HMMER_FORMS)
@pytest.mark.parametrize("more", [(), ("--trim",)])
def test_formats_are_those_of_hmmalign(form: str, more: tuple[str, ...], tmp_path: Path) -> None:
    words = "--outformat", form, *more, RRM, REPEATS
    theirs = tmp_path / "theirs"
    subprocess.run(["hmmalign", "-o", str(theirs), *words], check=True)
    assert written(tmp_path / "ours", *words) == theirs.read_text()


@pytest.mark.parametrize("form", [form for form in PROFILE_FORMS if form not in ("psiblast", "selex", "phylip")])
def test_formats_can_be_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / "rows"
    written(path, "--no-inserts", "--outformat", form, GLOBINS, PROTEINS)
    rows = read_rows(str(path))
    assert (rows.n_rows, rows.n_columns) == (3, 149)


def test_the_rows_of_its_alignment_come_first(tmp_path: Path) -> None:
    seed, profile, new = (str(tmp_path / name) for name in ("seed.sto", "seed.hmm", "new.fasta"))
    Path(seed).write_text(SEED)
    Path(new).write_text(">new\nMKVLTYIPASDFGHKLCVNM\n")
    assert main(["hmmbuild", "-q", "--amino", "--symfrac", "0.6", profile, seed]) == 0
    text = written(tmp_path / "both.sto", "--mapali", seed, profile, new)
    rows = read_rows(str(tmp_path / "both.sto"))
    assert rows.names == ["last", "first", "second", "third", "new"]
    assert "#=GS last   AC P12345\n" in text
    assert text.count("#=GR ") == 1
    assert rows.cells[1].tobytes().startswith(b"~~~~TYIP")
    if program := shutil.which("hmmalign"):
        found = subprocess.run([program, "--mapali", seed, profile, new], check=True, capture_output=True, text=True)
        assert text == found.stdout


def test_columns_of_the_profile_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.afa"
    written(path, "--no-inserts", "--outformat", "afa", RRM, REPEATS)
    rows, whole = read_rows(str(path)), read_rows(str(GOLDEN / "repeats.sto"))
    kept = [place for place, mark in enumerate(whole.notes.columns["RF"]) if mark == ord("x")]
    assert rows.cells.tolist() == whole.cells[:, kept].tolist()


def test_standard_input_and_output(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(PROTEINS).read_bytes())))
    assert main(["hmmalign", "-q", GLOBINS, "-"]) == 0
    assert capsys.readouterr().out == (GOLDEN / "globins.sto").read_text()


def test_progress_counts_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.sto"
    assert main(["hmmalign", "--progress", "json", "-o", str(path), GLOBINS, PROTEINS]) == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    progress = [event["value"] for event in events if event["kind"] == "progress"]
    aligned = [value for value in progress if value["stage"] == "align"]
    assert aligned[-1]["done"] == aligned[-1]["total"] > 0
    assert aligned[-1]["unit"] == "cells"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("{two}", PROTEINS), ExitCode.UNREADABLE),
        (("--dna", GLOBINS, PROTEINS), ExitCode.UNREADABLE),
        ((GLOBINS, "{stops}"), ExitCode.UNREADABLE),
        ((GLOBINS, "{gaps}"), ExitCode.UNREADABLE),
        (("{hmmer2}", PROTEINS), ExitCode.UNREADABLE),
        (("--mapali", "{gaps}", GLOBINS, PROTEINS), ExitCode.UNREADABLE),
        (("--outformat", "word", GLOBINS, PROTEINS), ExitCode.USAGE),
        (("--informat", "word", GLOBINS, PROTEINS), ExitCode.USAGE),
        (("-", "-"), ExitCode.USAGE),
        ((GLOBINS, "absent.fasta"), ExitCode.UNREADABLE),
    ],
)
def test_what_cannot_be_aligned(words: tuple[str, ...], code: ExitCode, tmp_path: Path) -> None:
    texts = {
        "two": Path(GLOBINS).read_text() + Path(RRM).read_text(),
        "stops": ">a\n***\n",
        "gaps": ">a\nMKV-LATGH\n>b\nMKVLATG\n",
        "hmmer2": (EXAMPLES / "thioesterase.hmm").read_text(),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    output = tmp_path / "rows.sto"
    given = [word.format(**{name: tmp_path / name for name in texts}) for word in words]
    assert main(["hmmalign", "-q", "-o", str(output), *given]) == code
    assert not output.exists()


def test_library(tmp_path: Path) -> None:
    (profile,) = clalign.load_profiles(GLOBINS)
    sequence = clalign.Sequence.from_text("new", "MKVLWAALLVTFLAGCQAKVEQ" + profile.consensus.upper(), "a chain")
    output = tmp_path / "rows.a2m"
    rows = clalign.hmmalign(profile, [sequence], output, device="reference", out_form="a2m", trims=True)
    assert rows.cells[0].tobytes().decode() == profile.consensus.upper()
    assert rows.notes.residues["PP"].of(0).count(b"*") > 140
    assert output.read_text().startswith(">new a chain\n")
    with pytest.raises(OptionError):
        clalign.hmmalign(profile, [sequence], trim=True)
