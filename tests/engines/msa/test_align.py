"""``clalign align`` gives the known answers of FSA 1.15.9, on every device."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import main
from clalign.compute.opening import open_session
from clalign.databases.sequence_rows import read_alignment
from clalign.engines.msa import aligning, reading
from clalign.engines.msa.reading import (
    alignment_of,
    annealing_of,
    given_of,
    pair_facts,
    pair_posteriors,
    posteriors_of,
    rounds_of,
)
from clalign.engines.msa.reliability import reliability
from clalign.errors import ExitCode
from clalign.formats.posteriors import read_posteriors
from clalign.runs.run_file import open_run
from clalign.values.devices import REFERENCE, Device

pytestmark = pytest.mark.usefixtures("worker_here")

GLOBINS = """>HBA alpha
MVLSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHFDLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHKLRVDPVNFKLLSHCL
LVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR
>HBB beta
MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENFRL
LGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH
>MYG
MGLSDGEWQLVLNVWGKVEADIPGHGQEVLIRLFKGHPETLEKFDKFKHLKSEDEMKASEDLKKHGATVLTALGGILKKKGHHEAEIKPLAQSHATKHKIPVKYLE
FISECIIQVLQSKHPGDFGADAQGAMNKALELFRKDMASNYKELGFQG
"""

GLOBIN_ROWS = [
    "MV-LSPADKTNVKAAWGKVGAHAGEYGAEALERMFLSFPTTKTYFPHF------DLSHGSAQVKGHGKKVADALTNAVAHVDDMPNALSALSDLHAHKLRVDPVNF"
    "KLLSHCLLVTLAAHLPAEFTPAVHASLDKFLASVSTVLTSKYR------",
    "MVHLTPEEKSAVTALWGKVNVD--EVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENF"
    "RLLGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH------",
    "MG-LSDGEWQLVLNVWGKVEADIPGHGQEVLIRLFKGHPETLEKFDKFKHLKSEDEMKASEDLKKHGATVLTALGGILKKKGHHEAEIKPLAQSHATKHKIPVKYL"
    "EFISECIIQVLQSKHPGDFGADAQGAMNKALELFRKDMASNYKELGFQG",
]

LEARNED: dict[tuple[str, ...], list[list[float]]] = {
    (): [
        [0.0180178, 0.6187225, 0.0072496, 0.8484928],
        [0.0035651, 0.9089674, 0.0117785, 0.9312015],
        [0.0142315, 0.5632519, 0.0078005, 0.9680006],
    ],
    ("--noindel2",): [[0.0247471, 0.7048257], [0.0152550, 0.9183525], [0.0219503, 0.7886293]],
}
"""Gap parameters that FSA learns of each pair of globins."""

FOUR = """>a
MKVLATGHEWQRIPNDFCYSTAAGKL
>b
MKVLSTGHDWQKIPNDFCYTAAGK
>c
KVMATHEWRIPDYFCWSTKAGKL
>d
MQRRSTVLLGPEDDNGHCWYVVKK
"""


def near(accuracy: float) -> Any:
    """Return what is equal to an accuracy; FSA's sums in single precision are off in the sixth digit."""
    return pytest.approx(accuracy, abs=1.5e-6)


def align(device: Device, *words: str) -> int:
    return main(["align", "-q", "--device", device.id, *words])


def stockholm(path: Path) -> tuple[list[str], str, float]:
    """Return rows, digits and accuracy of an alignment."""
    lines = path.read_text().splitlines()
    rows = [line.split()[1] for line in lines if line and line[0] not in "#/"]
    digits = next(line.split()[-1] for line in lines if line.startswith("#=GC Accuracy"))
    return rows, digits, float(next(line.split()[-1] for line in lines if line.startswith("#=GF Accuracy")))


def aligned(device: Device, folder: Path, text: str, *words: str) -> tuple[list[str], str, float]:
    (folder / "x.fa").write_text(text)
    assert align(device, "--stockholm", "-o", str(folder / "x.sto"), *words, str(folder / "x.fa")) == ExitCode.DONE
    return stockholm(folder / "x.sto")


def entries(path: Path, lengths: list[int]) -> dict[tuple[int, int], float]:
    (_, _, pair), *_ = read_posteriors(str(path), lengths).each()
    places = zip(pair.rows.tolist(), pair.columns.tolist(), strict=True)
    return dict(zip(places, pair.probabilities.tolist(), strict=True))


TWO = ">x\nHEAGAWGHEE\n>y\nPAWHEAE\n"

TWO_POSTERIORS: dict[str, dict[tuple[int, int], float]] = {
    "--nolearn --noindel2 --refinement 0": {
        (0, 0): 0.526987, (1, 1): 0.0894905, (3, 0): 0.460826, (4, 1): 0.899618, (5, 2): 0.988628, (6, 3): 0.987943,
        (7, 4): 0.988948, (8, 5): 0.990669, (9, 6): 0.996556,
    },
    "--nolearn": {
        (0, 0): 0.523597, (1, 0): 0.0103553, (1, 1): 0.0885926, (3, 0): 0.454946, (4, 1): 0.895308, (5, 2): 0.990766,
        (6, 3): 0.986787, (7, 4): 0.987682, (8, 5): 0.989454, (9, 6): 0.996504,
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "digits", "accuracy"),
    [("--nolearn --noindel2 --refinement 0", "5995899999", 0.894611), ("--nolearn", "5995899999", 0.893312),
     ("", "5895899999", 0.865685)],
)  # fmt: skip
def test_two_short_sequences(device: Device, tmp_path: Path, options: str, digits: str, accuracy: float) -> None:
    rows, found_digits, found = aligned(device, tmp_path, TWO, *options.split(), "--gui")
    assert (rows, found_digits, found) == (["HEAGAWGHEE", "P---AWHEAE"], digits, near(accuracy))
    merges = re.findall(r"^(\d+ -> \d+)$", (tmp_path / "x.fa.gui").read_text(), re.MULTILINE)
    if options.endswith("0"):
        assert merges == ["16 -> 13", "15 -> 11", "14 -> 9", "10 -> 5", "12 -> 7", "8 -> 3", "1 -> 0"]
    posteriors = entries(tmp_path / "x.fa.probs", [10, 7])
    if options in TWO_POSTERIORS:
        assert posteriors == pytest.approx(TWO_POSTERIORS[options], abs=5e-6)
    else:
        assert len(posteriors) == 16
        some = {place: posteriors[place] for place in ((0, 0), (0, 3), (4, 1), (9, 6))}
        assert some == pytest.approx(
            {(0, 0): 0.509638, (0, 3): 0.0299201, (4, 1): 0.864365, (9, 6): 0.980865}, abs=5e-6
        )


FOUR_ROWS: dict[str, tuple[list[str], str, Any]] = {
    "": (
        ["MKVLATGHEWQRIPNDFCYSTAAGKL", "MKVLSTGHDWQKIPNDFCYTA-AGK-", "-KVMAT-HEW-RIPDYFCWSTKAGKL",
         "MQRRSTVLLGPEDDNGHCWYV-V-KK"], "87777777777677888986555667", near(0.748586),
    ),
    "--noindel2 --refinement 0": (
        ["MKVLAT---------GHEWQRIPNDFCYSTAAGKL", "MKVLST---------GHDWQKIPNDFCYTA-A-GK",
         "KVMAT-----------HEW-RIPDYFCWSTKAGKL", "MQRRSTVLLGPEDDNG---------HCWYV-V-KK"],
        "77666622222333346665567778886655556", near(0.641292),
    ),
}  # fmt: skip


@pytest.mark.parametrize("options", FOUR_ROWS)
def test_four_short_sequences(device: Device, tmp_path: Path, options: str) -> None:
    assert aligned(device, tmp_path, FOUR, *options.split()) == FOUR_ROWS[options]


def test_the_most_sensitive_alignment_of_four(device: Device, tmp_path: Path) -> None:
    rows, _, accuracy = aligned(device, tmp_path, FOUR, "--maxsn")
    assert (rows[2], accuracy) == ("K-VMAT-HEW-RIPDYFCWSTKAGKL", near(0.745494))
    assert rows[:2] == FOUR_ROWS[""][0][:2]
    assert aligned(device, tmp_path, FOUR, "--nolearn")[2] == near(0.766074)


@pytest.mark.parametrize(
    ("options", "accuracy"),
    [("", 0.968022), ("--maxsn", 0.968022), ("--gapfactor 2", 0.968022),
     ("--noindel2 --refinement 0", 0.967567), ("--nolearn", 0.965449)],
)  # fmt: skip
@pytest.mark.thorough(options=["", "--nolearn"])
def test_three_globins(device: Device, tmp_path: Path, options: str, accuracy: float) -> None:
    rows, _, found = aligned(device, tmp_path, GLOBINS, *options.split())
    assert rows == GLOBIN_ROWS
    assert found == near(accuracy)


def test_aligned_fasta_keeps_letters_and_words(fast_device: Device, tmp_path: Path) -> None:
    (tmp_path / "x.fa").write_text(">a the first\nmkvlatgh--tt\n>b\nMKVLATGHTT\n")
    assert align(fast_device, "-o", str(tmp_path / "x.afa"), str(tmp_path / "x.fa")) == ExitCode.DONE
    assert (tmp_path / "x.afa").read_text() == ">a the first\nmkvlatghtt\n>b\nMKVLATGHTT\n"


def test_an_empty_sequence_is_a_row_of_gaps(device: Device, tmp_path: Path) -> None:
    found = aligned(device, tmp_path, ">a\nMKVLATGH\n>b\n>c\nMKVATGHKL\n", "--gui")
    assert found == (["MKVLATGH--", "----------", "MKV-ATGHKL"], "9976899999", near(0.910474))
    assert re.findall(r"sequences (\d and \d)", (tmp_path / "x.fa.probs").read_text()) == ["0 and 2"]


@pytest.mark.parametrize("text", [">a\n>b\n", ">a\n>b\n>c\n"])
def test_nothing_but_empty_sequences(fast_device: Device, tmp_path: Path, text: str) -> None:
    (tmp_path / "x.fa").write_text(text)
    words = ["--alphabet", "amino", "--run", str(tmp_path / "x.clalign"), "-o", str(tmp_path / "x.afa")]
    assert align(fast_device, *words, str(tmp_path / "x.fa")) == ExitCode.DONE
    assert (tmp_path / "x.afa").read_text() == "\n\n".join(text.split()) + "\n\n"
    for flag in ("--stockholm", "--clustal", "--gui", "--probs", "--params", "-o"):
        assert main(["export", str(tmp_path / "x.clalign"), flag, str(tmp_path / "out")]) == ExitCode.DONE


@pytest.mark.parametrize("words", [(), ("--fast",), ("--nolearn",), ("--refalign", "--maxsn"), ("--noindel2",)])
@pytest.mark.parametrize("text", [">a\n>b\n>c\n", ">a\n---\n>b\n..\n>c\n"])
def test_sequences_without_residues_are_rows_without_any(
    device: Device, tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    (tmp_path / "x.fa").write_text(text)
    assert align(device, "-o", str(tmp_path / "x.afa"), *words, str(tmp_path / "x.fa")) == ExitCode.DONE
    assert [(row.name, row.text) for row in read_alignment(str(tmp_path / "x.afa"))] == [(name, b"") for name in "abc"]


LITTLE = ">s0\nMKVLATGHEWQRIPNDFCYSTAAGKL\n>s1\nMKVSTGHDWQKIPNWDFYTAGK\n"


@pytest.mark.parametrize(
    ("words", "row", "accuracy"),
    [
        ((), "MKV-STGHDWQKIPNWDFYT--AGK-", 0.815003),
        (("--minemitdata", "10"), "MKV-STGHDWQKIPNWDFYT--AGK-", 0.815003),
        (("--learnemit-all",), "MKV-STGHDWQKIPNWDFYTAGK---", 0.88656),
        (("--learnemit-all", "--minemitdata", "100000"), "MKV-STGHDWQKIPNWDFYTAGK---", 0.88656),
    ],
)
def test_substitutions_are_learned_of_little_where_that_is_asked_for(
    device: Device, tmp_path: Path, words: tuple[str, ...], row: str, accuracy: float
) -> None:
    rows, _, whole = aligned(device, tmp_path, LITTLE, *words)
    assert rows == ["MKVLATGHEWQRIPNDFCYSTAAGKL", row]
    assert whole == near(accuracy)


def test_gaps_are_learned_of_pairs_whose_substitutions_are(device: Device, tmp_path: Path) -> None:
    text = ">s0\nACGTACGTTGACCA\n>s1\nACGTTCGTGACCTA\n>s2\nACTACGTTGATCA\n"
    assert aligned(device, tmp_path, text)[2] == near(0.889589)
    assert aligned(device, tmp_path, text, "--minemitdata", "5")[2] == near(0.792603)


@pytest.mark.parametrize("base", "TU")
def test_substitutions_of_nucleic_acids_are_not_learned_from_all_pairs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], base: str
) -> None:
    (tmp_path / "x.fa").write_text(f">a\nACG{base}ACG{base}\n>b\nACGAC{base}\n")
    assert align(REFERENCE, "--learnemit-all", str(tmp_path / "x.fa")) == ExitCode.INPUT
    assert "--learnemit-all" in capsys.readouterr().err
    for words in (["--learnemit-bypair"], ["--learnemit-all", "--nolearn"]):
        assert align(REFERENCE, "-o", str(tmp_path / "o"), *words, str(tmp_path / "x.fa")) == ExitCode.DONE


def test_bases_for_ambiguous_letters_of_rna_are_those_of_fsa(device: Device, tmp_path: Path) -> None:
    text = ">s0\nCAGUGACUUCCGCAUUAAGUN\n>s1\nCAGUGAAUUCGGCCUAAGU\n"
    rows, _, accuracy = aligned(device, tmp_path, text, "--mininc", "0.5")
    assert rows == ["CAGUGACUUCCGCAUUAAGUN", "CAGUGAAUUCGGC-CUAAGU-"]
    assert accuracy == near(0.849879)


def test_what_is_written_is_read_again(fast_device: Device, tmp_path: Path) -> None:
    """Whatever letters there are, in every form of a row."""
    texts = ["mkvXBZ*latghJUOewqripndfcystaagkl", "MKVLATGHEWQRIPND?CYSTAAGKL", "", "MK~V.L_A-TGHEWQRIPNDFCYST"]
    (tmp_path / "x.fa").write_text("".join(f">s{k} text {k}\n{text}\n" for k, text in enumerate(texts)))
    found = []
    for form in ("fasta", "stockholm"):
        path = tmp_path / f"x.{form}"
        given = ["--format", form, "--alphabet", "amino", "-o", str(path), str(tmp_path / "x.fa")]
        assert align(fast_device, *given) == ExitCode.DONE
        found.append([(row.name, row.text.upper()) for row in read_alignment(str(path))])
    assert found[0] == found[1]
    residues = [text.upper().encode().translate(None, b"-._~") for text in texts]
    assert [text.replace(b"-", b"") for _, text in found[0]] == residues
    assert len({len(text) for _, text in found[0]}) == 1


@pytest.mark.parametrize(
    ("text", "message"), [(">a\nMKV\n", ""), (">a\nMKV\n>a\nMKL\n", '"a"'), (">a\nMKVBBBJJ\n>b\nMKVL\n", ""), ("", "")]
)
def test_what_cannot_be_aligned_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "x.fa").write_text(text)
    assert align(REFERENCE, str(tmp_path / "x.fa")) == ExitCode.UNREADABLE
    messages = capsys.readouterr().err
    assert message in messages
    assert "x.fa" in messages


def test_bases_are_dna_unless_they_are_said_to_be_residues(fast_device: Device, tmp_path: Path) -> None:
    text, run = ">a\nACGTACGTAA\n>b\nACGACGTAA\n", tmp_path / "x.clalign"
    for words, name in (((), "dna"), (("--alphabet", "amino"), "amino")):
        run.unlink(missing_ok=True)
        rows, *_ = aligned(fast_device, tmp_path, text, "--run", str(run), *words)
        assert rows == ["ACGTACGTAA", "ACG-ACGTAA"]
        with open_run(run) as found:
            assert given_of(found).alphabet.name == name


def test_a_run_is_exported_in_every_form(fast_device: Device, tmp_path: Path) -> None:
    rows, _, _ = aligned(fast_device, tmp_path, FOUR, "--run", str(tmp_path / "x.clalign"))
    for flag, form in (("--stockholm", "x.sto"), ("--fasta", "x.afa"), ("--clustal", "x.aln"), ("-o", "x.fasta")):
        path = tmp_path / form
        assert main(["export", str(tmp_path / "x.clalign"), flag, str(path)]) == ExitCode.DONE
        assert [row.text.decode() for row in read_alignment(str(path))] == rows


@pytest.mark.thorough(words=[()])
@pytest.mark.parametrize("words", [(), ("--noindel2",)])
def test_what_was_learned_is_written(fast_device: Device, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Of globins as FSA 1.15.9 learns it."""
    run = tmp_path / "x.clalign"
    aligned(fast_device, tmp_path, GLOBINS, "--write-params", "--run", str(run), *words)
    written = (tmp_path / "x.fa.params").read_text()
    lines = [line.split("\t") for line in written.splitlines()]
    assert lines[0][:4] == ["first", "second", "log_likelihood", "gap_open1"]
    assert [line[:2] for line in lines[1:]] == [["HBA", "HBB"], ["HBA", "MYG"], ["HBB", "MYG"]]
    found = [[float(number) for number in line[3:]] for line in lines[1:]]
    for numbers, expected in zip(found, LEARNED[words], strict=True):
        assert numbers == pytest.approx([*expected, 0, 0][:4], rel=1e-4)
    assert float(lines[1][2]) / 289 == pytest.approx(-2.502596 if words else -2.502879, abs=1e-5)
    assert main(["export", str(run), "--params", str(tmp_path / "again")]) == ExitCode.DONE
    assert (tmp_path / "again").read_text() == written


def test_command_lines_of_fsa_are_taken(fast_device: Device, tmp_path: Path) -> None:
    assert aligned(fast_device, tmp_path, FOUR, "--noanchored") == aligned(fast_device, tmp_path, FOUR)


def test_several_files_are_joined(fast_device: Device, tmp_path: Path) -> None:
    whole = aligned(fast_device, tmp_path, FOUR)
    first, second = FOUR.split(">c")
    (tmp_path / "1.fa").write_text(first)
    (tmp_path / "2.fa").write_text(">c" + second)
    out = str(tmp_path / "both.sto")
    assert align(fast_device, "--stockholm", "-o", out, str(tmp_path / "1.fa"), str(tmp_path / "2.fa")) == ExitCode.DONE
    assert stockholm(tmp_path / "both.sto") == whole


def test_known_posteriors_are_taken(fast_device: Device, tmp_path: Path) -> None:
    whole = aligned(fast_device, tmp_path, FOUR, "--gui")
    probs, again = tmp_path / "x.fa.probs", tmp_path / "again.clalign"
    found = aligned(fast_device, tmp_path, FOUR, "--load-probs", str(probs), "--run", str(again))
    assert found == whole
    assert main(["export", str(again), "--probs", str(tmp_path / "again.probs")]) == ExitCode.DONE
    before, after = (re.findall(r"(.* => .*)\n", path.read_text()) for path in (probs, tmp_path / "again.probs"))
    assert [line for line in after if "-1" not in line] == [line for line in before if "-1" not in line]


def test_less_probable_pairs_are_forgotten(device: Device, tmp_path: Path) -> None:
    numbers = []
    for least in ("0.001", "0.01", "0.2"):
        aligned(device, tmp_path, TWO, "--nolearn", "--minprob", least, "--gui")
        numbers.append(entries(tmp_path / "x.fa.probs", [10, 7]))
        assert min(numbers[-1].values()) >= float(least)
    assert set(numbers[0]) > set(numbers[1]) > set(numbers[2])


def test_homology_can_be_demanded(fast_device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.fa").write_text(">a\nWWWWWWWWWWWW\n>b\nGGG\n>c\nWWWWWWWWWWWW\n")
    words = ["--nolearn", "--minprob", "0.9", str(tmp_path / "x.fa")]
    assert align(fast_device, "-o", str(tmp_path / "x"), *words) == ExitCode.DONE
    assert align(fast_device, "--require-homology", *words) == ExitCode.UNREADABLE
    assert "a and b" in capsys.readouterr().err


@pytest.fixture(scope="module")
def run_of_four(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The finished run of four sequences, opened."""
    folder = tmp_path_factory.mktemp("four")
    (folder / "x.fa").write_text(FOUR)
    from clalign.api import align_many

    with align_many(folder / "x.fa", run=folder / "x.clalign", device="reference"):
        pass
    with open_run(folder / "x.clalign") as run:
        yield run


def test_what_a_run_holds_is_read_again(run_of_four: Any) -> None:
    given = given_of(run_of_four)
    rows, _, accuracy = FOUR_ROWS[""]
    assert [row.text for row in run_of_four.alignment_rows(run_of_four.alignments()[0].id)] == rows
    found, alignment = annealing_of(run_of_four, given), alignment_of(run_of_four, given)
    assert [row.decode() for row in found.alignment_after().rows(given.letters)] == rows
    assert [row.decode() for row in alignment.rows(given.letters)] == rows
    posteriors = posteriors_of(run_of_four, given)
    assert reliability(posteriors, alignment).whole("accuracy") == accuracy
    assert len(posteriors.columns) == 306
    for i, j, pair in posteriors.each():
        one = pair_posteriors(run_of_four, given, j, i)
        assert one is not None
        assert (one.columns.tolist(), one.x_gaps.tolist()) == (pair.columns.tolist(), pair.x_gaps.tolist())
        facts = pair_facts(run_of_four, given, i, j)
        assert facts is not None
        assert facts.gaps is not None
        assert facts.gaps.opens.tolist() == pytest.approx([0.0119511066, 0.008008334786], rel=1e-6)
    assert pair_posteriors(run_of_four, given, 1, 1) is None
    assert rounds_of(run_of_four, given) == []


def test_posteriors_that_are_mapped_are_the_same(run_of_four: Any) -> None:
    given = given_of(run_of_four)
    here, mapped = posteriors_of(run_of_four, given), posteriors_of(run_of_four, given, mapped_bytes=0)
    assert type(mapped.columns).__name__ == "memmap"
    for name in ("pairs", "starts", "columns", "probabilities", "x_gaps", "y_gaps"):
        assert getattr(here, name).tolist() == getattr(mapped, name).tolist()


def test_posteriors_of_a_run_that_goes_on_lie_in_its_log(
    run_of_four: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, path = given_of(run_of_four), tmp_path / "going.clalign"
    going, whole = sqlite3.connect(path), sqlite3.connect(run_of_four.path)
    going.execute("PRAGMA journal_mode = WAL")
    going.execute("PRAGMA wal_autocheckpoint = 0")  # nothing moves its pages out of the log while it is open
    whole.backup(going)
    monkeypatch.setattr(reading, "MAX_PACKED", 300 / path.stat().st_size)
    with open_run(path) as run:
        assert len(posteriors_of(run, given).columns) == 306
    for connection in (whole, going):
        connection.close()


def test_another_gap_factor_begins_with_the_kept_posteriors(run_of_four: Any) -> None:
    given = given_of(run_of_four)
    posteriors = posteriors_of(run_of_four, given)
    with open_session(REFERENCE) as session:
        sensitive, strict = (aligning.aligned(session, posteriors, gap_factor) for gap_factor in (0.0, 3.0))
    assert sensitive.alignment_after().rows(given.letters)[2] == b"K-VMAT-HEW-RIPDYFCWSTKAGKL"
    merges = annealing_of(run_of_four, given).merges
    few, same = (
        {tuple(column) for column in alignment.positions().T.tolist()}
        for alignment in (merges.alignment_after(merges.merges_at(3.0)), strict.alignment_after(n_sweeps=0))
    )
    assert few == same
    assert len(few) > alignment_of(run_of_four, given).n_columns


def test_six_polymerases(fast_device: Device, data_folder: Path, tmp_path: Path) -> None:
    path = data_folder / "msa" / "fsa_examples" / "RV12.BBS12030.fasta"
    sums = {
        "": "c00636f42e5e87c2fada94937e58f4d0", "--noindel2 --refinement 0": "4e48e36c02ae6a444c74742f0ff7771d",
        "--nolearn": "8576de0becc26aa11b1d00f710d3685c",
    }  # fmt: skip
    for options, expected in sums.items():
        run, out = tmp_path / f"{expected}.clalign", tmp_path / "out.afa"
        assert align(fast_device, *options.split(), "--run", str(run), "-o", str(out), str(path)) == ExitCode.DONE
        assert hashlib.md5(out.read_bytes()).hexdigest() == expected
        with open_run(run) as found:
            given = given_of(found)
            rounds, n_entries = rounds_of(found, given), len(posteriors_of(found, given).columns)
            n_merges = found.alignments()[0].facts["n_merges"]
        if options == "":
            assert [one.log_likelihood for one in rounds] == pytest.approx([-1177.56758, -1160.52553], rel=1e-6)
            gaps = rounds[-1].model.gaps
            assert gaps.opens.tolist() == pytest.approx([0.0215088, 0.0032564], rel=2e-5)
            assert (n_entries, n_merges) == (5312, 1170)
        assert len(rounds) == (0 if options == "--nolearn" else 2)
