"""What the user asked for, as plain data with the words that the command line and the forms use."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from clalign.errors import OptionError

COMMANDS = {"search": "hmmsearch", "scan": "hmmscan"}
"""The command of each direction."""

FOUND = {"search": "sequences", "scan": "profiles"}
"""What each direction finds and counts."""

CutoffName = Literal["none", "ga", "tc", "nc"]


def option(default: Any, flag: str, label: str, text: str, group: str, **more: Any) -> Any:
    """Return a dataclass field with the words for its flag and its form entry.

    In `text`, ``{found}`` stands for what is found and counted (`FOUND`).
    """
    return field(default=default, metadata={"flag": flag, "label": label, "help": text, "group": group, **more})


REPORT = "Reporting"
INCLUDE = "Significance"
MODEL = "Model cutoffs"
FILTER = "Filters"
ENGINE = "Scoring"
INPUT = "Input"


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """A search of profiles against sequences. Scores are in bits; None means no limit.

    Attributes
    ----------
    profiles, targets : str
        Files; ``-`` is standard input.
    device : str
        What to run on: an id, part of a name, ``gpu``, ``cpu``, ``auto`` or ``reference``.
    direction : str
        ``search``: for each profile, its sequences, and E-values count sequences. ``scan``: for each
        sequence, its profiles, and E-values count profiles.
    """

    profiles: str
    targets: str
    device: str = "auto"
    direction: Literal["search", "scan"] = "search"
    evalue: float = option(10.0, "-E", "E-value at most", "report {found} with at most this E-value", REPORT)
    score: float | None = option(None, "-T", "Score at least", "report {found} with at least this score", REPORT)
    domain_evalue: float | None = option(
        None, "--domE", "Domain E-value at most", "report domains with at most this E-value", REPORT
    )
    domain_score: float | None = option(
        None, "--domT", "Domain score at least", "report domains with at least this score", REPORT
    )
    inclusion_evalue: float = option(
        0.01, "--incE", "Significant E-value", "call {found} with at most this E-value significant", INCLUDE
    )
    inclusion_score: float | None = option(
        None, "--incT", "Significant score", "call {found} with at least this score significant", INCLUDE
    )
    inclusion_domain_evalue: float = option(
        0.01, "--incdomE", "Significant domain E-value", "call domains with at most this E-value significant", INCLUDE
    )
    inclusion_domain_score: float | None = option(
        None, "--incdomT", "Significant domain score", "call domains with at least this score significant", INCLUDE
    )
    n_targets: float | None = option(None, "-Z", "Database size", "number of {found} for E-values", REPORT)
    n_domain_targets: float | None = option(
        None, "--domZ", "Database size for domains", "number of {found} for domain E-values", REPORT
    )
    cutoff: CutoffName = option(
        "none", "--cut_ga|--cut_tc|--cut_nc", "Cutoff of the model", "use the model's own thresholds", MODEL
    )
    without_filters: bool = option(
        False, "--max", "No filters", "run without filters (HMMER2 profiles have none)", ENGINE
    )
    f1: float = option(0.02, "--F1", "MSV filter", "P-value that lets {found} pass the MSV filter", FILTER)
    f2: float = option(1e-3, "--F2", "Viterbi filter", "P-value that lets {found} pass the Viterbi filter", FILTER)
    f3: float = option(1e-5, "--F3", "Forward filter", "P-value that lets {found} pass the Forward filter", FILTER)
    without_bias_filter: bool = option(
        False, "--nobias", "No bias filter", "leave out the filter for biased composition (HMMER3)", FILTER
    )
    compute_composition: bool = option(
        False, "--compute_compo", "Compute compositions",
        "compute the mean composition of profiles without a COMPO line for that filter (HMMER3 does without)", FILTER,
    )  # fmt: skip
    seed: int = option(42, "--seed", "Random seed", "seed of the sampling that parts close domains (HMMER3)", ENGINE)
    without_null2: bool = option(
        False, "--nonull2", "No composition correction", "leave out the null2 correction of biased composition", ENGINE
    )
    alphabet: Literal["auto", "amino", "dna", "rna"] = option(
        "auto", "--alphabet", "Sequences are", "take the sequences for this alphabet", INPUT
    )
    sequence_format: str = option("auto", "--tformat", "Sequence format", "format of the sequence file", INPUT)
    skip_bad: bool = option(
        False, "--skip_bad", "Skip bad records",
        "leave out sequences with characters that HMMER3 refuses, such as - (HMMER3)", INPUT,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.profiles == "-" and self.targets == "-":
            raise OptionError("Only one of the two files can be standard input (-).", "Give the other one as a file.")
        for name in ("evalue", "domain_evalue", "inclusion_evalue", "inclusion_domain_evalue"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise OptionError(
                    f"{flag_of(name)} is {value}: an E-value cannot be below 0.", "Give 0 or a larger number."
                )
        for name in ("n_targets", "n_domain_targets"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise OptionError(f"{flag_of(name)} is {value}: a size must be above 0.", "Give a larger number.")
        for name in ("f1", "f2", "f3"):
            value = getattr(self, name)
            if not value >= 0:
                raise OptionError(
                    f"{flag_of(name)} is {value}: a P-value cannot be below 0.", "Give a number from 0 to 1."
                )
        if not 0 <= self.seed < 2**32:
            raise OptionError(f"--seed is {self.seed}.", "Give a whole number from 0 to 4294967295.")

    def to_dict(self) -> dict[str, Any]:
        """Return the spec as plain data."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SearchSpec:
        """Return the spec that `to_dict` described; unknown entries of a newer version are refused.

        Raises
        ------
        OptionError
            If it is one of a pairwise search.
        """
        if data.get("direction") == "pairwise":
            raise OptionError(
                "This is a run of `clalign sw`, which has no profiles.", "Choose a run of hmmsearch or hmmscan."
            )
        # Older versions computed what profiles do not say of their composition.
        return cls(**{"compute_composition": True, **data})


MAX_SAMPLES = 10_000_000
LONGEST_SAMPLE = 100_000


@dataclass(frozen=True, slots=True)
class CalibrateSpec:
    """The random sequences that profiles are calibrated with; the defaults are those of HMMER2.

    Attributes
    ----------
    n : int
        How many.
    seed : int
        The same seed draws the same sequences, whatever the device.
    mean, sd : float
        Of their lengths, which are normally distributed, those below 1 drawn again.
    fixed : int or None
        The one length of all of them instead.
    """

    n: int = 5000
    seed: int = 42
    mean: float = 325.0
    sd: float = 200.0
    fixed: int | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.n <= MAX_SAMPLES:
            raise OptionError(f"{self.n:,} random sequences are asked for.", f"Ask for 1 to {MAX_SAMPLES:,} of them.")
        if self.seed < 0:
            raise OptionError(f"The seed is {self.seed}, but must not be below 0.", "Give another number.")
        if not (1 <= self.mean <= LONGEST_SAMPLE and 0 <= self.sd <= LONGEST_SAMPLE):
            raise OptionError(
                f"Random lengths around {self.mean:g} with a deviation of {self.sd:g} are asked for.",
                f"Give a mean from 1 and a deviation from 0 on, both up to {LONGEST_SAMPLE:,}.",
            )
        if self.fixed is not None and not 1 <= self.fixed <= LONGEST_SAMPLE:
            raise OptionError(f"Random sequences of {self.fixed:,} residues are asked for.",
                              f"Give a length from 1 to {LONGEST_SAMPLE:,}.")  # fmt: skip


MODEL_COLUMNS = "Model columns"
WEIGHTS = "Weights"
NUMBER = "Effective number"
PRIOR = "Priors"
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
    by_hand: bool = option(False, "--hand", "Annotated", "the columns that the RF line marks", MODEL_COLUMNS)
    symfrac: float = option(
        0.5, "--symfrac", "Residue share", "columns with at least this share of residues", MODEL_COLUMNS
    )
    fragthresh: float = option(
        0.5, "--fragthresh", "Fragment", "rows of at most this share of the columns are fragments", MODEL_COLUMNS
    )
    weighting: Literal["pb", "gsc", "blosum", "none", "given"] = "pb"
    wid: float = option(0.62, "--wid", "Identity", "share of identical residues for --wblosum", WEIGHTS)
    effective_number: Literal["entropy", "clust", "none"] | float = "entropy"
    ere: float | None = option(None, "--ere", "Relative entropy", "at least so many bits a column for --eent", NUMBER)
    esigma: float = option(45.0, "--esigma", "Least entropy", "at least so many bits a model for --eent", NUMBER)
    eid: float = option(0.62, "--eid", "Identity", "share of identical residues for --eclust", NUMBER)
    prior: Literal["alphabet", "laplace", "none"] = "alphabet"
    msv_length: int = option(200, "--EmL", "MSV length", "length of random sequences for MSV", STATISTICS)
    msv_n: int = option(200, "--EmN", "MSV number", "random sequences for MSV", STATISTICS)
    viterbi_length: int = option(200, "--EvL", "Viterbi length", "length of random sequences for Viterbi", STATISTICS)
    viterbi_n: int = option(200, "--EvN", "Viterbi number", "random sequences for Viterbi", STATISTICS)
    forward_length: int = option(100, "--EfL", "Forward length", "length of random sequences for Forward", STATISTICS)
    forward_n: int = option(200, "--EfN", "Forward number", "random sequences for Forward", STATISTICS)
    tail: float = option(0.04, "--Eft", "Tail", "share of Forward scores that are fitted", STATISTICS)
    seed: int = option(42, "--seed", "Seed", "of the random sequences; 0 takes another one each time", STATISTICS)

    def __post_init__(self) -> None:
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
            if not 1 <= getattr(self, name) <= LONGEST_SAMPLE:
                raise OptionError(
                    f"{flag_of(name, BuildSpec)} is {getattr(self, name)}.",
                    f"Give a number from 1 to {LONGEST_SAMPLE:,}.",
                )


_EVALUES = ("evalue", "domain_evalue", "inclusion_evalue", "inclusion_domain_evalue")
_SCORES = ("score", "domain_score", "inclusion_score", "inclusion_domain_score")
_BY_SCORE = "a score takes the place of the E-value"

REPLACED: dict[str, tuple[tuple[str, ...], str]] = {
    **{score: ((evalue,), _BY_SCORE) for score, evalue in zip(_SCORES, _EVALUES, strict=True)},
    "cutoff": ((*_EVALUES, *_SCORES), "the profile's own cutoffs take the place of all thresholds"),
    "without_filters": (("f1", "f2", "f3", "without_bias_filter"), "without filters there is nothing to set"),
}
"""Options that take the place of others where profiles are HMMER3's: of which, and why. HMMER 3 refuses them together.

For HMMER2 profiles a score and an E-value both count, as in HMMER2.
"""


def replaced_by(given: Collection[str]) -> dict[str, str]:
    """Return the fields that do not count beside those that were given, each with the one that takes its place."""
    return {name: other for other in REPLACED if other in given for name in REPLACED[other][0]}


def flag_of(name: str, spec: type[SearchSpec | BuildSpec] = SearchSpec) -> str:
    """Return the command line flag of a field of a spec."""
    flags = {f.name: str(f.metadata.get("flag", f.name)) for f in dataclasses.fields(spec)}
    return flags[name]


def command_line(spec: SearchSpec) -> list[str]:
    """Return the words of the command that runs this spec; only what differs from the defaults."""
    device = [] if spec.device == "auto" else ["--device", spec.device]
    return ["clalign", COMMANDS[spec.direction], *device, *flag_words(spec), spec.profiles, spec.targets]


def flag_words(spec: Any) -> list[str]:
    """Return the flags of the fields of a spec that differ from their defaults."""
    words = []
    for f in dataclasses.fields(spec):
        value = getattr(spec, f.name)
        if "flag" not in f.metadata or value == f.default:
            continue
        if f.name == "cutoff":
            words.append(f"--cut_{value}")
        elif value is True:
            words.append(f.metadata["flag"])
        else:
            words += [f.metadata["flag"], f"{value:g}" if isinstance(value, float) else str(value)]
    return words
