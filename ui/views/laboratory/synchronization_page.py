"""Waiting groups: their device, their numbers, and the ways of waiting."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit

from clalign.errors import OptionError
from clalign.labs.meeting_programs import PROGRAMS
from clalign.labs.published_synchronization import SETS, SIZE
from clalign.labs.synchronization import MAX_GROUPS, USUAL_WAYS, numbers_of_groups
from clalign.labs.synchronization_results import TIPS, way_name
from clalign.values.documents import JobRequest

from ... import formatting
from ..widgets.parts import fill_box, set_role
from .lab_page import BOX_WIDTH, NUMBER_WIDTH, LabPage, fill_devices, whole_number

MAX_RUNS, MAX_SIZE = 1000, 1024


class SynchronizationPage(LabPage):
    """Shows the view of waiting groups."""

    import_tip = "Open a measurement that was saved as JSON"
    icon = "timer-sand"
    empty_text = "Choose a device and a program and run it, or open a measurement that was saved on another machine."

    def _add_setup(self) -> None:
        self.devices, self.programs = QComboBox(), QComboBox()
        fill_box(self.programs, ((name, one.title[:1].upper() + one.title[1:]) for name, one in PROGRAMS.items()))
        self.groups, self.group_size = QLineEdit(), QLineEdit(formatting.count(SIZE))
        self.sets, self.runs, self.work = QLineEdit(str(SETS)), QLineEdit("5"), QLineEdit()
        self.ways = {way: QCheckBox(way_name(way)) for way in USUAL_WAYS}
        self.groups.setPlaceholderText("7-60, or 1 to twice the cores")
        self.groups.setToolTip("Numbers of groups, as in 7-60 or 1,2,8-12")
        self.work.setPlaceholderText("as suits the device")
        self.work.setToolTip("Keys that are sorted, or rounds of numbers passed on")
        fields: tuple[tuple[str, QComboBox | QLineEdit, int], ...] = (
            ("Device", self.devices, BOX_WIDTH), ("Program", self.programs, 0), ("Groups", self.groups, BOX_WIDTH),
            ("Keys or rounds", self.work, BOX_WIDTH - 70), ("Work-items of a group", self.group_size, NUMBER_WIDTH),
            ("Sets of ILBS", self.sets, NUMBER_WIDTH), ("Repeats", self.runs, NUMBER_WIDTH),
        )  # fmt: skip
        for name, field, width in fields:
            self.add_field(name, field, width)
            if isinstance(field, QLineEdit):
                field.textChanged.connect(lambda: self.show_running())
        for way, tick in self.ways.items():
            tick.setChecked(True)
            tick.setToolTip(TIPS[way])
            tick.toggled.connect(lambda: self.show_running())
            self.setup.addWidget(tick)

    def show_workspace(self) -> None:
        fill_devices(self.devices, self.workspace)
        self.show_running()

    def job_request(self) -> tuple[JobRequest, str]:
        fields: list[tuple[str, QLineEdit, int, str]] = [
            ("group_size", self.group_size, MAX_SIZE, "work-items"),
            ("sets", self.sets, MAX_GROUPS, "sets"),
            ("runs", self.runs, MAX_RUNS, "repeats"),
        ]
        if self.work.text().strip():
            program = PROGRAMS[self.programs.currentData()]
            fields.append(("size", self.work, program.most, program.unit))
        else:
            set_role(self.work, "state", "")
        found = {name: whole_number(field, most) for name, field, most, _ in fields}
        problems = [
            f"Give a number of {noun} from 1 to {formatting.count(most)}."
            for name, _, most, noun in fields
            if not found[name]
        ]
        groups = self.groups.text().strip()
        problem = _problem_of(groups)
        set_role(self.groups, "state", "wrong" if problem else "")
        ways = [way for way, tick in self.ways.items() if tick.isChecked()]
        problems += [problem] * bool(problem) + ["Tick at least one way to wait first."] * (not ways)
        chosen = {"device": self.devices.currentData(), "program": self.programs.currentData()}
        return {**chosen, "groups": groups, "methods": ways, **found}, next(iter(problems), "")


def _problem_of(groups: str) -> str:
    """Return the objection to numbers of groups; empty if they are left to the device."""
    try:
        numbers_of_groups(groups or "1")
    except OptionError as error:
        return str(error)
    return ""
