"""``clalign sw`` from end to end: inputs, outputs, messages, exit codes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from Bio import AlignIO
from Bio.Seq import reverse_complement

from clalign.cli import main
from clalign.engines.pairwise.columns import TABLES
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import ExitCode
from clalign.runs.run_file import open_run

pytestmark = pytest.mark.usefixtures("worker_here")

QUERIES = """>q1 first query
MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA
>q2
GGGGSSSSTTTTPPPPLLLL
"""

TARGETS = """>t1 the same with a place
CCCMKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAACCC
>t2 half of it
MKVLAARTEWYGHHKLMNPWWWWWWW
>t3
DDDDDDDDDDEEEEEEEEEEKKKKKKKK
>t4 with a gap
MKVLAARTEWYGHHKLMNPQRSTVWYAAAACDEFGHIKLMNAA
"""


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[str, str]:
    queries, targets = tmp_path / "queries.fa", tmp_path / "targets.fa"
    queries.write_text(QUERIES)
    targets.write_text(TARGETS)
    return str(queries), str(targets)


def test_long_pairs(inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same text as of pairs in step."""
    queries, _ = inputs
    halves = tmp_path / "halves.fa"
    halves.write_text("".join(f">{record}" for record in TARGETS.split(">")[1:3]))
    texts = []
    for option in ("--pairs", "--long"):
        arguments = ["sw", option, "--device", "reference", queries, str(halves)]
        assert main([*arguments, "--run", str(tmp_path / f"{option}.clalign")]) == 0
        text = capsys.readouterr().out.replace("\r", "")
        texts.append(re.sub(r"(?m)^(Command|Date): .*\n", "", text))
    assert texts[0] == texts[1]
    assert main(["resume", str(tmp_path / "--long.clalign")]) == 0


@pytest.fixture
def bases(tmp_path: Path) -> tuple[str, str]:
    """A genome and reads of it, one from the other strand, one from nowhere."""
    rng = np.random.default_rng(4)
    genome = "".join(rng.choice(list("ACGT"), 300))
    reads = {
        "plus": genome[40:80], "minus": reverse_complement(genome[100:140] + genome[143:170]),
        "nowhere": "".join(rng.choice(list("ACGT"), 9)),
    }  # fmt: skip
    queries, targets = tmp_path / "reads.fa", tmp_path / "genome.fa"
    queries.write_text("".join(f">{name}\n{text}\n" for name, text in reads.items()))
    targets.write_text(f">chr1\n{genome}\n>chr2\nACGTACGTAC\n")
    return str(queries), str(targets)


def sequences(path: Path) -> dict[str, str]:
    """Return the residues of a FASTA file by name."""
    parts = [part.split("\n", 1) for part in path.read_text().split(">")[1:]]
    return {head.split()[0]: body.replace("\n", "") for head, body in parts}


def sw(*words: str) -> int:
    return main(["sw", "-q", "--device", "reference", *words])


def test_the_text_says_what_was_found_how_and_with_which_statistics(
    inputs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sw("-E", "1e-3", *inputs) == 0
    text = capsys.readouterr().out
    assert "Matrix:   BLOSUM62 (BLAST's for proteins)" in text
    assert "12 for the first residue, 1 for each further one (BLAST's 11/1; BLAST's for BLOSUM62)" in text
    assert "published for BLOSUM62 with gap costs 11/1 (NCBI BLAST's tables), lambda 0.267, K 0.041." in text
    assert re.search(r"^Target +Score +Bits +E-value +Ident +Cover  Description$", text, re.MULTILINE)
    assert re.search(r"^t1 +\d+ +[\d.]+ +\S+ +100% +100%  the same with a place$", text, re.MULTILINE)
    assert "Identities 40/40 (100 %), positives 40/40 (100 %), gaps 0/40 (0 %); 100 % of the query" in text
    assert "  Query   1 MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA 40\n" in text
    assert "  Target  4 MKVLAARTEWYGHHKLMNPQRSTVWYACDEFGHIKLMNAA 43\n" in text
    assert re.search(r"No hits at E <= 0.001\.\n  The best of 4 sequences was t\d with E = \S+ \(score \d+, ", text)
    assert text.endswith("# [ok]\n")


def test_alignments_can_be_left_out_and_their_width_chosen(
    inputs: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sw("--noali", *inputs) == 0
    assert "\n  Query " not in capsys.readouterr().out
    assert sw("--textw", "52", "-E", "1e-3", *inputs) == 0
    assert "  Query   1 MKVLAARTEWYGHHKLMNPQ 20\n" in capsys.readouterr().out


def test_blast_columns(inputs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert sw("--outfmt", "6", "-E", "1e-3", *inputs) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0][:10] == ["q1", "t1", "100.000", "40", "0", "0", "1", "40", "4", "43"]
    assert all(len(line) == 12 for line in lines)
    assert sw("--outfmt", "6 qseqid sseqid btop cigar qseq sseq gaps nident qcovs scovhsp", "-E", "1e-3", *inputs) == 0
    rows = {line.split("\t")[1]: line.split("\t")[2:] for line in capsys.readouterr().out.splitlines()}
    gapped = rows["t4"]
    assert re.fullmatch(r"(\d+)-A-A-A(\d+)", gapped[0])
    assert gapped[1].count("D") == 1
    assert "3D" in gapped[1]
    assert gapped[2].replace("---", "") == QUERIES.split("\n")[1]
    assert gapped[4:] == ["3", "40", "100", "100"]


def test_all_outputs_at_once(inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "-o": "a.txt", "--tsv": "b.tsv", "--scores": "c.tsv", "--sam": "d.sam", "--json": "e.json",
        "--stockholm": "f.sto", "--fasta": "g.fa", "--fasta-matched": "h.fa", "--run": "i.clalign",
    }  # fmt: skip
    flags = [word for flag, name in files.items() for word in (flag, str(tmp_path / name))]
    assert sw("-E", "1e-3", *flags, *inputs) == 0
    assert capsys.readouterr().out == ""
    table = [line.split("\t") for line in (tmp_path / "b.tsv").read_text().splitlines()]
    assert table[0] == [column.file for column in TABLES["hits"]]
    assert [row[1] for row in table[1:]] == ["t1", "t4", "t2"]
    assert {len(row) for row in table} == {len(TABLES["hits"])}
    scores = (tmp_path / "c.tsv").read_text().splitlines()
    assert [line.split("\t")[:2] for line in scores] == [[q, f"t{i}"] for q in ("q1", "q2") for i in (1, 2, 3, 4)]
    score = table[0].index("score")
    assert scores[0] == f"q1\tt1\t{table[1][score]}"
    objects = [json.loads(line) for line in (tmp_path / "e.json").read_text().splitlines()]
    assert [(data["query"]["name"], data["target"]["name"]) for data in objects] == [
        ("q1", row[1]) for row in table[1:]
    ]
    assert objects[1]["alignments"][0]["alignment"]["query"].count("-") == 3
    alignment = AlignIO.read(tmp_path / "f.sto", "stockholm")
    assert [record.id.split("/")[0] for record in alignment] == ["q1", "t1", "t4", "t2"]
    whole = sequences(tmp_path / "g.fa")
    assert whole == {name: text for name, text in sequences(Path(inputs[1])).items() if name != "t3"}
    assert list(sequences(tmp_path / "h.fa")) == ["t1/4-43", "t4/1-43", "t2/1-19"]


def test_sam_of_both_strands_is_whole(bases: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "a.sam"
    assert sw("--sam", str(path), "-o", str(tmp_path / "o"), "-E", "1e-4", *bases) == 0
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    head = [line for line in lines if line[0].startswith("@")]
    assert head[0][:2] == ["@HD", "VN:1.6"]
    command = ["clalign", "sw", "-q", "--device", "reference", "--sam", str(path), "-o", str(tmp_path / "o")]
    assert [line[-1] for line in head if line[0] == "@PG"] == [f"CL:{' '.join([*command, '-E', '1e-4', *bases])}"]
    remarks = [line[1] for line in head if line[0] == "@CO"]
    assert remarks[0] == "device: Reference (NumPy)"
    sums = [f"SHA-256: {hashlib.sha256(Path(name).read_bytes()).hexdigest()}  {name}" for name in bases]
    assert remarks[2:] == sums
    assert [line[1:] for line in head if line[0] == "@SQ"] == [["SN:chr1", "LN:300"]]
    genome = sequences(Path(bases[1]))["chr1"]
    records = {line[0]: line for line in lines if not line[0].startswith("@")}
    assert {name: int(line[1]) for name, line in records.items()} == {"plus": 0, "minus": 16, "nowhere": 4}
    assert re.fullmatch(r"\d+M3D\d+M", records["minus"][5])
    assert "NM:i:3" in records["minus"]
    assert any(field.startswith("AS:i:") for field in records["minus"])
    for name in ("plus", "minus"):
        position, cigar, residues = int(records[name][3]) - 1, records[name][5], records[name][9]
        runs = [(int(n), kind) for n, kind in re.findall(r"(\d+)([MIDS])", cigar)]
        assert sum(n for n, kind in runs if kind in "MIS") == len(residues)
        at = 0
        for n, kind in runs:
            if kind == "M":
                assert residues[at : at + n] == genome[position : position + n]
            at += n if kind in "MIS" else 0
            position += n if kind in "MD" else 0


def test_the_text_of_bases_has_no_positives(bases: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert sw("--strand", "minus", "-E", "1e-4", *bases) == 0
    text = capsys.readouterr().out
    assert "Mode:     local alignments, strand minus\n" in text
    assert "  Identities 67/70 (96 %), gaps 3/70 (4 %); 100 % of the query" in text


def test_a_list_that_was_cut_is_reported(inputs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sw", "--progress", "plain", "--device", "reference", "-E", "1e-3", "--top", "2", *inputs]
    assert main(words) == 0
    messages = capsys.readouterr()
    cut = re.compile(r"\b2 of 3 .*E <= 0\.001")
    assert len(cut.findall(messages.out)) == 1
    assert re.search(rf"{cut.pattern}.* q1\b.*--top", messages.err)
    assert main([*words, "--top", "1", "--statistics", "fitted", "-T", "1", "--tsv", "-"]) == 0
    messages = capsys.readouterr()
    assert re.search(r"\b1 of 4 .*score >= 1 .* q1\b.*: 2\).*--top", messages.err)
    assert main([*words, "--top", "3"]) == 0
    messages = capsys.readouterr()
    assert "--top" not in messages.out.partition("\nMatrix:")[2] + messages.err


def test_the_minus_strand_is_printed_as_blast_does(bases: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    columns = "6 qseqid qstart qend sstart send sstrand qseq sseq"
    assert sw("--outfmt", columns, "-E", "1e-4", *bases) == 0
    plus, minus = (line.split("\t") for line in capsys.readouterr().out.splitlines())
    assert plus[:6] == ["plus", "1", "40", "41", "80", "plus"]
    assert minus[:6] == ["minus", "1", "67", "170", "101", "minus"]
    assert minus[6].replace("-", "") == sequences(Path(bases[0]))["minus"]
    assert minus[7] == reverse_complement(sequences(Path(bases[1]))["chr1"][100:170])


def test_blast_gap_costs_and_ours_say_the_same(
    inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for flags in (["--gapopen", "8", "--gapextend", "2"], ["--gap-first", "10", "--gap-next", "2"]):
        assert sw("--scores", "-", *flags, *inputs) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert sw("--scores", "-", "--gap-first", "10", "--gap-next", "10", *inputs) == 0
    assert capsys.readouterr().out != texts[0]


def test_a_run_is_exported_continued_and_verified(
    inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(tmp_path / "a.clalign")
    assert sw("--run", run, "--tsv", "-", "-E", "1e-3", *inputs) == 0
    table = capsys.readouterr().out
    assert main(["export", run, "--tsv", "-"]) == 0
    assert capsys.readouterr().out == table
    assert main(["export", run, "-E", "1e-15", "--tsv", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) < len(table.splitlines())
    assert main(["export", run, "--outfmt", "6 sseqid", "-o", "-"]) == 0
    assert capsys.readouterr().out == "t1\nt4\nt2\n"
    assert main(["export", run, "--scores", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 8
    assert main(["export", run, "--tblout", "-"]) == ExitCode.INPUT
    capsys.readouterr()
    assert main(["export", run, "-T", "200", "--tsv", "-"]) == 0
    place = [column.file for column in TABLES["hits"]].index("score")
    few = [int(line.split("\t")[place]) for line in capsys.readouterr().out.splitlines()[1:]]
    assert few == [score for line in table.splitlines()[1:] if (score := int(line.split("\t")[place])) >= 200]
    assert 0 < len(few) < 3
    assert main(["export", run, "--outfmt", "6 sseqid"]) == 0
    assert capsys.readouterr().out == "t1\nt4\nt2\n"
    assert main(["resume", "-q", run, "--tblout", "-"]) == ExitCode.INPUT
    messages = capsys.readouterr()
    assert "--tblout" in messages.err
    assert messages.out == ""
    Path(inputs[1]).unlink()
    assert main(["resume", "--progress", "plain", run, "--tsv", "-"]) == 0
    again = capsys.readouterr()
    assert again.out == table
    assert again.err.startswith("clalign: ")
    Path(inputs[1]).write_text(TARGETS)
    sam, scores = tmp_path / "a.sam", tmp_path / "a.tsv"
    assert main(["resume", "-q", run, "--outfmt", "6 sseqid", "--sam", str(sam), "--scores", str(scores)]) == 0
    assert capsys.readouterr().out == "t1\nt4\nt2\n"
    assert sam.read_text().startswith("@HD")
    assert len(scores.read_text().splitlines()) == 8
    for command in (["export"], ["resume", "-q"]):  # no text where a file is asked for
        assert main([*command, run, "--sam", str(sam)]) == 0
        assert capsys.readouterr().out == ""
    assert main(["verify", run]) == 0
    assert re.search(r"\b3 hits .*\b5 ", capsys.readouterr().out)


def test_the_command_of_a_run_repeats_it(inputs: tuple[str, str], tmp_path: Path) -> None:
    run = tmp_path / "a.clalign"
    flags = ["--match", "3", "--mismatch", "-2", "--gapopen", "5", "--gapextend", "5", "--top", "7", "-T", "-4"]
    assert sw("--run", str(run), *flags, "-o", str(tmp_path / "o"), "--mode", "global", *inputs) == 0
    with open_run(run) as found:
        spec = PairwiseSpec.from_dict(found.facts.spec)
    words = spec.command_line()
    assert words[:4] == ["clalign", "sw", "--device", "reference"]
    again = tmp_path / "b.clalign"
    assert main([*words[1:], "-q", "--run", str(again), "-o", str(tmp_path / "p")]) == 0
    with open_run(again) as found:
        assert PairwiseSpec.from_dict(found.facts.spec) == spec


def test_pairs_in_step_keep_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.fa", tmp_path / "b.fa"
    a.write_text(">a1\nMKVLAARTEW\n>a2 the second\nGGGG\n>a3\nMKVLAARTEWYGHHKLMN\n")
    b.write_text(">b1\nMKVLARTEW\n>b2 its partner\nWWWWWWWWWWWWWWWW\n>b3\nMKVLAARTEWYGHHKLMN\n")
    assert sw("--pairs", "--scores", "-", str(a), str(b)) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines] == [["a1", "b1"], ["a2", "b2"], ["a3", "b3"]]
    assert lines[1][2] == "0"
    assert sw("--pairs", "--outfmt", "6 std", str(a), str(b)) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[-2:] for row in rows] == [["NA", "NA"]] * 3
    assert sw("--pairs", str(a), str(b)) == 0
    text = capsys.readouterr().out
    assert "> a2 (4 residues) the second and b2 (16 residues) its partner\n" in text
    assert "No residues are aligned." in text
    assert sw("--pairs", "--noali", str(a), str(b)) == 0
    short = capsys.readouterr().out
    assert [line for line in text.splitlines() if "Score" in line] == re.findall("  Score.*", short)
    assert "Query  " not in short


def test_a_line_of_gaps_has_no_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.fa", tmp_path / "b.fa"
    start, end = "MKVLAARTEWYGHHKLMNPQ", "RSTVWYACDEFGHIKLMNAA"
    a.write_text(f">a\n{start}{end}\n")
    b.write_text(f">b\n{start}{'G' * 40}{end}\n")
    assert sw("--pairs", "--gap-first", "5", "--gap-next", "0", "--textw", "52", str(a), str(b)) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("  Query ", "  Target"))]
    dashes = "  Query     " + "-" * 20
    assert lines == [
        f"  Query   1 {start} 20", f"  Target  1 {start} 20", dashes, f"  Target 21 {'G' * 20} 40", dashes,
        f"  Target 41 {'G' * 20} 60", f"  Query  21 {end} 40", f"  Target 61 {end} 80",
    ]  # fmt: skip


def test_queries_from_standard_input(
    inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(QUERIES.encode())))
    run = tmp_path / "a.clalign"
    assert sw("-E", "1e-3", "--run", str(run), "-", inputs[1]) == 0
    text = capsys.readouterr().out
    assert "Queries:  standard input\n" in text
    assert "\nt1 " in text
    assert Path(f"{tmp_path}/a.stdin").read_text() == QUERIES
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b">a\nMK1VL\n")))
    assert main(["sw", "--progress", "plain", "--device", "reference", "-", inputs[1]]) == 0
    assert "clalign: standard input, line 2: " in capsys.readouterr().err


def test_what_is_odd_about_the_files_is_reported_with_its_line(
    inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "odd.fa"
    odd.write_text(">t1\nMKVLAARTEWYG\nHH1KLMN\n>t1\nMKVLAA&TEW\n")
    assert main(["sw", "--progress", "plain", "--device", "reference", "--outfmt", "6", inputs[0], str(odd)]) == 0
    messages = capsys.readouterr().err
    (letters,) = [line for line in messages.splitlines() if f"{odd}, line 5: " in line]
    (names,) = [line for line in messages.splitlines() if f"{odd}, line 4: " in line]
    assert messages.count(f"{odd}, line 3: ") == 1
    assert '"&"' in letters
    assert '"t1"' in names
    assert main(["sw", "--progress", "plain", "--device", "reference", "--outfmt", "6", str(odd), str(odd)]) == 0
    assert capsys.readouterr().err.count(f"{odd}, line 3: ") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_reported_and_the_run_kept(
    inputs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert sw("--tsv", "/dev/full", *inputs) == ExitCode.CANNOT_WRITE
    messages = capsys.readouterr().err
    assert "/dev/full" in messages
    (kept,) = tmp_path.glob("clalign-*/search.clalign")
    command = messages.split("Write them with: clalign ")[1].split("\n")[0].split()
    assert command == ["export", str(kept)]
    assert main(command) == 0
    assert "\nt1 " in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_goes_ends_nothing_but_its_output(inputs: tuple[str, str], tmp_path: Path) -> None:
    table = tmp_path / "a.tsv"
    words = ["sw", "-q", "--device", "reference", "-E", "1e9", "--textw", "52", "--tsv", str(table), *inputs]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        command = [sys.executable, "-m", "clalign", *words]
        done = subprocess.run(command, stdout=pipe, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert table.read_text().count("\n") > 3


@pytest.mark.parametrize("strand", ["plus", "minus"])
def test_uracil_and_thymine_are_the_same_base(strand: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rna, dna = tmp_path / "rna.fa", tmp_path / "dna.fa"
    text = "ACGTTGCAAGGCTTACGATTCGAT"
    rna.write_text(f">rna\n{text.replace('T', 'U')}\n")
    dna.write_text(f">dna\n{text if strand == 'plus' else reverse_complement(text)}\n")
    columns = "6 sstrand pident nident mismatch positive btop score"
    for queries, targets in ((rna, dna), (dna, rna)):
        sam = tmp_path / f"{queries.stem}.sam"
        assert sw("--strand", strand, "--outfmt", columns, "--sam", str(sam), str(queries), str(targets)) == 0
        assert capsys.readouterr().out.split() == [strand, "100.000", "24", "0", "24", "24", "48"]
        assert "NM:i:0" in sam.read_text()


def test_only_queries_that_were_searched_are_unmapped_in_sam(inputs: tuple[str, str], tmp_path: Path) -> None:
    listed, sam, run = tmp_path / "pairs", tmp_path / "a.sam", tmp_path / "a.clalign"
    listed.write_text("q1\tt3\n")
    assert sw("--pair-list", str(listed), "--outfmt", "6", "-o", str(tmp_path / "o"), "--sam", str(sam), *inputs) == 0
    assert [line.split("\t")[0] for line in sam.read_text().splitlines() if line[0] != "@"] == ["q1"]
    assert sw("--run", str(run), "-E", "1e-90", "-o", str(tmp_path / "o"), *inputs) == 0
    for queries in (["q1", "q2"], ["q1"]):
        assert main(["export", str(run), "--sam", str(sam)]) == 0
        records = [line.split("\t") for line in sam.read_text().splitlines() if line[0] != "@"]
        assert [record[:2] for record in records] == [[query, "4"] for query in queries]
        with open_run(run, writable=True) as found, found.connection:
            found.connection.execute("DELETE FROM batches WHERE query = 1")
