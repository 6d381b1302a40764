"""Parts of a database for independent computers: cut by residues, in the same way on all of them."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from clalign.errors import OptionError
from clalign.values.checked import Count
from clalign.values.documents import SpecFields
from clalign.values.specs import INPUT, option

if TYPE_CHECKING:
    from clalign.values.sequences import Column

FLAG = "--shard"

MAX_SHARDS = 100_000
"""Limit of the parts of a database."""


class Shard(Struct, frozen=True, order=True):
    """One of several parts of a database.

    Attributes
    ----------
    number : int
        From 1.
    of : int
        How many parts there are.
    """

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @property
    def words(self) -> str:
        """The part as text, as in ``part 3 of 16``."""
        return f"part {self.number} of {self.of}"

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Return the part that a text such as ``3/16`` means.

        Raises
        ------
        OptionError
            If it is not of that form, or out of range.
        """
        found = re.fullmatch(r"\s*([0-9]{1,9})\s*/\s*([0-9]{1,9})\s*", text)
        number, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= of <= MAX_SHARDS:
            raise OptionError(
                f'{FLAG} is "{text}".',
                f"Give a part and the number of parts, at most {MAX_SHARDS:,}, as in {FLAG} 3/16.",
            )
        return cls(number, of)

    def rows(self, offsets: Column) -> tuple[int, int]:
        """Return the first row of the part and the row after its last; parts share no sequence.

        Every part ends with the sequence whose end is nearest to its share of the residues, so that all of them have
        the same, but for half of a sequence at each end.

        Parameters
        ----------
        offsets : int64[n + 1]
            Where each row begins.
        """
        return self._edge(offsets, self.number - 1), self._edge(offsets, self.number)

    def _edge(self, offsets: Column, number: int) -> int:
        last = len(offsets) - 1
        if number in (0, self.of):
            return last if number else 0
        wanted = int(offsets[last]) * number // self.of
        row = bisect_left(offsets, wanted)
        return row - 1 if row and wanted - int(offsets[row - 1]) < int(offsets[row]) - wanted else row

    def of_database(self, offsets: Column) -> ShardRows:
        """Return the rows of the part in a database; see `rows`."""
        first, last = self.rows(offsets)
        return ShardRows(self.number, self.of, first, last, int(offsets[last]) - int(offsets[first]))


class ShardRows(Struct, frozen=True):
    """The rows of a part in one database, as a run stores them.

    Attributes
    ----------
    number, of : int
        The number of the part and of all parts, as in `Shard`.
    first, last : int
        Its first row, and the one after its last.
    n_residues : int
    """

    number: Count
    of: Count
    first: Count
    last: Count
    n_residues: Count

    @property
    def n_sequences(self) -> int:
        """How many sequences it has."""
        return self.last - self.first

    def __len__(self) -> int:
        return self.n_sequences

    @property
    def words(self) -> str:
        """The part and its size."""
        return f"{Shard(self.number, self.of).words} ({len(self):,} sequences, {self.n_residues:,} residues)"


def shard_option() -> Any:
    """Return the field of a spec that says which part is searched, as text; None for all."""
    return option(
        None, FLAG, "Part of the sequences", "search only this part of SEQDB, as in 3/16: the third of 16 with as many"
        " residues each; E-values are those of the whole, and `clalign merge` joins the runs of all parts to it",
        INPUT, of_file=True,
    )  # fmt: skip


def shard_of(spec: SpecFields) -> Shard | None:
    """Return the part that a spec, as plain data, names; None for all."""
    text = spec.get("shard")
    return Shard.parse(text) if text else None
