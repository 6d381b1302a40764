"""Specs of calibration and of building profiles, with the words of their flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from msgspec import Struct

from clalign.errors import OptionError, quoted
from clalign.values.specs import flag_of, option

MAX_SAMPLES, MAX_SAMPLE_LENGTH = 10_000_000, 100_000
"""Random sequences at most, and residues of each."""


class CalibrateSpec(Struct, frozen=True):
    """The random sequences for calibration; the defaults are those of HMMER2.

    Attributes
    ----------
    n : int
        Number of sequences.
    seed : int
        The same seed gives the same sequences on every device.
    mean, sd : float
        Mean and standard deviation of the normally distributed lengths; those below 1 are drawn again.
    fixed : int or None
        Length of all sequences instead.
    """

    n: int = 5000
    seed: int = 42
    mean: float = 325.0
    sd: float = 200.0
    fixed: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MAX_SAMPLES:
            raise OptionError(f"The number of random sequences is {self.n:,}.", f"Give 1 to {MAX_SAMPLES:,}.")
        if self.seed < 0:
            raise OptionError(f"The seed is {self.seed}.", "Give a number from 0 on.")
        if not (1 <= self.mean <= MAX_SAMPLE_LENGTH and 0 <= self.sd <= MAX_SAMPLE_LENGTH):
            raise OptionError(
                f"The mean of random lengths is {self.mean:g}, and their standard deviation {self.sd:g}.",
                f"Give a mean from 1 on and a deviation from 0 on, both up to {MAX_SAMPLE_LENGTH:,}.",
            )
        if self.fixed is not None and not 1 <= self.fixed <= MAX_SAMPLE_LENGTH:
            hint = f"Give a length from 1 to {MAX_SAMPLE_LENGTH:,}."
            raise OptionError(f"The length of random sequences is {self.fixed:,}.", hint)


MODEL_COLUMNS = "Model columns"
WEIGHTS = "Weights"
NUMBER = "Effective number"
STATISTICS = "Score statistics"


@dataclass(frozen=True, slots=True)
class BuildSpec:
    """How a HMMER3 profile is built from an alignment; the defaults are those of hmmbuild.

    Attributes
    ----------
    name : str or None
        Name of the profile; None for that of the alignment or of its file.
    alphabet : str
        ``auto`` to guess it.
    weighting : str
        ``pb`` (position based), ``gsc`` (tree), ``blosum`` (clusters), ``none`` or ``given`` (in the file).
    effective_number : str or float
        ``entropy``, ``clust``, ``none``, or the number itself.
    prior : str
        ``alphabet`` (mixture Dirichlet), ``laplace`` or ``none``.
    """

    name: str | None = None
    alphabet: Literal["auto", "amino", "dna", "rna"] = "auto"
    by_hand: bool = option(False, "--hand", "Annotated", "the columns marked by the RF line", MODEL_COLUMNS)
    symfrac: float = option(
        0.5, "--symfrac", "Residue share", "columns with at least this share of residues", MODEL_COLUMNS
    )
    fragthresh: float = option(
        0.5, "--fragthresh", "Fragment", "rows of at most this share of the columns are fragments", MODEL_COLUMNS
    )
    weighting: Literal["pb", "gsc", "blosum", "none", "given"] = "pb"
    wid: float = option(0.62, "--wid", "Identity", "share of identical residues for --wblosum", WEIGHTS)
    effective_number: Literal["entropy", "clust", "none"] | float = "entropy"
    ere: float | None = option(None, "--ere", "Relative entropy", "target of --eent in bits per column", NUMBER)
    esigma: float = option(45.0, "--esigma", "Least entropy", "minimum of --eent in bits per model", NUMBER)
    eid: float = option(0.62, "--eid", "Identity", "share of identical residues for --eclust", NUMBER)
    prior: Literal["alphabet", "laplace", "none"] = "alphabet"
    msv_length: int = option(200, "--EmL", "MSV length", "length of random sequences for MSV", STATISTICS)
    msv_n: int = option(200, "--EmN", "MSV number", "random sequences for MSV", STATISTICS)
    viterbi_length: int = option(200, "--EvL", "Viterbi length", "length of random sequences for Viterbi", STATISTICS)
    viterbi_n: int = option(200, "--EvN", "Viterbi number", "random sequences for Viterbi", STATISTICS)
    forward_length: int = option(100, "--EfL", "Forward length", "length of random sequences for Forward", STATISTICS)
    forward_n: int = option(200, "--EfN", "Forward number", "random sequences for Forward", STATISTICS)
    tail: float = option(0.04, "--Eft", "Tail", "share of Forward scores that are fitted", STATISTICS)
    seed: int = option(42, "--seed", "Seed", "seed of the random sequences; 0 for another each time", STATISTICS)

    def __post_init__(self) -> None:
        if self.name is not None and (len(self.name.split()) != 1 or self.name != self.name.strip()):
            raise OptionError(
                f"{quoted(self.name)} is not a name of a profile, which is one word.",
                f"Give {'_'.join(self.name.split()) or 'a name'}, or leave it out.",
            )
        for name in ("symfrac", "fragthresh", "wid", "eid", "tail"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise OptionError(
                    f"{flag_of(name, BuildSpec)} is {getattr(self, name):g}.", "Give a number from 0 to 1."
                )
        for name in ("effective_number", "ere", "esigma"):
            value = getattr(self, name)
            if isinstance(value, float) and not value > 0.0:
                flag = "--eset" if name == "effective_number" else flag_of(name, BuildSpec)
                raise OptionError(f"{flag} is {value:g}.", "Give a number above 0.")
        for name in ("msv_length", "msv_n", "viterbi_length", "viterbi_n", "forward_length", "forward_n"):
            if not 1 <= getattr(self, name) <= MAX_SAMPLE_LENGTH:
                raise OptionError(
                    f"{flag_of(name, BuildSpec)} is {getattr(self, name)}.",
                    f"Give a number from 1 to {MAX_SAMPLE_LENGTH:,}.",
                )
