"""The export sheet keeps its shape while its form changes."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from clalign.engines.engine import engine_named
from clalign.ui.views.export_sheet import ExportChoices, ExportSheet


@pytest.mark.parametrize("engine", ["plan7", "pairwise"])
def test_another_form_moves_nothing(qtbot: Any, tmp_path: Path, engine: str) -> None:
    counts, forms = {"all": 3, "filtered": 3, "selected": 1}, engine_named(engine).exports
    assert {form.name for form in forms} == engine_named(engine).writers.keys()
    sheet = ExportSheet(ExportChoices("hits", counts, tmp_path, forms))
    qtbot.addWidget(sheet)
    sheet.resize(560, 900)
    sheet.show()
    height, applies = sheet.preferred_height(560), {}
    for button in sheet.forms.buttons():
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(8, button.height() // 2))
        assert button.isChecked()
        assert sheet.preferred_height(560) == height
        assert sheet.is_safe.isVisible()
        applies[forms[sheet.forms.checkedId()].name] = sheet.is_safe.isEnabled(), sheet.columns.isEnabled()
    assert applies["tsv"] == (True, False)
    assert applies["fasta"] == (False, False)
    assert sheet.columns.isVisible()
    assert applies["outfmt"][1]
