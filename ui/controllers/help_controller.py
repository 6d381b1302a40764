"""Help in the window: documents, tour, past messages, and problem reports."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QProcess

from clalign.system.processes import own_command

from .. import formatting, log
from ..models.jobs import JobItem
from ..services.app_context import AppContext, Controller

if TYPE_CHECKING:
    from ..views.help_page import HelpPage
    from ..views.results.report_sheet import ReportSheet


class HelpController(Controller):
    """Shows the documents and collects the parts of a report."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._page: HelpPage | None = None
        self._doctor: QProcess | None = None
        self.log_file = log.log_folder() / "window.log"
        app.window.messages.message_added.connect(partial(log.LOG.info, "said (%s): %s"))
        app.queue.job_added.connect(lambda item: log.LOG.info("job begun: %s %s", item.kind, item.title))
        app.queue.job_ended.connect(self._note_end)

    def _note_end(self, item: JobItem) -> None:
        log.LOG.info("job ended: %s %s: %s %s", item.kind, item.title, item.state, item.line())
        if item.traceback:
            log.LOG.error("%s", item.traceback)

    # --- documents ---

    def show(self, document: str = "") -> None:
        """Show the help, at a document if one is named."""
        from ..models.help_pages import HelpPages
        from ..views.help_page import HelpPage

        if self._page is None:
            self._page = HelpPage(HelpPages())
            self._page.back_requested.connect(self._app.leave_aside)
            self._app.window.center.addWidget(self._page)
        self._app.show_aside(self._page, "Help")
        self._app.window.details.show_source(None)  # what it showed belongs to another page
        if document:
            self._page.search.clear()
            self._page.open_document(document)

    def messages(self) -> None:
        """Show all messages since the window was opened."""
        from ..views.widgets.small_sheets import TextSheet

        history = reversed(self._app.window.messages.history)
        rows = [(formatting.moment(when), text) for when, _, text in history]
        self._app.window.sheets.open_sheet(TextSheet("Messages", [("", rows or [("", "There are no messages yet.")])]))

    # --- a report ---

    def report_problem(self) -> None:
        """Open the sheet that writes a report to a file."""
        from ..views.results.report_sheet import ReportSheet

        sheet = ReportSheet()
        self._app.window.sheets.open_sheet(sheet)
        self.leave()
        self._doctor = process = QProcess(self)
        process.finished.connect(lambda *_: self._take_doctor(sheet, process))
        process.errorOccurred.connect(lambda _: self._take_doctor(sheet, process))
        command = own_command("doctor")
        process.start(command[0], command[1:])
        sheet.save_requested.connect(lambda: self._save(sheet))
        sheet.destroyed.connect(lambda: self.leave() if self._doctor is process else None)

    def leave(self) -> None:
        """Stop waiting for the state of the installation."""
        process, self._doctor = self._doctor, None
        if process is not None:
            process.blockSignals(True)
            process.kill()
            process.waitForFinished(1000)
            process.deleteLater()

    def _take_doctor(self, sheet: ReportSheet, process: QProcess) -> None:
        text = bytes(process.readAllStandardOutput().data()).decode(errors="replace").strip()
        notes = bytes(process.readAllStandardError().data()).decode(errors="replace").strip()
        sheet.show_report(self.report(f"{text}\n{notes}".strip() or f"(no answer: {process.errorString()})"))

    def report(self, doctor: str) -> str:
        """Return versions, the state of the installation, past messages, and the end of the log."""
        lines = [
            f"{time.strftime('%H:%M:%S', time.localtime(when))} {severity}: {text}"
            for when, severity, text in self._app.window.messages.history
        ]
        parts = (
            ("Versions", log.versions()),
            ("clalign doctor", doctor),
            ("Messages of this session", "\n".join(lines) or "none"),
            (f"End of the log, {self.log_file}", log.log_tail(self.log_file)),
        )
        return "\n\n".join(f"== {title} ==\n{text}" for title, text in parts) + "\n"

    def _save(self, sheet: ReportSheet) -> None:
        name = f"clalign-report-{time.strftime('%Y%m%d-%H%M')}.txt"
        if self._app.save_text("Save report as", name, "Text (*.txt)", "Report", sheet.text()):
            self._app.window.sheets.close_sheet()
