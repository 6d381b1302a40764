"""The export sheet keeps its shape while its form changes."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from clalign.ui.engines.pairwise.run_view import PairRunView
from clalign.ui.engines.plan7.run_view import ProfileRunView
from clalign.ui.views.export_sheet import ExportChoices, ExportSheet

PAIR_FORMS = PairRunView.export_forms


@pytest.mark.parametrize("forms", [ProfileRunView.export_forms, PAIR_FORMS])
def test_another_form_moves_nothing(qtbot: Any, tmp_path: Path, forms: Any) -> None:
    counts = {"all": 3, "filtered": 3, "selected": 1}
    sheet = ExportSheet(
        ExportChoices("hits", counts, tmp_path, forms, PairRunView.export_columns if forms is PAIR_FORMS else None)
    )
    qtbot.addWidget(sheet)
    sheet.resize(560, 900)
    sheet.show()
    height, applies = sheet.preferred_height(560), {}
    for button in sheet.forms.buttons():
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(8, button.height() // 2))
        assert button.isChecked()
        assert sheet.preferred_height(560) == height
        assert sheet.is_safe.isVisible()
        applies[forms[sheet.forms.checkedId()][0]] = sheet.is_safe.isEnabled(), sheet.columns.isEnabled()
    assert applies["tsv"] == (True, False)
    assert applies["fasta"] == (False, False)
    assert sheet.columns.isVisible() == (forms is PAIR_FORMS)
    if forms is PAIR_FORMS:
        assert applies["outfmt"][1]
