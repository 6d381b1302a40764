"""What an export is, which options shape exports, and the exports that several engines have.

All that is to be known of an export stands in its `Export`; the command line and the window ask it. This module is
loaded for every help: what writes an export is imported when it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from msgspec import Struct

from clalign.engines.lazy_imports import LazyImport
from clalign.errors import OptionError
from clalign.formats.blast_columns import WORDS, columns_of
from clalign.values.architectures import RULES

Writer = Callable[..., int]
"""Writes an `ExportSource` to a stream, and returns how many records it wrote."""

TEXT_WIDTH = 120
"""Longest line of a text, unless another one is asked for."""


class Shape(Struct, frozen=True):
    """How what is written looks. What each field does is said by its `OPTIONS`, and each `Export` names those it heeds.

    What is empty or None is as usual. Numbers are of letters (`width`, 0 for no limit), residues (`flank`) and hits of
    each query (`listed`, 0 for all, and `max_hits`), or aligned parts (`seq_limit`).
    """

    alignments: bool = True
    width: int = TEXT_WIDTH
    accessions: bool = False
    columns: str = ""
    safe_cells: bool = False
    overlaps: str = ""
    clans: str = ""
    flank: int = 0
    species: bool = False
    taxonomy: str = ""
    taxonomy_column: str = ""
    matched_by: bool = False
    provenance: bool = False
    listed: int | None = None
    seq_limit: int | None = None
    max_hits: int | None = None

    @property
    def given(self) -> dict[str, str | int | bool | None]:
        """The fields that are not as usual."""
        usual = Shape()
        return {name: value for name in OPTIONS if (value := getattr(self, name)) != getattr(usual, name)}


class ShapeOption(Struct, frozen=True):
    """The flag of a field of a `Shape`.

    Attributes
    ----------
    flag, help : str
    metavar : str
        What stands for its value in a help; empty for one that takes none.
    is_number : bool
        Whether the value is a whole number.
    choices : tuple of str
        The values that it may have; empty for any.
    is_later : bool
        Whether only commands have it that write what a run has found already.
    """

    flag: str
    help: str
    metavar: str = ""
    is_number: bool = False
    choices: tuple[str, ...] = ()
    is_later: bool = False


OPTIONS = {
    "provenance": ShapeOption(
        "--with-provenance",
        "write F.provenance.json beside each file F that is written: version, command, inputs with their SHA-256,"
        " device, date, which hits were chosen, and whether the search is complete",
    ),
    "columns": ShapeOption(
        "--outfmt",
        "in place of the text BLAST's table: 6, 7 (with comments), or either with names of columns, as in \"6 std"
        f' qcovs"; std are the usual twelve. Columns: {", ".join(WORDS)}',
        "S",
    ),
    "safe_cells": ShapeOption(
        "--safe-tsv",
        "in tab-separated tables, put ' before names that begin with =, +, - or @, which a spreadsheet would compute;"
        " CSV always has it",
    ),
    "species": ShapeOption(
        "--species",
        "add a last column to the tables of hits and of domains (TSV, CSV, Parquet): the species that descriptions name"
        " with OS= or OX=",
    ),
    "taxonomy": ShapeOption(
        "--taxonomy",
        "as --species, which is looked up in a table first: lines of name, accession, OX number or OS name, tab,"
        " species; more may be",
        "TABLE",
    ),
    "taxonomy_column": ShapeOption("--taxonomy-column", "which column of that table: its name, or its number [2]", "C"),
    "overlaps": ShapeOption(
        "--overlaps",
        f"in architectures, GFF3 and BED: {'; '.join(f'{name}: {words}' for name, words in RULES.items())} [auto; GFF3"
        " and BED of all domains: all]",
        "|".join(RULES),
        choices=tuple(RULES),
    ),
    "clans": ShapeOption(
        "--clans",
        "a table of clans: Pfam-A.clans.tsv, Pfam-A.hmm.dat, Stockholm with CL lines, or lines of family, tab, clan"
        " [Pfam-A.clans.tsv or Pfam-A.hmm.dat beside the profiles]",
        "F",
    ),
    "flank": ShapeOption(
        "--flank", "with --fasta-matched: write N more residues on either side [0]", "N", is_number=True
    ),
    "matched_by": ShapeOption(
        "--with-matched-by",
        "with --fasta-matched: end each description with the profile, or the query of sw, that the part was matched by:"
        " [matched_by=NAME]",
        is_later=True,
    ),
    "listed": ShapeOption(
        "--html-hits",
        "with --html: list at most N hits of each query, the best; 0 for all, up to 50,000 [200; of many queries 5,000"
        " in all]",
        "N",
        is_number=True,
        is_later=True,
    ),
    "seq_limit": ShapeOption(
        "--seq_limit",
        "write at most the first N aligned domains of each query to alignments (with jackhmmer besides the query)",
        "N",
        is_number=True,
    ),
    "max_hits": ShapeOption(
        "--max-hits", "write only the first N hits of each query, with hmmscan of each sequence", "N", is_number=True
    ),
    "alignments": ShapeOption("--noali", "leave the alignments out of the text"),
    "accessions": ShapeOption("--acc", "show accessions in place of names (HMMER3)"),
    "width": ShapeOption("--textw", "longest line of the text", "N", is_number=True),
}
"""The flag of each field of a `Shape`, in the order of a help."""

ALWAYS_TAKEN = ("alignments", "width", "accessions", "columns", "provenance")
"""Fields that are taken whatever is written: scripts for HMMER give those of its text in any case."""


class NamedColumns(Struct, frozen=True):
    """The columns that an export asks for by their names.

    Attributes
    ----------
    title, tip : str
        What it makes, and how columns are named.
    known : mapping of str to str
        What each column holds.
    check : callable
        Raises `OptionError` if names of columns make no sense.
    usual : str
    before : str
        What is put before the names.
    """

    title: str
    tip: str
    known: Mapping[str, str]
    check: Callable[[str], object]
    usual: str
    before: str = ""


class Export(Struct, frozen=True):
    """A way to write what a run has found.

    Attributes
    ----------
    name : str
        What programs and the window call it.
    flag, help : str
        The flag of the command line that names its file, and the words of its help; no flag for one that the window
        alone offers.
    words, ending : str
        What it is called in the window, and how names of its files end, such as ``-domains.tsv``; no words for one that
        the command line alone offers.
    write : LazyImport
        Its `Writer`.
    argument : str
        What that takes as its third argument, where it writes several exports: a table of the engine, or a format.
    by_query : LazyImport or None
        Writes one query of it, if it can be written query after query while a run is computed; see
        `clalign.engines.export_source.Begun`.
    counts : str
        What its records are.
    separator : str
        What stands between cells: a tab, a comma, or nothing where it is no table. Cells of a table can be made safe
        for spreadsheets; those between commas always are.
    options : tuple of str
        Fields of a `Shape` that it heeds, besides `safe_cells` and `provenance`.
    columns : NamedColumns or None
        The columns that are named by the user.
    aligns : str
        Whose hits it aligns: those of ``one query`` (there is none of several), of ``all queries``, or of none. A
        search writes to such files what is significant.
    serves : str
        What tools that read alignments take of a run by it: its ``alignment``, or the ``posteriors`` of its pairs.
    group : str
        What sort of thing it is, by which the window arranges them.
    by_round : bool
        Whether there is a file for each round of a search: what is named is how their names begin, and ``-1`` and so on
        and the ending follow. Takes the number of the round as its third argument.
    is_main : bool
        Whether it goes to standard output where no output is named. Of two, one has `columns`, and is written if any
        are named.
    is_of_run : bool
        Whether it is of all queries together, so that all hits are proposed for it, whatever a table shows.
    is_exact : bool
        Whether programs read it again, so that names in it are as they were read, control characters included.
    has_remarks : bool
        Whether it can say that it is partial. Elsewhere every line is taken for data.
    needs : LazyImport or None
        A function that raises `OptionError` if something that it needs is not installed.
    """

    name: str
    flag: str
    help: str
    words: str
    ending: str
    write: LazyImport[Callable[..., int]]
    argument: str = ""
    by_query: LazyImport[Callable[..., int]] | None = None
    counts: str = "hit"
    separator: Literal["", "\t", ","] = ""
    options: tuple[str, ...] = ()
    columns: NamedColumns | None = None
    aligns: Literal["", "one query", "all queries"] = ""
    serves: Literal["", "alignment", "posteriors"] = ""
    group: Literal["sequences", "alignment", "table", "annotation", "report"] = "table"
    by_round: bool = False
    is_main: bool = False
    is_of_run: bool = False
    is_exact: bool = False
    has_remarks: bool = True
    needs: LazyImport[Callable[[], object]] | None = None

    @property
    def writer(self) -> Writer:
        """What writes it."""
        write = self.write.get()
        return (lambda source, stream: write(source, stream, self.argument)) if self.argument else write

    def place(self, path: str, number: int = 1) -> str:
        """Return the path that a file has that is named so, of a round where there is one for each.

        Raises
        ------
        OptionError
            If several files are to go to standard output.
        """
        if not self.by_round:
            return path
        if path == "-":
            raise OptionError(
                f"{self.flag} writes a file for each round.", "Give a name that the names of all begin with."
            )
        return f"{path}-{number}{self.ending}"

    def heeds(self, field: str, shape: Shape) -> bool:
        """Return whether a field of a shape makes a difference; clans do wherever overlaps are to be resolved."""
        if field == "provenance":
            return True
        if field == "safe_cells":
            return bool(self.separator)
        return field in self.options or (field == "clans" and bool(shape.overlaps) and "overlaps" in self.options)

    def check(self) -> None:
        """Raise `OptionError` if something that it needs is not installed."""
        if self.needs is not None:
            self.needs.get()()


SPECIES = ("species", "taxonomy", "taxonomy_column")

_ARCHITECTURES, _FILES = "clalign.engines.architectures", "clalign.engines.table_files"

ARCHITECTURE = Export(
    "architecture",
    "--architecture",
    "write a table of sequences with the significant domains of all queries on each, overlaps resolved (--overlaps,"
    " --clans)",
    "Table of domain architectures (TSV)",
    "-architectures.tsv",
    LazyImport(f"{_ARCHITECTURES}:write_architecture"),
    counts="sequence",
    separator="\t",
    options=("overlaps", "clans"),
    is_of_run=True,
)

ARCHITECTURE_GFF3 = Export(
    "architecture_gff3",
    "--architecture-gff3",
    "write the domains of these architectures as GFF3",
    "Domain architectures (GFF3)",
    "-architectures.gff3",
    LazyImport(f"{_ARCHITECTURES}:write_architecture_gff3"),
    counts="domain",
    options=("overlaps", "clans"),
    is_of_run=True,
    group="annotation",
)

FASTA = Export(
    "fasta",
    "--fasta",
    "write the targets found, whole",
    "FASTA, whole targets",
    ".fasta",
    LazyImport("clalign.engines.export_lines:write_fasta"),
    counts="sequence",
    is_exact=True,
    has_remarks=False,
    group="sequences",
)


def matched(what: str, words: str, module: str) -> Export:
    """Return the export of parts of targets that hits cover, in an engine's words, and written by its module."""
    return Export(
        "fasta_matched",
        "--fasta-matched",
        f"write {what}",
        f"FASTA, {words}",
        "-matched.fasta",
        LazyImport(f"{module}:write_matched"),
        counts="matched part",
        options=("flank", "matched_by"),
        is_exact=True,
        has_remarks=False,
        group="sequences",
    )


PLACES = {
    "gff3": ("--gff3", "all domains or alignments as GFF3, in coordinates of their sequences", "(GFF3)", ".gff3"),
    "gff3_genome": (
        "--genome-gff3",
        "them as GFF3 in coordinates of a genome, where names or descriptions of the sequences have them",
        "on the genome (GFF3)",
        "-genome.gff3",
    ),
    "bed": ("--bed", "all domains or alignments as BED", "(BED)", ".bed"),
    "bed_genome": ("--genome-bed", "them as BED in coordinates of a genome", "on the genome (BED)", "-genome.bed"),
}
"""Flag, what is written, how it is called and how files end, by the names of exports of all domains."""

ARCHITECTURES = (
    ARCHITECTURE,
    ARCHITECTURE_GFF3,
    *(
        Export(
            name,
            flag,
            f"write {what}",
            f"All domains {words}",
            ending,
            LazyImport(f"{_ARCHITECTURES}:write_{name}"),
            counts="part",
            options=("overlaps",),
            group="annotation",
        )
        for name, (flag, what, words, ending) in PLACES.items()
    ),
)
"""Exports of every engine whose hits have places on sequences."""


def _table_files(table: str, before: str, ending: str) -> tuple[Export, Export]:
    return (
        Export(
            f"{before}csv",
            f"--{before}csv",
            f"write the table of {table} with commas between (CSV)",
            f"Table of {table} (CSV)",
            f"{ending}.csv",
            LazyImport(f"{_FILES}:write_csv"),
            argument=table,
            counts=table.removesuffix("s"),
            separator=",",
            options=SPECIES,
            has_remarks=False,
        ),
        Export(
            f"{before}parquet",
            f"--{before}parquet",
            f"write the table of {table}, unrounded, as Parquet (needs pyarrow)",
            f"Table of {table} (Parquet)",
            f"{ending}.parquet",
            LazyImport(f"{_FILES}:write_parquet"),
            argument=table,
            counts=table.removesuffix("s"),
            options=SPECIES,
            is_exact=True,
            needs=LazyImport(f"{_FILES}:check_arrow"),
        ),
    )


HIT_FILES = _table_files("hits", "", "")
DOMAIN_FILES = _table_files("domains", "dom", "-domains")
"""Beside the tab-separated tables."""

ALIGNMENTS = tuple(
    Export(
        name,
        f"--{name}",
        text,
        f"{words}, hits of one query",
        f".{name}",
        LazyImport(f"clalign.engines.hit_alignments:write_{name}"),
        counts="row",
        aligns="one query",
        group="alignment",
        is_exact=True,
        has_remarks=False,
    )
    for name, words, text in (
        (
            "afa",
            "Aligned FASTA",
            "write the hits of a query, in hmmscan of a profile, aligned to it, as aligned FASTA: upper case, gaps as"
            " dashes",
        ),
        ("a2m", "A2M", "write the same as A2M: residues between the columns of the query in lower case"),
    )
)
"""Exports of every engine whose hits have paths. They are written last, since they refuse a list of pairs with several
queries, of which all else is written."""

QUERIES, MATRIX = OVERVIEW = (
    Export(
        "queries",
        "--query-table",
        "write a table of the queries, in hmmscan of the profiles: hits, best E-value and score, coverage",
        "Table of queries (TSV)",
        "-queries.tsv",
        LazyImport("clalign.engines.overview:write_queries"),
        counts="line",
        separator="\t",
        is_of_run=True,
    ),
    Export(
        "matrix",
        "--hit-matrix",
        "write the scores of targets (lines) with queries (columns), in hmmscan of sequences with profiles, alike"
        " ones beside each other",
        "Scores of targets with queries (TSV)",
        "-matrix.tsv",
        LazyImport("clalign.engines.overview:write_matrix"),
        counts="target",
        separator="\t",
        is_of_run=True,
    ),
)
"""Exports of every engine that has hits of queries."""

_COLUMNS = NamedColumns(
    "BLAST's table", "Names of columns in their order; std are the usual twelve", WORDS, columns_of, "std", "6 "
)

BLAST, BLAST_WITH_COMMENTS = BLAST_TABLES = (
    Export(
        "outfmt",
        OPTIONS["columns"].flag,
        OPTIONS["columns"].help,
        "BLAST's table (outfmt 6)",
        "-blast.tsv",
        LazyImport("clalign.engines.blast_tables:write_outfmt"),
        counts="line",
        separator="\t",
        options=("columns", *SPECIES),
        columns=_COLUMNS,
        is_main=True,
    ),
    Export(
        "outfmt7",
        "",
        "",
        "BLAST's table with comments (outfmt 7)",
        "-blast.txt",
        LazyImport("clalign.engines.blast_tables:write_outfmt7"),
        counts="line",
        options=("columns", *SPECIES[1:]),
        columns=_COLUMNS,
    ),
)
"""Exports of every engine whose hits have alignments of two sides."""

REPORT = Export(
    "html",
    "--html",
    "write a report with pictures, methods and tables as one HTML file",
    "Report with pictures, one file (HTML)",
    "-report.html",
    LazyImport("clalign.engines.report:write_html"),
    options=("overlaps", "clans", "listed"),
    group="report",
)
