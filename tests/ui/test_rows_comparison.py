"""Two alignments of the same sequences, one below the other: what differs, and that both are followed together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from clalign.tools.alignment_accuracy import alignment_accuracy, compare_files, residue_agreements
from clalign.ui.models.alignment.rows_comparison import AGREEMENT
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.alignment.rows_comparison import ComparisonPane
from clalign.ui.views.alignment.rows_page import RowsPanel
from clalign.values.multiple_alignments import MultipleAlignment

LEFT = Qt.MouseButton.LeftButton

RNG = np.random.default_rng(3)


def spread(letters: str, width: int) -> str:
    """Return letters with gaps between them, drawn."""
    row = np.full(width, ord("-"), np.uint8)
    row[np.sort(RNG.choice(width, len(letters), replace=False))] = list(letters.encode())
    return row.tobytes().decode()


@pytest.fixture
def both(tmp_path: Path) -> tuple[Path, Path]:
    """An alignment of 40 rows, and one of 30 of them in another order: 3 columns later, others near 100."""
    letters = ["".join(RNG.choice(list("ACDEFGHIKLMNPQRSTVWY"), 180)) for _ in range(40)]
    rows = {f"s{place}": spread(text, 200) for place, text in enumerate(letters)}
    one = tmp_path / "one.afa"
    one.write_text("".join(f">{name}\n{row}\n" for name, row in rows.items()))
    others = {name: f"---{row[:100]}{row[100:110].replace('-', ''):->10}{row[110:]}" for name, row in rows.items()}
    other = tmp_path / "other.afa"
    chosen = list(others)[::-1][:30]
    other.write_text("".join(f">{name}\n{others[name]}\n" for name in [*chosen]) + f">more\n{'A' * 203}\n")
    return one, other


def opened(qtbot: Any, window: MainWindow, path: Path) -> RowsPanel:
    window.controller.sources.open_paths([str(path)])
    alignments = window.controller.alignments
    qtbot.waitUntil(lambda: alignments.panel is not None and alignments.panel.view.is_measured)
    assert alignments.panel is not None
    return alignments.panel


@pytest.fixture
def panel(qtbot: Any, real_window: MainWindow, both: tuple[Path, Path]) -> RowsPanel:
    return opened(qtbot, real_window, both[0])


@pytest.fixture
def pane(
    qtbot: Any, real_window: MainWindow, panel: RowsPanel, both: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> ComparisonPane:
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(both[1]), ""))
    real_window.actions_.by_id["alignments.compare"].trigger()
    pane = panel.panes.comparison
    qtbot.waitUntil(lambda: pane.model.found is not None and pane.model.is_idle and panel.view.is_idle)
    return pane


def test_what_differs_is_counted_as_on_the_command_line(
    panel: RowsPanel, pane: ComparisonPane, both: tuple[Path, Path], tmp_path: Path
) -> None:
    common = [name for name in panel.view.alignment.names if int(name[1:]) >= 10]
    reference = tmp_path / "reference.afa"
    cut = {row.split("\n")[0]: row for row in both[1].read_text().split(">")[1:]}
    reference.write_text("".join(f">{cut[name]}" for name in common))
    expected = compare_files(str(both[0]), str(reference))
    words = pane.words.text()
    for name, value in (("AMA", expected.ama), ("SP", expected.sensitivity), ("PPV", expected.ppv),
                        ("TC", expected.total_column)):  # fmt: skip
        assert f"{name} {value:.3f}" in words
    assert "over the 30 sequences that both have" in words
    differs = pane.model.found.sides[0].differs
    assert len(differs)
    assert differs.min() >= 100
    assert differs.max() < 110
    assert panel.view.scheme == AGREEMENT
    values = panel.view.coloring.values
    assert values is not None
    shown = values(np.arange(40), np.arange(200))
    assert np.isnan(shown[:10]).all()
    assert np.nanmin(shown[10:, :100]) == 1
    assert np.nanmin(shown[10:, 100:110]) < 1
    text, line = panel.view.column_notes()[AGREEMENT]
    assert text[:100] == b"9" * 100
    assert "partners" in line


@pytest.mark.thorough
def test_both_are_scrolled_and_the_cursor_is_in_both(qtbot: Any, panel: RowsPanel, pane: ComparisonPane) -> None:
    canvas, other = panel.canvas, pane.canvas
    assert other is not None
    view = panel.view
    view.move_to(20, 150)
    own = view.alignment.cells[20]
    column = next(c for c in range(150, 160) if own[c] != ord("-"))
    view.move_to(20, column)
    name = pane.model.other.name_at(pane.model.other.cursor[0])
    assert name == view.name_at(20)
    assert pane.model.other.cursor[1] == column + 3
    assert abs(other.horizontalScrollBar().value() - canvas.horizontalScrollBar().value() - 3 * canvas.cell) <= 1
    rows, columns = pane.model.other.linked
    assert set(columns.tolist()) == {column + 3}
    assert len(rows) == int((view.alignment.cells[10:, column] != ord("-")).sum())
    canvas.horizontalScrollBar().setValue(0)
    other.horizontalScrollBar().setValue(700)
    assert abs(canvas.horizontalScrollBar().value() - (700 - 3 * canvas.cell)) <= 1
    canvas.zoom(-1)
    assert other.cell == canvas.cell
    place = QPoint(int(other.names + 20.5 * other.cell), int(other.room.top() + 4))
    QTest.mouseClick(other.viewport(), LEFT, pos=place)
    assert view.name_at(view.cursor[0]) == pane.model.other.name_at(pane.model.other.cursor[0])


@pytest.mark.thorough
def test_the_other_one_follows_the_order_and_the_next_difference(
    qtbot: Any, panel: RowsPanel, pane: ComparisonPane
) -> None:
    assert pane.model.other is not None
    panel.view.sort("name")
    qtbot.waitUntil(lambda: panel.view.order_key == "name")
    names = [panel.view.name_at(place) for place in range(40)]
    others = [pane.model.other.name_at(place) for place in range(30)]
    assert others == [name for name in names if name in others]
    panel.view.move_to(0, 0)
    pane._step(1)
    assert panel.view.cursor[1] == pane.model.found.sides[0].differs[0]
    pane._step(-1)
    assert panel.view.cursor[1] == pane.model.found.sides[0].differs[0]


@pytest.mark.thorough
def test_it_is_closed_without_a_trace(panel: RowsPanel, pane: ComparisonPane) -> None:
    pane.close_requested.emit()
    assert panel.panes.comparison is None
    assert AGREEMENT not in panel.view.values
    assert AGREEMENT not in panel.view.column_notes()
    assert panel.view.scheme == "safe"
    assert panel.schemes.findData(AGREEMENT) < 0
    assert len(panel.canvas.tracks) > 1


@pytest.mark.thorough
def test_a_file_that_cannot_be_compared_is_refused(
    qtbot: Any, real_window: MainWindow, panel: RowsPanel, tmp_path: Path
) -> None:
    def refused(text: str, reason: str) -> None:
        path = tmp_path / "bad.afa"
        path.write_text(text)
        panel.panes.show_comparison(str(path))
        qtbot.waitUntil(lambda: any(reason in m.text for m in real_window.messages.messages))
        assert panel.panes.comparison is None

    refused(">x\nACD\n>y\nACD\n", "fewer than two of these sequences")
    refused(">s1\nACD\n>s2\nACD\n", "the residues of")
    panel.panes.show_comparison(str(tmp_path / "nothing.afa"))
    qtbot.waitUntil(lambda: any("nothing.afa" in m.text for m in real_window.messages.messages))


def test_agreements_are_shares_of_the_same_partners() -> None:
    shown = MultipleAlignment.from_rows([b"AC", b"AC", b"-C"])
    other = MultipleAlignment.from_rows([b"AC", b"AC", b"C-"])
    assert residue_agreements(shown, other).tolist() == [0.5, 0.5, 0.5, 0.5, 0.0]
    texts = ["".join(RNG.choice(list("ACDE"), 30)) for _ in range(7)]
    one, two = (MultipleAlignment.from_rows([spread(text, 40).encode() for text in texts]) for _ in range(2))
    first, second = one.positions(), two.positions()
    expected = []
    for row, columns in enumerate(first):
        for column in np.flatnonzero(columns >= 0).tolist():
            there = int(np.flatnonzero(second[row] == columns[column])[0])
            same = first[:, column] == second[:, there]
            expected.append((int(same.sum()) - 1) / 6)
    found = residue_agreements(one, two)
    assert np.allclose(found, expected)
    assert abs(float(found.mean()) - alignment_accuracy(one, two).ama) < 1e-6
