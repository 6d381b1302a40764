"""Posteriors as text: what is read, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from clalign.errors import InputError
from clalign.formats.posteriors import read_posteriors, write_posteriors
from tests.posterior_cases import random_posteriors


def write(folder: Path, text: str) -> str:
    path = folder / "given.probs"
    path.write_text(text)
    return str(path)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    lengths = [5, 9, 0, 7]
    posteriors, stream = random_posteriors(1, lengths), io.StringIO()
    write_posteriors(posteriors, stream)
    again = read_posteriors(write(tmp_path, stream.getvalue()), lengths)
    for name in ("pairs", "starts", "columns"):
        assert np.array_equal(getattr(again, name), getattr(posteriors, name))
    assert np.allclose(again.probabilities, posteriors.probabilities, rtol=1e-5)
    assert np.allclose(again.x_gaps, posteriors.x_gaps, atol=1e-5)


def test_order_and_blanks_do_not_matter(tmp_path: Path) -> None:
    text = "; a note\n( 1 ,2 )~(0, 1) =>  0.25\n(0, 0) ~ (1, 0) => 1\n\n(0, 0) ~ (1, -1) => 0.3\n"
    (x, y, pair), *others = read_posteriors(write(tmp_path, text), [2, 3]).each()
    assert (x, y, others) == (0, 1, [])
    assert list(zip(pair.rows.tolist(), pair.columns.tolist(), strict=True)) == [(0, 0), (1, 2)]
    assert pair.probabilities.tolist() == [1.0, 0.25]
    assert pair.x_gaps.tolist() == [np.float32(1e-4), 0.75]


@pytest.mark.parametrize("more", ["(0, 0) ~ (1, 0) => 0.2\n", "(0, 0) ~ (1, 1) => 0.6\n", "(0, 1) ~ (1, 0) => 0.6\n"])
def test_more_than_is_possible_is_refused(tmp_path: Path, more: str) -> None:
    with pytest.raises(InputError):
        read_posteriors(write(tmp_path, f"(0, 0) ~ (1, 0) => 0.5\n{more}"), [2, 3])
