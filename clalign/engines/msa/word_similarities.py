"""How similar sequences are, judged by the words that they have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, no_check
from clalign.errors import OptionError

Residues = npt.NDArray[np.uint8]
Shares = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MAX_WORD = np.iinfo(np.int64).max
"""Words are numbered by 64 bits."""


def word_length(lengths: Sequence[int], n_letters: int) -> int:
    """Return the length of the words that similarities are counted by, for sequences of these lengths."""
    median = sorted(lengths)[len(lengths) // 2]
    return 1 + int(math.log(max(1, median)) / math.log(n_letters))


class WordSimilarities:
    """The share of words that each two of N sequences have in common, a row at a time.

    It takes as much memory as the words of all sequences, not as their pairs: ``similar[i, :]`` counts the words that
    sequence `i` shares with each other one, and ``similar[i, i + 1 :]`` those with later ones in half the time.

    Parameters
    ----------
    sequences : list of uint8[length]
        Residues, smaller than `n_letters`.
    n_letters : int
    length : int, optional
        Of a word; by default what suits the sequences.
    check : callable, optional
        Called between the sequences.

    Raises
    ------
    OptionError
        If words are longer than 64 bits can number.
    """

    def __init__(
        self, sequences: Sequence[Residues], n_letters: int, length: int | None = None, check: Check = no_check
    ) -> None:
        self._lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        self._length = length = length or word_length(self._lengths.tolist(), n_letters)
        if n_letters**length > MAX_WORD:
            longest = int(math.log(MAX_WORD, n_letters))
            raise OptionError(
                f"Words of {length} letters are too long.", f"Compare words of at most {longest} letters."
            )
        weights = n_letters ** np.arange(length, dtype=np.int64)
        words, ordinals = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for sequence in sequences:
            check()
            found = np.empty(0, np.int64)
            if len(sequence) >= length:
                windows = np.lib.stride_tricks.sliding_window_view(sequence, length)
                found = np.sort(windows.astype(np.int64) @ weights)
            words.append(found)
            ordinals.append(np.arange(len(found)) - np.searchsorted(found, found))
        self._starts = np.concatenate([[0], np.cumsum([len(found) for found in words])[1:]]).astype(np.int64)
        # The second "AA" of a sequence is a word of its own: so sequences share each word once, or not.
        word, ordinal = np.concatenate(words), np.concatenate(ordinals)
        order = np.arange(len(word))
        for part in (ordinal, word):  # numbers of few bits are sorted fast
            small = part[order].astype(np.min_scalar_type(part.max(initial=0)))
            check()
            order = order[np.argsort(small, kind="stable")]
            check()
        is_new = np.append(True, np.diff(word[order]) | np.diff(ordinal[order]))[: len(order)] != 0
        begins, group = np.append(np.flatnonzero(is_new), len(order)), np.cumsum(is_new) - 1
        check()
        self._owners = np.repeat(np.arange(len(sequences)), np.diff(self._starts))[order]
        self._places, self._begins, self._ends = (np.empty(len(order), np.int64) for _ in range(3))
        self._places[order] = np.arange(len(order))
        self._begins[order], self._ends[order] = begins[group], begins[group + 1]

    def __len__(self) -> int:
        return len(self._lengths)

    def __getitem__(self, place: tuple[int, slice]) -> Shares:
        """Return the similarities of a sequence to some others (float64[n]), 0 to itself."""
        i, others = place
        words = slice(self._starts[i], self._starts[i + 1])
        is_later = (others.start or 0) > i
        begins = self._places[words] + 1 if is_later else self._begins[words]
        parts = [
            self._owners[begin:end] for begin, end in zip(begins.tolist(), self._ends[words].tolist(), strict=True)
        ]
        common = np.bincount(np.concatenate([self._owners[:0], *parts]), minlength=len(self))
        common[i] = 0
        shorter = np.minimum(self._lengths[i], self._lengths[others])
        divisors = np.maximum(1, np.where(shorter < self._length, shorter, shorter - self._length + 1))
        shares: Shares = common[others] / divisors
        return shares
