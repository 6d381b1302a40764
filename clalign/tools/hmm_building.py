"""Build HMMER3 profiles from alignments, with pyhmmer: the same numbers as hmmbuild."""

from __future__ import annotations

import dataclasses
import importlib
import io
import re
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clalign.errors import InputError, OptionError, quoted
from clalign.formats.a3m import alignment_form
from clalign.formats.blocks import NOT_IN_ROWS, Reading, RefusedLetter
from clalign.formats.readers import read_blocks
from clalign.formats.row_alignments import read_rows
from clalign.formats.sources import TextReader, decoded, opened
from clalign.formats.writers import whole_file
from clalign.jobs import JobContext, QuietContext
from clalign.tools.specs import BuildSpec

INSTALL = "Install it with: pip install 'clalign[hmmbuild]'"

CHECK_SECONDS = 0.1
"""Interval at which a job looks whether it is to stop while the library builds a profile (s)."""

_ENDING = re.compile(r"(\.(gz|bz2|xz|zst))?$")

_NAMES = {
    "symfrac": "symfrac", "fragthresh": "fragthresh", "wid": "wid", "ere": "ere", "esigma": "esigma", "eid": "eid",
    "msv_length": "EmL", "msv_n": "EmN", "viterbi_length": "EvL", "viterbi_n": "EvN", "forward_length": "EfL",
    "forward_n": "EfN", "tail": "Eft", "seed": "seed", "weighting": "weighting", "effective_number": "effective_number",
}  # fmt: skip
"""Fields of the spec, and pyhmmer's names for them."""


def build_profiles(alignment: str, output: str, spec: BuildSpec, context: JobContext) -> dict[str, Any]:
    """Build a profile from each alignment of a file and write all of them to another file.

    Parameters
    ----------
    alignment : str
        Stockholm (one or several), Clustal, aligned FASTA, A3M, SELEX, PHYLIP, MSF, NEXUS or BAliBASE XML.
    output : str
        The new file.
    spec : BuildSpec
    context : JobContext

    Returns
    -------
    dict
        ``output``, the ``name``, ``length`` and ``n_sequences`` of the first profile, and the same of all
        of them as ``profiles``.

    Raises
    ------
    InputError
        If the file is no alignment, or a profile cannot be built from it.
    OptionError
        If pyhmmer is not installed, or one name is given for several alignments.
    """
    try:
        pyhmmer: Any = importlib.import_module("pyhmmer")
    except ImportError:
        raise OptionError("Building profiles needs the package pyhmmer.", INSTALL) from None
    text, form = _aligned_text(alignment, context)
    alphabet = None if spec.alphabet == "auto" else getattr(pyhmmer.easel.Alphabet, spec.alphabet)()
    built = []
    with whole_file(output, is_exact=True) as stream:
        with _alignments(pyhmmer, alignment, text, form, alphabet) as alignments:
            for number, msa in enumerate(alignments):
                context.check()
                msa.name = _name(msa.name, number, alignment, spec)
                hmm = _interruptible(partial(_built, pyhmmer, msa, spec), context)
                stream.write(_text_of(hmm))
                built.append({"name": _word(hmm.name), "length": hmm.M, "n_sequences": hmm.nseq})
        if not built:
            raise InputError(alignment, "the file has no alignment.", "Choose another file.")
    return {"output": output, **built[0], "profiles": built}


def _aligned_text(path: str, context: JobContext) -> tuple[bytes, str]:
    """Return the text of alignments for the library, and its format; errors of reading name the line."""
    with opened(path) as source:
        if alignment_form(source, context) == "stockholm":
            reading = Reading(TextReader(source, context), True, NOT_IN_ROWS)
            for _ in read_blocks("stockholm", reading):
                pass
            _refuse_findings(reading)
            lines = [_plain_line(line) for _, line in TextReader(source, context).lines()]
            return b"".join(line + b"\n" for line in lines), "stockholm"
    rows = read_rows(path, context=context)
    texts = zip(rows.names, rows.cells, strict=True)
    return b"".join(b">%s\n%s\n" % ("_".join(name.split()).encode(), cells.tobytes()) for name, cells in texts), "afa"


def _refuse_findings(reading: Reading) -> None:
    """Refuse Stockholm that other commands accept but hmmbuild does not."""
    if found := reading.findings.found.get("no_terminator"):
        raise reading.text.error("the closing // of the alignment is missing.", line=found.lines[0])
    if found := reading.findings.found.get("no_row"):
        reason = f"the annotation is of the row {quoted(found.detail)}, which does not exist."
        raise reading.text.error(reason, "Correct the name, or remove the line.", found.lines[0])


def _plain_line(line: bytes) -> bytes:
    """Return a line of Stockholm for the library: annotation in UTF-8, a comment in place of empty annotation."""
    if not line.startswith((b"#=GF", b"#=GS")):
        return line
    return decoded(line).encode() if len(line.split(None, 2)) > 2 else b"#"


@contextmanager
def _alignments(pyhmmer: Any, path: str, text: bytes, form: str, alphabet: Any) -> Iterator[Any]:
    """Yield the alignments of a text; errors of the library name line and letter if they are known."""
    try:
        with pyhmmer.easel.MSAFile(io.BytesIO(text), form, digital=True, alphabet=alphabet) as alignments:
            alphabet = alignments.alphabet
            yield alignments
    except (ValueError, RuntimeError) as error:
        if re.search("invalid sequence character", str(error)):
            _refuse_letters(path, alphabet)
        line = _line_of(pyhmmer, text, alphabet, str(error)) if form == "stockholm" and alphabet else None
        raise _not_built(path, error, line) from error


def _refuse_letters(path: str, alphabet: Any) -> None:
    """Refuse the first letter of a file that an alphabet of the library does not have."""

    def is_foreign(byte: int) -> bool:
        try:
            alphabet.encode(chr(byte))
        except ValueError:
            return True
        return False

    with opened(path) as source:
        form = alignment_form(source, QuietContext())
        foreign = bytes(byte for byte in range(33, 127) if is_foreign(byte))
        try:
            for _ in read_blocks(form, Reading(TextReader(source), True, foreign)):
                pass
        except RefusedLetter as error:
            reason = f'the record {quoted(error.record)} has "{error.letter}", which is not in its alphabet.'
            hint = "Correct it, or choose another of --amino, --dna and --rna."
            raise InputError(path, reason, hint, error.line) from None


def _line_of(pyhmmer: Any, text: bytes, alphabet: Any, message: str) -> int | None:
    """Return the line of Stockholm that causes a message of the library: the last line of the shortest part with it."""
    lines = text.splitlines(keepends=True)

    def has_message(n: int) -> bool:
        try:
            with pyhmmer.easel.MSAFile(
                io.BytesIO(b"".join(lines[:n])), "stockholm", digital=True, alphabet=alphabet
            ) as found:
                for _ in found:
                    pass
        except (ValueError, RuntimeError) as error:
            return str(error) == message
        return False

    place = bisect_left(range(len(lines)), True, key=lambda n: has_message(n + 1))
    return place + 1 if place < len(lines) else None


def _name(own: Any, number: int, path: str, spec: BuildSpec) -> str:
    """Return the name of a profile: the given one, that of the alignment, or that of the file."""
    if number and (spec.name or not own):
        raise OptionError(
            f"{path} has several alignments, which cannot have the same name.",
            "Name each in the file, with a line #=GF ID.",
        )
    stem = Path(_ENDING.sub("", Path(path).name)).stem
    # HMMER as well takes only the first word of a name.
    return spec.name or _word(own) or "_".join(stem.encode(errors="backslashreplace").decode().split()) or "alignment"


def _word(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else text or ""


def _built(pyhmmer: Any, msa: Any, spec: BuildSpec) -> Any:
    options = {theirs: getattr(spec, ours) for ours, theirs in _NAMES.items()} | _compared(pyhmmer, msa, spec)
    builder = pyhmmer.plan7.Builder(
        msa.alphabet,
        architecture="hand" if spec.by_hand else "fast",
        prior_scheme=None if spec.prior == "none" else spec.prior,
        **options,
    )
    hmm, _, _ = builder.build_msa(msa, pyhmmer.plan7.Background(msa.alphabet))
    hmm.command_line = " ".join(["clalign hmmbuild", *_flags(spec)])
    return hmm


def _compared(pyhmmer: Any, msa: Any, spec: BuildSpec) -> dict[str, Any]:
    """Return options of the builder for rows with ambiguous letters, and set the weights of rows.

    Such letters are gaps where rows are compared, as in hmmbuild 3.3.2; the library takes them for residues.
    """
    alphabet = msa.alphabet
    degenerate = alphabet.symbols[alphabet.K + 1 : alphabet.Kp - 2]
    texts = [text.upper() for text in msa.textize().alignment]
    if len(texts) < 2 or set(degenerate).isdisjoint("".join(texts)):
        return {}
    masked = [text.translate(dict.fromkeys(map(ord, degenerate), "-")) for text in texts]
    options: dict[str, Any] = {}
    if spec.weighting in ("gsc", "blosum"):
        easel = pyhmmer.easel
        rows = [easel.TextSequence(name=b"%d" % place, sequence=text) for place, text in enumerate(masked)]
        copy = easel.TextMSA(name=b"masked", sequences=rows).digitize(alphabet)
        for place, weight in enumerate(copy.compute_weights(spec.weighting, spec.wid)):
            msa.sequence_weights[place] = weight
        options["weighting"] = "given"
    if spec.effective_number == "clust":
        options["effective_number"] = float(n_clusters(masked, spec.eid))
    return options


def n_clusters(rows: Sequence[str], share: float) -> int:
    """Return the number of clusters by single linkage, with the share of identical residues of the shorter row.

    Parameters
    ----------
    rows : sequence of str
        Aligned rows, with gaps as ``-``, ``.``, ``_``, ``~`` or ``*``.
    share : float
        Share from which on two rows are linked.
    """
    cells = np.array([np.frombuffer(row.encode(), np.uint8) for row in rows])
    is_residue = (cells >= ord("A")) & (cells <= ord("Z"))
    lengths = is_residue.sum(axis=1)
    left, n = np.ones(len(rows), bool), 0
    while left.any():
        waiting = [int(np.argmax(left))]
        left[waiting] = False
        n += 1
        while waiting:
            row = waiting.pop()
            identical = ((cells == cells[row]) & is_residue).sum(axis=1)
            shares = identical / np.maximum(np.minimum(lengths, lengths[row]), 1)
            linked = np.flatnonzero(left & (shares >= share))
            left[linked] = False
            waiting += linked.tolist()
    return n


def _interruptible(build: Callable[[], Any], context: JobContext) -> Any:
    """Return the result of a long call of the library; `Cancelled` is raised meanwhile if the job is to stop.

    The call itself cannot be stopped: its thread ends with the process of the job.
    """
    found: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(build())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        context.check()
        thread.join(CHECK_SECONDS)
    if raised:
        raise raised[0]
    return found[0]


def _flags(spec: BuildSpec) -> Iterator[str]:
    """Yield the flags of options that differ from the defaults."""
    default = BuildSpec()
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        if value == getattr(default, field.name):
            continue
        if field.name == "name":
            yield f"-n {value}"
        elif field.name == "effective_number":
            yield f"--e{value}" if isinstance(value, str) else f"--eset {value:g}"
        elif "flag" not in field.metadata:
            yield {"alphabet": "--", "weighting": "--w", "prior": "--p"}[field.name] + value
        elif value is True:
            yield str(field.metadata["flag"])
        else:
            yield f"{field.metadata['flag']} {value:g}"


def _text_of(hmm: Any) -> str:
    text = io.BytesIO()
    hmm.write(text)
    return decoded(text.getvalue())


def _not_built(path: str, error: Exception, line: int | None = None) -> InputError:
    """Return the error of a message of the library."""
    message = str(error)
    for pattern, reason, hint in _REASONS:
        if re.search(pattern, message, re.IGNORECASE):
            return InputError(path, reason, hint, line)
    message = message.removeprefix("Could not parse file: ")
    return InputError(path, f"no profile could be built ({message}).", "Check the alignment.", line)


_REASONS = (
    (r"determine alphabet", "the alphabet of its sequences is uncertain.", "Give --amino, --dna or --rna."),
    (r"no reference annotation", "it has no line #=GC RF that marks columns.", "Add one, or leave out --hand."),
    (
        r"invalid sequence character",
        "it has characters that are not in its alphabet.",
        "Correct them, or choose another of --amino, --dna and --rna.",
    ),
)
