"""One long pair on a device: the alignments of the reference, ties included, however the matrix is cut."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute import group_barriers
from clalign.compute.group_barriers import Rounds
from clalign.compute.sessions import Session
from clalign.engines.pairwise.long_pairs import BYTES_A_SECOND, MAX_STOP_SECONDS
from clalign.errors import OptionError
from clalign.stages.pairwise import long_pair_regions
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice, LongPairStage
from clalign.stages.pairwise.long_pair_regions import Filled, fill
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.alphabets import encode
from clalign.values.devices import Device, DeviceKind
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import MODES, GapCosts, Mode, Scoring, SubstitutionMatrix
from clalign.values.sequences import SequenceBatch

AMINO = "ACDEFGHIKLMNPQRSTVWY"

SHAPES: list[tuple[str, dict[str, int]]] = [("vector", {}), ("lanes", {"LANE_BACKEND": 0, "LANES": 4})]

GAPS = [GapCosts(5, 2), GapCosts(2, 2), GapCosts(0, 0), GapCosts(11, 1)]

DNA = SubstitutionMatrix.match_mismatch(2, -3)


def pair(x: str, y: str) -> PairBatch:
    return PairBatch.in_step(SequenceBatch.from_texts([x]), SequenceBatch.from_texts([y]))


def related(rng: np.random.Generator, length: int, letters: str) -> tuple[str, str]:
    """Return a sequence, and an altered copy of a part of it with something else before."""
    x = "".join(rng.choice(list(letters), length))
    kept = [letter for letter in x[length // 5 :] if rng.random() > 0.05]
    for place in np.flatnonzero(rng.random(len(kept)) < 0.1):
        kept[place] = "".join(rng.choice(list(letters), rng.integers(1, 6)))
    return x, "".join(rng.choice(list(letters), length // 3)) + "".join(kept)


def any_matrix(rng: np.random.Generator) -> SubstitutionMatrix:
    table = rng.integers(-6, 5, (20, 20))
    table[0, 0] = 5
    return SubstitutionMatrix.from_table("any", AMINO, table, False)


def assert_same(session: Session, stage: LongPairStage, batch: PairBatch, scoring: Scoring) -> PairAlignment:
    found: PairAlignment = session.run(stage, batch, LongPairChoice(scoring))
    assert found == LONG_PAIR.reference(batch, LongPairChoice(scoring))
    return found


@pytest.fixture(params=["at once", "in parts", "in parts of parts"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only so much be kept that the way back is filled at once, again, or again and again."""
    monkeypatch.setattr(
        long_pair_regions, "KEPT_BYTES", {"at once": 2**28, "in parts": 2**15}.get(request.param, 2**13)
    )
    monkeypatch.setattr(long_pair_regions, "EDGES_EACH_WAY", 2)
    monkeypatch.setattr(long_pair_regions, "FILLED_ROWS", 8)


@pytest.mark.thorough(gaps=[GAPS[0]])
@pytest.mark.exhaustive(gaps=GAPS[:2])
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@pytest.mark.usefixtures("cut")
def test_alignment_is_the_reference_s(
    team_session: Session, shape: str, defines: dict[str, int], mode: Mode, gaps: GapCosts
) -> None:
    rng = np.random.default_rng(MODES.index(mode) + 4 * GAPS.index(gaps))
    stage = LongPairStage(shape, **defines)
    for letters, matrix in (("ACGTN", DNA), (AMINO, any_matrix(rng))):
        found = assert_same(team_session, stage, pair(*related(rng, 400, letters)), Scoring(matrix, gaps, mode))
        assert found.path
    for x, y in (("A", "A"), ("ACGT", "G"), ("A" * 300, "A" * 70), ("AC", "TG" * 90)):
        assert_same(team_session, stage, pair(x, y), Scoring(DNA, gaps, mode))


@pytest.mark.parametrize("lengths", [(256, 128), (257, 129), (600, 300), (40, 1500), (1100, 20)], ids=str)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_the_way_back_ends_however_few_edges_are_kept(
    team_session: Session, shape: str, defines: dict[str, int], lengths: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What is filled again has smaller parts, until no kept edge lies within one."""
    monkeypatch.setattr(long_pair_regions, "KEPT_BYTES", 0)
    rng = np.random.default_rng(lengths)
    x, y = ("".join(rng.choice(list("AC"), length)) for length in lengths)
    assert_same(team_session, LongPairStage(shape, **defines), pair(x, y), Scoring(DNA, GAPS[0]))
    assert_same(team_session, LongPairStage(shape, **defines), pair(x, y), Scoring(DNA, GAPS[1], "global"))


@given(seed=st.integers(0, 2**32 - 1), x=st.integers(1, 260), mode=st.sampled_from(MODES), gaps=st.sampled_from(GAPS))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_pair(session: Session, seed: int, x: int, mode: Mode, gaps: GapCosts) -> None:
    """Few letters, so that many alignments are equally good."""
    rng = np.random.default_rng(seed)
    assert_same(session, LONG_PAIR, pair(*related(rng, x, "AC")), Scoring(DNA, gaps, mode))


@pytest.mark.parametrize("mode", MODES)
def test_empty_sequences(session: Session, mode: Mode) -> None:
    for x, y in (("", ""), ("ACG", ""), ("", "AC")):
        assert_same(session, LONG_PAIR, pair(x, y), Scoring(DNA, GAPS[0], mode))


def test_nothing_alike(session: Session) -> None:
    assert assert_same(session, LONG_PAIR, pair("A" * 200, "C" * 90), Scoring(DNA, GAPS[0])).score == 0


def test_scores_beyond_the_numbers_of_a_device_are_refused(session: Session) -> None:
    batch, scoring = pair("A" * 300_000, "C" * 300_000), Scoring(DNA, GapCosts(1000, 1000), "global")
    with pytest.raises(OptionError, match="300,000"):
        session.run(LONG_PAIR, batch, LongPairChoice(scoring))


def test_progress_counts_all_cells_once_or_more(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair_regions, "CPU_CELLS", 1000)
    monkeypatch.setattr(long_pair_regions, "GPU_CELLS", 1000)
    messages: list[int] = []
    x, y = related(np.random.default_rng(3), 500, "ACGT")
    session.run(LONG_PAIR, pair(x, y), LongPairChoice(Scoring(DNA, GAPS[0]), messages.append))
    assert len(messages) > 1
    assert sum(messages) >= len(x) * len(y)


@pytest.mark.thorough(block=[24], columns=[16])
@pytest.mark.parametrize("block", [8, 24, 128])
@pytest.mark.parametrize("columns", [16, 64])
def test_strips_that_follow_each_other(
    session: Session, block: int, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far a strip is behind the one above it, and whatever goes to a device at a time, cells are the same."""
    for name, value in (("KEPT_BYTES", 2**12), ("BLOCK", block), ("MIN_COLUMNS", columns), ("EDGES_EACH_WAY", 3)):
        monkeypatch.setattr(long_pair_regions, name, value)
    rng = np.random.default_rng(block + columns)
    texts = related(rng, 1792, "ACGT")  # whole strips: what stands in the rows after the last one is anything
    codes = [SequenceBatch.from_texts([text]).residues(0) for text in texts]
    found = {}
    for at_once in (10**9, 100_000):
        for name, value in (("CPU_CELLS", at_once), ("GPU_CELLS", at_once), ("LAUNCH_SECONDS", 0.0)):
            monkeypatch.setattr(long_pair_regions, name, value)
        for method in (long_pair_regions.METHOD, "launch"):
            filled = fill(LONG_PAIR.matrix(session, *codes, Scoring(DNA, GAPS[0])), lambda cells: None, method=method)
            parts = {
                part.name: session.download(part.buffer, part.shape, np.int32).tobytes()
                for part in filled.parts(filled.n_diagonals)
                if any(part.known)
            }
            found[at_once, method] = filled.end(), parts
    assert len(parts) == 6
    assert all(one == found[10**9, "launch"] for one in found.values())


@pytest.mark.parametrize(("scores", "gaps", "mode", "width"), [
    ((2, -3), GapCosts(7, 2), "local", 16), ((2, -3), GapCosts(7, 2), "global", 16),
    ((30, -3), GapCosts(40, 10), "local", 32),
    ((2, -3), GapCosts(900, 900), "local", 32), ((2, -3), GapCosts(7, 2), "ungapped", 32),
])  # fmt: skip
def test_tiles_of_a_processor_have_as_many_bits_as_their_scores_need(
    session: Session, scores: tuple[int, int], gaps: GapCosts, mode: Mode, width: int
) -> None:
    """Also where scores rise over many tiles far beyond 16 bits, and gaps cross strips of rows."""
    if session.device.kind != "cpu":
        pytest.skip("explicit vectors are the shape for CPUs and do not build for every GPU")
    x, y = related(np.random.default_rng(11), 900, "ACGT")
    scoring = Scoring(SubstitutionMatrix.match_mismatch(*scores), gaps, mode)
    codes = [SequenceBatch.from_texts([text]).residues(0) for text in (x, y)]
    assert LongPairStage("vector").matrix(session, *codes, scoring).pair.width == width
    assert_same(session, LongPairStage("vector"), pair(x, y[: len(y) // 2] + "A" * 600 + y[len(y) // 2 :]), scoring)


@pytest.mark.parametrize("length", [10_000, 19_000, 40_000, 200_000])
def test_what_a_stopped_pair_needs_on_a_processor_is_kept_within_a_second(length: int) -> None:
    session: Any = Sizes("cpu")
    codes = [encode("ACGT")[np.arange(length) % 4]] * 2
    filled = Filled.begun(LongPairStage("vector").matrix(session, *codes, Scoring(DNA, GAPS[0])))
    assert_plan_holds(filled, set())
    for n_diagonals in (1, filled.n_diagonals // 2, filled.n_diagonals):
        assert sum(part.n_bytes for part in filled.parts(n_diagonals)) < BYTES_A_SECOND * MAX_STOP_SECONDS


def test_groups_that_do_not_run_at_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a group does not come, what the others left is not gone on with: anti-diagonals are launched one by one.

    On a busy machine they may run one after the other, and none finds that it would have to wait.
    """
    methods: list[str] = []
    cells: list[int] = []
    finish = Rounds.finish

    def messages(rounds: Rounds) -> int:
        methods.append(rounds.how.method)
        return finish(rounds)

    monkeypatch.setattr(Rounds, "finish", messages)
    monkeypatch.setattr(long_pair_regions, "METHOD_ON_CPU", long_pair_regions.METHOD)
    monkeypatch.setattr(long_pair_regions, "max_concurrent_groups", lambda *given: 2)
    monkeypatch.setattr(
        group_barriers, "MAX_READINGS", dict.fromkeys(group_barriers.MAX_READINGS, 0)
    )  # none waits for another
    batch = pair(*related(np.random.default_rng(5), 3000, "ACGT"))
    scoring = Scoring(DNA, GAPS[0])
    found: PairAlignment = session.run(LONG_PAIR, batch, LongPairChoice(scoring, cells.append))
    assert methods[0] == long_pair_regions.METHOD
    assert methods[1:] in ([], ["launch"])
    assert found == session.run(SMITH_WATERMAN_TRACE, batch, scoring)[0]


def test_groups_that_came_late_are_reported_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups that give up in the middle of the first pass, and again of each other one, are not left to wait again."""
    methods: list[str] = []
    n_cells = {}
    finish = Rounds.finish
    batch = pair(*related(np.random.default_rng(5), 1500, "ACGT"))

    def sometimes(rounds: Rounds) -> int:
        methods.append(rounds.how.method)
        if rounds.how.method != "launch" and rounds.first > 4:
            raise group_barriers.missing_group_error(session.device, rounds.how, 1)
        return finish(rounds)

    for name, value in (("CPU_CELLS", 5000), ("GPU_CELLS", 5000), ("LAUNCH_SECONDS", 0.0), ("MIN_COLUMNS", 16),
                        ("FILLED_ROWS", 4), ("KEPT_BYTES", 2**12), ("EDGES_EACH_WAY", 3),
                        ("METHOD_ON_CPU", long_pair_regions.METHOD)):  # fmt: skip
        monkeypatch.setattr(long_pair_regions, name, value)
    found = {}
    for which in ("all come", "some come late"):
        messages: list[int] = []
        found[which] = session.run(LONG_PAIR, batch, LongPairChoice(Scoring(DNA, GAPS[0]), messages.append))
        n_cells[which] = sum(messages)
        assert min(messages) >= 0
        monkeypatch.setattr(Rounds, "finish", sometimes)
    assert n_cells["some come late"] == n_cells["all come"]
    assert found["some come late"] == found["all come"]
    assert methods.count("launch") > 10
    assert "launch" not in methods[: methods.index("launch")]
    assert set(methods[methods.index("launch") :]) == {"launch"}


class Sizes:
    """A card of 16 GB that computes nothing: it knows the sizes of its buffers, and how much they were together."""

    def __init__(self, kind: DeviceKind = "gpu") -> None:
        self.device = Device(
            "0:0", "card", kind, memory_bytes=16 * 2**30, max_buffer_bytes=4 * 2**30, n_compute_units=132
        )
        self.now = self.most = 0

    def allocate(self, n_bytes: int) -> Size:
        return Size(self, n_bytes)

    results = zeros = allocate

    def upload(self, array: npt.NDArray[Any]) -> Size:
        return Size(self, array.nbytes)


class Size:
    """A buffer that is nothing but large."""

    def __init__(self, all_of_them: Sizes, size: int) -> None:
        assert 0 < size <= all_of_them.device.max_buffer_bytes
        self.size, self._all = size, all_of_them
        self._all.now += size
        self._all.most = max(self._all.most, self._all.now)

    def __del__(self) -> None:
        self._all.now -= self.size


def assert_plan_holds(filled: Filled, counted: set[tuple[int, int]]) -> None:
    """What the kernel is told fits its numbers, and every cell lies in one tile, whose edges lie in their buffers."""
    m, n = filled.region.m, filled.region.n
    assert (filled.n_strips - 1) * filled.strip < m <= filled.n_strips * filled.strip
    assert (filled.n_tiles - 1) * filled.columns < n <= filled.n_tiles * filled.columns
    if (shape := (filled.n_strips, filled.n_tiles)) not in counted:  # many parts have as many tiles as another
        counted.add(shape)
        n_on_all = sum(filled.n_tiles_on(diagonal) for diagonal in range(filled.n_diagonals))
        assert n_on_all == filled.n_strips * filled.n_tiles
    kept = {part.name: part for part in filled.parts(filled.n_diagonals)}
    for part in kept.values():
        assert part.n_bytes <= part.buffer.size
        assert len(part.known) * part.width < 2**31  # of edges, which are counted in 32 bits on a device
    assert len(kept["kept_rows"].known) == (m - 1) // filled.rows_every
    assert len(kept["kept_columns"].known) == (n - 1) // filled.columns_every
    assert set(kept["kept_rows"].known) <= {n + 1}
    assert set(kept["kept_columns"].known) <= {m + 1}


@pytest.mark.thorough(m=[5_000_000], way=["early"])
@pytest.mark.exhaustive(m=[5_000_000, 1])
@pytest.mark.exhaustive(way=["diagonal", "upwards", "along"])
@pytest.mark.parametrize("way", ["diagonal", "early", "upwards", "along"])
@pytest.mark.parametrize(("m", "n"), [(5_000_000, 5_000_000), (5_000_000, 3), (1, 5_000_000), (20_000_000, 6_000_001)])
def test_plan_of_millions(m: int, n: int, way: str) -> None:
    """All but the cells of 5 million by 5 million residues: counts, tiles, kept edges, memory, the way back."""
    session: Any = Sizes()
    rng = np.random.default_rng(1)
    codes = [encode("ACGT")[rng.integers(0, 4, length, np.uint8)] for length in (m, n)]
    whole = LongPairStage("lanes").matrix(session, *codes, Scoring(DNA, GapCosts(7, 2)))
    top, counted = Filled.begun(whole), set[tuple[int, int]]()
    assert_plan_holds(top, counted)
    pace = long_pair_regions.Pace(session.device)
    portions = list(long_pair_regions._portions(top, 0, top.strip * top.columns, pace))
    assert [first for first, _, _ in portions] == [0, *(last for _, last, _ in portions[:-1])]
    assert portions[-1][1] == top.n_diagonals
    messages = sum(cells for *_, cells in portions)
    assert m * n <= messages <= (m + top.strip) * (n + top.columns)
    assert messages > 2**32 or m * n < 2**32
    again, deepest = 0, 0

    def back(filled: Filled, i: int, j: int, depth: int) -> None:
        """Fill again what a path passes that ends in a cell, without its cells; leave the region at its edges."""
        nonlocal again, deepest
        deepest = max(deepest, depth)
        while i and j and not filled.region.is_small:
            part = filled.part(i, j)
            assert (part.m, part.n) <= (filled.rows_every, filled.columns_every)
            assert part.top.at < 2**31
            assert part.left.at < 2**31
            again += part.m * part.n
            inner = Filled.begun(part)
            assert_plan_holds(inner, counted)
            back(inner, part.m, part.n, depth + 1)
            least = min(part.m, part.n)
            steps = {"diagonal": (least, least), "early": (least, least // 3 or 1), "upwards": (part.m, 1),
                     "along": (1, part.n)}[way]  # fmt: skip
            i, j = i - steps[0], j - steps[1]

    back(top, m, n, 0)
    assert session.most < (2e9 if m + n <= 10_000_000 else 4e9)
    assert deepest <= 3
    assert again <= 0.2 * m * n or m * n < 2**32
    for n_diagonals in (0, 1, top.n_diagonals // 2, top.n_diagonals):
        known = sum(part.n_bytes for part in top.parts(n_diagonals))
        assert known < 110 * (m + n) + 1000  # of what is kept in a run


@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_planted_fault_is_noticed(team_session: Session, shape: str, defines: dict[str, int]) -> None:
    batch = pair(*related(np.random.default_rng(9), 300, "ACGT"))
    choice = LongPairChoice(Scoring(DNA, GAPS[0]))
    found: Any = team_session.run(LongPairStage(shape, SABOTAGE=1, **defines), batch, choice)
    assert found != LONG_PAIR.reference(batch, choice)


class _Alive:
    """Lives as long as the buffer that it belongs to."""

    def __init__(self, count: list[int], n_bytes: int) -> None:
        self._count, self._n_bytes = count, n_bytes
        count[0] += n_bytes
        count[1] = max(count)

    def __del__(self) -> None:
        self._count[0] -= self._n_bytes


def test_parts_give_their_memory_back(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair_regions, "KEPT_BYTES", kept := 1 << 14)
    count, allocate = [0, 0], session.allocate

    def counted(n_bytes: int) -> Any:
        buffer = allocate(n_bytes)
        cast(Any, buffer).alive = _Alive(count, n_bytes)
        return buffer

    monkeypatch.setattr(session, "allocate", counted)
    x, y = related(np.random.default_rng(3), 3000, "ACGT")
    scoring = Scoring(DNA, GapCosts(5, 2))
    region = LONG_PAIR.matrix(session, *(SequenceBatch.from_texts([t]).residues(0) for t in (x, y)), scoring)
    fill(region, lambda cells: None)
    of_whole, count[1] = count[1], 0
    session.run(LONG_PAIR, pair(x, y), LongPairChoice(scoring))
    assert count[1] < of_whole + 4 * kept
