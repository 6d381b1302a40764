"""Real queries in rounds against part of Swiss-Prot: every file that jackhmmer 3.3.2 writes, letter by letter.

Needs ``CLALIGN_DATA`` and jackhmmer.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import clalign
from clalign.cli import main

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

from acceptance import EVERY_SEQUENCE

N_TARGETS = 4000 if EVERY_SEQUENCE else 1200

LENGTHS = (40, 90, 130, 180, 250, 350, 480, 700)
"""Of queries, of which the sample has one that is about as long."""

OPTIONS = (
    "",
    "-N 1 -E 0.0001 --incE 0.0001 --F1 0.0005 --F2 5e-05 --F3 5e-07 --noali",
    "-N 3 --wgsc --eclust --plaplace --acc",
    "--incT 40 --incdomT 30 --eset 4 --seed 3 --mx BLOSUM45 --notextw",
)

pytestmark = [
    pytest.mark.usefixtures("worker_here"),
    pytest.mark.timeout(3600),
    pytest.mark.skipif(shutil.which("jackhmmer") is None, reason="jackhmmer 3 is not installed"),
]


@pytest.fixture(scope="module")
def files(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Queries and targets."""
    folder = tmp_path_factory.mktemp("rounds")
    database, _ = clalign.load_database(str(data_folder / "sequences" / "swissprot_first12071.fasta.gz"))
    targets = list(database)[:: max(1, len(database) // N_TARGETS)]
    chosen = [min(targets, key=lambda one: (abs(len(one.text) - length), one.name)) for length in LENGTHS]
    for name, some in (("queries", chosen), ("targets", targets)):
        (folder / name).write_text("".join(f">{one.name} {one.description}\n{one.text}\n" for one in some))
    return str(folder / "queries"), str(folder / "targets")


def lines_of(path: Path) -> list[str]:
    """Return an output's lines but those that name programs, files and times."""
    lines = path.read_text(encoding="utf-8").splitlines()
    own = ("# ", "#=GF AU", "#=GF CC", "DATE")
    return [line for line in lines if not line.startswith(own) and (path.suffix != ".tbl" or line[0] != "#")]


@pytest.mark.thorough
@pytest.mark.parametrize("options", OPTIONS)
def test_equals_jackhmmer(files: tuple[str, str], tmp_path: Path, options: str) -> None:
    def words(side: str) -> list[str]:
        place = tmp_path / side
        place.mkdir()
        named = {"-o": "x.txt", "--tblout": "hits.tbl", "--domtblout": "domains.tbl", "-A": "x.sto"}
        outputs = [word for flag, name in named.items() for word in (flag, str(place / name))]
        rounds = ["--chkhmm", str(place / "chk"), "--chkali", str(place / "chk")]
        return [*options.split(), *outputs, *rounds, *files]

    subprocess.run(["jackhmmer", "--cpu", "2", *words("theirs")], check=True)
    assert main(["jackhmmer", "-q", *words("ours")]) == 0
    theirs = sorted((tmp_path / "theirs").iterdir())
    assert [path.name for path in theirs] == sorted(path.name for path in (tmp_path / "ours").iterdir())
    assert sum(len(lines_of(path)) for path in theirs) > 1000
    for path in theirs:
        assert lines_of(tmp_path / "ours" / path.name) == lines_of(path), path.name
