import pytest

from clalign.ui.models.hit_filter import parse_filter


def test_text_and_comparisons_are_joined() -> None:
    parsed = parse_filter('E<1e-5 score>20 len>200 "kinase"')
    assert parsed.where.count("AND") == 3
    assert parsed.values == (1e-5, 20.0, 200.0, *["%kinase%"] * 3)
    assert not parsed.problem


@pytest.mark.parametrize("text", ["len ≥ 200", "len >=200", "LEN>=200"])
def test_spaces_and_signs(text: str) -> None:
    assert parse_filter(text).values == (200.0,)
    assert ">=" in parse_filter(text).where


def test_wildcards_of_sql_are_plain_letters() -> None:
    assert parse_filter("50%_").values == ("%50\\%\\_%",) * 3


def test_minus_leaves_out() -> None:
    assert parse_filter("-fragment").where.startswith("NOT ")
    assert parse_filter('-"two words"').values == ("%two words%",) * 3
    assert parse_filter("-").values == ("%-%",) * 3


@pytest.mark.parametrize("text", ["score>", "score>high", "E<nan", "colour<3"])
def test_what_is_not_understood_is_said(text: str) -> None:
    parsed = parse_filter(text)
    assert parsed.problem
    assert not parsed.where


def test_an_empty_filter_passes_everything() -> None:
    assert parse_filter("  ") == parse_filter("")
    assert not parse_filter("").where


@pytest.mark.parametrize(
    ("text", "value", "starts"),
    [
        ("note:Check", "%Check%", "(coalesce("),
        ('-note:"two words"', "%two words%", "NOT (coalesce("),
        ("note:50%", "%50\\%%", "(coalesce("),
        ("note:", "_%", "(coalesce("),
    ],
)
def test_notes_are_asked_for_by_their_word(text: str, value: str, starts: str) -> None:
    parsed = parse_filter(text)
    assert parsed.values == (value,)
    assert parsed.where.startswith(starts)
    assert "notes" not in parse_filter("footnote:x").where
