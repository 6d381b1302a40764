"""clalign writes what hmmsearch, hmmscan and jackhmmer 3.3.2 write, letter by letter, through the real command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.values.devices import Device

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))

from hmmer3_output import compare_domains, compare_hits  # noqa: E402
from make_hmmer3_layout import (  # noqa: E402
    ANSWERS,
    CASES,
    PARTS,
    library,
    parts_of,
    program_of,
    queries,
    sequences_path,
)

pytestmark = pytest.mark.usefixtures("worker_here")

NUCLEIC = ("made1_dna",)


@pytest.mark.parametrize("name", CASES)
def test_equals_hmmer3_letter_by_letter(name: str, fast_device: Device, tmp_path: Path) -> None:
    profiles, sequences, options = CASES[name]
    files = [word for ending, flag in parts_of(name).items() for word in (flag, str(tmp_path / ending))]
    command = program_of(name)
    words = [command, "-q", "--device", fast_device.id, "--cpu", "2", *files, *options]
    words += ["--alphabet", "dna" if name in NUCLEIC else "amino"]
    path = queries(profiles, tmp_path) if command == "jackhmmer" else library(profiles, tmp_path)
    assert main([*words, str(path), str(sequences_path(sequences))]) == 0
    for ending in parts_of(name):
        ours = PARTS[ending][1]((tmp_path / ending).read_text())
        assert ours == (ANSWERS / f"{name}.{ending}").read_text().splitlines(), ending


def test_answers_hold_something() -> None:
    """The stored answers must not dwindle unseen."""
    names = {path.name for path in ANSWERS.iterdir()}
    assert names == {f"{name}.{ending}" for name in CASES for ending in parts_of(name)}
    texts = {name: (ANSWERS / f"{name}.txt").read_text() for name in CASES}
    everything = "".join(texts.values())
    for words in (
        "inclusion threshold", "No hits detected", "No individual domains", "No targets detected", " CS\n", " PP\n",
        "as set by --domZ", "Query sequence(s)", "Accession:   PF00076", ">> PF", "  == domain 13 ",
        "@@ Round:                  2", "@@ CONVERGED", "@@ Continuing",
    ):  # fmt: skip
        assert words in everything, words
    assert max(len(line) for line in texts["globins_odd"].splitlines()) > 120
    assert sum(len((ANSWERS / f"{name}.sto").read_text()) for name in CASES if "sto" in parts_of(name)) > 20_000


HIT = "seq1 - model - 1.2e-05 21.3 0.1 1.2e-05 21.3 0.1 1.0 1 0 0 1 1 1 1 text"
VALUE = (
    '{"evalue": 1.2499e-05, "score": 21.3498, "bias": 0.1, "estimates": {"domains": 1.0}, "domains":'
    ' [{"score": 21.3498, "i_evalue": 1.2e-05, "bias": 0.1}]}\n'
)


def test_only_digits_near_a_boundary_may_differ() -> None:
    assert compare_hits(HIT, HIT, VALUE).n_equal == 1
    near = compare_hits(HIT.replace("21.3 0.1 1.2", "21.4 0.1 1.2"), HIT, VALUE)
    assert (len(near.permitted), near.wrong, near.n_equal) == (1, [], 0)
    evalue = compare_hits(HIT.replace("1.2e-05 21", "1.3e-05 21", 1), HIT, VALUE)
    assert (len(evalue.permitted), evalue.wrong) == (1, [])
    for old, new in (("21.3 0.1 1.2", "21.2 0.1 1.2"), ("1 0 0 1", "2 0 0 1"), ("seq1 - model", "seq2 - model")):
        assert compare_hits(HIT.replace(old, new, 1), HIT, VALUE).wrong, new
    assert compare_hits("", HIT, VALUE).wrong
    assert compare_hits(HIT, "", "").wrong
    assert compare_hits("", HIT, VALUE, limit=1.2499e-05).permitted
    assert compare_domains("", "", "").wrong == []
