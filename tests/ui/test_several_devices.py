"""Several devices are checked in the picker, asked for in searches, and told of in the job strip."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt

from clalign.cli.worker import perform
from clalign.errors import ExitCode
from clalign.jobs import Event, Job
from clalign.runs.run_file import open_run
from clalign.ui import formatting
from clalign.ui.models.jobs import DEVICE_LINES, JobItem
from clalign.ui.models.workspace import Workspace
from clalign.ui.shell.job_strip import DeviceLines, JobRow
from clalign.ui.views.docks import DEVICE_ROLE
from clalign.values.devices import Device

FIRST = Device("0:0", "Card", "gpu", health="ready", gcups=90.0)
SECOND = replace(FIRST, id="0:1", name="Other card", gcups=80.0)
CPU = Device("1:0", "Host", "cpu", health="ready", gcups=3.0)


def press(window: Any, qtbot: Any, row: int, x: int) -> None:
    view = window.devices.view
    place = view.visualRect(view.model().index(row, 0))
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place.left() + x, place.center().y()))


def test_boxes_are_checked_and_cleared(window: Any, qtbot: Any) -> None:
    space = window.controller.workspace
    space.set_devices([FIRST, SECOND, CPU])
    window.chip.click()
    press(window, qtbot, 1, 60)
    assert space.device_id == "0:0", "a press on the name chooses that one alone"
    press(window, qtbot, 3, 12)
    press(window, qtbot, 2, 12)
    assert space.device_id == "0:0,0:1,1:0"
    assert [one.id for one in space.chosen_devices] == ["0:0", "0:1", "1:0"]
    assert window.controller.settings.preferences.device == "0:0,0:1,1:0"
    press(window, qtbot, 1, 12)
    assert space.device_id == "0:1,1:0"
    assert space.device == SECOND
    space.set_devices([FIRST, CPU])
    assert space.device_id == "1:0", "one is not there any more"
    window.devices.view.setCurrentIndex(window.devices.view.model().index(2, 0))
    qtbot.keyClick(window.devices.view, Qt.Key.Key_Space)
    assert space.device_id == "auto", "none is left"
    press(window, qtbot, 2, 60)
    press(window, qtbot, 0, 12)
    assert space.device_id == "auto"


PARTS = [
    {"name": "Card", "id": "0:0", "gcups": 90.0, "cells": 3e9, "share": 0.75},
    {"name": "Host", "id": "1:0", "gcups": 3.0, "cells": 1e9, "share": 0.25},
    {"name": "Late", "id": "1:1", "gcups": 0.0, "cells": 0.0, "share": 0.0},
]


def progress(devices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"stage": "search", "done": 4e9, "total": 8e9, "gcups": 93.0, "devices": devices}


def test_the_strip_tells_of_each_device(qtbot: Any) -> None:
    item = JobItem("Search", {"job": "search"}, "running")
    row = JobRow(item)
    qtbot.addWidget(row)
    row.show()
    table, low = row.findChild(DeviceLines), row.sizeHint().height()
    assert not table.isVisible(), "one device has no table"
    item.take_progress(progress(PARTS), 0.0)
    row.show_item(item)
    card, host, late = item.device_lines()
    assert card == ("Card", f"75{formatting.THIN}% of the finished work", formatting.rate(90.0), "3.00 billion cells")
    assert host[0] == "Host"
    assert late == ("Late", "nothing yet", "", "")
    assert table.isVisible()
    assert row.sizeHint().height() > low + 40
    item.take_progress({"stage": "pairs", "done": 0.0, "total": 8e9}, 1.0)
    assert len(item.device_lines()) == 3, "they stay where an event does not tell of them"
    item.state = "done"
    row.show_item(item)
    assert not table.isVisible()


def test_many_devices_are_summed_up() -> None:
    item = JobItem("Search", {"job": "search"}, "running")
    many = [{**PARTS[0], "name": f"Card {n}", "share": 0.1, "cells": 1e9, "gcups": 10.0} for n in range(10)]
    item.take_progress(progress(many), 0.0)
    lines = item.device_lines()
    assert len(lines) == DEVICE_LINES
    assert lines[-1] == (
        "7 more",
        f"70{formatting.THIN}% of the finished work",
        formatting.rate(70.0),
        "7.00 billion cells",
    )


@pytest.mark.parametrize(("before", "number", "after"), [("auto", "1:0", "1:0"), ("1:0", "0:0", "0:0,1:0")])
def test_words_keep_the_order_of_the_list(qtbot: Any, before: str, number: str, after: str) -> None:
    space = Workspace()
    space.set_devices([FIRST, SECOND, CPU])
    space.choose_device(before)
    assert space.words_with(number) == after


@pytest.mark.thorough
def test_a_cluster_is_an_entry_of_the_picker(window: Any, qtbot: Any) -> None:
    space = window.controller.workspace
    space.set_devices([FIRST, CPU])
    window.chip.click()
    press(window, qtbot, 4, 60)
    sheet = window.sheets.sheet
    assert sheet.address.text() == ""
    assert not sheet.choose.isEnabled()
    sheet.address.setText("host:8786")
    sheet.address.setText("tcp://host:8786")
    sheet.choose.click()
    assert window.sheets.sheet is not sheet
    assert space.device_id == "auto@tcp://host:8786"
    assert window.controller.settings.preferences.device == space.device_id
    assert space.device == FIRST, "estimates are for this machine"
    space.set_devices([CPU])
    assert space.cluster == "tcp://host:8786", "it is not among the devices that were looked for"
    index = window.devices.items.index(3, 0)
    assert index.data(DEVICE_ROLE)[0::3] == (True, "tcp://host:8786")
    press(window, qtbot, 1, 12)
    assert (space.device_id, space.cluster) == ("1:0", "")


def test_the_window_continues_a_run_on_the_cluster_that_is_chosen_in_it_and_on_no_other(
    window: Any, qtbot: Any, made_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, space = window.controller.jobs, window.controller.workspace
    submitted: list[dict[str, Any]] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        path = made_run(complete=False)
        with open_run(path, writable=True) as run:
            address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
            run.set_facts(spec={**run.facts.spec, "device": address}, state="stopped")
        window.controller.show_run(str(path))
        qtbot.waitUntil(lambda: bool(window.controller.page and window.controller.page.run.facts))
        with monkeypatch.context() as patched:
            patched.setattr(jobs, "_submit", lambda title, job: submitted.append(job))
            window.controller.resume_run()
            space.choose_device("gpus@tcp://host:8786")
            window.controller.resume_run()
            jobs.resume(str(path), "1:0")
        assert [job.get("device") for job in submitted] == [None, "gpus@tcp://host:8786", "1:0"]
        value = run_in_worker(submitted[0])
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    item = JobItem("Continue", submitted[0], "failed", exit_code=value["exit_code"])
    assert item.exit_code == ExitCode.NO_DEVICE
    assert "resume_elsewhere" in dict(item.offers())


def run_in_worker(job: dict[str, Any]) -> dict[str, Any]:
    """Return the value of the last event of a job."""
    events: list[Event] = []
    perform(job, Job(events.append))
    return events[-1].value
