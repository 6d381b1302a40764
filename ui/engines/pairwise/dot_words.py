"""Dots of long nucleic sequences: where both have the same word, the windows around it are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from clalign.values.alphabets import code_of

Codes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

MAX_LOOKED_UP = 1 << 20
"""Words of the query that are looked up at most; of longer ones every n-th is."""

MAX_CHANCE_WORDS = 1 << 20
"""So many words are found by chance at most, for words are long enough."""

LONGEST_WORD = 15

MAX_OCCURRENCES = 16
"""Of a word that the target has more often only so many places are looked at."""

BLOCK_WORDS = 1 << 14
"""Words that are looked up at once, few enough that the window of the program gets its turn between."""

NOTHING = 31
"""Stands before and behind a sequence."""

MAX_CHANCE_SHARE = 0.4
"""The score that the best window of a dot has by chance is at most this share of that of equal ones."""

LONGEST_WINDOW = 120


def word_length(n_query: int, n_target: int) -> int:
    """Return how long words are of which few are found by chance."""
    length = 6
    while min(n_query, MAX_LOOKED_UP) * n_target > MAX_CHANCE_WORDS * 4**length and length < LONGEST_WORD:
        length += 1
    return length


def words_of(codes: Codes, length: int) -> Places:
    """Return the number of the word at each place (int64[n - length + 1]); -1 where a letter is no base."""
    digits = np.full(256, -1, np.int64)
    for digit, letters in enumerate(("A", "C", "G", "TU")):
        digits[[code_of(letter) for letter in letters]] = digit
    each = digits[codes]
    n = max(0, len(codes) - length + 1)
    words, is_word = np.zeros(n, np.int64), np.ones(n, bool)
    for place in range(length):
        some = each[place : place + n]
        is_word &= some >= 0
        words = 4 * words + some
    words[~is_word] = -1
    return words


def shared_words(
    query: Codes, target: Codes, length: int, check: Callable[[], None]
) -> Iterator[tuple[Places, Places]]:
    """Yield places of query and target where the same word begins, a block of words of the query at a time."""
    ours, theirs = words_of(query, length), words_of(target, length)
    order = np.argsort(theirs, kind="stable")
    theirs = theirs[order]
    looked_up = np.arange(0, len(ours), max(1, -(-len(ours) // MAX_LOOKED_UP)))
    for begin in range(0, len(looked_up), BLOCK_WORDS):
        check()
        places = looked_up[begin : begin + BLOCK_WORDS]
        places = places[ours[places] >= 0]
        first, last = (np.searchsorted(theirs, ours[places], side) for side in ("left", "right"))
        n_times = last - first
        taken = np.minimum(n_times, MAX_OCCURRENCES)
        which = np.repeat(np.arange(len(places)), taken)
        number = np.arange(len(which)) - np.repeat(np.cumsum(taken) - taken, taken)
        yield places[which], order[first[which] + number * n_times[which] // np.maximum(taken[which], 1)]


def windows_around(
    scores: npt.NDArray[np.int16], query: Codes, target: Codes, window: int, check: Callable[[], None]
) -> Iterator[tuple[Places, Places, Places]]:
    """Yield the middles of windows around shared words, in query and target, and their scores."""
    length = word_length(len(query), len(target))
    table = scores.astype(np.int64)
    table[NOTHING, :] = table[:, NOTHING] = 0
    before = np.full(window, NOTHING, np.uint8)
    ours, theirs = (np.concatenate([before, codes, before]).astype(np.int64) for codes in (query, target))
    flat = table.reshape(-1)
    for in_query, in_target in shared_words(query, target, length, check):
        middles = in_query + length // 2, in_target + length // 2
        first, second = (place + window - window // 2 for place in middles)
        sums = np.zeros(len(first), np.int64)
        for step in range(window):
            sums += flat[ours[first + step] * len(table) + theirs[second + step]]
        yield *middles, sums
