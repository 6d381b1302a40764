"""The files that a command writes, and what shapes them: known from the flags, and checked before anything is done."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from clalign.cli.options import TEXT_WIDTH
from clalign.cli.parser import UsageError
from clalign.engines.commands import Output
from clalign.engines.outputs import FLANKED, WITH_SPECIES
from clalign.errors import OptionError
from clalign.formats.writers import COMMA_SEPARATED, TAB_SEPARATED

HIT_TABLES = (*WITH_SPECIES, "outfmt")

DOMAIN_PLACES = ("architecture", "architecture_gff3", "gff3", "gff3_genome", "bed", "bed_genome", "html")

SHAPES = {
    "alignments": ("--noali", ()), "width": ("--textw", ()), "accessions": ("--acc", ()),
    "safe_cells": ("--safe-tsv", (*TAB_SEPARATED, *COMMA_SEPARATED)), "overlaps": ("--overlaps", DOMAIN_PLACES),
    "clans": ("--clans", DOMAIN_PLACES), "flank": ("--flank", FLANKED), "species": ("--species", HIT_TABLES),
    "taxonomy": ("--taxonomy", HIT_TABLES), "taxonomy_column": ("--taxonomy-column", HIT_TABLES),
    "matched_by": ("--with-matched-by", ("fasta_matched",)), "provenance": ("--with-provenance", ()),
    "listed": ("--html-hits", ("html",)),
}  # fmt: skip
"""Flags that shape texts and tables, by the fields of `Outputs`, and the exports that they shape.

Those of the text, which scripts for HMMER give in any case, name none.
"""

RULED = ("architecture", "architecture_gff3", "html")
"""Exports that look at clans without ``--overlaps``."""


ALIGNED = ("stockholm", "afa", "a2m")
"""Exports of which a search writes only what is significant, as hmmsearch does of ``-A``."""


class Outputs(Struct, frozen=True):
    """Which files to write.

    Attributes
    ----------
    files : tuple of (str, str)
        What (an export's name) and where; ``-`` is standard output.
    alignments : bool
        Whether the text shows alignments.
    width : int
        Its longest line; 0 for no limit.
    accessions : bool
        Whether it shows accessions in place of names.
    columns : str
        Columns of the table of a pairwise search, as after ``--outfmt``.
    safe_cells : bool
        Whether no cell of a tab-separated table looks like a formula.
    overlaps, clans : str
        What is done with domains that overlap, and the table of clans.
    flank : int
        Residues on either side that parts of sequences are written with.
    species : bool
        Whether tables have a column of species.
    taxonomy, taxonomy_column : str
        The table that species are looked up in, and which of its columns.
    matched_by : bool
        Whether the descriptions of parts of sequences say what they were matched by.
    provenance : bool
        Whether a file beside each says where it comes from.
    listed : int or None
        Hits of each query in a report; 0 for all, None for what is usual.
    """

    files: tuple[tuple[str, str], ...]
    alignments: bool
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

    @property
    def shape(self) -> dict[str, Any]:
        """Fields of the `Choice` of every export."""
        fields = asdict(self)
        del fields["files"]
        return {**fields, "species": self.species or bool(self.taxonomy)}

    def choice(self, what: str) -> dict[str, Any]:
        """Return the fields of the `Choice` of an export of a search that goes on."""
        alignment_file = dict(self.files).get("stockholm", "")
        return {**self.shape, "significant": what in ALIGNED, "alignment_file": alignment_file}

    @property
    def shaped(self) -> dict[str, Any]:
        """The fields of `SHAPES` that are not as usual."""
        usual = {"width": TEXT_WIDTH, "alignments": True, "listed": None}
        values = {field: getattr(self, field) for field in SHAPES}
        return {field: value for field, value in values.items() if value != usual.get(field, type(value)())}

    def check_shapes(self, command: str, flags: Mapping[str, str]) -> None:
        """Refuse flags that would have no effect, as nothing is written that they shape.

        Parameters
        ----------
        command : str
        flags : mapping of str to str
            Those of the exports that can be had.

        Raises
        ------
        UsageError
            If there is one.
        """
        written = {what for what, _ in self.files}
        for field in self.shaped:
            flag, exports = SHAPES[field]
            exports = RULED if field == "clans" and not self.overlaps else exports
            if not exports or written.intersection(exports):
                continue
            *others, last = [flags[what] for what in exports if what in flags] or [""]
            if not last:
                raise UsageError(command, f"{flag} has no effect on anything that can be written here: leave it out")
            words, add = (f"{', '.join(others)} or {last}", "one of these") if others else (last, "it")
            raise UsageError(command, f"{flag} has no effect without {words}: add {add}, or leave it out")
        if self.clans and self.overlaps in ("best", "all"):
            raise UsageError(command, f"--clans has no effect with --overlaps {self.overlaps}: leave one of them out")

    def check(
        self, inputs: tuple[str, ...] = (), run: str | None = None, trace: str | None = None,
        profiles: str = "", of: str | None = None,
    ) -> None:  # fmt: skip
        """Refuse outputs that could not be written, before anything is computed.

        Parameters
        ----------
        inputs : tuple of str
            Files that must not be overwritten.
        run : str, optional
            The run file that will be made.
        trace : str, optional
            The file of a trace that will be written.
        profiles : str, optional
            The file of profiles, beside which a table of clans may lie; empty for a search without any.
        of : str, optional
            The run file, if there is one already: it knows where its inputs lie.
        """
        from clalign.formats.taxonomy import species_rule

        if self.taxonomy_column and not self.taxonomy:
            raise OptionError("--taxonomy-column is of a table.", "Name the table with --taxonomy.")
        species_rule(self.taxonomy, self.taxonomy_column)
        if any(what in ("parquet", "domparquet") for what, _ in self.files):
            from clalign.engines.table_files import arrow_modules

            arrow_modules()
        if self.clans or self.overlaps == "clans":
            from clalign.engines.architectures import check_clans, check_clans_of_run

            if of is None:
                check_clans(self.clans, self.overlaps, profiles)
            else:
                check_clans_of_run(Path(of), self.clans, self.overlaps)
        if trace == "-":
            raise OptionError("A trace cannot go to standard output.", "Give --profile-run the name of a file.")
        written = (*(path for _, path in self.files), *self._beside(), *([trace] if trace else ()))
        check_places(written, (*inputs, self.taxonomy, self.clans, *(() if of is None else _read_by(of))), run)

    def _beside(self) -> list[str]:
        """Return the files that say where others come from."""
        from clalign.formats.writers import BESIDE, has_neighbors

        if not self.provenance:
            return []
        found = [f"{path}{BESIDE}" for _, path in self.files if has_neighbors(path)]
        if not found:
            raise OptionError("--with-provenance writes a file beside others, and no other is written.", "Name one.")
        return found


def check_places(outputs: Iterable[str], inputs: Iterable[str], run: str | None = None) -> None:
    """Refuse outputs that could not be written, that would replace what is read, or of which two have one place.

    Parameters
    ----------
    outputs, inputs : iterable of str
        Paths; ``-`` is a standard stream, and an empty one is none.
    run : str, optional
        The run file that will be made.

    Raises
    ------
    OptionError
        If two have one place, or one has that of a file that is kept beside a run.
    OutputError
        If one could not be written.
    """
    from clalign.engines.run_sources import is_copy_of
    from clalign.formats.writers import check_writable
    from clalign.runs.side_files import check_output

    taken = {_identity(path): "read" for path in inputs if path != "-" and os.path.exists(path)}
    if run is not None:
        taken[_identity(run)] = "the run"
    for path in outputs:
        if path == "-":
            continue
        place = _identity(path)
        if place in taken and (os.path.isfile(path) or not os.path.exists(path)):
            raise OptionError(f"{path} is {taken[place]} already.", "Give each output a file of its own.")
        taken[place] = "written"
        check_output(path, run)
        if run is not None and is_copy_of(Path(run), path):
            raise OptionError(f"{path} is where the run {run} keeps an input.", "Give the output another name.")
        check_writable(path)


def _identity(path: str) -> tuple[int, int] | str:
    """Return what is the same of all names of a file; where there is none, of the links to its place."""
    try:
        facts = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return facts.st_dev, facts.st_ino


def _read_by(run: str) -> Iterator[str]:
    """Yield a run file and its inputs."""
    from clalign.engines.engine import spec_of
    from clalign.runs.run_file import open_run

    yield run
    with open_run(Path(run)) as found:
        yield from spec_of(found).paths


def add_outputs(group: argparse._ArgumentGroup, outputs: Iterable[Output]) -> None:
    """Add the flags that name output files, and the one that writes others beside them."""
    for one in outputs:
        group.add_argument(*one.flag.split(), dest=f"out_{one.export}", metavar="F", help=one.help)
    group.add_argument("--with-provenance", action="store_true", help="write F.provenance.json beside each file F that"
                       " is written: version, command, inputs with their SHA-256, device, date, which hits were chosen,"
                       " and whether the search is complete")  # fmt: skip


def outputs_of(
    arguments: argparse.Namespace,
    command: str,
    known: Iterable[Output],
    is_text_wanted: bool = True,
) -> Outputs:
    """Return the outputs that the flags name; with none to standard output the text goes there.

    Parameters
    ----------
    arguments : argparse.Namespace
    command : str
    known : iterable of Output
        Those that the command has.
    is_text_wanted : bool
        Whether the text is wanted if no flag says where.

    Raises
    ------
    UsageError
        If two of them go to standard output.
    OptionError
        If ``--outfmt`` names what is no column.
    """
    columns = getattr(arguments, "outfmt", None)
    if columns is not None:
        from clalign.formats.blast_columns import columns_of

        columns_of(columns)
    main = "text" if columns is None else "outfmt"
    named = [(one.export, one.flag, getattr(arguments, f"out_{one.export}")) for one in known]
    files = [(main if name == "text" else name, path) for name, _, path in named if path is not None]
    to_stdout = [flag for _, flag, path in named if path == "-"]
    if is_text_wanted and arguments.out_text is None and not to_stdout:
        files.insert(0, (main, "-"))
    if len(to_stdout) > 1:
        raise UsageError(command, f"only one output can go to standard output, not {' and '.join(to_stdout)}")
    return Outputs(
        tuple(files),
        alignments=not arguments.noali,
        width=arguments.textw,
        accessions=getattr(arguments, "acc", False),
        columns=columns or "",
        safe_cells=arguments.safe_tsv,
        overlaps=arguments.overlaps,
        clans=arguments.clans,
        flank=arguments.flank,
        species=arguments.species,
        taxonomy=arguments.taxonomy,
        taxonomy_column=arguments.taxonomy_column,
        matched_by=arguments.with_matched_by,
        provenance=arguments.with_provenance,
        listed=arguments.html_hits,
    )
