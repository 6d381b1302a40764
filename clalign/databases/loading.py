"""Loading of sequence files: recognized, encoded once into packed databases, and mapped from the cache."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec.structs import asdict

from clalign import tracing
from clalign.databases import cache, packed
from clalign.databases.cache_root import FOLDER_VARIABLE
from clalign.databases.packing import pack
from clalign.databases.reports import Facts, InputReport, code_counts, make_report
from clalign.errors import ExitCode, InputError, OptionError, OutputError, quoted
from clalign.formats.a3m import check_columns, is_a3m
from clalign.formats.blocks import Reading
from clalign.formats.readers import ALIGNMENTS, FORMATS
from clalign.formats.recognize import identify
from clalign.formats.sources import PathLike, Source, TextReader, opened, path_text
from clalign.formats.tally import BLANKS, DIGITS, GAPS, Finding
from clalign.jobs import JobContext, QuietContext
from clalign.values.alphabets import ALPHABETS, N_CODES, OTHER_CODE, Alphabet
from clalign.values.sequences import SequenceDatabase

MAX_REBUILDS = 3
"""Limit of the attempts to rebuild an entry of the cache before the disk is blamed."""

HMMER_NAMES = {
    "afa": "fasta", "a2m": "fasta", "pfam": "stockholm", "clustallike": "clustal", "phylips": "phylip",
    "ddbj": "genbank",
}  # fmt: skip
"""HMMER's names of formats that have other names here; in the first two, gaps are left out."""


UNSUPPORTED = ("psiblast", "hmmpgmd", "ncbi", "fmindex", "daemon")
"""HMMER's names of formats that cannot be read here."""


class UnknownFormat(OptionError):
    """An unknown or unsupported name of a format of sequences.

    Parameters
    ----------
    name : str
        The name that was given.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, name: str) -> None:
        reason = (
            "is a format of HMMER that is not supported here"
            if name.lower() in UNSUPPORTED
            else ("is not a recognized sequence file format")
        )
        super().__init__(f"{quoted(name)} {reason}.", f"Give one of: {', '.join(('auto', *FORMATS, *HMMER_NAMES))}.")


def load_database(
    path: PathLike, *, alphabet: str = "auto", sequence_format: str = "auto", context: JobContext | None = None
) -> tuple[SequenceDatabase, InputReport]:
    """Open a sequence file as a database.

    The first time, the file is encoded into the cache; later the cache is mapped at once.

    Parameters
    ----------
    path : path
        The file; ``-`` is standard input.
    alphabet : str
        ``auto``, ``amino``, ``dna`` or ``rna``.
    sequence_format : str
        ``auto`` or one of `FORMATS`.
    context : JobContext, optional
        Receives the progress; may cancel.

    Raises
    ------
    InputError
        If no sequences can be read from the file.
    OutputError
        If the cache cannot be written.
    OptionError
        If the path is none, or the alphabet or the format (`UnknownFormat`) has an unknown name.
    """
    path, context = path_text(path, "path"), context or QuietContext()
    chosen = _alphabet(alphabet)
    given, sequence_format = sequence_format, sequence_format.lower()
    if sequence_format not in ("auto", *FORMATS, *HMMER_NAMES):
        raise UnknownFormat(given)
    folder = cache.cache_folder()
    cache.prepare(folder)
    with opened(path, folder, context) as source:
        name = HMMER_NAMES.get(sequence_format, sequence_format)
        if sequence_format == "auto":
            name = identify(source).sequence_format()
        with tracing.span("checksum of the sequences", "reading"):
            sums = cache.checksums_of(source, context)
        guessed = sequence_format in ("auto", "afa", "a2m")
        entry = cache.entry_folder(folder, sums.sha256, name if guessed else f"given {name}")
        known = _facts_of(entry)
        facts = known or _encode(source, name, entry, context, guessed, sums.crc32)
        guess, report = make_report(facts, chosen, path, sums.sha256, source.compression)
        rebuild = _rebuilding(source, name, entry, context, guessed, sums.crc32)
        opening = partial(packed.open_packed, entry, guess, path, sums.sha256, facts.n_empty, rebuild)
        try:
            database = opening()
        except (OSError, ValueError, packed.DamagedPack):
            rebuild()
            database = opening()
        if source.is_copy:  # it could not be rebuilt later
            database.read_through()
    cache.mark_used(entry)
    cache.shrink_to_limit(entry, has_grown=known is None)
    return database, report


def _alphabet(name: str) -> Alphabet | None:
    if name == "auto":
        return None
    try:
        return ALPHABETS[{"protein": "amino"}.get(name, name)]
    except KeyError:
        raise OptionError(f'There is no alphabet "{name}".', "Give one of: auto, amino, dna, rna.") from None


def _facts_of(entry: Path) -> Facts | None:
    """Return the facts of an entry of the cache; None without one. A damaged one is removed."""
    if not entry.exists():
        return None
    try:
        facts = packed.read_manifest(entry).facts
        facts.pop("source", None)
        return Facts(**facts)
    except (packed.DamagedPack, TypeError):
        cache.discard(entry)
        return None


class _SilentContext(QuietContext):
    """A context that reports nothing of a repair, but can be cancelled."""

    def __init__(self, context: JobContext) -> None:
        self._context = context

    def check(self) -> None:
        self._context.check()


def _rebuilding(
    source: Source, name: str, entry: Path, context: JobContext, guessed: bool, checksum: int
) -> Callable[[], None]:
    """Return a function that rebuilds a damaged entry from its file, with the arguments of `_encode`."""
    attempts = itertools.count(1)

    def rebuild() -> None:
        if next(attempts) > MAX_REBUILDS or not cache.discard(entry):
            raise OutputError(
                f"The files in {entry} are damaged whenever they are read.",
                f"Check this disk, or set {FOLDER_VARIABLE} to a folder on another one.",
            )
        try:
            _encode(source, name, entry, _SilentContext(context), guessed, checksum)
        except InputError as error:
            raise InputError(
                source.label,
                "its prepared copy is damaged, and the file has changed or is missing.",
                "Restore the file, or search again.",
            ) from error

    return rebuild


def _encode(source: Source, name: str, entry: Path, context: JobContext, guessed: bool, checksum: int) -> Facts:
    """Encode a file into the cache; gaps of aligned FASTA are only left out where the format was guessed.

    `checksum` is the CRC-32 of the content that the entry stands for.
    """
    if name == "a3m":
        check_columns(TextReader(source, context))
    with tracing.span("encode sequences", "reading"), cache.new_entry(entry) as working, cache.writable(entry.parent):
        reading, lengths = _pack(source, name, working, context, name in ALIGNMENTS, checksum)
        aligned = _aligned_fasta(source, name, reading, lengths, context) if guessed else None
        if aligned is not None:
            name = aligned
            reading, lengths = _pack(source, "a3m" if name == "a3m" else "fasta", working, context, True, checksum)
        _note_findings(reading, lengths, working)
        facts = _facts(name, reading, lengths)
        packed.write_manifest(working, {**asdict(facts), "source": source.label})
    return facts


def _pack(
    source: Source, name: str, working: Path, context: JobContext, drop_gaps: bool, checksum: int
) -> tuple[Reading, packed.LengthFacts]:
    reading, lengths = pack(source, name, working, context, drop_gaps)
    reading.text.check_same(checksum)
    _refuse_without_residues(reading, lengths)
    return reading, lengths


def _refuse_without_residues(reading: Reading, lengths: packed.LengthFacts) -> None:
    if lengths.total:
        other = int(code_counts(reading.tally.counts, N_CODES)[OTHER_CODE])
        if 2 * other > lengths.total:
            raise reading.text.error(
                f"most characters ({other:,} of {lengths.total:,}) are not residues.",
                "Check whether this is the right file.",
            )
        return
    if "no_sequence" in reading.findings.found:
        raise reading.text.error(
            "its entries only describe sequences; the residues are not in this file.",
            "Download the entries with their sequences (FASTA, or the full record).",
        )
    if lengths.n == 0:
        raise reading.text.error("there are no sequences in this file.", "Check whether this is the right file.")
    if reading.tally.counts[list(DIGITS)].any():
        records = "its only record holds" if lengths.n == 1 else f"its {lengths.n:,} records hold"
        raise reading.text.error(
            f"{records} numbers instead of residues; these may be quality values.",
            "Choose the file with the sequences.",
        )


def _aligned_fasta(
    source: Source, name: str, reading: Reading, lengths: packed.LengthFacts, context: JobContext
) -> str | None:
    """Return the format of a FASTA file whose rows are aligned: with gaps and equal numbers of columns; else None."""
    if name != "fasta" or lengths.n < 2:
        return None
    counts, has_gaps = reading.tally.counts, _n_gaps(reading) > 0
    if has_gaps and lengths.shortest == lengths.longest:
        return "aligned fasta"
    may_be_a3m = counts[ord("#")] or (has_gaps and counts[ord("a") : ord("z") + 1].any())
    return "a3m" if may_be_a3m and is_a3m(TextReader(source, context)) else None


def _n_gaps(reading: Reading) -> int:
    return int(reading.tally.counts[list(GAPS)].sum())


def _note_findings(reading: Reading, lengths: packed.LengthFacts, working: Path) -> None:
    """Add the findings about the whole file: repeated names, empty records, gaps left out."""
    duplicates = packed.find_duplicates(working)
    found = reading.findings.found
    if duplicates.first is not None:
        found["duplicate_names"] = Finding(
            duplicates.count, duplicates.lines, packed.name_of(working, duplicates.first)
        )
    if lengths.n_empty:
        found["empty"] = Finding(lengths.n_empty, lengths.empty_lines)
    if reading.drop_gaps and (gaps := _n_gaps(reading)):
        found["gaps_dropped"] = Finding(gaps)


def _facts(name: str, reading: Reading, lengths: packed.LengthFacts) -> Facts:
    counts, ends = reading.tally.counts, reading.text.line_ends
    used = [byte for byte in counts.nonzero()[0].tolist() if byte not in BLANKS]
    return Facts(
        format=name,
        line_ends={"lf": ends.lf, "crlf": ends.crlf, "cr": ends.cr, "final": int(ends.final)},
        byte_counts={str(byte): int(counts[byte]) for byte in used},
        byte_lines={str(byte): lines for byte, lines in reading.tally.lines.items()},
        byte_records={str(byte): name for byte, name in reading.tally.records.items()},
        findings={kind: asdict(finding) for kind, finding in reading.findings.found.items()},
        n_sequences=lengths.n,
        n_residues=lengths.total,
        n_empty=lengths.n_empty,
        shortest=lengths.shortest,
        longest=lengths.longest,
        length_histogram=lengths.histogram(),
    )
