"""What the user asked of a search with profiles, as plain data with the words of flags and forms."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

from clalign.building.specs import BuildSpec
from clalign.errors import OptionError
from clalign.values.documents import SpecFields
from clalign.values.shards import Shard, shard_option
from clalign.values.specs import INPUT, REPORT, Spec, flag_of, option

COMMANDS = {"search": "hmmsearch", "scan": "hmmscan", "sequence": "phmmer", "rounds": "jackhmmer"}
"""The command of each direction."""

FOUND = {"search": "sequences", "scan": "profiles", "sequence": "sequences", "rounds": "sequences"}
"""What each direction finds and counts."""

STATISTICS_OPTIONS = (
    "msv_length", "msv_n", "viterbi_length", "viterbi_n", "forward_length", "forward_n", "tail", "seed",
)  # fmt: skip
"""Options of the calibration of profiles that are made, with the same names in `BuildSpec`."""

BUILD_OPTIONS = ("matrix", "popen", "pextend", *STATISTICS_OPTIONS)
"""Options on which the profile of a sequence depends."""

ROUND_OPTIONS = (
    "fragthresh", "weighting", "wid", "effective_number", "ere", "esigma", "eid", "prior", *STATISTICS_OPTIONS,
)  # fmt: skip
"""Options on which the profiles of later rounds depend."""

USUAL_IN_ROUNDS: dict[str, object] = {"inclusion_evalue": 0.001, "inclusion_domain_evalue": 0.001}
"""Defaults of jackhmmer that are not those of the other commands."""

AS_MANY = "as many as there are"

CutoffName = Literal["none", "ga", "tc", "nc"]

SIGNIFICANCE = "Significance"
"""The group of HMMER's inclusion thresholds (``--incE`` and others). What passes them is called significant;
HMMER's word is kept in fields of specs (``inclusion_...``) and of runs: ``included`` and, for the least score that
passes, ``include_score`` of a card."""

MODEL = "Model cutoffs"
FILTER = "Filters"
ENGINE = "Scoring"

ROUNDS = "Rounds"

OF_SEQUENCES: dict[str, tuple[str, ...]] = {"direction": ("sequence", "rounds")}
OF_ROUNDS: dict[str, tuple[str, ...]] = {"direction": ("rounds",)}
OF_PROFILES: dict[str, tuple[str, ...]] = {"direction": ("search", "scan")}
"""When an option has a meaning."""


def of_building(name: str, when: Mapping[str, tuple[str, ...]] = OF_SEQUENCES, **more: object) -> Any:
    """Return an option of `BuildSpec` for searches that build profiles in the same way; `more` is said otherwise."""
    (built,) = (one for one in dataclasses.fields(BuildSpec) if one.name == name)
    return field(default=built.default, metadata={**built.metadata, "when": when, **more})


@dataclass(frozen=True, slots=True)
class SearchSpec(Spec):
    """A search of profiles against sequences. Scores are in bits; None means no limit.

    Attributes
    ----------
    profiles, targets : str
        Files; ``-`` is standard input. With the direction ``sequence`` the first one holds proteins, of each of which
        a profile is made, and so with ``rounds``.
    device : str
        What to run on: an id, part of a name, ``gpu``, ``cpu``, ``auto`` or ``reference``.
    direction : str
        ``search``: for each profile, its sequences, and E-values count sequences. ``scan``: for each
        sequence, its profiles, and E-values count profiles. ``sequence``: for each protein, its sequences.
        ``rounds``: the same, and again with a profile of what was found.
    query_kind : str
        What a search in rounds begins with: ``sequences``, ``alignments``, of each of which a profile is built, or
        ``profiles``; ``auto`` for what the file is recognized as.
    iterations : int
        Rounds at most.
    """

    inputs: ClassVar[tuple[str, ...]] = ("profiles", "targets")
    more_files: ClassVar[tuple[str, ...]] = ("matrix",)

    profiles: str
    targets: str
    device: str = "auto"
    direction: Literal["search", "scan", "sequence", "rounds"] = "search"
    iterations: int = option(
        5, "-N", "Rounds at most", "search in at most this number of rounds", ROUNDS, positive=True, when=OF_ROUNDS,
        first=True,
    )  # fmt: skip
    evalue: float = option(
        10.0, "-E", "E-value at most", "report {found} with at most this E-value", REPORT, positive=True, first=True
    )
    score: float | None = option(None, "-T", "Score at least", "report {found} with at least this score", REPORT)
    domain_evalue: float | None = option(
        None, "--domE", "Domain E-value at most", "report domains with at most this E-value", REPORT, positive=True
    )
    domain_score: float | None = option(
        None, "--domT", "Domain score at least", "report domains with at least this score", REPORT
    )
    inclusion_evalue: float = option(
        0.01, "--incE", "Significant E-value", "call {found} with at most this E-value significant", SIGNIFICANCE,
        positive=True,
    )  # fmt: skip
    inclusion_score: float | None = option(
        None, "--incT", "Significant score", "call {found} with at least this score significant", SIGNIFICANCE
    )
    inclusion_domain_evalue: float = option(
        0.01, "--incdomE", "Significant domain E-value", "call domains with at most this E-value significant",
        SIGNIFICANCE, positive=True,
    )  # fmt: skip
    inclusion_domain_score: float | None = option(
        None, "--incdomT", "Significant domain score", "call domains with at least this score significant", SIGNIFICANCE
    )
    n_targets: float | None = option(
        None, "-Z", "Database size", "number of {found} for E-values", REPORT, positive=True, empty=AS_MANY
    )
    n_domain_targets: float | None = option(
        None, "--domZ", "Database size for domains", "number of {found} for domain E-values", REPORT,
        positive=True, empty=AS_MANY,
    )  # fmt: skip
    cutoff: CutoffName = option(
        "none",
        "--cut_ga|--cut_tc|--cut_nc",
        "Threshold",
        "use the model's own thresholds",
        MODEL,
        when=OF_PROFILES,
        values={"ga": "gathering", "tc": "trusted", "nc": "noise"},
        first=True,
        choices={
            "none": "E-value at most",
            "ga": "Gathering cutoff (GA)",
            "tc": "Trusted cutoff (TC)",
            "nc": "Noise cutoff (NC)",
        },
    )
    without_filters: bool = option(
        False, "--max", "No filters", "run without filters (HMMER2 profiles have none)", ENGINE
    )
    f1: float = option(
        0.02, "--F1", "MSV filter", "P-value that lets {found} pass the MSV filter", FILTER, positive=True
    )
    f2: float = option(
        1e-3, "--F2", "Viterbi filter", "P-value that lets {found} pass the Viterbi filter", FILTER, positive=True
    )
    f3: float = option(
        1e-5, "--F3", "Forward filter", "P-value that lets {found} pass the Forward filter", FILTER, positive=True
    )
    without_bias_filter: bool = option(
        False, "--nobias", "No bias filter", "leave out the filter for biased composition (HMMER3)", FILTER
    )
    compute_composition: bool = option(
        False, "--compute_compo", "Compute compositions",
        "compute the mean composition of profiles without a COMPO line for that filter (HMMER3 does without)", FILTER,
        when=OF_PROFILES,
    )  # fmt: skip
    seed: int = option(
        42, "--seed", "Random seed", "seed of the sampling that separates close domains (HMMER3)", ENGINE
    )
    without_null2: bool = option(
        False, "--nonull2", "No composition correction", "leave out the null2 correction of biased composition", ENGINE
    )
    alphabet: Literal["auto", "amino", "dna", "rna"] = option(
        "auto", "--alphabet", "Sequences are", "take the sequences for this alphabet", INPUT, of_file=True
    )
    sequence_format: str = option(
        "auto", "--tformat", "Sequence format", "format of the sequence file", INPUT, of_file=True
    )
    query_format: str = option(
        "auto", "--qformat", "Query format", "format of the file of queries", INPUT, of_file=True, when=OF_SEQUENCES
    )
    query_kind: Literal["auto", "sequences", "alignments", "profiles"] = option(
        "auto", "--qkind", "Queries are", "begin with these; auto: as the file says, but with --qformat sequences",
        INPUT, of_file=True, when=OF_ROUNDS,
    )  # fmt: skip
    matrix: str | None = option(
        None, "--mx", "Matrix", "substitution matrix, by name or from a file [BLOSUM62]", ENGINE, when=OF_SEQUENCES,
        empty="BLOSUM62",
    )  # fmt: skip
    popen: float = option(0.02, "--popen", "Gap opening", "probability that a gap begins", ENGINE, when=OF_SEQUENCES)
    pextend: float = option(0.4, "--pextend", "Gap extension", "probability that it goes on", ENGINE, when=OF_SEQUENCES)
    msv_length: int = of_building("msv_length", positive=True)
    msv_n: int = of_building("msv_n", positive=True)
    viterbi_length: int = of_building("viterbi_length", positive=True)
    viterbi_n: int = of_building("viterbi_n", positive=True)
    forward_length: int = of_building("forward_length", positive=True)
    forward_n: int = of_building("forward_n", positive=True)
    tail: float = of_building("tail", positive=True)
    fragthresh: float = of_building("fragthresh", OF_ROUNDS, group=ROUNDS)
    weighting: Literal["pb", "gsc", "blosum", "none"] = option(
        "pb", "--wpb|--wgsc|--wblosum|--wnone", "Weights", "weights of sequences", ROUNDS, when=OF_ROUNDS,
        values={"pb": "by position [default]", "gsc": "from a tree", "blosum": "by clusters", "none": "all equal"},
        choices={"pb": "By position", "gsc": "From a tree", "blosum": "By clusters", "none": "All equal"},
    )  # fmt: skip
    wid: float = of_building("wid", OF_ROUNDS, group=ROUNDS, label="Identity for weights")
    effective_number: Literal["entropy", "exponential", "clust", "none"] = option(
        "entropy", "--eent|--eentexp|--eclust|--enone", "Effective number", "effective number of sequences", ROUNDS,
        when=OF_ROUNDS,
        values={
            "entropy": "by relative entropy [default]", "exponential": "by relative entropy, by a power of the counts",
            "clust": "the number of clusters", "none": "the number of sequences",
        },
        choices={
            "entropy": "By relative entropy", "exponential": "By relative entropy, exponential",
            "clust": "Clusters", "none": "All sequences",
        },
    )  # fmt: skip
    effective_n: float | None = option(
        None, "--eset", "Effective number itself", "this effective number of sequences", ROUNDS, positive=True,
        when=OF_ROUNDS, empty="as by the rule",
    )  # fmt: skip
    ere: float | None = of_building("ere", OF_ROUNDS, group=ROUNDS, positive=True, empty="0.59")
    esigma: float = of_building("esigma", OF_ROUNDS, group=ROUNDS, positive=True)
    eid: float = of_building("eid", OF_ROUNDS, group=ROUNDS, label="Identity for clusters")
    prior: Literal["alphabet", "laplace", "none"] = option(
        "alphabet", "--plaplace|--pnone", "Priors", "priors", ROUNDS, when=OF_ROUNDS,
        values={"laplace": "Laplace's: one more of each residue", "none": "none: observed frequencies"},
        choices={"alphabet": "Dirichlet mixture", "laplace": "Laplace", "none": "None"},
    )  # fmt: skip
    skip_bad: bool = option(
        False, "--skip_bad", "Skip bad records",
        "leave out sequences with characters that HMMER3 refuses, such as - (HMMER3)", INPUT,
    )  # fmt: skip
    shard: str | None = shard_option()

    def __post_init__(self) -> None:
        self.check_inputs()
        for name in ("evalue", "domain_evalue", "inclusion_evalue", "inclusion_domain_evalue"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise OptionError(
                    f"{flag_of(name, SearchSpec)} is {value}: an E-value cannot be below 0.",
                    "Give 0 or a larger number.",
                )
        for name in ("n_targets", "n_domain_targets"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise OptionError(
                    f"{flag_of(name, SearchSpec)} is {value}: a size must be above 0.", "Give a larger number."
                )
        for name in ("f1", "f2", "f3"):
            value = getattr(self, name)
            if not value >= 0:
                raise OptionError(
                    f"{flag_of(name, SearchSpec)} is {value}: a P-value cannot be below 0.",
                    "Give a number from 0 to 1.",
                )
        if not 0 <= self.seed < 2**32:
            raise OptionError(f"--seed is {self.seed}.", "Give a whole number from 0 to 4294967295.")
        if self.shard is not None:
            Shard.parse(self.shard)
        if self.makes_profiles:
            BuildSpec(by_matrix=True, **{name: getattr(self, name) for name in BUILD_OPTIONS})  # checks its limits
        if self.has_rounds:
            self.round_spec()
            if self.iterations < 1:
                raise OptionError(f"-N is {self.iterations}.", "Give a number from 1 on.")
            if self.shard is not None and self.iterations > 1:
                raise OptionError(
                    "A part of the sequences cannot be searched in rounds: each needs all hits of the one before.",
                    "Leave out --shard, or give -N 1.",
                )

    def round_spec(self, by_hand: bool = True) -> BuildSpec:
        """Return how the profiles of later rounds are built, whose columns are marked, and those of alignments."""
        options = {name: getattr(self, name) for name in ROUND_OPTIONS}
        if self.effective_n is not None:
            options["effective_number"] = self.effective_n
        return BuildSpec(by_hand=by_hand, **options)

    @property
    def command(self) -> str:
        """``hmmsearch``, ``hmmscan``, ``phmmer`` or ``jackhmmer``."""
        return COMMANDS[self.direction]

    def usual(self, name: str, default: object) -> object:
        """Return the value of a field that is not given."""
        return USUAL_IN_ROUNDS.get(name, default) if self.has_rounds else default

    @property
    def needs_ends(self) -> bool:
        """Whether a profile may have to be made at the end of a query, for a further round."""
        return self.has_rounds and self.iterations > 1

    def settled(self) -> Self:
        """Return the spec with a seed that is drawn in the place of 0 where profiles are made with it.

        Of a search in rounds it is also settled what the queries are.

        Raises
        ------
        InputError
            If the file of the queries is of no known kind.
        """
        found = self
        if self.makes_profiles and not self.seed:
            found = replace(found, seed=secrets.randbelow(2**32 - 1) + 1)
        if self.has_rounds and self.query_kind == "auto":
            from clalign.engines.plan7.query_kinds import kind_of_queries

            found = replace(found, query_kind=kind_of_queries(self.profiles, self.query_format))
        return found

    def continues(self, asked: Spec) -> bool:
        """Return whether this spec of a run is what is asked for, on whatever device; what was settled is any."""
        if isinstance(asked, SearchSpec) and asked.makes_profiles and not asked.seed:
            asked = replace(asked, seed=self.seed)
        if isinstance(asked, SearchSpec) and asked.query_kind == "auto":
            asked = replace(asked, query_kind=self.query_kind)
        return Spec.continues(self, asked)

    @property
    def has_sequences(self) -> bool:
        """Whether the queries are sequences, of each of which a profile is made."""
        return self.makes_profiles and self.query_kind in ("auto", "sequences")

    @property
    def makes_first(self) -> bool:
        """Whether the profiles that are searched with first are made, not read."""
        return self.makes_profiles and self.query_kind != "profiles"

    @property
    def makes_profiles(self) -> bool:
        """Whether profiles are made, of the queries or of what is found."""
        return self.direction in ("sequence", "rounds")

    @property
    def has_rounds(self) -> bool:
        """Whether what is found is searched with again."""
        return self.direction == "rounds"

    @property
    def is_scan(self) -> bool:
        """Whether profiles are found, of each sequence."""
        return self.direction == "scan"


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


PRESETS: dict[str, tuple[str, SpecFields]] = {
    "default": ("Default, as HMMER3", {}),
    "fast": ("Fast, misses more", {"f1": 0.005, "f2": 1e-4}),
    "max": ("Max, no filters", {"without_filters": True}),
}
"""How thoroughly HMMER3 profiles search: words, and the options that differ from the defaults."""

PRESET_FIELDS = ("f1", "f2", "f3", "without_bias_filter", "without_filters")
"""Options that a preset sets."""
