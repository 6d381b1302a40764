"""Spec of building profiles, with the words of its flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clalign.errors import OptionError, quoted
from clalign.values.specs import flag_of, option

MAX_SAMPLE_LENGTH = 100_000
"""Random sequences for a statistic at most, and residues of each."""

MIN_INSERTION = 5
"""Least value of the longest insertion that is counted."""

MIN_WINDOW = 4
"""Least value of the longest hit."""

SHARES = {
    "symfrac": 1.0,
    "fragthresh": 1.0,
    "wid": 1.0,
    "eid": 1.0,
    "window_tail": 1.0,
}
"""Greatest values of shares and probabilities."""

BELOW = {"tail": (1e-12, 1.0), "popen": (0.0, 0.5), "pextend": (0.0, 1.0)}
"""Least values of others, and limits that they must not reach."""

MODEL_COLUMNS = "Model columns"
WEIGHTS = "Weights"
NUMBER = "Effective number"
STATISTICS = "Score statistics"
SINGLE = "Single sequences"


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """How a HMMER3 profile is built from an alignment; the defaults are those of hmmbuild.

    Attributes
    ----------
    name : str or None
        Name of the profile; None for that of the alignment or of its file.
    alphabet : str
        ``auto`` to guess it.
    form : str
        Format of the file; ``auto`` to recognize it.
    weighting : str
        ``pb`` (position based), ``gsc`` (tree), ``blosum`` (clusters), ``none`` or ``given`` (in the file).
    effective_number : str or float
        ``entropy``, ``exponential`` (the same, by a power of the counts of each node), ``clust``, ``none``, or the
        number itself.
    prior : str
        ``alphabet`` (mixture Dirichlet), ``laplace`` or ``none``.
    """

    name: str | None = None
    alphabet: Literal["auto", "amino", "dna", "rna"] = "auto"
    form: str = option("auto", "--informat", "Format", "format of the file, in HMMER's words or ours", "Alphabet")
    by_hand: bool = option(False, "--hand", "Annotated", "the columns marked by the RF line", MODEL_COLUMNS)
    symfrac: float = option(
        0.5, "--symfrac", "Residue share", "columns with at least this share of residues", MODEL_COLUMNS
    )
    fragthresh: float = option(
        0.5, "--fragthresh", "Fragment", "rows of at most this share of the columns are fragments", MODEL_COLUMNS
    )
    max_insert: int | None = option(
        None, "--maxinsertlen", "Longest insertion", "count no insertion as longer than this", MODEL_COLUMNS
    )
    weighting: Literal["pb", "gsc", "blosum", "none", "given"] = "pb"
    wid: float = option(0.62, "--wid", "Identity", "share of identical residues for --wblosum", WEIGHTS)
    effective_number: Literal["entropy", "exponential", "clust", "none"] | float = "entropy"
    ere: float | None = option(None, "--ere", "Relative entropy", "target of --eent in bits per column", NUMBER)
    esigma: float = option(45.0, "--esigma", "Least entropy", "minimum of --eent in bits per model", NUMBER)
    eid: float = option(0.62, "--eid", "Identity", "share of identical residues for --eclust", NUMBER)
    prior: Literal["alphabet", "laplace", "none"] = "alphabet"
    by_matrix: bool = option(False, "--singlemx", "By a matrix", "take a row alone by a substitution matrix", SINGLE)
    matrix: str | None = option(
        None, "--mx", "Matrix", "with --singlemx: its name, or a file with one (BLOSUM62, DNA1)", SINGLE
    )
    popen: float | None = option(
        None, "--popen", "Gap opening", "probability of a gap (with --singlemx 0.02, DNA 0.03125)", SINGLE
    )
    pextend: float | None = option(
        None, "--pextend", "Gap extension", "probability that it goes on (with --singlemx 0.4, DNA 0.75)", SINGLE
    )
    msv_length: int = option(200, "--EmL", "MSV length", "length of random sequences for MSV", STATISTICS)
    msv_n: int = option(200, "--EmN", "MSV number", "random sequences for MSV", STATISTICS)
    viterbi_length: int = option(200, "--EvL", "Viterbi length", "length of random sequences for Viterbi", STATISTICS)
    viterbi_n: int = option(200, "--EvN", "Viterbi number", "random sequences for Viterbi", STATISTICS)
    forward_length: int = option(100, "--EfL", "Forward length", "length of random sequences for Forward", STATISTICS)
    forward_n: int = option(200, "--EfN", "Forward number", "random sequences for Forward", STATISTICS)
    tail: float = option(0.04, "--Eft", "Tail", "share of Forward scores that are fitted", STATISTICS)
    window_tail: float = option(
        1e-7, "--w_beta", "Longer hits", "share of hits that may be longer than MAXL (DNA)", STATISTICS
    )
    window: int | None = option(None, "--w_length", "Longest hit", "MAXL itself (DNA)", STATISTICS)
    seed: int = option(42, "--seed", "Seed", "seed of the random sequences; 0 for another each time", STATISTICS)

    def __post_init__(self) -> None:
        if self.name is not None and (len(self.name.split()) != 1 or self.name != self.name.strip()):
            raise OptionError(
                f"{quoted(self.name)} is not a name of a profile, which is one word.",
                f"Give {'_'.join(self.name.split()) or 'a name'}, or leave it out.",
            )
        for name, limit in SHARES.items():
            if (value := getattr(self, name)) is not None and not 0.0 <= value <= limit:
                raise OptionError(f"{flag_of(name, BuildSpec)} is {value:g}.", f"Give a number from 0 to {limit:g}.")
        for name, (least, limit) in BELOW.items():
            value = getattr(self, name)
            if value is not None and not least <= value < limit:
                raise OptionError(
                    f"{flag_of(name, BuildSpec)} is {value:g}.", f"Give a number from {least:g} to less than {limit:g}."
                )
        if self.window is not None and self.window < MIN_WINDOW:
            raise OptionError(f"--w_length is {self.window}.", f"Give a number from {MIN_WINDOW} on.")
        if self.max_insert is not None and self.max_insert < MIN_INSERTION:
            raise OptionError(f"--maxinsertlen is {self.max_insert}.", f"Give a number from {MIN_INSERTION} on.")
        for name in ("effective_number", "ere", "esigma"):
            value = getattr(self, name)
            if isinstance(value, float) and not value > 0.0:
                flag = "--eset" if name == "effective_number" else flag_of(name, BuildSpec)
                raise OptionError(f"{flag} is {value:g}.", "Give a number above 0.")
        for name in ("msv_length", "msv_n", "viterbi_length", "viterbi_n", "forward_length", "forward_n"):
            least = 2 if name.endswith("_n") else 1  # a single score has no distribution
            if not least <= getattr(self, name) <= MAX_SAMPLE_LENGTH:
                raise OptionError(
                    f"{flag_of(name, BuildSpec)} is {getattr(self, name)}.",
                    f"Give a number from {least} to {MAX_SAMPLE_LENGTH:,}.",
                )
