"""What the run of an alignment says twice: of its phases, its pairs, its sequences and its alignment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from clalign.engines.msa.inputs import AlignmentInput, read_input
from clalign.engines.msa.phases import UNIT
from clalign.engines.msa.reading import (
    Blocks,
    annealing_of,
    column_accuracies,
    each_pair_facts,
    pairs_phase,
    posteriors_of,
)
from clalign.engines.msa.reliability import expected_accuracy
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.tables import COUNTS, POSTERIORS
from clalign.jobs import JobContext
from clalign.runs.contradictions import contradictions
from clalign.runs.derived import kept_cells, unequal_query
from clalign.runs.inputs import digest_of
from clalign.runs.run_file import RunFile
from clalign.values.documents import TargetFacts
from clalign.values.profiles import IMPOSSIBLE


def contradictions_of(run: RunFile, given: AlignmentInput, blocks: Blocks, context: JobContext) -> Iterator[str]:
    """Yield in words what a run says of its phases, pairs and sequences, and contradicts."""
    yield from _sequences_otherwise(run, given, context)
    is_done = run.state == "done"
    for number, card in enumerate(run.cards()):
        is_pairs = number == pairs_phase(run)
        due = is_done and (is_pairs or card.get("outcome") is not None)
        yield from contradictions(run.connection, number, card, len(blocks.pairs), due, context.check)
        yield from _phase_otherwise(run, number, given, blocks)
    if is_done and run.spec(AlignmentSpec).load_posteriors is None:
        yield from _likelihoods_otherwise(run, given)
    if is_done and run.alignments():
        yield from _alignment_otherwise(run, given, context.check)


def _phase_otherwise(run: RunFile, number: int, given: AlignmentInput, blocks: Blocks) -> Iterator[str]:
    """Yield the values kept of a phase that do not follow from its pairs and scores."""
    card, is_pairs = run.card(number), number == pairs_phase(run)
    again = {**card, "name": "Pairs" if is_pairs else f"Round {number + 1}", "length": len(blocks.pairs)}
    best, place = run.best_score(number)
    table, column = (POSTERIORS, "n_entries") if is_pairs else (COUNTS, "sums")
    numbers = [piece for piece, *_ in run.engine_rows_of_pieces(table.name, number, [column])]
    if numbers != list(range(len(numbers))):
        yield f"{card['name']}: what is kept of its blocks is not numbered one after the other."
    described: TargetFacts | None = None
    if best > IMPOSSIBLE:
        names = " and ".join(given.names[row] for row in blocks.pairs[place].tolist())
        described = {"name": names, "score": best * UNIT, "evalue": None}
    yield from unequal_query(run.connection, number, again, described)
    cells = np.multiply(*given.lengths[blocks.pairs].T.astype(np.float64))
    all_cells = card["cells_per_residue"] * max(1, given.n_residues)
    for first, last, kept in kept_cells(run.connection, number):
        expected = all_cells * cells[first:last].sum() / max(1.0, cells.sum())
        if not math.isclose(kept, expected, rel_tol=1e-6, abs_tol=1e-6):
            yield f"{card['name']}: the pairs {first:,} to {last:,} count {kept:,.0f} cells, which they do not have."


def _likelihoods_otherwise(run: RunFile, given: AlignmentInput) -> Iterator[str]:
    """Yield which scores of pairs are not the logarithms of their likelihoods."""
    phase, place = pairs_phase(run), 0
    scores = np.concatenate([np.empty(0, np.int32), *(values for _, _, values in run.scores(phase))])
    for i, j, facts in each_pair_facts(run, given):
        size, known = int(given.lengths[[i, j]].sum()), place < len(scores) and scores[place] > IMPOSSIBLE
        if known and size and abs(float(scores[place]) - facts.log_likelihood / size / UNIT) > 0.5001:
            yield f"{given.names[i]} and {given.names[j]}: the score is not that of the ln likelihood."
        place += 1
    if place != len(scores):
        yield f"There are {len(scores):,} scores of pairs, but likelihoods of {place:,}."


def _sequences_otherwise(run: RunFile, given: AlignmentInput, context: JobContext) -> Iterator[str]:
    """Yield whether the files, where they are at hand and unchanged, hold other sequences."""
    spec, digests = run.spec(AlignmentSpec), run.facts.sequence_digests or []
    are_there = len(spec.sequences) == len(digests) and all(Path(path).is_file() for path in spec.sequences)
    if not are_there or [digest_of(path, context) for path in spec.sequences] != digests:
        return
    again = read_input(list(spec.sequences), spec.alphabet, spec.seed, context)
    for what in ("names", "descriptions", "letters"):
        if list(getattr(again, what)) != list(getattr(given, what)):
            yield f"The {what} of the sequences are not those of the files."


def _alignment_otherwise(run: RunFile, given: AlignmentInput, check: Callable[[], None]) -> Iterator[str]:
    """Yield the values kept of the alignment that do not follow from its merges and the posteriors."""
    (stored,) = run.alignments()[:1]
    found = annealing_of(run, given)
    alignment = found.alignment_after()
    columns, whole = expected_accuracy(posteriors_of(run, given), alignment, check)
    facts = {"accuracy": float(whole), "n_columns": alignment.n_columns, "n_merges": len(found.merges),
             "n_sweeps": len(found.moves.ends)}  # fmt: skip
    wrong = [
        name for name, value in facts.items() if not math.isclose(stored.facts.get(name, math.nan), value, rel_tol=1e-6)
    ]
    wrong += ["name"] if stored.name != "alignment" else []
    kept = column_accuracies(run)
    wrong += [] if kept.shape == columns.shape and np.allclose(kept, columns, rtol=1e-5, atol=1e-6) else ["accuracies"]
    rows = run.alignment_rows(stored.id)
    same = [(row.name, row.start, row.stop) for row in rows] == [
        (name, 0, len(letters)) for name, letters in zip(given.names, given.letters, strict=True)
    ]
    wrong += [] if same else ["rows"]
    if wrong:
        yield f"The {', '.join(wrong)} of the alignment do not follow from the rest."
