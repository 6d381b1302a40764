import os
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QApplication

from clalign.ui import theme
from clalign.ui.settings import MAX_RECENT, Settings, write_whole
from clalign.ui.shell.main_window import MainWindow


def again(settings: Settings) -> Settings:
    return Settings(settings.config, settings.data)


def test_choices_outlive_the_session(settings: Settings) -> None:
    settings.change(theme="dark", options={"evalue": 0.5})
    assert again(settings).preferences.theme == "dark"
    assert again(settings).preferences.options == {"evalue": 0.5}


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"theme": 3, "unknown": 1}', '{"theme": "dark"'])
def test_a_damaged_file_costs_only_itself(settings: Settings, text: str) -> None:
    (settings.config / "preferences.json").write_text(text)
    (settings.config / "recent.json").write_text(text)
    assert again(settings).preferences.theme == "system"
    assert again(settings).recent == []


def test_ten_recent_files_and_the_pinned_ones(settings: Settings) -> None:
    settings.add_recent("/data/pinned.hmm", "profiles")
    settings.change_recent("/data/pinned.hmm", pinned=True)
    for number in range(15):
        settings.add_recent(f"/data/{number}.fasta", "sequences")
    recent = again(settings).recent
    assert recent[0].path == "/data/pinned.hmm"
    assert [entry.path for entry in recent[1:3]] == ["/data/14.fasta", "/data/13.fasta"]
    assert len(recent) == MAX_RECENT + 1
    settings.forget("/data/pinned.hmm")
    assert len(again(settings).recent) == MAX_RECENT


def test_missing_files_say_why(settings: Settings, tmp_path: Path) -> None:
    settings.add_recent(str(tmp_path / "gone.fasta"), "sequences")
    settings.add_recent("/no/such/drive/a.fasta", "sequences")
    settings.add_recent(str(tmp_path), "sequences")
    problems = [entry.problem for entry in settings.recent]
    assert problems[0] == ""
    assert "drive" in problems[1]
    assert "moved or deleted" in problems[2]


def test_files_are_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.json"
    write_whole(path, "one")
    write_whole(path, "two")
    assert path.read_text() == "two"
    assert os.listdir(path.parent) == ["a.json"]


def test_a_folder_that_cannot_be_written_is_survived(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = Settings(tmp_path / "file" / "config", tmp_path)
    settings.change(theme="dark")
    assert settings.preferences.theme == "dark"


class Looks(QObject):
    """Counts how often the style of widgets changes."""

    def __init__(self) -> None:
        super().__init__()
        self.n = 0

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.n += event.type() == QEvent.Type.StyleChange
        return False


def test_another_theme_looks_at_each_widget_few_times(unwatched_window: MainWindow) -> None:
    """Qt does so once for each ancestor when one style sheet takes the place of another, which takes over a second."""
    app, looks = QApplication.instance(), Looks()
    assert isinstance(app, QApplication)
    app.installEventFilter(looks)
    theme.apply("dark")
    app.removeEventFilter(looks)
    assert 0 < looks.n <= 3 * len(app.allWidgets())
    assert unwatched_window.palette().window().color().name() == theme.DARK.window.lower()


def test_high_contrast_and_reduced_motion_are_heeded(window: MainWindow) -> None:
    for look in ("light", "dark"):
        window.controller.change_preferences({"theme": look, "contrast": True, "still": True})
        shown = theme.current()
        assert min(theme.contrast(color, shown.surface) for color in (shown.text, shown.muted)) > 15
        assert theme.contrast(shown.border, shown.surface) >= 7
        assert theme.is_still()
    window.controller.change_preferences({"theme": "light", "contrast": False, "still": False})
    assert theme.current() is theme.LIGHT
    assert not theme.is_still()
