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


def test_what_is_of_all_queries_is_proposed_of_all_hits(qtbot: Any, tmp_path: Path) -> None:
    counts, forms = {"all": 9, "filtered": 3, "selected": 1}, engine_named("plan7").exports
    sheet = ExportSheet(ExportChoices("hits", counts, tmp_path, forms))
    qtbot.addWidget(sheet)
    names = [form.name for form in forms]

    def which(form: str) -> int:
        sheet.forms.button(names.index(form)).click()
        return sheet.which.checkedId()

    assert [which(form) for form in ("tsv", "architecture", "csv")] == [1, 0, 1]
    sheet.which.button(2).click()
    assert [which(form) for form in ("architecture", "tsv")] == [2, 2], "what the user has chosen stays"
    assert not sheet.with_species.isChecked()
    sheet.with_species.click()
    assert sheet.shape() == {"species": True}
    which("architecture")
    assert (sheet.shape(), sheet.with_species.isEnabled()) == ({}, False)
    sheet.with_origin.click()
    assert sheet.shape() == {"provenance": True}, "of every form"
