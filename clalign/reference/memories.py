"""Sums of words that are read in the orders of textbooks, and the product of two matrices, in their plain form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint32]


def sums_of_global(words: Words, n_items: int, stride: int) -> Words:
    """Return the sum of what each work-item reads (uint32[n_items]) where blocks of `stride` words take turns."""
    sums: Words = words.reshape(-1, n_items, stride).sum(axis=(0, 2), dtype=np.uint32)
    return sums


def sums_of_local(words: Words, n_items: int, stride: int, rounds: int) -> Words:
    """Return the sum of what each work-item of a group reads (uint32[n_items]), tripled before each word."""
    sums = np.zeros(n_items, np.uint32)
    for number in range(rounds):
        sums = sums * np.uint32(3) + words[(np.arange(n_items) * stride + number) % len(words)]
    return sums


def product(a: Words, b: Words) -> Words:
    """Return the product of two matrices (uint32[n, n]), modulo 2 to the 32."""
    return (a.astype(np.uint64) @ b).astype(np.uint32)
