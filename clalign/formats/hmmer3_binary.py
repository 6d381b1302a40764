"""HMMER3 profiles in binary form (3/f): the ``.h3m`` file of a library that hmmpress made, and ``hmmconvert -b``.

A model is a magic number, flags, nodes, alphabet, then probabilities, annotation and statistics, in the byte
order of the machine that wrote it; only little-endian files are read. The other files of a pressed library (``.h3f``,
``.h3i``, ``.h3p``) hold nothing beyond this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from clalign.errors import InputError, quoted
from clalign.formats.hmmer2 import MAX_HEADER, MAX_NODES, is_slope
from clalign.formats.hmmer3 import MAX_LENGTH, MAX_SUM_ERROR, ODD_SUM, odd_sum
from clalign.formats.recognize import HMMER3_BINARY_MAGIC
from clalign.formats.sources import RawReader, decoded
from clalign.formats.tables import plain
from clalign.values.alphabets import AMINO, DNA, RNA
from clalign.values.profiles import Calibration, Cutoffs, Floats, Hmm, Hmmer3Settings, Ints, consensus_of

ALPHABETS = {1: RNA, 2: DNA, 3: AMINO}

N_TRANSITIONS = 7

_HINT = "Run hmmpress again, or give the text file that the library was made from."

_DESC, _RF, _CS, _STATS, _MAP, _ACC = (1 << bit for bit in (1, 2, 3, 7, 8, 9))
_GA, _TC, _NC, _CA, _COMPO, _CHKSUM, _CONS, _MMASK = (1 << bit for bit in range(10, 18))


def read_hmmer3_binary(raw: RawReader, check: Callable[[], None] = lambda: None) -> Iterator[Hmm]:
    """Yield the models of a file, one after the other.

    Parameters
    ----------
    raw : RawReader
        At the beginning of the file.
    check : callable
        Called before each model; it may raise `Cancelled`.

    Raises
    ------
    InputError
        If the file is damaged or ends early, with the number of the model.
    """
    number = 0
    while head := raw.read(4):
        check()
        number += 1
        record = _Record(raw, number)
        if head != HMMER3_BINARY_MAGIC:
            raise record.error("the magic number at the beginning is wrong")
        yield record.model()


class _Record:
    """A reader of one model, with its number."""

    def __init__(self, raw: RawReader, number: int) -> None:
        self._raw = raw
        self._number = number
        self._name = ""

    def error(self, reason: str) -> InputError:
        named = f" ({quoted(self._name)})" if self._name else ""
        return InputError(self._raw.source.label, f"in the binary model {self._number:,}{named}, {reason}.", _HINT)

    def values(self, kind: str, count: int) -> np.ndarray:
        """Return numbers of a dtype (``i4``, ``u4`` or ``f4``)."""
        return np.frombuffer(self._bytes(4 * count), f"<{kind}").astype(kind)

    def _bytes(self, count: int) -> bytes:
        data = self._raw.read(count)
        if len(data) < count:
            raise self.error("the file ends early")
        return data

    def number(self, kind: str = "i4") -> int:
        return int(self.values(kind, 1)[0])

    def reals(self, count: int, what: str) -> Floats:
        found: Floats = self.values("f4", count)
        if not np.isfinite(found).all():
            raise self.error(f"some {what} are not numbers")
        return found

    def table(self, rows: int, columns: int, what: str) -> Floats:
        """Return probabilities."""
        found = self.reals(rows * columns, what).reshape(rows, columns)
        if (found < 0).any() or (found > 1 + MAX_SUM_ERROR).any():
            raise self.error(f"some {what} are not probabilities")
        return found

    def string(self) -> str:
        size = self.number()
        if not 0 <= size <= MAX_HEADER:
            raise self.error(f"a text of {size:,} characters is not plausible")
        return decoded(self._bytes(size).split(b"\0")[0])

    def annotation(self, is_present: int, length: int) -> str:
        """Return a character for each node; there is one for node 0, too, and a zero at the end."""
        return self._bytes(length + 2)[1:-1].decode("latin-1") if is_present else ""

    def model(self) -> Hmm:
        flags, length, kind = self.number(), self.number(), self.number()
        if kind not in ALPHABETS:
            raise self.error(f"the alphabet number {kind} is unknown; only amino acids, DNA and RNA can be searched")
        if not 1 <= length <= MAX_NODES:
            raise self.error(f"a length of {length:,} nodes is not plausible")
        alphabet = ALPHABETS[kind]
        match = np.vstack([np.zeros((1, alphabet.size), np.float32), self.table(length, alphabet.size, "emissions")])
        insert = self.table(length + 1, alphabet.size, "emissions")
        transitions = self.table(length + 1, N_TRANSITIONS, "transitions")
        self._name = plain(self.string())
        if not self._name:
            raise self.error("the name is missing")
        odd = odd_sum(match, insert, transitions)
        if odd and odd.error > MAX_SUM_ERROR:
            raise self.error(f"the {odd}")
        accession, description = (plain(self.string()) if flags & bit else "" for bit in (_ACC, _DESC))
        self._name, accession = self._name.split()[0], (accession.split() or [""])[0]
        reference, mask, consensus, structure, _ = (
            self.annotation(flags & bit, length) for bit in (_RF, _MMASK, _CONS, _CS, _CA)
        )
        facts, effective, longest, columns = self._facts(flags, length)
        facts |= {ODD_SUM: str(odd)} if odd else {}
        statistics = self.reals(6, "score statistics")
        cutoffs = self.reals(6, "cutoffs")
        composition = self.table(1, alphabet.size, "frequencies")[0] if flags & _COMPO else None
        msv, viterbi, forward = self._statistics(statistics, facts) if flags & _STATS else (None, None, None)
        pairs = [(_shortest(one), _shortest(two)) for one, two in cutoffs.reshape(3, 2)]
        return Hmm(
            name=self._name, accession=accession, description=description, alphabet=alphabet, match=match,
            insert=insert, transitions=transitions, reference=reference, structure=structure,
            consensus=consensus if consensus and "-" not in consensus else consensus_of(match, alphabet),
            cutoffs=Cutoffs(*(pair if flags & bit else None for pair, bit in zip(pairs, (_GA, _TC, _NC), strict=True))),
            calibration=None, facts=facts, mask=mask, columns=columns,
            settings=Hmmer3Settings(
                version="f", msv=msv, viterbi=viterbi, forward=forward, composition=composition,
                max_length=longest, effective_n=effective,
            ),
        )  # fmt: skip

    def _facts(self, flags: int, length: int) -> tuple[dict[str, str], float | None, int | None, Ints | None]:
        """Return the other facts of a header, the effective number of sequences, the greatest length and the map."""
        history = re.sub(r"(?m)^\[?\d+\]?\s+", "", self.string())
        n, effective, longest, date = self.number(), float(self.reals(1, "counts")[0]), self.number(), self.string()
        columns = self.values("i4", length + 1)[1:] if flags & _MAP else None
        checksum = self.number("u4")
        if longest > MAX_LENGTH:
            raise self.error(f"MAXL is {longest:,}, which is not plausible")
        given = {
            "format": "HMMER3/f",
            "sequences": str(n) if n > 0 else "",
            "effective sequences": f"{effective:f}" if effective > 0 else "",
            "date": plain(date),
            "checksum": str(checksum) if flags & _CHKSUM else "",
            "history": "\n".join(map(plain, history.splitlines())),
        }
        facts = {name: text for name, text in given.items() if text}
        known = float(f"{effective:f}") if effective > 0 else None
        return facts, known, longest if longest > 0 else None, columns

    def _statistics(self, found: Floats, facts: dict[str, str]) -> tuple[Calibration, Calibration, Calibration]:
        values = [_shortest(value) for value in found]
        for slope in values[1::2]:
            if not is_slope(slope):
                raise self.error(f"a lambda of {slope:g} is not plausible; it should be about 0.7")
        pairs = zip(("MSV", "VITERBI", "FORWARD"), values[::2], values[1::2], strict=True)
        facts["score statistics"] = "; ".join(f"{name} {location} {slope}" for name, location, slope in pairs)
        msv, viterbi = Calibration("gumbel", *values[:2]), Calibration("gumbel", *values[2:4])
        return msv, viterbi, Calibration("exponential", *values[4:])


def _shortest(value: np.float32) -> float:
    """Return the number with the fewest digits that is this float32: that of the text file it was made from."""
    return float(str(np.float32(value)))
