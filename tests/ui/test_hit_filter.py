import pytest

from clalign.runs.pages import VALUES, Condition, condition_sql
from clalign.ui.engines.plan7.columns import PROFILE_TABLE
from clalign.ui.models.results.hit_filter import parse_filter


def asked(text: str) -> tuple[str, tuple[object, ...]]:
    """Return what is asked of a run file, and the values."""
    found = [condition_sql(condition, VALUES) for condition in parse_filter(text).conditions]
    return " AND ".join(sql for sql, _ in found), tuple(value for _, values in found for value in values)


def test_text_and_comparisons_are_joined() -> None:
    text = 'E<1e-5 score>20 len>200 "kinase"'
    where, values = asked(text)
    assert where.count("AND") == 3
    assert values == (1e-5, 20.0, 200.0, *["%kinase%"] * 3)
    assert not parse_filter(text).problem


@pytest.mark.parametrize("text", ["len ≥ 200", "len >=200", "LEN>=200"])
def test_spaces_and_signs(text: str) -> None:
    assert asked(text) == ("length >= ?", (200.0,))


def test_wildcards_of_sql_are_plain_letters() -> None:
    assert asked("50%_")[1] == ("%50\\%\\_%",) * 3


def test_minus_leaves_out() -> None:
    assert asked("-fragment")[0].startswith("NOT ")
    assert asked('-"two words"')[1] == ("%two words%",) * 3
    assert asked("-")[1] == ("%-%",) * 3


@pytest.mark.parametrize("text", ["score>", "score>high", "E<nan", "colour<3"])
def test_what_is_not_understood_is_said(text: str) -> None:
    parsed = parse_filter(text)
    assert parsed.problem
    assert not parsed.conditions


@pytest.mark.parametrize("text", ["len>300 len<200", "score<=5 kinase score=6", "E>1 E<1", "len=3 len=4"])
def test_limits_that_exclude_each_other_are_said(text: str) -> None:
    assert parse_filter(text).problem
    assert not parse_filter(text).conditions


@pytest.mark.parametrize("text", ["len>200 len<300", "len>=200 len<=200", "len>200 score<100", "len>3 len>5"])
def test_limits_that_can_both_hold_are_used(text: str) -> None:
    assert not parse_filter(text).problem
    assert len(parse_filter(text).conditions) == 2


def test_an_empty_filter_passes_everything() -> None:
    assert parse_filter("  ") == parse_filter("")
    assert not parse_filter("").conditions


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
    where, values = asked(text)
    assert values == (value,)
    assert where.startswith(starts)
    assert "notes" not in asked("footnote:x")[0]


def test_the_best_hits_are_asked_for_by_the_words_of_what_was_searched() -> None:
    assert parse_filter("best:both").conditions == (Condition("best", "has", "both"),)
    assert parse_filter("-BEST:Target kinase").conditions[0] == Condition("best", "has", "target", True)
    of_profiles = PROFILE_TABLE.words
    assert parse_filter("best:profile", words=of_profiles).conditions == (Condition("best", "has", "query"),)
    assert parse_filter("best:sequence", words=of_profiles).conditions == (Condition("best", "has", "target"),)
    assert parse_filter("best:query", words=of_profiles).problem == (
        "After best: one of profile, sequence, both is expected."
    )
    assert parse_filter("best:").problem
    assert parse_filter("best").conditions == (Condition("text", "has", "best"),)
