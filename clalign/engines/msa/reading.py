"""What the run of an alignment holds, as values: sequences, pairs, rounds, posteriors, merges and quality."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.databases.sequence_rows import SequenceRow
from clalign.engines.msa.aligning import AlignedSequences
from clalign.engines.msa.inputs import AlignmentInput, checked_input
from clalign.engines.msa.packing import unpack_array, unpack_counts, unpack_entries, unpack_some
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.tables import ANNEALING, COUNTS, PAIRS, POSTERIORS, SEQUENCES, AlignmentFacts
from clalign.engines.msa.training import TrainingRound
from clalign.errors import ClalignError, DamagedRun, InputError, command_for
from clalign.runs.connection import size_of
from clalign.runs.run_file import RunFile
from clalign.runs.tables import SqlRow
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, ResidueMoves, offsets_of
from clalign.values.pair_hmm import ExpectedCounts, GapParameters, Numbers, PairEmissions, PairHmm, fixed_emissions
from clalign.values.sparse_posteriors import ExcessPosterior, PosteriorMatrix, SparsePosteriors, gaps_left

MAPPED_BYTES = 2_000_000_000
"""Posteriors that take more are kept in a temporary file and not in memory."""

MAX_PAIRS = 2**28

MAX_PACKED = 300
"""Posteriors in a byte of a run file: none are packed as small."""

Number = TypeVar("Number", bound=np.generic)


class Blocks(Struct, frozen=True, eq=False):
    """The pairs of a run, in blocks.

    Attributes
    ----------
    pairs : int32[P, 2]
        Numbers of two sequences each, in rising order.
    ends : int64[n_blocks]
        Where each block ends.
    """

    pairs: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]

    def span(self, block: int) -> tuple[int, int]:
        """Return first and last pair of a block."""
        return (int(self.ends[block - 1]) if block else 0), int(self.ends[block])

    def of_pair(self, pair: int) -> int:
        """Return the block of a pair."""
        return int(np.searchsorted(self.ends, pair, side="right"))

    def number(self, i: int, j: int) -> int | None:
        """Return the number of the pair of two sequences; None if they were not compared."""
        found = np.flatnonzero((self.pairs[:, 0] == min(i, j)) & (self.pairs[:, 1] == max(i, j)))
        return int(found[0]) if len(found) else None


def is_begun(run: RunFile) -> bool:
    """Return whether a run knows its sequences."""
    return bool(run.engine_rows(PAIRS.name))


def given_of(run: RunFile) -> AlignmentInput:
    """Return the sequences of a run.

    Raises
    ------
    InputError
        If it was stopped before they were read.
    """
    spec, facts = run.spec(AlignmentSpec), run.facts
    if not is_begun(run):
        raise InputError(run.path, "this run has no results; its input could not be read.", "Align again.")
    stored = run.engine_rows(SEQUENCES.name)
    rows = [SequenceRow(name, words, text.encode("latin-1", "replace")) for name, words, text in stored]
    try:
        return checked_input(
            str(run.path), rows, facts.alphabet if isinstance(facts, AlignmentFacts) else "auto", spec.seed
        )
    except ClalignError as error:
        raise DamagedRun(run.path, error.message) from None


def blocks_of_run(run: RunFile, n_sequences: int) -> Blocks:
    """Return the pairs of a run."""
    (pairs, ends), path = run.engine_rows(PAIRS.name)[0], run.path
    numbers = unpack_some(pairs, "<i4", 2 * MAX_PAIRS, path)
    found = Blocks(numbers[: len(numbers) // 2 * 2].reshape(-1, 2), unpack_some(ends, "<i8", MAX_PAIRS, path))
    keys = found.pairs.astype(np.int64) @ [n_sequences, 1]
    if not (
        len(numbers) == 2 * len(found.pairs)
        and (found.pairs >= 0).all() and (found.pairs < n_sequences).all()
        and (found.pairs[:, 0] < found.pairs[:, 1]).all() and (np.diff(keys) > 0).all()
        and (np.diff(found.ends, prepend=0) > 0).all()
        and (int(found.ends[-1]) if len(found.ends) else 0) == len(found.pairs)
    ):  # fmt: skip
        raise DamagedRun(path, "pairs of sequences that are none")
    return found


def pairs_phase(run: RunFile) -> int:
    """Return the number of the query that is the comparison of pairs."""
    return run.n_queries() - 1


def rounds_of(run: RunFile, given: AlignmentInput) -> list[TrainingRound]:
    """Return the outcomes of the rounds of the training on all pairs, as far as they are done."""
    letters = fixed_emissions(given.alphabet).letters
    n_sets, n = 1 if run.spec(AlignmentSpec).has_one_gap_set else 2, len(letters)
    rounds = []
    for number, card in enumerate(run.cards(), 1):
        outcome: Json | None = card.get("outcome")
        if outcome is None:
            break
        if {*map(len, (outcome["opens"], outcome["extends"]))} != {n_sets} or {
            *map(len, (outcome["singles"], outcome["pairs"], *outcome["pairs"]))
        } != {n}:
            raise DamagedRun(run.path, "a round of training for other models")
        if 2 * sum(outcome["opens"]) > 1:  # a gap begins in either sequence
            raise DamagedRun(run.path, "probabilities of gaps that add up to more than 1")
        gaps = GapParameters.of(outcome["opens"], outcome["extends"])
        model = PairHmm(gaps, PairEmissions.of(letters, outcome["singles"], outcome["pairs"]))
        rounds.append(TrainingRound(number, outcome["log_likelihood"], model, outcome["goes_on"]))
    return rounds


def sums_of_round(run: RunFile, number: int, model: PairHmm) -> list[ExpectedCounts]:
    """Return the sums of the expected counts of each block in a round, counted from 0."""
    n_sets, n_letters = model.gaps.n_sets, len(model.emissions.letters)
    pieces = run.engine_rows_of_pieces(COUNTS.name, number, ["sums"])
    return [unpack_counts(blob, n_sets, n_letters, run.path) for _, blob in pieces]


def posteriors_of(run: RunFile, given: AlignmentInput, mapped_bytes: int = MAPPED_BYTES) -> SparsePosteriors:
    """Return the posteriors of all pairs, of a run that has compared them.

    Parameters
    ----------
    run : RunFile
    given : AlignmentInput
        Its sequences.
    mapped_bytes : int
        What is larger lies in a temporary file.
    """
    blocks, lengths, phase = blocks_of_run(run, len(given)), given.lengths, pairs_phase(run)
    filled = (lengths[blocks.pairs] > 0).all(axis=1)
    pairs = blocks.pairs[filled]
    sizes: dict[int, int] = dict(run.engine_rows_of_pieces(POSTERIORS.name, phase, ["n_entries"]))
    if sorted(sizes) != list(range(len(blocks.ends))):
        raise InputError(
            run.path, "not all pairs have been compared.", f"Continue with: {command_for('resume', run.path)}"
        )
    n, n_rows, n_others = sum(sizes.values()), *(int(lengths[side].sum()) for side in pairs.T)
    if n > MAX_PACKED * size_of(run.path):  # with its log, where those of a run that goes on lie
        raise DamagedRun(run.path, "more posteriors than it has room for")
    is_mapped = 8 * n + 12 * n_rows + 4 * n_others > mapped_bytes
    found = SparsePosteriors(
        lengths, pairs, _array(n_rows + 1, np.int64, is_mapped), _array(n, np.int32, is_mapped),
        _array(n, np.float32, is_mapped), _array(n_rows, np.float32, is_mapped),
        _array(n_others, np.float32, is_mapped),
    )  # fmt: skip
    n, n_rows, n_others = 0, 0, 0
    for _, part in _parts(run, blocks, lengths, phase):
        found.starts[n_rows : n_rows + len(part.starts)] = part.starts + n
        for name, first in (("columns", n), ("probabilities", n), ("x_gaps", n_rows), ("y_gaps", n_others)):
            values = getattr(part, name)
            getattr(found, name)[first : first + len(values)] = values
        n, n_rows, n_others = n + len(part.columns), n_rows + len(part.x_gaps), n_others + len(part.y_gaps)
    return found


def _array(n: int, kind: type[Number], is_mapped: bool) -> npt.NDArray[Number]:
    """Return an array in memory, or in a temporary file."""
    if not is_mapped or not n:
        return np.zeros(n, kind)
    with tempfile.TemporaryFile(prefix="clalign-") as file:
        return np.memmap(file, kind, "w+", shape=(n,))


def _parts(
    run: RunFile, blocks: Blocks, lengths: npt.NDArray[np.int64], phase: int, block: int | None = None
) -> Iterator[tuple[int, SparsePosteriors]]:
    """Yield number and posteriors of each block, or of one, of those pairs that have any residues."""
    for number, n_entries, blob in run.engine_rows_of_pieces(POSTERIORS.name, phase, ["n_entries", "entries"], block):
        if number >= len(blocks.ends):
            raise DamagedRun(run.path, "posteriors of pairs that there are none of")
        first, last = blocks.span(number)
        yield number, _of_block(blob, lengths, blocks.pairs[first:last], n_entries, run.path)


def _of_block(
    blob: bytes, lengths: npt.NDArray[np.int64], pairs: npt.NDArray[np.int32], n_entries: int, path: Path
) -> SparsePosteriors:
    x, y = lengths[pairs].T
    n_rows = int(x.sum())
    sizes, columns, values = unpack_entries(blob, n_rows, n_entries, path)
    filled = (x > 0) & (y > 0)
    pair = np.repeat(np.repeat(np.arange(len(pairs)), x), sizes)
    if not ((columns >= 0) & (columns < y[pair])).all():
        raise DamagedRun(path, "posteriors of residues that there are none of")
    places = np.repeat(np.arange(n_rows), sizes), offsets_of(y)[pair] + columns
    try:
        kept = sizes[np.repeat(filled, x)]
        x_gaps, y_gaps = (
            gaps_left(rows, values, n)[np.repeat(filled, side)]
            for rows, n, side in zip(places, (n_rows, int(y.sum())), (x, y), strict=True)
        )
    except ExcessPosterior:
        raise DamagedRun(path, "posteriors of a residue that add up to more than 1") from None
    return SparsePosteriors(lengths, pairs[filled], offsets_of(kept), columns, values, x_gaps, y_gaps)


def pair_posteriors(run: RunFile, given: AlignmentInput, i: int, j: int) -> PosteriorMatrix | None:
    """Return the posteriors of two sequences, the rows being the residues of the first in the input.

    None if they were not compared, not yet, or one is empty.
    """
    blocks = blocks_of_run(run, len(given))
    number = blocks.number(i, j)
    if number is None:
        return None
    for _, part in _parts(run, blocks, given.lengths, pairs_phase(run), blocks.of_pair(number)):
        for x, y, found in part.each():
            if (x, y) == (min(i, j), max(i, j)):
                return found
    return None


class PairFacts(Struct, frozen=True, eq=False):
    """What is known of a pair beside its posteriors.

    Attributes
    ----------
    log_likelihood : float
    gaps : GapParameters or None
        What was learned; None for posteriors that were read from a file.
    """

    log_likelihood: float
    gaps: GapParameters | None


def pair_facts(run: RunFile, given: AlignmentInput, i: int, j: int) -> PairFacts | None:
    """Return likelihood and gap parameters of two sequences; None as of `pair_posteriors`."""
    blocks = blocks_of_run(run, len(given))
    number = blocks.number(i, j)
    if number is None:
        return None
    wanted = min(i, j), max(i, j)
    known = _facts_of_pairs(run, blocks, blocks.of_pair(number))
    return next((facts for *pair, facts in known if (*pair,) == wanted), None)


def each_pair_facts(run: RunFile, given: AlignmentInput) -> Iterator[tuple[int, int, PairFacts]]:
    """Yield the numbers of two sequences, and what is known of them, of all pairs that are compared, in their order."""
    return _facts_of_pairs(run, blocks_of_run(run, len(given)))


def _facts_of_pairs(run: RunFile, blocks: Blocks, block: int | None = None) -> Iterator[tuple[int, int, PairFacts]]:
    """Yield the facts about the pairs of each block, or of one."""
    n_sets, columns = 1 if run.spec(AlignmentSpec).has_one_gap_set else 2, ["likelihoods", "gaps"]
    for number, packed, gaps in run.engine_rows_of_pieces(POSTERIORS.name, pairs_phase(run), columns, block):
        if number >= len(blocks.ends):
            raise DamagedRun(run.path, "posteriors of pairs that there are none of")
        first, last = blocks.span(number)
        n = last - first
        likelihoods = unpack_array(packed, "<f8", n, run.path).tolist()
        numbers: Numbers = unpack_some(gaps, "<f8", 2 * n_sets * n, run.path)
        if len(numbers) not in (0, 2 * n_sets * n):
            raise DamagedRun(run.path, "gap parameters of other pairs")
        learned = numbers.reshape(-1, 2, n_sets)
        for row, (i, j) in enumerate(blocks.pairs[first:last].tolist()):
            yield i, j, PairFacts(likelihoods[row], GapParameters.of(*learned[row]) if len(learned) else None)


def annealing_of(run: RunFile, given: AlignmentInput) -> AlignedSequences:
    """Return how the alignment of a finished run came about, to be looked at step by step.

    Raises
    ------
    InputError
        If there is none yet.
    """
    row, path, n = _annealing(run), run.path, int(given.lengths.sum())
    pairs, moves = (unpack_some(blob, "<i4", 4 * MAX_PAIRS, path) for blob in (row[0], row[3]))
    survivors, victims = pairs[: len(pairs) // 2 * 2].reshape(2, -1)
    sequences, positions, sources, targets = moves[: len(moves) // 4 * 4].reshape(4, -1)
    weights = unpack_array(row[1], "<f4", len(survivors), path)
    order = unpack_some(row[2], "<i4", n, path)
    ends, scores = unpack_some(row[4], "<i8", MAX_PAIRS, path), unpack_some(row[5], "<f4", MAX_PAIRS, path)
    found = AlignedSequences(
        ColumnMerges(given.lengths, survivors, victims, weights, order),
        ResidueMoves(sequences, positions, sources, targets, ends, scores),
    )
    _check_merges(found.merges, n, path)
    _check_moves(found.moves, found.merges, path)
    return found


def _annealing(run: RunFile) -> SqlRow:
    rows = run.engine_rows(ANNEALING.name)
    if not rows:
        raise InputError(run.path, "there is no alignment yet.", f"Continue with: {command_for('resume', run.path)}")
    return rows[0]


def _check_merges(merges: ColumnMerges, n: int, path: Path) -> None:
    """Refuse merges that are no history of n columns: each is merged into another one that is left, once at most."""
    is_left = np.ones(n, bool)
    places = np.concatenate([merges.survivors, merges.victims, merges.order])
    is_sound = bool(((places >= 0) & (places < n)).all()) and len(np.unique(merges.victims)) == len(merges)
    if is_sound:
        is_left[merges.victims] = False
        when = np.full(n, len(merges))
        when[merges.victims] = np.arange(len(merges))
        is_sound = bool((when[merges.survivors] > np.arange(len(merges))).all())
        is_sound = is_sound and np.array_equal(np.sort(merges.order), np.flatnonzero(is_left))
    if not is_sound:
        raise DamagedRun(path, "merges of columns that there are none of")


def _check_moves(moves: ResidueMoves, merges: ColumnMerges, path: Path) -> None:
    lengths, n = merges.lengths, len(moves.sequences)
    is_sound = bool(
        ((moves.sequences >= 0) & (moves.sequences < len(lengths))).all()
        and (moves.targets >= 0).all() and (moves.targets < len(merges.order)).all()
        and (np.diff(moves.ends, prepend=0) >= 0).all()
        and (int(moves.ends[-1]) if len(moves.ends) else 0) == n
        and len(moves.scores) == len(moves.ends) + 1
    )  # fmt: skip
    if not is_sound or not ((moves.positions >= 0) & (moves.positions < lengths[moves.sequences])).all():
        raise DamagedRun(path, "moves of residues that there are none of")


def column_accuracies(run: RunFile) -> npt.NDArray[np.float32]:
    """Return the expected accuracy of each column of the alignment of a finished run (float32[n_columns])."""
    accuracies: npt.NDArray[np.float32] = unpack_some(_annealing(run)[6], "<f4", MAX_PAIRS, run.path)
    return accuracies


def alignment_of(run: RunFile, given: AlignmentInput) -> MultipleAlignment:
    """Return the alignment of a finished run as its rows have it.

    Raises
    ------
    DamagedRun
        If the rows are not those of its sequences.
    """
    stored = run.alignments()
    if not stored:
        raise InputError(run.path, "there is no alignment yet.", f"Continue with: {command_for('resume', run.path)}")
    rows = run.alignment_rows(stored[0].id)
    texts = [row.text.encode("latin-1", "replace") for row in rows]
    if [text.replace(b"-", b"") for text in texts] != list(given.letters):
        raise DamagedRun(run.path, "the rows of the alignment are not those of its sequences")
    return MultipleAlignment.from_rows(texts)
