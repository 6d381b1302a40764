"""Dots of long nucleic sequences: windows are compared around words that both sequences share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from clalign.values.alphabets import code_of

Codes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]

MAX_LOOKED_UP = 1 << 20
"""Words of the query that are looked up; of longer queries every n-th is."""

MAX_CHANCE_WORDS = 1 << 20
"""Words that are shared by chance; word lengths are chosen accordingly."""

LONGEST_WORD = 15

MAX_OCCURRENCES = 16
"""Places of a repeated word of the target that are compared."""

BLOCK_WORDS = 1 << 14
"""Words looked up at once; few, so that the window of the program stays responsive."""

NOTHING = 31
"""Code before and after a sequence."""

MAX_CHANCE_SHARE = 0.4
"""Largest ratio of the best chance score of a dot and the score of identical windows."""

LONGEST_WINDOW = 120


def word_length(n_query: int, n_target: int) -> int:
    """Return the length of words of which few are shared by chance."""
    length = 6
    while min(n_query, MAX_LOOKED_UP) * n_target > MAX_CHANCE_WORDS * 4**length and length < LONGEST_WORD:
        length += 1
    return length


def words_of(codes: Codes, length: int) -> Places:
    """Return the number of the word at each place (int64[n - length + 1]); -1 if a letter is no base."""
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
    """Yield places of query and target with the same word, for a block of words of the query at a time."""
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
