"""Posteriors and expected counts of a pair HMM in every published way, from one core to all pairs at once.

One pair is computed at a time, with whole tables, one launch for each anti-diagonal: that is the published program. It
has three states.
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
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS, ExpectedCountsStage, no_counts, set_emitted
from clalign.stages.pairhmm.pair_hmm import END_MATCH, MANTISSA, N_RESULTS, Pairs, held_by_floats
from clalign.stages.pairhmm.posteriors import POSTERIORS, Floats, Found, PosteriorsStage, joined
from clalign.values.devices import Device
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import MIN_POSTERIOR, ExpectedCounts, PairHmms, PosteriorBatch, gap_posteriors

SOURCE, SEQUENTIAL_SOURCE = "pair_hmm_ladder_lanes", "pair_hmm_ladder_item"

AXES: dict[str, tuple[str, ...]] = {
    "cell": ("global", "local"), "item": ("cell", "state"),
    "compiler": ("strict", "-cl-mad-enable", "-cl-fast-relaxed-math"),
}  # fmt: skip
"""What may be chosen; the first of each is the published beginning."""

N_STATES = 3
CELL_BYTES = 8 * N_STATES

SUMS = END_MATCH + 1
"""Place of the expected steps in the results (see `common/pair_hmm_ladder.h`)."""

SUM_GROUP = 512
LAUNCHES_BETWEEN_WAITS = 1000
CELLS_PER_LAUNCH = 2**21
"""One core does this many in about a tenth of a second."""

Lap = Callable[[str], None]
"""Called with the name of what was just computed."""


def nobody_counts(name: str) -> None:
    """Let the parts of a stage go by."""


class PairHmmLadderChoices(ChoicesBase, frozen=True):
    """One choice on every axis of `AXES`, and the work-group.

    Attributes
    ----------
    cell : str
        Where terms are added to the states of a cell: in ``global`` memory, or in ``local`` memory.
    item : str
        What a work-item computes: a ``cell``, or a ``state`` of one.
    compiler : str
        ``strict``, or an option by which the compiler may round otherwise.
    group : int
        Work-items a work-group; where they have states, rounded down to a multiple of 3.
    """

    axes = AXES

    cell: str = "global"
    item: str = "cell"
    compiler: str = "strict"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.group < N_STATES:
            raise OptionError("A work-group holds the states of a cell.", f"Give a number from {N_STATES} on.")


class BothWays(Struct, frozen=True, eq=False):
    """What Forward and Backward, and Forward and Baum and Welch's Backward find of the same pairs."""

    posteriors: PosteriorBatch
    counts: ExpectedCounts


class PairHmmLadderBase(Stage[PairBatch, PairHmms, BothWays]):
    """What the stages of this ladder share.

    Parameters
    ----------
    lap : callable
        Called with each part that is done.
    """

    name = "pair_hmm_ladder"

    def __init__(self, lap: Lap = nobody_counts, **defines: int) -> None:
        super().__init__(None, **defines)
        self.lap = lap

    def reference(self, batch: PairBatch, model: PairHmms, check: Check = no_check) -> BothWays:
        return BothWays(POSTERIORS.reference(batch, model, check), EXPECTED_COUNTS.reference(batch, model, check))

    def _passed(self, session: KernelSession, name: str) -> None:
        session.finish()
        session.check()
        self.lap(name)


class AllPairsStage(PairHmmLadderBase):
    """All pairs at once, with the program's own kernel in one of its shapes."""

    def __init__(self, shape: str, lap: Lap = nobody_counts, **defines: int) -> None:
        super().__init__(lap, **defines)
        self.shape = shape

    def start(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> Callable[[], BothWays]:
        def collect() -> BothWays:
            self._passed(session, "preparing")
            posteriors = PosteriorsStage(self.shape, **self.defines).start(session, batch, model)()
            self._passed(session, "posteriors")
            counts = ExpectedCountsStage(self.shape, **self.defines).start(session, batch, model)()
            self._passed(session, "counts")
            return BothWays(posteriors, counts)

        return collect


class _Pair(Struct, frozen=True):
    """A pair on a device.

    Attributes
    ----------
    of : Pairs
        Only it.
    x, y : uint8[m], uint8[n]
        Places of its residues in the emissions.
    n_letters : int
    arguments : list
        The first ones of all kernels.
    forward, backward, shares : Buffer
    """

    of: Pairs
    x: npt.NDArray[np.uint8]
    y: npt.NDArray[np.uint8]
    n_letters: int
    arguments: list[Argument]
    forward: Buffer
    backward: Buffer
    shares: Buffer

    @classmethod
    def on(cls, session: KernelSession, of: Pairs) -> _Pair:
        """Return a pair of which nothing is computed yet."""
        places, (m, n) = of.models.emissions[0].indices, (int(of.x[0]), int(of.y[0]))
        x = places[of.batch.queries.codes[of.x_starts[0] :][:m]]
        y = places[of.batch.targets.codes[of.y_starts[0] :][:n]]
        odds = of.odds()[of.emission_rows[0]]
        arguments: list[Argument] = [
            np.int32(m), np.int32(n), session.upload(x), session.upload(y), session.upload(odds), np.int32(len(odds)),
            session.upload(of.steps()[0]),
        ]  # fmt: skip
        forward, backward = (session.zeros(CELL_BYTES * (m + 1) * (n + 1)) for _ in range(2))
        return cls(of, x, y, len(odds), arguments, forward, backward, session.allocate(4 * m * n))

    @property
    def size(self) -> tuple[int, int]:
        """Residues of x and of y."""
        return len(self.x), len(self.y)

    @property
    def both(self) -> list[Argument]:
        """The first arguments of kernels that read both tables."""
        return [*self.arguments, self.forward, self.backward]


class OnePairStage(PairHmmLadderBase):
    """One pair after the other, with whole tables."""

    def start(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> Callable[[], BothWays]:
        """Return a callable that computes the pairs on an OpenCL session.

        Raises
        ------
        OptionError
            If the model has not three states.
        """
        pairs = self._pairs(batch, model)

        def collect() -> BothWays:
            found, counts = Found(), no_counts(model)
            for of in self._each(pairs):
                pair = self._begin(session, of)
                entries = self._posteriors_of(session, pair)
                self._count_pair(session, pair, counts)
                found[int(of.rows[0])] = (*entries, float(counts.log_likelihoods[of.rows[0]]))
            return BothWays(joined(batch, found), counts)

        return collect

    def posteriors(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> PosteriorBatch:
        """Return the posteriors of pairs, as `start` computes them."""
        found, pairs = Found(), self._pairs(batch, model)
        for of in self._each(pairs):
            pair, results = self._begin(session, of), session.results(4 * N_RESULTS)
            entries = self._posteriors_of(session, pair)
            self._add_up(session, pair, session.zeros(32), 0, results)
            sums = session.download(results, (1, N_RESULTS), np.float32)
            found[int(of.rows[0])] = (*entries, float(of.log_likelihoods(sums)[0]))
        return joined(batch, found)

    def counts(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> ExpectedCounts:
        """Return the expected counts of pairs, as `start` computes them."""
        counts, pairs = no_counts(model), self._pairs(batch, model)
        for of in self._each(pairs):
            self._count_pair(session, self._begin(session, of), counts)
        return counts

    def _pairs(self, batch: PairBatch, model: PairHmms) -> Pairs:
        if model.gaps.n_sets != 1:
            raise OptionError("The ladder has three states.", "Give a model with one set of gap states.")
        return Pairs.of(batch, model)

    def _each(self, pairs: Pairs) -> Iterator[Pairs]:
        return (pairs.select(np.array([place])) for place in range(len(pairs)))

    def _begin(self, session: KernelSession, of: Pairs) -> _Pair:
        """Return a pair with its Forward table."""
        pair = _Pair.on(session, of)
        self._passed(session, "preparing")
        self._sweep(session, "forward", pair, pair.forward)
        self._passed(session, "forward")
        return pair

    def _posteriors_of(self, session: KernelSession, pair: _Pair) -> tuple[npt.NDArray[np.int32], Floats, Floats]:
        self._sweep(session, "backward", pair, pair.backward)
        self._passed(session, "backward")
        self._share(session, pair)
        whole = session.download(pair.shares, pair.size, np.float32)
        self._passed(session, "posteriors")
        return _entries(whole)

    def _count_pair(self, session: KernelSession, pair: _Pair, counts: ExpectedCounts) -> None:
        """Enter the expected counts of a pair."""
        of, results = pair.of, session.results(4 * N_RESULTS)
        matches = session.zeros(4 * pair.n_letters**2)
        self._sweep(session, "backward", pair, pair.backward)
        self._count(session, pair, results, matches)
        sums = session.download(results, (1, N_RESULTS), np.float32)
        by_letters = session.download(matches, (1, pair.n_letters, pair.n_letters), np.float32)
        self._passed(session, "baum_welch")
        is_held = held_by_floats(session, of, sums) | (sums[:, MANTISSA] == 0)  # rungs find nothing in underflow
        session.demand(bool(is_held.all()), "Forward and Backward of a pair do not agree")
        counts.log_likelihoods[of.rows] = of.log_likelihoods(sums)
        _set_counts(counts, of, sums.astype(np.float64), by_letters.astype(np.float64))

    @abstractmethod
    def _sweep(self, session: KernelSession, way: str, pair: _Pair, table: Buffer) -> None:
        """Fill the table of Forward or Backward."""

    @abstractmethod
    def _share(self, session: KernelSession, pair: _Pair) -> None:
        """Compute how often each two residues match, given both tables."""

    @abstractmethod
    def _count(self, session: KernelSession, pair: _Pair, results: Buffer, matches: Buffer) -> None:
        """Compute the expected counts, given both tables; `matches` is 0."""

    @abstractmethod
    def _add_up(self, session: KernelSession, pair: _Pair, partials: Buffer, n: int, results: Buffer) -> None:
        """Write the total of all paths, and the sum of this many partial sums of expected steps."""


class SequentialStage(OnePairStage):
    """One work-item does everything: one core, if the device is a CPU."""

    def _launch(self, session: KernelSession, entry: str, *arguments: Argument) -> None:
        session.launch(SEQUENTIAL_SOURCE, entry, self.defines, 1, 1, *arguments)

    def _rows(self, session: KernelSession, pair: _Pair) -> Iterator[tuple[np.int32, np.int32]]:
        """Yield the first row of each launch and the one after its last."""
        (m, n), ends = pair.size, [0]
        while ends[-1] <= m:
            session.finish()
            session.check()
            ends.append(min(m + 1, ends[-1] + CELLS_PER_LAUNCH // (n + 1) + 1))
            yield np.int32(ends[-2]), np.int32(ends[-1])

    def _sweep(self, session: KernelSession, way: str, pair: _Pair, table: Buffer) -> None:
        m = pair.size[0]
        for first, end in self._rows(session, pair):
            rows = (first, end) if way == "forward" else (np.int32(m + 1 - end), np.int32(m + 1 - first))
            self._launch(session, way, *pair.arguments, table, *rows)

    def _share(self, session: KernelSession, pair: _Pair) -> None:
        self._launch(session, "posteriors", *pair.both, pair.shares)

    def _count(self, session: KernelSession, pair: _Pair, results: Buffer, matches: Buffer) -> None:
        n_rows = pair.size[0] + 1
        partials = session.allocate(32 * n_rows)
        for rows in self._rows(session, pair):
            self._launch(session, "expected_counts", *pair.both, partials, matches, *rows)
        self._add_up(session, pair, partials, n_rows, results)

    def _add_up(self, session: KernelSession, pair: _Pair, partials: Buffer, n: int, results: Buffer) -> None:
        self._launch(session, "add_up", *pair.both, partials, np.int32(n), results)


class PairHmmLadderStage(OnePairStage):
    """The work-items of a launch do an anti-diagonal, as the choices say.

    Parameters
    ----------
    choices : PairHmmLadderChoices
    lap : callable
    defines : dict, optional
        Macros that replace those of the choices.
    """

    def __init__(self, choices: PairHmmLadderChoices, lap: Lap = nobody_counts, **defines: int) -> None:
        super().__init__(lap, **defines)
        self.choices = choices

    def macros(self, device: Device) -> dict[str, int]:
        """Return the macros of the kernels."""
        c = self.choices
        by_state = c.item == "state"
        return {
            "LOCAL_CELLS": int(c.cell == "local"),
            "BY_STATE": int(by_state),
            "GROUP": c.group // N_STATES * N_STATES if by_state else c.group,
            "SUM_GROUP": 2 ** (min(SUM_GROUP, device.max_work_group).bit_length() - 1),
            **({c.compiler: 1} if c.compiler != "strict" else {}),
            **self.defines,
        }

    def obstacle(self, device: Device) -> str | None:
        """Return in words why a device cannot run these choices, or None if nothing is known against it."""
        c, macros = self.choices, self.macros(device)
        numbers = (1 if c.item == "state" else N_STATES) * c.group if c.cell == "local" else 0
        local = max(8 * numbers, 32 * macros["SUM_GROUP"])
        return group_obstacle(device, c.group, local)

    def start(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> Callable[[], BothWays]:
        """Return a callable that computes the pairs on an OpenCL session.

        Raises
        ------
        OptionError
            If the device cannot run these choices, or the model has not three states.
        """
        refuse(self.obstacle(session.device))
        return super().start(session, batch, model)

    def _sweep(self, session: KernelSession, way: str, pair: _Pair, table: Buffer) -> None:
        (m, n), macros = pair.size, self.macros(session.device)
        group = macros["GROUP"]
        cells_of_group = group // N_STATES if macros["BY_STATE"] else group
        diagonals = np.arange(m + n + 1, dtype=np.int32)
        for diagonal in diagonals if way == "forward" else diagonals[::-1]:
            n_cells = int(min(diagonal, m) - max(0, diagonal - n)) + 1
            items = -(-n_cells // cells_of_group) * group
            session.launch(SOURCE, way, macros, items, group, *pair.arguments, table, diagonal)
            if diagonal % LAUNCHES_BETWEEN_WAITS == 0:
                session.finish()
                session.check()

    def _share(self, session: KernelSession, pair: _Pair) -> None:
        m, n = pair.size
        self._launch(session, "posteriors", m * n, *pair.both, pair.shares)

    def _count(self, session: KernelSession, pair: _Pair, results: Buffer, matches: Buffer) -> None:
        (m, n), n_letters, group = pair.size, pair.n_letters, self.macros(session.device)["SUM_GROUP"]
        n_partials = -(-(m + 1) * (n + 1) // group)
        partials, by_letter = session.allocate(32 * n_partials), session.allocate(4 * n_letters * n)
        self._launch(session, "expected_steps", (m + 1) * (n + 1), *pair.both, partials)
        self._add_up(session, pair, partials, n_partials, results)
        self._share(session, pair)
        width, height = np.int32(n), np.int32(n_letters)
        of_x, of_y = (_places_of_letters(session, letters, n_letters) for letters in (pair.x, pair.y))
        self._launch(session, "sum_rows", n_letters * n, width, height, pair.shares, *of_x, by_letter)
        self._launch(session, "sum_columns", n_letters**2, width, height, by_letter, *of_y, matches)

    def _add_up(self, session: KernelSession, pair: _Pair, partials: Buffer, n: int, results: Buffer) -> None:
        group = self.macros(session.device)["SUM_GROUP"]
        self._launch(session, "add_up", group, *pair.both, partials, np.int32(n), results)

    def _launch(self, session: KernelSession, entry: str, n_items: int, *arguments: Argument) -> None:
        macros = self.macros(session.device)
        group = macros["SUM_GROUP"]
        session.launch(SOURCE, entry, macros, -(-n_items // group) * group, group, *arguments)


def cell_accesses(choices: PairHmmLadderChoices) -> dict[str, int]:
    """Return how often each sweep reads or writes a cell's own numbers in global memory, as the kernel is written.

    A term that is added reads and writes its number: Forward adds seven. Backward sets three numbers and adds four
    terms. In local memory all of that goes on unseen: Forward reads and writes the three once, Backward writes them.
    """
    if choices.cell == "local":
        return {"forward": 2 * N_STATES, "backward": N_STATES}
    return {"forward": 2 * 7, "backward": 2 * 4 + N_STATES}


def _places_of_letters(session: KernelSession, letters: npt.NDArray[np.uint8], n_letters: int) -> list[Buffer]:
    """Return where each letter stands in a sequence, letter after letter, and where those of each begin."""
    ends = np.cumsum(np.bincount(letters, minlength=n_letters))
    starts = np.concatenate([[0], ends]).astype(np.int32)
    return [session.upload(np.argsort(letters, kind="stable").astype(np.int32)), session.upload(starts)]


def _entries(whole: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int32], Floats, Floats]:
    """Return the posteriors of a pair that are kept."""
    places = np.argwhere(whole >= MIN_POSTERIOR).astype(np.int32)
    values = np.minimum(whole[places[:, 0], places[:, 1]], np.float32(1))
    gaps = [gap_posteriors(places[:, k], values, length) for k, length in enumerate(whole.shape)]
    return places, values, np.concatenate(gaps)


def _set_counts(
    counts: ExpectedCounts, of: Pairs, sums: npt.NDArray[np.float64], matches: npt.NDArray[np.float64]
) -> None:
    """Set the counts of a pair."""
    rows, steps = of.rows, sums[:, SUMS:]
    counts.match_match[rows] = steps[:, 0]
    counts.opens[rows], counts.extends[rows] = steps[:, 1:3].sum(keepdims=True), steps[:, 3:5].sum(keepdims=True)
    counts.closes[rows] = steps[:, 5:7].sum(keepdims=True)
    set_emitted(counts, of, sums, matches)
