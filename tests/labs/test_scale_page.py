"""The tables and the figure of docs/notes/scale.md are those of today's files of results, and the model adds up."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "notes"
sys.path.insert(0, str(DOCS))
import scale_page  # noqa: E402

MODELS = 20_000


def test_the_page_is_that_of_the_results() -> None:
    model, text = scale_page.Model.measured(), (DOCS / "scale.md").read_text("utf-8")
    assert scale_page.renewed(text, model) == text
    assert {found[2] for found in scale_page.PLACE.finditer(text)} == set(scale_page.TABLES)
    assert scale_page.FIGURE.read_text("utf-8") == scale_page.figure(model)


def test_more_workers_are_quicker_until_the_writer_is_the_limit() -> None:
    model = scale_page.Model.measured()
    writing = model.writing(MODELS, "H200")
    times = [model.one_writer(MODELS, "H200", n) for n in (1, 10, 100, 1000, 10_000)]
    assert times == sorted(times, reverse=True)
    assert times[0] == pytest.approx(model.computing(MODELS, "H200"), rel=0.01)
    assert times[-1] == pytest.approx(writing + model.start + model.build)
    assert model.writing(2 * MODELS, "H200") == pytest.approx(2 * writing)


def test_every_simulated_job_was_stored_once() -> None:
    for one in scale_page.results("scale_simulation")["whole"]:
        assert one["is_right"]
        assert one["rows_stored"] == one["rows"]
        assert one["queries_concluded"] == one["queries"]
