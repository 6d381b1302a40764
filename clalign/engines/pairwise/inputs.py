"""What a pairwise search works on: its queries and targets, and how they are scored against each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.databases.letters import TRANSLATE, Guess, are_two_kinds, reconciled, refusal, reinterpreted
from clalign.databases.loading import load_database
from clalign.databases.reports import InputReport
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import PairwiseFacts, StoredScoring, begun_facts
from clalign.errors import DamagedRun, InputError, OptionError, named, typed
from clalign.formats.matrices import (
    DEFAULT_MATCH,
    DEFAULT_MISMATCH,
    DEFAULT_PROTEIN,
    load_matrix,
    missing_letters,
    usual_gaps,
)
from clalign.formats.recognize import recognize
from clalign.jobs import JobContext, QuietContext
from clalign.runs.inputs import at_hand, check_counted
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import LETTERS, N_CODES, Alphabet, code_of
from clalign.values.karlin_altschul import match_mismatch_of, rows_to_fit, typical_lengths, ungapped_parameters
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceDatabase

LOOKED_THROUGH = 1 << 24
"""Residues of the targets that are looked through for letters that the matrix lacks."""

STRANDS = {1: "plus", -1: "minus"}

Loaded = tuple[SequenceDatabase, InputReport]


class ChosenScoring(Struct, frozen=True):
    """A scoring, and where it comes from.

    Attributes
    ----------
    scoring : Scoring
    matrix_source, gaps_source : str
        In words.
    """

    scoring: Scoring
    matrix_source: str
    gaps_source: str

    def to_dict(self) -> StoredScoring:
        """Return plain data, all that is needed to score again."""
        matrix, gaps = self.scoring.matrix, self.scoring.gaps
        codes = [code_of(letter) for letter in matrix.letters]
        return {
            "matrix": matrix.name,
            "letters": matrix.letters,
            "table": matrix.scores[np.ix_(codes, codes)].tolist(),
            "is_nucleic": matrix.is_nucleic,
            "source": self.matrix_source,
            "gap_first": gaps.first,
            "gap_next": gaps.next,
            "gaps_source": self.gaps_source,
            "mode": self.scoring.mode,
        }

    @classmethod
    def from_dict(cls, data: StoredScoring) -> ChosenScoring:
        """Return the scoring that `to_dict` described."""
        matrix = SubstitutionMatrix.from_table(data["matrix"], data["letters"], data["table"], data["is_nucleic"])
        gaps = GapCosts(data["gap_first"], data["gap_next"])
        return cls(Scoring(matrix, gaps, data["mode"]), data["source"], data["gaps_source"])


class PairwiseInputs(Struct, frozen=True):
    """Everything that a pairwise search reads.

    Attributes
    ----------
    queries, targets : SequenceDatabase
    query_rows : int64[n_queries]
        Row of each query, in the order of the input; see `rows_of_queries`.
    query_report, target_report : InputReport
    chosen : ChosenScoring
    strands : tuple of int
        1 and -1: what of each query is aligned.
    typical_lengths : float64[n]
        Few lengths that stand for those of all targets.
    rows_to_fit : int64[n]
        Targets whose scores statistics are fitted to.
    """

    queries: SequenceDatabase
    targets: SequenceDatabase
    query_rows: npt.NDArray[np.int64]
    query_report: InputReport
    target_report: InputReport
    chosen: ChosenScoring
    strands: tuple[int, ...]
    typical_lengths: npt.NDArray[np.float64]
    rows_to_fit: npt.NDArray[np.int64]

    def query(self, number: int) -> Sequence:
        """Return the `number`-th query from 0."""
        return self.queries[int(self.query_rows[number])]

    def stranded(self, number: int) -> tuple[PairwiseQuery, ...]:
        """Return the query, and its reverse complement, as they are aligned: one for each of `strands`."""
        sequence = self.query(number)
        return tuple(
            PairwiseQuery(
                sequence if strand > 0 else reverse_complement(sequence, self.queries.alphabet), self.chosen.scoring
            )
            for strand in self.strands
        )


def reverse_complement(sequence: Sequence, alphabet: Alphabet) -> Sequence:
    """Return the other strand of a nucleic sequence."""
    partner = np.arange(N_CODES, dtype=np.uint8)
    for letter, other in (alphabet.complement or {}).items():
        partner[code_of(letter)] = code_of(other)
    codes = np.ascontiguousarray(partner[sequence.codes[::-1]])
    return Sequence(sequence.name, sequence.description, codes, sequence.accession)


def load_inputs(run: RunFile | None, spec: PairwiseSpec, context: JobContext) -> PairwiseInputs:
    """Read queries and targets, and choose the scoring, or take that with which the run began.

    Raises
    ------
    InputError
        If a file is not readable, is gone, or is not the one that the run began with; or if one of the files looks
        like nucleic acids, the other one like proteins.
    OptionError
        If options do not fit the sequences.
    """
    is_begun = run is not None and isinstance(run.facts, PairwiseFacts)
    if run is not None and is_begun:
        spec = at_hand(run, spec, context)
    both = (
        _loaded(spec.queries, spec.query_format, spec.targets, spec, context),
        _loaded(spec.targets, spec.sequence_format, spec.queries, spec, context),
    )
    if run is not None and is_begun:
        _check_unchanged(run, spec, both[0][1], both[1][1])
    (queries, query_report), (targets, target_report) = _of_one_kind(spec, *both)
    if run is not None and is_begun:
        chosen = chosen_of(run)
    else:
        chosen = choose_scoring(spec, queries.alphabet.is_nucleic and targets.alphabet.is_nucleic)
    rows = rows_of_queries(queries, spec.is_pairs)
    if run is not None and is_begun and (n_begun := run.n_queries()) != len(rows):
        raise DamagedRun(run.path, f"it has {n_begun:,} queries, their file {len(rows):,}")
    if not len(rows):
        hint = "Check whether this is the right file, and whether it is complete."
        raise InputError(spec.queries, f"none of its records has residues ({len(queries):,}).", hint)
    if n_left_out := len(queries) - len(rows):
        text = f"Queries without residues were left out: {n_left_out:,}."
        issues = (replace(issue, text=text) if issue.kind == "empty" else issue for issue in query_report.issues)
        query_report = replace(query_report, issues=tuple(issues))
    strands = _strands(spec, queries.alphabet)
    lengths = np.diff(targets.offsets)
    samples = typical_lengths(lengths), rows_to_fit(lengths)
    return PairwiseInputs(queries, targets, rows, query_report, target_report, chosen, strands, *samples)


def rows_of_queries(queries: SequenceDatabase, are_pairs: bool) -> npt.NDArray[np.int64]:
    """Return the row of each query by its number, in the order of the input.

    Those without residues have no number, but in given pairs.
    """
    rows = np.argsort(queries.order).astype(np.int64)
    return rows if are_pairs else rows[np.diff(queries.offsets)[rows] > 0]


def has_several(spec: PairwiseSpec) -> bool:
    """Return whether a search has more than one query; of a list of pairs it is not known before they are looked up."""
    if spec.pair_list is not None:
        return False
    queries, _ = _loaded(spec.queries, spec.query_format, spec.targets, spec, QuietContext())
    return len(rows_of_queries(queries, spec.is_pairs)) > 1


def _loaded(path: str, form: str, other: str, spec: PairwiseSpec, context: JobContext) -> Loaded:
    """Return the sequences of a file; where it holds profiles, refuse it with the command that searches them."""
    try:
        return load_database(path, alphabet=spec.alphabet, sequence_format=form, context=context)
    except InputError as error:
        if path == "-" or not Path(path).is_file() or recognize(path) != "profiles":
            raise
        command = typed(["clalign", "hmmsearch", *map(named, (path, other))])
        raise InputError(path, error.reason, f"A search with profiles is another one: {command}") from error


def _of_one_kind(spec: PairwiseSpec, queries: Loaded, targets: Loaded) -> tuple[Loaded, Loaded]:
    """Return both files as they are compared; bases are not compared with amino acids as if they were the same."""
    guesses = [Guess.of(report) for _, report in (queries, targets)]
    taken = reconciled(*guesses)
    if are_two_kinds(*taken):
        where = "standard input" if spec.targets == "-" else spec.targets
        hint = f"{TRANSLATE} say with --alphabet (amino, dna or rna) what both are."
        raise InputError(spec.queries, refusal(*taken, where), hint)
    one, other = (
        loaded if before == after else reinterpreted(after, *loaded)
        for loaded, before, after in zip((queries, targets), guesses, taken, strict=True)
    )
    return one, other


def choose_scoring(spec: PairwiseSpec, is_nucleic: bool) -> ChosenScoring:
    """Return the scoring that a spec asks for, for proteins or for nucleic acids."""
    if spec.match is not None and spec.mismatch is not None:
        matrix, source = SubstitutionMatrix.match_mismatch(spec.match, spec.mismatch), "match and mismatch"
    elif spec.matrix is not None:
        matrix, source = load_matrix(spec.matrix), spec.matrix
    elif is_nucleic:
        matrix = SubstitutionMatrix.match_mismatch(DEFAULT_MATCH, DEFAULT_MISMATCH)
        source = "BLAST's for nucleic acids"
    else:
        matrix, source = load_matrix(DEFAULT_PROTEIN), "BLAST's for proteins"
    if spec.gap_first is not None and spec.gap_next is not None:
        gaps, words = GapCosts(spec.gap_first, spec.gap_next), "given"
    else:
        gaps, words = usual_gaps(matrix)
    return ChosenScoring(Scoring(matrix, gaps, spec.mode), source, words)


def _strands(spec: PairwiseSpec, alphabet: Alphabet) -> tuple[int, ...]:
    if not alphabet.is_nucleic:
        if spec.strand in ("minus", "both"):
            raise OptionError(
                f"--strand {spec.strand} was asked for, but the queries are proteins, which have one strand.",
                "Leave out --strand, or say with --alphabet dna that they are nucleic acids.",
            )
        return (1,)
    if spec.strand == "auto":
        return (1,) if spec.is_pairs else (1, -1)
    return {"both": (1, -1), "plus": (1,), "minus": (-1,)}[spec.strand]


def _check_unchanged(run: RunFile, spec: PairwiseSpec, queries: InputReport, targets: InputReport) -> None:
    hint = "Put the old file back, or start a new search."
    for path, report, name in ((spec.queries, queries, "queries"), (spec.targets, targets, "database")):
        if getattr(run.facts, name).digest != report.digest:
            raise InputError(path, "the sequences have changed since this run began.", hint)
        check_counted(run, name, report)


def cautions(inputs: PairwiseInputs) -> list[str]:
    """Return the sentences on the inputs, and how they fit together, that the user should read."""
    queries, targets, matrix = inputs.queries, inputs.targets, inputs.chosen.scoring.matrix
    kinds = {True: "nucleic acids", False: "proteins"}
    # Queries and targets may be one file.
    texts = list(dict.fromkeys([*inputs.query_report.oddities(), *inputs.target_report.oddities()]))
    if not np.array_equal(matrix.scores, matrix.scores.T):
        texts.append(
            f"The matrix {matrix.name} is not symmetric; it is taken as given: rows are letters of the query, columns"
            " letters of the target."
        )
    is_foreign = matrix.is_nucleic != queries.alphabet.is_nucleic
    if is_foreign and match_mismatch_of(matrix) is not None:
        texts.append(f"Match and mismatch ({matrix.name}) are for nucleic acids: of proteins only A, C, G and T match.")
    elif is_foreign:
        texts.append(
            f"The matrix {matrix.name} is for {kinds[matrix.is_nucleic]}, but the sequences look like"
            f" {queries.alphabet.label}. Choose another one with --matrix, or correct the guess with --alphabet."
        )
    if inputs.chosen.scoring.is_local and ungapped_parameters(matrix) is None:
        texts.append(
            f"With {matrix.name} random sequences score above 0 on average, so the best local alignments are as long"
            " as the sequences. Take --mode global, or a matrix with negative scores."
        )
    if not is_foreign:
        texts += _lacking(matrix, queries, "the queries", queries.n_residues)
        texts += _lacking(matrix, targets, "the targets", LOOKED_THROUGH)
    return texts


def _lacking(matrix: SubstitutionMatrix, database: SequenceDatabase, whose: str, n: int) -> list[str]:
    """Return a sentence about letters that a matrix has no scores for, if there are any."""
    residues = database.codes[:n].tobytes()
    counts = {letter: residues.count(bytes([code_of(letter)])) for letter in missing_letters(matrix, LETTERS[:-1])}
    found = [f"{count:,} x {letter}" for letter, count in counts.items() if count]
    if not found:
        return []
    where = whose if n >= database.n_residues else f"the first {n:,} residues of {whose}"
    stand_in = "unknown (*)" if "*" in matrix.letters else f"{matrix.least}, its lowest score"
    return [f"{', '.join(found)} in {where} are scored as {stand_in}: {matrix.name} has no scores for them."]


def scoring_of(run: RunFile) -> Scoring:
    """Return how the pairs of a run were scored."""
    return chosen_of(run).scoring


def chosen_of(run: RunFile) -> ChosenScoring:
    """Return the scoring of a run, and where it comes from."""
    try:
        return ChosenScoring.from_dict(begun_facts(run).scoring)
    except (ValueError, IndexError, TypeError, OverflowError, OptionError) as error:
        raise DamagedRun(run.path, f"its scoring makes no sense: {error}") from None
