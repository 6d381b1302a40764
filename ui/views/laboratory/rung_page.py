"""The page of a ladder: its inputs, its rungs and experiments, and their charts."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit

from clalign.labs.ladder import FileField, Ladder, NumberField
from clalign.labs.register import LADDERS
from clalign.values.documents import JobRequest

from ... import formatting
from ..widgets.parts import shrinking
from .lab_page import BOX_WIDTH, NUMBER_WIDTH, LabPage, fill_devices, fill_files, whole_number


class RungPage(LabPage):
    """Shows the view of a ladder."""

    import_tip = "Open a ladder that was saved as JSON"
    icon = "stairs"
    empty_text = "This experiment was not run yet. Tick Experiments above and run."

    @property
    def ladder(self) -> Ladder:
        """The ladder."""
        assert isinstance(self.view.of, Ladder)
        return self.view.of

    def _add_setup(self) -> None:
        self.devices, self.with_experiments = QComboBox(), QCheckBox("Experiments")
        self.devices.activated.connect(lambda: self.show_running())
        others = {other.title.removeprefix("Ladder of "): other.kind for other in LADDERS.values()}
        self.ladders = self.add_others("Ladder", others)
        self.add_field("Device", self.devices, BOX_WIDTH)
        self.fields = {field.key: self._field(field) for field in self.ladder.fields}
        for field in self.ladder.fields:
            box = self.fields[field.key]
            self.add_field(field.name, box, BOX_WIDTH if isinstance(box, QComboBox) else NUMBER_WIDTH)
        names = self.ladder.experiment_names
        self.with_experiments.setChecked(bool(names))
        self.with_experiments.setToolTip(f"Run {', '.join(names)}, too")
        self.add_ticks("Run every rung", "Then tick those to be run", *[self.with_experiments] * bool(names))

    def _field(self, field: FileField | NumberField) -> QComboBox | QLineEdit:
        if isinstance(field, FileField):
            return shrinking(QComboBox())
        made = QLineEdit(formatting.count(field.usual))
        made.textChanged.connect(lambda: self.show_running())
        made.setToolTip(field.tip)
        return made

    def show_workspace(self) -> None:
        space = self.workspace
        for field in self.ladder.fields:
            box = self.fields[field.key]
            if isinstance(field, FileField) and isinstance(box, QComboBox):
                fill_files(box, space, field, "Synthetic (default)")
        fill_devices(self.devices, space)
        self.show_running()

    def values(self) -> dict[str, str | int | None]:
        """Return the inputs; 0 for an invalid number, None for no file."""
        return {
            key: field.currentData() or None if isinstance(field, QComboBox) else whole_number(field, self._most(key))
            for key, field in self.fields.items()
        }

    def _most(self, key: str) -> int:
        return next(field.most for field in self.ladder.fields if isinstance(field, NumberField) and field.key == key)

    def job_request(self) -> tuple[JobRequest, str]:
        values, wanted = self.values(), self.view.chosen_names()
        job = {"device": self.devices.currentData(), **values, "variants": self._variants(wanted)}
        for field in self.ladder.fields:
            if isinstance(field, NumberField) and not values[field.key]:
                return job, f"Give a number of {field.name.lower()} from 1 to {formatting.count(field.most)}."
        return job, "Tick at least one rung first." if wanted == [] else ""

    def _variants(self, wanted: list[str] | None) -> list[str] | None:
        """Return the ticked rungs, and the experiments; None if everything is ticked."""
        experiments, also = self.ladder.experiment_names, self.with_experiments.isChecked()
        if wanted is None and (also or not experiments):
            return None
        names = [row["name"] for row in self.view.rows] if wanted is None else wanted
        return [*names, *(experiments if also else [])]
