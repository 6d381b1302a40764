"""Files that are refused, and the line that is blamed; what is said of them is in ``tests/golden/messages.txt``."""

from __future__ import annotations

from tests.formats.samples import (
    CLUSTAL,
    EMBL,
    FORMATS,
    GENBANK,
    HMMER2_TEXT,
    MATRIX,
    STOCKHOLM,
    TEN,
    UNIPROT,
    hmmer3_text,
    small_hmmer2,
)

Table = dict[str, tuple[bytes, int | None]]


def encoded(texts: dict[str, tuple[str, int | None]]) -> Table:
    return {name: (text.encode(), line) for name, (text, line) in texts.items()}


FOREIGN: dict[str, bytes] = {
    "pdf": b"%PDF-1.4\n",
    "zip": b"PK\x03\x04rest",
    "sqlite": b"SQLite format 3\0" + bytes(100),
    "png": b"\x89PNG\r\n",
    "elf": b"\x7fELF\x02",
    "bam": b"BAM\x01",
    "utf16": b"\xff\xfe>\0a\0",
    "binary": bytes(range(256)),
    "hmmer2.binary": b"\xb5\xed\xed\xe8rest",
    "hmmer2.other-end": b"\xe8\xed\xed\xb5rest",
    "hmmer3.older-binary": b"\xb0\xed\xed\xe8rest",
    "h3f": b"\xb3\xe6\xe6\xf3rest",
    "h3f.other-end": b"\xf3\xf0\xe6\xb3rest",
    "ssi": b"\xb3\xc9\xd3\xd3rest",
    "latin1": "Sehr geehrte Herren\u00e4\u00f6".encode("latin-1"),
    "chinese": "\u9006\u9007".encode(),
    "infernal": b"INFERNAL1/a [1.1]\n",
    "hmmer1": b"# HMM v1.7\n",
    "hmmer1.9": b"HMMER v1.9\n",
    "hmmer4": b"HMMER4/a\n",
    "gcg": b"x\n\n x Length: 3 Check: 12 ..\n\n 1 MKV\n",
    "pir": b">P1;CCHU\ncytochrome c\nMGDVEKG*\n",
    "intelligenetics": b";comment\nNAME\nACGT1\n",
    "xml": b"<?xml version='1.0'?>\n",
    "html.doctype": b"<!DOCTYPE html>\n",
    "html": b"<html><body>404</body></html>",
    "json": b'{"a": 1}',
    "tree": b"(a:1,(b:2,c:3):4);\n",
    "gff": b"##gff-version 3\n",
    "vcf": b"##fileformat=VCFv4.2\n",
    "sam": b"@HD\tVN:1.6\n@SQ\tSN:x\n",
    "prosite": b"ID   ALDOLASE; PATTERN.\nAC   PS00159;\n",
    "codata": b"ENTRY  CODATA\nSEQUENCE\n",
    "blast": b"BLASTP 2.2.1\n",
    "headless": b"MKVLAAGGSTWYMKVLAAGGSTWY\nMKVLAAGGSTWY\n",
    "genbank.no-locus": b"DEFINITION  x\nACCESSION  y\n",
    "embl.no-id": b"AC   X1;\nXX\nDE   x\nXX\nSQ   x\n//\n",
    "letter": b"A letter to the editor.\nDear Sir,\n",
    "blanks": b" \n\t\n",
}
"""Files of other kinds: no use reads them, and no line is to blame."""

SEQUENCES: Table = {
    "fasta.begins-with-residues": (b"MKV\n>a\nMK\n", 1),
    "fasta.begins-with-text": (b"\n\n  text\n>a\nMK\n", 3),
    "fasta.crlf": (b"\r\n\r\nMK\r\n>a\r\nMK\r\n", 3),
    "fasta.nul": (b">a\r\nMK\r\nMK\0V\r\n", 3),
    "fasta.qualities": (b">a\n10 20 30\n", None),
    "fasta.no-residues": (b">a\n@@@@####\n", None),
    "fastq.short-qualities": (b"@a\nACGT\n+\nIII\n", 1),
    "fastq.no-plus": (b"@a\nACGT\n", 1),
    "fastq.no-qualities": (b"@a\nACGT\n+\n", 1),
    "fastq.long-qualities": (b"@a\nACGT\n+\nIIIII\n", 4),
    "fastq.other-name": (b"@a\nACGT\n+b\nIIII\n", 3),
    "fastq.two-records": (b"@a\nACGT\n@b\nACGT\n+\nIIII\n", 3),
    "fastq.blank": (b"@a\nACGT\n+\nI I\n", 4),
    "fastq.no-header": (b"@a\nACGT\n+\nIIII\nACGT\n", 5),
    **{
        f"{name}.{lost}-bytes-lost": (data[:-lost], line)
        for name, data, line in (("genbank", GENBANK, 15), ("embl", EMBL, 1), ("uniprot", UNIPROT, 1))
        for lost in (60, 100)
    },
    "genbank.no-sequence": (GENBANK[: GENBANK.index(b"ORIGIN\n")] + b"CONTIG      join(X1:1..75)\n//\n", None),
    "genbank.no-end": (GENBANK.replace(b"acagt\n//", b"acagt\n"), 15),
    "genbank.late-features": (GENBANK.replace(b"acagt\n//", b"acagt\nDEFINITION  Another\n//"), 14),
    "stockholm.unequal": (STOCKHOLM.replace(b"two/4-9   -A\n", b"two/4-9   -AA\n"), 10),
    "stockholm.no-residues": (STOCKHOLM.replace(b"three MKVV", b"three"), 13),
    "stockholm.no-end": (STOCKHOLM.replace(b"-A\n//\n", b"-A\n"), 11),
    "stockholm.cut-off": (STOCKHOLM[: STOCKHOLM.index(b"one/1-6   MK")], 1),
    "stockholm.after-end": (STOCKHOLM + b"four MKV\n", 15),
    "clustal.unequal": (CLUSTAL.replace(b"two      D- 7\n", b""), 4),
    "clustal.no-residues": (CLUSTAL.replace(b"two      D- 7", b"two"), 8),
    **encoded({
        "phylip.long-row": ("3 12\n" + "\n".join(f"{n}{r}" for n, r in TEN) + "X\n", 1),
        "phylip.dots": ("2 4\naaaaaaaaaaACGT\nbbbbbbbbbb..GT\n", 3),
        "phylip.two-ways": ("2 10\nabcdefghijAC\nACACACAC\nbbbbbbbbbb\nACACACACAC\n", 1),
        "phylip.two-sets": ("2 4\na  ACGT\nb  ACGT\n 2  5 I\na  ACGTA\nb  ACGTA\n", 4),
        "phylip.huge": ("999999999999 999999999999\na A\n", 1),
        "msf.no-names": ("x MSF: 4 Check: 1 ..\n//\na ACGT\n", 3),
        "msf.no-rows": ("x MSF: 4 Check: 1 ..\n Name: a Check: 1\n", None),
        "msf.unequal": (FORMATS["msf"].replace("IKLM", "IKL", 1), 17),
        "balibase.no-name": ("<macsim>\n<seq-data>AC</seq-data></macsim>\n", 2),
        "balibase.cut-off": (FORMATS["balibase"][:-20], 20),
        "balibase.entities": ('<!DOCTYPE macsim [\n<!ENTITY a "bb">]>\n<macsim/>\n', None),
        "balibase.no-rows": ("<macsim>\n<alignment/>\n</macsim>\n", None),
        "balibase.unequal": (FORMATS["balibase"].replace("IKLM", "IKL", 1), 14),
        "nexus.no-matrix": ("#NEXUS\nbegin taxa;\ntaxlabels a b;\nend;\n", None),
        "nexus.traits": ("#NEXUS\nformat datatype=standard;\nmatrix\na 01\n;\n", 3),
        "nexus.no-end": (FORMATS["nexus"].split("\n;")[0], 7),
        "nexus.unequal": (FORMATS["nexus"].replace("nchar=12", "nchar=13"), 10),
        "nexus.no-match": ("#NEXUS\nbegin data;\nformat datatype=dna matchchar=.;\nmatrix\na AC.T\n;\n", 5),
        "selex.other-rows": (FORMATS["selex"].replace("second", "fourth", 1), 7),
        "stockholm.twice": ("# STOCKHOLM 1.0\nq1 ACDE\nq1 AC-E\n//\n", 3),
    }),
}  # fmt: skip
"""Files of sequences and alignments."""


def hmmer3_damages() -> Table:
    good = hmmer3_text()
    start = good.index("HMM A")
    body = good[:start].count("\n")
    changes = {
        "no-name": ("NAME test\n", "", body),
        "length": ("LENG 3", "LENG zero", 3),
        "alphabet": ("ALPH DNA", "ALPH dice", 4),
        "no-statistics": ("STATS LOCAL MSV -8.5 0.7\n", "", 7),
        "short-statistics": ("STATS LOCAL MSV -8.5 0.7", "STATS LOCAL MSV", 7),
        "nan-statistics": ("STATS LOCAL MSV -8.5 0.7", "STATS LOCAL MSV -8.5 nan", 7),
        "other-node": ("  2 1.38629", "  7 1.38629", body + 9),
        "sum": ("  2 1.38629", "  2 0.38629", body + 9),
        "letters": ("  2 1.38629", "  2 x.38629", body + 9),
        "above-one": ("  2 1.38629", "  2 -0.5", body + 9),
        "annotation": ("2 x - - -", "2 x -", body + 9),
        "last-transitions": ("0.10536 2.30259 *", "0.10536 2.30259 2.0", body + 14),
        "no-end": ("//\n", "", 23),
        "too-long": ("LENG 3", "LENG 2", body + 12),
        "too-short": ("LENG 3", "LENG 4", body + 15),
        "header-alone": (good[start:], "", body),
        "no-section": (good[start:], "//\n", body + 1),
        "cutoff": ("NAME test", "NAME test\nGA x", 3),
        "version": ("HMMER3/f", "HMMER3/g", 1),
        "lambda": ("MSV -8.5 0.7", "MSV -8.5 -0", 7),
        "tiny-lambda": ("MSV -8.5 0.7", "MSV -8.5 1e-300", 7),
        "infinite": ("MSV -8.5 0.7", "MSV inf 0.7", 7),
        "nan": ("FORWARD -4.1 0.72", "FORWARD -4.1 nan", 9),
        "huge-tau": ("FORWARD -4.1 0.72", "FORWARD 1e300 0.72", 9),
        "endless-length": ("LENG 3", "LENG 3" + "0" * 5000, 3),
        "huge-length": ("LENG 3", "LENG 1000000", 3),
        "maxl": ("LENG 3", "LENG 3\nMAXL 99999999999", 4),
        "underscore": ("2.30259", "2.30_259", 23),
        "other-digits": ("2.30259", "٢.30259", 23),
        "long-line": ("DESC A  model", "DESC " + "x" * 5_000_000, 6),
        "long-header": ("DESC A  model", "COM [1] hmmbuild\n" * 300_000, 262_148),
        "endless-alphabet": ("ALPH DNA", "ALPH " + "A" * 5000, 4),
    }
    assert all(old in good for old, _, _ in changes.values())
    found = {f"hmmer3.{name}": (good.replace(old, new, 1), line) for name, (old, new, line) in changes.items()}
    found["hmmer3.more"] = (good + "something else\n", good.count("\n") + 1)
    found["hmmer3.mixed"] = (hmmer3_text(alphabet="amino", name="p") + hmmer3_text(name="n"), 25)
    return encoded(found)


def hmmer2_damages() -> Table:
    usual = "NULT  -4 -8455\n"
    changes: dict[str, tuple[dict[str, str], int]] = {
        "leads-nowhere": ({"first": "- * * * -1000 -1000 -1000 -1000 0 *"}, 13),
        "no-begin": ({"begin": " * * *", "first": "- -10 -7000 -8000 -1000 -1000 -1000 -1000 * *"}, 16),
        "null-0": ({"NULT": "NULT  * 0"}, 6),
        "null-1": ({"NULT": "NULT  0 *"}, 6),
        "null-2": ({"NULT": "NULT  -1 -99999"}, 6),
        "huge-length": ({"LENG": "LENG  1000000000"}, 3),
        "endless-length": ({"LENG": "LENG  1" + "0" * 5000}, 3),
        "length-underscore": ({"LENG": "LENG  0_2"}, 3),
        "length-digits": ({"LENG": "LENG  ٢"}, 3),
        "score-underscore": ({"XT": "XT    -8_455 -4 -1000 -1000 -8455 -4 -8455 -4"}, 5),
        "nan": ({"NULT": f"{usual}EVD   nan 0.7"}, 7),
        "infinite": ({"NULT": f"{usual}EVD   -8.5 inf"}, 7),
        "lambda": ({"NULT": f"{usual}EVD   -8.5 -0.0"}, 7),
        "huge-mu": ({"NULT": f"{usual}EVD   1e39 0.7"}, 7),
        "short-statistics": ({"NULT": f"{usual}EVD   -8.5"}, 7),
        "huge-cutoff": ({"NULT": f"{usual}GA    1e999 1.0"}, 7),
        "endless-cutoff": ({"NULT": f"{usual}GA    " + "1" * 60_000}, 7),
    }
    found: dict[str, tuple[str, int | None]] = {
        f"hmmer2.{name}": (small_hmmer2(**lines), line) for name, (lines, line) in changes.items()
    }
    found["hmmer2.no-table"] = (HMMER2_TEXT.replace("HMM        A      C      G      T\n", ""), 11)
    return encoded(found)


PROFILES: Table = {**hmmer3_damages(), **hmmer2_damages()}

MATRICES: Table = encoded({
    **{
        f"matrix.{name}": (MATRIX.replace(old, new, 1), line)
        for name, (old, new, line) in {
            "short-row": ("A  4 -1 -4", "A  4 -1", 3),
            "other-row": ("C -2", "W -2", 4),
            "fraction": ("9", "9.5", 4),
            "huge": ("9", "900", 4),
            "column-twice": ("A  C  *", "A  A  *", 2),
            "row-twice": ("C -2", "A -2", 4),
            "two-letters": ("A  C  *", "A  CC *", 2),
            "no-row": ("* -4 -4  1\n", "", None),
            "underscore": ("9", "1_0", 4),
            "other-digits": ("9", "٣", 4),
            "endless": ("9", "9" * 5000, 4),
        }.items()
    },
    "matrix.empty": ("# nothing\n", None),
    "matrix.large": (MATRIX + "#" * (1 << 20), None),
})  # fmt: skip

POSTERIORS: Table = encoded({
    f"posteriors.{name}": (f"; first\n{line}\n", 2)
    for name, line in {
        "none": "(0, 0) ~ (1, 0)",
        "above-one": "(0, 0) ~ (1, 0) => 1.5",
        "nan": "(0, 0) ~ (1, 0) => nan",
        "negative": "(0, 0) ~ (1, -2) => 0.5",
        "words": "words",
        "row": "(0, 2) ~ (1, 0) => 0.5",
        "column": "(0, 0) ~ (1, 3) => 0.5",
        "sequence": "(0, 0) ~ (2, 0) => 0.5",
        "itself": "(1, 0) ~ (1, 1) => 0.5",
    }.items()
})  # fmt: skip
"""Of a sequence with two and one with three residues."""
