"""Damaged files through everything that reads them: no traceback, no hang, no memory without end.

``python tests/fuzz/fuzzing.py --seed 1 --cases 5000`` runs as many cases as are asked for and tells what fails; a case
depends on the seed and its number alone, so ``--first 123 --cases 1 --keep FOLDER`` shows one again. The cases run in
child processes with limits of processor time and memory; one that breaks a limit or dies is counted, and the next
child goes on behind it.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import zstandard

ROOT = Path(__file__).parents[2]

CPU_SECONDS = 30
"""Of one case."""

MEMORY = 1 << 30
"""Bytes that a child may take beyond what it has after its start."""

LARGEST = 4 << 20
"""Bytes of a damaged file."""

COMPRESSORS: tuple[Callable[[bytes], bytes], ...] = (
    gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress,
)  # fmt: skip

NUMBERS = (*b"0 -0 -1 nan inf -inf 1e999 1e-320 1e38 1_0 0x1f * . -".split(), *(b"9" * 30, b"9" * 5000, "٣".encode()))

TOKENS = (
    *b"> // ; [ ] ' @ + HMM HMMER3/f HMMER2.0 LENG #=GS LOCUS ORIGIN matrix #NEXUS".split(),
    *(b"\n", b"\r", b"\r\n", b"\0", b"\t", b" ", b"\xff", b"\xe2\x80\xae", b"\x1b[31m", b"\xef\xbb\xbf", b"\x1f\x8b"),
    *(b"ID   ", b"SQ   ", b"# STOCKHOLM 1.0", b"MSF: 1 Check: 1 .."),
)

OTHERS = (
    b"CLUSTAL W (1.83)\n\nfirst  ACDEF-GHIK\nsecond ACD-FYGHIK\n       *** *\n\nfirst  LM 12\nsecond LM 12\n",
    b"# STOCKHOLM 1.0\n#=GF ID x\n#=GS a DE words\na ACDEF-GHIK\nb ACD-FYGHIK\n#=GC RF xxxxxxxxxx\n//\n",
    b"2 10\nfirst     ACDEF-GHIK\nsecond    ACD-FYGHIK\n",
    b" 2 10\nfirst     ACDEF\nsecond    ACD-F\n\n          -GHIK\n          YGHIK\n",
    b"!!AA_MULTIPLE_ALIGNMENT 1.0\n\n x MSF: 10 Type: P Check: 1 ..\n\n Name: a Len: 10\n Name: b Len: 10\n\n//\n\n"
    b"a ACDEF.GHIK\nb ACD.FYGHIK\n",
    b"#NEXUS\n[note]\nbegin data;\ndimensions ntax=2 nchar=10;\nformat datatype=protein gap=- interleave matchchar=.;\n"
    b"matrix\na ACDEF-GHIK\n'b c' ....FYGHIK\n;\nend;\n",
    b"#=AU me\na ACDEF-GHIK\nb ACD FYGHIK\n\na LM\nb LM\n",
    b">a\nACDEFGHIK\n>b\nACD-FyGHIK\n",
    b"@r 1\nACGTN\n+\nIIIII\n@s\nAC\nGT\n+s\n@@\n@@\n",
    b"LOCUS       X 12 bp DNA\nDEFINITION  words\nACCESSION   A1\nFEATURES             Location\nORIGIN\n"
    b"        1 acgtacgtac gt\n//\n",
    b"ID   X; SV 1; linear; DNA; STD; PLN; 12 BP.\nAC   A1;\nDE   words\nSQ   Sequence 12 BP;\n     acgtacgtac gt  12\n"
    b"//\n",
    b"ID   X_HUMAN   Reviewed;   10 AA.\nAC   A1;\nDE   RecName: Full=Words {ECO:1};\nSQ   x\n     MKVLAARTEW\n//\n",
    b"; match posteriors\n(0, 0) ~ (2, 0) => 0.5\n(0, 4) ~ (2, 6) => 0.25\n\n; gaps\n(0, 0) ~ (2, -1) => 0.5\n",
    b"# a matrix\n   A  C  D  *\nA  4 -1 -2 -4\nC -1  9 -3 -4\nD -2 -3  6 -4\n* -4 -4 -4  1\n",
)
"""Small files of the formats that the examples lack."""


def seeds(data: Path | None) -> list[bytes]:
    """Return the files that are damaged: the bundled examples, small ones of each format, and real ones if at hand."""
    examples = ROOT / "resources" / "examples"
    paths = [path for path in sorted(examples.iterdir()) if path.suffix in (".hmm", ".fasta")]
    paths += [ROOT / "tests" / "golden" / "profiles" / name for name in ("katdna_ls.hmm", "globins_ls.hmm")]
    found = [path.read_bytes() for path in paths] + list(OTHERS)
    with tempfile.TemporaryDirectory() as folder:
        found += pressed(examples / "rrm_1_hmmer3.hmm", Path(folder))
    if data is not None:
        awkward = sorted(path for path in (data / "awkward").rglob("*") if path.is_file())
        found += [path.read_bytes() for path in awkward if path.stat().st_size < 1 << 20]
    return found


def pressed(profile: Path, folder: Path) -> list[bytes]:
    """Return a profile in binary form, if pyhmmer is at hand."""
    try:
        import pyhmmer
    except ImportError:
        return []
    with pyhmmer.plan7.HMMFile(profile) as file, (folder / "x.h3m").open("wb") as stream:
        file.read().write(stream, binary=True)
    return [(folder / "x.h3m").read_bytes()]


def damaged(rng: random.Random, files: list[bytes]) -> bytes:
    """Return a damaged file: a few changes of one, perhaps compressed, and damaged again."""
    data = rng.choice(files)
    for _ in range(rng.choice((0, 1, 1, 2, 4, 16))):
        data = rng.choice(CHANGES)(rng, data, files)[:LARGEST]
    if rng.random() < 0.15:
        data = rng.choice(COMPRESSORS)(data)
        if rng.random() < 0.5 and data:
            data = rng.choice((flipped, cut))(rng, data, files)
    return data


def flipped(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 8))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    start, end = sorted(rng.choices(range(len(data) + 1), k=2))
    return rng.choice((data[:end], data[start:], data[:start] + data[end:]))


def inserted(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(TOKENS) * rng.choice((1, 1, 2, 1000)) + data[place:]


def renumbered(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    words = data.split(b" ")
    places = [place for place, word in enumerate(words) if word[:1].isdigit() or word[:1] in (b"-", b"*", b".")]
    if places:
        words[rng.choice(places)] = rng.choice(NUMBERS)
    return b" ".join(words)


def relined(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    lines = data.split(b"\n")
    place, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    most = 1 + LARGEST // (1 + len(lines[place]))
    action = rng.randrange(5)
    if action == 0:
        del lines[place]
    elif action == 1:
        lines[place] = lines[other]
    elif action == 2:
        lines[place : place + 1] = [lines[place]] * min(rng.choice((2, 100, 10_000)), most)
    elif action == 3:
        lines[place] = lines[place] * min(rng.choice((2, 1000, 100_000)), most)
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


def joined(rng: random.Random, data: bytes, files: list[bytes]) -> bytes:
    other = rng.choice(files)
    place = rng.randrange(len(data) + 1)
    return rng.choice((data + other, data[:place] + other + data[place:], data + data))


def long_first_line(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    begin = rng.choice((b">x ", b"@", b"ID   ", b"MSF: ", b"1 ", b"(", b"#", b"", b"x "))
    unit = rng.choice((b"A", b" ", b"1", b"MSF: ", b"Length: Check: ", b"; ", b" AA", b"{", b"a,", b"\t", b"[", b"'"))
    return begin + unit * (70_000 // len(unit)) + b"\n" + data


def replaced(rng: random.Random, data: bytes, _: list[bytes]) -> bytes:
    return bytes(rng.randrange(256) for _ in range(min(len(data), 2000)))


CHANGES = (
    *(flipped, cut, inserted, renumbered, relined, joined, long_first_line, replaced),
    *(flipped, inserted, renumbered, renumbered, relined),
)
"""What is done to a file, the more often the more often it is named."""


def steps(path: str, folder: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what reads a file, command by command, by name."""
    from clalign.cli import main
    from clalign.databases.loading import load_database
    from clalign.databases.profile_library import load_library
    from clalign.databases.sequence_rows import read_sequences
    from clalign.engines.msa.inputs import checked_input
    from clalign.formats.calibrated import model_heads
    from clalign.formats.matrices import read_matrix
    from clalign.formats.posteriors import read_posteriors
    from clalign.formats.profiles import profile_card, read_profiles
    from clalign.formats.recognize import recognize
    from clalign.tools.alignment_accuracy import compare_files

    def with_statistics() -> None:
        from clalign.values.evalues import exponential_survival, gumbel_survival, hmmer2_pvalue

        for hmm in read_profiles(path):
            json.dumps(profile_card(hmm))
            for score in (-1e4, 0.0, 1e4):
                if hmm.origin == "hmmer2":
                    hmmer2_pvalue(score, hmm.calibration)
                for name, survival in (("msv", gumbel_survival), ("forward", exponential_survival)):
                    given = getattr(hmm.settings, name, None)
                    if given is not None:
                        survival(score, given.location, given.slope)

    yield "recognize", lambda: recognize(path)
    yield "sequences", lambda: load_database(path)
    yield "profiles", with_statistics
    yield "library", lambda: load_library(path)
    yield "calibrate", lambda: model_heads(path)
    yield "matrix", lambda: read_matrix(path)
    yield "hmmbuild", lambda: aligned_rows(path)
    yield "table of rows", lambda: written_rows(path)
    yield "rows", lambda: checked_input(path, read_sequences(path))
    yield "accuracy", lambda: compare_files(path, path)
    yield "posteriors", lambda: read_posteriors(path, [5, 0, 7])
    yield "logo", lambda: main(["logo", "--name", "no such", "-o", str(folder / "x.svg"), path])


def aligned_rows(path: str) -> None:
    """Read an alignment as hmmbuild does."""
    from clalign.building.alignments import read_alignments_of
    from clalign.building.specs import BuildSpec
    from clalign.jobs import QuietContext

    for _ in read_alignments_of(path, BuildSpec(), QuietContext()):
        pass


def written_rows(path: str) -> None:
    """Read an alignment as the window does, and write it."""
    from clalign.formats.row_alignments import list_alignments, read_rows
    from clalign.formats.row_forms import FORMS
    from clalign.formats.row_writers import write_rows

    found = read_rows(path)
    list_alignments(path)
    for form in FORMS:
        write_rows(found, form, io.StringIO())


def run_case(content: bytes, folder: Path) -> list[str]:
    """Return what is wrong with how one file is read; an empty list if nothing is."""
    from clalign.errors import ClalignError, ExitCode

    path = folder / "case"
    path.write_bytes(content)
    wrong = []
    for name, step in steps(str(path), folder):
        try:
            result = step()
        except ClalignError as error:
            if error.exit_code not in (ExitCode.INPUT, ExitCode.UNREADABLE):
                wrong.append(f"{name}: exit code {int(error.exit_code)} of {error}")
            if len(error.message) > 1000 or "\n" in str(error) or not error.hint:
                wrong.append(f"{name}: a message that is long, of several lines or without advice: {error}"[:400])
        except BaseException:
            wrong.append(f"{name}: {traceback.format_exc(limit=-3)}")
        else:
            if name == "logo" and result not in (ExitCode.INPUT, ExitCode.UNREADABLE):
                wrong.append(f"{name}: exit code {result}")
    return wrong


def work(arguments: argparse.Namespace) -> None:
    """Run cases in this process, and print a line of JSON before and behind each."""
    import resource

    files = seeds(arguments.data)
    for module in ("clalign.tools.hmm_building", "clalign.cli.logo", "clalign.tools.alignment_accuracy"):
        __import__(module)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
    sink = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with tempfile.TemporaryDirectory(prefix="clalign-fuzz-") as name:
        folder = Path(name)
        os.environ["CLALIGN_CACHE_DIR"] = str(folder / "cache")
        for number in range(arguments.first, arguments.first + arguments.cases):
            print(json.dumps({"begins": number}), file=sink, flush=True)
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = int(used.ru_utime + used.ru_stime) + CPU_SECONDS + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
            content = damaged(random.Random(f"{arguments.seed} {number}"), files)
            if arguments.keep is not None:
                (arguments.keep / f"{number}").write_bytes(content)
            print(json.dumps({"ends": number, "wrong": run_case(content, folder)}), file=sink, flush=True)
            shutil.rmtree(folder / "cache", ignore_errors=True)


def fuzz(seed: int, first: int, cases: int, data: Path | None = None, keep: Path | None = None) -> list[str]:
    """Run cases in child processes; return what is wrong, a text for each case that failed."""
    wrong: list[str] = []
    last = first + cases
    while first < last:
        words = ["--child", "--seed", seed, "--first", first, "--cases", last - first]
        words += [word for flag, path in (("--data", data), ("--keep", keep)) if path for word in (flag, path)]
        command = [sys.executable, __file__, *map(str, words)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for line in child.stdout:
                messages = json.loads(line)
                first = messages.get("begins", first)
                if "ends" in messages:
                    wrong += [f"case {first}: {text}" for text in messages["wrong"]]
                    first += 1
            code = child.wait()
        if first < last:
            reason = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            wrong.append(f"case {first}: the process ended ({reason}); SIGXCPU is more than {CPU_SECONDS} seconds")
            first += 1
    return wrong


def main() -> int:
    """Run what the command line asks for; return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--data", type=Path, help="folder of real files, of which those in awkward/ are damaged, too")
    parser.add_argument("--keep", type=Path, help="folder for the files of the cases")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        work(arguments)
        return 0
    wrong = fuzz(arguments.seed, arguments.first, arguments.cases, arguments.data, arguments.keep)
    sys.stdout.write("\n".join([*wrong, f"{arguments.cases} cases, {len(wrong)} findings"]) + "\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
