"""Hits as columns of numpy arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict


class HitTable(Struct, frozen=True, eq=False):
    """Hits as columns, all of one length; `table[mask]` and `table[:10]` are tables, too.

    ``pandas.DataFrame(table.to_dict())`` makes a data frame of it.

    Attributes
    ----------
    query, name, accession, description : object[n]
        Name of the query; name, accession and description of the target.
    length : int64[n]
        Length of the target in residues.
    score, bias : float64[n]
        In bits.
    evalue : float64[n]
        Not a number where there are no statistics.
    raw : int64[n]
        Integer score: 1000 units to the bit, or in units of the matrix.
    n_domains : int64[n]
    row : int64[n]
        Row of the target in the database.
    """

    query: npt.NDArray[np.object_]
    name: npt.NDArray[np.object_]
    accession: npt.NDArray[np.object_]
    description: npt.NDArray[np.object_]
    length: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    evalue: npt.NDArray[np.float64]
    raw: npt.NDArray[np.int64]
    n_domains: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: list[tuple[object, ...]]) -> HitTable:
        """Return a table of rows whose values are in the order of the columns; None as a number becomes NaN."""
        columns = list(zip(*rows, strict=True)) or [()] * len(cls.__struct_fields__)
        kinds = [object] * 4 + [np.int64] + [np.float64] * 3 + [np.int64] * 3
        made = [np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        return cls(*made)

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, chosen: slice | npt.NDArray[np.generic]) -> HitTable:
        return HitTable(*(np.atleast_1d(column[chosen]) for column in self.to_dict().values()))

    def __iter__(self) -> Iterator[object]:
        raise TypeError("a HitTable is indexed by its columns, as in table.score")

    def __repr__(self) -> str:
        return f"<HitTable of {len(self)} hits: {', '.join(self.to_dict())}>"

    def to_dict(self) -> dict[str, npt.NDArray[np.generic]]:
        """Return the columns by their names."""
        return asdict(self)
