"""Sequences, databases of them, and batches cut from a database for a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.errors import InputError, OptionError, quoted
from clalign.values.alphabets import DROP, ENCODE, OTHER_CODE, Alphabet, decode, encode

_VISIBLE = dict.fromkeys((*range(32), 127), "?")
"""Control characters of a header would act on terminals and break tables."""


def longest_first(lengths: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Return the order of lengths (int64[n]) from the longest on; equal ones stay in order.

    Of 16 bits numpy sorts by digits, ten times as fast as otherwise.
    """
    if len(lengths) and lengths.max() < 1 << 16:
        return np.argsort((0xFFFF - lengths).astype(np.uint16), kind="stable")
    return np.argsort(-lengths, kind="stable")


class Sequence(Struct, frozen=True):
    """One sequence.

    Attributes
    ----------
    name : str
        First word of the header line.
    description : str
        The rest of it.
    codes : uint8[length]
        Letter codes (`clalign.values.alphabets.LETTERS`).
    accession : str
        Accession number where the format has one.
    """

    name: str
    description: str
    codes: npt.NDArray[np.uint8]
    accession: str = ""

    @classmethod
    def from_text(cls, name: str, residues: str, description: str = "", accession: str = "") -> Sequence:
        """Return a sequence of letters; white space between them is left out.

        Raises
        ------
        OptionError
            If it has other characters, such as digits, or if an argument is not a str.
        """
        if not all(isinstance(text, str) for text in (name, residues, description, accession)):
            raise OptionError("The name and the residues of a sequence must be text.", "Give each as a str.")
        letters = "".join(residues.split())
        codes = ENCODE[np.frombuffer(letters.encode("latin-1", "replace"), np.uint8)]
        wrong = np.flatnonzero((codes == DROP) | (codes == OTHER_CODE))
        if len(wrong):
            text = (
                f"{quoted(letters[wrong[0]])}, letter {wrong[0] + 1:,} of the sequence {quoted(name)}, is no residue."
            )
            raise OptionError(text, "Give letters of residues, * and gaps.")
        return cls(name, description, codes, accession)

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"<Sequence {self.name}: {len(self)} residues>"

    @property
    def text(self) -> str:
        """The residues as upper-case letters."""
        return decode(self.codes)


class Column(Protocol):
    """An array, or part of a file that is read like one, of which each piece is checked when it is first read."""

    def __len__(self) -> int: ...

    def __getitem__(self, key: Any, /) -> Any: ...

    def __array__(self, dtype: Any = ..., /, *, copy: bool | None = ...) -> npt.NDArray[Any]: ...


@dataclass(frozen=True, slots=True)
class SequenceDatabase:
    """Many sequences, encoded, sorted by length and normally mapped from a file.

    The rows are stored volume by volume: a volume holds a bounded number of residues that follow
    each other in the input, sorted by falling length. So neither making nor reading a database
    needs memory in proportion to its size, and neighbors on a device still have like lengths.

    Attributes
    ----------
    alphabet : Alphabet
        The alphabet of the sequences.
    codes : uint8[n_residues]
        Letter codes of all sequences, one after the other.
    offsets : int64[n + 1]
        Where each row begins in `codes`.
    order : int64[n]
        Place of each row in the input, counted from 0.
    text : uint8[n_text]
        For each row, name, accession and description in UTF-8, separated by tabs.
    text_offsets : int64[n + 1]
        Where each row begins in `text`.
    source : str
        The file it came from.
    digest : str
        Checksum of that file.
    n_empty : int
        Sequences without residues; HMMER2 leaves them out when it counts.
    release : callable
        Frees the memory of what was read from the file, which is read again when it is needed.
    """

    alphabet: Alphabet
    codes: Column
    offsets: Column
    order: Column
    text: Column
    text_offsets: Column
    source: str = ""
    digest: str = ""
    n_empty: int = 0
    release: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.order)

    def read_through(self) -> None:
        """Read everything once, so that all of it is checked."""
        for column in (self.codes, self.offsets, self.order, self.text, self.text_offsets):
            column[:]

    @property
    def n_residues(self) -> int:
        """Number of residues in all sequences."""
        return int(self.offsets[-1])

    def length(self, row: int) -> int:
        """Return the number of residues of a row."""
        return int(self.offsets[row + 1] - self.offsets[row])

    def header(self, row: int) -> tuple[str, str, str]:
        """Return name, accession and description of a row."""
        ((name,), (accession,), (description,)) = self.headers(np.array([row], np.int64))
        return name, accession, description

    def headers(self, rows: npt.NDArray[np.int64]) -> tuple[list[str], list[str], list[str]]:
        """Return names, accessions and descriptions of chosen rows."""
        begins, ends = self.text_offsets[rows].tolist(), self.text_offsets[rows + 1].tolist()
        found: tuple[list[str], list[str], list[str]] = [], [], []
        for begin, end in zip(begins, ends, strict=True):
            parts = self.text[begin:end].tobytes().decode("utf-8", "replace").split("\t", 2)
            for column, part in zip(found, parts, strict=True):
                column.append(part if part.isprintable() else part.translate(_VISIBLE))
        return found

    def row_named(self, name: str, warn: Callable[[str], None]) -> int:
        """Return the first row, in the order of the input, of a sequence with this name.

        Parameters
        ----------
        name : str
        warn : callable
            Called with a warning if there are several.

        Raises
        ------
        InputError
            If there is none.
        """
        text, wanted = self.text[:].tobytes(), name.encode(errors="surrogateescape") + b"\t"
        rows, place = [], text.find(wanted)
        while place >= 0:
            row = int(np.searchsorted(self.text_offsets, place))
            if row < len(self) and self.text_offsets[row] == place:
                rows.append(row)
            place = text.find(wanted, place + 1)
        if not rows:
            raise InputError(self.source, f'no sequence is named "{name}".', "The name is the first word of a header.")
        if len(rows) > 1:
            warn(f'{self.source}: {len(rows):,} sequences are named "{name}"; the first of them is taken.')
        return min(rows, key=lambda row: int(self.order[row]))

    def __getitem__(self, row: int) -> Sequence:
        name, accession, description = self.header(row)
        return Sequence(name, description, self.residues(row), accession)

    def residues(self, row: int) -> npt.NDArray[np.uint8]:
        """Return the letter codes of a row (uint8[length])."""
        codes: npt.NDArray[np.uint8] = self.codes[int(self.offsets[row]) : int(self.offsets[row + 1])]
        return codes

    def residues_of(self, rows: npt.NDArray[np.int64]) -> list[npt.NDArray[np.uint8]]:
        """Return the letter codes of each of chosen rows."""
        begins, ends = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        return [self.codes[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def batch(self, first: int, last: int) -> SequenceBatch:
        """Return the rows from `first` up to but not including `last` as a batch."""
        start, end = int(self.offsets[first]), int(self.offsets[last])
        offsets = (self.offsets[first : last + 1] - start).astype(np.int32)
        return SequenceBatch(self.codes[start:end], offsets, np.arange(first, last, dtype=np.int64))

    def select(self, rows: npt.NDArray[np.int64]) -> SequenceBatch:
        """Return chosen rows, copied together, as a batch."""
        codes = np.concatenate([np.empty(0, np.uint8), *self.residues_of(rows)])
        return SequenceBatch.of_lengths(codes, self.offsets[rows + 1] - self.offsets[rows], rows.astype(np.int64))

    @classmethod
    def without_names(
        cls, alphabet: Alphabet, codes: npt.NDArray[np.uint8], lengths: npt.NDArray[np.integer]
    ) -> SequenceDatabase:
        """Return sequences of some lengths, longest first, that follow each other in `codes`; nothing names them."""
        offsets, n = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]), len(lengths)
        nothing = np.zeros(0, np.uint8)
        return cls(alphabet, codes, offsets, np.arange(n, dtype=np.int64), nothing, np.zeros(n + 1, np.int64))


class SequenceBatch(Struct, frozen=True, eq=False, weakref=True):
    """Sequences that go to a device together.

    Attributes
    ----------
    codes : uint8[n_residues]
        Letter codes, one sequence after the other.
    offsets : int32[n + 1]
        Where each sequence begins.
    targets : int64[n]
        Row of each in the database.
    """

    codes: npt.NDArray[np.uint8]
    offsets: npt.NDArray[np.int32]
    targets: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Residues of each sequence (int32[n])."""
        lengths: npt.NDArray[np.int32] = np.diff(self.offsets)
        return lengths

    def residues(self, row: int) -> npt.NDArray[np.uint8]:
        """Return the letter codes of a row (uint8[length])."""
        return self.codes[int(self.offsets[row]) : int(self.offsets[row + 1])]

    def n_cells(self, model_length: int) -> int:
        """Return the number of cells of the dynamic programming matrices against a model."""
        return int(self.offsets[-1]) * model_length

    @classmethod
    def from_texts(cls, texts: Iterable[str | bytes | npt.NDArray[np.uint8]]) -> SequenceBatch:
        """Return a batch of sequences given as text or letter codes."""
        codes = [encode(text) if isinstance(text, str | bytes) else np.asarray(text, np.uint8) for text in texts]
        return cls.of_lengths(np.concatenate([np.empty(0, np.uint8), *codes]), [len(c) for c in codes])

    @classmethod
    def of_lengths(
        cls, codes: npt.NDArray[np.uint8], lengths: npt.ArrayLike, targets: npt.NDArray[np.int64] | None = None
    ) -> SequenceBatch:
        """Return sequences of some lengths that follow each other in `codes`, by default numbered from 0."""
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32)
        return cls(codes, offsets, np.arange(len(offsets) - 1, dtype=np.int64) if targets is None else targets)


def short_name(name: str) -> str:
    """Return the last part of a name such as "sp|P69905|HBA_HUMAN", or the whole name if it has no parts."""
    return name.rstrip("| ").rpartition("|")[2].strip() or name
