"""HMMER3 save files: profiles as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from clalign.values.profiles import Floats, Hmm, Hmmer3Settings

VERSION = "HMMER3/f [3.3.2 | Nov 2020]"
"""First line of a profile: the format, and the release of HMMER that writes it so."""

TRANSITIONS = ("m->m", "m->i", "m->d", "i->m", "i->i", "d->m", "d->d")

STEPS = 16

OFFSET = 0x3F330000
"""Bits of the number at which the powers of two are split: from about 0.7 to 1.4."""

INVERSES = tuple(
    float.fromhex(text)
    for text in (
        "0x1.661ec79f8f3bep+0", "0x1.571ed4aaf883dp+0", "0x1.49539f0f010bp+0", "0x1.3c995b0b80385p+0",
        "0x1.30d190c8864a5p+0", "0x1.25e227b0b8eap+0", "0x1.1bb4a4a1a343fp+0", "0x1.12358f08ae5bap+0",
        "0x1.0953f419900a7p+0", "0x1p+0", "0x1.e608cfd9a47acp-1", "0x1.ca4b31f026aap-1",
        "0x1.b2036576afce6p-1", "0x1.9c2d163a1aa2dp-1", "0x1.886e6037841edp-1", "0x1.767dcf5534862p-1",
    )
)  # fmt: skip
"""About one over the middle of each of `STEPS` parts of that range; their logarithms are exact enough."""

LOGARITHMS = tuple(
    float.fromhex(text)
    for text in (
        "-0x1.57bf7808caadep-2", "-0x1.2bef0a7c06ddbp-2", "-0x1.01eae7f513a67p-2", "-0x1.b31d8a68224e9p-3",
        "-0x1.6574f0ac07758p-3", "-0x1.1aa2bc79c81p-3", "-0x1.a4e76ce8c0e5ep-4", "-0x1.1973c5a611cccp-4",
        "-0x1.252f438e10c1ep-5", "0x0p+0", "0x1.aa5aa5df25984p-5", "0x1.c5e53aa362eb4p-4",
        "0x1.526e57720db08p-3", "0x1.bc2860d224770p-3", "0x1.1058bc8a07ee1p-2", "0x1.4043057b6ee09p-2",
    )
)  # fmt: skip

POLYNOMIAL = tuple(map(float.fromhex, ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2")))

LN_2 = float.fromhex("0x1.62e42fefa39efp-1")


def logarithm(values: Floats) -> Floats:
    """Return natural logarithms with the last bit that HMMER's C library gives; the values are above 0 and normal.

    On another last bit a digit of a profile would be another one.

    References
    ----------
    Tang, ACM Trans. Math. Softw. 16, 378-400 (1990): a table and a short polynomial; here with 16 steps and the
    coefficients of Arm's optimized routines.
    """
    bits = values.astype(np.float32).view(np.uint32)
    above = bits - np.uint32(OFFSET)
    step = above >> 19 & STEPS - 1
    exponent = above.view(np.int32) >> 23
    mantissa = (bits - (above & np.uint32(0xFF800000))).view(np.float32).astype(np.float64)
    r = mantissa * np.array(INVERSES)[step] - 1.0
    y0 = np.array(LOGARITHMS)[step] + exponent.astype(np.float64) * LN_2
    square = r * r
    y = POLYNOMIAL[1] * r + POLYNOMIAL[2]
    y = POLYNOMIAL[0] * square + y
    logarithms: Floats = (y * square + (y0 + r)).astype(np.float32)
    return logarithms


def profile_text(hmm: Hmm, columns: npt.NDArray[np.int64] | None = None, mask: str = "") -> Iterator[str]:
    """Yield the lines of a profile of HMMER3, without line ends.

    Parameters
    ----------
    hmm : Hmm
        Its facts give the lines DATE, NSEQ and CKSUM.
    columns : int64[M], optional
        Column of the alignment that each node stands for, from 1.
    mask : str
        The MM annotation; empty if there is none.
    """
    yield VERSION
    yield from _header(hmm, columns is not None, bool(mask))
    yield "HMM     " + "".join(f"     {letter}   " for letter in hmm.alphabet.canonical)
    yield "        " + " ".join(f"{name:>8}" for name in TRANSITIONS)
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    if settings.composition is not None:
        yield "  COMPO " + _numbers(settings.composition[None])[0]
    match, insert, transitions = map(_numbers, (hmm.match, hmm.insert, hmm.transitions))
    yield f"        {insert[0]}"
    yield f"        {transitions[0]}"
    for node in range(1, hmm.length + 1):
        place = node - 1
        letter = ("x" if not hmm.alphabet.is_nucleic else "n") if mask[place:node] == "m" else hmm.consensus[place]
        marks = [text[place] if text else "-" for text in (hmm.reference, mask, hmm.structure)]
        column = "-" if columns is None else columns[place]
        yield f" {node:6d} {match[node]} {column:>6} {letter} {' '.join(marks)}"
        yield f"        {insert[node]}"
        yield f"        {transitions[node]}"
    yield "//"


def _header(hmm: Hmm, has_map: bool, has_mask: bool) -> Iterator[str]:
    settings, facts = hmm.settings, hmm.facts
    assert isinstance(settings, Hmmer3Settings)
    yield f"NAME  {hmm.name}"
    for tag, text in (("ACC", hmm.accession), ("DESC", hmm.description)):
        if text:
            yield f"{tag:<5} {text}"
    yield f"LENG  {hmm.length}"
    if settings.max_length:
        yield f"MAXL  {settings.max_length}"
    yield f"ALPH  {'amino' if hmm.alphabet.name == 'amino' else hmm.alphabet.label}"
    parts = {"RF": hmm.reference, "MM": has_mask, "CONS": hmm.consensus, "CS": hmm.structure, "MAP": has_map}
    yield from (f"{tag:<5} {'yes' if there else 'no'}" for tag, there in parts.items())
    if "date" in facts:
        yield f"DATE  {facts['date']}"
    for number, line in enumerate(facts.get("history", "").splitlines(), 1):
        yield f"COM   [{number}] {line}"
    if "sequences" in facts:
        yield f"NSEQ  {facts['sequences']}"
    if settings.effective_n is not None:
        yield f"EFFN  {settings.effective_n:f}"
    if "checksum" in facts:
        yield f"CKSUM {facts['checksum']}"
    cutoffs = hmm.cutoffs
    for tag, scores in (("GA", cutoffs.gathering), ("TC", cutoffs.trusted), ("NC", cutoffs.noise)):
        if scores is not None:
            yield f"{tag:<5} " + " ".join(f"{score:.2f}" for score in scores[: 1 if hmm.alphabet.is_nucleic else 2])
    for name, found in (("MSV", settings.msv), ("VITERBI", settings.viterbi), ("FORWARD", settings.forward)):
        if found is not None:
            yield f"STATS LOCAL {name:<8} {found.location:8.4f} {found.slope:8.5f}"


def _numbers(values: Floats) -> list[str]:
    """Return rows of probabilities as negative logarithms."""
    usual = (values > 0) & (values != 1)
    logs = -logarithm(np.where(usual, values, np.float32(1)))
    texts = [f" {log:8.5f}" for log in np.where(usual, logs, 0).ravel().tolist()]
    for place in np.flatnonzero(values.ravel() == 0).tolist():
        texts[place] = "        *"
    n = values.shape[1]
    return ["".join(texts[first : first + n]) for first in range(0, len(texts), n)]
