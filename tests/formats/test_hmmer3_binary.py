"""Pressed libraries of HMMER3: the models are those of the text they were made from, to the last bit."""

from __future__ import annotations

import gzip
import io
import random
import shutil
from pathlib import Path

import numpy as np
import pyhmmer
import pytest

from clalign.cli import main
from clalign.databases.profile_library import load_library
from clalign.errors import InputError
from clalign.formats.profiles import load_profiles, profile_card
from clalign.formats.recognize import recognize
from clalign.values.profiles import Hmm

pytestmark = pytest.mark.usefixtures("worker_here")

EXAMPLES = Path(__file__).parents[2] / "resources" / "examples"
TEXT = EXAMPLES / "rrm_1_hmmer3.hmm"


def pressed(*texts: Path) -> bytes:
    """Return what hmmpress writes into its .h3m file."""
    data = io.BytesIO()
    for text in texts:
        with pyhmmer.plan7.HMMFile(text) as file:
            for hmm in file:
                hmm.write(data, binary=True)
    return data.getvalue()


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Two models: that of the examples, and it again with other annotation."""
    text = TEXT.read_text().replace("NAME  RRM_1", "NAME  other").replace("HMMER3/e", "HMMER3/f", 1)
    changed = [line for line in text.splitlines() if not line.startswith(("STATS", "GA", "TC", "NC", "DESC", "ACC"))]
    changed = [line for line in changed if "COMPO" not in line]
    nodes = changed.index(next(line for line in changed if line.startswith("HMM ")))
    lines = (line + " -" if nodes < i and len(line.split()) == 25 else line for i, line in enumerate(changed))
    path = tmp_path / "other.hmm"
    path.write_text("\n".join([*lines, ""]))
    both = tmp_path / "both.hmm"
    both.write_text(TEXT.read_text() + path.read_text())
    (tmp_path / "both.hmm.h3m").write_bytes(pressed(TEXT, path))
    return both


def check_equal(binary: list[Hmm], text: list[Hmm]) -> None:
    assert len(binary) == len(text)
    for one, other in zip(binary, text, strict=True):
        for name in ("match", "insert", "transitions"):
            assert np.array_equal(getattr(one, name), getattr(other, name)), name
        cards = [profile_card(hmm) for hmm in (one, other)]
        for card in cards:
            card["facts"].pop("format")  # pressed ones are always 3/f
        assert cards[0] == cards[1]
        for name in ("msv", "viterbi", "forward", "max_length", "effective_n"):
            assert getattr(one.settings, name) == getattr(other.settings, name)
        found, expected = one.settings.composition, other.settings.composition
        assert (found is None) == (expected is None)
        assert found is None or np.array_equal(found, expected)


def test_models_are_those_of_the_text(library: Path) -> None:
    binary = f"{library}.h3m"
    assert recognize(binary) == "profiles"
    check_equal(load_profiles(binary), load_profiles(str(library)))
    assert load_profiles(binary)[1].settings.msv is None


def test_decoded_libraries_are_kept(library: Path) -> None:
    for _ in range(2):
        check_equal(load_library(f"{library}.h3m")[0], load_profiles(str(library)))


def test_it_may_be_compressed(library: Path, tmp_path: Path) -> None:
    data = Path(f"{library}.h3m").read_bytes()
    path = tmp_path / "x"
    path.write_bytes(gzip.compress(data))
    check_equal(load_profiles(str(path)), load_profiles(str(library)))


def test_a_search_takes_the_pressed_library_where_the_text_is_gone(
    library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(TEXT, library)
    Path(f"{library}.h3m").write_bytes(pressed(TEXT))
    sequences = EXAMPLES / "three_proteins.fasta"
    words = ["hmmscan", "-q", "--device", "reference", "--tsv", "-", str(library), str(sequences)]
    assert main(words) == 0
    expected = capsys.readouterr().out
    text = library.read_bytes()
    library.unlink()
    assert main(words) == 0
    assert capsys.readouterr().out == expected
    library.write_bytes(text)
    pressed_models = Path(f"{library}.h3m")
    pressed_models.unlink()
    pressed_models.mkdir()  # a folder of that name is nothing to read
    assert main(words) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    ("place", "new", "words"),
    [
        (0, b"\xb6\xed\xed\xe8", "version"),
        (0, b"\xf3\xe6\xe6\xb3", "hmmpress"),
        (8, b"\xff\xff\xff\x7f", "2,147,483,647 nodes"),
        (8, b"\0\0\0\0", "0 nodes"),
        (12, b"\x05\0\0\0", "alphabet"),
        (16, b"\0\0\xc0\x7f", "numbers"),
        (16, b"\0\0\0\x40", "probabilities"),
        (16, b"\0\0\x80\x3f", "sum"),
        (-20, b"\0\0\0\0", "plausible"),
    ],
)
def test_damaged_ones_are_refused(tmp_path: Path, place: int, new: bytes, words: str) -> None:
    data = bytearray(pressed(TEXT))
    if place < 0:  # of the last lambda, which lies before the cutoffs and the frequencies
        place = len(data) - 4 * (20 + 6) - 4
    data[place : place + 4] = new
    path = tmp_path / "x.h3m"
    path.write_bytes(data)
    with pytest.raises(InputError, match=words) as refused:
        load_profiles(str(path))
    assert refused.value.hint


def test_any_damage_is_refused_or_read(tmp_path: Path) -> None:
    data, path, rng = pressed(TEXT), tmp_path / "x.h3m", random.Random(1)
    for cut in rng.sample(range(1, len(data)), 40):
        path.write_bytes(data[:cut])
        with pytest.raises(InputError):
            load_profiles(str(path))
    n_refused = 0
    for place in rng.sample(range(4, len(data)), 60):
        changed = bytearray(data)
        changed[place] ^= 1 << rng.randrange(8)
        path.write_bytes(changed)
        try:
            load_profiles(str(path))
        except InputError:
            n_refused += 1
    assert n_refused


def test_several_models_are_parted_where_they_should(tmp_path: Path) -> None:
    path = tmp_path / "x.h3m"
    path.write_bytes(pressed(TEXT) + b"more")
    with pytest.raises(InputError, match="model 2"):
        load_profiles(str(path))
