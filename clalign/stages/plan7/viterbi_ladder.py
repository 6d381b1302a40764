"""Plan7 Viterbi with one work-item a sequence, in every published choice of memory and code: the ladder's stage."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.errors import OptionError
from clalign.stages.ladder_choices import ChoicesBase, group_obstacle, refuse
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_tables import N_TRANSITIONS, emission_table, special_table, transition_table
from clalign.values.alphabets import N_CODES
from clalign.values.devices import Device
from clalign.values.hits import Scores
from clalign.values.profiles import IMPOSSIBLE, IntegerProfile
from clalign.values.sequences import SequenceBatch

SOURCE, ENTRY = "viterbi_ladder_item", "viterbi_score"

AXES: dict[str, tuple[str | int, ...]] = {
    "scheduling": ("off", "on"),
    "unroll": (1, 2, 4, 8, 16),
    "copies": ("plain", "overlapped"),
    "sequences": ("concatenated", "interleaved", "padded", "packed"),
    "rows": ("global", "interleaved", "padded", "private"),
    "transitions": ("global", "constant", "local"),
    "specials": ("global", "local", "replicated", "constant"),
    "emissions": ("global", "transposed", "local", "local-32"),
    "granularity": ("coarse", "medium", "fine"),
    "first_row": ("argument", "copied", "of-item", "of-group"),
}
"""What may be chosen, each axis on its own; the first of each is the basic choice."""

WARP = 32
PADDING = {"local": 33, "local-32": 32}
"""Nodes of a symbol in local memory are a multiple of it: with 33 those of different symbols are in different banks."""

CONSTANT_BYTES = 65536
"""Constant memory in bytes that every device has."""

STACK_BYTES = 2**22
"""A CPU's driver keeps the private memory of a whole work-group on the stack of a thread."""

ROWS_SHARE = 0.5
"""Share of the device's largest buffer that the rows of one launch may take."""

MAX_SLOTS = 2**31 - 1

LAUNCHES_BETWEEN_WAITS = 1000

SECOND_QUEUE = object()
"""Key of the second queue of a session."""

Values = npt.NDArray[np.int32]


class LadderChoices(ChoicesBase, frozen=True, kw_only=True):
    """One choice on every axis of `AXES`, and two sizes.

    Attributes
    ----------
    scheduling : str
        Whether neighboring instructions are kept independent of each other.
    unroll : int
        Nodes a turn of the inner loop.
    copies : str
        ``overlapped``: the sequences in two halves on two queues, one copied while the other is computed.
    sequences : str
        One after the other; or residue by residue, sorted by falling length; or that, each 32 as long as the
        longest of them; or that with four residues a word.
    rows : str
        Where the scores of two rows are: global memory, a block for each work-item; interleaved over the
        work-items; that for a multiple of 32 work-items; or private memory.
    transitions, specials, emissions : str
        Where the scores of the model are. ``local`` special transitions have a copy for each warp,
        ``replicated`` ones a copy for each work-item; ``local`` emissions lie in banks of their own, ``local-32`` not.
    granularity : str
        A launch does whole sequences, `rows_per_launch` rows, or one node of one row.
    first_row : str
        Where a launch learns its first row: from an argument, from memory that the host copies it to, or from a counter
        of each work-item or work-group.
    rows_per_launch : int
        With medium granularity.
    group : int
        Work-items a work-group.
    """

    axes = AXES

    scheduling: str = "off"
    unroll: int = 1
    copies: str = "plain"
    sequences: str = "concatenated"
    rows: str = "global"
    transitions: str = "global"
    specials: str = "global"
    emissions: str = "global"
    granularity: str = "coarse"
    first_row: str = "argument"
    rows_per_launch: int = 1
    group: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        if min(self.group, self.rows_per_launch) < 1:
            raise OptionError("A work-group and a launch hold at least one.", "Give a number above 0.")


BASIC = LadderChoices()


class _Part(Struct, frozen=True):
    """Sequences of one launch, as the kernel reads them."""

    rows: npt.NDArray[np.int64]
    residues: npt.NDArray[np.generic]
    starts: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]


class _Layout(Struct, frozen=True):
    """A batch as the kernel reads it: which letters occur, and the parts."""

    letters: npt.NDArray[np.int64]
    parts: tuple[_Part, ...]


class ViterbiLadderStage(Stage[SequenceBatch, IntegerProfile, Scores]):
    """The Viterbi score of every sequence of a batch, computed as the choices say.

    Parameters
    ----------
    choices : LadderChoices
    defines : dict, optional
        Macros that replace those of the choices.
    """

    name = "viterbi_ladder"

    def __init__(self, choices: LadderChoices = BASIC, **defines: int) -> None:
        super().__init__(None, **defines)
        self.choices = choices

    def reference(self, batch: SequenceBatch, model: IntegerProfile, check: Check = no_check) -> Scores:
        return VITERBI.reference(batch, model, check)

    def macros(self, n_nodes: int, n_letters: int) -> dict[str, int]:
        """Return the macros of the kernel for a model and the number of different letters."""
        c = self.choices
        return {
            "SCHEDULING": int(c.scheduling == "on"),
            "UNROLL": c.unroll,
            "SEQUENCES": {"concatenated": 0, "interleaved": 1, "padded": 1, "packed": 2}[c.sequences],
            "ROWS": {"global": 0, "interleaved": 1, "padded": 1, "private": 2}[c.rows],
            "TRANSITIONS": AXES["transitions"].index(c.transitions),
            "SPECIALS": AXES["specials"].index(c.specials),
            "EMISSIONS": min(AXES["emissions"].index(c.emissions), 2),
            "FINE": int(c.granularity == "fine"),
            "FIRST_ROW": AXES["first_row"].index(c.first_row),
            "NODES": n_nodes,
            "SYMBOLS": n_letters,
            "NODE_STRIDE": _node_stride(c, n_nodes),
            "GROUP": c.group,
            **self.defines,
        }

    def obstacle(self, device: Device, n_nodes: int, n_letters: int) -> str | None:
        """Return in words why a device cannot run these choices, or None if nothing is known against it."""
        c = self.choices
        if (too_large := group_obstacle(device, c.group, self.local_bytes(n_nodes, n_letters))) is not None:
            return too_large
        if c.rows == "private" and c.granularity != "coarse":
            return "Private memory does not last from one launch to the next."
        if c.granularity == "fine" and c.first_row != "argument":
            return "Rows are counted by launches of rows."
        constant = 4 * N_TRANSITIONS * (n_nodes + 1)
        if c.transitions == "constant" and constant > CONSTANT_BYTES:
            return f"The transitions take {constant:,} bytes; {CONSTANT_BYTES:,} are sure to fit constant memory."
        stack = 4 * n_slots(n_nodes) * c.group
        if c.rows == "private" and device.kind == "cpu" and stack > STACK_BYTES:
            return f"The private rows of a work-group take {stack:,} bytes, more than the stack of a thread holds."
        return None

    def local_bytes(self, n_nodes: int, n_letters: int) -> int:
        """Return the local memory that a work-group takes."""
        c = self.choices
        words = N_TRANSITIONS * (n_nodes + 1) if c.transitions == "local" else 0
        words += 8 * -(-c.group // WARP) if c.specials == "local" else 0
        words += 2 * n_letters * _node_stride(c, n_nodes) if c.emissions in PADDING else 0
        return 4 * words

    def start(self, session: KernelSession, batch: SequenceBatch, model: IntegerProfile) -> Callable[[], Scores]:
        """Start scoring the batch on an OpenCL session; return a callable that waits for the scores.

        Raises
        ------
        OptionError
            If the device cannot run these choices.
        """
        values = np.empty(len(batch), np.int32)
        if len(batch) == 0:
            return lambda: Scores(batch.targets, values)
        c, limit = self.choices, _sequence_limit(session.device, self.choices, model.length)
        halves = 2 if c.copies == "overlapped" else 1
        layout: _Layout = session.cached(
            f"ladder {c.sequences} {halves} {limit}", batch, lambda: _layout(batch, c.sequences, halves, limit)
        )
        refuse(self.obstacle(session.device, model.length, len(layout.letters)))
        queues = [session]
        if halves == 2:
            queues.append(session.cached("second queue", SECOND_QUEUE, session.second_queue))
        waits = []
        for number, part in enumerate(layout.parts):
            waits.append((part.rows, self._start_part(queues[number % len(queues)], part, layout.letters, model)))

        def collect() -> Scores:
            for rows, wait in waits:
                values[rows] = wait()
            for queue in queues:
                queue.finish()
            return Scores(batch.targets, values)

        return collect

    def _start_part(
        self, session: KernelSession, part: _Part, letters: npt.NDArray[np.int64], model: IntegerProfile
    ) -> Callable[[], Values]:
        c, n = self.choices, len(part.rows)
        stride = -(-n // WARP) * WARP if c.rows == "padded" else n
        slots = 1 if c.rows == "private" else n_slots(model.length) * (n if c.rows == "global" else stride)
        scores = session.allocate(4 * n)
        arrays = [part.residues, part.starts, part.lengths]
        arguments = [
            *(session.upload(array) for array in arrays), np.uint32(n),
            *(session.upload(array) for array in model_tables(c, model, letters, n)),
            session.allocate(4 * slots), np.uint32(stride), np.int32(model.length),
        ]  # fmt: skip
        defines, items = self.macros(model.length, len(letters)), -(-n // c.group) * c.group
        done = session.zeros(4 * items)
        for number, rows in enumerate(_launches(c, int(part.lengths.max()), model.length), 1):
            if c.first_row == "copied":
                done = session.upload(np.array([rows[0] - 1], np.int32))
            session.launch(SOURCE, ENTRY, defines, items, c.group, *arguments, *map(np.int32, rows), done, scores)
            if number % LAUNCHES_BETWEEN_WAITS == 0:
                session.finish()
                session.check()
        return session.fetch(scores, n, np.int32)


def global_words(choices: LadderChoices, n_nodes: int) -> dict[str, float]:
    """Return the words of global memory that the kernel reads and writes for a cell, as it is written.

    A cell has nine transitions and two emissions, its share of a residue, and nine scores read and three written; with
    independent variables three of those that are read are fetched once for all nodes of a turn. Words in private, local
    or constant memory do not count.
    """
    scores = 8 + 3 / choices.unroll if choices.scheduling == "on" else 12
    return {
        "scores": scores * (choices.rows != "private"),
        "transitions": 9 * (choices.transitions == "global"),
        "emissions": 2 * (choices.emissions not in PADDING),
        "residues": 1 / (4 * n_nodes),
    }


def global_bytes(choices: LadderChoices, n_nodes: int) -> float:
    """Return the bytes of these words."""
    return 4 * sum(global_words(choices, n_nodes).values())


def n_slots(n_nodes: int) -> int:
    """Return the words of a sequence's state (``N_SLOTS`` of the kernel)."""
    return 6 * (n_nodes + 1) + 7


def _node_stride(choices: LadderChoices, n_nodes: int) -> int:
    padding = PADDING.get(choices.emissions, 1)
    return -(-n_nodes // padding) * padding


def _sequence_limit(device: Device, choices: LadderChoices, n_nodes: int) -> int:
    """Return how many sequences a launch can have, for their rows."""
    if choices.rows == "private":
        return MAX_SLOTS
    slots = min(int(device.max_buffer_bytes * ROWS_SHARE) // 4 or MAX_SLOTS, MAX_SLOTS)
    return max(WARP, slots // n_slots(n_nodes) // WARP * WARP)


def _launches(choices: LadderChoices, longest: int, n_nodes: int) -> Iterator[tuple[int, int, int]]:
    """Yield the first and the last row and the node of every launch; empty sequences need one, too."""
    if choices.granularity == "coarse":
        yield 1, max(longest, 1), 0
        return
    step = choices.rows_per_launch if choices.granularity == "medium" else 1
    nodes = range(1, n_nodes + 1) if choices.granularity == "fine" else (0,)
    for first in range(1, max(longest, 1) + 1, step):
        for node in nodes:
            yield first, first + step - 1, node


def model_tables(
    choices: LadderChoices, model: IntegerProfile, letters: npt.NDArray[np.int64], n: int
) -> list[npt.NDArray[np.int32]]:
    """Return the transitions, match, insert and special scores in the order of the kernel's arguments."""
    transitions = np.full((model.length + 1, N_TRANSITIONS), IMPOSSIBLE, np.int32)
    transitions[1:] = transition_table(model).T
    emissions = emission_table(model)[letters]
    padding = _node_stride(choices, model.length) - model.length
    emissions = np.pad(emissions, ((0, 0), (0, 0), (0, padding)))
    if choices.emissions == "global":
        emissions = emissions.transpose(2, 1, 0)
    special = special_table(model)
    if choices.specials == "replicated":
        special = np.repeat(special, n)
    return [transitions, *(np.ascontiguousarray(emissions[:, which]) for which in (0, 1)), special]


def _layout(batch: SequenceBatch, sequences: str, halves: int, limit: int) -> _Layout:
    letters = np.flatnonzero(np.bincount(batch.codes, minlength=N_CODES))
    if not len(letters):
        letters = np.zeros(1, np.int64)
    numbers = np.zeros(N_CODES, np.uint8)
    numbers[letters] = np.arange(len(letters))
    symbols = numbers[batch.codes]
    lengths = np.diff(batch.offsets)
    order = np.arange(len(batch))
    if sequences != "concatenated":
        order = np.argsort(-lengths, kind="stable")
    step = min(limit, -(-len(batch) // halves))
    parts = []
    for first in range(0, len(batch), step):
        rows = order[first : first + step]
        parts.append(_Part(rows, *arranged(sequences, symbols, batch.offsets[rows], lengths[rows]), lengths[rows]))
    return _Layout(letters, tuple(parts))


Symbols = npt.NDArray[np.uint8]
Arranged = tuple[npt.NDArray[np.generic], npt.NDArray[np.int32]]


def arranged(sequences: str, symbols: Symbols, offsets: Values, lengths: Values) -> Arranged:
    """Return symbols as the kernel reads them, and where sequences or columns begin, for a choice of the axis.

    All but concatenated sequences are sorted by falling length.
    """
    ways = {"concatenated": _concatenated, "interleaved": _interleaved, "padded": _padded, "packed": _pack}
    return ways[sequences](symbols, offsets, lengths)


def _concatenated(symbols: Symbols, offsets: Values, lengths: Values) -> Arranged:
    """Return the symbols one sequence after the other; the rows follow each other in the batch."""
    start, end = int(offsets[0]), int(offsets[-1] + lengths[-1])
    return symbols[start:end], (offsets - start).astype(np.int32)


def _padded(symbols: Symbols, offsets: Values, lengths: Values) -> Arranged:
    """Return the symbols interleaved, as if each of 32 sequences were as long as the longest of them."""
    longest = np.repeat(lengths[::WARP], WARP)
    counts, starts = _columns(longest, int(lengths[0]))
    out = np.zeros(int(starts[-1]), np.uint8)
    for column in range(len(counts)):
        there = offsets[lengths > column] + column
        out[starts[column] : starts[column] + len(there)] = symbols[there]
    return out, starts


def _columns(lengths: Values, n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return how many sequences reach each of n columns, and where each column begins."""
    counts = np.searchsorted(-lengths, -np.arange(n), side="left")
    return counts, np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def _interleaved(symbols: Symbols, offsets: Values, lengths: Values) -> Arranged:
    """Return the first symbols of all sequences, then the second ones, and so on."""
    counts, starts = _columns(lengths, int(lengths[0]))
    out = np.empty(int(starts[-1]), np.uint8)
    for column, count in enumerate(counts):
        out[starts[column] : starts[column + 1]] = symbols[offsets[:count] + column]
    return out, starts


def _pack(symbols: Symbols, offsets: Values, lengths: Values) -> Arranged:
    """Return words of four symbols, interleaved; the first symbol is in the lowest byte."""
    counts, starts = _columns((lengths + 3) // 4, int(lengths[0] + 3) // 4)
    out = np.zeros(int(starts[-1]), np.uint32)
    for column, count in enumerate(counts):
        words = out[starts[column] : starts[column + 1]]
        for byte in range(4):
            place = 4 * column + byte
            held = int(np.searchsorted(-lengths[:count], -place, side="left"))
            words[:held] |= symbols[offsets[:held] + place].astype(np.uint32) << np.uint32(8 * byte)
    return out, starts
