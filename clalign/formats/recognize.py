"""Recognition of the formats of files by their content; names of files do not count."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from clalign.errors import InputError
from clalign.formats.compression import compression_of
from clalign.formats.sources import NEW_COPY_HINT, Source, head_of, opened

FileKind = Literal["profiles", "sequences", "alignment", "run"]

HMMER3_BINARY = "HMMER3 binary"
"""The format of a library that hmmpress made."""

HMMER3_BINARY_MAGIC = 0xE8EDEDBA.to_bytes(4, "little")
"""First bytes of that format: 3/f, which HMMER has written since 3.1."""

RUN_APPLICATION = b"clal"
"""The application id in the header of the SQLite file of a run."""

CONVERT = "Convert it to FASTA or Stockholm, for example with seqret."


class Identity(Struct, frozen=True):
    """The kind and the format of a file.

    Attributes
    ----------
    path : str
    kind : str or None
        The kind of file, as far as it can be read, else None.
    format : str
        Short name of a format that can be read, or the description of one that cannot.
    hint : str
        What to do about a format that cannot be read.
    """

    path: str
    kind: FileKind | None
    format: str
    hint: str = ""

    def sequence_format(self) -> str:
        """Return the format of sequences or an alignment; refuse anything else."""
        if self.kind in ("sequences", "alignment"):
            return self.format
        raise self._refusal("a sequence file")

    def alignment_format(self) -> str:
        """Return the format of a file that may be an alignment; refuse anything else."""
        if self.kind is None:
            raise self._refusal("an alignment")
        if self.kind == "alignment" or self.format == "fasta":
            return self.format
        hint = "Give an alignment: Stockholm, Clustal, aligned FASTA, A3M, SELEX, PHYLIP, MSF, NEXUS or BAliBASE XML."
        raise InputError(self.path, f"this is {self._what(self.kind)}, not an alignment.", hint)

    def profile_format(self) -> str:
        """Return the format of profiles; refuse anything else."""
        if self.kind == "profiles":
            return self.format
        raise self._refusal("a file of profile HMMs")

    def any_kind(self) -> FileKind:
        """Return the kind of a file that can be read; refuse others."""
        if self.kind is not None:
            return self.kind
        raise self._refusal("a file to open")

    def _refusal(self, wanted: str) -> InputError:
        if self.kind is None:
            return InputError(self.path, f"this is {self.format}, which cannot be read.", self.hint)
        return InputError(self.path, f"this is {self._what(self.kind)}, not {wanted}.", _HINTS[self.kind])

    def _what(self, kind: FileKind) -> str:
        return {
            "profiles": f"a profile HMM file ({self.format})",
            "sequences": f"a sequence file ({self.format})",
            "alignment": f"an alignment ({self.format})",
            "run": "a clalign file with results",
        }[kind]


_HINTS = {
    "profiles": "Use it as the profile, and choose a file of sequences as well.",
    "sequences": "Use it as the sequences; hmmbuild makes a profile from an alignment.",
    "alignment": "Make a profile from it with hmmbuild, or use it as the sequences.",
    "run": "Open it in the window, or use: clalign resume, verify or export.",
}


def recognize(path: str) -> FileKind:
    """Return the kind of a file.

    Raises
    ------
    InputError
        If it cannot be read; the message says what the file seems to be.
    """
    with opened(path) as source:
        return identify(source).any_kind()


def identify(source: Source) -> Identity:
    """Return the kind and the format of a file from its first bytes."""
    head = head_of(source)
    return _binary(head, source) or identify_text(head, source.label)


def identify_text(text: bytes, name: str) -> Identity:
    """Return the kind and the format of text from its beginning; `name` is what a person knows it by."""
    return _text(text, name) or Identity(name, None, "text of an unknown kind", _known_kinds())


def _known_kinds() -> str:
    return (
        "Sequences can be read from FASTA, FASTQ, GenBank, EMBL, UniProt, Stockholm, Clustal, A3M, SELEX, PHYLIP, MSF,"
        " NEXUS and BAliBASE files."
    )


_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"%PDF", "a PDF document", "Choose the file with the data."),
    (b"PK\x03\x04", "a zip archive or an Office document", "Unpack it, and choose the file in it."),
    (b"PK\x05\x06", "an empty zip archive", "Choose another file."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it, and choose the file in it."),
    (b"Rar!", "a RAR archive", "Unpack it, and choose the file in it."),
    (b"\x89PNG", "a PNG image", "Choose the file with the data."),
    (b"\xff\xd8\xff", "a JPEG image", "Choose the file with the data."),
    (b"GIF8", "a GIF image", "Choose the file with the data."),
    (b"II*\0", "a TIFF image", "Choose the file with the data."),
    (b"MM\0*", "a TIFF image", "Choose the file with the data."),
    (b"\x7fELF", "a program", "Choose the file with the data."),
    (b"MZ\x90", "a program", "Choose the file with the data."),
    (b"BAM\x01", "a BAM file of mapped reads", "Convert it with: samtools fasta."),
    (b"CRAM", "a CRAM file of mapped reads", "Convert it with: samtools fasta."),
    (b"\x43\x27\x41\x1a", "a 2bit file", "Convert it with: twoBitToFa."),
    (b"\x1a\x41\x27\x43", "a 2bit file", "Convert it with: twoBitToFa."),
    (b".snf", "an SFF or SRA file", "Convert it to FASTQ."),
    (b".sff", "an SFF file of reads", "Convert it to FASTQ."),
    (b"NCBI.sra", "an SRA archive of reads", "Convert it with: fasterq-dump."),
    (b"\x89HDF", "an HDF5 file", "Export the sequences from the program that made it."),
    (b"\xff\xfe", "text in UTF-16", "Save it as plain text (UTF-8)."),
    (b"\xfe\xff", "text in UTF-16", "Save it as plain text (UTF-8)."),
    (b"\xd0\xcf\x11\xe0", "an old Office document", "Save it as plain text."),
    (b"{\\rtf", "an RTF document", "Save it as plain text."),
)

_HMM_HINT = "Choose the text file it was made from, or convert it with: hmmconvert (hmm2convert for HMMER2)."
_PRESSED_HINT = "Choose the file of this library that ends in .h3m, or the text file it was made from."


def _binary(head: bytes, source: Source) -> Identity | None:
    path = source.label
    if head.startswith(b"SQLite format 3\0"):
        if head[68:72] == RUN_APPLICATION:
            return Identity(path, "run", "clalign")
        return Identity(path, None, "an SQLite database of another program", "Open it with that program.")
    for signature, what, hint in _SIGNATURES:
        if head.startswith(signature):
            return Identity(path, None, what, hint)
    if source.compression != "none" and compression_of(head) != "none":
        return Identity(path, None, "a file that was compressed twice", "Unpack it once, and choose the result.")
    if head[257:262] == b"ustar":
        return Identity(path, None, "a tar archive", "Unpack it, and choose the file in it.")
    if head.startswith(HMMER3_BINARY_MAGIC):
        return Identity(path, "profiles", HMMER3_BINARY)
    if profile := _binary_profile(head):
        return Identity(path, None, *profile)
    if b"\0" in head and head.lstrip()[:1] not in (b">", b"@", b";"):
        return Identity(path, None, "binary data", f"Choose a text file. {_known_kinds()}")
    return None


def _binary_profile(head: bytes) -> tuple[str, str] | None:
    """Return the description of an unsupported binary file of HMMER, and what to do; None for other files.

    Such files begin with four bytes of letters or digits whose highest bit is set, in either order.
    """
    word = head[:4]
    if len(word) < 4 or sum(byte >= 0x80 for byte in word) < 3:
        return None
    forms = (word, word[::-1])
    if any(form[:3] == b"\xe8\xed\xed" for form in forms):
        last = (word if word[0] == 0xE8 else word[::-1])[3]
        version = 1 if last < 0xB5 and last != 0xB0 else 2 if last == 0xB5 else 3
        return f"a binary HMMER{version} profile file{' of another version or machine' * (version == 3)}", _HMM_HINT
    letters = [bytes(byte & 0x7F for byte in form) for form in forms]
    if any(re.fullmatch(rb"3[a-z][fp][a-z]|SSI3", text) for text in letters):
        return "a binary file made by hmmpress", _PRESSED_HINT
    return None


def _text(head: bytes, path: str) -> Identity | None:
    text = head.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").lstrip()
    if not text:
        return Identity(path, None, "a file of blanks only", "Check whether it was written completely.")
    for begin, kind, name in _READ:
        if begin.match(text):
            return Identity(path, kind, name)
    if gcg := _gcg(text, path):
        return gcg
    for pattern, what, hint in _REFUSED:
        if pattern.search(text):
            return Identity(path, None, what, hint)
    for look in (_fasta_program, _fasta_like, _flat_file, _fastq_like, _plain):
        found = look(text, path)
        if found is not None:
            return found
    return None


_Kinds = tuple[tuple[re.Pattern[bytes], FileKind, str], ...]

_READ: _Kinds = (
    (re.compile(rb"HMMER2\.0"), "profiles", "HMMER2"),
    (re.compile(rb"HMMER3/[a-z]"), "profiles", "HMMER3"),
    (re.compile(rb"# STOCKHOLM 1\."), "alignment", "stockholm"),
    (
        re.compile(rb"(CLUSTAL|MUSCLE|PROBCONS|MSAPROBS|Kalign|T-COFFEE|PROMALS|EASEL \()\b.*\n", re.IGNORECASE),
        "alignment",
        "clustal",
    ),
    (re.compile(rb"#NEXUS", re.IGNORECASE), "alignment", "nexus"),
    (re.compile(rb"(<\?xml[^>]*>\s*)?<(!DOCTYPE )?macsim\b"), "alignment", "balibase"),
    (re.compile(rb"\d+[ \t]+\d+(?:[ \t]*[A-Z]+)?[ \t]*\n"), "alignment", "phylip"),
    (re.compile(rb"# SELEX|#=(ID|AC|DE|AU|SQ|RF|CS) "), "alignment", "selex"),
)

_FROM_TABLE = "Choose the file of the sequences that were searched."

_REFUSED: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern), what, hint)
    for pattern, what, hint in (
        (rb"\A(# HMM v|HMMER v?1\.|HMMER1)", "a HMMER1 profile", "Rebuild the model from its alignment with hmmbuild."),
        (rb"\A(HMMER|NHMMER)\S*", "a HMMER profile of an unknown version", "Convert it with hmmconvert."),
        (rb"\AINFERNAL", "a covariance model of Infernal", "Choose a profile HMM; search this one with cmsearch."),
        (rb"\A#mega|\A#MEGA", "a MEGA alignment", CONVERT),
        (rb"\A!!(AA|NA)_", "a GCG sequence file", CONVERT),
        (rb"\A!!", "a GCG list or result file", "Choose the file with the sequences."),
        (rb"(?i)\A<!doctype html|\A<html", "a web page (HTML)", "Save the data instead of the page."),
        (rb"\A<", "an XML file", "Get the sequences in FASTA from the same source."),
        (rb"\A[\[{]\s*[\[{\"]", "a JSON file", "Get the sequences in FASTA from the same source."),
        (rb"\A\([^)\n]*,", "a tree (Newick)", "Choose the file with the sequences."),
        (rb"\A##gff", "a GFF annotation file", "Choose the file with the sequences."),
        (rb"\A##fileformat=VCF", "a VCF file of variants", "Choose the file with the sequences."),
        (rb"\A@(HD|SQ|RG|PG|CO)\t", "a SAM file of mapped reads", "Convert it with: samtools fasta."),
        (rb"\A(\\+\n)?ENTRY\s", "a CODATA entry", CONVERT),
        (rb"\A(T?BLAST[NPX])\s+\d", "a result of BLAST", "Choose the file with the sequences."),
        (rb"\A(# hmmsearch|hmmsearch - search)", "a result of hmmsearch", "Choose the profile or the sequences."),
        (rb"\A# *-+ (full sequence|this domain)|\A# target name ", "a table of hits (HMMER)", _FROM_TABLE),
        (rb"\A# T?BLAST[NPX] \d|\A\S+\t\S+\t\d+(\.\d+)?(\t\d+){7}\t", "a table of hits (BLAST)", _FROM_TABLE),
    )
)


def _gcg(text: bytes, path: str) -> Identity | None:
    """Recognize the files of GCG by the line that ends with two dots."""
    if text[:1] in (b">", b";", b"@"):
        return None
    lines = [line for line in text.split(b"\n") if line.rstrip().endswith(b"..")]
    if any(b"Check:" in line.partition(b"MSF:")[2] for line in lines):
        return Identity(path, "alignment", "msf")
    if any(b"Check:" in line.partition(b"Length:")[2] for line in lines):
        return Identity(path, None, "a GCG sequence file", CONVERT)
    return None


_FASTA_PROGRAM = re.compile(rb"(FASTA|SSEARCH|TFASTX) (searches|compares|translates)")


def _fasta_program(text: bytes, path: str) -> Identity | None:
    """Recognize results of the FASTA programs by their first two lines."""
    if any(_FASTA_PROGRAM.search(line) for line in text.split(b"\n", 2)[:2]):
        return Identity(path, None, "a result of the FASTA programs", "Choose the file with the sequences.")
    return None


_SELEX_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~* \t"

A3M_ANNOTATION = re.compile(rb">(ss|sa|aa)_(pred|conf|dssp)")
"""Pattern of headers of HH-suite's secondary structures in A3M, which are not sequences."""

_PIR = re.compile(rb"\A>(P1|F1|D1|DL|DC|RL|RC|N1|N3|XX);")


def _fasta_like(text: bytes, path: str) -> Identity | None:
    """Recognize FASTA, A3M and the formats that begin like them."""
    if _PIR.match(text):
        return Identity(path, None, "a PIR (NBRF) file", CONVERT)
    if text.startswith(b";"):
        first = next((line for line in text.split(b"\n") if line.strip() and not line.startswith(b";")), b"")
        if not first.startswith(b">"):
            return Identity(
                path, None, "not FASTA although it begins with ; (perhaps an IntelliGenetics or MASE file)", CONVERT
            )
    if _is_annotated_a3m(text):
        return Identity(path, "alignment", "a3m")
    if text[:1] in (b">", b";"):
        return Identity(path, "sequences", "fasta")
    return None


def _is_annotated_a3m(text: bytes) -> bool:
    """Return whether comments stand before the first header, as in files of ColabFold, or there is annotation."""
    lines = text[: text.rfind(b"\n") + 1].split(b"\n")
    if any(map(A3M_ANNOTATION.match, lines)):
        return True
    after = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    # A line of several words is not one of residues.
    return (
        after.startswith(b">")
        and lines[0].startswith(b"#")
        and all(line.startswith((b"#", b">", b";")) or len(line.split()) < 2 for line in lines)
    )


def _flat_file(text: bytes, path: str) -> Identity | None:
    """Recognize GenBank, EMBL and UniProt, and their relatives."""
    if re.match(rb"LOCUS\s", text) or (b"Genetic Sequence Data Bank" in text[:400] and b"\nLOCUS " in text):
        return Identity(path, "sequences", "genbank")
    if re.match(rb"ID   .*; (PATTERN|MATRIX|RULE)\.", text):
        return Identity(path, None, "a PROSITE entry", "Choose the file with the sequences.")
    if re.match(rb"ID   .*\bAA\.", text):
        return Identity(path, "sequences", "uniprot")
    if text.startswith(b"ID   ") and re.search(rb"\n(SQ|CO)   ", text):
        return Identity(path, "sequences", "embl")
    if text.startswith(b"ID   ") and not re.search(rb"\n(AL|LA) ", text):
        return Identity(path, "sequences", "embl")
    if re.match(rb"(DEFINITION|ACCESSION)  ", text):
        hint = f"Add the LOCUS line. Or: {NEW_COPY_HINT}"
        return Identity(path, None, "a GenBank entry without its LOCUS line", hint)
    if re.match(rb"(AC|DE|KW|OS|DT|XX)( |\n)", text) and re.search(rb"\nXX\n|\n//", text):
        hint = f"Add the ID line. Or: {NEW_COPY_HINT}"
        return Identity(path, None, "an EMBL or UniProt entry without its ID line", hint)
    return None


def _fastq_like(text: bytes, path: str) -> Identity | None:
    if re.match(rb"@.*\n[A-Za-z.*~\-]*[ \t]*(\n|\Z)", text):
        return Identity(path, "sequences", "fastq")
    return None


def _is_selex(text: bytes) -> bool:
    """Return whether each line is a unique name and residues, and neighboring lines end in the same column."""
    names: list[bytes] = []
    widths: list[int] = []

    def is_block() -> bool:
        return len(set(names)) == len(names) > 1 and min(widths) == max(widths)

    for line in text[: text.rfind(b"\n") + 1].split(b"\n"):
        if line.startswith((b"#", b"%")):
            continue
        if not line.strip():
            if names:
                return is_block()
            continue
        name, *rest = line.split(None, 1)
        if not rest or rest[0].translate(None, _SELEX_LETTERS):
            return False
        names.append(name)
        widths.append(len(line.rstrip()))
    return is_block()


def _plain(text: bytes, path: str) -> Identity | None:
    """Recognize FASTA after other text, which its reader refuses, SELEX, and sequences without a header."""
    if re.search(rb"(?m)^>", text):
        return Identity(path, "sequences", "fasta")
    if _is_selex(text):
        return Identity(path, "alignment", "selex")
    if re.fullmatch(rb"[A-Za-z*\-\s\d]+", text) and len(re.findall(rb"[A-Za-z]{10}", text)) > len(text) / 40:
        hint = "Add a header line such as >name."
        return Identity(path, None, "a plain sequence without a header line", hint)
    return None
