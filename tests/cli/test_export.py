"""What a run's results look like as files."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from Bio import AlignIO

from clalign.cli import main
from clalign.cli.worker import JOBS
from clalign.common.escapes import escaped
from clalign.engines.engine import spec_of
from clalign.engines.export import export
from clalign.engines.export_source import ExportSource, provenance_of
from clalign.engines.plan7.columns import TABLES
from clalign.engines.plan7.exports.register import EXPORTS
from clalign.errors import ExitCode, InputError, OptionError, OutputError
from clalign.formats.writers import check_writable, whole_file
from clalign.jobs import Job
from clalign.runs.run_file import open_run
from clalign.values.alphabets import ALPHABETS
from clalign.values.sequences import Sequence
from tests.computing import database_of


def written(run: Path, what: str, **more: object) -> str:
    out = run.with_suffix(f".{what}")
    export(run, what, out, **more)  # type: ignore[arg-type]
    return out.read_text()


def words(text: str) -> list[str]:
    return text.split()


@pytest.mark.parametrize(("what", "counts", "written"), [("tsv", "hit", 2), ("domtsv", "domain", 3)])
def test_the_job_of_the_window_says_what_it_has_counted(
    small_run: Path, tmp_path: Path, what: str, counts: str, written: int
) -> None:
    path = str(tmp_path / "out")
    found = JOBS["export"]({"run": str(small_run), "what": what, "path": path}, Job(lambda event: None))
    assert found == {"written": written, "path": path, "counts": counts}


def test_tsv_has_the_columns_and_full_precision(small_run: Path) -> None:
    lines = [line.split("\t") for line in written(small_run, "tsv").splitlines()]
    assert lines[0] == [column.file for column in TABLES["hits"]]
    assert lines[1] == [
        "motif", "seq1", "PF1", "Q1", "4", "9", "first one with tab", "2", "1.23457e-05", "21.3457", "0.006",
        "1.23457e-05", "12.3457", "", "100.00", "100.00", "50.00", "yes", "",
    ]  # fmt: skip
    assert lines[2][:2] == ["motif", "seq2"]
    assert lines[2][-5:] == ["50.00", "22.22", "100.00", "no", ""]
    assert len(lines) == 3


def test_a_scan_swaps_query_and_target_and_nothing_else(small_run: Path) -> None:
    def rows(what: str) -> list[dict[str, str]]:
        return list(csv.DictReader(written(small_run, what).splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))

    def searched() -> str:
        return next(line for line in written(small_run, "outfmt7").splitlines() if line.startswith("# Database: "))

    search, target = {what: rows(what) for what in ("tsv", "domtsv")}, searched()
    with open_run(small_run, writable=True) as found:
        found.set_facts(spec={**found.facts.spec, "direction": "scan"}, direction="scan")
    ends = ("", "_accession", "_length", "_coverage")
    for what, before in search.items():
        swapped = [{**row, **{f"query{end}": row[f"target{end}"] for end in ends},
                    **{f"target{end}": row[f"query{end}"] for end in ends}} for row in before]  # fmt: skip
        kept = [{k: v for k, v in row.items() if k != "description"} for row in rows(what)]
        assert kept == [{k: v for k, v in row.items() if k != "description"} for row in swapped]
    with open_run(small_run) as found:
        origin = provenance_of(found, spec_of(found))
    assert (target, searched()) == (f"# Database: {origin.target}", f"# Database: {origin.query}")


def test_domtsv_leaves_empty_what_hmmer2_does_not_know(small_run: Path) -> None:
    lines = [line.split("\t") for line in written(small_run, "domtsv").splitlines()]
    assert lines[0] == [column.file for column in TABLES["domains"]]
    row = dict(zip(lines[0], lines[2], strict=True))
    names = "query target domain n_domains c_evalue i_evalue score bias hmm_from hmm_to ali_from ali_to env_from env_to"
    expected = ["motif", "seq1", "2", "2", "", "0.002", "9", "0.006", "1", "4", "5", "9", "", ""]
    assert [row[name] for name in words(names)] == expected
    assert (row["hit_score"], row["accuracy"], row["cigar"], row["columns"]) == ("21.3457", "", "1M2D1M1I1M", "6")
    assert len(lines) == 4


def test_tblout_lines_up_and_ends_well(small_run: Path) -> None:
    lines = written(small_run, "tblout").splitlines()
    rows = [line for line in lines if not line.startswith("#")]
    assert rows[0].split()[:10] == words("seq1 Q1 motif PF1 1.2e-05 21.3 0.0 1.2e-05 12.3 0.0")
    assert rows[0].split()[10:18] == words("- - - - - 2 2 2")
    assert rows[1].split()[15:18] == words("1 1 0")
    assert rows[0].index("1.2e-05") + 7 == lines[2].index("--------- ------ -----") + 9
    assert lines[-1] == "# [ok]"
    assert "# Query file:      motif.hmm" in lines


def test_domtblout_has_a_line_for_each_domain(small_run: Path) -> None:
    lines = written(small_run, "domtblout").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    assert len(rows) == 3
    assert rows[1][:6] == words("seq1 Q1 9 motif PF1 4")
    assert rows[1][9:22] == words("2 2 - 0.002 9.0 0.0 1 4 5 9 - - -")
    assert lines[-1] == "# [ok]"


def test_stockholm_aligns_to_the_profile(small_run: Path) -> None:
    text = written(small_run, "stockholm")
    assert "#=GS seq1/1-4 DE [subseq from] first" in text
    assert "#=GF AC PF1" in text
    rows = dict(line.split() for line in text.splitlines() if line.startswith("seq"))
    assert rows == {"seq1/1-4": "A..WDE", "seq1/5-9": "AgxW-E", "seq2/2-3": "-..-DE"}
    assert "#=GC SS_cons H..HTT" in text
    assert text.splitlines()[-2] == "#=GC RF      x..xxx"


def test_stockholm_is_read_by_others(small_run: Path) -> None:
    written(small_run, "stockholm")
    (alignment,) = AlignIO.parse(small_run.with_suffix(".stockholm"), "stockholm")
    assert [record.id for record in alignment] == ["seq1/1-4", "seq1/5-9", "seq2/2-3"]
    assert alignment.get_alignment_length() == 6


def test_significant_leaves_out_the_rest(small_run: Path) -> None:
    assert "seq2" not in written(small_run, "stockholm", significant=True)
    assert written(small_run, "tsv", significant=True).count("\n") == 2


def test_chosen_hits_only(small_run: Path) -> None:
    assert [line.split("\t")[1] for line in written(small_run, "tsv", hits=[2]).splitlines()[1:]] == ["seq2"]
    text = written(small_run, "text", hits=[2])
    assert "seq1" not in text
    assert "Domains reported:         1" in text


def test_matched_parts_without_gaps(small_run: Path) -> None:
    text = written(small_run, "fasta_matched")
    assert text == (
        ">seq1/1-4 first  one\twith tab\nAWDE\n>seq1/5-9 first  one\twith tab\nAG-WE\n>seq2/2-3 second\nDE\n"
    )


def test_text_marks_ends_and_wraps(small_run: Path) -> None:
    text = written(small_run, "text")
    assert "seq1         2/2     5     9 .]     1     4 []        9.0    0.002" in text
    assert "seq1: domain 2 of 2, from 5 to 9: score 9.0, E = 0.002" in text
    block = text.split("from 5 to 9")[1].splitlines()[1:5]
    assert [line.rstrip() for line in block] == [
        "          CS    H  HTT",
        "             *->A..CDE<-*",
        "                A++  E",
        "  seq1     5    Ag-W-E    9",
    ]
    assert text.endswith("//\n# [ok]\n")


def test_no_hits_are_said_plainly(empty_run: Path) -> None:
    text = written(empty_run, "text", alignments=False)
    assert "No hits at E <= 10." in text
    assert "The best of 3 sequences had E =" in text
    assert "(score 21.3)." in text


@pytest.mark.parametrize("what", ["text", "tsv", "domtsv", "tblout", "domtblout"])
def test_partial_results_say_so(stopped_run: Path, what: str) -> None:
    last = written(stopped_run, what).splitlines()[-1]
    assert last == "# partial: yes"


def test_partial_alignments_say_so(stopped_run: Path) -> None:
    assert "#=GF CC partial: yes" in written(stopped_run, "stockholm")
    assert "Sequences not searched:   7" in written(stopped_run, "text")


def test_every_export_is_known_and_others_are_refused(small_run: Path) -> None:
    tables = {"tsv", "domtsv", "tblout", "domtblout", "pfamtblout", "jsonl", "csv", "domcsv", "parquet", "domparquet"}
    places = {"architecture", "architecture_gff3", "gff3", "gff3_genome", "bed", "bed_genome"}
    tables |= {"queries", "matrix"}
    aligned = {"text", "html", "outfmt", "outfmt7", "stockholm", "afa", "a2m", "a3m"}
    rounds = {"chkhmm", "chkali"}
    assert {one.name for one in EXPORTS} == tables | places | aligned | rounds | {"fasta", "fasta_matched"}
    with pytest.raises(OptionError, match='"xml"'):
        export(small_run, "xml", "-")
    for what in rounds:
        with pytest.raises(OptionError, match="no rounds"):
            export(small_run, what, small_run.with_name("rounds"))


def test_whole_sequences_need_the_same_file(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("seqs.fa").write_text(">seq1\nAWDEAGGWE\n>seq2\nADEAAAAAA\n>seq3\nKKKKKKKKK\n")
    with pytest.raises(InputError, match=r"seqs\.fa"):
        export(small_run, "fasta", "out.fa")
    assert sorted(path.name for path in tmp_path.glob("*out.fa*")) == []


def write_half(path: Path, error: Exception) -> None:
    with whole_file(str(path)) as stream:
        stream.write("half")
        raise error


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        write_half(path, RuntimeError())
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
    with whole_file(str(path)) as stream:
        stream.write("new")
    assert path.read_text() == "new"


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No space left"):
        write_half(tmp_path / "x", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


def test_command_filters(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(small_run), "--evalue", "1e-3", "--tsv", "-"]) == 0
    assert "seq2" not in capsys.readouterr().out
    assert main(["export", str(small_run), "--score", "-5", "--tsv", "-"]) == 0
    assert "seq2" in capsys.readouterr().out


def test_only_the_best_hits(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One profile found two sequences: each is the best of its sequence, one that of the profile."""

    def found(of: str) -> list[str]:
        assert main(["export", str(small_run), "--best", of, "--tsv", "-"]) == 0
        return [row["target"] for row in csv.DictReader(capsys.readouterr().out.splitlines(), delimiter="\t")]

    assert [found(of) for of in ("query", "target", "both")] == [["seq1"], ["seq1", "seq2"], ["seq1"]]
    with open_run(small_run, writable=True) as run:
        run.set_facts(spec={**run.facts.spec, "direction": "scan"}, direction="scan")
    assert [len(found(of)) for of in ("query", "target", "both")] == [2, 1, 1], "a query of a scan is a sequence"
    assert main(["export", str(small_run), "--best", "all", "--tsv", "-"]) == ExitCode.USAGE


def test_the_text_is_written_where_no_output_is_named(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(small_run)]) == 0
    assert capsys.readouterr().out == written(small_run, "text")
    assert main(["export", str(small_run), "--tsv", str(tmp_path / "x")]) == 0
    assert capsys.readouterr().out == ""
    assert main(["export", str(small_run), "--tsv", "-", "--json", "-"]) == ExitCode.USAGE


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
def test_a_folder_that_takes_no_files_is_noticed_before_the_work() -> None:
    with pytest.raises(OutputError, match="/proc/x"):
        check_writable("/proc/x")


def test_outputs_that_cannot_be_are_refused(small_run: Path) -> None:
    assert main(["export", str(small_run), "--tsv", str(small_run)]) == ExitCode.INPUT
    assert main(["export", str(small_run), "--tsv", "/no/such/folder/x"]) == ExitCode.CANNOT_WRITE
    assert main(["export", "/no/such/run", "--tsv", "-"]) == ExitCode.UNREADABLE


@pytest.mark.parametrize("what", [one.name for one in EXPORTS if not one.is_exact and one.name != "stockholm"])
def test_no_export_for_people_passes_control_characters_on(small_run: Path, what: str) -> None:
    name = "a\x1b[31mb\x9b\u202e\x07"
    with open_run(small_run, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET name = ?1, accession = ?1, description = ?1", (name,))
        run.set_card(0, {**run.card(0), "name": name, "accession": name, "description": name})
    text = written(small_run, what)
    assert escaped(text) == text
    assert "\\x1b[31m" in text or "%1B" in text or what in ("jsonl", "gff3_genome", "bed_genome")


@pytest.mark.parametrize("what", ["tsv", "domtsv", "csv", "domcsv"])
def test_tables_have_the_species_last_if_that_is_asked_for(small_run: Path, what: str) -> None:
    with open_run(small_run, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET description = 'A thing OS=Homo sapiens OX=9606' WHERE row = 0")
    split = "," if "csv" in what else "\t"
    usual, more = (
        [line.split(split) for line in written(small_run, what, species=asked).splitlines()] for asked in (False, True)
    )
    assert [line[:-1] for line in more] == usual
    assert [line[-1] for line in more] == [
        "species",
        *("Homo sapiens" if "sapiens" in str(line) else "" for line in usual[1:]),
    ]
    assert {line[-1] for line in more[1:]} == {"Homo sapiens", ""}
    out = small_run.with_name("out")
    flag = {"tsv": "--tsv", "domtsv": "--domtsv", "csv": "--csv", "domcsv": "--domcsv"}[what]
    assert main(["export", "--species", flag, str(out), str(small_run)]) == 0
    assert out.read_text() == written(small_run, what, species=True)
    table = small_run.with_name("taxonomy.tsv")
    table.write_text("#taxon\tspecies\tkind\n9606\thuman\tape\n")
    asked = ["--taxonomy", str(table), "--taxonomy-column", "kind"]
    assert main(["export", *asked, flag, str(out), str(small_run)]) == 0
    assert out.read_text() == written(small_run, what, species=True).replace(f"{split}Homo sapiens\n", f"{split}ape\n")
    assert main(["export", *asked[2:], flag, str(out), str(small_run)]) == ExitCode.INPUT
    table.write_text("no tab\n")
    assert main(["export", *asked, flag, str(out), str(small_run)]) == ExitCode.UNREADABLE


def test_no_cell_is_a_formula_if_that_is_asked_for(small_run: Path) -> None:
    with open_run(small_run, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET name = '=1+2', accession = '-', description = '@SUM(A1)'")
    plain, safe = written(small_run, "tsv").splitlines(), written(small_run, "tsv", safe_cells=True).splitlines()
    texts = ("target", "target_accession", "description")
    cells = [
        [dict(zip(table[0].split("\t"), line.split("\t"), strict=True)) for line in table] for table in (plain, safe)
    ]
    assert [[rows[1].pop(name) for name in texts] for rows in cells] == [
        ["=1+2", "-", "@SUM(A1)"], ["'=1+2", "-", "'@SUM(A1)"],
    ]  # fmt: skip
    assert cells[0][1] == cells[1][1], "numbers stay"
    assert "-3" in safe[2].split("\t")
    out = small_run.with_name("out.tsv")
    assert main(["export", "--safe-tsv", "--tsv", str(out), str(small_run)]) == 0
    assert out.read_text().splitlines() == safe
    assert written(small_run, "tblout") == written(small_run, "tblout", safe_cells=True)


@pytest.mark.parametrize("name", ["=1+2", "+1+2", "-1+2", "@A1", "\uff1d1+2", '=HYPERLINK("http://x","y")'])
def test_no_cell_of_csv_is_a_formula(small_run: Path, name: str) -> None:
    with open_run(small_run, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET name = ?, accession = '-', description = ?", (name, f" \t{name}"))
    for table in ("csv", "domcsv"):
        cells = list(csv.DictReader(written(small_run, table).splitlines()))
        assert {row["target"] for row in cells} == {f"'{name}"}
        assert {row["description"] for row in cells} == {f"'{name}"} if table == "csv" else True
        plain = list(csv.DictReader(written(small_run, table.replace("csv", "tsv")).splitlines(), delimiter="\t"))
        assert {row["target"] for row in plain} == {name}
        assert [row["score"] for row in cells] == [row["score"] for row in plain]


def test_names_in_tables_of_all_queries_are_made_safe_as_well(small_run: Path) -> None:
    with open_run(small_run, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET name = '=1+2'")
    out = small_run.with_name("out.tsv")
    assert main(["export", "--safe-tsv", "--hit-matrix", str(out), str(small_run)]) == 0
    names = [line.split("\t")[0] for line in out.read_text().splitlines() if not line.startswith("#")]
    assert set(names[1:]) == {"'=1+2"}


def test_csv_says_what_tsv_says(small_run: Path) -> None:
    for table in ("tsv", "domtsv"):
        tabs = [line.split("\t") for line in written(small_run, table).splitlines()]
        assert list(csv.reader(written(small_run, table.replace("tsv", "csv")).splitlines())) == tabs


def test_parquet_holds_the_table_unrounded_and_says_where_it_comes_from(small_run: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export(small_run, "parquet", small_run.with_suffix(".parquet"))
    found = parquet.read_table(small_run.with_suffix(".parquet"))
    assert found.schema.names == [column.file for column in TABLES["hits"]]
    assert found.column("evalue").to_pylist() == [1.23456789e-5, 5.0]
    assert found.column("n_domains").to_pylist() == [2, 1]
    assert found.schema.metadata[b"command"].startswith(b"clalign hmmsearch")


def test_parquet_without_its_package_says_how_to_get_it(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(OptionError, match=r"pip install 'clalign\[parquet\]'"):
        export(small_run, "parquet", small_run.with_suffix(".parquet"))
    assert not small_run.with_suffix(".parquet").exists()


def test_blast_tables_of_domains_have_both_sides(small_run: Path) -> None:
    lines = written(small_run, "outfmt", columns="6 std qseq sseq nident positive gaps btop").splitlines()
    assert lines[1].split("\t") == [
        "motif", "seq1", "33.333", "6", "1", "2", "1", "4", "5", "9", "0.002", "9.0", "A--CDE", "AGXW-E", "2", "4", "3",
        "1-G-XCWD-1",
    ]  # fmt: skip
    commented = written(small_run, "outfmt7").splitlines()
    assert commented[1] == "# Query: motif A motif"
    assert commented[3].startswith("# Fields: query id, subject id, % identity, alignment length")
    assert (commented[4], commented[-1]) == ("# 3 hits found", "# BLAST processed 1 queries")
    assert len([line for line in commented if not line.startswith("#")]) == 3


def test_hits_of_a_query_are_one_alignment(small_run: Path) -> None:
    found = list(AlignIO.read(written_file(small_run, "afa"), "fasta"))
    assert [(record.id, str(record.seq)) for record in found] == [
        ("seq1/1-4", "A--WDE"), ("seq1/5-9", "AGXW-E"), ("seq2/2-3", "----DE"),
    ]  # fmt: skip


def written_file(run: Path, what: str) -> str:
    written(run, what)
    return str(run.with_suffix(f".{what}"))


def test_gff3_and_bed_have_a_line_for_each_domain(small_run: Path) -> None:
    lines = [line.split("\t") for line in written(small_run, "gff3").splitlines() if not line.startswith("#")]
    assert [line[:8] for line in lines] == [
        ["seq1", "clalign", "protein_match", "1", "4", "1.23457e-05", ".", "."],
        ["seq1", "clalign", "protein_match", "5", "9", "0.002", ".", "."],
        ["seq2", "clalign", "protein_match", "2", "3", "5", ".", "."],
    ]
    assert lines[2][8] == "ID=match3;Name=motif;Target=motif 3 4;accession=PF1;bits=-3;significant=no"
    bed = [line for line in written(small_run, "bed").splitlines() if not line.startswith("#")]
    assert bed == ["seq1\t0\t4\tmotif\t12\t.", "seq1\t4\t9\tmotif\t9\t.", "seq2\t1\t3\tmotif\t0\t."]


def test_places_on_a_genome_are_reported_or_left_out(small_run: Path) -> None:
    with open_run(small_run, writable=True) as run, run.connection:
        shown = "# 100 # 129 # -1 # ID=1_7"  # nine residues and a stop codon
        run.connection.execute("UPDATE targets SET name = 'contig_1_7', description = ? WHERE name = 'seq1'", (shown,))
    lines = written(small_run, "bed_genome").splitlines()
    assert [line.split("\t")[:6] for line in lines if not line.startswith("#")] == [
        ["contig_1", "117", "129", "motif", "12", "-"], ["contig_1", "102", "117", "motif", "9", "-"],
    ]  # fmt: skip
    assert lines[-1].startswith("# left out: 1 domain of 1 sequence ")
    assert "contig_1\tclalign\tprotein_match\t118\t129\t" in written(small_run, "gff3_genome")


def test_what_tells_no_place_on_a_genome_is_warned_of(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(small_run), "--genome-bed", str(small_run.with_suffix(".bed"))]) == 0
    assert re.search(r"\b3 .*\b2 ", capsys.readouterr().err)


@pytest.mark.thorough(quiet=[False])
@pytest.mark.usefixtures("worker_here")
@pytest.mark.parametrize("quiet", [True, False])
def test_a_search_warns_of_it_unless_it_is_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], quiet: bool
) -> None:
    examples = Path(__file__).parents[2] / "resources" / "examples"
    files = [str(examples / name) for name in ("globins4.hmm", "three_proteins.fasta")]
    words = ["-E", "1e6", "-o", str(tmp_path / "text"), "--genome-bed", str(tmp_path / "bed"), "--device", "reference"]
    assert main(["hmmsearch", *(["-q"] if quiet else []), *words, "--max", *files]) == 0
    assert (" domain" in capsys.readouterr().err) == (not quiet)


def test_flanks_are_those_of_the_sequence(small_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = (("seq1", "AWDEAGGWE"), ("seq2", "ADEAAAAAA"))
    database = database_of([Sequence.from_text(*text) for text in texts], ALPHABETS["amino"])
    monkeypatch.setattr(ExportSource, "database", lambda source: database)
    assert written(small_run, "fasta_matched", flank=2).splitlines()[:4] == [
        ">seq1/1-6 first  one\twith tab", "AWDEAG", ">seq1/3-9 first  one\twith tab", "DEAGGWE",
    ]  # fmt: skip


def test_hits_of_one_query_can_be_chosen(small_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(small_run), "--query", "PF1", "--bed", "-"]) == 0
    assert capsys.readouterr().out.count("motif\t") == 3


def test_the_report_is_one_sound_file_that_loads_nothing(small_run: Path) -> None:
    with open_run(small_run, writable=True) as run, run.connection:
        run.connection.execute("UPDATE targets SET description = '<script>alert(1)</script>' WHERE name = 'seq2'")
    text = written(small_run, "html")
    assert text.startswith("<!DOCTYPE html>")
    assert text.endswith("</body></html>\n")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "3 sequences (27 residues)" in text
    assert text.count("<svg") == text.count("</svg>") == 6
    ElementTree.fromstring(re.search("<svg.*?</svg>", text, re.DOTALL)[0])
    assert "clalign hmmsearch motif.hmm seqs.fa" in text
