"""The sheet that aligns many sequences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtWidgets import QComboBox

from clalign.common.plain_data import Json
from clalign.engines.msa.estimate import MAX_OF_MEMORY, AlignmentEstimate, estimate, physical_memory
from clalign.engines.msa.spec import AlignmentSpec

from ... import formatting
from ...models.workspace import Notice, Source, Workspace, device_notices, reason_not_to_start
from ...views.widgets.choices import NarrowBox
from ...views.widgets.option_form import OptionForm, Options
from ...views.widgets.spec_sheet import SpecSheet

HOPELESS = 4.0
"""Times the memory of the computer of which no alignment is begun: what it is expected to need is only about right."""

MANY_SEQUENCES = 1500
"""Sequences from which on comparing all pairs is slow."""


def lengths_of(report: Json) -> npt.NDArray[np.int64]:
    """Return the lengths of sequences by the histogram of an input report."""
    parts = [np.full(n, (low + high) // 2, np.int64) for low, high, n in report.get("length_histogram") or ()]
    known = np.concatenate(parts) if parts else np.empty(0, np.int64)
    n = int(report.get("n_sequences") or 0)
    return known if len(known) == n else np.full(n, round(report.get("mean") or 0), np.int64)


class AlignSheet(SpecSheet):
    """The sheet for an alignment of the sequences of a file."""

    spec: AlignmentSpec | None

    def __init__(self, workspace: Workspace, options: Options) -> None:
        self.sequences = NarrowBox()
        texts = ("Align sequences", "Align")
        super().__init__(workspace, OptionForm(AlignmentSpec, "sequences"), options, texts, "Start the alignment")

    def _files(self) -> dict[str, tuple[str, QComboBox]]:
        return {"sequences": ("Sequences", self.sequences)}

    def _filled_spec(self, values: Options) -> AlignmentSpec | None:
        source = self.workspace.sequences
        if source is None:
            return None
        given = {"sequences": [source.path], "device": self.workspace.device_id, "alphabet": source.alphabet}
        return AlignmentSpec.from_dict({**given, **values})

    def _input_notices(self) -> list[Notice]:
        return [*self._memory_notices(), *device_notices(self.workspace.known_device)]

    def _estimate(self) -> AlignmentEstimate | None:
        source = self.workspace.sequences
        if source is None or source.state != "ready" or self.spec is None:
            return None
        device = self.workspace.device
        is_known = device.gcups or device.kind == "reference"
        return estimate(lengths_of(source.report), self.spec, [device] if is_known else ())

    def _memory_notices(self) -> list[Notice]:
        found = self._estimate()
        if found is None:
            return []
        memory, disk = formatting.size(found.memory_bytes), formatting.size(found.disk_bytes)
        pairs, cells = formatting.plural(found.n_pairs, "pair"), formatting.cells(found.n_cells)
        text = f"{pairs} of sequences, {cells}; about {memory} of memory and {disk} of disk."
        notices = [Notice("note", text)]
        installed = physical_memory()
        if installed is not None and found.memory_bytes > MAX_OF_MEMORY * installed:
            needs = f"About {memory} of memory are needed, but this computer has {formatting.size(installed)}."
            blocks = found.memory_bytes > HOPELESS * installed
            notices.append(Notice("stop" if blocks else "caution", f"{needs} Fewer pairs need less.", blocks))
        n = int((self.workspace.sequences.report if self.workspace.sequences else {}).get("n_sequences") or 0)
        if n > MANY_SEQUENCES and self.spec is not None and not self.spec.is_fast:
            notices.append(Notice("caution", f"With {formatting.count(n)} sequences, Fewer pairs is much faster."))
        return notices

    def _obstacle(self) -> str:
        blocking = (notice.text for notice in self._input_notices() if notice.blocks)
        return reason_not_to_align(self.workspace.sequences) or next(blocking, "")


def reason_not_to_align(source: Source | None) -> str:
    """Return why sequences cannot be aligned now; empty if they can."""
    reason = reason_not_to_start((source,), "Choose sequences first.", [])
    if reason or source is None:
        return reason
    if source.kind != "sequences":
        return "Choose a file of sequences."
    return "" if source.report.get("n_sequences", 0) > 1 else "At least two sequences are needed."
