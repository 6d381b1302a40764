"""``clalign shims``: programs with HMMER's names, beside HMMER's own, with the words that pipelines give them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.shims import PRESS, programs, script, write_programs
from clalign.errors import ExitCode, OutputError
from clalign.system.processes import own_command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the scripts are those of a shell")

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "resources" / "examples"
GLOBINS, RRM, PROTEINS = (str(EXAMPLES / n) for n in ("globins4.hmm", "rrm_1_hmmer3.hmm", "three_proteins.fasta"))
REPEATS = str(ROOT / "tests" / "golden" / "hmmalign" / "repeats.fasta")

VERSION = re.compile(r"^# HMMER (\S+) .*; http.*$", re.MULTILINE)
"""As scripts look for it."""

HITS = """# STOCKHOLM 1.0
one    MKVLAAGIVGLLLAQWERTYIPASDFGHKLCVNM
two    MKVLSAGIVGLLL-QWERTFIPASDFGHKMCVNM
three  MRVLAAGLVG-LLAQWDRTYIPASEFGHKLC---
#=GC RF xxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxx
//
"""

LINES = {  # program and words of pipelines, {out} and {more} are the files that are compared
    "templates, hand": "hmmbuild --informat stockholm --hand --amino {out} {hits}",
    "templates, fast": "hmmbuild --informat stockholm --fast --amino {out} {hits}",
    "templates": "hmmsearch --noali --cpu 8 --F1 0.1 --F2 0.1 --F3 0.1 -E 100 --incE 100 --domE 100 --incdomE 100"
    " -o {more} -A {out} {rrm} {repeats}",
    "hits of a family": "hmmsearch --cut_ga --tblout {out} --domtblout {more} -o /dev/null {rrm} {repeats}",
    "thresholds applied later": "hmmsearch --tblout {out} --cpu 1 -T 10 -o /dev/null {rrm} {repeats}",
    "annotation": "hmmscan --noali --domtblout {out} --pfamtblout {more} -o /dev/null {rrm} {repeats}",
    "one against all": "phmmer --F1 0.0005 --F2 5e-05 --F3 5e-07 -E 0.0001 --incE 0.0001 --noali --cpu 8 -o /dev/null"
    " --tblout {out} -A {more} {proteins} {proteins}",
    "prediction": "jackhmmer -o /dev/null -A {out} --noali --F1 0.0005 --F2 5e-05 --F3 5e-07 --cpu 8 -N 1"
    " --tblout {more} -E 0.0001 --incE 0.0001 -Z 1000 {proteins} {proteins}",
    "couplings": "jackhmmer -N 3 --incE 0.001 --tblout {out} --domtblout {more} -o /dev/null --cpu 2 {proteins}"
    " {repeats}",
    "rows of an alignment": "jackhmmer -N 1 --tblout {out} --domtblout {more} -o /dev/null {hits} {repeats}",
    "query columns": "hmmalign --outformat A2M -o {out} {rrm} {repeats}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("programs")
    write_programs(made)
    return made


def called(program: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *words], capture_output=True, text=True, check=False)


@pytest.mark.thorough(name=["hmmsearch"])
@pytest.mark.parametrize("name", programs())
def test_help_has_the_version_that_scripts_look_for(folder: Path, name: str) -> None:
    found = called(folder / name, "-h")
    assert found.returncode == 0
    assert found.stdout.startswith(f"# {name} :: ")
    assert VERSION.findall(found.stdout) == ["3.3.2"]
    assert f"Usage: {name} [options] " in found.stdout
    assert f"clalign {name}" not in found.stdout


@pytest.mark.thorough(case=["hits of a family"])
@pytest.mark.parametrize("case", LINES)
def test_lines_of_pipelines(folder: Path, case: str, tmp_path: Path) -> None:
    program, *words = LINES[case].split()
    (tmp_path / "hits.sto").write_text(HITS)
    written = []
    for own in (True, False):
        files = {name: str(tmp_path / f"{name}{own:d}") for name in ("out", "more")}
        known = {"hits": str(tmp_path / "hits.sto"), "rrm": RRM, "repeats": REPEATS, "proteins": PROTEINS}
        place = str(folder / program) if own else shutil.which(program)
        if place is None:
            pytest.skip(f"{program} of HMMER is not installed")
        if program == "hmmscan" and not own:
            known["rrm"] = pressed(tmp_path)
        found = called(place, *(word.format(**files, **known) for word in words))
        assert found.returncode == 0, found.stderr
        written.append([results(Path(path)) for path in files.values()])
    assert written[0] == written[1]
    assert written[0][0]


def pressed(folder: Path) -> str:
    """Return a copy of the library that HMMER's hmmscan takes."""
    copy = folder / "library.hmm"
    shutil.copy(RRM, copy)
    subprocess.run(["hmmpress", "-f", str(copy)], check=True, capture_output=True)
    return str(copy)


def results(path: Path) -> list[str]:
    """Return the lines of an output but those of program, files, time and device."""
    lines = path.read_text().splitlines() if path.exists() else []
    of_hits = [line for line in lines if not line.startswith(("# ", "DATE", "#=GF AU"))]
    return [line for line in of_hits if line and line != "#"]


def test_texts_name_the_version(folder: Path) -> None:
    found = called(folder / "hmmsearch", GLOBINS, PROTEINS)
    assert found.stdout.startswith("# hmmsearch :: search profile(s) against a sequence database\n")
    assert VERSION.findall(found.stdout) == ["3.3.2"]
    assert found.stderr == ""


@pytest.mark.thorough(words=[("hmmsearch",), ("hmmalign", "none", "none")])
@pytest.mark.parametrize("words", [("hmmsearch",), ("hmmsearch", "--no-such", "a", "b"), ("hmmalign", "none", "none")])
def test_failures_have_the_code_of_hmmer(folder: Path, words: tuple[str, ...]) -> None:
    found = called(folder / words[0], *words[1:])
    assert found.returncode == 1
    assert found.stderr.startswith("clalign")


def test_other_programs_are_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "hmmscan"
    other.write_text("#!/bin/sh\necho mine\n")
    with pytest.raises(OutputError):
        write_programs(tmp_path)
    assert main(["shims", str(tmp_path)]) == ExitCode.CANNOT_WRITE
    assert other.read_text() == "#!/bin/sh\necho mine\n"
    assert [path.name for path in tmp_path.iterdir()] == ["hmmscan"]
    other.unlink()
    other.symlink_to("/bin/true")
    assert main(["shims", str(tmp_path)]) == ExitCode.CANNOT_WRITE
    other.unlink()
    for _ in range(2):  # its own are written anew
        assert main(["shims", str(tmp_path / "new" / "folder")]) == 0
    assert (tmp_path / "new" / "folder" / "hmmscan").read_text() == script(own_command("as", "hmmscan"))
    assert os.access(tmp_path / "new" / "folder" / "hmmscan", os.X_OK)


def test_other_programs_are_those_of_hmmer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, again, hmmers = (tmp_path / name for name in ("here", "again", "hmmers"))
    hmmers.mkdir()
    (hmmers / "hmmfetch").write_text('#!/bin/sh\necho "fetched $2"\nexit 7\n')
    (hmmers / "hmmfetch").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (here, again, hmmers))))
    for folder in (here, again, here):  # those in a folder of ours lead to HMMER's, not to each other
        assert set(write_programs(folder)) == {*programs(), "hmmfetch", PRESS}
        found = called(folder / "hmmfetch", "a b.hmm", "name")
        assert (found.stdout, found.returncode) == ("fetched name\n", 7)
    (hmmers / PRESS).symlink_to("/bin/true")
    assert write_programs(here)[PRESS] == [str(hmmers / PRESS)]


@pytest.mark.thorough
def test_without_hmmer_a_library_is_pressed_without_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert set(write_programs(tmp_path / "bin")) == {*programs(), PRESS}
    monkeypatch.undo()
    library, other = Path(shutil.copy(RRM, tmp_path)), tmp_path / "other.hmm"
    other.write_text("no profiles\n")
    for words, code in (("-h",), 0), (("-f", str(library)), 0), ((str(other),), 1), ((str(tmp_path / "none"),), 1):
        assert called(tmp_path / "bin" / PRESS, *words).returncode == code
    assert called(tmp_path / "bin" / PRESS).returncode == 1
    assert VERSION.findall(called(tmp_path / "bin" / PRESS, "-h").stdout) == ["3.3.2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "other.hmm", library.name]


def test_hmmbuild_names_program_and_files(folder: Path, tmp_path: Path) -> None:
    built, resaved, given = (str(tmp_path / name) for name in ("family.hmm", "family.sto", "given.sto"))
    Path(given).write_text(HITS)
    text = called(folder / "hmmbuild", "-O", resaved, built, given).stdout
    assert VERSION.findall(text) == ["3.3.2"]
    assert f"# processed alignment resaved to:   {resaved}\n" in text
    assert [line.split()[1] for line in text.splitlines() if line and not line.startswith("#")] == ["given"]
    summary = tmp_path / "summary"
    assert called(folder / "hmmbuild", "-o", str(summary), built, given).stdout == ""
    assert summary.read_text().startswith("# hmmbuild :: ")


def test_no_other_program_is_stood_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["as", "hmmfetch", "library.hmm"]) == ExitCode.USAGE
    assert main(["as"]) == ExitCode.USAGE
