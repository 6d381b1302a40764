from typing import Any

import pytest
from PySide6.QtCore import QRect
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QStyleOptionViewItem, QTableView

from clalign.common.amounts import seconds_text
from clalign.engines.engine import engine_named
from clalign.ui import formatting
from clalign.ui.views.charts.domain_strip import NameDelegate


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "< 1e-300"), (3.14e-71, "3.1e-71"), (0.01, "0.010"), (1.0, "1.0"), (10, "10"), (250, "250"), (3e7, "3.0e7")],
)
def test_evalues_have_two_digits_and_no_zero(value: float, text: str) -> None:
    assert formatting.evalue(value) == text


def test_counts_are_grouped() -> None:
    assert formatting.count(1234567) == "1,234,567"
    assert formatting.plural(1, "hit") == "1 hit"
    assert formatting.plural(2, "hit") == "2 hits"


def test_options_have_the_names_of_the_window() -> None:
    messages = formatting.in_window("No composition in a-b-c: filters nothing. To have it computed: --compute_compo.")
    assert (
        messages == "No composition in a-b-c: filters nothing. To have it computed: \u201cCompute compositions\u201d."
    )
    assert formatting.in_window("Leave out --cut_ga, or use -T.") == (
        "Leave out \u201cThreshold\u201d, or use \u201cScore at least\u201d."
    )
    plan7, pairwise = engine_named("plan7"), engine_named("pairwise")
    assert formatting.in_window("--tformat", plan7) != formatting.in_window("--tformat", pairwise) != "--tformat"
    assert formatting.in_window("x/--top file--top --outfmt 6") == "x/--top file--top --outfmt 6"


def test_commands_stay_as_they_are_typed() -> None:
    for command in ("`clalign hmmsearch -E 10 --max`", "clalign hmmsearch -E 10 --max a.hmm b.fa", "`-E 10`"):
        for after in (", or leave out -T.", "; -T is refused.", ". -T counts."):
            messages = formatting.in_window(f"-E is too low. See {command}{after}")
            known = after.replace("-T", formatting.in_window("-T"))
            assert messages == f"{formatting.in_window('-E')} is too low. See {command}{known}"
    assert formatting.in_window("-E") != "-E"


@pytest.mark.parametrize(
    ("seconds", "text"), [(4.12, "4.1 s"), (41, "41 s"), (200, "3 min 20 s"), (1800, "30 min"), (7500, "2 h 5 min")]
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert formatting.duration(seconds).replace(formatting.THIN, " ") == text


@pytest.mark.parametrize(
    ("gcups", "text"),
    [
        (1497.0, "1,497"),
        (99.96, "100"),
        (94.21, "94.2"),
        (2.0, "2.00"),
        (0.44, "0.440"),
        (0.0532, "0.0532"),
        (0.01134, "0.0113"),
        (4.81e-5, "4.81e-5"),
        (0.0, "0.00"),
    ],
)
def test_a_low_rate_is_not_none(gcups: float, text: str) -> None:
    assert formatting.rate(gcups) == f"{text}{formatting.THIN}GCUPS"


def test_almost_all_is_not_100_percent() -> None:
    shares = 100.0, 99.98, 99.6, 99.4, 0.3, 0.01, 0.0
    assert [formatting.share(share) for share in shares] == ["100", "99.9", "99.6", "99", "0.3", "<0.1", "0"]


def test_moments_are_near_or_dates() -> None:
    now = 1_800_000_000.0
    assert formatting.moment(now, now).startswith("today")
    assert formatting.moment(now - 86400, now).startswith("yesterday")
    assert "20" in formatting.moment(now - 90 * 86400, now)


@pytest.mark.parametrize(("value", "text"), [(0, "0 s"), (4.2e-6, "4.2 µs"), (0.0161, "16.1 ms"), (1.5, "1.5 s")])
def test_measured_times_have_three_digits(value: float, text: str) -> None:
    assert seconds_text(value, " ") == text


def test_of_a_long_name_the_last_part_says_most() -> None:
    assert formatting.short_name("sp|P69905|HBA_HUMAN") == "HBA_HUMAN"
    assert formatting.short_name("gi|1877523|gb|U89959.1|") == "U89959.1"
    assert formatting.short_name("plain") == "plain"
    assert formatting.short_name("x | y") == "y"
    assert formatting.short_name("x | y | ") == "y"
    assert formatting.short_name("|") == "|"


def test_names_of_a_narrow_column_are_all_short(qtbot: Any) -> None:
    table = QTableView()
    qtbot.addWidget(table)
    model, delegate = QStandardItemModel(2, 1), NameDelegate(table)
    for row, name in enumerate(("sp|P1|A_B", "sp|A0A024RBG1|NUD4B_HUMAN")):
        model.setItem(row, QStandardItem(name))
    for width, expected in ((150, ["A_B", "NUD4B_HUMAN"]), (600, ["sp|P1|A_B", "sp|A0A024RBG1|NUD4B_HUMAN"])):
        shown = []
        for row in range(2):
            option = QStyleOptionViewItem()
            option.initFrom(table)
            option.rect = QRect(0, 0, width, 20)
            delegate.initStyleOption(option, model.index(row, 0))
            shown.append(option.text)
        assert shown == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "about 1_s"), (59.5, "about 1_min"), (150.0, "about 2_min 30_s"), (300.0, "about 5_min"),
     (7200.0, "about 2_h 0_min"), (1_817_000.0, "about 21 days")],
)  # fmt: skip
def test_estimates_are_reported_roughly(seconds: float, text: str) -> None:
    assert formatting.about(seconds) == text.replace("_", formatting.THIN)
