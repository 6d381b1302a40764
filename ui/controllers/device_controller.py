"""Actions on devices: choose, test, tune, and find them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clalign.values.documents import JobResult

from ..models import device_words
from ..models.jobs import JobItem
from ..models.workspace import REFERENCE_WORDS
from ..services.app_context import AppContext, Controller

if TYPE_CHECKING:
    from ..views.widgets.small_sheets import DeviceSheet


class DeviceController(Controller):
    """Works on the devices of the workspace."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        app.queue.partial_received.connect(self._take_trial)

    def choose_device(self, number: str) -> None:
        """Choose the device of searches; ask for the address of a cluster."""
        if number == device_words.CLUSTER:
            self._choose_cluster()
            return
        self._app.workspace.choose_device(number)
        self._app.settings.change(device=number)
        if self._app.workspace.device.kind == "reference" and number == "reference":
            self._app.notify("caution", REFERENCE_WORDS)

    def _choose_cluster(self) -> None:
        from ..views.widgets.small_sheets import ClusterSheet

        sheet = ClusterSheet(self._app.workspace.cluster)
        sheet.chosen.connect(self.choose_device)
        sheet.chosen.connect(sheet.close_sheet)
        self._app.window.sheets.open_sheet(sheet)

    def focus_devices(self) -> None:
        """Show the list of devices."""
        self._app.window.chip.show_list()

    def refresh_devices(self) -> None:
        """Look for devices again and test them."""
        self._app.workspace.devices_known = False
        self._app.workspace.devices_changed.emit()
        self._app.inspector.find_devices(refresh=True)

    def self_test(self) -> None:
        """Test the chosen device and show the result."""
        self.show_device(self._app.workspace.device.id, test=True)

    def device_details(self) -> None:
        """Show all facts about the chosen device."""
        self.show_device(self._app.workspace.device.id)

    def show_device(self, number: str, test: bool = False) -> None:
        """Show a device, and test it on request."""
        from ..views.widgets.small_sheets import DeviceSheet

        space = self._app.workspace
        device = next((d for d in space.devices if d.id == number), space.device)
        sheet = DeviceSheet(device)
        sheet.test_requested.connect(self._app.inspector.test_device)
        sheet.tune_requested.connect(self._submit_tuning)
        self._app.inspector.device_tested.connect(sheet.show_test)
        self._app.workspace.devices_changed.connect(lambda: self._renew_device(sheet))
        self._app.window.sheets.open_sheet(sheet)
        if test:
            sheet.begin_test()

    def tune(self) -> None:
        """Find the fastest kernel choices for the chosen device."""
        self._submit_tuning(self._app.workspace.device.id, False)

    def _submit_tuning(self, number: str, reset: bool) -> None:
        space, queue = self._app.workspace, self._app.queue
        name = device_words.title(next((d for d in space.devices if d.id == number), space.device))
        self._app.window.messages.clear_passed()
        title = f"Forget the tuning of {name}" if reset else f"Tune {name}"
        job = {"job": "tune", "device": number, "reset": reset}
        queue.submit(title, job, answer=lambda value: self._end_tuning(number, reset, value))

    def _take_trial(self, item: JobItem, value: JobResult) -> None:
        from ..views.widgets.small_sheets import DeviceSheet

        sheet = self._app.window.sheets.sheet
        if item.kind == "tune" and isinstance(sheet, DeviceSheet) and sheet.device_id == item.spec["device"]:
            sheet.add_trial(value["row"])

    def _end_tuning(self, number: str, reset: bool, value: JobResult) -> None:
        """Show the result of a tuning."""
        if reset:
            self._app.notify("good", f"{value['device']} uses the built-in settings again.")
            return
        undo = ("Forget it", lambda: self._submit_tuning(number, True))
        self._app.notify("good", device_words.tuning(value), undo)

    def _renew_device(self, sheet: DeviceSheet) -> None:
        device = next((d for d in self._app.workspace.devices if d.id == sheet.device_id), None)
        if self._app.window.sheets.sheet is sheet and device is not None:
            sheet.show_device(device)
