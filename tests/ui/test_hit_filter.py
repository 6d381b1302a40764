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
