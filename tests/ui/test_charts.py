"""How charts are drawn: what is said above a plot, what is in view, what a click in it does."""

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QFontMetricsF, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QStyle, QStyleOptionComboBox

from clalign.engines.pictures.charts import chart_drawing, swatch
from clalign.labs.register import LADDERS
from clalign.ui import formatting, theme
from clalign.ui.engines.plan7.calibrate_sheet import fit_chart
from clalign.ui.engines.plan7.histogram import ProfileHistogram
from clalign.ui.engines.plan7.logo_painter import fitting
from clalign.ui.models.charts.histogram import Histogram
from clalign.ui.models.laboratory.lab_view import LabView
from clalign.ui.views.alignment.alignment_view import LinePainter
from clalign.ui.views.charts.drawing_painter import paint_shapes
from clalign.ui.views.charts.histogram_view import MAX_CURVE_RATIO, CountAxis, HistogramView, ScorePlot
from clalign.ui.views.details import MIN_WIDTH, FactsCard
from clalign.ui.views.widgets import file_report
from clalign.ui.views.widgets.file_report import LengthBars
from clalign.ui.views.widgets.parts import BETWEEN_FACTS, BETWEEN_WORDS, FactsParagraph
from clalign.values.charts import Bar, BarChart
from clalign.values.drawings import Words, text_width
from clalign.values.evalues import GumbelFit
from clalign.values.profiles import Calibration

LEFT = Qt.MouseButton.LeftButton


def histogram(kind: str = "viterbi", location: float = 0.0) -> ProfileHistogram:
    """Ten thousand scores around a place, with curves, thresholds close to each other, and cutoffs."""
    edges = np.arange(-40.0, 60.25, 0.25)
    counts = np.round(400 * np.exp(-(((edges[:-1] - location) / 6) ** 2))).astype(np.int64)
    return ProfileHistogram(
        edges, counts, int(counts.sum()), 20.0, 22.0, {"ga": 21.0, "tc": 24.0}, kind, 1e4,
        Calibration("gumbel", -3.0, 0.7), GumbelFit(-2.0, 0.4, "Fit is good"),
    )  # fmt: skip


@pytest.fixture
def view(qtbot: Any) -> HistogramView:
    made = HistogramView(compact=False)
    qtbot.addWidget(made)
    made.resize(700, 480)
    made.show()
    made.show_histogram(histogram(), "What it shows.")
    made.plot.set_line("report", 20.0, "shown from 20.0 bits · 65 hits\nE 10 · P 8.3e-4\n10 false hits by chance")
    made.plot.set_line("significant", 22.0, "significant from 22.0 bits · 62 hits\nE 0.01 · P 8.3e-7\n0.01 by chance")
    qtbot.waitUntil(lambda: made.plot.view.width() > 400)
    return made


def at(plot: ScorePlot, score: float, up: float = 0.5) -> QPoint:
    low, high = plot.view.viewRange()[1]
    return plot.mapFromScene(plot.view.mapViewToScene(QPointF(score, low + up * (high - low))))


@pytest.mark.parametrize("width", [360, 700, 1400])
def test_tags_cover_neither_bars_nor_each_other(qtbot: Any, view: HistogramView, width: int) -> None:
    view.resize(width, 480)
    plot = view.plot
    qtbot.waitUntil(lambda: abs(plot.view.width() - width) < 150)
    for first, second in ((20.0, 22.0), (-30.0, 55.0), (55.0, 55.5)):
        plot.set_line("report", first, "shown from some score · 65 hits\nE 10 · P 8.3e-4")
        plot.set_line("significant", second, "significant from some score · 62 hits\nE 0.01 · P 8.3e-7")
        qtbot.wait(10)
        boxes = [box for _, _, box in plot.lane.placed]
        assert len(boxes) == 4, "two thresholds and two cutoffs"
        assert not any(one.intersects(other) for one, other in combinations(boxes, 2))
        assert all(box.bottom() <= 0 and box.left() >= 0 for box in boxes)
        assert -min(box.top() for box in boxes) <= plot.lane.size().height(), "all of it is above the plot"
        assert plot.lane.geometry().bottom() <= plot.view.geometry().top() + 1


@pytest.mark.parametrize("log_counts", [True, False])
def test_curves_are_in_view_on_both_scales(view: HistogramView, log_counts: bool) -> None:
    plot, data = view.plot, histogram()
    plot.set_log(not log_counts)
    plot.set_log(log_counts)
    top = plot.view.viewRange()[1][1]
    for name in ("calibration", "fit"):
        highest = data.curve(name)[1].max()
        assert highest > data.counts.max() or name == "fit", "one of them is higher than the bars"
        assert top > (np.log10(highest) if log_counts else highest)


def test_a_curve_far_above_the_bars_leaves_them_to_be_seen(view: HistogramView) -> None:
    few = histogram()
    few = ProfileHistogram(few.edges, few.counts // 100, 40, 20.0, 22.0, kind="forward", n_random=1e6,
                           calibration=Calibration("exponential", -30.0, 0.7))  # fmt: skip
    view.plot.set_log(False)
    view.show_histogram(few, "")
    assert few.curve("calibration")[1].max() > MAX_CURVE_RATIO * few.counts.max()
    assert view.plot.view.viewRange()[1][1] < 2 * few.counts.max()


def test_the_bar_of_the_chosen_hit_is_marked(view: HistogramView) -> None:
    plot, data = view.plot, histogram()
    plot.mark(0.1)
    assert any(tag.x == 0.1 for tag, _, _ in plot.lane.placed)
    edges, heights = plot._marked.getData()
    assert edges.tolist() == [0.0, 0.25]
    assert heights == pytest.approx(np.log10(data.counts[160:161]))
    plot.mark(np.nan)
    assert not plot._marked.isVisible()
    assert len(plot.lane.placed) == 4


def test_a_single_score_is_no_solid_block(view: HistogramView) -> None:
    view.show_histogram(Histogram(np.array([5.0, 5.25]), np.array([1]), 1, -np.inf, -np.inf), "")
    view.plot.show_all()
    low, high = view.plot.view.viewRange()[0]
    assert (5.25 - 5.0) / (high - low) < 0.05


def test_the_field_for_a_score_is_closed_by_escape_and_by_a_click_elsewhere(view: HistogramView) -> None:
    plot, moved = view.plot, []
    plot.lines["report"].setValue(20.04)
    plot.threshold_moved.connect(lambda *move: moved.append(move))
    for leave in ("escape", "click", "another kind"):
        QTest.mouseDClick(plot.viewport(), LEFT, pos=at(plot, 20.0))
        editor = plot.editor
        assert editor.isVisible()
        if leave == "escape":
            QTest.keyClick(editor, Qt.Key.Key_Escape)
        elif leave == "click":
            QTest.mouseClick(plot.viewport(), LEFT, pos=at(plot, -35.0))
        else:
            view.show_histogram(histogram("msv"), "")
        assert plot.editor is None, leave
        assert not moved, "a threshold that was only looked at stays"


def test_what_is_said_of_a_bar_follows_the_scores(view: HistogramView) -> None:
    plot = view.plot
    place = plot.view.mapViewToScene(QPointF(0.1, 0.5))
    plot.scene().sigMouseMoved.emit(place)
    assert view.bar_words.text() == "400 sequences from 0 to 0.25 bits"
    other = histogram(location=20.0)
    view.show_histogram(other, "")
    there = plot.view.mapSceneToView(place).x()
    assert view.bar_words.text() == other.bar_at(there) != ""
    view.show_histogram(histogram("msv"), "")
    assert view.bar_words.text() == (histogram("msv").bar_at(plot.view.mapSceneToView(place).x()) or " ")
    plot.leaveEvent(QEvent(QEvent.Type.Leave))
    assert view.bar_words.text() == " "


def test_a_zoom_is_bounded_and_taken_back(view: HistogramView) -> None:
    plot = view.plot
    first = plot.view.viewRange()[0]
    assert view.back.isHidden()
    for _ in range(60):
        plot.view.scaleBy((1.5, 1))
    plot.view.sigRangeChangedManually.emit([True, False])
    low, high = plot.view.viewRange()[0]
    assert low > -60
    assert high < 80
    assert not view.back.isHidden()
    QTest.mouseClick(view.back, LEFT)
    assert plot.view.viewRange()[0] == pytest.approx(first)
    assert view.back.isHidden()
    QTest.keyClick(plot, Qt.Key.Key_End)
    assert plot.view.viewRange()[0][0] <= -40 < 60 <= plot.view.viewRange()[0][1]


@pytest.mark.parametrize("compact", [True, False])
@pytest.mark.parametrize(
    ("kind", "n_random", "why"),
    [("msv", 0.0, "No sequence has a score."), ("forward", 9.0, "No sequence has reached Forward.")],
)
def test_no_bars_stay_where_nothing_has_a_score(
    qtbot: Any, compact: bool, kind: str, n_random: float, why: str
) -> None:
    made = HistogramView(compact)
    qtbot.addWidget(made)
    made.show()
    made.show_histogram(histogram("msv"), "What it shows.")
    assert made.plot.isVisible()
    none = ProfileHistogram(np.zeros(0), np.zeros(0, np.int64), 0, 20.0, 22.0, {}, kind, 1e4, n_random=n_random)
    made.show_histogram(none, "What it shows.")
    assert not made.plot._bars.isVisible()
    assert not any(curve.isVisible() for curve in made.plot._curves.values())
    assert [words.text() for words in made.findChildren(QLabel) if words.isVisible() and words.text().strip()] == [why]
    assert made.kinds.isVisible() != compact, "the other scores can be chosen"
    made.show_histogram(histogram("msv"), "What it shows.")
    assert made.plot.isVisible()
    assert made.plot._bars.isVisible()


def test_an_axis_title_that_grows_longer_is_not_cut(view: HistogramView) -> None:
    axis = view.plot.score_axis
    view.show_histogram(histogram("forward"), "")
    assert axis.label.x() + axis.label.boundingRect().width() <= axis.size().width() + 1


def test_few_sequences_have_more_than_one_number_beside_a_logarithmic_axis() -> None:
    axis = CountAxis()
    ((_, places),) = axis.tickValues(-0.3, 1.0, 300.0)
    assert axis.tickStrings(places, 1.0, 1.0) == ["1", "2", "5", "10"]
    ((_, places),) = axis.tickValues(-0.3, 6.5, 100.0)
    assert axis.tickStrings(places, 1.0, 1.0) == ["1", "100", "10,000", "1,000,000"]


def test_a_curve_of_which_nothing_is_seen_is_not_in_the_legend(view: HistogramView) -> None:
    plot, kinds = view.plot, lambda: [kind for kind, _ in view.legend.entries]
    few = histogram()
    few = ProfileHistogram(few.edges, few.counts // 100, 40, 20.0, 22.0, kind="forward", n_random=100.0,
                           calibration=Calibration("exponential", -50.0, 0.7))  # fmt: skip
    view.show_histogram(few, "")
    assert few.legend()
    assert kinds() == ["bars"]
    assert not plot._curves["calibration"].isVisible()
    view.show_histogram(histogram(), "")
    assert kinds() == ["bars", "calibration", "fit"]
    low = histogram()
    low = ProfileHistogram(low.edges, low.counts, 5, 20.0, 22.0, fit=GumbelFit(-2.0, 0.4, "Fit is good"))
    view.show_histogram(low, "")
    assert kinds() == ["bars"]
    plot.set_log(False)
    assert kinds() == ["bars", "fit"], "the other scale shows it"


def test_nothing_moves_while_the_line_is_dragged(qtbot: Any, view: HistogramView) -> None:
    plot, lane = view.plot, view.plot.lane

    def follow(score: float) -> None:  # as the page does
        words = f"shown from {score:.0f} bits" + "\nE 1" * (score < 30.0)
        plot.set_line("report", score, words)

    plot.threshold_moved.connect(follow)
    qtbot.waitUntil(lambda: lane.size().height() == lane.maximumHeight())
    height, start = plot.view.height(), at(plot, 20.0)
    QTest.mousePress(plot.viewport(), LEFT, pos=start)
    for score in (24.0, 35.0, 50.0, 55.0):
        QTest.mouseMove(plot.viewport(), at(plot, score))
        qtbot.wait(20)
        assert plot.view.height() == height
        assert lane.placed[0][0].text.startswith("shown")
    assert plot.lines["report"].value() > 45.0
    QTest.mouseRelease(plot.viewport(), LEFT, pos=at(plot, 55.0))
    qtbot.waitUntil(lambda: plot.view.height() > height)


def test_letters_of_the_box_below_the_table_are_whole(qtbot: Any) -> None:
    made = HistogramView(compact=True)
    made.setStyleSheet(theme.style_sheet(theme.LIGHT))
    qtbot.addWidget(made)
    made.show_histogram(histogram("msv"), "")
    made.show()
    option = QStyleOptionComboBox()
    made.kinds.initStyleOption(option)
    part = QStyle.SubControl.SC_ComboBoxEditField
    room = made.kinds.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, made.kinds)
    assert room.height() >= made.kinds.fontMetrics().height()


def test_words_above_a_low_plot_leave_room_for_its_bars(qtbot: Any) -> None:
    made = HistogramView(compact=True)
    qtbot.addWidget(made)
    made.resize(700, 130)
    made.show()
    made.show_histogram(histogram(), "")
    made.plot.set_line("report", 20.0, "shown ≥ 20.0 · E 10 · 65 hits")
    made.plot.set_line("significant", 22.0, "significant ≥ 22.0 · E 0.01 · 62 hits")
    lane = made.plot.lane
    qtbot.waitUntil(lambda: lane.size().height() == lane.maximumHeight())
    assert made.plot.view.height() >= 0.8 * lane.size().height() > 0
    assert lane.placed[0][0].text.startswith("significant"), "what matters most"
    made.resize(700, 400)
    qtbot.waitUntil(lambda: len(lane.placed) == 4)
    (_, _, one), (_, _, other), *cutoffs = lane.placed
    assert all(tag.text for tag, _, _ in cutoffs)
    assert not one.adjusted(-10, 0, 10, 0).intersects(other), "they do not touch"
    assert all(mark.toolTip() for mark in made.plot._marks), "cutoffs have tooltips"


@pytest.mark.parametrize("text_font", [("Subset DejaVu Sans", 9), ("Subset Noto Sans", 12)], indirect=True)
def test_there_are_numbers_below_the_bars_of_a_low_plot(qtbot: Any, text_font: QFont) -> None:
    made = HistogramView(compact=True)
    qtbot.addWidget(made)
    made.resize(700, 180)
    made.show()
    made.show_histogram(histogram(), "")
    qtbot.waitUntil(lambda: made.plot.view.width() > 400)
    image, ground = made.plot.grab().toImage(), QColor(theme.current().surface).rgb()
    below = range(int(made.plot.view.geometry().bottom()) + 2, image.height())
    n_lines = sum(any(image.pixel(x, y) != ground for x in range(60, 690)) for y in below)
    assert n_lines > 0.5 * QFontMetrics(text_font).ascent()


def colors_of(kind: str, tokens: theme.Tokens) -> set[str]:
    image = QImage(26, 16, QImage.Format.Format_RGB32)
    image.fill(tokens.surface)
    painter = QPainter(image)
    paint_shapes(painter, swatch(kind, 0, 8), tokens)
    painter.end()
    return {image.pixelColor(x, y).name().upper() for x in range(26) for y in range(16)}


@pytest.mark.parametrize("tokens", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
def test_legends_show_the_colors_that_are_drawn(view: HistogramView, tokens: theme.Tokens) -> None:
    kinds = [kind for kind, _ in view.legend.entries]
    assert kinds == ["bars", "calibration", "fit"]
    assert tokens.bar in colors_of("bars", tokens)
    for kind in ("calibration", "fit"):
        assert tokens.caution in colors_of(kind, tokens)
    fit = {"name": "f", "mu": 1.0, "lambda": 0.7, "n": 3, "histogram": {"low": 0, "width": 1, "counts": [1, 2]}}
    assert [kind for kind, _ in fit_chart(fit).legend] == ["bars", "calibration"]


@pytest.mark.parametrize(
    ("value", "others"), [(0.3, ()), (0.3, (0.001,)), (0.88, (30.0,))], ids=["long", "among longer", "short"]
)
def test_the_number_of_a_bar_to_the_left_is_not_taken_for_that_of_the_mark(
    value: float, others: tuple[float, ...]
) -> None:
    bars = Bar("slow", value, 1.6, "slow×"), *(Bar("other", other, None, "") for other in others)
    drawing = chart_drawing(BarChart("", "", bars, log=True), 800, 300)
    words = {shape.text: shape for shape in drawing.shapes if isinstance(shape, Words)}
    number, one = words["slow×"], words["1"]
    right = number.x if number.anchor == "end" else number.x + text_width(number.text)
    assert one.anchor == "middle"
    assert right < one.x


@pytest.mark.parametrize(
    ("name", "first", "published"),
    [("viterbi", "basic", "GTX 460"), ("sw", "sequential", "RTX 3060"), ("pairhmm", "sequential", "GTX 480")],
)
def test_the_chart_of_a_ladder_names_what_is_compared_with_what(name: str, first: str, published: str) -> None:
    chart = LabView(LADDERS[name]).chart("rows")
    assert isinstance(chart, BarChart)
    assert f" {first} " in chart.title
    assert published in chart.beside_name
    drawn = [shape.text for shape in chart_drawing(chart, 800, 300).shapes if isinstance(shape, Words)]
    assert drawn[:3] == [chart.title, chart.value_name, chart.beside_name]


def test_names_and_numbers_take_no_more_room_than_they_need(qtbot: Any) -> None:
    lines = LinePainter(theme.mono_font(10), QFont())
    lines.make_room(["sp|Q01314|AKT1_BOVIN", "Pkinase"], 18, 1480)
    assert lines.margin == pytest.approx((len("AKT1_BOVIN") + 1 + len(formatting.count(1480)) + 1) * lines.cell)
    lines.make_room(["sp|Q01314|AKT1_BOVIN", "Pkinase"], 0, 480)
    assert lines.margin == pytest.approx((len("480") + 1) * lines.cell)
    assert lines.after == 0


def test_numbers_of_a_logo_do_not_run_together(qtbot: Any) -> None:
    small = QFont()
    small.setPointSizeF(7.0)
    metrics = QFontMetricsF(small)
    width = metrics.horizontalAdvance("100")
    shown = [fitting(text, width, metrics) for text in ("<0.1", "100", "3")]
    assert shown == ["·", "100", "3"]
    assert fitting("<0.1", 3 * width, metrics) == "<0.1"


def test_a_paragraph_takes_a_second_line_before_it_leaves_anything_out(qtbot: Any) -> None:
    facts, words = FactsParagraph(BETWEEN_FACTS), FactsParagraph(BETWEEN_WORDS)
    for made in (facts, words):
        qtbot.addWidget(made)
        made.setText("1 376 significant · 5 more reported · 573 230 sequences searched in 4.1 s · on a device")
    metrics = QFontMetrics(facts.font())
    wide = metrics.horizontalAdvance(facts.text())
    assert facts.lines(wide) == [facts.text()]
    assert facts.lines(2 * wide // 3) == ["1 376 significant · 5 more reported",
                                          "573 230 sequences searched in 4.1 s · on a device"]  # fmt: skip
    assert "".join(words.lines(2 * wide // 3)) == words.text()
    assert facts.heightForWidth(2 * wide // 3) > facts.heightForWidth(wide)
    for width in (wide // 3, wide // 6):
        for made in (facts, words):
            shown = made.lines(width)
            assert len(shown) <= 2
            assert shown[-1].endswith("…")
            assert all(metrics.horizontalAdvance(line.rstrip()) <= width for line in shown)


def test_the_ends_of_a_distribution_are_the_shortest_and_the_longest(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bars = LengthBars([[13, 1000, 7], [1001, 2434, 2]], ("13", "2,358"))
    qtbot.addWidget(bars)
    seen: list[str] = []
    monkeypatch.setattr(file_report, "QPainter", lambda widget: SimpleNamespace(
        fillRect=lambda *_: None, setPen=lambda _: None, drawText=lambda _, side, text: seen.append(text)))  # fmt: skip
    bars.paintEvent(None)
    assert seen == ["13", "2,358 residues"]


def test_long_names_of_files_push_nothing_out_of_details(qtbot: Any) -> None:
    name = "Escherichia_coli_strain_K12_" * 4 + "X" * 60 + ".fasta"
    card = FactsCard()
    qtbot.addWidget(card)
    card.show_facts(name, [("File", f"/home/somebody/{name}"), ("Residues", "2 969")], "")
    card.resize(MIN_WIDTH, 400)
    card.show()
    inside = card.widget()
    assert inside.minimumSizeHint().width() <= MIN_WIDTH
    assert inside.width() <= MIN_WIDTH
    title = card.box.itemAt(0).widget()
    metrics = QFontMetrics(title.font())
    assert all(metrics.horizontalAdvance(part) <= MIN_WIDTH for part in title.text().split(formatting.ZERO))
    assert title.toolTip().replace("\n", "") == name
    assert title.accessibleName() == name
    assert formatting.breakable("Query of a run") == "Query of a run"


def test_enter_in_the_field_of_a_score_closes_it_and_it_opens_at_its_line(qtbot: Any, view: HistogramView) -> None:
    plot = view.plot
    plot.setFocus()
    QTest.keyClick(plot, Qt.Key.Key_Return)
    editor = plot.editor
    assert editor is not None
    assert abs(editor.geometry().center().x() - at(plot, 20.0).x()) <= 46
    editor.selectAll()
    QTest.keyClicks(editor, "25.5")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert plot.editor is None
    assert plot.lines["report"].value() == 25.5


def test_a_low_plot_has_a_number_beside_its_bars(qtbot: Any) -> None:
    axis = CountAxis()
    axis.is_log = False
    for most in range(1, 500, 7):
        assert any(0 < tick <= most for tick in axis.tickValues(0.0, float(most), 64.0)[0][1])
