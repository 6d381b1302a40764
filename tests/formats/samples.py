"""Small files of many formats, as tests read and damage them."""

from __future__ import annotations

import math

GENBANK = b"""GBTEST.SEQ           Genetic Sequence Data Bank

LOCUS       AB000001                  75 bp    DNA     linear   BCT 01-JAN-2000
DEFINITION  A first entry
            on two lines.
ACCESSION   AB000001 AB999999
VERSION     AB000001.2
FEATURES             Location/Qualifiers
     source          1..75
                     /note="ORIGIN is not here"
ORIGIN
        1 gatcctccat atacaacggt atctccacct caggtttaga tctcaacaac ggaaccattg
       61 ccgacatgag acagt
//
LOCUS       AB000002                   9 aa            linear   BCT 01-JAN-2000
DEFINITION  A protein.
ACCESSION   AB000002
VERSION     AB000002.1
ORIGIN
        1 mkvlaawde
//
"""

EMBL = b"""ID   X56734; SV 1; linear; mRNA; STD; PLN; 25 BP.
XX
AC   X56734; S46826;
XX
DE   Trifolium repens mRNA
DE   for something
XX
SQ   Sequence 25 BP; 10 A; 5 C; 5 G; 5 T; 0 other;
     aaacaaacca aatatggatt ttatt                                              25
//
"""

UNIPROT = b"""ID   TEST_HUMAN              Reviewed;          12 AA.
AC   P12345; Q99999;
DT   01-JAN-2000, integrated into UniProtKB/Swiss-Prot.
DT   01-JAN-2000, sequence version 1.
DT   01-JAN-2000, entry version 1.
DE   RecName: Full=A test protein {ECO:0000305};
DE            Short=TP;
OS   Homo sapiens (Human).
OC   Eukaryota.
OX   NCBI_TaxID=9606;
SQ   SEQUENCE   12 AA;  1277 MW;  ABCDEF0123456789 CRC64;
     MKVLAAWDEM KV
//
"""

STOCKHOLM = b"""# STOCKHOLM 1.0
#=GF ID Test
#=GS one/1-6 AC P00001
#=GS one/1-6 DE The first
one/1-6   MK-VL
two/4-9   MKW.L
#=GC RF   xxxxx

one/1-6   AA
two/4-9   -A
//
# STOCKHOLM 1.0
three MKVV
//
"""

CLUSTAL = b"""CLUSTAL W (1.83) multiple sequence alignment

one      MK-VLAA 6
two      MKWVL-A 6
         ** ** *

one      DE 8
two      D- 7
         *
"""

ROWS = {"first_one": "ACDEF-GHIKLM", "second": "ACD-FYGHIKLM", "third": "-CDEF-GHIK--"}

TEN = [(name[:10].ljust(10), row) for name, row in ROWS.items()]

BLOCKS = [slice(0, 5), slice(5, None)]


def blocks(line: str, gap: str = "-") -> str:
    rows = [[line.format(name, row[part].replace("-", gap)) for name, row in ROWS.items()] for part in BLOCKS]
    return "\n\n".join("\n".join(block) for block in rows) + "\n"


FORMATS = {
    "aligned fasta": "".join(f">{name} some words\n{row}\n" for name, row in ROWS.items()),
    "clustal": "CLUSTAL W (1.83)\n\n" + blocks("{:<16s}{}"),
    "stockholm": "# STOCKHOLM 1.0\n" + blocks("{:<16s}{}") + "//\n",
    "a3m": ">first_one\nACDEFGHIKLM\n>second\nACD-FyGHIKLM\n>third\n-CDEFGHIK--\n",
    "selex": "# made by hand\n" + blocks("{:<16s}{}", "."),
    "selex with blanks": blocks("{:<16s}{}", " ").replace(" \n", "\n"),
    "phylip interleaved": " 3 12\n"
    + "\n".join(f"{name}{row[:5]}" for name, row in TEN)
    + "\n\n"
    + "\n".join(f"{' ' * 10}{row[5:]}" for _, row in TEN)
    + "\n",
    "phylip sequential": "3 12\n" + "\n".join(f"{name}{row[:7]}\n{row[7:]}" for name, row in TEN) + "\n",
    "phylip relaxed": "3 12\n" + "\n".join(f"{name} {row[:6]} {row[6:]}" for name, row in ROWS.items()) + "\n",
    "msf": "!!AA_MULTIPLE_ALIGNMENT 1.0\n\n x MSF: 12 Type: P Check: 1 ..\n\n"
    + "".join(f" Name: {name} Len: 12 Check: 1 Weight: 1.00\n" for name in ROWS)
    + "\n//\n\n        1        12\n"
    + blocks("{} {}", "."),
    "nexus": "#NEXUS\n[a note\nof two lines]\nBegin data;\n Dimensions ntax=3 nchar=12;\n Format datatype=protein "
    "gap=- missing=?;"
    "\n Matrix\n" + "\n".join(f"'{name.replace('_', ' ')}' {row}" for name, row in ROWS.items()) + "\n;\nEnd;\n",
    "nexus interleaved": "#NEXUS\nbegin characters;\ndimensions nchar=12;\nformat datatype=protein "
    "interleave=yes gap=. matchchar=~;\n"
    "matrix\n" + blocks("{} {}", ".").replace("second ACD", "second ~~D") + ";\nend;\n",
    "balibase": '<?xml version="1.0"?>\n<!DOCTYPE macsim SYSTEM "http://nowhere/macsim.dtd">\n<macsim>\n<alignment>\n'
    + "".join(
        f"<sequence>\n<seq-name>{name}</seq-name>\n<seq-info><length>12</length></seq-info>\n<seq-data>{row[:7]}\n"
        f"{row[7:]}</seq-data></sequence>\n"
        for name, row in ROWS.items()
    )
    + "</alignment>\n</macsim>\n",
}


def hmmer3_text(version: str = "f", name: str = "test", alphabet: str = "DNA", length: int = 3, **header: str) -> str:
    """Return a small HMMER3 model whose distributions sum to one."""
    size = 20 if alphabet == "amino" else 4
    even = " ".join([f"{math.log(size):.5f}"] * size)
    columns = {"a": "- -", "b": "- -", "c": "- -", "d": "- -", "e": "x - -", "f": "x - - -"}.get(version, "x - - -")
    transitions = "0.10536 2.99573 2.99573 0.69315 0.69315 0.69315 0.69315"
    last = "0.10536 2.30259 * 0.69315 0.69315 0.00000 *"
    statistics = (
        ["STATS LOCAL VLAMBDA 0.7", "STATS LOCAL VMU -8.5", "STATS LOCAL FTAU -4.1"]
        if version == "a"
        else ["STATS LOCAL MSV -8.5 0.7", "STATS LOCAL VITERBI -9.1 0.71", "STATS LOCAL FORWARD -4.1 0.72"]
    )
    tags = {"NAME": name, "LENG": str(length), "ALPH": alphabet, "CONS": "yes", "DESC": "A  model", **header}
    lines = [f"HMMER3/{version} [test | 2020]", *(f"{tag} {text}" for tag, text in tags.items() if text), *statistics]
    lines += [
        "HMM A C G T",
        "  m->m",
        f"  COMPO {even}",
        f"  {even}",
        "  0.10536 2.99573 2.99573 0.69315 0.69315 0.0 *",
    ]
    for k in range(1, length + 1):
        lines += [f"  {k} {even} {k} {columns}", f"  {even}", f"  {last if k == length else transitions}"]
    return "\n".join([*lines, "//", ""])


TRANSITIONS = "0.10536 2.99573 2.99573 0.69315 0.69315 0.69315"
"""How the line of transitions of an inner node of such a model begins."""

HMMER2_TEXT = """HMMER2.0
NAME  small
LENG  2
ALPH  Nucleic
RF    no
CS    no
MAP   no
XT      -8455     -4  -1000  -1000  -8455     -4  -8455     -4
NULT      -10  -7138
NULE        0      0      0      0
HMM        A      C      G      T
         m->m   m->i   m->d   i->m   i->i   d->m   d->d   b->m   m->e
           -1      *  -9000
     1    500   -500   -500      0
     -      0      0      0      0
     -     -1 -11000 -12000  -1000  -1000   -500  -1500   -585  -1585
     2    500   -500   -500      0
     -      *      *      *      *
     -      *      *      *      *      *      *      *  -1585      0
//
"""


def small_hmmer2(**lines: str) -> str:
    """Return a HMMER2 model of two nodes with some lines replaced."""
    even = " ".join(["0"] * 4)
    given = {
        "LENG": "LENG  2", "XT": "XT    -8455 -4 -1000 -1000 -8455 -4 -8455 -4", "NULT": "NULT  -4 -8455",
        "begin": " 0 * -8000", "first": "- -10 -7000 -8000 -1000 -1000 -1000 -1000 0 *",
        "last": "- * * * * * * * * 0", **lines,
    }  # fmt: skip
    return "\n".join(
        ["HMMER2.0", "NAME  small", given["LENG"], "ALPH  Nucleic", given["XT"], given["NULT"], f"NULE  {even}",
         "HMM  A C G T", "  m->m", given["begin"], f"1 {even}", f"- {even}", given["first"], f"2 {even}",
         "- * * * *", given["last"], "//", ""]
    )  # fmt: skip


MATRIX = """# a comment
   A  C  *
A  4 -1 -4
C -2  9 -4   # scores of the query's C
* -4 -4  1
"""
