"""Specs of the calibration of HMMER2 profiles, and of the alignment of sequences to a profile."""

from __future__ import annotations

from msgspec import Struct

from clalign.errors import OptionError, quoted
from clalign.formats.row_forms import PROFILE_FORMS
from clalign.values.alphabets import ALPHABETS

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


class AlignSpec(Struct, frozen=True):
    """How sequences are aligned to a profile; the defaults are those of hmmalign.

    Attributes
    ----------
    alphabet : str
        ``auto``, or ``amino``, ``dna`` or ``rna``, of which the profile must be.
    form : str
        Format of the sequences, ``auto`` by default.
    out_form : str
        Format of the alignment.
    map_alignment : str
        The alignment that the profile was built of, whose rows come first; empty for none.
    trims : bool
        Leave out residues before the first and after the last node.
    has_no_inserts : bool
        Leave out all residues that stand at no node.
    """

    alphabet: str = "auto"
    form: str = "auto"
    out_form: str = "stockholm"
    map_alignment: str = ""
    trims: bool = False
    has_no_inserts: bool = False

    def __post_init__(self) -> None:
        if self.alphabet not in ("auto", *ALPHABETS):
            raise OptionError(f"There is no alphabet {self.alphabet!r}.", f"Give one of: {', '.join(ALPHABETS)}.")
        if self.out_form not in PROFILE_FORMS:
            hint = f"Give one of: {', '.join(PROFILE_FORMS)}."
            raise OptionError(f"{quoted(self.out_form)} is not a recognized format of alignments.", hint)
