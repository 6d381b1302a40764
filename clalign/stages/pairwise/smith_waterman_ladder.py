"""Smith-Waterman of many pairs in every published way, from one core to a device: the ladder's stages.

Gaps are linear and letters only equal or not, as was published. Everything is copied to the device for each
run, because what the copies cost is part of the ladder.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Argument, Buffer, Check, KernelSession, Stage, no_check
from clalign.errors import OptionError
from clalign.stages.ladder_choices import ChoicesBase, group_obstacle, refuse
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.devices import Device
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import Scoring

SOURCE, SEQUENTIAL_SOURCE = "smith_waterman_ladder_lanes", "smith_waterman_ladder_item"
ENTRY = "smith_waterman_ladder"

AXES: dict[str, tuple[str, ...]] = {
    "scores": ("global", "local"),
    "maximum": ("host", "device"),
    "path": ("host", "device"),
}
"""What may be chosen; the first of each is the published beginning."""

N_ENDS = 6
"""Numbers of an alignment: score, its last cell (i, j), the one before its first (i, j), columns."""

LETTERS = np.frombuffer(b"-MDI", np.uint8)
"""Letters of a path by direction."""

MATRICES_SHARE = 0.5
"""Share of the device's largest buffer that the matrices of one launch may take."""

ROUND = 64
"""The longest query counts as a multiple of this, so that few kernels serve all lengths."""

CELLS_PER_LAUNCH = 2**25
"""One core does this many in about a tenth of a second."""

Ends = npt.NDArray[np.int32]


class PairLadderChoices(ChoicesBase, frozen=True):
    """One choice on every axis of `AXES`, and the work-group.

    Attributes
    ----------
    scores : str
        Whole matrices in ``global`` memory, or three diagonals in ``local`` memory.
    maximum : str
        Who finds the best cell of each matrix; the ``host`` needs them whole.
    path : str
        Who walks back from it; the ``device`` must have found it.
    group : int
        Work-items a work-group, rounded down to a power of 2.
    """

    axes = AXES

    scores: str = "global"
    maximum: str = "host"
    path: str = "host"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group < 1:
            raise OptionError("A work-group holds at least one work-item.", "Give a number above 0.")
        if self.maximum == "host" and (self.scores, self.path) != ("global", "host"):
            raise OptionError(
                "The host finds the best cell only in whole matrices of scores, and before any path is walked.",
                "Let the device find it.",
            )


class _Job(Struct, frozen=True):
    """What both kernels need: the pairs, what they score, and the size of a matrix that holds any of them."""

    batch: PairBatch
    score_params: tuple[np.int32, np.int32, np.int32]
    height: int
    width: int

    @property
    def room(self) -> int:
        """Columns that the longest path could have."""
        return self.height + self.width

    def arguments(self, session: KernelSession, pairs: slice) -> list[Argument]:
        """Return the first arguments of a kernel for some of the pairs."""
        batch = self.batch
        arrays = (
            batch.queries.codes, batch.queries.offsets, batch.targets.codes, batch.targets.offsets,
            batch.query_rows[pairs], batch.target_rows[pairs],
        )  # fmt: skip
        return [
            *(session.upload(array) for array in arrays),
            *self.score_params,
            np.int32(self.height),
            np.int32(self.width),
        ]


def _job_of(batch: PairBatch, scoring: Scoring) -> _Job:
    """Return what the kernels need.

    Raises
    ------
    OptionError
        If they cannot score like this.
    """
    codes = np.unique(np.concatenate([batch.queries.codes, batch.targets.codes]))
    table = scoring.matrix.scores[np.ix_(codes, codes)].astype(np.int32)
    same = np.eye(len(codes), dtype=bool)
    matches, mismatches = np.unique(table[same]), np.unique(table[~same])
    gaps = scoring.gaps
    if scoring.mode != "local" or gaps.first != gaps.next or max(len(matches), len(mismatches)) > 1:
        raise OptionError(
            "The ladder aligns locally, with linear gaps and one score for equal letters and one for others.",
            "Give such a scoring, and sequences of A, C, G and T.",
        )
    match, mismatch = (np.int32(found[0] if len(found) else 0) for found in (matches, mismatches))
    height, width = (int(of.lengths.max(initial=0)) + 1 for of in (batch.queries, batch.targets))
    return _Job(batch, (match, mismatch, np.int32(gaps.first)), height, width)


class _PairLadderStage(Stage[PairBatch, Scoring, list[PairAlignment]]):
    """What the stages of this ladder share."""

    name = "smith_waterman_ladder"

    def reference(self, batch: PairBatch, model: Scoring, check: Check = no_check) -> list[PairAlignment]:
        return SMITH_WATERMAN_TRACE.reference(batch, model, check)

    def start(self, session: KernelSession, batch: PairBatch, model: Scoring) -> Callable[[], list[PairAlignment]]:
        """Return a callable that aligns the pairs on an OpenCL session.

        Raises
        ------
        OptionError
            If the device cannot run these choices, or they cannot score like this.
        """
        job = _job_of(batch, model)

        def collect() -> list[PairAlignment]:
            return [alignment for ends, paths in self.parts(session, job) for alignment in _alignments(ends, paths)]

        return collect

    @abstractmethod
    def parts(self, session: KernelSession, job: _Job) -> Iterator[tuple[Ends, list[str]]]:
        """Yield the numbers (int32[n, N_ENDS]) and the paths of some pairs after the other."""


class SequentialLadderStage(_PairLadderStage):
    """One work-item does everything: one core, if the device is a CPU."""

    def parts(self, session: KernelSession, job: _Job) -> Iterator[tuple[Ends, list[str]]]:
        """Yield all pairs at once."""
        n = len(job.batch)
        matrix = job.height * job.width
        ends, paths = session.allocate(4 * N_ENDS * n), session.allocate(n * job.room)
        arguments = [*job.arguments(session, slice(n)), session.zeros(4 * matrix), session.zeros(2 * matrix)]
        step = max(1, CELLS_PER_LAUNCH // matrix)
        for first in range(0, n, step):
            pairs = np.int32(first), np.int32(min(first + step, n))
            session.launch(SEQUENTIAL_SOURCE, ENTRY, self.defines, 1, 1, *arguments, ends, paths, *pairs)
            session.finish()
            session.check()
        yield _fetched(session, n, job.room, ends, paths)


class PairLadderStage(_PairLadderStage):
    """A work-group for each pair, as the choices say.

    Parameters
    ----------
    choices : PairLadderChoices
    defines : dict, optional
        Macros that replace those of the choices.
    """

    def __init__(self, choices: PairLadderChoices, **defines: int) -> None:
        super().__init__(None, **defines)
        self.choices = choices

    def macros(self, height: int) -> dict[str, int]:
        """Return the macros of the kernel for matrices of this height."""
        c = self.choices
        return {
            "LOCAL_SCORES": int(c.scores == "local"),
            "DEVICE_MAXIMUM": int(c.maximum == "device"),
            "DEVICE_PATH": int(c.path == "device"),
            "HEIGHT": _rounded(height),
            "GROUP": 2 ** (c.group.bit_length() - 1),
            **self.defines,
        }

    def obstacle(self, device: Device, height: int) -> str | None:
        """Return in words why a device cannot run these choices, or None if nothing is known against it."""
        c = self.choices
        local = (12 * _rounded(height) if c.scores == "local" else 0) + (8 * c.group if c.maximum == "device" else 0)
        return group_obstacle(device, c.group, local)

    def parts(self, session: KernelSession, job: _Job) -> Iterator[tuple[Ends, list[str]]]:
        """Yield as many pairs at once as the device has room for."""
        refuse(self.obstacle(session.device, job.height))
        c = self.choices
        bytes_a_pair = (4 if c.scores == "global" else 2) * job.height * job.width
        step = max(1, int(session.device.max_buffer_bytes * MATRICES_SHARE) // bytes_a_pair)
        for first in range(0, len(job.batch), step):
            session.check()
            yield self._part(session, job, slice(first, min(first + step, len(job.batch))))

    def _part(self, session: KernelSession, job: _Job, pairs: slice) -> tuple[Ends, list[str]]:
        c, n = self.choices, pairs.stop - pairs.start
        shape, cells = (n, job.height, job.width), n * job.height * job.width
        scores = session.zeros(4 * cells) if c.scores == "global" else session.allocate(1)
        directions = session.zeros(2 * cells)
        ends, paths = session.allocate(4 * N_ENDS * n), session.allocate(n * job.room)
        defines = self.macros(job.height)
        session.launch(
            SOURCE, ENTRY, defines, n * defines["GROUP"], defines["GROUP"], *job.arguments(session, pairs),
            scores, directions, ends, paths,
        )  # fmt: skip
        if c.path == "device":
            return _fetched(session, n, job.room, ends, paths)
        if c.maximum == "device":
            found = session.download(ends, (n, N_ENDS), np.int32)
        else:
            found = _best_cells(session.download(scores, shape, np.int32))
        return found, _walked(session.download(directions, shape, np.uint16), found)


def _rounded(height: int) -> int:
    return -(-(height - 1) // ROUND) * ROUND + 1


def _fetched(session: KernelSession, n: int, room: int, ends: Buffer, paths: Buffer) -> tuple[Ends, list[str]]:
    """Return alignments that the device has finished."""
    found, letters = session.download(ends, (n, N_ENDS), np.int32), session.download(paths, (n, room), np.uint8)
    return found, [row[room - end[-1] :].tobytes().decode("ascii") for row, end in zip(letters, found, strict=True)]


def _best_cells(scores: npt.NDArray[np.int32]) -> Ends:
    """Return the best cell of each matrix (int32[n, height, width]), of several the nearest to the top left."""
    ends = np.zeros((len(scores), N_ENDS), np.int32)
    for end, matrix in zip(ends, scores, strict=True):
        best = matrix.max()
        if best > 0:
            rows, columns = np.divmod(np.flatnonzero(matrix == best), matrix.shape[1])
            first = np.argmin(rows + columns)  # the rows rise, so of one diagonal this is the highest
            end[:3] = best, rows[first], columns[first]
    return ends


def _walked(directions: npt.NDArray[np.uint16], ends: Ends) -> list[str]:
    """Return the path that ends in each pair's best cell, and fill in where it begins; all pairs go in step.

    Parameters
    ----------
    directions : uint16[n, height, width]
    ends : int32[n, N_ENDS]
    """
    n, height, width = directions.shape
    cells, back = directions.reshape(-1), np.array([0, width + 1, 1, width])
    corners = np.arange(n, dtype=np.int64) * height * width
    places = corners + ends[:, 1] * width + ends[:, 2]
    columns = []
    while (steps := cells[places]).any():
        columns.append(LETTERS[steps])
        places -= back[steps]
    ends[:, 3], ends[:, 4] = np.divmod(places - corners, width)
    letters = np.array(columns[::-1], np.uint8).reshape(-1, n).T
    return [row.tobytes().decode("ascii").lstrip("-") for row in letters]


def _alignments(ends: Ends, paths: list[str]) -> Iterator[PairAlignment]:
    """Yield alignments from their numbers and paths."""
    for (score, *places, _), path in zip(ends.tolist(), paths, strict=True):
        i, j, first_i, first_j = places if path else (0, 0, 0, 0)
        yield PairAlignment(score, (first_i, i), (first_j, j), path)
