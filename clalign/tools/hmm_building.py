"""Build HMMER3 profiles from alignments, with pyhmmer: the same numbers as hmmbuild."""

from __future__ import annotations

import dataclasses
import importlib
import io
import re
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from clalign.errors import InputError, OptionError
from clalign.formats.a3m import is_a3m
from clalign.formats.blocks import Reading
from clalign.formats.readers import GATHERED, gather_rows
from clalign.formats.recognize import identify
from clalign.formats.sources import Source, TextReader, opened
from clalign.formats.stockholm import read_stockholm_blocks
from clalign.formats.writers import whole_file
from clalign.jobs import JobContext
from clalign.tools.specs import BuildSpec

INSTALL = "Install it with: pip install 'clalign[hmmbuild]'"

LISTEN_SECONDS = 0.1
"""While the library builds a profile, a job asks this often whether it was told to stop."""

_ENDING = re.compile(r"(\.(gz|bz2|xz|zst))?$")

_NAMES = {
    "symfrac": "symfrac", "fragthresh": "fragthresh", "wid": "wid", "ere": "ere", "esigma": "esigma", "eid": "eid",
    "msv_length": "EmL", "msv_n": "EmN", "viterbi_length": "EvL", "viterbi_n": "EvN", "forward_length": "EfL",
    "forward_n": "EfN", "tail": "Eft", "seed": "seed", "weighting": "weighting", "effective_number": "effective_number",
}  # fmt: skip
"""Fields of the spec, and what pyhmmer calls them."""


def build_profiles(alignment: str, output: str, spec: BuildSpec, context: JobContext) -> dict[str, Any]:
    """Build a profile from each alignment of a file and write them to another file, all of them or nothing.

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
        If pyhmmer is not installed, or names do not suffice.
    """
    try:
        pyhmmer: Any = importlib.import_module("pyhmmer")
    except ImportError:
        raise OptionError("Building profiles needs the package pyhmmer.", INSTALL) from None
    with opened(alignment) as source:
        text, form = _aligned_text(source, context)
    alphabet = None if spec.alphabet == "auto" else getattr(pyhmmer.easel.Alphabet, spec.alphabet)()
    built = []
    with whole_file(output, is_exact=True) as stream:
        try:
            with pyhmmer.easel.MSAFile(io.BytesIO(text), form, digital=True, alphabet=alphabet) as alignments:
                for number, msa in enumerate(alignments):
                    context.check()
                    msa.name = _name(msa.name, number, alignment, spec)
                    hmm = _interruptible(partial(_built, pyhmmer, msa, spec), context)
                    stream.write(_text_of(hmm))
                    built.append({"name": _word(hmm.name), "length": hmm.M, "n_sequences": hmm.nseq})
        except (ValueError, RuntimeError) as error:
            raise _not_built(alignment, error) from error
        if not built:
            raise InputError(alignment, "there is no alignment in this file.", "Choose another file.")
    return {"output": output, **built[0], "profiles": built}


def _aligned_text(source: Source, context: JobContext) -> tuple[bytes, str]:
    """Return an alignment and its format, after checking what can be checked line by line."""
    form = identify(source).alignment_format()
    reading = Reading(TextReader(source, context), drop_gaps=True)
    if form == "fasta" and is_a3m(TextReader(source, context)):
        form = "a3m"
    if form in GATHERED:
        rows = gather_rows(form, reading).checked()
        return b"".join(b">%s\n%s\n" % ("_".join(row.name.split()).encode(), row.text) for row in rows), "afa"
    if form == "stockholm":
        for _ in read_stockholm_blocks(reading):
            pass
    return b"".join(TextReader(source, context).chunks()), "stockholm" if form == "stockholm" else "afa"


def _name(own: Any, number: int, path: str, spec: BuildSpec) -> str:
    """Return the name of a profile: the given one, that of the alignment, or that of the file."""
    if number and (spec.name or not own):
        raise OptionError(
            f"{path} holds several alignments, and one name does not do for all of them.",
            "Give each a name of its own in the file, with a line #=GF ID.",
        )
    stem = Path(_ENDING.sub("", Path(path).name)).stem
    return spec.name or _word(own) or stem.encode(errors="backslashreplace").decode()


def _word(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else text or ""


def _built(pyhmmer: Any, msa: Any, spec: BuildSpec) -> Any:
    options = {theirs: getattr(spec, ours) for ours, theirs in _NAMES.items()}
    builder = pyhmmer.plan7.Builder(
        msa.alphabet,
        architecture="hand" if spec.by_hand else "fast",
        prior_scheme=None if spec.prior == "none" else spec.prior,
        **options,
    )
    hmm, _, _ = builder.build_msa(msa, pyhmmer.plan7.Background(msa.alphabet))
    hmm.command_line = " ".join(["clalign hmmbuild", *_flags(spec)])
    return hmm


def _interruptible(build: Callable[[], Any], context: JobContext) -> Any:
    """Return what a long call of the library gives, asking meanwhile whether to go on.

    The call itself cannot be stopped. It is left to its thread, which ends with the process of the job.
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
        thread.join(LISTEN_SECONDS)
    if raised:
        raise raised[0]
    return found[0]


def _flags(spec: BuildSpec) -> Iterator[str]:
    """Yield the flags of the command line for what differs from the defaults."""
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
    return text.getvalue().decode()


def _not_built(path: str, error: Exception) -> InputError:
    """Return what the library said, in words."""
    said = str(error)
    for pattern, reason, hint in _REASONS:
        if re.search(pattern, said, re.IGNORECASE):
            return InputError(path, reason, hint)
    return InputError(path, f"no profile could be built from it ({said}).", "Look at the alignment.")


_REASONS = (
    (r"determine alphabet", "the kind of its sequences is not certain.", "Say --amino, --dna or --rna."),
    (r"no reference annotation", "it has no line #=GC RF that marks columns.", "Leave --hand out, or mark them."),
    (
        r"invalid sequence character",
        "it holds characters that are no residues of its alphabet.",
        "Correct it, or say another one of --amino, --dna and --rna.",
    ),
    (r"has alen (\d+)", "its sequences differ in length, so it is no alignment.", "Align the sequences first."),
)
