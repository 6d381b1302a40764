from __future__ import annotations

import gzip
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clalign.errors import Cancelled, InputError
from clalign.formats.hmmer3 import ODD_SUM
from clalign.formats.profiles import _text_models, load_profiles, profile_card, read_profiles, repeated_names
from clalign.values.alphabets import AMINO, DNA, RNA
from clalign.values.profiles import Calibration, Hmm, Hmmer2Settings, Hmmer3Settings
from tests.formats.samples import HMMER2_TEXT, TRANSITIONS, hmmer3_text, small_hmmer2


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


@pytest.mark.parametrize("n_lines", [1, 7, 1000])
def test_models_are_the_same_whatever_pieces_their_text_comes_in(load, n_lines: int) -> None:
    (usual,) = load(EXAMPLE)
    lines = (EXAMPLE * 3).encode().splitlines(keepends=True)
    pieces = [b"".join(lines[first : first + n_lines]) for first in range(0, len(lines), n_lines)]
    reader: Any = SimpleNamespace(line=1, source=SimpleNamespace(label="x"), chunks=lambda max_bytes: iter(pieces))
    found = list(_text_models(reader, lambda: None))
    assert [number for number, _ in found] == [1 + k * len(lines) // 3 for k in range(3)]
    for _, one in found:
        for name in ("match", "insert", "transitions", "columns"):
            assert np.array_equal(getattr(usual, name), getattr(one, name)), name
        assert (one.consensus, one.structure, one.facts) == (usual.consensus, usual.structure, usual.facts)


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


@pytest.mark.parametrize("kept", range(1, HMMER2_TEXT.count("\n")))
def test_a_hmmer2_model_that_ends_early_is_refused(load, kept: int) -> None:
    text = "\n".join(HMMER2_TEXT.split("\n")[:kept]) + "\n"
    with pytest.raises(InputError) as error:
        load(text)
    assert error.value.line == kept


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
    messages = f"transitions from the match state of node 1 sum to {odd} instead of 1" if odd else None
    assert hmm.facts.get(ODD_SUM) == messages
    with pytest.raises(InputError) as error:
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


def test_a_small_hmmer2_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "small.hmm").write_text(small_hmmer2())
    assert load_profiles(str(tmp_path / "small.hmm"))[0].length == 2


def test_a_long_model_can_be_stopped(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text(hmmer3_text(length=6000))

    def stop() -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        next(read_profiles(str(path), stop))
