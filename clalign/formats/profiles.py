"""Files of profile HMMs: HMMER2 and HMMER3 text, pressed HMMER3 libraries, one model or many, plain or compressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

from clalign.errors import InputError, quoted
from clalign.formats import hmmer2, hmmer3
from clalign.formats.hmmer3_binary import read_hmmer3_binary
from clalign.formats.profile_lines import ProfileLines
from clalign.formats.recognize import HMMER3_BINARY, identify
from clalign.formats.sources import NEW_COPY_HINT, PathLike, RawReader, TextReader, opened, path_text
from clalign.values.documents import Card
from clalign.values.profiles import Hmm, Hmmer3Settings

MAX_NODES = 16_000_000
"""Limit of the nodes of all models of a file: four times those of Pfam."""


def read_profiles(path: str, check: Callable[[], None] = lambda: None) -> Iterator[Hmm]:
    """Yield the models of a file, one after the other.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.
    check : callable
        Called from time to time; it may raise `Cancelled`.

    Raises
    ------
    InputError
        If it is not a profile file, is damaged, has models of proteins beside models of DNA, or more nodes than can be
        kept.
    """
    with opened(path) as source:
        yield from models_in(TextReader(source), check)


def models_in(reader: TextReader, check: Callable[[], None] = lambda: None) -> Iterator[Hmm]:
    """Yield the models of an open file; see `read_profiles`."""
    path = reader.source.label
    is_binary = identify(reader.source).profile_format() == HMMER3_BINARY
    first: Hmm | None = None
    n_nodes = 0
    for number, hmm in _binary_models(reader, check) if is_binary else _text_models(reader, check):
        first = first or hmm
        n_nodes += hmm.length
        if n_nodes > MAX_NODES:
            reason = f"its models have more than {MAX_NODES:,} nodes in total, too many to keep in memory."
            raise InputError(path, reason, "Split the library into parts.", number)
        if hmm.alphabet != first.alphabet:
            raise InputError(
                path,
                f"the model {quoted(hmm.name)} is for {hmm.alphabet.label}, but {quoted(first.name)} "
                f"before it is for {first.alphabet.label}.",
                "Put the models of each alphabet into a file of their own.",
                number,
            )
        yield hmm


def _text_models(reader: TextReader, check: Callable[[], None]) -> Iterator[tuple[int, Hmm]]:
    """Yield the models of a text file and the lines where they begin."""
    lines = ProfileLines(reader, check)
    for number, line in lines:
        if line.strip():
            yield number, _read_one(lines, reader.source.label, number, line.strip())


def _binary_models(reader: TextReader, check: Callable[[], None]) -> Iterator[tuple[None, Hmm]]:
    with closing(RawReader(reader.source)) as raw:
        for hmm in read_hmmer3_binary(raw, check):
            yield None, hmm
        reader.crc32 = raw.finish()


def _read_one(lines: ProfileLines, path: str, number: int, magic: str) -> Hmm:
    if magic.startswith(hmmer2.MAGIC):
        return hmmer2.read_hmmer2(lines, path, number)
    if magic.startswith(hmmer3.MAGIC):
        return hmmer3.read_hmmer3(lines, path, number, magic)
    raise InputError(
        path,
        f"a model was expected, but the line begins with {quoted(magic, 30)}.",
        f"A model begins with HMMER2.0 or HMMER3/. {NEW_COPY_HINT}",
        number,
    )


def load_profiles(path: PathLike) -> list[Hmm]:
    """Return all models of a file; see `read_profiles`."""
    return list(read_profiles(path_text(path, "path")))


def repeated_names(profiles: list[Hmm]) -> list[str]:
    """Return the names that more than one of the models has, in the order of the file."""
    seen: set[str] = set()
    repeated: dict[str, None] = {}
    for hmm in profiles:
        if hmm.name in seen:
            repeated[hmm.name] = None
        seen.add(hmm.name)
    return list(repeated)


def profile_card(hmm: Hmm) -> Card:
    """Return the facts about a model that are shown, as plain data for JSON."""
    cutoffs = {"ga": hmm.cutoffs.gathering, "tc": hmm.cutoffs.trusted, "nc": hmm.cutoffs.noise}
    calibration = hmm.calibration
    statistics = _statistics(hmm)
    return {
        "name": hmm.name,
        "accession": hmm.accession,
        "description": hmm.description,
        "length": hmm.length,
        "alphabet": hmm.alphabet.name,
        "origin": hmm.origin,
        "consensus": hmm.consensus,
        "reference": hmm.reference,
        "structure": hmm.structure,
        "cutoffs": {kind: None if pair is None else list(pair) for kind, pair in cutoffs.items()},
        "calibration": calibration and {"mu": calibration.location, "lambda": calibration.slope},
        "facts": dict(hmm.facts),
        **({"calibration3": statistics} if statistics else {}),
    }


def _statistics(hmm: Hmm) -> dict[str, dict[str, float]] | None:
    """Return the score statistics of a HMMER3 model, if it has all of them."""
    settings = hmm.settings
    if not isinstance(settings, Hmmer3Settings):
        return None
    if settings.msv is None or settings.viterbi is None or settings.forward is None:
        return None
    return {
        "msv": {"mu": settings.msv.location, "lambda": settings.msv.slope},
        "viterbi": {"mu": settings.viterbi.location, "lambda": settings.viterbi.slope},
        "forward": {"tau": settings.forward.location, "lambda": settings.forward.slope},
    }
