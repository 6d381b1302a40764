"""Aligns the chosen sequences to the chosen profile, and shows the alignment."""

from __future__ import annotations

from pathlib import Path

from ... import formatting
from ...models.jobs import JobItem
from ...services.alignment_controller import AlignmentController
from ...services.app_context import AppContext, Controller


class AligningController(Controller):
    """Has sequences aligned to a profile."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        alignments = app.findChild(AlignmentController)
        assert alignments is not None  # it stands below
        self._alignments = alignments
        app.queue.job_ended.connect(self._end)

    def align_chosen(self) -> None:
        """Align the chosen sequences to the chosen profile, on the chosen device."""
        space = self._app.workspace
        if space.profiles is None or space.sequences is None:
            return
        profile, sequences = space.profiles, space.sequences
        name = str(profile.cards[0]["name"])
        output = self._app.output_of_job("alignments", f"{Path(sequences.path).stem}-{name}", ".sto")
        if not output:
            return
        self._app.window.messages.clear_passed()
        job = {"job": "hmmalign", "profile": profile.path, "sequences": sequences.path, "output": output}
        self._app.queue.submit(f"Align {Path(sequences.path).name} to {name}", job)

    def _end(self, item: JobItem) -> None:
        """Show the alignment that was made."""
        if (item.kind, item.state) != ("hmmalign", "done"):
            return
        value = item.result
        n = formatting.plural(value["n_sequences"], "sequence")
        text = f"{n} aligned to {value['profile']}. The alignment is kept in {formatting.short_path(value['output'])}."
        self._app.notify("good", text)
        self._alignments.open(value["output"])
