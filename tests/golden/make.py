"""Make the golden answers again with the programs of HMMER 2.3.2.

``python make.py inputs DATA`` builds the profiles and the sequence files from the folder of test data
(see README.md for the files it needs); ``python make.py answers`` runs hmmsearch and hmmpfam on them and
stores what they printed, ``python make.py scans`` hmmpfam alone. These steps need nothing but the files
beside this one.
"""

from __future__ import annotations

import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from hmm2search_output import parse_output, parse_scan

HERE = Path(__file__).parent
PROFILES, SEQUENCES, ANSWERS, SCANNED = (HERE / name for name in ("profiles", "sequences", "answers", "scans"))

CASES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("katdna_ls", "kat", ()),
    ("katdna_fs", "kat", ()),
    ("katdna_g", "kat", ()),
    ("katdna_s", "kat", ()),
    ("katdna_ls", "odd_dna", ("-E", "1000")),
    ("katdna_fs", "odd_dna", ("-E", "1000", "--nonull2")),
    ("ecori_fs", "odd_dna", ("-E", "1000")),
    ("made1_ls", "dna", ()),
    ("made1_fs", "dna", ("-E", "100")),
    ("made1_s", "dna", ()),
    ("thioesterase", "proteins", ()),
    ("thioesterase", "chloroplast", ("-E", "100")),
    ("orn_dap_arg_dec", "proteins", ()),
    ("orn_dap_arg_dec", "proteins", ("--cut_ga",)),
    ("nif3", "proteins", ("-E", "50")),
    ("cytochrom_b_c", "chloroplast", ()),
    ("cytochrom_b_c", "proteins", ("-Z", "1000000", "-E", "1e7")),
    ("pkinase", "proteins", ("--domT", "0")),
    ("pkinase_fs", "proteins", ()),
    ("rrm_ls", "proteins", ("--cut_tc",)),
    ("rrm_ls", "built", ()),
    ("rrm_fs", "proteins", ()),
    ("rrm_fs", "built", ("-T", "5", "--domE", "0.5")),
    ("rrm_fs", "odd_protein", ("-E", "1000")),
    ("globins_ls", "built", ()),
    ("globins_ls", "odd_protein", ("-E", "1000")),
    ("globins_fs", "built", ("--nonull2",)),
    ("globins_fs", "odd_protein", ("-E", "1000")),
    ("globins_g", "built", ("-E", "1000")),
    ("globins_s", "built", ("-E", "1000")),
    ("globins_s", "odd_protein", ("-E", "1000")),
    ("xyppx_fs", "proteins", ("-E", "100")),
    ("xyppx_fs", "odd_protein", ("-E", "1e6")),
    ("letters20_ls", "odd_protein", ("-E", "1000")),
)
"""Profile, sequences and options (those of clalign)."""

SCANS: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...] = (
    ("families", ("globins_ls", "rrm_ls", "xyppx_fs", "thioesterase"), "odd_protein", ()),
    ("families", ("globins_ls", "rrm_ls", "xyppx_fs", "thioesterase"), "built", ("-E", "1e-3", "--nonull2")),
    ("library", ("rrm_fs", "pkinase", "globins_s", "nif3", "orn_dap_arg_dec", "rrm_ls", "pkinase_fs", "globins_fs",
                 "cytochrom_b_c", "globins_ls"), "built", ("-E", "0.5")),
    ("library", ("rrm_fs", "pkinase", "globins_s", "nif3", "orn_dap_arg_dec", "rrm_ls", "pkinase_fs", "globins_fs",
                 "cytochrom_b_c", "globins_ls"), "proteins", ("-Z", "1000", "--domT", "0")),
    ("pfam", ("orn_dap_arg_dec", "rrm_ls", "rrm_fs", "xyppx_fs"), "built", ("--cut_ga",)),
    ("dna", ("katdna_ls", "made1_ls", "ecori_fs", "made1_fs", "katdna_s"), "odd_dna", ()),
    ("dna", ("katdna_ls", "made1_ls", "ecori_fs", "made1_fs", "katdna_s"), "dna", ("-T", "3", "--domE", "1")),
)  # fmt: skip
"""Name of a library, its profiles, sequences and options of scans."""

BUILT = (
    # name, alignment, options of hmmbuild, seed of the calibration (0: none)
    ("ecori_fs", "hmmer3/ecori.sto", "-f --nucleic", 0),
    ("made1_ls", "hmmer3/MADE1.sto", "--nucleic", 11),
    ("made1_fs", "hmmer3/MADE1.sto", "-f --nucleic", 0),
    ("made1_s", "hmmer3/MADE1.sto", "-s --nucleic", 13),
    ("pkinase_fs", "pfam/other/PF00069_Pkinase.v17.seed.sto", "-f", 17),
    ("rrm_ls", "hmmer3/RRM_1.sto", "", 19),
    ("rrm_fs", "hmmer3/RRM_1.sto", "-f", 0),
    ("globins_ls", "hmmer3/globins4.sto", "", 23),
    ("globins_fs", "hmmer3/globins4.sto", "-f", 29),
    ("globins_g", "hmmer3/globins4.sto", "-g", 0),
    ("globins_s", "hmmer3/globins4.sto", "-s", 31),
    ("xyppx_fs", "hmmer3/XYPPX.sto", "-f", 37),
    ("letters20_ls", "hmmer3/20aa.sto", "", 41),
)

KAT_ALIGNMENT = "# STOCKHOLM 1.0\n\n" + "".join(
    f"a{i} {row}\n"
    for i, row in enumerate(("ACGTTGACGT", "ACGTTGACGT", "ACGT-GACGA", "AGGTTCACGT", "ACGTTGAC-T"), 1)
) + "//\n"  # fmt: skip

KAT = {
    "s1": "ACGTTGACGT", "s2": "ACGTTGACGTCCCCACGTTGACGT", "s3": "TTACGTGACGATT", "s4": "GGACGTTCCGACGTGG",
    "s5": "TTGACGT", "s6": "acgtNgacgt", "s7": "CCCCCCCC", "s8": "A",
}  # fmt: skip

YEAST = {
    "XP_452986.1", "XP_453723.1", "XP_454345.1", "XP_452713.1", "XP_455748.1", "XP_451368.1", "XP_453971.1",
    "XP_454811.1", "XP_452326.1", "XP_451651.1", "XP_454621.1", "XP_451066.1", "XP_452784.1", "XP_452293.1",
}  # fmt: skip
COLI = {
    "P11454", "P00861", "P21170", "P10100", "P39377", "P05523", "P0AFP6", "P31473", "P21893", "P52052", "P0A7R1",
    "P69739",
}  # fmt: skip
N_KINASES = 6


def main() -> None:
    if sys.argv[1:2] == ["inputs"] and len(sys.argv) == 3:
        make_profiles(Path(sys.argv[2]))
        make_sequences(Path(sys.argv[2]))
    elif sys.argv[1:] == ["answers"]:
        make_answers()
    elif sys.argv[1:] == ["scans"]:
        make_scans()
    else:
        sys.exit(__doc__)


def run(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=True)
    return done.stdout


def make_profiles(data: Path) -> None:
    """Build profiles in a scratch folder, so that the files tell no folder names; copy those that came whole."""
    with tempfile.TemporaryDirectory() as scratch:
        for name, alignment, options, seed in BUILT:
            text = (data / alignment).read_text("utf-8", "replace")
            _build(Path(scratch), name, text, options.split(), seed)
        for mode, flags in {"ls": [], "fs": ["-f"], "g": ["-g"], "s": ["-s"]}.items():
            _build(Path(scratch), f"katdna_{mode}", KAT_ALIGNMENT, ["--nucleic", *flags], 0)
    shutil.copyfile(data / "hmmer2/Thioesterase.hmm2", PROFILES / "thioesterase.hmm")
    shutil.copyfile(data / "hmmer2/derived_PF00032_Cytochrom_B_C.hmm", PROFILES / "cytochrom_b_c.hmm")
    shutil.copyfile(data / "hmmer2/derived_PF00069_Pkinase.hmm", PROFILES / "pkinase.hmm")
    both = (data / "hmmer2/easel_demotic_example.hmm2").read_text().split("//\n")
    (PROFILES / "orn_dap_arg_dec.hmm").write_text(both[0] + "//\n")
    (PROFILES / "nif3.hmm").write_text(both[1] + "//\n")


def _build(folder: Path, name: str, alignment: str, options: list[str], seed: int) -> None:
    (folder / f"{name}.sto").write_text(alignment)
    run("hmm2build", "-F", "-n", name, *options, f"{name}.hmm", f"{name}.sto", cwd=folder)
    if seed:
        run("hmm2calibrate", "--seed", str(seed), "--cpu", "0", f"{name}.hmm", cwd=folder)
    shutil.copyfile(folder / f"{name}.hmm", PROFILES / f"{name}.hmm")


def make_sequences(data: Path) -> None:
    yeast = list(fasta(data / "sequences/Kluyveromyces_lactis_NRRL_Y-1140.faa.gz"))
    coli = list(fasta(data / "sequences/ecoli_k12_UP000000625.fasta.gz"))
    chosen = [record for record in yeast if record[0].split()[0] in YEAST]
    chosen += [record for record in coli if record[0].split("|")[1] in COLI]
    write("proteins", chosen + kinases(yeast))
    shutil.copyfile(data / "dna/NC_000932.faa", SEQUENCES / "chloroplast.fa")
    write("kat", KAT.items())
    write("built", built_proteins(data))
    write("dna", built_dna(data))
    write("odd_protein", odd_proteins())
    write("odd_dna", odd_dna())


def kinases(records: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the best and the worst kinases among those shorter than 500 residues."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "short.fa"
        path.write_text("".join(f">{head}\n{text}\n" for head, text in records if len(text) < 500))
        answer = parse_output(run("hmm2search", "--cpu", "0", "-A", "0", PROFILES / "pkinase_fs.hmm", path))
    names = [hit.name for hit in answer.hits]
    return [r for r in records if r[0].split()[0] in {*names[:N_KINASES], *names[-N_KINASES:]}]


def fasta(path: Path) -> Iterator[tuple[str, str]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    for record in text.split(">")[1:]:
        head, _, body = record.partition("\n")
        yield head.strip(), "".join(body.split())


def write(name: str, records: object) -> None:
    lines = []
    for head, text in records:  # type: ignore[attr-defined]
        lines += [f">{head}", *textwrap.wrap(text, 60)]
    (SEQUENCES / f"{name}.fa").write_text("\n".join(lines) + "\n")


def members(path: Path) -> list[str]:
    """Return the sequences of a Stockholm file without their gaps."""
    rows: dict[str, str] = {}
    for line in path.read_text("utf-8", "replace").splitlines():
        if line.strip() and not line.startswith(("#", "//")):
            name, text = line.split()[:2]
            rows[name] = rows.get(name, "") + text
    return ["".join(x for x in row if x.isalpha()).upper() for row in rows.values()]


def built_proteins(data: Path) -> Iterator[tuple[str, str]]:
    """Yield domains, whole, cut, mutated and in tandem, between random residues, and random sequences alone."""
    rng = random.Random(2)
    letters = "ACDEFGHIKLMNPQRSTVWY"
    rrm, globin = members(data / "hmmer3/RRM_1.sto"), members(data / "hmmer3/globins4.sto")

    def noise(n: int) -> str:
        return "".join(rng.choice(letters) for _ in range(n))

    def mutated(text: str, share: float) -> str:
        return "".join(rng.choice(letters) if rng.random() < share else x for x in text)

    for i in range(4):
        yield f"globin{i} whole", globin[i]
        yield f"globin{i}_mutated 4 in 10 residues changed", noise(20) + mutated(globin[i], 0.4) + noise(30)
        yield f"globin{i}_cut residues 30 to 90 only", globin[i][30:90]
        yield f"rrm{i}_pair", noise(30) + rrm[i] + noise(10) + mutated(rrm[i + 10], 0.3) + noise(25)
    yield "tandem 12 copies with and without spacers", "".join(rrm[20 + i] + noise(5 * (i % 3)) for i in range(12))
    yield "same_twice identical copies", (rrm[5] + noise(15)) + (rrm[5] + noise(15))
    yield "both_families", rrm[7] + noise(40) + globin[0] + noise(9) + globin[1][10:120]
    yield "nested a globin inside an RRM", rrm[8][:40] + globin[2] + rrm[8][40:]
    for i, length in enumerate((1, 2, 5, 30, 140, 350, 700)):
        yield f"random{i} random residues", noise(length)


def built_dna(data: Path) -> Iterator[tuple[str, str]]:
    """Yield repeats between random bases, also mutated and in tandem, and a piece of a real genome."""
    rng = random.Random(3)
    repeats = members(data / "hmmer3/MADE1.sto")

    def noise(n: int) -> str:
        return "".join(rng.choice("ACGT") for _ in range(n))

    for i in range(6):
        yield f"repeat{i}", noise(50 * i) + repeats[i] + noise(100)
    yield "tandem", "".join(repeats[10 + i] + noise(7) for i in range(6))
    yield "lower_case soft masked", (noise(40) + repeats[20] + noise(40)).lower()
    yield "with_n", noise(30) + repeats[21][:30] + "NNNNNN" + repeats[21][36:] + noise(30)
    yield "rna U for T", (noise(20) + repeats[22] + noise(20)).replace("T", "U")
    genome = next(iter(fasta(data / "dna/MT-human.fa")))[1]
    yield "mitochondrion bases 1 to 4000", genome[:4000]
    for i in range(8):
        yield f"random{i}", noise(60 + 40 * i)


HBB = (
    "VHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKG"
    "TFATLSELHCDKLHVDPENFRLLGNVLVCVLAHHFGKEFTPPVQAAYQKVVAGVANALAHKYH"
)
SXL = "NTNLIVNYLPQDMTDRELYALFRAIGPINTCRIMRDYKTGYSFGYAFVDFTSEMDSQRAIKVLNGITVRNKRLKVSYARP"


def odd_proteins() -> Iterator[tuple[str, str]]:
    """Yield records that stress the reader and the scores."""
    yield "plain", HBB
    yield "lower_case", HBB.lower()
    yield "ambiguous B Z X U J O", "".join("BZXUJO"[i // 9 % 6] if i % 9 == 4 else x for i, x in enumerate(HBB))
    yield "selenocysteine U for C and S", HBB.replace("C", "U").replace("S", "U")
    yield "stop_at_end", HBB + "*"
    yield "stops_inside", HBB[:40] + "*" + HBB[41:90] + "**" + HBB[92:]
    yield "gaps are residues here", HBB[:50] + "-----" + HBB[50:100] + "..." + HBB[100:]
    yield "digits and blanks are dropped", f"1 {HBB[:60]} 60\t{HBB[60:]} 146"
    yield "poly_q", "Q" * 120
    yield "poly_q_inside", SXL[:40] + "Q" * 60 + SXL[40:]
    yield "one", "M"
    yield "one_x", "X"
    yield "two", "MK"
    yield "all_x", "X" * 90
    yield "empty nothing at all", ""
    yield "repeat a domain nine times", SXL * 9
    yield "low_complexity", "PG" * 70 + SXL + "SRSRSRSR" * 12
    yield "plain", SXL
    yield "every_letter", "ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 3
    yield "xyppx", "MA" + "GYPPQGYPPQGYPPGGYPPQ" * 3 + "CYPPP"
    yield "alphabet", "ACDEFGHIKLMNPQRSTVWY" * 4
    # hmmsearch cuts names at 63 letters.
    yield "long_name_" + "x" * 53 + " a name longer than most", HBB[5:]


def odd_dna() -> Iterator[tuple[str, str]]:
    motif = "ACGTTGACGT"
    yield "plain", "CC" + motif + "GG"
    yield "lower_case", motif.lower() * 2
    yield "rna", motif.replace("T", "U")
    yield "iupac", "ACGTTRYKMSWBDHVN" + motif + "NNNNACGNTGACGT"
    yield "gaps", "ACGT--GACGT" + motif
    yield "one", "G"
    yield "empty", ""
    yield "stars", "ACGT*TGACGT*"
    yield "repeat", (motif + "CC") * 40
    yield "ecori two sites", "GGGAATTCCCTTTGAATTCAA"
    yield "n_only", "N" * 50
    yield "wrong_letters", "ACGTEFILPQZACGTTGACGTXXJO"
    yield "plain", motif[3:]


def case_name(profile: str, sequences: str, options: tuple[str, ...]) -> str:
    words = "".join(f"_{word.lstrip('-')}" for word in options)
    return f"{profile}__{sequences}{words}"


def make_answers() -> None:
    for old in ANSWERS.glob("*.json"):
        old.unlink()
    for profile, sequences, options in CASES:
        theirs = ["--null2" if word == "--nonull2" else word for word in options]
        words = ["hmm2search", "--cpu", "0", *theirs, f"profiles/{profile}.hmm", f"sequences/{sequences}.fa"]
        answer = parse_output(run(*words, cwd=HERE))
        data = {
            "command": " ".join(words), "profile": profile, "sequences": sequences, "options": list(options),
            **answer.to_dict(),
        }  # fmt: skip
        path = ANSWERS / f"{case_name(profile, sequences, options)}.json"
        path.write_text(json.dumps(data, indent=0) + "\n")
        print(f"{path.name}: {len(answer.hits)} sequences, {len(answer.domains)} domains")  # noqa: T201
    make_scans()


def make_scans() -> None:
    for old in SCANNED.glob("*.json"):
        old.unlink()
    SCANNED.mkdir(exist_ok=True)
    for name, profiles, sequences, options in SCANS:
        with tempfile.TemporaryDirectory() as scratch:
            library = Path(scratch) / "library.hmm"
            library.write_text("".join((PROFILES / f"{profile}.hmm").read_text() for profile in profiles))
            theirs = ["--null2" if word == "--nonull2" else word for word in options]
            words = ["hmm2pfam", "--cpu", "0", *theirs, *["-n"] * (name == "dna")]
            answers = parse_scan(run(*words, library, f"sequences/{sequences}.fa", cwd=HERE))
        data = {
            "command": " ".join(words), "profiles": profiles, "sequences": sequences, "options": list(options),
            "answers": [{"query": query, **answer.to_dict()} for query, answer in answers],
        }  # fmt: skip
        path = SCANNED / f"{case_name(name, sequences, options)}.json"
        path.write_text(json.dumps(data, indent=0) + "\n")
        print(f"{path.name}: {len(answers)} sequences, {sum(len(a.hits) for _, a in answers)} profiles")  # noqa: T201


if __name__ == "__main__":
    main()
