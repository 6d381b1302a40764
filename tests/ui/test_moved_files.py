"""Files that a run was made with: nothing waits for their checksums, and where they were moved to can be told."""

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from clalign.jobs import JobContext
from clalign.ui.main_window import MainWindow
from clalign.ui.views.pair_page import PairPage


@pytest.mark.parametrize("closes_window", [True, False])
def test_closing_does_not_wait_for_a_checksum(
    qtbot: Any,
    window: MainWindow,
    opened: Callable[[str], PairPage],
    monkeypatch: pytest.MonkeyPatch,
    closes_window: bool,
) -> None:
    started = threading.Event()

    def endless(path: str, context: JobContext) -> str:
        started.set()
        while True:
            context.check()
            time.sleep(0.001)

    monkeypatch.setattr("clalign.run_files.inputs.digest_of", endless)
    page = opened("proteins")
    page.hits.table.choose_row(0)
    page.show_tab("alignment")
    assert started.wait(60)
    if closes_window:
        window.close()
    else:
        window.conductor.close_page()
        qtbot.waitUntil(lambda: window.conductor.files.is_idle)
