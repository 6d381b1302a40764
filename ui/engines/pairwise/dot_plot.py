"""Dot plots of two sequences as numbers: similar windows, and the path of the alignment."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.databases.loading import load_database
from clalign.engines.pairwise.inputs import reverse_complement, rows_of_queries, scoring_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import ClalignError
from clalign.jobs import JobContext, QuietContext
from clalign.runs.inputs import at_hand
from clalign.runs.run_file import open_run
from clalign.values.alphabets import ALPHABETS
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit
from clalign.values.scoring import SubstitutionMatrix
from clalign.values.sequences import Sequence

from .dot_words import LONGEST_WINDOW, MAX_CHANCE_SHARE, windows_around

WINDOWS = {False: 11, True: 15}
"""Residues of a window: of proteins, of nucleic acids."""

WORDS = {False: 1, True: 3}
"""Residues whose scores are looked up together: of proteins, of nucleic acids with their few words."""

MANY_PLACES = 1 << 20
"""Residues of targets from which on words are no longer than 2: scores of all words of 3 would take gigabytes."""

MAX_CELLS = 1 << 25
"""Windows that are compared; of longer sequences every n-th of the query is, or, if that would skip rows of dots, those
around shared words."""

MAX_DOTS = 1024
"""Dots along either side."""

BLOCK_CELLS = 1 << 19
"""Windows compared at once; few, so that the window of the program stays responsive."""

LEVELS = 255
"""Levels of a dot; the strongest is the similarity of the query to itself."""


Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DotPlot:
    """The dots and paths of a plot; rows are residues of the query, columns of the target.

    Attributes
    ----------
    query_name, target_name : str
    query_length, target_length : int
    paths : tuple
        For each alignment the corners of its path: int64[n, 2], residues of query and target passed so far. On the
        minus strand the target falls.
    query, target : str
        Residues; empty if a file is not at hand.
    dots : uint8[rows, columns] or None
        How alike the best windows in each dot are, from 0 to `LEVELS`.
    per_row, per_column : float
        Residues in a dot.
    window : int
    problem : str
        The reason for missing dots.
    alphabet : str
        Of both sequences.
    first_row, first_column : int
        Residues of query and target before the first dot.
    closer : callable or None
        Returns this plot with the dots of a part alone: from the first and the last residue of query and target, and
        what is called often.
    """

    query_name: str
    target_name: str
    query_length: int
    target_length: int
    paths: tuple[npt.NDArray[np.int64], ...]
    query: str = ""
    target: str = ""
    dots: npt.NDArray[np.uint8] | None = None
    per_row: float = 1.0
    per_column: float = 1.0
    window: int = 0
    problem: str = ""
    alphabet: str = "amino"
    first_row: int = 0
    first_column: int = 0
    closer: Callable[[Span, Span, Callable[[], None]], DotPlot] | None = None

    def says(self, query: int, target: int) -> str:
        """Return the description of a place, residues counted from 0; empty outside of the plot."""
        if not (0 <= query < self.query_length and 0 <= target < self.target_length):
            return ""
        letters = [text[place : place + 1] for text, place in ((self.query, query), (self.target, target))]
        return f"query {f'{letters[0]} {query + 1}'.strip()} · target {f'{letters[1]} {target + 1}'.strip()}"

    def nearest(self, query: float, target: float) -> tuple[int, int] | None:
        """Return the alignment and column nearest to a place, or None if nothing is aligned."""
        best: tuple[float, int, int] | None = None
        for number, path in enumerate(self.paths):
            places = column_places(path)
            if len(places):
                distances = np.abs(places - (query, target)).sum(axis=1)
                column = int(distances.argmin())
                if best is None or distances[column] < best[0]:
                    best = float(distances[column]), number, column
        return best[1:] if best else None

    def place_of(self, number: int, column: int) -> tuple[float, float] | None:
        """Return the middle of a column of an alignment: residues of query and target."""
        if number >= len(self.paths) or not 0 <= column < len(self.paths[number]) - 1:
            return None
        ((query, target),) = column_places(self.paths[number][column : column + 2])
        return float(query), float(target)


def column_places(path: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the middle of each column of a path (float64[n, 2])."""
    return (path[:-1] + path[1:]) / 2.0


def seen_of(
    path: npt.NDArray[np.int64], rows: tuple[float, float], columns: tuple[float, float], residues: float
) -> npt.NDArray[np.int64]:
    """Return the corners of the visible part of a path (int64[n, 2]), as close together as the screen resolves.

    Parameters
    ----------
    path : int64[n, 2]
        Residues of query and target passed so far.
    rows, columns : tuple of float
        From which residue to which one query and target are seen.
    residues : float
        That far a corner may be from its place.
    """
    query, target = path.T
    is_falling = target[0] > target[-1]
    first, last = max(np.searchsorted(query, rows[0]) - 1, 0), np.searchsorted(query, rows[1], "right") + 1
    path, target = path[first:last], -target[first:last] if is_falling else target[first:last]
    least, most = (-columns[1], -columns[0]) if is_falling else columns
    path = path[max(np.searchsorted(target, least) - 1, 0) : np.searchsorted(target, most, "right") + 1]
    step = max(1, int(residues))
    if step > 1 and len(path):
        return np.concatenate([path[::step], path[-1:]])
    turns: npt.NDArray[np.bool_] = np.any(np.diff(path, 2, axis=0, prepend=path[:1], append=path[-1:]) != 0, axis=1)
    if len(turns):
        turns[[0, -1]] = True
    return path[turns]


def path_of(domain: Domain) -> npt.NDArray[np.int64]:
    """Return the place of the path before each column, in the direction of the query, and at its end."""
    assert domain.pair is not None
    strand = domain.pair.strand
    states = domain.states if strand > 0 else domain.states[::-1]
    kinds = np.frombuffer(states.encode("ascii"), np.uint8)
    steps = np.stack([kinds != ord("I"), kinds != ord("D")], axis=1).astype(np.int64)
    steps[:, 1] *= strand
    start = domain.query_range[0], domain.target_range[0] if strand > 0 else domain.target_range[1]
    path: npt.NDArray[np.int64] = np.concatenate([[start], steps]).cumsum(axis=0)
    return path


def bare_plot(card: Card, hit: Hit) -> DotPlot:
    """Return the plot of a query and a hit without dots, which needs no files."""
    paths = tuple(path_of(domain) for domain in hit.domains)
    return DotPlot(card["name"], hit.name, card["length"], hit.length, paths, alphabet=card["alphabet"])


NO_DOTS = "Only the path is drawn, because the sequences are missing"


def read_dot_plot(path: Path, number: int, hit: Hit, context: JobContext | None = None) -> DotPlot:
    """Return the dot plot of a query of a run and one of its hits, without dots if a file is missing."""
    context = context or QuietContext()
    with open_run(path) as run:
        card, spec = run.card(number), run.spec(PairwiseSpec)
        matrix = scoring_of(run).matrix
        bare = bare_plot(card, hit)
        try:
            spec = at_hand(run, spec, context)
        except ClalignError as error:
            return replace(bare, problem=f"{NO_DOTS}: {error}")
    try:
        queries, targets = (
            load_database(file, alphabet=spec.alphabet, sequence_format=form, context=context)[0]
            for file, form in ((spec.queries, spec.query_format), (spec.targets, spec.sequence_format))
        )
    except ClalignError as error:
        return replace(bare, problem=f"{NO_DOTS}: {error}")
    query, target = queries[int(rows_of_queries(queries, spec.is_pairs)[number])], targets[hit.row]
    is_nucleic = card["alphabet"] != "amino"
    strands = [query.codes]
    if is_nucleic:
        strands.append(reverse_complement(query, ALPHABETS[card["alphabet"]]).codes)
    return dotted(bare, query, target, strands, matrix, WINDOWS[is_nucleic], context)


def dotted(
    bare: DotPlot,
    query: Sequence,
    target: Sequence,
    strands: list[npt.NDArray[np.uint8]],
    matrix: SubstitutionMatrix,
    window: int,
    context: JobContext | None = None,
) -> DotPlot:
    """Return a dot plot with its dots.

    Parameters
    ----------
    strands : list of uint8[length]
        The query, and its reverse complement where that counts.
    """
    found = replace(bare, query=query.text, target=target.text)

    def of_part(rows: Span, columns: Span, check: Callable[[], None]) -> DotPlot:
        """Compare a part of the sequences; on the other strand the opposite part."""
        ours, theirs = strands[0][slice(*rows)], target.codes[slice(*columns)]
        opposite = [codes[len(codes) - rows[1] : len(codes) - rows[0]] for codes in strands[1:]]
        part = _part(found, [ours, *opposite], theirs, matrix, window, check)
        return replace(part, first_row=rows[0], first_column=columns[0], closer=of_part)

    return of_part((0, len(query)), (0, len(target)), (context or QuietContext()).check)


def _part(
    bare: DotPlot,
    strands: list[npt.NDArray[np.uint8]],
    target: npt.NDArray[np.uint8],
    matrix: SubstitutionMatrix,
    window: int,
    check: Callable[[], None],
) -> DotPlot:
    """Return a plot with the dots of some residues."""
    query = strands[0]
    per_row, per_column = (max(1.0, n / MAX_DOTS) for n in (len(query), len(target)))
    dots = np.zeros((int(np.ceil(len(query) / per_row)), int(np.ceil(len(target) / per_column))), np.uint8)
    are_long = matrix.is_nucleic and len(query) * len(target) / MAX_CELLS > per_row / 2
    if are_long:
        window = _long_window(matrix, query, target, per_row * per_column)
    window = max(1, min(window, len(query), len(target)))
    for which, codes in enumerate(strands if dots.size else []):
        add = _add_dots_of_words if are_long else _add_dots
        add(dots, codes, target, matrix, window, (per_row, per_column), which == 1, check)
    return replace(bare, dots=dots, per_row=per_row, per_column=per_column, window=window)


def _long_window(
    matrix: SubstitutionMatrix, query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], per_dot: float
) -> int:
    """Return the window length that separates similarity from chance when many windows share a dot."""
    window = WINDOWS[True]
    while window < LONGEST_WINDOW:
        usual, full = _scale(matrix.scores.astype(np.int16), query, target, window, per_dot)
        if usual <= MAX_CHANCE_SHARE * full:
            break
        window += 5
    return window


def _add_dots_of_words(
    dots: npt.NDArray[np.uint8],
    query: npt.NDArray[np.uint8],
    target: npt.NDArray[np.uint8],
    matrix: SubstitutionMatrix,
    window: int,
    per_dot: tuple[float, float],
    backwards: bool,
    check: Callable[[], None],
) -> None:
    """Mark the windows around shared words, as `_add_dots` does for all windows."""
    scores = matrix.scores.astype(np.int16)
    usual, full = _scale(scores, query, target, window, per_dot[0] * per_dot[1])
    for rows, columns, sums in windows_around(scores, query, target, window, check):
        levels = np.clip((sums - usual) * (LEVELS / (full - usual)), 0, LEVELS).astype(np.uint8)
        are_seen = levels > 0
        places = len(query) - 1 - rows[are_seen] if backwards else rows[are_seen]
        at = (places / per_dot[0]).astype(np.int64), (columns[are_seen] / per_dot[1]).astype(np.int64)
        np.maximum.at(dots, at, levels[are_seen])


def _add_dots(
    dots: npt.NDArray[np.uint8],
    query: npt.NDArray[np.uint8],
    target: npt.NDArray[np.uint8],
    matrix: SubstitutionMatrix,
    window: int,
    per_dot: tuple[float, float],
    backwards: bool,
    check: Callable[[], None],
) -> None:
    """Mark the windows of two sequences that are more similar than expected by chance."""
    scores = matrix.scores.astype(np.int16)
    n_places = len(target) - window + 1
    stride = max(1, -(-len(query) * len(target) // MAX_CELLS))
    usual, full = _scale(scores, query, target, window, per_dot[0] * per_dot[1] / stride)
    starts = np.arange(0, len(query) - window + 1, stride)
    columns = ((np.arange(n_places) + window // 2) / per_dot[1]).astype(np.int64)
    firsts = np.flatnonzero(np.diff(columns, prepend=-1))
    longest = WORDS[matrix.is_nucleic] if n_places <= MANY_PLACES else min(WORDS[matrix.is_nucleic], 2)
    lengths = [min(longest, window - step) for step in range(0, window, longest)]
    tables = {length: _word_scores(scores, query, target, length) for length in set(lengths)}
    n_rows = max(1, BLOCK_CELLS // n_places)
    for begin in range(0, len(starts), n_rows):
        check()
        rows = starts[begin : begin + n_rows]
        sums = np.zeros((len(rows), n_places), np.int16)
        step = 0
        for length in lengths:
            which, table = tables[length]
            sums += table[which[rows + step], step : step + n_places]
            step += length
        # The best windows of a dot first: there are far fewer dots than windows.
        best = np.maximum.reduceat(sums, firsts, axis=1).astype(np.float32)
        joined = np.clip((best - usual) * (LEVELS / (full - usual)), 0, LEVELS).astype(np.uint8)
        places = len(query) - 1 - (rows + window // 2) if backwards else rows + window // 2
        for place, line in zip((places / per_dot[0]).astype(np.int64).tolist(), joined, strict=True):
            np.maximum(dots[place, columns[firsts]], line, out=line)
            dots[place, columns[firsts]] = line


def _word_scores(
    scores: npt.NDArray[np.int16], query: npt.NDArray[np.uint8], target: npt.NDArray[np.uint8], length: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int16]]:
    """Return the word at each residue of the query, and the score of each word at each residue of the target."""
    windows = np.lib.stride_tricks.sliding_window_view(query, length)
    # Numbers in place of words: they are sorted sooner, and while others have their turn.
    powers = len(scores) ** np.arange(length - 1, -1, -1)
    numbers, which = np.unique(windows @ powers, return_inverse=True)
    words = numbers[:, None] // powers % len(scores)
    table = np.zeros((len(words), len(target) - length + 1), np.int16)
    for place in range(length):
        for letter in np.unique(words[:, place]).tolist():  # in small steps, between which others have their turn
            found = scores[letter].take(target[place : place + table.shape[1]])
            for word in np.flatnonzero(words[:, place] == letter).tolist():
                table[word] += found
    return which.reshape(-1), table


def _scale(
    scores: npt.NDArray[np.int16],
    query: npt.NDArray[np.uint8],
    target: npt.NDArray[np.uint8],
    window: int,
    per_dot: float,
) -> tuple[float, float]:
    """Return the score that the best window of a dot often has by chance, and the score of identical residues."""
    shares = [np.bincount(codes, minlength=len(scores)) / max(1, len(codes)) for codes in (query, target)]
    mean = float(shares[0] @ scores @ shares[1])
    spread = math.sqrt(max(float(shares[0] @ scores.astype(np.float64) ** 2 @ shares[1]) - mean**2, 0.0))
    usual = window * mean + (2 + np.sqrt(2 * np.log(max(1.0, per_dot)))) * np.sqrt(window) * spread
    full = window * float(shares[0] @ np.diag(scores))
    return usual, max(full, usual + 1.0)
