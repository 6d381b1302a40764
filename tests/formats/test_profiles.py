from __future__ import annotations

import gzip
import math
from pathlib import Path

import numpy as np
import pytest

from clalign.errors import Cancelled, InputError
from clalign.formats.hmmer3 import ODD_SUM
from clalign.formats.profiles import load_profiles, profile_card, read_profiles, repeated_names
from clalign.values.alphabets import AMINO, DNA, RNA
from clalign.values.profiles import Calibration, Hmm, Hmmer2Settings, Hmmer3Settings


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


@pytest.fixture
def load(tmp_path: Path):
    def load_text(text: str | bytes) -> list[Hmm]:
        path = tmp_path / "x.hmm"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_profiles(str(path))

    return load_text


@pytest.mark.parametrize("version", "abcdef")
def test_every_version_of_hmmer3_is_read(load, version: str) -> None:
    (hmm,) = load(hmmer3_text(version, GA="20.5", EFFN="2.5", MAXL="99", NSEQ="7", ACC="X1"))
    assert (hmm.name, hmm.length, hmm.alphabet, hmm.origin) == ("test", 3, DNA, "hmmer3")
    assert (hmm.accession, hmm.description) == ("X1", "A model")
    assert hmm.match.shape == (4, 4)
    assert (hmm.match[0] == 0).all()
    np.testing.assert_allclose(hmm.match[1:], 0.25, rtol=1e-4)
    np.testing.assert_allclose(hmm.transitions[1], [0.9, 0.05, 0.05, 0.5, 0.5, 0.5, 0.5], rtol=1e-4)
    assert hmm.transitions[3].tolist()[2] == 0
    assert hmm.consensus == ("xxx" if version >= "e" else "aaa")
    assert hmm.cutoffs.gathering == (20.5, 20.5)
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    assert (settings.version, settings.max_length, settings.effective_n) == (version, 99, 2.5)
    assert settings.msv == Calibration("gumbel", -8.5, 0.7)
    assert settings.forward == Calibration("exponential", -4.1, 0.7 if version == "a" else 0.72)
    assert settings.composition is not None
    assert hmm.is_calibrated


@pytest.mark.parametrize(("name", "alphabet"), [("amino", AMINO), ("DNA", DNA), ("RNA", RNA), ("dna", DNA)])
def test_the_alphabets_of_hmmer3(load, name: str, alphabet) -> None:
    (hmm,) = load(hmmer3_text(alphabet=name))
    assert hmm.alphabet is alphabet


def test_probabilities_are_rounded_like_single_precision(load) -> None:
    text = hmmer3_text().replace("1.38629 1.38629 1.38629 1.38629 1 x", "0.50000 1.50000 2.50000 2.42400 1 x")
    (hmm,) = load(text)
    assert hmm.match[1, 0] == np.exp(np.float32(-0.5))
    assert hmm.match.dtype == np.float32


def test_several_models_in_any_dress(load) -> None:
    text = hmmer3_text(name="one") + "\n\n" + hmmer3_text("b", name="two") + HMMER2_TEXT
    models = load(text)
    assert [hmm.name for hmm in models] == ["one", "two", "small"]
    assert [hmm.origin for hmm in models] == ["hmmer3", "hmmer3", "hmmer2"]
    for dressed in (
        b"\xef\xbb\xbf\n\n" + text.encode(),
        text.replace("\n", "\r\n").encode(),
        text.replace("\n", "\r").encode(),
        gzip.compress(text.encode()),
    ):
        again = load(dressed)
        assert [hmm.name for hmm in again] == ["one", "two", "small"]
        assert all((a.match == b.match).all() for a, b in zip(models, again, strict=True))


EXAMPLE = (Path(__file__).parents[2] / "resources" / "examples" / "rrm_1_hmmer3.hmm").read_text()


@pytest.mark.parametrize("row", [27, 28, 29], ids=["match", "insert", "transitions"])
@pytest.mark.parametrize("more", ["\n", "\n\n", " 0.5\n"], ids=["usual", "blank line", "more words"])
def test_lines_of_nodes_are_read_together_or_one_by_one(
    load, monkeypatch: pytest.MonkeyPatch, row: int, more: str
) -> None:
    lines = EXAMPLE.splitlines(keepends=True)
    (usual,), (other,) = load(EXAMPLE), load("".join([*lines[:row], lines[row].rstrip() + more, *lines[row + 1 :]]))
    monkeypatch.setattr("clalign.formats.hmmer3._logs_in_columns", lambda lines, count: None)
    (by_line,) = load(EXAMPLE)
    for one in (other, by_line):
        for name in ("match", "insert", "transitions", "consensus", "reference", "structure"):
            assert np.array_equal(getattr(usual, name), getattr(one, name)), name
        assert repr(one.settings) == repr(usual.settings)


@pytest.mark.parametrize("more", ["1", "123456", "_"])
def test_nothing_may_stick_to_the_last_number_of_a_line(load, more: str) -> None:
    """A number with more letters is not cut off where the next column is said to begin."""
    lines = EXAMPLE.splitlines(keepends=True)
    row = next(number for number, line in enumerate(lines) if line.startswith("      2 "))
    end = 8 + 20 * 9
    lines[row] = f"{lines[row][:end]}{more} {' '.join(lines[row][end:].split()[1:])}\n"
    with pytest.raises(InputError) as error:
        load("".join(lines))
    assert error.value.line == row + 1


def test_hmmer2_models_are_read(load) -> None:
    (hmm,) = load(HMMER2_TEXT)
    assert isinstance(hmm.settings, Hmmer2Settings)
    assert (hmm.name, hmm.length, hmm.alphabet, hmm.is_calibrated) == ("small", 2, DNA, False)


def test_the_lines_of_a_broken_model_are_named(load) -> None:
    good = hmmer3_text()
    lines = good.split("\n")
    body = next(i for i, line in enumerate(lines) if line.startswith("HMM "))
    cases = [
        (good.replace("NAME test\n", ""), "no NAME line", body),
        (good.replace("LENG 3", "LENG zero"), "LENG is not a whole number", 3),
        (good.replace("ALPH DNA", "ALPH dice"), "dice", 4),
        (good.replace("STATS LOCAL MSV -8.5 0.7\n", ""), "STATS lines of MSV", None),
        (good.replace("STATS LOCAL MSV -8.5 0.7", "STATS LOCAL MSV"), "not a STATS line", 7),
        (good.replace("STATS LOCAL MSV -8.5 0.7", "STATS LOCAL MSV -8.5 nan"), "not a number", 7),
        (good.replace("  2 1.38629", "  7 1.38629"), "node 2", body + 9),
        (good.replace("  2 1.38629", "  2 0.38629"), "match emissions of node 2 sum to 1.4", body + 9),
        (good.replace("  2 1.38629", "  2 x.38629"), "not a number", body + 9),
        (good.replace("  2 1.38629", "  2 -0.5"), "above 1", body + 9),
        (good.replace("2 x - - -", "2 x -"), "columns of annotation", body + 9),
        (
            good.replace("0.10536 2.30259 *", "0.10536 2.30259 2.0"),
            "transitions from the match state of node 3",
            body + 14,
        ),
        (good.replace("//\n", ""), "ends early", None),
        (good.replace("LENG 3", "LENG 2"), "// was expected", body + 12),
        (good.replace("LENG 3", "LENG 4"), "node 4", body + 15),
        (good[: good.index("HMM A")], "ends early", None),
        (good[: good.index("HMM A")] + "//\n", "no HMM section", body + 1),
        (good.replace("NAME test", "NAME test\nGA x"), "not a number", 3),
        (good + "something else\n", "a model was expected", len(lines)),
        (good.replace("HMMER3/f", "HMMER3/g"), "unknown", 1),
    ]
    for text, words, line in cases:
        with pytest.raises(InputError) as error:
            load(text)
        assert words in error.value.message
        assert error.value.hint
        assert line is None or error.value.line == line, error.value.message


@pytest.mark.parametrize("kept", range(1, HMMER2_TEXT.count("\n")))
def test_a_hmmer2_model_that_ends_early_is_refused(load, kept: int) -> None:
    text = "\n".join(HMMER2_TEXT.split("\n")[:kept]) + "\n"
    with pytest.raises(InputError, match="ends early") as error:
        load(text)
    assert error.value.line == kept


def test_nodes_in_the_header_of_a_hmmer2_model_are_refused(load) -> None:
    text = HMMER2_TEXT.replace("HMM        A      C      G      T\n", "")
    with pytest.raises(InputError, match="a header line") as error:
        load(text)
    assert error.value.line == 11


def test_models_of_proteins_and_dna_are_not_mixed(load) -> None:
    with pytest.raises(InputError, match="DNA") as error:
        load(hmmer3_text(alphabet="amino", name="p") + hmmer3_text(name="n"))
    assert '"n"' in error.value.message


def test_models_are_given_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(hmmer3_text() + "rubbish\n")
    models = read_profiles(str(path))
    assert next(models).name == "test"
    with pytest.raises(InputError, match="rubbish"):
        next(models)


def test_name_and_accession_of_hmmer3_are_one_word_each(load) -> None:
    (hmm,) = load(hmmer3_text(name="my family", ACC="PF1 x"))
    assert (hmm.name, hmm.accession, hmm.description) == ("my", "PF1", "A model")


@pytest.mark.parametrize(("number", "odd"), [("0.10536", ""), ("0.12", "0.987"), ("0.2", "0.919")])
def test_sums_that_are_a_little_off_are_facts_of_a_model(load, number: str, odd: str) -> None:
    text = hmmer3_text().replace(TRANSITIONS, TRANSITIONS.replace("0.10536", number), 1)
    (hmm,) = load(text)
    told = f"transitions from the match state of node 1 sum to {odd} instead of 1" if odd else None
    assert hmm.facts.get(ODD_SUM) == told
    with pytest.raises(InputError, match="sum to") as error:
        load(hmmer3_text().replace(TRANSITIONS, TRANSITIONS.replace("0.10536", "0.3"), 1))
    assert error.value.line is not None


def test_repeated_names_are_found(load) -> None:
    models = load("".join(hmmer3_text(name=name) for name in "abcab"))
    assert repeated_names(models) == ["a", "b"]


def test_cards(load) -> None:
    (hmm,) = load(hmmer3_text(GA="20.5", RF="yes"))
    card = profile_card(hmm)
    assert card["cutoffs"] == {"ga": [20.5, 20.5], "tc": None, "nc": None}
    assert card["calibration"] is None
    assert "FORWARD -4.1 0.72" in card["facts"]["score statistics"]
    assert card["reference"] == "---"
    (hmm,) = load(HMMER2_TEXT.replace("NULE", "EVD   -10.5   0.25\nNULE"))
    card = profile_card(hmm)
    assert card["calibration"] == {"mu": -10.5, "lambda": 0.25}
    assert set(card) == {
        *("name", "accession", "description", "length", "alphabet", "origin", "consensus"),
        *("cutoffs", "calibration", "facts", "reference", "structure"),
    }


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


def test_a_small_hmmer2_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "small.hmm").write_text(small_hmmer2())
    assert load_profiles(str(tmp_path / "small.hmm"))[0].length == 2


@pytest.mark.parametrize(
    ("lines", "number", "words"),
    [
        ({"first": "- * * * -1000 -1000 -1000 -1000 0 *"}, 13, "leads nowhere"),
        ({"begin": " * * *", "first": "- -10 -7000 -8000 -1000 -1000 -1000 -1000 * *"}, 16, "no node can begin"),
        ({"NULT": "NULT  * 0"}, 6, "NULT"),
        ({"NULT": "NULT  0 *"}, 6, "NULT"),
        ({"NULT": "NULT  -1 -99999"}, 6, "NULT"),
        ({"LENG": "LENG  1000000000"}, 3, "not plausible"),
        ({"LENG": "LENG  1" + "0" * 5000}, 3, "not a whole number"),
        ({"LENG": "LENG  0_2"}, 3, "not a whole number"),
        ({"LENG": "LENG  ٢"}, 3, "not a whole number"),
        ({"XT": "XT    -8_455 -4 -1000 -1000 -8455 -4 -8455 -4"}, 5, "not a score"),
        ({"NULT": "NULT  -4 -8455\nEVD   nan 0.7"}, 7, "EVD"),
        ({"NULT": "NULT  -4 -8455\nEVD   -8.5 inf"}, 7, "EVD"),
        ({"NULT": "NULT  -4 -8455\nEVD   -8.5 -0.0"}, 7, "lambda"),
        ({"NULT": "NULT  -4 -8455\nEVD   1e39 0.7"}, 7, "EVD"),
        ({"NULT": "NULT  -4 -8455\nEVD   -8.5"}, 7, "EVD"),
        ({"NULT": "NULT  -4 -8455\nGA    1e999 1.0"}, 7, "GA"),
        ({"NULT": "NULT  -4 -8455\nGA    " + "1" * 60_000}, 7, "GA"),
    ],
)
def test_models_that_cannot_be_searched_with_are_refused(
    tmp_path: Path, lines: dict[str, str], number: int, words: str
) -> None:
    path = tmp_path / "small.hmm"
    path.write_text(small_hmmer2(**lines))
    with pytest.raises(InputError, match=words) as refused:
        load_profiles(str(path))
    assert refused.value.line == number
    assert refused.value.hint


@pytest.mark.parametrize(
    ("old", "new", "number", "words"),
    [
        ("MSV -8.5 0.7", "MSV -8.5 -0", 7, "lambda"),
        ("MSV -8.5 0.7", "MSV -8.5 1e-300", 7, "lambda"),
        ("MSV -8.5 0.7", "MSV inf 0.7", 7, "not a number"),
        ("FORWARD -4.1 0.72", "FORWARD -4.1 nan", 9, "not a number"),
        ("FORWARD -4.1 0.72", "FORWARD 1e300 0.72", 9, "not a number"),
        ("LENG 3", "LENG 3" + "0" * 5000, 3, "not a whole number"),
        ("LENG 3", "LENG 1000000", 3, "not plausible"),
        ("LENG 3", "LENG 3\nMAXL 99999999999", 4, "MAXL"),
        ("2.30259", "2.30_259", 23, "not a number"),
        ("2.30259", "٢.30259", 23, "not a number"),
        ("DESC A  model", "DESC " + "x" * 5_000_000, 6, "longer than"),
        ("DESC A  model", "COM [1] hmmbuild\n" * 300_000, 262_148, "header of this model"),
    ],
)
def test_numbers_and_sizes_of_hmmer3_models_are_bounded(load, old: str, new: str, number: int, words: str) -> None:
    text = hmmer3_text()
    assert old in text
    with pytest.raises(InputError, match=words) as refused:
        load(text.replace(old, new, 1))
    assert refused.value.line == number
    assert len(str(refused.value)) < 500


def test_what_is_not_searched_with_is_shown_in_short(load) -> None:
    with pytest.raises(InputError, match=r"A{20}") as refused:
        load(hmmer3_text(alphabet="A" * 5000))
    assert len(refused.value.reason) < 200


def test_a_long_model_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(hmmer3_text(length=6000))

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        next(read_profiles(str(path), stop))
