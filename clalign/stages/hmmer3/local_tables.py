"""Shared parts of the kernels with four lanes for each problem: tables of odds, portions, scratch memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import LOCAL_SHARE, Tuning, choice, lane_backend
from clalign.compute.sessions import Argument, Buffer, KernelSession, LocalMemory, ProgramChoice, Stage
from clalign.system.bounds import n_cores
from clalign.values.alphabets import N_CODES, code_of
from clalign.values.devices import Device
from clalign.values.envelopes import Parts, RowProfiles
from clalign.values.local_profiles import LANES, LocalProfile, StripedOdds, striped_odds
from clalign.values.local_scores import members_of


@dataclass(frozen=True, slots=True)
class DomainTuning(Tuning):
    """Measured: a processor of Intel with AVX-512.

    Attributes
    ----------
    widest : int
        Lanes of the vectors in which many problems are done side by side, four each. Each cell of a row waits for the
        one before, and where registers are wide two of them can wait at the same time.
    units_per_core, sampling_units : int
        Compute units of a card that decode and align as fast as one core of the host, and that draw random paths as
        fast; 0 if it is not known. Measured: 13,336 targets of ten queries take an NVIDIA H200 of 132 units 1.2 s and
        1.9 s, and 16 cores with AVX-512 2.9 s and 1.2 s; for paths the limit is higher than that asks for, since
        the processor draws them while the card does something else.
    """

    prefix: ClassVar[str] = "domains."

    widest: int = choice(16, "domains: lanes of the widest vectors", shape="vector", avx512=32)
    units_per_core: int = choice(0, "domains: compute units of a card for each core of the host", nvidia=4)
    sampling_units: int = choice(0, "random paths: compute units of a card for each core of the host", nvidia=32)


N_SLOTS = 6
"""Numbers that are kept of a row (``common/local_rows.h``)."""

N_KINDS = 20
"""Residues with ratios in a table, for every alphabet (``common/sampling_paths.h``)."""

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that one scratch buffer may take."""

NARROW = 4
"""Lanes of the vectors in which processors compute few problems, one at a time."""

REGISTER_LANES, SPLIT_COST = 16, 1.6
"""Vectors with more than `REGISTER_LANES` lanes take `SPLIT_COST` times as long, as each is at least two registers."""

TEAMS_PER_UNIT = 16
"""Teams that a compute unit of a GPU works on at the same time."""

ROW_LANES = 4
"""Lanes of a row in memory where work-items share a problem (``common/simd4_lanes.h``)."""

IN_GLOBAL = "ROWS_IN_GLOBAL"
"""The macro for rows that do not fit local memory."""

Whole = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")
Model = TypeVar("Model")

PlainPart = tuple[npt.NDArray[np.uint8], int, int, LocalProfile, StripedOdds]
"""Codes, first residue in the target, residues of the target, profile and its odds."""

Scratch = Callable[["Problems", Wide], tuple[Wide, ...]]
"""Returns the bytes of scratch memory for each lane that each problem needs, by buffer, given those of the slots."""


class DomainStage(Stage[Batch, Model, Answer]):
    """A step of defining domains."""

    def units_per_core(self, tuning: DomainTuning) -> int:
        """Return how many compute units of a card are as fast as one core of the host; 0 if it is not known."""
        return tuning.units_per_core

    def suits(self, card: Device) -> bool:
        return 0 < self.units_per_core(DomainTuning.of(card)) * n_cores() <= card.n_compute_units

    def widths(self, device: Device) -> tuple[int, ...]:
        """Return the lanes of vectors in which a processor computes many problems side by side, four each."""
        widest = DomainTuning.of(device).widest
        return widest, widest // 2


AnyDomainStage = DomainStage[Any, Any, Any]


def odds_of(session: KernelSession, model: LocalProfile) -> StripedOdds:
    """Return the striped odds of a profile, computed once a session."""
    return session.cached("striped odds", model, lambda: striped_odds(model))


class ModelTables(Struct, frozen=True):
    """The tables of several models on a device, one after the other (``common/local_model.h``).

    Attributes
    ----------
    models : buffer of int32[n][3]
    transitions, emissions : buffer of float32
    """

    models: Buffer
    transitions: Buffer
    emissions: Buffer

    @property
    def odds(self) -> tuple[Buffer, ...]:
        """All of them, in the kernels' order."""
        return self.models, self.transitions, self.emissions


def model_tables(session: KernelSession, profiles: RowProfiles) -> ModelTables:
    """Return the tables of all profiles on a device, made once."""

    def make() -> ModelTables:
        odds = [odds_of(session, profile) for profile in profiles.profiles]
        nodes, vectors = profiles.lengths, np.array([len(each.begin) for each in odds])
        steps = [np.stack((o.begin, o.mm, o.im, o.dm, o.md, o.mi, o.ii, o.dd), axis=1).ravel() for o in odds]
        return ModelTables(
            session.upload(np.stack([vectors, nodes, np.cumsum(vectors) - vectors], axis=1).astype(np.int32)),
            session.upload(np.concatenate(steps)),
            session.upload(np.concatenate([each.emissions.ravel() for each in odds])),
        )

    return session.cached("local odds", profiles, make)


def letter_tables(session: KernelSession, profiles: RowProfiles) -> tuple[Buffer, Buffer, Buffer]:
    """Return the ratios of the residues at each node, and the residues of letters, on a device.

    The ratios are those of each profile one after the other (float32[Q, 4 * `N_KINDS`], of all lanes those of the
    first 16 residues, then the others); then come the letter codes of the residues (uint8[`N_KINDS`], in a smaller
    alphabet the others are that of no letter), and the residues that each letter may stand for, as bits by their
    letter codes (uint32[N_CODES]).
    """

    def make() -> tuple[Buffer, Buffer, Buffer]:
        codes = [code_of(letter) for letter in profiles.alphabet.canonical]
        residues = np.array(codes + [N_CODES - 1] * (N_KINDS - len(codes)), np.uint8)
        rows = []
        for profile in profiles.profiles:
            ratios = odds_of(session, profile).emissions[residues].transpose(1, 2, 0)
            rows += [np.concatenate([part.reshape(len(part), -1) for part in np.split(ratios, [16], axis=2)], axis=1)]
        members = [sum(1 << codes[member] for member in several) for several in members_of(profiles.alphabet)]
        tables = np.concatenate(rows), residues, np.array(members, np.uint32)
        first, second, third = (session.upload(table) for table in tables)
        return first, second, third

    return session.cached("ratios by node", profiles, make)


def part_table(parts: Parts) -> Whole:
    """Return first code, length and length of the target of each part (int32[n, 3])."""
    first = parts.batch.offsets[parts.rows] + parts.first
    return np.stack([first, parts.lengths, parts.batch.lengths[parts.rows]], axis=1).astype(np.int32)


def each_part(batch: Parts, model: RowProfiles) -> Iterator[PlainPart]:
    """Yield the arguments of the plain references for each part."""
    lengths, odds = batch.batch.lengths[batch.rows], [striped_odds(profile) for profile in model.profiles]
    for n, k in enumerate(model.of_row[batch.rows].tolist()):
        yield batch.codes(n), int(batch.first[n]), int(lengths[n]), model.profiles[k], odds[k]


def complete(
    stage: Stage[Parts, Model, list[Answer]], session: KernelSession, batch: Parts, model: Model,
    answers: list[Answer], left: Whole,
) -> list[Answer]:  # fmt: skip
    """Return the answers, by the plain reference for the parts that the device has left (`left`)."""
    if len(left):
        plain = stage.reference(batch.select(left), model, session.check)
        for place, answer in zip(left.tolist(), plain, strict=True):
            answers[place] = answer
    return answers


class Problems(Struct, frozen=True):
    """Problems to be computed, each with one model.

    Attributes
    ----------
    lengths : int64[n]
        Residues.
    models : int32[n]
        The model of each.
    vectors, nodes : int64[n]
        Vectors and nodes of the model of each.
    """

    lengths: Wide
    models: Whole
    vectors: Wide
    nodes: Wide

    @classmethod
    def of(cls, lengths: Whole, models: Whole, profiles: RowProfiles) -> Problems:
        """Return problems of these lengths with some of the profiles."""
        nodes = profiles.lengths.astype(np.int64)
        vectors = np.maximum(2, -(-nodes // LANES))
        return cls(lengths.astype(np.int64), models, vectors[models], nodes[models])

    @property
    def cells(self) -> Wide:
        """Vectors of the rows of each, one more than it has residues (int64[n])."""
        return (self.lengths + 1) * self.vectors

    def groups(self, chosen: Wide, places: int) -> Whole:
        """Group problems of similar length and the same model, `places` at a time.

        Returns
        -------
        int32[m, places]
            The groups, the slowest first; -1 in empty places.
        """
        order = chosen[np.lexsort((-self.lengths[chosen], self.models[chosen]))]
        models = self.models[order]
        at = np.arange(len(order))
        begins = np.flatnonzero(np.diff(models, prepend=-1))
        within = at - np.repeat(begins, np.diff(begins, append=len(order)))
        group = np.cumsum(within % places == 0) - 1
        found = np.full((int(group[-1]) + 1, places), -1, np.int32)
        found[group, within % places] = order
        slowest: Whole = found[np.argsort(-self.cells[found[:, 0]], kind="stable")]
        return slowest

    def n_groups(self, chosen: Wide, places: int) -> int:
        """Return the number of groups of chosen problems."""
        return int((-(-np.bincount(self.models[chosen]) // places)).sum())


class Portion(Struct, frozen=True):
    """Problems that are launched together.

    Attributes
    ----------
    name : str
        Name of the kernel.
    defines : dict
        Compile-time choices.
    order : int32[n]
        The problems, as many for each turn of a team as it has places, what takes longest first; -1 where a place
        stays empty.
    longest, vectors, cells : int
        The most residues, vectors of a row, and vectors of all rows, of a problem.
    lanes : int
        Lanes of the vectors in memory.
    n_teams, group : int
        Teams, each with scratch memory of its own, and work-items of each.
    n_rows : int
        Rows of scratch memory for each team.
    scratch : tuple of int
        Bytes of further scratch memory for each team, by buffer.
    """

    name: str
    defines: dict[str, int]
    order: Whole
    longest: int
    vectors: int
    cells: int
    lanes: int
    n_teams: int
    group: int
    n_rows: int
    scratch: tuple[int, ...]

    @property
    def row_room(self) -> np.int32:
        """Vectors of the scratch rows of a team."""
        return np.int32(self.n_rows * self.vectors)

    def rows(self, session: KernelSession) -> Argument:
        """Return the scratch rows: local memory if work-items share them and they fit it."""
        n_bytes = 4 * self.lanes * max(1, int(self.row_room))
        in_local = self.group > 1 and not self.defines.get(IN_GLOBAL)
        return LocalMemory(n_bytes) if in_local else session.allocate(self.n_teams * n_bytes)

    def buffers(self, session: KernelSession) -> list[Buffer]:
        """Return the further scratch buffers."""
        return [session.allocate(self.n_teams * size) for size in self.scratch]

    def room(self, buffer: int) -> int:
        """Return the size of a scratch buffer of a single problem, in numbers of 32 bits."""
        return self.scratch[buffer] // self.lanes

    def launch(self, session: KernelSession, *arguments: Argument) -> None:
        """Enqueue the kernel."""
        geometry = self.n_teams * self.group, self.group
        session.launch(_source(self.name), self.name, self.defines, *geometry, *arguments)


def _source(name: str) -> str:
    return f"{name}_simd4"


def programs_of(stage: AnyDomainStage, device: Device) -> list[ProgramChoice]:
    """Return the programs that a device may need for a stage, that for few problems first."""
    if stage.shape_on(device) == "lanes":
        return [ProgramChoice.of(_source(stage.name), {**lane_backend(device), **stage.defines})]
    widths = (NARROW, *stage.widths(device))
    return [ProgramChoice.of(_source(stage.name), {**stage.defines, "LANES": width}) for width in widths]


def portions(
    stage: AnyDomainStage, device: Device, problems: Problems, n_rows: Mapping[str, int], scratch: Scratch
) -> tuple[list[Portion], Whole]:
    """Divide problems into portions whose scratch memory fits a device.

    Parameters
    ----------
    n_rows : dict of str to int
        Scratch rows that a team needs, by the shape of the kernel.

    Returns
    -------
    portions : list of Portion
    left : int32[]
        The problems that do not fit even by themselves.
    """
    shape = stage.shape_on(device)
    in_lanes = shape == "lanes"
    defines = {**lane_backend(device), **stage.defines} if in_lanes else stage.defines
    group = defines["LANES"] if in_lanes else 1
    most = max(1, device.n_compute_units) * (TEAMS_PER_UNIT if in_lanes else 1)
    limit = int(device.max_buffer_bytes * MEMORY_SHARE) or 2**28
    slot_bytes = N_SLOTS * group  # a float for each work-item that shares a problem, or for all four lanes
    needs = np.stack(scratch(problems, (problems.lengths + 1) * slot_bytes))
    worst, fixed = needs.max(axis=0), ROW_LANES if in_lanes else defines.get("LANES")
    row_bytes = 4 * ROW_LANES * n_rows[shape] * problems.vectors
    exceeds_local = row_bytes > LOCAL_SHARE * device.local_bytes if in_lanes else np.zeros(len(worst), bool)
    is_left = (fixed or 4) * worst > limit
    found: list[Portion] = []
    for is_long in (True, False):
        order = np.flatnonzero(~is_left & (exceeds_local == is_long))
        order = order[np.argsort(-worst[order], kind="stable")]
        chosen = {**defines, IN_GLOBAL: 1} if is_long else defines
        while len(order):
            needed = int(worst[order[0]])
            width = fixed or _width(problems, order, most, stage.widths(device))
            while not fixed and width > NARROW and width * needed > limit:
                width //= 2
            places = width // 4
            wanted = min(most, problems.n_groups(order, places))
            n_teams = max(1, min(wanted, limit // (width * needed)))
            n = len(order) if n_teams == wanted else int(np.count_nonzero(worst[order] > needed // 2))
            taken, order = order[:n], order[n:]
            found.append(
                Portion(
                    stage.name, chosen if in_lanes else {**chosen, "LANES": width},
                    problems.groups(taken, places).ravel(), int(problems.lengths[taken].max()),
                    int(problems.vectors[taken].max()), int(problems.cells[taken].max()), width, n_teams, group,
                    n_rows[shape], tuple(width * size for size in needs[:, taken].max(axis=1).tolist()),
                )
            )  # fmt: skip
    return found, np.flatnonzero(is_left).astype(np.int32)


def _width(problems: Problems, chosen: Wide, units: int, widths: tuple[int, ...]) -> int:
    """Return the width of vectors that takes the least time for some problems, but gives every core work."""
    turns = {width: problems.n_groups(chosen, width // 4) for width in widths}
    enough = [width for width in widths if turns[width] >= 2 * units]
    return min(enough, key=lambda width: turns[width] * (SPLIT_COST if width > REGISTER_LANES else 1), default=NARROW)
